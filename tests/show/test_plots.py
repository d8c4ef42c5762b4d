"""Figures: what is on them, and how they reach the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from dalembert import gallery
from dalembert.errors import InputError, WorkError
from dalembert.handles import Equations, Trajectory, equations_of, setup, workspace_of
from dalembert.handles.derivation import derivation_of
from dalembert.show import plots
from dalembert.show.plots import balance_error, momentum_error


@pytest.fixture(scope="module")
def runs() -> dict[str, Trajectory]:
    space = workspace_of(setup(gallery.load("cart-pendulum")))
    return {
        key: Equations(derivation_of(space.setup, key)).simulate(1.0, samples=51, integrator="rk45", project=False)
        for key in ("lagrange", "kane", "volterra_reduced")
    }


def labels(figure: Figure) -> list[str]:
    return [axis.get_ylabel().replace("\n", " ") for axis in figure.axes]


def test_panels_of_a_run(runs: dict[str, Trajectory]) -> None:
    figure = plots.trajectory(runs["lagrange"])
    assert labels(figure) == [
        "coordinates [rad]",
        "coordinates [m]",
        "velocities [rad/s]",
        "velocities [m/s]",
        "energy [J]",
        "energy balance, relative error",
        "constraint violation",
    ]
    assert [axis.get_yscale() for axis in figure.axes] == ["linear"] * 5 + ["log"] * 2
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert "angle of the first rod" in legend.get_texts()[0].get_text()


def test_speeds_take_the_place_of_velocities(runs: dict[str, Trajectory]) -> None:
    assert "speeds [m/s]" in labels(plots.trajectory(runs["kane"]))


def test_lines_are_the_motion(runs: dict[str, Trajectory]) -> None:
    run = runs["lagrange"]
    lines = plots.trajectory(run).axes[0].get_lines()
    np.testing.assert_array_equal(lines[1].get_ydata(), run.q[1])
    np.testing.assert_array_equal(lines[1].get_xdata(), run.t)


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_the_suffix_decides_the_format(suffix: str, start: bytes, tmp_path: Path, runs: dict[str, Trajectory]) -> None:
    path = tmp_path / "new" / "folder" / f"run{suffix}"
    plots.trajectory(runs["kane"], path)
    assert path.read_bytes().startswith(start)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["run.jpeg2", "run"])
def test_other_formats_are_refused(name: str, tmp_path: Path, runs: dict[str, Trajectory]) -> None:
    with pytest.raises(InputError, match=r"a figure cannot be saved .*ends in \.png, \.pdf or \.svg"):
        plots.trajectory(runs["kane"], tmp_path / name)


def test_a_failure_leaves_no_part_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.png"
    path.write_text("before")

    def fail(self: Figure, name: Path, **options: Any) -> None:
        name.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(WorkError, match=r"run\.png: the file cannot be written \(No space left on device\)"):
        plots.save(Figure(), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_comparison_draws_the_figures_of_the_paper(tmp_path: Path, runs: dict[str, Trajectory]) -> None:
    written = plots.comparison(runs, tmp_path / "figures")
    assert [path.name for path in written] == ["energy.png", "constraints.png", "momentum.png", "coordinates.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)
    assert plots.comparison(runs, tmp_path / "all.pdf") == [tmp_path / "all.pdf"]


def test_comparison_leaves_out_what_the_model_has_not(tmp_path: Path) -> None:
    run = equations_of(gallery.load("double-pendulum"), "lagrange").simulate(0.2, samples=5)
    written = plots.comparison({"lagrange": run}, tmp_path)
    assert [path.stem for path in written] == ["energy", "coordinates"]


def test_errors_that_are_zero_are_said_in_words() -> None:
    axis = Figure().subplots()
    plots._draw(axis, np.arange(3.0), plots.Panel("error", (("a", np.zeros(3)),), log=True))
    assert [text.get_text() for text in axis.texts] == ["zero to rounding"]


def test_energy_error_has_a_scale_when_the_energy_is_zero() -> None:
    # the pendulum of the gallery starts with no energy at all
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
