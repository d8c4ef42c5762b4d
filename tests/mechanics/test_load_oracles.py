"""An oracle for every load: its generalized force against the textbook, by every method that applies.

The law is derived by hand for a small mechanism. It is compared with the forces and their Jacobians, complex-step derivatives of
the potentials, the wrenches on the bodies, the recursion, and the terms of the principle of virtual work.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.evidence._principle import move_model, reference_work
from dalembert.mechanics.energies import applied_forces, generalized_forces, potential
from dalembert.mechanics.motion import move
from dalembert.mechanics.state_batch import States
from dalembert.model.model import Model
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, to_numeric

STEP = 1e-30


def moved(model, q, qd, t):
    return move(model, FLOATS, t, vector(list(q)), vector(list(qd)), dict(model.parameter_values))


def by_forces(model, q, qd, t):
    return to_numeric(
        sum((load.J.T @ load.force for load in applied_forces(moved(model, q, qd, t))), start=vector([0.0] * len(q)))
    )


def by_potential(model, q, qd, t):
    energies: list[Any] = [potential(moved(model, q + 1j * STEP * e, qd, t)) for e in np.eye(len(q))]
    slopes = [np.imag(V) / STEP for V in energies]
    return np.real(to_numeric(generalized_forces(moved(model, q, qd, t)))) - np.array(slopes, dtype=float)


def by_wrenches(model, q, qd, t):
    motion = moved(model, q, qd, t)
    total = np.zeros(len(q))
    for load in applied_forces(motion):
        if not load.wrenches:
            total = total + to_numeric(load.J.T @ load.force)
        for part in load.wrenches:
            body = motion.body(part.body)
            total = total + to_numeric(body.B.T @ part.force + body.D.T @ part.moment)
    return total


def by_recursion(model, q, qd, t):
    bare = model.copy()
    bare.loads, bare.gravity_input = (), (0, 0, 0)
    with_loads, without = (dl.inverse_dynamics(m, q, qd, 0 * q, t, friction=True) for m in (model, bare))
    return without - with_loads


def by_declaration(model, q, qd, t):
    seen = move_model(model, States(q[:, None], qd[:, None], np.array([t])), np.zeros((len(q), 1)))
    return sum((w.value[:, 0] for w in reference_work(seen) if "inertia" not in w.name), start=np.zeros(len(q)))


ROADS = {
    "forces": by_forces,
    "potential": by_potential,
    "wrenches": by_wrenches,
    "recursion": by_recursion,
    "declaration": by_declaration,
}


def pendulum() -> Model:
    """A rod that hangs from the origin along −y, mass center at 0.6; theta rotates it about z."""
    model = Model("pendulum").coordinates("theta")
    rod = {"mass": 2.0, "center": (0, -0.6, 0), "inertia": (0.1, 0.1, 0.1)}
    return model.body("rod", joint=model.revolute((0, 0, 1), "theta"), **rod)


def pair() -> Model:
    """A cart on x and a rod on it; the rod's angle is measured against the cart."""
    model = Model("pair").coordinates("x", "theta")
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=3.0, inertia=(0.1, 0.1, 0.1))
    rod = {"mass": 2.0, "center": (0, -0.6, 0), "inertia": (0.1, 0.1, 0.1)}
    return model.body("rod", parent="cart", joint=model.revolute((0, 0, 1), "theta"), **rod)


def screwdriver() -> Model:
    """A body that rotates about z by `turn` and slides along it by `slide`, both through formulas of the coordinates."""
    model = Model("screwdriver").coordinates("turn", "slide")
    joint = model.cylindrical((0, 0, 1), "turn - 2*slide", "slide + 0.1*turn**2")
    return model.body("bit", joint=joint, mass=1.0, center=(0.1, 0, 0), inertia=(0.1, 0.1, 0.2))


@dataclass(frozen=True)
class Oracle:
    name: str
    model: Callable[[], Model]
    law: Callable  # Q(q, q̇, t), by hand


def _spring_length(theta):
    """From (0.8, 0) to the point 1 below the pivot: √(1 + 0.64 − 1.6 sin θ)."""
    return np.sqrt(1.64 - 1.6 * np.sin(theta))


def _between(x, theta):
    """From the wall at (−2, 0) to the point 1 below the pivot of the rod on the cart, and its derivatives."""
    along, down = x + 2 + np.sin(theta), -np.cos(theta)
    length = np.hypot(along, down)
    return length, np.array([along, along * np.cos(theta) + down * np.sin(theta)]) / length


def _pull(force):
    def law(q, qd, t):
        length, slopes = _between(*q)
        return force(length, slopes @ qd) * slopes

    return law


def _stribeck(rate, coulomb, static, fades, smoothing):
    sign = rate / np.hypot(rate, smoothing)
    fading = np.exp(-((rate / fades) ** 2))
    sizes = [c + (s - c) * fading for c, s in zip(coulomb, static, strict=True)]
    return -(sizes[0] * (1 + sign) / 2 + sizes[1] * (1 - sign) / 2) * sign


def _drag(x, y, z, arm, theta):
    pressure = -0.6 * np.sqrt(x * x + y * y + z * z + 1e-12)
    return [pressure * x, pressure * arm * (x * np.cos(theta) + y * np.sin(theta))]


def _gravity(x, y, z, theta):
    strength = -5 * 2 / (x * x + y * y + z * z) ** 1.5
    return [strength * x, strength * 0.6 * (x * np.cos(theta) + y * np.sin(theta))]


def _mesh(q):
    """slide + 0.1 turn² + 3 (turn − 2 slide) and its derivatives."""
    return q[1] + 0.1 * q[0] ** 2 + 3 * (q[0] - 2 * q[1]), np.array([0.2 * q[0] + 3, -5.0])


def _magic(slip):
    B, C, E = 1 / (1.6 * 0.8), 1.6, -0.7
    return np.sin(C * np.arctan(B * slip - E * (B * slip - np.arctan(B * slip))))


def _coupled():
    K = np.zeros((6, 6))
    K[1, 5] = K[5, 1] = 6
    return K.tolist()


def _on_floor(press, rub):
    """A sphere of 0.2 around the end of the rod, 1 below the pivot, on the plane 0.9 below it.

    It is cos θ − 0.7 deep; the matter at its lowest point moves with θ̇ (cos θ + 0.2, sin θ).
    """

    def law(q, qd, t):
        theta, turning = q[-1], qd[-1]
        N = press(np.cos(theta) - 0.7, -turning * np.sin(theta))
        turn = N * np.sin(theta) - rub(N, turning * (np.cos(theta) + 0.2)) * (np.cos(theta) + 0.2)
        return [0.0] * (len(q) - 1) + [turn]

    return law


def _touching(geometry):
    """The end of the rod touches with N = 900 δ + 30 δ̇; `geometry` returns depth, normal and point for its center."""

    def law(q, qd, t):
        theta, turning = q[-1], qd[-1]
        depth, n, p = geometry(np.array([np.sin(theta), -np.cos(theta), 0.0]), theta)
        slope = np.cross([0, 0, 1], p)
        v = turning * slope
        N = 900 * depth - 30 * n @ v
        assert min(depth, N) > 0
        s = v - (n @ v) * n
        return [0.0] * (len(q) - 1) + [(N * n - 0.4 * N * s / np.hypot(np.linalg.norm(s), 0.5)) @ slope]

    return law


def _from(o, r, R=0.0):
    """A sphere of r on one of R around o; the force acts in the middle."""

    def geometry(c, theta):
        distance = np.linalg.norm(c - o)
        n = (c - o) / distance
        return r + R - distance, n, (c - r * n + o + R * n) / 2 if R else c - r * n

    return geometry


def _coin(c, theta):
    """A disc of 0.2 that leans on the plane 0.9 below the pivot."""
    a = np.array([-0.6 * np.sin(theta), 0.6 * np.cos(theta), 0.8])
    down = np.array([0, -1.0, 0]) + a[1] * a
    p = c + 0.2 * down / np.linalg.norm(down)
    return -0.9 - p[1], np.array([0, 1.0, 0]), p


def _egg(c, theta):
    """An ellipsoid of 0.3, 0.2 and 0.1, turned by 0.4 about z: the lowest point of its outline."""
    angle = theta + 0.4
    s = np.arctan2(0.2 * np.cos(angle), 0.3 * np.sin(angle))  # of x = (0.3 cos s, 0.2 sin s), highest where y' = 0
    x = -np.array([0.3 * np.cos(s), 0.2 * np.sin(s)])
    p = c + np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)], [0, 0]]) @ x
    return -0.9 - p[1], np.array([0, 1.0, 0]), p


END = {"center": (0, -1, 0), "stiffness": 900, "damping": 30, "friction": 0.4, "smoothing": 0.5}
ON_FLOOR = {"radius": 0.2, "center": (0, -1, 0), "point": (0, -0.9, 0), "normal": (0, 1, 0)}
TO_WALL = {"bodies": ("world", "rod"), "points": ((0.8, 0, 0), (0, -1, 0))}
ON_CART = {"bodies": ("rod", "world"), "points": ((0, -1, 0), (-2, 0, 0))}

ON_PLANE: dict[str, Any] = {"axis": (0, 0, 1), "normal": (0, 1, 0)}

ORACLES = (
    # F at the mass center, 0.6 below the pivot: δr = 0.6 (cos θ, sin θ) δθ
    Oracle(
        "force at the mass centre",
        lambda: pendulum().force("rod", (3, "2*t", 5)),
        lambda q, qd, t: [0.6 * (3 * np.cos(q[0]) + 2 * t * np.sin(q[0]))],
    ),
    Oracle(
        "force at a point",
        lambda: pendulum().force("rod", (3, -2, 5), point=(0, -1.5, 0.7)),
        lambda q, qd, t: [1.5 * (3 * np.cos(q[0]) - 2 * np.sin(q[0]))],
    ),
    # a follower force has a constant arm: torque 3 × 1.5 whatever the angle
    Oracle(
        "force in body axes",
        lambda: pendulum().force("rod", (3, -2, 5), point=(0, -1.5, 0.7), frame="rod"),
        lambda q, qd, t: [4.5],
    ),
    Oracle(
        "force on a body that is carried",
        lambda: pair().force("rod", (3, -2, 0), point=(0, -1.5, 0)),
        lambda q, qd, t: [3, 1.5 * (3 * np.cos(q[1]) - 2 * np.sin(q[1]))],
    ),
    Oracle("torque", lambda: pendulum().torque("rod", (7, 8, "3*t")), lambda q, qd, t: [3 * t]),
    # relative to the rod, y of the rod's torque points along (−sin θ, cos θ): it does no work
    Oracle("torque in body axes", lambda: pair().torque("rod", (0, 8, 3), frame="rod"), lambda q, qd, t: [0, 3]),
    Oracle(
        "torque and its reaction",
        lambda: pair().torque("rod", (0, 0, 3), reaction="cart"),
        lambda q, qd, t: [0, 3],
    ),
    Oracle(
        "torque in a joint",
        lambda: pair().joint_torque("rod", "2*cos(theta) - dot(x)"),
        lambda q, qd, t: [0, 2 * np.cos(q[1]) - qd[0]],
    ),
    # works on the joint's own motions: δ(turn − 2 slide) and δ(slide + 0.1 turn²)
    Oracle("torque through a formula", lambda: screwdriver().joint_torque("bit", 5), lambda q, qd, t: [5, -10]),
    Oracle(
        "force in the second motion",
        lambda: screwdriver().joint_torque("bit", 5, motion=1),
        lambda q, qd, t: [q[0], 5],
    ),
    Oracle("actuator within its limit", lambda: pendulum().actuator("rod", "4*t", limit=6), lambda q, qd, t: [4 * t]),
    Oracle("actuator at its limit", lambda: pendulum().actuator("rod", "40*t", limit=6), lambda q, qd, t: [6]),
    Oracle("actuator at its lower limit", lambda: pendulum().actuator("rod", -9, limit=(-2, 6)), lambda q, qd, t: [-2]),
    Oracle(
        "table of torques",
        lambda: pendulum().torque_table("rod", [0, 0.5, 1, 2], [1, -2, 4, 0]),
        lambda q, qd, t: [np.interp(t, [0, 0.5, 1, 2], [1, -2, 4, 0])],
    ),
    Oracle(
        "table of torques after its end",
        lambda: pendulum().torque_table("rod", [0, 0.2, 0.4], [1, -2, 4]),
        lambda q, qd, t: [4],
    ),
    Oracle(
        "table of wrenches",
        lambda: pendulum().wrench_table("rod", [0, 1], force=[[1, 2, 3], [5, 0, 1]], torque=[[0, 0, 1], [0, 0, 3]]),
        lambda q, qd, t: [0.6 * ((1 + 4 * t) * np.cos(q[0]) + (2 - 2 * t) * np.sin(q[0])) + 1 + 2 * t],
    ),
    Oracle(
        "joint spring",
        lambda: pendulum().joint_spring("rod", stiffness=7, rest=0.2),
        lambda q, qd, t: [-7 * (q[0] - 0.2)],
    ),
    Oracle(
        "joint spring and damper",
        lambda: pair().joint_spring("cart", stiffness=7, rest=0.2, damping=3),
        lambda q, qd, t: [-7 * (q[0] - 0.2) - 3 * qd[0], 0],
    ),
    Oracle(
        "joint spring through a formula",
        lambda: screwdriver().joint_spring("bit", stiffness=7, rest=0.2, damping=3),
        lambda q, qd, t: np.array([1, -2]) * (-7 * (q[0] - 2 * q[1] - 0.2) - 3 * (qd[0] - 2 * qd[1])),
    ),
    Oracle(
        "viscous friction",
        lambda: pendulum().joint_friction("rod", viscous=0.4),
        lambda q, qd, t: [-0.4 * qd[0]],
    ),
    Oracle(
        "exact Coulomb friction",
        lambda: pair().joint_friction("cart", coulomb=(2, 5), static=7).joint_friction("rod", viscous=3, coulomb=1),
        lambda q, qd, t: [-2, -3 * qd[1] - 1],
    ),
    Oracle(
        "exact friction backwards, with Stribeck's curve",
        lambda: screwdriver().joint_friction("bit", coulomb=(2, 3), static=(5, 4), stribeck=0.1),
        lambda q, qd, t: (3 + np.exp(-(((qd[0] - 2 * qd[1]) / 0.1) ** 2))) * np.array([1, -2]),
    ),
    # at a rate of three smoothings: 3/√10 of Coulomb's force
    Oracle(
        "Coulomb friction",
        lambda: pendulum().joint_friction("rod", coulomb=2, smoothing="1.3/3"),
        lambda q, qd, t: [-2 * 3 / np.sqrt(10) * np.sign(qd[0])],
    ),
    # forwards: (4 at the start, 2 when it slides) at 1.3 = twice the rate where it fades
    Oracle(
        "Stribeck friction",
        lambda: pendulum().joint_friction("rod", coulomb=(2, 7), static=(4, 9), stribeck=0.65, smoothing=1e-9),
        lambda q, qd, t: [-(2 + 2 * np.exp(-4))],
    ),
    Oracle(
        "friction backwards",
        lambda: screwdriver().joint_friction("bit", coulomb=(2, "3"), static=(5, 4), stribeck=0.1, smoothing="1/10"),
        lambda q, qd, t: _stribeck(qd[0] - 2 * qd[1], (2, 3), (5, 4), 0.1, 0.1) * np.array([1, -2]),
    ),
    # q = (0.35, −0.6): the cart is 0.15 beyond, the rod 0.2 below and moving out, faster than the law can follow in the third
    Oracle(
        "joint stop",
        lambda: pair().joint_stop("cart", lower=-1, upper=0.2, stiffness=900, damping=30),
        lambda q, qd, t: [-900 * (q[0] - 0.2) - 30 * qd[0], 0],
    ),
    Oracle(
        "joint stop by Hunt and Crossley, below",
        lambda: pair().joint_stop("rod", lower=-0.4, stiffness=900, dissipation=0.5, exponent=2),
        lambda q, qd, t: [0, 900 * (-0.4 - q[1]) ** 2 * (1 - 0.5 * qd[1])],
    ),
    Oracle(
        "joint stop that does not pull",
        lambda: pair().joint_stop("rod", lower=-0.4, upper=0.4, push="9*depth + 30*rate"),
        lambda q, qd, t: [0, 0],
    ),
    # e = x − 2 θ − 0.1 = 1.45 is 1.4 beyond half the play, and ė = 1.3 − 2 · 0.7
    Oracle(
        "backlash",
        lambda: pair().backlash(
            ("cart", "rod"), 2, internal=True, play=0.1, phase=0.1, stiffness=50, damping=7, joints=(0, 0)
        ),
        lambda q, qd, t: -(50 * (q[0] - 2 * q[1] - 0.15) + 7 * (qd[0] - 2 * qd[1])) * np.array([1, -2]),
    ),
    Oracle(
        "backlash, the other flank",
        lambda: screwdriver().backlash(("bit", "bit"), 3, play=0.1, motions=(1, 0), push="50*depth + rate", phase=9),
        lambda q, qd, t: (50 * (8.95 - _mesh(q)[0]) - _mesh(q)[1] @ qd) * _mesh(q)[1],
    ),
    Oracle(
        "motor",
        lambda: screwdriver().motor("bit", stall_torque=6, no_load_speed=8, command="cos(t)"),
        lambda q, qd, t: 6 * (np.cos(t) - (qd[0] - 2 * qd[1]) / 8) * np.array([1, -2]),
    ),
    # 40 · 0.1 · (12 sin t + 40 · 0.2 θ̇) / 3 with the opposite sign
    Oracle(
        "direct current motor",
        lambda: pair().dc_motor("rod", voltage="12*sin(t)", resistance=3, torque_constant=0.1, back_emf=0.2, ratio=-40),
        lambda q, qd, t: [0, -4 * (12 * np.sin(t) + 8 * qd[1]) / 3],
    ),
    # the end of the rod, 1.5 below the pivot, moves at ẋ + 1.5 θ̇ cos θ and 1.5 θ̇ sin θ
    Oracle(
        "drag",
        lambda: pair().drag("rod", density=1.2, area=2, coefficient=0.5, wind=("3*t", 1, 2), point=(0, -1.5, 0)),
        lambda q, qd, t: _drag(
            qd[0] + 1.5 * qd[1] * np.cos(q[1]) - 3 * t, 1.5 * qd[1] * np.sin(q[1]) - 1, -2, 1.5, q[1]
        ),
    ),
    Oracle(
        "drag at the mass centre",
        lambda: pair().drag("rod", density="2", area=0.6, coefficient=1),
        lambda q, qd, t: _drag(qd[0] + 0.6 * qd[1] * np.cos(q[1]), 0.6 * qd[1] * np.sin(q[1]), 0, 0.6, q[1]),
    ),
    # the mass center 0.6 below the pivot on the cart, attracted by the cart's mass center: at 0.6 from it, always downwards
    Oracle("gravity along a rod", lambda: pair().point_gravity(("cart", "rod"), mu=5), lambda q, qd, t: [0, 0]),
    Oracle(
        "gravity of a fixed centre",
        lambda: pair().point_gravity(("world", "rod"), mu=5, point=(-2, 0.5, 1)),
        lambda q, qd, t: _gravity(q[0] + 2 + 0.6 * np.sin(q[1]), -0.6 * np.cos(q[1]) - 0.5, -1, q[1]),
    ),
    # a wheel of radius 0.4 on the cart above the plane y = 0: its lowest point slides at ẋ + 0.4 θ̇
    Oracle(
        "linear tire",
        lambda: pair().tire("rod", radius=0.4, load="3*t", stiffness=7, low_speed=0.5, **ON_PLANE),
        lambda q, qd, t: -7 * 3 * t * (qd[0] + 0.4 * qd[1]) / np.hypot(qd[0], 0.5) * np.array([1, 0.4]),
    ),
    Oracle(
        "tire by the Magic Formula",
        lambda: pair().tire("rod", radius=0.4, load=5, stiffness=(7, 3), mu=0.8, shape=1.6, curvature=-0.7, **ON_PLANE),
        lambda q, qd, t: -4 * _magic(7 * (qd[0] + 0.4 * qd[1]) / np.hypot(qd[0], 0.1)) * np.array([1, 0.4]),
    ),
    # e = (d, 0, 0, θ) with d from (0.8, 0) to the point 1 below the pivot; ∂d/∂θ = (cos θ, sin θ), and 2 sin(θ/2) about z
    Oracle(
        "bushing",
        lambda: pendulum().bushing(stiffness=(9, 4, 7, 1, 1, 5), damping=(0, 3, 0, 0, 0, 2), **TO_WALL),
        lambda q, qd, t: [
            -9 * (np.sin(q[0]) - 0.8) * np.cos(q[0])
            + 4 * np.cos(q[0]) * np.sin(q[0])
            - 5 * np.sin(q[0])
            - 3 * np.sin(q[0]) ** 2 * qd[0]
            - 2 * np.cos(q[0] / 2) ** 2 * qd[0]
        ],
    ),
    # K couples x and the rotation: −δ(½ 2·6 x·θ) with x = sin θ − 0.8 in axes rotated by a right angle about z
    Oracle(
        "bushing with coupling, in turned frames",
        lambda: pendulum().bushing(stiffness=_coupled(), rotations=((0, 0, np.pi / 2), (0, 0, np.pi / 2)), **TO_WALL),
        lambda q, qd, t: [
            6 * np.cos(q[0]) * 2 * np.sin(q[0] / 2) + 6 * (np.sin(q[0]) - 0.8) * np.cos(q[0] / 2),
        ],
    ),
    # Q = −k (L − L₀) dL/dθ with dL/dθ = −0.8 cos θ / L
    Oracle(
        "spring",
        lambda: pendulum().spring(stiffness=9, natural_length=0.5, **TO_WALL),
        lambda q, qd, t: [
            9 * (_spring_length(q[0]) - 0.5) * 0.8 * np.cos(q[0]) / _spring_length(q[0]),
        ],
    ),
    Oracle(
        "spring without natural length",
        lambda: pendulum().spring(stiffness=9, **TO_WALL),
        lambda q, qd, t: [9 * 0.8 * np.cos(q[0])],
    ),
    # Q = −c (dL/dθ)² θ̇
    Oracle(
        "damper",
        lambda: pendulum().damper(damping=3, **TO_WALL),
        lambda q, qd, t: [-3 * (0.8 * np.cos(q[0]) / _spring_length(q[0])) ** 2 * qd[0]],
    ),
    Oracle(
        "spring of two bodies",
        lambda: pair().spring(stiffness=9, natural_length=0.5, **ON_CART),
        _pull(lambda length, rate: -9 * (length - 0.5)),
    ),
    Oracle(
        "strut",
        lambda: pair().strut(pull="9*(length - 1/2)**3 + 2*rate*abs(rate) + sin(t)*length + 4*exp(-length)", **ON_CART),
        _pull(
            lambda length, rate: (
                -9 * (length - 0.5) ** 3 - 2 * rate * abs(rate) - np.sin(0.6) * length - 4 * np.exp(-length)
            )
        ),
    ),
    Oracle(
        "strut by curves",
        lambda: pair().strut(curve=[[0, -1], [5, 9]], rate_curve=[[-3, -6], [0, 0], [3, 12]], **ON_CART),
        _pull(lambda length, rate: 1 - 2 * length - (4 if rate > 0 else 2) * rate),
    ),
    Oracle(
        "joint strut",
        lambda: pair().joint_strut("rod", pull="7*sin(angle) + position**3 + 3*rate**3", curve=[[-1, -2], [1, 2]]),
        lambda q, qd, t: [0, -7 * np.sin(q[1]) - q[1] ** 3 - 3 * qd[1] ** 3 - 2 * q[1]],
    ),
    Oracle(
        "sphere on a plane",
        lambda: pendulum().sphere_on_plane("rod", stiffness=900, damping=30, friction=0.4, smoothing=0.5, **ON_FLOOR),
        _on_floor(lambda depth, rate: 900 * depth + 30 * rate, lambda N, s: 0.4 * N * s / np.hypot(s, 0.5)),
    ),
    Oracle(
        "sphere on a plane of another body",
        lambda: pair().sphere_on_plane(
            "rod", ground="cart", stiffness=90, dissipation=2, exponent=2, friction=0.4, planar=(0, 0, 1), **ON_FLOOR
        ),
        _on_floor(lambda depth, rate: 90 * depth**2 * (1 + 2 * rate), lambda N, s: 0.4 * N * np.sign(s)),
    ),
    Oracle(
        "sphere on a plane with viscous friction",
        lambda: pair().sphere_on_plane("rod", ground="cart", push="90*depth", friction=0.4, viscous=2, **ON_FLOOR),
        _on_floor(lambda depth, rate: 90 * depth, lambda N, s: np.sign(s) * min(2 * abs(s), 0.4 * N)),
    ),
    # the force of a rigid contact is prescribed: N = 5, and 2 + 0.4 N along x, against the slip along −x
    Oracle(
        "rigid sphere on a plane",
        lambda: (
            pair()
            .sphere_on_plane("rod", ground="cart", restitution=1, friction=0.4, planar=(0, 0, 1), name="on", **ON_FLOOR)
            .with_parameters({"press(on)": 5, "rub(on)": 2, "slide(on)": 1})
        ),
        lambda q, qd, t: [0, 5 * np.sin(q[1]) + 4 * (np.cos(q[1]) + 0.2)],
    ),
    Oracle(
        "sphere that leaves a plane",
        lambda: pendulum().sphere_on_plane("rod", stiffness=9, damping=30, friction=0.4, **ON_FLOOR),
        lambda q, qd, t: [0],
    ),
    Oracle(
        "sphere on a sphere",
        lambda: pendulum().sphere_on_sphere("rod", radius=0.2, ground_radius=0.15, ground_center=(0.4, -1.2, 0), **END),
        _touching(_from(np.array([0.4, -1.2, 0]), 0.2, 0.15)),
    ),
    # the edge of the box at (0.3, −1) is next to the center; its top at −0.9 is next to the point
    Oracle(
        "sphere on the edge of a box",
        lambda: pendulum().sphere_on_box("rod", (2, 4, 6), radius=0.2, position=(-0.7, -3, 0.1), **END),
        _touching(_from(np.array([0.3, -1, 0]), 0.2)),
    ),
    Oracle(
        "point in a box",
        lambda: pendulum().sphere_on_box("rod", (4, 6, 2), position=(0, -1.9, 0.1), rotation=("pi/2", 0, 0), **END),
        _touching(lambda c, theta: (-0.9 - c[1], np.array([0, 1.0, 0]), c)),
    ),
    Oracle(
        "disc on a plane",
        lambda: pendulum().disk_on_plane("rod", 0.2, axis=(0, 0.6, 0.8), point=(0, -0.9, 0), normal=(0, 1, 0), **END),
        _touching(_coin),
    ),
    Oracle(
        "ellipsoid on a plane",
        lambda: pendulum().ellipsoid_on_plane(
            "rod", (0.3, 0.2, 0.1), rotation=(0, 0, 0.4), point=(0, -0.9, 0), normal=(0, 1, 0), **END
        ),
        _touching(_egg),
    ),
    Oracle("damper of two bodies", lambda: pair().damper(damping=3, **ON_CART), _pull(lambda length, rate: -3 * rate)),
)


def heavy() -> Model:
    """The rod on the cart under gravity along −y and a little of x."""
    model = pair()
    model.gravity_input = (0.5, -9.81, 0)
    return model


GRAVITY = Oracle(
    "gravity",
    heavy,
    lambda q, qd, t: [5 * 0.5, 2 * 0.6 * (0.5 * np.cos(q[1]) - 9.81 * np.sin(q[1]))],
)


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("oracle", [*ORACLES, GRAVITY], ids=lambda oracle: oracle.name)
def test_generalized_force_is_that_of_the_textbook(oracle, road):
    model = oracle.model()
    q, qd, t = np.array([0.35, -0.6])[: len(model.coordinate_names)], np.array([1.3, 0.7]), 0.6
    qd = qd[: len(q)]
    assert ROADS[road](model, q, qd, t) == pytest.approx(
        np.array(oracle.law(q, qd, t), dtype=float), rel=1e-12, abs=1e-12
    )


def test_every_kind_of_load_has_an_oracle():
    from dalembert.model import loads

    asked = {type(load) for oracle in ORACLES for load in oracle.model().loads}
    assert asked == set(loads.LOADS)


@pytest.mark.parametrize("key", ["lagrange", "kane", "newton_euler"])
def test_a_rotor_resists_by_the_square_of_its_ratio(key):
    # (I + J N²) θ̈ = τ with I = 0.1 + 2 · 0.36
    model = pendulum().rotor("rod", 0.05, ratio=-4).joint_torque("rod", 3)
    expected = 3 / (0.1 + 2 * 0.36 + 0.05 * 16)
    assert dl.derive(model, key, engine="python").accelerations([0.3], [1.2]) == pytest.approx([expected], rel=1e-13)
    assert dl.forward_dynamics(model, [0.3], [1.2]) == pytest.approx([expected], rel=1e-13)


@pytest.mark.parametrize("key", ["lagrange", "dalembert", "newton_euler"])
def test_drive_multiplier_is_the_required_force(key):
    # λ of θ − 0.2 t² = 0 is (I + m l²) θ̈ + m g l sin θ
    model = pendulum()
    model.gravity_input = (0, -9.81, 0)
    model.drive("theta", "0.2*t**2")
    t = 1.5
    eom = dl.derive(model, key, engine="python")
    expected = 0.82 * 0.4 + 2 * 9.81 * 0.6 * np.sin(0.45)
    assert eom.reactions([0.45], [0.6], t) == pytest.approx([expected], rel=1e-13)


@pytest.mark.parametrize("key", ["lagrange", "dalembert", "kane"])
def test_non_ideal_forces_do_their_work(key):
    # a block of 3 on a wedge y = x / 2 with C = (−4, 1): along the wedge (1, 1/2) remains m (1 + 1/4) ẍ = −4 + 1/2 − m g / 2
    model = Model("wedge", gravity=(0, -9.81, 0)).coordinates("x", "y")
    model.body("block", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=3.0)
    model.holonomic("y - x/2").non_ideal({"x": -4, "y": 1})
    eom = dl.derive(model, key, engine="python")
    xdd = (-4 + 0.5 - 3 * 9.81 / 2) / (3 * 1.25)
    assert eom.accelerations([0.2, 0.1], [0.4, 0.2]) == pytest.approx([xdd, xdd / 2], rel=1e-13)
    reaction = eom.reactions([0.2, 0.1], [0.4, 0.2])
    assert reaction == pytest.approx([3 * xdd, 3 * xdd / 2 + 3 * 9.81], rel=1e-13)
