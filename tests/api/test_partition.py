"""Repartitioning of ill-conditioned generalized speeds and constraints does not change the motion."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.api.derive import equations_of
from dalembert.mechanics.facts import PartitionChoice
from dalembert.mechanics.generalized_speeds import completeness
from dalembert.mechanics.rank import best_rows


def test_selected_rows_are_independent():
    rows = np.array([[1.0, 0, 0], [1.0, 1e-6, 0], [0, 0, 1.0], [0, 1.0, 1.0]])
    assert best_rows(rows / np.linalg.norm(rows, axis=1)[:, None], 3) in ((0, 2, 3), (1, 2, 3))


def test_completeness_is_one_for_orthogonal_rows_and_zero_for_dependent_ones():
    one = np.ones(2)
    assert completeness(np.array([[[0.0, 2.0]]]), np.array([[[3.0, 0.0]]]), one) == pytest.approx(1.0)
    assert completeness(np.array([[[1.0, 0.0]]]), np.array([[[3.0, 0.0]]]), one) == pytest.approx(0.0, abs=1e-15)


def test_completeness_does_not_decrease_when_constraints_become_dependent():
    for gap in (1.0, 1e-3, 1e-8):
        rows = np.array([[[1.0, 0, 0, 0], [1.0, gap, 0, 0]]])
        Y = np.array([[[0, 0, 1.0, 0], [0, 0, 0, 1.0]]])
        assert completeness(Y, rows, np.ones(4)) == pytest.approx(1.0)


def rocker_driven() -> dl.Model:
    """A crank-rocker whose speed is the rocker's, which reverses twice in every revolution of the crank."""
    model = dl.load("crank-rocker")
    names = model.coordinate_names
    model.generalized_speeds = ()
    return model.speed(f"dot({names[-1]})", "u")


@pytest.mark.parametrize("key", ["kane", "volterra_reduced", "maggi"])
def test_repartition_at_the_turning_points_of_a_rocker(key):
    model = rocker_driven()
    known = dl.derive(model, "lagrange").simulate(2.0, samples=41)
    run = dl.derive(model, key).simulate(2.0, samples=41, dense=True)
    assert any("repartitioned" in note for note in run.notes)
    assert np.abs(run.q - known.q).max() < 1e-8
    assert np.abs(run.qd - known.qd).max() < 1e-6 * np.abs(known.qd).max()
    assert np.abs(run.qdd - known.qdd).max() < 1e-5 * np.abs(known.qdd).max()
    assert np.abs(run.violation).max() < 1e-10
    assert run.t.tolist() == known.t.tolist()
    # the state in between, in the speeds of the start
    middle = run.at(1.0)
    assert np.allclose(middle[: len(known.q)], known.q[:, 20], atol=1e-8)
    assert np.allclose(run.v[:, 20], middle[len(known.q) :], rtol=1e-5, atol=1e-8)


def test_redundant_row_of_bricards_mechanism_changes():
    # without row 2 the other four become dependent during the motion; the automatic choice does not
    started = equations_of(dl.load("bricard"), "lagrange", choice=PartitionChoice(rows=(0, 1, 3, 4)))
    run = started.simulate(5.0, samples=51)
    assert any("independent constraints were repartitioned" in note for note in run.notes)
    assert np.abs(run.violation).max() < 1e-10
    assert np.ptp(run.balance) < 1e-10 * run.kinetic.max()


def test_formalisms_in_coordinate_rates_do_not_repartition():
    run = dl.derive(rocker_driven(), "lagrange").simulate(1.0, samples=11)
    assert not [note for note in run.notes if "repartitioned" in note]
