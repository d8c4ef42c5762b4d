"""Finding an algebra by its name, without importing the ones that are not used."""

from __future__ import annotations

from dalembert.algebra.base import DifferentialAlgebra
from dalembert.errors import InputError, nearest


def choose(name: str) -> DifferentialAlgebra:
    """The differential algebra called `name`: `graph`, `rolled` (a graph in which large linear systems are nodes) or `symbolic`.

    >>> choose("graph").name
    'graph'
    """
    if name == "graph":
        from dalembert.algebra.graph import GRAPH

        return GRAPH
    if name == "rolled":
        from dalembert.algebra.graph import ROLLED

        return ROLLED
    if name == "symbolic":
        from dalembert.algebra.symbolic import SYMBOLIC

        return SYMBOLIC
    raise InputError(
        f"there is no algebra '{name}'. Expected 'graph' or 'symbolic'. {nearest(name, ['graph', 'symbolic'])}"
    )
