"""The tasks that read models: descriptions of models and files, and the gallery."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache, lru_cache
from io import BytesIO

import numpy as np
import symengine as se

import dalembert as dl
from dalembert.analysis.model_summary import ModelSummary, summarize
from dalembert.api import load
from dalembert.api.equation_display import DerivationDisplay
from dalembert.codegen import disk_cache
from dalembert.display.math import html, latex
from dalembert.display.math.latex import LINE
from dalembert.display.math.short_forms import BUDGET
from dalembert.display.scene.scene_builder import scene_of
from dalembert.display.video import Video, markdown
from dalembert.errors import DalembertError, InputError, ModelError, Problem
from dalembert.evidence import report
from dalembert.evidence.report import ReportSection
from dalembert.formalisms import catalog
from dalembert.io import gallery
from dalembert.io.file_formats import READERS, loads, read
from dalembert.io.toml_reader import read_text
from dalembert.io.toml_writer import to_toml
from dalembert.mechanics.assembly import assemble_model
from dalembert.model.description import Description
from dalembert.model.immutable import Frozen
from dalembert.model.model import Model
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress
from dalembert.studio.tasks import forms
from dalembert.studio.tasks.forms import outline
from dalembert.studio.tasks.glossary import with_authors
from dalembert.studio.tasks.message_lines import SourceMap
from dalembert.tables import Table

_SOURCE = "the model"
_MAP = f"${latex.formula_to_latex('u = Y q̇ + Z')}$"


def describe(payload: Payload, folder: Folder | None, progress: ReportProgress) -> Answer:
    """Return the problems of a source with line numbers, its form values, and the parameters and scene of its model."""
    text = payload.string("text")
    try:
        model = model_of(payload)
        problems, scene = list(model.check()), None
    except ModelError as error:
        wrong = error.problems or [Problem("the model", str(error))]
        return {"outline": outline(text), "problems": located(wrong, text)}
    messages = located(problems, text)
    if model.bodies and not any(problem.blocking for problem in problems):
        try:
            scene = scene_of(model.description).to_dict()
        except DalembertError as error:
            messages += located([Problem("the scene", str(error))], text)
    return {
        "outline": outline(text),
        "problems": messages,
        "name": model.name,
        "parameters": [
            {"name": each.name, "value": each.value, "unit": each.unit, "text": each.description}
            for each in model.declared_parameters
        ],
        "duration": model.duration,
        "scene": scene,
    }


def located(problems: Sequence[Problem], text: str) -> list[Answer]:
    """Return problems with their line numbers and TOML paths, ordered by line."""
    known = SourceMap.of(text)
    located_problems = [(*known.locate(problem), problem) for problem in problems]
    return [
        {
            "path": p.path,
            "fact": p.fact,
            "advice": p.advice,
            "blocking": p.blocking,
            "line": line,
            "key_path": list(key_path),
        }
        for line, key_path, p in sorted(located_problems, key=lambda found: found[0] or 0)
    ]


def import_file(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Convert an uploaded file to the source of a model file; return it with the notes of the reader.

    A TOML file is not changed, valid or not: the page displays its problems at their lines.
    """
    key = payload.string("key", max_length=40)
    name, path = folder.upload(key)
    suffix = path.suffix.lower()
    if suffix not in READERS:
        known = ", ".join(READERS)
        raise ModelError(f"{name}: files with the suffix '{suffix}' cannot be read. Expected one of {known}.")
    if suffix == ".toml":
        return {"text": read_text(path), "notes": [], "name": name}
    try:
        model = read(path)
    except ModelError as error:
        raise ModelError(_with_original_name(str(error), str(path), name), error.problems) from None
    model.name = model.name.removeprefix(f"{key}-")
    notes = [_with_original_name(note, str(path), name) for note in model.notes]
    model.notes = tuple(notes)
    return {"text": to_toml(model), "notes": notes, "name": name}


def _with_original_name(text: str, path: str, name: str) -> str:
    """Replace the path of an upload by the original file name."""
    return text.replace(path, name)


def model_of(payload: Payload) -> Model:
    """Return the model of the source, assembled if the file requests it."""
    model = loads(payload.string("text"), _SOURCE)
    return assemble_model(model) if model.assemble_start else model


@lru_cache(maxsize=8)
def _description(text: str) -> Description:
    return model_of(Payload({"text": text})).description


def description_of(payload: Payload) -> Description:
    """Return the description of the source; recent ones are cached."""
    return _description(payload.string("text"))


def declarations(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return the tree and the declarations, without further computation."""
    model = description_of(payload)
    return {"parts": _data([*report.tree_section(model), *report.declaration_section(model)])}


def summary(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return mobility, ignorable coordinates, speeds, and which formulations apply, with reasons for the others."""
    progress(0.0, "finding independent constraints and ignorable coordinates")
    known = _summary(payload.string("text"))
    return {
        "parts": _data([*report.properties_sections(known), *_speeds(known), _formalisms(known)]),
        "formalisms": [
            {"key": m.ABOUT.key, "title": m.ABOUT.title, "refused": known.refused.get(m.ABOUT.key, "")}
            for m in catalog.FORMALISMS
        ],
    }


@lru_cache(maxsize=4)
def _summary(text: str) -> ModelSummary:
    model = description_of(Payload({"text": text}))
    model.require_valid()
    return summarize(model)


def _data(parts: list[ReportSection]) -> list[Answer]:
    return [asdict(part) for part in parts]


def _speeds(known: ModelSummary) -> Iterator[ReportSection]:
    """Yield the quasi-velocities as formulas, and whether they were declared or chosen automatically."""
    facts = known.facts
    if not facts.speeds:
        return
    if facts.chosen:
        words = "None are declared; velocities that best determine all others were chosen automatically."
    elif facts.n_user_speeds < len(facts.speeds):
        words = f"The first {facts.n_user_speeds} are declared; the others were added automatically."
    else:
        words = "As declared."
    pairs = zip(facts.speed_names, facts.speeds, strict=True)
    lines = latex.broken([(latex.expression(se.Symbol(u)), latex.expression(formula)) for u, formula in pairs], 300)
    yield ReportSection("speeds", "Speeds", f"<p>{words}</p>\n{html.equations(_MAP, '(3)', lines)}")


def _formalisms(known: ModelSummary) -> ReportSection:
    """Return a table of all formulations with their number of equations, or the reason why they do not apply."""
    n, d, s = len(known.model.coordinate_names), known.facts.d, known.facts.s
    counts = {"n": n, "d": d, "n − s": n - s, "d − s": d - s, "6N": 6 * len(known.model.bodies)}
    rows = []
    for about in (module.ABOUT for module in catalog.FORMALISMS):
        why = known.refused.get(about.key)
        equations = "–" if why else f"{about.count} = {counts[about.count]}"
        rows.append((about.title, equations, about.velocities.value, f"does not apply: {why}" if why else "applies"))
    table = Table(("formalism", "equations", "variables", ""), tuple(rows))
    return ReportSection("formalisms", "Formalisms", table.html())


def equations(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return the equations of a formulation or its derivation steps (`view`), with lines of width `line` in points."""
    key = payload.choice("formalism", catalog.KEYS)
    view = payload.choice("view", ("page", "steps"), "page")
    line = payload.number("line", LINE, minimum=80, maximum=2 * LINE)
    budget = payload.number("budget", BUDGET, minimum=0, maximum=600)
    progress(0.0, f"deriving by {key}")
    reading = _reading(payload.string("text"), key, payload.boolean("numbers"), budget)
    reading.simplifier.report_progress(lambda fraction: progress(fraction, "simplifying"))
    about = catalog.find(key).ABOUT
    written = _page(reading, line) if view == "page" else _steps(reading, line)
    return {"title": about.title, "source": with_authors(about.source), **written, "unfinished": reading.budget_message}


@lru_cache(maxsize=6)
def _reading(text: str, key: str, numbers: bool, budget: float) -> DerivationDisplay:
    """Derive the equations; cached for other widths and views."""
    model = description_of(Payload({"text": text}))
    derivation = dl.derive(model, key).derivation
    return DerivationDisplay(derivation, Frozen(model.parameter_values if numbers else {}), budget)


def _page(reading: DerivationDisplay, line: float) -> Answer:
    """Return the final equations of the formulation and their terms."""
    page, parts = reading.page, []
    for section in page.sections:
        heading, lines = latex.heading(page, section), latex.lines(page, section, line)
        source = latex.equations(heading, section.equation, latex.lines(page, section))
        kind = "law" if section.is_law else ""
        parts.append(_part(kind, html.equations(heading, section.equation, lines), source if lines else ""))
    notes = [html.sentence(f"{note[:1].upper()}{note[1:]}.") for note in page.notes]
    return {"counts": page.counts, "notes": notes, "parts": parts, "latex": latex.page(page)}


def _steps(reading: DerivationDisplay, line: float) -> Answer:
    """Return the derivation step by step."""
    steps, parts = tuple(reading.steps()), []
    for step in steps:
        if len(step.blocks) > 1:
            parts.append(_part("heading", html.sentence(step.heading), ""))
        for found in step.blocks:
            heading, number = found.heading_in_latex, found.equation
            source = latex.equations(heading, number, found.lines())
            parts.append(_part("", html.equations(heading, number, found.lines(line)), source))
    return {"counts": "", "notes": [], "parts": parts, "latex": "\n\n".join(step.to_latex() for step in steps)}


def _part(kind: str, markup: str, tex: str) -> dict[str, str]:
    """Return equations as HTML and, if any, as LaTeX; the kind is law, heading or empty."""
    return {"kind": kind, "html": markup, "latex": tex}


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
