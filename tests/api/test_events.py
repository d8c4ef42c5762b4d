"""Runs across switchings and events against closed forms."""

from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, SimulationError
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml

G = 9.81


def sliding(force, start=(0.0, 0.0), **parameters):
    """A block of mass 1 on a line."""
    model = dl.Model("block").parameters(**parameters).coordinates("x").start([start[0]], [start[1]])
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    return model.force("block", (force, 0, 0), name="push")


def ball(restitution):
    model = dl.Model("ball", gravity=(0, 0, -G)).parameters(e=restitution).coordinates("z").start([1.0], [0.0])
    model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=1)
    return model.event("bounce", "z", direction="down", reset={"z": "-e*dot(z)"})


def bumped(t, k, wall=5.0):
    """x of a block that hits a spring with velocity 1."""
    w = np.sqrt(k)
    within = wall + np.sin(w * (t - wall)) / w
    return np.where(t < wall, t, np.where(t < wall + np.pi / w, within, 2 * wall + np.pi / w - t))


@pytest.mark.parametrize(("integrator", "allowed"), [("taylor", 1e-13), ("dop853", 1e-10), ("radau", 1e-10)])
def test_contact_with_a_spring_is_located_exactly(integrator, allowed):
    run = dl.derive(sliding("-k*max(x - 5, 0)", (0.0, 1.0), k=200.0), "lagrange").simulate(12.0, integrator=integrator)
    assert np.abs(run.q[0] - bumped(run.t, 200.0)).max() < allowed
    assert [each.t for each in run.switchings] == pytest.approx([5, 5 + np.pi / np.sqrt(200)], abs=allowed)
    assert np.ptp(run.balance) < allowed


@pytest.mark.parametrize("formalism", ["kane", "hamilton", "volterra_reduced", "gibbs_appell"])
def test_formalisms_agree_across_a_contact(formalism):
    run = dl.derive(sliding("-k*max(x - 5, 0)", (0.0, 1.0), k=200.0), formalism).simulate(12.0, samples=49)
    assert np.abs(run.q[0] - bumped(run.t, 200.0)).max() < 1e-12


@pytest.mark.parametrize(("engine", "integrator"), [("native", "taylor"), ("native", "dop853"), ("python", "rk45")])
def test_dry_friction_sticks_where_the_spring_is_too_weak(engine, integrator):
    """Each half swing is 2F/k shorter; at |x| < F/k the block stays, and friction is what the spring pulls with."""
    model = sliding("-k*x", (2.0, 0.0), k=1.0, F=0.3).force("block", ("-F*sign(dot(x))", 0, 0), name="rub")
    options: dict[str, Any] = {} if integrator != "rk45" else {"rtol": 1e-10, "atol": 1e-12}
    run = dl.derive(model, "lagrange", engine=engine).simulate(12.0, integrator=integrator, samples=121, **options)
    assert [each.t for each in run.switchings] == pytest.approx([np.pi, 2 * np.pi, 3 * np.pi], abs=1e-7)
    stuck = run.t > 3 * np.pi
    assert np.abs(run.q[0, stuck] + 0.2).max() < 1e-8
    assert np.abs(run.qd[0, stuck]).max() < 1e-12
    assert np.abs(run.load_forces["rub"][0, stuck] + 0.2).max() < 1e-8  # of 0.3 that it could
    assert np.ptp(run.balance) < 1e-8
    assert len(run.segments) == 1
    assert run.work["rub"][-1] == pytest.approx(-0.3 * (3.4 + 2.2 + 1.0), abs=1e-7)  # F times the distance


def test_block_on_an_incline_sticks_below_the_friction_limit():
    """The slope rises with time: tan(α) = 0.1 t, and friction holds up to μ = 0.5; then the block slides with 0.1 t − 0.5."""
    model = sliding("0.1*t - 0.5*sign(dot(x))")
    run = dl.simulate(model, 8.0, samples=81, integrator="taylor")
    assert run.switchings[-1].t == pytest.approx(5.0, abs=1e-12)
    late = np.maximum(run.t - 5, 0)
    assert np.abs(run.q[0] - 0.1 * late**3 / 6).max() < 1e-12


@pytest.mark.parametrize("restitution", [0.5, 0.9])
def test_bouncing_ball_stops_at_the_accumulation_point(restitution):
    run = dl.simulate(ball(restitution), 30.0, integrator="taylor")
    t = np.array([each.t for each in run.events])
    first, e, k = np.sqrt(2 / G), restitution, np.arange(len(t))
    assert np.abs(t - first * (1 + 2 * e * (1 - e**k) / (1 - e))).max() < 1e-12
    end = first * (1 + e) / (1 - e)
    assert run.t[-1] == pytest.approx(end, rel=1e-9)
    assert f"accumulation point t = {end:.9g}"[:-1] in run.notes[-1]
    assert run.status == "The simulation was ended by an event."


def test_bounces_enter_the_energy_balance_and_are_saved(tmp_path):
    run = dl.simulate(ball(0.5), 1.2, samples=49, integrator="taylor")
    lost = [0.5 * float(each.qd[0] ** 2 - each.after[0] ** 2) for each in run.events]
    assert run.work["bounce"][-1] == pytest.approx(-sum(lost), rel=1e-13)
    assert np.ptp(run.balance) < 1e-13
    again = dl.load_run(run.save(tmp_path / "run.nc"))
    assert (again.q == run.q).all()
    assert (again.energy == run.energy).all()
    assert [(each.name, each.t) for each in again.events] == [(each.name, each.t) for each in run.events]


def test_events_stop_or_record_without_changing_the_motion():
    model = sliding("-x", (1.0, 0.0))
    plain = dl.simulate(model, 10.0, samples=11)
    with_events = model.event("middle", "x", direction="up").event("turn", "dot(x)").copy()
    run = dl.simulate(with_events, 10.0, samples=11)
    assert (run.q == plain.q).all()
    assert [each.t for each in run.events if each.name == "middle"] == pytest.approx([1.5 * np.pi], abs=1e-13)
    assert [each.t for each in run.events if each.name == "turn"] == pytest.approx(
        [np.pi, 2 * np.pi, 3 * np.pi], abs=1e-13
    )
    ended = dl.simulate(with_events.copy().event("end", "x + 0.5", stop=True), 10.0, samples=11)
    assert ended.t[-1] == pytest.approx(2 * np.pi / 3, abs=1e-13)
    assert ended.q[0, -1] == pytest.approx(-0.5, abs=1e-13)
    assert ended.status == "The simulation was ended by an event."


def test_event_changes_parameter_values():
    """The spring becomes four times as stiff where the block passes the middle."""
    model = sliding("-k*x", (1.0, 0.0), k=1.0).event("harder", "x", direction="down", set={"k": "4*k"})
    run = dl.simulate(model, 3.0, samples=31)
    later = run.t > np.pi / 2
    assert np.abs(run.q[0, ~later] - np.cos(run.t[~later])).max() < 1e-13
    assert np.abs(run.q[0, later] + np.sin(2 * (run.t[later] - np.pi / 2)) / 2).max() < 1e-13
    assert np.abs(run.load_forces["push"][0, later] + 4 * run.q[0, later]).max() < 1e-13
    assert np.abs(run.qdd[0, later] + 4 * run.q[0, later]).max() < 1e-13


def test_long_table_is_interpolated_exactly():
    t = np.linspace(0.0, 4.0, 401)
    force = np.sin(3 * t) + 0.1 * (-1.0) ** np.arange(401)
    model = sliding("0")
    model.torque_table("block", t, force)
    run = dl.simulate(model, 4.0, times=t)
    velocity = np.concatenate([[0.0], np.cumsum((force[1:] + force[:-1]) / 2 * 0.01)])  # of straight lines, exactly
    assert np.abs(run.qd[0] - velocity).max() < 1e-12


def test_large_tables_do_not_enlarge_the_program():
    found = []
    for rows in (10, 100_000):
        t = np.linspace(0.0, 10.0, rows)
        model = sliding("0").torque_table("block", t, np.sin(t))
        model.joint_strut("block", curve=np.stack([t, t**2], axis=1))
        eom = dl.derive(model, engine="python")
        found.append((eom.operations, len(eom.kernel.program.lines)))
    assert found[0] == found[1]


def test_reset_that_violates_a_constraint_is_rejected():
    model = dl.Model("pair").coordinates("x", "y").start([1.0, 1.0], [-1.0, -1.0])
    for name in ("x", "y"):
        model.body(f"block-{name}", joint=model.prismatic((1, 0, 0), name), mass=1)
    model.holonomic("x - y", name="rod").event("hit", "x", reset={"x": "-dot(x)"})
    with pytest.raises(
        SimulationError, match=r"event 'hit' violates a constraint: .* velocity of 'rod' is 2.*Reset all rates"
    ):
        dl.simulate(model, 2.0)
    again = model.replaced(events=()).event("hit", "x", reset={"x": "-dot(x)", "y": "-dot(y)"})
    assert dl.simulate(again, 2.0, samples=3).q[:, -1] == pytest.approx([1.0, 1.0])


def test_simultaneous_events_all_occur():
    model = (
        sliding("0", (1.0, -1.0), k=1.0)
        .event("first", "x", set={"k": "2*k"})
        .event("second", "2*x", reset={"x": "-k*dot(x)"})
        .event("third", "x + x**3")
    )
    run = dl.simulate(model, 2.0, samples=3)
    assert [each.name for each in run.events] == ["first", "second", "third"]
    assert run.q[0, -1] == pytest.approx(2.0)


def test_events_are_checked_and_saved():
    model = ball(0.5).event("late", "t - 0.3", set={"e": "e/2"}).event("low", "z - 0.2", stop=True, direction="up")
    again = loads_toml(to_toml(model))
    assert again.events == model.events
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"when": "z", "reset": {"y": "1"}}, "there is no coordinate 'y'"),
        ({"when": "z", "set": {"z": "1"}}, "there is no parameter 'z'"),
        ({"when": "zz"}, "zz"),
        ({"when": "z", "direction": "left"}, "Expected 'up', 'down' or 'both'"),
    ]
    for given, message in wrong:
        with pytest.raises(InputError, match=message):
            ball(0.5).event("wrong", **given)
    with pytest.raises(InputError, match="declared twice"):
        ball(0.5).event("bounce", "z")
    (problem,) = ball(0.5).event("never", "e - 1").check()
    assert "it never crosses zero" in str(problem)


@pytest.mark.nightly
def test_ten_thousand_reversals_of_friction_keep_the_energy():
    model = sliding("-k*x - F*sign(dot(x)) + cos(0.7*t)", (5.0, 0.0), k=1.0, F=0.1)
    run = dl.simulate(model, 45_000.0, integrator="taylor", samples=1001)
    assert len(run.switchings) >= 10_000
    assert np.ptp(run.balance) <= 1e-10
