"""Validation of arguments of public functions against their signatures and annotations, with readable messages."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np

from dalembert.docstrings import documented
from dalembert.errors import InputError, suggest_name

P = ParamSpec("P")
T = TypeVar("T")
_MAX_LENGTH = 60


def is_real(value: object) -> bool:
    """True for a finite real number that is not a bool.

    >>> is_real(2), is_real(np.float64(0.5)), is_real(True), is_real(float("nan"))
    (True, True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def is_integer(value: object) -> bool:
    """True for an integer that is not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_str_sequence(value: object) -> bool:
    """True for an iterable of str; False for a single str."""
    return (
        isinstance(value, Iterable) and not isinstance(value, str | Mapping) and all(isinstance(x, str) for x in value)
    )


# check of an argument and its description in messages, by annotation
_KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "str": (lambda x: isinstance(x, str), "a str"),
    "int": (is_integer, "an int"),
    "float": (is_real, "a finite number"),
    "str | tuple[str, str]": (
        lambda x: isinstance(x, str) or (isinstance(x, tuple | list) and len(x) == 2 and is_str_sequence(x)),
        "a str or a pair of str",
    ),
    "str | Path": (lambda x: isinstance(x, str | Path), "a path"),
    "bool": (lambda x: isinstance(x, bool | np.bool_), "a bool"),
    "Sequence[str]": (is_str_sequence, "a list of str"),
    "Mapping[str, float]": (lambda x: isinstance(x, Mapping), "a mapping of names to numbers"),
    "Mapping[Any, float | str]": (lambda x: isinstance(x, Mapping), "a mapping of names to numbers"),
    "Mapping[str, Any]": (lambda x: isinstance(x, Mapping), "a mapping with str keys"),
    "Callable[[float], bool | None]": (callable, "a callable of the completed fraction"),
    "Callable[[float], Any]": (callable, "a callable of the completed fraction"),
}


def validate_arguments(function: Callable[P, T], *, by_name: bool = False) -> Callable[P, T]:
    """Wrap a function to raise `InputError` for unknown arguments, missing arguments and arguments of a wrong type.

    With `by_name` the function is called with all arguments of its signature by name, including defaults.

    >>> @validate_arguments
    ... def revolute(axis: str) -> str:
    ...     return axis
    >>> revolute(axsi="z")
    Traceback (most recent call last):
    dalembert.errors.InputError: revolute: there is no argument 'axsi'. Did you mean 'axis'?
    """
    signature = inspect.signature(function)
    defaults = {name: x.default for name, x in signature.parameters.items() if x.default is not x.empty}
    documented(function, checks=True)
    checks = [(name, *kind) for name, each in signature.parameters.items() if (kind := _kind(each)) is not None]

    @wraps(function)
    def called(*args: P.args, **named: P.kwargs) -> T:
        try:
            bound = signature.bind(*args, **named)
        except TypeError as error:
            raise InputError(f"{function.__name__}: {_mismatch(signature, named, error)}") from None
        for name, fits, expected in checks:
            if name in bound.arguments and not fits(bound.arguments[name]):
                got = short_repr(bound.arguments[name])
                raise InputError(f"{function.__name__}, {name}: got {got}. Expected {expected}.")
        if not by_name:
            return function(*args, **named)
        return function(**{**defaults, **bound.arguments})  # type: ignore[call-arg]

    return called


def _kind(parameter: inspect.Parameter) -> tuple[Callable[[object], bool], str] | None:
    """The check of a parameter, by its annotation; None if it is not checked."""
    annotation = str(parameter.annotation)
    known = _KINDS.get(annotation.removesuffix(" | None"))
    if known is None or parameter.kind is parameter.VAR_KEYWORD or parameter.kind is parameter.VAR_POSITIONAL:
        return None
    fits, expected = known
    if not annotation.endswith(" | None"):
        return known
    return (lambda value: value is None or fits(value)), expected


def _mismatch(signature: inspect.Signature, named: Mapping[str, object], error: TypeError) -> str:
    hidden = (
        ("self", "where") if "'model'" in str(error) else ("self", "model", "where")
    )  # methods of Model receive it as self
    known = [name for name in signature.parameters if name not in hidden]
    for name in named:
        if name not in signature.parameters:
            return f"there is no argument '{name}'. {suggest_name(name, known)}"
    return f"{error}. Expected {', '.join(known)}."


def short_repr(value: object) -> str:
    """Format a value for a message: shortened, and without memory addresses.

    >>> short_repr([1, 2]), short_repr(object())
    ('[1, 2]', 'a value of type object')
    """
    printed = repr(value)
    if " at 0x" in printed or isinstance(value, type) or callable(value):
        return f"a value of type {type(value).__name__}"
    return printed if len(printed) <= _MAX_LENGTH else f"{printed[:_MAX_LENGTH]}..."


def as_finite_array(value: object, where: str) -> np.ndarray:
    """Convert finite real numbers to an array of doubles.

    >>> as_finite_array([1, 2], "q").tolist()
    [1.0, 2.0]
    """
    try:
        found = np.asarray(value)
        if found.dtype.kind in "fiu" or (found.dtype.kind == "O" and found.size and all(map(is_real, found.ravel()))):
            out = found.astype(float)
            if np.isfinite(out).all():
                return out
    except (TypeError, ValueError, OverflowError):  # ragged rows
        raise InputError(f"{where}: got {short_repr(value)}. Expected numbers, in rows of equal length.") from None
    if found.dtype.kind == "f":
        raise InputError(f"{where} contains values that are not finite. Expected finite numbers.")
    raise InputError(f"{where}: got {short_repr(value)}. Expected real numbers.")
