"""Conversion between coordinate rates and speeds."""

import numpy as np

from dalembert.recursive.joint_speeds import to_rates, to_second_rates, to_speed_forces, to_speed_rates, to_speeds
from dalembert.recursive.tree import tree_of
from dalembert.symbolic.floats import FLOATS, numbers

STEP = 1e-30


def arrays(function, *arguments):
    return numbers(function(*arguments[:2], *(list(x) for x in arguments[2:])), arguments[2].shape[1])


def test_round_trip(make, draw):
    model = make("floating")
    known, (q, s, sd, _) = tree_of(model), draw(model, 5)
    qd = arrays(to_rates, known, FLOATS, q, s)
    qdd = arrays(to_second_rates, known, FLOATS, q, s, sd)
    assert np.allclose(arrays(to_speeds, known, FLOATS, q, qd), s, atol=1e-14)
    assert np.allclose(arrays(to_speed_rates, known, FLOATS, q, qd, qdd), sd, atol=1e-14)


def test_rates_preserve_the_norm(make, draw):
    model = make("floating")
    known, (q, s, sd, _) = tree_of(model), draw(model, 5)
    qd, qdd = arrays(to_rates, known, FLOATS, q, s), arrays(to_second_rates, known, FLOATS, q, s, sd)
    for attitude in known.attitudes:
        x, xd, xdd = (values[list(attitude.parts)] for values in (q, qd, qdd))
        assert np.abs(np.sum(x * xd, axis=0)).max() < 1e-15
        assert np.abs(np.sum(x * xdd + xd * xd, axis=0)).max() < 1e-15


def test_the_speeds_of_a_quaternion_are_its_angular_velocity(make, draw):
    """Ṙ = R ω×, with Ṙ by a complex step along q̇."""
    model = make("floating")
    known, (q, s, _, _) = tree_of(model), draw(model, 1)
    qd = arrays(to_rates, known, FLOATS, q, s)[:, 0]
    for attitude in known.attitudes:
        indices, values = list(attitude.parts), [0] * (len(attitude.joint.values) - 4)
        ahead = list(q[indices, 0] + 1j * STEP * qd[indices])
        R = np.array(attitude.joint.rotation_matrix(FLOATS, [*values, *ahead]), dtype=complex)
        spin = np.real(R).T @ np.imag(R) / STEP
        assert np.allclose(spin[[2, 0, 1], [1, 2, 0]], s[attitude.first : attitude.first + 3, 0], atol=1e-14)


def test_second_rates_are_the_rates_of_rates(make, draw):
    model = make("floating")
    known, (q, s, sd, _) = tree_of(model), draw(model, 3)
    qd = arrays(to_rates, known, FLOATS, q, s)
    ahead = arrays(to_rates, known, FLOATS, q + 1j * STEP * qd, s + 1j * STEP * sd)
    assert np.allclose(np.imag(ahead) / STEP, arrays(to_second_rates, known, FLOATS, q, s, sd), atol=1e-14)


def test_forces_have_the_same_power(make, draw):
    model = make("floating")
    known, (q, s, _, _) = tree_of(model), draw(model, 3)
    forces = np.random.default_rng(2).normal(size=q.shape)
    power = np.sum(forces * arrays(to_rates, known, FLOATS, q, s), axis=0)
    assert np.allclose(np.sum(arrays(to_speed_forces, known, FLOATS, q, forces) * s, axis=0), power, atol=1e-14)
