"""Massless bodies between springs, in loops and at the end of a tree; and gyroscopic rotors."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.model.model import Model

CAN = (
    "lagrange",
    "maggi",
    "kane",
    "gibbs_appell",
    "boltzmann_hamel",
    "volterra",
    "udwadia_kalaba",
    "phong",
    "nullspace",
)


def springs() -> Model:
    """A massless node between two springs in series, and a block at their end."""
    model = Model("springs").parameters(k1=10.0, k2=20.0).coordinate("knot", 1 / 3).coordinate("x", 0.5)
    model.body("knot", joint=model.prismatic((1, 0, 0), "knot"))
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    return model.joint_spring("knot", stiffness="k1").spring(("knot", "block"), stiffness="k2")


def test_massless_body_with_loads_only_is_reported_with_advice():
    message = (
        r"has no inertia(.|\n)*Bodies without mass that carry no mass: knot\.(.|\n)*by the constraint that they balance"
    )
    with pytest.raises(dl.SingularError, match=message):
        dl.simulate(springs(), 1.0)


def test_a_massless_knot_in_equilibrium_connects_two_springs_in_series():
    model = springs().holonomic("k1*knot - k2*(x - knot)", name="balance")
    eom = dl.derive(model, engine="python")
    assert eom.accelerations([1 / 3, 0.5], [2.0, 3.0])[1] == pytest.approx(-200 / 30 * 0.5, rel=1e-13)
    assert eom.multipliers([1 / 3, 0.5], [2.0, 3.0]) == pytest.approx([0.0], abs=1e-13)
    found = dl.verify(model, states=3, engines=["python"])
    agree = {key for key, each in found.formalisms.items() if each.status == "agrees"}
    assert agree == {*CAN, "denoc"}
    assert found.agrees


def test_a_coupler_without_mass_is_a_rod_of_fixed_length():
    # the same four-bar linkage with a coupler in the loop, and with a distance instead of it
    start = {"crank": 1.0, "coupler": -0.596675965605159, "rocker": 1.2346695398172722}
    found = []
    for light in (True, False):
        model = Model("four bars", gravity=(0, -9.81, 0)).coordinate("crank", start["crank"])
        rod = {"mass": 1.0, "inertia": (0, 0.02, 0.02)}
        z = (0, 0, 1)
        model.body("crank", joint=model.revolute(z, "crank"), center=(0.15, 0, 0), **rod)
        model.coordinate("rocker", start["rocker"])
        model.body("rocker", joint=model.revolute(z, "rocker", position=(0.7, 0, 0)), center=(0.3, 0, 0), **rod)
        if light:
            model.coordinate("coupler", start["coupler"])
            hinge = model.revolute(z, "coupler", position=(0.3, 0, 0))
            model.body("coupler", parent="crank", joint=hinge)
            model.loop("pin", ("coupler", "rocker"), model.revolute(z, position=(0.8, 0, 0)), position=(0.6, 0, 0))
            assert model.check() == []
        else:
            model.distance(("crank", "rocker"), length=0.8, points=((0.3, 0, 0), (0.6, 0, 0)))
        found.append(dl.derive(model, engine="python").accelerations(*model.initial))
    assert found[0][:2] == pytest.approx(found[1], rel=1e-11)


@pytest.mark.parametrize("spin", ["time", "coordinate"])
def test_a_spinning_disc_whirls_forward_and_backward(spin):
    # λ² A ∓ λ C Ω − k = 0 for small angles; the spin is constant by a drive, or by itself
    model = Model("Laval").parameters(A=2.0, C=3.0, k=50.0, Omega=4.0).coordinate("u", 1e-5).coordinate("v")
    angle = "Omega*t"
    if spin == "coordinate":
        angle = "w"
        model.coordinate("w", 0.0, 4.0)
    joints = [model.revolute((1, 0, 0), "u"), model.revolute((0, 1, 0), "v"), model.revolute((0, 0, 1), angle)]
    model.body("disc", joint=joints, mass=1, inertia=("A", "A", "C"))
    model.joint_spring("disc", stiffness="k").joint_spring("disc", stiffness="k", joint=1)
    run = dl.simulate(model, 5.0, samples=51)
    a, b = (np.sqrt(9 + 25) + sign * 3 for sign in (1, -1))
    assert run["u"] == pytest.approx(1e-5 * (b * np.cos(a * run.t) + a * np.cos(b * run.t)) / (a + b), abs=1e-12)
    assert run["v"] == pytest.approx(1e-5 * (b * np.sin(a * run.t) - a * np.sin(b * run.t)) / (a + b), abs=1e-12)
