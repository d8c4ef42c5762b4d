"""Everything that is wrong with a model, found before any work begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import Problem
from dalembert.model import integrator_names
from dalembert.model.checks import check_bodies, check_formulas, check_loads, check_loops, check_structure

if TYPE_CHECKING:
    from dalembert.model.description import Elements

_PARTS = (
    check_structure.problems,
    check_formulas.undefined,
    check_bodies.problems,
    check_loads.problems,
    check_loops.problems,
    check_formulas.degrees,
    integrator_names.problems,
    lambda model: [problem for event in model.events for problem in event.problems(model)],
)


def problems(model: Elements) -> list[Problem]:
    """All problems of a model, each with its place, what is wrong and what to do; an empty list for a sound model.

    >>> from dalembert.model.model import Model
    >>> for problem in problems(Model("nothing").coordinates("x")):
    ...     print(problem)
    model 'nothing': it has neither bodies nor energies. Add a body, or describe the system by its energies.
    """
    return [problem for part in _PARTS for problem in part(model)]
