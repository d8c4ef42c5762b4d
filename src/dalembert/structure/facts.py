"""Structural facts, found once and reported: independent constraints, ignorable coordinates, the choice of speeds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import symengine as se

from dalembert.algebra import FLOATS, choose, numbers, vector
from dalembert.algebra.linear import PivotOrder, pivot_order
from dalembert.errors import InputError, SingularError
from dalembert.expressions import coordinate, rate
from dalembert.kinematics.applied import generalized_forces, non_ideal_forces
from dalembert.kinematics.constraints import Levels, levels
from dalembert.kinematics.energies import kinetic, mass_matrix, potential
from dalembert.model import Model
from dalembert.model.joints import Quaternion
from dalembert.structure import samples
from dalembert.structure.samples import States

_COUNT = 12
_NOTHING = 1e-11
_MASSLESS = 1e-13
_FAILING = 1e-6


@dataclass(frozen=True)
class Facts:
    """What is known of a model before any formalism begins."""

    levels: Levels
    rows: tuple[int, ...]  # independent constraint rows, in their own order
    dropped: tuple[str, ...]  # names of redundant constraints
    ignorable: tuple[int, ...]
    reasons: dict[str, str]  # why the other coordinates are not ignorable
    speed_names: tuple[str, ...]
    speeds: tuple[Any, ...]  # formulas of u, d of them
    order: PivotOrder  # for [Y; a]
    chosen: bool  # True when the program chose the speeds
    reduced: tuple[int, ...]  # the speeds that serve as u_NI
    reduced_order: PivotOrder  # for [Y_NI; M'; a]
    maggi_order: PivotOrder  # for [WᵀM; A]
    completing: tuple[int, ...]  # coordinates whose rates complete the speeds to n quasi-velocities
    square_order: PivotOrder  # for [Y; 1 of those]
    dependent: tuple[int, ...]  # coordinates whose rates the constraints can be solved for
    regular_mass: bool  # is M positive definite?
    norms: dict[int, tuple[int, ...]]  # of the completing coordinates: parts of a quaternion, which go on by its norm

    @property
    def d(self) -> int:
        """The number of degrees of freedom."""
        return len(self.speeds)

    @property
    def s(self) -> int:
        """The number of ignorable coordinates."""
        return len(self.ignorable)


def facts_of(model: Model, rows: tuple[int, ...] | None = None) -> Facts:
    """The structural facts of a model, looked at in its initial state and at random consistent ones.

    `rows` are independent constraints that were chosen before; None chooses them.
    """
    states = samples.consistent(model, _COUNT, include_initial=True)
    facts = levels(model)
    A = constraint_matrix(model, facts, states)
    constraint_order = pivot_order(A)
    rows = rows or _independent_rows(A, constraint_order)
    a = A[:, rows, :]
    ignorable, reasons = _ignorable(model, states, A, facts)
    names, speeds, chosen = _speeds(model, a, states)
    Y = _jacobian(model, _gradients(model, speeds), states)
    order = pivot_order(np.concatenate([Y, a], axis=1))
    _require_independent(model, names, order)
    M = mass_matrices(model, states)
    reduced, reduced_order = _reduced(Y, M[:, ignorable, :], a, ignorable, names)
    regular, W = _free_directions(np.concatenate([Y, a], axis=1), len(speeds))
    maggi_order = pivot_order(np.concatenate([np.swapaxes(W, 1, 2) @ M[regular], a[regular]], axis=1))
    dropped = tuple(name for i, name in enumerate(facts.names) if i not in rows)
    completing = tuple(sorted(pivot_order(Y).columns[len(speeds) :]))
    norms = _norms(model, completing)
    rest = np.repeat(np.eye(len(model.coordinate_list))[None, list(completing)], len(states), axis=0)
    for k, i in enumerate(completing):
        if i in norms:
            rest[:, k, :] = 0.0
            rest[:, k, norms[i]] = states.q[list(norms[i])].T
    _require_inertia(model, np.swapaxes(W, 1, 2) @ M[regular] @ W, names)
    return Facts(
        facts,
        rows,
        dropped,
        ignorable,
        reasons,
        names,
        speeds,
        order,
        chosen,
        reduced,
        reduced_order,
        maggi_order,
        completing,
        pivot_order(np.concatenate([Y, rest], axis=1)),
        tuple(i for i in range(A.shape[2]) if i not in _free_columns(a, constraint_order)),
        _smallest(M) > _MASSLESS,
        norms,
    )


def _norms(model: Model, completing: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """Of the completing coordinates, one for each quaternion: the places of its four parts."""
    names, out = model.coordinate_names, {}
    for ball in (getattr(joint, "attitude", joint) for body in model.bodies for joint in body.joints):
        if isinstance(ball, Quaternion):
            places = tuple(names.index(part.name) for part in ball.parts)
            first = next((i for i in completing if i in places), None)
            if first is not None:
                out[first] = places
    return out


def _free_directions(S: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The states at which [Y; a] is regular, and its inverse's first d columns there; the initial state may be singular."""
    sizes = np.linalg.svd(S, compute_uv=False)
    regular = np.flatnonzero(sizes[:, -1:].min(axis=1, initial=1.0) > 1e-12 * sizes.max(axis=1, initial=0.0))
    if not len(regular):
        regular = np.arange(len(S))
    return regular, np.linalg.pinv(S[regular], rcond=1e-14)[:, :, :d]


def _smallest(M: np.ndarray) -> float:
    """The smallest pivot of symmetric matrices (K, n, n), scaled to a unit diagonal."""
    diagonal = np.sqrt(np.maximum(np.einsum("kii->ki", M), 0.0))
    if not M.size:
        return 1.0
    if (diagonal <= 1e-14 * diagonal.max(axis=1, keepdims=True)).any():
        return 0.0
    return float(np.linalg.eigvalsh(M / diagonal[:, :, None] / diagonal[:, None, :]).min())


def _require_inertia(model: Model, M_u: np.ndarray, names: tuple[str, ...]) -> None:
    """Raise when some motion that the constraints leave free has no inertia."""
    if _smallest(M_u) > _MASSLESS:
        return
    free = [name for i, name in enumerate(names) if M_u[0, i, i] <= 1e-14 * max(M_u[0].max(), 1e-300)]
    which = f"the speed '{free[0]}'" if free else "a combination of the speeds " + ", ".join(names)
    raise SingularError(
        f"model '{model.name}': {which} has no inertia, so its acceleration is not determined. "
        "Expected WᵀMW to be positive definite. Give mass or inertia to the body that moves with it, or constrain it."
    )


def _jacobian(model: Model, entries: tuple[tuple[Any, ...], ...], states: States) -> np.ndarray:
    """A matrix of formulas at all states, with shape (K, rows, n)."""
    out = np.zeros((len(states), len(entries), len(states.q)))
    lower = samples.at_formulas(model, states).lower
    for i, row in enumerate(entries):
        for j, entry in enumerate(row):
            out[:, i, j] = lower(entry)
    return out


def constraint_matrix(model: Model, facts: Levels, states: States) -> np.ndarray:
    """A at all states, with shape (K, rows, n)."""
    A = samples.constraints_at(model, facts, states).A
    return np.moveaxis(numbers(A, len(states)), -1, 0)


def _gradients(model: Model, speeds: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(se.diff(u, rate(name)) for name in model.coordinate_names) for u in speeds)


def mass_matrices(model: Model, states: States) -> np.ndarray:
    """The mass matrix at all states, with shape (K, n, n)."""
    if model.energies is None:
        return np.moveaxis(numbers(mass_matrix(samples.at(model, states)), len(states)), -1, 0)
    momenta = tuple(se.diff(model.energies.kinetic, rate(name)) for name in model.coordinate_names)
    return _jacobian(model, _gradients(model, momenta), states)


def _ignorable(model: Model, states: States, A: np.ndarray, facts: Levels) -> tuple[tuple[int, ...], dict[str, str]]:
    """Definition 1 of papers/volterra: q_i absent from L, no column in a, no generalized force; else the reason."""
    slope, force = _lagrangian_slopes(model, states), _forces(model, states)
    ignorable, reasons = [], {}
    for i, name in enumerate(model.coordinate_names):
        touched = [facts.names[r] for r in range(A.shape[1]) if np.abs(A[:, r, i]).max() > _NOTHING]
        if slope[i] > _NOTHING:
            reasons[name] = f"the Lagrangian depends on {name}"
        elif touched:
            reasons[name] = f"the constraint '{touched[0]}' has a non-zero column for {name}"
        elif force[i] > _NOTHING:
            reasons[name] = f"the generalized force on {name} is not zero"
        elif moved := [c.name for c in model.canonical_list if coordinate(name) in c.phi.free_symbols]:
            reasons[name] = f"the constraint '{moved[0]}' on momenta depends on {name}"
        else:
            ignorable.append(i)
    return tuple(ignorable), reasons


def _lagrangian_slopes(model: Model, states: States) -> np.ndarray:
    """The largest |∂L/∂q_i| over the states, relative to the size of L, by complex steps."""
    n, K = states.q.shape
    q = np.repeat(states.q[:, :, None], n, axis=2).astype(complex)
    q[np.arange(n), :, np.arange(n)] += 1e-30j
    spread = States(q.reshape(n, -1), np.repeat(states.qd, n, axis=1), np.repeat(states.t, n))
    motion = samples.at(model, spread)
    with np.errstate(all="ignore"):
        T, V = kinetic(motion, motion.qd), potential(motion)
    size = np.maximum(1e-12, np.abs(numbers(vector([T, V]), K * n)).sum(axis=0))
    L = numbers(vector([T - V]), K * n)[0]
    return np.abs(np.imag(L) / 1e-30 / size).reshape(K, n).max(axis=0)


def _forces(model: Model, states: States) -> np.ndarray:
    """The largest generalized force on each coordinate over the states."""
    motion = samples.at(model, states)
    size = np.abs(numbers(generalized_forces(motion), len(states))).max(axis=1)
    C = non_ideal_forces(motion)
    return np.maximum(size, np.abs(numbers(C, len(states))).max(axis=1)) if len(C) else size


def _speeds(model: Model, a: np.ndarray, states: States) -> tuple[tuple[str, ...], tuple[Any, ...], bool]:
    """Names and formulas of d speeds: the user's, completed by well-conditioned generalized velocities."""
    n, r = len(model.coordinate_list), a.shape[1]
    d = n - r
    given = model.speed_list
    if len(given) > d:
        raise InputError(
            f"model '{model.name}': {len(given)} speeds for {d} degrees of freedom "
            f"({n} coordinates, {r} independent constraints). Give at most {d} speeds, or none."
        )
    Y = _jacobian(model, _gradients(model, tuple(u.value for u in given)), states)
    if pivot_order(np.concatenate([a, Y], axis=1)).rank < r + len(given):
        raise InputError(
            f"model '{model.name}': the speeds {', '.join(u.name for u in given)} are not independent of each other "
            "and of the constraints. Expected independent combinations of the velocities. Replace one of them."
        )
    # the columns that are not solved for are the velocities that can be chosen freely
    natural, H = _natural_speeds(model, states)
    taken_up = np.concatenate([a, Y], axis=1) @ H
    taken_up = taken_up[:, np.abs(taken_up).max(axis=(0, 2), initial=0.0) > 1e-9]  # norms say nothing about ω
    free = _free_columns(taken_up, pivot_order(taken_up))
    added = [natural[j] for j in free]
    taken = {*model.coordinate_names, *model.parameter_values, *(u.name for u in given)}
    fresh = (name for i in itertools.count(len(given) + 1) if (name := f"u{i}") not in taken)
    names = (*(u.name for u in given), *itertools.islice(fresh, len(added)))
    return names, (*(u.value for u in given), *added), not given


def _natural_speeds(model: Model, states: States) -> tuple[list[Any], np.ndarray]:
    """The velocities a choice is made from, and H of q̇ = H s (K, n, m): rates of coordinates, and ω for a quaternion."""
    names = model.coordinate_names
    n, K = len(names), len(states)
    speeds: list[Any] = []
    columns: list[np.ndarray] = []
    found = [getattr(j, "attitude", j) for body in model.bodies for j in body.joints]
    balls = [ball for ball in found if isinstance(ball, Quaternion)]
    turned = {part.name: ball for ball in balls for part in ball.parts}
    for i, name in enumerate(names):
        ball = turned.get(name)
        if ball is None:
            speeds.append(rate(name))
            columns.append(np.repeat(np.eye(n)[None, i], K, axis=0))
        elif ball.parts[0].name == name:
            places = [names.index(part.name) for part in ball.parts]
            G = ball.angular(choose("symbolic"), ball.parts)
            speeds += list(G @ vector([rate(part.name) for part in ball.parts]))
            values = numbers(ball.angular(FLOATS, list(states.q[places])), K)  # 2 G / |q|²
            for row in values:
                column = np.zeros((K, n))
                column[:, places] = row.T / 4  # Gᵀ/2 on the unit sphere
                columns.append(column)
    return speeds, np.stack(columns, axis=2)


def _independent_rows(A: np.ndarray, order: PivotOrder) -> tuple[int, ...]:
    """All rows, or of dependent ones those that stay independent best over all states; A is (K, r, n)."""
    if order.rank == A.shape[1]:
        return tuple(range(order.rank))
    chosen: list[int] = []
    sizes = np.linalg.norm(A, axis=2).max(axis=0)
    left = A / np.where(sizes > 1e-9 * sizes.max(), sizes, np.inf)[:, None]  # rounding is no row
    for _ in range(order.rank):
        share = np.linalg.norm(left, axis=2)
        share[:, chosen] = -1.0
        chosen.append(int(np.argmax(np.round(share.min(axis=0), 9))))  # of equals the first
        along = left[:, chosen[-1]] / np.maximum(share[:, chosen[-1]], 1e-300)[:, None]
        left = left - np.einsum("krn,kn->kr", left, along)[:, :, None] * along[:, None, :]
    return tuple(sorted(chosen))


def _free_columns(a: np.ndarray, order: PivotOrder) -> list[int]:
    """The velocities that a q̇ = 0 leaves free: those that elimination leaves over, unless they fail at some state.

    On another branch of the motion a velocity can vanish; then those are taken whose smallest share in the null space of a,
    over all states, is largest. `a` is (K, r, n) with independent rows.
    """
    usual, r = sorted(order.columns[order.rank :]), a.shape[1]
    _, _, Vt = np.linalg.svd(a)
    left = np.swapaxes(Vt[:, r:], 1, 2)  # (K, n, n − r)
    if not usual or np.linalg.svd(left[:, usual], compute_uv=False).min() > _FAILING:
        return usual
    chosen: list[int] = []
    for _ in usual:
        share = np.linalg.norm(left, axis=2)
        chosen.append(int(np.argmax(share.min(axis=0))))
        along = left[:, chosen[-1]] / np.maximum(share[:, chosen[-1]], 1e-300)[:, None]
        left = left - np.einsum("knd,kd->kn", left, along)[:, :, None] * along[:, None, :]
    return sorted(chosen)


def _require_independent(model: Model, names: tuple[str, ...], order: PivotOrder) -> None:
    if order.rank < len(order.columns):
        raise SingularError(
            f"model '{model.name}': the speeds {', '.join(names)} and the constraints do not determine the velocities. "
            "Expected [Y; a] to be invertible. Choose other speeds."
        )


def _reduced(
    Y: np.ndarray, M_I: np.ndarray, a: np.ndarray, ignorable: tuple[int, ...], names: tuple[str, ...]
) -> tuple[tuple[int, ...], PivotOrder]:
    """d − s of the speeds that complete [M'; a] well: those that mix in ignorable velocities come last."""
    base = np.concatenate([M_I, a], axis=1)
    wanted = Y.shape[1] - len(ignorable)
    mixing = np.abs(Y[:, :, ignorable]).max(axis=(0, 2), initial=0.0) > _NOTHING
    for threshold in (1e-2, 1e-4, 1e-8):
        chosen: list[int] = []
        for i in sorted(range(Y.shape[1]), key=lambda i: bool(mixing[i])):
            trial = pivot_order(np.concatenate([_unit(base), _unit(Y[:, [*chosen, i], :])], axis=1))
            full = base.shape[1] + len(chosen) + 1
            if len(chosen) < wanted and trial.rank == full and trial.quality > threshold:
                chosen.append(i)
        if len(chosen) == wanted:
            chosen.sort()
            return tuple(chosen), pivot_order(np.concatenate([Y[:, chosen, :], base], axis=1))
    raise SingularError(
        f"of the speeds {', '.join(names)} no {wanted} complete the dynamical constraints to an invertible system. "
        "Choose other speeds."
    )


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=2, keepdims=True), 1e-300)


def speed_rows(model: Model, speeds: tuple[Any, ...], q: np.ndarray, t: float) -> np.ndarray:
    """Y of u = Y q̇ + Z at one state, each row of unit length."""
    state = States(q[:, None], np.zeros_like(q)[:, None], np.array([t]))
    return _unit(_jacobian(model, _gradients(model, speeds), state))[0]


def independence(Y: np.ndarray, a: np.ndarray) -> float:
    """How well speeds and constraints determine the velocities: the smallest singular value of [Y; a] with unit rows."""
    S = np.concatenate([_unit(Y[None])[0], _unit(a[None])[0]])
    return float(np.linalg.svd(S, compute_uv=False)[-1]) if len(S) else 1.0


def best_speeds(model: Model, a: np.ndarray, q: np.ndarray, t: float) -> tuple[Any, ...]:
    """The natural speeds that complete the independent constraints a q̇ + b = 0 best at one state."""
    state = States(q[:, None], np.zeros_like(q)[:, None], np.array([t]))
    natural, _ = _natural_speeds(model, state)
    Y = speed_rows(model, tuple(natural), q, t)
    held, _ = np.linalg.qr(a.T) if len(a) else (np.zeros((len(q), 0)), None)
    return tuple(natural[i] for i in best_rows(Y - (Y @ held) @ held.T, len(q) - len(a)))


def best_rows(rows: np.ndarray, count: int) -> tuple[int, ...]:
    """`count` rows that are as independent as can be had, one after the other."""
    left, chosen = np.array(rows, dtype=float), []
    for _ in range(count):
        chosen.append(int(np.argmax(np.round(np.linalg.norm(left, axis=1), 9))))  # of equals the first
        along = left[chosen[-1]] / max(float(np.linalg.norm(left[chosen[-1]])), 1e-300)
        left = left - np.outer(left @ along, along)
        left[chosen[-1]] = 0.0
    return tuple(sorted(chosen))


def with_regular_speeds(model: Model, known: Facts, states: States) -> States:
    """The states at which speeds and constraints determine the velocities; another branch of a mechanism may need others."""
    Y = _jacobian(model, _gradients(model, known.speeds), states)
    a = constraint_matrix(model, known.levels, states)[:, known.rows, :]
    S = _unit(np.concatenate([Y, a], axis=1))
    good = np.linalg.svd(S, compute_uv=False)[:, -1] > 1e-4 if S.size else np.ones(len(states), dtype=bool)
    return States(states.q[:, good], states.qd[:, good], states.t[good])
