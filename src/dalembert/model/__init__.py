"""Models of mechanical systems: bodies, joints, loads, constraints and contacts."""
