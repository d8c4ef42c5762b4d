"""Finding an algebra by its name, without importing the ones that are not used."""

from __future__ import annotations

import importlib.util

from dalembert.algebra.base import DifferentialAlgebra
from dalembert.errors import EngineError, InputError, nearest


def default_name() -> str:
    """`fast` where heyoka is installed, `graph` elsewhere."""
    return "fast" if importlib.util.find_spec("heyoka") else "graph"


def choose(name: str) -> DifferentialAlgebra:
    """The differential algebra called `name`: `fast`, `graph` or `symbolic`.

    >>> choose("graph").name
    'graph'
    """
    if name == "graph":
        from dalembert.algebra.graph import GRAPH

        return GRAPH
    if name == "symbolic":
        from dalembert.algebra.symbolic import SYMBOLIC

        return SYMBOLIC
    if name == "fast":
        if default_name() != "fast":
            raise EngineError(
                "the algebra 'fast' needs heyoka, which is not installed here. "
                "Use the algebra 'graph' (engine 'portable'), or install heyoka (wheels exist for Linux)."
            )
        from dalembert.algebra.fast import FAST

        return FAST
    raise InputError(
        f"there is no algebra '{name}'. Expected 'fast', 'graph' or 'symbolic'. "
        f"{nearest(name, ['fast', 'graph', 'symbolic'])}"
    )
