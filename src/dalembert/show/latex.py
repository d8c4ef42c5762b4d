"""."""
def to_sympy_matrix(model, a): raise RuntimeError
def equations(f): raise RuntimeError
def display(f): raise RuntimeError
