"""Quasi-velocities: u = Y q̇ + Z and its inverse q̇ = W u + X, (3)–(5) of papers/volterra."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import symengine as se

from dalembert.errors import InputError
from dalembert.mechanics import rank
from dalembert.mechanics.motion import Motion
from dalembert.mechanics.state_batch import SampledRows, States, one_state, velocity_derivatives
from dalembert.model.description import Elements
from dalembert.model.elements import Speed
from dalembert.model.joints.spherical import Quaternion
from dalembert.model.scales import Scales, scales_of
from dalembert.symbolic.algebra_base import Array, choose, identity, matrix, stack, vector, zeros
from dalembert.symbolic.elimination import PivotOrder, lu_solve, pivot_order
from dalembert.symbolic.floats import FLOATS, numbers
from dalembert.symbolic.symbols import Formula, rate

_MUCH_BETTER = 1e3  # another choice is used if it is better conditioned by this factor


@dataclass(frozen=True)
class Speeds:
    """The symbols u and the maps between u and q̇."""

    u: Array
    Y: Array
    Z: Array
    W: Array
    X: Array
    named: tuple[tuple[Array, Array], ...] = ()  # names in W and X that denote functions of q, and their rates

    @property
    def qd(self) -> Array:
        """q̇ = W u + X."""
        return self.W @ self.u + self.X


def speed_map(motion: Motion, formulas: Sequence[Formula]) -> tuple[Array, Array]:
    """Y and Z of speeds u = Y q̇ + Z that are formulas: (3)."""
    names = motion.model.coordinate_names
    rest = {rate(name): 0 for name in names}
    if not formulas:
        return zeros(0, motion.n), zeros(0)
    Y = matrix([[motion.lower(se.diff(u, rate(name))) for name in names] for u in formulas])
    return Y, vector([motion.lower(se.sympify(u).subs(rest)) for u in formulas])


def invert(
    motion: Motion, u: Array, Y: Array, Z: Array, rows: Sequence[tuple[Array, Array]], order: PivotOrder
) -> Speeds:
    """q̇ = W u + X from the speeds stacked on the constraint rows (a, b) of a q̇ + b = 0: (4)(5), and (44)."""
    d = len(u)
    S = stack(Y, *(a for a, _ in rows))
    bias = stack(Z, *(b for _, b in rows))
    right = zeros(motion.n, d + 1)
    right[:, :d] = identity(motion.n)[:, :d]
    right[:, d] = -bias
    solved = lu_solve(motion.algebra, S, right, order)
    return Speeds(u, Y, Z, solved[:, :d], solved[:, d])


@dataclass(frozen=True)
class SpeedChoice:
    """Names and formulas of d speeds; the first `n_user_speeds` of them are the user's."""

    names: tuple[str, ...]
    formulas: tuple[Formula, ...]
    n_user_speeds: int


@dataclass(frozen=True)
class ReducedSpeeds:
    """The d − s speeds that serve as u_NI, or why there are none, and a note about those left out."""

    chosen: tuple[int, ...]
    problem: str | None
    note: str | None


def named_speeds(model: Elements, formulas: Sequence[Formula]) -> tuple[Speed, ...]:
    """Speeds with unique names."""
    taken = {*model.coordinate_names, *model.parameter_values}
    fresh = (name for i in itertools.count(1) if (name := f"u{i}") not in taken)
    return tuple(Speed(name, formula) for name, formula in zip(fresh, formulas, strict=False))


def choose_speeds(model: Elements, rows: SampledRows, states: States, scales: Scales) -> SpeedChoice:
    """Choose d speeds: the user's, completed by velocities that stay independent at all states."""
    n, r = len(model.generalized_coordinates), len(rows.independent)
    d, declared = n - r, model.generalized_speeds
    if len(declared) > d:
        raise InputError(
            f"model '{model.name}': {len(declared)} generalized speeds for {d} degrees of freedom "
            f"({n} coordinates, {r} independent constraints). Define at most {d} speeds, or none."
        )
    Y = velocity_derivatives(model, tuple(u.value for u in declared), states)
    bound = np.concatenate([scaled_rows(rows.a, scales.positions), scaled_rows(Y, scales.positions)], axis=1)
    if rank.generic_rank(bound, scales.positions) < r + len(declared):
        raise InputError(
            f"model '{model.name}': the speeds {', '.join(u.name for u in declared)} are linearly dependent on each other "
            "or on the constraints. Expected independent combinations of the velocities. Replace one of them."
        )
    # the velocities of the columns that are not pivots can be chosen freely
    natural, H, unit = _natural_speeds(model, states, scales)
    mapped = bound @ H
    acts = np.linalg.norm(mapped * unit, axis=2) > rank.ROUNDING * np.linalg.norm(bound * scales.positions, axis=2)
    mapped = mapped[:, acts.any(axis=0)]  # norms do not constrain ω
    added = [natural[j] for j in free_columns(mapped, unit)]
    taken = {*model.coordinate_names, *model.parameter_values, *(u.name for u in declared)}
    fresh = (name for i in itertools.count(len(declared) + 1) if (name := f"u{i}") not in taken)
    names = (*(u.name for u in declared), *itertools.islice(fresh, len(added)))
    return SpeedChoice(names, (*(u.value for u in declared), *added), len(declared))


def _natural_speeds(model: Elements, states: States, scales: Scales) -> tuple[list[Formula], np.ndarray, np.ndarray]:
    """The candidate velocities s, H of q̇ = H s (K, n, m), and their scales: rates, and ω for a quaternion."""
    names = model.coordinate_names
    n, K = len(names), len(states)
    speeds: list[Formula] = []
    columns: list[np.ndarray] = []
    units: list[float] = []
    quaternion_of = {part.name: ball for ball in quaternions(model) for part in ball.parts}
    for i, name in enumerate(names):
        ball = quaternion_of.get(name)
        if ball is None:
            speeds.append(rate(name))
            units.append(scales.q[i])
            columns.append(np.repeat(np.eye(n)[None, i], K, axis=0))
        elif ball.parts[0].name == name:
            indices = [names.index(part.name) for part in ball.parts]
            G = ball.angular_motion_subspace(choose("symbolic"), ball.parts)
            speeds += list(G @ vector([rate(part.name) for part in ball.parts]))
            units += [1.0, 1.0, 1.0]
            values = numbers(ball.angular_motion_subspace(FLOATS, list(states.q[indices])), K)  # 2 G / |q|²
            for row in values:
                column = np.zeros((K, n))
                column[:, indices] = row.T / 4  # Gᵀ/2 on the unit sphere
                columns.append(column)
    return speeds, np.stack(columns, axis=2), np.array(units)


def completing_speeds(model: Elements, Y: np.ndarray, states: States, scales: Scales) -> tuple[Formula, ...]:
    """The velocities that complete speeds, Y (K, d, n), to n quasi-velocities: rates, and ω and q·q̇ for a quaternion."""
    natural, H, unit = _natural_speeds(model, states, scales)
    names = model.coordinate_names
    for ball in quaternions(model):
        indices = [names.index(part.name) for part in ball.parts]
        column = np.zeros((len(states), len(names), 1))
        column[:, indices, 0] = states.q[indices].T
        H, unit = np.concatenate([H, column], axis=2), np.append(unit, 1.0)
        natural.append(sum((part * rate(part.name) for part in ball.parts), start=se.Integer(0)))
    return tuple(natural[j] for j in free_columns(Y @ H, unit))


def quaternions(model: Elements) -> list[Quaternion]:
    """The attitudes of a model that are quaternions."""
    found = [getattr(joint, "attitude", joint) for body in model.bodies for joint in body.joints]
    return [ball for ball in found if isinstance(ball, Quaternion)]


def scaled_rows(rows: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Rows (K, r, n), each divided by its largest norm over all states: constant rows stay constant."""
    size = np.linalg.norm(rows * unit, axis=2).max(axis=0, initial=0.0)
    return rows / np.where(size > 0, size, 1.0)[:, None]


def elimination(rows: np.ndarray, unit: np.ndarray, rank_: int | None = None) -> PivotOrder:
    """The pivot order for rows (K, r, n), with rows and columns in comparable units."""
    return pivot_order(scaled_rows(rows, unit) * unit, rank=rank_)


def free_columns(a: np.ndarray, unit: np.ndarray) -> list[int]:
    """The velocities that a q̇ = 0 leaves free: the non-pivot columns, unless these are ill-conditioned at some state.

    On another branch of the motion a velocity can vanish; then the choice maximizes the smallest component in the null space of
    a over all states. `a` is (K, r, n) with independent rows.
    """
    r = a.shape[1]
    free_columns = sorted(elimination(a, unit, r).columns[r:])
    _, _, Vt = np.linalg.svd(rank.normalized_rows(a, unit)[0])
    left = np.swapaxes(Vt[:, r:], 1, 2)  # (K, n, n − r)
    best = rank.best_rows(left, len(free_columns))
    if not free_columns or _sigma_min(left[:, free_columns]) * _MUCH_BETTER > _sigma_min(left[:, list(best)]):
        return free_columns
    return list(best)


def _sigma_min(rows: np.ndarray) -> float:
    return float(np.linalg.svd(rows, compute_uv=False).min())


def choose_reduced(
    choice: SpeedChoice, Y: np.ndarray, momenta: np.ndarray, a: np.ndarray, ignorable: tuple[int, ...], unit: np.ndarray
) -> ReducedSpeeds:
    """Choose u_NI: d − s of the speeds, independent of the momenta M′ of the ignorable coordinates and of a.

    The user's speeds come first, preferably those without velocities of ignorable coordinates; up to d − s of them all serve.
    """
    d, s = len(choice.names), len(ignorable)
    base = np.concatenate([scaled_rows(momenta, unit), a], axis=1)
    mixing = np.linalg.norm((Y * unit)[:, :, list(ignorable)], axis=2).max(axis=0, initial=0.0) > 0
    first = list(range(choice.n_user_speeds)) if choice.n_user_speeds <= d - s else []
    if first and not _independent(base, Y[:, first], unit):
        return ReducedSpeeds((), _dependent_message(choice, first, s), None)
    chosen = first
    for i in sorted(range(d), key=lambda i: (i >= choice.n_user_speeds, bool(mixing[i]))):
        if i not in chosen and len(chosen) < d - s and _independent(base, Y[:, [*chosen, i]], unit):
            chosen = [*chosen, i]
    if len(chosen) < d - s:
        return ReducedSpeeds((), _dependent_message(choice, list(range(d)), s), None)
    chosen.sort()
    return ReducedSpeeds(tuple(chosen), None, _left_out(choice, chosen, mixing))


def _independent(base: np.ndarray, Y: np.ndarray, unit: np.ndarray) -> bool:
    full = np.concatenate([rank.normalized_rows(base, unit)[0], rank.normalized_rows(Y, unit)[0]], axis=1)
    return rank.generic_rank(full) == full.shape[1]


def _dependent_message(choice: SpeedChoice, tried: list[int], s: int) -> str:
    names = ", ".join(choice.names[i] for i in tried)
    return (
        f"the speeds {names} cannot serve as u_NI: they are linearly dependent on the {s} constant momenta of the ignorable "
        "coordinates and the constraints, so they do not determine the velocities"
    )


def _left_out(choice: SpeedChoice, chosen: list[int], mixing: np.ndarray) -> str | None:
    """Which of the user's speeds do not serve as u_NI, and why."""
    left = [i for i in range(choice.n_user_speeds) if i not in chosen]
    if not left:
        return None
    serving = f"{len(chosen)} {'serves' if len(chosen) == 1 else 'serve'}"
    was, contain = ("was", "it contains") if len(left) == 1 else ("were", "they contain")
    why = f"{contain} velocities of ignorable coordinates" if mixing[left].all() else "the others suffice"
    return (
        f"of the {choice.n_user_speeds} user-defined speeds {serving} as u_NI; {', '.join(choice.names[i] for i in left)} {was} "
        f"left out: {why}, and the constant momenta replace them"
    )


# repartitioning along a run


def completeness(Y: np.ndarray, a: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """How well directions Y (K, d, n) complete the constraints a (K, r, n) at each state, from 1 down to 0.

    It is the smallest singular value of [Y; B] with rows of unit norm, B being an orthonormal basis of the rows of a. So it does
    not decrease if the constraints become dependent on each other: no choice of directions could help there.

    >>> a = np.array([[[1.0, 0.0, 0.0], [1.0, 1e-6, 0.0]]])
    >>> completeness(np.array([[[0.0, 0.0, 1.0]]]), a, np.ones(3)).round(6).tolist()
    [1.0]
    >>> completeness(np.array([[[0.0, 1.0, 0.0]]]), a, np.ones(3)).round(6).tolist()
    [0.0]
    """
    basis = np.linalg.qr(np.swapaxes(rank.normalized_rows(a, unit)[0], 1, 2))[0]
    S = np.concatenate([rank.normalized_rows(Y, unit)[0], np.swapaxes(basis, 1, 2)], axis=1)
    return rank.singular_value(S, S.shape[1] - 1)


def speed_rows(model: Elements, speeds: tuple[Formula, ...], q: np.ndarray, t: float) -> np.ndarray:
    """Y of u = Y q̇ + Z at one state."""
    return velocity_derivatives(model, speeds, one_state(q, t=t))[0]


def best_speeds(model: Elements, a: np.ndarray, q: np.ndarray, t: float) -> tuple[Formula, ...]:
    """The natural speeds that complete the independent constraints a q̇ + b = 0 best at one state."""
    state, scales = one_state(q, t=t), scales_of(model)
    natural, _, _ = _natural_speeds(model, state, scales)
    found = _completing_rows(velocity_derivatives(model, tuple(natural), state)[0], a, scales.positions)
    return tuple(natural[i] for i in found)


def best_coordinates(a: np.ndarray, unit: np.ndarray) -> tuple[int, ...]:
    """The coordinates whose rates complete the independent constraints a (r, n) best at one state.

    >>> best_coordinates(np.array([[1.0, 0.1]]), np.ones(2)), best_coordinates(np.array([[0.1, 1.0]]), np.ones(2))
    ((1,), (0,))
    """
    return _completing_rows(np.eye(len(unit)), a, unit)


def _completing_rows(Y: np.ndarray, a: np.ndarray, unit: np.ndarray) -> tuple[int, ...]:
    """Which of the rows Y (m, n) complete the independent rows a (r, n) best."""
    rows = rank.normalized_rows(Y, unit)[0]
    bound = np.linalg.qr(rank.normalized_rows(a, unit)[0].T)[0] if len(a) else np.zeros((len(unit), 0))
    return rank.best_rows(rows - (rows @ bound) @ bound.T, len(unit) - len(a))
