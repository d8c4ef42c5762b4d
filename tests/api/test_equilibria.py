"""Equilibria and steady motions against closed forms."""

from typing import Any

import numpy as np
import pytest
import sympy
from scipy.optimize import brentq
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.errors import ComputationError, InputError


@pytest.mark.nightly
def test_double_pendulum_has_four_equilibria():
    found = dl.equilibrium("double-pendulum", at=[0.1, 0.2])
    places = sorted((round(abs(each["theta1"]), 9), round(abs(each["theta2"]), 9), each.stability) for each in found)
    pi = round(np.pi, 9)
    assert places == [(0, 0, "stable"), (0, pi, "unstable"), (pi, 0, "unstable"), (pi, pi, "unstable")]
    assert found[0].reason.startswith("the smallest eigenvalue of the Hessian of the constrained potential")
    assert max(each.residual for each in found) < 1e-14


def test_ladder_on_a_spring_with_redundant_constraint():
    """A rod slides on two walls, its foot on a spring: k x = m g/(2 tan θ) with x = l sin θ; with a redundant wall."""
    model = dl.Model("ladder", gravity=(0, -9.81, 0)).coordinates("x", "y", "theta")
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "theta")]
    model.body("rod", joint=joints, mass=3, center=(0, 1, 0), inertia=(0, 0, 1))  # its foot slides along x, 2 m long
    model.holonomic("y", name="floor").holonomic("x - 2*sin(theta)", name="wall").holonomic("2*y", name="floor again")
    model.spring(("world", "rod"), points=((0, 0, 0), (0, 0, 0)), stiffness=20, natural_length=0, name="spring")
    model.start([0.8, 0.0, float(np.arcsin(0.4))], [0, 0, 0])
    found = dl.equilibrium(model, starts=12)
    stable = [each for each in found if each.stability == "stable"]
    # V = m g cos θ + k (2 sin θ)²/2: sin θ = 0, or cos θ = m g/(4 k)
    wanted = np.arccos(3 * 9.81 / 80)
    tops = [each for each in found if abs(abs(each["theta"]) - wanted) < 1e-9]
    assert tops
    assert all(each.stability == "unstable" for each in tops)
    assert min(abs(each["theta"]) for each in stable) < 1e-9
    here = min(stable, key=lambda each: abs(each["theta"]))
    # of the redundant rows the smallest multipliers: λ and 2λ share m g
    assert np.isclose(here.multipliers["floor"] + 2 * here.multipliers["floor again"], 3 * 9.81)
    assert np.allclose(here.loads["spring"], 0.0, atol=1e-9)


@pytest.mark.nightly
def test_redundant_constraints_do_not_create_false_equilibria():
    """A platform on three parallel rods hangs or stands: one of its four constraints is redundant everywhere."""
    found = dl.equilibrium("over-constrained", starts=12)
    angles = [(round(abs(each["theta1"]), 9), each.stability) for each in found]
    assert angles == [(0.0, "stable"), (round(np.pi, 9), "unstable")]
    assert max(each.residual for each in found) < 1e-14
    known = dl.gallery.expected("over-constrained")["closed_form"]["stiffness"]
    assert np.isclose(dl.linearize("over-constrained", at=found[0]).modes()[0].frequency ** 2, known, rtol=1e-12)


def test_ball_rests_in_a_compliant_floor():
    model = dl.Model("ball", gravity=(0, 0, -9.81)).coordinate("z", 1.0)
    model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=0.5)
    model.sphere_on_plane("ball", radius=0.1, stiffness=2e4, damping=30, name="floor")
    (found,) = dl.equilibrium(model, starts=3)
    assert abs(found["z"] - (0.1 - 0.5 * 9.81 / 2e4)) < 1e-14
    assert np.allclose(found.loads["floor"], [0, 0, 0.5 * 9.81])
    assert found.stability == "stable"
    assert np.isclose(found.joint_reactions()["ball"].force[2], 0.0, atol=1e-12)
    modes = dl.linearize(model, at=found).modes()
    assert np.isclose(modes[0].frequency, np.sqrt(2e4 / 0.5), rtol=1e-12)


def test_fixed_coordinates_need_a_force_or_an_unknown_parameter():
    (down, up) = dl.equilibrium("double-pendulum", fixed=["theta1"], at=[0.5, 0.1], starts=8)
    assert np.isclose(down.holding_forces["theta1"], 2 * 9.81 * np.sin(0.5))
    assert (down.stability, up.stability) == ("stable", "unstable")
    model = dl.load("simple-pendulum").copy().parameters(pull=0.0).joint_torque("bob", "pull")
    (found,) = dl.equilibrium(model, fixed=["theta"], unknowns=["pull"], at=[0.3], starts=4)
    assert np.isclose(found.unknowns["pull"], 9.81 * np.sin(0.3))
    assert not found.holding_forces


def heavy_top():
    model = dl.Model("top", gravity=(0, 0, -9.81)).coordinates("psi", "theta", "phi")
    joints = [model.revolute((0, 0, 1), "psi"), model.revolute((1, 0, 0), "theta"), model.revolute((0, 0, 1), "phi")]
    model.body("top", joint=joints, mass=1, center=(0, 0, 0.3), inertia=(0.05, 0.05, 0.02))
    return model.start([0.0, 0.5, 0.0], [0, 0, 0])


def test_heavy_top_precesses_at_two_speeds():
    """(I₁ − I₃) ψ̇² cos θ − I₃ φ̇ ψ̇ + m g l = 0, and it nods with the frequency of the second variation."""
    model, spin, theta = heavy_top(), 150.0, 0.5
    found = dl.equilibrium(model, fixed=["theta"], speeds={"phi": spin}, unknowns=["psi"])
    rates = sorted(each.unknowns["psi"] for each in found)
    wanted = np.sort(np.roots([(0.14 - 0.02) * np.cos(theta), -0.02 * spin, 9.81 * 0.3]))
    assert np.allclose(rates, wanted, rtol=1e-12)
    for each in found:
        assert (each.kind, each.stability) == ("steady motion", "marginal")
        rate = each.unknowns["psi"]
        # with p_ψ and p_φ constant, V' = (p_ψ − p_φ cos θ)²/(2 I₁ sin² θ) + m g l cos θ
        p_phi = 0.02 * (spin + rate * np.cos(theta))
        p_psi = 0.14 * rate * np.sin(theta) ** 2 + p_phi * np.cos(theta)

        def force(x, p_psi=p_psi, p_phi=p_phi):
            a = p_psi - p_phi * np.cos(x)
            return a * p_phi / (0.14 * np.sin(x)) - a**2 * np.cos(x) / (0.14 * np.sin(x) ** 3) - 9.81 * 0.3 * np.sin(x)

        square = (force(theta + 1e-5) - force(theta - 1e-5)) / 2e-5 / 0.14
        linear = dl.linearize(model, at=each)
        assert linear.decoupled_states == ("psi", "phi")
        assert np.isclose(np.abs(linear.eigenvalues.imag).max() ** 2, square, rtol=1e-8)


@pytest.mark.nightly
def test_governor_angle_depends_on_its_speed():
    """A bead on a rotating wire: cos θ = g/(l Ω²), stable above Ω² = g/l, where the lowest point no longer is."""
    model = dl.Model("governor", gravity=(0, 0, -9.81)).coordinates("turn", "theta")
    joints = [model.revolute((0, 0, 1), "turn"), model.revolute((0, 1, 0), "theta")]
    model.body("bob", joint=joints, mass=1, center=(0, 0, -0.5), inertia=(0, 0, 1e-2)).start([0, 0.4], [0, 0])
    found = dl.equilibrium(model, speeds={"turn": 6.0})
    wanted: Any = brentq(lambda x: 9.81 * 0.5 - (0.25 - 1e-2) * 36.0 * np.cos(x), 0.1, 1.5)
    assert any(abs(abs(each["theta"]) - wanted) < 1e-12 for each in found)
    assert {each.kind for each in found} == {"steady motion"}


def test_governor_with_prescribed_speed():
    """The same with the speed as a drive: small motions about it have ω² = (1 − J/I) Ω² sin² θ."""
    model = dl.Model("governor", gravity=(0, 0, -9.81)).parameters(w=6.0).coordinates("turn", "theta")
    joints = [model.revolute((0, 0, 1), "turn"), model.revolute((0, 1, 0), "theta")]
    model.body("bob", joint=joints, mass=1, center=(0, 0, -0.5), inertia=(0, 0, 1e-2)).drive("turn", "w*t")
    found = dl.equilibrium(model, at=[0, 0.8], starts=0)
    assert np.isclose(np.cos(found[0]["theta"]), 9.81 * 0.5 / (0.24 * 36), rtol=1e-14)
    assert found[0].qd.tolist() == [6.0, 0.0]
    linear = dl.linearize(model, at=found)
    assert linear.states == ("theta", "dot(theta)")
    assert np.isclose(np.abs(linear.eigenvalues[0]), np.sqrt(0.24 / 0.25) * 6 * np.sin(found[0]["theta"]), rtol=1e-13)


@pytest.mark.nightly
def test_equivalent_angles_of_energy_models_are_merged():
    q: Any = dynamicsymbols("q")
    g = sympy.Symbol("g")
    model = dl.Model.from_energies(
        "pendulum",
        coordinates=[q],
        kinetic=q.diff() ** 2 / 2,
        potential=-g * sympy.cos(q),
        forces=[0],
        parameters={g: 9.81},
    )
    found = dl.equilibrium(model)
    assert [(round(abs(each["q"]), 9), each.stability) for each in found] == [
        (0, "stable"),
        (round(np.pi, 9), "unstable"),
    ]


def test_reports_missing_equilibria():
    with pytest.raises(InputError, match="the equations depend on 'theta', so its rate cannot be constant"):
        dl.equilibrium("simple-pendulum", speeds={"theta": 1.0})
    with pytest.raises(InputError, match="got 1 names in `unknowns` and 0 in `fixed`"):
        dl.equilibrium("simple-pendulum", unknowns=["g"])
    with pytest.raises(InputError, match=r"equilibrium, fixed: there is no 'tht'"):
        dl.equilibrium("simple-pendulum", fixed=["tht"])
    falling = dl.Model("stone", gravity=(0, 0, -9.81)).coordinate("z", 1.0)
    falling.body("stone", joint=falling.prismatic((0, 0, 1), "z"), mass=1)
    with pytest.raises(ComputationError, match="none was found for model 'stone' from 4 starts"):
        dl.equilibrium(falling, starts=3)
