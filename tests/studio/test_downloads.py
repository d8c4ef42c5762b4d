"""Downloads are complete, in the folder, and usable."""

import runpy
import zipfile
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Payload
from dalembert.studio.tasks.downloads import KINDS, download
from dalembert.studio.tasks.simulate_task import simulate

PENDULUM = dl.gallery.path("simple-pendulum").joinpath("model.toml").read_text("utf-8")


def ignore(*progress: object) -> None:
    """Ignore progress."""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def run(folder: Folder) -> str:
    given = {"text": PENDULUM, "duration": 1.0, "samples": 21, "start": {"theta": 0.7}, "integrator": "dop853"}
    return simulate(Payload(given), folder, ignore)["run"]


def downloaded(kind: str, folder: Folder, run: str = "", **more: object) -> list[Path]:
    found = download(Payload({"kind": kind, "text": PENDULUM, "run": run, **more}), folder, ignore)
    return [folder.file(each["name"]) for each in found["files"]]


@pytest.mark.parametrize("kind", ["toml", "script", "latex", "equations", "c", "numpy", "matlab"])
def test_files_without_a_run_are_written(kind, folder):
    for path in downloaded(kind, folder):
        assert path.parent == folder.root
        assert path.stat().st_size > 100


@pytest.mark.parametrize("kind", ["page", "csv"])  # all others nightly
def test_files_of_a_run_are_written(kind, folder, run):
    (path,) = downloaded(kind, folder, run, pixels=64, fps=5)
    assert path.stat().st_size > 1000


@pytest.mark.nightly
def test_script_repeats_the_run(folder, run, monkeypatch):
    script, model = downloaded("script", folder, run)
    monkeypatch.chdir(folder.root)
    again = runpy.run_path(str(script))["run"]
    saved = dl.load_run(folder.run(run))
    assert np.array_equal(again.q, saved.q)
    assert model.read_text("utf-8") == PENDULUM


def test_model_file_is_the_source(folder):
    assert downloaded("toml", folder)[0].read_text("utf-8") == PENDULUM


def test_no_file_is_overwritten(folder):
    first, second = downloaded("toml", folder)[0], downloaded("toml", folder)[0]
    assert first != second


def test_several_files_are_packed_into_one(folder):
    (path,) = downloaded("c", folder)
    assert {Path(name).suffix for name in zipfile.ZipFile(path).namelist()} == {".c", ".h"}


def test_missing_run_is_reported(folder):
    with pytest.raises(InputError, match="Simulate the model first"):
        downloaded("csv", folder)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_written(kind, folder, run):
    for path in downloaded(kind, folder, run, pixels=64, fps=5, evidence=False):
        assert path.stat().st_size > 100
