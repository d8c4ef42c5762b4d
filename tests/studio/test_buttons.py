"""Every button of *Take away* and *Evidence* on the models of the gallery, tested by the tasks that the buttons start.

A button writes its files, or fails with a reason that is listed here; anything else is a failure. Runs are short: whether a
button works does not depend on their length.
"""

import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from gallery_models import up_to

from dalembert.display.plots.panels import OVERVIEW, PANELS
from dalembert.errors import DalembertError
from dalembert.io import gallery
from dalembert.io.code.languages import TARGETS
from dalembert.studio.folder import Folder
from dalembert.studio.tasks import TASKS
from dalembert.studio.tasks.downloads import KINDS

EXAMPLES = gallery.names()
RUN = {"duration": 0.05, "samples": 4}
CHOICES = {"formalisms": ["lagrange"], "panels": list(OVERVIEW), "pixels": 64, "fps": 5, "evidence": False}
ALIKE = ("gif", "mp4", "plot-pdf", "plot-svg")  # rendered like snapshots and plot-png: tested on every fourth model
EVIDENCE = {"prove": {}, "verify": {"states": 2}, "compare": {"duration": 0.05, "samples": 3}}
LARGE = 8  # coordinates; exports of the equations of larger models take minutes and are not tested here
MAX_COORDINATES = 6  # of the models whose formulations are proved, verified and compared here
# accepted errors by kind; all languages share one
REFUSALS = {
    "urdf": r"URDF has (no|the same friction)|URDF describes trees|Expected a coordinate by itself|moves several joints|"
    r"is defined by energies",
    "page": r"nothing to draw",
    "gif": r"nothing to draw",
    "mp4": r"nothing to draw" if shutil.which("ffmpeg") else r"nothing to draw|need the program ffmpeg",
    "snapshots": r"nothing to draw",
    **dict.fromkeys(TARGETS, r"\ANotApplicableError: export: "),
}


@cache
def text_of(name: str) -> str:
    return TASKS["example"].work({"name": name}, Folder(Path.cwd()), silent)["text"]


def silent(*progress: object) -> None:
    """Ignore progress."""


def press(task: str, folder: Folder, **given: Any) -> str:
    """Return the error of a button; empty if it succeeds."""
    try:
        found = TASKS[task].work(given, folder, silent)
    except DalembertError as error:
        return f"{type(error).__name__}: {error}"
    written = [folder.file(each["name"]) for each in found.get("files", ())]
    if task == "download" and not (written and all(path.stat().st_size > 20 for path in written)):
        return "no file, or an empty one"
    return "" if task == "download" or (found["sentence"] and "<table" in found["tables"]) else "no table"


def failures(name: str, folder: Folder, kinds: list[str]) -> list[str]:
    """Return the buttons of *Take away* that fail without a listed reason."""
    given = {
        "text": text_of(name),
        "run": TASKS["simulate"].work({"text": text_of(name), **RUN}, folder, silent)["run"],
    }
    errors = {kind: press("download", folder, kind=kind, **given, **CHOICES) for kind in kinds}
    return [
        f"{name}, {kind}: {words}"
        for kind, words in errors.items()
        if words and not re.search(REFUSALS.get(kind, r"\A\Z"), words)
    ]


@pytest.mark.parametrize("name", ["simple-pendulum", pytest.param("backlash-gears", marks=pytest.mark.slow(10))])
def test_download_buttons_of_a_run(name, tmp_path):
    kinds = ["toml", "urdf", "script", "page", "plot-png", "csv", "mat"]
    assert failures(name, Folder(tmp_path), kinds) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_download_button(name, tmp_path):
    large = len(gallery.load(name).coordinate_names) > LARGE
    kinds = [
        kind
        for kind, about in KINDS.items()
        if (kind not in ALIKE or EXAMPLES.index(name) % 4 == 0) and not (large and about.group in ("code", "equations"))
    ]
    assert failures(name, Folder(tmp_path), kinds) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", up_to(MAX_COORDINATES))
@pytest.mark.parametrize("task", EVIDENCE)
def test_every_evidence_button(name, task, tmp_path):
    assert press(task, Folder(tmp_path), text=text_of(name), **EVIDENCE[task]) == ""


@pytest.mark.parametrize("task", ["prove", "compare"])
def test_evidence_buttons(task, tmp_path):
    given = {"formalisms": ["lagrange", "kane"], **EVIDENCE[task]}
    assert press(task, Folder(tmp_path), text=text_of("simple-pendulum"), **given) == ""


def test_missing_panels_are_reported_and_the_others_plotted(tmp_path):
    folder, text = Folder(tmp_path), text_of("simple-pendulum")
    run = TASKS["simulate"].work({"text": text, **RUN}, folder, silent)["run"]
    given = {"kind": "plot-png", "text": text, "run": run}
    found = TASKS["download"].work({**given, "panels": list(PANELS)}, folder, silent)
    assert len(found["files"]) == 1
    assert "'simple-pendulum' has no constraints, so there is no panel 'multipliers'." in found["notes"]
    assert press("download", folder, **given, panels=["multipliers"]).startswith("InputError: there is nothing to plot")


def test_failing_button_is_detected(tmp_path, monkeypatch):
    monkeypatch.setitem(REFUSALS, "urdf", r"\A\Z")
    (found,) = failures("four-bar", Folder(tmp_path), ["toml", "urdf"])
    assert found.startswith("four-bar, urdf: InputError: loop 'pin'")
