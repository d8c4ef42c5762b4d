"""No formula raises an exception from outside the package in derivation, printing, evaluation and integration."""

import math

import pytest
from fuzz_pipeline import foreign_exception

import dalembert as dl

CHUNK = 60


def require_ours(first, count):
    found = [text for number in range(first, first + count) if (text := foreign_exception(number)) is not None]
    assert not found, "\n".join(found[:5])


def test_difficult_formulas_give_results_or_package_errors():
    require_ours(0, 30)


@pytest.mark.nightly
@pytest.mark.parametrize("chunk", range(10))
def test_many_difficult_formulas_give_results_or_package_errors(chunk):
    require_ours(30 + chunk * CHUNK, CHUNK)


def falling(force):
    model = dl.Model("m").coordinates("x")
    model.body("b", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    return model.force("b", [force, 0, 0])


def test_a_number_to_a_variable_power_is_printed_and_integrated():
    """Regression: this was a RuntimeError of SymEngine in printing and a TypeError of `taylor` in a run."""
    eom = dl.derive(falling("asin((999999999999999999999999999999*1)**x)").start({"x": -1.0}, {"x": 0.0}))
    assert "999999999999999999999999999999^{x}" in eom.latex()
    assert eom.accelerations([-1.0], [0.0])[0] == pytest.approx(math.asin(999999999999999999999999999999**-1.0))
    run = dl.simulate(falling("3**x"), 0.5, samples=2, integrator="taylor", rtol=1e-12)
    other = dl.simulate(falling("3**x"), 0.5, samples=2, integrator="dop853", rtol=1e-12)
    assert run.q[0, -1] == pytest.approx(other.q[0, -1], rel=1e-11)


def test_a_deeply_nested_sine_is_printed_in_bounded_time():
    """Its derivative is a product of 30 cosines: as sines of summed angles it has 2**29 terms."""
    model = dl.Model("m").coordinates("x", "y")
    model.body("b", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    model.nonholonomic(f"dot(y) - {'sin(' * 30}x{')' * 30}")
    assert str(dl.derive(model, "lagrange"))


def test_a_power_of_zero_is_rejected():
    with pytest.raises(dl.FormulaError, match="has the base 0 and no constant exponent"):
        falling("0**x")
