"""The two examples of papers/phong: the matrix D, the single equation of motion, and the reactions."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from scipy.special import ellipk

import dalembert as dl
from dalembert.formalisms.shared import solvers
from dalembert.io import gallery
from dalembert.mechanics import state_batch
from dalembert.symbolic.algebra_base import identity
from dalembert.symbolic.symengine_algebra import SYMBOLIC

G = 9.81


def states(name, count=30):
    """Return random consistent states of a model: q, q̇, t."""
    found = state_batch.consistent_states(dl.load(name), count)
    return found.q, found.qd, found.t


def directions(name, trials):
    """Return G and D of a model as SymPy matrices, by the two-step Gram–Schmidt method with the unit vectors x_i."""
    eom = dl.derive(dl.load(name), "phong", engine="python")
    D = solvers.directions(SYMBOLIC, eom.workspace.symbolic.A, identity(3)[:, trials])
    return eom.constraint_matrix, sp.Matrix(*D.shape, [sp.sympify(str(entry)) for entry in D.ravel()])


def proportional(D, expected):
    """Return True if two columns are proportional."""
    return sp.simplify(sp.Matrix(D).cross(sp.Matrix(expected))) == sp.zeros(3, 1)


@pytest.mark.parametrize("trial", [0, 2])
def test_directions_of_example_1(trial):
    r = sp.Symbol("r")
    jacobian, D = directions("phong-disk", [trial])
    assert jacobian == sp.Matrix([[0, 1, 0], [1, 0, r]])  # (3.3)
    assert D.shape == (3, 1)
    assert proportional(D, [r, 0, -1])
    assert sp.simplify(jacobian * D) == sp.zeros(2, 1)  # (2.6)


def test_directions_of_example_1_with_the_trial_vector_of_the_paper():
    # x = (1, 1, 1) gives ((r² − r), 0, (1 − r))/(1 + r²)
    r = sp.Symbol("r")
    found = dl.derive("phong-disk", "phong", engine="python", trials=[[1, 1, 1]]).directions
    assert sp.simplify(found - sp.Matrix([r**2 - r, 0, 1 - r]) / (1 + r**2)) == sp.zeros(3, 1)


def test_columns_of_step_1():
    # b₁ and b₂ of both examples, up to their lengths
    r, length, phi = sp.symbols("r l phi")
    cases = {
        "phong-disk": [[0, 1, 0], [1, 0, r]],
        "phong-pendulum": [
            [1, 0, -length * sp.cos(phi)],
            [-(length**2) * sp.sin(phi) * sp.cos(phi), 1 + length**2 * sp.cos(phi) ** 2, -length * sp.sin(phi)],
        ],
    }
    for name, expected in cases.items():
        found: Any = dl.derive(name, "phong", engine="python").blocks["b"].value
        found = found.subs(sp.Function("phi")(sp.Symbol("t")), phi)
        for i, column in enumerate(expected):
            assert proportional(found[:, i], column), (name, i)


@pytest.mark.parametrize("trial", [0, 1, 2])
def test_directions_of_example_2(trial):
    length, phi = sp.symbols("l phi")
    expected = sp.Matrix([length * sp.cos(phi), length * sp.sin(phi), 1])
    _, D = directions("phong-pendulum", [trial])
    assert proportional(D, expected)
    if trial == 1:  # the paper's choice; it prints the factor without ℓ, which has no effect
        assert sp.simplify(D - expected * length * sp.sin(phi) / (1 + length**2)) == sp.zeros(3, 1)


def test_every_printed_formula_is_proved_or_a_misprint():
    paper = dl.paper("phong", tables=["Counts", "Example 1", "Example 2"])
    assert not paper.unexplained
    wrong = [(cell.row, cell.column) for table in paper.tables for cell in table.cells if not cell.same]
    assert wrong == [("b₁", "x"), *(("d for x = (0, 1, 0)", name) for name in "xyφ")]
    assert len(paper.misprints) == 2


def test_one_dynamic_equation_closed_by_the_constraints():
    for name in ("phong-disk", "phong-pendulum"):
        eom = dl.derive(dl.load(name), "phong")
        assert eom.n_dynamic == 1
        assert eom.constraint_matrix.shape == (2, 3)


def test_equation_and_reactions_of_example_1():
    q, qd, t = states("phong-disk")
    eom = dl.derive(dl.load("phong-disk"), "phong")
    p = eom.parameters
    m, r, J = p["m"], p["r"], p["J"]
    f = p["F"] * np.cos(p["w"] * t)
    s, u, phi = eom.accelerations(q, qd, t)
    assert_allclose(m * r * s - r * f - J * phi, 0, atol=1e-14)  # (3.8)
    reaction = eom.reactions(q, qd, t)
    assert_allclose(reaction, [m * s - f, m * u + m * G, J * phi], atol=1e-13)  # (3.4)-(3.6)
    assert_allclose(r * reaction[0] - reaction[2], 0, atol=1e-14)  # (3.7)
    # with J = m r²/2 the ground reaction is a third of the force
    assert_allclose(reaction, [-f / 3, np.full_like(f, m * G), -f * r / 3], atol=1e-13)


def test_equation_and_reactions_of_example_2():
    q, qd, t = states("phong-pendulum")
    eom = dl.derive(dl.load("phong-pendulum"), "phong")
    m, length, J = (eom.parameters[name] for name in "mlJ")
    x, y, phi = eom.accelerations(q, qd, t)
    sine, cosine = np.sin(q[2]), np.cos(q[2])
    assert_allclose(length * m * cosine * x + length * m * (y + G) * sine + J * phi, 0, atol=1e-12)  # (3.16)
    reaction = eom.reactions(q, qd, t)
    assert_allclose(reaction, [m * x, m * y + m * G, J * phi], atol=1e-12)  # (3.12)-(3.14)
    assert_allclose(reaction[0] * length * cosine + reaction[1] * length * sine + reaction[2], 0, atol=1e-12)  # (3.15)
    # the physical pendulum
    assert_allclose((J + m * length**2) * phi, -m * G * length * sine, atol=1e-12)


def test_motion_of_example_1():
    expected = gallery.expected("phong-disk")
    run = dl.simulate(dl.load("phong-disk"), formalism="phong")
    assert_allclose(run.q[0], expected["closed_form"]["amplitude"] * (1 - np.cos(2 * run.t)), atol=1e-13)
    assert_allclose(run.q[0], -0.3 * run.q[2], atol=1e-14)
    assert_allclose(run.reactions[:, 0], expected["closed_form"]["reaction_at_start"], atol=1e-13)
    assert expected["directions"]["D"] == [0.3, 0.0, -1.0]


def test_motion_of_example_2():
    expected = gallery.expected("phong-pendulum")["closed_form"]
    period = 4 * np.sqrt(4 / 3 * 0.5 / G) * ellipk(np.sin(np.pi / 6) ** 2)
    assert expected["period"] == pytest.approx(period, rel=1e-14)
    run = dl.simulate(dl.load("phong-pendulum"), formalism="phong", times=[0, period / 4, period / 2, period])
    assert_allclose(run.q[2], [np.pi / 3, 0, -np.pi / 3, np.pi / 3], atol=1e-12)
    assert -run.qd[2, 1] == pytest.approx(expected["largest_rate"], rel=1e-12)
    assert_allclose(run.reactions[:, 1], [0, expected["largest_pull"], 0], atol=1e-11)
