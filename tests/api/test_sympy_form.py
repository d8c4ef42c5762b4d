"""SymPy equations agree with the numerical equations."""

from typing import Any

import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me

import dalembert as dl
from dalembert.errors import NotApplicableError


@pytest.mark.parametrize(
    ("name", "formalism"),
    [
        ("cart-pendulum", "volterra_reduced"),
        pytest.param("double-pendulum", "kane", marks=pytest.mark.nightly),
        pytest.param("cart-pendulum", "lagrange", marks=pytest.mark.nightly),
    ],
)
def test_right_hand_side_solves_the_full_equations(name, formalism):
    eom = dl.derive(name, formalism, engine="python")
    found, (q, qd) = eom.to_sympy(), eom.model.initial
    v, constants = eom.kernel.start(q, qd, 0.0, eom.values)
    y = np.concatenate([q, v])
    states = [*found.q, *found.u]
    function = sm.lambdify([states, list(found.parameters)], [found.mass_matrix_full, found.forcing_full], "numpy")
    M, f = function(y, list(found.parameters.values()))
    solved = np.linalg.solve(M, f)[:, 0]
    want = eom.kernel.state_rates(y, 0.0, np.concatenate([eom.values, constants]))[: len(y)]
    assert np.abs(solved[: len(y)] - want).max() < 1e-12 * np.abs(want).max()
    assert len(solved) == len(y) + len(found.lam_vec)


def test_right_hand_side_of_a_pendulum():
    eom = dl.derive("simple-pendulum", "kane", engine="python").to_sympy()
    theta: Any = eom.q[0]
    omega: Any = eom.u[0]
    at = {theta: 0.4, omega: 0.3, **eom.parameters}
    rates = me.msubs(eom.rhs(), at).subs(at)
    g, length = (next(v for k, v in eom.parameters.items() if str(k) == name) for name in ("g", "l"))
    assert float(rates[0]) == 0.3
    assert float(rates[1]) == pytest.approx(-g / length * np.sin(0.4), rel=1e-12)
    assert eom.rhs("LU").shape == eom.rhs().shape


def test_linearization_about_an_equilibrium():
    eom = dl.derive("simple-pendulum", "lagrange", engine="python").to_sympy()
    theta: Any = eom.q[0]
    omega: Any = eom.u[0]
    rest = {theta: 0, omega: 0}
    symbols = {str(key): key for key in eom.parameters}
    A, B, inputs = eom.linearize(rest, [symbols["g"]])
    assert sm.simplify(A - sm.Matrix([[0, 1], [-symbols["g"] / symbols["l"], 0]])) == sm.zeros(2, 2)
    assert B.is_zero_matrix
    assert inputs == [symbols["g"]]


def test_formalisms_with_other_unknowns_are_rejected():
    with pytest.raises(NotApplicableError, match="formalism 'newton_euler' has unknowns besides"):
        dl.derive("simple-pendulum", "newton_euler").to_sympy()
