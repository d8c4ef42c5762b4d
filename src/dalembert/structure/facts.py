"""Structural facts, found once and reported: independent constraints, ignorable coordinates, the choice of speeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.algebra.linear import PivotOrder
from dalembert.errors import SingularError
from dalembert.expressions import rate
from dalembert.kinematics.constraints import Levels, levels
from dalembert.model import Elements
from dalembert.model.checks.bodies import weightless
from dalembert.model.elements import Formula
from dalembert.model.frozen import Frozen
from dalembert.structure import rank, samples
from dalembert.structure.constraint_rows import dimensionless, rows_at
from dalembert.structure.ignorable import find_ignorable
from dalembert.structure.scales import Scales, scales_of
from dalembert.structure.speed_choice import (
    choose_reduced,
    choose_speeds,
    elimination,
    free_columns,
    named_speeds,
    quaternions,
)
from dalembert.structure.states import States, constraint_matrix, mass_matrices, slopes

_COUNT = 12
_POOR = 1e-3  # speeds that determine the velocities so much worse than usual are no ground for a comparison


@dataclass(frozen=True)
class Choice:
    """Speeds, independent constraints and dependent coordinates that a run continues with; empty: those of the start."""

    speeds: tuple[Formula, ...] = ()
    rows: tuple[int, ...] = ()
    dependent: tuple[int, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What is known of a model before any formalism begins."""

    levels: Levels
    rows: tuple[int, ...]  # independent constraint rows, in their own order
    dropped: tuple[str, ...]  # names of redundant constraints
    ignorable: tuple[int, ...]
    reasons: Frozen[str, str]  # for every coordinate why it is ignorable, or what refutes it
    generic: bool  # True: what is ignorable is so for all values of the parameters
    speed_names: tuple[str, ...]
    speeds: tuple[Formula, ...]  # formulas of u, d of them
    order: PivotOrder  # for [Y; a]
    given: int  # how many of the speeds, the first, are the user's
    reduced: tuple[int, ...]  # the speeds that serve as u_NI
    reduced_mixed: bool  # do they contain velocities of ignorable coordinates?
    reduced_order: PivotOrder | None  # for [Y_NI; 1 of q̇_I; a], or [Y_NI; M'; a] where they do
    reduced_problem: str | None  # why no speeds serve as u_NI
    reduced_note: str | None  # which of the user's speeds do not serve as u_NI
    maggi_order: PivotOrder  # for [WᵀM; A]
    completing: tuple[int, ...]  # coordinates whose rates complete the speeds to n quasi-velocities
    square_order: PivotOrder  # for [Y; 1 of those]
    dependent: tuple[int, ...]  # coordinates whose rates the constraints can be solved for
    regular_mass: bool  # is M positive definite?
    norms: Frozen[int, tuple[int, ...]]  # of the completing coordinates: parts of a quaternion, which go on by its norm
    scales: Scales
    sizes: tuple[float, ...]  # how large each constraint row is by nature
    independence: float  # of the independent rows, from 1 down to 0
    structural: frozenset[str]  # parameters in constraints and speeds: their values can change which are independent
    mix: tuple[tuple[float, ...], ...] | None  # combinations of nearly dependent rows that are well independent

    @property
    def d(self) -> int:
        """The number of degrees of freedom."""
        return len(self.speeds)

    @property
    def s(self) -> int:
        """The number of ignorable coordinates."""
        return len(self.ignorable)

    @property
    def chosen(self) -> bool:
        """True when the program chose all speeds."""
        return not self.given

    @property
    def nearly_dependent(self) -> bool:
        """True when the independent constraints are nearly dependent, so that they are combined before they are solved."""
        return self.independence < rank.NEARLY

    def dimensionless(self, A: np.ndarray, unit: np.ndarray | None = None) -> np.ndarray:
        """All constraint rows (…, k, n), each divided by its size; rounding is zero. `unit` measures other velocities than q̇."""
        return dimensionless(A, self.scales.positions if unit is None else unit, np.array(self.sizes))


def facts_of(model: Elements, choice: Choice | None = None) -> Facts:
    """The structural facts of a model, looked at in its initial state and at random consistent ones.

    `choice` are speeds, independent constraints and dependent coordinates that were chosen before; None chooses them.
    """
    rows = choice.rows or None if choice else None
    if choice and choice.speeds:
        model = model.replaced(speed_list=named_speeds(model, choice.speeds))
    states = samples.consistent(model, _COUNT, include_initial=True)
    known, scales = levels(model), scales_of(model)
    held = rows_at(model, known, states, scales, rows)
    ignored = find_ignorable(model, known)
    ignorable = ignored.places
    chosen = choose_speeds(model, held, states, scales)
    Y, M, unit = slopes(model, chosen.formulas, states), mass_matrices(model, states), scales.positions
    S = np.concatenate([Y, held.a], axis=1)
    _require_independent(model, chosen.names, S, unit)
    reduced = choose_reduced(chosen, Y, M[:, list(ignorable)], held.a, ignorable, unit)
    mixed = _contain_rates(model, [chosen.formulas[i] for i in reduced.chosen], ignorable)
    apart = M if mixed else np.repeat(np.eye(len(unit))[None], len(Y), axis=0)
    staying = np.concatenate([Y[:, list(reduced.chosen)], apart[:, list(ignorable)], held.a], axis=1)
    regular, W = _free_directions(S, unit, len(chosen.names))
    WtM = np.swapaxes(W, 1, 2) @ M[regular]
    _require_inertia(model, WtM @ W, chosen.names)
    completing = tuple(sorted(elimination(Y, unit, Y.shape[1]).columns[Y.shape[1] :]))
    norms = _norms(model, completing)
    n = len(unit)
    dependent = (choice and choice.dependent) or _complement(free_columns(held.a, unit), n)
    return Facts(
        levels=known,
        rows=held.independent,
        dropped=tuple(name for i, name in enumerate(known.names) if i not in held.independent),
        ignorable=ignorable,
        reasons=Frozen(ignored.reasons),
        generic=ignored.generic,
        speed_names=chosen.names,
        speeds=chosen.formulas,
        order=elimination(S, unit, n),
        given=chosen.given,
        reduced=reduced.chosen,
        reduced_mixed=mixed,
        reduced_order=None if reduced.problem else elimination(staying, unit, n),
        reduced_problem=reduced.problem,
        reduced_note=reduced.note,
        maggi_order=elimination(np.concatenate([WtM, held.a[regular]], axis=1), unit, n),
        completing=completing,
        square_order=elimination(np.concatenate([Y, completing_rows(completing, norms, states.q)], axis=1), unit),
        dependent=dependent,
        regular_mass=rank.definite(M),
        norms=Frozen(norms),
        scales=scales,
        sizes=tuple(held.sizes.tolist()),
        independence=float(np.median(rank.independence(held.a, unit))),
        structural=_structural(model),
        mix=_mix(held.a, held.sizes[list(held.independent)], unit),
    )


def _complement(indices: Sequence[int], n: int) -> tuple[int, ...]:
    """The other indices below n."""
    return tuple(i for i in range(n) if i not in indices)


def _contain_rates(model: Elements, speeds: Sequence[Formula], coordinates: Sequence[int]) -> bool:
    """True where velocities of these coordinates stand in some of the speeds."""
    rates = {rate(model.coordinate_names[i]).name for i in coordinates}
    return any(symbol.name in rates for speed in speeds for symbol in speed.free_symbols)


def _structural(model: Elements) -> frozenset[str]:
    """The parameters that stand in constraints and speeds; a loop takes in the places of all joints."""
    formulas = [c.formula for c in model.formula_constraints] + [u.value for u in model.speed_list]
    if model.loops:
        joints = [joint for body in model.bodies for joint in body.joints] + [loop.joint for loop in model.loops]
        formulas += [x for joint in joints for x in (*joint.position, *joint.rotation, *joint.values)]
        formulas += [x for loop in model.loops for x in (*loop.position, *loop.rotation)]
    names = {symbol.name for formula in formulas for symbol in formula.free_symbols}
    return frozenset(names & model.parameter_values.keys())


def _mix(a: np.ndarray, sizes: np.ndarray, unit: np.ndarray) -> tuple[tuple[float, ...], ...] | None:
    """Constant combinations of nearly dependent rows that are not so at any state; None where there is no need, or none.

    They are made by Gram–Schmidt at a usual state, the first row first, so that rows stay as simple as can be.
    """
    found = rank.independence(a, unit)
    if not a.shape[1] or np.median(found) >= rank.NEARLY:
        return None
    usual = int(np.argsort(found)[len(found) // 2])
    rows, size = rank.leveled(a[usual], unit)
    P = np.tril(np.linalg.inv(np.linalg.qr(rows.T)[1].T)) / size
    if np.median(rank.independence(P @ a, unit)) < rank.NEARLY:
        return None
    P = P * sizes.max() / sizes
    return tuple(tuple(row) for row in (P / P[0, 0]).tolist())


def _norms(model: Elements, completing: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """Of the completing coordinates, one for each quaternion: the places of its four parts."""
    names, out = model.coordinate_names, {}
    for ball in quaternions(model):
        places = tuple(names.index(part.name) for part in ball.parts)
        first = next((i for i in completing if i in places), None)
        if first is not None:
            out[first] = places
    return out


def completing_rows(completing: tuple[int, ...], norms: Mapping[int, tuple[int, ...]], q: np.ndarray) -> np.ndarray:
    """The rows (K, m, n) that complete the speeds to n quasi-velocities at positions q (n, K).

    They are rates of coordinates, and q·q̇ for a quaternion.
    """
    rest = np.repeat(np.eye(len(q))[None, list(completing)], q.shape[1], axis=0)
    for k, i in enumerate(completing):
        if i in norms:
            rest[:, k, :] = 0.0
            rest[:, k, norms[i]] = q[list(norms[i])].T
    return rest


def _free_directions(S: np.ndarray, unit: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The states at which [Y; a] is regular, and its inverse's first d columns there; the initial state may be singular."""
    regular = np.flatnonzero(rank.numeric_rank(S, unit) == S.shape[1])
    if not len(regular):
        regular = np.arange(len(S))
    return regular, rank.pseudo_inverse(S[regular], unit)[:, :, :d]


def _require_inertia(model: Elements, M_u: np.ndarray, names: tuple[str, ...]) -> None:
    """Raise when some motion that the constraints leave free has no inertia."""
    if rank.definite(M_u):
        return
    free = [name for name, none in zip(names, rank.massless(M_u)[0], strict=True) if none]
    which = f"the speed '{free[0]}'" if free else "a combination of the speeds " + ", ".join(names)
    light = weightless(model)
    told = f" Without mass, and carrying none: {', '.join(light)}." if light else ""
    raise SingularError(
        f"model '{model.name}': {which} has no inertia, so its acceleration is not determined.{told} "
        "Expected WᵀMW to be positive definite. Give mass or inertia to the body that moves with it, or constrain it: where "
        "loads hold it, by the constraint that they balance (docs/mechanisms.md, bodies without mass)."
    )


def _require_independent(model: Elements, names: tuple[str, ...], S: np.ndarray, unit: np.ndarray) -> None:
    if rank.usual_rank(S, unit) < S.shape[2]:
        raise SingularError(
            f"model '{model.name}': the speeds {', '.join(names)} and the constraints do not determine the velocities. "
            "Expected [Y; a] to be invertible. Choose other speeds."
        )


def with_regular_speeds(model: Elements, known: Facts, states: States) -> States:
    """The states at which speeds and constraints determine the velocities; another branch of a mechanism may need others."""
    Y = slopes(model, known.speeds, states)
    a = known.dimensionless(constraint_matrix(model, known.levels, states))[:, known.rows, :]
    S = np.concatenate([Y, a], axis=1)
    found = rank.independence(S, known.scales.positions)
    return states.where((found > rank.TOLERANCE) & (found >= _POOR * np.median(found)))
