"""Programs: straight-line code as a value, and the backends that run it."""
