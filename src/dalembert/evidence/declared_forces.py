"""The virtual work of everything that pushes, in the words of the declarations: nothing comes from `kinematics/applied`.

Each entry is the work done in a unit change of every coordinate at fixed time, δW / δq_i. A force works on the change of its
point, a couple on the turn of its body, a pull between two points on the change of their distance, a force in a joint on the
motion of the joint, and inertia on every material point:

    −∫ r̈·δr dm = −m r̈_G·δr_G − Σ S_ab R̈_a·δR_b,     S = ∫ x xᵀ dm = ½ tr(I) 1 − I

with R_a the axes of the body, so that no formula of rotation is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.algebra.series import series
from dalembert.evidence.watch import Traced, Watch, distance, half_square
from dalembert.model import WORLD
from dalembert.model.elements import Body
from dalembert.model.loads import Damper, Force, InJoint, JointFriction, JointSpring, JointTorque, Spring, Torque


@dataclass(frozen=True)
class Work:
    """The virtual work of one thing (n, K), and its size before anything cancels."""

    name: str
    value: np.ndarray
    size: np.ndarray


def declared_work(watch: Watch) -> list[Work]:
    """Inertia, gravity, rotors and loads, or the energies that the model is given by."""
    if watch.model.energies is not None:
        return list(_energies(watch))
    works = [work for body in watch.model.bodies for work in _of_body(watch, body)]
    works += [_of_load(watch, load) for load in watch.model.loads if not isinstance(load, InJoint)]
    return works + joint_work(watch)


def joint_work(watch: Watch) -> list[Work]:
    """What drives the joints from inside: rotors, torques, springs and friction."""
    works = []
    for rotor in watch.model.rotors:
        turn = watch.traced(lambda places, r=rotor: places.value(r.body, r.joint, r.motion))
        inertia = watch.number(rotor.inertia) * watch.number(rotor.ratio) ** 2
        works.append(_product(f"inertia of {rotor.name}", -inertia * turn.second, turn))
    return works + [_in_joint(watch, load) for load in watch.model.loads if isinstance(load, InJoint)]


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
    return watch.traced(lambda places: places.point(body.name, body.center)), axes_of(watch, body.name)


def axes_of(watch: Watch, body: str) -> Traced:
    """The axes of a body, the columns of R."""
    return watch.traced(lambda places: places.frames[body].R)


def second_moments(watch: Watch, body: Body) -> np.ndarray:
    """S = ½ tr(I) 1 − I about the mass centre, (3, 3, K)."""
    inertia = watch.numbers(body.inertia)
    return 0.5 * np.trace(inertia) * np.eye(3)[:, :, None] - inertia


def _of_body(watch: Watch, body: Body) -> Iterator[Work]:
    center, axes = _matter(watch, body)
    mass, S = watch.number(body.mass), second_moments(watch, body)
    yield _on_point(f"inertia of {body.name}", -mass * center.second, center)
    turning = -np.einsum("abk,xak->xbk", S, axes.second)
    yield _on_point(
        f"rotational inertia of {body.name}",
        turning.reshape(9, -1),
        Traced(*(x.reshape(9, *x.shape[2:]) for x in (axes.value, axes.rate, axes.second, axes.change))),
    )
    yield _on_point(f"gravity on {body.name}", mass * watch.numbers(watch.model.gravity), center)


def _of_load(watch: Watch, load: Force | Torque | Spring | Damper) -> Work:
    match load:
        case Force():
            body = next(b for b in watch.model.bodies if b.name == load.body)
            at = body.center if load.point is None else load.point
            return _on_point(
                load.name, in_world(watch, load.force, load.frame), watch.traced(lambda p: p.point(body.name, at))
            )
        case Torque():
            return _couple(watch, load)
        case Spring():
            return _spring(watch, load)
        case Damper():
            length = watch.traced(lambda places: distance(places, load.bodies, load.points))
            return _product(load.name, -watch.number(load.damping) * length.rate, length)


def in_world(watch: Watch, components: tuple, frame: str) -> np.ndarray:
    """A vector given in the axes of `frame`."""
    return np.einsum("xak,ak->xk", axes_of(watch, frame).value, watch.numbers(components))


def _couple(watch: Watch, load: Torque) -> Work:
    """A couple works on the turn of its body, and its reaction on the turn of the other."""
    torque = in_world(watch, load.torque, load.frame)
    value = np.einsum("xk,xnk->nk", torque, turn_of(axes_of(watch, load.body)))
    if load.reaction not in (None, WORLD):
        value = value - np.einsum("xk,xnk->nk", torque, turn_of(axes_of(watch, load.reaction)))
    return Work(load.name, value, np.abs(value))


def turn_of(axes: Traced) -> np.ndarray:
    """The small rotation in a change of the axes, (3, n, K): half the sum of R_a × δR_a."""
    return 0.5 * np.cross(axes.value[:, :, None, :], axes.change, axis=0).sum(axis=1)


def _spring(watch: Watch, load: Spring) -> Work:
    k, natural = watch.number(load.stiffness), watch.number(load.natural_length)
    if not natural.any():
        # the pull k × distance, also where the ends meet
        square = watch.traced(lambda places: half_square(places, load.bodies, load.points))
        return _product(load.name, -k, square)
    length = watch.traced(lambda places: distance(places, load.bodies, load.points))
    return _product(load.name, -k * (length.value - natural), length)


def _in_joint(watch: Watch, load: InJoint) -> Work:
    moved = watch.traced(lambda places: places.value(load.body, load.joint, load.motion))
    match load:
        case JointTorque():
            force = watch.number(load.value)
        case JointSpring():
            force = -watch.number(load.stiffness) * (moved.value - watch.number(load.rest))
            force = force - watch.number(load.damping) * moved.rate
        case JointFriction():
            b, c, soft = (watch.number(x) for x in (load.viscous, load.coulomb, load.smoothing))
            force = -b * moved.rate
            if c.any():
                force = force - c * moved.rate / np.hypot(moved.rate, soft)
    return _product(load.name, force, moved)


def _on_point(name: str, force: np.ndarray, point: Traced) -> Work:
    """Force (x, K) times the change of its point (x, n, K); its size does not count on right angles between them."""
    value = np.einsum("xk,xnk->nk", force, point.change)
    return Work(name, value, np.linalg.norm(force, axis=0) * np.linalg.norm(point.change, axis=0))


def _product(name: str, force: np.ndarray, scalar: Traced) -> Work:
    """A force along a scalar times the change of the scalar."""
    value = force * scalar.change
    return Work(name, value, np.abs(value))


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
