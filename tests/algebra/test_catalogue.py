"""Finding an algebra by name, and what is said when it is not there."""

import importlib.util

import pytest

from dalembert.algebra import choose, default_name
from dalembert.errors import EngineError, InputError


@pytest.fixture
def without_heyoka(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *rest: None if name == "heyoka" else found(name, *rest)
    )


def test_every_algebra_is_found_by_its_name():
    names = ["fast", "graph", "symbolic"]
    assert [choose(name).name for name in names] == names
    assert default_name() == "fast"


def test_an_unknown_algebra_is_told_with_the_nearest():
    with pytest.raises(InputError) as caught:
        choose("fats")
    said = "there is no algebra 'fats'. Expected 'fast', 'graph' or 'symbolic'. Did you mean 'fast'?"
    assert str(caught.value) == said


@pytest.mark.usefixtures("without_heyoka")
def test_without_heyoka_the_graph_serves():
    assert default_name() == "graph"
    assert choose("graph").name == "graph"
    with pytest.raises(EngineError) as caught:
        choose("fast")
    assert str(caught.value) == (
        "the algebra 'fast' needs heyoka, which is not installed here. "
        "Use the algebra 'graph' (engine 'portable'), or install heyoka (wheels exist for Linux)."
    )
