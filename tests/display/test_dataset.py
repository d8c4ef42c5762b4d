"""Saved runs equal the runs in memory."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import xarray

from dalembert.api.derive import equations_of
from dalembert.api.load import load
from dalembert.api.trajectory import Trajectory
from dalembert.display import dataset
from dalembert.errors import ComputationError, EngineError, InputError
from dalembert.io import gallery
from dalembert.model.model import Model


@pytest.fixture(scope="module", params=["cart-pendulum", "simple-pendulum"])
def run(request: pytest.FixtureRequest) -> Trajectory:
    model = gallery.load(request.param)
    return equations_of(model, "kane").with_parameters(l=0.3).simulate(0.5, samples=6, integrator="dop853")


def test_dataset_has_names_units_and_descriptions(run: Trajectory) -> None:
    data = dataset.to_dataset(run)
    model = run.model
    for index, name in enumerate(model.coordinate_names):
        np.testing.assert_array_equal(data.q.sel(coordinate=name), run.q[index])
        np.testing.assert_array_equal(data.qd.sel(coordinate=name), run.qd[index])
    np.testing.assert_array_equal(data.time, run.t)
    np.testing.assert_array_equal(data.energy, run.kinetic + run.potential)
    np.testing.assert_array_equal(data.balance, run.balance)
    assert data.q.dims == ("coordinate", "time")
    assert list(data.coordinate_unit.values) == [c.unit for c in model.generalized_coordinates]
    assert data.kinetic.attrs["units"] == "J"
    for name in ("speeds", "momenta", "reactions", "multipliers", "violation", "linear_momentum", "angular_momentum"):
        np.testing.assert_array_equal(data[name], getattr(run, name))


def test_attributes_record_the_origin_of_a_run(run: Trajectory) -> None:
    attributes = dataset.to_dataset(run).attrs
    assert (attributes["formalism"], attributes["integrator"], attributes["status"]) == ("kane", "dop853", run.status)
    assert json.loads(attributes["parameters"])["l"] == 0.3
    assert attributes["dalembert_version"]


def test_netcdf_reads_back_equal(run: Trajectory, tmp_path: Path) -> None:
    path = dataset.save(run, tmp_path / "deep" / "run.nc")
    xarray.testing.assert_identical(xarray.load_dataset(path), dataset.to_dataset(run))
    assert list(path.parent.iterdir()) == [path]


def test_csv_reads_back_equal(run: Trajectory, tmp_path: Path) -> None:
    path = dataset.save(run, tmp_path / "run.csv")
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    names = [title.partition(" [")[0] for title in header]
    assert header[:2] == ["time [s]", f"{names[1]} [{run.model.generalized_coordinates[0].unit}]"]
    table = dict(zip(names, np.array(rows, dtype=float).T, strict=True))
    for index, name in enumerate(run.model.coordinate_names):
        np.testing.assert_array_equal(table[name], run.q[index])
        np.testing.assert_array_equal(table[f"dot({name})"], run.qd[index])
        np.testing.assert_array_equal(table[f"ddot({name})"], run.qdd[index])
    np.testing.assert_array_equal(table["time"], run.t)
    np.testing.assert_array_equal(table["u1"], run.speeds[0])
    np.testing.assert_array_equal(table["energy"], run.energy)
    assert sum(name.startswith("violation(") for name in header) == len(run.violation)


@pytest.mark.parametrize(("name", "got"), [("run.xlsx", r"as '\.xlsx'"), ("run", "without a suffix")])
def test_other_formats_are_rejected(name: str, got: str, run: Trajectory, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"a run cannot be saved {got}\. Expected the suffix \.nc, \.csv"):
        dataset.save(run, tmp_path / name)


@pytest.mark.parametrize("suffix", dataset.FORMATS)
def test_failure_leaves_no_partial_file(
    suffix: str, run: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"run{suffix}"
    path.write_text("before")

    def fail(data: xarray.Dataset, part: Path) -> None:
        part.write_text("half")
        raise RuntimeError("interrupted")

    monkeypatch.setattr(dataset, "require_writer", lambda suffix: None)
    monkeypatch.setitem(dataset._WRITERS, suffix, fail)
    with pytest.raises(RuntimeError, match="interrupted"):
        dataset.save(run, path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_unwritable_path_is_reported(run: Trajectory, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ComputationError, match=r"run\.csv: cannot write the file"):
        dataset.save(run, tmp_path / "file" / "run.csv")


def test_missing_netcdf_engine_suggests_csv(run: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset.to_dataset(run)  # import everything before modules are hidden
    monkeypatch.setattr(dataset.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=r"save as \.csv"):
        dataset.save(run, tmp_path / "run.nc")
    with pytest.raises(EngineError, match=r"no installed package writes Parquet\. Install pyarrow"):
        dataset.save(run, tmp_path / "run.parquet")
    assert not list(tmp_path.iterdir())


def test_mat_reads_back_equal(run: Trajectory, tmp_path: Path) -> None:
    from scipy.io import loadmat

    found = loadmat(dataset.save(run, tmp_path / "run.mat"), chars_as_strings=True)
    data = dataset.to_dataset(run)
    np.testing.assert_array_equal(found["time"][0], run.t)
    for name in ("q", "qd", "qdd", "multipliers", "reactions", "joint_force", "joint_moment"):
        np.testing.assert_array_equal(found[name].ravel(), data[name].to_numpy().ravel())
    assert [str(cell[0]) for cell in found["coordinate"].ravel()] == list(run.model.coordinate_names)
    units = found["units"][0, 0]
    assert str(units["kinetic"][0]) == "J"
    assert [str(cell[0]) for cell in units["qd"].ravel()] == list(data.rate_unit.to_numpy())
    assert str(found["about"][0, 0]["formalism"][0]) == "kane"


def test_parquet_reads_back_equal(run: Trajectory, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pandas

    table = pandas.read_parquet(dataset.save(run, tmp_path / "run.parquet"))
    pandas.testing.assert_frame_equal(table, run.to_dataframe())


def test_tables_contain_all_series_of_the_run(run: Trajectory) -> None:
    table = run.to_dataframe()
    units, model = table.attrs["units"], run.model
    assert table.shape[0] == len(run.t)
    assert list(units) == ["time", *table.columns]
    np.testing.assert_array_equal(table.index, run.t)
    for index, name in enumerate(run.constraint_names):
        np.testing.assert_array_equal(table[f"lambda({name})"], run.multipliers[index])
    for name, row in zip(model.coordinate_names, run.reactions, strict=True):
        np.testing.assert_array_equal(table[f"reaction({name})"], row)
    for name, reaction in run.joint_reactions().items():
        np.testing.assert_array_equal(table[f"joint_force_y({name})"], reaction.force[1])
        assert units[f"joint_moment_z({name})"] == "N·m"
    for name, force in run.load_forces.items():
        np.testing.assert_array_equal(table[f"load({name})"], force[0])
        np.testing.assert_array_equal(run[f"load({name})"], force[0])
    np.testing.assert_array_equal(run["ddot(theta1)" if len(run.q) > 1 else "ddot(theta)"], run.qdd[0])


def test_coordinate_may_have_the_name_of_a_column() -> None:
    model = Model("names").coordinates("energy", "x")
    model.body("block", joint=model.prismatic((1, 0, 0), "energy"), mass=2)
    model.body("other", joint=model.prismatic((1, 0, 0), "x"), mass=1).start([1, 0], [2, 0])
    run = equations_of(model, "lagrange").simulate(0.5, samples=3)
    table = run.to_dataframe()
    np.testing.assert_array_equal(table["energy"], run.q[0])
    np.testing.assert_array_equal(table["energy (energy)"], run.energy)


def test_models_without_bodies_have_tables() -> None:
    model = Model.from_energies("free", coordinates=["x"], kinetic="dot(x)**2/2").start([0], [3])
    run = equations_of(model, "lagrange").simulate(0.5, samples=3)
    table = run.to_dataframe()
    np.testing.assert_allclose(table["x"], 3 * run.t)
    assert not any(name.startswith("joint") for name in table.columns)


def test_constraints_on_momenta_have_multipliers_and_no_joint_forces() -> None:
    model = Model("field").coordinate("x", 1.0).coordinate("y", 0.0, 0.75)
    model.body("particle", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
    model.joint_spring("particle", joint=0, stiffness=5).joint_spring("particle", joint=1, stiffness=5)
    model.canonical("p(x) + 3/2*y", name="first").canonical("p(y) - 3/2*x", name="second")
    run = equations_of(model, "dirac").simulate(0.2, samples=3)
    table = run.to_dataframe()
    np.testing.assert_array_equal(table["x"], run.q[0])
    np.testing.assert_array_equal(table["lambda(first)"], run.multipliers[0])
    assert not any(name.startswith("joint") for name in table.columns)


@pytest.mark.nightly
@pytest.mark.parametrize("name", gallery.names())
def test_every_gallery_model_has_a_table_with_units(name: str, tmp_path: Path) -> None:
    run = equations_of(load(name), "lagrange").simulate(0.01, samples=3)
    table = run.to_dataframe()
    assert len(table) == 3
    assert np.isfinite(table.to_numpy()).all()
    assert table["energy"].to_numpy() == pytest.approx(run.energy)
    for suffix in (".csv", ".mat", ".nc"):
        assert dataset.save(run, tmp_path / f"run{suffix}").stat().st_size > 0
