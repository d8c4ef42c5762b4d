"""The power of every load is force times velocity, with velocities from complex-step derivatives of positions."""

from typing import Any

import numpy as np
import pytest

from dalembert.mechanics.energies import applied_forces, generalized_forces
from dalembert.mechanics.motion import move
from dalembert.model.model import Model
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, numbers

STEP = 1e-30
STILL = ("plain", "difference", "curved")  # no joint depends on time, so that all velocity comes from q̇
seeds = pytest.mark.parametrize("seed", range(5))


class Scene:
    """A random tree with one load at one state, and the rates of anything along its motion."""

    def __init__(self, random_tree, seed, load):
        self.model = random_tree(seed, coordinates=6, motions=STILL, loads=(load,))
        random = np.random.default_rng(seed)
        n = len(self.model.coordinate_names)
        self.q, self.qd, self.t = random.uniform(-1, 1, n), random.uniform(-1, 1, n), 0.6
        self.load = self.model.loads[-1]
        self.motion = self.at(self.q)

    def at(self, q) -> Any:
        return move(self.model, FLOATS, self.t, vector(list(q)), vector(list(self.qd)), self.model.parameter_values)

    @property
    def along(self):
        return self.at(self.q + 1j * STEP * self.qd)

    def numbers(self, formulas):
        return np.array([float(np.real(self.motion.lower(f))) for f in formulas])

    def world(self, name):
        return np.real(numbers(self.motion.frames[name].R, 1)[..., 0])

    def velocity(self, body, point):
        frame = self.along.frames[body]
        return np.imag(numbers(frame.p + frame.R @ vector(list(point)), 1)[:, 0]) / STEP

    def spin(self, body):
        """ω in world axes from dR/dt Rᵀ."""
        turning = np.imag(numbers(self.along.frames[body].R, 1)[..., 0]) / STEP @ self.world(body).T
        return np.array([turning[2, 1], turning[0, 2], turning[1, 0]])

    def distance(self):
        """The distance between the two points of a spring or damper, and its rate."""
        ends = []
        for body, point in zip(self.load.bodies, self.load.points, strict=True):
            frame = self.along.frames[body]
            ends.append(numbers(frame.p + frame.R @ vector(list(self.numbers(point))), 1)[:, 0])
        length = np.sqrt(np.sum((ends[1] - ends[0]) ** 2))
        return np.real(length), np.imag(length) / STEP

    @property
    def power(self):
        """The library's value: Σ (Jᵀ F)·q̇ of this load and its reaction."""
        mine = [a for a in applied_forces(self.motion) if self.load.name in a.name]
        return float(sum(numbers(a.J.T @ a.force, 1)[:, 0] @ self.qd for a in mine))


@seeds
def test_power_of_a_force_is_force_times_velocity_of_its_point(random_tree, seed):
    scene = Scene(random_tree, seed, "force")
    force = scene.world(scene.load.frame) @ scene.numbers(scene.load.force)
    velocity = scene.velocity(scene.load.body, scene.numbers(scene.load.point))
    assert scene.power == pytest.approx(force @ velocity, abs=1e-12)


@seeds
def test_power_of_a_torque_is_torque_times_relative_spin(random_tree, seed):
    scene = Scene(random_tree, seed, "torque")
    torque = scene.world(scene.load.frame) @ scene.numbers(scene.load.torque)
    spin = scene.spin(scene.load.body)
    if scene.load.reaction is not None:
        spin = spin - scene.spin(scene.load.reaction)
    assert scene.power == pytest.approx(torque @ spin, abs=1e-12)


@seeds
def test_power_of_a_joint_torque_is_torque_times_joint_rate(random_tree, seed):
    scene = Scene(random_tree, seed, "joint_torque")
    body = next(b for b in scene.model.bodies if b.name == scene.load.body)
    value = body.joints[scene.load.joint].values[0]
    rate = np.imag(complex(scene.along.lower(value))) / STEP
    assert scene.power == pytest.approx(scene.numbers([scene.load.value])[0] * rate, abs=1e-12)


@seeds
def test_power_of_a_spring_is_pull_times_rate_of_length(random_tree, seed):
    scene = Scene(random_tree, seed, "spring")
    stiffness, natural = scene.numbers([scene.load.stiffness, scene.load.natural_length])
    length, rate = scene.distance()
    assert scene.power == pytest.approx(-stiffness * (length - natural) * rate, abs=1e-12)


@seeds
def test_power_of_a_damper_is_lost(random_tree, seed):
    scene = Scene(random_tree, seed, "damper")
    (damping,) = scene.numbers([scene.load.damping])
    _, rate = scene.distance()
    assert scene.power == pytest.approx(-damping * rate**2, abs=1e-12)


def test_torque_and_reaction_have_no_net_force():
    model = Model("pair").coordinates("a", "b")
    model.body("first", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(1, 1, 1))
    model.body("second", joint=model.revolute((0, 0, 1), "b"), mass=1, inertia=(1, 1, 1))
    model.torque("second", (0, 0, 3), reaction="first")
    motion = move(model, FLOATS, 0.0, vector([0.2, 0.9]), vector([0.0, 0.0]), {})
    assert [float(Q) for Q in generalized_forces(motion)] == pytest.approx([-3.0, 3.0])


def test_spring_of_zero_natural_length_allows_coincident_ends():
    model = Model("centre").coordinates("x")
    model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.spring(("mass", "world"), stiffness=4)
    motion = move(model, FLOATS, 0.0, vector([0.0]), vector([0.0]), {})
    (spring,) = applied_forces(motion)
    assert float((spring.J.T @ spring.force)[0]) == 0.0
