"""The constraints of a model at a batch of states, numerically and in terms of speeds: A ṡ = β.

The norm of a quaternion is not a row here: the speeds preserve it. Constraint formulas define their own β. The rows of loops are
differentiated along the motion by a complex step, which is exact to rounding: f(x + iε ẋ) = f + iε ḟ.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.codegen.linear_algebra import solve
from dalembert.errors import InconsistentStateError, InputError, NotApplicableError, SingularError, suggest_name
from dalembert.mechanics import rank, state_batch
from dalembert.mechanics.constraint_levels import Constraints, with_contacts
from dalembert.mechanics.state_batch import States, constraints_at, dimensionless
from dalembert.model.constraints.loop import Loop
from dalembert.model.joints.base import ConstraintRow
from dalembert.model.loads.base import InJoint
from dalembert.model.values import WORLD, Vector3
from dalembert.recursive._transforms import NONE, plus, shifted_moment, three
from dalembert.recursive.composite_inertia import generalized_force
from dalembert.recursive.inverse import LinkMotion, combined, propagate
from dalembert.recursive.joint_speeds import to_second_rates, to_speed_forces, to_speeds
from dalembert.recursive.link_states import Moving, MovingLink
from dalembert.recursive.plan import TOLERANCE, TreePlan, TreeState
from dalembert.recursive.point_jacobians import link_of
from dalembert.symbolic.algebra_base import Array, Scalar, Scalars, identity, matrix, stack, vector, zeros
from dalembert.symbolic.floats import FLOATS, numbers
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.rotations import cross, roll_pitch_yaw, skew

_STEP = 1e-30
_STATES = 6
DOUBTFUL = 1e-3  # rows closer to dependence than this may be redundant ones at a state slightly off the constraints


@dataclass(frozen=True)
class ConstraintBatch:
    """k constraints at K states; the first `len(phi)` are holonomic."""

    names: tuple[str, ...]
    servo: tuple[bool, ...]
    phi: np.ndarray  # (h, K)
    velocity: np.ndarray  # (k, K)
    A: np.ndarray  # (k, n_speeds, K)
    beta: np.ndarray  # (k, K)


def rows_of(plan: TreePlan, q: np.ndarray, qd: np.ndarray, s: np.ndarray, t: np.ndarray) -> ConstraintBatch:
    """The constraints at coordinates q and rates q̇ (n, K), speeds s and times t (K,)."""
    facts, tree, K = plan.levels, plan.tree, len(t)
    known = constraints_at(plan.model, facts, States(q, qd, t), plan.parameters)
    A = numbers(known.A, K)
    h, lower = len(facts.phi), known.motion.lower
    written = numbers(vector([lower(formula) for formula in facts.beta]), K)
    beta = np.concatenate([written[:h], _loop_beta(plan, known, q, qd, t), written[h:]])
    if tree.attitudes:
        rest = to_second_rates(tree, FLOATS, list(q), list(s), [0.0] * tree.n_speeds)
        beta = beta - np.einsum("knK,nK->kK", A, numbers(rest, K))
        pulled = [numbers(to_speed_forces(tree, FLOATS, list(q), list(row)), K) for row in A]
        A = np.stack(pulled) if pulled else np.zeros((0, tree.n_speeds, K))
    return ConstraintBatch(facts.names, facts.servo, numbers(known.phi, K), numbers(known.velocity, K), A, beta)


@dataclass(frozen=True)
class SymbolicRows:
    """The constraints over the graph: φ, the velocity level, A and β of A ṡ = β."""

    phi: Array
    velocity: Array
    A: Array
    beta: Array


def rows_over(plan: TreePlan, links: Moving, q: Scalars, s: Scalars) -> SymbolicRows:
    """The rows over the graph in terms of speeds; `links` use the frames of the model. Loops are computed recursively."""
    tree, facts, h = plan.tree, plan.levels, len(plan.levels.phi)
    lower, loops = links.lower, closures_of(links)
    rest = to_second_rates(tree, GRAPH, q, s, [0] * tree.n_speeds)
    written = [vector([lower(f) for f in row]) for row in facts.A]
    A = [to_speed_forces(tree, GRAPH, q, list(row)) for row in written]
    beta = [lower(f) - row @ rest for f, row in zip(facts.beta, written, strict=True)]
    velocity = [lower(f) for f in facts.velocity]
    rows = [*A[:h], *(row.J for row in loops), *A[h:]]
    return SymbolicRows(
        vector([*(lower(f) for f in facts.phi), *(row.phi for row in loops)]),
        vector([*velocity[:h], *(row.rate for row in loops), *velocity[h:]]),
        matrix([list(row) for row in rows]) if rows else zeros(0, tree.n_speeds),
        vector([*beta[:h], *(row.beta for row in loops), *beta[h:]]),
    )


def _loop_beta(plan: TreePlan, known: Constraints, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
    """−d/dt(a q̇ + b) at q̈ = 0, minus the feedback terms if any: (5.96) of papers/desapio."""
    K = len(t)
    if not known.loops:
        return np.zeros((0, K))
    ahead = constraints_at(plan.model, plan.levels, States(q + 1j * _STEP * qd, qd, t + 1j * _STEP), plan.parameters)
    moved = numbers(vector([row.a @ ahead.motion.qd + row.b for row in ahead.loops]), K)
    out = -np.imag(moved) / _STEP
    lower = known.motion.lower
    for i, (row, gains) in enumerate(zip(known.loops, plan.levels.gains, strict=True)):
        if gains:
            alpha, beta = (lower(gain) for gain in gains)
            out[i] -= beta * np.real(moved[i]) + alpha * row.phi
    return out


@dataclass(frozen=True)
class Closure:
    """One row of a cut joint: φ, its rate, its row of J for the speeds, and β."""

    phi: Scalar
    rate: Scalar
    J: Array
    beta: Scalar


@dataclass(frozen=True)
class _LoopHalf:
    """F or M: its links outward, its frame on the last link, and its motion; along axes of the link where the two paths part."""

    links: list[MovingLink]
    frame: tuple[Array, Array]  # rotation and position on the last link
    R: Array
    p: Array
    w: Array
    v: Array
    wd: Array  # at ṡ = 0, like vd
    vd: Array


def closures_of(moving: Moving) -> list[Closure]:
    """The rows of all loops in the order of declaration, over the graph; links use the frames of the model."""
    return [row for loop in moving.tree.model.loops for row in _closures(moving, loop)]


def _closures(moving: Moving, loop: Loop) -> list[Closure]:
    first, second = (_path(moving, body) for body in loop.bodies)
    shared = sum(1 for a, b in zip(first, second, strict=False) if a == b)
    F = _half(moving, first[shared:], loop.joint.position, loop.joint.rotation)
    M = _half(moving, second[shared:], loop.position, loop.rotation)
    R, p = F.R.T @ M.R, F.R.T @ (M.p - F.p)
    w_F, turning = F.R.T @ F.w, F.R.T @ F.wd
    v = F.R.T @ (M.v - F.v) - cross(w_F, p)
    w = F.R.T @ (M.w - F.w)
    vd = F.R.T @ (M.vd - F.vd) - cross(w_F, 2 * v + cross(w_F, p)) - cross(turning, p)
    wd = F.R.T @ (M.wd - F.wd) - cross(w_F, w)
    out = list[Closure]()
    rows = loop.joint.closure(GRAPH, R, p)
    for row, (force, moment) in zip(rows, _wrench_rates(loop, R, p, w, v), strict=True):
        rate = row.force @ v + row.moment @ w
        beta = -(row.force @ vd + row.moment @ wd + force @ v + moment @ w)
        if loop.feedback:
            alpha, gain = map(moving.lower, loop.feedback)
            beta = beta - gain * rate - alpha * row.phi
        out.append(Closure(row.phi, rate, _row(moving, F, M, row, R, p), beta))
    return out


def _path(moving: Moving, body: str) -> list[int]:
    """The links from the world to a body."""
    out, index = list[int](), -1 if body == WORLD else link_of(moving, body)
    while index >= 0:
        out.append(index)
        index = moving.links[index].parent
    return out[::-1]


def _half(moving: Moving, path: Sequence[int], position: Vector3, rotation: Vector3) -> _LoopHalf:
    links = [moving.links[index] for index in path]
    frame = GRAPH.pack(roll_pitch_yaw(GRAPH, list(map(moving.lower, rotation)))), vector([*map(moving.lower, position)])
    R, p, motion, velocity = identity(3), zeros(3), LinkMotion.of(NONE, NONE, NONE), NONE
    for link in links:
        axes = link.constants.axes
        R, p = R @ link.transform.R, p + R @ link.transform.p
        slid = combined(axes, link.rates)[1]
        velocity = plus(link.transform.rates_outwards(motion.w, velocity)[1], slid)  # (22)
        motion = propagate(link.transform, axes, link.rates, list(link.drift), motion)  # (23)
    at, w, wd = frame[1], vector(motion.w), vector(motion.wd)
    v = vector(velocity) + cross(w, at)
    vd = vector(motion.vd) + cross(wd, at) + cross(w, cross(w, at))
    return _LoopHalf(links, frame, R @ frame[0], p + R @ at, R @ w, R @ v, R @ wd, R @ vd)


def _wrench_rates(loop: Loop, R: Array, p: Array, w: Array, v: Array) -> list[tuple[Array, Array]]:
    """ḟ and ṅ of the unit wrenches, which move with the joint: differentiated with symbols for R, p, ω and v."""
    names = [f"closure({k})" for k in range(18)]
    symbols = vector(list(GRAPH.symbols(names)))
    rotated, shift = matrix([list(symbols[3 * k : 3 * k + 3]) for k in range(3)]), symbols[9:12]
    rates = stack((skew(symbols[12:15]) @ rotated).ravel(), symbols[15:])
    rows = loop.joint.closure(GRAPH, rotated, shift)
    wrenches = stack(*(part for row in rows for part in (row.force, row.moment)))
    found = GRAPH.total_derivative(wrenches, (symbols[:12], rates))
    known = dict(zip(names, stack(R.ravel(), p, w, v), strict=True))
    six = GRAPH.substitute(found, known).reshape(-1, 2, 3)
    return [(force, moment) for force, moment in six]


def _row(moving: Moving, F: _LoopHalf, M: _LoopHalf, row: ConstraintRow, R: Array, p: Array) -> Array:
    """The generalized forces of the wrench of a row along the speeds: on M, and reaction on F."""
    out = zeros(moving.tree.n_speeds)
    on_F = (vector([0 - x for x in row.moment + cross(p, row.force)]), vector([0 - x for x in row.force]))
    on_M = (R.T @ row.moment, R.T @ row.force)
    for half, (moment, force) in ((F, on_F), (M, on_M)):
        n, f = three(half.frame[0] @ moment), three(half.frame[0] @ force)
        n = shifted_moment(n, f, three(half.frame[1]))
        for link in reversed(half.links):
            for k, axis in enumerate(link.constants.axes if link.speeds else ()):
                for speed, g in zip(link.speeds, link.G[k], strict=True):
                    out[speed] = out[speed] + g * generalized_force(axis, (n, f))
            n, f = link.transform.wrench_inwards(n, f)
    return out


def require_tree(plan: TreePlan, what: str) -> None:
    """Raise unless only joints constrain the bodies."""
    if plan.constrained:
        raise NotApplicableError(
            f"model '{plan.tree.model.name}' has constraints: {', '.join(plan.levels.names[:5])}. Expected a tree of "
            f"bodies for {what}. Derive its equations and use `simulate`, or remove the constraints."
        )


def require_fulfilled(state: TreeState, rows: ConstraintBatch, sd: np.ndarray) -> None:
    """Raise unless position, velocity and acceleration satisfy the constraints; servo constraints at the last level only."""
    A, h = np.abs(rows.A), len(rows.phi)
    size, T = state.plan.sizes[:, None], state.plan.scales.time
    enforced = np.array([not servo for servo in rows.servo], dtype=bool)
    bent = np.einsum("knK,nK->kK", rows.A, sd) - rows.beta
    levels = (
        ("position", rows.phi, size[:h], enforced[:h]),
        ("velocity", rows.velocity, _terms(A, state.s) + size / T, enforced),
        ("acceleration", bent, _terms(A, sd) + np.abs(rows.beta) + size / T**2, np.ones_like(enforced)),
    )
    for level, values, terms, checked in levels:
        excess = np.where(checked[:, None], np.abs(values) / (TOLERANCE * np.where(terms > 0, terms, 1.0)), 0.0)
        excess = np.where(np.isnan(excess), np.inf, excess)
        if excess.max(initial=0.0) > 1:
            i, k = (int(x) for x in np.unravel_index(int(np.argmax(excess)), excess.shape))
            raise InconsistentStateError(
                f"inverse dynamics of '{state.plan.tree.model.name}': the motion violates the constraints at {level} "
                f"level{state.where(k)}: '{rows.names[i]}' is {values[i, k]:.6g}. Expected 0. Pass a motion that satisfies "
                "them: dl.assemble_state computes positions and velocities, dl.forward_dynamics accelerations."
            )


def _terms(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The magnitude of the terms of A x; A (k, n, K), x (n, K)."""
    return np.einsum("knK,nK->kK", A, np.abs(x))


def _rows_at(state: TreeState, rows: ConstraintBatch, k: int) -> np.ndarray:
    return dimensionless(rows.A[:, :, k], state.plan.units, state.plan.sizes)


def _count(state: TreeState, rows: ConstraintBatch, k: int) -> int:
    """The rank of the constraints at one state; in doubtful cases at most the rank at generic states of the model."""
    unit, A = state.plan.units, _rows_at(state, rows, k)
    found = int(rank.numeric_rank(A, unit))
    if found and rank.independence(A, unit, found) < DOUBTFUL and (usual := generic_rank(state.plan)) is not None:
        return min(found, usual)
    return found


_RANKS: weakref.WeakKeyDictionary[TreePlan, int | None] = weakref.WeakKeyDictionary()


def generic_rank(plan: TreePlan) -> int | None:
    """The rank of the constraints at generic states of the model, None if no states can be found; cached."""
    if plan not in _RANKS:
        try:
            found = state_batch.consistent_states(with_contacts(plan.tree.model), _STATES)
        except InconsistentStateError:
            return _RANKS.setdefault(plan, None)
        s = numbers(to_speeds(plan.tree, FLOATS, list(found.q), list(found.qd)), _STATES)
        A = np.moveaxis(rows_of(plan, found.q, found.qd, s, found.t).A, -1, 0)
        _RANKS[plan] = rank.generic_rank(dimensionless(A, plan.units, plan.sizes), plan.units)
    return _RANKS[plan]


def efforts(
    state: TreeState, rows: ConstraintBatch, chosen: list[int], need: np.ndarray, usual: np.ndarray
) -> np.ndarray:
    """τ along the chosen speeds that, with the constraints, produces `need`; `usual` is the typical magnitude of the forces."""
    out, unit = np.zeros_like(need), state.plan.units
    for k in range(state.K):
        _, N = rank.pseudo_inverse_and_null_space(_rows_at(state, rows, k), unit, _count(state, rows, k))
        target, able = N.T @ need[:, k], N.T @ np.eye(len(need))[:, chosen]
        found = rank.smallest_multipliers(able.T, target, np.ones(len(target)))
        rest = (N / unit[:, None] ** 2) @ (target - able @ found)
        if np.linalg.norm(unit * rest) > TOLERANCE * np.linalg.norm(unit * usual[:, k]):
            names = ", ".join(state.plan.tree.speed_names[i] for i in chosen)
            along = f"forces along {names}" if chosen else "no forces at all"
            raise InputError(
                f"inverse dynamics of '{state.plan.tree.model.name}': {along} cannot produce the motion{state.where(k)}; a "
                f"residual generalized force of norm {np.linalg.norm(rest):.6g} remains. Add coordinates to `actuated`, or "
                "pass a motion that they can produce."
            )
        out[chosen, k] = found
    return out


def null_space_solution(
    M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """ṡ of M ṡ = h + Aᵀλ, A ṡ = β at one state, for rows A of rank `count`, and the inertia Nᵀ M N of the allowed motions.

    N is a basis of the null space of A, A N = 0. This function is also compiled to machine code.
    """
    # speeds are scaled so that the diagonal of M is one: masses of very different magnitude are possible
    pseudo, N = rank.pseudo_inverse_and_null_space(A, rank.inertia_scale(M, A), count)
    sd = pseudo @ beta
    free = N.T @ (M @ N)
    if N.shape[1]:
        sd = sd + N @ solve(free, N.T @ (h - M @ sd))
    return sd, free


def accelerations(state: TreeState, M: np.ndarray, h: np.ndarray, rows: ConstraintBatch) -> np.ndarray:
    """ṡ of M ṡ = h + Aᵀλ, A ṡ = β at every state."""
    name = f"model '{state.plan.tree.model.name}'"
    out = np.zeros_like(h)
    for k in range(state.K):
        A = _rows_at(state, rows, k)
        beta = rows.beta[:, k] / np.where(state.plan.sizes > 0, state.plan.sizes, 1.0)
        if not all(np.isfinite(x).all() for x in (M[:, :, k], h[:, k], A, beta)):
            raise SingularError(
                f"{name}: a load, a joint or a constraint is undefined{state.where(k)} (singular configuration). Expected "
                "finite numbers. Change the state."
            )
        out[:, k], free = null_space_solution(M[:, :, k], h[:, k], A, beta, _count(state, rows, k))
        if free.size and not rank.definite(free):
            raise SingularError(
                f"{name}: a motion allowed by the constraints has no inertia{state.where(k)}. "
                "Expected inertia along every allowed motion. "
                "Give the bodies mass or inertia, or avoid the singular configuration."
            )
        residual = A @ out[:, k] - beta
        allowed = TOLERANCE * (np.abs(A) @ np.abs(out[:, k]) + np.abs(beta) + 1 / state.plan.scales.time**2)
        i = int(np.argmax(np.abs(residual) / allowed))
        if abs(residual[i]) > allowed[i]:
            raise SingularError(
                f"{name}: no acceleration satisfies all constraints{state.where(k)}; the closest one leaves '{rows.names[i]}' at "
                f"{residual[i] * (state.plan.sizes[i] or 1.0):.6g}. Expected 0. Pass a state that satisfies them at position and "
                "velocity level."
            )
    return out


def driven_speeds(plan: TreePlan, names: Sequence[str] | None) -> list[int] | None:
    """The actuated speeds: by names of coordinates or speeds, else those with torques in the model's joints, if any."""
    tree = plan.tree
    if names is None:
        driven = [load for load in tree.model.loads if isinstance(load, InJoint) and load.drives]
        values = [tree.values[load.body, load.joint, load.motion] for load in driven]
        chosen = {j for value in values for i, _ in value.gradient for j in _speeds_of(plan, i)}
        return sorted(chosen) or None
    return named_speeds(plan, names, "actuated")


def named_speeds(plan: TreePlan, names: Sequence[str], argument: str) -> list[int]:
    """The speeds of coordinates or speeds by name; a component of a quaternion selects its three speeds."""
    tree = plan.tree
    speeds_by_name = {name: _speeds_of(plan, i) for i, name in enumerate(tree.model.coordinate_names)}
    speeds_by_name |= {name: [i] for i, name in enumerate(tree.speed_names)}
    chosen = set()
    for name in [names] if isinstance(names, str) else names:
        if name not in speeds_by_name:
            raise InputError(
                f"{argument}: there is no coordinate or speed '{name}'. {suggest_name(str(name), speeds_by_name)}"
            )
        chosen |= set(speeds_by_name[name])
    return sorted(chosen)


def _speeds_of(plan: TreePlan, coordinate: int) -> list[int]:
    """The speeds of a coordinate: its rate, or the three of its quaternion."""
    column = plan.tree.columns[coordinate]
    if column is not None:
        return [column]
    attitude = next(a for a in plan.tree.attitudes if coordinate in a.parts)
    return [attitude.first, attitude.first + 1, attitude.first + 2]
