"""Integrators: one file each, one loop that drives them all."""

from __future__ import annotations

from dalembert.integrators.base import InitialValueProblem as InitialValueProblem
from dalembert.integrators.base import Method
from dalembert.integrators.base import Settings as Settings
from dalembert.integrators.base import Solution as Solution
from dalembert.integrators.base import Status as Status
from dalembert.integrators.base import integrate as integrate
from dalembert.integrators.collocation import Collocation
from dalembert.integrators.dop853 import DormandPrince853
from dalembert.integrators.ida import Ida
from dalembert.integrators.radau import RadauIIA
from dalembert.integrators.rk4 import RungeKutta4
from dalembert.integrators.rk45 import RungeKutta45
from dalembert.integrators.taylor import Taylor
from dalembert.integrators.textbook import Algorithm3, Algorithm4, Algorithm5
from dalembert.model.methods import require_method

INTEGRATORS: tuple[type[Method], ...] = (
    Taylor,
    RungeKutta45,
    DormandPrince853,
    RungeKutta4,
    RadauIIA,
    Ida,
    Collocation,
    Algorithm3,
    Algorithm4,
    Algorithm5,
)
NAMES: tuple[str, ...] = tuple(kind.name for kind in INTEGRATORS)


def find(name: str) -> type[Method]:
    """The integrator called `name`.

    >>> find("rk4").name
    'rk4'
    """
    require_method(name)
    return next(kind for kind in INTEGRATORS if kind.name == name)
