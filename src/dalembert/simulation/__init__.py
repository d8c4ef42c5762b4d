"""Right-hand sides, integrators, events, contact, projection and trajectories."""
