"""Parameters from measurements: fits of whole runs, and the inertial parameters of robots from their torques."""
