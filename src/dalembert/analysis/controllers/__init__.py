"""Control laws for `model.actuator(..., law=...)`, one file each."""
