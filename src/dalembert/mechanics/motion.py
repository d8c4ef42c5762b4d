"""Positions, rotations, velocities and Jacobians of every body, by one outward recursion from the world.

Frames in Drake's monogram notation: R_WB maps body axes to world axes, p_WB is the body origin in the world. Linear
velocities have world components, angular velocities body components, as in (54) of papers/volterra:

    V_G = B q̇ + C   (world axes),    ω = D q̇ + E   (body axes).

Only arithmetic is used (joint formulas are differentiated beforehand), so every algebra works, including floats.

In world axes the velocity of a body deep in a tree contains all rotations before it, and V·V multiplies them out again, although
they cancel. So a velocity is stored in two parts,

    V_G = V₀ + R V₁,

V₀ in world axes (translations before the first rotation) and V₁ in the axes before the body's last joint rotation. In products of
two vectors in the same axes R cancels; it remains in the mixed products. Rotations in one plane stay in world axes: there R
consists of the sine and cosine of a sum of angles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dalembert.model.description import Elements
from dalembert.model.elements import Body
from dalembert.model.joints.base import Joint, JointMotion, MotionAxes
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import (
    Algebra,
    Array,
    DifferentialAlgebra,
    Scalar,
    identity,
    matrix,
    scaled,
    vector,
    zeros,
)
from dalembert.symbolic.floats import FLOATS, real
from dalembert.symbolic.rotations import AxisRotation, Frame, roll_pitch_yaw, skew
from dalembert.symbolic.symbols import TIME, Formula, Lowering, coordinate, rate
from dalembert.symbolic.symengine_algebra import slope


@dataclass(frozen=True)
class MovingBody:
    """A body with the quantities of its motion; names as in (54) of papers/volterra."""

    name: str
    frame: Frame
    mass: Scalar
    inertia: Array  # about the mass center, body axes
    center: Array  # p_BG, body axes
    p_WG: Array
    B: Array
    C: Array
    p_WJ: Array  # origin of the body's last moving joint

    @property
    def R_WB(self) -> Array:
        """The rotation from body axes to world axes."""
        return self.frame.R

    @property
    def D(self) -> Array:
        """∂ω/∂q̇ in body axes."""
        return self.frame.D

    @property
    def E(self) -> Array:
        """The part of ω that does not depend on q̇, in body axes."""
        return self.frame.E


@dataclass(frozen=True)
class Motion:
    """A model in motion over one algebra: its symbols (or numbers) and the resulting motion of bodies and joints."""

    model: Elements
    algebra: Algebra
    t: Scalar
    q: Array
    qd: Array
    lower: Lowering
    bodies: tuple[MovingBody, ...]
    joints: tuple[JointMotion, ...]
    fictitious_masses: tuple[MovingBody, ...] = ()  # carriers of kinetic energy other than the bodies: see `_added`

    @property
    def masses(self) -> tuple[MovingBody, ...]:
        """All carriers of kinetic energy: bodies, motor rotors and quaternion norms."""
        return self.bodies + self.fictitious_masses

    def joint(self, body: str, joint: int, motion: int) -> JointMotion:
        """One motion of a joint."""
        return next(j for j in self.joints if (j.body, j.joint, j.motion) == (body, joint, motion))

    @property
    def n(self) -> int:
        """The number of coordinates."""
        return len(self.q)

    @cached_property
    def frames(self) -> dict[str, Frame]:
        """The frames of world and bodies by name."""
        return {WORLD: _world(self.n, self.algebra), **{body.name: body.frame for body in self.bodies}}

    def frame(self, name: str) -> Frame:
        """The frame of a body, or of the world."""
        return self.frames[name]

    def center(self, body: str) -> Array:
        """The mass center of a body, in body axes."""
        return self.body(body).center

    def mass(self, body: str) -> Scalar:
        """The mass of a body."""
        return self.body(body).mass

    def body(self, name: str) -> MovingBody:
        """The moving body called `name`."""
        return next(body for body in self.bodies if body.name == name)


def values(
    model: Elements, t: Scalar, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Mapping[str, Scalar]
) -> dict:
    """The value of every symbol that formulas of the model may contain."""
    names = model.coordinate_names
    return {
        "t": t,
        **dict(zip(names, q, strict=True)),
        **{rate(name).name: v for name, v in zip(names, qd, strict=True)},
        **parameters,
    }


def move(model: Elements, algebra: Algebra, t: Scalar, q: Array, qd: Array, parameters: Mapping[str, Scalar]) -> Motion:
    """The motion of a model for scalars of time, coordinates, velocities and parameters."""
    lower = Lowering(algebra, values(model, t, list(q), list(qd), parameters))
    recursion = _Recursion(model, algebra, lower, len(q))
    bodies = tuple(recursion.visit(body) for body in topological_order(model))
    motion = Motion(model, algebra, t, q, qd, lower, bodies, tuple(recursion.joints))
    return replace(motion, fictitious_masses=tuple(_fictitious_masses(motion)))


def move_symbols(model: Elements, algebra: DifferentialAlgebra, numbers: Mapping[str, Scalar] | None = None) -> Motion:
    """The motion of a model over the symbols of an algebra; `numbers` replace the symbols of some parameters."""
    names, parameters = model.coordinate_names, list(model.parameter_values)
    (t,) = algebra.symbols(["t"])
    q, qd = algebra.symbols(names), algebra.symbols([rate(name).name for name in names])
    known = dict(zip(parameters, algebra.symbols(parameters), strict=True)) | dict(numbers or {})
    return move(model, algebra, t, q, qd, known)


def topological_order(model: Elements) -> list[Body]:
    """The bodies in topological order: every parent precedes its children."""
    children: dict[str, list[int]] = {}
    for i, body in enumerate(model.bodies):
        children.setdefault(body.parent, []).append(i)
    order: list[Body] = []
    level = children.pop(WORLD, [])
    while level:  # bodies of one level in order of declaration
        order += [model.bodies[i] for i in level]
        level = sorted(child for i in level for child in children.pop(model.bodies[i].name, ()))
    if len(order) < len(model.bodies):
        # the model check reports unknown or cyclic parents
        model.require_valid()
    return order


class _Recursion:
    """Outward recursion over the bodies that propagates their frames."""

    def __init__(self, model: Elements, algebra: Algebra, lower: Lowering, n: int) -> None:
        self._names = model.coordinate_names
        self._algebra, self._lower = algebra, lower
        self._n = n
        self._frames = {WORLD: _world(n, algebra)}
        self.joints: list[JointMotion] = []

    def visit(self, body: Body) -> MovingBody:
        frame, joint_origin = self._frames[body.parent], None
        for index, joint in enumerate(body.joints):
            frame = self._joint_frame(self._placed(frame, joint), joint, body.name, index)
            joint_origin = frame.p if joint.values else joint_origin
        self._frames[body.name] = frame
        pack = self._algebra.pack
        center = pack(vector([self._lower(x) for x in body.center]))
        inertia = pack(matrix([[self._lower(x) for x in row] for row in body.inertia]))
        p_WG, B, C = frame.point(center)
        at = frame.p if joint_origin is None else joint_origin
        return MovingBody(body.name, frame, self._lower(body.mass), inertia, center, p_WG, B, C, at)

    def _placed(self, P: Frame, joint: Joint) -> Frame:
        """The joint frame F, fixed in the parent P."""
        position = self._algebra.pack(vector([self._lower(x) for x in joint.position]))
        return P.fixed_frame(self._algebra, position, [self._lower(x) for x in joint.rotation])

    def _joint_frame(self, F: Frame, joint: Joint, body: str, index: int) -> Frame:
        """The frame M that the joint moves relative to F."""
        if not joint.values:
            return F
        motions = [self._motion(formula, body, index, k) for k, formula in enumerate(joint.values)]
        self.joints += motions
        algebra, values = self._algebra, [motion.value for motion in motions]
        gradients = algebra.pack(matrix([list(motion.gradient) for motion in motions]))
        drifts = algebra.pack(vector([motion.drift for motion in motions]))
        R_FM = algebra.pack(joint.rotation_matrix(algebra, values))
        p, J, c = F.point(algebra.pack(joint.translation(algebra, values)))
        along = F.R @ algebra.pack(joint.linear_motion_subspace(algebra, values))
        about = algebra.pack(joint.angular_motion_subspace(algebra, values))
        turn = _last_rotation(algebra, F, joint, values)
        return Frame(
            F.R @ R_FM if turn is None or turn is F.last_rotation or turn.before is F.R else turn.rotation(algebra),
            p,
            J + along @ gradients,
            c + along @ drifts,
            R_FM.T @ F.D + about @ gradients,
            R_FM.T @ F.E + about @ drifts,
            turn,
        )

    def _motion(self, formula: Formula, body: str, index: int, k: int) -> JointMotion:
        used = {symbol.name for symbol in formula.free_symbols}
        gradient = zeros(self._n)
        for i, name in enumerate(self._names):
            if name in used:
                gradient[i] = self._lower(slope(formula, coordinate(name)))
        drift = self._lower(slope(formula, TIME))
        return JointMotion(body, index, k, self._lower(formula), gradient, drift)


def _last_rotation(algebra: Algebra, F: Frame, joint: Joint, values: Sequence[Scalar]) -> AxisRotation | None:
    """The last rotation about one axis, after a joint that does not rotate or rotates about one axis."""
    rotations = [(step.about, value) for step, value in zip(joint.steps, values, strict=True) if step.about is not None]
    if len(rotations) > 1 or any(step == MotionAxes() for step in joint.steps):
        return None
    if not rotations:
        return F.last_rotation
    ((axis, angle),) = rotations
    further = None if F.last_rotation is None else F.last_rotation.on(axis, angle)
    return further or AxisRotation(F.R, tuple(axis), angle)


def _fictitious_masses(motion: Motion) -> Iterator[MovingBody]:
    """Fictitious particles on a line, each with one scalar of the system as its displacement.

    A rotor is a particle of mass inertia × ratio² whose displacement is the motion of its joint. The norm of a quaternion has
    a particle that never moves, since q·q̇ = 0: it regularizes a mass matrix that would be singular along q.
    """
    model, n = motion.model, motion.n
    for rotor in model.rotors:
        joint = motion.joint(rotor.body, rotor.joint, rotor.motion)
        ratio = motion.lower(rotor.ratio)
        yield _particle_on_line(rotor.name, motion.lower(rotor.inertia) * ratio * ratio, joint.gradient, joint.drift, n)
    for body in model.bodies:
        for index, joint in enumerate(body.joints):
            if joint.quaternion:
                last = len(joint.values)
                parts = [motion.joint(body.name, index, k) for k in range(last - 4, last)]
                pull = sum((scaled(part.value, part.gradient) for part in parts), start=zeros(n))
                yield _particle_on_line(f"norm of {body.name}", _typical_inertia(body, model), pull, 0, n)


def _particle_on_line(name: str, mass: Scalar, gradient: Array, drift: Scalar, n: int) -> MovingBody:
    """A particle with velocity gradient q̇ + drift along x."""
    world = _world(n, FLOATS)
    B = matrix([list(gradient), [0] * n, [0] * n])
    return MovingBody(name, world, mass, zeros(3, 3), zeros(3), zeros(3), B, vector([drift, 0, 0]), zeros(3))


def _typical_inertia(body: Body, model: Elements) -> float:
    """The size of a body's inertia for the default parameter values, as a float."""
    lower = Lowering(FLOATS, dict(model.parameter_values))
    trace = sum(real(lower(body.inertia[i][i])) for i in range(3))
    arm = sum(real(lower(x)) ** 2 for x in body.center)
    size = trace + real(lower(body.mass)) * arm
    return size if size > 0 else 1.0


def _world(n: int, algebra: Algebra) -> Frame:
    pack = algebra.pack
    return Frame(
        pack(identity(3)), pack(zeros(3)), pack(zeros(3, n)), pack(zeros(3)), pack(zeros(3, n)), pack(zeros(3))
    )


@dataclass(frozen=True)
class Axes:
    """Rotating axes: R to world axes, their angular velocity `w` and its partial derivatives `w_u`, in these axes."""

    R: Array
    w_u: Array
    w: Array


@dataclass(frozen=True)
class Resolved:
    """A vector, or columns of vectors: `fixed` in world axes, and `rotating` in rotating axes, if any."""

    fixed: Array
    rotating: Array
    axes: Axes | None

    def dot(self, other: Resolved) -> Array:
        """The products of all columns with all columns of `other`, or with a vector."""
        straight = self.fixed.T @ other.fixed
        if self.axes is None:
            return straight
        R = self.axes.R
        mixed = self.fixed.T @ (R @ other.rotating) + self.rotating.T @ (R.T @ other.fixed)
        return straight + mixed + self.rotating.T @ other.rotating

    def rate(self, rate: Callable[[Array], Array]) -> Resolved:
        """The rate in the world, from the rate of components: those in rotating axes also change by ω ×."""
        if self.axes is None:
            return Resolved(rate(self.fixed), self.rotating, None)
        return Resolved(rate(self.fixed), rate(self.rotating) + skew(self.axes.w) @ self.rotating, self.axes)


@dataclass(frozen=True)
class BodyVelocity:
    """V_G, ω in body axes, and their partial derivatives with respect to the speeds."""

    V_u: Resolved
    V: Resolved
    w_u: Array
    w: Array


Parts = tuple[Array, Array]  # the partial derivatives of a velocity with respect to the speeds, and the velocity itself


@dataclass(frozen=True)
class _MovingFrame:
    """A frame: both parts of the velocity of its origin, and its axes."""

    fixed: Parts
    own: Parts
    axes: Axes

    def at(self, p: Array) -> _MovingFrame:
        """The same axes at a point fixed in them: ω × r = −[r×] ω."""
        return replace(self, own=_sum(self.own, (-skew(p) @ self.axes.w_u, -skew(p) @ self.axes.w)))

    def rotating(self, R: Array, about: Parts) -> _MovingFrame:
        """Axes rotated by R, which rotate at the rates `about`, expressed in themselves."""
        w = _sum((R.T @ self.axes.w_u, R.T @ self.axes.w), about)
        return _MovingFrame(self.fixed, (R.T @ self.own[0], R.T @ self.own[1]), Axes(self.axes.R @ R, *w))

    def translating(self, slide: Parts, algebra: Algebra) -> _MovingFrame:
        """The frame with a translating origin; in world axes as long as nothing has rotated."""
        if all(algebra.is_zero(x) for x in (*self.axes.w_u.ravel(), *self.axes.w)):
            return replace(self, fixed=_sum(self.fixed, (self.axes.R @ slide[0], self.axes.R @ slide[1])))
        return replace(self, own=_sum(self.own, slide))


def _sum(a: Parts, b: Parts) -> Parts:
    return a[0] + b[0], a[1] + b[1]


class _VelocityRecursion:
    """Outward bodies over the bodies that propagates the velocities of their origins."""

    def __init__(self, motion: Motion, qd: Array, W: Array) -> None:
        self._motion, self._algebra, self._qd, self._W = motion, motion.algebra, qd, W
        self._nothing: Parts = (zeros(3, W.shape[1]), zeros(3))
        self._frames = {WORLD: _MovingFrame(self._nothing, self._nothing, Axes(identity(3), *self._nothing))}

    def visit(self, body: Body) -> BodyVelocity:
        """The velocity of the mass center; the velocity of the origin is stored for the child bodies."""
        algebra, lower, moving = self._algebra, self._motion.lower, self._motion.body(body.name)
        frame = self._frames[body.parent]
        F, R, about = frame, identity(3), self._nothing
        for index, joint in enumerate(body.joints):
            position = vector([lower(x) for x in joint.position])
            F = frame.at(position).rotating(roll_pitch_yaw(algebra, [lower(x) for x in joint.rotation]), self._nothing)
            R, about = identity(3), self._nothing
            if joint.values:
                motions = [self._motion.joint(body.name, index, k) for k in range(len(joint.values))]
                values = [one.value for one in motions]
                gradient, drift = (
                    matrix([list(one.gradient) for one in motions]),
                    vector([one.drift for one in motions]),
                )
                rates = gradient @ self._W, gradient @ self._qd + drift
                slide, turn = (
                    joint.linear_motion_subspace(algebra, values),
                    joint.angular_motion_subspace(algebra, values),
                )
                F = F.at(joint.translation(algebra, values)).translating((slide @ rates[0], slide @ rates[1]), algebra)
                R, about = joint.rotation_matrix(algebra, values), (turn @ rates[0], turn @ rates[1])
            frame = F.rotating(R, about)
        self._frames[body.name] = frame
        w = frame.axes.w_u, frame.axes.w
        if _in_a_plane(algebra, moving.R_WB):
            return BodyVelocity(*self._in_world(moving), *w)
        # in the axes before the rotation of the last joint
        arm = R @ moving.center
        own = _sum(F.at(arm).own, (-skew(arm) @ (R @ about[0]), -skew(arm) @ (R @ about[1])))
        return BodyVelocity(Resolved(F.fixed[0], own[0], F.axes), Resolved(F.fixed[1], own[1], F.axes), *w)

    def particle(self, body: MovingBody) -> BodyVelocity:
        return BodyVelocity(*self._in_world(body), *self._nothing)

    def _in_world(self, body: MovingBody) -> tuple[Resolved, Resolved]:
        V_u, V = body.B @ self._W, body.B @ self._qd + body.C
        return Resolved(V_u, self._nothing[0], None), Resolved(V, self._nothing[1], None)


def _in_a_plane(algebra: Algebra, R: Array) -> bool:
    """True if a rotation keeps one of the axes fixed."""
    others = [[(i, j) for j in range(3) if j != i] for i in range(3)]
    return any(all(algebra.is_zero(R[i, j]) and algebra.is_zero(R[j, i]) for i, j in each) for each in others)


def velocities(motion: Motion, qd: Array, W: Array | None = None) -> list[tuple[MovingBody, BodyVelocity]]:
    """All masses with their velocities at q̇ = `qd`, and the partial derivatives with respect to u for ∂q̇/∂u = `W`."""
    bodies = _VelocityRecursion(motion, qd, zeros(motion.n, 0) if W is None else W)
    found = [bodies.visit(body) for body in topological_order(motion.model)] + [
        bodies.particle(one) for one in motion.fictitious_masses
    ]
    return list(zip(motion.masses, _shortest(motion.algebra, found), strict=True))


def _shortest(algebra: Algebra, found: list[BodyVelocity]) -> list[BodyVelocity]:
    """The velocities with equal functions merged: in the axes in which speeds were chosen, they are the speeds."""
    if not isinstance(algebra, DifferentialAlgebra):
        return found
    flat: list[Array] = []
    for v in found:
        axes = v.V_u.axes
        flat += [v.V_u.fixed, v.V_u.rotating, v.V.fixed, v.V.rotating, v.w_u, v.w]
        flat += [] if axes is None else [axes.R, axes.w_u, axes.w]
    new = iter(algebra.merged(*flat))
    out = []
    for v in found:
        a, b, c, d, w_u, w = (next(new) for _ in range(6))
        axes = None if v.V_u.axes is None else Axes(next(new), next(new), next(new))
        out.append(BodyVelocity(Resolved(a, b, axes), Resolved(c, d, axes), w_u, w))
    return out
