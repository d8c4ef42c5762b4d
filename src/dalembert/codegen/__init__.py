"""Code generation: straight-line programs as immutable values, and the backends that run them."""
