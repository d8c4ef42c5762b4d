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
    assert set(operations.MODELS) == set(BASELINE), "Run python benchmarks/operations.py --update."


def test_growth_within_five_percent_is_allowed():
    assert operations.grown({"kane": 105}, {"kane": 100}) == []


def test_growth_beyond_five_percent_is_told():
    told = operations.grown({"kane": 106, "lagrange": 90, "maggi": 7}, {"kane": 100, "lagrange": 100})
    assert told == ["kane: 106 operations, 100 in the baseline (+6.0%)"]
