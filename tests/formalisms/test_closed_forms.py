"""Accelerations and reactions in closed form."""

import math

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import NotApplicableError
from dalembert.formalisms import catalog
from dalembert.model.model import Model

by_every_formalism = pytest.mark.parametrize("key", catalog.KEYS)
by_every_nonholonomic = pytest.mark.parametrize("key", [key for key in catalog.KEYS if key != "dirac"])
IN_SPEEDS = ("kane", "gibbs_appell", "boltzmann_hamel", "volterra", "volterra_reduced")
NONLINEAR = tuple(key for key in catalog.KEYS if key not in (*IN_SPEEDS, "dirac"))
G = 9.81


def derive(model, key):
    return dl.derive(model, key, engine="python")


def point(name, *coordinates, gravity=(0, -G, 0), **starts) -> Model:
    """A unit mass that moves along x, y, z by coordinates."""
    model = Model(name, gravity=gravity)
    for coordinate in coordinates:
        model.coordinate(coordinate, *starts.get(coordinate, (0.0, 0.0)))
    joints = [model.prismatic(np.eye(3)[i], coordinate) for i, coordinate in enumerate(coordinates)]
    return model.body("point", joint=joints, mass=1)


@by_every_formalism
def test_a_pendulum(key):
    eom = derive(dl.load("simple-pendulum"), key)
    assert eom.accelerations([0.7], [2.0]) == pytest.approx([-G * math.sin(0.7)])
    assert eom.reactions([0.7], [2.0]) == pytest.approx([0.0], abs=1e-12)


@by_every_formalism
def test_a_falling_body(key):
    eom = derive(point("stone", "x", "y", "z"), key)
    assert np.allclose(eom.accelerations([1.0, 2.0, 3.0], [0.3, -0.4, 0.5]), [0, -G, 0])
    assert eom.ignorable == ("x", "z")


@by_every_formalism
def test_a_pendulum_in_cartesian_coordinates(key):
    # x² + y² = l²: the rod pulls with T = m (v² − g·r)/l towards the pivot
    model = point("bob", "x", "y", x=(0.6, 0.0), y=(-0.8, 0.0)).holonomic("x**2 + y**2 - 1", name="rod")
    q, qd = np.array([0.6, -0.8]), np.array([0.8, 0.6]) * 1.5
    tension = (qd @ qd + G * 0.8) / 1.0
    eom = derive(model, key)
    assert np.allclose(eom.reactions(q, qd), -tension * q)
    assert np.allclose(eom.accelerations(q, qd), -tension * q + [0, -G])
    assert np.allclose(eom.multipliers(q, qd), [-tension / 2])


@by_every_formalism
def test_a_bead_on_a_rotating_hoop(key):
    # rheonomic: the hoop rotates about the vertical at w; θ̈ = w² sinθ cosθ − (g/r) sinθ
    model = Model("hoop", gravity=(0, 0, -G)).parameters(w=3.0, r=0.5).coordinates("theta")
    joints = [model.revolute((0, 0, 1), "w*t"), model.revolute((0, -1, 0), "theta")]
    model.body("bead", joint=joints, mass=2, center=(0, 0, "-r"))
    theta = 0.8
    expected = 9.0 * math.sin(theta) * math.cos(theta) - G / 0.5 * math.sin(theta)
    assert derive(model, key).accelerations([theta], [1.2], 0.4) == pytest.approx([expected])


@by_every_formalism
def test_an_atwood_machine(key):
    model = Model("atwood", gravity=(0, -G, 0)).parameters(m1=3.0, m2=2.0).coordinates("y1", "y2")
    model.body("left", joint=model.prismatic((0, 1, 0), "y1"), mass="m1")
    model.body("right", joint=model.prismatic((0, 1, 0), "y2"), mass="m2")
    eom = derive(model.holonomic("y1 + y2", name="rope"), key)
    assert np.allclose(eom.accelerations([0.2, -0.2], [0.5, -0.5]), [-G / 5, G / 5])
    assert np.allclose(eom.reactions([0.2, -0.2], [0.5, -0.5]), 2 * 3 * 2 / 5 * G)  # the tension of the rope, twice


@by_every_formalism
def test_elevator_load(key):
    # rheonomic holonomic constraint: y = 0.1 sin t, so ÿ = −0.1 sin t and the floor pushes with m (g + ÿ)
    model = point("load", "x", "y", y=(0.0, 0.1)).holonomic("y - 0.1*sin(t)", name="floor")
    eom, t = derive(model, key), 0.9
    q, qd = [0.0, 0.1 * math.sin(t)], [2.0, 0.1 * math.cos(t)]
    assert np.allclose(eom.accelerations(q, qd, t), [0, -0.1 * math.sin(t)])
    assert np.allclose(eom.reactions(q, qd, t), [0, G - 0.1 * math.sin(t)])


@by_every_nonholonomic
def test_the_chaplygin_sleigh(key):
    # blade a behind the mass center, v along it: v̇ = aω², ω̇ = −(ma/(I+ma²)) vω
    m, inertia, a = 2.0, 0.3, 0.4
    model = Model("sleigh").coordinates("x", "y", "phi")
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "phi")]
    model.body("sleigh", joint=joints, mass=m, center=(a, 0, 0), inertia=(inertia, inertia, inertia))
    eom = derive(model.nonholonomic("-sin(phi)*dot(x) + cos(phi)*dot(y)", name="blade"), key)
    phi, v, w = 0.6, 1.1, 0.9
    along, across = np.array([math.cos(phi), math.sin(phi)]), np.array([-math.sin(phi), math.cos(phi)])
    xdd, ydd, phidd = eom.accelerations([0.1, 0.2, phi], [*(v * along), w])
    assert np.allclose([xdd, ydd], a * w**2 * along + v * w * across)
    assert phidd == pytest.approx(-m * a / (inertia + m * a**2) * v * w)


@by_every_nonholonomic
def test_a_knife_edge_on_an_incline(key):
    # unit mass and inertia, x down the slope: the edge lets only v along it change, v̇ = g sinα cosφ
    model = Model("knife", gravity=(G * math.sin(0.3), 0, -G * math.cos(0.3))).coordinates("x", "y", "phi")
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "phi")]
    model.body("knife", joint=joints, mass=1, inertia=(1, 1, 1))
    eom = derive(model.nonholonomic("sin(phi)*dot(x) - cos(phi)*dot(y)"), key)
    phi, v, w = 0.5, 0.7, 1.3
    c, s = math.cos(phi), math.sin(phi)
    vd = G * math.sin(0.3) * c
    assert np.allclose(eom.accelerations([0, 0, phi], [v * c, v * s, w]), [vd * c - v * w * s, vd * s + v * w * c, 0])


def appell_hamel() -> Model:
    """A²(ẋ² + ẏ²) = B² ż² with A = 1, B = 2: nonlinear in the velocities."""
    start = {"x": (0.0, 0.6), "y": (0.0, 0.8), "z": (0.0, 0.5)}
    model = point("appell-hamel", "x", "y", "z", gravity=(0, 0, -G), **start)
    return model.nonholonomic("dot(x)**2 + dot(y)**2 - 4*dot(z)**2", name="cone")


@pytest.mark.parametrize("key", NONLINEAR)
@pytest.mark.parametrize("engine", ["native", "python"])
def test_appell_hamel_falls_at_a_fifth_of_gravity_on_a_constant_heading(key, engine):
    eom = dl.derive(appell_hamel(), key, engine=engine)
    qd = np.array([0.6, 0.8, 0.5])
    xdd, ydd, zdd = eom.accelerations([0.3, 0.2, 0.1], qd)
    assert zdd == pytest.approx(-G / (1 + 4))
    assert xdd * qd[1] == pytest.approx(ydd * qd[0])
    assert np.allclose(eom.reactions([0.3, 0.2, 0.1], qd), [xdd, ydd, zdd + G])


@pytest.mark.parametrize("key", IN_SPEEDS)
def test_constraints_nonlinear_in_velocity_are_rejected_by_name(key):
    with pytest.raises(NotApplicableError) as caught:
        derive(appell_hamel(), key)
    assert str(caught.value) == (
        f"formalism '{key}' cannot treat model 'appell-hamel': the constraint 'cone' is nonlinear in the velocities. "
        f"Formalisms that can: {', '.join(NONLINEAR)}."
    )


def test_constants_of_the_reduction_follow_the_initial_state():
    # G_I (26) depends on each initial state, not on the model's default one
    eom = derive(dl.load("cart-pendulum"), "volterra_reduced")
    model = eom.model
    q = np.array([0.3, 0.2, 0.0])
    moving, faster = (np.array([0.0, 0.0, xd]) for xd in (1.0, 5.0))
    start = [eom.kernel.start(q, qd, 0.0, eom.workspace.values)[1] for qd in (moving, faster)]
    # p_x = (m1 + 2 m2) ẋ with the rods at rest
    assert np.allclose(start, [[2.0], [10.0]])
    lagrange = derive(model, "lagrange")
    for qd in (moving, faster, np.array([0.4, -0.4 * math.cos(0.1), 2.0])):
        assert np.allclose(eom.accelerations(q, qd), lagrange.accelerations(q, qd))
