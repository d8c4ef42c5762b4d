"""Kinematics, constraint levels, rank, partition and ignorable coordinates."""
