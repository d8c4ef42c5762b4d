"""Derivatives, Jacobians, momenta and rollouts of dl.dynamics, against finite differences, kinematics and other integrators."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.api._rollout import Method
from dalembert.codegen.function import function_of
from dalembert.codegen.program_derivatives import jacobian
from dalembert.errors import InputError, NotApplicableError, SingularError
from dalembert.mechanics.motion import move
from dalembert.recursive.joint_speeds import to_speed_forces
from dalembert.recursive.traced import task_program
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS


def displaced(known, q, delta):
    """q displaced by δ along the speeds; quaternions by q̇ = H δ, normalized."""
    out = q + known.rates(q, delta)
    for attitude in known.plan.tree.attitudes:
        parts = list(attitude.parts)
        out[parts] /= np.linalg.norm(out[parts], axis=0)
    return out


def differences(f, n, h=1e-6):
    """Central differences of f(δ) along n directions, (…, n)."""
    steps = h * np.eye(n)
    return np.stack([(f(step) - f(-step)) / (2 * h) for step in steps], axis=-1)


@pytest.mark.parametrize("of", ["inverse", "forward"])
@pytest.mark.parametrize("name", ["every joint", "floating"])
def test_derivatives_agree_with_finite_differences(name, of, make, draw):
    model = make(name)
    known = dl.dynamics(model)
    q, s, x, t = (a[..., 0].copy() for a in draw(model, 1))
    n, t = len(s), float(t)
    function = getattr(known, of)
    found = known.derivatives(q, s, x, t, of=of, friction=True)
    expected = (
        differences(lambda d: function(displaced(known, q, d), s, x, t, friction=True), n),
        differences(lambda d: function(q, s + d, x, t, friction=True), n),
        differences(lambda d: function(q, s, x + d, t, friction=True), n),
    )
    for part, slopes in zip(found, expected, strict=False):
        assert np.abs(part - slopes).max() < 2e-7 * max(1.0, np.abs(slopes).max())
    assert found.by_parameters.shape == (n, 0)


@pytest.mark.parametrize("name", ["every joint", "floating", "robot"])
def test_recursive_derivatives_agree_with_the_graph(name, make, draw):
    """∂τ by q and s against derivatives of the program of inverse dynamics, to rounding."""
    model = dl.load("puma560") if name == "robot" else make(name)
    known = dl.dynamics(model)
    q, s, sd, t = (a[..., 0].copy() for a in draw(model, 1))
    n, tree = len(s), known.plan.tree
    program = jacobian(task_program(known.plan, "inverse", friction=True))
    exact = function_of(program, "python")(np.array([*q, *s, *sd, t]), np.zeros(0)).reshape(n + 1, -1)[:n]
    by_q = [to_speed_forces(tree, FLOATS, list(q), list(row[: len(q)])) for row in exact]
    found = known.derivatives(q, s, sd, float(t), of="inverse", friction=True)
    for part, expected in ((found.by_q, np.array(by_q, dtype=float)), (found.by_qd, exact[:, len(q) : len(q) + n])):
        assert np.abs(part - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.slow(3)
def test_derivatives_of_a_free_base_agree_with_finite_differences():
    """Legs with rotors, whose inertia matrix is factored as a sparse block."""
    known = dl.dynamics(tripod())
    n = len(known.speed_names)
    q, s, x = np.random.default_rng(8).uniform(-1, 1, (3, n + 1, 5))
    s, x, q[3:7] = s[:n], x[:n], q[3:7] / np.linalg.norm(q[3:7], axis=0)
    found = known.derivatives(q, s, x)
    one = known.derivatives(q[:, 0].copy(), s[:, 0].copy(), x[:, 0].copy())
    assert np.array_equal(one.by_q, found.by_q[..., 0])
    function = known.forward
    for k in range(2):
        at = q[:, k], s[:, k], x[:, k]
        expected = (
            differences(lambda d, at=at: function(displaced(known, at[0], d), *at[1:]), n),
            differences(lambda d, at=at: function(at[0], at[1] + d, at[2]), n),
            differences(lambda d, at=at: function(at[0], at[1], at[2] + d), n),
        )
        for part, slopes in zip(found, expected, strict=False):
            assert np.abs(part[..., k] - slopes).max() < 1e-7 * np.abs(slopes).max()
    assert np.abs(found.by_q[:, :3]).max() == 0  # independent of the position of the base
    assert np.abs(found.by_qd[:, :3]).max() == 0  # and of its linear velocity


def tripod():
    """A free body on three legs with two revolute joints each."""
    model = dl.Model("tripod", gravity=(0, 0, -9.81)).coordinates("x", "y", "z", "w", "i", "j", "k")
    base = model.free(("x", "y", "z"), quaternion=("w", "i", "j", "k"))
    model.body("base", joint=base, mass=6, center=(0.01, 0, 0.02), inertia=(0.05, 0.1, 0.12, 0.01, 0, 0.02))
    for leg, position in enumerate(((0.2, 0.1, 0), (0.2, -0.1, 0), (-0.2, 0, 0))):
        thigh, shin = f"thigh{leg}", f"shin{leg}"
        model.coordinates(f"hip{leg}", f"knee{leg}")
        part = {"mass": 0.5, "center": (0.01, 0.02, -0.1), "inertia": (0.02, 0.02, 0.01)}
        model.body(thigh, joint=model.revolute((1, 0, 0), f"hip{leg}", position=position), parent="base", **part)
        knee = model.revolute((0, 0.6, 0.8), f"knee{leg}", position=(0, 0.02, -0.2))
        model.body(shin, joint=knee, parent=thigh, **part).rotor(shin, 0.01, ratio=3)
    return model


@pytest.mark.parametrize("of", ["inverse", "forward"])
def test_derivatives_by_parameters_agree_with_finite_differences(of):
    model = dl.load("double-pendulum")
    names = list(model.parameter_values)
    q, s, x = np.array([0.4, 1.1]), np.array([0.3, -0.2]), np.array([0.5, 0.7])
    found = dl.dynamics(model).derivatives(q, s, x, of=of, parameters=names).by_parameters
    for i, name in enumerate(names):
        value = model.parameter_values[name]
        upper, lower = (dl.dynamics(model.with_parameters({name: value + d})) for d in (1e-6, -1e-6))
        slope = (getattr(upper, of)(q, s, x) - getattr(lower, of)(q, s, x)) / 2e-6
        assert np.allclose(found[:, i], slope, atol=1e-7 * max(1.0, np.abs(slope).max()))


def test_derivatives_of_forward_and_inverse_dynamics_are_consistent():
    """∂ṡ/∂x = −M⁻¹ ∂τ/∂x and ∂ṡ/∂τ = M⁻¹, for a batch, in out, with threads."""
    known = dl.dynamics("puma560")
    q, s, x = np.random.default_rng(5).uniform(-1, 1, (3, 6, 300))
    sd = known.forward(q, s, x)
    forward, inverse = known.derivatives(q, s, x), known.derivatives(q, s, sd, of="inverse")
    M = known.mass_matrix(q)
    assert np.allclose(inverse.by_input, M, atol=1e-12)
    assert np.allclose(np.einsum("ijk,jlk->ilk", M, forward.by_q), -inverse.by_q, atol=1e-8)
    assert np.allclose(np.einsum("ijk,jlk->ilk", M, forward.by_qd), -inverse.by_qd, atol=1e-8)
    assert np.allclose(np.einsum("ijk,jlk->ilk", M, forward.by_input), np.eye(6)[:, :, None], atol=1e-8)
    out = np.empty((6, 18, 300))
    again = known.derivatives(q, s, x, out=out, threads=2)
    assert np.array_equal(out[:, :6], forward.by_q)
    assert np.shares_memory(again.by_qd, out)


@pytest.mark.parametrize(("name", "body"), [("every joint", "d"), ("floating", "ball")])
def test_jacobians_give_the_velocity_of_points(name, body, make, draw):
    """J of a point against finite differences of its position, by the kinematics that the formulations share."""
    model = make(name)
    known = dl.dynamics(model)
    q, s, _, t = (a[..., 0].copy() for a in draw(model, 1))
    point, t = np.array([0.1, -0.2, 0.3]), float(t)

    def position(delta):
        at = displaced(known, q, delta)
        motion = move(model, FLOATS, t, vector(list(at)), vector([0.0] * len(at)), dict(model.parameter_values))
        moved = next(each for each in motion.bodies if each.name == body)
        return (moved.p_WG + moved.R_WB @ (point - moved.center)).astype(float)

    J = known.jacobian(q, body, point, t)
    assert np.allclose(J[:3], differences(position, len(s)), atol=1e-8)
    batch = known.jacobian(np.repeat(q[:, None], 5, axis=1), body, point, np.full(5, t))
    assert np.array_equal(batch[..., 3], J)


def test_momentum_is_that_of_all_bodies(make, draw):
    """A s against masses and velocities of points: J at mass centers, and the spin energy of a free body."""
    model = make("floating")
    known = dl.dynamics(model)
    q, s, _, _ = (a[..., 0].copy() for a in draw(model, 1))
    A, momentum = known.centroidal(q, s)
    values = dict(model.parameter_values)
    motion = move(model, FLOATS, 0.0, vector(list(q)), vector([0.0] * len(q)), values)
    linear, angular, masses, centers, spins = np.zeros(3), np.zeros(3), [], [], []
    for moved in motion.bodies:
        body = next(each for each in model.bodies if each.name == moved.name)
        center = np.array([float(x) for x in body.center])
        J = known.jacobian(q, body.name, center)
        R = moved.R_WB.astype(float)
        inertia = R @ np.array([[float(x) for x in row] for row in body.inertia]) @ R.T
        masses.append(float(body.mass))
        centers.append(moved.p_WG.astype(float))
        spins.append((J[:3] @ s, inertia @ (J[3:] @ s)))
    middle = np.average(centers, axis=0, weights=masses)
    for m, c, (v, spin) in zip(masses, centers, spins, strict=True):
        linear += m * v
        angular += spin + np.cross(c - middle, m * v)
    assert np.allclose(momentum, [*linear, *angular], atol=1e-12)
    assert np.allclose(A @ s, momentum, atol=1e-13)


# rollouts


def test_a_rollout_agrees_with_dop853():
    model = dl.load("puma560")
    known = dl.dynamics(model)
    q0, s0 = np.random.default_rng(4).uniform(-0.5, 0.5, (2, 6, 3))
    run = known.rollout(q0, s0, None, 1e-3, 200, every=100, friction=True)
    assert run.q.shape == (6, 3, 3)
    assert np.allclose(run.t, [0, 0.1, 0.2])
    equations = dl.derive(model)
    for k in range(3):
        exact = equations.simulate(0.2, q0=q0[:, k], qd0=s0[:, k], integrator="dop853", samples=3)
        assert np.allclose(run.q[:, :, k], exact.q, atol=1e-8)
        assert np.allclose(run.qd[:, :, k], exact.qd, atol=1e-6)


def test_rk4_has_order_four_and_semi_implicit_euler_order_one():
    known = dl.dynamics("double-pendulum")
    q0, s0 = np.array([1.0, 0.5]), np.array([0.2, -0.3])
    exact = known.rollout(q0, s0, [0.1, 0.2], 5e-4, 1000).q[:, -1]
    methods: tuple[tuple[Method, int], ...] = (("rk4", 4), ("semi_implicit", 1))
    for method, order in methods:
        errors = [
            np.abs(known.rollout(q0, s0, [0.1, 0.2], 0.5 / n, n, method=method).q[:, -1] - exact).max()
            for n in (50, 100)
        ]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_quaternions_preserve_their_norm(method, make, draw):
    model = make("floating")
    known = dl.dynamics(model)
    q, s, _, _ = draw(model, 5)
    run = known.rollout(q, s, None, 1e-3, 50, method=method)
    for parts in (slice(3, 7), slice(8, 12)):
        assert np.allclose(np.linalg.norm(run.q[parts], axis=0), 1, atol=1e-14)
    fine = known.rollout(q, s, None, 2.5e-4, 200, every=4)
    assert np.abs(run.q - fine.q).max() < (1e-9 if method == "rk4" else 2e-2)


def test_forces_may_depend_on_the_state():
    """An external damper: τ = −s, as a function, and in the model."""
    model = dl.load("double-pendulum")
    known = dl.dynamics(model)
    q0, s0 = np.random.default_rng(1).uniform(-1, 1, (2, 2, 10))
    run = known.rollout(q0, s0, lambda t, q, s: -s, 1e-3, 20)
    one = known.rollout(q0[:, 3], s0[:, 3], lambda t, q, s: -s, 1e-3, 20)
    assert np.array_equal(run.q[:, :, 3], one.q)
    h = 1e-3
    assert np.allclose(
        (run.qd[:, 2] - run.qd[:, 0]) / (2 * h), known.forward(run.q[:, 1], run.qd[:, 1], -run.qd[:, 1]), atol=1e-3
    )
    with pytest.raises(InputError, match=r"tau returned shape \(2, 1\) at t = 0. Expected \(2, 10\)"):
        known.rollout(q0, s0, lambda t, q, s: np.zeros((2, 1)), 1e-3, 20)


def test_invalid_input_is_reported():
    known, q = dl.dynamics("double-pendulum"), np.zeros(2)
    with pytest.raises(InputError, match=r"unknown method 'rk5'\. "):
        known.rollout(q, q, None, 0.1, 3, method="rk5")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"rollout, steps: got 0\. Expected"):
        known.rollout(q, q, None, 0.1, 0)
    with pytest.raises(InputError, match=r"derivatives: there is no parameter 'm9'\."):
        known.derivatives(q, q, parameters=["m9"])
    with pytest.raises(InputError, match=r"derivatives, of: got 'both'\. Expected 'forward' or 'inverse'"):
        known.derivatives(q, q, of="both")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"there is no body 'hand'\."):
        known.jacobian(q, "hand")
    with pytest.raises(InputError, match=r"point has shape \(2,\)\. Expected \(3,\)"):
        known.jacobian(q, "hand", [0, 0])
    constrained = dl.dynamics("four-bar")
    n = len(constrained.speed_names)
    with pytest.raises(NotApplicableError, match=r"has constraints: .* Expected a tree of bodies for"):
        constrained.derivatives(np.zeros(n), np.zeros(n))


def test_a_rollout_stops_at_a_singular_mass_matrix():
    model = dl.Model("slide").coordinates("phi", "r")
    joint = [model.revolute((0, 0, 1), "phi"), model.prismatic((1, 0, 0), "r")]
    known = dl.dynamics(model.body("bob", joint=joint, mass=1))
    with pytest.raises(SingularError, match=r"the coordinates phi, r are singular at r = 0"):
        known.rollout(np.zeros(2), np.zeros(2), None, 0.1, 3)
