"""Figures: their content, no overlaps, and output to files and notebooks."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from dalembert.api.derive import equations_of
from dalembert.api.equations import Equations
from dalembert.api.trajectory import Trajectory
from dalembert.display.plots import plot
from dalembert.display.plots.figure import LINEAGES, Plot, draw, spread_labels, style_of, styles_of
from dalembert.display.plots.panels import (
    Panel,
    PlotLine,
    balance_error,
    by_unit,
    mark_zero,
    momentum_error,
    panels_of,
    running_maximum,
)
from dalembert.display.plots.plot import figures_of
from dalembert.errors import ComputationError, InputError
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.quantities import group_by_lineage
from dalembert.io import gallery
from dalembert.model.description import Description
from dalembert.model.model import Model
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.workspace import setup, workspace_of


@pytest.fixture(scope="module")
def runs() -> dict[str, Trajectory]:
    space = workspace_of(setup(gallery.load("cart-pendulum")))
    return {
        key: Equations(derivation_of(space.setup, key)).simulate(1.0, samples=51, integrator="rk45", project=False)
        for key in ("lagrange", "kane", "volterra_reduced")
    }


@pytest.fixture(scope="module")
def all_panels(runs: dict[str, Trajectory]) -> Plot:
    """All panels of a run, with layout."""
    figure = plot.trajectory(runs["lagrange"], panels=list(plot.PANELS))
    figure.draw_without_rendering()
    return figure


def labels(figure: Figure) -> list[str]:
    return [axis.get_ylabel().replace("\n", " ") for axis in figure.axes]


def legend_labels(axis: Axes) -> list[str]:
    legend = axis.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def visible_labels(axis: Axes) -> list[Text]:
    """All visible labels of an axis except its legend."""
    ticks = [*axis.get_xticklabels(), *axis.get_yticklabels()]
    found = [*ticks, *axis.texts, axis.xaxis.label, axis.yaxis.label, axis.xaxis.offsetText, axis.yaxis.offsetText]
    return [text for text in found if text.get_visible() and text.get_text()]


def curves(axis: Axes) -> list[Line2D]:
    """The lines of an axis without the line samples next to labels."""
    return [line for line in axis.get_lines() if len(np.asarray(line.get_xdata())) > 2]


def cover(a: Bbox, b: Bbox) -> bool:
    """True if two boxes overlap."""
    both = Bbox.intersection(a, b)
    return both is not None and both.width > 0.5 and both.height > 0.5


# content


def test_panels_of_a_run(runs: dict[str, Trajectory]) -> None:
    figure = plot.trajectory(runs["lagrange"])
    assert labels(figure) == [
        "coordinates [rad]",
        "coordinates [m]",
        "velocities [rad/s]",
        "velocities [m/s]",
        "energy [J]",
        "work from the start [J]",
        "energy balance, relative error so far",
        "constraint violation so far [m/s]",
    ]
    assert [axis.get_yscale() for axis in figure.axes] == ["linear"] * 6 + ["log"] * 2
    assert "angle of the first rod" in legend_labels(figure.axes[0])[0]


def test_speeds_replace_velocities(runs: dict[str, Trajectory]) -> None:
    assert "speeds [m/s]" in labels(plot.trajectory(runs["kane"]))


def test_lines_are_the_motion(runs: dict[str, Trajectory]) -> None:
    run = runs["lagrange"]
    lines = plot.trajectory(run).axes[0].get_lines()
    np.testing.assert_array_equal(lines[1].get_ydata(), run.q[1])
    np.testing.assert_array_equal(lines[1].get_xdata(), run.t)


@pytest.mark.slow(7)
def test_panels_by_name(all_panels: Plot, runs: dict[str, Trajectory]) -> None:
    found = labels(all_panels)
    for label in ("momenta [kg·m²/s]", "momenta [kg·m/s]", "multipliers λ [N]", "reactions [N·m]", "reactions [N]"):
        assert label in found
    for label in ("forces in joints [N]", "moments in joints [N·m]", "drives [N·m]", r"$\dot{\theta}_{1}$ [rad/s]"):
        assert label in found
    run, axis = runs["lagrange"], all_panels.axes[found.index("multipliers λ [N]")]
    np.testing.assert_array_equal(axis.get_lines()[0].get_ydata(), run.multipliers[0])
    portrait: Any = all_panels.axes[found.index(r"$\dot{\theta}_{1}$ [rad/s]")]
    assert portrait.get_xlabel() == r"$\theta_{1}$ [rad]"
    np.testing.assert_array_equal(portrait.get_lines()[0].get_xydata().T, [run.q[0], run.qd[0]])


def test_drift_is_a_running_maximum(all_panels: Plot, runs: dict[str, Trajectory]) -> None:
    run = runs["lagrange"]
    drifts = [axis for axis in all_panels.axes if axis.get_yscale() == "log"]
    assert len(drifts) == 2
    for axis, last in zip(drifts, (balance_error(run).max(), np.abs(run.violation).max()), strict=True):
        (line,) = axis.get_lines()
        values = np.asarray(line.get_ydata(), dtype=float)
        values = values[np.isfinite(values)]
        assert (np.diff(values) >= 0).all()
        assert values[-1] == last


def test_equal_constraints_are_drawn_once(runs: dict[str, Trajectory]) -> None:
    size = np.linspace(0, 1e-9, 51)
    rows = np.stack([size, -size, 2 * size, 0 * size])
    run = replace(runs["lagrange"], violation=rows, violation_names=("a", "b", "c", "d"))
    axis = plot.trajectory(run, panels=["violation"]).axes[0]
    assert len(axis.get_lines()) == 2
    assert legend_labels(axis) == ["a = b", "c", "zero to rounding: d"]


def test_different_units_have_their_own_axes() -> None:
    model = Model("four").coordinate("x", unit="m").coordinate("a", unit="rad", start=0.1)
    model.body("slider", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.body("rod", parent="slider", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(1, 0, 0))
    model.drive("x", "0*t").nonholonomic("dot(a) - 0.3", name="turn").joint_torque("rod", "2", name="motor")
    run = equations_of(model, "lagrange").simulate(0.2, qd0=[0.0, 0.3], samples=5)
    found = panels_of(run, ["coordinates", "velocities", "momenta", "multipliers", "reactions", "drives", "violation"])
    units = [(panel.what.split("\n")[0], panel.unit, [line.label for line in panel.lines]) for panel in found]
    assert units == [
        ("coordinates", "m", ["$x$"]),
        ("coordinates", "rad", ["$a$"]),
        ("velocities", "m/s", [r"$\dot{x}$"]),
        ("velocities", "rad/s", [r"$\dot{a}$"]),
        ("momenta", "kg·m/s", ["$p_{x}$"]),
        ("momenta", "kg·m²/s", ["$p_{a}$"]),
        ("multipliers λ", "N", ["drive of x"]),
        ("multipliers λ", "N·m", ["turn"]),
        ("reactions", "N", ["along $x$"]),
        ("reactions", "N·m", ["along $a$"]),
        ("drives", "N·m", ["motor"]),
        ("drives", "N", ["drive of x"]),
        ("constraint violation", "m", ["drive of x, position"]),
        ("constraint violation", "m/s", ["drive of x, velocity"]),
        ("constraint violation", "rad/s", ["turn, velocity"]),
    ]


def test_errors_of_servo_constraints_decay_in_the_plot() -> None:
    model = Model("servo").coordinate("x", unit="m", start=1.0)
    model.body("slider", joint=model.prismatic((1, 0, 0), "x"), mass=1).drive("x", "0*t", feedback=(25.0, 10.0))
    run = equations_of(model, "lagrange").simulate(2.0, samples=41)
    (position, velocity) = panels_of(run, ["violation"])
    assert (position.what, position.unit, velocity.unit) == ("error of servo\nconstraints", "m", "m/s")
    np.testing.assert_allclose(position.lines[0].y, (1 + 5 * run.t) * np.exp(-5 * run.t), atol=1e-6)


def test_coordinates_without_units_are_separate_and_unlabeled() -> None:
    model = Model("two").coordinates("x", "a")
    model.body("rod", joint=[model.prismatic((1, 0, 0), "x"), model.revolute((0, 0, 1), "a")], mass=1, center=(1, 0, 0))
    figure = plot.trajectory(
        equations_of(model, "lagrange").simulate(0.2, samples=5), panels=["coordinates", "momenta"]
    )
    assert labels(figure) == ["coordinates", "coordinates [rad]", "momenta", "momenta"]


def test_the_work_of_drives_is_the_work_of_the_run() -> None:
    model = Model("arm", gravity=(0, -9.81, 0)).parameters(k=2.0).coordinates("a")
    model.body("rod", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(1, 0, 0))
    model.joint_torque("rod", "k*cos(3*t) - dot(a)", name="motor")
    run = equations_of(model, "lagrange").with_parameters(k=5.0).simulate(2.0, samples=2001)
    power = run.drives["motor"] * run.qd[0]
    assert np.trapezoid(power, run.t) == pytest.approx(run.work.total[-1], rel=1e-5)


def test_urdf_names_are_printed_unchanged() -> None:
    model = Model("robot").coordinate("panda_joint1", unit="rad", start_rate=1.0)
    model.body("link", joint=model.revolute((0, 0, 1), "panda_joint1"), mass=1, center=(1, 0, 0))
    figure = plot.trajectory(equations_of(model, "lagrange").simulate(0.2, samples=5))
    figure.draw_without_rendering()
    assert legend_labels(figure.axes[0]) == ["panda_joint1"]
    assert legend_labels(figure.axes[1]) == [r"$\overset{\bullet}{\text{panda_joint1}}$"]


def test_wrong_panels(runs: dict[str, Trajectory]) -> None:
    with pytest.raises(
        InputError, match=r"plot: there is no panel 'fase'\. Did you mean 'phase'\? Expected one of coord"
    ):
        runs["lagrange"].plot("fase")
    pendulum = equations_of(gallery.load("simple-pendulum"), "lagrange").simulate(0.1, samples=3)
    for name, lack in (("multipliers", "constraints"), ("violation", "constraints"), ("drives", "drives")):
        with pytest.raises(InputError, match=f"'simple-pendulum' has no {lack}, so there is no panel '{name}'"):
            pendulum.plot(name)
    with pytest.raises(InputError, match=r"got 2 files, a\.png, b\.png\. Expected at most one"):
        pendulum.plot("a.png", path="b.png")


# no overlaps


def test_legends_are_free(all_panels: Plot) -> None:
    words = [(text.get_text(), text.get_window_extent()) for axis in all_panels.axes for text in visible_labels(axis)]
    assert len(words) > 100
    found = [
        (axis.get_ylabel(), legend.get_window_extent()) for axis in all_panels.axes if (legend := axis.get_legend())
    ]
    assert len(found) > 10
    for label, box in found:
        assert box.x1 <= all_panels.bbox.x1, label
        assert not [text for text, other in words if cover(box, other)], label
        assert not [axis for axis in all_panels.axes if cover(box, axis.get_window_extent())], label
    assert not [pair for pair in combinations(found, 2) if cover(pair[0][1], pair[1][1])]


@pytest.mark.parametrize(("size", "base", "power"), [(3e-6, 0.0, -6), (2e7, 0.0, 6), (1.0, 9e3, 0), (1e-15, 9.81, 0)])
def test_powers_of_ten_are_next_to_the_unit(size: float, base: float, power: int) -> None:
    figure = Plot(layout="constrained")
    axis = figure.subplots()
    t = np.linspace(0, 1, 50)
    draw(axis, t, Panel("x", "m", (PlotLine("a", base + size * np.sin(9 * t)),)), str)
    figure.draw_without_rendering()
    assert axis.yaxis.offsetText.get_text() == ""
    assert axis.get_ylabel() == (f"x [$10^{{{power}}}$ m]" if power else "x [m]")
    ticks = [text.get_text().replace("\N{MINUS SIGN}", "-") for text in axis.get_yticklabels()]
    assert len(set(ticks)) == len(ticks)
    np.testing.assert_allclose([float(tick) * 10.0**power for tick in ticks], axis.get_yticks(), rtol=1e-8, atol=1e-300)


def test_zero_lines_are_listed_as_text() -> None:
    nothing = np.zeros(3)
    for panel in (
        Panel("e", "m", (PlotLine("a", nothing),), drift=True),
        Panel("e", "m", (PlotLine("a", nothing, zero=True),)),
    ):
        axis = Figure().subplots()
        draw(axis, np.arange(3.0), panel, str)
        assert [text.get_text() for text in axis.texts] == ["zero to rounding:\na"]
        assert axis.get_legend() is None
    axis = Figure().subplots()
    noise = PlotLine("b", np.array([1e-16, -1e-16, 2e-16]))
    (both,) = by_unit(mark_zero([("N", PlotLine("a", np.ones(3))), ("N", noise)]), "forces")
    draw(axis, np.arange(3.0), both, str)
    assert legend_labels(axis) == ["a", "zero to rounding: b"]
    assert len(axis.get_lines()) == 1


# formalisms side by side


@dataclass
class AsIf:
    """A run with the name of another formalism."""

    formalism: str
    t: np.ndarray
    model: Description
    description: Description


def crowd(run: Trajectory) -> Mapping[str, Trajectory]:
    return cast(Mapping[str, Trajectory], {key: AsIf(key, run.t, run.model, run.description) for key in catalog.KEYS})


def test_every_formalism_has_its_style_and_every_lineage_its_color() -> None:
    styles = {key: style_of(key) for key in catalog.KEYS}
    assert len(set(styles.values())) == len(catalog.KEYS)
    assert {key for keys in LINEAGES.values() for key in keys} == set(catalog.KEYS)
    for keys in LINEAGES.values():
        assert len({styles[key].color for key in keys}) == 1
    assert len({styles[keys[0]].color for keys in LINEAGES.values()}) == len(LINEAGES)


def test_the_same_formalism_twice() -> None:
    found = styles_of({"a": "kane", "b": "kane", "c": "gibbs_appell", "d": "kane"})
    assert len(set(found.values())) == 4
    assert (found["a"], found["c"]) == (style_of("kane"), style_of("gibbs_appell"))
    assert found["b"].color == style_of("kane").color


@pytest.mark.parametrize("step", [0.0, 1e-3, 1.0])
def test_labels_at_the_right_edge_do_not_overlap(runs: dict[str, Trajectory], step: float) -> None:
    run = runs["lagrange"]
    ends = [1e-9 * 10 ** (step * i) for i in range(len(catalog.KEYS))]
    values = {
        key: np.linspace(0, end * (1 + 1e-6 * i), 51)
        for i, (key, end) in enumerate(zip(catalog.KEYS, ends, strict=True))
    }
    panel = Panel("error", "1", tuple(PlotLine(key, y) for key, y in values.items()), drift=True)
    figure = plot._page(crowd(run), [panel])
    figure.draw_without_rendering()
    (axis,) = figure.axes
    names = {text.get_text(): text.get_window_extent() for text in axis.texts}
    assert set(names) == set(catalog.KEYS)
    assert not [pair for pair in combinations(names, 2) if cover(names[pair[0]], names[pair[1]])]
    assert all(box.x0 > axis.bbox.x1 and box.x1 <= figure.bbox.x1 and box.y0 >= 0 for box in names.values())
    # from top to bottom in the order of the ends
    assert sorted(names, key=lambda key: names[key].y0) == list(catalog.KEYS)
    styles = {(to_hex(line.get_color()), str(vars(line)["_dash_pattern"])) for line in curves(axis)}
    assert len(styles) == len(curves(axis)) == len(catalog.KEYS)


def test_equal_runs_are_drawn_once_with_all_names(runs: dict[str, Trajectory]) -> None:
    up, down = np.linspace(0, 1, 51), np.linspace(0, -1, 51)
    values = {"lagrange": up, "kane": down, "maggi": up + 1e-4}
    panel = Panel("x", "m", tuple(PlotLine(key, y) for key, y in values.items()))
    few = {key: run for key, run in crowd(runs["lagrange"]).items() if key in values}
    (axis,) = plot._page(few, [panel]).axes
    assert len(curves(axis)) == 2
    above = sorted(axis.texts, key=lambda text: -text.get_position()[1])
    assert [text.get_text() for text in above] == ["lagrange", "= maggi", "kane"]
    same = Panel("x", "m", tuple(PlotLine(key, up) for key in values))
    (axis,) = plot._page(few, [same]).axes
    assert [text.get_text() for text in axis.texts] == ["all 3"]


def test_legend_explains_the_colors(runs: dict[str, Trajectory]) -> None:
    (legend,) = plot.comparison_figure(runs, ["energy"]).legends
    shown = group_by_lineage({key: catalog.find(key).ABOUT.lineage for key in runs})
    assert [text.get_text() for text in legend.get_texts()] == [", ".join(lineage) for lineage in shown]


def test_crowded_labels_stay_ordered_and_separate() -> None:
    wanted = np.random.default_rng(1).uniform(0.9, 1.0, 12).tolist()
    found = spread_labels(wanted, 0.05)
    assert np.diff(np.sort(found)).min() > 0.05 - 1e-12
    assert (np.argsort(found) == np.argsort(wanted)).all()
    assert found.min() >= 0.025
    assert found.max() <= 0.975 + 1e-12


@pytest.mark.slow(8)
def test_comparison_draws_the_figures_of_the_paper(tmp_path: Path, runs: dict[str, Trajectory]) -> None:
    paths = plot.comparison(runs, tmp_path / "figures")
    assert [path.name for path in paths] == [
        "energy.png",
        "constraints.png",
        "momentum.png",
        "coordinates.png",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
    assert plot.comparison(runs, tmp_path / "all.pdf", ["energy"]) == [tmp_path / "all.pdf"]
    drift = figures_of(runs)["constraints"][0]
    assert drift.unit == "m/s"
    np.testing.assert_array_equal(drift.lines[0].y, running_maximum(runs["lagrange"].violation[-1]))


def test_comparison_omits_figures_that_do_not_apply(tmp_path: Path) -> None:
    run = equations_of(gallery.load("double-pendulum"), "lagrange").simulate(0.2, samples=5)
    paths = plot.comparison({"lagrange": run}, tmp_path)
    assert [path.stem for path in paths] == ["energy", "coordinates"]
    with pytest.raises(
        InputError, match="'double-pendulum' has no ignorable coordinate, so there is no figure 'momentum'"
    ):
        plot.comparison({"lagrange": run}, tmp_path, ["momentum"])


# output


def test_notebook_displays_the_figure_without_pyplot(runs: dict[str, Trajectory]) -> None:
    from matplotlib._pylab_helpers import Gcf

    for drawn in (runs["kane"].plot("energy"), plot.comparison_figure(runs, ["energy"])):
        assert drawn._repr_png_().startswith(b"\x89PNG")
        assert drawn._repr_html_() is None  # displayed once
    assert not Gcf.get_all_fig_managers()
    again = pickle.loads(pickle.dumps(runs["kane"].plot("energy")))  # noqa: S301
    assert labels(again) == ["energy [J]"]


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_suffix_sets_the_format(suffix: str, start: bytes, tmp_path: Path, runs: dict[str, Trajectory]) -> None:
    path = tmp_path / "new" / "folder" / f"run{suffix}"
    runs["kane"].plot("energy", str(path))
    assert path.read_bytes().startswith(start)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["run.jpeg2", "run"])
def test_other_formats_are_rejected(name: str, tmp_path: Path, runs: dict[str, Trajectory]) -> None:
    with pytest.raises(InputError, match=r"a figure cannot be saved .*the suffix \.png, \.pdf or \.svg"):
        runs["kane"].plot(path=tmp_path / name)


def test_failure_leaves_no_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.png"
    path.write_text("before")

    def fail(self: Figure, name: Path, **options: Any) -> None:
        name.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(ComputationError, match=r"run\.png: cannot write the file \(No space left on device\)"):
        plot.save(Figure(), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


# errors


def test_energy_error_has_a_scale_when_the_energy_is_zero() -> None:
    # the gallery pendulum starts with zero energy
    run = equations_of(gallery.load("simple-pendulum"), "lagrange").simulate(1.0, samples=11, integrator="dop853")
    assert abs(run.balance[0]) < 1e-12
    assert balance_error(run).max() < 1e-6
    assert momentum_error(run) is None


def test_momentum_error_of_the_ignorable_coordinate(runs: dict[str, Trajectory]) -> None:
    run = runs["lagrange"]
    drift = momentum_error(run)
    assert drift is not None
    p = run.momenta[2]
    np.testing.assert_allclose(drift, abs(p - p[0]) / abs(p[0]))
