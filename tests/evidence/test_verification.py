"""`verify` counts what it compares and raises if nothing can be compared."""

from typing import Any

import numpy as np
import pytest
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.errors import SingularError
from dalembert.evidence import comparison, verification
from dalembert.evidence.agreement import Agreement, Verdict
from dalembert.formalisms import catalog
from dalembert.mechanics.state_batch import States

AGREES = Verdict("agrees", None, 0.0, 0.0, ("T", "V"))


def three_rails(lean: float) -> dl.Model:
    """Two nearly dependent constraints."""
    model = dl.Model("rails").coordinates("x", "y", "z")
    rails = [model.prismatic(axis, name) for axis, name in zip(np.eye(3).tolist(), "xyz", strict=True)]
    model.body("bead", joint=rails, mass=1)
    return model.holonomic("x", name="wall").holonomic(f"x + {lean}*y", name="leaning wall")


def outcome(model: dl.Model) -> Agreement | dl.DalembertError:
    try:
        return dl.verify(model, states=5, engines=["python"])
    except dl.DalembertError as error:
        return error


def test_nearly_dependent_constraints_are_compared_or_rejected():
    found = outcome(three_rails(1e-4))
    if isinstance(found, Agreement):
        assert (found.states, found.n_lineages, found.agrees) == (5, 4, True)
    else:
        assert "leaning wall" in str(found)


def limit_regular_states(monkeypatch, count):
    """Let only `count` of the random states be regular."""
    monkeypatch.setattr(
        verification,
        "with_regular_speeds",
        lambda model, known, s: States(s.q[:, :count], s.qd[:, :count], s.t[:count]),
    )


def test_no_regular_states_raise_an_error_with_a_reason(monkeypatch):
    limit_regular_states(monkeypatch, 0)
    with pytest.raises(
        dl.SingularError, match=r"model 'rails': verify has nothing to compare\. At none of 10 .*\(wall"
    ) as e:
        dl.verify(three_rails(1.0), states=5, engines=["python"])
    assert "Remove constraints that are nearly dependent, or declare other speeds." in str(e.value)


def test_fewer_states_than_requested_are_reported(monkeypatch):
    limit_regular_states(monkeypatch, 3)
    agreement = dl.verify(three_rails(1.0), states=5, engines=["python"])
    assert agreement.states == agreement.to_dict()["states"] == 3
    assert agreement
    (note,) = agreement.notes
    assert note.startswith("compared at 3 of 5 requested states")


def test_nothing_compared_raises_an_error(monkeypatch):
    monkeypatch.setattr(catalog, "slow_compilation_reason", lambda about, model: "it is too large")
    with pytest.raises(dl.EngineError, match=r"no formalism could be evaluated \(lagrange: it is too large"):
        dl.verify(three_rails(1.0), states=5, engines=["python"])


@pytest.mark.parametrize(
    ("states", "verdicts"),
    [
        (0, {"lagrange": AGREES, "kane": AGREES}),
        (5, {}),
        (5, {"lagrange": AGREES}),
        (5, {"lagrange": Verdict("refused", "no", None, None), "kane": Verdict("left out", "large", None, None)}),
    ],
)
def test_nothing_compared_is_not_agreement(states, verdicts):
    assert not Agreement("m", states, 1e-10, ("python",), verdicts)


def test_lineages_of_a_model_of_bodies():
    agreement = dl.verify(dl.load("cart-pendulum"), states=4, engines=["python"])
    assert (agreement.states, agreement.n_lineages, agreement.agrees) == (4, 4, True)
    names = [name for group in agreement.lineages.values() for name in group]
    assert set(names) == {*catalog.KEYS, "recursion", "d'Alembert's principle"} - {"dirac"}  # the wheel is nonholonomic
    assert len(names) == len(set(names))
    data = agreement.to_dict()
    assert data["n_lineages"] == 4
    assert data["recursion"] == data["other_methods"]["recursion"]
    assert data["formalisms"]["kane"]["lineage"] == ["bodies", "active forces"]
    assert {"facts": ["recursion"], "by": ["denoc", "recursion"]} in data["lineages"]


def test_energies_are_one_lineage_and_the_principle_another():
    x: Any = dynamicsymbols("x")
    model = dl.Model.from_energies("free", coordinates=[x], kinetic=x.diff() ** 2 / 2, potential=x**2)
    agreement = dl.verify(model, states=4, engines=["python"])
    assert agreement
    assert agreement.n_lineages == 2
    assert agreement.recursion is None
    assert agreement.to_dict()["recursion"] is None


@pytest.mark.parametrize("status", ["agrees", "differs"])
def test_further_row_counts(monkeypatch, status):
    row = Verdict(status, None, 0.25, None, ("recursion",))
    monkeypatch.setattr(
        verification, "OTHER_METHODS", {"mine": lambda task, known: row, "absent": lambda task, known: None}
    )
    agreement = dl.verify(dl.load("simple-pendulum"), states=3, engines=["python"])
    assert agreement.other_methods == {"mine": row}
    assert agreement.agrees is (status == "agrees")
    assert agreement.max_difference == 0.25
    assert agreement.n_lineages == 3


def test_public_names_are_the_functions_of_their_modules():
    assert dl.verify is verification.verify
    assert dl.compare is comparison.compare


def test_formalism_that_cannot_be_evaluated_does_not_end_the_verification(monkeypatch):
    found = verification.largest_differences

    def failing(equations, states, known):
        if equations.formalism == "kane":
            raise SingularError("a matrix has rank 1. Expected 2.")
        return found(equations, states, known)

    monkeypatch.setattr(verification, "largest_differences", failing)
    agreement = dl.verify("simple-pendulum", states=5, engines=["python"])
    assert not agreement.agrees
    assert agreement.formalisms["kane"].status == "differs"
    assert "it cannot be evaluated on python: a matrix has rank 1" in agreement.formalisms["kane"].reason  # pyright: ignore[reportOperatorIssue]
    assert agreement.formalisms["lagrange"].status == agreement.formalisms["gauss"].status == "agrees"


def test_programs_that_runs_integrate_have_separate_rows():
    agreement = dl.verify(dl.load("simple-pendulum"), states=5)
    assert list(agreement.programs) == ["integrated right-hand side", "SIMD lanes", "Taylor program"]
    assert {row.status for row in agreement.programs.values()} == {"agrees"}
    assert set(agreement.to_dict()["programs"]) == set(agreement.programs)
    assert all(name in str(agreement) for name in agreement.programs)
    assert agreement.n_lineages == 4  # programs are not further lineages


def test_programs_of_switching_models_fix_their_conditions():
    model = dl.load("simple-pendulum").copy().joint_friction("bob", coulomb=0.2, name="bearing")
    agreement = dl.verify(model, states=8, engines=["native"])
    assert agreement
    assert agreement.programs["integrated right-hand side"].status == "agrees"
