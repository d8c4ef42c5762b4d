"""Simplification for display: exact numbers and short trigonometric expressions. Compiled equations are not affected.

An expression is converted to a normal form, a sum of products over the sines and cosines of few angles. Each coefficient of the
velocities is then written in the shortest of several forms: products or sines of sum angles, sin² or cos², over one denominator
or not, with common factors. Of equally short forms the first is used, so that the result is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from time import thread_time

import numpy as np
import symengine as se

from dalembert.display.math._factor import collect, factor_sum, factors, greatest_factor, grouped, terms
from dalembert.display.math._trigonometric_ring import Angles, Ring, TooLarge
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.formula_writer import with_exact_numbers
from dalembert.symbolic.symbols import Formula, fold

MAX_OPERATIONS = 20_000
_MAX_LENGTH_RATIO = 1.1  # of a preferred form relative to the shortest one
_MANY_TERMS = 80  # of a sum for which fewer forms are tried


def simplify(expression: Formula, velocities: Iterable[str] = (), seconds: float = 10.0) -> Formula:
    """Simplify an expression; only with exact numbers if it is too large or the time is over.

    `velocities` are the names whose coefficients are collected.

    >>> x, m = se.symbols("x m")
    >>> simplify(0.5 * m * (2 * se.sin(x) ** 2 + 2 * se.cos(x) ** 2))
    m
    """
    plain = with_exact_numbers(expression)
    if plain.is_Number or plain.is_Symbol or se.count_ops(plain) > MAX_OPERATIONS:
        return plain
    moving = set(velocities)
    ring = Ring(Angles(*_arguments(plain)), moving, thread_time() + seconds, _short)
    try:
        total = fold(plain, lambda node: node.args, ring.build)
        return _preferred([_shortest_sum(ring, total, moving), plain])
    except TooLarge:
        return plain


def sum_of_waves_of(expression: Formula, velocities: Iterable[str] = (), seconds: float = 10.0) -> Formula | None:
    """Expand an expression to a sum of products with sines and cosines of sum angles; None if that is long.

    >>> x, y = se.symbols("x y")
    >>> sum_of_waves_of((se.sin(x) + y) ** 2)
    1/2 + 2*y*sin(x) + y**2 + (-1/2)*cos(2*x)
    """
    plain = with_exact_numbers(expression)
    ring = Ring(Angles(*_arguments(plain)), set(velocities), thread_time() + seconds, _short)
    try:
        total = ring.expand(fold(plain, lambda node: node.args, ring.build))
    except TooLarge:
        return None
    return ring.restored(ring.waves(total))


@dataclass(frozen=True)
class FactoredArray:
    """A matrix or a vector as a common factor and entries."""

    factor: Formula
    entries: Array

    @property
    def expanded(self) -> Array:
        """Entries times the factor."""
        return self.entries if self.factor == 1 else mapped(self.entries, lambda entry: self.factor * entry)


def simplify_matrix(entries: Array, velocities: Iterable[str] = (), seconds: float = 10.0) -> FactoredArray:
    """Simplify all entries, with their common factor in front if that is shorter.

    Entries beyond the time budget only get exact numbers.

    >>> m, l, x = se.symbols("m l x")
    >>> found = simplify_matrix(np.array([[m * l**2, m * l * se.cos(x)], [m * l * se.cos(x), m]], dtype=object))
    >>> found.factor
    m
    """
    moving, until, known = set(velocities), thread_time() + seconds, dict[Formula, Formula]()

    def short(entry: Formula) -> Formula:
        entry = se.sympify(entry)
        if entry not in known:
            known[entry] = simplify(entry, moving, until - thread_time())
        return known[entry]

    found = mapped(entries, short)
    distinct = {entry for entry in found.flat if entry != 0}
    factor = greatest_factor(distinct) if len(distinct) > 1 else se.Integer(1)
    quotients = mapped(found, lambda entry: entry / factor)
    saved = _operations(found) - _operations(quotients) - se.count_ops(factor) - 1
    return FactoredArray(factor, quotients) if factor != 1 and saved > 0 else FactoredArray(se.Integer(1), found)


def mapped(entries: Array, change: Callable[..., object]) -> Array:
    """Apply a function to each entry of an array."""
    out = np.empty(entries.shape, dtype=object)
    for index in np.ndindex(*entries.shape):
        out[index] = change(entries[index])
    return out


def _operations(entries: Array) -> int:
    return sum(int(se.count_ops(entry)) for entry in set(entries.flat))


def _arguments(expression: Formula) -> tuple[set[Formula], set[Formula]]:
    """Return the arguments of sines and cosines, those in denominators separately."""
    in_denominators: set[Formula] = set()
    everywhere: set[Formula] = set()

    def visit(node: Formula, parts: list[set[Formula]]) -> set[Formula]:
        found = set().union(*parts) if parts else set()
        if isinstance(node, se.sin | se.cos):
            found = {node.args[0]}
            everywhere.add(node.args[0])
        if isinstance(node, se.Pow) and node.args[1].is_Number and float(node.args[1]) < 0:
            in_denominators.update(found)
        return found

    fold(expression, lambda node: node.args, visit)
    return in_denominators, everywhere


def _shortest(forms: Iterable[Formula]) -> Formula:
    """Return the first form with the fewest operations."""
    return min(forms, key=se.count_ops)


def _preferred(forms: Iterable[Formula]) -> Formula:
    """Return the first form that is about as short as the shortest."""
    found = [(form, int(se.count_ops(form))) for form in forms]
    limit = _MAX_LENGTH_RATIO * min(length for _, length in found) + 1
    return next(form for form, length in found if length <= limit)


def _shortest_sum(ring: Ring, total: Formula, velocities: set[str]) -> Formula:
    """Write one coefficient per product of velocities, or the complete sum at once if that is shorter."""
    groups = grouped(total, lambda base: base.is_Symbol and base.name in velocities)
    written = se.Add(*(outside * _short(ring, se.Add(*parts)) for outside, parts in groups.items()))
    forms = [factor_sum(written), written]
    if len(groups) > 1 and len(terms(total)) <= _MANY_TERMS:
        forms.append(_short(ring, total))
    return _shortest(forms)


def _cached(write: Callable[[Ring, Formula], Formula]) -> Callable[[Ring, Formula], Formula]:
    """Cache the result for each sum of a ring: the same coefficients recur in several forms."""

    @wraps(write)
    def found(ring: Ring, total: Formula) -> Formula:
        key = write.__name__, total
        if key not in ring.written:
            ring.written[key] = write(ring, total)
        return ring.written[key]

    return found


@_cached
def _short(ring: Ring, total: Formula) -> Formula:
    """Return the shortest form of a sum of products: separate denominators, one for like terms, or one for all."""
    if len(terms(total)) == 1 and not set(total.free_symbols) & ring.trig.keys() and not ring.sums:
        return ring.restored(total)
    forms = []
    for split in _splits(ring, total):
        written = se.Add(*(ring.restored(factor) * _numerator(ring, above) for factor, above in split))
        forms += [factor_sum(written), written]
    return _shortest(forms)


def _splits(ring: Ring, total: Formula) -> list[list[tuple[Formula, Formula]]]:
    """Yield forms of a sum as factors times numerators, without long ones."""
    splits = [[(se.Integer(1), total)]]
    try:
        plain = ring.expand(total)
        for base, apart in ((total, True), (plain, True), (plain, False)):
            quotients = ring.quotients(base, apart)
            if quotients not in splits:
                splits.append(quotients)
    except TooLarge:
        pass  # the first form is available
    return splits


@_cached
def _numerator(ring: Ring, total: Formula) -> Formula:
    """Return the shortest form of a sum, with sums of parameters as factors or expanded."""
    bases = [total]
    if any(symbol in ring.sums for symbol in total.free_symbols):
        try:
            bases.insert(0, ring.expand(total))
        except TooLarge:
            return factor_sum(ring.restored(total))
    return _preferred(form for base in bases for form in _forms(ring, base))


def _forms(ring: Ring, total: Formula) -> Iterator[Formula]:
    """Yield forms of a sum of products, preferred ones first."""
    ring.require_time()
    angles = {ring.trig[symbol][0] for symbol in total.free_symbols if symbol in ring.trig}
    if angles and len(terms(total)) <= _MANY_TERMS:
        yield from _by_parameters(ring, total)
    if angles:
        yield factor_sum(ring.restored(ring.reduced(total, angles)))
    yield factor_sum(ring.restored(total))
    if angles:
        yield factor_sum(ring.restored(ring.waves(total)))


def _by_parameters(ring: Ring, total: Formula) -> Iterator[Formula]:
    """Simplify the trigonometric factor of each product of parameters, by coordinates or not."""
    groups = grouped(total, lambda base: base not in ring.trig and not base.is_Number)
    out = []
    for outside, parts in groups.items():
        waves = _trigonometric(ring, se.Add(*parts))
        out += [ring.restored(outside) * part for part in terms(waves)]
    yield collect(se.Add(*out), is_trigonometric)
    yield factor_sum(se.Add(*out))


def is_trigonometric(factor: Formula) -> bool:
    """True if a factor contains a sine or a cosine."""
    return bool(factor.atoms(se.sin, se.cos))


@_cached
def _trigonometric(ring: Ring, total: Formula) -> Formula:
    """Return the shortest form of numbers times sines and cosines."""
    squared = {ring.trig[b][0] for term in terms(total) for b, e in factors(term) if b in ring.trig and int(e) > 1}
    by_sines: set[int] = set()
    best = factor_sum(ring.restored(total))
    for index in sorted(squared):
        other = factor_sum(ring.restored(ring.reduced(total, by_sines | {index})))
        if se.count_ops(other) <= se.count_ops(best):
            best, by_sines = other, by_sines | {index}
    return _shortest([best, factor_sum(ring.restored(ring.waves(total)))])
