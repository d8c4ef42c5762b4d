"""Reading of user values: names, numbers, vectors, axes, pairs of bodies and formulas."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import FormulaError, InputError, short_repr
from dalembert.model.profiles import Profile, spline, spline_from_function
from dalembert.symbolic.operations import exact
from dalembert.symbolic.parser import parse
from dalembert.symbolic.surds import Component, unit
from dalembert.symbolic.symbols import Formula, Written
from dalembert.symbolic.sympy_bridge import from_sympy

if TYPE_CHECKING:
    import sympy

    from dalembert.model.description import Elements


Name: TypeAlias = "str | sympy.Basic"  # of a parameter or coordinate: str or SymPy symbol

Values = Mapping[Any, float | str]  # of parameters, by name or symbol; a string is a formula of parameters
Vector3 = tuple[Formula, Formula, Formula]
Matrix3 = tuple[Vector3, Vector3, Vector3]
TwoPoints = tuple[Vector3, Vector3]
UnitVector = tuple[Component, Component, Component]  # exact to its square roots

WORLD = "world"
# a sequence of user values: numbers, str or SymPy expressions in a list, tuple or array
ArrayInput: TypeAlias = "Sequence[Written | ArrayInput] | np.ndarray"
ZERO = (0, 0, 0)


def row_of(values: object, where: str, expected: str) -> list[Written]:
    """The values as a list; raise if they are not a sequence."""
    if not is_sequence(values):
        raise InputError(f"{where}: got {short_repr(values)}. Expected {expected}.")
    return list(values)


def is_sequence(values: object, count: int | None = None) -> TypeGuard[Sequence[Written]]:
    """Whether the values are a sequence, of length `count` if it is set; a str is not."""
    if isinstance(values, Sequence) or (isinstance(values, np.ndarray) and np.ndim(values)):
        return not isinstance(values, str | bytes) and count in (None, len(values))
    return False


def vector3(read: Callable[[Written, str], Formula], values: object, where: str) -> Vector3:
    """Three components, each read as a formula."""
    if not is_sequence(values, 3):
        raise InputError(f"{where}: got {short_repr(values)}. Expected 3 components.")
    x, y, z = (read(v, f"{where}[{i}]") for i, v in enumerate(values))
    return (x, y, z)


def motions(model: Elements, formulas: object, count: int, where: str) -> tuple[Formula | None, ...]:
    """Motions of a joint; None for free motions, as in a loop-closing joint."""
    if formulas is None:
        return (None,) * count
    if not is_sequence(formulas, count):
        raise InputError(f"{where}: got {short_repr(formulas)}. Expected {count} formulas.")
    return tuple(motion(model, formula, f"{where}[{i}]") for i, formula in enumerate(formulas))


def motion(model: Elements, formula: object, where: str) -> Formula | None:
    """A motion of a joint; None if it is free."""
    return None if formula is None else model.reader.read(formula, where, rates=False)


def points(model: Elements, entry: object, where: str) -> TwoPoints:
    """Two points, one on each of two bodies."""
    if not is_sequence(entry, 2):
        count = len(entry) if is_sequence(entry) else repr(entry)
        raise InputError(f"{where}: got {count}. Expected 2 points, one on each body.")
    first, second = (vector3(model.reader.constant, p, f"{where}[{i}]") for i, p in enumerate(entry))
    return first, second


def snap_right_angles(angles: object) -> object:
    """The angles, with multiples of π/2 (to rounding) written with π, so that sines and cosines are exact."""
    return tuple(map(_quarter_turn, angles)) if is_sequence(angles) else angles


def _quarter_turn(angle: Written) -> Written:
    if isinstance(angle, float) and angle and math.isfinite(angle):
        quarters = round(angle / (math.pi / 2))
        if quarters and abs(angle - quarters * math.pi / 2) <= 1e-15 * abs(quarters):
            return f"{quarters}*pi/2"
    return angle


def unit_vector(axis: object, where: str) -> UnitVector:
    """A unit vector along `axis`, exact with square roots; integer components stay integers."""
    if is_sequence(axis) and len(axis) != 3:
        raise InputError(f"{where}: the axis has {len(axis)} components. Expected 3.")
    entries = tuple(axis) if is_sequence(axis) else axis
    numbers = [a for a in axis if _is_number(a)] if is_sequence(axis) else []
    if len(numbers) != 3:
        raise InputError(f"{where}: the axis is {short_repr(entries)}. Expected 3 numbers, e.g. (0, 0, 1).")
    try:
        length = math.hypot(*numbers)
    except OverflowError:
        length = math.inf
    if not (0 < length < math.inf):
        raise InputError(
            f"{where}: the axis has length {length:g}. Expected a nonzero vector, got {short_repr(entries)}. "
            "Give `axis` a finite, nonzero direction."
        )
    return unit([exact(float(a)) for a in numbers])


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) or (getattr(value, "is_number", False) and getattr(value, "is_real", False))


def pair(bodies: object, where: str) -> tuple[str, str]:
    """Two names of bodies."""
    match list(bodies) if is_sequence(bodies) else bodies:
        case [str(first), str(second)]:
            return first, second
    raise InputError(f"{where}, bodies: got {short_repr(bodies)}. Expected two names, of bodies or 'world'.")


def names_of(bodies: object, where: str) -> tuple[str, ...]:
    """Names of bodies, two or more."""
    match list(bodies) if is_sequence(bodies) else bodies:
        case [str(), str(), *_] as names if all(isinstance(name, str) for name in names):
            return tuple(map(str, names))
    raise InputError(f"{where}, bodies: got {short_repr(bodies)}. Expected the names of two or more bodies.")


def read_indices(indices: object, where: str) -> tuple[int, ...]:
    """Indices of joints or motions, counted from 0; empty if all are 0."""
    row = row_of(indices, where, "int values, counted from 0")
    found = tuple(int(x) for x in row if isinstance(x, Integral) and not isinstance(x, bool) and int(x) >= 0)
    if len(found) < len(row):
        raise InputError(f"{where}: got {short_repr(indices)}. Expected int values, counted from 0.")
    return found if any(found) else ()


MAX_NAME = 100  # characters


def is_name(value: object) -> TypeGuard[str]:
    """True for 1 to MAX_NAME printable characters.

    >>> is_name("left wheel/2"), is_name("a\\nb"), is_name("")
    (True, False, False)
    """
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def is_printable(value: str) -> bool:
    """True if there are no control characters except line breaks and tabs, and no lone surrogates."""
    return all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in value)


def require_name(name: object, what: str) -> None:
    """Raise if a name cannot be written to a file.

    >>> require_name("a\\nb", "model")
    Traceback (most recent call last):
        ...
    dalembert.errors.InputError: model 'a\\nb': invalid name. Expected 1 to 100 printable characters.
    """
    if not isinstance(name, str):
        raise InputError(f"{what}: the name is {short_repr(name)}. Expected a str.")
    if not is_name(name):
        display_name = ascii(name) if len(name) <= MAX_NAME else f"{name[:20]!a}... of {len(name)} characters"
        expected = f"Expected 1 to {MAX_NAME} printable characters."
        raise InputError(f"{what} {display_name}: invalid name. {expected}")


def require_printable(element: object) -> None:
    """Raise if the name, description or unit of an element cannot be written to a file."""
    what, name = type(element).__name__.lower(), getattr(element, "name", None)
    if isinstance(name, str):
        require_name(name, what)
    for key in ("description", "unit"):
        string = getattr(element, key, None)
        if isinstance(string, str) and not is_printable(string):
            expected = "Expected a str without control characters; line breaks and tabs are allowed."
            raise InputError(f"{what} '{name}', {key}: got {string[:60]!a}. {expected}")


def require_new_printable(elements: tuple[object, ...], known: tuple[object, ...]) -> None:
    """Apply `require_printable` to the elements after the known ones, or to all if none was added."""
    for element in elements[len(known) :] or elements:
        require_printable(element)


# a motion in time: a formula of t, a profile, points (times, values) or their table in a file, or a function of time
TimeLaw: TypeAlias = (
    "Written | Profile | tuple[ArrayLike, ArrayLike] | Mapping[str, ArrayLike] | Callable[[float], ArrayLike]"
)


@dataclass(frozen=True)
class FormulaReader:
    """Converts user input to formulas of the declared names."""

    coordinates: tuple[str, ...]
    parameters: tuple[str, ...]
    symbols: Mapping[str, sympy.Basic]  # SymPy objects of the declared names
    points: Mapping[str, Callable[[str], Formula]] = field(default_factory=dict)  # height, rise and speed of points

    @property
    def names(self) -> set[str]:
        """All declared names."""
        return {*self.coordinates, *self.parameters}

    def read(self, formula: Written, where: str, *, rates: bool = True, momenta: bool = False) -> Formula:
        """Read a formula of coordinates, time, parameters and, with `rates`, velocities; momenta p(x) only in a str."""
        if isinstance(formula, str | int | float):
            known, values = self.coordinates, self.parameters
            options = {"where": where, "rates": rates, "momenta": momenta, "points": self.points}
            return parse(formula, coordinates=known, parameters=values, **options)
        from sympy import Symbol
        from sympy.physics.mechanics import dynamicsymbols

        moving: dict[Any, str] = {self.symbols.get(name, dynamicsymbols(name)): name for name in self.coordinates}
        fixed: dict[sympy.Basic, str] = {self.symbols.get(name, Symbol(name)): name for name in self.parameters}
        return from_sympy(formula, coordinates=moving, parameters=fixed, where=where, rates=rates)

    def law(self, time_law: TimeLaw, where: str, duration: float) -> Profile:
        """Read a motion of one value: a formula, the points of a spline, or a function sampled over the duration."""
        if isinstance(time_law, Profile):
            if len(time_law) != 1:
                raise InputError(f"{where}: the profile has {len(time_law)} values. Expected one: use profile[0], ...")
            return time_law
        if isinstance(time_law, Mapping):
            if not {"times", "values"} <= {*time_law} <= {"times", "values", "accelerations"}:
                keys = ", ".join(map(str, time_law))
                raise InputError(f"{where}: got the keys {keys}. Expected times, values and accelerations.")
            return self.law(
                spline(time_law["times"], time_law["values"], accelerations=time_law.get("accelerations")),
                where,
                duration,
            )
        if isinstance(time_law, tuple | list | np.ndarray):
            if len(time_law) != 2:
                got = f"got {len(time_law)} values"
                raise InputError(f"{where}: {got}. Expected points as (times, values), or a formula of t.")
            return self.law(spline(*time_law), where, duration)
        if callable(time_law) and not hasattr(time_law, "free_symbols"):  # SymPy expressions are callable, too
            function: Callable[[float], Any] = time_law
            return self.law(spline_from_function(function, duration), where, duration)
        known = replace(self, coordinates=(), points={}).read(time_law, where, rates=False)
        return Profile((known,), -np.inf, np.inf, scalar=True)

    def constant(self, formula: Written, where: str) -> Formula:
        """Read a formula of parameters only."""
        if isinstance(formula, str | int | float) and (known := _constant(formula, self.parameters)) is not None:
            return known
        out = self.read(formula, where)
        changing = sorted(str(s) for s in out.free_symbols if str(s) not in self.parameters)
        if changing:
            raise FormulaError(
                f"{where}: '{formula}' depends on {', '.join(changing)}. "
                "Expected a constant: a number or a formula of parameters. Move the time-varying part to a joint or a load."
            )
        return out


@lru_cache(maxsize=1024, typed=True)
def _constant(formula: str | float, parameters: tuple[str, ...]) -> Formula | None:
    """Parse a formula of parameters, cached; None if parsing fails, so that the caller reports the path."""
    try:
        return parse(formula, coordinates=(), parameters=parameters, where="", rates=False, time=False)
    except FormulaError:
        return None
