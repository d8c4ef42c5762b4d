"""The energies of a tree by one walk outwards, in O(n): kinetic, with rotors, and potential in the field of gravity.

Its momenta take one more walk inwards, as wrenches do: N_dᵀ N_lᵀ M t.

Each link takes from its parent the twist [ω; v], (36a) of papers/denoc, the direction of gravity in its axes, and the potential
u = −g·p of a unit of mass at its origin. With h = m d and the inertia I about the origin, ten numbers of (47b),

    T = ½ m v·v + v·(ω × h) + ½ ω·I ω + ½ Σ J θ̇²,   V = m u − g·h.
"""

from __future__ import annotations

from typing import NamedTuple

from dalembert.recursive.inertias import Rigid, symmetric
from dalembert.recursive.inverse import combined, effort
from dalembert.recursive.link_states import Moving, MovingLink
from dalembert.recursive.transforms import NONE, Three, crossed, dot, plus, three, times
from dalembert.symbolic.algebra_base import Array, Scalar, vector, zeros


class _Carried(NamedTuple):
    """What a link hands on to those it carries, in its own axes."""

    w: Three
    v: Three
    g: Three
    u: Scalar


def energies_of(moving: Moving) -> tuple[Scalar, Scalar]:
    """T and V of a tree in motion; loads other than gravity have no part in V.

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
    """∂T/∂s by speed, and of the whole tree the momentum and the angular momentum about the world origin, in world axes.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> from dalembert.model.model import Model
    >>> from dalembert.recursive.link_states import moving
    >>> from dalembert.recursive.tree import tree_of
    >>> model = Model("lift", gravity=(0, 0, -10)).coordinates("z")
    >>> _ = model.body("cabin", joint=model.prismatic((0, 0, 1), "z"), mass=2)
    >>> by_speed, linear, _ = momenta_of(moving(tree_of(model), FLOATS, 0.0, [3.0], [1.5], {}))
    >>> list(by_speed), linear
    ([3.0], (0.0, 0.0, 3.0))
    """
    out = zeros(moving.tree.n_speeds)
    carried = [_momenta(link.fixture.body, own) for link, own in zip(moving.links, _twists(moving), strict=True)]
    whole: tuple[Three, Three] = NONE, NONE
    for index in reversed(range(len(moving.links))):
        link, (turning, going) = moving.links[index], carried[index]
        if link.speeds:
            driven = zip(link.fixture.axes, link.fixture.armature, link.rates, strict=True)
            along = vector([effort(axis, turning, going, armature, rate) for axis, armature, rate in driven])
            out[list(link.speeds)] += link.G.T @ along
        moment, force = link.way.wrench_inwards(turning, going)
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
    way, (about, along) = link.way, combined(link.fixture.axes, link.rates)
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
