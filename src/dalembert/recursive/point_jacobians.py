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

Pose = tuple[Array, Array]  # R_WM and p_WM


def link_poses(moving: Moving, simplify: Callable[[Array], Array] = lambda value: value) -> list[Pose]:
    """The pose of every link in the world; `simplify` may simplify values."""
    out: list[Pose] = []
    for link in moving.links:
        R, p = (identity(3), zeros(3)) if link.parent < 0 else out[link.parent]
        out.append((simplify(R @ link.transform.R), simplify(p + R @ link.transform.p)))
    return out


def body_poses(moving: Moving, bodies: Sequence[str]) -> list[tuple[Array, Array]]:
    """p_WB and R_WB of bodies."""
    poses = link_poses(moving)
    return [(p, R) for R, p in (poses[link_of(moving, body)] for body in bodies)]


def point_velocity(moving: Moving, body: str, point: Array) -> Array:
    """The velocity of a point, in body axes, and the angular velocity of the body.

    Unlike the Jacobian times the speeds, it includes motions that are prescribed in time.
    """
    v, w = zeros(3), zeros(3)
    for link, R, arm in _inwards(moving, body, point):
        if len(link.rates):
            angular = R @ (link.about @ link.rates)
            v, w = v + R @ (link.along @ link.rates) + cross(angular, arm), w + angular
    return stack(v, w)


def point_jacobian(moving: Moving, body: str, point: Array) -> Array:
    """The velocity of a point, in body axes, and the angular velocity of the body, for unit speeds."""
    out = zeros(6, moving.tree.n_speeds)
    for link, R, arm in _inwards(moving, body, point):
        if link.speeds:
            angular, linear = R @ link.N[:3], R @ link.N[3:]
            columns = list(link.speeds)
            out[:3, columns] += linear - skew(arm) @ angular
            out[3:, columns] += angular
    return out


def _inwards(moving: Moving, body: str, point: Array) -> Iterator[tuple[MovingLink, Array, Array]]:
    """The links from a body to the world, each with R_WM and the arm from its origin to a point of the body, in world axes."""
    index, poses = link_of(moving, body), link_poses(moving)
    R, p = poses[index]
    at = p + R @ point
    while index >= 0:
        R, p = poses[index]
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
    poses = link_poses(moving)
    center = mass_center(moving)
    out = zeros(6, moving.tree.n_speeds)
    for link, body, (R, p) in zip(moving.links, composites(moving), poses, strict=True):
        if link.speeds:
            push = mass_matrix_6x6(body) @ link.N  # of the link with its subtree, about O
            linear = R @ push[3:]
            columns = list(link.speeds)
            out[:3, columns] += linear
            out[3:, columns] += R @ push[:3] + skew(p - center) @ linear
    return out


def mass_center(moving: Moving) -> Array:
    """The mass center of all bodies."""
    bodies = [link.constants.body for link in moving.links]
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
        body = link.constants.body
        kinetic = kinetic + _kinetic(body, own) + _rotors(link)
        potential = potential + body.m * own.u - dot(body.h, own.g)
    return kinetic, potential


def momenta_of(moving: Moving) -> tuple[Array, Three, Three]:
    """∂T/∂s by speed, and of the complete tree the momentum and the angular momentum about the world origin, in world axes."""
    out = zeros(moving.tree.n_speeds)
    carried = [_momenta(link.constants.body, own) for link, own in zip(moving.links, _twists(moving), strict=True)]
    total: tuple[Three, Three] = NONE, NONE
    for index in reversed(range(len(moving.links))):
        link, (moment, momentum) = moving.links[index], carried[index]
        if link.speeds:
            driven = zip(link.constants.axes, link.constants.armature, link.rates, strict=True)
            along = vector([effort(axis, moment, momentum, armature, rate) for axis, armature, rate in driven])
            out[list(link.speeds)] += link.G.T @ along
        moment, force = link.transform.wrench_inwards(moment, momentum)
        before = total if link.parent < 0 else carried[link.parent]
        after = plus(before[0], moment), plus(before[1], force)
        if link.parent < 0:
            total = after
        else:
            carried[link.parent] = after
    return out, total[1], total[0]


def _twists(moving: Moving) -> list[_Carried]:
    world = _Carried(NONE, NONE, three(moving.gravity), 0)
    twists: list[_Carried] = []
    for link in moving.links:
        twists.append(_moved(link, world if link.parent < 0 else twists[link.parent]))
    return twists


def _momenta(body: Rigid, at: _Carried) -> tuple[Three, Three]:
    """M t of (47b): angular momentum about the origin, I ω + h × v, and momentum, m v + ω × h."""
    moment = three(symmetric(body.inertia) @ list(at.w))
    return plus(moment, crossed(body.h, at.v)), plus(times(body.m, at.v), crossed(at.w, body.h))


def _moved(link: MovingLink, parent: _Carried) -> _Carried:
    """From the parent to a link: (36a)."""
    transform, (about, along) = link.transform, combined(link.constants.axes, link.rates)
    w, v = transform.rates_outwards(parent.w, parent.v)  # A t of (36)
    g = transform.outwards(parent.g)
    u = parent.u - dot(transform.before, parent.g) - dot(transform.after, g)
    return _Carried(plus(w, about), plus(v, along), g, u)


def _kinetic(body: Rigid, at: _Carried) -> Scalar:
    moment = three(symmetric(body.inertia) @ list(at.w))
    return (body.m * dot(at.v, at.v) + dot(at.w, moment)) / 2 + dot(at.v, crossed(at.w, body.h))


def _rotors(link: MovingLink) -> Scalar:
    total: Scalar = 0
    for inertia, rate in zip(link.constants.armature, link.rates, strict=True):
        total = total + inertia * rate * rate / 2
    return total
