"""The public API: Equations, Dynamics, Kinematics, Trajectory, and the functions of the package."""
