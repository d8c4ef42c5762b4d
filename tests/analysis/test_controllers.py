"""Control laws against closed forms and exact discrete-time solutions."""

import numpy as np
import pytest
from scipy.linalg import expm

import dalembert as dl
from dalembert.errors import InputError
from dalembert.model.python_laws import State, state_indices


def block(x=0.0, v=0.0):
    """A mass of 1 kg on a line."""
    model = dl.Model("block").coordinate("x", x, v)
    return model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1)


def robot(q=(0.3, 1.0)):
    return dl.load("robot-2-link").copy().start(list(q), [0, 0])


def test_pd_gives_the_step_response_of_an_oscillator():
    """x = 1 − e^(−ζωt) (cos ω_d t + ζω/ω_d sin ω_d t)."""
    omega, zeta = 3.0, 0.4
    run = dl.simulate(block().actuator("block", law=dl.PD("x", 1.0, kp=omega**2, kd=2 * zeta * omega)), 3.0, samples=31)
    damped, t = omega * np.sqrt(1 - zeta**2), run.t
    inner = np.cos(damped * t) + zeta * omega / damped * np.sin(damped * t)
    assert np.abs(run["x"] - (1 - np.exp(-zeta * omega * t) * inner)).max() < 1e-9


def test_pid_is_exact_in_discrete_time_and_tends_to_the_closed_form():
    """With a zero-order hold, (x, v, ∫e) is a linear recursion; for short periods it tends to exp(A t) of ẋ = A x."""
    kp, ki, kd, h, count = 30.0, 40.0, 10.0, 0.01, 100
    law = dl.PID("x", 1.0, kp, ki, kd)
    run = dl.simulate(block().actuator("block", law=law, period=h), count * h, samples=count + 1)
    x, v, total, out = 0.0, 0.0, 0.0, []
    for _ in range(count + 1):
        out.append(x)
        u = kp * (1 - x) - kd * v + ki * total
        total += h * (1 - x)
        x, v = x + h * v + h * h * u / 2, v + h * u
    assert np.abs(run["x"] - out).max() < 1e-9
    A = np.array([[0, 1, 0], [-kp, -kd, ki], [-1, 0, 0]])
    rest = np.linalg.solve(A, -np.array([0, kp, 1]))  # x = 1
    exact = [(rest + expm(A * t) @ -rest)[0] for t in run.t[::10]]
    fine = dl.simulate(block().actuator("block", law=law, period=h / 10), count * h, samples=11)
    coarse, better = np.abs(run["x"][::10] - exact).max(), np.abs(fine["x"] - exact).max()
    assert coarse < 0.05
    assert better < 0.12 * coarse  # of first order


def test_pid_does_not_wind_up():
    """In saturation the integral without anti-windup overshoots, and the one with it does not."""

    def overshoot(law, **how):
        run = dl.simulate(block().actuator("block", law=law, period=0.01, **how), 8.0, samples=401)
        return run["x"].max() - 5.0, abs(run["x"][-1] - 5.0)

    gains = {"kp": 6.0, "ki": 2.0, "kd": 5.0}
    limited, left = overshoot(dl.PID("x", 5.0, **gains, limit=1.5))
    wound, _ = overshoot(dl.PID("x", 5.0, **gains), limit=1.5)
    assert limited < 0.4 * wound
    assert left < 0.1
    low = dl.PID("x", 5.0, 10.0, limit=(-1.0, 2.0))
    low.reset(0.0, State({}, np.zeros(0), np.zeros(0)))
    known = state_indices(("x",))
    assert low(0.0, State(known, np.array([0.0]), np.zeros(1))) == 2.0
    assert low(0.1, State(known, np.array([9.0]), np.zeros(1))) == -1.0


def test_targets_are_numbers_profiles_or_functions_of_time():
    profile = dl.quintic(0.0, 1.0, 2.0)
    by = {"profile": profile, "function": lambda t: tuple(float(x) for x in profile(t))}
    state = State(state_indices(("x",)), np.array([0.2]), np.array([0.1]))
    expected = 3 * (profile.position(0.7) - 0.2) + 2 * (profile.rate(0.7) - 0.1)
    for target in by.values():
        assert dl.PD("x", target, 3, 2)(0.7, state) == pytest.approx(expected)
    assert dl.PD("x", lambda t: 2 * t, 3, 2)(0.7, state) == pytest.approx(3 * 1.2 - 0.2)
    with pytest.raises(InputError, match="Expected a number, a profile, or a function of time"):
        dl.PD("x", [1, 2], 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"Expected a number >= 0, or \(lowest, highest\)"):
        dl.PID("x", 1.0, 3, limit=-2)


def test_computed_torque_errors_decay_as_a_linear_oscillator():
    """ë + kd ė + kp e = 0 for every coordinate of any robot: with critical gains e = (1 + ω t) e^(−ωt) e₀."""
    model, omega = robot((0.4, -0.2)), 5.0
    law = dl.ComputedTorque(model, {"q1": "0.5*sin(2*t)", "q2": 0.3}, kp=omega**2, kd=2 * omega)
    assert law.bodies == ("upper", "lower")
    run = dl.simulate(model.start([0.4, -0.2], [1.0, 0.0]).actuator(law.bodies, law=law), 1.5, samples=16)
    wanted = np.stack([0.5 * np.sin(2 * run.t), 0.3 + 0 * run.t])
    shape = (1 + omega * run.t) * np.exp(-omega * run.t)
    assert np.abs(run.q - wanted - np.outer([0.4, -0.5], shape)).max() < 1e-9


def test_operational_space_errors_decay_as_a_linear_oscillator():
    model, tip, omega = robot(), (0.25, 0.0, 0.0), 6.0
    start, goal = dl.position(model, [0.3, 1.0], "lower", tip), np.array([0.2, 0.4, 0.0])
    law = dl.OperationalSpace(model, "lower", goal, kp=omega**2, kd=2 * omega, point=tip)
    run = dl.simulate(model.actuator(law.bodies, law=law), 1.0, samples=11)
    shape = (1 + omega * run.t) * np.exp(-omega * run.t)
    assert np.abs(run.path("lower", tip) - goal[:, None] - np.outer(start - goal, shape)).max() < 1e-8


def test_null_space_motion_is_damped():
    """A redundant robot: the point is fixed, and the null-space motion decays."""
    model = dl.load("robot-3-link").copy()
    q = [0.4, 0.5, 0.6]
    goal = dl.position(model, q, model.bodies[-1].name)
    law = dl.OperationalSpace(model, model.bodies[-1].name, goal, damping=4.0)
    J, M = dl.jacobian(model, q, model.bodies[-1].name)[:3], dl.mass_matrix(model, q)
    self_motion = np.linalg.svd(J)[2][-1]  # moves without moving the point
    state = State(state_indices(model.coordinate_names), np.array(q), self_motion)
    qdd = dl.forward_dynamics(model, q, self_motion, law(0.0, state), friction=True)
    by_mass = np.linalg.solve(M, J.T)
    own = np.eye(3) - by_mass @ np.linalg.pinv(J @ by_mass, rcond=1e-9) @ J  # projects onto the null space
    point = dl.acceleration(model, q, self_motion, qdd, model.bodies[-1].name).linear
    assert np.abs(point).max() < 1e-9
    assert np.abs(own @ (qdd + 4.0 * self_motion)).max() < 1e-9


def test_the_regulator_of_a_double_integrator_has_its_known_gain():
    """K = (√(q/r), √(2 √(q/r) + q₂/r)); the poles follow."""
    law = dl.LQR([[0, 1], [0, 0]], [[0], [1]], Q=[16.0, 4.0], R=1.0)
    assert np.allclose(law.K, [[4.0, np.sqrt(12.0)]], atol=1e-10)
    assert np.allclose(sorted(law.poles), np.sort_complex(np.roots([1, np.sqrt(12.0), 4.0])), atol=1e-10)


def test_the_regulator_holds_an_underactuated_robot_upright():
    """The simulated decay rate is that of the slowest closed-loop pole."""
    model = robot((np.pi / 2, 0.0))
    law = dl.LQR.about(model, Q=[1, 1, 0.1, 0.1], R=0.01, actuated=["q1"])
    assert law.bodies == ("upper",)
    assert np.allclose(law.u0, 0.0, atol=1e-12)
    assert (law.poles.real < 0).all()
    small = 1e-6
    model.start([np.pi / 2 + small, 0.0], [0, 0]).actuator(law.bodies, law=law)
    run = dl.simulate(model, 1.0, samples=6, rtol=1e-12, atol=1e-15)
    linear = np.stack([expm((law.A - law.B @ law.K) * t) @ [small, 0, 0, 0] for t in run.t], axis=1)
    assert np.abs(run.q - law.x0[:2, None] - linear[:2]).max() < 1e-4 * np.abs(linear).max()


def test_lqr_rejects_models_that_cannot_be_stabilized():
    with pytest.raises(InputError, match=r"is not an equilibrium for any forces along q1: d/dt"):
        dl.LQR.about(robot((0.3, 1.0)), Q=1.0, R=1.0, actuated=["q1"])
    with pytest.raises(InputError, match=r"there is no coordinate 'q9'"):
        dl.LQR.about(robot(), Q=1.0, R=1.0, actuated=["q9"])
    with pytest.raises(InputError, match=r"Expected \(A, B\) stabilizable"):
        dl.LQR([[1, 0], [0, -1]], [[0], [1]], Q=1.0, R=1.0)
    with pytest.raises(InputError, match=r"LQR, Q: got shape \(3,\)"):
        dl.LQR([[0, 1], [0, 0]], [[0], [1]], Q=[1, 2, 3], R=1.0)
    with pytest.raises(InputError, match=r"ComputedTorque, kp: got 'stiff'. Expected a number"):
        dl.ComputedTorque(robot(), {"q1": 0}, kp="stiff")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"Expected a model"):
        dl.OperationalSpace("robot-2-link", "lower", (0, 0, 0))  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"Expected a list of str"):
        dl.LQR.about(robot(), Q=1.0, R=1.0, actuated="q1")
    with pytest.raises(InputError, match="theta1' moves 2 joints"):
        dl.ComputedTorque(dl.load("double-pendulum"), {"theta1": 0})
