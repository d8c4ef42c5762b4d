"""The arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dalembert.cli import output
from dalembert.cli.values import assignment, at_least, by_name, option, positive
from dalembert.errors import InputError

if TYPE_CHECKING:
    from dalembert.model import Model

Subparsers = Any  # argparse keeps the type of add_subparsers() to itself
EXIT_CODES = "exit codes: 0 done, 1 the work failed, 2 the input is wrong, 130 interrupted, 141 the reader went away"


def command(subparsers: Subparsers, name: str, summary: str, *examples: str) -> argparse.ArgumentParser:
    """A new command with its help."""
    return subparsers.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog="\n  ".join(["examples:" if len(examples) > 1 else "example:", *examples]) + f"\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """The model a command is about."""
    text = "a name from the gallery, or the path of a file: .toml, .urdf, .csv (DH or MDH table), .json or .m (ReDySim)"
    parser.add_argument("model", metavar="MODEL", help=text)
    text = "an option of the file's reader, such as floating or merge_fixed (URDF) or loops=3 (n-four-bar); repeatable"
    parser.add_argument(
        "--with", metavar="NAME[=VALUE]", type=option, action="append", default=[], dest="options", help=text
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Output for programs."""
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")


def add_formalisms(parser: argparse.ArgumentParser, default: str) -> None:
    """Several formalisms."""
    text = f"a formalism, e.g. kane; repeat it or separate several by commas (default: {default})"
    parser.add_argument("--formalism", metavar="KEY", action="append", default=[], help=text)


def add_engine(parser: argparse.ArgumentParser) -> None:
    """What derives and compiles."""
    parser.add_argument("--engine", metavar="NAME", help="heyoka or portable (default: heyoka where it is installed)")


def add_run(parser: argparse.ArgumentParser) -> None:
    """How to simulate."""
    number, whole = positive, at_least(2)
    parser.add_argument(
        "--duration", metavar="SECONDS", type=number, help="length of the motion (default: the model's)"
    )
    parser.add_argument("--samples", metavar="N", type=whole, help="number of samples (default: the model's)")
    parser.add_argument(
        "--integrator",
        metavar="NAME",
        help="taylor, dop853, rk45, rk4, radau, ida, algorithm3, algorithm4 or algorithm5 (default: the best that can run)",
    )
    parser.add_argument("--rtol", metavar="X", type=number, help="relative tolerance")
    parser.add_argument("--atol", metavar="X", type=number, help="absolute tolerance")
    parser.add_argument("--max-step", metavar="SECONDS", type=number, help="largest step of an adaptive integrator")
    text = "another value of a parameter, a number or a formula; repeatable"
    parser.add_argument("--set", metavar="NAME=VALUE", type=assignment, action="append", default=[], help=text)


def keys(given: Iterable[str]) -> list[str]:
    """The formalisms asked for, each once.

    >>> keys(["kane,maggi", "kane"])
    ['kane', 'maggi']
    """
    from dalembert.formalisms import find

    wanted = [key for text in given for key in text.split(",")]
    return list(dict.fromkeys(find(key.strip()).ABOUT.key for key in wanted))


def note_unused(arguments: argparse.Namespace, integrator: str) -> None:
    """Say which of the options given the integrator has no use for."""
    from dalembert.model.methods import METHODS

    for setting in ("rtol", "atol"):
        if getattr(arguments, setting, None) is not None and setting not in METHODS[integrator]:
            output.note(f"--{setting} was not used: the integrator {integrator} has no such setting.")


def read(arguments: argparse.Namespace) -> Model:
    """The model asked for, as its file tells it."""
    from dalembert import pipeline

    try:
        return pipeline.load(arguments.model, **by_name(getattr(arguments, "options", ()), "--with"))
    except OSError as error:  # a name no file system takes
        raise InputError(f"'{arguments.model}' cannot be opened ({error.strerror}). Check the name.") from error


def load(arguments: argparse.Namespace, *, quiet: bool = False) -> Model:
    """The model asked for, sound, with the values that were set."""
    model = read(arguments)
    if model.notes and not quiet:
        count = "1 note" if len(model.notes) == 1 else f"{len(model.notes)} notes"
        output.note(f"reading '{arguments.model}' left {count}: `dalembert check` shows them.")
    changes = by_name(getattr(arguments, "set", ()), "--set")
    if changes:
        model = model.with_parameters(changes)
    starts, rates = (
        by_name(getattr(arguments, "start", ()), "--start"),
        by_name(getattr(arguments, "rate", ()), "--rate"),
    )
    if starts or rates:
        model = model.copy().start(starts, rates)
    model.require_sound()
    return model
