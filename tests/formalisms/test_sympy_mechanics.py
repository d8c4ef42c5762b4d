"""Lagrange's and Kane's equations compared with independent derivations by SymPy."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Particle,
    Point,
    ReferenceFrame,
    dynamicsymbols,
    inertia,
    kinetic_energy,
)
from sympy.physics.mechanics import RigidBody as Rigid

import dalembert as dl

q1, q2, u1, u2 = dynamicsymbols("q1 q2 u1 u2")
TIME: Any = dynamicsymbols._t  # pyright: ignore[reportFunctionMemberAccess]
N, ORIGIN = ReferenceFrame("N"), Point("O")
ORIGIN.set_vel(N, 0)
G = 9.81
STATES = np.random.default_rng(12).uniform(-1.5, 1.5, (6, 4))


def double_pendulum():
    """Point masses 1 and 1 on massless rods of length 1, angles from the downward vertical."""
    bobs, forces, origin = [], [], ORIGIN
    for name, angle, rate in (("A", q1, u1), ("B", q2, u2)):
        frame = N.orientnew(name, "Axis", [angle, N.z])
        frame.set_ang_vel(N, rate * N.z)
        bob = origin.locatenew(f"P{name}", -frame.y)
        bob.v2pt_theory(origin, N, frame)
        bobs.append(Particle(f"bob {name}", bob, 1))
        forces.append((bob, -G * N.y))
        origin = bob
    potential = G * sum(bob.point.pos_from(ORIGIN).dot(N.y) for bob in bobs)
    return bobs, forces, potential


def cart_with_rod():
    """A cart of mass 1.5 along x, pushed by 2 cos t, and a uniform rod of mass 0.7 and length 0.9 on it."""
    t = TIME
    cart = ORIGIN.locatenew("C", q1 * N.x)
    cart.set_vel(N, u1 * N.x)
    frame = N.orientnew("R", "Axis", [q2, N.z])
    frame.set_ang_vel(N, u2 * N.z)
    center: Any = cart.locatenew("G", -sp.Rational(9, 20) * frame.y)
    center.v2pt_theory(cart, N, frame)
    moment = 0.7 * 0.9**2 / 12
    rod = Rigid("rod", center, frame, 0.7, (inertia(frame, moment, 0, moment), center))
    forces = [(cart, 2 * sp.cos(t) * N.x), (center, -0.7 * G * N.y)]
    return [Particle("cart", cart, 1.5), rod], forces, 0.7 * G * center.pos_from(ORIGIN).dot(N.y)


def cart_with_rod_of_ours() -> dl.Model:
    model = dl.Model("cart and rod", gravity=(0, -G, 0)).coordinates("x", "theta")
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=1.5)
    model.body(
        "rod",
        parent="cart",
        joint=model.revolute((0, 0, 1), "theta"),
        mass=0.7,
        center=(0, -0.45, 0),
        inertia=(0.7 * 0.9**2 / 12, 0, 0.7 * 0.9**2 / 12),
    )
    return model.force("cart", ("2*cos(t)", 0, 0))


CASES = {
    "double-pendulum": (double_pendulum, lambda: dl.load("double-pendulum")),
    "cart-and-rod": (cart_with_rod, cart_with_rod_of_ours),
}
every_case = pytest.mark.parametrize("case", CASES)


def compare(M, f, eom):
    """SymPy's M⁻¹ f and our q̈ at random states."""
    t = TIME
    numeric = sp.lambdify([q1, q2, u1, u2, t], (M, f))
    for row in STATES:
        mass, forcing = numeric(*row, 0.3)
        expected = np.linalg.solve(np.array(mass, dtype=float), np.array(forcing, dtype=float).ravel())
        assert np.allclose(eom.accelerations(row[:2], row[2:], 0.3), expected, rtol=1e-12, atol=1e-12)


@every_case
def test_kane_agrees_with_sympy(case):
    bodies, forces, _ = CASES[case][0]()
    method = KanesMethod(N, [q1, q2], [u1, u2], kd_eqs=[q1.diff() - u1, q2.diff() - u2])
    method.kanes_equations(bodies, forces)
    compare(method.mass_matrix, method.forcing, dl.derive(CASES[case][1](), "kane", engine="python"))


@every_case
def test_lagrange_agrees_with_sympy(case):
    bodies, _, potential = CASES[case][0]()
    rates = {u1: q1.diff(), u2: q2.diff()}
    T = sum((kinetic_energy(N, body) for body in bodies), sp.Integer(0)).subs(rates)
    active = [(ORIGIN.locatenew("push", q1 * N.x), 2 * sp.cos(TIME) * N.x)] if case == "cart-and-rod" else []
    for point, _ in active:
        point.set_vel(N, q1.diff() * N.x)
    method = LagrangesMethod(T - potential, [q1, q2], forcelist=active, frame=N)
    method.form_lagranges_equations()
    back = {q1.diff(): u1, q2.diff(): u2}
    M, f = method.mass_matrix.subs(back), method.forcing.subs(back)
    compare(M, f, dl.derive(CASES[case][1](), "lagrange", engine="python"))
