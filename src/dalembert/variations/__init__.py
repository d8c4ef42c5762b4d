"""Derivatives of motions by parameters and starts: variational equations, adjoints, jumps at events."""
