"""Routh: ignorable coordinates are eliminated, their momenta are constants, and the effective potential matches textbooks."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from dalembert.model.model import Model

M, G = 2.0, 9.81


def planet() -> Model:
    """A particle in the plane on a spring to the origin, in polar coordinates."""
    model = Model("planet").parameters(m=M, k=5.0).coordinate("r", 1.2, 0.3).coordinate("phi", 0.4, 0.9)
    model.body("planet", joint=[model.revolute((0, 0, 1), "phi"), model.prismatic((1, 0, 0), "r")], mass="m")
    return model.spring(("world", "planet"), stiffness="k")


def test_the_routhian_of_a_planet_is_the_radial_equation():
    # m r̈ = p²/(m r³) − k r with p = m r² φ̇
    eom = dl.derive(planet(), "routh", engine="python")
    assert (eom.n_dynamic, eom.n_states, eom.ignorable) == (1, 3, ("phi",))
    r, rd, w = 1.4, 0.2, 0.8
    momentum = M * r**2 * w
    rdd, wd = eom.accelerations([r, 0.1], [rd, w])
    assert rdd == pytest.approx(momentum**2 / (M**2 * r**3) - 5.0 / M * r)
    assert wd == pytest.approx(-2 * rd * w / r)
    assert eom.notes == ("the momenta of phi are constants of the motion",)


def test_the_constant_momentum_is_in_the_equations():
    eom = dl.derive(planet(), "routh", engine="python")
    m, k, r, p = sp.Symbol("m"), sp.Symbol("k"), sp.Function("r")(sp.Symbol("t")), sp.Symbol("G_phi")
    found: Any
    (found,) = eom.forcing
    found = found.subs({s: p for s in found.free_symbols if "phi" in str(s)})
    found = found.subs({f: r for f in found.atoms(sp.Function) if str(f.func) == "r"})
    assert sp.simplify(found - (p**2 / (m * r**3) - k * r)) == 0


def test_the_constant_follows_each_start():
    eom = dl.derive(planet(), "routh", engine="python")
    q = np.array([1.0, 0.0])
    slow, fast = (eom.accelerations(q, [0.0, w])[0] for w in (1.0, 3.0))
    assert fast - slow == pytest.approx(9.0 - 1.0)


def test_the_ignorable_momentum_stays_along_a_run():
    run = dl.derive(planet(), "routh").simulate(20.0, samples=41)
    assert np.allclose(run.momenta[1], run.momenta[1, 0], rtol=1e-13)
    assert np.allclose(run.energy, run.energy[0], rtol=1e-12)


def test_moving_frame_adds_drift_to_the_momentum():
    # the arm is rotated by φ + w t: p = m r² (φ̇ + w), so q̇_I has a part that does not depend on p
    model = Model("turntable").parameters(m=M, w=1.5).coordinate("r", 1.0, 0.1).coordinate("phi", 0.0, 0.4)
    model.body("bead", joint=[model.revolute((0, 0, 1), "phi + w*t"), model.prismatic((1, 0, 0), "r")], mass="m")
    eom = dl.derive(model, "routh", engine="python")
    r, rd, wd = 1.3, 0.2, 0.4
    assert np.allclose(eom.accelerations([r, 0.0], [rd, wd], 0.7), [r * (wd + 1.5) ** 2, -2 * rd * (wd + 1.5) / r])


def test_without_an_ignorable_coordinate_it_is_the_lagrangian():
    eom = dl.derive(dl.load("double-pendulum"), "routh", engine="python")
    assert eom.notes == ("no coordinate is ignorable: the Routhian is the Lagrangian",)
    assert eom.n_dynamic == 2


def test_constraints_act_on_the_other_coordinates():
    # the cart of the cart pendulum is ignorable, the wheel couples the other two
    eom = dl.derive(dl.load("cart-pendulum"), "routh", engine="python")
    assert eom.ignorable == ("x",)
    assert eom.constraint_matrix.shape == (1, 2)
    q, qd = np.array([0.7, -0.4, 0.3]), np.array([1.1, -1.1 * np.cos(1.1), 0.6])
    assert eom.reactions(q, qd)[2] == 0
