"""Recursive inverse dynamics: against Lagrange's equations, published torques, closed forms and identities."""

from typing import Any

import numpy as np
import pytest
from gallery_models import unconstrained

import dalembert as dl
from dalembert.mechanics import state_batch
from dalembert.model.model import Model
from dalembert.recursive.composite_inertia import mass_matrix as composite_matrix
from dalembert.recursive.inverse import inverse_dynamics as inverse
from dalembert.recursive.joint_speeds import to_rates
from dalembert.recursive.link_states import moving
from dalembert.recursive.tree import tree_of
from dalembert.recursive.tree_dynamics import inverse_dynamics
from dalembert.symbolic.algebra_base import choose, vector, zeros
from dalembert.symbolic.floats import FLOATS, numbers

STEP = 1e-30


def required(model, q, qd, qdd, t):
    """M q̈ − h of Lagrange's equations, without friction."""
    smooth = model.copy()
    smooth.loads = tuple(load for load in model.loads if type(load).__name__ != "JointFriction")
    M, h = dl.derive(smooth, engine="python")._free(q, qd, t)
    return np.einsum("Knm,mK->nK", M, qdd) - h.T


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow(4) if name == "rope" else ()) for name in unconstrained()],
)
def test_gallery_models_agree_with_lagrange(name):
    model = dl.load(name)
    states = state_batch.consistent_states(model, 4, seed=5)
    qdd = np.random.default_rng(1).normal(size=states.q.shape)
    known = required(model, states.q, states.qd, qdd, states.t)
    ours = inverse_dynamics(model, states.q, states.qd, qdd, states.t)
    assert np.abs(ours - known).max() <= 1e-12 * max(1.0, np.abs(known).max())


# trees 13 and 14 have parallel sliders without inertia between them, which Lagrange's equations reject
@pytest.mark.parametrize("seed", [seed for seed in range(20) if seed not in (13, 14)])
def test_random_trees_agree_with_lagrange(seed, random_tree):
    loads = ("force", "torque", "spring", "damper")[: seed % 5]
    model = random_tree(seed, bodies=4, coordinates=4, loads=loads)
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-1, 1, (3, len(model.coordinate_names), 3))
    t = rng.uniform(0, 5, 3)
    known = required(model, q, qd, qdd, t)
    assert np.abs(inverse_dynamics(model, q, qd, qdd, t) - known).max() <= 1e-12 * max(1.0, np.abs(known).max())


def test_joints_of_every_kind_agree_with_lagrange(make, draw):
    model = make("every joint")
    q, qd, qdd, t = draw(model, 4)
    known = required(model, q, qd, qdd, t)
    assert np.abs(inverse_dynamics(model, q, qd, qdd, t) - known).max() <= 1e-12 * np.abs(known).max()


def test_friction_acts_only_on_request():
    model = Model("slider").coordinates("x")
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    model.joint_friction("block", viscous=0.5, coulomb=3, smoothing=1e-6).joint_spring(
        "block", stiffness=10, damping=0.1
    )
    state = [0.2], [4.0], [1.0]
    assert inverse_dynamics(model, *state) == pytest.approx([2 + 10 * 0.2 + 0.1 * 4])
    assert inverse_dynamics(model, *state, friction=True) == pytest.approx([2 + 10 * 0.2 + 0.1 * 4 + 0.5 * 4 + 3])


def test_a_turning_body_obeys_eulers_equations():
    model = Model("top").coordinates("w", "x", "y", "z")
    model.body(
        "top", joint=model.spherical(quaternion=("w", "x", "y", "z")), mass=1, inertia=(1, 2, 2.5, 0.1, 0.2, 0.3)
    )
    inertia = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    w, wd = np.array([0.3, -1.0, 2.0]), np.array([1.0, 0.5, -0.7])
    tau = inverse_dynamics(model, np.array([1, 2, 3, 4]) / np.sqrt(30), w, wd)
    assert np.allclose(tau, inertia @ wd + np.cross(w, inertia @ w), atol=1e-14)


# KUKA KR5 with the tables of ReDySim's example: modified Denavit–Hartenberg, Rx(alpha) Tx(a) Rz(q) Tz(b)
KUKA = {
    "alpha": [0, np.pi / 2, 0, np.pi / 2, -np.pi / 2, np.pi / 2],
    "a": [0, 0.18, 0.6, 0.12, 0, 0],
    "b": [0.4, 0, 0, 0.62, 0, 0],
    "mass": [16.038, 7.988, 12.973, 2.051, 0.811, 0.008],
    "x": [0.104667, 0.267012, 0.087677, -3.3e-05, 0.0, 0.0],
    "y": [0.005077, 0.0, -0.034263, 0.007634, 0.032618, 0.0],
    "z": [0.059035, 0.0, 0.007779, -0.109372, -0.009789, 0.111885],
    "xx": [0.176938765, 0.271640468, 0.388988085, 0.004767354, 0.000760688, 3.113e-06],
    "yy": [0.266532371, 0.276878849, 0.376583684, 0.010122217, 0.001783961, 1.512e-06],
    "zz": [0.262222375, 0.021894253, 0.10414629, 0.01210886, 0.001801078, 1.652e-06],
}
# torques that ReDySim computes for q(t) = (π/3)(t − sin(2πt)/(2π)) in all joints, with seven digits
TORQUES = {
    0.0: (0.0, 128.7117, 14.53612, 0.0, 0.0, 0.0),
    0.08: (47.08583, 164.2054, 24.33785, -0.02171755, -0.07607932, 5.236105e-06),
    0.24: (105.138, 208.5392, 35.62323, -0.008357005, -0.1737212, 1.025616e-05),
    0.4: (51.94507, 194.436, 29.82842, 0.2080318, -0.1987628, 5.123199e-06),
    0.56: (-82.81977, 111.5414, 14.66803, 0.06215147, -0.379131, 3.986547e-08),
    0.86: (-39.09373, 5.076685, -7.851526, -0.201048, 0.07579504, -3.032368e-05),
}


def kuka() -> Model:
    model = Model("kuka-kr5", gravity=(0, 0, -9.81)).coordinates(*(f"q{i}" for i in range(6)))
    rows = zip(*KUKA.values(), strict=True)
    for i, (alpha, a, b, mass, x, y, z, xx, yy, zz) in enumerate(rows):
        turn = model.revolute((0, 0, 1), f"q{i}", position=(a, 0, 0), rotation=(alpha, 0, 0))
        model.body(
            f"link{i}",
            parent=f"link{i - 1}" if i else "world",
            joint=[turn, model.fixed((0, 0, b))],
            mass=mass,
            center=(x, y, z),
            inertia=(xx, yy, zz),
        )
    return model


@pytest.mark.parametrize("t", TORQUES)
def test_torques_of_redysims_kuka(t):
    turn = 2 * np.pi * t
    q = np.pi / 3 * (t - np.sin(turn) / (2 * np.pi))
    qd, qdd = np.pi / 3 * (1 - np.cos(turn)), np.pi / 3 * 2 * np.pi * np.sin(turn)
    tau = inverse_dynamics(kuka(), *(np.full(6, x) for x in (q, qd, qdd)))
    assert np.allclose(tau, TORQUES[t], rtol=1e-6, atol=5e-10)


# identities


def weightless(model):
    out = model.copy()
    out.loads = ()
    out.gravity_input = (0, 0, 0)
    return out


def bias(model, q, s):
    """c(q, s): the velocity-dependent forces."""
    known = moving(tree_of(model), FLOATS, 0.0, q.tolist(), s.tolist(), model.parameter_values)
    return numbers(inverse(known, zeros(len(s))), 1)[:, 0]


def mass_rate(model, q, qd):
    """Ṁ along q̇ by a complex step."""
    known = tree_of(model)
    ahead = moving(known, FLOATS, 0.0, list(q + 1j * STEP * qd), [0.0] * known.n_speeds, model.parameter_values)
    return np.imag(numbers(composite_matrix(ahead), 1)[:, :, 0]) / STEP


def test_mass_rate_minus_twice_c_is_skew(random_tree):
    """With C of Christoffel symbols, by polarization of the bias: c(a + b) − c(a) − c(b) = 2 C(a) b."""
    for seed in range(6):
        model = weightless(random_tree(seed, bodies=5, coordinates=5, motions=("plain", "difference", "curved")))
        n = len(model.coordinate_names)
        q, qd = np.random.default_rng(seed).uniform(-1, 1, (2, n))
        c = [bias(model, q, qd + e) - bias(model, q, qd) - bias(model, q, e) for e in np.eye(n)]
        skew = mass_rate(model, q, qd) - np.stack(c, axis=1)
        assert np.abs(skew + skew.T).max() <= 1e-12


def test_velocity_forces_satisfy_the_power_balance(make, draw):
    """sᵀ Ṁ s = 2 sᵀ c, also for the speeds of quaternions."""
    model = weightless(make("floating"))
    q, s, _, _ = (x[..., 0] for x in draw(model, 1))
    qd = numbers(to_rates(tree_of(model), FLOATS, list(q), list(s)), 1)[:, 0]
    assert s @ mass_rate(model, q, qd) @ s == pytest.approx(2 * s @ bias(model, q, s), abs=1e-13)


def test_static_torques_are_the_gradient_of_the_potential():
    """By a complex step through the kinematics, which are independent of the recursion."""
    model = kuka()
    q = np.random.default_rng(4).uniform(-2, 2, 6)
    slope = []
    for e in np.eye(6):
        ahead = state_batch.motion_at(
            model, state_batch.States((q + 1j * STEP * e)[:, None], np.zeros((6, 1)), np.zeros(1))
        )
        potential = np.sum([9.81 * body.mass * body.p_WG[2] for body in ahead.bodies])
        slope.append(np.imag(potential) / STEP)
    assert np.allclose(inverse_dynamics(model, q, 0 * q, 0 * q), slope, atol=1e-12)


def test_the_symbolic_pendulum_has_the_textbook_form():
    algebra: Any = choose("symbolic")
    model = Model("pendulum", gravity=(0, "-g", 0)).parameters(m=1.0, l=1.0, g=9.81).coordinates("a")
    model.body("bob", joint=model.revolute((0, 0, 1), "a"), mass="m", center=("l", 0, 0))
    a, ad, add, m, length, g, t = algebra.symbols(["a", "ad", "add", "m", "l", "g", "t"])
    known = moving(tree_of(model), algebra, t, [a], [ad], {"m": m, "l": length, "g": g})
    (tau,) = inverse(known, vector([add]))
    book = m * length**2 * add + m * g * length * algebra.cos(a)
    assert (tau - book).expand().subs({algebra.sin(a) ** 2: 1 - algebra.cos(a) ** 2}).expand() == 0


def test_gravity_is_an_acceleration_of_the_world():
    """Without gravity, but accelerated upward with g by a rheonomic slider, the same torques result."""

    def arm(gravity, lift):
        model = Model("arm", gravity=gravity).coordinates("a", "b")
        base = [model.prismatic((0, 0, 1), lift), model.universal(((1, 0, 0), (0, 1, 0)), ("a", "b"))]
        return model.body("arm", joint=base, mass=2, center=(0.3, 0.2, 0.5), inertia=(0.1, 0.2, 0.25))

    rng = np.random.default_rng(8)
    q, qd, qdd = rng.normal(size=(3, 2, 5))
    t = rng.uniform(0, 2, 5)
    heavy = inverse_dynamics(arm((0, 0, -9.81), 0), q, qd, qdd, t)
    assert np.allclose(inverse_dynamics(arm((0, 0, 0), "9.81*t**2/2"), q, qd, qdd, t), heavy, atol=1e-13)
    assert np.abs(heavy - inverse_dynamics(arm((0, 0, 0), 0), q, qd, qdd, t)).max() > 1
