"""Operation counts do not grow unnoticed: they are compared with the baseline in benchmarks/operations.json."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import dalembert as dl

PATH = Path(__file__).parents[2] / "benchmarks" / "operations.py"
SPEC: Any = importlib.util.spec_from_file_location("benchmarks_operations", PATH)
operations = sys.modules[SPEC.name] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(operations)

BASELINE = operations.baseline()
LONG = 2000  # operations of equations that are counted nightly


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.nightly if max(BASELINE[name].values()) > LONG else ()) for name in BASELINE],
)
def test_operations_have_not_grown(name):
    found = operations.count(name)
    assert operations.grown(found, BASELINE[name]) == [], f"{name}: see python benchmarks/operations.py"


def test_every_model_has_a_baseline():
    assert {*operations.MODELS, *operations.CHAINS} == set(BASELINE), "Run python benchmarks/operations.py --update."


def test_growth_within_five_percent_is_allowed():
    assert operations.grown({"kane": 105}, {"kane": 100}) == []


def test_growth_beyond_five_percent_is_reported():
    messages = operations.grown({"kane": 106, "lagrange": 90, "maggi": 7}, {"kane": 100, "lagrange": 100})
    assert messages == ["kane: 106 operations, 100 in the baseline (+6.0%)"]


# the recursion on general chains: figures 19 and 20 of papers/denoc


@pytest.mark.parametrize("n", operations.SIZES)
def test_a_general_chain_stays_below_the_counts_of_the_literature(n):
    counts = BASELINE[f"chain of {n}, 1-DOF joints"]
    for kind, per_joint in {"inverse M": 120, "inverse A": 97, "forward M": 250, "forward A": 220}.items():
        assert counts[kind] <= per_joint * n


@pytest.mark.parametrize("kind", operations.KINDS)
@pytest.mark.parametrize("n", operations.SIZES)
def test_cost_per_degree_of_freedom_decreases_with_joint_freedom(n, kind):
    ones, twos, threes, mixed = (BASELINE[f"chain of {n}, {joints} joints"][kind] for joints in operations.JOINTS)
    assert threes < twos < ones
    assert threes < mixed < ones


def single(kind: str, angles: int, *, apart: bool = False) -> dl.Model:
    """Two bodies on joints of one type; with `apart`, as successive revolute joints without offsets."""
    model = dl.Model("joint", gravity=(1, 2, -9)).coordinates(*(f"q{i}" for i in range(2 * angles)))
    for k in range(2):
        names = [f"q{i}" for i in range(angles * k, angles * (k + 1))]
        place: dict[str, Any] = {"position": (0.1, 0.2, 0.3 + k), "rotation": (0.4, 0.5, 0.6)}
        axes = [tuple(float(axis == letter) for axis in "xyz") for letter in kind]
        if apart:
            first, *rest = zip(axes, names, strict=True)
            joint = [model.revolute(*first, **place), *(model.revolute(*each) for each in rest)]
        elif angles == 2:
            joint = model.universal(axes, names, **place)
        else:
            joint = model.spherical(names, kind, **place)
        inertia = (2, 2.1, 2.3, 0.1, 0.2, 0.3)
        parent = "body0" if k else "world"
        model.body(f"body{k}", parent=parent, joint=joint, mass=1.3, center=(0.1, 0.2, 0.3), inertia=inertia)
    return model


@pytest.mark.parametrize("kind", ["xy", "zx", "yz", "xyz", "zxz", "zyx", "yzy"])
def test_intersecting_axes_cost_less_than_skew_axes(kind):
    """Each universal and Euler-angle joint against revolutes in general position, and against revolutes about one point."""
    found = operations.count_recursion(single(kind, len(kind)))
    general = operations.count_recursion(operations.chain(2 * len(kind), (1,)))
    apart = operations.count_recursion(single(kind, len(kind), apart=True))
    for each in operations.KINDS:
        assert found[each] < 0.85 * general[each]
        assert found[each] <= apart[each]


def test_figures_are_drawn(tmp_path):
    paths = operations.draw(BASELINE, tmp_path)
    assert [path.name for path in paths] == ["figure-19.png", "figure-20.png"]
    assert all(path.stat().st_size > 10_000 for path in paths)
