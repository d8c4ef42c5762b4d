"""How the recursions are run on a machine: the one place that chooses between the executions of the same text."""

from __future__ import annotations

from typing import Literal, get_args

from dalembert.errors import InputError, nearest
from dalembert.programs import Function, function_of
from dalembert.recursive.constrained import usual_rank
from dalembert.recursive.held import Held
from dalembert.recursive.plan import Plan
from dalembert.recursive.traced import Detail, traced

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
    return function_of(traced(plan, task, friction=friction, detail=detail), engine)
