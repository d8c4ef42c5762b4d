"""The names and settings of the integrators are one fact."""

import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.integrators import INTEGRATORS, NAMES
from dalembert.model.methods import FIXED, METHODS


def test_every_integrator_is_named_with_its_settings():
    assert set(METHODS) == set(NAMES)
    assert set(FIXED) == {kind.name for kind in INTEGRATORS if kind.fixed}


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(FIXED)))
def test_a_step_is_refused_where_steps_are_chosen(name):
    with pytest.raises(
        InputError, match=rf"step is 0\.1, but the integrator {name} chooses its own steps\. Use one of rk4"
    ):
        dl.derive(dl.load("simple-pendulum"), engine="portable").simulate(1.0, integrator=name, step=0.1)


def test_the_package_is_typed():
    from importlib.resources import files

    assert files("dalembert").joinpath("py.typed").is_file()
