"""The registry of integrators."""

from __future__ import annotations

from dalembert.model.integrator_names import require_method
from dalembert.simulation.integrators.base import InitialValueProblem as InitialValueProblem
from dalembert.simulation.integrators.base import Method
from dalembert.simulation.integrators.base import Settings as Settings
from dalembert.simulation.integrators.base import Solution as Solution
from dalembert.simulation.integrators.base import Status as Status
from dalembert.simulation.integrators.collocation import Collocation
from dalembert.simulation.integrators.dop853 import DormandPrince853
from dalembert.simulation.integrators.ida import Ida
from dalembert.simulation.integrators.integrate import integrate as integrate
from dalembert.simulation.integrators.radau import RadauIIA
from dalembert.simulation.integrators.rk4 import RungeKutta4
from dalembert.simulation.integrators.rk45 import RungeKutta45
from dalembert.simulation.integrators.taylor import Taylor
from dalembert.simulation.integrators.textbook import Algorithm3, Algorithm4, Algorithm5

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
