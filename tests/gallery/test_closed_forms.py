"""Gallery motions with closed-form solutions."""

import math

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import dalembert as dl
from dalembert.errors import InputError, SimulationError
from dalembert.io import gallery
from dalembert.io.gallery.generated import n_four_bar
from dalembert.mechanics import state_batch
from dalembert.symbolic.floats import numbers


def known(name):
    """The closed form of an example and its tolerance."""
    data = gallery.expected(name)["closed_form"]
    return data, data["tolerance"]


def body_rates(run, body):
    """ω of a body in its own axes along a run."""
    motion = state_batch.motion_at(run.model, state_batch.States(run.q, run.qd, run.t))
    frame = motion.body(body)
    return numbers(frame.D @ motion.qd + frame.E, len(run.t))


def is_near(found, exact, error):
    return np.abs(np.asarray(found) - np.asarray(exact)).max() <= error


@pytest.mark.parametrize("key", ["lagrange", "kane", "udwadia_kalaba"])
def test_the_chaplygin_sleigh_reverses(key):
    data, error = known("chaplygin-sleigh")
    run = dl.simulate(dl.load("chaplygin-sleigh"), formalism=key)
    late = data["k"] * (run.t - data["t0"])
    assert run.t[-1] == 10
    assert is_near(run.speeds, [data["V"] * np.tanh(late), data["W"] / np.cosh(late)], error)


@pytest.mark.parametrize("key", ["lagrange", "volterra_reduced"])
def test_the_knife_edge_drifts_across_the_slope(key):
    data, error = known("knife-edge")
    run = dl.simulate(dl.load("knife-edge"), formalism=key)
    turned = data["w"] * run.t
    assert is_near(run.q[0], data["size"] * np.sin(turned) ** 2, error)
    assert is_near(run.q[1], data["size"] * (turned - np.sin(2 * turned) / 2), error)
    assert is_near(run.q[2], turned, error)


@pytest.mark.parametrize(("key", "options"), [("lagrange", {}), ("gauss", {"integrator": "dop853", "rtol": 1e-13})])
def test_the_appell_hamel_weight_has_a_constant_heading(key, options):
    data, error = known("appell-hamel")
    run = dl.simulate(dl.load("appell-hamel"), formalism=key, atol=1e-14 if options else None, **options)
    speed = 0.5 - data["fall"] * run.t
    fallen = 0.5 * run.t - data["fall"] * run.t**2 / 2
    along = data["ratio"] * fallen
    assert is_near(run.q, [data["heading"][0] * along, data["heading"][1] * along, -fallen], error)
    assert is_near(run.qd[2], -speed, error)


def test_a_weight_thrown_upward_returns_on_its_path():
    # at the top ∂ψ/∂q̇ = 0 and the reaction has no direction; the smooth continuation is unique
    data, error = known("appell-hamel")
    run = dl.simulate(dl.load("appell-hamel"), 1.0, qd0=[0.6, 0.8, 0.5], samples=11)
    height = 0.5 * run.t + data["fall"] * run.t**2 / 2
    assert is_near(run.q, [1.2 * height, 1.6 * height, height], error)


def test_the_vertical_disk_rolls_on_a_circle():
    data, error = known("vertical-disk")
    run = dl.simulate(dl.load("vertical-disk"))
    phi, radius = data["heading"] + data["w"] * run.t, data["radius"]
    exact = [
        radius * (np.sin(phi) - math.sin(data["heading"])),
        radius * (math.cos(data["heading"]) - np.cos(phi)),
        phi,
        data["Omega"] * run.t,
    ]
    assert is_near(run.q, exact, error)
    # the contact force toward the center is m R Ω w
    pull = np.hypot(*run.reactions[:2])
    assert is_near(pull, 1.5 * 0.25 * data["Omega"] * data["w"], error)


def test_the_rolling_disk_conserves_energy_and_contact():
    data, _ = known("rolling-disk")
    run = dl.simulate(dl.load("rolling-disk"))
    r = run.model.parameter_values["r"]
    assert run.energy_error < data["energy_tolerance"]
    assert is_near(run.q[2], r * np.cos(run.q[4]), 1e-12)
    assert np.abs(run.violation).max() < 1e-11
    assert np.ptp(run.q[4]) > 0.05  # it does wobble


def test_the_rolling_disk_can_roll_steadily_on_a_circle():
    data, error = known("rolling-disk")
    lean, turn, w2 = data["lean"], data["turn"], data["w2"]
    start = {"x": 0.3 * w2, "psi": turn, "theta": w2 - turn * math.sin(lean)}
    run = dl.simulate(dl.load("rolling-disk"), 2.0, formalism="kane", qd0=start, samples=21)
    assert is_near(run.q[4], lean, error)
    assert is_near(run.speeds[1], w2, error)
    # x along the initial heading, the center of the circle to the right
    psi = turn * run.t
    assert is_near(run.q[0], -data["radius"] * np.sin(psi), error)
    assert is_near(run.q[1], -data["radius"] * (1 - np.cos(psi)), error)


@pytest.mark.parametrize("key", ["lagrange", "volterra_reduced"])
def test_the_heavy_top_nutates_as_published(key):
    data, error = known("heavy-top")
    run = dl.simulate(dl.load("heavy-top"), formalism=key, times=[0.0, *data["t"]])
    assert is_near(body_rates(run, "top")[:, 1:].T, data["omega"], error)


def test_the_spherical_pendulum_follows_an_elliptic_function():
    data, error = known("spherical-pendulum")
    run = dl.simulate(dl.load("spherical-pendulum"))
    sn, *_ = ellipj(data["nu"] * run.t, data["modulus"])
    assert is_near(run.q[2], data["low"] + (data["high"] - data["low"]) * sn**2, error)
    assert is_near(run.energy, data["energy"], error)
    assert is_near(run.angular_momentum[2], data["angular_momentum"], error)


def test_the_bead_moves_out_as_a_hyperbolic_cosine():
    data, error = known("bead-on-wire")
    run = dl.simulate(dl.load("bead-on-wire"))
    exact = data["r0"] * np.cosh(data["w"] * run.t)
    assert is_near(run.q[0] / exact, 1, error)
    assert run.energy[-1] > 1e5 * run.energy[0]
    assert is_near(run.balance, run.balance[0], 1e-9 * run.energy[-1])


@pytest.mark.parametrize("key", ["lagrange", "kane"])
def test_the_same_bead_in_cartesian_coordinates(key):
    data, error = known("bead-on-wire-cartesian")
    run = dl.simulate(dl.load("bead-on-wire-cartesian"), formalism=key)
    turned = data["w"] * run.t
    r, push = data["r0"] * np.cosh(turned), data["push"] * np.sinh(turned)
    assert is_near(run.q / r, [np.cos(turned), np.sin(turned)], error)
    assert is_near(run.reactions / r, [-np.sin(turned) * push / r, np.cos(turned) * push / r], error)


@pytest.mark.parametrize("key", ["lagrange", "kane"])
def test_the_gear_train_lifts_the_gate_as_in_closed_form(key):
    data, error = known("gear-train")
    run = dl.simulate(dl.load("gear-train"), formalism=key)
    fall = np.exp(-run.t / data["time"])
    assert is_near(run.qd[0] / data["rate"], 1 - fall, error)
    assert run.q[3, -1] == pytest.approx(data["lift"], rel=error)
    teeth, _, rack = run.multipliers
    assert is_near(rack, -40 * (9.81 + run.qdd[3]), 400 * error)
    assert is_near(teeth, 0.08 * run.qdd[0] - (12 - 0.4 * run.qd[0]), 12 * error)
    assert data["time"] == pytest.approx(data["inertia"] / 0.4)
    assert data["rate"] == pytest.approx((12 - data["load"]) / 0.4)


def test_the_cam_conserves_energy_and_pushes_its_follower():
    data, error = known("cam-follower")
    run = dl.simulate(dl.load("cam-follower"))
    lift = 0.01 * (1 - np.cos(run.q[0]))
    assert is_near(run.q[1], 0.03 + lift, 0.03 * error)
    energy = 0.002 * 30**2 - 2 * 0.2 * 9.81 * lift - 400 * ((0.01 + lift) ** 2 - 0.01**2)
    assert is_near(run.qd[0], np.sqrt(energy / (0.002 + 0.2 * (0.01 * np.sin(run.q[0])) ** 2)), 30 * error)
    assert is_near(run.multipliers[0], 0.2 * (9.81 + run.qdd[1]) + 400 * (0.01 + lift), 10 * error)
    assert run.qd[0].min() == pytest.approx(data["slowest"], rel=1e-4)
    # at this rate at the top, gravity and spring just keep the follower on the cam
    fast = dl.derive("cam-follower", engine="python").multipliers([math.pi, 0.05], [data["lift_off"], 0])
    assert is_near(fast, 0, 1e-3)


@pytest.mark.nightly
def test_the_bicycle_converts_the_energy_of_the_push_to_speed():
    data, error = known("whipple-bicycle")
    run = dl.simulate("whipple-bicycle", 40.0, formalism="kane", samples=41)
    assert is_near(run.q[[4, 6], -1], 0, 1e-7)  # upright and straight on
    assert is_near(run.speeds[0, -1], data["speed"], error)
    assert data["speed"] == pytest.approx(math.sqrt(4.6**2 + 80.81722 * 0.25 / (94 + 0.12 / 0.09 + 0.28 / 0.1225)))


def test_bounces_accumulate_where_the_geometric_series_ends():
    data, error = known("bouncing-ball")
    run = dl.simulate("bouncing-ball", samples=4, integrator="dop853")
    assert run.impulses[0].t == pytest.approx(data["first"], abs=error)
    intervals = np.diff([each.t for each in run.impulses])
    assert is_near(intervals[:20], 2 * data["first"] * 0.7 ** np.arange(1, 21), error)
    assert f"impacts accumulate at t = {data['last']:.10g}," in run.notes[-1]
    assert run.work["floor"][-1] == pytest.approx(-data["lost"], abs=error)
    assert run["x"][-1] == pytest.approx(1.5, abs=error)


@pytest.mark.nightly
def test_only_the_last_ball_of_the_cradle_swings_out():
    data, error = known("newtons-cradle")
    run = dl.simulate("newtons-cradle", 0.3, samples=3)
    (hit,) = (each for each in run.switchings if each.name.startswith("impact"))
    assert hit.t == pytest.approx(data["first"], abs=error)
    assert is_near(hit.after, [0, 0, 0, 0, data["rate"]], error)
    assert run.energy_error < error


@pytest.mark.nightly
def test_the_painleve_rod_has_the_normal_force_of_the_formula_up_to_critical_friction():
    data, error = known("painleve-rod")
    run = dl.simulate("painleve-rod", 0.02, samples=3)
    assert run.load_forces["lower end"][2, 0] == pytest.approx(data["press"], rel=error)
    model = dl.load("painleve-rod")
    dl.simulate(model.with_parameters(mu=data["critical"] - 1e-3), 1e-4, samples=2)
    with pytest.raises(SimulationError, match=r"no forces satisfy .* 'lower end' with μ = 1\.33433"):
        dl.simulate(model.with_parameters(mu=data["critical"] + 1e-3), 1e-4, samples=2)


@pytest.mark.nightly
def test_the_woodpecker_agrees_with_siconos():
    data = gallery.expected("woodpecker")["reference"]
    run = dl.simulate("woodpecker", times=[0, data["t"]])
    found = {"y": run["y"], "phi_S": run["phi_S"], "rate_y": run["dot(y)"], "rate_S": run["dot(phi_S)"]}
    for key, values in found.items():
        assert values[-1] == pytest.approx(data[key], rel=data["tolerance"]), key
    assert [each.name for each in run.impulses].count("peck") == 2


@pytest.mark.nightly
def test_stick_slip_has_the_textbook_period():
    data, error = known("stick-slip-oscillator")
    run = dl.simulate(dl.load("stick-slip-oscillator"), samples=5)
    times = np.array([each.t for each in run.switchings])
    assert len(times) == 12
    assert is_near(times[2:] - times[:-2], data["period"], error)
    assert is_near(times[2::2] - times[1:-1:2], data["stick"], error)
    assert run.energy_error < 1e-12


def test_a_block_stops_on_an_incline_and_slides_back_or_sticks():
    data, error = known("incline-block")
    model = dl.load("incline-block")
    (top,) = dl.simulate(model, data["back"], samples=3).switchings
    assert is_near([top.t, -top.q[0]], [data["stops"], data["height"]], error)
    back = dl.simulate(model, data["back"], samples=3)
    assert is_near([back.q[0, -1], back.qd[0, -1]], [0, data["speed"]], error)
    stays = dl.derive(model).with_parameters(mu=0.5).simulate(2.0, samples=5)
    assert is_near(stays.q[0, 2:], -4.5 / (9.81 * (math.sin(0.45) + 0.5 * math.cos(0.45))), error)
    assert stays.load_forces["slope"][:, -1] == pytest.approx([-2 * 9.81 * math.sin(0.45)])


def test_the_buffer_reverses_the_slider_crank():
    data, error = known("slider-crank-stop")
    run = dl.simulate(dl.load("slider-crank-stop"))
    spring = 0.5 * 12500 * np.maximum(run.q[1] - 0.37, 0) ** 2
    assert is_near(0.01 * run.qd[0] ** 2 + 0.75 * run.qd[1] ** 2 + spring, data["energy"], 2 * error)
    assert is_near(run.work["buffer"], -spring, 2 * error)
    assert is_near(run.q[1], 0.1 * np.cos(run.q[0]) + np.sqrt(0.09 - 0.01 * np.sin(run.q[0]) ** 2), error)
    assert run.q[1].max() == pytest.approx(data["farthest"], abs=1e-4)
    assert run.qd[0].max() > 0 > run.qd[0].min()


@pytest.mark.nightly
def test_a_bushing_approximates_the_pin_it_replaces():
    soft = dl.load("four-bar-bushing")
    rigid = dl.Model("rigid", gravity=(0, -9.81, 0)).parameters(soft.parameter_values)
    for each in soft.generalized_coordinates:
        rigid.coordinate(each.name, each.start)
    rigid.bodies = soft.bodies
    rigid.loop("pin", ("coupler", "rocker"), rigid.revolute((0, 0, 1), position=("b", 0, 0)), position=("c", 0, 0))
    torsion = {"stiffness": (0, 0, 0, 0, 0, "kt"), "damping": (0, 0, 0, 0, 0, 0.02)}
    rigid.bushing(("rocker", "coupler"), rotations=((0, 0, 0), (0, 0, "rest")), **torsion)
    pin = dl.simulate(rigid, 1.0, samples=101)
    gaps = []
    for factor in (1, 10):
        run = dl.derive(soft).with_parameters(k=factor * 2e5).simulate(1.0, samples=101)
        assert run.energy_error < 1e-11
        gaps.append(np.abs(run.q - pin.q).max())
    assert gaps[0] < 0.01
    assert gaps[1] == pytest.approx(gaps[0] / 10, rel=0.3)


def test_the_quarter_car_is_in_free_fall_while_its_tire_is_in_the_air():
    data, error = known("quarter-car")
    run = dl.simulate(dl.load("quarter-car"), samples=2001)
    force = run.load_forces["tire"][2]
    assert is_near(force[run.t < 0.2], data["load"], 1e-6)
    off, _, on = (each.t for each in run.switchings)
    air = (run.t > off) & (run.t < on)
    assert air.sum() > 50
    assert not force[air].any()
    assert is_near((40 * run.qdd[0] + 300 * run.qdd[1])[air] / 340, -9.81, 9.81 * error)
    assert run.energy_error < 1e-12


@pytest.mark.nightly
def test_backlash_gears_rattle_with_the_period_of_the_closed_form():
    data, error = known("backlash-gears")
    run = dl.simulate(dl.load("backlash-gears"), samples=5)
    times = np.array([each.t for each in run.switchings])
    assert is_near(times[4:] - times[:-4], data["period"], error)
    assert is_near(times[1::2] - times[::2], data["touch"], error)
    assert run.energy_error < 1e-12


def test_the_escapement_has_the_period_and_amplitude_of_the_closed_form():
    data, error = known("escapement")
    run = dl.simulate(dl.load("escapement"), 10.0, samples=3)
    ticks = [each for each in run.events if each.name == "tick"]
    assert is_near(np.diff([each.t for each in ticks]), data["period"], error)
    # the distance of rate² from its limit shrinks by q at each of the two pushes of a period
    missing = data["rate"] ** 2 - np.array([each.after[0] for each in ticks]) ** 2
    assert is_near(missing[1:], missing[:-1] * data["share"] ** 2, error * data["rate"] ** 2)
    kicks = sum(each.after[0] ** 2 - each.qd[0] ** 2 for each in run.events) / 2 * 2e-6
    assert run.work["tick"][-1] + run.work["tock"][-1] == pytest.approx(kicks, rel=1e-9)


def down(run, alpha=0.5):
    """The displacement down the slope and the velocity."""
    c, s = math.cos(alpha), math.sin(alpha)
    return run.q[0] * c - run.q[2] * s, run.qd[0] * c - run.qd[2] * s


def test_viscous_friction_limits_the_velocity():
    data, error = known("rough-surface")
    run = dl.simulate(dl.load("rough-surface"))
    kappa, lost = data["kappa"], 1 - np.exp(-data["kappa"] * run.t)
    way, velocity = down(run)
    assert is_near(way, data["limit"] * (run.t - lost / kappa), error)
    assert is_near(velocity, data["limit"] * lost, error)
    assert is_near(run.q[1], data["v0"] / kappa * lost, error)
    assert is_near(run.balance, run.balance[0], error)


@pytest.mark.parametrize("law", ["dry", "quadratic"])
@pytest.mark.parametrize("key", ["lagrange", "kane", "udwadia_kalaba"])
def test_other_friction_laws_on_straight_descent(law, key):
    data, error = known("rough-surface")
    case = data[law]
    values = {"c": case["c"], "mu": case["mu"], "k": case["k"], "eps": 0.0}
    alpha, s0 = 0.5, case["s0"]
    start = {"x": s0 * math.cos(alpha), "y": 0.0, "z": -s0 * math.sin(alpha)}
    run = dl.simulate(dl.load("rough-surface"), 5.0, formalism=key, qd0=start, parameters=values, samples=51)
    if law == "dry":
        exact = s0 + case["acceleration"] * run.t
    else:
        exact = case["limit"] * np.tanh(case["rate"] * run.t + math.atanh(s0 / case["limit"]))
    assert is_near(down(run)[1], exact, error)


def test_without_friction_the_surface_is_ideal():
    run = dl.simulate(dl.load("rough-surface"), 2.0, parameters={"c": 0.0}, samples=21)
    assert is_near(down(run)[1], 9.81 * math.sin(0.5) * run.t, 1e-12)


@pytest.mark.parametrize("key", ["lagrange", "udwadia_kalaba", "gauss"])
def test_the_follower_reaches_its_target(key):
    data, error = known("tracking")
    run = dl.simulate(dl.load("tracking"), formalism=key)
    p = run.model.parameter_values
    turned = p["w"] * run.t
    target = np.array(
        [p["a"] * np.sin(turned) + p["dx"], p["b"] * np.sin(2 * turned) + p["dy"], 0 * turned + p["h"] + p["dz"]]
    )
    speed = p["w"] * np.array([p["a"] * np.cos(turned), 2 * p["b"] * np.cos(2 * turned), 0 * turned])
    gap, rate = (run.q - target)[:, :1], (run.qd - speed)[:, :1]
    decay, nu = data["decay"], data["nu"]
    exact = np.exp(-decay * run.t) * (gap * np.cos(nu * run.t) + (rate + decay * gap) / nu * np.sin(nu * run.t))
    assert is_near(run.q - target, exact, error)
    # the control force: what the motion needs in addition to gravity
    curve = -(p["w"] ** 2) * np.array([p["a"] * np.sin(turned), 4 * p["b"] * np.sin(2 * turned), 0 * turned])
    push = curve - p["beta"] * (run.qd - speed) - p["alpha"] * (run.q - target) + [[0], [0], [p["g"]]]
    assert is_near(run.reactions, p["m"] * push, 1e-8)


@pytest.mark.parametrize("key", ["lagrange", "udwadia_kalaba", "kane"])
def test_the_over_constrained_platform_swings_like_a_pendulum(key):
    data, error = known("over-constrained")
    eom = dl.derive(dl.load("over-constrained"), key)
    assert len(eom.workspace.facts.dropped) == data["redundant"]
    assert any(eom.workspace.facts.dropped[0] in note for note in eom.notes)
    run = eom.simulate()
    # sin(θ/2) = k sn(K − √stiffness t)
    k = math.sin(0.3)
    sn, *_ = ellipj(ellipk(k**2) - math.sqrt(data["stiffness"]) * run.t, k**2)
    assert is_near(run.q[:3], 2 * np.arcsin(k * sn), error)
    assert is_near(run.q[3], 0, error)


def test_reactions_are_unique_where_multipliers_are_not():
    model = dl.load("over-constrained")
    q, qd = [0.4, 0.4, 0.4, 0.0], [1.1, 1.1, 1.1, 0.0]
    found = [dl.derive(model, key).reactions(q, qd) for key in ("lagrange", "kane", "gauss", "poincare")]
    assert np.ptp(found, axis=0).max() < 1e-12 * np.abs(found).max()


@pytest.mark.parametrize(
    ("key", "integrator"),
    [
        pytest.param("lagrange", "rk4", marks=pytest.mark.nightly),
        pytest.param("udwadia_kalaba", "rk4", marks=pytest.mark.nightly),
        ("gibbs_appell", "taylor"),
    ],
)
def test_the_four_bar_linkages_pass_their_singular_position(key, integrator):
    data, error = known("n-four-bar")
    step = 1e-3 if integrator == "rk4" else None
    run = dl.simulate(dl.load("n-four-bar"), formalism=key, integrator=integrator, step=step, samples=11)
    theta = run.q[: data["loops"] + 1, -1]
    assert is_near([np.cos(theta[0]), np.sin(theta[0])], data["tip"], error)
    assert np.ptp(theta) < 1e-12


def test_the_number_of_loops_is_an_option():
    model = gallery.load("n-four-bar", loops=3)
    assert len(model.bodies) == 7
    assert len(model.constraint_names) == 6
    assert model.check() == []
    # one upright rod falls with θ̈ = −(B g/A) cosθ
    A, B, theta = 4 / 3 + 3, 2 + 3, 1.1
    q, qd = [theta] * 4 + [0.0] * 3, [-0.7] * 4 + [0.0] * 3
    qdd = dl.derive(model, "kane").accelerations(q, qd)
    assert is_near(qdd, [-B * 9.81 / A * math.cos(theta)] * 4 + [0.0] * 3, 1e-11)


@pytest.mark.parametrize("loops", [0, -1, 2.5, True, "2", 101])
def test_a_wrong_number_of_loops(loops):
    with pytest.raises(InputError, match=r"n-four-bar: loops is .* Expected an int from 1 to 100"):
        n_four_bar(loops)


def test_unknown_options_of_an_example_are_rejected():
    with pytest.raises(InputError) as caught:
        gallery.load("n-four-bar", links=3)
    assert str(caught.value) == "gallery: example 'n-four-bar' has no option 'links'. Expected loops."
    with pytest.raises(InputError) as caught:
        gallery.load("simple-pendulum", loops=3)
    assert str(caught.value) == "gallery: example 'simple-pendulum' has no option 'loops'. It has no options."


def test_dropping_the_redundant_row_leaves_independent_rows_with_vertical_rods():
    # at θ = 0 both rows along the rods state φ̇ = 0, so one of them must be dropped
    eom = dl.derive(dl.load("over-constrained"), "lagrange")
    assert eom.workspace.facts.dropped[0].endswith("along")


def test_random_states_avoid_singular_positions():
    for name in ("over-constrained", "n-four-bar"):
        model = dl.load(name)
        states = state_batch.consistent_states(model, 50, seed=20)
        eom = dl.derive(model)
        _, _, A, _ = eom.workspace.manifold.evaluate(states.q, states.qd, states.t, eom.workspace.values)
        sigma = np.linalg.svd(np.moveaxis(A, -1, 0), compute_uv=False)[:, : len(eom.workspace.facts.rows)]
        assert sigma.min() > 1e-4, name
