"""Energy balance of a run: the work of every load, drive and constraint by name."""

import csv
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson
from scipy.io import loadmat

import dalembert as dl
from dalembert.api.simulate import recording_of
from dalembert.model.immutable import Frozen
from dalembert.model.model import Model
from dalembert.simulation.main_loop import RunOptions, integrate_segments
from dalembert.simulation.partition import Partition

G = 9.81
M, K, C, F = 2.0, 18.0, 0.8, 1.5
KEYS = ("kane", "maggi", "newton_euler", "dirac")


def slider(name: str = "slider", start: float = 0.0, rate: float = 0.0) -> Model:
    model = Model(name).coordinate("x", start, rate)
    return model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=M)


def oscillator() -> Model:
    """M ẍ + C ẋ + K x = F."""
    model = slider("oscillator", 0.7, -0.4).joint_spring("block", stiffness=K)
    model.joint_friction("block", viscous=C, name="dashpot")
    return model.force("block", (F, 0, 0), name="push")


def damped_motion(t):
    """x and ẋ by the closed form."""
    d, rest = C / (2 * M), F / K
    w = np.sqrt(K / M - d**2)
    a, b = 0.7 - rest, (-0.4 + d * (0.7 - rest)) / w
    fall, c, s = np.exp(-d * t), np.cos(w * t), np.sin(w * t)
    return rest + fall * (a * c + b * s), fall * ((b * w - d * a) * c - (a * w + d * b) * s)


@pytest.mark.parametrize(
    ("integrator", "error"),
    [
        ("taylor", 1e-14),
        ("dop853", 1e-9),
        ("rk45", 2e-2),
        ("rk4", 1e-8),
        ("radau", 1e-8),
        pytest.param("ida", 1e-6, marks=pytest.mark.skipif(not find_spec("sksundae"), reason="no scikit-sundae")),
        ("collocation", 1e-8),
        ("algorithm3", 0.1),
    ],
)
def test_the_work_of_a_damper_and_of_a_push_by_every_integrator(integrator, error):
    run = dl.derive(oscillator(), "phong").simulate(1.5, samples=16, integrator=integrator)
    x, v = damped_motion(run.t)
    energy = M * v**2 / 2 + K * x**2 / 2
    assert list(run.work) == ["dashpot", "push"]
    pushed = F * (x - x[0])
    assert np.allclose(run.work["push"], pushed, atol=error)
    assert np.allclose(run.work["dashpot"], energy - energy[0] - pushed, atol=error)
    assert np.allclose(run.energy - run.energy[0], run.work.total, atol=10 * error)
    assert np.allclose(run.power("dashpot"), -C * run.qd[0] ** 2, atol=1e-13)


def test_friction_dissipates_the_work_of_a_pull():
    # far above the smoothing, friction is 4 N opposite to the motion
    model = slider("block", 0.0, 3.0).joint_friction("block", coulomb=4.0, smoothing=1e-7, name="ground")
    run = dl.simulate(model.force("block", ("5 + t", 0, 0), name="rope"), 2.0, samples=21, rtol=1e-12)
    way = 3 * run.t + run.t**2 / 4 + run.t**3 / 12
    assert np.allclose(run.work["ground"], -4 * way, rtol=1e-9)
    assert np.allclose(run.work["rope"] + run.work["ground"], run.kinetic - run.kinetic[0], atol=1e-9)


def driven_arm() -> Model:
    """Two links with prescribed joints, with friction in the second."""
    model = Model("arm", gravity=(0, -G, 0)).coordinate("a", 0.2, 0.9).coordinate("b", 0.5, 0.0)
    model.body("upper", joint=model.revolute((0, 0, 1), "a"), mass=2, center=(0.3, 0, 0), inertia=(0.1, 0.1, 0.2))
    hinge = model.revolute((0, 0, 1), "b", position=(0.6, 0, 0))
    model.body("lower", parent="upper", joint=hinge, mass=1, center=(0.2, 0.1, 0), inertia=(0.1, 0.1, 0.1))
    model.joint_friction("lower", viscous=0.3, name="bearing")
    return model.drive("a", "0.2 + 0.3*sin(3*t)").drive("b", "0.5*cos(2*t)")


@pytest.mark.parametrize("key", KEYS)
def test_each_drive_supplies_torque_times_rate(key):
    run = dl.derive(driven_arm(), key).simulate(1.0, samples=201)
    a, b = 0.9 * np.cos(3 * run.t), -np.sin(2 * run.t)
    tau = dl.inverse_dynamics(driven_arm(), run.q, run.qd, run.qdd)  # by the recursion, without friction
    assert list(run.work) == ["bearing", "drive of a", "drive of b"]
    for name, power in (("bearing", -0.3 * b**2), ("drive of a", tau[0] * a), ("drive of b", (tau[1] + 0.3 * b) * b)):
        assert np.allclose(run.power(name), power, atol=1e-8)
        assert np.allclose(run.work[name], cumulative_simpson(power, x=run.t, initial=0), atol=1e-6)
    assert np.allclose(run.energy - run.energy[0], run.work.total, atol=1e-8)


@pytest.mark.parametrize("key", ["lagrange", "kane", "dirac"])
def test_work_of_constraints_with_shared_coordinates_is_separated(key):
    # a point of 3 kg: λ (1, 2) + μ (1, −1) = 3 (ẍ, ÿ)
    model = Model("point").coordinate("x", 0.0, 1.0).coordinate("y", 0.0, 0.0).coordinate("z", 0.0, 0.4)
    model.body("bead", joint=[model.prismatic(e, c) for e, c in zip(np.eye(3), "xyz", strict=True)], mass=3)
    model.holonomic("x + 2*y - sin(t)", name="first").holonomic("x - y - sin(t)", name="second")
    run = dl.derive(model.holonomic("z - 0.4*x", name="third"), key).simulate(1.5, samples=16)
    bend = -np.sin(run.t)
    # y stays 0 and z = 0.4 x: 3 ẍ = λ + μ − 0.4 ν, 0 = 2 λ − μ, 3 z̈ = ν
    lam = (3 * bend + 0.4 * 3 * 0.4 * bend) / 3
    assert list(run.work) == ["first", "second"]
    assert np.allclose(run.work["first"], cumulative_simpson(lam * np.cos(run.t), x=run.t, initial=0), atol=2e-5)
    assert np.allclose(run.power("second"), 2 * lam * np.cos(run.t), atol=1e-9)
    assert run.energy_error <= 1e-12


def test_work_of_redundant_drives_is_not_separated():
    model = slider("twice", 0.0, 1.0).holonomic("x - sin(t)", name="first").holonomic("2*x - 2*sin(t)", name="second")
    run = dl.derive(model, "lagrange").simulate(1.0, samples=11)
    assert np.allclose(run.work["constraints"], M * (np.cos(run.t) ** 2 - 1) / 2, atol=1e-10)
    assert "first" not in run.work


def test_a_constant_rate_drive_does_work_while_the_jacobi_function_is_constant():
    run = dl.simulate("bead-on-wire", 2.0, samples=21)
    m, w = run.parameters["m"], run.parameters["w"]
    r = run.q[0]
    assert np.allclose(run.work["prescribed motion"], m * w**2 * (r**2 - r[0] ** 2), atol=1e-12)
    assert np.allclose(run.power("prescribed motion"), 2 * m * w**2 * r * run.qd[0], atol=1e-12)
    # the same motion enforced by a constraint
    other = dl.simulate("bead-on-wire-cartesian", 2.0, samples=21)
    assert np.allclose(other.work["wire"], run.work["prescribed motion"], atol=1e-10)


def test_a_damper_on_a_moving_frame_dissipates_by_its_length_rate():
    # the crate moves by u = 0.1 sin 4t, the block inside slides against it
    model = Model("crate").coordinate("x", 0.2, 0.0)
    model.body("crate", joint=model.prismatic((1, 0, 0), "0.1*sin(4*t)"), mass=5)
    model.body("block", parent="crate", joint=model.prismatic((1, 0, 0), "x"), mass=M)
    model.joint_friction("block", viscous=C, name="slide")
    model.damper(("world", "block"), points=((-3, 0, 0), (0, 0, 0)), damping=0.5, name="ground")
    run = dl.simulate(model, 2.0, samples=401)
    u, v = 0.4 * np.cos(4 * run.t), run.qd[0]
    pull = M * (run.qdd[0] - 1.6 * np.sin(4 * run.t)) + 0.5 * (u + v) - 5 * 1.6 * np.sin(4 * run.t)
    for name, power in (("slide", -C * v**2), ("ground", -0.5 * (u + v) ** 2), ("prescribed motion", pull * u)):
        assert np.allclose(run.power(name), power, atol=1e-12)
        assert np.allclose(run.work[name], cumulative_simpson(power, x=run.t, initial=0), atol=1e-6)
    assert np.allclose(run.energy - run.energy[0], run.work.total, atol=1e-12)


@pytest.mark.parametrize(("name", "key"), [("tracking", "lagrange"), ("rough-surface", "poincare")])
def test_servo_and_non_ideal_constraints_are_accounted_for(name, key):
    run = dl.derive(dl.load(name), key).simulate(1.0, samples=101)
    total = sum(run.power(each) for each in run.work)
    assert np.allclose(run.work.total, cumulative_simpson(total, x=run.t, initial=0), atol=1e-5)
    assert run.energy_error <= 1e-11
    assert set(run.work) <= {*run.constraint_names, "non-ideal constraints", "prescribed motion"}


def test_forces_of_energy_models_have_names():
    model = Model.from_energies(
        "masses", coordinates=["x", "y"], kinetic="dot(x)**2/2 + dot(y)**2", forces=["-dot(x)", "3"]
    )
    run = dl.simulate(model.start([0, 0], [2, 0]), 1.0, samples=11)
    assert np.allclose(run.work["force on x"], 2 * np.exp(-2 * run.t) - 2, atol=1e-12)
    assert np.allclose(run.work["force on y"], 3 * run.q[1], atol=1e-12)


def test_loads_with_equal_names_stay_separate():
    model = slider("same", 0.0, 1.0).force("block", ("2*t", 0, 0), name="pull").holonomic("x - sin(t)", name="pull")
    run = dl.simulate(model, 1.0, samples=11)
    assert list(run.work) == ["pull", "pull (2)"]
    assert np.allclose(run.power("pull"), 2 * run.t * np.cos(run.t), atol=1e-12)


def test_an_unknown_work_name_is_reported():
    run = dl.simulate(oscillator(), 0.1, samples=2)
    with pytest.raises(KeyError, match=r"no element 'dashpott' does work\. Did you mean 'dashpot'"):
        run.work["dashpott"]
    with pytest.raises(dl.InputError, match=r"power: no element 'x' does work"):
        run.power("x")


# jumps between parts


def bouncing(e: float = 0.5) -> tuple[dl.Trajectory, float]:
    """A ball that falls with slight drag and bounces once, as a run of two parts."""
    model = Model("ball", gravity=(0, 0, -G)).coordinate("z", 1.0, 0.0)
    model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=M).joint_friction("ball", viscous=0.1, name="air")
    eom = dl.derive(model, "lagrange")
    down = integrate_segments(eom, RunOptions(0.4, samples=5))
    (fall,) = down.parts
    z, v = fall.solution.y[:2, -1].tolist()
    (rise,) = integrate_segments(eom, RunOptions(0.4, [z], [-e * v], t0=0.4, samples=5)).parts
    record = Partition(eom)
    record.add_segment(fall.solution, fall.constants)
    lost = M * v**2 * (e**2 - 1) / 2
    record.jump("impact", 0.75 * lost)
    record.jump("impact", 0.25 * lost)
    record.add_segment(rise.solution, rise.constants)
    return recording_of(eom, replace(down, parts=tuple(record.parts))).trajectory(), lost


def test_the_energy_balance_includes_jumps():
    run, lost = bouncing()
    assert run.segments[1].jumps == Frozen(impact=lost)
    assert np.allclose(run.work["impact"], np.where(run.t > 0.4, lost, 0.0))
    assert np.ptp(run.balance) <= 1e-13 * run.energy[0]
    assert np.ptp(run.energy - run.work.total) <= 1e-13 * run.energy[0]
    assert not run.power("impact").any()
    # x = 1 − (g/k)(t − (1 − e⁻ᵏᵗ)/k) with k = 0.1/M, and the speed is g (1 − e⁻ᵏᵗ)/k
    k = 0.1 / M
    v, z = G * (1 - np.exp(-0.4 * k)) / k, 1 - G / k * (0.4 - (1 - np.exp(-0.4 * k)) / k)
    assert run.work["air"][4] == pytest.approx(M * v**2 / 2 - M * G * (1 - z), abs=1e-10)


# files


def test_work_is_saved_and_loaded(tmp_path):
    run, _ = bouncing()
    table = run.to_dataframe()
    again = dl.load_run(run.save(tmp_path / "run.nc"))
    assert again.segments[1].jumps == run.segments[1].jumps
    assert np.array_equal(again.balance, run.balance)
    for name, values in run.work.items():
        assert np.array_equal(again.work[name], values)
        assert np.array_equal(table[f"work({name})"], values)
        assert np.array_equal(table[f"power({name})"], run.power(name))
    with run.save(tmp_path / "run.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    column = next(key for key in rows[0] if key.startswith("work(impact)"))
    assert np.array_equal([float(row[column]) for row in rows], run.work["impact"])
    data = loadmat(run.save(tmp_path / "run.mat"))
    assert [str(name[0]) for name in data["working"].ravel()] == ["air", "impact"]
    assert np.array_equal(data["work_of"], list(run.work.values()))
    assert run.to_xarray().power_of.dims == ("working", "time")
