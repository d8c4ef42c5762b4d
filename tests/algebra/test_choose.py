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
    assert [choose(name).name for name in ("fast", "symbolic")] == ["fast", "symbolic"]
    assert default_name() == "fast"


def test_an_unknown_algebra_is_told_with_the_nearest():
    with pytest.raises(InputError) as caught:
        choose("fats")
    assert str(caught.value) == "there is no algebra 'fats'. Expected 'fast' or 'symbolic'. Did you mean 'fast'?"


@pytest.mark.usefixtures("without_heyoka")
def test_without_heyoka_the_symbolic_algebra_serves():
    assert default_name() == "symbolic"
    assert choose("symbolic").name == "symbolic"
    with pytest.raises(EngineError) as caught:
        choose("fast")
    assert str(caught.value) == (
        "the algebra 'fast' needs heyoka, which is not installed here. "
        "Use the algebra 'symbolic' (engine 'portable'), or install heyoka (wheels exist for Linux)."
    )
