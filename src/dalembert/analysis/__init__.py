"""Examining: energies, momenta, consistency, agreement, operation counts."""
