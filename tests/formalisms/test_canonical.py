"""Constraints on momenta: closed forms, secondary constraints, drift, and formulations that reject them."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.formalisms import catalog
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml

B, K = 3.0, 5.0


def field() -> dl.Model:
    """A particle of mass 2 on a spring, constrained to p = B/2 (−y, x)."""
    model = dl.Model("field").parameters(B=B, k=K).coordinate("x", 1.0).coordinate("y", 0.0, B / 4)
    model.body("particle", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
    model.joint_spring("particle", joint=0, stiffness="k").joint_spring("particle", joint=1, stiffness="k")
    return model.canonical("p(x) + B/2*y", name="first").canonical("p(y) - B/2*x", name="second")


def light() -> dl.Model:
    """x has no momentum and follows y, which oscillates at the rate 2."""
    kinetic, potential = "dot(x)**2/2 + 2*dot(y)**2/2", "5*(x - y)**2/2 + 8*y**2/2"
    model = dl.Model.from_energies("light", coordinates=["x", "y"], kinetic=kinetic, potential=potential)
    return model.canonical("p(x)", name="light").start([1, 1], [0, 0])


def ball(*formulas: str) -> dl.Model:
    """A particle on a sphere, with constraints on its momenta."""
    model = dl.Model("ball", gravity=(0, 0, -9.81)).coordinate("x", 0.6).coordinate("y", 0.0).coordinate("z", -0.8)
    axes = zip(np.eye(3).tolist(), "xyz", strict=True)
    model.body("ball", joint=[model.prismatic(axis, name) for axis, name in axes], mass=2)
    model.holonomic("x**2 + y**2 + z**2 - 1", name="sphere")
    for formula in formulas:
        model.canonical(formula)
    return model


@pytest.mark.parametrize("mode", ["fused", "assembled"])
@pytest.mark.parametrize("project", [True, False])
def test_particle_in_a_strong_field_moves_in_a_circle(mode, project):
    # on the constraints H = (k + B²/(4m)) r²/2 with the bracket {x, y} = −1/B
    eom = dl.derive(field(), "dirac", mode=mode)
    run = eom.simulate(10.0, samples=51, integrator="dop853", project=project, rtol=1e-11, atol=1e-11)
    rate = (K + B**2 / 8) / B
    circle = np.array([np.cos(rate * run.t), np.sin(rate * run.t)])
    assert np.abs(run.q - circle).max() < 1e-9
    assert np.abs(run.qd - rate * np.array([-circle[1], circle[0]])).max() < 1e-8
    assert np.abs(run.qdd + rate**2 * circle).max() < 1e-8
    assert np.abs(run.violation).max() < 1e-9
    assert run.violation_names == ("first", "second")
    assert not any("imply" in note for note in eom.notes)


def test_motion_differs_from_that_of_velocity_constraints():
    # with p = 2 q̇ the same formulas would be velocities that rotate at the rate B/4
    run = dl.derive(field(), "dirac").simulate(1.0, samples=3)
    assert np.abs(run.q[:, -1] - [np.cos(B / 4), np.sin(B / 4)]).max() > 0.1


@pytest.mark.parametrize("engine", ["python", None])
def test_coordinate_without_momentum_follows(engine):
    # ṗ(x) = 0 implies x = y, and then 2 ÿ = −8 y
    eom = dl.derive(light(), "dirac", engine=engine)
    assert any("rate of light" in note for note in eom.notes)
    run = eom.simulate(5.0, samples=26, integrator="dop853", rtol=1e-11, atol=1e-11)
    assert np.abs(run.q - np.cos(2 * run.t)).max() < 1e-9
    assert np.abs(run.qd + 2 * np.sin(2 * run.t)).max() < 1e-8
    assert np.ptp(run.energy) < 1e-8


@pytest.mark.parametrize(
    ("formulas", "start", "count"),
    [
        # two constraints whose bracket is 2 y: they determine each other's multipliers, and φ̇ = 0 does not follow for H_p
        (("p(y) - x*y + 0.1728*cos(t)",), [0.48, 0.36, -0.8], 2),
        # three: an odd number implies another
        (("p(y) - 0.4*x + 0.24*cos(t)", "p(x) + 0.3*y"), [0.6, 0.0, -0.8], 4),
    ],
)
def test_mixed_and_rheonomic_constraints_are_satisfied(formulas, start, count):
    eom = dl.derive(ball(*formulas).start(start, [0, 0, 0]), "dirac")
    h = 1e-5
    run = eom.simulate(times=[0, 0.08 - h, 0.08, 0.08 + h], project=False, integrator="dop853", rtol=1e-12, atol=1e-12)
    assert len(run.violation) == count
    assert np.abs(run.violation).max() < 1e-6
    assert np.abs(run.violation[0]).max() < 1e-11
    assert np.ptp(run.energy) > 1e-4
    assert np.ptp(run.balance) < 1e-9
    # q̇ and q̈ are the rates of q and q̇
    for values, rates in ((run.q, run.qd), (run.qd, run.qdd)):
        measured = (values[:, 3] - values[:, 1]) / (2 * h)
        assert np.allclose(measured, rates[:, 2], rtol=1e-4, atol=1e-5)
    with pytest.raises(dl.SingularError, match="brackets of sphere"):
        dl.derive(ball("p(y) - x*y"), "dirac").simulate(1.0)  # their bracket 2 y vanishes at this start


def test_stabilization_replaces_projection():
    run = dl.derive(light(), "dirac").simulate(3.0, samples=11, stabilization=5.0, integrator="rk45")
    assert np.abs(run.violation).max() < 1e-6


def test_chain_of_secondary_constraints_is_complete():
    # p(x) = 0 implies V_x = z = 0, that p(z) = 0, and that x = −y: two more rounds, and y oscillates with 2 ÿ = −3 y
    kinetic, potential = "dot(x)**2/2 + dot(y)**2 + dot(z)**2/2", "z*(x + y) + 3*y**2/2"
    model = dl.Model.from_energies("chain", coordinates=["x", "y", "z"], kinetic=kinetic, potential=potential)
    eom = dl.derive(model.canonical("p(x)", name="first").start([-1, 1, 0], [0, 0, 0]), "dirac")
    assert eom.form.own_multipliers is not None
    assert eom.form.own_multipliers.surface.names == (
        "first",
        "rate of first",
        "rate of rate of first",
        "rate of rate of rate of first",
    )
    run = eom.simulate(3.0, samples=16, integrator="dop853", rtol=1e-11, atol=1e-11)
    swing = np.cos(np.sqrt(1.5) * run.t)
    assert np.abs(run.q - [-swing, swing, 0 * swing]).max() < 1e-9


def test_initial_state_off_the_constraints_is_rejected_by_name():
    model = field().start([1, 0], [0, 1.0])
    with pytest.raises(dl.InconsistentStateError, match=r"'second' is 0\.5"):
        dl.derive(model, "dirac").simulate(1.0)
    with pytest.raises(dl.InconsistentStateError, match="'rate of light'"):
        dl.derive(light(), "dirac").simulate(1.0, q0={"x": 1.5})
    with pytest.raises(dl.InconsistentStateError, match="'rate of light'"):
        dl.derive(light(), "dirac").simulate(1.0, q0={"x": 1.5}, stabilization=2.0)


@pytest.mark.parametrize("formula", ["p(x)", "x*p(y) - y*p(x)"])
def test_first_class_constraint_is_rejected(formula):
    model = dl.Model.from_energies("free", coordinates=["x", "y"], kinetic="dot(x)**2 + dot(y)**2")
    with pytest.raises(dl.SingularError, match="multiplier of 'free' is not determined"):
        dl.derive(model.canonical(formula, name="free").start([1, 0], [0, 0]), "dirac")


def test_contradictory_constraints_are_rejected():
    model = dl.Model.from_energies("fall", coordinates=["x"], kinetic="dot(x)**2/2", potential="3*x")
    with pytest.raises(dl.InconsistentStateError, match="p, rate of p"):
        dl.derive(model.canonical("p(x)", name="p"), "dirac")


def test_every_other_formalism_rejects_them_by_name():
    for key in catalog.KEYS:
        if key != "dirac":
            with pytest.raises(
                dl.NotApplicableError, match=r"'(first|light)' contains momenta|needs the momenta of bodies"
            ):
                dl.derive(light() if key == "routh" else field(), key)


@pytest.mark.parametrize(
    "call",
    [
        dl.verify,
        dl.assemble_state,
        dl.branches,
        lambda model: dl.forward_dynamics(model, [1, 0], [0, 0]),
        lambda model: dl.inverse_dynamics(model, [1, 0], [0, 0], [0, 0]),
        lambda model: dl.derive(model, "dirac").joint_reactions(*model.initial),
    ],
)
def test_unsupported_functions_raise(call):
    with pytest.raises(dl.NotApplicableError, match="'first' of model 'field' contains momenta"):
        call(field())


def test_mobility_excludes_them_with_a_warning():
    found = dl.mobility(field())
    assert found.degrees_of_freedom == 2
    assert "'first' contains momenta" in found.warnings[0]


def test_reactions_are_the_multiplier_terms_of_the_momenta():
    # ṗ = −k q + c_qᵀΛ, and p = B/2 (−y, x) rotates with the particle
    eom = dl.derive(field(), "dirac")
    rate = (K + B**2 / 8) / B
    assert np.allclose(eom.reactions(*field().initial), [K - B / 2 * rate, 0])


def test_files_round_trip():
    text = to_toml(field())
    assert '[[canonical]]\nname = "first"\nformula = "' in text
    again = loads_toml(text)
    assert again.canonical_constraints == field().canonical_constraints


def test_reports_every_problem():
    model = field()
    for formula, message in (
        ("p(z)", "momentum of 'z', which is not a coordinate"),
        ("p(x + y)", "is not the momentum of a coordinate"),
        ("dot(x)", "velocities are not allowed here"),
    ):
        with pytest.raises(dl.InputError, match=message):
            model.copy().canonical(formula)
    with pytest.raises(dl.InputError, match="momenta are not allowed here"):
        model.copy().nonholonomic("p(x)")
    assert "declare it as holonomic" in str(model.copy().canonical("x - 1").check()[0])
    assert "used 2 times" in str(model.copy().canonical("p(x)", name="first").check()[0])


def test_coordinate_in_a_constraint_is_not_ignorable():
    model = dl.Model.from_energies("free", coordinates=["x", "y"], kinetic="dot(x)**2 + dot(y)**2", potential="y**2")
    assert dl.mobility(model).ignorable == ("x",)
    assert dl.mobility(model.canonical("p(y) - x")).ignorable == ()


# multipliers


def test_the_multipliers_of_a_particle_in_a_strong_field_have_their_closed_form():
    """c_p = 1, so Λ = ∂H/∂p − q̇ by (5.291), with p = B/2 (−y, x), ∂H/∂p = p/2 and q̇ = rate (−y, x)."""
    eom = dl.derive(field(), "dirac")
    run = eom.simulate(2.0, samples=9, rtol=1e-11, atol=1e-11)
    x, y = run.q
    expected = (B / 4 - (K + B**2 / 8) / B) * np.array([-y, x])
    assert eom.constraint_names == run.constraint_names == ("first", "second")
    assert np.abs(run.multipliers - expected).max() < 1e-8
    start = eom.multipliers(*eom.model.initial)
    assert np.abs(start - expected[:, 0]).max() < 1e-12
    many = eom.multipliers(np.repeat(run.q[:, :1], 3, axis=1), np.repeat(eom.model.initial[1][:, None], 3, axis=1))
    assert np.array_equal(many, np.repeat(start[:, None], 3, axis=1))
    assert np.abs(run.reactions - np.array([-B / 2 * expected[1], B / 2 * expected[0]])).max() < 1e-8  # c_qᵀΛ


def test_implied_constraints_have_multipliers_by_name():
    """c = (p_x, ṗ_x = −5 (x − y)): ẋ = p_x − Λ₁, and x = y oscillates at the rate 2."""
    run = dl.derive(light(), "dirac").simulate(1.0, samples=5, rtol=1e-11, atol=1e-11)
    assert run.constraint_names == ("light", "rate of light")
    assert np.abs(run.multipliers[0] - 2 * np.sin(2 * run.t)).max() < 1e-8
    assert np.abs(run.multipliers[1]).max() < 1e-8


def test_page_marks_the_momenta_of_the_free_system():
    """The page must not print p_x = 2 ẋ next to ẋ = p_x/2 − Λ₁."""
    page = str(dl.derive(field(), "dirac"))
    assert "Momenta that define H(q, p): ∂L/∂q̇ of the free system at its velocities w = ∂H/∂p, which are not q̇" in page
    assert "p_x = 2·w_x" in page
    assert "p_x = 2·ẋ" not in page
    assert "−Λ₁ + " in page
    free = str(dl.derive("simple-pendulum", "dirac"))
    assert "\nMomenta\n" in free
    latex = dl.derive(field(), "dirac").latex()
    assert r"p_{x} &= 2 w_{x}" in latex
