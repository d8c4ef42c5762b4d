"""The constraints in the words of the declarations: what must vanish, its rates along the motion, and what it forbids.

Formulas are taken as written. Loops are said anew, from where their two frames are: which origins meet, which axes stay
parallel. What a joint of a loop or a contact forbids stands in its own file (`unfulfilled`, `declared`).
Where feedback drives a loop to zero, its rows matter also off the target, so the joint's own rows φ are taken there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.evidence.numeric_differentiation import Places, Watch
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.constraints.loop import Loop
from dalembert.model.constraints.nonholonomic import Nonholonomic
from dalembert.model.elements import Body
from dalembert.model.joints.base import Joint
from dalembert.model.reference_model import (
    Condition,
    Level,
    Place,
    Traced,
    Work,
    axes_of,
    held,
    length,
    on_point,
    point_of,
    product,
)
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import Array, vector
from dalembert.symbolic.floats import series


def declared_conditions(watch: Watch) -> list[Condition]:
    """All constraints of the model, with the norms of quaternions and the contacts."""
    model = watch.model
    out = [_norm(watch, body.name, joint) for body in model.bodies for joint in body.joints if joint.quaternion]
    out += [_holonomic(watch, c) for c in model.holonomic_constraints]
    out += [_loop(watch, loop) for loop in model.loops if loop.row_names]
    out += [_nonholonomic(watch, c) for c in model.nonholonomic_constraints]
    for contact in model.contacts:
        out += contact.declared(watch)
    return out


def _norm(watch: Watch, body: str, joint: Joint) -> Condition:
    def excess(places: Places) -> Array:
        parts = places.numbers(joint.values[-4:])
        return vector([0.5 * (parts @ parts - 1)])

    return held(f"norm of {body}", watch, watch.traced(excess), ())


def _holonomic(watch: Watch, constraint: Holonomic) -> Condition:
    gap = watch.traced(lambda places: vector([places.lower(constraint.phi)]))
    return held(constraint.name, watch, gap, constraint.feedback)


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
        lengths, turns = loop.joint.unfulfilled(places.algebra, F, M)
        return vector([*lengths, *turns])

    halves = [
        (watch.traced(lambda places, i=i: ends(places)[i].p), watch.traced(lambda places, i=i: ends(places)[i].R))
        for i in (0, 1)
    ]
    return held(loop.name, watch, watch.traced(gap), loop.feedback, _sizes(watch, _are_lengths(loop, watch), *halves))


def _are_lengths(loop: Loop, watch: Watch) -> np.ndarray:
    """Row by row: does it measure a length, or else a direction?"""
    if loop.feedback:
        return np.array(loop.joint.holds_lengths)[:, None]
    still = watch.path.frames[WORLD]
    lengths, turns = loop.joint.unfulfilled(watch.path.algebra, still, still)
    return np.array([[True]] * len(lengths) + [[False]] * len(turns))


def _sizes(
    watch: Watch, lengths: np.ndarray, first: tuple[Traced, Traced], second: tuple[Traced, Traced]
) -> tuple[np.ndarray, ...]:
    """How large the parts of the rows are on each level: places and their rates, or axes and theirs."""
    (F, R_F), (M, R_M) = first, second
    apart, reach = length(M.value - F.value), length(F.value) + length(M.value)
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
    return length(rate) + np.sum(parts * np.abs(by), axis=0)


def declared_work(watch: Watch) -> list[Work]:
    """Inertia, gravity, rotors and loads, or the energies that the model is given by."""
    if watch.model.energies is not None:
        return list(_energies(watch))
    works = [work for body in watch.model.bodies for work in _of_body(watch, body)]
    works += [load.declared(watch) for load in watch.model.loads if not load.in_joints]
    return works + joint_work(watch)


def joint_work(watch: Watch) -> list[Work]:
    """What drives the joints from inside: rotors, torques, springs and friction."""
    works = []
    for rotor in watch.model.rotors:
        turn = watch.traced(lambda places, r=rotor: places.value(r.body, r.joint, r.motion))
        inertia = watch.number(rotor.inertia) * watch.number(rotor.ratio) ** 2
        works.append(product(f"inertia of {rotor.name}", -inertia * turn.second, turn))
    return works + [load.declared(watch) for load in watch.model.loads if load.in_joints]


def non_ideal_work(watch: Watch) -> np.ndarray:
    """C, the virtual work wᵀC of the constraints (n, K)."""
    given = watch.model.non_ideal_forces
    return watch.numbers([given.get(name, 0) for name in watch.model.coordinate_names])


def inertias(watch: Watch) -> np.ndarray:
    """What resists each coordinate alone: Σ m |∂r/∂q_i|² over all matter, (n, K)."""
    if watch.model.energies is not None:
        return watch.slopes(watch.model.energies.kinetic)[1]
    total = np.zeros((watch.n, watch.K))
    for body in watch.model.bodies:
        center, axes = _matter(watch, body)
        total += watch.number(body.mass) * np.einsum("xnk,xnk->nk", center.change, center.change)
        total += np.einsum("abk,xank,xbnk->nk", second_moments(watch, body), axes.change, axes.change)
    for rotor in watch.model.rotors:
        turn = watch.traced(lambda places, r=rotor: places.value(r.body, r.joint, r.motion))
        total += watch.number(rotor.inertia) * (watch.number(rotor.ratio) * turn.change) ** 2
    return total


def _matter(watch: Watch, body: Body) -> tuple[Traced, Traced]:
    """The mass centre and the axes of a body."""
    return point_of(watch, body.name, body.center), axes_of(watch, body.name)


def second_moments(watch: Watch, body: Body) -> np.ndarray:
    """S = ½ tr(I) 1 − I about the mass centre, (3, 3, K)."""
    inertia = watch.numbers(body.inertia)
    return 0.5 * np.trace(inertia) * np.eye(3)[:, :, None] - inertia


def _of_body(watch: Watch, body: Body) -> Iterator[Work]:
    center, axes = _matter(watch, body)
    mass, S = watch.number(body.mass), second_moments(watch, body)
    yield on_point(f"inertia of {body.name}", -mass * center.second, center)
    turning = -np.einsum("abk,xak->xbk", S, axes.second)
    yield on_point(
        f"rotational inertia of {body.name}",
        turning.reshape(9, -1),
        Traced(*(x.reshape(9, *x.shape[2:]) for x in (axes.value, axes.rate, axes.second, axes.change))),
    )
    yield on_point(f"gravity on {body.name}", mass * watch.numbers(watch.model.gravity), center)


def _energies(watch: Watch) -> Iterator[Work]:
    """−(d/dt ∂T/∂q̇ − ∂T/∂q) − ∂V/∂q + Q for energies that are given: Lagrange's form of the same sum."""
    given = watch.model.energies
    assert given is not None
    rates = watch.changes(series(watch.momentum(given.kinetic)).rate)
    for name, value in (
        ("rate of momentum", -rates),
        ("kinetic energy", watch.changes(watch.nearby.lower(given.kinetic))),
        ("potential energy", -watch.changes(watch.nearby.lower(given.potential))),
        ("forces", watch.numbers(given.forces)),
    ):
        yield Work(name, value, np.abs(value))
