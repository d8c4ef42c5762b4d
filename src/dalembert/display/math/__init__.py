"""Equations as text, LaTeX and HTML."""
