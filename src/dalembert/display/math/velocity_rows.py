"""Rows of velocity terms through what they share, as b_k = Σ c_ij sin(θ_i − θ_j) ω_j² along a chain of bodies.

Two things make such rows short: rates of summed angles have names, ω₂ = q̇₁ + q̇₂, and so have the coefficients c sin(…) that
stand in several rows.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from time import thread_time

import symengine as se

from dalembert.display.math.factor import collected, factors, number_in, terms
from dalembert.display.math.intermediates import operations
from dalembert.display.math.simplify import sum_of_waves_of, tidy, turns
from dalembert.symbolic.symbols import Formula, Kind, fold

Line = tuple[str, Formula]  # a name and what it stands for
Products = dict[Formula, dict[Formula, Formula]]  # coefficient -> product of velocities -> number

_GAIN = 0.8  # how long rows by shared terms may be against rows by themselves
_NAMELESS = 2  # operations of a coefficient that needs no name


def rows_by_shared_terms(
    entries: Sequence[Formula],
    coordinates: Collection[str],
    velocities: Collection[str],
    taken: Collection[str],
    seconds: float = 10.0,
) -> tuple[list[Line], list[Formula]] | None:
    """(named rates and coefficients in the order they can be computed, the rows by these names).

    None where the rows are too long for it.

    >>> q1, q2, v1, v2, l, m = se.symbols("q1 q2 dot(q1) dot(q2) l m")
    >>> rows = [l * m * se.sin(q2) * v1**2, -l * m * se.sin(q2) * v1 * v2]
    >>> rows_by_shared_terms(rows, ["q1", "q2"], ["dot(q1)", "dot(q2)"], [])
    ([('c1', l*m*sin(q2))], [c1*dot(q1)**2, -c1*dot(q1)*dot(q2)])
    """
    lines, table = absolute_rates(entries, coordinates, taken)
    moving = {*velocities, *(name for name, _ in lines)}
    rows: list[Products] = []
    for entry in entries:
        total = sum_of_waves_of(se.sympify(entry).xreplace(table), moving, seconds / len(entries))
        if total is None:
            return None
        rows.append(_products(total, moving))
    counts = Counter(coefficient for row in rows for coefficient in row)
    names = _free_names("c", {*taken, *(name for name, _ in lines)}, 1)
    named: dict[Formula, Formula] = {}
    for coefficient in sorted(counts, key=str):
        if counts[coefficient] > 1 and se.count_ops(coefficient) > _NAMELESS:
            name = next(names)
            lines.append((name, coefficient))
            named[coefficient] = se.Symbol(name)
    return _only_used(lines, [_row(row, named) for row in rows])


def tidy_rows(
    entries: Sequence[Formula],
    coordinates: Collection[str],
    velocities: Collection[str],
    taken: Collection[str],
    seconds: float = 10.0,
) -> tuple[list[Line], list[Formula]]:
    """(named lines, the rows by these names): each row in short form, or all by what they share where that is shorter."""
    moving, until = set(velocities), thread_time() + seconds
    rows = [tidy(entry, moving, until - thread_time()) for entry in entries]
    shared = rows_by_shared_terms(entries, coordinates, moving, taken, until - thread_time())
    if shared is None or operations([*shared[1], *(line for _, line in shared[0])]) > _GAIN * operations(rows):
        return [], rows
    return shared


def _products(total: Formula, moving: Collection[str]) -> Products:
    """A row as Σ coefficient · Σ number · product of velocities."""
    parts: defaultdict[tuple[Formula, Formula], list[Formula]] = defaultdict(list)
    for term in terms(total) if total != 0 else ():
        speed = se.Mul(*(b**e for b, e in factors(term) if b.is_Symbol and b.name in moving))
        wave = se.Mul(*(b**e for b, e in factors(term) if not b.is_Number and turns(b)))
        parts[speed, wave].append(term / speed / wave)
    out: Products = {}
    for (speed, wave), group in parts.items():
        number, rest = _normalised(se.Add(*group))
        row = out.setdefault(wave * collected(rest), {})
        row[speed] = row.get(speed, se.Integer(0)) + number
    return out


def _normalised(total: Formula) -> tuple[Formula, Formula]:
    """(a number, the sum without it): equal sums up to a number give one sum, most of whose terms have none."""
    counts = Counter(number_in(term) for term in terms(total))
    number = max(counts, key=lambda n: (counts[n], abs(float(n)), str(n)))
    first = number_in(min(terms(total), key=lambda term: str(term / number_in(term))))
    number = abs(number) if float(first) > 0 else -abs(number)
    return number, se.expand(total / number)


def _row(row: Products, named: dict[Formula, Formula]) -> Formula:
    out = []
    for coefficient, speeds in row.items():
        out.append(named.get(coefficient, coefficient) * collected(se.Add(*(n * speed for speed, n in speeds.items()))))
    return collected(se.Add(*out))


def _only_used(lines: Sequence[Line], rows: list[Formula]) -> tuple[list[Line], list[Formula]]:
    used = set().union(*(row.free_symbols for row in rows)) if rows else set()
    return [line for line in lines if se.Symbol(line[0]) in used], rows


def absolute_rates(
    entries: Sequence[Formula], coordinates: Collection[str], taken: Collection[str]
) -> tuple[list[Line], dict[Formula, Formula]]:
    """(ω's as sums of rates, the rates by the ω's) for the sums of coordinates that sines and cosines are taken of.

    Only sums that add one coordinate to what is there already, as along a chain of bodies.

    >>> q1, q2, v1, v2 = se.symbols("q1 q2 dot(q1) dot(q2)")
    >>> absolute_rates([se.sin(q1) * se.sin(q1 + q2) * v1 * v2], ["q1", "q2"], [])
    ([('omega2', dot(q1) + dot(q2))], {dot(q2): -dot(q1) + omega2})
    """
    names = _free_names("omega", taken, 2)
    lines: list[Line] = []
    table: dict[Formula, Formula] = {}
    reached: set[Formula] = set()
    for argument in _sums(entries, coordinates):
        new = [term for term in terms(argument) if term / number_in(term) not in reached]
        if len(terms(argument)) == 1:
            reached |= argument.free_symbols if not reached else set()
        elif len(new) == 1:
            reached |= argument.free_symbols
            (last,) = new
            rate = {symbol: se.Symbol(Kind.RATE.of(symbol.name)) for symbol in argument.free_symbols}
            lines.append((next(names), argument.xreplace(rate)))
            others = (argument - last).xreplace(rate).xreplace(table)
            sign = number_in(last)
            table[rate[last / sign]] = se.expand(sign * (se.Symbol(lines[-1][0]) - others))
    return lines, table


def _sums(entries: Sequence[Formula], coordinates: Collection[str]) -> list[Formula]:
    """The sums and differences of coordinates under sines and cosines, the short ones first."""
    symbols = {se.Symbol(name) for name in coordinates}
    found: set[Formula] = set()

    def visit(node: Formula, parts: list[None]) -> None:
        if isinstance(node, se.sin | se.cos):
            units = {term / number_in(term) for term in terms(node.args[0]) if number_in(term) ** 2 == 1}
            if len(units) == len(terms(node.args[0])) and units <= symbols:
                found.add(node.args[0])

    for entry in entries:
        fold(se.sympify(entry), lambda node: node.args, visit)
    return sorted(found, key=lambda argument: (len(terms(argument)), str(argument)))


def _free_names(letter: str, taken: Collection[str], first: int) -> Iterator[str]:
    """letter1, letter2, ... with an underscore more where such names are in use."""
    prefixes = (letter + "_" * k for k in itertools.count())
    prefix = next(p for p in prefixes if not any(name.startswith(p) and name != p for name in taken))
    return (f"{prefix}{k}" for k in itertools.count(first))
