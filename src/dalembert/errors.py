"""All exception types and warnings of dalembert.

Each message has three parts: the problem with the path of the element, the expected and the actual value, and the fix.
`model_error` combines all problems of a model, `suggest_name` suggests the known name closest to a misspelled one, and
`short_repr` formats a value.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MAX_LENGTH = 60  # of a value in a message


class DalembertError(Exception):
    """Base class of all errors that dalembert raises deliberately."""


class InputError(DalembertError, ValueError):
    """Invalid input: a name, a value or a file. The command line exits with code 2."""


class FormulaError(InputError):
    """A formula cannot be parsed, or uses a symbol or function that is not allowed there."""


class ModelError(InputError):
    """A model is incomplete or inconsistent.

    Parameters
    ----------
    message : str
        The error message, which lists all problems.
    problems : sequence of Problem, optional
        All problems of the model.

    Attributes
    ----------
    problems : tuple of Problem
        All problems of the model.
    """

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems: tuple[Problem, ...] = tuple(problems)


class ModelFileError(ModelError):
    """A model file cannot be read, or does not define a valid model."""


class InconsistentStateError(InputError):
    """A state violates the constraints of its model."""


class NotApplicableError(InputError):
    """A formulation does not apply to a model; the message names the element, the reason, and formulations that apply."""


class ComputationError(DalembertError, RuntimeError):
    """The input is valid, but the computation failed. The command line exits with code 1."""


class SingularError(ComputationError):
    """A matrix that must be inverted is singular."""


class SimulationError(ComputationError):
    """A simulation stopped before its end; the message contains the time and the state."""


class EngineError(ComputationError):
    """The requested engine is not installed or does not support the computation."""


class CacheWarning(UserWarning):
    """The disk cache of compiled code is not used, because other users could write to it."""


@dataclass(frozen=True)
class Problem:
    """One problem of a model.

    Parameters
    ----------
    path : str
        The element, such as "body 'rod'".
    fact : str
        The problem, as a sentence.
    advice : str, optional
        How to fix it, as a sentence.
    blocking : bool, optional
        False if equations can still be derived, but not simulated from the initial state.

    Examples
    --------
    >>> print(Problem("body 'rod'", "the mass is -1.", "Give `mass` a value >= 0."))
    body 'rod': the mass is -1. Give `mass` a value >= 0.
    """

    path: str
    fact: str
    advice: str = ""
    blocking: bool = True

    def __str__(self) -> str:
        return f"{self.path}: {self.fact} {self.advice}".rstrip()


def model_error(name: str, problems: Sequence[Problem]) -> ModelError:
    """Create the error that lists all problems of a model.

    >>> print(model_error("arm", [Problem("body 'rod'", "the mass is -1.")]))
    model 'arm' has 1 problem:
      - body 'rod': the mass is -1.
    """
    lines = "\n".join(f"  - {problem}" for problem in problems)
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return ModelError(f"model '{name}' has {count}:\n{lines}", problems)


def suggest_name(name: str, known: Iterable[str]) -> str:
    """A hint with the known name closest to `name`, or the list of known names.

    >>> suggest_name("theta", ["theta1", "x"])
    "Did you mean 'theta1'?"
    >>> suggest_name("blub", ["a", "b"])
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


def short_repr(value: object) -> str:
    """Format a value for a message: shortened, and without memory addresses.

    >>> short_repr([1, 2]), short_repr(object())
    ('[1, 2]', 'a value of type object')
    """
    printed = repr(value)
    if " at 0x" in printed or isinstance(value, type) or callable(value):
        return f"a value of type {type(value).__name__}"
    return printed if len(printed) <= _MAX_LENGTH else f"{printed[:_MAX_LENGTH]}..."
