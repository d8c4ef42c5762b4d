"""Poses of links in the world, velocities and Jacobians of points, energies, and the momentum about the mass center.

Velocities have six rows, linear above angular, in axes of the world; the columns of Jacobian and momentum are for unit speeds.

The energies are computed in one outward pass, in O(n). Each link receives from its parent the twist [ω; v], (36a) of
papers/denoc, the direction of gravity in its axes, and the potential u = −g·p of a unit mass at its origin. With h = m d and the
inertia I about the origin, ten numbers of (47b),

    T = ½ m v·v + v·(ω × h) + ½ ω·I ω + ½ Σ J θ̇²,   V = m u − g·h.

Generalized momenta need one more pass inward, like wrenches: N_dᵀ N_lᵀ M t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dalembert.errors import InputError, suggest_name
from dalembert.recursive._inertias import Rigid, symmetric
from dalembert.recursive._transforms import NONE, Three, crossed, dot, plus, three, times
from dalembert.recursive.composite_inertia import composites
from dalembert.recursive.inverse import combined, effort
from dalembert.recursive.link_states import Moving, MovingLink, mass_matrix_6x6
from dalembert.symbolic.algebra_base import Array, Scalar, identity, scaled, stack, vector, zeros
from dalembert.symbolic.rotations import cross, skew

Place = tuple[Array, Array]  # R_WM and p_WM


def link_poses(moving: Moving, short: Callable[[Array], Array] = lambda value: value) -> list[Place]:
    """The pose of every link in the world; `short` may simplify values."""
    out: list[Place] = []
    for link in moving.links:
        R, p = (identity(3), zeros(3)) if link.parent < 0 else out[link.parent]
        out.append((short(R @ link.transform.R), short(p + R @ link.transform.p)))
    return out


def body_poses(moving: Moving, bodies: Sequence[str]) -> list[tuple[Array, Array]]:
    """p_WB and R_WB of bodies."""
    known = link_poses(moving)
    return [(p, R) for R, p in (known[link_of(moving, body)] for body in bodies)]


def point_velocity(moving: Moving, body: str, point: Array) -> Array:
    """The velocity of a point, in body axes, and the angular velocity of the body.

    Unlike the Jacobian times the speeds, it includes motions that are prescribed in time.
    """
    v, w = zeros(3), zeros(3)
    for link, R, arm in _inwards(moving, body, point):
        if len(link.rates):
            turn = R @ (link.about @ link.rates)
            v, w = v + R @ (link.along @ link.rates) + cross(turn, arm), w + turn
    return stack(v, w)


def point_jacobian(moving: Moving, body: str, point: Array) -> Array:
    """The velocity of a point, in body axes, and the angular velocity of the body, for unit speeds."""
    out = zeros(6, moving.tree.n_speeds)
    for link, R, arm in _inwards(moving, body, point):
        if link.speeds:
            turn, slide = R @ link.N[:3], R @ link.N[3:]
            columns = list(link.speeds)
            out[:3, columns] += slide - skew(arm) @ turn
            out[3:, columns] += turn
    return out


def _inwards(moving: Moving, body: str, point: Array) -> Iterator[tuple[MovingLink, Array, Array]]:
    """The links from a body to the world, each with R_WM and the arm from its origin to a point of the body, in world axes."""
    index, known = link_of(moving, body), link_poses(moving)
    R, p = known[index]
    at = p + R @ point
    while index >= 0:
        R, p = known[index]
        yield moving.links[index], R, at - p
        index = moving.links[index].parent


def link_of(moving: Moving, body: str) -> int:
    """The link of a body."""
    for index, link in enumerate(moving.tree.links):
        if link.body is not None and link.body.name == body:
            return index
    names = [link.body.name for link in moving.tree.links if link.body is not None]
    raise InputError(f"model '{moving.tree.model.name}': there is no body '{body}'. {suggest_name(body, names)}")


def momentum_matrix(moving: Moving) -> Array:
    """Momentum, and angular momentum about the mass center of all bodies, for unit speeds."""
    known = link_poses(moving)
    center = mass_center(moving)
    out = zeros(6, moving.tree.n_speeds)
    for link, body, (R, p) in zip(moving.links, composites(moving), known, strict=True):
        if link.speeds:
            push = mass_matrix_6x6(body) @ link.N  # of the link with its subtree, about O
            linear = R @ push[3:]
            columns = list(link.speeds)
            out[:3, columns] += linear
            out[3:, columns] += R @ push[:3] + skew(p - center) @ linear
    return out


def mass_center(moving: Moving) -> Array:
    """The mass center of all bodies."""
    bodies = [link.fixture.body for link in moving.links]
    mass, moment = sum(body.m for body in bodies), zeros(3)
    if moving.algebra.is_zero(mass):
        raise InputError(
            f"model '{moving.tree.model.name}' has no mass, so its mass center is undefined. Give a body a mass."
        )
    for body, (R, p) in zip(bodies, link_poses(moving), strict=True):
        moment = moment + scaled(body.m, p) + R @ vector(body.h)
    return np.array([x / mass for x in moment], dtype=object)


class _Carried(NamedTuple):
    """Quantities that a link passes to its children, in its own axes."""

    w: Three
    v: Three
    g: Three
    u: Scalar


def energies_of(moving: Moving) -> tuple[Scalar, Scalar]:
    """T and V of a tree in motion; V contains gravity only.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> from dalembert.model.model import Model
    >>> from dalembert.recursive.link_states import moving
    >>> from dalembert.recursive.tree import tree_of
    >>> model = Model("lift", gravity=(0, 0, -10)).coordinates("z")
    >>> _ = model.body("cabin", joint=model.prismatic((0, 0, 1), "z"), mass=2)
    >>> energies_of(moving(tree_of(model), FLOATS, 0.0, [3.0], [1.0], {}))
    (1.0, 60.0)
    """
    kinetic: Scalar = 0
    potential: Scalar = 0
    for link, own in zip(moving.links, _twists(moving), strict=True):
        body = link.fixture.body
        kinetic = kinetic + _kinetic(body, own) + _rotors(link)
        potential = potential + body.m * own.u - dot(body.h, own.g)
    return kinetic, potential


def momenta_of(moving: Moving) -> tuple[Array, Three, Three]:
    """∂T/∂s by speed, and of the complete tree the momentum and the angular momentum about the world origin, in world axes."""
    out = zeros(moving.tree.n_speeds)
    carried = [_momenta(link.fixture.body, own) for link, own in zip(moving.links, _twists(moving), strict=True)]
    whole: tuple[Three, Three] = NONE, NONE
    for index in reversed(range(len(moving.links))):
        link, (turning, going) = moving.links[index], carried[index]
        if link.speeds:
            driven = zip(link.fixture.axes, link.fixture.armature, link.rates, strict=True)
            along = vector([effort(axis, turning, going, armature, rate) for axis, armature, rate in driven])
            out[list(link.speeds)] += link.G.T @ along
        moment, force = link.transform.wrench_inwards(turning, going)
        before = whole if link.parent < 0 else carried[link.parent]
        after = plus(before[0], moment), plus(before[1], force)
        if link.parent < 0:
            whole = after
        else:
            carried[link.parent] = after
    return out, whole[1], whole[0]


def _twists(moving: Moving) -> list[_Carried]:
    world = _Carried(NONE, NONE, three(moving.gravity), 0)
    known: list[_Carried] = []
    for link in moving.links:
        known.append(_moved(link, world if link.parent < 0 else known[link.parent]))
    return known


def _momenta(body: Rigid, at: _Carried) -> tuple[Three, Three]:
    """M t of (47b): angular momentum about the origin, I ω + h × v, and momentum, m v + ω × h."""
    turning = three(symmetric(body.inertia) @ list(at.w))
    return plus(turning, crossed(body.h, at.v)), plus(times(body.m, at.v), crossed(at.w, body.h))


def _moved(link: MovingLink, parent: _Carried) -> _Carried:
    """From the parent to a link: (36a)."""
    way, (about, along) = link.transform, combined(link.fixture.axes, link.rates)
    w, v = way.rates_outwards(parent.w, parent.v)  # A t of (36)
    g = way.outwards(parent.g)
    return _Carried(plus(w, about), plus(v, along), g, parent.u - dot(way.before, parent.g) - dot(way.after, g))


def _kinetic(body: Rigid, at: _Carried) -> Scalar:
    turning = three(symmetric(body.inertia) @ list(at.w))
    return (body.m * dot(at.v, at.v) + dot(at.w, turning)) / 2 + dot(at.v, crossed(at.w, body.h))


def _rotors(link: MovingLink) -> Scalar:
    total: Scalar = 0
    for inertia, rate in zip(link.fixture.armature, link.rates, strict=True):
        total = total + inertia * rate * rate / 2
    return total
