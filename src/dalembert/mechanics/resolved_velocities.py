"""Velocities of mass centers, resolved in the axes in which their expressions are short.

In world axes the velocity of a body deep in a tree contains all rotations before it, and V·V multiplies them out again, although
they cancel. So a velocity is stored in two parts,

    V_G = V₀ + R V₁,

V₀ in world axes (translations before the first rotation) and V₁ in the axes before the body's last joint rotation. In products of
two vectors in the same axes R cancels; it remains in the mixed products. Rotations in one plane stay in world axes: there R
consists of the sine and cosine of a sum of angles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dalembert.mechanics.motion import Motion, MovingBody, topological_order
from dalembert.model.elements import Body
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import Algebra, Array, DifferentialAlgebra, identity, matrix, vector, zeros
from dalembert.symbolic.rotations import roll_pitch_yaw, skew


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


class _Recursion:
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
    bodies = _Recursion(motion, qd, zeros(motion.n, 0) if W is None else W)
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
