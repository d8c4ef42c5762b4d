"""What the loads do: each is a force paired with the velocity it works on, so that its power is F · (J q̇ + c).

Conservative loads (gravity, springs) also have a potential. Energy formalisms take the potential, the others the forces
themselves: if one of the two were wrong, the formalisms would disagree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.algebra import Array, Scalar, matrix, scaled, vector, zeros
from dalembert.kinematics.motion import Motion
from dalembert.model import WORLD
from dalembert.model.loads import Damper, Force, InJoint, JointFriction, JointSpring, JointTorque, Load, Spring, Torque
from dalembert.spatial import cross


@dataclass(frozen=True)
class Wrench:
    """A force at the mass centre of a body, in world axes, and a moment about it, in body axes."""

    body: str
    force: Array
    moment: Array


@dataclass(frozen=True)
class Applied:
    """A force and the Jacobian of the velocity it works on; `potential` is None when it has none.

    `wrenches` say the same body by body; they are empty for a torque inside a joint.
    """

    name: str
    force: Array
    J: Array
    potential: Scalar | None = None
    wrenches: tuple[Wrench, ...] = ()


@dataclass(frozen=True)
class Span:
    """The ends of a spring or damper whose force has no direction where they meet, and its natural length."""

    name: str
    kind: str
    ends: tuple[Array, Array]
    length: Scalar


def spans(motion: Motion) -> list[Span]:
    """Dampers, and springs with a natural length; other springs are regular at length zero."""
    out = []
    for load in motion.model.loads:
        if isinstance(load, Spring | Damper):
            length = motion.lower(load.natural_length) if isinstance(load, Spring) else motion.lower(0)
            if isinstance(load, Damper) or not motion.algebra.is_zero(length):
                first, second = (
                    motion.frames[body].point(vector([motion.lower(x) for x in point]))[0]
                    for body, point in zip(load.bodies, load.points, strict=True)
                )
                out.append(Span(load.name, type(load).__name__.lower(), (first, second), length))
    return out


def applied_forces(motion: Motion) -> list[Applied]:
    """Every force on the system, gravity first."""
    out = _gravity(motion)
    for load in motion.model.loads:
        out += _of(load, motion)
    return out


def _gravity(motion: Motion) -> list[Applied]:
    g = vector([motion.lower(x) for x in motion.model.gravity])
    if all(motion.algebra.is_zero(x) for x in g):
        return []
    return [
        Applied(
            f"gravity on {body.name}",
            body.mass * g,
            body.B,
            -body.mass * (g @ body.p_WG),
            (Wrench(body.name, body.mass * g, zeros(3)),),
        )
        for body in motion.bodies
        if not motion.algebra.is_zero(body.mass)
    ]


def _of(load: Load, motion: Motion) -> list[Applied]:
    match load:
        case Force():
            return [_force(load, motion)]
        case Torque():
            return _torque(load, motion)
        case JointTorque():
            return [_joint_torque(load, motion)]
        case JointSpring():
            return _joint_spring(load, motion)
        case JointFriction():
            return [_joint_friction(load, motion)]
        case Spring():
            return [_spring(load, motion)]
        case Damper():
            return [_damper(load, motion)]


def _at_point(motion: Motion, body: str, point: Array, force: Array) -> tuple[Wrench, ...]:
    """The wrench of a force (world axes) at a point of a body (body axes); the world needs none."""
    if body == WORLD:
        return ()
    moving = motion.body(body)
    return (Wrench(body, force, cross(point - moving.center, moving.R_WB.T @ force)),)


def _force(load: Force, motion: Motion) -> Applied:
    body = motion.body(load.body)
    point = body.center if load.point is None else vector([motion.lower(x) for x in load.point])
    _, J, _ = body.frame.point(point)
    force = motion.frames[load.frame].R @ vector([motion.lower(x) for x in load.force])
    return Applied(load.name, force, J, wrenches=_at_point(motion, load.body, point, force))


def _torque(load: Torque, motion: Motion) -> list[Applied]:
    torque_W = motion.frames[load.frame].R @ vector([motion.lower(x) for x in load.torque])
    out = [_moment(load.name, load.body, torque_W, motion)]
    if load.reaction is not None:
        out.append(_moment(f"reaction of {load.name}", load.reaction, -torque_W, motion))
    return out


def _moment(name: str, body: str, torque_W: Array, motion: Motion) -> Applied:
    frame = motion.frames[body]
    moment = frame.R.T @ torque_W
    return Applied(name, moment, frame.D, wrenches=() if body == WORLD else (Wrench(body, zeros(3), moment),))


def _joint_torque(load: JointTorque, motion: Motion) -> Applied:
    return _in_joint(load, motion, motion.lower(load.value))


def _in_joint(load: InJoint, motion: Motion, force: Scalar, potential: Scalar | None = None) -> Applied:
    joint = motion.joint(load.body, load.joint, load.motion)
    return Applied(load.name, vector([force]), matrix([list(joint.gradient)]), potential)


def _joint_spring(load: JointSpring, motion: Motion) -> list[Applied]:
    k, c = motion.lower(load.stiffness), motion.lower(load.damping)
    joint = motion.joint(load.body, load.joint, load.motion)
    stretch = joint.value - motion.lower(load.rest)
    out = []
    if not motion.algebra.is_zero(k):
        out.append(_in_joint(load, motion, -k * stretch, motion.algebra.half * k * stretch * stretch))
    if not motion.algebra.is_zero(c):
        out.append(_in_joint(load, motion, -c * (joint.gradient @ motion.qd + joint.drift)))
    return out


def _joint_friction(load: JointFriction, motion: Motion) -> Applied:
    joint = motion.joint(load.body, load.joint, load.motion)
    rate = joint.gradient @ motion.qd + joint.drift
    b, c, eps = motion.lower(load.viscous), motion.lower(load.coulomb), motion.lower(load.smoothing)
    force = -b * rate
    if not motion.algebra.is_zero(c):
        force = force - c * rate / motion.algebra.sqrt(rate * rate + eps * eps)
    return _in_joint(load, motion, force)


def _between(load: Spring | Damper, motion: Motion) -> tuple[Array, Array, Array]:
    """Vector from the first point to the second, and J, c of its rate."""
    ends = [
        motion.frames[body].point(vector([motion.lower(x) for x in point]))
        for body, point in zip(load.bodies, load.points, strict=True)
    ]
    (p1, J1, c1), (p2, J2, c2) = ends
    return p2 - p1, J2 - J1, c2 - c1


def _pull(load: Spring | Damper, motion: Motion, force: Array) -> tuple[Wrench, ...]:
    """The wrenches of a force on the second point and its opposite on the first."""
    first, second = (vector([motion.lower(x) for x in point]) for point in load.points)
    return (*_at_point(motion, load.bodies[1], second, force), *_at_point(motion, load.bodies[0], first, -force))


def _spring(load: Spring, motion: Motion) -> Applied:
    span, J, _ = _between(load, motion)
    k, length = motion.lower(load.stiffness), motion.lower(load.natural_length)
    if motion.algebra.is_zero(length):
        force, potential = scaled(-k, span), k * (span @ span) * motion.algebra.half
    else:
        distance = motion.algebra.sqrt(span @ span)
        stretch = distance - length
        with np.errstate(all="ignore"):  # 0/0 where the ends meet: told by whoever needs the number, see `spans`
            force, potential = scaled(-k * stretch / distance, span), motion.algebra.half * k * stretch * stretch
    return Applied(load.name, force, J, potential, _pull(load, motion, force))


def _damper(load: Damper, motion: Motion) -> Applied:
    span, J, c = _between(load, motion)
    # the rate of the distance is (span · rate of span) / distance, and the force points along span / distance
    with np.errstate(all="ignore"):  # 0/0 where the ends meet, see `spans`
        pull = motion.lower(load.damping) * (span @ (J @ motion.qd + c)) / (span @ span)
        force = scaled(-pull, span)
    return Applied(load.name, force, J, wrenches=_pull(load, motion, force))


def non_ideal_forces(motion: Motion) -> Array | None:
    """C(q, q̇, t): what the constraints do beyond d'Alembert's principle, (3.44) of papers/poincare; None when ideal."""
    given = motion.model.non_ideal_forces
    if not given:
        return None
    return vector([motion.lower(given.get(name, 0)) for name in motion.model.coordinate_names])


def generalized_forces(motion: Motion) -> Array:
    """Q: the applied generalized forces that have no potential."""
    if motion.model.energies is not None:
        return vector([motion.lower(force) for force in motion.model.energies.forces])
    total = zeros(motion.n)
    for load in applied_forces(motion):
        if load.potential is None:
            total = total + load.J.T @ load.force
    return total


def active_forces(motion: Motion, W: Array) -> Array:
    """U = Σ (∂V/∂u)ᵀ F over all applied forces, conservative ones included: (9) of papers/volterra with ∂V/∂u = J W."""
    total = zeros(W.shape[1])
    for load in applied_forces(motion):
        total = total + (load.J @ W).T @ load.force
    return total
