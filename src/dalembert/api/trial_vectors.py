"""The trial vectors of Phong's second step, as a user chooses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.arguments import is_real, shown
from dalembert.errors import InputError, nearest
from dalembert.formalisms import phong
from dalembert.formalisms.shared.solvers import directions
from dalembert.mechanics import random_states
from dalembert.simulation.derivation import Derivation
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
    found = tuple(_numbers(trial, names) for trial in trials)
    _require_independent(derivation, found, trials)
    return replace(derivation, trials=found)


def _numbers(trial: Trial, names: Sequence[str]) -> tuple[float, ...]:
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
