"""Structural facts, determined once and reported: independent constraints, ignorable coordinates, choice of speeds.

Bodies with inertia and one joint each are always regular. Angles at gimbal lock, polar coordinates at the pole and energies
given by formulas can be singular: the coordinates are singular there, not the motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from dalembert.errors import SingularError
from dalembert.mechanics import rank, state_batch
from dalembert.mechanics._ignorable import (
    changed_along_runs,
    constraint_parameters,
    find_ignorable,
    inertial_parameters,
    parameters_in,
)
from dalembert.mechanics.attitude_charts import attitudes_of
from dalembert.mechanics.constraint_levels import Levels, levels
from dalembert.mechanics.generalized_speeds import (
    ReducedSpeeds,
    SpeedChoice,
    choose_reduced,
    choose_speeds,
    completing_speeds,
    elimination,
    free_columns,
    named_speeds,
    scaled_rows,
)
from dalembert.mechanics.state_batch import (
    Parameters,
    SampledRows,
    States,
    constraint_matrix,
    dimensionless,
    mass_matrices,
    one_state,
    rows_at,
    velocity_derivatives,
)
from dalembert.model.check_elements import massless_bodies
from dalembert.model.description import Description, Elements
from dalembert.model.elements import Body
from dalembert.model.evaluation import at_start, value
from dalembert.model.immutable import Frozen
from dalembert.model.scales import Scales, scales_of
from dalembert.symbolic.elimination import PivotOrder, pivots_stay_constant
from dalembert.symbolic.symbols import Formula, rate

_ZERO_INERTIA = 1e-13  # fraction of the inertia at a neighboring state below which inertia counts as zero
_NEIGHBOR_STEP = 0.3  # distance of the neighboring states, in scales of a coordinate
_COMPONENT_TOLERANCE = 1e-6  # components of a direction below this fraction of the largest are ignored


def reciprocal_condition(M: np.ndarray, A: np.ndarray, sizes: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """Ratio of the smallest to the largest eigenvalue of M (n, n) on A q̇ = 0, and the direction (n,) of the smallest.

    Coordinates are scaled by `sizes` of their inertia, by default the diagonal of M, so that the result has no units.

    >>> M = np.array([[2.0, 1.0], [1.0, 0.5 + 1e-6]])
    >>> least, direction = reciprocal_condition(M, np.zeros((0, 2)))
    >>> round(least * 1e6, 3), abs(direction).round(3).tolist()
    (0.5, [0.707, 0.707])
    >>> reciprocal_condition(M, np.array([[1.0, 0.0]]))[0]
    1.0
    """
    scale = 1 / np.sqrt(np.maximum(np.diag(M) if sizes is None else sizes, 1e-300))
    free = np.eye(len(M))
    if len(A):
        rows = A * scale
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        _, found, Vt = np.linalg.svd(rows)
        free = Vt[int((found > rank.TOLERANCE * found[0]).sum()) :].T
    if not free.shape[1]:
        return 1.0, np.zeros(len(M))
    values, vectors = np.linalg.eigh(free.T @ (M * np.outer(scale, scale)) @ free)
    return float(max(values[0], 0.0) / max(values[-1], 1e-300)), free @ vectors[:, 0]


@lru_cache(maxsize=64)
def may_become_singular(model: Description) -> bool:
    """Can the inertia of a model vanish along a motion, other than at gimbal lock of an attitude?

    True for energies given by formulas, and for bodies without rotational inertia that rotate about several axes, or slide too.
    """
    if model.energies is not None:
        return True
    has_attitude = {attitude.body for attitude in attitudes_of(model)}
    return any(_may_become_singular(model, body, body.name in has_attitude) for body in model.bodies)


def _may_become_singular(model: Description, body: Body, has_attitude: bool) -> bool:
    motions = [step for joint in body.joints for step in joint.steps]
    n_rotations = sum(step.about is not None for step in motions)
    if n_rotations < 1 or len(motions) < 2 or any(joint.quaternion for joint in body.joints):
        return False
    if n_rotations > 3 or (n_rotations == 3 and not has_attitude):
        return True
    table = at_start(model)
    inertia = np.array([[value(entry, table) for entry in row] for row in body.inertia])
    return not np.linalg.eigvalsh((inertia + inertia.T) / 2)[0] > 0


def singular_coordinates(
    model: Elements, levels: Levels, scales: Scales, q: np.ndarray, t: float = 0.0, parameters: Parameters = None
) -> str | None:
    """Message that names the coordinates that are singular at a state, or None if they are regular.

    They are singular if a motion admitted by the constraints has zero inertia here but not at neighboring states.
    """
    unit, state = scales.positions, one_state(q, t=t)
    with np.errstate(all="ignore"):
        A = np.nan_to_num(constraint_matrix(model, levels, state, parameters)[0])
        M = np.nan_to_num(mass_matrices(model, state, parameters)[0])
        _, free = rank.pseudo_inverse_and_null_space(A, unit)
        if not free.size:
            return None
        energies, modes = np.linalg.eigh(free.T @ M @ free)
        direction = free @ modes[:, 0]
        neighbors = States(q[:, None] + _NEIGHBOR_STEP * np.diag(unit), np.zeros((len(q), len(q))), np.full(len(q), t))
        near = np.einsum("i,kij,j->k", direction, np.nan_to_num(mass_matrices(model, neighbors, parameters)), direction)
    causes = np.flatnonzero(near > 0)
    if not len(causes) or energies[0] > _ZERO_INERTIA * near.max():
        return None
    causes = np.flatnonzero(near > 1e-3 * near.max())
    involved = np.flatnonzero(np.abs(direction / unit) > _COMPONENT_TOLERANCE * np.abs(direction / unit).max())
    names = [model.coordinate_names[i] for i in sorted({*causes.tolist(), *involved.tolist()})]
    position = ", ".join(f"{model.coordinate_names[i]} = {q[i]:.6g}" for i in causes)
    many, are = ("coordinates", "are") if len(names) > 1 else ("coordinate", "is")
    rates = ", ".join(model.coordinate_names[i] for i in involved)
    return (
        f"the {many} {', '.join(names)} {are} singular at {position}: a rate of {rates} produces no motion there. Start near "
        "this state, or use coordinates that are regular there, such as Cartesian coordinates or a quaternion"
    )


_SAMPLE_STATES = 12
_MIN_CONDITION = 1e-3  # states with a smaller fraction of the median independence are not used for comparisons


@dataclass(frozen=True)
class PartitionChoice:
    """Speeds, independent constraints and dependent coordinates after repartitioning; empty: those of the initial state."""

    speeds: tuple[Formula, ...] = ()
    rows: tuple[int, ...] = ()
    dependent: tuple[int, ...] = ()
    steady: bool = True  # False if the pivots were determined for other parameter values


@dataclass(frozen=True)
class Facts:
    """The structural facts of a model that all formulations use."""

    levels: Levels
    rows: tuple[int, ...]  # independent constraint rows, in row order
    dropped: tuple[str, ...]  # names of redundant constraints
    ignorable: tuple[int, ...]
    reasons: Frozen[str, str]  # for every coordinate, why it is or is not ignorable
    parameter_values_used: Frozen[
        str, tuple[str, ...]
    ]  # for every ignorable coordinate, the parameters whose values the proof uses
    speed_names: tuple[str, ...]
    speeds: tuple[Formula, ...]  # formulas of u, d of them
    order: PivotOrder  # for [Y; a]
    n_user_speeds: int  # number of leading speeds that are the user's
    reduced: tuple[int, ...]  # the speeds that serve as u_NI
    reduced_mixed: bool  # do they contain velocities of ignorable coordinates?
    reduced_order: PivotOrder | None  # for [Y_NI; 1 of q̇_I; a], or [Y_NI; M'; a] if they do
    reduced_problem: str | None  # why no speeds serve as u_NI
    reduced_note: str | None  # which of the user's speeds do not serve as u_NI
    maggi_order: PivotOrder  # for [WᵀM; A]
    completing: tuple[Formula, ...]  # velocities that complete the speeds to n quasi-velocities
    square_order: PivotOrder  # for G of all of them
    dependent: tuple[int, ...]  # coordinates whose rates the constraints can be solved for
    regular_mass: bool  # is M positive definite?
    massless: tuple[int, ...]  # coordinates whose rates carry no kinetic energy
    scales: Scales
    sizes: tuple[float, ...]  # characteristic size of each constraint row
    independence: float  # of the independent rows, from 1 down to 0
    doubtful: float | None  # relative singular value of all rows within three decades of the tolerance
    structural: frozenset[str]  # parameters in constraints and speeds: rank, speeds and pivots depend on them
    inertial: frozenset[str]  # parameters in the kinetic energy: regularity of M and pivots with M depend on them
    row_combinations: tuple[tuple[float, ...], ...] | None  # well-conditioned combinations of nearly dependent rows

    @property
    def generic(self) -> bool:
        """True if the ignorable coordinates are ignorable for all parameter values."""
        return not any(self.parameter_values_used.values())

    @property
    def parameters(self) -> dict[str, frozenset[str]]:
        """Each fact determined for the current parameter values, with the parameters it depends on."""
        found = {
            f"{name} is ignorable": frozenset(names) for name, names in self.parameter_values_used.items() if names
        }
        found |= {"independent constraints": self.structural, "speeds": self.structural | self.inertial}
        return found | {"regular mass matrix": self.inertial}

    @cached_property
    def speed_formulas(self) -> tuple[str, ...]:
        """The speeds as formulas of the velocities."""
        return tuple(map(str, self.speeds))

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
        """True if all speeds were chosen automatically."""
        return not self.n_user_speeds

    @property
    def nearly_dependent(self) -> bool:
        """True if the independent constraints are nearly dependent, so that they are combined before solving."""
        return self.independence < rank.NEARLY_DEPENDENT

    @property
    def rank_note(self) -> str | None:
        """Message if the rank of the constraints is decided close to the tolerance."""
        if self.doubtful is None:
            return None
        dropped = f"'{', '.join(self.dropped)}' counts as dependent" if self.dropped else "all of them are used"
        return (
            f"the rank of the constraints is decided close to the tolerance: a relative singular value is "
            f"{self.doubtful:.2g}, and rows below {rank.TOLERANCE:g} count as dependent, so {dropped}; reformulate them so that "
            "they are clearly dependent or independent"
        )

    def dimensionless(self, A: np.ndarray, unit: np.ndarray | None = None) -> np.ndarray:
        """All constraint rows (…, k, n), divided by their sizes; rounding becomes zero. `unit` scales velocities other than q̇."""
        return dimensionless(A, self.scales.positions if unit is None else unit, np.array(self.sizes))


def facts_of(model: Elements, choice: PartitionChoice | None = None) -> Facts:
    """Determine the structural facts of a model at its initial state and at random consistent states.

    `choice` are previously chosen speeds, independent constraints and dependent coordinates; None chooses them.
    """
    rows = choice.rows or None if choice else None
    if choice and choice.speeds:
        model = model.replaced(generalized_speeds=named_speeds(model, choice.speeds))
    states = state_batch.consistent_states(model, _SAMPLE_STATES, include_initial=True)
    known, scales = levels(model), scales_of(model)
    jacobian = rows_at(model, known, states, scales, rows)
    ignored = find_ignorable(model, known)
    chosen = choose_speeds(model, jacobian, states, scales)
    sampled = _sampled(model, chosen, jacobian, states, ignored.indices, scales.positions)
    Y, M, unit = sampled.Y, sampled.M, scales.positions
    _require_independent(model, chosen.names, sampled.S, unit)
    _require_inertia(model, sampled.WtM @ sampled.W, chosen.names, known, states.where(sampled.regular), scales)
    completing = completing_speeds(model, Y, states, scales)
    G = np.concatenate([Y, velocity_derivatives(model, completing, states)], axis=1)
    n, inertial = len(unit), inertial_parameters(model)
    structural = constraint_parameters(model) | parameters_in(model, [u.value for u in model.generalized_speeds])
    changed = changed_along_runs(model).keys()

    def order(rows: np.ndarray, *, with_inertia: bool = False) -> PivotOrder:
        found = elimination(rows, unit, n)
        moved = changed & (structural | inertial if with_inertia else structural)
        return replace(found, n_constant_pivots=0) if moved or (choice and not choice.steady) else found

    reduced = sampled.reduced
    return Facts(
        levels=known,
        rows=jacobian.independent,
        dropped=tuple(name for i, name in enumerate(known.names) if i not in jacobian.independent),
        ignorable=ignored.indices,
        reasons=Frozen(ignored.reasons),
        parameter_values_used=Frozen(ignored.needs),
        speed_names=chosen.names,
        speeds=chosen.formulas,
        order=order(sampled.S),
        n_user_speeds=chosen.n_user_speeds,
        reduced=reduced.chosen,
        reduced_mixed=sampled.mixed,
        reduced_order=None if reduced.problem else order(sampled.staying, with_inertia=sampled.mixed),
        reduced_problem=reduced.problem,
        reduced_note=reduced.note,
        maggi_order=order(sampled.maggi, with_inertia=True),
        completing=completing,
        square_order=order(G),
        dependent=(choice and choice.dependent) or tuple(sorted({*range(n)} - {*free_columns(jacobian.a, unit)})),
        regular_mass=rank.definite(M),
        massless=tuple(np.flatnonzero(rank.massless(M).all(axis=0)).tolist()),
        scales=scales,
        sizes=tuple(jacobian.sizes.tolist()),
        independence=float(np.median(rank.independence(jacobian.a, unit))),
        doubtful=rank.doubtful_singular_value(jacobian.A, unit),
        structural=structural,
        inertial=inertial,
        row_combinations=_row_combinations(jacobian.a, jacobian.sizes[list(jacobian.independent)], unit),
    )


@dataclass(frozen=True)
class _Sampled:
    """The matrices at sample states that determine speeds and pivot orders."""

    Y: np.ndarray
    M: np.ndarray
    S: np.ndarray  # [Y; a]
    regular: np.ndarray  # the states at which it is regular
    W: np.ndarray  # the first columns of its inverse at these states
    WtM: np.ndarray
    reduced: ReducedSpeeds
    mixed: bool
    staying: np.ndarray  # [Y_NI; 1 of q̇_I; a], or [Y_NI; M'; a]
    maggi: np.ndarray  # [WᵀM; a]


def _sampled(
    model: Elements,
    chosen: SpeedChoice,
    jacobian: SampledRows,
    states: States,
    ignorable: tuple[int, ...],
    unit: np.ndarray,
) -> _Sampled:
    Y, M = velocity_derivatives(model, chosen.formulas, states), mass_matrices(model, states)
    S = np.concatenate([Y, jacobian.a], axis=1)
    reduced = choose_reduced(chosen, Y, M[:, list(ignorable)], jacobian.a, ignorable, unit)
    rates = {rate(model.coordinate_names[i]).name for i in ignorable}
    mixed = any(symbol.name in rates for i in reduced.chosen for symbol in chosen.formulas[i].free_symbols)
    momenta = M if mixed else np.repeat(np.eye(len(unit))[None], len(Y), axis=0)
    staying = np.concatenate([Y[:, list(reduced.chosen)], momenta[:, list(ignorable)], jacobian.a], axis=1)
    regular, W = _free_directions(S, unit, len(chosen.names))
    WtM = np.swapaxes(W, 1, 2) @ M[regular]
    maggi = np.concatenate([WtM, jacobian.a[regular]], axis=1)
    return _Sampled(Y, M, S, regular, W, WtM, reduced, mixed, staying, maggi)


def violated_fact(model: Elements, known: Facts, orders: Sequence[str] = ()) -> str | None:
    """Message with the fact that does not hold for a model with other parameter values; None if all of them hold.

    `orders` are the pivot orders that are used, by the names of their fields. Ignorable coordinates are not checked.
    """
    states, scales = state_batch.consistent_states(model, _SAMPLE_STATES, include_initial=True), scales_of(model)
    every = rows_at(model, known.levels, states, scales)
    jacobian, unit = replace(every, independent=known.rows), scales.positions
    if len(every.independent) != len(known.rows) or rank.generic_rank(jacobian.a, unit) < len(known.rows):
        return "other constraints would be independent"
    now = _sampled(
        model,
        SpeedChoice(known.speed_names, known.speeds, known.n_user_speeds),
        jacobian,
        states,
        known.ignorable,
        unit,
    )
    if rank.generic_rank(now.S, unit) < now.S.shape[2]:
        return f"the speeds {', '.join(known.speed_names)} would not determine the velocities" if orders else None
    _require_inertia(model, now.WtM @ now.W, known.speed_names, known.levels, states.where(now.regular), scales)
    if known.regular_mass and not rank.definite(now.M):
        return "the mass matrix would be singular"
    G = np.concatenate([now.Y, velocity_derivatives(model, known.completing, states)], axis=1)
    rows = {"order": now.S, "reduced_order": now.staying, "maggi_order": now.maggi, "square_order": G}
    for name in orders:
        order = getattr(known, name)
        if order is not None and not pivots_stay_constant(order, scaled_rows(rows[name], unit) * unit):
            return "the speeds would need another pivot order"
    return None


def rank_at(model: Elements, known: Facts, state: States, parameters: Mapping[str, float]) -> tuple[int, int, bool]:
    """At one state and for `parameters`: the rank of all rows, that of the independent rows, and whether M is regular."""
    A, unit = known.dimensionless(constraint_matrix(model, known.levels, state, parameters)), known.scales.positions
    M = mass_matrices(model, state, parameters)
    return rank.generic_rank(A, unit), rank.generic_rank(A[:, known.rows], unit), rank.definite(M)


def _row_combinations(a: np.ndarray, sizes: np.ndarray, unit: np.ndarray) -> tuple[tuple[float, ...], ...] | None:
    """Constant, well-conditioned combinations of nearly dependent rows; None if not needed or not found.

    They are computed by Gram–Schmidt at a median state, the first row first, so that rows stay as simple as possible.
    """
    found = rank.independence(a, unit)
    if not a.shape[1] or np.median(found) >= rank.NEARLY_DEPENDENT:
        return None
    middle = int(np.argsort(found)[len(found) // 2])
    rows, size = rank.normalized_rows(a[middle], unit)
    P = np.tril(np.linalg.inv(np.linalg.qr(rows.T)[1].T)) / size
    if np.median(rank.independence(P @ a, unit)) < rank.NEARLY_DEPENDENT:
        return None
    P = P * sizes.max() / sizes
    return tuple(tuple(row) for row in (P / P[0, 0]).tolist())


def _free_directions(S: np.ndarray, unit: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The states at which [Y; a] is regular, and the first d columns of its inverse; the initial state may be singular."""
    regular = np.flatnonzero(rank.numeric_rank(S, unit) == S.shape[1])
    if not len(regular):
        regular = np.arange(len(S))
    return regular, rank.pseudo_inverse(S[regular], unit)[:, :, :d]


def _require_inertia(
    model: Elements, M_u: np.ndarray, names: tuple[str, ...], levels: Levels, states: States, scales: Scales
) -> None:
    """Raise if an admissible motion has no inertia, or if coordinates are singular at the initial state."""
    if rank.definite(M_u):
        return
    without = [k for k in range(len(M_u)) if not rank.definite(M_u[k])]
    if len(without) < len(M_u):
        chart = singular_coordinates(model, levels, scales, states.q[:, without[0]], float(states.t[without[0]]))
        if chart is not None:
            raise SingularError(f"model '{model.name}': {chart}.")
    free = [name for name, none in zip(names, rank.massless(M_u)[0], strict=True) if none]
    which = f"the speed '{free[0]}'" if free else "a combination of the speeds " + ", ".join(names)
    light = massless_bodies(model)
    note = f" Bodies without mass that carry no mass: {', '.join(light)}." if light else ""
    raise SingularError(
        f"model '{model.name}': {which} has no inertia, so its acceleration is not determined.{note} "
        "Expected WᵀMW to be positive definite. Add mass or inertia to the body that moves with it, or constrain it: if loads "
        "hold it in place, by the constraint that they balance (docs/mechanisms.md, bodies without mass)."
    )


def _require_independent(model: Elements, names: tuple[str, ...], S: np.ndarray, unit: np.ndarray) -> None:
    if rank.generic_rank(S, unit) < S.shape[2]:
        raise SingularError(
            f"model '{model.name}': the speeds {', '.join(names)} and the constraints do not determine the velocities. "
            "Expected [Y; a] to be invertible. Choose other speeds."
        )


def with_regular_speeds(model: Elements, known: Facts, states: States) -> States:
    """The states at which speeds and constraints determine the velocities; other branches may need other speeds."""
    Y = velocity_derivatives(model, known.speeds, states)
    a = known.dimensionless(constraint_matrix(model, known.levels, states))[:, known.rows, :]
    S = np.concatenate([Y, a], axis=1)
    found = rank.independence(S, known.scales.positions)
    return states.where((found > rank.TOLERANCE) & (found >= _MIN_CONDITION * np.median(found)))
