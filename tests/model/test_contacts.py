"""Knife edges and rolling disks compared with manually derived formulas."""

from typing import Any

import numpy as np
import pytest
import symengine as se

import dalembert as dl
from dalembert.errors import InputError, ModelError
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.model.model import Model
from dalembert.symbolic.symbols import rate

R, A = 0.4, 0.3


def value(formula, **table) -> float:
    """Evaluate a formula at a state; the rate of x is named x_."""
    symbols = {(rate(k[:-1]) if k.endswith("_") else se.Symbol(k)): v for k, v in table.items()}
    return float(se.sympify(formula).subs(symbols))


def sleigh(**more) -> Model:
    model = Model("sleigh").parameters(a=A).coordinates("x", "y", "phi")
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "phi")]
    model.body("sleigh", joint=joints, mass=1, inertia=(1, 1, 1))
    return model.knife_edge("sleigh", (0, 2, 0), point=("a", 0, 0), **more)


# knife edges


def test_knife_edge_constrains_the_sideways_velocity():
    (blade,) = with_contacts(sleigh()).nonholonomic_constraints
    assert blade.name == "knife_edge1"
    state = {"x": 0.3, "y": -0.2, "phi": 0.7, "x_": 1.1, "y_": -0.4, "phi_": 0.9, "a": A}
    by_hand = -np.sin(0.7) * 1.1 + np.cos(0.7) * -0.4 + A * 0.9
    assert value(blade.psi, **state) == pytest.approx(by_hand)


def test_a_blade_on_a_carrier_that_moves_with_time():
    model = Model("ferry").coordinates("phi")
    model.body("ferry", joint=model.prismatic((1, 0, 0), "0.5*sin(2*t)"), mass=1)
    model.body("skater", parent="ferry", joint=model.revolute((0, 0, 1), "phi"), mass=1, inertia=(1, 1, 1))
    (blade,) = with_contacts(model.knife_edge("skater", (0, 1, 0), point=(0.5, 0, 0))).nonholonomic_constraints
    found = value(blade.psi, phi=0.4, phi_=1.5, t=0.3)
    assert found == pytest.approx(-np.sin(0.4) * np.cos(0.6) + 0.5 * 1.5)


def test_the_chaplygin_sleigh_from_a_blade():
    # the same accelerations as with the formula written down
    q, v, w = [0.1, 0.2, 0.6], 1.1, 0.9
    along, across = np.array([np.cos(0.6), np.sin(0.6)]), np.array([-np.sin(0.6), np.cos(0.6)])
    qd = [*(v * along - A * w * across), w]
    written = sleigh()
    written.contacts = ()
    written.nonholonomic("-sin(phi)*dot(x) + cos(phi)*dot(y) + a*dot(phi)")
    found: Any = [dl.derive(model, "kane", engine="python").accelerations(q, qd) for model in (sleigh(), written)]
    assert np.allclose(*found)


# disks


def disc(normal=(0, 0, 1), rotation=(0, 0, 0), **more) -> Model:
    """A disk with six degrees of freedom: position, heading ψ, lean θ and roll φ about its axis y."""
    model = Model("disc").parameters(r=R).coordinates("x", "y", "z", "psi", "theta", "phi")
    model.start([0, 0, R, 0, 0, 0], [0] * 6)
    slides = [model.prismatic(axis, name) for axis, name in zip(np.eye(3), "xyz", strict=True)]
    turns = [
        model.revolute(axis, name) for axis, name in (((0, 0, 1), "psi"), ((1, 0, 0), "theta"), ((0, 1, 0), "phi"))
    ]
    base = [model.fixed(rotation=rotation)]
    model.body("disc", joint=base + slides + turns, mass=1, inertia=(0.1, 0.2, 0.1))
    return model.rolling_disk("disc", "r", normal=normal, **more)


STATE = {"x": 0.3, "y": -0.2, "z": 0.5, "psi": 0.7, "theta": 0.4, "phi": 1.2}
RATES = {"x_": 1.1, "y_": -0.4, "z_": 0.2, "psi_": 0.9, "theta_": -0.5, "phi_": 2.3}


def velocity_of_contact() -> np.ndarray:
    """v_C + ω × (vector from the center to the contact), in world axes, derived manually."""
    psi, theta = STATE["psi"], STATE["theta"]
    up, heading = np.array([0, 0, 1]), np.array([np.cos(psi), np.sin(psi), 0])
    axis = np.array([-np.sin(psi) * np.cos(theta), np.cos(psi) * np.cos(theta), np.sin(theta)])
    spin = RATES["psi_"] * up + RATES["theta_"] * heading + RATES["phi_"] * axis
    # downward direction in the plane of the disk
    down = np.array([-np.sin(psi) * np.sin(theta), np.cos(psi) * np.sin(theta), -np.cos(theta)])
    return np.array([RATES["x_"], RATES["y_"], RATES["z_"]]) + np.cross(spin, R * down)


def test_lowest_point_of_a_disk_stays_on_the_plane():
    made = with_contacts(disc())
    (contact,) = made.holonomic_constraints
    assert contact.name == "rolling_disk1, contact"
    assert value(contact.phi, **STATE, r=R) == pytest.approx(0.5 - R * np.cos(0.4))
    upright = STATE | {"theta": 0.0, "z": R}
    assert value(contact.phi, **upright, r=R) == pytest.approx(0.0, abs=1e-15)


def test_contact_point_does_not_slip():
    made = with_contacts(disc())
    assert [c.name for c in made.nonholonomic_constraints] == ["rolling_disk1, slip 1", "rolling_disk1, slip 2"]
    slips: Any = [value(c.psi, **STATE, **RATES, r=R) for c in made.nonholonomic_constraints]
    by_hand = velocity_of_contact()[:2]
    assert np.hypot(*slips) == pytest.approx(np.hypot(*by_hand))
    # each slip is one component along the plane
    assert sorted(np.abs(slips)) == pytest.approx(sorted(np.abs(by_hand)))


def test_tilted_plane_equals_a_rotated_world():
    turn = 0.6
    normal = (0, -np.sin(turn), np.cos(turn))
    made = with_contacts(disc(normal, (turn, 0, 0)))
    (contact,) = made.holonomic_constraints
    assert value(contact.phi, **STATE, r=R) == pytest.approx(0.5 - R * np.cos(0.4))
    slips: Any = [value(c.psi, **STATE, **RATES, r=R) for c in made.nonholonomic_constraints]
    assert np.hypot(*slips) == pytest.approx(np.hypot(*velocity_of_contact()[:2]))


def test_coordinates_that_satisfy_the_contact_need_no_constraint():
    made = with_contacts(disc(contact=False))
    assert made.holonomic_constraints == ()
    assert len(made.nonholonomic_constraints) == 2


def test_disk_rolls_straight_without_slipping():
    model = disc().start({}, {"x": 0.8, "phi": 0.8 / R})
    run = dl.derive(model, "lagrange", engine="python").simulate(1.0, samples=5)
    assert np.allclose(run.q[0], 0.8 * run.t, atol=1e-10)
    assert np.allclose(run.q[5], 0.8 / R * run.t, atol=1e-10)


def test_declared_model_is_not_modified():
    model = disc()
    with_contacts(model)
    assert len(model.contacts) == 1
    assert model.holonomic_constraints == model.nonholonomic_constraints == ()
    plain = Model("plain")
    assert with_contacts(plain) is plain


# error messages


def test_unknown_body_is_reported_with_a_suggestion():
    model = sleigh().knife_edge("slegh", (0, 1, 0), name="other")
    with pytest.raises(ModelError) as caught:
        dl.derive(model, "kane", engine="python")
    assert "knife_edge 'other': there is no body 'slegh'. Did you mean 'sleigh'?" in str(caught.value)


def test_a_contact_needs_a_body():
    model = Model.from_energies("free", coordinates=["x"], kinetic="dot(x)**2/2").knife_edge("body", (1, 0, 0))
    with pytest.raises(
        ModelError, match=r"knife_edge 'knife_edge1': it acts on a body, but the system is defined by energies"
    ):
        dl.derive(model, "lagrange", engine="python")


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            lambda: sleigh(name="blade").knife_edge("sleigh", (1, 0, 0), name="blade"),
            "knife_edge 'blade': declared twice.",
        ),
        (lambda: sleigh().knife_edge("sleigh", (0, 0, 0)), "knife_edge 'knife_edge2'"),
        (lambda: disc(normal=(0, 0, 0)), "rolling_disk 'rolling_disk1'"),
        (lambda: disc().rolling_disk("disc", "x"), "rolling_disk 'rolling_disk2', radius: 'x' depends on x."),
    ],
)
def test_invalid_contacts_are_reported_by_name(work, message):
    with pytest.raises(InputError) as caught:
        work()
    assert message in str(caught.value)
