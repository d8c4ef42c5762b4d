"""Norms, operation counts, comparisons and observables, against hand formulas."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import NotApplicableError
from dalembert.formalisms import catalog
from dalembert.model.model import Model
from dalembert.simulation import observables

# norms


def test_relative_drift_is_the_papers_norm():
    values = np.array([-2.0, -2.2, -1.4])
    assert observables.relative_drift(values) == pytest.approx(np.hypot(0.1, 0.3))
    assert observables.relative_drift(np.array([0.0, 3.0, 4.0])) == 5.0
    assert observables.relative_drift(np.full(9, 7.3)) == 0.0


def test_violation_is_over_all_rows_and_samples():
    assert observables.violation(np.array([[1.0, 2.0], [2.0, 4.0]])) == 5.0


def test_relative_drift_of_rounding_errors_is_relative_to_the_terms():
    assert observables.relative_drift(np.array([1e-17, 0.5]), size=10.0) == pytest.approx(0.05)
    assert observables.relative_drift(np.array([1.0, 1.5]), size=10.0) == pytest.approx(0.5)


def test_energy_error_where_the_energy_starts_at_zero():
    # released from the horizontal: E₀ is a rounding error, while T and V reach m g l
    run = dl.simulate(dl.load("simple-pendulum"), 3.0, samples=301, integrator="dop853")
    assert abs(run.energy[0]) < 1e-14
    size = np.linalg.norm(run.energy - run.energy[0]) / run.energy_error
    assert 9.81 / 2 < size < 2 * 2 * 9.81


# operations


@pytest.mark.parametrize("engine", ["native", "python"])
def test_operations_are_positive_and_the_same_every_time(engine):
    model = dl.load("cart-pendulum")
    keys = [key for key in catalog.KEYS if key != "dirac"]  # the wheel is nonholonomic
    counts = [{key: dl.derive(model, key, engine=engine).operations for key in keys} for _ in range(2)]
    assert counts[0] == counts[1]
    assert min(counts[0].values()) > 20


def test_operation_count_of_a_pendulum_is_small():
    # θ̈ = −(g/l) sinθ with M = m l²: a few dozen products, a sine and a division, without any simplification
    assert 3 <= dl.derive(dl.load("simple-pendulum"), "kane").operations <= 40


# comparison


def test_a_comparison_is_a_table():
    table = dl.compare(dl.load("cart-pendulum"), ["lagrange", "volterra_reduced"], duration=1.0, samples=11)
    assert [row.formalism for row in table] == ["lagrange", "volterra_reduced"]
    assert table["volterra_reduced"].n_states == 4
    assert (table.duration, table.integrator, table.refused) == (1.0, "dop853", {})
    lines = str(table).splitlines()
    assert lines[0] == "cart-pendulum: 1 s, integrator dop853, drift not corrected"
    assert lines[1].split()[:3] == ["formalism", "equations", "states"]
    assert len(lines) == 4
    data = table.to_dict()
    assert data["rows"][0]["n_dynamic"] == 3
    assert sorted(data) == ["checks", "duration", "integrator", "model", "refused", "rows"]


def test_a_comparison_of_all_names_excluded_formulations_with_reasons():
    model = Model.from_energies("energies", coordinates=["x"], kinetic="dot(x)**2/2", potential="x**2").start([1], [0])
    table = dl.compare(model, duration=1.0, samples=3)
    of_bodies = {"dalembert", "kane", "gibbs_appell", "volterra", "volterra_reduced", "newton_euler", "denoc"}
    assert [row.formalism for row in table] == [key for key in catalog.KEYS if key not in of_bodies]
    assert set(table.refused) == of_bodies
    with pytest.raises(NotApplicableError):
        dl.compare(model, ["kane"], duration=1.0)


def test_a_comparison_switches_drift_control_off():
    model = Model("bob", gravity=(0, -9.81, 0)).coordinate("x", 1.0).coordinate("y", 0.0)
    model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    model.holonomic("x**2 + y**2 - 1", name="rod")
    table = dl.compare(model, ["lagrange"], duration=5.0, samples=51, integrator="rk45")
    assert table["lagrange"].constraint_error > 1e-6


# observables


@pytest.fixture(scope="module")
def orbit():
    """A body with spin about z on a rotating and extending arm, with closed-form observables."""
    model = Model("orbit", gravity=(0, 0, -9.81)).parameters(m=2.0, I=0.3).coordinate("phi", 0.4, 0.9)
    model.coordinate("r", 1.2, -0.5)
    joints = [model.revolute((0, 0, 1), "phi"), model.prismatic((1, 0, 0), "r", position=(0, 0, 0.7))]
    model.body("body", joint=joints, mass="m", inertia=("I", "I", "I"))
    model.speeds("r*dot(phi)", "dot(r)")
    return dl.derive(model, "lagrange").simulate(1.0, samples=11)


def test_energies_agree_with_hand_formulas(orbit):
    (_, r), (w, rd) = orbit.q, orbit.qd
    assert np.allclose(orbit.kinetic, 0.5 * (2.0 * (rd**2 + r**2 * w**2) + 0.3 * w**2))
    assert np.allclose(orbit.potential, 2.0 * 9.81 * 0.7)
    assert np.allclose(orbit.energy, orbit.kinetic + orbit.potential)
    assert np.allclose(orbit.jacobi, orbit.energy)
    assert np.allclose(orbit.balance, orbit.energy)


def test_momenta_agree_with_hand_formulas(orbit):
    (phi, r), (w, rd) = orbit.q, orbit.qd
    assert np.allclose(orbit.momenta, [(2.0 * r**2 + 0.3) * w, 2.0 * rd])
    along, across = np.array([np.cos(phi), np.sin(phi)]), np.array([-np.sin(phi), np.cos(phi)])
    P = 2.0 * (rd * along + r * w * across)
    assert np.allclose(orbit.linear_momentum, [*P, 0 * r])
    # about the world origin: the body is 0.7 above it
    assert np.allclose(orbit.angular_momentum, [-0.7 * P[1], 0.7 * P[0], (2.0 * r**2 + 0.3) * w])


def test_speeds_and_accelerations_agree_with_hand_formulas(orbit):
    (_, r), (w, rd) = orbit.q, orbit.qd
    assert np.allclose(orbit.speeds, [r * w, rd])
    assert np.allclose(orbit.qdd, [-4 * r * rd * w / (2 * r**2 + 0.3), r * w**2])


def test_a_run_without_constraints_has_no_violation(orbit):
    assert orbit.violation.shape == (0, 11)
    assert orbit.violation_names == ()
    assert orbit.constraint_error is None
    assert not orbit.reactions.any()
    assert orbit.multipliers.shape == (0, 11)


def test_violation_names_match_rows():
    model = Model("two").coordinates("x", "y", "z")
    axes = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    model.body("point", joint=[model.prismatic(a, c) for a, c in zip(axes, "xyz", strict=True)], mass=1)
    model.holonomic("x - y", name="line").nonholonomic("dot(z) - x*dot(y)", name="screw")
    eom = dl.derive(model, "lagrange", engine="python")
    run = eom.simulate(0.1, samples=2)
    assert run.violation_names == ("line, position", "line, velocity", "screw, velocity")
    observed = eom.workspace.observables.along(
        np.zeros(1), np.array([[2.0], [0.5], [0.0]]), np.array([[1.0], [3.0], [4.0]]), np.zeros(0)
    )
    assert observed.position_violation.ravel().tolist() == [1.5]
    assert observed.velocity_violation.ravel().tolist() == [-2.0, 4.0 - 2.0 * 3.0]


def test_multipliers_give_the_reactions_of_a_run():
    run = dl.derive(dl.load("cart-pendulum"), "kane").simulate(1.0, samples=11)
    (t1, t2, _) = run.q
    A = 0.2 * np.array([np.cos(t1 - t2), np.ones(11), np.zeros(11)])
    assert np.allclose(run.reactions, A * run.multipliers, atol=1e-9)
