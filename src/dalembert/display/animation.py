"""An animation: a scene that shows itself in a notebook and writes itself to files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert.display import webpage
from dalembert.display.scene.scene_builder import scene_of
from dalembert.display.scene.scene_values import Scene
from dalembert.display.video import Film
from dalembert.display.viewer import is_built
from dalembert.errors import InputError
from dalembert.io.files import complete, require_suffix, write_text
from dalembert.model.description import Elements

if TYPE_CHECKING:
    from dalembert.display.plots.figure import Plot

SUFFIXES = (".html", ".mp4", ".gif", ".png", ".pdf", ".svg")
_LARGEST = 8_000_000  # characters of a page that a notebook takes


@dataclass(frozen=True)
class Animation:
    """A scene with the choices of its film: frames a second, speed, size and number of snapshots.

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
        """Write a page (.html), a film (.mp4, .gif) or snapshots side by side (.png, .pdf, .svg), complete or not at all."""
        place = Path(path)
        require_suffix(place, SUFFIXES, "an animation")
        kind = place.suffix.lower()
        if kind == ".html":
            write_text(place, self.html())
            return place
        with complete(place) as part:
            if kind in (".gif", ".mp4"):
                self._film.write(part)
            else:
                self.snapshots().savefig(part)
        return place

    def html(self) -> str:
        """The page as one text."""
        return webpage.page(self.scene)

    def snapshots(self) -> Plot:
        """Moments side by side, as a figure."""
        return self._film.snapshots(self.frames)

    @property
    def _film(self) -> Film:
        return Film(self.scene, self.fps, self.speed, 2 * round(self.pixels / 2))

    def _repr_html_(self) -> str | None:
        """The viewer in a frame, where it is built and the page is not too large."""
        if not is_built():
            return None
        shown = webpage.frame(self.scene)
        return shown if len(shown) <= _LARGEST else None

    def _repr_png_(self) -> bytes | None:
        """Snapshots, where a notebook cannot show the viewer."""
        return self.snapshots()._repr_png_()


def animate(model: Elements, path: str | Path | None = None, *, frames: int = 1, pixels: int = 480) -> Animation:
    """A model as it stands at its start, to be moved by hand: sliders move its coordinates, and loops stay closed.

    A notebook shows it; where a path is given it is written, as a page (.html) or as a picture (.png, .pdf, .svg). The motion
    of a run is shown by `run.animate`.
    """
    shown = Animation(scene_of(model), pixels=pixels, frames=frames)
    if path is not None:
        shown.save(path)
    return shown
