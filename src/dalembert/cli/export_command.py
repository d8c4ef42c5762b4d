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

_FORMATS = {"toml": to_toml, "urdf": to_urdf}
_ENDINGS = {f".{name}": name for name in _FORMATS} | {
    target.ending: name for name, target in TARGETS.items() if target.ending not in ("", ".py")
}


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert export cart-pendulum --output my-cart.toml",
        "dalembert export robot.toml -o robot.xml --to urdf",
        "dalembert export cart-pendulum --formalism kane --output cart.c",
        "dalembert export four-bar --formalism lagrange --to numpy --output four_bar.py",
    )
    parser = shared.command(subparsers, "export", *examples)
    shared.add_model(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="output file (default: stdout); required for code")
    code = ", ".join(f"{name} ({target.title})" for name, target in TARGETS.items())
    text = f"toml, urdf, or source code: {code} (default: from the suffix of FILE, or toml on stdout)"
    parser.add_argument("--to", "--format", metavar="FORMAT", choices=[*_FORMATS, *TARGETS], help=text, dest="format")
    text = "formalism of the exported equations (default: lagrange)"
    parser.add_argument("--formalism", metavar="KEY", help=text)
    shared.add_parameters(parser)


def run(arguments: Namespace) -> int:
    """Write the model or its equations to a file, or print the model."""
    path = None if arguments.output is None else _path(arguments)
    ending = ".toml" if path is None else path.suffix.lower()
    kind = arguments.format or _ENDINGS[ending]
    if kind in TARGETS:
        return _code(arguments, kind, path)
    if arguments.formalism is not None:
        raise InputError(
            f"--formalism {arguments.formalism}: a {kind} file has no equations. Omit it, or export source code with --to."
        )
    model = shared.load(arguments)
    found = _FORMATS[kind](model)
    if path is None:
        output.text(found.rstrip("\n"))
    else:
        write_text(path, found)
        output.written(path)
    return 0


def _code(arguments: Namespace, target: str, path: Path | None) -> int:
    """Write the equations as source code."""
    if path is None:
        raise InputError(f"--to {target}: source code is not printed. Expected --output FILE.")
    equations = dl.derive(shared.load(arguments), arguments.formalism or "lagrange")
    for written in dl.export(equations, target, path):
        output.written(written)
    return 0


def _path(arguments: Namespace) -> Path:
    """The output path, checked before the computation starts."""
    if arguments.format in TARGETS and not TARGETS[arguments.format].ending:
        return output_files.folder(arguments.output, "--output")
    path = output_files.target(arguments.output, "--output", () if arguments.format else tuple(_ENDINGS))
    if path.exists() and Path(arguments.model).exists() and path.samefile(arguments.model):
        # overwriting the model file would delete its comments
        raise InputError(f"--output {path}: this is the input model file. Choose another file name.")
    return path
