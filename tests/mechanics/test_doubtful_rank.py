"""Rank decisions close to the tolerance are noted, and violated dropped rows are reported."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.mechanics import rank


def nearly_equal_rows(share: str) -> dl.Model:
    """A particle under a force along z, on x = y and on x − y + share z = 0: z cannot move unless share is zero."""
    model = dl.Model("near").coordinates("x", "y", "z").start([0, 0, 0], [1, 1, 0])
    joints = [model.prismatic(axis, name) for name, axis in zip("xyz", np.eye(3).tolist(), strict=True)]
    model.body("p", joint=joints, mass=1).force("p", (0, 0, 1), name="up")
    return model.holonomic("x - y", name="first").holonomic(f"x - y + {share}*z", name="second")


def notes(share: str) -> list[tuple[str, ...]]:
    model = nearly_equal_rows(share)
    equations = dl.derive(model, "lagrange")
    return [equations.simulate(1.0).notes, equations.notes, dl.mobility(model).warnings]


@pytest.mark.parametrize(("share", "kept"), [("1e-8", True), ("1e-9", False)])
def test_a_rank_within_three_decades_of_the_tolerance_is_noted(share, kept):
    message = "all of them are used" if kept else "'second' counts as dependent"
    for found in notes(share):
        assert any("decided close to the tolerance" in note and message in note for note in found)


@pytest.mark.parametrize("share", ["0", "1e-4"])
def test_unambiguous_rank_is_not_noted(share):
    assert not any("decided close to the tolerance" in note for found in notes(share) for note in found)


def test_a_run_names_a_dropped_row_that_it_violates():
    run = dl.simulate(nearly_equal_rows("1e-9"), 1.0)
    assert run.q[2, -1] == pytest.approx(0.5)  # the row alone would hold it at 0
    assert any("'second' was dropped as redundant, but is violated: at t = 1" in note for note in run.notes)
    exact = dl.simulate(nearly_equal_rows("0"), 1.0)
    assert not exact.notes


def test_the_doubtful_singular_value_is_the_nearest_to_the_tolerance():
    rows = np.array([[[1.0, 0, 0], [1.0, 1e-7, 0], [1.0, 0, 1e-10]]])
    found = rank.doubtful_singular_value(rows)
    assert found is not None
    assert 1e-12 < found < 1e-6
    assert rank.doubtful_singular_value(np.eye(3)[None]) is None
