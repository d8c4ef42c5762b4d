"""Public functions: shapes, batches, rates and speeds, and messages for wrong input."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InconsistentStateError, InputError, ModelError
from dalembert.model.model import Model
from dalembert.recursive.tree_dynamics import forward_dynamics, inverse_dynamics, mass_matrix, speed_names


@pytest.mark.parametrize("name", ["every joint", "floating"])
def test_a_batch_equals_its_single_states(name, make, draw):
    model = make(name)
    q, s, sd, t = draw(model, 3)
    n = len(speed_names(model))
    M, tau, moved = mass_matrix(model, q, t), inverse_dynamics(model, q, s, sd, t), forward_dynamics(model, q, s, sd, t)
    assert (M.shape, tau.shape, moved.shape) == ((n, n, 3), (n, 3), (n, 3))
    assert all(x.dtype == float for x in (M, tau, moved))
    for k in range(3):
        one = q[:, k], s[:, k], sd[:, k]
        assert np.allclose(mass_matrix(model, one[0], t[k]), M[..., k], atol=1e-13)
        assert np.allclose(inverse_dynamics(model, *one, t[k]), tau[:, k], atol=1e-12)
        assert np.allclose(forward_dynamics(model, *one, t[k]), moved[:, k], atol=1e-11)
        assert inverse_dynamics(model, *one, t[k]).shape == (n,)


def test_batches_of_one_or_zero_states(make, draw):
    model = make("floating")
    q, s, sd, t = draw(model, 1)
    assert inverse_dynamics(model, q, s, sd, t).shape == (10, 1)
    empty = q[:, :0], s[:, :0], sd[:, :0]
    assert inverse_dynamics(model, *empty).shape == forward_dynamics(model, *empty).shape == (10, 0)
    assert mass_matrix(model, q[:, :0]).shape == (10, 10, 0)


def test_rates_and_speeds_are_equivalent(make, draw):
    """Rates of a quaternion by the quaternion product: q̇ = ½ q ω, q̈ = ½ (q̇ ω + q ω̇)."""
    model = make("floating")
    q, s, sd, _ = (x[..., 0] for x in draw(model, 1))

    def product(a, b):
        return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])

    qd, qdd = np.zeros((2, 12))
    qd[[0, 1, 2, 7]], qdd[[0, 1, 2, 7]] = s[[0, 1, 2, 6]], sd[[0, 1, 2, 6]]
    for parts, first in ((slice(3, 7), 3), (slice(8, 12), 7)):
        w, wd = (np.array([0, *x[first : first + 3]]) for x in (s, sd))
        qd[parts] = product(q[parts], w) / 2
        qdd[parts] = (product(qd[parts], w) + product(q[parts], wd)) / 2
    tau = inverse_dynamics(model, q, s, sd)
    for rates, second in ((qd, qdd), (s, qdd), (qd, sd)):
        assert np.allclose(inverse_dynamics(model, q, rates, second), tau, atol=1e-13)
    assert np.allclose(forward_dynamics(model, q, s, tau), sd, atol=1e-12)
    assert np.allclose(forward_dynamics(model, q, qd, tau), qdd, atol=1e-12)


def test_forward_dynamics_without_tau_is_free_motion():
    model = dl.load("double-pendulum")
    q, qd = [0.4, 1.1], [0.3, -0.2]
    assert np.allclose(forward_dynamics(model, q, qd), dl.derive(model).accelerations(q, qd), atol=1e-12)


# wrong input


def pendulum() -> Model:
    model = Model("pendulum").coordinates("a")
    return model.body("bob", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(1, 0, 0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: mass_matrix(m, [0.1, 0.2]),
            r"q has shape \(2,\)\. Expected \(1,\) for one state or \(1, batch\); .* a\.",
        ),
        (lambda m: mass_matrix(m, [np.nan]), "q contains values that are not finite. Expected finite numbers."),
        (
            lambda m: mass_matrix(m, [[0.1, 0.2]], [1, 2, 3]),
            r"t has shape \(3,\)\. Expected one time, or one .* 2 states",
        ),
        (lambda m: inverse_dynamics(m, [0.1], [[0.1]], [0.1]), r"qd has shape \(1, 1\)\. Expected \(1,\) for a\."),
        (
            lambda m: inverse_dynamics(m, [[0.1, 0.2]], [[0, 0]], [0.1]),
            r"qdd has shape \(1,\)\. Expected \(1, 2\) for a\.",
        ),
        (lambda m: inverse_dynamics(m, [0.1], [0.1], [np.inf]), "qdd contains values that are not finite"),
        (lambda m: forward_dynamics(m, [0.1], [0.1], [1.0, 2.0]), r"tau has shape \(2,\)\. Expected \(1,\) for a\."),
        (lambda m: forward_dynamics(m, [0.1], [0.1], 1.0), r"tau has shape \(\)\. Expected \(1,\)"),
        (
            lambda m: inverse_dynamics(m, [0.1], [0.1], [0.1], actuated=["aa"]),
            r"actuated: there is no coordinate or speed 'aa'\. Did you mean 'a'\?",
        ),
    ],
)
def test_wrong_arrays_are_reported(call, message):
    with pytest.raises(InputError, match=message):
        call(pendulum())


def test_forces_on_a_floating_base_have_one_entry_for_each_speed(make, draw):
    model = make("floating")
    q, s, _, _ = (x[..., 0] for x in draw(model, 1))
    with pytest.raises(InputError, match=r"tau has shape \(12,\)\. Expected \(10,\) for dot\(x\), .*omega_z\(ball\)\."):
        forward_dynamics(model, q, s, np.zeros(12))
    with pytest.raises(
        InputError, match=r"qd has shape \(9,\)\. Expected \(10,\) for dot\(x\).* or \(12,\) for d/dt x"
    ):
        forward_dynamics(model, q, s[:9])


def test_quaternions_and_rates_must_have_unit_norm(make, draw):
    model = make("floating")
    q, s, sd, _ = (x[..., 0] for x in draw(model, 1))
    with pytest.raises(
        InconsistentStateError, match=r"quaternion q of 'base': its squared norm minus 1 is 0\.21\. Expected 0"
    ):
        mass_matrix(model, np.concatenate([q[:3], 1.1 * q[3:7], q[7:]]))
    with pytest.raises(
        InconsistentStateError, match=r"quaternion q of 'base': q · dq/dt is 1\. .* speeds instead of rates"
    ):
        inverse_dynamics(model, q, np.concatenate([0 * q[:3], q[3:7], 0 * q[7:]]), sd)
    with pytest.raises(InconsistentStateError, match=r"quaternion q of 'base': q · d²q/dt² \+ \|dq/dt\|² is "):
        inverse_dynamics(model, q, s, np.zeros(12))


def test_invalid_models_are_rejected():
    model = Model("broken").coordinates("a")
    model.body("bob", joint=model.revolute((0, 0, 1), "a"), mass=-1)
    with pytest.raises(ModelError, match="the mass is -1"):
        mass_matrix(model, [0.0])


def test_models_defined_by_energies_are_rejected():
    model = Model("oscillator").coordinates("x").set_energies("dot(x)**2/2", "x**2/2")
    for call in (mass_matrix, forward_dynamics, inverse_dynamics):
        states = [[0.0]] * {mass_matrix: 1, forward_dynamics: 2, inverse_dynamics: 3}[call]
        with pytest.raises(InputError, match="defined by energies"):
            call(model, *states)
    with pytest.raises(InputError, match="defined by energies"):
        speed_names(model)
