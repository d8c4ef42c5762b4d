"""Finding an algebra by its name, without importing the ones that are not used."""

from __future__ import annotations

import importlib.util

from dalembert.algebra.base import DifferentialAlgebra
from dalembert.errors import EngineError, InputError, nearest


def default_name() -> str:
    """`fast` where heyoka is installed, `symbolic` elsewhere."""
    return "fast" if importlib.util.find_spec("heyoka") else "symbolic"


def choose(name: str) -> DifferentialAlgebra:
    """The differential algebra called `name`: `fast` or `symbolic`.

    >>> choose("symbolic").name
    'symbolic'
    """
    if name == "symbolic":
        from dalembert.algebra.symbolic import SYMBOLIC

        return SYMBOLIC
    if name == "fast":
        if default_name() != "fast":
            raise EngineError(
                "the algebra 'fast' needs heyoka, which is not installed here. "
                "Use the algebra 'symbolic' (engine 'portable'), or install heyoka (wheels exist for Linux)."
            )
        from dalembert.algebra.fast import FAST

        return FAST
    raise InputError(
        f"there is no algebra '{name}'. Expected 'fast' or 'symbolic'. {nearest(name, ['fast', 'symbolic'])}"
    )
