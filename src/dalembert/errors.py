"""Every exception type and warning of dalembert.

Each message has three parts: the fact with the path of the element it is about, what was expected and what was
got, and what to do. `explain` puts the parts together; `nearest` finds the known name a mistyped one stands for.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class DalembertError(Exception):
    """The root of every error that dalembert raises on purpose."""


class InputError(DalembertError, ValueError):
    """Something the user gave is wrong: a name, a value, a file. The command line ends with code 2."""


class FormulaError(InputError):
    """A formula cannot be read, or uses what is not allowed in its place."""


class ModelError(InputError):
    """A model is not complete or not consistent; carries every problem that was found, see `problems`."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems: tuple[Problem, ...] = tuple(problems)


class ModelFileError(ModelError):
    """A model file cannot be read as a model."""


class InconsistentStateError(InputError):
    """A state does not fulfil the constraints of its model."""


class NotApplicableError(InputError):
    """A formalism cannot treat a model; the message says which element, why, and which formalisms can."""


class WorkError(DalembertError, RuntimeError):
    """The input was right, but the work failed. The command line ends with code 1."""


class SingularError(WorkError):
    """A matrix that has to be inverted is singular."""


class SimulationError(WorkError):
    """A simulation could not reach its end; the message gives time and state."""


class EngineError(WorkError):
    """The engine asked for is not installed on this machine or cannot do this work."""


class CacheWarning(UserWarning):
    """The disk cache of compiled code is not used, because others could write it."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a model: where, what, and what to do about it.

    >>> print(Problem("body 'rod'", "the mass is -1.", "Give `mass` a value of at least 0."))
    body 'rod': the mass is -1. Give `mass` a value of at least 0.
    """

    path: str
    fact: str
    advice: str = ""
    blocking: bool = True  # False: equations can be derived all the same, but not simulated from the initial state

    def __str__(self) -> str:
        return f"{self.path}: {self.fact} {self.advice}".rstrip()


def unsound(name: str, problems: Sequence[Problem]) -> ModelError:
    """The error that lists all problems of a model.

    >>> print(unsound("arm", [Problem("body 'rod'", "the mass is -1.")]))
    model 'arm' has 1 problem:
      - body 'rod': the mass is -1.
    """
    lines = "\n".join(f"  - {problem}" for problem in problems)
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return ModelError(f"model '{name}' has {count}:\n{lines}", problems)


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint with the known name closest to `name`, or the list of what is known.

    >>> nearest("theta", ["theta1", "x"])
    "Did you mean 'theta1'?"
    >>> nearest("blub", ["a", "b"])
    'Known names: a, b.'
    """
    names = sorted(set(known))
    match = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    if match:
        return f"Did you mean '{match[0]}'?"
    if not names:
        return "No names are known here."
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"Known names: {', '.join(names[:12])}{more}."
