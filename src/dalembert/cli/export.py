"""`dalembert export`: a model as a file that this program or another one reads."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from dalembert.cli import arguments as shared
from dalembert.cli import files, output
from dalembert.errors import InputError
from dalembert.exporters import to_toml, to_urdf
from dalembert.exporters.files import write_text

_FORMATS = {"toml": to_toml, "urdf": to_urdf}


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert export cart-pendulum --output my-cart.toml",
        "dalembert export robot.toml -o robot.xml --format urdf",
    )
    parser = shared.command(subparsers, "export", "write a model to a file, as TOML or URDF", *examples)
    shared.add_model(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of the screen")
    text = "toml or urdf (default: what the ending of FILE says, and toml on the screen)"
    parser.add_argument("--format", metavar="FORMAT", choices=list(_FORMATS), help=text)
    shared.add_parameters(parser)


def run(arguments: Namespace) -> int:
    """Write the model, or print it."""
    path = None
    if arguments.output is not None:
        endings = () if arguments.format else tuple(f".{name}" for name in _FORMATS)
        path = files.target(arguments.output, "--output", endings)
        _require_another(path, arguments.model)
    model = shared.load(arguments)
    ending = "toml" if path is None else path.suffix.lower().removeprefix(".")
    found = _FORMATS[arguments.format or ending](model)
    if path is None:
        output.text(found.rstrip("\n"))
    else:
        write_text(path, found)
        output.written(path)
    return 0


def _require_another(path: Path, model: str) -> None:
    """Raise rather than replace the file that is read: its comments would be gone."""
    if path.exists() and Path(model).exists() and path.samefile(model):
        raise InputError(f"--output {path}: this is the model itself. Choose another name.")
