"""Bushings and friction against closed forms: momentum, energy, periods, error messages."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as dl
from dalembert.errors import InputError, ModelError
from dalembert.mechanics.energies import applied_forces
from dalembert.mechanics.motion import move
from dalembert.model.loads.bushing import _turn
from dalembert.model.model import Model
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, to_numeric
from dalembert.symbolic.rotations import cross


def two_bodies(**bushing) -> Model:
    model = Model("two").coordinates("x", "y", "z", "a", "b", "c", "X", "Y", "Z", "A", "B", "C")
    inertia = {"mass": 2, "center": (0.1, 0, 0.2), "inertia": (0.3, 0.4, 0.5)}
    model.body("first", joint=model.free(("x", "y", "z"), ("a", "b", "c")), **inertia)
    model.body("second", joint=model.free(("X", "Y", "Z"), ("A", "B", "C")), **inertia)
    return model.bushing(("first", "second"), points=((0.3, 0, 0), (0, 0.2, 0)), **bushing)


def test_rotation_measure_is_the_rotation_vector_to_third_order():
    for angle in (0.0, 1e-3, 0.3, 2.0):
        axis = np.array([1.0, -2.0, 2.0]) / 3
        R = Rotation.from_rotvec(angle * axis).as_matrix()
        theta, _ = _turn(FLOATS, R)
        assert np.allclose(theta.astype(float), 2 * np.sin(angle / 2) * axis, atol=1e-15)


def test_a_bushing_adds_neither_momentum_nor_angular_momentum():
    # its forces, and its moments about the world's origin, sum to zero
    model = two_bodies(
        stiffness=(50, 40, 30, 5, 4, 3), damping=(1, 2, 3, 0.1, 0.2, 0.3), rotations=((0.3, 0, 1), (0, 1, 0))
    )
    q, qd = np.random.default_rng(3).uniform(-0.6, 0.6, (2, 12))
    motion = move(model, FLOATS, 0.0, vector(list(q)), vector(list(qd)), {})
    force, moment = np.zeros(3), np.zeros(3)
    for part in (part for load in applied_forces(motion) for part in load.wrenches):
        body = motion.body(part.body)
        force = force + to_numeric(part.force)
        moment = moment + to_numeric(body.R_WB @ part.moment + cross(body.p_WG, part.force))
    assert np.allclose([force, moment], 0, atol=1e-13)


def test_a_cube_on_a_bushing_swings_in_each_direction_by_its_own_stiffness():
    model = Model("cube").coordinates("x", "y", "turn")
    model.body("cube", joint=model.planar((0, 0, 1), ("x", "y"), "turn"), mass=2, inertia=(1, 1, 0.5))
    eom = dl.derive(model.bushing(("world", "cube"), stiffness=(8, 18, 0, 0, 0, 2)), engine="python")
    x, y, turn = q = np.random.default_rng(1).uniform(-1, 1, (3, 9))
    # V = ½ k (2 sin(α/2))² = k (1 − cos α): a pendulum
    assert np.allclose(eom.accelerations(q, 0 * q), [-4 * x, -9 * y, -4 * np.sin(turn)], atol=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: two_bodies(stiffness=(1, 2, 3)), "stiffness: got 3 entries. Expected 6 numbers"),
        (lambda: two_bodies(stiffness=[[1, 2, 3]] * 6), "Expected 6 numbers (along x, y, z, about x, y, z) or 6 rows"),
        (lambda: two_bodies(damping=(1, 2, 3, 4, 5, "x")), "damping[5]: 'x' depends on x."),
        (lambda: two_bodies(stiffness=7), "stiffness: got 7. Expected 6 numbers"),
    ],
)
def test_invalid_bushing_arguments(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)


def test_check_reports_invalid_bushings_and_friction():
    K = np.eye(6)
    K[0, 1] = 3
    with pytest.raises(ModelError, match=r"entry \[0\]\[1\] is 3 and entry \[1\]\[0\] is 0, so it is not conservative"):
        two_bodies(stiffness=K).require_valid()
    model = Model("rod").coordinates("a")
    model.body("rod", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match="both frames are on 'rod', so it has no effect"):
        model.copy().bushing(("rod", "rod")).require_valid()
    with pytest.raises(ModelError, match="the rate at which static friction decays is 0"):
        model.copy().joint_friction("rod", static=1, stribeck=0).require_valid()
    with pytest.raises(InputError, match=r"got stribeck without static\. Give both"):
        model.joint_friction("rod", stribeck=1)
    with pytest.raises(InputError, match=r"coulomb: got 3 values. Expected one for both, or two: \(forward,"):
        model.joint_friction("rod", coulomb=(1, 2, 3))


def test_a_block_slows_down_by_the_friction_of_its_direction():
    # v̇ = −3/2 forwards and 5/2 backwards, far above the smoothing
    for rate, pace in ((4.0, -1.5), (-6.0, 2.5)):
        model = Model("block").coordinate("x", 0.0, rate)
        model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
        run = dl.simulate(model.joint_friction("block", coulomb=(3, 5), smoothing=1e-5), 1.0, samples=5)
        assert np.allclose(run.qd[0], rate + pace * run.t, atol=1e-9)


def test_friction_of_an_inverted_joint_swaps_its_directions():
    model = Model("block").coordinate("x")
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2).joint_friction("block", coulomb=(3, 5))
    assert [float(x) for x in model.loads[0].reversed().coulomb] == [5, 3]  # pyright: ignore[reportAttributeAccessIssue]
