"""docs/errata.md: printed equations listed there are wrong, their corrections hold; each row with a tick has a check here."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import dalembert as dl
from dalembert.analysis.energy_ellipsoid import kinetic_energy_ellipsoid
from dalembert.papers.printed_values import printed, published

PAGE = (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")
CHECKS = {}


def erratum(*names):
    def register(check):
        CHECKS.update(dict.fromkeys(names, check))
        return check

    return register


def test_every_tick_has_a_check_and_every_check_a_tick():
    assert re.findall(r"^\| ([A-Z]\d+) ✓", PAGE, re.MULTILINE) == list(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_erratum(name):
    CHECKS[name]()


# papers/volterra


@erratum("V1", "V2")
def eulers_equations():
    # a free body, u = ω in body axes: the columns of ∂ω/∂u are the body axes, which rotate with ω
    rng = np.random.default_rng(1)
    root, w = rng.normal(size=(3, 3)), rng.normal(size=3)
    inertia = root @ root.T
    C = np.cross(w, np.eye(3)).T  # (57): d/dt of each axis
    K = C.T @ inertia @ w  # (61) with C_NI, (63)
    assert_allclose(K, -np.cross(w, inertia @ w), atol=1e-14)  # (65) with K_NI: I ω̇ = −ω × I ω
    assert np.linalg.norm(K) > 0.1  # with F_NI instead it would be zero


@erratum("V6")
def size_of_the_standard_method():
    eom = dl.derive("cart-pendulum", "volterra")
    assert len(eom.model.coordinate_names) == 3
    assert eom.mass_matrix.shape == (2, 2)


@erratum("V7")
def a_magnitude_is_negative():
    assert -0.018 * np.sin(0.089 * 10) + 0.012 * np.cos(0.0485 * 10) == pytest.approx(-0.0034, abs=5e-5)


@erratum("V8")
def states_of_the_result_file():
    # the seventh state is tested in test_volterra
    table = printed("volterra").tables["2"]
    assert table.rows["Number of state variables"][0] == "6"
    assert len(published("volterra")["cases"]["cart-pendulum"]["lagrange"]["time_and_state"][0]) == 1 + 7


@erratum("V9")
def a_norm_is_truncated():
    row = printed("volterra").tables["6"].rows["Norm of energy error"]
    files = published("volterra")["cases"]["satellite-boom"]
    rounded = [f"{files[key]['norms']['energy']:.2e}" for key in files]
    assert [float(a) == float(b) for a, b in zip(row, rounded, strict=True)] == [True, False, True, True]
    assert (row[1], rounded[1]) == ("6.18e-14", "6.19e-14")


@erratum("V10")
def a_result_file_has_the_opposite_initial_velocity():
    start = published("volterra")["cases"]["cart-pendulum"]["gibbs_appell"]["time_and_state"][0]
    _, qd = dl.load("cart-pendulum").initial
    assert (start[4], qd[0] - qd[1]) == (-2.0, 2.0)


# papers/phong


@erratum("P1", "P2")
def entries_of_example_2():
    length, phi = 0.5, 0.7
    g = np.array([[1, 0, -length * np.cos(phi)], [0, 1, -length * np.sin(phi)]])  # (3.11)
    root = np.sqrt(1 + length**2 * np.cos(phi) ** 2)
    b = np.array([1, 0, -length * np.cos(phi)]) / root
    assert np.linalg.norm(b) == pytest.approx(1)
    assert_allclose(b, g[0] / np.linalg.norm(g[0]))
    # the component of (0, 1, 0) orthogonal to both rows of G
    d = np.array([0, 1, 0]) - np.linalg.pinv(g) @ g @ [0, 1, 0]
    as_printed = np.array([length * np.sin(phi) * np.cos(phi), length * np.sin(phi) ** 2, np.sin(phi)]) / (
        1 + length**2
    )
    assert_allclose(d, length * as_printed, atol=1e-15)


# papers/denoc


@erratum("N1")
def size_of_the_complement():
    n = 2
    N: Any = dl.derive("double-pendulum", "denoc").blocks["N"].value
    assert N.shape == (6 * n, n)


@erratum("N3")
def wrenches_of_the_links():
    rng = np.random.default_rng(2)
    B, w = rng.normal(size=(6, 6)), rng.normal(size=(2, 6))
    N_l = np.block([[np.eye(6), np.zeros((6, 6))], [B, np.eye(6)]])
    last = w[1] + 0  # (25) as meant, with w̃₃ = 0
    assert_allclose(np.concatenate([w[0] + B.T @ last, last]), N_l.T @ w.ravel())


@erratum("N5")
def a_jacobian_is_a_derivative():
    a, t = sp.symbols("a1:4"), sp.symbols("t1:4")
    angles = t[0], t[0] + t[1], t[0] + t[1] + t[2]
    s, c = [sp.sin(x) for x in angles], [sp.cos(x) for x in angles]
    J = sp.Matrix(
        [
            [-a[0] * s[0] - a[1] * s[1] + a[2] * s[2], -a[1] * s[1] + a[2] * s[2], -a[2] * s[2]],
            [a[0] * c[0] + a[1] * c[1] - a[2] * c[2], a[1] * c[1] + a[2] * c[2], a[2] * c[2]],
        ]
    )

    def mixed(J):
        return [J[i, j].diff(t[k]) - J[i, k].diff(t[j]) for i in range(2) for j in range(3) for k in range(j)]

    assert any(mixed(J))
    J[0, 2], J[1, 1], J[1, 2] = a[2] * s[2], a[1] * c[1] - a[2] * c[2], -a[2] * c[2]
    assert not any(mixed(J))
    ends = sp.Matrix(
        [sum(sign * x * f(y) for sign, x, y in zip((1, 1, -1), a, angles, strict=True)) for f in (sp.cos, sp.sin)]
    )
    assert sp.simplify(ends.jacobian(t) - J) == sp.zeros(2, 3)


@erratum("N6")
def steps_of_the_elimination():
    rng = np.random.default_rng(4)
    U, D = np.triu(rng.normal(size=(3, 3)), 1) + np.eye(3), np.diag(rng.uniform(1, 2, 3))
    qdd = rng.normal(size=3)
    first = np.linalg.solve(U, U @ D @ U.T @ qdd)  # τ̂ = U⁻¹φ of 2.7.1
    second = np.linalg.solve(D, first)
    assert_allclose(second, U.T @ qdd)
    assert np.abs(second - U.T @ first).max() > 0.1


@erratum("N7")
def jacobians_of_the_chains():
    rows = list(printed("denoc").tables["Sizes"].rows.values())[4:]
    whole, *parts = [tuple(int(x) for x in texts[0].split(" × ")) for texts in rows]
    N, A = parts[:2], parts[2:]
    assert [a[1] for a in A] == [n[0] for n in N]
    sizes = [(a[0], n[1]) for a, n in zip(A, N, strict=True)]  # A_en N
    assert sizes == [(2, 1), (2, 2)]  # they have no number of columns in common
    assert whole == (2, sizes[0][1] + sizes[1][1])


# papers/desapio


@erratum("S1", "S2")
def velocities_accelerate():
    # τ = M q̈ + g would give the same q̈ at every velocity
    eom = dl.derive("spherical-pendulum", "lagrange")
    q, qd = (np.array(x) for x in eom.model.initial)
    assert np.abs(eom.accelerations(q, qd + 1) - eom.accelerations(q, 0 * qd)).max() > 0.1


@erratum("S5")
def a_corner_of_the_platform():
    radius, corner, h = 1.084, -0.47, 1e-6

    def corner_position(x):
        return np.array([x[0] + radius * np.cos(corner + x[2]), x[1] + radius * np.sin(corner + x[2])])

    at = np.array([0.3, 2.0, 0.4])
    slopes = np.stack(
        [(corner_position(at + h * e) - corner_position(at - h * e)) / (2 * h) for e in np.eye(3)], axis=1
    )
    as_printed = [[-1, 0, -1.08 * np.sin(0.47 - 0.4)], [0, -1, -1.08 * np.cos(0.47 - 0.4)]]  # (5.125)
    assert_allclose(slopes, -np.array(as_printed), atol=0.01)


@erratum("S7")
def the_cone():
    M, height, radius = 1.0, 1.0, 0.75
    across, along = 3 / 80 * M * (height**2 + 4 * radius**2), 3 / 10 * M * radius**2
    found = kinetic_energy_ellipsoid(np.diag([across, across, along]), 1.0)
    assert_allclose(found.moments, [0.122, 0.122, 0.169], atol=5e-4)
    assert_allclose(found.semiaxes, [4.05, 4.05, 3.443], atol=2e-3)
    assert across + M * (3 * height / 4) ** 2 == pytest.approx(0.684, abs=5e-4)


@erratum("S10", "S11")
def the_gyroscope():
    eom = dl.derive("gyroscope", "lagrange")
    M: Any = eom.mass_matrix
    assert M.is_symmetric()
    assert (M[1, 2], M[2, 1]) == (0, 0)
    # the kinetic energy at q̇ = (0, 1, 0) is half of M₂₂, where (5.254) as printed has all of it
    run = eom.simulate(1e-3, samples=2, qd0=[0, 1, 0])
    values = {symbol: eom.parameters[str(symbol)] for symbol in M[1, 1].free_symbols if str(symbol) in eom.parameters}
    assert run.kinetic[0] == pytest.approx(float(M[1, 1].subs(values)) / 2)


@erratum("S12")
def a_singular_matrix():
    n, m = 4, 2
    Phi = np.random.default_rng(3).normal(size=(m, n))
    none, one = np.zeros((n, n)), np.eye(n)
    matrix = np.block([[one, none, np.zeros((n, m))], [none, one, -Phi.T], [Phi, np.zeros((m, n + m))]])
    assert np.linalg.matrix_rank(matrix) == 2 * n


@erratum("S17")
def the_sign_of_the_multipliers():
    eom = dl.derive("3-rrr", "dalembert")
    q, qd = eom.model.initial
    at, lam = eom.constraint_space(q, qd), eom.multipliers(q, qd)
    assert_allclose(lam, -at.Phi_bar.T @ (at.tau - at.b - at.g), atol=1e-11)  # (5.93) at rest
    rest = at.M @ eom.accelerations(q, qd) + at.b + at.g - at.tau
    assert_allclose(rest - at.Phi.T @ lam, 0, atol=1e-11)  # (5.86)
    assert np.abs(rest + at.Phi.T @ lam).max() > 1  # (5.145)
