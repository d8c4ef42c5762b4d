"""The user's speeds are used: d, fewer, or the d − s of the reduced equations; otherwise a note reports the reason."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import NotApplicableError
from dalembert.mechanics.facts import facts_of
from dalembert.model.model import Model


def orbit(*speeds: tuple[str, str]) -> Model:
    """A point in polar coordinates on a spring to the origin, on a cart that slides freely: φ and z are ignorable."""
    model = Model("orbit").parameters(m=2.0, k=3.0)
    model.coordinate("r", 1.0, 0.2).coordinate("phi", 0.3, 0.9).coordinate("z", 0.0, 0.4)
    joints = [model.prismatic((0, 0, 1), "z"), model.revolute((0, 0, 1), "phi"), model.prismatic((1, 0, 0), "r")]
    model.body("point", joint=joints, mass="m").joint_spring("point", stiffness="k", rest=0.2, joint=2)
    for name, formula in speeds:
        model.speed(formula, name)
    return model


def expected(r: float, rd: float, phid: float) -> list[float]:
    """r̈ = r φ̇² − k/m (r − 0.2), φ̈ = −2 ṙ φ̇ / r, z̈ = 0."""
    return [r * phid**2 - 1.5 * (r - 0.2), -2 * rd * phid / r, 0.0]


@pytest.mark.parametrize("formula", ["dot(r)", "dot(r) + dot(phi)", "3*dot(r) - 2*dot(z) + r*dot(phi)"])
def test_as_many_speeds_as_reduced_equations_are_the_ones_used(formula):
    reduced = dl.derive(orbit(("mine", formula)), "volterra_reduced", engine="python")
    assert reduced.ignorable == ("phi", "z")
    assert reduced.velocity_names == ("mine",)
    assert tuple(reduced.speeds) == ("mine",)
    assert not any("left out" in note for note in reduced.notes)
    qdd = reduced.accelerations([1.3, 0.4, 0.1], [0.7, -0.8, 0.5])
    assert np.allclose(qdd, expected(1.3, 0.7, -0.8), rtol=1e-12)


def test_user_speeds_keep_order_and_names():
    model = orbit(("second", "dot(phi)"), ("first", "dot(r) + dot(z)"))
    kane = dl.derive(model, "kane", engine="python")
    assert kane.velocity_names[:2] == ("second", "first")
    assert any(note.startswith("the declared speeds were completed by u3 = dot(") for note in kane.notes)


def test_rejects_speeds_that_are_constants_of_the_motion():
    # r² φ̇ is the constant momentum itself, so it does not determine ṙ
    model = orbit(("momentum", "r**2*dot(phi)"))
    with pytest.raises(NotApplicableError) as caught:
        dl.derive(model, "volterra_reduced", engine="python")
    assert "the speeds momentum cannot serve as u_NI" in str(caught.value)
    assert "constant momenta of the ignorable coordinates" in str(caught.value)
    agreement = dl.verify(model, states=5, engines=["python"])
    assert agreement.agrees
    assert agreement.formalisms["volterra_reduced"].status == "refused"
    assert agreement.formalisms["kane"].status == "agrees"


def test_reduced_speeds_avoid_ignorable_velocities_and_note_the_others():
    model = orbit(("turn", "dot(phi)"), ("mixed", "dot(r) + dot(z)"), ("pure", "2*dot(r)"))
    reduced = dl.derive(model, "volterra_reduced", engine="python")
    assert tuple(reduced.speeds) == ("pure",)
    (message,) = [note for note in reduced.notes if "left out" in note]
    assert message == (
        "of the 3 user-defined speeds 1 serves as u_NI; turn, mixed were left out: they contain velocities of ignorable "
        "coordinates, and the constant momenta replace them"
    )
    assert not any("left out" in note for note in dl.derive(model, "kane", engine="python").notes)


def test_two_user_speeds_for_one_reduced_equation():
    reduced = dl.derive(orbit(("mixed", "dot(r) + dot(z)"), ("turn", "dot(phi)")), "volterra_reduced", engine="python")
    assert tuple(reduced.speeds) == ("mixed",)
    assert any("turn was left out" in note for note in reduced.notes)
    assert np.allclose(reduced.accelerations([1.3, 0.4, 0.1], [0.7, -0.8, 0.5]), expected(1.3, 0.7, -0.8))


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e3, 1e6])
def test_a_speed_may_be_small_or_large(unit):
    reduced = dl.derive(orbit(("mine", f"{unit}*(dot(r) + dot(phi))")), "volterra_reduced", engine="python")
    assert tuple(reduced.speeds) == ("mine",)
    assert np.allclose(reduced.accelerations([1.3, 0.4, 0.1], [0.7, -0.8, 0.5]), expected(1.3, 0.7, -0.8), rtol=1e-10)


def test_completed_speeds_do_not_replace_user_speeds():
    known = facts_of(orbit(("given", "dot(r) + 0.001*dot(z)")))
    assert (known.n_user_speeds, known.speed_names[0], known.reduced) == (1, "given", (0,))
