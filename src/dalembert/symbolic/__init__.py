"""Expression graphs, scalar algebras, the formula parser and rotations."""
