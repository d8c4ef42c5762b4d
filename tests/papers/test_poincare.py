"""papers/poincare: its results hold as printed."""

import pytest

import dalembert as dl


def test_forces_of_constraints_that_do_work():
    assert all(cell.same for cell in dl.paper("poincare", tables=["Result 3.3"]).table("Result 3.3").cells)


@pytest.mark.nightly
def test_all_results():
    paper = dl.paper("poincare")
    assert len(paper.tables) == 4
    assert all(cell.same for table in paper.tables for cell in table.cells)
