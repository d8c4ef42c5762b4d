"""Arguments shared by several commands, and conversion of option values from strings."""

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
from dalembert.formalisms.catalogue import KEYS, find
from dalembert.io.files import either
from dalembert.model.integrator_names import METHODS
from dalembert.model.model import Model

if TYPE_CHECKING:
    Subparsers: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]

T = TypeVar("T")
FORMALISMS = ", ".join(KEYS)
_MAX_COUNT = 10_000_000  # samples, states or runs


def command(subparsers: Subparsers, name: str, *examples: str) -> argparse.ArgumentParser:
    """Add the parser of a command, with its help and examples."""
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
    """Add the argument MODEL and the option --with."""
    text = "a gallery name (see 'dalembert gallery') or a file: .toml, .urdf, .csv (DH or MDH table), .json, .m or .mat (ReDySim)"
    parser.add_argument("model", metavar="MODEL", help=text)
    text = "option of the file reader or example, such as floating or merge_fixed (URDF) or loops=3 (n-four-bar); repeatable"
    parser.add_argument(
        "--with", metavar="NAME[=VALUE]", type=option, action="append", default=[], dest="options", help=text
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option --json."""
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")


def add_formalisms(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the option --formalism for one or more formalisms."""
    text = f"{FORMALISMS}; repeatable or separated by commas (default: {default})"
    parser.add_argument("--formalism", metavar="KEY", action="append", default=[], help=text)


def add_panels(parser: argparse.ArgumentParser, known: Mapping[str, str], default: str) -> None:
    """Add the option --panels; `known` are the names of panels with their descriptions."""
    listed = "; ".join(f"{name} ({text})" for name, text in known.items())
    text = f"panels of --plot, repeatable or separated by commas: {listed}. Default: {default}"
    parser.add_argument("--panels", metavar="NAMES", action="append", default=[], help=text)


def panels(arguments: argparse.Namespace, known: Iterable[str]) -> list[str]:
    """The selected panels, each once; raises for unknown names, and if --plot is missing."""
    wanted = [name.strip() for text in arguments.panels for name in text.split(",")]
    if wanted and arguments.plot is None:
        raise InputError("--panels: --plot is missing. Expected both, as in '--plot run.png --panels phase,energy'.")
    require_known(wanted, known, "panel")
    return list(dict.fromkeys(wanted))


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the option --engine."""
    parser.add_argument(
        "--engine", metavar="NAME", help="engine: native or python (default: native if llvmlite is installed)"
    )


def add_values(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    """Add a repeatable option NAME=VALUE; a value is a number or a formula."""
    text = f"{what}, as a number or a formula; repeatable"
    parser.add_argument(name, metavar="NAME=VALUE", type=assignment, action="append", default=[], help=text)


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Add the option --set."""
    add_values(parser, "--set", "override a parameter value")


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of a simulation."""
    text = "simulated time (default: the duration in the model)"
    parser.add_argument("--duration", metavar="SECONDS", type=positive, help=text)
    text = "number of output samples (default: the number in the model)"
    parser.add_argument("--samples", metavar="N", type=at_least(2), help=text)
    text = f"integrator: {either(list(METHODS))} (default: chosen automatically)"
    parser.add_argument("--integrator", metavar="NAME", help=text)
    parser.add_argument("--rtol", metavar="X", type=positive, help="relative tolerance of the integrator")
    parser.add_argument("--atol", metavar="X", type=positive, help="absolute tolerance of the integrator")
    parser.add_argument("--max-step", metavar="SECONDS", type=positive, help="maximum step size (adaptive integrators)")
    add_parameters(parser)


def how_to_run(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of `add_run` without the duration, as keyword arguments of `simulate` and `compare`."""
    return {name: getattr(arguments, name) for name in ("integrator", "samples", "rtol", "atol", "max_step")}


def add_budget(parser: argparse.ArgumentParser) -> None:
    """Add the option --budget."""
    text = f"CPU time limit for simplifying the equations of each formalism (default: {BUDGET:g})"
    parser.add_argument("--budget", metavar="SECONDS", type=positive, default=BUDGET, help=text)


def keys(values: Iterable[str]) -> list[str]:
    """The selected formalisms, each once.

    >>> keys(["kane,maggi", "kane"])
    ['kane', 'maggi']
    """
    wanted = [key for text in values for key in text.split(",")]
    return list(dict.fromkeys(find(key.strip()).ABOUT.key for key in wanted))


def note_unused(arguments: argparse.Namespace, integrator: str) -> None:
    """Print a note for each tolerance option that the integrator does not use."""
    for setting in ("rtol", "atol"):
        if getattr(arguments, setting, None) is not None and setting not in METHODS[integrator]:
            output.note(f"--{setting} is ignored: the integrator {integrator} has no such setting.")


def read(arguments: argparse.Namespace) -> Model:
    """Read the model of the command line, without checking it."""
    try:
        return dl.load(arguments.model, **by_name(getattr(arguments, "options", ()), "--with"))
    except OSError as error:  # an invalid file name
        raise InputError(f"cannot open '{arguments.model}' ({error.strerror}). Check the name.") from error


def load(arguments: argparse.Namespace, *, quiet: bool = False) -> Model:
    """Read the model of the command line, apply --set, --start and --rate, and check it."""
    model = read(arguments)
    if model.notes and not quiet:
        count = "1 note" if len(model.notes) == 1 else f"{len(model.notes)} notes"
        output.note(f"reading '{arguments.model}' produced {count}. `dalembert check` prints them.")
    changes, starts, rates = (by_name(getattr(arguments, name, ()), f"--{name}") for name in ("set", "start", "rate"))
    if changes:
        model = model.with_parameters(changes)
    if starts or rates:
        model = model.copy().start(starts, rates)
    model.require_sound()
    return model


# option values


def positive(text: str) -> float:
    """Convert a string to a positive finite number.

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
    """A converter of strings to integers from `least` to `_MAX_COUNT`.

    >>> at_least(2)("501")
    501
    """

    def integer(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= _MAX_COUNT:
            raise argparse.ArgumentTypeError(f"got '{text}', expected an int from {least} to {_MAX_COUNT}")
        return value

    return integer


def assignment(text: str) -> tuple[str, str]:
    """Split NAME=VALUE.

    >>> assignment("theta=pi/2")
    ('theta', 'pi/2')
    """
    name, sign, value = (part.strip() for part in text.partition("="))
    if not (name and sign and value):
        raise argparse.ArgumentTypeError(f"got '{text}', expected NAME=VALUE, such as m=1.5")
    return name, value


def assignments(text: str) -> list[tuple[str, str]]:
    """Split a comma-separated list of NAME=VALUE; formulas may contain commas.

    >>> assignments("l=0.5, m=max(1, 2)")
    [('l', '0.5'), ('m', 'max(1, 2)')]
    """
    return [assignment(part) for part in re.split(r",(?=\s*[A-Za-z_]\w*\s*=)", text)]


def option(text: str) -> tuple[str, str | int]:
    """The name and value of a reader option: bool (True without a value), int or str.

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
    """The values by name; raises if a name occurs twice."""
    out: dict[str, T] = {}
    for name, value in pairs:
        if name in out:
            raise InputError(f"{word} {name}: specified twice, as {out[name]} and as {value}. Specify it once.")
        out[name] = value
    return out
