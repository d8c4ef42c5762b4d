"""Robots in URDF: reader and writer."""
