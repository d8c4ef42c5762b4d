"""Render the gallery and run the tutorials: a picture and a viewer page of every model, and the files of the tutorials.

python docs/site/pictures.py out/pictures                   # all; up-to-date results are kept
python docs/site/pictures.py out/pictures four-bar linkage  # only these models and tutorials
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import tutorial_code

import dalembert as dl
from dalembert.api.trajectory import Trajectory
from dalembert.display.plots.figure import Plot
from dalembert.display.video import Video
from dalembert.io import gallery

LONGEST = 10.0  # seconds of a motion
SAMPLES = 301
SHOWN = 0.37  # fraction of a motion at which its picture is taken
# models with another time or other trails
MOMENTS = {
    "appell-hamel": 0.9,
    "bead-on-wire": 0.97,
    "bead-on-wire-cartesian": 0.97,
    "cart-pendulum": 0.16,
    "gripper": 0.1,
    "parallel-3-rrr": 0.06,
    "robot-2-link": 0.15,
    "robot-3-link": 0.12,
}


def motion(name: str) -> Trajectory:
    """The motion of a model for its page."""
    model = dl.load(name)
    formalism = "denoc" if len(model.coordinate_names) > 30 else "lagrange"
    return dl.simulate(model, min(model.duration, LONGEST), samples=SAMPLES, formalism=formalism)


def paint(name: str, folder: Path) -> None:
    """Write the picture and the page of a model."""
    run = motion(name)
    picture = snapshot(run, MOMENTS.get(name, SHOWN))
    picture.savefig(_ready(folder / "gallery" / "pictures") / f"{name}.png")
    run.animate(_ready(folder / "gallery" / "live") / f"{name}.html")


def teach(name: str, folder: Path) -> None:
    """Run a tutorial in the folder where the site expects its files."""
    for _ in tutorial_code.printed(name, _ready(folder / "tutorials" / name)):
        pass


def made(name: str, folder: Path) -> float:
    """Process a model or a tutorial; returns the seconds it took."""
    begun = time.perf_counter()
    (teach if name in tutorial_code.NAMES else paint)(name, folder)
    _mark(name, folder).touch()
    return time.perf_counter() - begun


def snapshot(run: Trajectory, share: float) -> Plot:
    """One time of a run, as a fraction of its duration, with the trails up to it."""
    film = Video(run.scene())
    shown = next(film.moments(run.t[[round(share * (len(run.t) - 1))]]))
    figure = Plot(figsize=(3.0, 3.0), dpi=200)
    film.renderer.draw(figure.add_axes((0, 0, 1, 1)), shown)
    return figure


def stale(folder: Path) -> list[str]:
    """The models and tutorials that are missing or older than the package or the page."""
    newest = max(path.stat().st_mtime for path in Path(dl.__file__).parent.rglob("*") if path.suffix != ".pyc")
    since = dict.fromkeys(gallery.names(), newest)
    since |= {name: max(newest, tutorial_code.page_of(name).stat().st_mtime) for name in tutorial_code.NAMES}
    marks = {name: _mark(name, folder) for name in since}
    return [name for name, mark in marks.items() if not mark.is_file() or mark.stat().st_mtime < since[name]]


def _mark(name: str, folder: Path) -> Path:
    """The empty marker file that is written when a name is done."""
    return _ready(folder / "done") / name


def _ready(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def main(arguments: Sequence[str]) -> int:
    """Process the names on all cores and report failures."""
    folder, *selected = arguments
    place = Path(folder)
    names = selected or stale(place)
    failed = False
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        work = {pool.submit(made, name, place): name for name in names}
        for k, done in enumerate(as_completed(work), 1):
            problem = done.exception()
            failed |= problem is not None
            result = f"{done.result():.1f} s" if problem is None else f"failed: {problem}"
            print(f"{k:3d}/{len(names)} {work[done]}: {result}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
