"""Shell completion of commands, options and their values, by argcomplete.

The shell calls the program with `_ARGCOMPLETE` in its environment; only then is this module imported. Each completer
imports what it lists, so that completing a model name does not import the formulations.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable

import argcomplete
from argcomplete.completers import DirectoriesCompleter, FilesCompleter

from dalembert.cli.commands import FORMULATIONS

_MODEL_SUFFIXES = ("toml", "urdf", "csv", "json", "m", "mat")
Names = Callable[[], Iterable[str]]


def command_of(line: str, point: int) -> str | None:
    """The command on a command line that is being completed, or None if it is still being typed.

    >>> command_of("dalembert derive car", 20), command_of("dalembert der", 13)
    ('derive', None)
    """
    words = line[:point].split()
    typed = words if line[:point].endswith(" ") else words[:-1]
    return next((word for word in typed[1:] if not word.startswith("-")), None)


def complete(parser: argparse.ArgumentParser) -> None:
    """Print the completions for the shell and end the process."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                _add_completers(name, command)
    argcomplete.autocomplete(parser, always_complete_options="long")


def _add_completers(command: str, parser: argparse.ArgumentParser) -> None:
    """Set the completer of every argument of a command, by its name or by its metavar."""
    for action in parser._actions:
        completer = _completer(command, action)
        if completer is not None:
            action.completer = completer  # type: ignore[attr-defined]


def _completer(command: str, action: argparse.Action) -> object:
    """The completer of an argument, or None to complete its choices or any file."""
    if (command, action.dest) in _NAMES:
        return _complete_list(_NAMES[command, action.dest])
    if action.dest == "formalism":
        return _complete_list(lambda: FORMULATIONS)
    if action.dest == "model":
        return _complete_model
    if action.metavar == "DIR":
        return DirectoriesCompleter()
    if action.metavar in ("FILE", "PATH") or action.choices is not None:
        return None
    return lambda **_: ()  # a number or a formula


def _complete_list(names: Names) -> Callable[..., list[str]]:
    """A completer of one or more names, separated by commas."""

    def complete(prefix: str, **_: object) -> list[str]:
        before, comma, _last = prefix.rpartition(",")
        return [f"{before}{comma}{name}" for name in names() if name not in before.split(",")]

    return complete


def _complete_model(prefix: str, **more: object) -> list[str]:
    """Names of example models, model files and directories."""
    found = FilesCompleter(_MODEL_SUFFIXES)(prefix, **more)
    return [*(() if os.sep in prefix else _examples()), *found]


# names that come from slow modules, imported only when they are completed


def _examples() -> Iterable[str]:
    from dalembert.io import gallery

    return gallery.names()


def _papers() -> Iterable[str]:
    from dalembert.papers import NAMES

    return NAMES


def _panels() -> Iterable[str]:
    from dalembert.display.plots.plot import PANELS

    return PANELS


def _figures() -> Iterable[str]:
    from dalembert.display.plots.plot import FIGURES

    return FIGURES


def _export_formats() -> Iterable[str]:
    from dalembert.io.code.languages import TARGETS

    return "toml", "urdf", *TARGETS


_NAMES: dict[tuple[str, str], Names] = {
    ("gallery", "name"): _examples,
    ("paper", "name"): _papers,
    ("simulate", "panels"): _panels,
    ("compare", "panels"): _figures,
    ("export", "format"): _export_formats,
}
