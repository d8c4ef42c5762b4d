"""Linearization on the constraints: residuals and their derivatives, independent states, steady motions, eigenvalues."""
