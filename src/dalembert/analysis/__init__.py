"""Equilibria, linearization, inverse kinematics, sensitivity, identification, controllers and sweeps."""
