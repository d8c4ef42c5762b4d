"""Arguments of public functions: shared descriptions in numpydoc docstrings, and validation against signatures.

A docstring in the sources has the sections that are particular to its function. `documented` adds the missing entries of
Parameters in the order of the signature, a missing section Raises or Returns that follows from the signature, and the heading of
Examples. Lengths, masses and times are in any consistent units; angles are in radians.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np

from dalembert.errors import InputError, short_repr, suggest_name

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])
C = TypeVar("C", bound=type)
Entry = tuple[str, str]  # type and description

_ORDER = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "References", "Examples")
_HEADING = re.compile(rf"^({'|'.join(_ORDER)})\n-{{3,}}\n", re.MULTILINE)
_EXAMPLE = re.compile(r"^>>> ", re.MULTILINE)
_STATES = "shape (n,) or (n, batch)"
_TOLERANCE = "a default of the integrator if None"

ARGUMENTS: Mapping[str, Entry] = {
    "model": (
        "Model, Description, str or Path",
        "The model, the name of a gallery example, or the path of a model file.",
    ),
    "q": (f"array_like, {_STATES}", "Coordinates; the components of a quaternion are (w, x, y, z)."),
    "qd": (f"array_like, {_STATES}", "Rates of the coordinates or, with one entry per speed, speeds."),
    "qdd": (f"array_like, {_STATES}", "Accelerations of the coordinates, or rates of the speeds."),
    "tau": (f"array_like, {_STATES}", "Generalized forces along the speeds; zero if None."),
    "t": ("float or array_like, shape (batch,)", "Time, one for all states or one for each."),
    "body": ("str", "The name of the body."),
    "point": ("array_like, shape (3,)", "A point in axes of the body; the default is its origin."),
    "relative_to": ("str", "The name of the reference body; results are relative to it and in its axes."),
    "frame": ("{'world', 'parent', 'child'}", "The axes in which forces and moments are expressed."),
    "friction": ("bool", "Include joint friction."),
    "out": ("ndarray of float64", "Array for the result; a new one if None."),
    "threads": ("int", "Number of threads for a batch; the result does not depend on it."),
    "engine": ("{'native', 'python'}", "Machine code or NumPy; native if None and available."),
    "formalism": ("str", "The key of the formalism, such as 'kane'."),
    "duration": ("float", "Simulated time; the duration of the model if None."),
    "q0": ("array_like or mapping", "Initial coordinates, shape (n,) or by name; those of the model if None."),
    "qd0": ("array_like or mapping", "Initial rates, shape (n,) or by name; those of the model if None."),
    "t0": ("float", "Initial time."),
    "integrator": ("str", "The key of the integrator, such as 'dop853'; that of the model, or 'auto', if None."),
    "samples": ("int", "Number of equidistant samples; that of the model if None."),
    "times": ("array_like, shape (K,)", "Increasing sample times, instead of `samples` and `duration`."),
    "project": ("bool", "Project the state onto the constraints after every step."),
    "repartition": ("bool", "Repartition speeds, trial vectors and constraints when they become ill-conditioned."),
    "stabilization": (
        "float or tuple of float",
        "Gains (α, β) of Baumgarte's φ̈ + β φ̇ + α φ = 0, or α of the first-order form of dirac and hamilton; it replaces the "
        "projection.",
    ),
    "rtol": ("float", f"Relative tolerance, {_TOLERANCE}."),
    "atol": ("float", f"Absolute tolerance, {_TOLERANCE}."),
    "max_step": ("float", "Largest step size."),
    "step": ("float", "Step size of an integrator with fixed steps."),
    "dense": ("bool", "Record the motion between samples for `Trajectory.at`."),
    "progress": (
        "callable",
        "Called with the completed fraction, from 0 to 1; a simulation stops if it returns False.",
    ),
    "parameters": ("mapping of str to float", "Parameter values by name, instead of those of the model."),
    "seed": ("int", "Seed of the random numbers."),
    "fixed": ("sequence of str", "Names of coordinates that stay fixed."),
    "at": (
        "array_like, mapping, pair, Equilibrium, Equilibria or Trajectory",
        "A position at rest, shape (n,), a pair (q, q̇), a result of `equilibrium`, or a run with its time `t`; the initial "
        "state of the model if None.",
    ),
    "path": ("str or Path", "File to write; its suffix selects the format. Nothing is written if None."),
    "fps": ("float", "Frames per second of a video."),
    "speed": ("float", "Seconds of motion per second of a video."),
    "pixels": ("int", "Width and height of an image or video."),
    "frames": ("int", "Number of snapshots side by side in an image."),
    "actuated": ("sequence of str", "Names of the actuated coordinates; all of them if None."),
    "kp": ("float", "Proportional gain."),
    "kd": ("float", "Derivative gain."),
    "who": ("str", "The caller, for the message."),
    "keep": ("sequence of str", "Coordinates whose initial values do not change with the differentiation variables."),
}
RETURNS: Mapping[str, Entry] = {
    "tables": ("tuple of Table", "The tables that `print` and notebooks display."),
    **dict.fromkeys(
        ("cycloidal", "quintic", "spline", "spline_from_function", "trapezoidal"),
        ("Profile", "Positions, rates and accelerations as functions of time."),
    ),
    "to_dict": ("dict or list", "Numbers, str, lists and dicts, which `json.dump` accepts."),
    **dict.fromkeys(
        ("fixed", "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "free"),
        ("Joint", "The joint, for the argument `joint` of `body` or `loop`."),
    ),
}
_WRONG_STATE = "If an argument has a wrong shape or contains values that are not finite."
_WRONG_TYPE = "If an argument is unknown, missing or of a wrong type."


def documented(
    function: F, arguments: Mapping[str, Entry] | None = None, returns: Entry | None = None, *, checks: bool = False
) -> F:
    """Complete the docstring of a function; `arguments` and `returns` precede the shared descriptions.

    `checks` says that the types of all arguments are checked.

    >>> @documented
    ... def doubled(t):
    ...     '''Twice a time.'''
    ...     return 2 * t
    >>> print(doubled.__doc__.strip())
    Twice a time.
    <BLANKLINE>
    Parameters
    ----------
    t : float or array_like, shape (batch,)
        Time, one for all states or one for each.
    """
    if not function.__doc__:
        return function
    parts = sections(function.__doc__)
    known = inspect.signature(function).parameters
    if entries := _parameters(parts.get("Parameters", ""), known, {**ARGUMENTS, **(arguments or {})}):
        parts["Parameters"] = entries
    result = returns or RETURNS.get(function.__name__)
    if "Returns" not in parts and result is not None:
        parts["Returns"] = _entry(*result)
    if "Raises" not in parts and (reason := _reason(known, checks)):
        parts["Raises"] = _entry("InputError", reason)
    function.__doc__ = joined(parts)
    return function


def documented_class(cls: C, arguments: Mapping[str, Entry] | None = None, itself: Entry | None = None) -> C:
    """Complete the docstring of a class and of its public methods; `itself` describes the result of those that return self.

    Entries of Attributes of the base classes are included.
    """
    for name, member in vars(cls).items():
        method = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(method) and not name.startswith("_"):
            returned = inspect.signature(method).return_annotation
            documented(method, arguments, itself if itself and returned in ("Self", itself[0]) else None)
    if not cls.__doc__:
        return cls
    parts = sections(cls.__doc__)
    if "__init__" in vars(cls) and "__dataclass_fields__" not in vars(cls):
        known = dict(list(inspect.signature(vars(cls)["__init__"]).parameters.items())[1:])
        if entries := _parameters(parts.get("Parameters", ""), known, {**ARGUMENTS, **(arguments or {})}):
            parts["Parameters"] = entries
    if attributes := _attributes(cls):
        parts["Attributes"] = attributes
    cls.__doc__ = joined(parts)
    return cls


def sections(docstring: str) -> dict[str, str]:
    """The sections of a docstring by heading; the summary under an empty one. Examples may be without a heading.

    >>> sections("Twice.\\n\\n>>> 1 + 1\\n2")
    {'': 'Twice.', 'Examples': '>>> 1 + 1\\n2'}
    """
    front, *pairs = _HEADING.split(inspect.cleandoc(docstring))
    found = {"": front.strip(), **{name: body.strip("\n") for name, body in zip(pairs[::2], pairs[1::2], strict=True)}}
    *_, last = found
    example = _EXAMPLE.search(found[last])
    if last != "Examples" and example is not None:
        found["Examples"] = found[last][example.start() :]
        found[last] = found[last][: example.start()].strip("\n")
    return found


def restricted(docstring: str, names: Collection[str]) -> str:
    """The docstring with the entries of Parameters for these arguments only."""
    parts = sections(docstring)
    entries = described_parameters(parts.get("Parameters", ""))
    parts["Parameters"] = "\n".join(dict.fromkeys(entry for name, entry in entries.items() if name in names))
    return joined(parts)


def joined(parts: Mapping[str, str]) -> str:
    """The docstring with these sections, in the order of numpydoc."""
    ordered = [f"{name}\n{'-' * len(name)}\n{parts[name]}" for name in _ORDER if parts.get(name)]
    return "\n\n".join([parts[""], *ordered]) + "\n"


def described_parameters(section: str) -> dict[str, str]:
    """The entries of a section Parameters by the name of the argument, without stars.

    >>> list(described_parameters("q, qd : array_like\\n    State.\\n**options\\n    Others."))
    ['q', 'qd', 'options']
    """
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section.strip("\n")):
        names = entry.partition("\n")[0].partition(" : ")[0].split(", ")
        found |= {name.strip().lstrip("*"): entry for name in names if name.strip()}
    return found


def _parameters(section: str, known: Mapping[str, inspect.Parameter], shared: Mapping[str, Entry]) -> str:
    own = described_parameters(section)
    out: dict[str, None] = {}  # an entry of several arguments is written once
    for name, parameter in known.items():
        if name in own:
            out[own[name]] = None
        elif name in shared and parameter.kind is not parameter.VAR_KEYWORD:
            kind, meaning = shared[name]
            out[_entry(f"{name} : {kind}{_default(parameter)}", meaning)] = None
    for entry in own.values():
        out[entry] = None
    return "\n".join(out)


def _attributes(cls: type) -> str:
    """The entries of Attributes of a class and its bases, those of the bases first."""
    entries: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("dalembert"):
            entries |= described_parameters(sections(base.__doc__ or "").get("Attributes", ""))
    return "\n".join(dict.fromkeys(entries.values()))


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return ""
    simple = isinstance(parameter.default, bool | int | float | str) and parameter.default != ""
    return f", default {parameter.default!r}" if simple else ", optional"


def _reason(known: Mapping[str, inspect.Parameter], checks: bool) -> str:
    if {"q", "qd"} <= set(known) or {"q", "t"} <= set(known):
        return _WRONG_STATE
    return _WRONG_TYPE if checks and len(known) > 1 else ""


def _entry(head: str, meaning: str) -> str:
    return f"{head}\n    {meaning}"


# validation


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
