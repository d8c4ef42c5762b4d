"""Dirac: φ and its secondary constraint, both adjoined; the second multiplier vanishes where both hold."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.algebra import stack, vector
from dalembert.formalisms import dirac
from dalembert.handles import Workspace
from dalembert.kernels import compile_function
from dalembert.model import Model
from dalembert.structure import samples


def bob(phi: str = "x**2 + y**2 - 1") -> Model:
    model = Model("bob", gravity=(0, -9.81, 0)).parameters(m=2.0).coordinate("x", 0.6).coordinate("y", -0.8)
    model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass="m")
    return model.holonomic(phi, name="rod")


def system_of_equations(model, q, p, t=0.0):
    """M and f of (5.295) as numbers."""
    space = Workspace(model, "portable")
    form = dirac.derive(space.system)
    outputs = stack(form.M.ravel(), form.f)
    inputs = stack(space.system.q, form.v, vector([space.system.t]))
    symbols = space.system.algebra.symbols(list(model.parameter_values))
    out = compile_function(space.system.algebra, inputs, outputs, symbols)(np.concatenate([q, p, [t]]), space.values())
    size = len(form.f)
    return out[: size**2].reshape(size, size), out[size**2 :]


def test_the_matrix_of_the_equations_is_that_of_the_hand():
    # φ = r·r − 1, χ = 2 r·p/m: c_q = [2r; 2p/m], c_p = [0; 2r/m]
    q, p, m = np.array([0.6, -0.8]), np.array([1.6, 1.2]), 2.0
    M, f = system_of_equations(bob(), q, p)
    c_q, c_p = np.array([2 * q, 2 * p / m]), np.array([0 * q, 2 * q / m])
    assert np.allclose(M[:2], np.hstack([np.eye(2), -c_q.T]))
    assert np.allclose(M[2:], np.hstack([c_p, -c_q @ c_p.T]))
    assert np.allclose(f, [0, -m * 9.81, *(-c_q @ p / m)])


def test_the_brackets_of_the_constraints_make_it_regular():
    # {φ, χ} = 4 r·r/m is not zero; φ alone would leave the matrix singular
    q, p = np.array([0.6, -0.8]), np.array([1.6, 1.2])
    M, _ = system_of_equations(bob(), q, p)
    eliminated = M[2:, 2:] - M[2:, :2] @ M[:2, 2:]
    assert np.allclose(eliminated, -eliminated.T)
    assert eliminated[0, 1] == pytest.approx(-4 / 2.0) or eliminated[0, 1] == pytest.approx(4 / 2.0)


def test_the_multiplier_of_the_secondary_constraint_vanishes():
    model = bob()
    q, qd = np.array([0.6, -0.8]), 1.5 * np.array([0.8, 0.6])
    M, f = system_of_equations(model, q, 2.0 * qd)
    solved = np.linalg.solve(M, f)
    tension = 2.0 * (1.5**2 + 9.81 * 0.8)
    assert np.allclose(solved[2:], [-tension / 2, 0], atol=1e-13)
    # off the constraint it does not vanish: q̇ is then not H_p
    M, f = system_of_equations(model, q, np.array([1.0, 1.0]))
    assert abs(np.linalg.solve(M, f)[3]) > 0.1


def test_constraints_that_move_with_time_are_followed():
    model = bob("x**2 + y**2 - (1 + 0.2*sin(t))**2")
    one, other = (dl.derive(model, key, engine="portable") for key in ("dirac", "lagrange"))
    states = samples.consistent(model, 10)
    for ask in ("accelerations", "reactions"):
        found = [getattr(eom, ask)(states.q, states.qd, states.t) for eom in (one, other)]
        assert np.allclose(*found, rtol=1e-11, atol=1e-11)


def test_what_it_can_and_what_it_cannot_say():
    assert dirac.ABOUT.nonholonomic is False
    assert dl.derive(bob(), "dirac", engine="portable").n_dynamic == 2
