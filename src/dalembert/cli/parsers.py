"""The argument parser of each command: description, options and examples.

All options are declared here, so that one option has one name. Names and help that come from slow modules are read only
when they are needed: not while the shell completes a word.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from dalembert.cli import options as shared
from dalembert.cli.commands import COMMANDS, DESCRIPTIONS, EXAMPLES, EXIT_CODES, FORMATS

if TYPE_CHECKING:
    Subparsers: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]

SAMPLING = ("grid", "sobol", "random")


def add_command(subparsers: Subparsers, name: str) -> argparse.ArgumentParser:
    """Add the parser of a command with its description, options and examples."""
    examples = EXAMPLES[name]
    parser = subparsers.add_parser(
        name,
        help=COMMANDS[name],
        description=DESCRIPTIONS[name],
        epilog="\n  ".join(["examples:" if len(examples) > 1 else "example:", *examples]) + f"\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _DECLARE[name](parser)
    if name != "derive":  # where it is a short form of --format json
        shared.add_json(parser)
    return parser


def _library(text: Callable[[], str]) -> str:
    """A part of a help text that needs slow imports; empty while the shell completes a word."""
    return "" if "_ARGCOMPLETE" in os.environ else text()


# models


def _gallery(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="name of an example (default: list all examples)")
    shared.add_plot(parser, "simulate the example and write a plot to a .png, .pdf or .svg file, or to a directory")


def _check(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)


def _export(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)
    shared.add_output(parser, "output file (default: print the model; required for source code)")

    def code() -> str:
        from dalembert.io.code.languages import TARGETS

        return f": {', '.join(f'{key} ({target.title})' for key, target in TARGETS.items())}"

    text = (
        f"toml, urdf, or a language of source code{_library(code)} (default: from the suffix of FILE; toml if printed)"
    )
    parser.add_argument("--format", metavar="FORMAT", type=_export_format, help=text)
    text = "formulation of the exported source code"
    shared.add_formalism(parser, text, default=None)
    shared.add_parameters(parser)


def _export_format(text: str) -> str:
    from dalembert.io.code.languages import TARGETS

    return shared.one_of(["toml", "urdf", *TARGETS])(text)


# equations


def _derive(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)
    text = "formulations from the list above, repeatable or separated by commas (default: lagrange)"
    parser.add_argument("--formalism", metavar="KEYS", action="append", default=[], help=text)
    text = "print the derivation step by step, with the equation numbers of its source"
    parser.add_argument("--steps", action="store_true", help=text)
    text = (
        "print only these quantities of the derivation, separated by commas, such as T,V,M; 'all' prints every one, "
        "an unknown name lists them (default: the complete equations)"
    )
    parser.add_argument("--blocks", metavar="NAMES", help=text)
    shared.add_values(parser, "--set", "substitute a number for a parameter in the equations")
    _add_budget(parser)
    text = f"output format: {', '.join(FORMATS)} (default: text)"
    kinds = list(FORMATS)
    parser.add_argument(
        "--format", metavar="FORMAT", type=shared.one_of(kinds), choices=kinds, default="text", help=text
    )
    text = "with --format latex or html: omit the document header and footer, for inclusion in another document"
    parser.add_argument("--snippet", action="store_true", help=text)
    shared.add_output(parser, "write to this file (default: print on stdout)")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="same as --format json")


def _add_budget(parser: argparse.ArgumentParser) -> None:
    def default() -> str:
        from dalembert.display.math.short_forms import BUDGET

        return f" (default: {BUDGET:g})"

    text = "CPU time in seconds for simplifying the equations of each formulation; what takes longer is printed unsimplified"
    parser.add_argument("--budget", metavar="SECONDS", type=shared.positive, help=f"{text}{_library(default)}")


def _prove(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)
    shared.add_formalisms(parser, "all that apply, each compared with lagrange")
    _add_seed(parser)


def _symmetries(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)
    _add_seed(parser)


def _add_seed(parser: argparse.ArgumentParser) -> None:
    text = "seed of the random points, an int, to repeat a proof (default: a random seed, which is printed)"
    parser.add_argument("--seed", metavar="N", type=shared.at_least(0), help=text)


def _verify(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)
    text = "number of random states that satisfy the constraints (default: %(default)s)"
    parser.add_argument("--states", metavar="N", type=shared.at_least(1), default=200, help=text)
    text = "maximum relative difference that counts as agreement (default: %(default)s)"
    parser.add_argument("--tolerance", metavar="X", type=shared.positive, default=1e-10, help=text)
    text = (
        "how the equations are evaluated: native (machine code) or python; repeatable (default: all installed engines)"
    )
    engine = shared.one_of(shared.ENGINES)
    parser.add_argument("--engine", metavar="NAME", type=engine, choices=shared.ENGINES, action="append", help=text)
    text = "include formulations that take minutes to compile for a large model (default: omit them)"
    parser.add_argument("--all", action="store_true", help=text)


# simulation


def _simulate(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)
    shared.add_formalism(parser)
    shared.add_run(parser)
    text = "step size in seconds of a fixed-step integrator such as rk4 (default: the step in the model)"
    parser.add_argument("--step", metavar="SECONDS", type=shared.positive, help=text)
    shared.add_initial_state(parser)
    text = "do not project the state onto the constraints after each step, so that they drift"
    parser.add_argument("--no-projection", action="store_true", help=text)
    text = (
        "Baumgarte stabilization instead of projection: every constraint phi satisfies phi'' + BETA phi' + ALPHA phi = 0, "
        "with ALPHA in 1/s^2 and BETA in 1/s"
    )
    parser.add_argument("--baumgarte", metavar=("ALPHA", "BETA"), nargs=2, type=shared.positive, help=text)
    text = (
        "first-order stabilization instead of projection, for dirac and hamilton: every constraint phi satisfies "
        "phi' + ALPHA phi = 0, with ALPHA in 1/s"
    )
    parser.add_argument("--stabilize", metavar="ALPHA", type=shared.positive, help=text)
    shared.add_engine(parser)
    text = "write the trajectory to a .nc (NetCDF), .csv, .mat (MATLAB) or .parquet file; repeatable"
    parser.add_argument("-o", "--output", metavar="FILE", action="append", default=[], help=text)
    shared.add_plot(parser, "write a plot to a .png, .pdf or .svg file, or to a directory")

    def listed() -> tuple[str, str]:
        from dalembert.display.plots import plot

        return "; ".join(f"{key} ({each.text})" for key, each in plot.PANELS.items()), ", ".join(plot.OVERVIEW)

    _add_panels(parser, listed)
    text = "write an animation: web page (.html), video (.mp4, .gif) or snapshots (.png, .pdf, .svg); repeatable"
    parser.add_argument("--animate", metavar="FILE", action="append", default=[], help=text)


def _add_panels(parser: argparse.ArgumentParser, listed: Callable[[], tuple[str, str]]) -> None:
    """Add the option --panels; `listed` returns the names with their descriptions, and the default."""
    text = _library(lambda: ": {} (default: {})".format(*listed()))
    text = f"panels of --plot, repeatable or separated by commas{text}"
    parser.add_argument("--panels", metavar="NAMES", action="append", default=[], help=text)


def _compare(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)
    shared.add_formalisms(parser, "all that apply")
    shared.add_run(parser)
    shared.add_engine(parser)
    shared.add_plot(parser, "write the figures to a directory, or all of them to one .png, .pdf or .svg file")

    def listed() -> tuple[str, str]:
        from dalembert.display.plots import plot

        known = "; ".join(f"{key} ({each.text})" for key, each in plot.FIGURES.items())
        return known, "all that apply to the model"

    _add_panels(parser, listed)


def _sweep(parser: argparse.ArgumentParser) -> None:
    def reductions() -> str:
        from dalembert.analysis.sweep_spec import REDUCTIONS

        return f", its {', '.join(f'{word}(...)' for word in REDUCTIONS)}"

    shared.add_model(parser)
    text = (
        "a parameter, or an initial value x or dot(x), and its values: LOW:HIGH:COUNT or VALUE,VALUE,... with "
        "--sampling grid, LOW:HIGH with sobol and random; repeatable"
    )
    parser.add_argument(
        "--vary", metavar="NAME=VALUES", type=shared.parse_vary, action="append", required=True, help=text
    )
    text = f"quantity to record: a formula{_library(reductions)}, or NAME=FORMULA; repeatable"
    parser.add_argument("--observe", metavar="FORMULA", action="append", required=True, help=text)
    shared.add_output(parser, "output file: .nc (NetCDF), .csv or .parquet", required=True)
    text = "how values are chosen: grid (all combinations), sobol (quasi-random) or random (default: %(default)s)"
    kind = shared.one_of(SAMPLING)
    parser.add_argument("--sampling", metavar="METHOD", type=kind, choices=SAMPLING, default="grid", help=text)
    text = "number of runs, for --sampling sobol or random"
    parser.add_argument("--runs", metavar="N", type=shared.at_least(1), help=text)
    text = "seed of the random values, an int (default: %(default)s)"
    parser.add_argument("--seed", metavar="N", type=shared.at_least(0), default=0, help=text)
    shared.add_formalism(parser)
    shared.add_run(parser, "dop853 if several runs are integrated at once, otherwise chosen automatically")
    shared.add_engine(parser)
    text = "number of worker processes (default: one per core)"
    parser.add_argument("--workers", metavar="N", type=shared.at_least(1), help=text)
    text = "address of a running Dask scheduler (default: run on this machine)"
    parser.add_argument("--cluster", metavar="ADDRESS", help=text)
    text = "directory of finished runs, from which a sweep resumes (default: FILE.sweep, deleted at the end)"
    parser.add_argument("--checkpoint", metavar="DIR", help=text)
    shared.add_plot(parser, "write a plot of the observed quantities to a .png, .pdf or .svg file")


def _report(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)
    shared.add_formalisms(parser, "lagrange, or the first that applies; the first one is simulated")
    shared.add_run(parser)
    shared.add_initial_state(parser)
    text = "omit the comparison of the formulations, which is slow for large models"
    parser.add_argument("--no-verification", action="store_true", help=text)
    _add_budget(parser)
    shared.add_output(parser, "HTML file to write (default: the name of the model with the suffix .html)")


# analysis


def _equilibrium(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)
    text = "fix this coordinate at its initial value and compute the force that holds it there; repeatable"
    parser.add_argument("--fix", metavar="NAME", action="append", default=[], help=text)
    text = (
        "solve for this parameter, or for the constant rate of this coordinate, instead of the holding force of one "
        "coordinate of --fix; repeatable"
    )
    parser.add_argument("--solve-for", metavar="NAME", action="append", default=[], help=text)
    shared.add_values(
        parser, "--speed", "set the constant rate of an ignorable coordinate, in units of the model per second"
    )
    shared.add_values(parser, "--start", "override the position of a coordinate in the first guess")
    text = "number of additional random guesses (default: %(default)s)"
    parser.add_argument("--guesses", metavar="N", type=shared.at_least(0), default=30, help=text)
    shared.add_parameters(parser)


def _linearize(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)
    text = "linearize about the equilibrium nearest to the initial state (default: about the initial state itself)"
    parser.add_argument("--equilibrium", action="store_true", help=text)
    shared.add_initial_state(parser)
    text = "input u: a coordinate (the force along it) or a parameter; repeatable (default: none)"
    parser.add_argument("--input", metavar="NAME", action="append", default=[], help=text)
    text = (
        "output y: a formula, ddot(x), or the name of a constraint for its multiplier; repeatable "
        "(default: all coordinates)"
    )
    parser.add_argument("--observe", metavar="FORMULA", action="append", default=[], help=text)
    text = "linearize about any state of motion (default: only about equilibria and steady motions)"
    parser.add_argument("--any-state", action="store_true", help=text)
    parser.add_argument("--matrices", action="store_true", help="also print the matrices A, B, C and D")
    text = "write an animation of one period of a mode: web page (.html), video (.mp4, .gif) or snapshots (.png, .pdf, .svg)"
    parser.add_argument("--animate", metavar="FILE", help=text)
    text = "number of the animated mode in the printed table, from 0 (default: %(default)s)"
    parser.add_argument("--mode", metavar="N", type=shared.at_least(0), default=0, help=text)
    shared.add_parameters(parser)


def _fit(parser: argparse.ArgumentParser) -> None:
    shared.add_model(parser)
    text = "measurements: a CSV file with a column t in seconds, and one column for each measured quantity"
    parser.add_argument("data", metavar="FILE", help=text)
    text = "what to fit, separated by commas: parameters, or initial values as theta(0) and dot(theta)(0)"
    parser.add_argument("--parameters", metavar="NAMES", required=True, help=text)
    text = "columns to use, repeatable or separated by commas (default: all)"
    parser.add_argument("--observe", metavar="NAMES", action="append", default=[], help=text)
    text = (
        "standard deviation of a column, in its unit; repeatable or separated by commas (default: from the residuals)"
    )
    parser.add_argument(
        "--sigma", metavar="NAME=VALUE", type=shared.assignments, action="extend", default=[], help=text
    )
    shared.add_integrator(parser)
    shared.add_parameters(parser)


def _paper(parser: argparse.ArgumentParser) -> None:

    def papers() -> str:
        from dalembert.papers import NAMES

        return f": {', '.join(NAMES)}"

    parser.add_argument("name", metavar="PAPER", help=f"name of the paper{_library(papers)}")
    text = "compute only this table or worked example; repeatable (default: all)"
    parser.add_argument("--table", metavar="N", action="append", help=text)
    text = "compute only this figure; repeatable; requires --output (default: all)"
    parser.add_argument("--figure", metavar="N", action="append", help=text)
    parser.add_argument("--list", action="store_true", help="list the tables and figures without computing them")
    text = "write the figures and a self-contained HTML page to this directory (default: print the tables only)"
    shared.add_output(parser, text, "DIR")


def _studio(parser: argparse.ArgumentParser) -> None:
    text = "name of an example or a model file to open (default: four-bar)"
    parser.add_argument("model", metavar="MODEL", nargs="?", default="", help=text)
    text = "port of the server, 0 to 65535 (default: 0, any free port)"
    parser.add_argument("--port", metavar="N", type=int, default=0, help=text)
    text = (
        "address to listen on (default: %(default)s, this machine only; with another address, everyone who knows the "
        "URL with its token can connect)"
    )
    parser.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help=text)
    parser.add_argument("--no-browser", action="store_true", help="print the URL without opening a browser")
    text = "number of long tasks that run at the same time (default: %(default)s)"
    parser.add_argument("--workers", metavar="N", type=int, default=3, help=text)
    text = "memory limit of each worker in GB (default: %(default)g)"
    parser.add_argument("--memory", metavar="GB", type=float, default=4.0, help=text)
    text = "time limit of each task in seconds (default: %(default)g)"
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=3600.0, help=text)


_DECLARE = {
    "gallery": _gallery,
    "check": _check,
    "derive": _derive,
    "prove": _prove,
    "symmetries": _symmetries,
    "verify": _verify,
    "simulate": _simulate,
    "compare": _compare,
    "equilibrium": _equilibrium,
    "linearize": _linearize,
    "sweep": _sweep,
    "fit": _fit,
    "report": _report,
    "paper": _paper,
    "export": _export,
    "studio": _studio,
}
