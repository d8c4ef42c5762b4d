"""Coordinates without mass that constraints determine, and coordinates that are singular at a state."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.formalisms.catalog import KEYS

ENERGIES = ("lagrange", "maggi", "boltzmann_hamel", "udwadia_kalaba", "phong", "nullspace")
BODIES = (*ENERGIES, "kane", "gibbs_appell", "volterra", "denoc")


def massless(holonomic: str = "q - sin(x)", kinetic: str = "dot(x)**2/2") -> dl.Model:
    """A mass that moves along x, and a coordinate without mass that carries the spring."""
    model = dl.Model.from_energies(
        "massless", coordinates=["x", "q"], kinetic=kinetic, potential="q**2/2", holonomic=[holonomic]
    )
    return model.start([0.3, np.sin(0.3)], [1.0, np.cos(0.3)])


def light_body() -> dl.Model:
    model = dl.Model("light").coordinates("x", "q").start([0.3, np.sin(0.3)], [1.0, np.cos(0.3)])
    model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.body("light", joint=model.prismatic((1, 0, 0), "q"))
    return model.joint_spring("light", stiffness=1).holonomic("q - sin(x)", name="guide")


def reference(end: float) -> float:
    """ẍ = −sin(x) cos(x), as q = sin(x) is eliminated by hand."""
    found = solve_ivp(
        lambda _, y: [y[1], -np.sin(y[0]) * np.cos(y[0])], (0, end), [0.3, 1.0], "DOP853", rtol=1e-12, atol=1e-13
    )
    return float(found.y[0, -1])


def require_motion(make, keys):
    x = reference(1.0)
    for key in keys:
        run = dl.simulate(make(), 1.0, formalism=key)
        assert np.allclose(run.q[:, -1], [x, np.sin(x)], atol=1e-8), key


@pytest.mark.parametrize(("make", "key"), [(massless, "lagrange"), (light_body, "kane")])
def test_a_massless_coordinate_follows_its_constraint(make, key):
    require_motion(make, [key])


@pytest.mark.nightly
@pytest.mark.parametrize(("make", "able"), [(massless, ENERGIES), (light_body, BODIES)])
def test_massless_coordinate_in_all_applicable_formulations(make, able):
    require_motion(make, able)


def test_other_formulations_report_the_massless_coordinate_and_the_fix():
    for key in set(KEYS) - set(BODIES):
        with pytest.raises(
            dl.NotApplicableError, match=r"mass matrix is singular.*without inertia: q.*such as lagrange"
        ):
            dl.derive(light_body(), key)


def test_mass_matrix_singular_along_combination_is_supported():
    """T = (ẋ + q̇)²/2 and V = q²/2 with q = x/2: by hand T = 9 ẋ²/8 and V = x²/8."""
    model = massless("q - x/2", "(dot(x) + dot(q))**2/2").start([0.4, 0.2], [1.0, 0.5])
    w = np.sqrt((1 / 4) / (9 / 4))
    for key in ("lagrange", "boltzmann_hamel"):
        run = dl.simulate(model, 1.0, formalism=key)
        assert run.q[0, -1] == pytest.approx(0.4 * np.cos(w) + np.sin(w) / w, abs=1e-8), key


def test_rejects_massless_coordinate_without_constraint():
    model = dl.Model.from_energies("open", coordinates=["x", "q"], kinetic="dot(x)**2/2", potential="q**2/2")
    with pytest.raises(dl.ModelError, match=r"dot\(q\) does not appear.*needs a constraint that determines it"):
        dl.derive(model, "lagrange")


def test_rejects_massless_coordinate_left_free_by_its_constraint():
    model = dl.Model.from_energies(
        "open", coordinates=["x", "y", "q"], kinetic="dot(x)**2/2", potential="q**2/2", holonomic=["q - y"]
    )
    with pytest.raises(dl.SingularError, match="has no inertia"):
        dl.derive(model, "lagrange")


def polar(r: float) -> dl.Model:
    model = dl.Model("polar").coordinates("r", "theta").start([r, 0.2], [0.5, 0.0])
    joints = [model.revolute((0, 0, 1), "theta"), model.prismatic((1, 0, 0), "r")]
    return model.body("particle", joint=joints, mass=1)


def test_coordinates_that_are_singular_at_a_state_are_named():
    message = r"the coordinates r, theta are singular at r = 0: a rate of theta produces no motion there"
    with pytest.raises(dl.SingularError, match=message):
        dl.derive(polar(0.0), "lagrange")
    with pytest.raises(dl.SingularError, match=message):
        dl.dynamics(polar(1.0)).forward([0.0, 0.2], [0.5, 0.0], [0.0, 0.0])
    for key in ("lagrange", "denoc"):
        eom = dl.derive(polar(1.0), key)
        with pytest.raises(dl.SingularError, match=message):
            eom.accelerations([0.0, 0.2], [0.5, 1.0])
        with pytest.raises(dl.SimulationError, match=message):
            eom.simulate(1.0, q0=[0.0, 0.2], qd0=[0.5, 0.0])


def test_spherical_coordinates_are_singular_at_the_pole():
    model = dl.Model.from_energies(
        "sphere", coordinates=["th", "ph"], kinetic="(dot(th)**2 + sin(th)**2*dot(ph)**2)/2", potential="cos(th)"
    )
    with pytest.raises(dl.SingularError, match="the coordinates th, ph are singular at th = 0"):
        dl.derive(model, "hamilton")
