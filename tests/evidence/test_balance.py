"""Bodies cut free: joint reactions balance loads and inertia, and a reaction that is wrong does not."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.evidence.balance import unbalanced, undriven
from dalembert.structure import samples

LOADS = ("force", "torque", "joint_torque", "spring", "damper")


def left(model, change=lambda name, found: found) -> float:
    eom = dl.derive(model, "lagrange", engine="portable")
    states = samples.consistent(eom.model, 4)
    here = (states.q, states.qd, states.t)
    found = {name: change(name, reaction) for name, reaction in eom.joint_reactions(*here).items()}
    qdd = eom.accelerations(*here)
    free = 0.0 if model.holonomic_list else float(undriven(model, states, qdd, found).max())
    return max(free, *(float(x.max()) for x in unbalanced(model, states, qdd, found).values()))


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_are_in_balance_under_every_load(random_tree, seed):
    assert left(random_tree(seed, loads=LOADS, holonomic=seed % 2)) < 1e-12


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "satellite-boom", "puma560"])
def test_the_gallery_is_in_balance(name):
    assert left(dl.load(name)) < 1e-11


@pytest.mark.parametrize("part", ["force", "moment"])
def test_a_wrong_reaction_is_noticed(part):
    model = dl.load("four-bar")
    for name in [body.name for body in model.bodies] + [loop.name for loop in model.loops]:

        def change(where, found, name=name):
            wrong = getattr(found, part) + 1e-6 * np.abs(found.force).max()
            return replace(found, **{part: wrong}) if where == name else found

        assert left(model, change) > 1e-8


SHARED = {
    "wrench of a force": (
        "model.loads.force",
        "at_point",
        lambda parts: tuple(replace(p, force=-p.force) for p in parts),
    ),
    "push of a loop": ("kinematics.loops", "_row", lambda row: replace(row, force=2 * row.force)),
    "place of a joint": ("kinematics.motion", None, lambda body: replace(body, p_WJ=body.p_WJ + 0.1)),
}


@pytest.mark.parametrize("fact", SHARED)
def test_a_false_fact_behind_the_reactions_is_noticed(fact, monkeypatch):
    module, name, change = SHARED[fact]
    held = importlib.import_module(f"dalembert.{module}")
    if name is None:
        held, name = held._Walk, "visit"
    right = getattr(held, name)
    monkeypatch.setattr(held, name, lambda *arguments: change(right(*arguments)))
    model = dl.load("four-bar")
    model.force(model.bodies[1].name, (1, 2, 0), point=(0.2, 0, 0))
    assert left(model) > 1e-3


def test_joints_transmit_what_drives_them():
    # a sprung joint with a motor: the moment about its axis is spring, friction and rotor together
    model = dl.Model("driven", gravity=(0, -9.81, 0)).coordinates("a")
    model.body("rod", joint=model.revolute((0, 0, 1), "a"), mass=1.0, center=(0.5, 0, 0), inertia=(0, 0, 0.1))
    model.joint_spring("rod", stiffness=3, damping=0.2).rotor("rod", 0.02, ratio=3).non_ideal({"a": 0.7})
    assert left(model) < 1e-14

    def forgets(name, found):
        return replace(found, moment=0 * found.moment)

    assert left(model, forgets) > 1e-2


def test_constraints_by_formulas_are_named():
    model = dl.load("cart-pendulum")
    states = samples.consistent(model, 1)
    with pytest.raises(InputError, match="Expected joints and loops only"):
        undriven(model, states, states.qd, {})


def test_contacts_are_named():
    model = dl.load("knife-edge")
    states = samples.consistent(model, 1)
    with pytest.raises(InputError, match=r"contact '.*' also pushes on its body"):
        unbalanced(model, states, states.qd, {})
