"""u = Y q̇ + Z and q̇ = W u + X are each other's inverse on the constraints."""

import numpy as np
import pytest
from closed_mechanisms import FAMILIES, as_model, random_mechanism

import dalembert as dl
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import Constraints, levels
from dalembert.mechanics.facts import facts_of
from dalembert.mechanics.generalized_speeds import invert, speed_map
from dalembert.mechanics.motion import move
from dalembert.mechanics.state_batch import velocity_derivatives
from dalembert.simulation.workspace import setup, workspace_of
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, numbers


@pytest.mark.parametrize("seed", range(6))
def test_speeds_and_velocities_determine_each_other(random_tree, seed):
    model = random_tree(seed, coordinates=5, bodies=4, holonomic=1, nonholonomic=1, speeds=2)
    known = facts_of(model)
    states = state_batch.consistent_states(model, 4, seed=seed)
    for k in range(4):
        q, qd = vector(list(states.q[:, k])), vector(list(states.qd[:, k]))
        motion = move(model, FLOATS, float(states.t[k]), q, qd, model.parameter_values)
        limits = Constraints(motion, levels(motion.model))
        Y, Z = speed_map(motion, known.speeds)
        u = Y @ qd + Z
        rows = [(limits.A[list(known.rows)], limits.b[list(known.rows)])]
        speeds = invert(motion, u, Y, Z, rows, known.order)
        assert np.allclose(numbers(speeds.qd, 1)[:, 0], states.qd[:, k], atol=1e-8)
        # any u gives velocities that satisfy the constraints and reproduce u
        free = speeds.W @ vector(np.arange(1.0, len(u) + 1).tolist()) + speeds.X
        assert np.allclose(numbers(Y @ free + Z, 1)[:, 0], np.arange(1.0, len(u) + 1), atol=1e-9)
        assert np.allclose(numbers(rows[0][0] @ free + rows[0][1], 1), 0, atol=1e-9)


def test_speeds_of_the_rigid_body_are_its_angular_velocity():
    # (74) of papers/volterra chooses ω of the middle body in its axes as speeds
    model = dl.load("three-bodies")
    states = state_batch.consistent_states(model, 3)
    motion = state_batch.motion_at(model, states)
    Y, Z = speed_map(motion, [speed.value for speed in model.generalized_speeds])
    body = motion.body("middle")
    assert np.allclose(numbers((Y @ motion.qd + Z)[:3], 3), numbers(body.D @ motion.qd + body.E, 3), atol=1e-15)


@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("family", [family for family in FAMILIES if "ball" in family])
def test_completed_quasi_velocities_are_regular_at_every_attitude(family, seed):
    # with rates of quaternion components they are singular on a surface, and poincare lost seven digits near it
    space = workspace_of(setup(as_model(random_mechanism(family, seed)), "native"))
    model, known = space.model, space.facts
    states = state_batch.consistent_states(model, 60, seed=seed)
    G = velocity_derivatives(model, (*known.speeds, *known.completing), states)
    assert np.linalg.cond(G).max() < 3
