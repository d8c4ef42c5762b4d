"""Velocities of mass centres along the axes in which they are short.

In world axes the velocity of a body deep in a tree is a product of all rotations before it, and V·V multiplies them out again,
though no rotation is left in it. So a velocity is kept in two parts,

    V_G = V₀ + R V₁,

V₀ along world axes (slides before the first turn) and V₁ along the axes from which the body's last joint turns. Between two
vectors along one set of axes R drops out, and it enters where the parts meet. Rotations in one plane stay in world axes: there R
is the sine and cosine of a sum of angles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dalembert.mechanics.motion import Motion, MovingBody, outwards
from dalembert.model.elements import Body
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import Algebra, Array, DifferentialAlgebra, identity, matrix, vector, zeros
from dalembert.symbolic.rotations import roll_pitch_yaw, skew


@dataclass(frozen=True)
class Axes:
    """Axes that turn: R to world axes, and along themselves their angular velocity `w` and its columns `w_u`."""

    R: Array
    w_u: Array
    w: Array


@dataclass(frozen=True)
class Resolved:
    """A vector, or columns of vectors: `fixed` along world axes, and `turned` along axes that turn, if there are any."""

    fixed: Array
    turned: Array
    axes: Axes | None

    def dot(self, other: Resolved) -> Array:
        """The products of all columns of the one with all columns of the other, or with a vector."""
        straight = self.fixed.T @ other.fixed
        if self.axes is None:
            return straight
        R = self.axes.R
        mixed = self.fixed.T @ (R @ other.turned) + self.turned.T @ (R.T @ other.fixed)
        return straight + mixed + self.turned.T @ other.turned

    def rate(self, rate: Callable[[Array], Array]) -> Resolved:
        """The rate in the world, from the rate of components: those along axes that turn change by ω × as well."""
        if self.axes is None:
            return Resolved(rate(self.fixed), self.turned, None)
        return Resolved(rate(self.fixed), rate(self.turned) + skew(self.axes.w) @ self.turned, self.axes)


@dataclass(frozen=True)
class Velocity:
    """V_G, ω in body axes, and their partial derivatives by the speeds."""

    V_u: Resolved
    V: Resolved
    w_u: Array
    w: Array


Parts = tuple[Array, Array]  # the derivatives of a velocity by the speeds, and the velocity itself


@dataclass(frozen=True)
class _Place:
    """A frame: the velocity of its origin in both parts, and its axes."""

    fixed: Parts
    own: Parts
    axes: Axes

    def at(self, p: Array) -> _Place:
        """The same axes at a point fixed in them: ω × r = −[r×] ω."""
        return replace(self, own=_sum(self.own, (-skew(p) @ self.axes.w_u, -skew(p) @ self.axes.w)))

    def turned(self, R: Array, about: Parts) -> _Place:
        """Axes turned by R, which turn at the rates `about` along themselves."""
        w = _sum((R.T @ self.axes.w_u, R.T @ self.axes.w), about)
        return _Place(self.fixed, (R.T @ self.own[0], R.T @ self.own[1]), Axes(self.axes.R @ R, *w))

    def slid(self, slide: Parts, algebra: Algebra) -> _Place:
        """An origin that slides; along world axes as long as nothing has turned."""
        if all(algebra.is_zero(x) for x in (*self.axes.w_u.ravel(), *self.axes.w)):
            return replace(self, fixed=_sum(self.fixed, (self.axes.R @ slide[0], self.axes.R @ slide[1])))
        return replace(self, own=_sum(self.own, slide))


def _sum(a: Parts, b: Parts) -> Parts:
    return a[0] + b[0], a[1] + b[1]


class _Walk:
    """Visits the bodies outwards and carries the velocities of their origins along."""

    def __init__(self, motion: Motion, qd: Array, W: Array) -> None:
        self._motion, self._algebra, self._qd, self._W = motion, motion.algebra, qd, W
        self._nothing: Parts = (zeros(3, W.shape[1]), zeros(3))
        self._places = {WORLD: _Place(self._nothing, self._nothing, Axes(identity(3), *self._nothing))}

    def visit(self, body: Body) -> Velocity:
        """The velocity of the mass centre; that of the origin is kept for the bodies that hang on this one."""
        algebra, lower, moving = self._algebra, self._motion.lower, self._motion.body(body.name)
        place = self._places[body.parent]
        F, R, about = place, identity(3), self._nothing
        for index, joint in enumerate(body.joints):
            position = vector([lower(x) for x in joint.position])
            F = place.at(position).turned(roll_pitch_yaw(algebra, [lower(x) for x in joint.rotation]), self._nothing)
            R, about = identity(3), self._nothing
            if joint.values:
                motions = [self._motion.joint(body.name, index, k) for k in range(len(joint.values))]
                values = [one.value for one in motions]
                gradient, drift = (
                    matrix([list(one.gradient) for one in motions]),
                    vector([one.drift for one in motions]),
                )
                rates = gradient @ self._W, gradient @ self._qd + drift
                slide, turn = joint.linear(algebra, values), joint.angular(algebra, values)
                F = F.at(joint.shift(algebra, values)).slid((slide @ rates[0], slide @ rates[1]), algebra)
                R, about = joint.turn(algebra, values), (turn @ rates[0], turn @ rates[1])
            place = F.turned(R, about)
        self._places[body.name] = place
        w = place.axes.w_u, place.axes.w
        if _in_a_plane(algebra, moving.R_WB):
            return Velocity(*self._in_world(moving), *w)
        # along the axes from which the last joint turns
        arm = R @ moving.center
        own = _sum(F.at(arm).own, (-skew(arm) @ (R @ about[0]), -skew(arm) @ (R @ about[1])))
        return Velocity(Resolved(F.fixed[0], own[0], F.axes), Resolved(F.fixed[1], own[1], F.axes), *w)

    def particle(self, body: MovingBody) -> Velocity:
        return Velocity(*self._in_world(body), *self._nothing)

    def _in_world(self, body: MovingBody) -> tuple[Resolved, Resolved]:
        V_u, V = body.B @ self._W, body.B @ self._qd + body.C
        return Resolved(V_u, self._nothing[0], None), Resolved(V, self._nothing[1], None)


def _in_a_plane(algebra: Algebra, R: Array) -> bool:
    """True where a rotation leaves one of the axes alone."""
    others = [[(i, j) for j in range(3) if j != i] for i in range(3)]
    return any(all(algebra.is_zero(R[i, j]) and algebra.is_zero(R[j, i]) for i, j in each) for each in others)


def velocities(motion: Motion, qd: Array, W: Array | None = None) -> list[tuple[MovingBody, Velocity]]:
    """Everything that carries kinetic energy with its velocities at q̇ = `qd`, and their derivatives by u where ∂q̇/∂u = `W`."""
    walk = _Walk(motion, qd, zeros(motion.n, 0) if W is None else W)
    found = [walk.visit(body) for body in outwards(motion.model)] + [walk.particle(one) for one in motion.added]
    return list(zip(motion.masses, _shortest(motion.algebra, found), strict=True))


def _shortest(algebra: Algebra, found: list[Velocity]) -> list[Velocity]:
    """The velocities with equal functions merged: along the axes for which speeds were chosen, they are the speeds."""
    if not isinstance(algebra, DifferentialAlgebra):
        return found
    flat: list[Array] = []
    for v in found:
        axes = v.V_u.axes
        flat += [v.V_u.fixed, v.V_u.turned, v.V.fixed, v.V.turned, v.w_u, v.w]
        flat += [] if axes is None else [axes.R, axes.w_u, axes.w]
    new = iter(algebra.merged(*flat))
    out = []
    for v in found:
        a, b, c, d, w_u, w = (next(new) for _ in range(6))
        axes = None if v.V_u.axes is None else Axes(next(new), next(new), next(new))
        out.append(Velocity(Resolved(a, b, axes), Resolved(c, d, axes), w_u, w))
    return out
