"""dl.dynamics: compiled functions against evaluation in floats, other formulations and identities; arrays, threads, messages."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InconsistentStateError, InputError, SingularError
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.model.model import Model

TREES = ["cart-pendulum", "heavy-top", "puma560", "stanford-arm", "rp-robot", "floating-arm", "three-bodies"]


def close(a, b, size=1e-11):
    return np.allclose(a, b, rtol=size, atol=size * max(1.0, np.abs(b).max(initial=0.0)))


@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize("name", ["every joint", "floating"])
def test_compiled_functions_agree_with_floats(name, friction, make, draw):
    """Joints of all types, quaternions, rotors, loads, motions prescribed in time."""
    model = make(name)
    known = dl.dynamics(model)
    q, s, sd, t = draw(model, 9)
    tau = known.inverse(q, s, sd, t, friction=friction)
    assert close(tau, dl.inverse_dynamics(model, q, s, sd, t, friction=friction))
    assert close(known.mass_matrix(q, t), dl.mass_matrix(model, q, t))
    assert close(known.forward(q, s, tau, t, friction=friction), sd, 1e-9)
    for k in range(2):
        one = q[:, k].copy(), s[:, k].copy(), sd[:, k].copy()
        assert np.array_equal(known.inverse(*one, float(t[k]), friction=friction), tau[:, k])


@pytest.mark.parametrize("name", TREES)
def test_gallery_models_agree_with_lagrange(name):
    model = dl.load(name)
    known = dl.dynamics(model)
    assert not model.holonomic_constraints
    assert not known.plan.tree.attitudes  # q̇ are its speeds
    rng = np.random.default_rng(3)
    q, qd = rng.uniform(-1, 1, (2, len(model.coordinate_names), 5))
    expected = dl.derive(model, "lagrange").accelerations(q, qd, 0.3)
    assert close(known.forward(q, qd, None, 0.3, friction=True), expected, 1e-8)


@pytest.mark.parametrize("name", ["every joint", "floating"])
def test_bias_and_gravity_satisfy_the_equations(name, make, draw):
    """Gravity is the gradient of the potential: M, c + g and g satisfy τ(ṡ) − τ(0) = M ṡ, and g alone maintains equilibrium."""
    known = dl.dynamics(make(name))
    q, s, sd, t = draw(make(name), 4)
    loads = known.inverse(q, s, 0 * sd, t) - known.bias(q, s, t)
    moved = known.inverse(q, s, sd, t) - known.inverse(q, s, 0 * sd, t)
    assert close(moved, np.einsum("ijk,jk->ik", known.mass_matrix(q, t), sd))
    unloaded = make(name).description.replaced(loads=(), gravity_input=(0, 0, 0))
    assert close(known.bias(q, s, t) - known.gravity(q, t), dl.inverse_dynamics(unloaded, q, s, 0 * sd, t))
    assert np.abs(loads).max() > 1e-3


def coupled():
    """Motions that mix coordinates, none of them prescribed, and a rotor on such a motion."""
    elbow = Model("coupled", gravity=(0, -9.81, 0)).coordinates("a", "b", "c", "d", "e")
    base = elbow.universal(((1, 0, 0), (0, 1, 0)), ("a", "b + 0.3*a**2"))
    elbow.body("upper", joint=base, mass=2, center=(0.3, 0, 0), inertia=(0.1, 0.2, 0.3, 0.01, 0, 0.02))
    ball = elbow.spherical(("c", "d", "e + a*c"), "zxz", position=(0.6, 0.1, 0))
    elbow.body("lower", parent="upper", joint=ball, mass=1, center=(0, 0.2, 0), inertia=(0.1, 0.05, 0.1))
    return elbow.rotor("lower", 0.2, ratio=3, motion=2)


@pytest.mark.parametrize("name", ["coupled", "floating"])
def test_dM_minus_two_C_is_skew(name, make, draw):
    """C s = c, and dM/dt − 2C is skew-symmetric: (17), with dM/dt by central differences along the motion."""
    model = coupled() if name == "coupled" else make(name)
    known = dl.dynamics(model)
    q, s, _, _ = draw(model, 6)
    C = known.coriolis(q, s)
    assert close(np.einsum("ijk,jk->ik", C, s), known.bias(q, s) - known.gravity(q))
    h = 1e-5
    qd = known.rates(q, s)
    ahead, previous = known.mass_matrix(_unit(model, q + h * qd)), known.mass_matrix(_unit(model, q - h * qd))
    S = (ahead - previous) / (2 * h) - 2 * C
    assert np.abs(S + S.swapaxes(0, 1)).max() < 1e-8 * np.abs(C).max()
    assert np.abs(S).max() > 1e-3


def _unit(model, q):
    for body in model.bodies:
        for joint in body.joints:
            if joint.quaternion:
                parts = [model.coordinate_names.index(part.name) for part in joint.values[-4:]]
                q[parts] /= np.linalg.norm(q[parts], axis=0)
    return q


def test_pinocchio_names_are_the_same_functions():
    kind = dl.Dynamics
    assert (kind.rnea, kind.aba, kind.crba, kind.nle) == (kind.inverse, kind.forward, kind.mass_matrix, kind.bias)


# arrays, threads, processes


@pytest.mark.parametrize("count", [1, 3, 700])
def test_out_threads_and_layouts_give_the_same_bits(count):
    model = dl.load("puma560")
    known = dl.dynamics(model)
    q, s, x = np.random.default_rng(1).uniform(-1, 1, (3, 6, count))
    for function in (known.inverse, known.forward):
        expected = function(q, s, x)
        out = np.full((6, count), np.nan)
        assert function(q, s, x, out=out) is out
        assert np.array_equal(out, expected)
        assert np.array_equal(function(q, s, x, threads=3), expected)
        assert np.array_equal(function(*(np.asfortranarray(a) for a in (q, s, x))), expected)
        assert np.array_equal(function(q.tolist(), s, x, 0), expected)
        wide = np.zeros((count, 6)).T
        assert function(q, s, x, out=wide) is wide
        assert np.array_equal(wide, expected)
        single = np.empty(6)
        one = [np.ascontiguousarray(a[:, -1]) for a in (q, s, x)]
        assert function(*one, out=single) is single
        assert np.array_equal(single, expected[:, -1])
    square = np.empty((6, 6, count))
    assert known.mass_matrix(q, out=square) is square
    assert np.array_equal(square, known.mass_matrix(q))
    assert known.inverse(q[:, :0], s[:, :0], x[:, :0]).shape == (6, 0)


def test_many_threads_may_call_at_once():
    known = dl.dynamics("puma560")
    states = np.random.default_rng(2).uniform(-1, 1, (200, 3, 6))
    expected = [known.inverse(*state) for state in states]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda state: known.inverse(*state), states))
    assert np.array_equal(found, expected)


def test_dynamics_is_immutable_and_compares_by_content(make):
    known = dl.dynamics(make("floating"))
    again = pickle.loads(pickle.dumps(known))  # noqa: S301 (our own)
    assert again == known == dl.dynamics(make("floating"))
    assert hash(again) == hash(known)
    assert repr(known) == "Dynamics('floating', 10 speeds, tree, native)"
    with pytest.raises(AttributeError):
        known.engine = "python"  # pyright: ignore[reportAttributeAccessIssue]


def test_engines_agree():
    q, s, x = np.random.default_rng(1).uniform(-1, 1, (3, 6, 3))
    native, python = dl.dynamics("puma560"), dl.dynamics("puma560", engine="python")
    assert close(native.forward(q, s, x), python.forward(q, s, x))
    assert close(native.forward(q[:, 0].copy(), s[:, 0], x[:, 0]), python.forward(q[:, 0].copy(), s[:, 0], x[:, 0]))


def test_rates_of_quaternions_are_accepted(make, draw):
    model = make("floating")
    known = dl.dynamics(model)
    q, s, sd, t = draw(model, 3)
    qd = known.rates(q, s)
    tau = known.inverse(q, qd, sd, t)
    assert close(tau, dl.inverse_dynamics(model, q, qd, sd, t))
    qdd = known.forward(q, qd, tau, t)
    assert qdd.shape == (12, 3)
    assert close(qdd, dl.forward_dynamics(model, q, qd, tau, t))
    out = np.empty((12, 3))
    assert known.forward(q, qd, tau, t, out=out) is out
    assert np.array_equal(out, qdd)


# messages


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d, q: d.inverse(q[:1], q, q), r"q has shape \(1,\)\. Expected \(2,\) for one state or \(2, batch\)"),
        (lambda d, q: d.inverse(q, q[:1], q), r"qd has shape \(1,\)\. Expected \(2,\)"),
        (lambda d, q: d.forward(q, q, np.zeros((2, 3))), r"tau has shape \(2, 3\)\. Expected \(2,\)"),
        (lambda d, q: d.forward(q, q * np.nan, q), "qd contains values that are not finite"),
        (lambda d, q: d.inverse(q, q, q + 1j), "qdd: got .* Expected real numbers"),
        (lambda d, q: d.inverse(q, q, q, out=np.zeros(3)), r"out is float64 of shape \(3,\)\. Expected .* \(2,\)"),
        (lambda d, q: d.inverse(q, q, q, out=np.zeros(2, np.float32)), r"out is float32 of shape"),
        (lambda d, q: d.gravity(q, out=[0, 0]), r"out is list\. Expected a writable float64 array of shape \(2,\)"),
        (lambda d, q: d.gravity(np.zeros((2, 3)), threads=0), "threads: got 0. Expected an int >= 1"),
        (lambda d, q: d.gravity(q, threads=0), "threads: got 0."),
        (lambda d, q: d.inverse(q, q, q, actuated=["theta1"], threads=0), "threads: got 0."),
        (lambda d, q: d.forward([[0], [0, 1]], q), r"q: got \[\[0\], \[0, 1\]\]\. Expected numbers, in rows"),
        (lambda d, q: d.jacobian([[0], [0, 1]], "lower"), r"q: got \[\[0\], \[0, 1\]\]\."),
        (lambda d, q: d.derivatives(q, q, parameters="m1"), "parameters: got 'm1'. Expected a list of str."),
        (lambda d, q: d.rollout(q, q, lambda t, q, s: "a", 0.1, 2), "tau at t = 0: got 'a'. Expected real numbers."),
        (lambda d, q: d.gravity(q, [0.0, 1.0]), r"t has shape \(2,\)\. Expected one time"),
    ],
)
def test_wrong_arrays_are_reported(call, message):
    with pytest.raises(InputError, match=message):
        call(dl.dynamics("double-pendulum"), np.array([0.1, 0.2]))


def test_results_do_not_overwrite_their_arguments():
    q = np.zeros((2, 8))
    with pytest.raises(InputError, match="`out` overlaps an input array"):
        dl.dynamics("double-pendulum").gravity(q, out=q)


def test_an_unknown_execution_is_reported():
    with pytest.raises(InputError, match="there is no execution 'unroled'"):
        dl.dynamics("double-pendulum", execution="unroled")


def test_coordinates_without_effect_must_be_finite():
    """No term depends on the position of a cart, but a position that is not finite is not a state."""
    known = dl.dynamics("cart-pendulum")
    q = np.zeros(len(known.speed_names))
    q[0] = np.nan
    with pytest.raises(InputError, match="q contains values that are not finite"):
        known.mass_matrix(q)


def test_a_singular_mass_matrix_is_reported():
    model = Model("idle").coordinates("a", "b")
    model.body("bob", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(1, 0, 0))
    model.body("ring", parent="bob", joint=model.revolute((1, 0, 0), "b"), mass=1)
    known = dl.dynamics(model)
    with pytest.raises(SingularError, match=r"singular at every state: there is no inertia along dot\(b\)"):
        known.forward(np.zeros(2), np.zeros(2))
    with pytest.raises(SingularError, match="singular at every state"):
        known.forward(np.zeros((2, 9)), np.zeros((2, 9)))


def test_a_mass_matrix_that_becomes_singular_is_reported_at_that_state():
    """A point mass on a slide through the axis of a turntable: at r = 0 there is no inertia about the axis."""
    model = Model("slide").coordinates("phi", "r")
    joint = [model.revolute((0, 0, 1), "phi"), model.prismatic((1, 0, 0), "r")]
    known = dl.dynamics(model.body("bob", joint=joint, mass=1))
    assert known.forward(np.array([0.0, 1e-3]), np.zeros(2), np.array([1.0, 1.0]))[0] == pytest.approx(1e6)
    q = np.zeros((2, 5))
    q[1] = 1, 2, 0, 3, 4
    with pytest.raises(SingularError, match="at state 2 of the batch: the coordinates phi, r are singular at r = 0"):
        known.forward(q, np.zeros((2, 5)))


def test_quaternions_have_norm_one(make, draw):
    model = make("floating")
    known = dl.dynamics(model)
    q, s, sd, _ = draw(model, 6)
    q[3:7, 4] *= 1.1
    with pytest.raises(InconsistentStateError, match=r"quaternion q of 'base': its squared norm minus 1 is 0\.21"):
        known.inverse(q, s, sd)
    with pytest.raises(InconsistentStateError, match=r"quaternion q of 'base'"):
        known.mass_matrix(q[:, 4].copy())


def test_undefined_loads_are_reported():
    model = Model("point", gravity=(0, -9.81, 0)).parameters(k=1.0).coordinate("x", 1.0)
    model.body("bob", joint=model.prismatic((1, 0, 0), "x"), mass=1).joint_torque("bob", "k/x")
    known = dl.dynamics(model)
    with pytest.raises(SingularError, match=r"model 'point': a load is undefined at this state"):
        known.inverse(np.zeros(1), np.zeros(1), np.zeros(1))
    with pytest.raises(SingularError, match=r"τ along 'dot\(x\)' is undefined at state 0 of the batch"):
        known.inverse(*np.zeros((3, 1, 4)))
    assert np.isfinite(known.bias(np.zeros(1), np.zeros(1))).all()


# models with constraints

LOOPS = [
    "four-bar",
    "3-rrr",
    "bricard",
    "rolling-disk",
    "over-constrained",
    "gripper",
    "chaplygin-sleigh",
    "slider-crank",
]


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("name", LOOPS)
def test_models_with_constraints_agree_with_floats(name, engine):
    """Loops, redundant rows, contacts and nonholonomic constraints."""
    model = dl.load(name)
    states = state_batch.consistent_states(with_contacts(model), 3, seed=2)
    known = dl.dynamics(model, engine=engine)
    for friction in (False, True):
        expected = dl.forward_dynamics(model, states.q, states.qd, None, states.t, friction=friction)
        assert close(known.forward(states.q, states.qd, None, states.t, friction=friction), expected, 1e-10)
    one = states.q[:, 1].copy(), states.qd[:, 1].copy()
    assert close(known.forward(*one, None, float(states.t[1]), friction=True), expected[:, 1], 1e-10)


def test_a_floating_base_in_a_loop(make):
    model = make("pair on a wire")
    states = state_batch.consistent_states(with_contacts(model), 5, seed=2)
    known = dl.dynamics(model)
    expected = dl.derive(model).accelerations(states.q, states.qd)
    found = known.forward(states.q, states.qd)
    assert close(found, expected, 1e-9)
    assert close(found, dl.forward_dynamics(model, states.q, states.qd), 1e-10)


def test_contradictory_constraints_are_reported():
    model = Model("torn").coordinates("x")
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.holonomic("x - sin(t)", name="driver").holonomic("2*x - 3*sin(t)", name="other")
    known = dl.dynamics(model)
    with pytest.raises(SingularError, match=r"no acceleration satisfies all constraints; the closest one leaves '"):
        known.forward(np.zeros(1), np.zeros(1), None, 1.0)
    with pytest.raises(SingularError, match=r"no acceleration satisfies all constraints at state 1 of the batch"):
        known.forward(np.zeros((1, 3)), np.zeros((1, 3)), None, np.array([0.0, 1.0, 0.0]))
