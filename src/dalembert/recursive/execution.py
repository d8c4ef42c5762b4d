"""How the recursions are run on a machine: the one place that chooses between the executions of the same text."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from dalembert.algebra import FLOATS, numbers
from dalembert.errors import InputError, SingularError, nearest
from dalembert.programs import Function, function_of
from dalembert.recursive.constrained import usual_rank
from dalembert.recursive.held import Held
from dalembert.recursive.links import moving
from dalembert.recursive.mass import mass_matrix
from dalembert.recursive.plan import Plan
from dalembert.recursive.state import singular_mass
from dalembert.recursive.traced import Detail, traced
from dalembert.structure.samples import drawn

Execution = Literal["unrolled"]  # link by link with the numbers of the model folded in
EXECUTIONS: tuple[str, ...] = get_args(Execution)


def choose_execution(plan: Plan, task: str, execution: str | None) -> str:
    """The execution of a task: the one that is asked for, else the one that suits the model."""
    if execution not in (None, *EXECUTIONS):
        said = " or ".join(f"'{name}'" for name in EXECUTIONS)
        raise InputError(f"there is no execution '{execution}'. {nearest(str(execution), EXECUTIONS)} Expected {said}.")
    return execution or "unrolled"


def function_for(
    plan: Plan,
    task: str,
    *,
    friction: bool = False,
    detail: Detail = Detail(),  # noqa: B008 (a value)
    engine: str | None = None,
    execution: str | None = None,
) -> Function:
    """A task of `traced.TASKS` as a compiled function of its rows; the last output is its alarm."""
    choose_execution(plan, task, execution)
    if task == "forward" and plan.constrained:
        parts = function_of(traced(plan, "held", friction=friction), engine)
        return Held(plan, parts, usual_rank(plan)).function
    try:
        program = traced(plan, task, friction=friction, detail=detail)
    except ZeroDivisionError:  # a pivot is 0 whatever the state
        raise _without_inertia(plan) from None
    return function_of(program, engine)


def _without_inertia(plan: Plan) -> SingularError:
    at = drawn(plan.tree.model, np.random.default_rng(0), 1, plan.scales)
    still = [np.zeros(1)] * plan.tree.n_speeds
    moved = moving(plan.tree, FLOATS, at.t, list(at.q), still, plan.parameters, plan.fixtures)
    return singular_mass(plan, numbers(mass_matrix(moved), 1)[:, :, 0], " at every state")
