"""Body motions along runs against closed forms, and Newton's law between recorded motions and forces."""

import copy

import numpy as np
import pytest

import dalembert as dl

G = 9.81


def swing():
    """A rod on a pin with a spring to the world, a friction that is viscous, and a force that follows it."""
    model = dl.Model("swing", gravity=(0, -G, 0)).parameters(l=0.8)
    model.coordinate("theta", unit="rad").coordinate("x", unit="m")
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=3)
    joint = model.revolute((0, 0, 1), "theta")
    model.body("rod", joint=joint, parent="cart", mass=2, center=(0, "-l/2", 0), inertia=(0.1, 0.01, 0.1))
    model.spring(("world", "rod"), stiffness=40, points=((1, 0, 0), (0, "-l", 0)), natural_length=0.5, name="spring")
    model.joint_spring("rod", stiffness=3, damping=0.5, name="hinge").force(
        "rod", (1, "t", 0), frame="rod", name="push"
    )
    return model.torque("rod", (0, 0, "2*t"), name="twist").start([0.4, 0.1], [0.2, -0.3])


@pytest.fixture(scope="module")
def run():
    return dl.derive(swing(), "lagrange").with_parameters(l=0.7).simulate(1.0, samples=9)


def test_point_motion_matches_closed_forms(run):
    (a, x), (ad, xd), (add, xdd), r = run.q, run.qd, run.qdd, 0.7
    np.testing.assert_allclose(run.path("rod", (0, -r, 0))[:2], [x + r * np.sin(a), -r * np.cos(a)], atol=1e-14)
    v, acc = run.velocity("rod", (0, -r, 0)), run.acceleration("rod", (0, -r, 0))
    np.testing.assert_allclose(v.linear[:2], [xd + r * ad * np.cos(a), r * ad * np.sin(a)], atol=1e-13)
    np.testing.assert_allclose(v.angular[2], ad, atol=1e-14)
    expected = [xdd + r * (add * np.cos(a) - ad**2 * np.sin(a)), r * (add * np.sin(a) + ad**2 * np.cos(a))]
    np.testing.assert_allclose(acc.linear[:2], expected, atol=1e-11)
    np.testing.assert_allclose(acc.angular[2], add, atol=1e-12)
    np.testing.assert_allclose(run["rod", "orientation"][[0, 3]], [np.cos(a / 2), np.sin(a / 2)], atol=1e-14)
    np.testing.assert_array_equal(run["rod", "rotation"], run.frames()["rod"].rotation)
    np.testing.assert_array_equal(run["rod", "position"], run.pose("rod").position)
    np.testing.assert_array_equal(run["rod", "velocity"], run.velocity("rod").linear)
    np.testing.assert_array_equal(run["rod", "angular_acceleration"], acc.angular)


def test_forces_and_accelerations_satisfy_newtons_law(run):
    """m a = weight + load forces + joint force, for a body whose parts come from four different functions."""
    mass, center = 2.0, (0, -0.35, 0)
    pulled = run["rod", "force"] + run["spring", "force"] + run["push", "force"] + np.array([[0], [-mass * G], [0]])
    np.testing.assert_allclose(mass * run.acceleration("rod", center).linear, pulled, atol=1e-10)
    stretch = np.linalg.norm(run.path("rod", (0, -0.7, 0)) - np.array([[1], [0], [0]]), axis=0) - 0.5
    np.testing.assert_allclose(np.linalg.norm(run["spring", "force"], axis=0), 40 * np.abs(stretch), rtol=1e-12)
    np.testing.assert_allclose(run["hinge", "force"][0], -3 * run["theta"] - 0.5 * run["dot(theta)"], atol=1e-13)
    np.testing.assert_allclose(run["twist", "force"][2], 2 * run.t, atol=1e-14)
    units = run.to_dataframe().attrs["units"]
    assert [units[f"load({x})"] for x in ("spring_x", "hinge", "push_y", "twist_z")] == ["N", "N·m", "N", "N·m"]


def test_loops_stay_closed_along_a_run():
    run = dl.simulate("crank-rocker", 0.5, samples=6)
    frames = run.frames()
    assert list(frames) == [body.name for body in run.model.bodies]
    copied = copy.deepcopy(run)
    np.testing.assert_array_equal(copied.path("coupler"), frames["coupler"].position)
    loop = run.model.loops[0]
    np.testing.assert_array_equal(run[loop.name, "force"], run.joint_reactions()[loop.name].force)


def test_quaternion_rates_match_angular_velocities():
    model = dl.Model("ball", gravity=(0, 0, 0)).coordinates("w", "a", "b", "c")
    model.body("ball", joint=model.spherical(quaternion=("w", "a", "b", "c")), mass=1, inertia=(1, 2, 3))
    run = dl.simulate(model.start([1, 0, 0, 0], [0, 0.5, 0.1, -0.2]), 1.0, samples=5)
    w = run.velocity("ball").angular
    momentum = run.pose("ball").rotation
    spin = np.einsum("ijk,jk->ik", momentum, np.array([[1], [2], [3]]) * np.einsum("jik,jk->ik", momentum, w))
    np.testing.assert_allclose(spin, np.repeat(spin[:, :1], 5, axis=1), atol=1e-9)  # R I Rᵀ ω is conserved
    np.testing.assert_allclose(spin[:, 0], [1, 0.4, -1.2], atol=1e-12)  # I · 2 (0.5, 0.1, −0.2)


def test_recursive_runs_have_body_poses():
    model = dl.load("simple-pendulum").copy().joint_torque("bob", "2*t", name="motor")
    model.joint_friction("bob", viscous=1, name="oil")
    run = dl.dynamics(model).simulate(0.5, samples=3, friction=False)
    (theta,) = run.q
    np.testing.assert_allclose(run.path("bob", (0, -1, 0))[:2], [np.sin(theta), -np.cos(theta)], atol=1e-14)
    np.testing.assert_allclose(run["motor", "force"], [2 * run.t])
    assert list(run.load_forces) == ["motor"]
    assert not any(name.startswith("joint") for name in run.to_dataframe().columns)


def test_wrong_input(run):
    with pytest.raises(dl.InputError, match=r"no body, loop or load 'rodd'\. Did you mean 'rod'\?"):
        run["rodd", "position"]
    with pytest.raises(
        dl.InputError, match=r"no 'positon' of 'rod'\. Did you mean 'position'\? Expected one of position,"
    ):
        run["rod", "positon"]
    with pytest.raises(dl.InputError, match=r"no 'moment' of 'spring'\..*Expected one of force\."):
        run["spring", "moment"]
    with pytest.raises(dl.InputError, match=r"the run has no quantity 'thetaa'\. Did you mean 'theta'\?"):
        run["thetaa"]
    with pytest.raises(dl.InputError, match=r"got 3\. Expected a str or a pair of str"):
        run[3]
    with pytest.raises(dl.InputError, match=r"there is no body 'rodd'"):
        run.pose("rodd")
    free = dl.Model.from_energies("free", coordinates=["x"], kinetic="dot(x)**2/2").start([0], [3])
    with pytest.raises(dl.InputError, match="model 'free' is defined by energies"):
        dl.simulate(free, 0.1, samples=2).frames()
