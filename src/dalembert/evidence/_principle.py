"""D'Alembert's principle evaluated at known accelerations, from positions and declarations only.

    Σ (F − m r̈)·δr + w·C = 0     for all virtual displacements δr that the constraints admit

r̈ and δr come from numerical differentiation of positions (`move_model`), positions from a separate traversal (`BodyPoses`), and
forces and constraints from declarations (`reference_work`, `reference_conditions`). Only the formula parser is shared with
`kinematics`, the formulations and the recursion, so a wrong Jacobian, load, contact or sign there is detected here.
The remainder of Σ (F − m r̈)·δr on inadmissible displacements is the constraint reaction with the opposite sign.

    along the motion    q(s) = q + q̇ s + ½ q̈ s², t + s: value, first and second derivative in s by Taylor arithmetic
    virtual changes     q + iε e_i at fixed time: the derivative with respect to each coordinate by a complex step
    velocities          q̇ + s e_i, for formulas declared in terms of velocities

All are numerical and exact to rounding, and none uses a Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.mechanics.rank import TOLERANCE
from dalembert.mechanics.state_batch import States
from dalembert.model.constraints.loop import Loop
from dalembert.model.constraints.nonholonomic import Nonholonomic
from dalembert.model.description import Elements
from dalembert.model.elements import Body
from dalembert.model.joints.base import Joint
from dalembert.model.reference_model import (
    Condition,
    Derivatives,
    Level,
    ReferenceFrame,
    VirtualWork,
    axes_of,
    length,
    on_point,
    point_of,
    position_condition,
    product,
    rotation_about,
)
from dalembert.model.values import WORLD, Matrix3, Vector3
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, vector, zeros
from dalembert.symbolic.floats import FLOATS, SERIES, TruncatedSeries, series
from dalembert.symbolic.symbols import TIME, Formula, Lowering, rate

_STEP = 1e-30
_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


@dataclass(frozen=True)
class MovingModel:
    """A model at a batch of states that moves with prescribed accelerations."""

    model: Elements
    states: States
    qdd: np.ndarray
    path: BodyPoses
    perturbed: BodyPoses
    velocity_derivative: Lowering  # derivative with respect to each velocity: q̇ + s e_i
    momentum: Lowering  # both together: q̇ + iε e_i along the motion

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.states.q)

    @property
    def K(self) -> int:
        """Number of states."""
        return len(self.states)

    def center(self, body: str) -> Vector3:
        """Return the mass center of a body, in body axes."""
        return next(b.center for b in self.model.bodies if b.name == body)

    def mass(self, body: str) -> np.ndarray:
        """Return the mass of a body at every state."""
        return self.number(next(b.mass for b in self.model.bodies if b.name == body))

    def traced(self, quantity: Callable[[BodyPoses], Array | Scalar]) -> Derivatives:
        """Differentiate a function of positions along the motion and with respect to each coordinate."""
        along, near = _entries(quantity(self.path)), _entries(quantity(self.perturbed))
        parts = [series(x) for x in along.flat]
        value, rates, second = (
            np.stack([np.broadcast_to(getattr(x, name), self.K) for x in parts]).reshape(*along.shape, self.K)
            for name in ("value", "rate", "second")
        )
        return Derivatives(value, rates, second, self.changes(near))

    def changes(self, near: Array | Scalar) -> np.ndarray:
        """Return imaginary parts divided by the step, (..., n, K)."""
        entries = _entries(near)
        out = [np.imag(np.broadcast_to(x, (self.n, self.K))) / _STEP for x in entries.flat]
        return np.stack(out).reshape(*entries.shape, self.n, self.K)

    def slopes(self, formula: Formula) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and second derivative of a formula with respect to each velocity, (n, K)."""
        found = series(self.velocity_derivative(formula))
        first, second = (np.broadcast_to(x, (self.n, self.K)) for x in (found.rate, found.second))
        return first, second

    def number(self, formula: Formula, more: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
        """Return the value of a formula at every state; `more` has values of further symbols."""
        lower = self.path.lower.with_values(more) if more else self.path.lower
        return np.broadcast_to(np.asarray(series(lower(formula)).value, dtype=float), self.K)

    def numbers(self, formulas: Sequence[Formula] | Matrix3) -> np.ndarray:
        """Return the values of several formulas, (..., K)."""
        entries = np.empty(np.shape(formulas), dtype=object)
        entries[...] = formulas
        return np.stack([self.number(f) for f in entries.flat]).reshape(*entries.shape, self.K)


def _entries(quantity: Array | Scalar) -> Array:
    """Return an object array of scalars; a single scalar or batch of numbers becomes a 0-d array."""
    if isinstance(quantity, np.ndarray) and quantity.dtype == object:
        return quantity
    out = np.empty((), dtype=object)
    out[()] = quantity
    return out


def move_model(model: Elements, states: States, qdd: np.ndarray) -> MovingModel:
    """Return a model at a batch of states that moves with accelerations q̈ (n, K)."""
    n, K = states.q.shape
    steps = 1j * _STEP * np.eye(n)[:, :, None] * np.ones(K)
    clock = TruncatedSeries(states.t, np.ones(K), np.zeros(K))
    path = [TruncatedSeries(*parts) for parts in zip(states.q, states.qd, qdd, strict=True)]
    speeding = [TruncatedSeries(qd, a, np.zeros(K)) for qd, a in zip(states.qd, qdd, strict=True)]
    near = [q + step for q, step in zip(states.q, steps, strict=True)]
    zero = np.zeros((n, K))
    fast = [
        TruncatedSeries(qd + zero, unit + zero, zero) for qd, unit in zip(states.qd, np.eye(n)[:, :, None], strict=True)
    ]
    pushed = [TruncatedSeries(qd + step, a, zero) for qd, step, a in zip(states.qd, steps, qdd, strict=True)]

    def symbols(t: Scalar, q: Sequence[Scalar] | np.ndarray, qd: Sequence[Scalar] | np.ndarray) -> dict[str, Scalar]:
        names = model.coordinate_names
        rates = {rate(name).name: x for name, x in zip(names, qd, strict=True)}
        return {"t": t, **dict(zip(names, q, strict=True)), **rates, **model.parameter_values}

    def at(
        algebra: Algebra, t: Scalar, q: Sequence[Scalar] | np.ndarray, qd: Sequence[Scalar] | np.ndarray
    ) -> BodyPoses:
        return body_poses(model, algebra, symbols(t, q, qd))

    return MovingModel(
        model,
        states,
        qdd,
        at(SERIES, clock, path, speeding),
        at(FLOATS, states.t, near, states.qd),
        Lowering(SERIES, symbols(states.t, states.q, fast)),
        Lowering(SERIES, symbols(clock, path, pushed)),
    )


@dataclass(frozen=True)
class BodyPoses:
    """Poses of all bodies of a model, over one algebra."""

    model: Elements
    algebra: Algebra
    lower: Lowering
    frames: Mapping[str, ReferenceFrame]
    hinges: Mapping[str, Array]  # for each body the origin of the last joint that moves it
    first: Lowering  # evaluates a formula in the initial state

    def numbers(self, formulas: Sequence[Formula]) -> Array:
        """Return formulas as a vector of scalars."""
        return vector([self.lower(formula) for formula in formulas])

    def point(self, body: str, x: Sequence[Formula]) -> Array:
        """Return the position of a point of a body; x are formulas, in body axes."""
        return self.frames[body].point(self.numbers(x))

    def value(self, body: str, joint: int, motion: int) -> Scalar:
        """Return the joint value of one motion of a joint."""
        return self.lower(self._motion(body, joint, motion))

    def initial_value(self, body: str, joint: int, motion: int) -> Scalar:
        """Return the joint value in the initial state."""
        return self.first(self._motion(body, joint, motion))

    def _motion(self, body: str, joint: int, motion: int) -> Formula:
        return next(b for b in self.model.bodies if b.name == body).joints[joint].values[motion]

    def fixed_frame(self, body: str, position: Sequence[Formula], rotation: Sequence[Formula]) -> ReferenceFrame:
        """Return a frame fixed to a body: origin at `position`, rotated by roll, then pitch, then yaw about the body axes."""
        return _fixed_frame(self.algebra, self.frames[body], self.numbers(position), self.numbers(rotation))


def body_poses(model: Elements, algebra: Algebra, values: Mapping[str, Scalar]) -> BodyPoses:
    """Return the poses of all bodies for a scalar value of every symbol."""
    lower = Lowering(algebra, values)
    frames, hinges = {WORLD: ReferenceFrame(zeros(3), identity(3))}, {}
    remaining = list(model.bodies)
    while remaining:
        body = next(b for b in remaining if b.parent in frames)
        remaining.remove(body)
        at = frames[body.parent]
        for joint in body.joints:
            position, rotation = (vector([lower(x) for x in part]) for part in (joint.position, joint.rotation))
            shift, turn = joint.reference_pose(algebra, [lower(x) for x in joint.values])
            at = _fixed_frame(algebra, at, position, rotation)
            at = ReferenceFrame(at.point(shift), at.R @ turn)
            if joint.values:
                hinges[body.name] = at.p
        frames[body.name] = at
        hinges.setdefault(body.name, at.p)
    start = {TIME.name: 0.0, **{c.name: c.start for c in model.generalized_coordinates}}
    return BodyPoses(model, algebra, lower, frames, hinges, Lowering(algebra, {**values, **start}))


def _fixed_frame(algebra: Algebra, at: ReferenceFrame, position: Array, rotation: Array) -> ReferenceFrame:
    roll, pitch, yaw = rotation
    R = at.R
    for axis, angle in (("z", yaw), ("y", pitch), ("x", roll)):
        R = R @ rotation_about(algebra, _AXES[axis], angle)
    return ReferenceFrame(at.point(position), R)


# Differentiation is exact to rounding, and solved equations are satisfied to rounding even if they are ill-conditioned: 2e-14
# is the largest residual over the gallery, at 200 states each. A relative force error of 1e-9 is detected. States satisfy the
# constraints to 1e-9 in their own units, and accelerations on curved constraints inherit a part of this error.
TOLERANCES = {"motion": 1e-11, "position": 1e-7, "velocity": 1e-7, "acceleration": 1e-10, "reaction": 1e-11}


@dataclass(frozen=True)
class Residual:
    """Relative residuals at every state (K,); each is relative to the size of the terms. None: not computed."""

    motion: np.ndarray  # virtual work on admissible displacements
    position: np.ndarray  # declared constraints at q
    velocity: np.ndarray  # declared constraints at q̇
    acceleration: np.ndarray  # declared constraints at q̈
    reaction: np.ndarray | None

    @property
    def worst(self) -> float:
        """The largest residual; infinite if a value is not finite."""
        return max(self.largest.values())

    @property
    def broken(self) -> tuple[str, ...]:
        """The kinds that exceed their tolerance, the worst first; empty if the principle is satisfied."""
        excess = {kind: size / TOLERANCES[kind] for kind, size in self.largest.items()}
        return tuple(sorted((kind for kind in excess if excess[kind] > 1), key=lambda kind: -excess[kind]))

    @property
    def largest(self) -> Mapping[str, float]:
        """The largest residual of every kind."""
        parts = {kind: getattr(self, kind) for kind in TOLERANCES}
        return {kind: float(part.max(initial=0.0)) for kind, part in parts.items() if part is not None}


def residual(model: Elements, states: States, qdd: np.ndarray, reactions: np.ndarray | None = None) -> Residual:
    """Return the residuals of the principle for accelerations q̈ (n, K) and, optionally, reactions Aᵀλ + C.

    >>> import dalembert as dl
    >>> model = dl.load("simple-pendulum")
    >>> eom = dl.derive(model, "kane", engine="python")
    >>> states = States(np.array([[0.3]]), np.array([[1.2]]), np.zeros(1))
    >>> qdd = eom.accelerations(states.q, states.qd, states.t)
    >>> residual(model, states, qdd).worst < 1e-14
    True
    >>> residual(model, states, 1.001 * qdd).worst > 1e-4
    True
    """
    with np.errstate(all="ignore"):
        moving = move_model(model, states, np.asarray(qdd, dtype=float))
        works, C = reference_work(moving), non_ideal_work(moving)
        conditions = reference_conditions(moving)
        parts = [c.slopes for c in conditions]
        slopes = np.concatenate(parts) if parts else np.zeros((0, moving.n, moving.K))
        scale = _scale(inertias(moving), slopes)
        left = sum((work.value for work in works), start=np.zeros_like(qdd))
        force = scale * sum((work.size for work in works), start=np.abs(C))
        size = np.sqrt(np.sum(force**2, axis=0))
        admitted = _admitted(slopes * scale, scale * (left + C))
        reaction = None if reactions is None else _ratio(np.abs(scale * (reactions + left)).max(axis=0), size)
        return Residual(
            _ratio(np.sqrt(np.sum(admitted**2, axis=0)), size),
            _broken(conditions, "position", scale, states.q),
            _broken(conditions, "velocity", scale, states.qd),
            _broken(conditions, "acceleration", scale, moving.qdd, size),
            reaction,
        )


def _scale(inertia: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return a unit for every coordinate (n, K) such that all have unit inertia, independent of units of length and angle.

    The unit of a coordinate without inertia is chosen such that the constraints weight it like the others.
    """
    heavy = inertia > 1e-28 * inertia.max(axis=0, initial=0.0)  # rounding errors are smaller, even in units of 1e-9
    scale = np.where(heavy, 1 / np.sqrt(np.where(heavy, inertia, 1.0)), 0.0)
    weighed = np.abs(slopes * scale).max(axis=1, initial=0.0)
    shares = np.abs(slopes) / np.where(weighed > 0, weighed, 1.0)[:, None]
    share = shares.max(axis=0, initial=0.0)
    return np.where(heavy, scale, 1 / np.where(share > 0, share, 1.0))


def _admitted(rows: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return the part of a force (n, K) that does work on displacements with rows · δq = 0, in units of equal inertia."""
    if not len(rows):
        return force
    lengths = np.sqrt(np.sum(rows**2, axis=1))
    level = np.moveaxis(rows / np.where(lengths > 0, lengths, 1.0)[:, None], -1, 0)
    level = np.where(np.isfinite(level), level, 0.0)
    _, sigma, Vt = np.linalg.svd(level, full_matrices=False)
    independent = sigma > TOLERANCE * sigma.max(axis=1, initial=0.0, keepdims=True)
    forbidden = Vt * independent[:, :, None]
    return force - np.einsum("Krn,Krm,mK->nK", forbidden, forbidden, force)


def _broken(
    conditions: Sequence[Condition], level: str, scale: np.ndarray, x: np.ndarray, force: np.ndarray | float = 0.0
) -> np.ndarray:
    """Return the largest relative constraint violation on one level; x is q, q̇ or q̈.

    `force` is the size of the forces, which in units of equal inertia is the size of the accelerations they can cause: if the
    constraints admit no motion, the accelerations are rounding errors of this size.
    """
    size = np.sqrt(np.sum((x / scale) ** 2, axis=0)) + force
    out = np.zeros(x.shape[1])
    for condition in conditions:
        terms: Level | None = getattr(condition, level)
        if terms is not None:
            weight = np.sqrt(np.sum((condition.slopes * scale) ** 2, axis=1))
            rest = np.abs(terms.value - np.einsum("mnk,nk->mk", condition.slopes, x))
            ratios = _ratio(np.abs(terms.value), terms.size + weight * size + rest)
            out = np.maximum(out, ratios.max(axis=0, initial=0.0))
    return out


def _ratio(value: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return value / size: zero if the value is zero, infinite if it is not finite."""
    ratio = np.where(value == 0, 0.0, value / np.where(size > 0, size, np.finfo(float).tiny))
    return np.where(np.isfinite(ratio), ratio, np.inf)


def reference_conditions(motion: MovingModel) -> list[Condition]:
    """Return all constraints of the model, including quaternion norms and contacts."""
    model = motion.model
    out = [_norm(motion, body.name, joint) for body in model.bodies for joint in body.joints if joint.quaternion]
    for c in model.holonomic_constraints:
        gap = motion.traced(lambda poses, phi=c.phi: vector([poses.lower(phi)]))
        out.append(position_condition(c.name, motion, gap, c.feedback))
    out += [_loop(motion, loop) for loop in model.loops if loop.row_names]
    out += [_nonholonomic(motion, c) for c in model.nonholonomic_constraints]
    for contact in model.contacts:
        out += contact.reference_conditions(motion)
    return out


def _norm(motion: MovingModel, body: str, joint: Joint) -> Condition:
    def excess(poses: BodyPoses) -> Array:
        parts = poses.numbers(joint.values[-4:])
        return vector([0.5 * (parts @ parts - 1)])

    return position_condition(f"norm of {body}", motion, motion.traced(excess), ())


def _nonholonomic(motion: MovingModel, constraint: Nonholonomic) -> Condition:
    """Return the condition ψ = 0 and ψ̇ = 0; with a gain α only ψ̇ + α ψ = 0."""
    along = series(motion.path.lower(constraint.psi))
    value, rate = (np.broadcast_to(x, motion.K)[None] for x in (along.value, along.rate))
    slopes = motion.slopes(constraint.psi)[0][None]
    zero = np.zeros_like(value)
    if constraint.feedback:
        pull = motion.number(constraint.feedback[0]) * value
        return Condition(constraint.name, slopes, None, None, Level(rate + pull, np.abs(pull)))
    return Condition(constraint.name, slopes, None, Level(value, zero), Level(rate, zero))


def _loop(motion: MovingModel, loop: Loop) -> Condition:
    """Return the closure condition of a cut joint."""

    def ends(poses: BodyPoses) -> tuple[ReferenceFrame, ReferenceFrame]:
        first, second = loop.bodies
        return (
            poses.fixed_frame(first, loop.joint.position, loop.joint.rotation),
            poses.fixed_frame(second, loop.position, loop.rotation),
        )

    def gap(poses: BodyPoses) -> Array:
        F, M = ends(poses)
        if loop.feedback:
            rows = loop.joint.closure(poses.algebra, F.R.T @ M.R, F.R.T @ (M.p - F.p))
            return vector([row.phi for row in rows])
        lengths, turns = loop.joint.reference_residuals(poses.algebra, F, M)
        return vector([*lengths, *turns])

    halves = [
        (motion.traced(lambda poses, i=i: ends(poses)[i].p), motion.traced(lambda poses, i=i: ends(poses)[i].R))
        for i in (0, 1)
    ]
    return position_condition(
        loop.name, motion, motion.traced(gap), loop.feedback, _sizes(motion, _are_lengths(loop, motion), *halves)
    )


def _are_lengths(loop: Loop, motion: MovingModel) -> np.ndarray:
    """Return for each row whether it measures a length (True) or a direction (False)."""
    if loop.feedback:
        return np.array(loop.joint.holds_lengths)[:, None]
    world = motion.path.frames[WORLD]
    lengths, turns = loop.joint.reference_residuals(motion.path.algebra, world, world)
    return np.array([[True]] * len(lengths) + [[False]] * len(turns))


def _sizes(
    motion: MovingModel,
    lengths: np.ndarray,
    first: tuple[Derivatives, Derivatives],
    second: tuple[Derivatives, Derivatives],
) -> tuple[np.ndarray, ...]:
    """Return the sizes of the terms of the rows on each level: of positions or axes, and of their derivatives."""
    (F, R_F), (M, R_M) = first, second
    apart, reach = length(M.value - F.value), length(F.value) + length(M.value)
    fast, spin = (sum(_size(x.rate, x, motion.states.qd) for x in pair) for pair in ((F, M), (R_F, R_M)))
    quick, jerk = (sum(_size(x.second, x, motion.qdd) for x in pair) for pair in ((F, M), (R_F, R_M)))
    jerk = jerk + spin**2
    return (
        np.where(lengths, reach, 1.0),
        np.where(lengths, fast + apart * spin, spin),
        np.where(lengths, quick + 2 * fast * spin + apart * jerk, jerk),
    )


def _size(rate: np.ndarray, moved: Derivatives, by: np.ndarray) -> np.ndarray:
    """Return the size of a rate plus the sizes of its terms from each coordinate, which may cancel."""
    parts = np.sqrt(np.sum(moved.change.reshape(-1, *moved.change.shape[-2:]) ** 2, axis=0))
    return length(rate) + np.sum(parts * np.abs(by), axis=0)


def reference_work(motion: MovingModel) -> list[VirtualWork]:
    """Return the virtual work of inertia, gravity, rotors and loads, or of the energies that define the model."""
    if motion.model.energies is not None:
        return list(_energies(motion))
    works = [work for body in motion.model.bodies for work in _of_body(motion, body)]
    works += [load.reference_work(motion) for load in motion.model.loads if not load.in_joints]
    return works + joint_work(motion)


def joint_work(motion: MovingModel) -> list[VirtualWork]:
    """Return the virtual work of joint drives: rotors, torques, springs and friction."""
    works = []
    for rotor in motion.model.rotors:
        turn = motion.traced(lambda poses, r=rotor: poses.value(r.body, r.joint, r.motion))
        inertia = motion.number(rotor.inertia) * motion.number(rotor.ratio) ** 2
        works.append(product(f"inertia of {rotor.name}", -inertia * turn.second, turn))
    return works + [load.reference_work(motion) for load in motion.model.loads if load.in_joints]


def non_ideal_work(motion: MovingModel) -> np.ndarray:
    """Return C of the virtual work wᵀC of non-ideal constraints (n, K)."""
    forces = motion.model.non_ideal_forces
    return motion.numbers([forces.get(name, 0) for name in motion.model.coordinate_names])


def inertias(motion: MovingModel) -> np.ndarray:
    """Return the diagonal inertia of each coordinate, Σ m |∂r/∂q_i|² over all bodies and rotors, (n, K)."""
    if motion.model.energies is not None:
        return motion.slopes(motion.model.energies.kinetic)[1]
    total = np.zeros((motion.n, motion.K))
    for body in motion.model.bodies:
        center, axes = _matter(motion, body)
        total += motion.number(body.mass) * np.einsum("xnk,xnk->nk", center.change, center.change)
        total += np.einsum("abk,xank,xbnk->nk", second_moments(motion, body), axes.change, axes.change)
    for rotor in motion.model.rotors:
        turn = motion.traced(lambda poses, r=rotor: poses.value(r.body, r.joint, r.motion))
        total += motion.number(rotor.inertia) * (motion.number(rotor.ratio) * turn.change) ** 2
    return total


def _matter(motion: MovingModel, body: Body) -> tuple[Derivatives, Derivatives]:
    """Return the mass center and the axes of a body."""
    return point_of(motion, body.name, body.center), axes_of(motion, body.name)


def second_moments(motion: MovingModel, body: Body) -> np.ndarray:
    """Return S = ½ tr(I) 1 − I about the mass center, (3, 3, K)."""
    inertia = motion.numbers(body.inertia)
    return 0.5 * np.trace(inertia) * np.eye(3)[:, :, None] - inertia


def _of_body(motion: MovingModel, body: Body) -> Iterator[VirtualWork]:
    center, axes = _matter(motion, body)
    mass, S = motion.number(body.mass), second_moments(motion, body)
    yield on_point(f"inertia of {body.name}", -mass * center.second, center)
    turning = -np.einsum("abk,xak->xbk", S, axes.second)
    yield on_point(
        f"rotational inertia of {body.name}",
        turning.reshape(9, -1),
        Derivatives(*(x.reshape(9, *x.shape[2:]) for x in (axes.value, axes.rate, axes.second, axes.change))),
    )
    yield on_point(f"gravity on {body.name}", mass * motion.numbers(motion.model.gravity), center)


def _energies(motion: MovingModel) -> Iterator[VirtualWork]:
    """−(d/dt ∂T/∂q̇ − ∂T/∂q) − ∂V/∂q + Q for a model defined by energies: Lagrange's form of the same sum."""
    energies = motion.model.energies
    assert energies is not None
    rates = motion.changes(series(motion.momentum(energies.kinetic)).rate)
    for name, value in (
        ("rate of momentum", -rates),
        ("kinetic energy", motion.changes(motion.perturbed.lower(energies.kinetic))),
        ("potential energy", -motion.changes(motion.perturbed.lower(energies.potential))),
        ("forces", motion.numbers(energies.forces)),
    ):
        yield VirtualWork(name, value, np.abs(value))
