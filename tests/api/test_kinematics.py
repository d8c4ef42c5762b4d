"""Poses, velocities, accelerations and Jacobians against those of the formalisms and against finite differences."""

import copy
from typing import Any

import numpy as np
import pytest
from gallery_models import with_bodies

import dalembert as dl
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.mechanics.state_batch import consistent_states, motion_at
from dalembert.model.immutable import Frozen
from dalembert.symbolic.floats import numbers
from dalembert.symbolic.rotations import Pose

QUICK = ["double-pendulum", "cart-pendulum", "floating-arm", "heavy-top", "rp-robot"]
POINT = np.array([0.3, -0.2, 0.5])
STATES = 3
STENCIL = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))  # steps and weights, exact for polynomials of degree 4


def gallery_family(names):
    quick = [name for name in names if name in QUICK]
    late = [pytest.param(name, marks=pytest.mark.nightly) for name in names if name not in QUICK]
    return pytest.mark.parametrize("name", quick + late)


class Curves:
    """Smooth curves q(τ) at time t + τ through random states of a model, with unit quaternions."""

    def __init__(self, model, known):
        states = consistent_states(model, STATES)
        self.t, self.q, self.qd = states.t, states.q, states.qd
        self.groups = [list(each.parts) for each in known.plan.tree.attitudes]
        self.qdd = np.random.default_rng(5).normal(size=self.q.shape)
        for parts in self.groups:
            x, xd, xdd = self.q[parts], self.qd[parts], self.qdd[parts]
            x = x / np.linalg.norm(x, axis=0)
            xd = xd - x * np.sum(x * xd, axis=0)
            self.q[parts], self.qd[parts] = x, xd
            self.qdd[parts] = xdd - x * (np.sum(x * xdd, axis=0) + np.sum(xd * xd, axis=0))

    def moved(self, step):
        """q, q̇ and t after a step."""
        q, qd = self.q + self.qd * step + self.qdd * step**2 / 2, self.qd + self.qdd * step
        for parts in self.groups:
            size = np.linalg.norm(q[parts], axis=0)
            q[parts] = q[parts] / size
            qd[parts] = (qd[parts] - q[parts] * np.sum(q[parts] * qd[parts], axis=0)) / size
        return q, qd, self.t + step

    def rate(self, function):
        """The rate of a function of (q, q̇, t) along the curves by differences."""
        h = 1e-3 / (1 + np.abs(self.qd).max())
        return sum(weight / h * function(*self.moved(k * h)) for k, weight in STENCIL)


def close(ours, other, tolerance):
    assert ours.shape == other.shape
    assert np.abs(ours - other).max() <= tolerance * (1 + np.abs(other).max())


def spin_of(rate, R):
    """ω of Ṙ = ω× R."""
    K = np.einsum("ijk,ljk->ilk", rate, R)
    return np.stack([K[2, 1] - K[1, 2], K[0, 2] - K[2, 0], K[1, 0] - K[0, 1]]) / 2


@gallery_family(with_bodies())
def test_velocities_are_rates_of_poses(name):
    model = dl.load(name)
    known = dl.kinematics(model)
    curves = Curves(model, known)
    q, qd, qdd, t, body = curves.q, curves.qd, curves.qdd, curves.t, known.bodies[-1]
    v, a = known.velocity(q, qd, body, POINT, t), known.acceleration(q, qd, qdd, body, POINT, t)
    R = known.pose(q, body, t).rotation
    close(v.linear, curves.rate(lambda q, qd, t: known.position(q, body, POINT, t)), 1e-7)
    close(v.angular, spin_of(curves.rate(lambda q, qd, t: known.pose(q, body, t).rotation), R), 1e-7)
    rate = curves.rate(lambda q, qd, t: np.concatenate(known.velocity(q, qd, body, POINT, t)))
    close(np.concatenate(a), rate, 1e-7)
    rate = curves.rate(lambda q, qd, t: known.jacobian(q, body, POINT, t))
    close(known.jacobian_rate(q, qd, body, POINT, t), rate, 1e-7)


@gallery_family(with_bodies(2))
def test_relative_velocities_are_rates_of_relative_poses(name):
    model = dl.load(name)
    known = dl.kinematics(model)
    curves = Curves(model, known)
    q, qd, qdd, t, (base, *_, body) = curves.q, curves.qd, curves.qdd, curves.t, known.bodies
    seen: dict[str, Any] = {"relative_to": base}
    v, a = known.velocity(q, qd, body, POINT, t, **seen), known.acceleration(q, qd, qdd, body, POINT, t, **seen)
    pose, here = known.pose(q, body, t, **seen), known.pose(q, base, t)
    assert (pose.of, pose.frame) == (body, base)
    world = np.einsum("ijk,jlk->ilk", here.matrix, pose.matrix)
    close(world, known.pose(q, body, t).matrix, 1e-13)
    close(known.position(q, body, POINT, t, **seen), pose.at(POINT), 1e-12)
    close(v.linear, curves.rate(lambda q, qd, t: known.position(q, body, POINT, t, **seen)), 1e-7)
    rate = curves.rate(lambda q, qd, t: known.pose(q, body, t, **seen).rotation)
    close(v.angular, spin_of(rate, pose.rotation), 1e-7)
    rate = curves.rate(lambda q, qd, t: np.concatenate(known.velocity(q, qd, body, POINT, t, **seen)))
    close(np.concatenate(a), rate, 1e-7)
    rate = curves.rate(lambda q, qd, t: known.jacobian(q, body, POINT, t, **seen))
    close(known.jacobian_rate(q, qd, body, POINT, t, **seen), rate, 1e-7)
    s = np.random.default_rng(6).normal(size=(len(known.speed_names), STATES))
    moved, still = (np.concatenate(known.velocity(q, x, body, POINT, t, **seen)) for x in (s, 0 * s))
    close(np.einsum("ijk,jk->ik", known.jacobian(q, body, POINT, t, **seen), s), moved - still, 1e-12)


def test_motion_relative_to_a_turntable():
    # a point at rest in the world, relative to a table that rotates with ω = 2: it moves backwards and accelerates inwards
    model = driven().body("lamp", mass=1, joint=dl.Model("joints").fixed(position=(1.0, 0.0, 0.0)))
    seen = {"relative_to": "table", "t": 0.0}
    v, a = dl.velocity(model, [0.4], [0.0], "lamp", **seen), dl.acceleration(model, [0.4], [0.0], [0.0], "lamp", **seen)
    np.testing.assert_allclose(v, [[0, -2, 0], [0, 0, -2]], atol=1e-15)
    np.testing.assert_allclose(a, [[-4, 0, 0], [0, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(dl.velocity(model, [0.4], [0.3], "arm", **seen), [[0, 0, 0], [0, 0.3, 0]], atol=1e-15)
    known, out = dl.kinematics(model), np.empty(3)
    assert known.position([0.4], "lamp", t=0.5, relative_to="table", out=out) is out
    np.testing.assert_allclose(out, [np.cos(1), -np.sin(1), 0], atol=1e-15)
    np.testing.assert_allclose(dl.pose(model, [0.4], "arm", relative_to="arm").matrix, np.eye(4), atol=1e-15)
    with pytest.raises(dl.InputError, match=r"there is no body 'tabel'.*'table'"):
        dl.position(model, [0.4], "lamp", relative_to="tabel")


def test_trajectories_relative_to_bodies():
    run = dl.simulate("double-pendulum", 1.0, samples=11)
    seen = {"relative_to": "upper"}
    np.testing.assert_allclose(run.path("lower", **seen), np.tile(run.path("lower", **seen)[:, :1], 11), atol=1e-14)
    np.testing.assert_allclose(run.velocity("lower", **seen).angular[2], run.qd[1] - run.qd[0], atol=1e-12)
    np.testing.assert_allclose(run.acceleration("lower", **seen).angular[2], run.qdd[1] - run.qdd[0], atol=1e-11)
    assert run.pose("lower", **seen).frame == "upper"


@gallery_family(with_bodies())
def test_poses_equal_those_of_the_formalisms(name):
    model = dl.load(name)
    known = dl.kinematics(model)
    states = consistent_states(with_contacts(model), STATES)
    moved = motion_at(model, states)
    mass, moment = 0.0, np.zeros((3, STATES))
    poses = known.poses(states.q, states.t)
    for body in moved.bodies:
        pose = poses[body.name]
        close(pose.position, numbers(body.frame.p, STATES), 1e-13)
        close(pose.rotation, numbers(body.R_WB, STATES), 1e-13)
        m = numbers(np.array([body.mass], dtype=object), STATES)[0]
        mass, moment = mass + m, moment + m * numbers(body.p_WG, STATES)
    body = moved.bodies[-1]
    p, J, c = body.frame.point(np.array(POINT.tolist(), dtype=object))
    v = known.velocity(states.q, states.qd, body.name, POINT, states.t)
    close(known.position(states.q, body.name, POINT, states.t), numbers(p, STATES), 1e-13)
    close(v.linear, numbers(J @ moved.qd + c, STATES), 1e-12)
    close(v.angular, numbers(body.R_WB @ (body.D @ moved.qd + body.E), STATES), 1e-12)
    if not known.plan.tree.attitudes:  # there columns are speeds
        close(known.jacobian(states.q, body.name, POINT, states.t)[:3], numbers(J, STATES), 1e-12)
    if np.all(mass > 0):
        close(known.center_of_mass(states.q, states.t), moment / mass, 1e-12)


def driven():
    """A turntable with prescribed rotation, with an arm whose length is a parameter."""
    model = dl.Model("turntable").parameters(l=0.7).coordinates("theta")
    model.body("table", joint=model.revolute((0, 0, 1), "2*t"), mass=1, inertia=(1, 1, 1))
    joint = model.revolute((0, 1, 0), "theta", position=("l", 0, 0))
    return model.body("arm", joint=joint, parent="table", mass=2, center=(0.1, 0, 0))


def test_rheonomic_joints_add_to_velocity_but_not_to_the_jacobian():
    model = driven()
    v = dl.velocity(model, [0.0], [0.0], "arm", t=0.0)
    np.testing.assert_allclose(v.linear, [0, 1.4, 0], atol=1e-15)  # ω l
    np.testing.assert_allclose(v.angular, [0, 0, 2], atol=1e-15)
    a = dl.acceleration(model, [0.0], [3.0], [0.0], "arm", t=0.0)
    np.testing.assert_allclose(a.linear, [-2.8, 0, 0], atol=1e-14)  # −ω² l
    np.testing.assert_allclose(a.angular, [-6, 0, 0], atol=1e-14)  # ω × θ̇ e_y
    np.testing.assert_allclose(dl.jacobian(model, [0.0], "arm"), [[0], [0], [0], [0], [1], [0]], atol=1e-15)


def test_parameter_changes_do_not_retrace():
    known = dl.kinematics(driven())
    longer = type(known)(known.model, known.engine, changes=Frozen(l=1.0))
    np.testing.assert_allclose(known.position([0.0], "arm"), [0.7, 0, 0], atol=1e-15)
    np.testing.assert_allclose(longer.position([0.0], "arm"), [1.0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(longer.poses(np.zeros((1, 4)))["arm"].position[0], np.ones(4), atol=1e-15)
    np.testing.assert_allclose(longer.velocity([0.0], [0.0], "arm").linear, [0, 2, 0], atol=1e-15)
    assert copy.deepcopy(longer) == longer != known


@pytest.mark.parametrize("engine", ["native", "python"])
def test_single_states_and_batches_on_both_engines(engine):
    known, rng = dl.kinematics("double-pendulum", engine=engine), np.random.default_rng(2)
    q, qd, qdd = rng.normal(size=(3, 2, 20))
    many = known.acceleration(q, qd, qdd, "lower", POINT)
    one = known.acceleration(q[:, 3], qd[:, 3], qdd[:, 3], "lower", POINT)
    np.testing.assert_allclose(many.linear[:, 3], one.linear, rtol=1e-14)
    np.testing.assert_allclose(known.position(q[:, 3].tolist(), "lower"), known.position(q, "lower")[:, 3], rtol=1e-14)
    out = np.empty((6, 2, 20))
    assert known.jacobian(q, "lower", out=out) is out
    np.testing.assert_array_equal(out, dl.dynamics("double-pendulum", engine=engine).jacobian(q, "lower"))


def test_quaternions_convert_to_rotations():
    from dalembert.symbolic.floats import FLOATS
    from dalembert.symbolic.rotations import about_axis

    rng = np.random.default_rng(3)
    axes, angles = rng.normal(size=(40, 3)), np.append(rng.uniform(-np.pi, np.pi, 39), np.pi)
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    turned = [
        about_axis(FLOATS, tuple(k), a).astype(float) for k, a in zip(axes.tolist(), angles.tolist(), strict=True)
    ]
    quaternion = Pose("b", "world", np.stack(turned, axis=-1), np.zeros((3, 40))).quaternion
    expected = np.concatenate([np.cos(angles / 2)[None], (axes * np.sin(angles / 2)[:, None]).T])
    sign = np.sign(np.sum(expected * quaternion, axis=0))
    np.testing.assert_allclose(quaternion * sign, expected, atol=1e-14)
    assert (quaternion[0] >= 0).all()


def test_wrong_input():
    with pytest.raises(dl.InputError, match=r"there is no body 'lowr'\. Did you mean 'lower'\?"):
        dl.pose("double-pendulum", [0.0, 0.0], "lowr")
    with pytest.raises(dl.InputError, match=r"there is no body 'lowr'\. Did you mean 'lower'\?"):
        dl.jacobian("double-pendulum", [0.0, 0.0], "lowr")
    with pytest.raises(dl.InputError, match=r"point has shape \(2,\)\. Expected \(3,\), in axes of body 'lower'\."):
        dl.position("double-pendulum", [0.0, 0.0], "lower", (1.0, 2.0))
    with pytest.raises(dl.InputError, match=r"q has shape \(3,\)\. Expected \(2,\)"):
        dl.velocity("double-pendulum", [0.0, 0.0, 0.0], [0.0, 0.0], "lower")
    free = dl.Model.from_energies("free", coordinates=["x"], kinetic="dot(x)**2/2")
    with pytest.raises(dl.InputError, match=r"model 'free' is defined by energies.*Expected bodies"):
        dl.pose(free, [0.0], "bob")
    light = dl.Model("light").coordinates("x")
    light.body("block", joint=light.prismatic((1, 0, 0), "x"), mass=0)
    light.force("block", (1, 0, 0))
    with pytest.raises(dl.InputError, match="model 'light' has no mass"):
        dl.center_of_mass(light, [0.0])
