"""Positions against SciPy's rotations; velocities and Jacobians against complex-step derivatives of the positions."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dalembert.mechanics.motion import move
from dalembert.model.model import Model
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, numbers

SEEDS = range(8)
STEP = 1e-30
every_tree = pytest.mark.parametrize("seed", SEEDS)


def state(model, seed):
    random = np.random.default_rng(seed)
    n = len(model.coordinate_names)
    return random.uniform(-1, 1, n), random.uniform(-1, 1, n), 0.6


def at(model, q, qd, t):
    return move(model, FLOATS, t, vector(list(q)), vector(list(qd)), model.parameter_values)


def single(array):
    return numbers(array, 1)[..., 0]


def slope(model, entries, q, qd, t, dq, dt=0.0):
    """The derivative of `entries(motion)` along (dq, dt), without truncation error."""
    moved = at(model, q + 1j * STEP * np.asarray(dq), qd, t + 1j * STEP * dt)
    return np.imag(numbers(entries(moved), 1)[..., 0]) / STEP


def placed_by_scipy(model, q, t):
    """Rotation and mass center of every body, by SciPy's rotations alone."""
    values = {**dict(zip(model.coordinate_names, q, strict=True)), "t": t, **model.parameter_values}

    def number(formula):
        return float(formula.subs(values))

    frames, found = {"world": (Rotation.identity(), np.zeros(3))}, {}
    for body in model.bodies:
        R, p = frames[body.parent]
        for joint in body.joints:
            p = p + R.apply([number(x) for x in joint.position])
            R = R * Rotation.from_euler("xyz", [number(x) for x in joint.rotation])
            if joint.kind == "revolute":
                R = R * Rotation.from_rotvec(number(joint.angle) * np.array(joint.axis, dtype=float))
            elif joint.kind == "prismatic":
                p = p + R.apply(number(joint.displacement) * np.array(joint.axis, dtype=float))
        frames[body.name] = R, p
        found[body.name] = R.as_matrix(), p + R.apply([number(x) for x in body.center])
    return found


@every_tree
def test_placements_match_scipy(random_tree, seed):
    model = random_tree(seed, bodies=4, coordinates=6)
    q, qd, t = state(model, seed)
    for name, (R, p) in placed_by_scipy(model, q, t).items():
        body = at(model, q, qd, t).body(name)
        assert np.allclose(single(body.R_WB), R, atol=1e-14)
        assert np.allclose(single(body.p_WG), p, atol=1e-13)


@every_tree
def test_rotations_are_orthonormal_and_right_handed(random_tree, seed):
    model = random_tree(seed, coordinates=6)
    for body in at(model, *state(model, seed)).bodies:
        R = single(body.R_WB)
        assert np.allclose(R.T @ R, np.eye(3), atol=1e-14)
        assert np.linalg.det(R) == pytest.approx(1)


@every_tree
def test_B_and_C_are_the_derivatives_of_the_mass_center(random_tree, seed):
    model = random_tree(seed, bodies=4, coordinates=6)
    q, qd, t = state(model, seed)
    motion = at(model, q, qd, t)
    for i, body in enumerate(motion.bodies):
        for j, unit in enumerate(np.eye(len(q))):
            by_step = slope(model, lambda moved, i=i: moved.bodies[i].p_WG, q, qd, t, unit)
            assert np.allclose(single(body.B)[:, j], by_step, atol=1e-13)
        by_time = slope(model, lambda moved, i=i: moved.bodies[i].p_WG, q, qd, t, 0 * q, 1.0)
        assert np.allclose(single(body.C), by_time, atol=1e-13)


@every_tree
def test_angular_velocity_is_the_rotation_rate_of_the_axes(random_tree, seed):
    # ω× = Rᵀ dR/dt in body axes
    model = random_tree(seed, bodies=4, coordinates=6)
    q, qd, t = state(model, seed)
    for i, body in enumerate(at(model, q, qd, t).bodies):
        turning = single(body.R_WB).T @ slope(model, lambda moved, i=i: moved.bodies[i].R_WB, q, qd, t, qd, 1.0)
        assert np.allclose(turning, -turning.T, atol=1e-13)
        omega = single(body.D) @ qd + single(body.E)
        assert np.allclose(omega, [turning[2, 1], turning[0, 2], turning[1, 0]], atol=1e-13)


@every_tree
def test_joint_rates_are_the_derivatives_of_the_joint_motions(random_tree, seed):
    model = random_tree(seed, bodies=4, coordinates=6)
    q, qd, t = state(model, seed)
    h = 1e-6
    names = model.coordinate_names
    for joint in at(model, q, qd, t).joints:
        body = next(b for b in model.bodies if b.name == joint.body)
        formula = body.joints[joint.joint].values[joint.motion]
        ends = [float(formula.subs({**dict(zip(names, q + s * h * qd, strict=True)), "t": t + s * h})) for s in (-1, 1)]
        rate = single(joint.gradient) @ qd + single(vector([joint.drift]))[0]
        assert rate == pytest.approx((ends[1] - ends[0]) / (2 * h), abs=1e-8)


@every_tree
def test_batch_evaluation_equals_single_states(random_tree, seed):
    model = random_tree(seed, coordinates=6)
    random = np.random.default_rng(seed)
    q, qd = random.uniform(-1, 1, (2, len(model.coordinate_names), 3))
    t = random.uniform(0, 9, 3)
    batch = move(model, FLOATS, t, vector(list(q)), vector(list(qd)), model.parameter_values)
    for k in range(3):
        one = at(model, q[:, k], qd[:, k], float(t[k]))
        for together, alone in zip(batch.bodies, one.bodies, strict=True):
            for name in ("R_WB", "p_WG", "B", "C", "D", "E"):
                assert np.allclose(
                    numbers(getattr(together, name), 3)[..., k], single(getattr(alone, name)), atol=1e-14
                )


def test_children_may_be_declared_before_their_parents():
    model = Model("upside-down").coordinates("a", "b")
    model.body("hand", parent="arm", joint=model.revolute((0, 0, 1), "b", position=(2, 0, 0)), mass=1, center=(1, 0, 0))
    model.body("arm", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(1, 0, 0))
    motion = at(model, [0.3, 0.5], [0.0, 0.0], 0.0)
    assert [body.name for body in motion.bodies] == ["arm", "hand"]
    tip = [2 * np.cos(0.3) + np.cos(0.8), 2 * np.sin(0.3) + np.sin(0.8), 0]
    assert np.allclose(single(motion.body("hand").p_WG), tip)
