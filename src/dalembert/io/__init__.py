"""Model files in, code and files out: TOML, URDF, robot tables, ReDySim, SymPy systems, FMU."""
