"""Names and settings of the integrators are consistent."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.model.integrator_names import AUTO, FIXED, METHODS
from dalembert.simulation.integrators.base import InitialValueProblem, Settings, SimpleSystem, Status
from dalembert.simulation.integrators.integrate import integrate
from dalembert.simulation.integrators.radau import RadauIIA
from dalembert.simulation.integrators.registry import INTEGRATORS, NAMES


def test_every_integrator_has_a_name_and_settings():
    assert set(METHODS) == {AUTO, *NAMES}
    assert set(FIXED) == {kind.name for kind in INTEGRATORS if not kind.capabilities.adaptive}


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(FIXED)))
def test_adaptive_integrators_reject_a_step(name):
    with pytest.raises(
        InputError, match=rf"step is 0\.1, but the integrator {name} has adaptive steps\. Use one of rk4"
    ):
        dl.derive(dl.load("simple-pendulum"), engine="python").simulate(1.0, integrator=name, step=0.1)


def test_package_is_typed():
    from importlib.resources import files

    assert files("dalembert").joinpath("py.typed").is_file()


def test_radau_with_a_state_without_effect():
    # SciPy increases the difference step of such a state tenfold at each evaluation: after 300 it is infinite
    def rates(t, y):
        x, v, z = y
        return np.array([v, 20 * (1 - x * x) * v - x, x * (np.cos(z) ** 2 + np.sin(z) ** 2)])

    problem = InitialValueProblem(("x", "v", "z"), 0.0, np.array([2.0, 0.0, 1.0]), SimpleSystem(rates))
    settings, end = Settings(rtol=1e-4), 500.0
    found = integrate(problem, RadauIIA(problem, settings, end), np.array([0.0, end]), settings)
    assert found.status is Status.FINISHED
    assert np.isfinite(found.y).all()
