"""Every button of the rooms *Take away* and *Evidence* on the models of the gallery, by the tasks that the buttons ask for.

A button writes its files, or refuses with a reason that is listed here; anything else is a failure. Runs are short: whether a
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
ALIKE = ("gif", "mp4", "plot-pdf", "plot-svg")  # drawn as snapshots and plot-png are: pressed on every fourth model
EVIDENCE = {"prove": {}, "verify": {"states": 2}, "compare": {"duration": 0.05, "samples": 3}}
LARGE = 8  # coordinates; what writes out the equations of larger models takes minutes and is not pressed here
MOST = 6  # coordinates of the models whose formulations are proved, verified and compared here
# why a button may refuse, by kind; languages of code share one reason
REFUSALS = {
    "urdf": r"URDF has (no|the same friction)|URDF describes trees|Expected a coordinate by itself|moves several joints|"
    r"is given by its energies",
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
    """Nobody listens."""


def press(task: str, folder: Folder, **given: Any) -> str:
    """What a button says when it fails; nothing where it has done its work."""
    try:
        found = TASKS[task].work(given, folder, silent)
    except DalembertError as error:
        return f"{type(error).__name__}: {error}"
    written = [folder.file(each["name"]) for each in found.get("files", ())]
    if task == "take" and not (written and all(path.stat().st_size > 20 for path in written)):
        return "no file, or an empty one"
    return "" if task == "take" or (found["sentence"] and "<table" in found["tables"]) else "no table"


def failures(name: str, folder: Folder, kinds: list[str]) -> list[str]:
    """The buttons of *Take away* that fail without a listed reason."""
    given = {
        "text": text_of(name),
        "run": TASKS["simulate"].work({"text": text_of(name), **RUN}, folder, silent)["run"],
    }
    said = {kind: press("take", folder, kind=kind, **given, **CHOICES) for kind in kinds}
    return [
        f"{name}, {kind}: {words}"
        for kind, words in said.items()
        if words and not re.search(REFUSALS.get(kind, r"\A\Z"), words)
    ]


@pytest.mark.parametrize("name", ["simple-pendulum", "backlash-gears"])
def test_buttons_that_take_away_a_run(name, tmp_path):
    kinds = ["toml", "urdf", "script", "page", "plot-png", "csv", "mat"]
    assert failures(name, Folder(tmp_path), kinds) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_button_of_take_away(name, tmp_path):
    large = len(gallery.load(name).coordinate_names) > LARGE
    kinds = [
        kind
        for kind, about in KINDS.items()
        if (kind not in ALIKE or EXAMPLES.index(name) % 4 == 0) and not (large and about.group in ("code", "equations"))
    ]
    assert failures(name, Folder(tmp_path), kinds) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", up_to(MOST))
@pytest.mark.parametrize("task", EVIDENCE)
def test_every_button_of_evidence(name, task, tmp_path):
    assert press(task, Folder(tmp_path), text=text_of(name), **EVIDENCE[task]) == ""


@pytest.mark.parametrize("task", ["prove", "compare"])
def test_buttons_of_evidence(task, tmp_path):
    given = {"formalisms": ["lagrange", "kane"], **EVIDENCE[task]}
    assert press(task, Folder(tmp_path), text=text_of("simple-pendulum"), **given) == ""


def test_panels_that_a_run_does_not_have_are_named_and_the_others_drawn(tmp_path):
    folder, text = Folder(tmp_path), text_of("simple-pendulum")
    run = TASKS["simulate"].work({"text": text, **RUN}, folder, silent)["run"]
    given = {"kind": "plot-png", "text": text, "run": run}
    found = TASKS["take"].work({**given, "panels": list(PANELS)}, folder, silent)
    assert len(found["files"]) == 1
    assert "'simple-pendulum' has no constraints, so there is no panel 'multipliers'." in found["notes"]
    assert press("take", folder, **given, panels=["multipliers"]).startswith("InputError: there is nothing to plot")


def test_a_button_that_fails_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setitem(REFUSALS, "urdf", r"\A\Z")
    (found,) = failures("four-bar", Folder(tmp_path), ["toml", "urdf"])
    assert found.startswith("four-bar, urdf: InputError: loop 'pin'")
