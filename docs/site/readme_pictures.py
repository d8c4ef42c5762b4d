"""Render the pictures of README.md with dalembert itself: `python docs/site/readme_pictures.py docs/figures`.

The animation is written by `run.animate`; the others are the last of two snapshots of a run, scaled down.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import dalembert as dl

PIXELS = 360


def main(folder: Path) -> None:
    """Write hexapod.gif, student.png, robot.png and mechanism.png."""
    dl.simulate("hexapod", 2.0, integrator="dop853").animate(folder / "hexapod.gif", fps=20)
    for name, run in {"student": pendulum(), "robot": robot(), "mechanism": dl.simulate("hoeken-linkage", 5.0)}.items():
        last_snapshot(run).save(folder / f"{name}.png", optimize=True)


def pendulum() -> dl.Trajectory:
    """A double pendulum."""
    return dl.simulate("double-pendulum", 1.6, samples=201)


def robot() -> dl.Trajectory:
    """The PUMA 560, with its flange on a straight line; the motion of the tutorial."""
    arm, home = dl.load("puma560"), [0, np.pi / 4, np.pi, 0, np.pi / 4, 0]
    flange = dl.pose(arm, home, "flange")
    target = dl.Target(position=flange.position + np.array([-0.2, 0.5, -0.4]), orientation=flange.rotation)
    return dl.simulate(dl.computed_torque(arm, dl.straight_line(arm, "flange", target, 2.0, q0=home)), 2.0, samples=101)


def last_snapshot(run: dl.Trajectory) -> Image.Image:
    """The state at the end of a run, with the traces up to it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.png"
        run.animate(path, frames=2)
        with Image.open(path) as both:
            right = both.convert("RGB").crop((both.width // 2, 0, both.width, both.height))
    return right.resize((PIXELS, PIXELS), Image.Resampling.LANCZOS).quantize(128)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
