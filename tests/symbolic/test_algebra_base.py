"""Selection of an algebra by name, and the error for an unknown name."""

import pytest

from dalembert.errors import InputError
from dalembert.symbolic.algebra_base import choose


def test_every_algebra_is_found_by_its_name():
    names = ["graph", "symbolic"]
    assert [choose(name).name for name in names] == names


def test_an_unknown_algebra_is_reported_with_the_nearest_name():
    with pytest.raises(InputError) as caught:
        choose("grpah")
    assert str(caught.value) == "there is no algebra 'grpah'. Expected 'graph' or 'symbolic'. Did you mean 'graph'?"
