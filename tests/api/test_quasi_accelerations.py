"""Gauss's principle in quasi-accelerations (3.37) and the least force of constraint, Corollary 3.1 of papers/poincare."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import dalembert as dl
from dalembert.mechanics import state_batch


def here(name, seed=0):
    model = dl.load(name)
    eom = dl.derive(model, "poincare", engine="python")
    found = state_batch.consistent_states(model, 1)
    q, qd, t = found.q[:, 0], found.qd[:, 0], float(found.t[0])
    return eom, (q, qd, t), eom.quasi_accelerations(q, qd, t)


@pytest.mark.parametrize(
    "name", ["slider-crank-2", "rolling-disk", "over-constrained", "rough-surface", "double-pendulum"]
)
def test_quasi_acceleration_equals_that_of_the_motion(name):
    # q̈ = H ṡ + Ḣ s, by numbers of the blocks
    eom, state, found = here(name)
    blocks = eom.blocks_at(*state, keys=("G", "H"))
    assert_allclose(blocks["G"] @ state[1], found.s, atol=1e-12)  # (2.2)
    form = eom.form.velocity
    bias = eom.workspace.compiled(form.qdd_bias, eom.form.system.q, form.v)
    drift = bias(np.concatenate([state[0], found.s, [state[2]]]), eom.values)
    assert_allclose(blocks["H"] @ found.sd + drift, eom.accelerations(*state), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["slider-crank-2", "rolling-disk"])
def test_actual_motion_minimizes_the_gaussian_and_the_constraint_force(name):
    _, _, found = here(name)
    others = found.random_admissible(200, seed=3)
    assert_allclose(found.A_s @ others, np.repeat(found.b_s[:, None], 200, axis=1), atol=1e-8)  # (3.38)
    u = others - found.sd[:, None]
    # G(ŝ̇) = G(ṡ) + uᵀ M_s u (3.42)
    excess = np.einsum("nk,nm,mk->k", u, found.M_s, u)
    assert_allclose(found.gaussian(others), found.gaussian() + excess, rtol=1e-9)
    # Corollary 3.1: the forces under which these are the motions
    forces = found.M_s @ others - found.S[:, None]
    assert (found.force_measure(forces) > found.force_measure()).all()
    assert_allclose(found.force_measure(forces), found.gaussian(others), rtol=1e-9)  # (3.43)
    assert_allclose(found.force_measure(), found.gaussian(), rtol=1e-9)


def test_numerical_minimizer_finds_the_same():
    _, _, found = here("slider-crank-2")
    kept = {"type": "eq", "fun": lambda x: found.A_s @ x - found.b_s}

    def measured(x):
        gap = x - found.a_s
        return gap @ found.M_s @ gap

    best = minimize(measured, found.random_admissible(1)[:, 0], constraints=kept, method="SLSQP", tol=1e-14)
    assert_allclose(best.x, found.sd, rtol=1e-5, atol=1e-5)


def test_inadmissible_arguments_are_rejected():
    _, state, found = here("slider-crank-2")
    with pytest.raises(dl.InputError, match="the constraints are violated, A_s ŝ̇ − b_s is"):
        found.gaussian(found.sd + 1.0)
    with pytest.raises(dl.InputError, match=r"measure, S_c: the constraints are violated"):
        found.force_measure(found.S_c + 1.0)
    with pytest.raises(dl.InputError, match=r"gaussian, sd has shape \(3,\)\. Expected \(2,\) or \(2, K\)"):
        found.gaussian([1.0, 2.0, 3.0])
    with pytest.raises(dl.InputError, match=r"has no n quasi-accelerations\. Derive with poincare\."):
        dl.derive("slider-crank-2", "lagrange", engine="python").quasi_accelerations(*state)
