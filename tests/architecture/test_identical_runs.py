"""Runs give the results of the baseline: to the bit in its environment, within a tolerance elsewhere.

The id of a test contains the comparison.
"""

from __future__ import annotations

import math

import pytest
import reference_runs
from reference_runs import CASES, Baseline, Recorded

from dalembert.formalisms import catalog

BASELINE = Baseline.read()
COMMAND = "python tests/architecture/snapshot.py runs"
SAME = reference_runs.environment() == BASELINE.environment
COMPARISON = "bits" if SAME else "tolerance"


@pytest.mark.parametrize("name", [pytest.param(name, id=f"{name}-{COMPARISON}") for name in CASES])
def test_run_results_agree_with_the_baseline(name: str) -> None:
    case = CASES[name]
    found, expected = reference_runs.record(case), BASELINE.runs[name]
    assert found.keys() == expected.keys()
    if SAME:
        problems = reference_runs.different_bits(found, expected)
    else:
        problems = reference_runs.different_numbers(found, expected, case.tolerance)
    assert not problems, f"{name} ({case.kind}), compared by {COMPARISON}. If the change is intended: {COMMAND}\n" + (
        "\n".join(problems)
    )


def test_the_baseline_has_every_case_and_every_formulation() -> None:
    assert list(BASELINE.runs) == list(CASES)
    words = {word for name in CASES for word in name.split()}
    assert set(catalog.KEYS) <= words
    assert {"taylor", "dop853", "rk45", "rk4", "radau", "collocation"} <= words


def test_both_comparisons_find_a_change() -> None:
    before = {"q": Recorded("a", 2.0, (1.0, 2.0)), "reactions": Recorded("b", 1e-17, (1e-17,))}
    last_bit = {**before, "q": Recorded("c", 2.0, (1.0, math.nextafter(2.0, 3.0)))}
    assert reference_runs.different_bits(before, before) == []
    assert reference_runs.different_bits(last_bit, before) == ["q: 4.4e-16 of 2 in the stored numbers"]
    assert reference_runs.different_numbers(last_bit, before, 1e-9) == []
    for wrong in ((1.0, 2.1), (1.0, math.nan), (math.nan, 2.0), (1.0,)):
        off = {**before, "q": Recorded("c", 2.0, wrong)}
        assert len(reference_runs.different_numbers(off, before, 1e-9)) == 1
    noise = {**before, "reactions": Recorded("c", 3e-16, (3e-16,))}
    assert reference_runs.different_numbers(noise, before, 1e-9) == []


def test_records_are_written_without_loss() -> None:
    each = Recorded("0123456789abcdef", 1 / 3, (0.1, -2e-300))
    assert Recorded.read(each.written()) == each
