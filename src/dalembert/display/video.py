"""Videos, snapshots and web pages of a scene.

The viewer is part of the package, built from `viewer/`. The page contains the data as JSON without any `<`, so that no string of
a model can end its element. The content security policy allows one script and one stylesheet by their hashes: no other script
in the page is executed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dalembert.display._renderer import SceneRenderer, Snapshot
from dalembert.display.scene.scene_builder import scene_of
from dalembert.display.scene.scene_values import Scene, to_world
from dalembert.display.viewer import bundle, is_built
from dalembert.errors import ComputationError, InputError
from dalembert.io.files import atomic_write, require_suffix, write_text
from dalembert.model.description import Elements

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from dalembert.display.plots.figure import Plot


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<script type="application/json" id="dalembert-data">{data}</script>
{templates}<script>{script}</script>
</body>
</html>
"""
_POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data: blob:; font-src data:;"
    " base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class PageTab:
    """A tab next to the time histories: its title, and HTML that is already escaped."""

    title: str
    html: str


def page(scene: Scene, *, tabs: Sequence[PageTab] = (), title: str | None = None) -> str:
    """Return the page of a scene as a str."""
    return page_of(scene.to_dict(), tabs, title or scene.name)


def page_of(data: Mapping[str, object], tabs: Sequence[PageTab], title: str) -> str:
    """Return the page of the plain data of a scene."""
    script, style = bundle()
    templates = "".join(f'<template id="dalembert-tab-{k}">{tab.html}</template>\n' for k, tab in enumerate(tabs))
    return _PAGE.format(
        policy=_POLICY.format(script=_hash(script), style=_hash(style)),
        title=escape(title),
        style=style,
        data=embedded({**data, "tabs": [{"title": tab.title} for tab in tabs]}),
        templates=templates,
        script=script,
    )


def frame(scene: Scene, *, height: int = 560) -> str:
    """Return the page in an iframe for a notebook."""
    words = escape(page(scene), quote=True)
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{words}" width="100%" height="{int(height)}" '
        'style="border:0" loading="lazy"></iframe>'
    )


def embedded(data: object) -> str:
    """Return data as JSON that can be embedded in a page: it contains no `<`.

    >>> embedded({"name": "</script><script>"})
    '{"name":"\\\\u003c/script>\\\\u003cscript>"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # the two separators are line ends in old JavaScript, not in JSON
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _hash(text: str) -> str:
    """Return the hash of the content of an element, as in the policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def markdown(text: str) -> str:
    """Convert Markdown to HTML; headings are one level lower, since a page has its own title.

    >>> markdown("# Pendulum\\n\\nIt *swings* <b>free</b>.")
    '<h2>Pendulum</h2>\\n<p>It <em>swings</em> &lt;b&gt;free&lt;/b&gt;.</p>\\n'
    """
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        if token.type.startswith("heading"):
            token.tag = f"h{min(int(token.tag[1:]) + 1, 6)}"
        elif token.type == "inline":
            # links to repository paths do not work from a page; keep only their text
            token.children = [x for x in token.children or () if x.type not in ("link_open", "link_close")]
    return parser.renderer.render(tokens, parser.options, {})


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


_TRAIL_POINTS = 400
_MAX_FRAMES = {".gif": 240, ".mp4": 1800}
_COLUMNS = 4  # snapshots in a row
SUFFIXES = (".html", ".mp4", ".gif", ".png", ".pdf", ".svg")
_MAX_NOTEBOOK_CHARACTERS = 8_000_000  # of a page embedded in a notebook


@dataclass(frozen=True)
class Video:
    """Video settings: `fps` frames per second, `speed` seconds of the run per second, square images of `pixels`."""

    scene: Scene
    fps: float = 25.0
    speed: float = 1.0
    pixels: int = 480

    @cached_property
    def renderer(self) -> SceneRenderer:
        """The renderer."""
        return SceneRenderer(self.scene)

    def times(self, max_frames: int) -> np.ndarray:
        """Return the times of the frames; a motion that is too long is played faster."""
        first, last = self._span
        count = round((last - first) / self.speed * self.fps) + 1
        return np.linspace(first, last, max(2, min(count, max_frames)))

    @property
    def _span(self) -> tuple[float, float]:
        run = self.scene.run
        return (0.0, 0.0) if run is None else (float(run.t[0]), float(run.t[-1]))

    def states(self, times: np.ndarray) -> np.ndarray:
        """Return the coordinates at the times; the initial ones if there is no run."""
        if self.scene.run is None:
            return np.repeat(self.scene.start[0][:, None], len(times), axis=1)
        return self.scene.run.at(times)

    def moments(self, times: np.ndarray) -> Iterator[Snapshot]:
        """Yield the content of the frames."""
        poses = self.scene.kinematics.at(self.states(times), times)
        for k, t in enumerate(times):
            yield Snapshot(poses, k, self._paths(float(t)))

    def _paths(self, t: float) -> dict[int, np.ndarray]:
        """Return the trails up to time t."""
        first, _ = self._span
        out = {}
        for index, trail in enumerate(self.scene.trails):
            start = max(first, t - trail.seconds)
            if t > start:
                times = np.linspace(start, t, _TRAIL_POINTS)
                poses = self.scene.kinematics.at(self.states(times), times)
                out[index] = to_world(poses, trail.body, trail.point)
        return out

    # images

    def snapshots(self, count: int = 4, dpi: float = 200) -> Plot:
        """Return snapshots of the run side by side, as one figure."""
        from dalembert.display.plots.figure import Plot

        times = np.linspace(*self._span, count) if self.scene.run is not None else np.zeros(1)
        across = min(_COLUMNS, len(times))
        down = -(-len(times) // across)
        figure = Plot(figsize=(3.0 * across, 3.0 * down), dpi=dpi)
        for k, moment in enumerate(self.moments(times)):
            axis = figure.add_axes((k % across / across, 1 - (k // across + 1) / down, 1 / across, 1 / down))
            self.renderer.draw(axis, moment)
            if self.scene.run is not None:
                _label(axis, float(times[k]))
        return figure

    def frames(self, max_frames: int) -> Iterator[np.ndarray]:
        """Yield the frames (pixels, pixels, 4) of the video, as bytes."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        from dalembert.display.plots.figure import Plot

        times = self.times(max_frames)
        for k, moment in enumerate(self.moments(times)):
            figure = Plot(figsize=(self.pixels / 100, self.pixels / 100), dpi=100)
            canvas: FigureCanvasAgg = FigureCanvasAgg(figure)
            axis = figure.add_axes((0, 0, 1, 1))
            self.renderer.draw(axis, moment)
            _label(axis, float(times[k]))
            canvas.draw()
            yield np.asarray(canvas.buffer_rgba()).copy()

    def write(self, path: Path) -> None:
        """Write a GIF or an MP4, by the suffix."""
        if self.scene.run is None:
            raise InputError(
                f"{path}: a model without a run has no motion to animate. Use a run: dl.simulate(model).animate('{path.name}')."
            )
        (self._gif if path.suffix.lower() == ".gif" else self._mp4)(path)

    def _gif(self, path: Path) -> None:
        from PIL import Image

        max_frames = _MAX_FRAMES[".gif"]
        pictures = [Image.fromarray(frame).convert("RGB").quantize(128) for frame in self.frames(max_frames)]
        first, last = self._span
        pause = max(20, round(1000 * (last - first) / self.speed / len(pictures)))
        pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=pause, loop=0, disposal=1)

    def _mp4(self, path: Path) -> None:
        program = shutil.which("ffmpeg")
        if program is None:
            raise ComputationError(
                f"{path}: MP4 videos need the program ffmpeg, which is not installed. Install it (Debian: apt install ffmpeg; "
                "macOS: brew install ffmpeg; Windows: winget install ffmpeg), or write a .gif or .html."
            )
        size = f"{self.pixels}x{self.pixels}"
        source = ["-f", "rawvideo", "-pix_fmt", "rgba", "-s", size, "-r", f"{self.fps:g}", "-i", "-"]
        target = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path)]
        with subprocess.Popen(
            [program, "-loglevel", "error", "-y", *source, *target], stdin=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            for frame in self.frames(_MAX_FRAMES[".mp4"]):
                process.stdin.write(frame.tobytes())
            _, stderr = process.communicate()
        if process.returncode:
            raise ComputationError(f"{path}: ffmpeg failed: {stderr.decode(errors='replace').strip()[:400]}")


def _label(axis: Axes, t: float) -> None:
    axis.text(0.03, 0.03, f"t = {t:.2f} s", transform=axis.transAxes, fontsize=8, color="#555555", zorder=9)


@dataclass(frozen=True)
class Animation:
    """A scene with video settings: frames per second, speed, size and number of snapshots.

    >>> import dalembert as dl
    >>> animation = dl.animate("four-bar")
    >>> animation.scene.view.planar
    True
    """

    scene: Scene
    fps: float = 25.0
    speed: float = 1.0
    pixels: int = 480
    frames: int = 4

    def __post_init__(self) -> None:
        for name in ("fps", "speed", "pixels", "frames"):
            value = getattr(self, name)
            if not 0 < value < 10_000:
                raise InputError(f"animate, {name}: got {value}. Expected a positive number below 10000.")

    def save(self, path: str | Path) -> Path:
        """Write a page (.html), a video (.mp4, .gif) or snapshots side by side (.png, .pdf, .svg), completely or not at all."""
        file = Path(path)
        require_suffix(file, SUFFIXES, "an animation")
        kind = file.suffix.lower()
        if kind == ".html":
            write_text(file, self.html())
            return file
        with atomic_write(file) as part:
            if kind in (".gif", ".mp4"):
                self._video.write(part)
            else:
                self.snapshots().savefig(part)
        return file

    def html(self) -> str:
        """Return the page as a str."""
        return page(self.scene)

    def snapshots(self) -> Plot:
        """Return snapshots side by side, as a figure."""
        return self._video.snapshots(self.frames)

    @property
    def _video(self) -> Video:
        return Video(self.scene, self.fps, self.speed, 2 * round(self.pixels / 2))

    def _repr_html_(self) -> str | None:
        """Return the viewer in a frame, if it is built and the page is not too large."""
        if not is_built():
            return None
        page = frame(self.scene)
        return page if len(page) <= _MAX_NOTEBOOK_CHARACTERS else None

    def _repr_png_(self) -> bytes | None:
        """Return snapshots, for notebooks that cannot display the viewer."""
        return self.snapshots()._repr_png_()


def animate(model: Elements, path: str | Path | None = None, *, frames: int = 1, pixels: int = 480) -> Animation:
    """Return the interactive view of a model in its initial state: sliders move its coordinates, and loops stay closed.

    Use `run.animate` for the motion of a run.

    Parameters
    ----------
    path : str or Path, optional
        File to write: a page (.html) or an image (.png, .pdf, .svg). Nothing is written if None.

    Returns
    -------
    Animation
        The view, which notebooks display.

    Raises
    ------
    InputError
        If the suffix of the path is not supported; videos need a run.

    Examples
    --------
    >>> import dalembert as dl
    >>> view = dl.animate("cart-pendulum")
    >>> view.scene.run is None
    True
    """
    animation = Animation(scene_of(model), pixels=pixels, frames=frames)
    if path is not None:
        animation.save(path)
    return animation
