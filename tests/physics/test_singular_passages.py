"""Singular configurations: branch points, contacts whose independent rows change, springs through zero length."""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.errors import InputError, SimulationError
from dalembert.model.model import Model

# branch points: two parallelograms in a row, which are flat about once per second


def upright(times: np.ndarray) -> np.ndarray:
    """θ(t) of the row of two parallelograms: θ̈ = −(7/6) g cos θ, from the top with a rate of −1."""
    from scipy.integrate import solve_ivp

    fall = lambda t, y: [y[1], -3.5 * 9.81 / 3 * np.cos(y[0])]  # noqa: E731
    found = solve_ivp(
        fall, (0, times[-1]), [np.pi / 2, -1.0], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times, max_step=0.01
    )
    return found.y[0]


@pytest.fixture(scope="module")
def four_bars() -> Model:
    return dl.load("n-four-bar")


@pytest.mark.nightly
@pytest.mark.parametrize("key", ["lagrange", "kane", "hamilton", "nullspace", "newton_euler", "volterra_reduced"])
def test_two_parallelograms_stay_parallelograms(four_bars, key):
    run = dl.derive(four_bars, key).simulate(10.0, samples=201, integrator="taylor")
    assert np.abs(run.q[:3] - upright(run.t)).max() < 1e-7
    assert np.abs(run.q[3:]).max() < 1e-7  # the couplers stay horizontal
    (note,) = [note for note in run.notes if "singular" in note]
    times = [float(x) for x in re.findall(r"\d+\.\d+", note)]
    # they are flat where sin θ = 0, twice per revolution
    assert times[0] == pytest.approx(0.714356, abs=1e-5)
    assert np.abs(np.sin(upright(np.array([0.0, *times[:6]])))[1:]).max() < 1e-4
    assert "and 2 more" in note


def test_samples_next_to_the_branch_point_are_on_the_branch(four_bars):
    times = [0.0, 0.70, 0.714, 0.7143557, 0.7144, 0.72, 0.8]
    run = dl.derive(four_bars, "lagrange").simulate(times=times, integrator="taylor", dense=True)
    assert np.abs(run.q[:3] - upright(run.t)).max() < 1e-9
    assert run.at(0.7143)[0] == pytest.approx(upright(np.array([0.0, 0.7143]))[1], abs=1e-9)


@pytest.mark.parametrize("end", [0.70, 0.7143557, 0.73])
def test_a_run_may_end_next_to_the_branch_point(four_bars, end):
    run = dl.derive(four_bars, "lagrange").simulate(end, samples=3, integrator="taylor")
    assert run.t[-1] == end
    assert np.abs(run.q[:3] - upright(run.t)).max() < 1e-9


@pytest.mark.parametrize("key", ["lagrange", "kane"])
def test_a_slider_crank_with_equal_crank_and_rod_keeps_its_branch(key):
    run = dl.derive(dl.load("slider-crank"), key).simulate(10.0, samples=101, integrator="taylor")
    assert np.ptp(run.balance) < 1e-8 * run.kinetic.max()
    assert np.abs(run.violation).max() < 1e-8
    assert any("passed singular configurations on its branch at t = 0.784843" in note for note in run.notes)


@pytest.mark.parametrize("integrator", ["dop853", "radau"])
def test_step_size_collapse_reports_time_and_constraints(four_bars, integrator):
    with pytest.raises(SimulationError) as caught:
        dl.derive(four_bars, "lagrange").simulate(10.0, samples=11, integrator=integrator)
    message = str(caught.value)
    assert float(re.findall(r"at t = (\S+) ", message)[0]) == pytest.approx(0.714356, abs=1e-3)
    assert "the constraints 'loop1, x', 'loop2, x' become dependent" in message
    assert "Use the integrator taylor" in message


def test_fixed_steps_across_the_singularity_add_a_note(four_bars):
    run = dl.derive(four_bars, "lagrange").simulate(2.0, samples=5, integrator="rk4", step=1e-3)
    assert np.abs(run.q[:3] - upright(run.t)).max() < 1e-8
    assert any("passed singular configurations on its branch at t = 0.71" in note for note in run.notes)


def test_runs_without_projection_only_add_a_note(four_bars):
    run = dl.derive(four_bars, "kane").simulate(0.8, samples=5, integrator="rk4", step=2e-4, project=False)
    assert any("passes close to a singular configuration at t = 0.714" in note for note in run.notes)


def corner(gap: float) -> Model:
    """A bead on the two branches of a hyperbola x y = gap, arriving along x."""
    model = Model("corner").coordinate("x", -1.0, 1.0).coordinate("y", -gap, -gap)
    model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    return model.holonomic(f"x*y - {gap!r}", name="wire")


def test_crossing_wires_are_passed_straight():
    run = dl.simulate(corner(0.0), 3.0, samples=31, integrator="taylor")
    assert np.allclose(run.q, [run.t - 1, 0 * run.t], atol=1e-9)
    assert any("at t = 1" in note for note in run.notes)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-10])
def test_nearly_crossing_wires_are_followed_around_the_corner(gap):
    run = dl.simulate(corner(gap), 3.0, samples=31, integrator="taylor")
    assert np.abs(run.violation).max() < 1e-10
    assert run.q[1, -1] == pytest.approx(-2.0, abs=0.1)  # it has followed the other arm
    assert run.q[0, -1] == pytest.approx(gap / run.q[1, -1], rel=1e-6)
    assert np.ptp(run.energy) < 1e-9


def test_wires_indistinguishable_from_crossing_stop_the_run():
    with pytest.raises(SimulationError, match=r"at t = 1 the motion passes a singular configuration.*'wire'") as caught:
        dl.simulate(corner(1e-13), 3.0, samples=31, integrator="taylor")
    assert "which rounding cannot distinguish from 0" in str(caught.value)


# contacts: two wheels on one axle

RADIUS, HALF = 0.3, 0.5


def axle(heading: float = 0.0, speed: float = 1.0, turning: float = 1.0) -> Model:
    """Two wheels that rotate freely on one axle: four slip conditions of rank 3, whose independent rows depend on the heading."""
    model = Model("axle").parameters(r=RADIUS, b=HALF)
    model.coordinate("x", 0.0, speed * np.cos(heading)).coordinate("y", 0.0, speed * np.sin(heading))
    model.coordinate("psi", heading, turning)
    model.coordinate("left", 0.0, (speed - turning * HALF) / RADIUS)
    model.coordinate("right", 0.0, (speed + turning * HALF) / RADIUS)
    place = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "psi")]
    model.body("axle", joint=place, mass=2, inertia=(0.1, 0.1, 0.1))
    for name, side in (("left", "b"), ("right", "-b")):
        spin = model.revolute((0, 1, 0), name, position=(0, side, "r"))
        model.body(name, parent="axle", joint=spin, mass=1, inertia=(0.02, 0.04, 0.02))
        model.rolling_disk(name, "r", contact=False)
    return model


IN_SPEEDS = ["maggi", "kane", "gibbs_appell", "boltzmann_hamel", "volterra", "volterra_reduced", "nullspace"]
OTHERS = ["lagrange", "dalembert", "routh", "udwadia_kalaba", "poincare", "gauss", "phong", "hamilton", "newton_euler"]


NIGHTLY = ("gibbs_appell", "boltzmann_hamel", "volterra", "dalembert", "gauss", "phong", "poincare", "maggi")


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=pytest.mark.nightly if key in NIGHTLY else ()) for key in IN_SPEEDS + OTHERS]
)
def test_two_wheels_on_one_axle_pass_every_heading(key):
    # without forces it moves on a circle of radius v/w with both rates constant
    run = dl.derive(axle(), key).simulate(15.0, samples=151)
    circle = [np.sin(run.t), 1 - np.cos(run.t), run.t, run.t * 0.5 / RADIUS, run.t * 1.5 / RADIUS]
    assert np.abs(run.q - circle).max() < 1e-8
    assert np.abs(run.violation).max() < 1e-10


@pytest.mark.parametrize("heading", [np.pi / 2, -np.pi / 2, 3.0])
@pytest.mark.parametrize("integrator", ["taylor", "dop853", pytest.param("rk4", marks=pytest.mark.nightly)])
def test_an_axle_may_start_at_any_heading(heading, integrator):
    run = dl.derive(axle(heading, turning=-0.5), "lagrange").simulate(10.0, samples=21, integrator=integrator)
    late = heading - 0.5 * run.t
    centre = 2 * np.array([np.sin(heading), -np.cos(heading)])
    assert np.allclose(run.q[:2], 2 * np.array([-np.sin(late), np.cos(late)]) + centre[:, None], atol=1e-7)


def test_an_axle_defined_by_energies_passes_every_heading():
    m, J, spin = 4.0, 0.7, 0.04
    model = Model("axle").parameters(r=RADIUS, b=HALF)
    start = dict(zip(("x", "y", "psi", "left", "right"), (1.0, 0.0, 1.0, 0.5 / RADIUS, 1.5 / RADIUS), strict=True))
    for name, rate in start.items():
        model.coordinate(name, 0.0, rate)
    model.set_energies(
        f"{m / 2}*(dot(x)**2 + dot(y)**2) + {J / 2}*dot(psi)**2 + {spin / 2}*(dot(left)**2 + dot(right)**2)"
    )
    for name, side in (("left", "b"), ("right", "-b")):
        model.nonholonomic(f"dot(x) - cos(psi)*({side}*dot(psi) + r*dot({name}))", name=f"{name}, x")
        model.nonholonomic(f"dot(y) - sin(psi)*({side}*dot(psi) + r*dot({name}))", name=f"{name}, y")
    for key in ("lagrange", "boltzmann_hamel"):
        run = dl.derive(model, key).simulate(15.0, samples=151)
        assert np.abs(run.q[:3] - [np.sin(run.t), 1 - np.cos(run.t), run.t]).max() < 1e-8


# springs and dampers through zero length


def bead(
    natural: float | str = 1.0, start: float = 2.5, rate: float = 0.0, damping: float = 0.0, **parameters: float
) -> Model:
    """A bead on the x axis, connected to the origin."""
    model = Model("bead").parameters(parameters).coordinate("x", start, rate)
    model.body("bead", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.spring(("world", "bead"), stiffness=10, natural_length=natural, name="tie")
    return model.damper(("world", "bead"), damping=damping, name="brake") if damping else model


@pytest.mark.parametrize("key", ["lagrange", "kane", "newton_euler", "hamilton"])
def test_a_spring_through_zero_length_conserves_energy(key):
    run = dl.derive(bead(), key).simulate(10.0, samples=101, integrator="taylor")
    assert np.ptp(run.energy) < 1e-12 * run.energy[0]
    # a quarter of the cycle: from 2.5 to 0 about the center 1 with ω² = 10
    quarter = np.arccos(-1 / 1.5) / np.sqrt(10)
    assert np.interp(0.0, -run.q[0, :9], run.t[:9]) == pytest.approx(quarter, abs=1e-2)
    late = run.t[run.t < 3 * quarter][-1]
    there = -(1 + 1.5 * np.cos(np.sqrt(10) * (2 * quarter - late)))
    assert run.q[0][run.t == late] == pytest.approx(there, abs=1e-10)
    (note,) = run.notes
    assert note.startswith(f"the spring 'tie' passed through zero length at t = {quarter:.6g}")


@pytest.mark.parametrize("push", [0.0, 1e-13, 1e-9, 1e-4, 0.1])
def test_a_spring_near_zero_length_conserves_energy_and_momentum(push):
    model = Model("plane").coordinate("x", 2.5, 0.0).coordinate("y", 0.1, push)
    model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    model.spring(("world", "bead"), stiffness=10, natural_length=1)
    run = dl.simulate(model, 10.0, samples=101, integrator="taylor")
    assert np.ptp(run.energy) < 1e-10 * run.energy[0]
    assert np.ptp(run.angular_momentum[2]) < 1e-12


def test_a_damper_through_zero_length():
    model = Model("damped").coordinate("x", 1.0, -1.0)
    model.body("bead", joint=model.prismatic((1, 0, 0), "x"), mass=1).damper(("world", "bead"), damping=0.2)
    run = dl.simulate(model, 4.0, samples=9, integrator="taylor")
    assert np.allclose(run.q[0], 1 - 5 * (1 - np.exp(-0.2 * run.t)), atol=1e-12)
    assert any("damper 'damper1' passed through zero length" in note for note in run.notes)


def test_parallel_spring_and_damper_satisfy_the_energy_balance():
    run = dl.simulate(bead(damping=0.3), 10.0, samples=101, integrator="taylor")
    assert np.ptp(run.balance) < 1e-11 * run.energy[0]
    assert run.energy[-1] < 0.5 * run.energy[0]


def test_a_parameter_may_set_the_natural_length_to_zero():
    run = dl.simulate(bead("L", L=0.0), 10.0, samples=101, integrator="taylor")
    assert np.allclose(run.q[0], 2.5 * np.cos(np.sqrt(10) * run.t), atol=1e-12)
    assert run.notes == ()


@pytest.mark.parametrize(("damping", "named"), [(0.0, "spring 'tie'"), (0.3, "spring 'tie'")])
def test_a_start_at_zero_length_is_rejected_by_name(damping, named):
    eom = dl.derive(bead(start=0.0, rate=1.0, damping=damping), "lagrange")
    for act in (lambda: eom.simulate(1.0), lambda: eom.accelerations([0.0], [1.0])):
        with pytest.raises(InputError) as caught:
            act()
        assert f"{named}: at t = 0 its ends coincide and its natural length is 1" in str(caught.value)
        assert "Expected a length above 0, got 0. Start with its ends apart" in str(caught.value)


def test_a_zero_parameter_at_zero_length_reports_the_fix():
    with pytest.raises(InputError, match=r"although its natural length is 0.*Set natural_length = 0 as a number"):
        dl.derive(bead("L", start=0.0, L=0.0), "lagrange").simulate(1.0)


def departing(rate: float, gravity: float = 0.0, damping: float = 0.2) -> Model:
    """A bead on the x axis with a damper to the origin, where it starts."""
    model = Model("damped", gravity=(-gravity, 0, 0)).coordinate("x", 0.0, rate)
    model.body("bead", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    return model.damper(("world", "bead"), damping=damping, name="brake")


@pytest.mark.parametrize(
    ("key", "integrator", "allowed"),
    [("lagrange", "taylor", 1e-14), ("hamilton", "dop853", 1e-9), ("kane", "radau", 1e-9)],
)
def test_a_damper_starting_at_zero_length_acts_along_the_relative_velocity(key, integrator, allowed):
    """x″ = −c x′ from x = 0."""
    run = dl.derive(departing(1.0), key).simulate(4.0, samples=9, integrator=integrator)
    assert run.q[0] == pytest.approx(5 * (1 - np.exp(-0.2 * run.t)), abs=allowed)
    assert run.t[0] == run.q[0, 0] == 0
    assert run.qdd[0, 0] == pytest.approx(-0.2, abs=1e-12)
    assert run.load_forces["brake"][0, 0] == pytest.approx(-0.2, abs=1e-12)
    assert run.power("brake")[0] == pytest.approx(-0.2, abs=1e-12)
    assert run.energy_error < 1e-9
    assert dl.derive(departing(1.0), key).accelerations([[0.0, 1.0]], [[1.0, 1.0]]).ravel() == pytest.approx(
        [-0.2, -0.2]
    )


def test_a_damper_starting_at_rest_at_zero_length_damps_the_separation():
    run = dl.simulate(departing(0.0, 9.81, 0.5), 1.0, samples=5)
    assert run.q[0] == pytest.approx(-9.81 / 0.5 * (run.t - (1 - np.exp(-0.5 * run.t)) / 0.5), abs=1e-12)
    stiff = dl.simulate(departing(1.0, damping=1e6), 1.0, samples=3)
    assert stiff.q[0, 1:] == pytest.approx([1e-6, 1e-6], rel=1e-9)


def test_a_damper_leaving_zero_length_in_a_plane_follows_the_direction():
    model = Model("plane", gravity=(0, 0, -9.81)).coordinate("x", 0.0, 1.0).coordinate("z", 0.0, 2.0)
    model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z")], mass=1)
    model.damper(("world", "bead"), damping=0.5)

    def rates(t: float, y: np.ndarray) -> list[float]:
        r, v = y[:2], y[2:]
        n = r / np.linalg.norm(r) if r.any() else v / np.linalg.norm(v)
        return [*v, *(-0.5 * (v @ n) * n - [0, 9.81])]

    run = dl.simulate(model, 1.0, samples=5, dense=True)
    expected = solve_ivp(rates, (0, 1), [0, 0, 1, 2], t_eval=run.t, rtol=1e-12, atol=1e-13).y
    assert run.q == pytest.approx(expected[:2], abs=1e-10)
    assert run.energy_error < 1e-12
    assert run.at(1e-8) == pytest.approx([1e-8, 2e-8, 1, 2], abs=1e-6)


def test_a_batch_names_the_state_at_zero_length():
    eom = dl.derive(bead(), "kane")
    with pytest.raises(InputError, match="spring 'tie'"):
        eom.accelerations([[1.0, 0.0]], [[0.0, 0.0]])
    assert eom.accelerations([[2.0, -2.0]], [[0.0, 0.0]]).ravel() == pytest.approx([-10.0, 10.0])
