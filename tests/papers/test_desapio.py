"""The examples of papers/desapio, chapter 5: serial arm, gimballed gyroscope, 3-RRR mechanism, and the printed schemes."""

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import dalembert as dl
from dalembert import papers
from dalembert.io import gallery
from dalembert.mechanics import state_batch
from dalembert.papers import desapio_paper
from dalembert.papers.table_cells import printed_value

G = 9.81
# tables with deviating entries, and their rows
MISPRINTS = {
    "Closure": ["∂x/∂q₇", "∂y/∂q₈", "∂x/∂q₉, factor of the sine", "∂y/∂q₉, factor of the cosine"],
    "Cone": ["diagonal of I_G (5.195)", "eigenvalues λ", "semiaxes a"],
    "Gyroscope": ["M, row 2 (5.249)"],
    "Algorithms": ["order"],
    "Equations": [
        "a = Γq̈ (5.26)",
        "(Mq + b + g − τ)·δq = 0 (5.85)",
        "λ = −Φ̄ᵀ(τ − b − g) − HΦq̇ (5.93)",
        "τ = Mq̈ + b + g + Φᵀλ (5.145)",
        "d/dt ∂T/∂q̇ = Mq̈ (5.199)",
        "T (5.254)",
    ],
}
SLOW = ("Algorithms", "Equations")


def printed(table, row) -> list[Any]:
    """Return the printed numbers of a row of a table."""
    return [printed_value(text) for text in papers.printed("desapio").tables[table].rows[row]]


# printed and computed values


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(name, marks=[pytest.mark.nightly] if name in SLOW else [])
        for name in papers.choices("desapio").tables
    ],
)
def test_tables_agree_except_for_the_misprints(number):
    table = dl.paper("desapio", tables=[number]).table(number)
    assert not table.unexplained
    off = list(dict.fromkeys(cell.row for cell in table.cells if cell.compared and not cell.same))
    assert off == MISPRINTS.get(number, [])
    # corrected equations hold where the printed ones do not
    meant = [cell for cell in table.cells if cell.column == "as meant"]
    assert [cell.computed for cell in meant] == [0.0] * len(meant)


def test_gyroscope_coefficients_sum_to_its_terms():
    rows = {row: [value or 0.0 for value in values] for row, values in desapio_paper._coefficients().items()}
    model = dl.load("gyroscope")
    p, (q, _) = model.parameter_values, model.initial
    products = [p["M1"], p["M2"], p["lG2"] ** 2 * p["M2"], p["h"] ** 2 * p["M3"], p["l3"] ** 2 * p["M3"]]
    products.append(p["r"] ** 2 * p["M3"])
    sums = {row: np.dot(values, products) for row, values in rows.items()}
    expected = gallery.expected("gyroscope")["printed"]
    found = sums["M₁₁ (5.249)"] + sums["M₁₁, cos 2q₂ (5.249)"] * np.cos(2 * q[1])
    assert found == pytest.approx(expected["M11"], rel=1e-12)
    assert sums["M₂₂ (5.249)"] == pytest.approx(expected["M22"], rel=1e-12)


@pytest.mark.parametrize("number", ["5.15", "5.16", "5.17"])
def test_sketches_are_closed_mechanisms(number):
    frame: Any
    (frame,) = papers._recipe("desapio").figures[number]()
    links = [stroke.points for stroke in frame.strokes if stroke.joint]
    assert_allclose([np.linalg.norm(link[1] - link[0]) for link in links], 0.5)
    for one, next_one in pairwise(links):
        assert_allclose(one[1], next_one[0], atol=1e-14)
    assert_allclose(links[0][0], 0, atol=1e-14)
    assert links[-1][1, 1] == pytest.approx(0, abs=1e-14)


@pytest.mark.nightly
def test_figures_contain_the_motion(tmp_path):
    paper = dl.paper("desapio", figures=list(papers.choices("desapio").figures))
    for number in ("5.3", "5.9", "5.12"):
        figure = paper.figure(number)
        assert len(figure.frames) == 9
        assert len({frame.title for frame in figure.frames}) == 9
        assert len(figure.panels) == 2
        # Algorithms 3 to 5 have small errors
        assert all(1e-3 < line.y[-1] < 0.1 for line in figure.panels[1].lines)
    for number in ("5.3", "5.9"):  # half the step, half the error
        full, half = (line.y[-1] for line in paper.figure(number).panels[1].lines)
        assert full / half == pytest.approx(2, abs=0.1)
    kinetic, potential, total = paper.figure("5.13").panels[0].lines
    assert_allclose(total.y, total.y[0], atol=1e-9)
    assert potential.y[0] == pytest.approx(gallery.expected("gyroscope")["printed"]["potential"])
    assert np.ptp(kinetic.y) > 29
    multipliers = paper.figure("5.10").panels[0].lines
    assert_allclose([line.y[0] for line in multipliers], gallery.expected("3-rrr")["start"]["multipliers"], atol=1e-9)
    assert (tmp_path / "desapio.html") in paper.write(tmp_path)


@cache
def system(name):
    """Lagrange's equations of a model with M, f and A as functions of (q, q̇), batches on the last axis."""
    eom = dl.derive(dl.load(name), engine="python")
    moving = [sp.Function(q)(sp.Symbol("t")) for q in eom.model.coordinate_names]
    plain = sp.symbols(f"x0:{2 * len(moving)}")
    table = dict(zip([*(x.diff() for x in moving), *moving], plain, strict=True))
    values = {sp.Symbol(p): number for p, number in eom.model.parameter_values.items()}

    def function(matrix):
        compiled = sp.lambdify(plain, matrix.xreplace(table).xreplace(values))

        def at(q, qd):
            columns = zip(np.atleast_2d(q.T), np.atleast_2d(qd.T), strict=True)
            return np.stack([np.array(compiled(*v, *x), dtype=float) for x, v in columns], axis=-1)

        return at

    return eom, function(eom.mass_matrix), function(eom.forcing), function(eom.constraint_matrix)


def states(name, count=10):
    found = state_batch.consistent_states(dl.load(name), count)
    return found.q, found.qd


# the serial chain robot, section 5.2.4


def arm():
    """(5.61)-(5.75) in SymPy: M, b, g as functions of q and q̇."""
    q, qd = sp.symbols("q1:5"), sp.symbols("v1:5")
    model = dl.load("serial-arm").parameter_values
    length, mass = [model[f"l{i}"] for i in range(1, 5)], [model[f"M{i}"] for i in range(1, 5)]
    radius = [model[f"r{i}"] for i in range(1, 5)]
    M, b, g = sp.zeros(4, 4), sp.zeros(4, 1), sp.zeros(4, 1)
    tip = sp.zeros(2, 1)
    for i in range(4):
        angle = sum(q[: i + 1])
        along = sp.Matrix([sp.cos(angle), sp.sin(angle)])
        gamma = (tip + along * length[i] / 2).jacobian(q)  # (5.61)-(5.65), (5.70)
        pi = sp.Matrix([[1] * (i + 1) + [0] * (3 - i)])  # (5.66)-(5.69), (5.71)
        inertia = mass[i] * radius[i] ** 2 / 4 + mass[i] * length[i] ** 2 / 12  # (5.75)
        rate = sp.Matrix(2, 4, lambda r, c, J=gamma: sum(J[r, c].diff(x) * v for x, v in zip(q, qd, strict=True)))
        M += mass[i] * gamma.T * gamma + pi.T * inertia * pi  # (5.72)
        b += mass[i] * gamma.T * rate * sp.Matrix(qd)  # (5.73)
        g += G * mass[i] * gamma.T * sp.Matrix([0, 1])  # (5.74)
        tip += along * length[i]
    return sp.lambdify([*q, *qd], (M, b, g))


def test_dynamical_terms_of_the_serial_arm():
    _, M, f, _ = system("serial-arm")
    by_hand = arm()
    q, qd = states("serial-arm")
    for k in range(q.shape[1]):
        mass, coriolis, gravity = (np.array(part) for part in by_hand(*q[:, k], *qd[:, k]))
        assert_allclose(M(q[:, k], qd[:, k])[..., 0], mass, atol=1e-13)
        assert_allclose(f(q[:, k], qd[:, k])[..., 0], -coriolis - gravity, atol=1e-12)
        assert_allclose(f(q[:, k], 0 * qd[:, k])[..., 0], -gravity, atol=1e-12)


def test_energy_of_the_serial_arm_is_constant():
    expected = gallery.expected("serial-arm")["closed_form"]
    run = dl.simulate(dl.load("serial-arm"), 3.0, samples=301)
    assert_allclose(run.energy, expected["energy"], atol=1e-11)
    assert run.potential.min() > expected["lowest"]


# the gimballed gyroscope, section 5.3.5


def gyroscope(q, qd, M1=1.0, M2=1.0, M3=1.0, lG2=1.0, l3=3.0, r=1.0, h=1.0):
    """M, b, g of (5.249)-(5.251), the rounded 0.042 and 0.083 in full, with 0 as entry (2,3) of M."""
    c, s = np.cos(q[1]), np.sin(q[1])
    M11 = 0.5 * M1 + 1.604 * M2 + 0.5 * lG2**2 * M2 + h**2 * M3 / 24 + 0.5 * l3**2 * M3 + 0.375 * M3 * r**2
    M11 += ((1.479 + 0.5 * lG2**2) * M2 + M3 * (h**2 / 24 + 0.5 * l3**2 - 0.125 * r**2)) * np.cos(2 * q[1])
    M22 = (3.0625 + lG2**2) * M2 + M3 * (h**2 / 12 + l3**2 + 0.25 * r**2)
    M13 = -0.5 * M3 * r**2 * s
    K = (2.958 + lG2**2) * M2 + M3 * (h**2 / 12 + l3**2 - 0.25 * r**2)
    b1 = -2 * c * qd[1] * (K * s * qd[0] + 0.25 * M3 * r**2 * qd[2])
    b2 = c * qd[0] * (K * s * qd[0] + 0.5 * M3 * r**2 * qd[2])
    b3 = -0.5 * M3 * r**2 * c * qd[0] * qd[1]
    M = np.array([[M11, 0, M13], [0, M22, 0], [M13, 0, 0.5 * M3 * r**2]])
    return M, np.array([b1, b2, b3]), np.array([0, G * (lG2 * M2 - l3 * M3) * c, 0])


def test_dynamical_terms_of_the_gyroscope():
    _, M, f, _ = system("gyroscope")
    q, qd = states("gyroscope")
    for x, v in zip(q.T, qd.T, strict=True):
        mass, coriolis, gravity = gyroscope(x, v)
        assert_allclose(M(x, v)[..., 0], mass, atol=1e-13)
        assert_allclose(f(x, v)[:, 0, 0], -coriolis - gravity, atol=1e-11)


def test_printed_numbers_of_the_gyroscope():
    model, expected = dl.load("gyroscope"), gallery.expected("gyroscope")
    start, (q, qd) = expected["printed"], model.initial
    assert_allclose(q, printed("Gyroscope", "q at the start (5.252)"))
    assert_allclose(qd, printed("Gyroscope", "q̇ at the start (5.253)"))
    mass, _, gravity = gyroscope(q, qd)
    assert_allclose(
        [start["M11"], start["M13"], start["M22"], start["M33"]],
        [mass[0, 0], mass[0, 2], mass[1, 1], mass[2, 2]],
    )
    assert_allclose(start["gravity"], gravity, atol=1e-14)
    run = dl.simulate(model, 0.1, samples=2)
    assert run.kinetic[0] == pytest.approx(start["kinetic"])  # (5.254), ½ before the entire sum
    assert run.kinetic[0] == pytest.approx(qd @ mass @ qd / 2)
    # (5.255) is measured from z = -2.5, below all three masses
    assert run.potential[0] + 2.5 * 3 * G == pytest.approx(start["potential"])


def test_energy_and_precession_of_the_gyroscope():
    expected = gallery.expected("gyroscope")["closed_form"]
    run = dl.simulate(dl.load("gyroscope"))
    assert_allclose(run.energy, expected["energy"], atol=1e-11)  # Figure 5.13
    assert np.ptp(run.kinetic) > 29
    assert_allclose(run.momenta[0], expected["p1"], atol=1e-12)
    assert_allclose(run.momenta[2], expected["p3"], atol=1e-12)
    # Figure 5.12: q2 oscillates, q1 increases monotonically
    assert (np.diff(run.q[0]) > 0).all()
    assert run.q[0, -1] > 1.5
    assert_allclose([run.q[1].min(), run.q[1].max()], [-np.pi / 6, 7 * np.pi / 6], atol=0.02)
    assert (np.diff(np.sign(run.qd[1])) != 0).sum() >= 6


def test_reduced_gyroscope_has_one_equation():
    for key in ("routh", "volterra_reduced"):
        eom = dl.derive(dl.load("gyroscope"), key)
        assert eom.ignorable == ("q1", "q3")
        assert eom.n_dynamic == 1


# the parallel mechanism 3-RRR, section 5.2.5


def elbow(q, qd, length=1.0, mass=1.0):
    """M, b, g of one arm with equal links: (5.134)-(5.136)."""
    c, s = np.cos(q[1]), np.sin(q[1])
    M12 = length * mass * (length + 2 * length * c) / 4
    M = [[(length**2 * mass + length**2 * 5 * mass + 4 * length**2 * mass * c) / 4, M12], [M12, length**2 * mass / 4]]
    b = [-(length**2) * mass * s * qd[1] * (2 * qd[0] + qd[1]) / 2, length**2 * mass * s * qd[0] ** 2 / 2]
    both = np.cos(q[0] + q[1])
    g = [G * (3 * length * mass * np.cos(q[0]) + length * mass * both) / 2, G * length * mass * both / 2]
    return np.array(M), np.array(b), np.array(g)


def test_dynamical_terms_of_the_parallel_mechanism():
    _, M, f, _ = system("3-rrr")
    q, qd = states("3-rrr", 5)
    for x, v in zip(q.T, qd.T, strict=True):
        mass, forces = np.zeros((9, 9)), np.zeros(9)
        for i in (0, 2, 4):
            arm_mass, coriolis, gravity = elbow(x[i : i + 2], v[i : i + 2])
            mass[i : i + 2, i : i + 2], forces[i : i + 2] = arm_mass, -coriolis - gravity
        mass[6:, 6:], forces[7] = np.eye(3), -G  # (5.141)-(5.143)
        assert_allclose(M(x, v)[..., 0], mass, atol=1e-13)
        assert_allclose(f(x, v)[:, 0, 0], forces, atol=1e-12)


def test_constraint_matrix_of_the_parallel_mechanism():
    expected = gallery.expected("3-rrr")["closed_form"]
    _, _, _, A = system("3-rrr")
    q, qd = states("3-rrr", 5)
    for x, v in zip(q.T, qd.T, strict=True):
        Phi = np.zeros((6, 9))
        for i in range(3):
            one, both = x[2 * i], x[2 * i] + x[2 * i + 1]
            Phi[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [  # (5.124)
                [-np.sin(one) - np.sin(both), -np.sin(both)],
                [np.cos(one) + np.cos(both), np.cos(both)],
            ]
            # (5.125)-(5.127) print −Γ_p; with Γ_p itself (5.123) gives −Γ_p here
            angle, R = expected["corners"][i] + x[8], expected["radius"]
            Phi[2 * i : 2 * i + 2, 6:] = [[-1, 0, R * np.sin(angle)], [0, -1, -R * np.cos(angle)]]
        assert_allclose(A(x, v)[..., 0], Phi, atol=1e-12)


def test_base_is_an_equilateral_triangle():
    expected = gallery.expected("3-rrr")["closed_form"]
    assert expected["side"] == pytest.approx(3.75, abs=1e-3)
    values = dl.load("3-rrr").parameter_values
    corners = np.array([[0, 0], [values["b2x"], values["b2y"]], [values["b3x"], values["b3y"]]])
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    assert_allclose(sides, expected["side"])


def test_initial_state_of_the_parallel_mechanism_satisfies_the_constraints():
    eom, M, f, A = system("3-rrr")
    q, qd = eom.model.initial
    assert_allclose(q, printed("Start", "q (5.148)"), atol=1e-15)
    assert not qd.any()  # (5.149)
    phi = eom.workspace.manifold.evaluate(q, qd, np.array(0.0), eom.values)[0]
    assert_allclose(phi, 0, atol=1e-15)
    assert eom.workspace.facts.d == 3
    # λ and q̈ by (5.90)-(5.93), evaluated numerically
    mass, forces, Phi = M(q, qd)[..., 0], f(q, qd)[:, 0, 0], A(q, qd)[..., 0]
    H = np.linalg.inv(Phi @ np.linalg.inv(mass) @ Phi.T)
    inverse = np.linalg.inv(mass) @ Phi.T @ H
    lam, qdd = -inverse.T @ forces, (np.eye(9) - inverse @ Phi) @ np.linalg.inv(mass) @ forces
    expected = gallery.expected("3-rrr")["start"]
    assert_allclose(lam, expected["multipliers"], atol=1e-11)
    assert_allclose(qdd[6:], expected["platform"], atol=1e-11)
    assert_allclose(eom.multipliers(q, qd), lam, atol=1e-11)
    assert_allclose(eom.accelerations(q, qd), qdd, atol=1e-11)


def test_energy_and_multipliers_of_the_parallel_mechanism():
    run = dl.derive(dl.load("3-rrr"), "dalembert").simulate(1.0, samples=201)
    assert_allclose(run.energy, run.energy[0], rtol=1e-10)
    assert np.abs(run.violation).max() < 1e-8
    assert run.multipliers.shape == (6, 201)  # Figure 5.10
    _, M, f, A = system("3-rrr")
    for k in (0, 60, 130, 200):
        x, v = run.q[:, k], run.qd[:, k]
        left = M(x, v)[..., 0] @ run.qdd[:, k] - f(x, v)[:, 0, 0]
        assert_allclose(left, A(x, v)[..., 0].T @ run.multipliers[:, k], atol=1e-7)  # (5.88)


# the schemes as printed


def errors(name, integrator, formalism, steps, duration, **options):
    """Return the largest final error of q for each step size."""
    eom = dl.derive(dl.load(name), formalism)
    exact = eom.simulate(duration, samples=2).q[:, -1]
    found = []
    for step in steps:
        run = eom.simulate(duration, integrator=integrator, step=step, samples=2, **options)
        found.append(np.abs(run.q[:, -1] - exact).max())
    return np.array(found)


@pytest.mark.parametrize(
    ("name", "integrator", "formalism", "options"),
    [
        ("serial-arm", "algorithm3", "dalembert", {}),
        ("gyroscope", "algorithm3", "lagrange", {}),
        ("gyroscope", "algorithm5", "hamilton", {}),
        ("serial-arm", "algorithm5", "hamilton", {}),
        ("phong-pendulum", "algorithm4", "dalembert", {"stabilization": (100.0, 20.0)}),
        ("3-rrr", "algorithm4", "dalembert", {"stabilization": (100.0, 20.0)}),
    ],
)
def test_printed_schemes_converge_with_first_order(name, integrator, formalism, options):
    # the text calls algorithms 3 and 4 second-order; q̇ is integrated by Euler's rule, so all three are of first order
    duration = 0.4
    found = errors(name, integrator, formalism, [2e-3, 1e-3, 5e-4], duration, **options)
    assert found[-1] < 0.02
    assert_allclose(found[:-1] / found[1:], 2, atol=0.25)


def test_one_step_of_algorithm_3_has_third_order_position_error():
    # locally q + q̇Δt + ½q̈Δt² is correct up to Δt³: this is the meaning of "second-order" in the text
    eom = dl.derive(dl.load("gyroscope"), "dalembert")
    gaps = []
    for step in (0.04, 0.02, 0.01):
        exact = eom.simulate(step, samples=2, qd0=[0.3, -0.4, 0.8]).q[:, -1]
        one = eom.simulate(step, samples=2, qd0=[0.3, -0.4, 0.8], integrator="algorithm3", step=step).q[:, -1]
        gaps.append(np.abs(one - exact).max())
    assert_allclose(np.array(gaps[:-1]) / gaps[1:], 8, rtol=0.1)


def test_stabilization_bounds_the_drift_of_algorithm_4():
    eom = dl.derive(dl.load("phong-pendulum"), "dalembert")
    plain = eom.simulate(8.0, integrator="algorithm4", step=4e-3, samples=801, project=False)
    held = eom.simulate(8.0, integrator="algorithm4", step=4e-3, samples=801, stabilization=(100.0, 20.0))
    assert np.abs(held.violation[:2]).max() < 0.1 * np.abs(plain.violation[:2]).max()
