"""The rolled recursion against evaluation in floats in frames of the model, on random trees with joints of all types."""

from typing import Any

import numpy as np
import pytest
from grown_trees import MOTIONS, UNITS, grown, random_states

from dalembert.codegen.compiled_loop import CallableProgram
from dalembert.model.model import Model
from dalembert.recursive._link_types import LinkType, MotionType
from dalembert.recursive.inverse import inverse_dynamics
from dalembert.recursive.joint_speeds import to_rates
from dalembert.recursive.link_states import moving
from dalembert.recursive.plan import plan_of
from dalembert.recursive.rolled_sweeps import can_roll, rolled_function, sweeps_of
from dalembert.recursive.tree import tree_of
from dalembert.simulation.integrators.base import CompiledRates, InitialValueProblem, Settings, SimpleSystem
from dalembert.simulation.integrators.integrate import integrate
from dalembert.simulation.integrators.registry import find
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS

pytest.importorskip("llvmlite")

NONE = np.zeros(0)


def in_floats(plan, q, s, sd):
    """τ in floats, in the frames of the model."""
    links = moving(plan.tree, FLOATS, 0.0, list(q), list(s), plan.parameters)
    return np.array([float(x) for x in inverse_dynamics(links, vector(list(sd)))])


def check(model):
    plan = plan_of(model)
    assert can_roll(plan.tree) is None
    q, s, sd, t = random_states(plan.tree, 5)
    tau = rolled_function(plan, "inverse")(np.concatenate([q, s, sd, t]), NONE)
    for k in (0, 4):
        known = in_floats(plan, q[:, k], s[:, k], sd[:, k])
        assert np.abs(tau[:, k] - known).max() <= 1e-12 * np.abs(known).max()
    bias = rolled_function(plan, "bias")(np.concatenate([q, s, t]), NONE)
    known = in_floats(plan, q[:, 0], s[:, 0], 0 * s[:, 0])
    assert np.abs(bias[:, 0] - known).max() <= 1e-12 * np.abs(known).max()
    return plan, np.concatenate([q, s, tau, t]), sd


@pytest.mark.parametrize("kind", [kind for kind in MOTIONS if kind != "fixed"])
def test_joints_of_one_kind(kind):
    plan, x, sd = check(grown(5, [kind, "fixed"], seed=3))
    assert np.abs(rolled_function(plan, "forward")(x, NONE) - sd).max() <= 1e-10


@pytest.mark.parametrize("n", [1, 2, 3, 10, pytest.param(40, marks=pytest.mark.slow(4))])
def test_trees_of_all_kinds(n):
    plan, x, sd = check(grown(n, list(MOTIONS), seed=n))
    assert np.abs(rolled_function(plan, "forward")(x, NONE) - sd).max() <= 1e-8


@pytest.mark.slow(3)
def test_a_tree_of_two_hundred():
    plan, x, sd = check(grown(200, ["revolute", "prismatic", "fixed"], seed=8))
    assert np.abs(rolled_function(plan, "forward")(x, NONE) - sd).max() <= 1e-8


def test_one_state_every_lane_and_every_thread_have_the_same_bits():
    plan = plan_of(grown(12, list(MOTIONS), seed=5))
    q, s, given, t = random_states(plan.tree, 130)
    x = np.concatenate([q, s, given, t])
    for task in ("inverse", "forward"):
        function = rolled_function(plan, task)
        many = function(x, NONE)
        assert (many == function(x, NONE, threads=3)).all()
        assert all((function(x[:, k], NONE) == many[:, k]).all() for k in (0, 1, 15, 64, 129))


def rope(n):
    """Links connected by universal joints."""
    names = [f"{axis}{i}" for i in range(n) for axis in "ab"]
    model = Model("rope", gravity=(0, 0, -9.81)).coordinates(*names)
    for i in range(n):
        at: dict[str, Any] = {"position": (0, 0, -1 / n)} if i else {}
        parent: dict[str, Any] = {"parent": f"b{i - 1}"} if i else {}
        hook = model.universal(UNITS[:2], names[2 * i : 2 * i + 2], **at)
        size = 1 / (12 * n**3)
        model.body(f"b{i}", joint=hook, mass=1 / n, center=(0, 0, -0.5 / n), inertia=(size, size, size / 10), **parent)
    return model


def test_a_falling_rope_conserves_energy():
    """½ sᵀM s grows by the work of gravity: τ = g along s, with M s from inverse dynamics without velocities."""
    n = 20
    plan = plan_of(rope(n))
    forward, inverse, bias = (rolled_function(plan, task) for task in ("forward", "inverse", "bias"))
    N, t = 2 * n, np.zeros(1)
    zero = np.zeros(N)

    def gravity(q):
        return bias(np.concatenate([q, zero, t]), NONE)

    def kinetic(q, s):
        return 0.5 * s @ (inverse(np.concatenate([q, zero, s, t]), NONE) - gravity(q))

    def rates(y):
        return np.concatenate([y[N:-1], forward(np.concatenate([y[:-1], zero, t]), NONE), [y[N:-1] @ gravity(y[:N])]])

    y = np.concatenate([np.full(N, 0.02), zero, [0.0]])  # the last entry is the potential energy
    h = 1e-4
    for _ in range(400):
        k1 = rates(y)
        k2 = rates(y + h / 2 * k1)
        k3 = rates(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rates(y + h * k3))
    energy = kinetic(y[:N], y[N:-1])
    assert energy > 1e-3
    assert abs(energy + y[-1]) <= 1e-8 * energy


def test_rates_of_coordinates_and_speeds():
    plan = plan_of(grown(6, ["quaternion", "revolute", "floating"], seed=2))
    q, s, _, t = random_states(plan.tree, 5)
    rates = rolled_function(plan, "rates")(np.concatenate([q, s, t]), NONE)
    known = rolled_function(plan, "forward")(np.concatenate([q, s, 0 * s, t]), NONE)
    assert np.abs(rates[plan.tree.n :] - known).max() <= 1e-12 * np.abs(known).max()
    for k in range(5):
        qd = to_rates(plan.tree, FLOATS, list(q[:, k]), list(s[:, k]))
        assert np.abs(rates[: plan.tree.n, k] - qd.astype(float)).max() <= 1e-14


@pytest.mark.parametrize("method", ["rk4", "rk45", "dop853"])
def test_compiled_integrators_step_on_the_rolled_recursion(method):
    """With machine code for the rates, as with Python between the steps."""
    plan = plan_of(rope(30))
    function, N = rolled_function(plan, "rates"), 60
    y0 = np.concatenate([np.full(N, 0.05), np.zeros(N)])
    assert function.native is not None
    machine = CompiledRates(CallableProgram(function.native.address, NONE, function.native.tables), 2 * N, None)
    names = (*plan.tree.model.coordinate_names, *plan.tree.speed_names)
    given, plain = (
        InitialValueProblem(
            names, 0.0, y0, SimpleSystem(lambda t, y: function(np.append(y, t), NONE), positions=N, machine=each)
        )
        for each in (machine, None)
    )
    settings, times = Settings(step=1e-4, rtol=1e-10, atol=1e-10), np.array([0.0, 0.01])
    native, python = (
        integrate(each, find(method)(each, settings, times[-1]), times, settings) for each in (given, plain)
    )
    assert np.abs(native.y[:, -1] - y0).max() > 1e-3
    assert np.abs(native.y - python.y).max() <= 1e-9


def test_forward_inverts_inverse_on_a_long_rope():
    plan = plan_of(rope(100))
    q, s, sd, t = random_states(plan.tree, 4)
    q, s = 0.1 * q, 0.1 * s
    tau = rolled_function(plan, "inverse")(np.concatenate([q, s, sd, t]), NONE)
    back = rolled_function(plan, "forward")(np.concatenate([q, s, tau, t]), NONE)
    assert np.abs(back - sd).max() <= 1e-6


def test_ropes_of_all_lengths_share_their_code():
    short, long = (rolled_function(plan_of(rope(n)), "forward") for n in (3, 8))
    assert short._one is long._one


def test_operation_counts():
    """A revolute link with general numbers: fewer operations than counted in papers/denoc for chains, without sine and cosine."""
    link_types = (LinkType(MotionType.ROTATION, True, True, False),)
    assert sweeps_of(link_types, "inverse").operations[0] <= 120 + 97
    assert sweeps_of(link_types, "forward").operations[0] <= 250 + 220


def test_models_that_cannot_be_rolled_are_reported():
    model = Model("crank").coordinates("a")
    model.body("crank", joint=model.revolute((0, 0, 1), "2*a + t"), mass=1, center=(1, 0, 0))
    reason = can_roll(tree_of(model))
    assert reason is not None
    assert "'crank' is moved by the formula" in reason
    shared = Model("shared").coordinates("a")
    for name in ("left", "right"):
        shared.body(name, joint=shared.revolute((0, 0, 1), "a"), mass=1, center=(1, 0, 0))
    assert can_roll(tree_of(shared)) == "a coordinate moves several links. Expected one link per coordinate"
    static = Model("still")
    static.body("stone", joint=static.fixed(), mass=1)
    assert can_roll(tree_of(static)) == "model 'still' has no moving links"
