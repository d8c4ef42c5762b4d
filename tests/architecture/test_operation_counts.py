"""Operation counts equal the baseline: an increase fails, and a decrease is committed."""

from __future__ import annotations

import operation_counts
import pytest

from dalembert.formalisms import catalog

BASELINE = operation_counts.baseline()


@pytest.mark.parametrize(("model", "formulation"), operation_counts.PAIRS)
def test_operation_counts_equal_the_baseline(model: str, formulation: str) -> None:
    found = operation_counts.count(model, formulation)
    problem = operation_counts.compare(found, BASELINE[operation_counts.name(model, formulation)])
    assert problem is None, f"{model} by {formulation}: {problem}"


def test_the_baseline_has_every_pair_and_every_formulation() -> None:
    assert list(BASELINE) == [operation_counts.name(*pair) for pair in operation_counts.PAIRS]
    assert {formulation for _, formulation in operation_counts.PAIRS} == set(catalog.KEYS)


def test_increase_and_decrease_are_both_reported() -> None:
    assert operation_counts.compare(100, 100) is None
    assert "has grown by 1" in (operation_counts.compare(101, 100) or "")
    assert "snapshot.py operations" in (operation_counts.compare(99, 100) or "")
