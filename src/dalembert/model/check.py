"""Everything that is wrong with a model, found before any work begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import Problem
from dalembert.model import methods
from dalembert.model.checks import bodies, degrees, loads, loops, numbers, structure
from dalembert.model.checks.values import at_start

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def _constraints(model: Elements) -> list[Problem]:
    """Formulas that say nothing about the motion, or that the initial state violates."""
    table = at_start(model)
    return [problem for constraint in model.formula_constraints for problem in constraint.problems(model, table)]


_PARTS = (
    structure.problems,
    numbers.problems,
    bodies.problems,
    loads.problems,
    _constraints,
    loops.problems,
    degrees.problems,
    methods.problems,
)


def problems(model: Elements) -> list[Problem]:
    """All problems of a model, each with its place, what is wrong and what to do; an empty list for a sound model.

    >>> from dalembert.model import Model
    >>> for problem in problems(Model("nothing").coordinates("x")):
    ...     print(problem)
    model 'nothing': it has neither bodies nor energies. Add a body, or describe the system by its energies.
    """
    return [problem for part in _PARTS for problem in part(model)]
