"""Options shared by several commands, and conversion of option values from strings.

Modules that take long to import are imported where they are used, so that `--help` and shell completion start quickly.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import dalembert as dl
from dalembert.cli import output
from dalembert.cli.commands import FORMULATIONS
from dalembert.errors import InputError, suggest_name
from dalembert.io.files import join_alternatives
from dalembert.model.integrator_names import METHODS

if TYPE_CHECKING:
    from dalembert.model.model import Model

T = TypeVar("T")
ENGINES = ("native", "python")
_MAX_COUNT = 10_000_000  # samples, states or runs
_MAX_POINTS = 1_000_000  # grid points of one parameter


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the argument MODEL and the option --with."""
    text = "name of an example (see 'dalembert gallery') or a file: .toml, .urdf, .csv (DH table), .json, .m or .mat (ReDySim)"
    parser.add_argument("model", metavar="MODEL", help=text)
    text = "option of the file reader or the example, such as floating (URDF) or loops=3 (n-four-bar); repeatable"
    parser.add_argument(
        "--with", metavar="NAME[=VALUE]", type=option, action="append", default=[], dest="options", help=text
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option --json."""
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text and tables")


def add_output(
    parser: argparse.ArgumentParser, help_text: str, metavar: str = "FILE", *, required: bool = False
) -> None:
    """Add the option --output with its short form -o."""
    parser.add_argument("-o", "--output", metavar=metavar, required=required, help=help_text)


def add_formalism(
    parser: argparse.ArgumentParser, help_text: str = "formulation of the equations", default: str | None = "lagrange"
) -> None:
    """Add the option --formalism for one formulation."""
    text = f"{help_text}: {join_alternatives(list(FORMULATIONS))} (default: lagrange)"
    parser.add_argument("--formalism", metavar="KEY", type=formalism, default=default, help=text)


def add_formalisms(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the option --formalism for one or more formulations."""
    text = f"formulations, repeatable or separated by commas: {', '.join(FORMULATIONS)} (default: {default})"
    parser.add_argument("--formalism", metavar="KEYS", action="append", default=[], help=text)


def add_plot(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Add the option --plot."""
    parser.add_argument("--plot", metavar="PATH", help=help_text)


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the option --engine."""
    text = "how equations are evaluated: native (machine code; default if llvmlite is installed) or python (portable, slower)"
    parser.add_argument("--engine", metavar="NAME", type=one_of(ENGINES), choices=ENGINES, help=text)


def add_values(parser: argparse.ArgumentParser, name: str, help_text: str) -> None:
    """Add an option NAME=VALUE, repeatable or separated by commas; a value is a number or a formula."""
    text = f"{help_text}, as a number or a formula; repeatable or separated by commas"
    parser.add_argument(name, metavar="NAME=VALUE", type=assignments, action="extend", default=[], help=text)


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Add the option --set."""
    add_values(parser, "--set", "override the value of a parameter, in the units of the model")


def add_initial_state(parser: argparse.ArgumentParser, what: str = "initial") -> None:
    """Add the options --start and --rate."""
    add_values(parser, "--start", f"override the {what} position of a coordinate, in the units of the model")
    add_values(parser, "--rate", f"override the {what} velocity of a coordinate, in the units of the model per second")


def add_integrator(parser: argparse.ArgumentParser, default: str = "chosen automatically") -> None:
    """Add the option --integrator."""
    text = f"integrator: {join_alternatives(list(METHODS))} (default: {default})"
    parser.add_argument("--integrator", metavar="NAME", type=one_of(METHODS), choices=list(METHODS), help=text)


def add_run(parser: argparse.ArgumentParser, integrator: str = "chosen automatically") -> None:
    """Add the options of a simulation."""
    text = "simulated time in seconds (default: the duration in the model)"
    parser.add_argument("--duration", metavar="SECONDS", type=positive, help=text)
    text = "number of output samples, at least 2 (default: the number in the model)"
    parser.add_argument("--samples", metavar="N", type=at_least(2), help=text)
    add_integrator(parser, integrator)
    for name, kind in (("rtol", "relative"), ("atol", "absolute")):
        text = f"{kind} error tolerance of an integrator with adaptive steps (default: chosen by the integrator)"
        parser.add_argument(f"--{name}", metavar="X", type=positive, help=text)
    text = "maximum step size of the integrator in seconds (default: no limit)"
    parser.add_argument("--max-step", metavar="SECONDS", type=positive, help=text)
    add_parameters(parser)


def simulation_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of `add_run` without the duration, as keyword arguments of `simulate` and `compare`."""
    return {name: getattr(arguments, name) for name in ("integrator", "samples", "rtol", "atol", "max_step")}


def panels(arguments: argparse.Namespace, known: Iterable[str]) -> list[str]:
    """The selected panels, each once; raises for unknown names, and if --plot is missing."""
    from dalembert.display.plots.panels import require_known

    wanted = [name.strip() for text in arguments.panels for name in text.split(",")]
    if wanted and arguments.plot is None:
        raise InputError("--panels: --plot is missing. Expected both, as in '--plot run.png --panels phase,energy'.")
    require_known(wanted, known, "panel")
    return list(dict.fromkeys(wanted))


def parse_formalisms(values: Iterable[str]) -> list[str]:
    """The selected formulations, each once.

    >>> parse_formalisms(["kane,maggi", "kane"])
    ['kane', 'maggi']
    """
    try:
        return list(dict.fromkeys(formalism(key) for text in values for key in text.split(",")))
    except argparse.ArgumentTypeError as error:
        raise InputError(f"--formalism: {error}") from None


def note_ignored_tolerances(arguments: argparse.Namespace, integrator: str) -> None:
    """Print a note for each tolerance option that the integrator does not use."""
    for setting in ("rtol", "atol"):
        if getattr(arguments, setting, None) is not None and setting not in METHODS[integrator]:
            output.note(f"--{setting} is ignored: the integrator {integrator} has no such setting.")


def read(arguments: argparse.Namespace) -> Model:
    """Read the model of the command line, without checking it."""
    try:
        return dl.load(arguments.model, **unique_by_name(getattr(arguments, "options", ()), "--with"))
    except OSError as error:  # an invalid file name
        raise InputError(f"cannot open '{arguments.model}' ({error.strerror}). Check the name.") from error


def load(arguments: argparse.Namespace, *, quiet: bool = False) -> Model:
    """Read the model of the command line, apply --set, --start and --rate, and check it."""
    model = read(arguments)
    if model.notes and not quiet:
        count = "1 note" if len(model.notes) == 1 else f"{len(model.notes)} notes"
        output.note(f"reading '{arguments.model}' produced {count}. `dalembert check` prints them.")
    changes, starts, rates = (
        unique_by_name(getattr(arguments, name, ()), f"--{name}") for name in ("set", "start", "rate")
    )
    if changes:
        model = model.with_parameters(changes)
    if starts or rates:
        model = model.copy().start(starts, rates)
    model.require_valid()
    return model


# option values


def one_of(names: Iterable[str]) -> Callable[[str], str]:
    """A converter that accepts only some names, and suggests the nearest one for others.

    >>> one_of(["text", "latex"])("latex")
    'latex'
    """
    known = tuple(names)

    def name(text: str) -> str:
        if text not in known:
            hint = suggest_name(text, known)
            hint = f" {hint}" if hint.startswith("Did") else ""
            raise argparse.ArgumentTypeError(f"got '{text}', expected {join_alternatives(known)}.{hint}")
        return text

    return name


def formalism(text: str) -> str:
    """The key of a formulation, without surrounding spaces; raises for unknown keys.

    >>> formalism(" kane")
    'kane'
    """
    if text.strip() not in FORMULATIONS:
        raise argparse.ArgumentTypeError(f"there is no formalism '{text.strip()}'. {suggest_name(text, FORMULATIONS)}")
    return text.strip()


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


def parse_vary(text: str) -> tuple[str, Any]:
    """Parse the name and values of --vary.

    >>> parse_vary("l=0.5:1.5:3"), parse_vary("m=1,2"), parse_vary("l=0.5:1.5")
    (('l', [0.5, 1.0, 1.5]), ('m', [1.0, 2.0]), ('l', (0.5, 1.5)))
    """
    import numpy as np

    name, values = assignment(text)
    try:
        if ":" not in values:
            return name, [float(part) for part in values.split(",")]
        low, high, *count = values.split(":")
        if not count:
            return name, (float(low), float(high))
        (number,) = count
        if not 1 <= int(number) <= _MAX_POINTS:
            raise ValueError(number)
        return name, np.linspace(float(low), float(high), int(number)).tolist()
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"got '{text}', expected NAME=LOW:HIGH:COUNT, NAME=LOW:HIGH or NAME=VALUE,VALUE"
        ) from None


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


def unique_by_name(pairs: Iterable[tuple[str, T]], option: str) -> dict[str, T]:
    """The values by name; raises if a name occurs twice."""
    out: dict[str, T] = {}
    for name, value in pairs:
        if name in out:
            raise InputError(f"{option} {name}: specified twice, as {out[name]} and as {value}. Specify it once.")
        out[name] = value
    return out
