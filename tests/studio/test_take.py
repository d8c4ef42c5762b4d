"""What is taken away is complete, in the folder, and does what it says."""

import runpy
import zipfile
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Given
from dalembert.studio.tasks.downloads import KINDS, take
from dalembert.studio.tasks.simulate_task import simulate

PENDULUM = dl.gallery.path("simple-pendulum").joinpath("model.toml").read_text("utf-8")


def told(*progress: object) -> None:
    """Nobody listens."""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def run(folder: Folder) -> str:
    given = {"text": PENDULUM, "duration": 1.0, "samples": 21, "start": {"theta": 0.7}, "integrator": "dop853"}
    return simulate(Given(given), folder, told)["run"]


def taken(kind: str, folder: Folder, run: str = "", **more: object) -> list[Path]:
    found = take(Given({"kind": kind, "text": PENDULUM, "run": run, **more}), folder, told)
    return [folder.file(each["name"]) for each in found["files"]]


@pytest.mark.parametrize("kind", ["toml", "script", "latex", "equations", "c", "numpy", "matlab"])
def test_what_needs_no_run_is_written(kind, folder):
    for path in taken(kind, folder):
        assert path.parent == folder.root
        assert path.stat().st_size > 100


@pytest.mark.parametrize("kind", ["page", "csv"])  # all others at night
def test_what_a_run_gives_is_written(kind, folder, run):
    (path,) = taken(kind, folder, run, pixels=64, fps=5)
    assert path.stat().st_size > 1000


@pytest.mark.nightly
def test_the_script_makes_the_same_run_again(folder, run, monkeypatch):
    script, model = taken("script", folder, run)
    monkeypatch.chdir(folder.root)
    again = runpy.run_path(str(script))["run"]
    kept = dl.load_run(folder.run(run))
    assert np.array_equal(again.q, kept.q)
    assert model.read_text("utf-8") == PENDULUM


def test_the_model_file_is_the_text(folder):
    assert taken("toml", folder)[0].read_text("utf-8") == PENDULUM


def test_nothing_is_written_over(folder):
    first, second = taken("toml", folder)[0], taken("toml", folder)[0]
    assert first != second


def test_several_files_come_as_one(folder):
    (path,) = taken("c", folder)
    assert {Path(name).suffix for name in zipfile.ZipFile(path).namelist()} == {".c", ".h"}


def test_without_a_run_a_sentence_says_what_to_do(folder):
    with pytest.raises(InputError, match="Simulate the model first"):
        taken("csv", folder)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_written(kind, folder, run):
    for path in taken(kind, folder, run, pixels=64, fps=5, evidence=False):
        assert path.stat().st_size > 100
