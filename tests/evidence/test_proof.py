"""Proofs: the gallery is proved, and an error of a sign, a factor or 1e-9 is detected."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.evidence import _mechanics_identities
from dalembert.evidence._degree_bounds import degrees_of
from dalembert.evidence.proof import MAX_ERROR_PROBABILITY, prove
from dalembert.formalisms import catalog
from dalembert.io import gallery
from dalembert.symbolic.nodes import call, symbol
from dalembert.symbolic.prime_field import P, Undecidable
from dalembert.symbolic.random_points import RandomPoint

# proved in every run; the others in the nightly one
USUAL = (
    "appell-hamel",
    "bead-on-wire-cartesian",
    "cart-pendulum",
    "chaplygin-sleigh",
    "double-pendulum",
    "four-bar",
    "gyroscope",
    "heavy-top",
    "knife-edge",
    "over-constrained",
    "pendulum-on-balance",
    "phong-disk",
    "phong-pendulum",
    "robot-2-link",
    "rough-surface",
    "rp-robot",
    "simple-pendulum",
    "slider-crank-2",
    "spherical-pendulum",
    "three-bodies",
    "tracking",
    "vertical-disk",
)
SATELLITE = pytest.param("satellite-boom", marks=pytest.mark.slow(3))
REST = tuple(name for name in gallery.names() if name not in (*USUAL, "satellite-boom"))
TINY = 1e-9


@pytest.mark.parametrize("name", [*USUAL, SATELLITE, *(pytest.param(name, marks=pytest.mark.nightly) for name in REST)])
def test_all_formalisms_are_one_function(name):
    model = dl.load(name)
    proof = prove(model)
    claims = {**proof.formalisms, **proof.identities}
    assert {key: claim for key, claim in claims.items() if claim.status in ("different", "undecided")} == {}
    assert proof.probability <= MAX_ERROR_PROBABILITY
    assert proof.proved or proof.undecided  # switching elements are listed
    refused = {key for key, claim in proof.formalisms.items() if claim.status == "refused"}
    assert len(catalog.KEYS) - len(refused) >= 2


def loaded() -> dl.Model:
    """A model that every formulation supports, with a constraint, several loads and an ignorable coordinate."""
    model = dl.Model("loaded", gravity=(0, -9.81, 0)).parameters(m=1.2, k=30.0)
    model.coordinate("x").coordinate("a", start=0.4).coordinate("s", start=0.2)
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass="m")
    model.body(
        "bob",
        parent="cart",
        joint=model.revolute((0, 0, 1), "a"),
        mass=2.1,
        center=(0, -0.5, 0.1),
        inertia=(0.1, 0.2, 0.3),
    )
    model.body("slide", parent="cart", joint=model.prismatic((0, 1, 0), "s"), mass=0.7)
    model.spring(("bob", "cart"), stiffness="k", natural_length=0.3, points=((0, -0.7, 0), (0.4, 0.2, 0)))
    model.joint_spring("slide", stiffness=4.5, damping=0.3)
    return model.holonomic("s - 0.5*a", name="cam")


def mutate_derivation(monkeypatch, key, **change):
    module = catalog.find(key)
    right = module.derive

    def wrong(system, *more, **named):
        found = right(system, *more, **named)
        linear = found.form.linear
        parts = {name: spoil(getattr(linear, name)) for name, spoil in change.items()}
        return replace(found, form=replace(found.form, linear=replace(linear, **parts)))

    monkeypatch.setattr(module, "derive", wrong)


def off(entries):
    """The entries with a relative error of 1e-9."""
    return np.array(entries, dtype=object) * (1 + TINY)


def test_unfalsified_model_is_proved():
    proof = prove(loaded())
    assert proof.proved
    assert all(claim.status == "proved" for claim in proof.formalisms.values())


@pytest.mark.parametrize("key", catalog.KEYS[1:])
@pytest.mark.parametrize("part", ["f", pytest.param("M", marks=pytest.mark.nightly)])
def test_detects_a_relative_error_of_1e_9_in_any_formalism(monkeypatch, key, part):
    mutate_derivation(monkeypatch, key, **{part: off})
    proof = prove(loaded(), ["lagrange", key])
    assert not proof.proved
    assert proof.formalisms[key].status == "different"
    assert "accelerations" in (proof.formalisms[key].reason or "")


@pytest.mark.parametrize("key", [k for k in catalog.KEYS if hasattr(catalog.find(k), "reaction")])
def test_detects_a_wrong_sign_of_the_reactions(monkeypatch, key):
    module = catalog.find(key)
    right = vars(module)["reaction"]
    monkeypatch.setattr(module, "reaction", lambda system: -right(system))
    proof = prove(loaded(), ["lagrange", key])
    assert proof.formalisms[key].reason == "other reactions"


def test_detects_a_wrong_energy_and_a_wrong_recursion(monkeypatch):
    right = _mechanics_identities.power_into
    monkeypatch.setattr(_mechanics_identities, "power_into", lambda system: right(system) * (1 + TINY))
    proof = prove(loaded(), ["lagrange", "kane"])
    assert proof.identities[_mechanics_identities.EnergyRate.name].status == "different"
    monkeypatch.setattr(_mechanics_identities, "power_into", right)
    composed = _mechanics_identities.recursive.mass_matrix
    monkeypatch.setattr(_mechanics_identities.recursive, "mass_matrix", lambda moving: composed(moving) * (1 + TINY))
    proof = prove(loaded(), ["lagrange", "kane"])
    assert proof.identities[_mechanics_identities.Recursion.name].status == "different"


def test_switching_elements_are_proved_on_every_branch_and_listed():
    model = loaded().force("cart", ("-200*max(x - 5, 0)", 0, 0), name="bumper")
    proof = prove(model)
    assert not proof.proved
    assert list(proof.undecided) == ["force 'bumper'"]
    assert {claim.status for claim in proof.formalisms.values()} == {"proved"}
    assert "Undecided (use dl.verify)" in str(proof)


def test_reports_facts_that_hold_only_for_the_values_of_the_model():
    model = dl.Model("top", gravity=(0, 0, -9.81)).parameters(a=0.2, b=0.2, c=0.3).coordinates("phi", "psi")
    model.coordinate("theta", start=0.5)
    ball = model.spherical(angles=("phi", "theta", "psi"), sequence="zxz")
    model.body("top", joint=ball, mass=1, center=(0, 0, 0.4), inertia=("a", "b", "c"))
    assert prove(model, ["lagrange", "routh"]).parameters == "the given values"
    other = model.with_parameters({"b": 0.25})
    assert prove(other, ["lagrange", "routh"]).parameters == "all values"


def test_proofs_have_a_dict_and_a_summary():
    fractions: list[float] = []
    proof = prove(dl.load("cart-pendulum"), progress=fractions.append)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    found = proof.to_dict()
    assert found["proved"] is True
    assert set(found) == {
        "model",
        "proved",
        "formalisms",
        "identities",
        "probability",
        "undecided",
        "parameters",
        "notes",
        "programs",
        "seed",
    }
    assert str(proof).startswith("17 formalisms of 'cart-pendulum' are identical functions of state and time")


def test_constraints_that_are_always_redundant_are_proved_redundant():
    model = loaded().holonomic("3*s - 1.5*a", name="again")
    assert prove(model, ["lagrange", "gauss"]).notes == (
        "redundant constraints (again) are proved to follow from the others at every state",
    )
    assert "at the sampled states" in prove(dl.load("bricard"), ["lagrange", "gauss"]).notes[0]


def test_axis_length_without_a_root_in_the_field_uses_the_extension():
    # 9086 is not a quadratic residue, so the proof uses GF(P²)
    model = dl.Model("slant", gravity=(0, 0, -9.81)).coordinates("q", "r")
    model.body("rod", joint=model.revolute((3, 41, 86), "q"), mass=1, center=(0.1, 0.2, 0.3), inertia=(1, 2, 2.5))
    model.body(
        "arm", parent="rod", joint=model.revolute((1, 2, 3), "r", position=(0, 0, 1)), mass=2, center=(0, 0.3, 0)
    )
    assert dl.prove(model).proved


def test_the_sign_of_a_root_is_tested_at_several_points():
    # √(x²) is x at half of the points
    def model(potential):
        kinetic = "dot(x)**2 + dot(y)**2 + 0.1*dot(x)*dot(y)"
        return dl.Model.from_energies("well", coordinates=["x", "y"], kinetic=kinetic, potential=potential)

    proof = dl.prove(model("sqrt((x*y)**2)*y"))
    assert proof.proved
    assert proof.probability <= MAX_ERROR_PROBABILITY


@pytest.mark.parametrize("number", [str(P), str(3 * P), f"5/{P}", f"{7 * P}/11"])
def test_numbers_divisible_by_the_prime_are_rejected(number):
    model = dl.Model.from_energies("odd", coordinates=["x"], kinetic="dot(x)**2/2", potential=f"({number})*x**2")
    with pytest.raises(dl.InputError, match="divisible by") as found:
        prove(model, ["lagrange", "hamilton"])
    assert str(P) in str(found.value)


def test_a_force_divisible_by_the_prime_is_neither_ignored_nor_dropped():
    # it is zero in the field: x would be ignorable, and the optimized program would have no force
    model = dl.Model.from_energies("odd", coordinates=["x"], kinetic="dot(x)**2/2", potential=f"-{P}*x/10**38")
    eom = dl.derive(model)
    assert eom.ignorable == ()
    force = P / 10**38
    assert eom.accelerations([0.0], [0.0])[0] == pytest.approx(force)
    assert dl.simulate(model, 1.0).q[0][-1] == pytest.approx(force / 2)
    large = dl.Model.from_energies("large", coordinates=["x"], kinetic="dot(x)**2/2", potential=f"-{P}*x*t**2")
    assert dl.simulate(large, 1.0, integrator="dop853").q[0][-1] == pytest.approx(P / 12)


def test_the_seed_is_random_and_reported_and_repeats_a_proof():
    model = dl.load("simple-pendulum")
    first, second = (prove(model, ["lagrange", "kane"]) for _ in range(2))
    assert first.seed != second.seed
    assert f"seed {first.seed}" in str(first)
    assert prove(model, ["lagrange", "kane"], seed=first.seed).to_dict() == first.to_dict()
    with pytest.raises(dl.InputError, match="seed"):
        prove(model, seed=-1)


def test_the_optimized_program_of_every_formalism_is_proved():
    proof = prove(loaded(), seed=2)
    assert {claim.status for claim in proof.programs.values()} == {"proved"}
    assert set(proof.programs) == set(proof.formalisms)
    assert "optimized = raw, kane" in str(proof)


def test_a_large_factor_of_an_angle_raises_the_bound():
    x = symbol("x")
    small, large = (degrees_of([call("sin", x * k)]).total for k in (1, 1000))
    assert large == 1000 * small
    with pytest.raises(Undecidable):
        RandomPoint(1, [call("sin", x * (P + 1))]).values([call("sin", x * (P + 1))])
