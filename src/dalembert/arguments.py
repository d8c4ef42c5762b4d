"""What a caller may pass: arguments that a function has, and values that are what its signature says, else our own message."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np

from dalembert.errors import InputError, nearest

P = ParamSpec("P")
T = TypeVar("T")
_LONGEST = 60


def is_real(value: object) -> bool:
    """True for a finite real number that is not a truth value.

    >>> is_real(2), is_real(np.float64(0.5)), is_real(True), is_real(float("nan"))
    (True, True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def is_whole(value: object) -> bool:
    """True for a whole number that is not a truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def are_names(value: object) -> bool:
    """True for several texts, which one text is not."""
    return (
        isinstance(value, Iterable) and not isinstance(value, str | Mapping) and all(isinstance(x, str) for x in value)
    )


# what an argument must be where its annotation is one of these words, and how a message says it
_KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "str": (lambda x: isinstance(x, str), "a text"),
    "int": (is_whole, "a whole number"),
    "float": (is_real, "a finite number"),
    "str | tuple[str, str]": (lambda x: isinstance(x, str) or (are_names(x) and len(x) == 2), "a name, or two"),  # type: ignore[arg-type]
    "str | Path": (lambda x: isinstance(x, str | Path), "a path"),
    "bool": (lambda x: isinstance(x, bool | np.bool_), "True or False"),
    "Sequence[str]": (are_names, "names in a list or tuple"),
    "Mapping[str, float]": (lambda x: isinstance(x, Mapping), "a mapping of names to numbers"),
    "Mapping[Any, float | str]": (lambda x: isinstance(x, Mapping), "a mapping of names to numbers"),
    "Mapping[str, Any]": (lambda x: isinstance(x, Mapping), "a mapping by name"),
    "Callable[[float], bool | None]": (callable, "a function of the fraction that is done"),
    "Callable[[float], Any]": (callable, "a function of the fraction that is done"),
}


def checked(function: Callable[P, T], *, by_name: bool = False) -> Callable[P, T]:
    """The function, with our own message for arguments that it does not have, that are missing, or are not what it says.

    With `by_name` the function is called with all arguments of its signature by name, also with those that were not given.

    >>> @checked
    ... def revolute(axis: str) -> str:
    ...     return axis
    >>> revolute(axsi="z")
    Traceback (most recent call last):
    dalembert.errors.InputError: revolute: there is no argument 'axsi'. Did you mean 'axis'?
    """
    signature = inspect.signature(function)
    defaults = {name: x.default for name, x in signature.parameters.items() if x.default is not x.empty}
    plain = [(name, *kind) for name, each in signature.parameters.items() if (kind := _kind(each)) is not None]

    @wraps(function)
    def called(*args: P.args, **named: P.kwargs) -> T:
        try:
            bound = signature.bind(*args, **named)
        except TypeError as error:
            raise InputError(f"{function.__name__}: {_mismatch(signature, named, error)}") from None
        for name, fits, expected in plain:
            if name in bound.arguments and not fits(bound.arguments[name]):
                got = shown(bound.arguments[name])
                raise InputError(f"{function.__name__}, {name}: got {got}. Expected {expected}.")
        if not by_name:
            return function(*args, **named)
        return function(**{**defaults, **bound.arguments})  # type: ignore[call-arg]

    return called


def _kind(parameter: inspect.Parameter) -> tuple[Callable[[object], bool], str] | None:
    """What fits a parameter, by its annotation; None where anything may."""
    said = str(parameter.annotation)
    known = _KINDS.get(said.removesuffix(" | None"))
    if known is None or parameter.kind is parameter.VAR_KEYWORD or parameter.kind is parameter.VAR_POSITIONAL:
        return None
    fits, expected = known
    if not said.endswith(" | None"):
        return known
    return (lambda value: value is None or fits(value)), expected


def _mismatch(signature: inspect.Signature, named: Mapping[str, object], error: TypeError) -> str:
    hidden = (
        ("self", "where") if "'model'" in str(error) else ("self", "model", "where")
    )  # methods of Model have it as self
    known = [name for name in signature.parameters if name not in hidden]
    for name in named:
        if name not in signature.parameters:
            return f"there is no argument '{name}'. {nearest(name, known)}"
    return f"{error}. Expected {', '.join(known)}."


def shown(value: object) -> str:
    """A value in a message: short, and without addresses of the machine.

    >>> shown([1, 2]), shown(object())
    ('[1, 2]', 'a value of type object')
    """
    text = repr(value)
    if " at 0x" in text or isinstance(value, type) or callable(value):
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def numbers_given(value: object, where: str) -> np.ndarray:
    """Finite real numbers as an array of doubles.

    >>> numbers_given([1, 2], "q").tolist()
    [1.0, 2.0]
    """
    try:
        found = np.asarray(value)
        if found.dtype.kind in "fiu" or (found.dtype.kind == "O" and found.size and all(map(is_real, found.ravel()))):
            out = found.astype(float)
            if np.isfinite(out).all():
                return out
    except (TypeError, ValueError, OverflowError):  # rows of different lengths
        raise InputError(f"{where}: got {shown(value)}. Expected numbers, in rows of one length.") from None
    if found.dtype.kind == "f":
        raise InputError(f"{where} contains values that are not finite. Expected numbers.")
    raise InputError(f"{where}: got {shown(value)}. Expected real numbers.")
