"""The declared lineages are correct: mutating a shared fact changes exactly the formulations that depend on it."""

import sys
from dataclasses import fields, replace

import numpy as np
import pytest

import dalembert as dl
from dalembert import recursive
from dalembert.evidence.agreement import PRINCIPLE, RECURSION, count_independent_lineages
from dalembert.formalisms import catalog
from dalembert.formalisms.shared import common_quantities, phase_space
from dalembert.formalisms.shared.quantities import FACTS, Lineage, group_by_lineage
from dalembert.mechanics import state_batch
from dalembert.mechanics.energies import active_forces, applied_forces, kinetic, potential
from dalembert.mechanics.motion import Motion

LINEAGES = {**{m.ABOUT.key: m.ABOUT.lineage for m in catalog.FORMALISMS}, "recursion": RECURSION}
WRONG = 1.3


def mechanism() -> dl.Model:
    """A model with all inertia and load terms and a constraint that every formulation supports."""
    model = dl.Model("mechanism", gravity=(0, -9.81, 0)).coordinates("a", "b").coordinate("s", start=0.2)
    model.start([0.4, 0.3, 0.2], [0.0, 0.0, 0.0])
    model.body("upper", joint=model.revolute((0, 0, 1), "a"), mass=2, center=(0.5, 0.1, 0), inertia=(0.1, 0.2, 0.3))
    elbow = model.revolute((0, 1, 0), "b", position=(1, 0, 0))
    model.body("fore", parent="upper", joint=elbow, mass=1, center=(0.4, 0, 0.1), inertia=(0.3, 0.2, 0.1))
    model.body("slide", joint=model.prismatic((0, 1, 0), "s"), mass=1.5)
    model.spring(("fore", "world"), stiffness=30, natural_length=0.2, points=((0.5, 0, 0), (0.3, 1, 0.5)))
    model.force("fore", ("1 + t", 2, "-dot(a)"), point=(0.7, 0, 0))
    return model.holonomic("s - sin(a)", name="cam").start([0.4, 0.3, np.sin(0.4)], [0.0, 0.0, 0.0])


def answers(states: state_batch.States) -> dict[str, np.ndarray]:
    """Accelerations and reactions of every formalism, and the accelerations of the recursion, at a few states."""
    model = mechanism()
    at = (states.q, states.qd, states.t)
    out = {}
    for key in catalog.KEYS:
        eom = dl.derive(model, key, engine="python")
        out[key] = np.concatenate([eom.accelerations(*at), eom.reactions(*at)])
    out["recursion"] = dl.forward_dynamics(model, states.q, states.qd, None, states.t)
    return out


@pytest.fixture(scope="module")
def states() -> state_batch.States:
    return state_batch.consistent_states(mechanism(), 3)


@pytest.fixture(scope="module")
def expected(states) -> dict[str, np.ndarray]:
    """The results before any mutation: module fixtures are created before those of a test."""
    return answers(states)


def everywhere(monkeypatch, original, wrong) -> None:
    """Replace a function by `wrong` under every name it was imported by."""
    for name, module in list(sys.modules.items()):
        if name.startswith("dalembert"):
            for attribute, value in list(vars(module).items()):
                if value is original:
                    monkeypatch.setattr(module, attribute, wrong)


def moved(expected: dict[str, np.ndarray], states: state_batch.States) -> set[str]:
    now = answers(states)
    return {key for key, value in expected.items() if not np.allclose(now[key], value, rtol=1e-6, atol=1e-6)}


class TrueMotion(Motion):
    """A motion with the correct masses."""

    masses = property(Motion.masses.fget)  # pyright: ignore[reportIncompatibleMethodOverride]


def heavier(monkeypatch) -> None:
    """Make bodies too heavy in every sum over bodies except the kinetic energy."""
    right = Motion.masses.fget

    def wrong(motion):
        return tuple(replace(body, mass=WRONG * body.mass) for body in right(motion))

    def correct(motion, qd):
        return kinetic(TrueMotion(*(getattr(motion, field.name) for field in fields(motion))), qd)

    monkeypatch.setattr(Motion, "masses", property(wrong))
    everywhere(monkeypatch, kinetic, correct)


def mutate(monkeypatch, fact) -> None:
    if fact == "bodies":
        heavier(monkeypatch)
        return
    original = {
        "T": kinetic,
        "V": potential,
        "free motion": common_quantities.free_equations,
        "Legendre": phase_space.canonical_of,
        "active forces": active_forces,
        "wrenches": applied_forces,
        "recursion": recursive.mass_matrix,
    }[fact]

    def wrong(*arguments):
        out = original(*arguments)
        match fact:
            case "free motion":
                return out[0], WRONG * out[1]
            case "Legendre":
                return replace(out, H_q=WRONG * out.H_q)
            case "wrenches":
                scaled = [tuple(replace(w, force=WRONG * w.force) for w in load.wrenches) for load in out]
                return [replace(load, wrenches=parts) for load, parts in zip(out, scaled, strict=True)]
        return WRONG * out

    everywhere(monkeypatch, original, wrong)


@pytest.mark.parametrize("fact", [fact for fact in FACTS if fact not in PRINCIPLE])
def test_mutated_fact_changes_exactly_its_lineages(expected, states, monkeypatch, fact):
    mutate(monkeypatch, fact)
    assert moved(expected, states) == {key for key, lineage in LINEAGES.items() if fact in lineage}


def test_all_formalisms_agree_without_mutation(expected):
    for key, value in expected.items():
        assert np.allclose(value, expected["lagrange"][: len(value)], rtol=1e-9, atol=1e-9), key


def test_formalisms_that_use_the_free_motion():
    assert {key for key, lineage in LINEAGES.items() if "free motion" in lineage} == {
        "maggi",
        "udwadia_kalaba",
        "gauss",
        "phong",
        "nullspace",
    }


def test_four_independent_lineages_with_bodies_and_two_with_energies():
    assert count_independent_lineages([*LINEAGES.values(), PRINCIPLE]) == 4
    of_energies = [m.ABOUT.lineage for m in catalog.FORMALISMS if m.ABOUT.needs == "energies"]
    assert count_independent_lineages([*of_energies, PRINCIPLE]) == 2
    assert count_independent_lineages([]) == 0
    assert count_independent_lineages([RECURSION, RECURSION]) == 1


def test_largest_choice_is_independent_of_the_order():
    # a greedy choice of the first finds only one
    lineages: list[Lineage] = [("T", "bodies"), ("T", "V"), ("bodies", "wrenches")]
    assert count_independent_lineages(lineages) == count_independent_lineages(lineages[::-1]) == 2


def test_groups_are_complete_and_use_known_facts():
    groups = group_by_lineage(LINEAGES)
    assert sorted(name for names in groups.values() for name in names) == sorted(LINEAGES)
    assert {fact for lineage in groups for fact in lineage} | set(PRINCIPLE) == set(FACTS)


def test_wrong_kinetic_energy_is_detected_by_every_other_lineage(monkeypatch):
    mutate(monkeypatch, "T")
    agreement = dl.verify(mechanism(), states=3, engines=["python"])
    assert not agreement
    differing = {name for name, verdict in agreement.verdicts.items() if verdict.status == "differs"}
    assert {key for key, lineage in LINEAGES.items() if "T" not in lineage} <= differing
