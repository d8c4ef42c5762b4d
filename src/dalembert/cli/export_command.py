"""`dalembert export`: write a model as TOML or URDF, or its equations as source code."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.errors import InputError
from dalembert.io.code.languages import TARGETS
from dalembert.io.files import write_text
from dalembert.io.toml_writer import to_toml
from dalembert.io.urdf.urdf_writer import to_urdf
from dalembert.model.description import Elements

_FORMATS = {"toml": to_toml, "urdf": to_urdf}
_ENDINGS = {f".{name}": name for name in _FORMATS} | {
    target.ending: name for name, target in TARGETS.items() if target.ending not in ("", ".py")
}


def run(arguments: Namespace) -> int:
    """Write the model or its equations to a file, or print the model."""
    path = None if arguments.output is None else _path(arguments)
    ending = ".toml" if path is None else path.suffix.lower()
    kind = arguments.format or _ENDINGS[ending]
    if kind in TARGETS:
        return _code(arguments, kind, path)
    if arguments.formalism is not None:
        raise InputError(
            f"--formalism {arguments.formalism}: a {kind} file has no equations. "
            "Omit it, or export source code, such as --format c."
        )
    model = shared.load(arguments)
    found = _FORMATS[kind](model)
    if path is not None:
        write_text(path, found)
    if arguments.json:
        _print_json(model, kind, None, [] if path is None else [path], found)
    elif path is None:
        output.print_text(found.rstrip("\n"))
    else:
        output.print_paths(path)
    return 0


def _print_json(model: Elements, kind: str, formalism: str | None, files: list[Path], source: str | None) -> None:
    """Print what was written, and the exported model itself (None for source code)."""
    data = {"model": model.name, "format": kind, "formalism": formalism, "files": [str(path) for path in files]}
    output.print_text(output.to_json({**data, "source": source}))


def _code(arguments: Namespace, target: str, path: Path | None) -> int:
    """Write the equations as source code."""
    if path is None:
        raise InputError(f"--format {target}: source code is not printed. Expected --output FILE.")
    model = shared.load(arguments)
    equations = dl.derive(model, arguments.formalism or "lagrange")
    files = list(dl.export(equations, target, path))
    if arguments.json:
        _print_json(model, target, equations.formalism, files, None)
    else:
        output.print_paths(*files)
    return 0


def _path(arguments: Namespace) -> Path:
    """The output path, checked before the computation starts."""
    if arguments.format in TARGETS and not TARGETS[arguments.format].ending:
        return output_files.output_directory(arguments.output, "--output")
    path = output_files.output_file(arguments.output, "--output", () if arguments.format else tuple(_ENDINGS))
    if path.exists() and Path(arguments.model).exists() and path.samefile(arguments.model):
        # overwriting the model file would delete its comments
        raise InputError(f"--output {path}: this is the input model file. Choose another file name.")
    return path
