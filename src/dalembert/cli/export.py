"""`dalembert export`: a model as a file that this program or another one reads."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert.cli import files, output
from dalembert.cli.arguments import Subparsers, add_model, command, load
from dalembert.cli.values import assignment
from dalembert.errors import InputError

if TYPE_CHECKING:
    from dalembert.model import Elements

FORMATS = ("toml", "urdf")


def add(subparsers: Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert export cart-pendulum --output my-cart.toml",
        "dalembert export robot.toml -o robot.xml --format urdf",
    )
    parser = command(subparsers, "export", "write a model to a file, as TOML or URDF", *examples)
    add_model(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of the screen")
    text = "toml or urdf (default: what the ending of FILE says, and toml on the screen)"
    parser.add_argument("--format", metavar="FORMAT", choices=FORMATS, help=text)
    text = "another value of a parameter, a number or a formula; repeatable"
    parser.add_argument("--set", metavar="NAME=VALUE", type=assignment, action="append", default=[], help=text)


def run(arguments: Namespace) -> int:
    """Write the model, or print it."""
    path = None
    if arguments.output is not None:
        endings = () if arguments.format else tuple(f".{name}" for name in FORMATS)
        path = files.target(arguments.output, "--output", endings)
        _require_another(path, arguments.model)
    model = load(arguments)
    if path is None:
        output.text(_text(model, arguments.format or "toml").rstrip("\n"))
    else:
        _write(model, path, arguments.format or path.suffix.lower().removeprefix("."))
        output.written(path)
    return 0


def _require_another(path: Path, model: str) -> None:
    """Raise rather than replace the file that is read: its comments would be gone."""
    if path.exists() and Path(model).exists() and path.samefile(model):
        raise InputError(f"--output {path}: this is the model itself. Choose another name.")


def _text(model: Elements, name: str) -> str:
    from dalembert.exporters.toml import to_toml
    from dalembert.exporters.urdf import to_urdf

    return to_toml(model) if name == "toml" else to_urdf(model)


def _write(model: Elements, path: Path, name: str) -> None:
    from dalembert.exporters.toml import write_toml
    from dalembert.exporters.urdf import write_urdf

    write = write_toml if name == "toml" else write_urdf
    write(model, path)
