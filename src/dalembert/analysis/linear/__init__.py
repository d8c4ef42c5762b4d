"""Linearisation on the constraints: residuals and their slopes, independent states, steady motions, eigenvalues."""
