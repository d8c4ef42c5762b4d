"""The arguments that several commands share, and how the values of options are read from their words."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import dalembert as dl
from dalembert.cli import output
from dalembert.cli.commands import COMMANDS, EXIT_CODES
from dalembert.display.math.short_forms import BUDGET
from dalembert.display.plots.panels import require_known
from dalembert.errors import InputError
from dalembert.formalisms.catalogue import find
from dalembert.io.files import either
from dalembert.model.integrator_names import METHODS
from dalembert.model.model import Model

if TYPE_CHECKING:
    Subparsers: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]

T = TypeVar("T")
MOST = 10_000_000  # samples or states


def command(subparsers: Subparsers, name: str, *examples: str) -> argparse.ArgumentParser:
    """A new command with its help."""
    summary = COMMANDS[name]
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
    text = "a name from the gallery, or the path of a file: .toml, .urdf, .csv (DH or MDH table), .json, .m or .mat (ReDySim)"
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


def add_panels(parser: argparse.ArgumentParser, known: Mapping[str, str], default: str) -> None:
    """What a plot shows, by names that are known with their meaning."""
    listed = "; ".join(f"{name} ({text})" for name, text in known.items())
    text = f"what --plot draws, repeatable or separated by commas: {listed}. Default: {default}"
    parser.add_argument("--panels", metavar="NAMES", action="append", default=[], help=text)


def panels(arguments: argparse.Namespace, known: Iterable[str]) -> list[str]:
    """The selected panels, each once; raises before any work is done for one that there is not, and where nothing is drawn."""
    wanted = [name.strip() for text in arguments.panels for name in text.split(",")]
    if wanted and arguments.plot is None:
        raise InputError("--panels: there is no --plot. Expected both, as in '--plot run.png --panels phase,energy'.")
    require_known(wanted, known, "panel")
    return list(dict.fromkeys(wanted))


def add_engine(parser: argparse.ArgumentParser) -> None:
    """What derives and compiles."""
    parser.add_argument(
        "--engine", metavar="NAME", help="native or python (default: native where llvmlite is installed)"
    )


def add_values(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    """Values by name, each a number or a formula."""
    text = f"another {what}, a number or a formula; repeatable"
    parser.add_argument(name, metavar="NAME=VALUE", type=assignment, action="append", default=[], help=text)


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Other values of parameters."""
    add_values(parser, "--set", "value of a parameter")


def add_run(parser: argparse.ArgumentParser) -> None:
    """How to simulate."""
    text = "length of the motion (default: the model's)"
    parser.add_argument("--duration", metavar="SECONDS", type=positive, help=text)
    text = "number of samples (default: the model's)"
    parser.add_argument("--samples", metavar="N", type=at_least(2), help=text)
    text = f"{either(list(METHODS))} (default: the best that can run)"
    parser.add_argument("--integrator", metavar="NAME", help=text)
    parser.add_argument("--rtol", metavar="X", type=positive, help="relative tolerance")
    parser.add_argument("--atol", metavar="X", type=positive, help="absolute tolerance")
    parser.add_argument("--max-step", metavar="SECONDS", type=positive, help="largest step of an adaptive integrator")
    add_parameters(parser)


def how_to_run(arguments: argparse.Namespace) -> dict[str, Any]:
    """What `add_run` asks for but the length of the motion, as options of `simulate` and `compare`."""
    return {name: getattr(arguments, name) for name in ("integrator", "samples", "rtol", "atol", "max_step")}


def add_budget(parser: argparse.ArgumentParser) -> None:
    """The time for short forms."""
    text = f"CPU time for the short forms of each formalism (default: {BUDGET:g}); what it does not reach is written as it is"
    parser.add_argument("--budget", metavar="SECONDS", type=positive, default=BUDGET, help=text)


def keys(given: Iterable[str]) -> list[str]:
    """The selected formalisms, each once.

    >>> keys(["kane,maggi", "kane"])
    ['kane', 'maggi']
    """
    wanted = [key for text in given for key in text.split(",")]
    return list(dict.fromkeys(find(key.strip()).ABOUT.key for key in wanted))


def note_unused(arguments: argparse.Namespace, integrator: str) -> None:
    """Say which of the options given the integrator has no use for."""
    for setting in ("rtol", "atol"):
        if getattr(arguments, setting, None) is not None and setting not in METHODS[integrator]:
            output.note(f"--{setting} was not used: the integrator {integrator} has no such setting.")


def read(arguments: argparse.Namespace) -> Model:
    """The model named on the command line, unchecked."""
    try:
        return dl.load(arguments.model, **by_name(getattr(arguments, "options", ()), "--with"))
    except OSError as error:  # a name no file system takes
        raise InputError(f"'{arguments.model}' cannot be opened ({error.strerror}). Check the name.") from error


def load(arguments: argparse.Namespace, *, quiet: bool = False) -> Model:
    """The model named on the command line, sound, with the values that were set."""
    model = read(arguments)
    if model.notes and not quiet:
        count = "1 note" if len(model.notes) == 1 else f"{len(model.notes)} notes"
        output.note(f"reading '{arguments.model}' left {count}: `dalembert check` shows them.")
    changes, starts, rates = (by_name(getattr(arguments, name, ()), f"--{name}") for name in ("set", "start", "rate"))
    if changes:
        model = model.with_parameters(changes)
    if starts or rates:
        model = model.copy().start(starts, rates)
    model.require_sound()
    return model


# values


def positive(text: str) -> float:
    """A positive number.

    >>> positive("1e-3")
    0.001
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"got '{text}', expected a positive number")
    return value


def at_least(least: int) -> Callable[[str], int]:
    """A reader of whole numbers that are not smaller than `least`, and not absurdly large.

    >>> at_least(2)("501")
    501
    """

    def whole(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= MOST:
            raise argparse.ArgumentTypeError(f"got '{text}', expected a whole number from {least} to {MOST}")
        return value

    return whole


def assignment(text: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE.

    >>> assignment("theta=pi/2")
    ('theta', 'pi/2')
    """
    name, sign, value = (part.strip() for part in text.partition("="))
    if not (name and sign and value):
        raise argparse.ArgumentTypeError(f"got '{text}', expected NAME=VALUE, such as m=1.5")
    return name, value


def assignments(text: str) -> list[tuple[str, str]]:
    """The two sides of each NAME=VALUE in a list with commas; a comma inside a formula belongs to it.

    >>> assignments("l=0.5, m=max(1, 2)")
    [('l', '0.5'), ('m', 'max(1, 2)')]
    """
    return [assignment(part) for part in re.split(r",(?=\s*[A-Za-z_]\w*\s*=)", text)]


def option(text: str) -> tuple[str, str | int]:
    """The name and value of a reader's option: a switch that is on when no value is given, a whole number, or text.

    >>> option("floating"), option("loops=3"), option("floating=false")
    (('floating', True), ('loops', 3), ('floating', False))
    """
    name, sign, value = (part.strip() for part in text.partition("="))
    if not name.isidentifier() or (sign and not value):
        raise argparse.ArgumentTypeError(f"got '{text}', expected NAME or NAME=VALUE, such as floating or loops=3")
    switches = {"": True, "true": True, "false": False}
    if value.lower() in switches:
        return name, switches[value.lower()]
    return name, int(value) if value.lstrip("-").isdecimal() and len(value) < 19 else value


def by_name(pairs: Iterable[tuple[str, T]], word: str) -> dict[str, T]:
    """The values by name; a name that is given twice is an error."""
    out: dict[str, T] = {}
    for name, value in pairs:
        if name in out:
            raise InputError(f"{word} {name}: given twice, as {out[name]} and as {value}. Give it once.")
        out[name] = value
    return out
