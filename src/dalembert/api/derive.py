"""Derivation of equations: in explicit form, or as a recursion for large trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.api.equation_display import with_modules
from dalembert.api.equations import Equations
from dalembert.api.load import Source, description_of
from dalembert.api.trajectory import Trajectory
from dalembert.api.tree_equations import TreeEquations
from dalembert.arguments import documented, is_real, validate_arguments
from dalembert.errors import InputError, short_repr, suggest_name
from dalembert.formalisms import denoc, phong
from dalembert.formalisms.shared.solvers import directions
from dalembert.mechanics import state_batch
from dalembert.mechanics.facts import PartitionChoice
from dalembert.model.description import Elements
from dalembert.recursive.execution import MANY, choose_execution
from dalembert.recursive.plan import plan_of
from dalembert.simulation.bound_equations import Derivation, derivation_of
from dalembert.simulation.workspace import Setup, setup
from dalembert.symbolic.floats import FLOATS

Trial = str | Sequence[float]
_RANK_TOLERANCE = 1e-9  # relative length below which a trial vector is linearly dependent
_SAMPLE_STATES = 4


def with_trials(derivation: Derivation, trials: Sequence[Trial]) -> Derivation:
    """The derivation with these trial vectors: names of coordinates (their unit vectors) or n numbers each."""
    if derivation.formalism != phong.ABOUT.key:
        raise InputError(
            f"trials: formalism '{derivation.formalism}' has no trial vectors. Expected 'phong'. Omit `trials`."
        )
    names, d = derivation.workspace.model.coordinate_names, derivation.facts.d
    if isinstance(trials, str) or len(trials) != d:
        raise InputError(
            f"trials: got {short_repr(trials)}. Expected {d}, one for each degree of freedom: names of coordinates, or "
            f"{len(names)} numbers each."
        )
    found = tuple(_trial_vector(trial, names) for trial in trials)
    _require_independent(derivation, found, trials)
    return replace(derivation, trials=found)


def _trial_vector(trial: Trial, names: Sequence[str]) -> tuple[float, ...]:
    if isinstance(trial, str):
        if trial not in names:
            raise InputError(f"trials: there is no coordinate '{trial}'. {suggest_name(trial, names)}")
        return tuple(float(name == trial) for name in names)
    if len(trial) != len(names) or not all(map(is_real, trial)):
        raise InputError(
            f"trials: got {short_repr(trial)}. Expected the name of a coordinate, or {len(names)} numbers."
        )
    return tuple(map(float, trial))


def _require_independent(derivation: Derivation, x: tuple[tuple[float, ...], ...], trials: Sequence[Trial]) -> None:
    """Raise if a trial vector is linearly dependent on the constraint rows and its predecessors at all sample states."""
    space = derivation.workspace
    states = state_batch.consistent_states(space.model, _SAMPLE_STATES)
    _, _, A, _ = space.manifold.evaluate(states.q, states.qd, states.t, space.values)
    columns = np.array(x).reshape(len(x), len(states.q)).T
    residual = np.zeros(len(x))
    for k in range(states.q.shape[1]):
        G = A[list(derivation.facts.rows), :, k].astype(object)
        D = directions(FLOATS, G, columns.astype(object)).astype(float)
        residual = np.maximum(residual, np.nan_to_num(np.linalg.norm(D, axis=0)))
    dependent = residual <= _RANK_TOLERANCE * np.linalg.norm(columns, axis=0)
    if dependent.any():
        raise InputError(
            f"trials: {short_repr(trials[int(np.argmax(dependent))])} is linearly dependent on the constraint rows and the "
            "preceding trial vectors. Expected a nonzero remainder in step 2. Choose another trial vector."
        )


@validate_arguments
def derive(
    model: Source,
    formalism: str = "lagrange",
    *,
    engine: str | None = None,
    mode: str | None = None,
    modules: Mapping[str, Sequence[str]] | None = None,
    trials: Sequence[Trial] | None = None,
) -> Equations:
    """Derive the equations of motion of a model with one formalism.

    Parameters
    ----------
    model : Model, Description, str or Path
        The model, the name of a gallery example, or the path of a model file.
    formalism : str, optional
        The key of the formalism, such as "kane".
    engine : {"native", "python"}, optional
        How the equations are evaluated; native machine code by default if it is available.
    mode : {"fused", "assembled"}, optional
        One symbolic graph of the right-hand side, or a rank-revealing numerical solve at every step, for constraints whose
        rank changes during the motion. The default is chosen automatically.
    modules : mapping of str to sequence of str, optional
        For denoc: serial chains of bodies by name; blocks and steps are grouped by these kinematic modules.
    trials : sequence, optional
        For phong: the trial vectors of step 2, each the name of a coordinate or n numbers. All admissible vectors give the
        same motion, but the columns of D vanish at different states.

    Returns
    -------
    Equations
        The equations of motion, for display, evaluation and simulation.

    Raises
    ------
    NotApplicableError
        If the formalism does not apply to the model.
    ModelError
        If the model is incomplete or inconsistent; the message lists all problems.
    InputError
        If the formalism, the engine, a module or a trial vector is unknown or invalid.

    See Also
    --------
    simulate : Derive and simulate in one call.
    Equations : What can be done with the result.

    Examples
    --------
    >>> derive("cart-pendulum", "gibbs_appell").n_states
    5
    """
    return equations_of(description_of(model), formalism, engine=engine, mode=mode, modules=modules, trials=trials)


@documented
def simulate(
    model: Source, duration: float | None = None, *, formalism: str | None = None, **options: Any
) -> Trajectory:
    """Simulate a model from its initial state.

    Parameters
    ----------
    formalism : str, optional
        The key of the formalism; by default denoc for open trees of at least ten coordinates, else lagrange. Trees of more
        than 60 coordinates are then evaluated by recursion.
    **options
        Options of `Equations.simulate`, such as `samples`, `integrator`, `q0` and `parameters`.

    Returns
    -------
    Trajectory
        The sampled motion, with arrays of shape (n, samples).

    Raises
    ------
    NotApplicableError
        If the formalism does not apply to the model.
    InconsistentStateError
        If the initial state violates the constraints.
    SimulationError
        If the simulation stops before its end, such as at a singular configuration.
    InputError
        If an option is unknown or invalid.

    Examples
    --------
    >>> simulate("simple-pendulum", 1.0, samples=11).q.shape
    (1, 11)
    """
    known = description_of(model)
    return derive(known, formalism or fastest_formalism(known)).simulate(duration, **options)


_MIN_TREE = 10  # coordinates; below, the right-hand sides of denoc and lagrange take about the same time


def fastest_formalism(model: Elements) -> str:
    """The formalism with the fastest right-hand side: denoc for large open trees, else lagrange.

    >>> from dalembert.io import gallery
    >>> [fastest_formalism(gallery.load(name)) for name in ("four-bar", "kuka-kr5", "floating-arm-7-link")]
    ['lagrange', 'lagrange', 'denoc']
    """
    closed = model.constraint_names or model.loops or model.canonical_constraints or model.rigid
    other = model.energies is not None or model.events or model.controllers or model.non_ideal_forces
    large = len(model.generalized_coordinates) >= _MIN_TREE
    return "lagrange" if closed or other or not large else denoc.ABOUT.key


def equations_of(
    model: Elements,
    formalism: str,
    *,
    engine: str | None = None,
    mode: str | None = None,
    choice: PartitionChoice | None = None,
    modules: Mapping[str, Sequence[str]] | None = None,
    trials: Sequence[Trial] | None = None,
) -> Equations:
    """Derive the equations of a model with one formalism; see `derive`.

    `modules` are named groups of links, for `denoc`; `trials` are the trial vectors of `phong`.
    """
    found = derive_with_setup(setup(model, engine, mode, choice), formalism)
    if modules is not None:
        found = replace(found, derivation=with_modules(found.derivation, modules))
    return found if trials is None else replace(found, derivation=with_trials(found.derivation, trials))


def derive_all(model: Elements, formalisms: Sequence[str]) -> list[Equations]:
    """Derive the equations of a model with several formalisms; the model is set up once."""
    known = setup(model)
    return [derive_with_setup(known, formalism) for formalism in formalisms]


def derive_with_setup(known: Setup, formalism: str, alpha: float = 0.0) -> Equations:
    """The equations by one formalism; with `denoc`, large trees are evaluated recursively."""
    if formalism == denoc.ABOUT.key and _runs_in_loops(known):
        return TreeEquations(Derivation(known, formalism))
    found = Equations(derivation_of(known, formalism, alpha))
    found.form  # noqa: B018 (raises if the formalism does not apply)
    return found


def _runs_in_loops(known: Setup) -> bool:
    """True for a large tree, which is evaluated in loops over its links."""
    model = known.declared
    explicit = (
        model.energies is not None or model.canonical_constraints or model.events or model.controllers or model.rigid
    )
    if len(model.generalized_coordinates) <= MANY or explicit:
        return False
    if known.mode is not None or known.choice is not None:
        return False
    return choose_execution(plan_of(model), "forward", None, known.engine) == "rolled"
