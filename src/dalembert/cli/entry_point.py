"""The program `dalembert`: command dispatch, exit codes and error reports.

Exit codes: 0 done, 1 computation failed, 2 invalid input, 130 interrupted, 141 broken pipe.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import NoReturn

from dalembert import __version__
from dalembert.cli import output
from dalembert.cli.commands import COMMANDS, EXIT_CODES, function_of
from dalembert.cli.parsers import add_command
from dalembert.errors import ComputationError, DalembertError, InputError, suggest_name

_EPILOG = f"""\
MODEL is the name of an example ('dalembert gallery' lists them) or a file (.toml, .urdf, .csv, .json, .m, .mat).
Run 'dalembert COMMAND --help' for the options of a command.
{EXIT_CODES}

example:
  dalembert simulate cart-pendulum --duration 50 --plot cart.png

completion of commands, options and model names with the Tab key:
  bash, zsh   eval "$(register-python-argcomplete dalembert)"
  fish        register-python-argcomplete --shell fish dalembert | source
Add the line to ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish to keep it."""
DONE, FAILED, WRONG_INPUT, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` is the command line without the program name."""
    words = list(sys.argv[1:] if argv is None else argv)
    output.make_streams_lenient()
    try:
        code = _guarded(words)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()
        return PIPE_CLOSED
    except OSError as error:  # a full disk
        _drop_stdout()
        output.failure(ComputationError(f"cannot write the result to stdout ({error.strerror})."), as_json=False)
        return FAILED
    return code


def _guarded(words: list[str]) -> int:
    """Run a command and return its exit code; expected exceptions become messages on stderr."""
    as_json = "--json" in words or "--format=json" in words or ("--format", "json") in pairwise(words)
    try:
        return _run(words)
    except SystemExit as finished:  # raised by argparse after --help and --version
        return finished.code if isinstance(finished.code, int) else DONE
    except DalembertError as error:
        output.failure(error, as_json=as_json)
        return WRONG_INPUT if isinstance(error, InputError) else FAILED
    except BrokenPipeError:
        raise
    except OSError as error:
        output.failure(ComputationError(f"{error.filename or 'a file'}: {error.strerror or error}."), as_json=as_json)
        return FAILED
    except MemoryError:
        error = ComputationError("not enough memory. Reduce the number of samples or states.")
        output.failure(error, as_json=as_json)
        return FAILED
    except KeyboardInterrupt:
        output.failure(KeyboardInterrupt("interrupted by the user."), as_json=as_json)
        return INTERRUPTED


def _run(words: list[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:  # the shell asks for completions; this ends the process
        from dalembert.cli import completion

        line, point = os.environ.get("COMP_LINE", ""), int(os.environ.get("COMP_POINT", "0"))
        completion.complete(_parsers(completion.command_of(line, point))[0])
    if not words:
        _parsers(None)[0].print_help(sys.stderr)
        return WRONG_INPUT
    if not words[0].startswith("-") and words[0] not in COMMANDS:
        raise InputError(
            f"unknown command '{words[0]}'. {suggest_name(words[0], COMMANDS)} Run 'dalembert --help' to list all commands."
        )
    arguments = _parse(words)
    arguments.words = words
    return function_of(arguments.command)(arguments)


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises `InputError` for invalid command lines."""

    def error(self, message: str) -> NoReturn:
        """Raise the error with a hint at the help."""
        end = "" if message.endswith(("?", ".")) else "."
        raise InputError(f"{self.prog}: {message}{end} Run '{self.prog} --help' to list the arguments.")


def _parse(words: list[str]) -> argparse.Namespace:
    """Parse a command line; unknown options first, because argparse may report a mistyped option as a missing one."""
    parser, command = _parsers(words[0])
    options = [word.split("=")[0] for word in _before_separator(words) if word.startswith("--") and " " not in word]
    known = [name for name in command._option_string_actions if name.startswith("--")]
    unknown = [name for name in options if name not in known]
    if unknown:
        command.error(" ".join(f"unknown option '{name}'. {suggest_name(name, known)}" for name in unknown))
    arguments, rest = parser.parse_known_args(words)
    if rest:
        what = f"unexpected argument '{rest[0]}'" if len(rest) == 1 else f"unexpected arguments: {' '.join(rest)}"
        command.error(f"{what}. Remove what is not needed, and quote values that contain spaces.")
    return arguments


def _before_separator(words: list[str]) -> list[str]:
    """The words before `--`, after which all words are positional arguments."""
    return words[: words.index("--")] if "--" in words else words


def _parsers(command: str | None) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """The parser of all commands, and the parser of one; only `command` declares its options."""
    parser = _empty_parser()
    version = f"dalembert {__version__}"
    parser.add_argument("--version", action="version", version=version, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    found = parser
    for name, summary in COMMANDS.items():
        if name == command:
            found = add_command(commands, name)
        else:
            commands.add_parser(name, help=summary)
    return parser, found


def _empty_parser() -> argparse.ArgumentParser:
    return _Parser(
        prog="dalembert",
        description="Describe a mechanical system once. Derive its equations of motion with 18 classical formulations,\n"
        "prove that they agree, and run them fast.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _drop_stdout() -> None:
    """Redirect stdout to the null device, so that the final flush does not fail."""
    with suppress(OSError, ValueError):  # a stream that is not a file has no file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
