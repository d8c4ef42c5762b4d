"""Simplification of values for display within a time budget, and names for long entries."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from time import thread_time
from typing import TYPE_CHECKING, Any

import numpy as np
import symengine as se

from dalembert.display.math._intermediates import simplify_rows, uses
from dalembert.display.math.simplify import mapped, simplify
from dalembert.errors import InputError
from dalembert.mechanics.system import Notation
from dalembert.symbolic.algebra_base import Array, Operand
from dalembert.symbolic.formula_writer import with_exact_numbers
from dalembert.symbolic.nodes import Constant, Node, Symbol, TableLeaf, ordered
from dalembert.symbolic.operations import FUNCTIONS
from dalembert.symbolic.random_points import Line
from dalembert.symbolic.symbols import Formula
from dalembert.symbolic.symengine_algebra import SYMBOLIC

if TYPE_CHECKING:
    import sympy


_MAX_VECTOR = 150  # operations of a vector whose common factors are searched
_SIGNS: dict[str, Callable[..., Operand]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negative": operator.neg,
    "less": lambda a, b: SYMBOLIC.less(a, b, or_equal=False),
    "less_equal": lambda a, b: SYMBOLIC.less(a, b, or_equal=True),
    "and": lambda a, b: SYMBOLIC.logical("and", a, b),
    "or": lambda a, b: SYMBOLIC.logical("or", a, b),
    "select": SYMBOLIC.select,
    "interpolate": SYMBOLIC.interpolate,
}


def without_factors(vector: Array) -> Array:
    """Return the vector without denominators and common factors; its first nonzero entry is positive.

    >>> x, r = se.symbols("x r")
    >>> without_factors(np.array([-(r**2) / (1 + r**2), 0, r * se.cos(x) / (1 + r**2)], dtype=object)).tolist()
    [r, 0, -cos(x)]
    """
    entries = [with_exact_numbers(se.sympify(x)) for x in vector]
    if sum(se.count_ops(x) for x in entries) > _MAX_VECTOR or all(x == 0 for x in entries):
        return vector
    import sympy

    waves = sorted({a for x in entries for a in x.atoms(se.Function) if isinstance(a, se.sin | se.cos)}, key=str)
    names = {wave: sympy.Dummy() for wave in waves}
    table = {wave: se.Symbol(f"@wave{i}") for i, wave in enumerate(waves)}
    own = {sympy.Symbol(f"@wave{i}"): names[wave] for i, wave in enumerate(waves)}
    plain = [sympy.sympify(x.xreplace(table)).xreplace(own) for x in entries]
    try:
        pairs = [(s, se.cos(a.args[0])) for a, s in names.items() if isinstance(a, se.sin)]
        found = _primitive(plain, [(s, names[cosine]) for s, cosine in pairs if cosine in names])
    except sympy.PolynomialError:
        return vector
    back = {symbol: sympy.sympify(wave) for wave, symbol in names.items()}
    forms = [[se.sympify(entry.xreplace(back)) for entry in form] for form in found]
    shortest = min([entries, *forms], key=lambda form: sum(se.count_ops(x) for x in form))
    return np.array(shortest, dtype=object)


def _primitive(entries: list[sympy.Expr], circles: list[tuple[sympy.Symbol, sympy.Symbol]]) -> list[list[sympy.Expr]]:
    """Return the entries without denominator, divided by their common factor: directly, and reduced by sin² + cos² = 1.

    `circles` are the pairs (sin, cos) of the same angle.
    """
    import sympy

    bottoms = [sympy.fraction(sympy.together(x)) for x in entries]
    denominator = sympy.lcm_list([bottom for _, bottom in bottoms])
    found = [sympy.cancel(top * (denominator / bottom)) for top, bottom in bottoms]
    found = _divided(found)
    reduced: list[Any] = list(found)
    for s, c in circles:
        reduced = [sympy.rem(x, s**2 + c**2 - 1, s) if x.has(s) else x for x in reduced]
    return [found, _divided(reduced)]


def _divided(found: list[sympy.Expr]) -> list[sympy.Expr]:
    """Return the entries without common factor; the first nonzero one is positive."""
    import sympy

    shared = sympy.gcd_list(found)
    first = next(x for x in found if x != 0)
    if sympy.Poly(sympy.cancel(first / shared)).LC() < 0 if (first / shared).free_symbols else first / shared < 0:
        shared = -shared
    return [sympy.cancel(x / shared) for x in found]


BUDGET = 6.0  # seconds of CPU time to simplify one derivation
MAX_INTERMEDIATE_OPERATIONS = 200_000  # maximum operations of an intermediate value
_MAX_SIMPLIFIED = 6_000  # operations of a simplified entry
_MAX_GROWTH = 15  # length ratio up to which a value without names is also simplified
_MAX_UNNAMED_ROWS = 120  # operations of rows that need no names
_MAX_UNNAMED_ENTRY = 6  # operations of an entry that needs no name


class TooLong(InputError):
    """Raised if an intermediate value has too many operations to print the result."""

    def __init__(self, operations: int) -> None:
        super().__init__(
            f"an intermediate quantity has {operations} operations when expanded. Expected at most "
            f"{MAX_INTERMEDIATE_OPERATIONS}. Evaluate it by eom.blocks_at(q, qd), or replace parameters by numbers "
            "(--set on the command line)."
        )
        self.operations = operations


class DisplayNotation(Notation):
    """Notation for display: simplified values within a time budget, and symbols for long entries.

    One value uses at most half of the remaining time, so that a long one leaves some for later values.

    >>> x, m = se.symbols("x m")
    >>> DisplayNotation([]).short(np.array([m * se.sin(x) ** 2 + m * se.cos(x) ** 2], dtype=object))
    array([m], dtype=object)
    """

    by_symbols = True

    def __init__(
        self,
        velocities: Collection[str],
        coordinates: Collection[str] = (),
        taken: Collection[str] = (),
        seconds: float = BUDGET,
    ) -> None:
        self._velocities, self._coordinates, self._taken = set(velocities), coordinates, set(taken)
        self._meanings: dict[Formula, Formula] = {}  # values of the assigned names
        self._known: dict[Formula, Formula] = {}
        self._seconds = self._remaining = seconds
        self._report: Callable[[float], None] = lambda share: None
        self.unfinished: set[Formula] = set()  # entries beyond the time budget

    @property
    def remaining_seconds(self) -> float:
        """Remaining seconds."""
        return max(self._remaining, 0.0)

    def report_progress(self, report: Callable[[float], None]) -> None:
        """Call `report` with the fraction of the time budget that is used, from time to time."""
        self._report = report

    def short(self, value: Array) -> Array:
        """Return the value with simplified entries."""
        out = self._each(value)
        limit = _MAX_GROWTH * (operations_of(out) + 1)
        named = self.has_names(out) and operations_of(value) <= limit
        if named and length_without_names(value, self._meanings) <= limit:
            unnamed = self._each(without_names(value, self._meanings))
            out = min(unnamed, out, key=operations_of)  # names can prevent cancellation
        length = operations_of(out)
        if length > MAX_INTERMEDIATE_OPERATIONS:
            raise TooLong(length)
        return out

    def _each(self, value: Array) -> Array:
        reserve = self._remaining / 2
        return mapped(value, lambda entry: self._short(se.sympify(entry), self._remaining - reserve))

    def has_names(self, value: Array) -> bool:
        """True if a value contains names of entries."""
        return not are_names(value) and not self._meanings.keys().isdisjoint(_symbols(value))

    def lines(self, *values: Array) -> tuple[Line, ...]:
        """Return the names in these values and their expressions, in order of computation."""
        found: set[Formula] = set()
        queue = set().union(*map(_symbols, values)) & self._meanings.keys()
        while queue:
            found |= queue
            queue = set().union(*(self._meanings[name].free_symbols for name in queue)) & self._meanings.keys() - found
        return tuple((str(name), meaning) for name, meaning in self._meanings.items() if name in found)

    def _short(self, entry: Formula, seconds: float) -> Formula:
        if entry.is_Number or entry.is_Symbol:
            return entry
        if entry not in self._known:
            if se.count_ops(entry) > _MAX_SIMPLIFIED:
                return entry
            if seconds <= 0:
                self.unfinished.add(entry)
                return entry
            start = thread_time()
            self._known[entry] = min(
                simplify(entry, self._velocities, seconds), with_exact_numbers(entry), key=se.count_ops
            )
            self._charge(spent := thread_time() - start)
            if spent >= seconds:
                self.unfinished.add(entry)
        return self._known[entry]

    def _charge(self, seconds: float) -> None:
        self._remaining -= seconds
        self._report(1 - max(self._remaining, 0) / self._seconds if self._seconds > 0 else 1.0)

    def direction(self, value: Array) -> Array:
        """Return a vector of arbitrary length without common factors."""
        return without_factors(value)

    def velocity_terms(self, value: Array) -> tuple[list[Line], Array]:
        """Return simplified rows of velocity terms, long ones with names for shared parts."""
        out = self.short(value)
        if operations_of(out) <= _MAX_UNNAMED_ROWS or self.has_names(value):
            return [], out
        raw = [with_exact_numbers(se.sympify(entry)) for entry in value]
        start = thread_time()
        lines, found = simplify_rows(raw, self._coordinates, self._velocities, self._taken, self._remaining / 2)
        self._charge(thread_time() - start)
        if not lines:
            return [], out
        for name, meaning in lines:
            self._taken.add(name)
            self._velocities.add(name)
            self._meanings[se.Symbol(name)] = meaning
        return lines, np.array(found, dtype=object)

    def symbols(self, key: str, value: Array) -> Array:
        """Return a value with symbols for its long entries: t[2,3] is the third entry of t_2."""
        letter, number = key.rsplit("_", 1) if key[-1].isdigit() else (key, "")
        short = self._each(value)
        out = np.empty(value.shape, dtype=object)
        for index in np.ndindex(*value.shape):
            entry = short[index]
            if (
                value.ndim == 2
                and index[0] > index[1]
                and value.T.shape == value.shape
                and value[index] == value.T[index]
            ):
                out[index] = out[index[::-1]]  # symmetric matrix
                continue
            indices = [i + 1 for i in index] if value.size > 1 or not number else []
            indices = [*([number] if number else []), *indices] or ([1] if letter in self._taken else [])
            name = f"{letter}[{','.join(map(str, indices))}]" if indices else letter
            if se.count_ops(entry) > _MAX_UNNAMED_ENTRY or _has_denominator(entry):
                self._velocities.add(name)  # later values are collected by it
                self._meanings[se.Symbol(name)] = entry
                entry = se.Symbol(name)
            out[index] = entry
        return out


def are_names(entries: Array) -> bool:
    """True if the entries are names."""
    return entries.size > 0 and isinstance(entries.flat[0], str)


def operations_of(entries: Array) -> int:
    """Return the number of operations of the entries, equal ones counted once."""
    return 0 if are_names(entries) else sum(int(se.count_ops(x)) for x in {se.sympify(x) for x in entries.flat})


def without_names(value: Array, meanings: Mapping[Formula, Formula]) -> Array:
    """Return the value with its names replaced by their expressions.

    >>> a, b, x = se.symbols("a b x")
    >>> without_names(np.array([2 * b], dtype=object), {a: x + 1, b: a**2})
    array([2*(1 + x)**2], dtype=object)
    """

    def expanded(entry: object) -> Formula:
        found = se.sympify(entry)
        while not meanings.keys().isdisjoint(found.free_symbols):
            found = found.xreplace(meanings)
        return found

    return mapped(value, expanded)


def length_without_names(value: Array, meanings: Mapping[Formula, Formula]) -> int:
    """Return the operations of a value with its names expanded, without expanding it: nested names grow fast.

    >>> a, b, x = se.symbols("a b x")
    >>> length_without_names(np.array([2 * b], dtype=object), {a: x + 1, b: a + se.sin(a)})
    5
    """
    known: dict[Formula, int] = {}

    def length(entry: Formula) -> int:
        total = int(se.count_ops(entry))
        for name, count in uses(entry).items():
            if name in meanings:
                if name not in known:
                    known[name] = length(meanings[name])
                total += count * known[name]
        return total

    return 0 if are_names(value) else sum(length(entry) for entry in {se.sympify(x) for x in value.flat})


def _symbols(entries: Array) -> set[Formula]:
    return set().union(*(se.sympify(entry).free_symbols for entry in entries.flat)) if entries.size else set()


def _has_denominator(entry: Formula) -> bool:
    """True if a denominator contains a sum of terms that vary with the motion."""
    if isinstance(entry, se.Pow) and isinstance(entry.args[0], se.Add) and not entry.args[1].is_positive:
        return any(isinstance(part, se.sin | se.cos) for part in entry.args[0].atoms(se.Function))
    return any(map(_has_denominator, entry.args))


def unfolded(value: Array) -> Array:
    """Return the value with formulas instead of graph nodes; other values unchanged. Raises `TooLong` for long formulas.

    >>> from dalembert.symbolic.nodes import call, symbol
    >>> x, y = symbol("x"), symbol("y")
    >>> unfolded(np.array([x * call("sin", y) + 1, 0], dtype=object))
    array([1 + x*sin(y), 0], dtype=object)
    """
    roots = [x for x in value.flat if isinstance(x, Node)]
    if not roots:
        return value
    order = ordered(roots)
    length: dict[Node, int] = {}
    for y in order:
        length[y] = sum(length[a] for a in y.arguments) + bool(y.arguments)
    if (total := sum(length[y] for y in roots)) > MAX_INTERMEDIATE_OPERATIONS:
        raise TooLong(total)
    known: dict[Node, Operand] = {}
    for y in order:
        known[y] = _formula(y, [known[a] for a in y.arguments])
    return mapped(value, lambda entry: known[entry] if isinstance(entry, Node) else entry)


def _formula(y: Node, arguments: Sequence[Operand]) -> Operand:
    if isinstance(y, Constant):
        return y.value if isinstance(y.value, float) else SYMBOLIC.number(Fraction(y.value))
    if isinstance(y, Symbol):
        return SYMBOLIC.symbols([y.value])[0]
    if isinstance(y, TableLeaf):
        return y.value
    if y.operation == "pi":
        return SYMBOLIC.pi
    return SYMBOLIC.function(y.operation, *arguments) if y.operation in FUNCTIONS else _SIGNS[y.operation](*arguments)
