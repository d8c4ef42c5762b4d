"""Random states that fulfil the constraints, and the model in motion at them, over plain numbers.

Structural facts (rank, pivots, ignorable coordinates) are looked at here, not at one state but at several.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.algebra import FLOATS, Array, identity, numbers, stack, vector
from dalembert.errors import InconsistentStateError
from dalembert.kinematics.applied import active_forces, generalized_forces
from dalembert.kinematics.constraints import Constraints, Levels, levels
from dalembert.kinematics.energies import kinetic, potential
from dalembert.kinematics.motion import Motion, move
from dalembert.model import Model

_SEED = 1743
_TOLERANCE = 1e-11
_DEPENDENT = 1e-9  # singular values below this fraction of the largest belong to redundant constraints
_SINGULAR = 1e-3  # and those below this fraction of their median to a singular position


@dataclass(frozen=True)
class States:
    """A batch of states: q and qd of shape (n, K), t of shape (K,)."""

    q: np.ndarray
    qd: np.ndarray
    t: np.ndarray

    def __len__(self) -> int:
        return len(self.t)


def at(model: Model, states: States, parameters: Mapping[str, float] | None = None) -> Motion:
    """The model in motion over plain numbers, all states at once."""
    values = dict(model.parameter_values if parameters is None else parameters)
    return move(model, FLOATS, states.t, _entries(states.q), _entries(states.qd), values)


def consistent(
    model: Model,
    count: int,
    *,
    seed: int = _SEED,
    parameters: Mapping[str, float] | None = None,
    include_initial: bool = False,
) -> States:
    """`count` random states on the constraints, around the model's initial state, from a fixed seed.

    >>> from dalembert.model import Model
    >>> model = Model("free").parameters(m=1.0).coordinates("x")
    >>> consistent(model, 3).q.shape
    (1, 3)
    """
    rng = np.random.default_rng(seed)
    facts = levels(model)
    kept: list[States] = []
    if include_initial:
        q0, qd0 = model.initial
        kept.append(project(model, facts, States(q0[:, None], qd0[:, None], np.zeros(1)), parameters))
    for _ in range(60):
        missing = count - sum(len(s) for s in kept)
        if missing <= 0:
            break
        good = project(model, facts, _draw(model, rng, missing), parameters)
        kept.append(_regular(model, facts, _defined(model, good, parameters), kept, parameters))
    found = States(*(np.concatenate([getattr(s, name) for s in kept], axis=-1) for name in ("q", "qd", "t")))
    if len(found) < count:
        raise InconsistentStateError(
            f"model '{model.name}': only {len(found)} of {count} random states could be brought onto the constraints. "
            "Expected a neighbourhood of the initial state in which the constraints can be met. "
            "Start the model from a state that fulfils them."
        )
    return found


def _defined(model: Model, states: States, parameters: Mapping[str, float] | None) -> States:
    """The states at which energies and forces have values: a root of a negative number would pass for anything."""
    with np.errstate(all="ignore"):
        motion = at(model, states, parameters)
        energies = vector([kinetic(motion, motion.qd), potential(motion)])
        forces = stack(generalized_forces(motion), active_forces(motion, identity(motion.n)))
        good = np.isfinite(numbers(stack(energies, forces), len(states))).all(axis=0)
    return States(states.q[:, good], states.qd[:, good], states.t[good])


def _regular(
    model: Model, facts: Levels, states: States, kept: list[States], parameters: Mapping[str, float] | None
) -> States:
    """The states without those next to a singular position, where constraints are all but dependent."""
    if not facts.names or not len(states):
        return states
    smallest, rank = _smallest(model, facts, states, parameters)
    before = [_smallest(model, facts, known, parameters) for known in kept]
    typical = np.median(np.concatenate([smallest, *(size for size, _ in before)]))
    # on a singular branch, such as a linkage folded on itself, more constraints are dependent than elsewhere
    usual = int(np.bincount(np.concatenate([rank, *(known for _, known in before)])).argmax())
    good = (smallest >= _SINGULAR * typical) & (rank == usual)
    return States(states.q[:, good], states.qd[:, good], states.t[good])


def _smallest(
    model: Model, facts: Levels, states: States, parameters: Mapping[str, float] | None
) -> tuple[np.ndarray, np.ndarray]:
    """The smallest singular value of A at each state that is not zero by redundancy, and the rank of A."""
    _, A = _residual(model, facts, states, parameters, position=False)
    sigma = np.linalg.svd(np.moveaxis(np.where(np.isfinite(A), A, 0.0), -1, 0), compute_uv=False)
    counted = sigma > _DEPENDENT * sigma.max(axis=1, keepdims=True)
    smallest = np.where(counted, sigma, np.inf).min(axis=1)
    return np.where(np.isfinite(smallest), smallest, 0.0), counted.sum(axis=1)


def project(model: Model, facts: Levels, states: States, parameters: Mapping[str, float] | None = None) -> States:
    """The states brought onto the constraints by Newton steps, without those that do not get there."""
    q, qd, t = states.q.copy(), states.qd.copy(), states.t
    # servo constraints are not kept: feedback shows only off the target
    rows = [i for i, driven in enumerate(facts.servo) if not driven]
    held = [i for i in rows if i < facts.held]
    with np.errstate(all="ignore"):
        for _ in range(30 if held else 0):
            phi, A = _residual(model, facts, States(q, qd, t), parameters, position=True)
            if np.nanmax(np.abs(phi[held]), initial=0.0) < _TOLERANCE:
                break
            q = q - _damped(A[held], phi[held])
        if held:
            _, A = _residual(model, facts, States(q, qd, t), parameters, position=True)
            for _ in range(2 if _redundant(A[held]) else 0):  # down to rounding, where they agree with each other
                phi, A = _residual(model, facts, States(q, qd, t), parameters, position=True)
                q = q - _least_norm(A[held], phi[held], 1e-7)
        for _ in range(30 if rows else 0):
            psi, A = _residual(model, facts, States(q, qd, t), parameters, position=False)
            if np.nanmax(np.abs(psi[rows]), initial=0.0) < _TOLERANCE:
                break
            qd = qd - _least_norm(A[rows], psi[rows])
        out = States(q, qd, t)
        good = np.isfinite(q).all(axis=0) & np.isfinite(qd).all(axis=0)
        for position, kept in ((True, held), (False, rows)):
            residual, _ = _residual(model, facts, out, parameters, position=position)
            good &= (np.abs(residual[kept]) < 1e-9).all(axis=0)
    return States(q[:, good], qd[:, good], t[good])


def _redundant(A: np.ndarray) -> bool:
    """True when constraints are dependent at most of the states; A (k, n, K)."""
    sigma = np.linalg.svd(np.moveaxis(np.where(np.isfinite(A), A, 0.0), -1, 0), compute_uv=False)
    short = len(A) > A.shape[1]
    return short or bool(sigma.size and np.median(sigma[:, -1]) < 1e-6 * np.median(sigma[:, 0]))


def _draw(model: Model, rng: np.random.Generator, count: int) -> States:
    q0, qd0 = model.initial
    n = len(q0)
    q = q0[:, None] + rng.uniform(-1, 1, (n, count))
    qd = np.maximum(1.0, np.abs(qd0))[:, None] * rng.uniform(-1, 1, (n, count))
    return States(q, qd, rng.uniform(0, 10, count))


def _residual(
    model: Model, facts: Levels, states: States, parameters: Mapping[str, float] | None, *, position: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Violation on one level, and A (k×n), at all states."""
    known = constraints_at(model, facts, states, parameters)
    K = len(states)
    violation = known.phi if position else known.velocity
    return numbers(violation, K), numbers(known.A, K)


def constraints_at(
    model: Model, facts: Levels, states: States, parameters: Mapping[str, float] | None = None
) -> Constraints:
    """The constraints at many states at once; the bodies are moved only where loops need them."""
    return Constraints((at if model.loops else at_formulas)(model, states, parameters), facts)


def at_formulas(model: Model, states: States, parameters: Mapping[str, float] | None = None) -> Motion:
    """Like `at`, without the walk over the bodies: enough for constraints and speeds."""
    from dalembert.expressions.lower import Lowering
    from dalembert.kinematics.motion import values

    known = dict(model.parameter_values if parameters is None else parameters)
    q, qd = _entries(states.q), _entries(states.qd)
    lower = Lowering(FLOATS, values(model, states.t, list(q), list(qd), known))
    return Motion(model, FLOATS, states.t, q, qd, lower, (), ())


def _least_norm(A: np.ndarray, b: np.ndarray, cutoff: float = 1e-10) -> np.ndarray:
    """The smallest x with A x = b, state by state; A (k, n, K), b (k, K) -> (n, K)."""
    A = np.where(np.isfinite(A), A, 0.0)
    inverse = np.linalg.pinv(np.moveaxis(A, -1, 0), rcond=cutoff)
    return np.einsum("Knk,kK->nK", inverse, b)


def _damped(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Aᵀ(A Aᵀ + |b|² 1)⁻¹ b, state by state: Newton's step near the constraints, and short where rows become dependent.

    With redundant constraints the smallest singular values vanish together with b; an undamped step would leap along them.
    """
    A = np.moveaxis(np.where(np.isfinite(A), A, 0.0), -1, 0)
    b = np.where(np.isfinite(b), b, 0.0)
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    damped = sigma / np.maximum(sigma**2 + np.sum(b * b, axis=0)[:, None], 1e-30)
    return np.einsum("Krn,Kr,Kkr,kK->nK", Vt, damped, U, b)


def _entries(rows: np.ndarray) -> Array:
    return vector(list(rows))
