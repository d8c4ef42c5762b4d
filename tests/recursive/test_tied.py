"""Tied coordinates, which compiled dynamics substitutes: against constraint rows, Lagrange's equations and closed forms."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InconsistentStateError, InputError, NotApplicableError, SingularError
from dalembert.model.model import Model
from dalembert.recursive.constraint_batch import rows_of
from dalembert.recursive.plan import plan_of

N = 6


def hand(*, free: bool = False) -> Model:
    """An arm with a finger whose three joints are tied: to each other, in sequence, and with a redundant row."""
    rng, model = np.random.default_rng(1), Model("hand", gravity=(0.3, -9.81, 1)).parameters(r=2.0, m=1.4)
    if free:
        model.coordinates("x", "y", "z").coordinate("w", 1.0).coordinates("i", "j", "k")
        joint = model.free(("x", "y", "z"), quaternion=("w", "i", "j", "k"))
        model.body("base", joint=joint, mass=3, center=(0.1, 0, 0.2), inertia=(0.3, 0.4, 0.5))
    model.coordinates(*(f"q{i}" for i in range(N)))
    joints = (
        model.revolute((0, 0, 1), "q0"),
        model.revolute((0, 1, 0), "q1", position=(1, 0, 0)),
        model.prismatic((1, 0, 0), "q2", position=(0.1, 0, 0)),
        model.revolute((1, 0, 0), "q3", position=(0.1, 0.2, 0)),
        model.revolute((0, 1, 0), "q4", position=(0.4, 0.2, 0)),
        model.revolute((1, 0, 0), "q5", position=(0.4, 0.2, 0)),
    )
    parents = ("base" if free else "world", "arm", "hand", "hand", "f2", "f3")
    for name, parent, joint in zip(("arm", "hand", "f1", "f2", "f3", "f4"), parents, joints, strict=True):
        center, inertia = rng.uniform(-0.3, 0.3, 3).tolist(), np.diag(rng.uniform(0.2, 0.3, 3)).tolist()
        model.body(name, parent=parent, joint=joint, mass="m", center=center, inertia=inertia)
    model.rotor("f3", 0.2, ratio=3).joint_spring("f2", stiffness=4, damping=0.3).joint_friction("arm", viscous=0.4)
    return model.holonomic("q3 - r*q4 - 0.3").holonomic("q5 + 0.5*q3 - 0.1*q2").holonomic("2*q3 - 2*r*q4 - 0.6")


def states(model, count=5):
    """Consistent q and s, and any forces."""
    plan, rng = plan_of(model), np.random.default_rng(2)
    q = rng.uniform(-1, 1, (plan.tree.n, count))
    for attitude in plan.tree.attitudes:
        q[list(attitude.parts)] /= np.linalg.norm(q[list(attitude.parts)], axis=0)
    s, tau = rng.uniform(-1, 1, (2, plan.tree.n_speeds, count))
    return plan.ties.substituted(q), plan.ties.substituted_speeds(s), tau


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("engine", ["native", "python"])
def test_dynamics_agree_with_constraint_rows(engine, free):
    """The functions without compilation solve with multipliers."""
    model = hand(free=free)
    known, (q, s, tau) = dl.dynamics(model, engine=engine), states(model)
    expected = dl.forward_dynamics(model, q, s, tau, friction=True)
    sd = known.forward(q, s, tau, friction=True)
    assert np.allclose(sd, expected, rtol=1e-11, atol=1e-11)
    assert np.allclose(known.inverse(q, s, sd), dl.inverse_dynamics(model, q, s, sd), rtol=1e-11, atol=1e-11)
    most = [name for name in known.speed_names if name not in ("dot(q4)", "dot(q5)")]
    for actuated in (most, [*most, "dot(q5)"], list(known.speed_names)):
        found = known.inverse(q, s, sd, friction=True, actuated=actuated)
        assert np.allclose(found, dl.inverse_dynamics(model, q, s, sd, friction=True, actuated=actuated), atol=1e-11)
        assert np.allclose(known.speed_map.T @ found, known.speed_map.T @ tau, atol=1e-10)
        assert (found[[name not in actuated for name in known.speed_names]] == 0).all()


def test_dynamics_agree_with_lagrange():
    model = hand()
    q, s, _ = states(model)
    expected = dl.derive(model, "lagrange").accelerations(q, s)
    assert np.allclose(dl.dynamics(model).forward(q, s, friction=True), expected, atol=1e-11)


@pytest.mark.parametrize("free", [False, True])
def test_all_lanes_and_single_states_give_the_same_bits(free):
    model = hand(free=free)
    known, (q, s, tau) = dl.dynamics(model), states(model, 37)
    for function in (known.forward, known.inverse):
        found = function(q, s, tau)
        assert np.array_equal(found, function(q, s, tau, threads=2))
        for k in (0, 36):
            one = (np.ascontiguousarray(x[:, k]) for x in (q, s, tau))
            assert np.array_equal(function(*one), found[:, k])


def test_off_the_ties_forward_dynamics_is_that_of_constraint_rows():
    model = hand()
    q, s, tau = np.random.default_rng(3).uniform(-1, 1, (3, N, 4))
    assert np.allclose(dl.dynamics(model).forward(q, s, tau), dl.forward_dynamics(model, q, s, tau), atol=1e-11)


@pytest.mark.parametrize("free", [False, True])
def test_derivatives_are_those_of_forward_dynamics(free):
    """Central differences of the solution with constraint rows; along quaternions through their speeds."""
    model, h = hand(free=free), 1e-5
    known, (q, s, tau) = dl.dynamics(model), states(model, 2)
    found, n = known.derivatives(q, s, tau, parameters=["m"], friction=True), len(s)

    def shifted(q, s, tau):
        for attitude in plan_of(model).tree.attitudes:
            q[list(attitude.parts)] /= np.linalg.norm(q[list(attitude.parts)], axis=0)
        return dl.forward_dynamics(model, q, s, tau, friction=True)

    for k in range(n):
        along = np.zeros((n, 2))
        along[k] = h
        dq = known.rates(q, along)
        pairs = (
            (found.by_q, shifted(q + dq, s, tau) - shifted(q - dq, s, tau)),
            (found.by_qd, shifted(q, s + along, tau) - shifted(q, s - along, tau)),
            (found.by_input, shifted(q, s, tau + along) - shifted(q, s, tau - along)),
        )
        for slopes, change in pairs:
            assert np.allclose(slopes[:, k], change / (2 * h), rtol=1e-6, atol=1e-6)
    heavy, light = (dl.forward_dynamics(model.with_parameters(m=1.4 + x), q, s, tau, friction=True) for x in (h, -h))
    assert np.allclose(found.by_parameters[:, 0], (heavy - light) / (2 * h), rtol=1e-6, atol=1e-6)


def test_a_gear_pair_has_the_reduced_inertia():
    """(1 + 12/2²) ä = 8 on both sides of the gear, as in the example of `Gear`; the phase is a constant."""
    model = Model("gears").coordinates("a", "b")
    model.body("pinion", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(0, 0, 1))
    model.body("wheel", joint=model.revolute((0, 0, 1), "b", position=(3, 0, 0)), mass=8, inertia=(0, 0, 12))
    known = dl.dynamics(model.gear(("pinion", "wheel"), 2, phase=0.4))
    assert known.forward([0.0, 0.2], [0.0, 0.0], [8.0, 0.0]) == pytest.approx([2.0, -1.0], rel=1e-15)
    assert known.forward([0.0, 0.2], [0.0, 0.0], [0.0, 8.0]) == pytest.approx([-1.0, 0.5], rel=1e-15)
    assert (known.speed_map.T @ known.mass_matrix([0.0, 0.2]) @ known.speed_map).item() in (4.0, 16.0)
    assert known.inverse([0.0, 0.2], [0, 0], [2.0, -1.0], actuated=["a"]) == pytest.approx([8.0, 0.0], rel=1e-15)
    assert "1 independent" in repr(known)


def test_a_driven_joint_carries_all_forces():
    model = hand().joint_torque("f2", 0).joint_torque("arm", 0).joint_torque("hand", 0).joint_torque("f1", 0)
    known, (q, s, tau) = dl.dynamics(model), states(model)
    sd = known.forward(q, s, tau)
    found = known.inverse(q, s, sd)
    assert np.allclose(found, dl.inverse_dynamics(model, q, s, sd), atol=1e-11)
    assert (found[4:] == 0).all()
    assert np.abs(known.inverse(q, s, sd, actuated=known.speed_names)[4:]).min() > 1e-3
    with pytest.raises(InputError, match="cannot produce the motion"):
        known.inverse(q, s, sd, actuated=["q0", "q3"])


@pytest.mark.parametrize("level", range(3))
def test_motions_off_the_ties_are_reported(level):
    known, (q, s, tau) = dl.dynamics(hand()), states(hand())
    motion = [q, s, known.forward(q, s, tau)]
    motion[level] = motion[level] + 1e-3
    name = ("position", "velocity", "acceleration")[level]
    with pytest.raises(InconsistentStateError, match=f"violates the constraints at {name} level"):
        known.inverse(*motion, actuated=["q0", "q1", "q2", "q3"])


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_rollouts_stay_on_the_ties(method):
    model, dt, steps = hand(), 1e-3, 40
    q, s, tau = states(model)
    run = dl.dynamics(model).rollout(q, s, tau, dt, steps, method=method)
    ties = plan_of(model).ties
    assert np.abs(ties.substituted(run.q) - run.q).max() < 1e-15
    x, v = q, s  # the same steps with constraint rows
    for _ in range(steps):
        if method == "semi_implicit":
            v = v + dt * dl.forward_dynamics(model, x, v, tau)
            x = x + dt * v
            continue
        slopes, ahead = [], (0, 0.5, 0.5, 1)
        for a in ahead:
            before = slopes[-1] if slopes else (0 * x, 0 * v)
            at = x + a * dt * before[0], v + a * dt * before[1]
            slopes.append((at[1], dl.forward_dynamics(model, *at, tau)))
        x, v = (
            y + dt / 6 * (a + 2 * b + 2 * c + d)
            for y, (a, b, c, d) in zip((x, v), zip(*slopes, strict=True), strict=True)
        )
    assert np.allclose(run.q[:, -1], x, rtol=1e-11, atol=1e-12)
    assert np.allclose(run.qd[:, -1], v, rtol=1e-11, atol=1e-11)
    with pytest.raises(InconsistentStateError, match="position level"):
        dl.dynamics(model).rollout(q + 0.01, s, tau, dt, steps, method=method)


def test_the_speed_map_is_the_null_space_of_the_rows():
    model = hand(free=True)
    q, s, _ = states(model)
    A, E = (
        rows_of(plan_of(model), q, np.zeros_like(q), s, np.zeros(5)).A,
        dl.dynamics(model).speed_map,
    )
    assert np.abs(np.einsum("kin,ij->kjn", A, E)).max() < 1e-15
    assert E.shape == (12, 10)
    assert dl.dynamics("puma560").speed_map.tolist() == np.eye(6).tolist()


def slider(*formulas, **parameters) -> Model:
    model = Model("sliders").coordinates("a", "b").parameters(**parameters)
    for name in "ab":
        model.body(name, joint=model.prismatic((1, 0, 0), name), mass=1)
    for formula in formulas:
        model.holonomic(formula)
    return model


@pytest.mark.parametrize(
    "model",
    [
        slider("a - b**2"),
        slider("a - t*b"),
        slider("a - b - sin(t)"),
        slider("a - b", "a**2 - b**2"),
        slider("a - b").nonholonomic("dot(a) - dot(b)"),
        slider().holonomic("a - b", feedback=(4.0, 4.0)),
        slider("a - b", "a - (1 + 1e-9)*b"),
        slider("a - b").loop("pin", ("a", "b"), slider().prismatic((1, 0, 0), 0)),
        slider(),
    ],
)
def test_other_constraints_are_not_ties(model):
    assert plan_of(model).ties is None
    assert dl.dynamics(model).independent_speeds == ("dot(a)", "dot(b)")


def test_a_coordinate_can_be_fixed():
    known = dl.dynamics(slider("a - 0.5", "2*b + a"))
    assert known.forward([0.5, -0.25], [0, 0], [3.0, 4.0]).tolist() == [0, 0]
    assert known.derivatives([0.5, -0.25], [0, 0], [3.0, 4.0]).by_input.tolist() == [[0, 0], [0, 0]]
    assert known.independent_speeds == ()


def on_a_block(tie: str) -> Model:
    """A block on two parallel sliders, a singular mass matrix, and two more blocks."""
    model = Model("sliders").coordinates("a", "b", "c", "d")
    model.body("block", joint=[model.prismatic((1, 0, 0), name) for name in "ab"], mass=2)
    for name in "cd":
        model.body(name, joint=model.prismatic((1, 0, 0), name), mass=1)
    return model.holonomic(tie)


def test_a_tie_can_remove_a_motion_without_inertia():
    found = dl.dynamics(on_a_block("a - 2*b")).forward(np.zeros(4), np.zeros(4), [3.0, 3.0, 1.0, 2.0])
    assert found == pytest.approx([1.0, 0.5, 1.0, 2.0])


def test_motions_without_inertia_are_reported():
    with pytest.raises(SingularError, match="a motion allowed by the constraints has no inertia"):
        dl.dynamics(on_a_block("d - 2*c")).forward(np.zeros(4), np.zeros(4))
    massless = on_a_block("a - 2*b").coordinates("e")
    massless.body("tip", joint=massless.prismatic((1, 0, 0), "e")).joint_torque("tip", 1)
    with pytest.raises(SingularError, match=r"singular at every state: there is no inertia along dot\(e\)\."):
        dl.dynamics(massless).derivatives(np.zeros(5), np.zeros(5))


def test_parameters_in_factors_are_refused():
    known, (q, s, tau) = dl.dynamics(hand()), states(hand())
    with pytest.raises(NotApplicableError, match="parameter 'r' is a factor between tied coordinates"):
        known.derivatives(q, s, tau, parameters=["r"])
    assert known.derivatives(q, s, tau, of="inverse", parameters=["r"]).by_parameters.shape == (N, 1, 5)


def test_rolled_trees_keep_their_constraint_rows():
    model = Model("chain").coordinates("a", "b", "c")
    for name, parent in zip("abc", ("world", "a", "b"), strict=True):
        model.body(
            name, parent=parent, joint=model.revolute((0, 1, 0), name, position=(0.5, 0, 0)), mass=1, center=(0.5, 0, 0)
        )
    model.holonomic("c - 2*b")
    rolled, q = dl.dynamics(model, execution="rolled"), np.array([[0.3], [0.2], [0.4]])
    tau = np.ones((3, 1))
    assert "constrained" in repr(rolled)
    assert np.allclose(rolled.forward(q, 0 * q, tau), dl.dynamics(model).forward(q, 0 * q, tau), atol=1e-9)
