"""Euler angles along runs that pass gimbal lock, against quaternions and Euler's equations integrated by SciPy."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import dalembert as dl
from dalembert.api.tree_equations import TreeEquations
from dalembert.errors import SimulationError
from dalembert.formalisms.catalog import KEYS

NOTE = "gimbal lock"


def matrix_of(q: np.ndarray) -> np.ndarray:
    return Rotation.from_quat(q, scalar_first=True).as_matrix()


def reference(
    times: np.ndarray,
    R0: np.ndarray,
    w0: np.ndarray,
    inertia: np.ndarray,
    torque: Callable[[np.ndarray], np.ndarray] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (3, 3, K) and ω in body axes (3, K) of a body with a fixed point, by a quaternion and Euler's equations."""
    inverse, none = np.linalg.inv(inertia), np.zeros(3)

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        (w, x, y, z), o = state[:4], state[4:]
        a, b, c = o
        turning = 0.5 * np.array(
            [-x * a - y * b - z * c, w * a + y * c - z * b, w * b - x * c + z * a, w * c + x * b - y * a]
        )
        moment = none if torque is None else torque(state[:4] / np.linalg.norm(state[:4]))
        h = inertia @ o
        gyro = np.array([b * h[2] - c * h[1], c * h[0] - a * h[2], a * h[1] - b * h[0]])
        return np.concatenate([turning, inverse @ (moment - gyro)])

    start = np.concatenate([Rotation.from_matrix(R0).as_quat(scalar_first=True), w0])
    found = solve_ivp(rates, times[[0, -1]], start, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=times)
    return np.moveaxis(matrix_of(found.y[:4].T), 0, 2), found.y[4:]


@cache
def heavy_top(duration: float, samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, rotations and ω of the gallery's top, with the vertical in body axes from the quaternion."""
    times = np.linspace(0.0, duration, samples)
    m, d, g, J1, J2 = 15.0, 1.0, 9.81, 0.234375, 0.46875

    def torque(q: np.ndarray) -> np.ndarray:
        w, x, y, z = q
        down = -m * g * np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
        return d * np.array([down[2], 0.0, -down[0]])

    inertia = np.diag([J1 + m * d * d, J2, J1 + m * d * d])
    return times, *reference(times, np.eye(3), np.array([0.0, 150.0, -4.61538]), inertia, torque)


def of_angles(q: np.ndarray, sequence: str) -> np.ndarray:
    return np.moveaxis(Rotation.from_euler(sequence.upper(), q.T).as_matrix(), 0, 2)


INERTIA = (1.0, 2.0, 2.5)


def free_body(sequence: str, angles: np.ndarray, rates: np.ndarray, joint: str = "spherical") -> dl.Model:
    """A rigid body that rotates freely about its mass center."""
    model = dl.Model("tumbling body").coordinates("a", "b", "c")
    if joint == "spherical":
        made = model.spherical(("a", "b", "c"), sequence)
    else:
        units = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
        made = [model.revolute(units[axis], name) for axis, name in zip(sequence, "abc", strict=True)]
    model.body("body", joint=made, mass=1, inertia=INERTIA)
    return model.start(list(angles), list(rates))


def body_rates(run: dl.Trajectory, body: str) -> np.ndarray:
    return np.einsum("ji...,j...->i...", run.pose(body).rotation, run.velocity(body).angular)


def require_same_motion(run: dl.Trajectory, body: str, R: np.ndarray, w: np.ndarray, tolerance: float) -> None:
    assert np.abs(run.pose(body).rotation - R).max() < tolerance
    assert np.abs(body_rates(run, body) - w).max() < 300 * tolerance * max(1.0, np.abs(w).max())


def start_into_lock(sequence: str, seed: int, near: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """R and ω in body axes from which a tumbling body comes within `near` of gimbal lock at t = 0.5, and angles there."""
    rng = np.random.default_rng(seed)
    lock = 0.0 if sequence[0] == sequence[2] else np.pi / 2
    met = np.array([rng.uniform(-3, 3), lock + near, rng.uniform(-3, 3)])
    R, w = reference(
        np.array([0.0, 0.5]), of_angles(met[:, None], sequence)[:, :, 0], rng.normal(size=3) * 2, np.diag(INERTIA), None
    )
    return R[:, :, -1], -w[:, -1], met  # a motion backwards is a motion, too


def tumbling(sequence: str, R: np.ndarray, w: np.ndarray, joint: str = "spherical") -> dl.Model:
    """The body with this rotation and angular velocity in body axes."""
    angles = Rotation.from_matrix(R).as_euler(sequence.upper())
    units, rates = np.eye(3), np.zeros((3, 3))
    for k in range(3):  # ω in body axes of a unit rate of each angle
        behind = Rotation.from_euler(sequence[k + 1 :].upper(), angles[k + 1 :]) if k < 2 else Rotation.identity()
        rates[:, k] = np.ravel(behind.as_matrix()).reshape(3, 3).T @ units["xyz".index(sequence[k])]
    return free_body(sequence, angles, np.linalg.solve(rates, w), joint)


TIMES = np.linspace(0.0, 1.2, 61)
CASES = [
    pytest.param("zxy", "revolute", 1e-3, "lagrange", "dop853", marks=pytest.mark.slow(2)),
    ("zxz", "spherical", 0.0, "hamilton", "dop853"),
]


@pytest.mark.parametrize(("sequence", "joint", "near", "formalism", "integrator"), CASES)
def test_tumbling_body_passes_gimbal_lock(sequence, joint, near, formalism, integrator):
    R0, w0, _ = start_into_lock(sequence, 5, near)
    R, w = reference(TIMES, R0, w0, np.diag(INERTIA), None)
    run = dl.derive(tumbling(sequence, R0, w0, joint), formalism).simulate(times=TIMES, integrator=integrator)
    assert any(NOTE in note for note in run.notes)
    require_same_motion(run, "body", R, w, 1e-8)
    assert np.abs(of_angles(run.q, sequence) - R).max() < 1e-8
    assert run.energy_error < 1e-7
    assert np.ptp(run.angular_momentum, axis=1).max() < 1e-7


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(24))
def test_random_sequences_pass_gimbal_lock_at_random_distances(seed):
    rng = np.random.default_rng(seed)
    sequence = str(rng.choice(["xyz", "zxz", "zyx", "yxy", "xzx", "yzx", "zxy", "xzy", "yxz", "zyz", "xyx", "yzy"]))
    near = float(rng.choice([0.0, 1e-9, 1e-6, 1e-3, 0.03]))
    joint, integrator = (
        str(rng.choice(["spherical", "revolute"])),
        str(rng.choice(["dop853", "taylor", "rk45", "rk4", "radau"])),
    )
    formalism = str(rng.choice(["lagrange", "kane", "hamilton", "newton_euler", "gauss", "dirac"]))
    R0, w0, _ = start_into_lock(sequence, seed, near)
    R, w = reference(TIMES, R0, w0, np.diag(INERTIA), None)
    tight: dict[str, Any] = (
        {"step": 1e-3}
        if integrator == "rk4"
        else {"rtol": 1e-10, "atol": 1e-12}
        if integrator in ("rk45", "radau")
        else {}
    )
    run = dl.derive(tumbling(sequence, R0, w0, joint), formalism).simulate(times=TIMES, integrator=integrator, **tight)
    assert any(NOTE in note for note in run.notes)
    require_same_motion(run, "body", R, w, 1e-7)


def test_heavy_top_passes_the_vertical(tmp_path):
    times, R, w = heavy_top(1.2, 121)  # gimbal lock at 0.37 and 1.12 s
    equations = dl.derive(dl.load("heavy-top"), "lagrange")
    run = equations.simulate(times=times, integrator="dop853", dense=True)
    require_same_motion(run, "top", R, w, 1e-8)
    assert len(run.segments) == 5
    # the sum of both angles is regular; the revolutions of the spin are counted
    assert run["phi"][-1] == pytest.approx(150.0 * 1.2, rel=0.1)
    assert np.abs(np.diff(run["psi"] - run["phi"])).max() < 2.0
    # energies and momenta are continuous across the change of angles
    assert run.energy_error < 1e-8
    assert np.abs(run.momenta[[0, 2]] - run.momenta[[0, 2], :1]).max() < 1e-7
    assert np.abs(run.speeds[1] - 150.0).max() < 1e-7
    # joint forces against Newton's law of the mass center
    pulled = 15.0 * (run.acceleration("top", (0, 1, 0)).linear + np.array([[0.0], [0.0], [9.81]]))
    assert np.abs(run["top", "force"] - pulled).max() < 1e-5 * np.abs(pulled).max()
    # between the samples, and after a file
    state = run.at(float(times[40]))
    assert np.abs(state - np.concatenate([run.q[:, 40], run.v[:, 40]])).max() < 1e-9 * np.abs(run.v).max()
    again = dl.load_run(run.save(tmp_path / "run.nc"))
    assert (again.q == run.q).all()
    assert (again.qd == run.qd).all()
    assert (again.energy == run.energy).all()


def test_rates_and_accelerations_of_reported_angles_are_derivatives():
    times = np.linspace(0.36, 0.365, 501)
    start = dl.simulate("heavy-top", times=np.array([0.0, 0.36]), integrator="dop853")
    model = dl.load("heavy-top")
    run = dl.derive(model, "lagrange").simulate(
        times=times, q0=start.q[:, -1], qd0=start.qd[:, -1], integrator="dop853", rtol=1e-12
    )
    assert run.segments[-1].sequences is not None
    assert np.abs(np.gradient(run.q, times, axis=1, edge_order=2) - run.qd)[:, 2:-2].max() < 1e-5 * np.abs(run.qd).max()
    assert (
        np.abs(np.gradient(run.qd, times, axis=1, edge_order=2) - run.qdd)[:, 2:-2].max() < 1e-3 * np.abs(run.qdd).max()
    )


def test_load_on_an_angle_stops_the_run_at_gimbal_lock():
    model = dl.load("heavy-top").copy().joint_spring("top", stiffness=1e-9, joint=0, name="band")
    with pytest.raises(
        SimulationError, match=r"psi, theta, phi .*body 'top'.*gimbal lock.*'band' acts on one.*quaternion"
    ):
        dl.derive(model, "lagrange").simulate(1.0, samples=11, integrator="dop853")


def test_rotors_make_gimbal_lock_harmless():
    R0, w0, _ = start_into_lock("zxy", 5, 0.0)
    model = tumbling("zxy", R0, w0, "revolute")
    for k in range(3):
        model.rotor("body", 0.5, joint=k)
    run = dl.derive(model, "lagrange").simulate(times=TIMES, integrator="dop853")
    assert run.energy_error < 1e-6
    assert not any(NOTE in note for note in run.notes)


def test_run_starts_near_gimbal_lock():
    angles, rates = np.array([0.3, 1e-3, 0.4]), np.array([1.0, 2.0, 3.0])
    R0 = Rotation.from_euler("ZXZ", angles).as_matrix()
    axes = Rotation.from_euler("Z", angles[0]).as_matrix(), Rotation.from_euler("ZX", angles[:2]).as_matrix()
    spin = np.array([0, 0, rates[0]]) + rates[1] * axes[0][:, 0] + rates[2] * axes[1][:, 2]
    R, w = reference(TIMES, R0, R0.T @ spin, np.diag(INERTIA), None)
    run = dl.derive(free_body("zxz", angles, rates), "lagrange").simulate(times=TIMES, integrator="dop853")
    assert run.segments[0].sequences is not None
    require_same_motion(run, "body", R, w, 1e-8)
    assert np.abs(run.q[:, 0] - angles).max() < 1e-12


def test_events_are_located_in_other_angles():
    model = dl.load("heavy-top").copy().coordinates("s").parameters(c=1.0)
    model.body("bead", joint=model.prismatic((1, 0, 0), "s"), mass=1).force("bead", ("c", 0, 0))
    model.event("halfway", "t - 0.37", set={"c": 3.0})
    run = dl.derive(model, "lagrange").simulate(0.5, samples=51, integrator="dop853")
    (happened,) = run.events
    assert happened.t == pytest.approx(0.37)
    assert run["s"][-1] == pytest.approx(0.37**2 / 2 + 0.37 * 0.13 + 3 * 0.13**2 / 2, rel=1e-9)
    top = dl.derive("heavy-top", "lagrange").simulate(times=[0.0, 0.37], integrator="dop853")
    assert np.abs(of_angles(happened.q[:3, None], "zxy") - of_angles(top.q[:, -1:], "zxy")).max() < 1e-7
    assert run.energy_error < 1e-7


def test_sensitivities_stop_at_gimbal_lock():
    with pytest.raises(SimulationError, match="derivatives of the motion"):
        dl.sensitivity(dl.load("heavy-top"), 0.5, of=["m"], samples=3, integrator="dop853")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("formalism", "integrator", "tolerance"),
    [
        ("lagrange", "taylor", 1e-8),
        ("lagrange", "dop853", 1e-6),
        ("lagrange", "rk45", 1e-6),
        ("lagrange", "rk4", 1e-6),
        ("lagrange", "radau", 1e-6),
        ("lagrange", "ida", 1e-3),
        ("phong", "collocation", 1e-6),
    ],
)
def test_heavy_top_runs_ten_seconds_with_every_integrator(formalism, integrator, tolerance):
    times, R, w = heavy_top(10.0, 1001)
    tight: dict[str, Any] = {"rk4": {"step": 1e-4}, "rk45": {"rtol": 1e-10, "atol": 1e-12}}.get(integrator, {})
    run = dl.derive(dl.load("heavy-top"), formalism).simulate(times=times, integrator=integrator, **tight)
    require_same_motion(run, "top", R, w, tolerance)


@pytest.mark.nightly
@pytest.mark.parametrize("formalism", KEYS)
def test_heavy_top_passes_the_vertical_with_every_formalism(formalism):
    times, R, w = heavy_top(2.0, 201)
    run = dl.derive(dl.load("heavy-top"), formalism).simulate(times=times, integrator="dop853")
    require_same_motion(run, "top", R, w, 1e-6)


def hung_body(**attitude: Any) -> dl.Model:
    """A body on a free joint with one point fixed by a loop: constraints, multipliers and attitude."""
    turned = "quaternion" in attitude
    names = ("e0", "e1", "e2", "e3") if turned else ("a", "b", "c")
    model = dl.Model("hung body", gravity=(0, 0, -9.81)).coordinates("x", "y", "z", *names)
    model.body("body", joint=model.free(("x", "y", "z"), **attitude), mass=2, inertia=(0.05, 0.07, 0.1))
    return model.loop("pin", ("world", "body"), model.spherical(), position=(0, 0.4, 0))


@pytest.mark.slow(4)
@pytest.mark.parametrize("formalism", ["lagrange", "kane"])
def test_closed_loop_at_gimbal_lock_has_the_multipliers_of_a_quaternion(formalism):
    angles, spin = np.array([0.3, 1.2, -0.4]), np.array([3.0, 1.0, -2.0])
    times = np.linspace(0.0, 1.5, 31)
    R = Rotation.from_euler("ZXY", angles)
    origin, velocity = -R.apply([0, 0.4, 0]), -np.cross(spin, R.apply([0, 0.4, 0]))
    e = R.as_quat(scalar_first=True)
    (w, x, y, z), (a, b, c) = e, spin
    turning = 0.5 * np.array(
        [-x * a - y * b - z * c, w * a - y * c + z * b, w * b + x * c - z * a, w * c - x * b + y * a]
    )
    known = dl.derive(hung_body(quaternion=("e0", "e1", "e2", "e3")), "lagrange").simulate(
        times=times, q0=[*origin, *e], qd0=[*velocity, *turning], integrator="dop853"
    )
    axes = np.stack([[0, 0, 1], Rotation.from_euler("Z", angles[0]).apply([1, 0, 0]), R.apply([0, 1, 0])], axis=1)
    model = hung_body(angles=("a", "b", "c"), sequence="zxy")
    run = dl.derive(model, formalism).simulate(
        times=times, q0=[*origin, *angles], qd0=[*velocity, *np.linalg.solve(axes, spin)], integrator="dop853"
    )
    assert any(NOTE in note for note in run.notes)
    assert np.abs(run.pose("body").rotation - known.pose("body").rotation).max() < 1e-7
    assert np.abs(run.multipliers - known.multipliers[1:]).max() < 1e-5 * np.abs(known.multipliers).max()
    assert np.abs(run.violation).max() < 1e-9
    assert np.abs(run["pin", "force"] - known["pin", "force"]).max() < 1e-5 * np.abs(known["pin", "force"]).max()


@pytest.mark.nightly
def test_runs_leave_their_lane_near_gimbal_lock():
    masses = [14.0, 15.0, 16.0]
    found = dl.sweep(
        dl.load("heavy-top"), {"m": masses}, observe="theta", duration=0.5, times=11, integrator="dop853", workers=1
    )
    for m in masses:
        alone = dl.derive("heavy-top").simulate(0.5, samples=11, parameters={"m": m}, integrator="dop853")
        assert (np.asarray(found["theta"].sel(m=m)).ravel() == alone["theta"]).all()


def test_recursive_tree_run_stops_at_gimbal_lock():
    tree = TreeEquations(dl.derive("heavy-top", "denoc").derivation)
    with pytest.raises(SimulationError, match=r"t = 0\.37.*psi, theta, phi.*recursive.*quaternion"):
        tree.simulate(1.0)


def test_joints_with_their_own_frames_pass_gimbal_lock():
    model = dl.Model("placed gimbals").parameters(tilt=0.4).coordinates("a", "b", "c")
    joints = [
        model.revolute((0, 0, 1), "a", position=(0.1, 0, 0), rotation=(0.2, 0.3, 0)),
        model.revolute((1, 0, 0), "b", rotation=(0, 0, 0.7)),
        model.revolute((0, 1, 0), "c", rotation=("tilt", 0, 0)),
    ]
    model.body("body", joint=joints, mass=1, inertia=INERTIA).start([0.5, 0.6, 0.2], [0.1, 0.9, 0.05])
    run = dl.derive(model, "lagrange").simulate(times=TIMES, integrator="dop853", parameters={"tilt": 0.35})
    assert any(NOTE in note for note in run.notes)
    start = run.pose("body").rotation[:, :, 0]
    R, w = reference(TIMES, start, start.T @ run.velocity("body").angular[:, 0], np.diag(INERTIA), None)
    require_same_motion(run, "body", R, w, 1e-8)
