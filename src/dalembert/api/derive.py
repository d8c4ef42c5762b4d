"""Equations from models: written out, or, for trees too large for that, as the recursion itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.api.equation_reader import with_modules
from dalembert.api.equations import Equations
from dalembert.api.load import Source, described
from dalembert.api.trajectory import Trajectory
from dalembert.api.tree_equations import TreeEquations
from dalembert.arguments import checked, is_real, shown
from dalembert.errors import InputError, nearest
from dalembert.formalisms import denoc, phong
from dalembert.formalisms.shared.solvers import directions
from dalembert.mechanics import random_states
from dalembert.mechanics.facts import Choice
from dalembert.model.description import Elements
from dalembert.recursive.execution import MANY, choose_execution
from dalembert.recursive.plan import plan_of
from dalembert.simulation.derivation import Derivation, derivation_of
from dalembert.simulation.workspace import Setup, setup
from dalembert.symbolic.floats import FLOATS

Trial = str | Sequence[float]
_SHORT = 1e-9  # of its own length: a trial vector of which less is left lies in what is taken
_STATES = 4


def with_trials(derivation: Derivation, trials: Sequence[Trial]) -> Derivation:
    """The derivation with these trial vectors: names of coordinates, whose unit vectors are meant, or n numbers each."""
    if derivation.formalism != phong.ABOUT.key:
        raise InputError(f"trials: formalism '{derivation.formalism}' has none. Expected 'phong'. Leave `trials` out.")
    names, d = derivation.workspace.model.coordinate_names, derivation.facts.d
    if isinstance(trials, str) or len(trials) != d:
        raise InputError(
            f"trials: got {shown(trials)}. Expected {d}, one for each degree of freedom: names of coordinates, or {len(names)} "
            "numbers each."
        )
    found = tuple(_trial_vector(trial, names) for trial in trials)
    _require_independent(derivation, found, trials)
    return replace(derivation, trials=found)


def _trial_vector(trial: Trial, names: Sequence[str]) -> tuple[float, ...]:
    if isinstance(trial, str):
        if trial not in names:
            raise InputError(f"trials: there is no coordinate '{trial}'. {nearest(trial, names)}")
        return tuple(float(name == trial) for name in names)
    if len(trial) != len(names) or not all(map(is_real, trial)):
        raise InputError(f"trials: got {shown(trial)}. Expected the name of a coordinate, or {len(names)} numbers.")
    return tuple(map(float, trial))


def _require_independent(derivation: Derivation, x: tuple[tuple[float, ...], ...], given: Sequence[Trial]) -> None:
    """Raise where a trial vector lies in what the constraints and those before it take, at all of some states."""
    space = derivation.workspace
    states = random_states.consistent(space.model, _STATES)
    _, _, A, _ = space.manifold.evaluate(states.q, states.qd, states.t, space.values)
    columns = np.array(x).reshape(len(x), len(states.q)).T
    left = np.zeros(len(x))
    for k in range(states.q.shape[1]):
        G = A[list(derivation.facts.rows), :, k].astype(object)
        D = directions(FLOATS, G, columns.astype(object)).astype(float)
        left = np.maximum(left, np.nan_to_num(np.linalg.norm(D, axis=0)))
    short = left <= _SHORT * np.linalg.norm(columns, axis=0)
    if short.any():
        raise InputError(
            f"trials: {shown(given[int(np.argmax(short))])} lies in what the constraints and the trial vectors before it take. "
            "Expected something to be left of it in step 2. Choose another."
        )


@checked
def derive(
    model: Source,
    formalism: str = "lagrange",
    *,
    engine: str | None = None,
    mode: str | None = None,
    modules: Mapping[str, Sequence[str]] | None = None,
    trials: Sequence[Trial] | None = None,
) -> Equations:
    """The equations of motion of a model by one formalism.

    `engine` is native or python. `mode` is fused (the whole right-hand side is one graph) or assembled (a rank-revealing
    solve in numbers at every step, for constraints whose rank changes along the way); by default the program chooses.
    `modules` are for denoc: kinematic modules by name, each a serial chain of bodies, which its blocks and steps then go through.
    `trials` are for phong: the trial vectors of its second step, names of coordinates or n numbers each. All that serve give the
    same motion; D is longer or shorter, and may vanish at other places.

    >>> derive("cart-pendulum", "gibbs_appell").n_states
    5
    """
    return equations_of(described(model), formalism, engine=engine, mode=mode, modules=modules, trials=trials)


def simulate(
    model: Source, duration: float | None = None, *, formalism: str = "lagrange", **options: Any
) -> Trajectory:
    """The motion of a model from its initial state; options as in `Equations.simulate`."""
    return derive(model, formalism).simulate(duration, **options)


def equations_of(
    model: Elements,
    formalism: str,
    *,
    engine: str | None = None,
    mode: str | None = None,
    choice: Choice | None = None,
    modules: Mapping[str, Sequence[str]] | None = None,
    trials: Sequence[Trial] | None = None,
) -> Equations:
    """The equations of a model by one formalism, derived.

    `modules` are named groups of links, for `denoc`; `trials` the trial vectors of `phong`.
    """
    found = derived(setup(model, engine, mode, choice), formalism)
    if modules is not None:
        found = replace(found, derivation=with_modules(found.derivation, modules))
    return found if trials is None else replace(found, derivation=with_trials(found.derivation, trials))


def equations_by(model: Elements, formalisms: Sequence[str]) -> list[Equations]:
    """The equations of a model by several formalisms, derived; the model is set up once."""
    known = setup(model)
    return [derived(known, formalism) for formalism in formalisms]


def derived(known: Setup, formalism: str, alpha: float = 0.0) -> Equations:
    """The equations by one formalism; those of a large tree by `denoc` are not written out."""
    if formalism == denoc.ABOUT.key and _runs_in_loops(known):
        return TreeEquations(Derivation(known, formalism))
    found = Equations(derivation_of(known, formalism, alpha))
    found.form  # noqa: B018 (raises where the formalism does not apply)
    return found


def _runs_in_loops(known: Setup) -> bool:
    """True for a tree that is better run in loops over its links than written out."""
    model = known.declared
    written_out = (
        model.energies is not None or model.canonical_constraints or model.events or model.controllers or model.rigid
    )
    if len(model.generalized_coordinates) <= MANY or written_out:
        return False
    if known.mode is not None or known.choice is not None:
        return False
    return choose_execution(plan_of(model), "forward", None, known.engine) == "rolled"
