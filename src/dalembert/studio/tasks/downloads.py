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
from dalembert.studio.payload import Answer, Payload, ReportProgress
from dalembert.studio.tasks.describe_task import description_of


class WrittenFiles(list[Path]):
    """The written files, and notes on what they do not contain."""

    def __init__(self, paths: Iterable[Path], notes: Sequence[str] = ()) -> None:
        super().__init__(paths)
        self.notes = tuple(notes)


Writer = Callable[[Payload, Folder, ReportProgress], list[Path]]


@dataclass(frozen=True)
class FileKind:
    """A kind of file: title of its button, group, and the function that writes it."""

    title: str
    group: str  # model, equations, run or code
    write: Writer


def download(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Write one kind of file to the folder; return the names of the written files."""
    kind = payload.choice("kind", KINDS)
    progress(0.0, KINDS[kind].title)
    files = KINDS[kind].write(payload, folder, progress)
    notes = list(files.notes) if isinstance(files, WrittenFiles) else []
    return {"files": [{"name": path.name, "bytes": path.stat().st_size} for path in files], "notes": notes}


def file_kinds(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return all kinds of files and their options."""
    panels = [{"name": name, "text": panel.text} for name, panel in plot.PANELS.items()]
    found = [{"kind": key, "title": each.title, "group": each.group} for key, each in KINDS.items()]
    names = [{"name": key, "text": catalog.find(key).ABOUT.title} for key in catalog.KEYS]
    return {"kinds": found, "panels": panels, "overview": list(plot.OVERVIEW), "formalisms": names}


# the model


def _toml(payload: Payload, folder: Folder, progress: ReportProgress) -> list[Path]:
    path = folder.free(description_of(payload).name, ".toml")
    write_text(path, payload.string("text"))
    return [path]


def _urdf(payload: Payload, folder: Folder, progress: ReportProgress) -> list[Path]:
    model = description_of(payload)
    path = folder.free(model.name, ".urdf")
    write_text(path, to_urdf(model))
    return [path]


def _script(payload: Payload, folder: Folder, progress: ReportProgress) -> list[Path]:
    """Write the Python script that does the same, and the model file."""
    (model,) = _toml(payload, folder, progress)
    path = folder.free(model.stem, ".py")
    run = _run(payload, folder) if payload.string("run", "") else None
    write_text(path, script_of(model.name, description_of(payload), run))
    return [path, model]


# the equations


def _readings(payload: Payload, progress: ReportProgress) -> Iterator[DerivationDisplay]:
    keys = payload.choices("formalisms", catalog.KEYS) or ["lagrange"]
    for key in keys:
        progress(0.0, f"deriving by {key}")
        yield DerivationDisplay(
            dl.derive(description_of(payload), key).derivation,
            budget=payload.number("budget", BUDGET, minimum=0, maximum=3600),
        )


def _latex(payload: Payload, folder: Folder, progress: ReportProgress) -> list[Path]:
    parts = [latex.page(each.page) for each in _readings(payload, progress)]
    path = folder.free(f"{description_of(payload).name}-equations", ".tex")
    write_text(path, latex.document(parts))
    return [path]


def _equations_page(payload: Payload, folder: Folder, progress: ReportProgress) -> list[Path]:
    name = description_of(payload).name
    parts = [html.page(each.page) for each in _readings(payload, progress)]
    path = folder.free(f"{name}-equations", ".html")
    write_text(path, html.document(name, parts))
    return [path]


def _code(target: str) -> Writer:
    """Return the writer of the equations as code in one language; several files are packed into a zip archive."""

    def write(payload: Payload, folder: Folder, progress: ReportProgress) -> list[Path]:
        model = description_of(payload)
        keys = payload.choices("formalisms", catalog.KEYS) or ["lagrange"]
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

    return write


def _copied(path: Path, folder: Folder) -> Path:
    to = folder.free(path.stem, path.suffix)
    with atomic_write(to) as part:
        shutil.copyfile(path, part)
    return to


# the run


def _run(payload: Payload, folder: Folder) -> Trajectory:
    if not payload.string("run", ""):
        raise InputError("there is no run yet. Simulate the model first, under Motion.")
    return dl.load_run(folder.run(payload.string("run", max_length=40)))


def _stem(run: Trajectory) -> str:
    return f"{run.model.name}-{run.formalism}"


def _report(payload: Payload, folder: Folder, progress: ReportProgress) -> list[Path]:
    run = _run(payload, folder)
    path = folder.free(f"{_stem(run)}-report", ".html")
    keys = payload.choices("formalisms", catalog.KEYS)
    dl.report(
        run, path, formalisms=keys, evidence=payload.boolean("evidence", True), progress=lambda done: progress(done)
    )
    return [path]


def _animation(suffix: str) -> Writer:
    def write(payload: Payload, folder: Folder, progress: ReportProgress) -> list[Path]:
        run = _run(payload, folder)
        path = folder.free(_stem(run), suffix)
        animation = run.animate(
            fps=payload.number("fps", 25, minimum=1, maximum=120),
            speed=payload.number("speed", 1, minimum=1e-3, maximum=1e3),
            pixels=payload.integer("pixels", 480, minimum=64, maximum=2160),
            frames=payload.integer("frames", 4, minimum=1, maximum=64),
        )
        animation.save(path)
        return [path]

    return write


def _plot(suffix: str) -> Writer:
    def write(payload: Payload, folder: Folder, progress: ReportProgress) -> list[Path]:
        run = _run(payload, folder)
        path = folder.free(f"{_stem(run)}-plots", suffix)
        names, missing = plot.available_panels(run, payload.choices("panels", plot.PANELS) or plot.OVERVIEW)
        if not names:
            raise InputError(f"there is nothing to plot: {' '.join(missing)} Choose other panels.")
        run.plot(*names, path=path)
        return WrittenFiles([path], missing)

    return write


def _data(suffix: str) -> Writer:
    def write(payload: Payload, folder: Folder, progress: ReportProgress) -> list[Path]:
        run = _run(payload, folder)
        path = folder.free(_stem(run), suffix)
        run.save(path)
        return [path]

    return write


KINDS: dict[str, FileKind] = {
    "toml": FileKind("Model file (TOML)", "model", _toml),
    "urdf": FileKind("Robot description (URDF)", "model", _urdf),
    "script": FileKind("Python script that does the same", "model", _script),
    "latex": FileKind("Equations (LaTeX)", "equations", _latex),
    "equations": FileKind("Equations (web page)", "equations", _equations_page),
    "report": FileKind("Report (web page)", "run", _report),
    "page": FileKind("Animation (web page)", "run", _animation(".html")),
    "mp4": FileKind("Animation (MP4)", "run", _animation(".mp4")),
    "gif": FileKind("Animation (GIF)", "run", _animation(".gif")),
    "snapshots": FileKind("Snapshots (PDF)", "run", _animation(".pdf")),
    "plot-png": FileKind("Plots (PNG)", "run", _plot(".png")),
    "plot-pdf": FileKind("Plots (PDF)", "run", _plot(".pdf")),
    "plot-svg": FileKind("Plots (SVG)", "run", _plot(".svg")),
    "csv": FileKind("Data (CSV)", "run", _data(".csv")),
    "nc": FileKind("Data (NetCDF)", "run", _data(".nc")),
    "mat": FileKind("Data (MATLAB)", "run", _data(".mat")),
    **{
        key: FileKind("FMU (FMI 3.0)" if key == "fmu" else target.title, "code", _code(key))
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
        yield f"run.animate({stem + '-animation.html'!r})"
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
