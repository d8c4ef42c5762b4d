"""Hamilton: H is the energy, its canonical equations match textbooks, and momenta follow from velocities."""

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.codegen.function import compile_function
from dalembert.formalisms.shared.phase_space import canonical_of
from dalembert.mechanics import state_batch
from dalembert.simulation.workspace import setup, workspace_of
from dalembert.symbolic.algebra_base import stack, vector


def spherical() -> dl.Model:
    """A spherical pendulum in its two angles: θ from the vertical downwards, φ about it."""
    model = dl.Model("sphere", gravity=(0, 0, -9.81)).parameters(m=1.5, l=0.8)
    model.coordinate("theta", 0.7, 0.2).coordinate("phi", 0.1, 1.1)
    joints = [model.revolute((0, 0, 1), "phi"), model.revolute((0, -1, 0), "theta")]
    return model.body("bob", joint=joints, mass="m", center=(0, 0, "-l"))


def in_momenta(space, outputs):
    system = space.system
    p = canonical_of(system).p
    parameters = system.algebra.symbols(list(space.model.parameter_values))
    return compile_function(system.algebra, stack(system.q, p, vector([system.t])), outputs, parameters)


def momenta(eom, q, qd, t=0.0):
    return eom.kernel.start(q, qd, t, eom.workspace.values)[0]


def test_the_canonical_equations_of_a_spherical_pendulum():
    # H = p_θ²/(2 m l²) + p_φ²/(2 m l² sin²θ) − m g l cosθ
    theta, phi = dynamicsymbols("theta phi")
    m, l, p1, p2 = sp.symbols("m l p1 p2")  # noqa: E741
    H = p1**2 / (2 * m * l**2) + p2**2 / (2 * m * l**2 * sp.sin(theta) ** 2) - m * sp.Float(9.81) * l * sp.cos(theta)
    eom = dl.derive(spherical(), "hamilton", engine="python")
    values = {m: 1.5, l: 0.8, theta: 0.7, p1: 0.3, p2: 0.9}
    y = np.array([0.7, 0.1, 0.3, 0.9])
    rates = eom.kernel.state_rates(y, 0.0, eom.workspace.values)
    by_hand = [H.diff(p1), H.diff(p2), -H.diff(theta), -H.diff(phi)]
    assert np.allclose(rates, [float(e.subs(values)) for e in by_hand], rtol=1e-13)


def test_momenta_and_velocities_round_trip():
    eom = dl.derive(spherical(), "hamilton", engine="python")
    q, qd = np.array([0.7, 0.1]), np.array([0.4, -1.3])
    p = momenta(eom, q, qd)
    assert np.allclose(p, [1.5 * 0.64 * 0.4, 1.5 * 0.64 * np.sin(0.7) ** 2 * -1.3])
    assert np.allclose(eom.kernel.velocities(np.concatenate([q, p]), 0.0, eom.workspace.values), qd)


@pytest.mark.parametrize("name", ["double-pendulum", "cart-pendulum", "spherical-pendulum"])
def test_the_hamiltonian_is_the_energy(name):
    run = dl.derive(dl.load(name), "hamilton").simulate(1.0, samples=6)
    space = workspace_of(setup(dl.load(name), "python"))
    H = in_momenta(space, vector([canonical_of(space.system).H]))
    values = H(np.concatenate([run.q, run.v, run.t[None]]), space.values)[0]
    assert np.allclose(values, run.energy, rtol=1e-10, atol=1e-10)


def test_hamiltonian_of_rheonomic_bodies_is_the_jacobi_function():
    model = dl.Model("hoop", gravity=(0, 0, -9.81)).parameters(w=3.0, r=0.5).coordinate("theta", 0.8, 1.2)
    joints = [model.revolute((0, 0, 1), "w*t"), model.revolute((0, -1, 0), "theta")]
    model.body("bead", joint=joints, mass=2, center=(0, 0, "-r"))
    space = workspace_of(setup(model, "python"))
    H = in_momenta(space, vector([canonical_of(space.system).H]))
    q, qd, t = np.array([0.8]), np.array([1.2]), 0.4
    p = 2 * 0.25 * qd
    # T₂ − T₀ + V
    expected = 0.25 * 1.2**2 - 0.25 * 9.0 * np.sin(0.8) ** 2 - 2 * 9.81 * 0.5 * np.cos(0.8)
    assert H(np.concatenate([q, p, [t]]), space.values)[0] == pytest.approx(expected)


def test_legendre_identities_with_explicit_time(random_tree):
    space = workspace_of(setup(random_tree(5, bodies=2, coordinates=2, motions=("driven",)), "native"))
    system, c = space.system, canonical_of(space.system)
    algebra = system.algebra
    H_p = algebra.gradient(c.H, c.p)
    time = algebra.jacobian(H_p, vector([system.t]))[:, 0]
    gaps = stack(
        H_p - c.H_p,
        algebra.gradient(c.H, system.q) - c.H_q,
        (algebra.jacobian(H_p, c.p) - c.H_pp).ravel(),
        (algebra.jacobian(H_p, system.q) - c.H_pq).ravel(),
        time - c.H_pt,
    )
    states = state_batch.consistent_states(space.model, 10)
    inputs = np.concatenate([states.q, states.qd, states.t[None]])
    assert np.abs(in_momenta(space, gaps)(inputs, space.values)).max() <= 1e-11
    assert np.abs(in_momenta(space, time)(inputs, space.values)).max() > 1e-3


def test_multipliers_are_the_forces_of_the_rod():
    # a pendulum in Cartesian coordinates: ṗ = −m g + 2 λ r, and λ = −tension / 2
    model = dl.Model("bob", gravity=(0, -9.81, 0)).coordinate("x", 0.6).coordinate("y", -0.8)
    model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
    eom = dl.derive(model.holonomic("x**2 + y**2 - 1", name="rod"), "hamilton", engine="python")
    q, qd = np.array([0.6, -0.8]), 1.5 * np.array([0.8, 0.6])
    tension = 2 * (1.5**2 + 9.81 * 0.8)
    assert np.allclose(eom.multipliers(q, qd), [-tension / 2])
    rates = eom.kernel.state_rates(np.concatenate([q, momenta(eom, q, qd)]), 0.0, eom.workspace.values)
    assert np.allclose(rates, [*qd, *(-tension * q + [0, -2 * 9.81])])


def test_first_order_stabilization_makes_the_constraint_rate_decay():
    # (5.285) differentiated once: φ̈ = −α φ̇, so that φ̇ + α φ is constant and φ̇ decays as exp(−αt)
    model = dl.Model("bob", gravity=(0, -9.81, 0)).coordinate("x", 0.6).coordinate("y", -0.8)
    model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
    eom = dl.derive(model.holonomic("x**2 + y**2 - 1", name="rod"), "hamilton", engine="python").stabilized(3.0)
    y, step = np.array([0.7, -0.8, 1.7, 1.1, 0.0]), 1e-3

    def phi(y):
        return np.array([y[:2] @ y[:2] - 1, y[:2] @ y[2:4]])  # φ and φ̇ = 2 r·p/m

    def rate(y):
        return eom.kernel.state_rates(y, 0.0, eom.workspace.values)

    start = phi(y)
    for _ in range(1000):  # Runge–Kutta steps
        a = rate(y)
        b = rate(y + step / 2 * a)
        c = rate(y + step / 2 * b)
        y = y + step / 6 * (a + 2 * b + 2 * c + rate(y + step * c))
    position, velocity = phi(y)
    assert velocity == pytest.approx(start[1] * np.exp(-3.0), rel=1e-8)
    assert velocity + 3.0 * position == pytest.approx(start[1] + 3.0 * start[0], rel=1e-9)


def test_one_gain_stabilizes_a_run():
    eom = dl.derive(dl.load("four-bar"), "hamilton", engine="python")
    options = {"samples": 31, "integrator": "rk45"}
    free = eom.simulate(3.0, project=False, **options)
    stabilized = eom.simulate(3.0, stabilization=20.0, **options)
    assert np.abs(stabilized.violation).max() < 1e-2 * np.abs(free.violation).max()


@pytest.mark.parametrize(
    ("key", "given", "message"),
    [
        ("lagrange", 5.0, "Expected a pair"),
        ("dirac", (25.0, 10.0), "Expected one number"),
        ("kane", (25.0, 10.0), "does not support stabilization"),
        ("kane", 5.0, "does not support stabilization"),
        ("hamilton", (1.0, 2.0, 3.0), "got \\(1.0, 2.0, 3.0\\)"),
        ("hamilton", "5", "got '5'"),
        ("dirac", -1.0, "numbers >= 0"),
        ("dirac", True, "got True"),
        ("dirac", float("nan"), "finite"),
    ],
)
def test_invalid_gains_are_reported(key, given, message):
    eom = dl.derive(dl.load("phong-pendulum"), key, engine="python")
    with pytest.raises(dl.InputError, match=message):
        eom.simulate(1.0, stabilization=given)
