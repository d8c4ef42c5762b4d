"""Momenta are conserved without external forces, and ideal reactions do no virtual work."""

import numpy as np
import pytest
from scipy.linalg import null_space

import dalembert as dl
from dalembert.formalisms import catalog
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import Constraints, levels
from dalembert.mechanics.state_batch import formulas_at
from dalembert.symbolic.floats import numbers, real

# Dirac's equations do not support the nonholonomic constraints of these models
by_every_formalism = pytest.mark.parametrize("key", [key for key in catalog.KEYS if key != "dirac"])


@pytest.fixture(scope="module")
def flight():
    return dl.simulate(dl.load("three-bodies"), 20.0, samples=41)


def test_linear_momentum_of_free_flight_is_conserved(flight):
    drift = flight.linear_momentum - flight.linear_momentum[:, :1]
    assert np.abs(drift).max() <= 1e-12 * np.abs(flight.linear_momentum).max()


def test_the_mass_center_in_free_flight_moves_straight(flight):
    center = mass_center(flight)
    steps = np.diff(center, axis=1)
    assert np.allclose(steps, steps[:, :1], atol=1e-12)
    assert np.allclose(steps[:, 0] / np.diff(flight.t)[0] * 120, flight.linear_momentum[:, 0], rtol=1e-12)


def mass_center(run):
    states = state_batch.States(run.q, run.qd, run.t)
    bodies = state_batch.motion_at(run.model, states).bodies
    masses = [real(body.mass) for body in bodies]
    return sum(m * numbers(body.p_WG, len(run.t)) for m, body in zip(masses, bodies, strict=True)) / sum(masses)


def test_angular_momentum_about_the_mass_center_is_conserved(flight):
    spin = flight.angular_momentum - np.cross(mass_center(flight), flight.linear_momentum, axis=0)
    assert np.abs(spin[:, 0]).max() > 1
    assert np.abs(spin - spin[:, :1]).max() <= 1e-11 * np.abs(spin).max()


@by_every_formalism
def test_momenta_of_ignorable_coordinates_are_conserved(key):
    run = dl.derive(dl.load("cart-pendulum"), key).simulate(3.0, samples=31)
    momentum = run.momenta[2]
    # p_x = (m1 + 2 m2) ẋ + m2 l (3/2 cosθ1 θ̇1 + 1/2 cosθ2 θ̇2)
    (t1, t2, _), (w1, w2, v) = run.q, run.qd
    by_hand = 2.0 * v + 0.5 * 0.2 * (1.5 * np.cos(t1) * w1 + 0.5 * np.cos(t2) * w2)
    assert np.allclose(momentum, by_hand, atol=1e-13)
    assert np.allclose(momentum, momentum[0], rtol=1e-12)


@by_every_formalism
def test_ideal_reactions_do_no_virtual_work_on_the_cart_pendulum(key):
    model = dl.load("cart-pendulum")
    states = state_batch.consistent_states(model, 20)
    reactions = dl.derive(model, key, engine="python").reactions(states.q, states.qd, states.t)
    for q, reaction in zip(states.q.T, reactions.T, strict=True):
        free = null_space([[np.cos(q[0] - q[1]), 1.0, 0.0]])  # the wheel constraint in closed form
        assert np.abs(free.T @ reaction).max() <= 1e-12 * max(1.0, np.abs(reaction).max())


@by_every_formalism
def test_ideal_reactions_do_no_virtual_work_on_a_random_model(random_tree, key):
    model = random_tree(10, bodies=2, coordinates=3, holonomic=1, nonholonomic=1, loads=("force", "damper"))
    states = state_batch.consistent_states(model, 5)
    A = numbers(Constraints(formulas_at(model, states), levels(model)).A, 5)
    reactions = dl.derive(model, key, engine="python").reactions(states.q, states.qd, states.t)
    assert np.abs(reactions).max() > 0.1
    for k in range(5):
        free = null_space(A[..., k])
        assert np.abs(free.T @ reactions[:, k]).max() <= 1e-10 * np.abs(reactions[:, k]).max()
