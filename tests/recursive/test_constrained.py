"""Loops, contacts, servos and other constraints: accelerations against Lagrange's equations, and actuator forces."""

import numpy as np
import pytest
from gallery_models import by_size, constrained

import dalembert as dl
from dalembert.codegen.function import compile_function
from dalembert.errors import InconsistentStateError, InputError, SingularError
from dalembert.mechanics import rank, state_batch
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.mechanics.system import system_of
from dalembert.model.model import Model
from dalembert.recursive.constraint_batch import null_space_solution, rows_of
from dalembert.recursive.plan import plan_of
from dalembert.recursive.tree_dynamics import forward_dynamics, inverse_dynamics, mass_matrix
from dalembert.symbolic.algebra_base import choose, stack, vector


def consistent(model, count=4, seed=2):
    return state_batch.consistent_states(with_contacts(model), count, seed=seed)


def check_against_lagrange(model, tolerance=1e-11):
    """Accelerations agree, and the natural motion needs no forces."""
    states = consistent(model)
    known = dl.derive(model, engine="python").accelerations(states.q, states.qd, states.t)
    ours = forward_dynamics(model, states.q, states.qd, None, states.t, friction=True)
    assert np.abs(ours - known).max() <= tolerance * max(1.0, np.abs(known).max())
    everything = list(model.coordinate_names)
    need = inverse_dynamics(model, states.q, states.qd, known, states.t, friction=True, actuated=everything)
    assert np.abs(need).max() <= tolerance * np.abs(mass_matrix(model, states.q, states.t)).max() * np.abs(known).max()


@pytest.mark.parametrize("name", by_size(constrained(), slow={"bricard": 3}))
def test_gallery_models_agree_with_lagrange(name):
    check_against_lagrange(dl.load(name))


def test_a_loop_with_redundant_rows_agrees_with_lagrange(make):
    check_against_lagrange(make("four-bar"))


@pytest.mark.parametrize("seed", range(8))
def test_random_models_agree_with_lagrange(seed, random_tree):
    kinds = ({}, {"redundant": True}, {"servo": True}, {"non_ideal": True})
    model = random_tree(seed, holonomic=1, nonholonomic=seed % 2, loads=("force", "damper"), **kinds[seed % 4])
    check_against_lagrange(model, 1e-10)


def test_a_floating_base_in_a_loop_agrees_with_lagrange(make):
    model = make("pair on a wire")
    check_against_lagrange(model)


def test_beta_of_loops_by_complex_step_is_the_derivative(make):
    model = make("four-bar").stabilized(3.0, 2.0)
    states, facts = consistent(make("four-bar")), system_of(model, "symbolic")
    inputs = stack(facts.q, facts.qd, vector([facts.t]))
    exact = compile_function(choose("symbolic"), inputs, facts.constraints.beta, vector([]))
    q = states.q + 0.01  # off the constraints, so that the feedback has an effect
    known = exact(np.concatenate([q, states.qd, states.t[None]]), np.zeros(0))
    ours = rows_of(plan_of(model), q, states.qd, states.qd, states.t).beta
    assert np.abs(known).max() > 0.1
    assert np.allclose(ours, known, atol=1e-13)


# actuator forces


def test_the_torque_of_one_actuator_of_a_four_bar_is_recovered(make):
    model = make("four-bar")
    states = consistent(model)
    tau = np.zeros((3, 4))
    tau[0] = [3.0, -2.0, 0.5, 0.0]
    qdd = forward_dynamics(model, states.q, states.qd, tau)
    assert np.allclose(inverse_dynamics(model, states.q, states.qd, qdd, actuated=["a"]), tau, atol=1e-12)
    driven = model.copy().actuator("crank", 0)
    assert np.allclose(inverse_dynamics(driven, states.q, states.qd, qdd), tau, atol=1e-12)


def test_a_four_bar_at_rest_satisfies_virtual_work(make):
    """At rest the crank's torque is the derivative of the potential along the allowed motion."""
    model = make("four-bar")
    q, at_rest = model.initial
    tau = inverse_dynamics(model, q, at_rest, at_rest, actuated=["a"])
    heights, step = [], 1e-6
    for sign in (1, -1):
        guess = q + sign * step * np.array([1.0, 0, 0])
        assembled = dl.assemble_state(model, guess, fixed=["a"]).q
        a, b, c = assembled
        coupler = np.sin(a) + np.sin(a + b)
        heights.append(1 * 0.5 * np.sin(a) + 2 * coupler + 1.5 * 0.75 * np.sin(c))
    assert tau[0] == pytest.approx(9.81 * (heights[0] - heights[1]) / (2 * step), rel=1e-7)
    assert (tau[1:] == 0).all()


def test_redundant_actuators_have_minimum_norm_forces(make):
    """Of all forces that produce the motion, the smallest: it has no component without effect."""
    model = make("four-bar")
    states = consistent(model)
    tau = np.random.default_rng(3).normal(size=(3, 4))
    qdd = forward_dynamics(model, states.q, states.qd, tau)
    shared = inverse_dynamics(model, states.q, states.qd, qdd, actuated=["a", "b", "c"])
    assert np.allclose(forward_dynamics(model, states.q, states.qd, shared), qdd, atol=1e-11)
    A = rows_of(plan_of(model), states.q, states.qd, states.qd, states.t).A
    for k in range(4):
        assert np.abs(A[:, :, k] @ shared[:, k]).max() < 1e-12
        assert np.linalg.norm(shared[:, k]) < np.linalg.norm(tau[:, k])


def test_without_actuators_the_constraint_forces_are_zero(make):
    """τ is that of the tree, as if the loop were open, and still reproduces the motion."""
    model, tree = make("four-bar"), make("four-bar").copy()
    tree.loops = ()
    states = consistent(model)
    qdd = forward_dynamics(model, states.q, states.qd, np.ones((3, 4)))
    tau = inverse_dynamics(model, states.q, states.qd, qdd)
    assert np.allclose(tau, inverse_dynamics(tree, states.q, states.qd, qdd), atol=1e-12)
    assert np.allclose(forward_dynamics(model, states.q, states.qd, tau), qdd, atol=1e-10)


def test_insufficient_actuators_are_reported(make):
    model = make("four-bar")
    states = consistent(model)
    qdd = forward_dynamics(model, states.q, states.qd, np.ones((3, 4)))
    with pytest.raises(
        InputError, match=r"no forces at all cannot produce .* at state 0 of the batch; a residual generalized force of"
    ):
        inverse_dynamics(model, states.q, states.qd, qdd, actuated=[])
    cart = Model("cart").coordinates("x", "a")
    cart.body("cart", joint=cart.prismatic((1, 0, 0), "x"), mass=1)
    cart.body("bob", parent="cart", joint=cart.revolute((0, 1, 0), "a"), mass=1, center=(0, 0, -1))
    state = [0.0, 0.3], [0.0, 0.0], [1.0, 2.0]  # the bob needs 2 − cos 0.3
    with pytest.raises(
        InputError,
        match=r"forces along dot\(x\) cannot produce the motion; a residual generalized force of norm 1\.04466",
    ):
        inverse_dynamics(cart, *state, actuated="x")
    assert inverse_dynamics(cart, *state, actuated=["x", "dot(a)"]) == pytest.approx(inverse_dynamics(cart, *state))


def test_naming_a_component_actuates_the_quaternion(make, draw):
    model = make("floating")
    q, s, sd, _ = (x[..., 0] for x in draw(model, 1))
    names = ["x", "y", "z", "w", "h", "omega_x(ball)", "omega_y(ball)", "omega_z(ball)"]
    assert np.allclose(inverse_dynamics(model, q, s, sd, actuated=names), inverse_dynamics(model, q, s, sd), atol=1e-12)


@pytest.mark.parametrize(
    ("change", "level"), [((0.01, 0, 0), "position"), ((0, 0.01, 0), "velocity"), ((0, 0, 0.01), "acceleration")]
)
def test_motions_that_violate_the_constraints_are_reported(make, change, level):
    model = make("four-bar")
    states = consistent(model, 1)
    qdd = forward_dynamics(model, states.q, states.qd)
    motion = [x[:, 0] + dx for x, dx in zip((states.q, states.qd, qdd), change, strict=True)]
    with pytest.raises(
        InconsistentStateError, match=rf"violates the constraints at {level} level: 'pin, [xy]' is .*Expected 0"
    ):
        inverse_dynamics(model, *motion, actuated=["a"])


def test_a_prescribed_motion_relieves_the_actuators():
    """A prescribed slider: the reaction of the drive does the work, so the actuator forces are zero."""
    model = Model("driven").coordinates("x")
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2).drive("x", "sin(t)")
    t = 0.4
    assert forward_dynamics(model, [np.sin(t)], [np.cos(t)], [5.0], t) == pytest.approx([-np.sin(t)])
    assert inverse_dynamics(model, [np.sin(t)], [np.cos(t)], [-np.sin(t)], t, actuated=["x"]) == pytest.approx([0.0])


def test_contradictory_constraints_are_reported():
    model = Model("bead").coordinates("x")
    model.body("bead", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.holonomic("x - t**2", name="slow").holonomic("x - 2*t**2", name="quick")
    with pytest.raises(
        SingularError, match=r"no acceleration satisfies all constraints; the closest one leaves '(slow|quick)' at"
    ):
        forward_dynamics(model, [0.0], [0.0])


def test_an_allowed_motion_without_inertia_is_reported():
    model = Model("sliders").coordinates("a", "b", "c")
    along = [model.prismatic((1, 0, 0), "a"), model.prismatic((1, 0, 0), "b"), model.prismatic((0, 1, 0), "c")]
    model.body("block", joint=along, mass=2).holonomic("c", name="rail")
    with pytest.raises(SingularError, match="a motion allowed by the constraints has no inertia"):
        forward_dynamics(model, np.zeros(3), np.zeros(3))


def test_a_constraint_can_fix_a_motion_without_inertia():
    """The mass matrix is singular, but not along the allowed motions."""
    model = Model("sliders").coordinates("a", "b")
    model.body("block", joint=[model.prismatic((1, 0, 0), "a"), model.prismatic((1, 0, 0), "b")], mass=2)
    model.holonomic("a - 2*b", name="gear")
    assert forward_dynamics(model, [0, 0], [0, 0], [3.0, 3.0]) == pytest.approx([1.0, 0.5])


def test_pseudo_inverse_and_null_space():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(3, 5))
    A = np.concatenate([A, 1000 * (A[:1] - A[1:2]), np.zeros((1, 5))])
    pseudo, N = rank.pseudo_inverse_and_null_space(A)
    assert N.shape == (5, 2)
    assert np.abs(A @ N).max() < 1e-11
    assert np.allclose(A @ pseudo @ A, A, atol=1e-10)


def test_the_rank_of_the_rows_does_not_depend_on_the_masses():
    """Two loops that differ only along a light speed remain independent."""
    A = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])
    M = np.diag([1e-9, 1e9, 1.0])
    beta = np.array([2.0, 0.0])
    sd, _ = null_space_solution(M, np.array([0.0, 0.0, 3.0]), A, beta, int(rank.numeric_rank(A)))
    left = A @ sd - beta
    assert np.allclose(sd, [1.0, 1.0, 3.0], rtol=1e-6)
    assert np.abs(left).max() < 1e-6
