"""Choice of the execution of a recursion: unrolled or rolled, and the disk cache of traces.

The trace of a model is stored on disk, so that the next process neither plans nor traces it again. The key of a record is the
content of the model, the task and its options, and the source of this package. Models with user-defined classes are not stored,
since their source is unknown.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import symengine

from dalembert.codegen.disk_cache import TRACE, Tuples, from_bytes, read_entry, to_bytes, write_entry
from dalembert.codegen.function import CompiledFunction, choose_engine, function_of
from dalembert.codegen.program import Program
from dalembert.errors import InputError, SingularError, suggest_name
from dalembert.mechanics.state_batch import random_guesses
from dalembert.model.description import Description
from dalembert.recursive._constrained_forward import ConstrainedForward, ConstrainedSweeps
from dalembert.recursive.composite_inertia import mass_matrix
from dalembert.recursive.constraint_batch import generic_rank
from dalembert.recursive.link_states import moving
from dalembert.recursive.plan import TreePlan, singular_mass
from dalembert.recursive.rolled_sweeps import ROLLED, CheckedLoops, Loops, can_roll, loops_of
from dalembert.recursive.traced import Detail, task_program
from dalembert.symbolic.floats import FLOATS, numbers

# unrolled: link by link with the model's numbers folded in; rolled: loops over a table of links
Execution = Literal["unrolled", "rolled"]
EXECUTIONS: tuple[str, ...] = get_args(Execution)
MANY = 60  # speeds: unrolled, forward dynamics compiles in 2 s, and in 20 s for 200; loops take the same time for any number
LARGEST = 400  # speeds: one program for a larger tree takes many minutes to compile
LARGEST_MATRIX = 150  # likewise for programs of n × n matrices: one minute for 100 speeds, 8 times that for 200
LARGEST_CLOSED = 1000  # speeds: the rows of a loop are one program, which takes half a minute for this many links
_MATRICES = ("mass_matrix", "coriolis", "inverse_derivatives", "forward_derivatives")
_PACKAGE = Path(__file__).parents[1]
# packages that this one does not import: they do not affect the trace
_ABOVE = ("analysis", "api", "cli", "display", "evidence", "formalisms", "papers", "simulation", "studio")


def choose_execution(plan: TreePlan, task: str, execution: str | None, engine: str | None = None) -> str:
    """The execution of a task: the requested one, else the default for the model.

    Tasks without rolled version are always unrolled.
    """
    if execution not in (None, *EXECUTIONS):
        expected = " or ".join(f"'{name}'" for name in EXECUTIONS)
        raise InputError(
            f"there is no execution '{execution}'. {suggest_name(str(execution), EXECUTIONS)} Expected {expected}."
        )
    if task not in ROLLED or execution == "unrolled":
        return "unrolled"
    reason = _why_not_rolled(plan, engine)
    if execution == "rolled" and reason is not None:
        raise InputError(
            f"model '{plan.tree.model.name}' cannot run rolled: {reason}. Use execution='unrolled', or omit `execution`."
        )
    large = execution == "rolled" or plan.tree.n_speeds > MANY
    return "rolled" if large and reason is None else "unrolled"


def _why_not_rolled(plan: TreePlan, engine: str | None) -> str | None:
    if choose_engine(engine) != "native":
        return "the engine 'python' does not support loops over links. Expected 'native'"
    if any(not load.in_joints for load in plan.model.loads):
        return "it has loads on bodies. Expected loads inside joints only"
    return can_roll(plan.tree)


def _require_compilable(plan: TreePlan, task: str, engine: str | None) -> None:
    """Raise for a program that would compile for hours."""
    n = plan.tree.n_speeds
    matrix = task in _MATRICES or (task == "forward" and plan.constrained)
    limit = LARGEST_MATRIX if matrix else LARGEST_CLOSED if task == "rows" else LARGEST
    if n <= limit:
        return
    reason = _why_not_rolled(plan, engine)
    alternative = (
        "inverse, forward, bias and gravity with execution='rolled'"
        if reason is None
        else f"no rolled version: {reason}"
    )
    raise InputError(
        f"{task}, unrolled: model '{plan.tree.model.name}' has {n} speeds, too many for one program. Expected at most {limit}. "
        f"Alternatives: {alternative}; `dl.inverse_dynamics`, `dl.forward_dynamics` and `dl.mass_matrix`, which do not compile."
    )


TracedTask = Program | Loops


def traced_task(
    plan: TreePlan,
    task: str,
    *,
    friction: bool = False,
    detail: Detail = Detail(),  # noqa: B008 (a value)
    engine: str | None = None,
    execution: str | None = None,
) -> TracedTask:
    """A task of `traced.TASKS` as a value that `compile_task` compiles; constrained forward dynamics as M, h, A and β."""
    if choose_execution(plan, task, execution, engine) == "rolled" and detail == Detail():
        if is_constrained_forward(plan, task) and (n := plan.tree.n_speeds) > LARGEST_CLOSED:
            # sweeps support any number of links, the program of the constraints does not
            raise InputError(
                f"forward, with constraints: model '{plan.tree.model.name}' has {n} speeds, too many for one program of its "
                f"constraints. Expected at most {LARGEST_CLOSED}. Alternative: `dl.forward_dynamics`, which does not compile."
            )
        return loops_of(plan, task, friction=friction)
    _require_compilable(plan, task, engine)
    try:
        solved = is_constrained_forward(plan, task) and not substitutes_ties(plan, execution, engine)
        return task_program(plan, "constrained_terms" if solved else task, friction=friction, detail=detail)
    except ZeroDivisionError:  # a pivot is 0 at every state
        raise _without_inertia(plan) from None


def is_constrained_forward(plan: TreePlan, task: str) -> bool:
    """True for forward dynamics with constraints, which are solved numerically."""
    return task == "forward" and plan.constrained


def substitutes_ties(plan: TreePlan, execution: str | None, engine: str | None) -> bool:
    """True if all constraints are ties that forward dynamics substitutes; rolled, they are constraints like others."""
    return plan.ties is not None and choose_execution(plan, "forward", execution, engine) == "unrolled"


def compile_task(traced: TracedTask, engine: str | None = None) -> CompiledFunction:
    """A compiled function of the rows of a task; the last output is its validity check."""
    return CheckedLoops(traced) if isinstance(traced, Loops) else function_of(traced, engine)


def constrained_forward_function(plan: TreePlan, parts: CompiledFunction, *, rolled: bool) -> CompiledFunction:
    """Forward dynamics with constraints: by sweeps from the free motion, or from M, h, A and β of `traced`."""
    return ConstrainedSweeps(plan, parts) if rolled else ConstrainedForward(plan, parts, generic_rank(plan)).function


def _without_inertia(plan: TreePlan) -> SingularError:
    at = random_guesses(plan.tree.model, np.random.default_rng(0), 1, plan.scales)
    at_rest = [np.zeros(1)] * plan.tree.n_speeds
    moved = moving(plan.tree, FLOATS, at.t, list(at.q), at_rest, plan.parameters, plan.link_constants)
    M, ties, names = numbers(mass_matrix(moved), 1)[:, :, 0], plan.ties, plan.tree.speed_names
    if ties is not None:
        M, names = ties.reduced_matrix(M), [names[i] for i in ties.independent]
    return singular_mass(plan, M, names, " at every state")


@cache
def package_digest(root: Path = _PACKAGE) -> str | None:
    """Hash of the source code that affects traces; None if it is not available as files."""
    files = sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in _ABOVE)
    if not files:
        return None
    parts = [sys.version, np.__version__, symengine.__version__]
    digest = hashlib.sha256("\n".join(parts).encode())
    for path in files:
        content = path.read_bytes()
        digest.update(f"\n{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def cached_record(model: Description, request: tuple[object, ...], make: Callable[[], Tuples]) -> Tuples:
    """The record of a model for a request, from disk or else created and stored.

    `request` contains numbers, strings and values with a unique repr. Exceptions of `make` are not stored.
    """
    digest = package_digest() if _is_known(model) else None
    if digest is None:
        return make()
    key = hashlib.sha256("\n".join([digest, model.content, repr(request)]).encode()).hexdigest()
    data = read_entry(key, TRACE)
    if data is not None:
        return from_bytes(data)
    made = make()
    write_entry(key, TRACE, to_bytes(made))
    return made


def _is_known(model: Description) -> bool:
    """True if all members are classes of this package, whose digest then covers them."""
    joints = chain.from_iterable(body.joints for body in model.bodies)
    constraints = chain(
        model.holonomic_constraints, model.nonholonomic_constraints, model.canonical_constraints, model.loops
    )
    members = chain(joints, model.loads, constraints, (loop.joint for loop in model.loops), model.contacts)
    package = __name__.partition(".")[0]
    return all(member_class.__module__.partition(".")[0] == package for member_class in set(map(type, members)))
