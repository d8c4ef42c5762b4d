"""Characteristic length, mass and time follow from the model, so that results do not depend on units."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.mechanics.facts import facts_of
from dalembert.model.model import Model
from dalembert.model.scales import scales_of


def crank(unit: float = 1.0, mass: float = 1.0, time: float = 1.0) -> Model:
    """A crank, a rod and a slider on a spring, with lengths, masses and times in other units."""
    m, length = mass, unit
    model = Model("crank", gravity=(0, -9.81 * unit / time**2, 0)).coordinates("a", "b", "x")
    model.body("crank", joint=model.revolute((0, 0, 1), "a"), mass=m, center=(0.2 * unit, 0, 0))
    rod = model.revolute((0, 0, 1), "b", position=(0.4 * unit, 0, 0))
    model.body(
        "rod", parent="crank", joint=rod, mass=2 * m, center=(0.5 * unit, 0, 0), inertia=(0, 0, 0.2 * m * unit**2)
    )
    model.body("slider", joint=model.prismatic((1, 0, 0), "x"), mass=0.5 * m)
    model.loop("pin", ("rod", "slider"), model.revolute((0, 0, 1), 0, position=(length, 0, 0)))
    model.spring(("world", "slider"), stiffness=30 * m / time**2, natural_length=0.3 * unit)
    a = 0.7
    b = -a - np.arcsin(0.4 * np.sin(a))
    model.start([a, b, (0.4 * np.cos(a) + np.cos(a + b)) * unit], [0, 0, 0])
    return model.simulation(duration=10 * time)


@pytest.mark.parametrize("unit", [1e6, 1e3, 1e-3, 1e-9])
def test_facts_do_not_depend_on_the_unit_of_length(unit):
    known, same = facts_of(crank(unit)), facts_of(crank())
    assert (known.d, known.rows, known.ignorable) == (1, same.rows, same.ignorable)
    assert [str(u) for u in known.speeds] == [str(u) for u in same.speeds]
    assert (known.dependent, known.regular_mass) == (same.dependent, same.regular_mass)
    agreement = dl.verify(crank(unit), states=10, engines=["python"])
    assert (agreement.states, agreement.agrees) == (10, True)


@pytest.mark.parametrize(("mass", "time"), [(1e6, 1.0), (1e-6, 1.0), (1.0, 1e6), (1.0, 1e-6)])
def test_facts_do_not_depend_on_the_units_of_mass_and_time(mass, time):
    model = crank(1.0, mass, time)
    known, same = facts_of(model), facts_of(crank())
    assert (known.d, known.rows, [str(u) for u in known.speeds]) == (1, same.rows, [str(u) for u in same.speeds])
    assert dl.verify(model, states=10, engines=["python"]).agrees


@pytest.mark.parametrize(
    ("unit", "mass", "time"), [(1e6, 1.0, 1.0), (1.0, 1e-6, 1.0), (1.0, 1.0, 1e3), (1e-9, 1e3, 1e-3)]
)
def test_scales_transform_with_the_units(unit, mass, time):
    found, same = scales_of(crank(unit, mass, time)), scales_of(crank())
    assert (same.length, same.mass, same.q[:2]) == (1.0, 2.0, (1.0, 1.0))
    assert found.length == pytest.approx(same.length * unit)
    assert found.mass == pytest.approx(same.mass * mass)
    assert found.time == pytest.approx(same.time * time)
    assert found.q == pytest.approx(same.positions * [1, 1, unit])
    assert found.qd == pytest.approx(same.velocities * np.array([1, 1, unit]) / time)


def test_position_of_a_mechanism_does_not_affect_scales():
    model = Model("far away", gravity=(0, -9.81, 0)).coordinates("a")
    far = model.revolute((0, 0, 1), "a", position=(1e6, 2e6, 0))
    assert scales_of(model.body("bob", joint=far, mass=1, center=(0.3, 0, 0))).length == 0.3


def test_coordinate_in_a_formula_is_scaled_by_the_joint_motion():
    model = Model("screw").parameters(r=0.01).coordinates("theta", "k")
    model.body("nut", joint=model.prismatic((1, 0, 0), "r*theta"), mass=1, inertia=(1e-2, 1e-2, 1e-2))
    model.body("wheel", joint=model.revolute((0, 0, 1), "20*k"), mass=1, inertia=(1, 1, 1))
    found = scales_of(model)
    assert found.length == pytest.approx(np.sqrt(1.5))
    assert found.q == pytest.approx((np.sqrt(1.5) / 0.01, 1 / 20))


def test_energies_identify_angles_by_sine_and_lengths_by_initial_values():
    model = Model.from_energies(
        "mixed", coordinates=["x", "phi"], kinetic="dot(x)**2 + x**2*dot(phi)**2", potential="x*cos(2*phi)"
    ).start([3e-6, 0.1], [0, 0])
    assert scales_of(model).q == pytest.approx((3e-6, 0.5))


def test_without_gravity_time_comes_from_springs_then_rates_then_the_duration():
    def free(stiffness: float = 0.0, rate: float = 0.0) -> Model:
        model = Model("free").coordinate("x", 0.5, rate).simulation(duration=40)
        model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
        return model.joint_spring("block", stiffness=stiffness) if stiffness else model

    assert scales_of(free(8.0, 3.0)).time == pytest.approx(0.5)
    assert scales_of(free(0.0, 3.0)).time == pytest.approx(0.5 / 3)
    assert scales_of(free()).time == pytest.approx(4.0)


def test_tables_extend_the_time_span():
    model = crank().torque_table("crank", [0, 5, 25], [0, 1, 0])
    assert (scales_of(model).duration, scales_of(model).last) == (10.0, 25.0)
    assert scales_of(crank().force("slider", ("piecewise(3, t > 70, 0)", 0, 0))).last == 70.0
