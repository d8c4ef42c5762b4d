"""Operation counts do not grow unseen: they are compared with the baseline in benchmarks/operations.json."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "operations.py"
SPEC = importlib.util.spec_from_file_location("benchmarks_operations", PATH)
operations = sys.modules[SPEC.name] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(operations)

BASELINE = operations.baseline()


@pytest.mark.parametrize("name", BASELINE)
def test_operations_have_not_grown(name):
    found = operations.count(name)
    assert operations.grown(found, BASELINE[name]) == [], f"{name}: see python benchmarks/operations.py"


def test_every_model_has_a_baseline():
    assert {*operations.MODELS, *operations.CHAINS} == set(BASELINE), "Run python benchmarks/operations.py --update."


def test_growth_within_five_percent_is_allowed():
    assert operations.grown({"kane": 105}, {"kane": 100}) == []


def test_growth_beyond_five_percent_is_told():
    told = operations.grown({"kane": 106, "lagrange": 90, "maggi": 7}, {"kane": 100, "lagrange": 100})
    assert told == ["kane: 106 operations, 100 in the baseline (+6.0%)"]


# the recursion on general chains: figures 19 and 20 of papers/denoc


@pytest.mark.parametrize("n", operations.SIZES)
def test_a_general_chain_stays_below_the_counts_of_the_literature(n):
    counts = BASELINE[f"chain of {n}, 1-DOF joints"]
    for kind, per_joint in {"inverse M": 120, "inverse A": 97, "forward M": 250, "forward A": 220}.items():
        assert counts[kind] <= per_joint * n


@pytest.mark.parametrize("kind", operations.KINDS)
@pytest.mark.parametrize("n", operations.SIZES)
def test_the_more_freedom_a_joint_has_the_less_each_costs(n, kind):
    ones, twos, threes, mixed = (BASELINE[f"chain of {n}, {joints} joints"][kind] for joints in operations.JOINTS)
    assert threes < twos < ones
    assert threes < mixed < ones


def test_figures_are_drawn(tmp_path):
    paths = operations.draw(BASELINE, tmp_path)
    assert [path.name for path in paths] == ["figure-19.png", "figure-20.png"]
    assert all(path.stat().st_size > 10_000 for path in paths)
