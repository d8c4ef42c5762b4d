"""Numerical values of the quantities of chapter 5 of papers/desapio: single states, batches, models from bodies and energies."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import dalembert as dl
from dalembert.mechanics import state_batch

FIELDS = ("M", "b", "g", "tau", "Phi", "Phi_dot_qd", "H", "Phi_bar", "Theta", "alpha", "rho", "lam")
PROJECTED = ("W", "P", "M_p", "b_p", "g_p", "tau_p")


def states(name, count=4):
    found = state_batch.consistent_states(dl.load(name), count)
    return found.q, found.qd, found.t


@pytest.mark.parametrize("name", ["slider-crank-2", "gyroscope"])
def test_batch_equals_single_states(name):
    eom = dl.derive(name, "dalembert", engine="python")
    q, qd, t = states(name)
    many = eom.constraint_space(q, qd, t)
    for k in range(q.shape[1]):
        one = eom.constraint_space(q[:, k], qd[:, k], t[k])
        for field in FIELDS + PROJECTED:
            assert_allclose(getattr(many, field)[..., k], getattr(one, field), rtol=1e-12, atol=1e-12, err_msg=field)


def test_quantities_equal_the_blocks_of_the_formalism():
    eom = dl.derive("slider-crank-2", "dalembert", engine="python")
    q, qd, t = states("slider-crank-2")
    keys = ("M", "b", "g", "tau", "Phi", "Phi_dot_qd", "H", "Phi_bar", "Theta", "alpha", "rho")
    space, blocks = eom.constraint_space(q, qd, t), eom.blocks_at(q, qd, t, keys=keys)
    for key in keys:
        assert_allclose(getattr(space, key), blocks[key], rtol=1e-10, atol=1e-11, err_msg=key)


def test_body_jacobians_match_position_differences():
    # Γ δq is δr_G by differences of positions, and Π of the rotor is (5.242)
    eom = dl.derive("gyroscope", "lagrange", engine="python")
    q, qd, t = states("gyroscope", 3)
    found, h = eom.blocks_at(q, qd, t, keys=("Gamma", "Pi", "r_G")), 1e-6
    assert found["Gamma"].shape == (3, 3, 3, 3)
    for j in range(3):
        step = np.zeros((3, 1))
        step[j] = h
        ahead, behind = (eom.blocks_at(q + s * step, qd, t, keys=("r_G",))["r_G"] for s in (1, -1))
        assert_allclose(found["Gamma"][:, :, j], (ahead - behind) / (2 * h), atol=1e-8)
    (_, q2, q3), zero = q, np.zeros(3)
    rows = [
        [-np.sin(q2), zero, zero + 1],
        [np.cos(q2) * np.sin(q3), np.cos(q3), zero],
        [np.cos(q2) * np.cos(q3), -np.sin(q3), zero],
    ]
    assert_allclose(found["Pi"][2], rows, atol=1e-14)  # (5.242)


@pytest.mark.parametrize("name", ["slider-crank-2", "cart-pendulum"])
def test_minimal_coordinates_give_the_same_accelerations(name):
    eom = dl.derive(name, "lagrange", engine="python")
    q, qd, t = states(name)
    space, qdd = eom.constraint_space(q, qd, t), eom.accelerations(q, qd, t)
    for k in range(q.shape[1]):
        W, Phi = space.W[..., k], space.Phi[..., k]
        assert_allclose(Phi @ W, 0, atol=1e-13)  # (5.299)
        assert_allclose(W.T @ W, np.eye(W.shape[1]), atol=1e-13)
        push = space.tau_p[:, k] - space.b_p[:, k] - space.g_p[:, k]
        z = np.linalg.solve(space.M_p[..., k], push)  # (5.302)
        assert_allclose(W @ z - np.linalg.pinv(Phi) @ space.Phi_dot_qd[:, k], qdd[:, k], atol=1e-10)
        # (5.94) by its other form
        P = np.eye(len(q)) - Phi.T @ np.linalg.solve(Phi @ Phi.T, Phi)
        assert_allclose(space.P[..., k], P, atol=1e-12)
    lam = np.einsum("rn...,r...->n...", space.Phi, space.lam)
    assert_allclose(lam, eom.reactions(q, qd, t), atol=1e-9)  # (5.93)


def test_energy_models_separate_b_and_g():
    # (5.217) by SymPy: b = Ṁ q̇ − ½ q̇ᵀ ∂M/∂q q̇, g = ∂V/∂q
    x, a, v, w = sp.symbols("x a v w")
    M = sp.Matrix([[3, sp.cos(a)], [sp.cos(a), 2 + x**2]])
    V = x**2 + 5 * sp.sin(a)
    q, qd = sp.Matrix([x, a]), sp.Matrix([v, w])
    rate = sum((M.diff(c) * d for c, d in ((x, v), (a, w))), sp.zeros(2, 2))
    b = rate * qd - sp.Matrix([(qd.T * M.diff(c) * qd)[0] / 2 for c in q])
    at = sp.lambdify([x, a, v, w], (M, b, sp.Matrix([V.diff(c) for c in q])))
    model = dl.Model.from_energies(
        "bent", coordinates=["x", "a"], potential="x**2 + 5*sin(a)", forces={"x": "-0.3*dot(x)"},
        kinetic="(3*dot(x)**2 + 2*cos(a)*dot(x)*dot(a) + (2 + x**2)*dot(a)**2)/2",
    )  # fmt: skip
    q0, qd0 = np.array([0.4, 1.1]), np.array([0.7, -0.9])
    space = dl.derive(model, engine="python").constraint_space(q0, qd0)
    for found, expected in zip((space.M, space.b, space.g), at(*q0, *qd0), strict=True):
        assert_allclose(found, np.squeeze(expected), rtol=1e-14)
    assert_allclose(space.tau, [-0.3 * 0.7, 0])
    assert space.Phi.shape == (0, 2)
    assert_allclose(space.W, np.eye(2))


def test_wrong_state_shapes_are_rejected():
    eom = dl.derive("simple-pendulum", engine="python")
    with pytest.raises(dl.InputError, match=r"qd has shape \(2,\)\. Expected \(1,\) for one state or \(1, batch\)"):
        eom.constraint_space([0.1], [0.1, 0.2])
    with pytest.raises(dl.InputError, match=r"t has shape \(3,\)"):
        eom.blocks_at([0.1], [0.1], [1.0, 2.0, 3.0])


def test_singular_mass_matrix_has_minimal_coordinates_only():
    model = dl.Model.from_energies("light", coordinates=["x", "y"], kinetic="(dot(x) + dot(y))**2/2")
    model.holonomic("x - y")
    space = dl.derive(model, "nullspace", engine="python").constraint_space([0.0, 0.0], [0.0, 0.0])
    assert_allclose(space.M_p, [[2.0]])
    with pytest.raises(dl.SingularError, match="does not exist"):
        _ = space.H
