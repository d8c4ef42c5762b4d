"""Equations of motion as source code of other languages."""
