"""Downloads: every kind of file with its title, its group and the function that writes it."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dalembert as dl
from dalembert.api.equation_display import DerivationDisplay
from dalembert.api.trajectory import Trajectory
from dalembert.display.math import html, latex
from dalembert.display.math.short_forms import BUDGET
from dalembert.display.plots import plot
from dalembert.errors import InputError
from dalembert.formalisms import catalog
from dalembert.io.code.languages import TARGETS
from dalembert.io.files import atomic_write, write_text
from dalembert.io.urdf.urdf_writer import to_urdf
from dalembert.model.description import Description
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Given, Tell
from dalembert.studio.tasks.describe_task import description_of


class Written(list[Path]):
    """The written files, and notes on what they do not contain."""

    def __init__(self, paths: Iterable[Path], notes: Sequence[str] = ()) -> None:
        super().__init__(paths)
        self.notes = tuple(notes)


Maker = Callable[[Given, Folder, Tell], list[Path]]


@dataclass(frozen=True)
class Kind:
    """A kind of file: title of its button, group, and the function that writes it."""

    title: str
    group: str  # model, equations, run or code
    make: Maker


def take(given: Given, folder: Folder, tell: Tell) -> Answer:
    """Write one kind of file to the folder; return the names of the written files."""
    kind = given.choice("kind", KINDS)
    tell(0.0, KINDS[kind].title)
    files = KINDS[kind].make(given, folder, tell)
    notes = list(files.notes) if isinstance(files, Written) else []
    return {"files": [{"name": path.name, "bytes": path.stat().st_size} for path in files], "notes": notes}


def kinds(given: Given, folder: Folder, tell: Tell) -> Answer:
    """Return all kinds of files and their options."""
    panels = [{"name": name, "text": panel.text} for name, panel in plot.PANELS.items()]
    found = [{"kind": key, "title": each.title, "group": each.group} for key, each in KINDS.items()]
    names = [{"name": key, "text": catalog.find(key).ABOUT.title} for key in catalog.KEYS]
    return {"kinds": found, "panels": panels, "overview": list(plot.OVERVIEW), "formalisms": names}


# the model


def _toml(given: Given, folder: Folder, tell: Tell) -> list[Path]:
    path = folder.free(description_of(given).name, ".toml")
    write_text(path, given.text("text"))
    return [path]


def _urdf(given: Given, folder: Folder, tell: Tell) -> list[Path]:
    model = description_of(given)
    path = folder.free(model.name, ".urdf")
    write_text(path, to_urdf(model))
    return [path]


def _script(given: Given, folder: Folder, tell: Tell) -> list[Path]:
    """Write the Python script that does the same, and the model file."""
    (model,) = _toml(given, folder, tell)
    path = folder.free(model.stem, ".py")
    run = _run(given, folder) if given.text("run", "") else None
    write_text(path, script_of(model.name, description_of(given), run))
    return [path, model]


# the equations


def _readings(given: Given, tell: Tell) -> Iterator[DerivationDisplay]:
    keys = given.words("formalisms", catalog.KEYS) or ["lagrange"]
    for key in keys:
        tell(0.0, f"deriving by {key}")
        yield DerivationDisplay(
            dl.derive(description_of(given), key).derivation, budget=given.number("budget", BUDGET, least=0, most=3600)
        )


def _latex(given: Given, folder: Folder, tell: Tell) -> list[Path]:
    parts = [latex.page(each.page) for each in _readings(given, tell)]
    path = folder.free(f"{description_of(given).name}-equations", ".tex")
    write_text(path, latex.document(parts))
    return [path]


def _equations_page(given: Given, folder: Folder, tell: Tell) -> list[Path]:
    name = description_of(given).name
    parts = [html.page(each.page) for each in _readings(given, tell)]
    path = folder.free(f"{name}-equations", ".html")
    write_text(path, html.document(name, parts))
    return [path]


def _code(target: str) -> Maker:
    """Return the writer of the equations as code in one language; several files are packed into a zip archive."""

    def make(given: Given, folder: Folder, tell: Tell) -> list[Path]:
        model = description_of(given)
        keys = given.words("formalisms", catalog.KEYS) or ["lagrange"]
        equations = dl.derive(model, keys[0])
        chosen = TARGETS[target]
        plain = "".join(x if x.isalnum() and x.isascii() else "_" for x in model.name).strip("_") or "model"
        plain = plain if plain[0].isalpha() else f"m_{plain}"
        with tempfile.TemporaryDirectory(dir=folder.scratch()) as name:
            inner = Path(name) / (f"{plain}_{target}{chosen.ending}" if chosen.ending else f"+{plain}")
            written = dl.export(equations, target, inner)
            if chosen.ending and len(written) == 1:
                return [_copied(written[0], folder)]
            path = folder.free(f"{plain}-{target}", ".zip")
            with atomic_write(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed:
                for each in written:
                    packed.write(each, each.relative_to(name).as_posix())
            return [path]

    return make


def _copied(path: Path, folder: Folder) -> Path:
    to = folder.free(path.stem, path.suffix)
    with atomic_write(to) as part:
        shutil.copyfile(path, part)
    return to


# the run


def _run(given: Given, folder: Folder) -> Trajectory:
    if not given.text("run", ""):
        raise InputError("there is no run yet. Simulate the model first, under Move.")
    return dl.load_run(folder.run(given.text("run", most=40)))


def _stem(run: Trajectory) -> str:
    return f"{run.model.name}-{run.formalism}"


def _report(given: Given, folder: Folder, tell: Tell) -> list[Path]:
    run = _run(given, folder)
    path = folder.free(f"{_stem(run)}-report", ".html")
    keys = given.words("formalisms", catalog.KEYS)
    dl.report(run, path, formalisms=keys, evidence=given.switch("evidence", True), progress=lambda done: tell(done))
    return [path]


def _animation(suffix: str) -> Maker:
    def make(given: Given, folder: Folder, tell: Tell) -> list[Path]:
        run = _run(given, folder)
        path = folder.free(_stem(run), suffix)
        animation = run.animate(
            fps=given.number("fps", 25, least=1, most=120),
            speed=given.number("speed", 1, least=1e-3, most=1e3),
            pixels=given.whole("pixels", 480, least=64, most=2160),
            frames=given.whole("frames", 4, least=1, most=64),
        )
        animation.save(path)
        return [path]

    return make


def _plot(suffix: str) -> Maker:
    def make(given: Given, folder: Folder, tell: Tell) -> list[Path]:
        run = _run(given, folder)
        path = folder.free(f"{_stem(run)}-plots", suffix)
        names, missing = plot.available_panels(run, given.words("panels", plot.PANELS) or plot.OVERVIEW)
        if not names:
            raise InputError(f"there is nothing to plot: {' '.join(missing)} Choose other panels.")
        run.plot(*names, path=path)
        return Written([path], missing)

    return make


def _data(suffix: str) -> Maker:
    def make(given: Given, folder: Folder, tell: Tell) -> list[Path]:
        run = _run(given, folder)
        path = folder.free(_stem(run), suffix)
        run.save(path)
        return [path]

    return make


KINDS: dict[str, Kind] = {
    "toml": Kind("Model file (TOML)", "model", _toml),
    "urdf": Kind("Robot description (URDF)", "model", _urdf),
    "script": Kind("Python script that does the same", "model", _script),
    "latex": Kind("Equations (LaTeX)", "equations", _latex),
    "equations": Kind("Equations (web page)", "equations", _equations_page),
    "report": Kind("Report (web page)", "run", _report),
    "page": Kind("Animation (web page)", "run", _animation(".html")),
    "mp4": Kind("Animation (MP4)", "run", _animation(".mp4")),
    "gif": Kind("Animation (GIF)", "run", _animation(".gif")),
    "snapshots": Kind("Snapshots (PDF)", "run", _animation(".pdf")),
    "plot-png": Kind("Plots (PNG)", "run", _plot(".png")),
    "plot-pdf": Kind("Plots (PDF)", "run", _plot(".pdf")),
    "plot-svg": Kind("Plots (SVG)", "run", _plot(".svg")),
    "csv": Kind("Data (CSV)", "run", _data(".csv")),
    "nc": Kind("Data (NetCDF)", "run", _data(".nc")),
    "mat": Kind("Data (MATLAB)", "run", _data(".mat")),
    **{
        key: Kind("FMU (FMI 3.0)" if key == "fmu" else target.title, "code", _code(key))
        for key, target in TARGETS.items()
    },
}


def script_of(file: str, model: Description, run: Trajectory | None) -> str:
    """Return a script that loads the model, derives its equations, and repeats the run and its files."""
    return "\n".join(_lines(file, model, run)) + "\n"


def _lines(file: str, model: Description, run: Trajectory | None) -> Iterator[str]:
    words = " ".join(model.name.replace("\\", "/").replace('"', "'").split())
    yield f'"""{words}: the steps of a studio session as a script."""'
    yield ""
    yield "import dalembert as dl"
    yield ""
    yield f"model = dl.load({file!r})"
    formalism = run.formalism if run is not None else "lagrange"
    yield f"eom = dl.derive(model, {formalism!r})"
    yield "print(eom)"
    if run is None:
        return
    yield from _simulation(model, run)
    stem = file.removesuffix(".toml")
    yield f"run.save({stem + '.csv'!r})"
    yield f"run.plot(path={stem + '.png'!r})"
    if model.bodies:
        yield f"run.animate({stem + '-film.html'!r})"
    yield f"dl.report(run, {stem + '-report.html'!r}, formalisms=[{formalism!r}])"


def _simulation(model: Description, run: Trajectory) -> Iterator[str]:
    """Yield the call that repeats the run, with the options that differ from the model."""
    parts = [f"{float(run.t[-1] - run.t[0])!r}", f"samples={len(run.t)}", f"integrator={run.integrator!r}"]
    for key, values, usual in zip(("q0", "qd0"), (run.q, run.qd), model.initial, strict=True):
        start = dict(zip(model.coordinate_names, values[:, 0].tolist(), strict=True))
        if not np.allclose(values[:, 0], usual, rtol=1e-12, atol=1e-12):
            parts.append(f"{key}={_dict(start)}")
    changed = {name: x for name, x in run.parameters.items() if model.parameter_values.get(name) != x}
    if changed:
        parts.append(f"parameters={_dict(changed)}")
    yield f"run = eom.simulate({', '.join(parts)})"


def _dict(values: Mapping[str, float]) -> str:
    return "{" + ", ".join(f"{name!r}: {float(x)!r}" for name, x in values.items()) + "}"
