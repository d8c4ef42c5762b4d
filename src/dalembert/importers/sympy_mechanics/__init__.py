"""Systems of SymPy's mechanics become models: `System`, `KanesMethod` and `LagrangesMethod`."""

from dalembert.importers.sympy_mechanics.building import read_sympy as read_sympy
from dalembert.importers.sympy_mechanics.building import understands as understands
