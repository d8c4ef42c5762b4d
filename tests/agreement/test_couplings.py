"""All formalisms and the principle agree on couplings, rods, slots, planes, surfaces, curves and rolling in space."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dalembert as dl
from dalembert.evidence import _principle
from dalembert.mechanics import state_batch
from dalembert.model.contacts import CONTACTS
from dalembert.model.contacts.base import PositionContact
from dalembert.model.contacts.rolling import Rolling
from dalembert.model.model import Model

SOLID = {"mass": 1.3, "center": (0.2, 0.1, -0.1), "inertia": (0.3, 0.4, 0.35, 0.02, -0.03, 0.01)}
ROD = {"mass": 0.8, "center": (0.4, 0.05, 0), "inertia": (0.02, 0.1, 0.11)}


def hand_and_load() -> Model:
    """An arm with a universal joint in its elbow, and a free load with prescribed rotation."""
    model = Model("hand and load", gravity=(1.0, -9.81, 2.0)).parameters(k=0.4)
    model.coordinates("a", "b", "c", "x", "y", "z").start(
        [0.3, 0.5, -0.2, 0.9, 0.8, 0.1], [1, 0.3, -0.2, 0.1, 0.2, 0.4]
    )
    model.body("arm", joint=model.revolute((0, 0, 1), "a"), **ROD)
    cross = model.universal(((0, 0, 1), (0, 1, 0)), ("b", "c"), position=(0.8, 0, 0))
    model.body("hand", parent="arm", joint=cross, **ROD)
    slides = [model.prismatic(axis, name) for axis, name in zip(np.eye(3), "xyz", strict=True)]
    return model.body("load", joint=[*slides, model.revolute((1, 1, 0), "0.3*sin(t) + x")], **SOLID)


BOTH = {"bodies": ("hand", "load"), "points": ((0.3, 0.1, 0.2), (-0.1, 0.2, 0.1))}
TIED = {"bodies": ("arm", "hand"), "motions": (0, 1)}
MADE: dict[str, Callable[[Model], Model]] = {
    "coupling": lambda m: m.coupling(("arm", "hand", "hand", "load"), (1, "k", -2, 3), joints=(0, 0, 0, 3), motions=(0, 0, 1, 0)),
    "gear": lambda m: m.gear(ratio="1 + k", internal=True, phase="k/9", **TIED),
    "belt": lambda m: m.belt(radii=(0.2, "k"), crossed=True, **TIED),
    "rack_and_pinion": lambda m: m.rack_and_pinion(("hand", "load"), "-k"),
    "worm": lambda m: m.worm(teeth=6, starts=4, left=True, **TIED),
    "distance": lambda m: m.distance(length="0.3 + k", **BOTH),
    "point_on_line": lambda m: m.point_on_line(axis=(1, 2, 2), **BOTH),
    "point_in_plane": lambda m: m.point_in_plane(normal=(1, 2, 3), **BOTH),
    "point_on_surface": lambda m: m.point_on_surface(surface="x**2/4 + y**2 + 2*z**2 - k", **BOTH),
    "point_on_curve": lambda m: m.point_on_curve(curve=("x - sin(k*z)", "y - atan2(z, x + 2) - 0.1*t"), **BOTH),
}  # fmt: skip


def test_the_table_is_complete():
    assert set(MADE) == {kind.kind for kind in CONTACTS if issubclass(kind, PositionContact)}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", MADE)
def test_every_formalism_agrees_and_satisfies_the_principle(kind):
    model = MADE[kind](hand_and_load())
    model.assemble_start = True
    found = dl.verify(dl.assemble_model(model), states=20, engines=["native"], tolerance=1e-9)
    assert {key: v.reason for key, v in found.formalisms.items() if v.status != "agrees"} == {}
    assert found.recursion is not None
    assert found.recursion.status == "agrees"
    assert found.principle is not None
    assert found.principle.status == "agrees"
    assert found.max_difference <= 1e-9


def test_every_formalism_agrees_on_a_rack_that_lifts_a_pin_in_a_slot():
    # one of each family in a plane, with a joint that depends on a coordinate and on time
    model = Model("press", gravity=(0, -9.81, 0)).coordinates("a", "x", "y")
    model.body(
        "pinion", joint=model.revolute((0, 0, 1), "2*a + 0.1*t"), mass=1, center=(0.1, 0.2, 0), inertia=(0, 0, 1)
    )
    model.body("rack", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    model.body("pin", parent="rack", joint=model.prismatic((0, 1, 0), "y"), mass=0.5)
    model.rack_and_pinion(("pinion", "rack"), 0.3).point_in_plane(
        ("pinion", "pin"), (1, 1, 0), points=((0, 1, 0), (0, 0, 0))
    )
    model.assemble_start = True
    found = dl.verify(dl.assemble_model(model), states=5, engines=["python"])
    assert {v.status for v in (*found.formalisms.values(), found.recursion, found.principle) if v is not None} == {
        "agrees"
    }
    assert found.max_difference <= 1e-10


def stone_on_table() -> Model:
    """A free body and a table that slides and rotates, with a prescribed rotation."""
    model = (
        Model("stone", gravity=(1.0, 0.5, -9.81)).parameters(r=0.3).coordinates("s", "w", "x", "y", "z", "a", "b", "c")
    )
    model.start([0.1, 0.2, 0.4, -0.3, 0.9, 0.3, 0.5, -0.2], [0.3, 0.5, 0.4, -0.2, 0.1, 0.6, -0.7, 1.1])
    table = [model.prismatic((1, 0, 0), "s"), model.revolute((0, 0, 1), "w + 0.3*sin(t)", rotation=(0.1, 0.2, 0))]
    model.body("table", joint=table, mass=2, center=(0.1, 0, 0.2), inertia=(0.4, 0.5, 0.6))
    return model.body("stone", joint=model.free(("x", "y", "z"), ("a", "b", "c"), "zxy"), **SOLID)


ON_TABLE = {"ground": "table", "point": (0.1, 0.2, 0.3), "normal": (0, -0.6, 0.8), "center": (0.1, 0, 0.05)}
ROLLS: dict[str, Callable[[Model], Model]] = {
    "rolling_disk": lambda m: m.rolling_disk("stone", "r", axis=(0.3, 1, 0), **ON_TABLE),
    "rolling_ball": lambda m: m.rolling_ball("stone", "r", **ON_TABLE),
    "rolling_ellipsoid": lambda m: m.rolling_ellipsoid("stone", ("2*r", 0.4, "r"), rotation=(0, 0, 0.3), **ON_TABLE),
}


def test_the_table_of_rolling_contacts_is_complete():
    assert set(ROLLS) == {kind.kind for kind in CONTACTS if issubclass(kind, Rolling)}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ROLLS)
def test_every_formalism_agrees_on_rolling_on_a_moving_body(kind):
    model = ROLLS[kind](stone_on_table())
    model.assemble_start = True
    found = dl.verify(dl.assemble_model(model), states=5, engines=["python"])
    assert {key for key, v in found.formalisms.items() if v.status != "agrees"} == {"dirac"}
    assert found.recursion is not None
    assert found.principle is not None
    assert (found.recursion.status, found.principle.status) == ("agrees", "agrees")
    assert found.max_difference <= 1e-10


@pytest.mark.parametrize("kind", ROLLS)
def test_the_principle_holds_for_rolling_on_a_prescribed_body(kind):
    model = Model("stone", gravity=(0, 0.5, -9.81)).parameters(r=0.3).coordinates("x", "y", "z", "a", "b")
    model.body("table", joint=model.prismatic((0.6, 0, 0.8), "0.3*sin(t)"))
    model.body("stone", joint=model.free(("x", "y", "z"), ("a", "b", 0.2), "zxy"), **SOLID)
    model.assemble_start = True
    model = dl.assemble_model(ROLLS[kind](model.start([0.4, -0.3, 0.9, 0.3, 0.5], [0.4, -0.2, 0.1, 0.6, -0.7])))
    eom = dl.derive(model, engine="python")
    states = state_batch.consistent_states(eom.model, 3)
    at = states.q, states.qd, states.t
    found = _principle.residual(model, states, eom.accelerations(*at), eom.reactions(*at)).largest
    assert max(dict(found).values()) < 1e-8
