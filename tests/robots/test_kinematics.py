"""Poses, velocities, accelerations, Jacobians and their rates, and the mass center, against Pinocchio."""

import numpy as np
import pytest
from pinocchio_models import make_possible, pin, random_states, rebuilt
from test_pinocchio import ROBOTS, read_by_pinocchio

import dalembert as dl

STATES = 5
POINT = np.array([0.1, -0.2, 0.3])
QUICK = ("panda", "ur5", "solo12")
TOLERANCE = 1e-12


def close(ours, theirs, size=1.0):
    assert np.abs(ours - theirs).max() <= TOLERANCE * max(size, np.abs(theirs).max())


def of_point(found, R):
    """A motion of the body in world axes at its origin, transferred to the point."""
    return np.concatenate([found[:3] - skew(R @ POINT) @ found[3:], found[3:]])


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def compare(theirs, index, seed):
    """The frame of one joint at all states; ours in one batch, with velocities s = T v and Ṫ v = drift."""
    known, data, states = dl.kinematics(rebuilt(theirs)), theirs.createData(), list(random_states(theirs, seed, STATES))
    body, aligned = f"link{index}", pin.LOCAL_WORLD_ALIGNED
    q = np.stack([ours for _, ours, *_ in states], axis=1)
    s = np.stack([T @ v for _, _, v, _, T, _ in states], axis=1)
    sd = np.stack([T @ a + drift for _, _, _, a, T, drift in states], axis=1)
    poses = known.pose(q, body)
    v, a = known.velocity(q, s, body, POINT), known.acceleration(q, s, sd, body, POINT)
    J, Jd = known.jacobian(q, body, POINT), known.jacobian_rate(q, s, body, POINT)
    center = known.center_of_mass(q)
    for k, (at, _, rates, second, T, drift) in enumerate(states):
        pin.forwardKinematics(theirs, data, at, rates, second)
        place, R = data.oMi[index], data.oMi[index].rotation
        close(poses.rotation[:, :, k], R)
        close(poses.position[:, k], place.translation)
        spin = pin.getVelocity(theirs, data, index, aligned).vector
        close(np.concatenate(v)[:, k], of_point(spin, R))
        # the point also rotates about the origin of the body: α × r + ω × (ω × r)
        push = pin.getClassicalAcceleration(theirs, data, index, aligned).vector
        turned = np.cross(spin[3:], np.cross(spin[3:], R @ POINT))
        close(np.concatenate(a)[:, k], of_point(push, R) + np.concatenate([turned, np.zeros(3)]), np.abs(push).max())
        pin.computeJointJacobiansTimeVariation(theirs, data, at, rates)
        theirs_J = of_point(pin.getJointJacobian(theirs, data, index, aligned), R)
        close(J[:, :, k] @ T, theirs_J)
        close(center[:, k], pin.centerOfMass(theirs, data, at))
        rate = jacobian_rate(theirs, data, index, spin, R)
        if np.array_equal(T, np.eye(len(T))):
            close(Jd[:, :, k], rate, np.abs(rate).max())
        else:  # J_s T = J_v, and T changes as well: along the motion
            close(Jd[:, :, k] @ s[:, k] + J[:, :, k] @ drift, rate @ rates, np.abs(rate).max())


def jacobian_rate(theirs, data, index, spin, R):
    """The rate of the Jacobian of the point: J_point = J_linear − r× J_angular, with ṙ = ω × r."""
    aligned, arm = pin.LOCAL_WORLD_ALIGNED, R @ POINT
    J = pin.getJointJacobian(theirs, data, index, aligned)
    out = of_point(pin.getJointJacobianTimeVariation(theirs, data, index, aligned), R)
    out[:3] -= skew(np.cross(spin[3:], arm)) @ J[3:]
    return out


FAMILY = [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in ROBOTS]


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", FAMILY)
def test_the_last_link_agrees_with_pinocchio(name, base):
    _, theirs = read_by_pinocchio(name, base)
    if name == "romeo":
        make_possible(theirs)
    compare(theirs, theirs.njoints - 1, seed=len(name))
