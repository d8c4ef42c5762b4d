"""Dry friction without smoothing: sticking and breakaway against closed forms."""

import math
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ModelError
from dalembert.model.model import Model


def block(x: float, rate: float = 0.0, **friction: Any) -> Model:
    """A mass of 1 on a spring of stiffness 1."""
    model = Model("block").coordinate("x", x, rate)
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    return model.spring(("world", "block"), stiffness=1).joint_friction("block", **friction, name="slide")


def belt(**friction: Any) -> Model:
    """A mass of 0.1 on a spring of stiffness 40, on a belt that moves at 0.2."""
    model = Model("belt").coordinate("x", 0.0, 0.2)
    model.body("belt", joint=model.prismatic((1, 0, 0), "t/5"))
    model.body("block", parent="belt", joint=model.prismatic((1, 0, 0), "x - t/5"), mass=0.1)
    return model.spring(("world", "block"), stiffness=40).joint_friction("block", **friction)


# half a period takes 2F off the amplitude; it stays at the first turning point that friction can hold
@pytest.mark.parametrize(
    ("friction", "turns", "integrator"),
    [
        ({"coulomb": 0.3}, 3, "taylor"),  # 2, −1.4, 0.8, −0.2
        pytest.param({"coulomb": (0.2, 0.4)}, 3, "taylor", marks=pytest.mark.nightly),  # 2, −1.2, 0.8, 0
        ({"coulomb": 0.3, "static": (0.7, 0.9)}, 2, "taylor"),
        pytest.param({"coulomb": 0.3, "static": (0.9, 0.7)}, 3, "radau", marks=pytest.mark.nightly),
    ],
)
def test_a_block_on_a_spring_stops_where_friction_holds_it(friction, turns, integrator):
    run = dl.simulate(block(2.0, **friction), 12.0, integrator=integrator, samples=5)
    forwards, backwards = np.broadcast_to(friction["coulomb"], 2)
    x = 2.0
    for k in range(turns):
        x = -x + 2 * (backwards if k % 2 == 0 else -forwards)
    off = 1e-12 if integrator == "taylor" else 1e-8
    assert run["x"][-1] == pytest.approx(x, abs=off)
    assert run.load_forces["slide"][0, -1] == pytest.approx(x, abs=off)
    assert run.energy_error < off
    assert [each.t for each in run.switchings if each.t > 0] == pytest.approx(np.pi * np.arange(1, turns + 1), abs=off)


def test_static_friction_exceeds_sliding_friction():
    run = dl.simulate(block(-0.6, coulomb=0.3, static=0.7), 3.0, samples=3)
    assert run["x"].tolist() == [-0.6] * 3
    assert run.load_forces["slide"][0].tolist() == pytest.approx([-0.6] * 3)
    assert run.work["slide"].tolist() == [0.0] * 3


@pytest.mark.parametrize("key", ["lagrange", pytest.param("newton_euler", marks=pytest.mark.nightly)])
def test_the_period_of_stick_and_slip_is_that_of_the_textbook(key):
    # sticks while its force rises from 2 Fk − Fs to Fs; slides on the circle x = Fk/k + ΔF/k cos + v/ω sin until ẋ = v again
    k, v, omega, extra = 40.0, 0.2, 20.0, 0.3
    period = 2 * extra / (k * v) + 2 / omega * (math.pi - math.atan(extra * omega / (k * v)))
    run = dl.derive(belt(coulomb=0.3, static=0.6), key).simulate(2.0, samples=3, integrator="taylor")
    times = np.array([each.t for each in run.switchings])
    assert times[0] == pytest.approx(0.6 / (k * v), abs=1e-12)
    assert times[2:] - times[:-2] == pytest.approx(np.full(len(times) - 2, period), abs=1e-12)
    assert run.energy_error < 1e-12


@pytest.mark.nightly
def test_friction_that_fades_sticks_and_slips_too():
    # the spring lets go at 0.6 / k, and the block is caught with the speed of the belt
    run = dl.simulate(belt(coulomb=0.3, static=0.6, stribeck=0.05), 1.0, samples=3, integrator="taylor")
    slips = [each for each in run.switchings if each.t > 0]
    assert slips[0].q == pytest.approx([0.6 / 40], abs=1e-12)
    assert [each.qd[0] for each in slips] == pytest.approx([0.2] * len(slips), abs=1e-12)
    assert slips[2].q == pytest.approx(slips[0].q, abs=1e-12)


@pytest.mark.parametrize(
    ("friction", "message"),
    [
        ({"coulomb": 3, "static": 2}, r"static friction is 2 and Coulomb friction 3\. Expected 0 < coulomb <= static"),
        ({"static": 2}, r"static friction is 2 and Coulomb friction 0\. Expected 0 < coulomb <= static"),
        ({"coulomb": 1, "static": 2, "smoothing": 0.1}, r"at rest only cannot be smoothed\. Give `stribeck`"),
        (
            {"coulomb": 1, "smoothing": -1},
            r"the smoothing is -1, so friction is undefined at rest\. Expected a positive",
        ),
    ],
)
def test_invalid_friction_is_reported(friction, message):
    with pytest.raises(ModelError, match=message):
        block(0.0, **friction).require_valid()
