"""Runs on disk are the runs in memory."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import xarray

from dalembert import gallery
from dalembert.errors import EngineError, InputError, WorkError
from dalembert.handles import Trajectory, equations_of
from dalembert.show import dataset


@pytest.fixture(scope="module", params=["cart-pendulum", "simple-pendulum"])
def run(request: pytest.FixtureRequest) -> Trajectory:
    model = gallery.load(request.param)
    return equations_of(model, "kane").with_parameters(l=0.3).simulate(0.5, samples=6, integrator="dop853")


def test_dataset_names_what_it_holds(run: Trajectory) -> None:
    data = dataset.from_trajectory(run)
    model = run.equations.model
    for index, name in enumerate(model.coordinate_names):
        np.testing.assert_array_equal(data.q.sel(coordinate=name), run.q[index])
        np.testing.assert_array_equal(data.qd.sel(coordinate=name), run.qd[index])
    np.testing.assert_array_equal(data.time, run.t)
    np.testing.assert_array_equal(data.energy, run.kinetic + run.potential)
    np.testing.assert_array_equal(data.balance, run.balance)
    assert data.q.dims == ("coordinate", "time")
    assert list(data.coordinate_unit.values) == [c.unit for c in model.coordinate_list]
    assert data.kinetic.attrs["units"] == "J"
    for name in ("speeds", "momenta", "reactions", "multipliers", "violation", "linear_momentum", "angular_momentum"):
        np.testing.assert_array_equal(data[name], getattr(run, name))


def test_attributes_say_where_a_run_comes_from(run: Trajectory) -> None:
    said = dataset.from_trajectory(run).attrs
    assert (said["formalism"], said["integrator"], said["status"]) == ("kane", "dop853", run.status)
    assert json.loads(said["parameters"])["l"] == 0.3
    assert said["dalembert_version"]


def test_netcdf_reads_back_equal(run: Trajectory, tmp_path: Path) -> None:
    path = dataset.save(run, tmp_path / "deep" / "run.nc")
    xarray.testing.assert_identical(xarray.load_dataset(path), dataset.from_trajectory(run))
    assert list(path.parent.iterdir()) == [path]


def test_csv_reads_back_equal(run: Trajectory, tmp_path: Path) -> None:
    path = dataset.save(run, tmp_path / "run.csv")
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    table = dict(zip(header, np.array(rows, dtype=float).T, strict=True))
    for index, name in enumerate(run.equations.model.coordinate_names):
        np.testing.assert_array_equal(table[name], run.q[index])
        np.testing.assert_array_equal(table[f"dot({name})"], run.qd[index])
    np.testing.assert_array_equal(table["time"], run.t)
    np.testing.assert_array_equal(table["u1"], run.speeds[0])
    np.testing.assert_array_equal(table["energy"], run.energy)
    assert sum(name.startswith("violation(") for name in header) == len(run.violation)


@pytest.mark.parametrize(("name", "got"), [("run.xlsx", r"as '\.xlsx'"), ("run", "without an ending")])
def test_other_formats_are_refused(name: str, got: str, run: Trajectory, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"a run cannot be saved {got}\. Expected a name that ends in \.nc or \.csv"):
        dataset.save(run, tmp_path / name)


@pytest.mark.parametrize("suffix", dataset.FORMATS)
def test_a_failure_leaves_no_part_of_a_file(
    suffix: str, run: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"run{suffix}"
    path.write_text("before")

    def fail(given: Trajectory, part: Path, record: dataset.Record | None = None) -> None:
        part.write_text("half")
        raise RuntimeError("interrupted")

    monkeypatch.setattr(dataset, "_write_csv", fail)
    monkeypatch.setattr(dataset, "_write_netcdf", fail)
    with pytest.raises(RuntimeError, match="interrupted"):
        dataset.save(run, path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(run: Trajectory, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(WorkError, match=r"run\.csv: the file cannot be written"):
        dataset.save(run, tmp_path / "file" / "run.csv")


def test_without_a_writer_of_netcdf_csv_is_offered(
    run: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset.from_trajectory(run)  # imports what it needs while modules can still be found
    monkeypatch.setattr(dataset.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=r"save the run as \.csv"):
        dataset.save(run, tmp_path / "run.nc")
