"""The constraints in the words of the declarations: what must vanish, its rates along the motion, and what it forbids.

Formulas are taken as written. Loops are said anew, from where their two frames are: which origins meet, which axes stay
parallel. A blade forbids its point to move sideways, and a rolling disc the matter in its lowest point to move along the plane.
Where feedback drives a loop to zero, its rows matter also off the target, so the joint's own rows φ are taken there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import FLOATS, Array, Scalar, identity, scaled, vector, zeros
from dalembert.algebra.series import series
from dalembert.evidence.places import Place, Places
from dalembert.evidence.watch import Traced, Watch
from dalembert.model.elements import WORLD, Holonomic, KnifeEdge, Loop, Nonholonomic, RollingDisk
from dalembert.model.joints import Cylindrical, Fixed, Free, Joint, Planar, Prismatic, Revolute, Screw, Universal
from dalembert.model.joints.rows import plane


@dataclass(frozen=True)
class Level:
    """What must vanish (m, K), and the size of what it is made of; zero where the parts are those of q, q̇ or q̈ themselves."""

    value: np.ndarray
    size: np.ndarray


@dataclass(frozen=True)
class Condition:
    """Rows that belong together: their slopes (m, n, K) and their levels; None where a level is not asked to vanish."""

    name: str
    slopes: np.ndarray
    position: Level | None
    velocity: Level | None
    acceleration: Level


def declared_conditions(watch: Watch) -> list[Condition]:
    """All constraints of the model, with the norms of quaternions and the contacts."""
    model = watch.model
    out = [_norm(watch, body.name, joint) for body in model.bodies for joint in body.joints if joint.quaternion]
    out += [_holonomic(watch, c) for c in model.holonomic_list]
    out += [_loop(watch, loop) for loop in model.loops if not isinstance(loop.joint, Free)]
    out += [_nonholonomic(watch, c) for c in model.nonholonomic_list]
    for contact in model.contacts:
        match contact:
            case KnifeEdge():
                out.append(_blade(watch, contact))
            case RollingDisk():
                out += _rolling(watch, contact)
    return out


def _norm(watch: Watch, body: str, joint: Joint) -> Condition:
    def excess(places: Places) -> Array:
        parts = places.numbers(joint.values[-4:])
        return vector([0.5 * (parts @ parts - 1)])

    return _held(f"norm of {body}", watch, watch.traced(excess), ())


def _holonomic(watch: Watch, constraint: Holonomic) -> Condition:
    gap = watch.traced(lambda places: vector([places.lower(constraint.phi)]))
    return _held(constraint.name, watch, gap, constraint.feedback)


def _held(name: str, watch: Watch, gap: Traced, feedback: tuple, sizes: Any = (0.0, 0.0, 0.0)) -> Condition:
    """φ = 0, φ̇ = 0, φ̈ = 0; with gains (α, β) only φ̈ + β φ̇ + α φ = 0."""
    if feedback:
        alpha, beta = (watch.number(gain) for gain in feedback)
        pull = beta * gap.rate + alpha * gap.value
        return Condition(name, gap.change, None, None, Level(gap.second + pull, sizes[2] + np.abs(pull)))
    levels = (gap.value, gap.rate, gap.second)
    return Condition(
        name, gap.change, *(Level(x, np.zeros_like(x) + size) for x, size in zip(levels, sizes, strict=True))
    )


def _nonholonomic(watch: Watch, constraint: Nonholonomic) -> Condition:
    """ψ = 0 and ψ̇ = 0; with a gain α only ψ̇ + α ψ = 0."""
    along = series(watch.path.lower(constraint.psi))
    value, rate = (np.broadcast_to(x, watch.K)[None] for x in (along.value, along.rate))
    slopes = watch.slopes(constraint.psi)[0][None]
    still = np.zeros_like(value)
    if constraint.feedback:
        pull = watch.number(constraint.feedback[0]) * value
        return Condition(constraint.name, slopes, None, None, Level(rate + pull, np.abs(pull)))
    return Condition(constraint.name, slopes, None, Level(value, still), Level(rate, still))


def _blade(watch: Watch, blade: KnifeEdge) -> Condition:
    """(R d)·ṙ = 0 for the point r of the blade and the direction d on its body."""
    point = watch.traced(lambda places: places.point(blade.body, blade.point))
    side = watch.traced(lambda places: places.frames[blade.body].R @ vector(list(blade.direction)))
    slopes = np.einsum("xk,xnk->nk", side.value, point.change)[None]
    velocity = np.einsum("xk,xk->k", side.value, point.rate)[None]
    bent = np.einsum("xk,xk->k", side.rate, point.rate) + np.einsum("xk,xk->k", side.value, point.second)
    fast, quick = _length(point.rate), _length(point.second) + _length(side.rate) * _length(point.rate)
    return Condition(blade.name, slopes, None, Level(velocity, fast[None]), Level(bent[None], quick[None]))


def _rolling(watch: Watch, disc: RollingDisk) -> Iterator[Condition]:
    """The matter in the lowest point r of the disc does not move along the plane: v = ċ + Ṙ Rᵀ (r − c), less its part along n."""
    n = np.array(disc.normal, dtype=float)
    center = watch.traced(lambda places: places.point(disc.body, disc.center))
    arm = watch.traced(lambda places: _lowest(places, disc))
    axes = watch.traced(lambda places: places.frames[disc.body].R)
    # the arm as the body sees it, x = Rᵀ arm, belongs to other matter at every instant: ẋ = Ṙᵀ arm + Rᵀ ȧrm
    x = np.einsum("yak,yk->ak", axes.value, arm.value)
    xd = np.einsum("yak,yk->ak", axes.rate, arm.value) + np.einsum("yak,yk->ak", axes.value, arm.rate)
    v = center.rate + np.einsum("yak,ak->yk", axes.rate, x)
    vd = center.second + np.einsum("yak,ak->yk", axes.second, x) + np.einsum("yak,ak->yk", axes.rate, xd)
    dv = center.change + np.einsum("yank,ak->ynk", axes.change, x)
    along = np.eye(3) - np.outer(n, n)
    spin, size = _length(axes.rate), _length(arm.value)
    fast = _length(center.rate) + spin * size
    quick = _length(center.second) + _length(axes.second) * size + spin * (spin * size + _length(arm.rate))
    yield Condition(
        f"{disc.name}, slip",
        np.einsum("xy,ynk->xnk", along, dv),
        None,
        Level(along @ v, fast + np.zeros_like(v)),
        Level(along @ vd, quick + np.zeros_like(v)),
    )
    if disc.contact:
        height = watch.traced(
            lambda places: vector([vector(list(n)) @ (places.point(disc.body, disc.center) + _lowest(places, disc))])
        )
        yield _held(f"{disc.name}, contact", watch, height, (), (size, fast, quick))


def _lowest(places: Places, disc: RollingDisk) -> Array:
    """From the centre to the lowest point: straight down, as far as the plane of the disc lets it go."""
    n, axis = vector(list(disc.normal)), places.frames[disc.body].R @ vector(list(disc.axis))
    down = scaled(n @ axis, axis) - n
    return scaled(places.lower(disc.radius) / places.algebra.sqrt(down @ down), down)


def _loop(watch: Watch, loop: Loop) -> Condition:
    """The two halves of a joint stay within what it admits."""

    def ends(places: Places) -> tuple[Place, Place]:
        first, second = loop.bodies
        return (
            places.placed(first, loop.joint.position, loop.joint.rotation),
            places.placed(second, loop.position, loop.rotation),
        )

    def gap(places: Places) -> Array:
        F, M = ends(places)
        if loop.feedback:
            rows = loop.joint.closure(places.algebra, F.R.T @ M.R, F.R.T @ (M.p - F.p))
            return vector([row.phi for row in rows])
        lengths, turns = unfulfilled(places, loop.joint, F, M)
        return vector([*lengths, *turns])

    halves = [
        (watch.traced(lambda places, i=i: ends(places)[i].p), watch.traced(lambda places, i=i: ends(places)[i].R))
        for i in (0, 1)
    ]
    return _held(loop.name, watch, watch.traced(gap), loop.feedback, _sizes(watch, _are_lengths(loop, watch), *halves))


def _are_lengths(loop: Loop, watch: Watch) -> np.ndarray:
    """Row by row: does it measure a length, or else a direction?"""
    if loop.feedback:
        rows = loop.joint.closure(FLOATS, identity(3), zeros(3))
        return np.array([[any(row.force)] for row in rows])
    still = watch.path.frames[WORLD]
    lengths, turns = unfulfilled(watch.path, loop.joint, still, still)
    return np.array([[True]] * len(lengths) + [[False]] * len(turns))


def _sizes(
    watch: Watch, lengths: np.ndarray, first: tuple[Traced, Traced], second: tuple[Traced, Traced]
) -> tuple[np.ndarray, ...]:
    """How large the parts of the rows are on each level: places and their rates, or axes and theirs."""
    (F, R_F), (M, R_M) = first, second
    apart, reach = _length(M.value - F.value), _length(F.value) + _length(M.value)
    fast, spin = (sum(_size(x.rate, x, watch.states.qd) for x in pair) for pair in ((F, M), (R_F, R_M)))
    quick, jerk = (sum(_size(x.second, x, watch.qdd) for x in pair) for pair in ((F, M), (R_F, R_M)))
    jerk = jerk + spin**2
    return (
        np.where(lengths, reach, 1.0),
        np.where(lengths, fast + apart * spin, spin),
        np.where(lengths, quick + 2 * fast * spin + apart * jerk, jerk),
    )


def _size(rate: np.ndarray, moved: Traced, by: np.ndarray) -> np.ndarray:
    """The size of a rate, and of the parts of it that come from each coordinate and may cancel."""
    parts = np.sqrt(np.sum(moved.change.reshape(-1, *moved.change.shape[-2:]) ** 2, axis=0))
    return _length(rate) + np.sum(parts * np.abs(by), axis=0)


def unfulfilled(places: Places, joint: Joint, F: Place, M: Place) -> tuple[list[Scalar], list[Scalar]]:
    """Lengths and directions that vanish when M is where the joint lets it be; rows may say the same thing twice.

    An axis may also be turned over, as the rows of the joints admit it.
    """
    span = list(M.p - F.p)

    def across(axis: Any, v: Sequence[Scalar]) -> list[Scalar]:
        (a, b, c), (x, y, z) = F.R @ vector(list(axis)), v
        return [y * c - z * b, z * a - x * c, x * b - y * a]

    def parallel(axis: Any) -> list[Scalar]:
        return across(axis, list(M.R @ vector(list(axis))))

    unturned = list((F.R - M.R).ravel())
    match joint:
        case Fixed():
            return span, unturned
        case Revolute():
            return span, parallel(joint.axis)
        case Prismatic():
            return across(joint.axis, span), unturned
        case Cylindrical():
            return across(joint.axis, span), parallel(joint.axis)
        case Screw():
            return [*across(joint.axis, span), _thread(places, joint, F, M)], parallel(joint.axis)
        case Universal():
            first, second = F.R @ vector(list(joint.axes[0])), M.R @ vector(list(joint.axes[1]))
            return span, [first @ second]
        case Planar():
            return [(F.R @ vector(list(joint.normal))) @ vector(span)], parallel(joint.normal)
    return span, []


def _thread(places: Places, joint: Screw, F: Place, M: Place) -> Scalar:
    """The sine of what the angle is ahead of the advance, times the advance of a radian."""
    e1, e2 = (F.R @ vector(list(e)) for e in plane(joint.axis))
    turned = M.R @ vector(list(plane(joint.axis)[0]))
    angle = places.algebra.function("atan2", e2 @ turned, e1 @ turned)
    lead = joint.pitch / (2 * np.pi)
    advance = (F.R @ vector(list(joint.axis))) @ (M.p - F.p)
    return lead * places.algebra.sin(angle - advance / lead)


def _length(x: np.ndarray) -> np.ndarray:
    """The size of vectors or matrices at each state."""
    return np.sqrt(np.sum(x.reshape(-1, x.shape[-1]) ** 2, axis=0))
