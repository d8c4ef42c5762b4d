"""Repeated constraints act as one constraint, in every formulation."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.linear_form import AccelerationRows
from dalembert.model.model import Model

G = 9.81
RING, SPHERE = "x**2 + y**2 - 1", "x**2 + y**2 + z**2 - 1"


def bead(times: int) -> Model:
    """A bead on a ring in the plane."""
    model = Model("bead", gravity=(0, -G, 0)).coordinates("x", "y")
    model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    for i in range(times):
        model.holonomic(RING if i % 2 == 0 else f"3*({RING})", name=f"ring {i}")
    return model.start([0.6, -0.8], [0.8, 0.6])


def ball(times: int) -> Model:
    """A body that does not rotate, with its center on a sphere; 6 rows for its twist."""
    model = Model("ball", gravity=(0, 0, -G)).coordinates("x", "y", "z")
    axes = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    model.body(
        "ball", joint=[model.prismatic(a, n) for a, n in zip(axes, "xyz", strict=True)], mass=2, inertia=(1, 1, 1)
    )
    for i in range(times):
        model.holonomic(SPHERE, name=f"sphere {i}")
    return model.start([0.6, 0, -0.8], [0, 1.5, 0])


def expected(model: Model) -> np.ndarray:
    """g and the acceleration along the radius r that keeps |r| = 1: a·r = −v²."""
    (r, v), g = model.initial, np.zeros(len(model.coordinate_names))
    g[-1] = -G
    return g - (v @ v + g @ r) * r


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("times", [2, 5, 7])
@pytest.mark.parametrize("make", [bead, ball])
def test_all_formalisms_agree(make, times, engine):
    model = make(times)
    q, qd = model.initial
    for key in catalog.KEYS:
        eom = dl.derive(model, key, engine=engine)
        assert np.allclose(eom.accelerations(q, qd), expected(model), atol=1e-9), key
        mass = 1 if make is bead else 2
        weight = np.append(np.zeros(len(q) - 1), -mass * G)
        assert np.allclose(eom.reactions(q, qd), mass * expected(model) - weight, atol=1e-9), key
        assert eom.multipliers(q, qd).shape == (times,)


@pytest.mark.parametrize("integrator", ["dop853", "ida"])
def test_runs_are_the_same_as_with_one_row(integrator):
    for key in ("gauss", "hamilton"):
        one, many = (
            dl.derive(bead(times), key, engine="python").simulate(0.2, samples=3, integrator=integrator)
            for times in (1, 7)
        )
        assert np.allclose(one.q, many.q, atol=1e-6), key


def test_names_of_the_rows_by_type():
    model = ball(7)
    forms = {key: dl.derive(model, key, engine="python").form for key in ("lagrange", "gauss", "newton_euler", "kane")}
    facts = forms["lagrange"].system.facts
    assert {key: form.rows for key, form in forms.items()} == {
        "lagrange": AccelerationRows.INDEPENDENT,
        "gauss": AccelerationRows.ALL,
        "newton_euler": AccelerationRows.JOINTS,
        "kane": AccelerationRows.NONE,
    }
    # six rows of joints and one constraint are seven rows, as many as were declared
    assert len(forms["newton_euler"].linear.beta) == len(facts.levels.names)
    assert forms["newton_euler"].rows.names(facts) == ("the joints", "sphere 0")
    assert forms["gauss"].rows.names(facts) == tuple(f"sphere {i}" for i in range(7))
    assert forms["kane"].rows.names(facts) == ()
