"""What users hold: Equations, Dynamics, Kinematics, and the functions of the package."""
