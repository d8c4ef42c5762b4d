"""The gallery page: titles, descriptions and pictures of the examples."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from functools import cache
from io import BytesIO

import numpy as np

from dalembert.api import load
from dalembert.codegen import disk_cache
from dalembert.display.scene.scene_builder import scene_of
from dalembert.display.video import Video, markdown
from dalembert.errors import InputError
from dalembert.io import gallery
from dalembert.io.toml_writer import to_toml
from dalembert.model.model import Model
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress
from dalembert.studio.tasks import forms

_PICTURE = "picture"  # kind of cached pictures
_PIXELS = 300  # each side
_VERSION = "1"  # changes when pictures are rendered differently
# the first examples of the page
_FIRST = (
    *("four-bar", "double-pendulum", "puma560", "gear-train", "quadruped", "newtons-cradle", "slider-crank"),
    *("stewart-platform", "rolling-disk", "simple-pendulum", "robotic-leg", "gyroscope"),
)
_TAGS = {
    "robots": ("convention", "<robot"),
    "loops": ("[[loop]]", "[[holonomic]]", "[[distance]]"),
    "contacts": ("_on_plane]]", "_on_sphere]]", "_on_box]]", "[[joint_stop]]", "[[backlash]]"),
    "nonholonomic": ("[[rolling_", "[[knife_edge]]", "[[nonholonomic]]"),
    "friction": ("friction",),
    "springs": ("[[spring]]", "[[joint_spring]]", "[[bushing]]"),
    "gears": ("[[gear]]", "[[coupling]]", "[[belt]]", "[[rack_and_pinion]]", "[[worm]]"),
}


@cache
def _all() -> list[Answer]:
    out = []
    for name in sorted(gallery.names(), key=lambda name: (*_FIRST, name).index(name)):
        text = _source(name)
        tags = [tag for tag, signs in _TAGS.items() if any(sign in text for sign in signs)]
        match = re.search(r'^description = "(.*)"$', text, re.MULTILINE)
        out.append({"name": name, "title": _title(name), "text": match.group(1) if match else "", "tags": tags})
    return out


def _source(name: str) -> str:
    """Return the source of an example; empty for examples created by a function."""
    found = [gallery.path(name).joinpath(file) for file in ("model.toml", "model.urdf")]
    return next((file.read_text("utf-8") for file in found if file.is_file()), "")


def _title(name: str) -> str:
    return gallery.read_description(name).splitlines()[0].lstrip("# ")


def examples(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return all examples with their titles, and the source of an empty model."""
    return {"examples": _all(), "tags": list(_TAGS), "empty": forms.EMPTY}


def example(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return the source of an example as a model file, with its description as HTML."""
    name = payload.choice("name", gallery.names())
    path = gallery.path(name) / "model.toml"
    text = path.read_text("utf-8") if path.is_file() else to_toml(gallery.load(name))
    return {
        "text": text,
        "title": _title(name),
        "description": markdown(gallery.read_description(name).partition("\n")[2]),
    }


def draft(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return the draft of another tab."""
    found = folder.draft(payload.string("key", max_length=40))
    if found is None or not isinstance(found.get("text"), str):
        raise InputError("this draft is no longer stored. Choose another one.")
    return found


def picture(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return the picture of an example in its initial state as a data URL, cached on disk; empty for models without bodies."""
    name = payload.choice("name", gallery.names())
    source = _source(name)
    digest = hashlib.sha256(f"{_VERSION} {_PIXELS} {name} {source}".encode()).hexdigest()
    data = disk_cache.read_entry(digest, _PICTURE)
    if data is None:
        data = _render(load.load(name))
        disk_cache.write_entry(digest, _PICTURE, data)
    return {"url": f"data:image/png;base64,{b64encode(data).decode()}" if data else ""}


def _render(model: Model) -> bytes:
    from dalembert.display.plots.figure import Plot

    if not model.bodies:
        return b""
    scene = scene_of(model.description)
    video = Video(scene)
    figure = Plot(figsize=(_PIXELS / 100, _PIXELS / 100), dpi=100)
    video.renderer.draw(figure.add_axes((0, 0, 1, 1)), next(video.moments(np.zeros(1))))
    data = BytesIO()
    figure.savefig(data, format="png", transparent=True)
    return data.getvalue()
