"""Named intermediates for long expressions; rows of velocity terms in terms of common subexpressions.

Such rows, as b_k = Σ c_ij sin(θ_i − θ_j) ω_j² along a chain of bodies, become short with names for the rates of summed angles,
ω₂ = q̇₁ + q̇₂, and for the coefficients c sin(…) that occur in several rows.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from time import thread_time

import symengine as se

from dalembert.display.math._factor import factor_sum, factors, number_in, terms
from dalembert.display.math.simplify import is_trigonometric, simplify, sum_of_waves_of
from dalembert.symbolic.formula_writer import rebuild
from dalembert.symbolic.symbols import Formula, SymbolKind, fold

LONG_LINE = 40  # operations in one line, above which repeated parts get names
MAX_LINE = 120  # operations in one line, above which other parts get names too
TRIVIAL = 4  # operations of a part that needs no name
Line = tuple[str, Formula]  # a name and its expression
Products = dict[Formula, dict[Formula, Formula]]  # coefficient -> product of velocities -> number
_MAX_RATIO = 0.8  # length of rows with shared terms relative to separate rows
_MAX_UNNAMED = 2  # operations of a coefficient that needs no name


def operations(expressions: Sequence[Formula]) -> int:
    """Return the number of operations of expressions whose shared parts are computed once."""
    if not expressions:
        return 0
    shared, results = se.cse(list(expressions))
    return sum(int(se.count_ops(part)) for part in (*(part for _, part in shared), *results))


def name_parts(
    expressions: Sequence[Formula], taken: Collection[str], lines: Sequence[Line] = ()
) -> tuple[list[Line], list[Formula]]:
    """Return named intermediates in order of computation, and the expressions in terms of these names.

    `lines` are lines whose names the expressions use already. In long expressions other parts get numbered names. Short
    expressions stay unchanged. `taken` are the names in use.

    >>> x, y = se.symbols("x y")
    >>> name_parts([x + y], ["x", "y"])
    ([], [x + y])
    """
    known = list(lines)
    if all(se.count_ops(expression) <= LONG_LINE for expression in (*expressions, *(value for _, value in known))):
        return known, list(expressions)
    names = [name for name, _ in known]
    values = [*(value for _, value in known), *expressions]
    shared, results = se.cse(values)
    naming = _Naming()
    for symbol, part in shared:
        naming.define(symbol, part)
    results = [naming.split_long_lines(naming.known(result)) for result in results]
    found, results = _used_again(naming.found, results)
    return _ordered(names, found, results, _free_names({*taken, *names}))


def uses(expression: Formula) -> Counter[Formula]:
    """Count the occurrences of each symbol in an expression."""
    found: Counter[Formula] = Counter()
    stack = [se.sympify(expression)]
    while stack:
        node = stack.pop()
        if node.is_Symbol:
            found[node] += 1
        stack += node.args
    return found


class _Naming:
    """Names parts of expressions, keeps trivial parts inline, and splits expressions that are too long."""

    def __init__(self) -> None:
        self.found: list[tuple[Formula, Formula]] = []
        self._table: dict[Formula, Formula] = {}
        self._named: dict[Formula, Formula] = {}
        self._own: set[Formula] = set()

    def known(self, expression: Formula) -> Formula:
        """Return the expression with every shared part by its name or inline."""
        return _by_table(se.sympify(expression), self._table)

    def define(self, symbol: Formula, part: Formula) -> None:
        """Record a shared part: by a name, or inline if it is trivial."""
        part = self.known(part)
        self._table[symbol] = self._name(self.split_long_lines(part))

    def split_long_lines(self, expression: Formula) -> Formula:
        """Name parts of the expression until it is short."""
        if se.count_ops(expression) <= LONG_LINE or isinstance(expression, se.Piecewise):
            return expression
        parts = [self.split_long_lines(part) for part in expression.args]
        if isinstance(expression, se.Add | se.Mul):
            return self._bundled(type(expression), parts)
        return rebuild(expression, [self._name(part) for part in parts])

    def _bundled(self, kind: Formula, parts: list[Formula]) -> Formula:
        """Name the longest operands of a sum or product, and groups of operands if there are many."""
        ordered = sorted(parts, key=lambda part: (se.count_ops(part), str(part)))
        while se.count_ops(kind(*ordered)) > LONG_LINE and se.count_ops(ordered[-1]) > LONG_LINE // 3:
            ordered = [self._name(ordered[-1]), *ordered[:-1]]
        out, bundle = [], []
        for part in ordered:
            if bundle and se.count_ops(kind(*bundle, part)) > LONG_LINE:
                out.append(self._name(kind(*bundle)))
                bundle = []
            bundle.append(part)
        return kind(*out, *bundle)

    def _name(self, part: Formula) -> Formula:
        # parts as short as a name: a number times a name, a sine, a small product
        plain = not self._own.intersection(part.free_symbols)
        if se.count_ops(part) <= (TRIVIAL if plain else 1):
            return part
        if part not in self._named:
            symbol = se.Symbol(f"@{len(self.found)}")
            self.found.append((symbol, part))
            self._named[part] = symbol
            self._own.add(symbol)
        return self._named[part]


def _used_again(
    found: list[tuple[Formula, Formula]], results: list[Formula]
) -> tuple[list[tuple[Formula, Formula]], list[Formula]]:
    """Inline parts that are used once, unless the line becomes too long."""
    lines: dict[Formula | int, Formula] = {**dict(found), **dict(enumerate(results))}
    users: dict[Formula, set[Formula | int]] = {symbol: set() for symbol, _ in found}
    for key, value in lines.items():
        for symbol in value.free_symbols & users.keys():
            users[symbol].add(key)
    for symbol in reversed([symbol for symbol, _ in found]):
        if len(users[symbol]) != 1:
            continue
        (user,) = users[symbol]
        after = lines[user].xreplace({symbol: lines[symbol]})
        if se.count_ops(after) > MAX_LINE or uses(lines[user])[symbol] > 1:
            continue
        lines[user] = after
        for inner in lines.pop(symbol).free_symbols & users.keys():
            users[inner] = users[inner] - {symbol} | {user}
    remaining = [(symbol, lines[symbol]) for symbol, _ in found if symbol in lines]
    return remaining, [lines[k] for k in range(len(results))]


def _by_table(expression: Formula, table: Mapping[Formula, Formula]) -> Formula:
    """Substitute the symbols of an expression from a table; only the needed part, since large tables are slow."""
    return expression.xreplace({symbol: table[symbol] for symbol in expression.free_symbols & table.keys()})


def _ordered(
    names: Sequence[str], found: list[tuple[Formula, Formula]], results: list[Formula], free: Iterator[str]
) -> tuple[list[Line], list[Formula]]:
    """Return lines in order of computation, numbered in this order; the first results are those of the names."""
    waiting = {se.Symbol(name): value for name, value in zip(names, results, strict=False)}
    lines: list[tuple[Formula, Formula]] = []
    table: dict[Formula, Formula] = {}

    def add(symbol: Formula, value: Formula) -> None:
        for other in sorted(value.free_symbols & waiting.keys(), key=str):
            if other != symbol:
                add(other, waiting.pop(other))
        lines.append((symbol, value))

    for symbol, value in found:
        add(symbol, value)
    for symbol in list(waiting):
        if symbol in waiting:
            add(symbol, waiting.pop(symbol))
    for symbol, _ in lines:
        table[symbol] = se.Symbol(next(free)) if symbol.name.startswith("@") else symbol
    written = [(table[symbol].name, _by_table(value, table)) for symbol, value in lines]
    return written, [_by_table(result, table) for result in results[len(names) :]]


def _free_names(taken: Collection[str]) -> Iterator[str]:
    """Yield z1, z2, ..., with more letters z if the user has such names."""
    prefixes = ("z" * k for k in itertools.count(1))
    prefix = next(p for p in prefixes if not any(n.startswith(p) and n[len(p) :].isdigit() for n in taken))
    return (f"{prefix}{k}" for k in itertools.count(1))


def rows_by_shared_terms(
    entries: Sequence[Formula],
    coordinates: Collection[str],
    velocities: Collection[str],
    taken: Collection[str],
    seconds: float = 10.0,
) -> tuple[list[Line], list[Formula]] | None:
    """Return named rates and coefficients in order of computation, and the rows in terms of these names.

    None if the rows are too long.

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
    names = _indexed_names("c", {*taken, *(name for name, _ in lines)}, 1)
    named: dict[Formula, Formula] = {}
    for coefficient in sorted(counts, key=str):
        if counts[coefficient] > 1 and se.count_ops(coefficient) > _MAX_UNNAMED:
            name = next(names)
            lines.append((name, coefficient))
            named[coefficient] = se.Symbol(name)
    written = [_row(row, named) for row in rows]
    used = set().union(*(row.free_symbols for row in written))
    return [line for line in lines if se.Symbol(line[0]) in used], written


def simplify_rows(
    entries: Sequence[Formula],
    coordinates: Collection[str],
    velocities: Collection[str],
    taken: Collection[str],
    seconds: float = 10.0,
) -> tuple[list[Line], list[Formula]]:
    """Return named lines and the rows: each row in short form, or all in terms of shared parts if that is shorter."""
    moving, until = set(velocities), thread_time() + seconds
    rows = [simplify(entry, moving, until - thread_time()) for entry in entries]
    shared = rows_by_shared_terms(entries, coordinates, moving, taken, until - thread_time())
    if shared is None or operations([*shared[1], *(line for _, line in shared[0])]) > _MAX_RATIO * operations(rows):
        return [], rows
    return shared


def _products(total: Formula, moving: Collection[str]) -> Products:
    """Return a row as Σ coefficient · Σ number · product of velocities."""
    parts: defaultdict[tuple[Formula, Formula], list[Formula]] = defaultdict(list)
    for term in terms(total) if total != 0 else ():
        speed = se.Mul(*(b**e for b, e in factors(term) if b.is_Symbol and b.name in moving))
        wave = se.Mul(*(b**e for b, e in factors(term) if not b.is_Number and is_trigonometric(b)))
        parts[speed, wave].append(term / speed / wave)
    out: Products = {}
    for (speed, wave), group in parts.items():
        number, rest = _normalised(se.Add(*group))
        row = out.setdefault(wave * factor_sum(rest), {})
        row[speed] = row.get(speed, se.Integer(0)) + number
    return out


def _normalised(total: Formula) -> tuple[Formula, Formula]:
    """Return a number and the sum divided by it, so that sums equal up to a number give the same sum."""
    counts = Counter(number_in(term) for term in terms(total))
    number = max(counts, key=lambda n: (counts[n], abs(float(n)), str(n)))
    first = number_in(min(terms(total), key=lambda term: str(term / number_in(term))))
    number = abs(number) if float(first) > 0 else -abs(number)
    return number, se.expand(total / number)


def _row(row: Products, named: dict[Formula, Formula]) -> Formula:
    out = []
    for coefficient, speeds in row.items():
        out.append(
            named.get(coefficient, coefficient) * factor_sum(se.Add(*(n * speed for speed, n in speeds.items())))
        )
    return factor_sum(se.Add(*out))


def absolute_rates(
    entries: Sequence[Formula], coordinates: Collection[str], taken: Collection[str]
) -> tuple[list[Line], dict[Formula, Formula]]:
    """Return ω's as sums of rates, and the rates in terms of the ω's, for the sums of coordinates in sines and cosines.

    Only sums that add one coordinate to a previous sum, as along a chain of bodies.

    >>> q1, q2, v1, v2 = se.symbols("q1 q2 dot(q1) dot(q2)")
    >>> absolute_rates([se.sin(q1) * se.sin(q1 + q2) * v1 * v2], ["q1", "q2"], [])
    ([('omega2', dot(q1) + dot(q2))], {dot(q2): -dot(q1) + omega2})
    """
    names = _indexed_names("omega", taken, 2)
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
            rate = {symbol: se.Symbol(SymbolKind.RATE.of(symbol.name)) for symbol in argument.free_symbols}
            lines.append((next(names), argument.xreplace(rate)))
            others = (argument - last).xreplace(rate).xreplace(table)
            sign = number_in(last)
            table[rate[last / sign]] = se.expand(sign * (se.Symbol(lines[-1][0]) - others))
    return lines, table


def _sums(entries: Sequence[Formula], coordinates: Collection[str]) -> list[Formula]:
    """Return the sums and differences of coordinates in sines and cosines, short ones first."""
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


def _indexed_names(letter: str, taken: Collection[str], first: int) -> Iterator[str]:
    """Yield letter1, letter2, ..., with another underscore if such names are in use."""
    prefixes = (letter + "_" * k for k in itertools.count())
    prefix = next(p for p in prefixes if not any(name.startswith(p) and name != p for name in taken))
    return (f"{prefix}{k}" for k in itertools.count(first))
