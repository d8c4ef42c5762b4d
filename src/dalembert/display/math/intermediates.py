"""Long expressions through named intermediates: names of the mechanics first, then z-numbers, so that no line is a wall."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import symengine as se

from dalembert.display.math.factor import factors, number_in, terms
from dalembert.symbolic.formula_writer import rebuild
from dalembert.symbolic.symbols import Formula, fold

WALL = 40  # operations in one line, above which parts that return get names
MOST = 120  # operations in one line, above which parts that do not return get names too
TRIVIAL = 4  # operations of a part that needs no name
_LONG = 12  # operations of a part that may have a name of its own though it is used once

Line = tuple[str, Formula]  # a name and what it stands for


def operations(expressions: Sequence[Formula]) -> int:
    """The operations of expressions whose shared parts are computed once."""
    if not expressions:
        return 0
    shared, results = se.cse(list(expressions))
    return sum(int(se.count_ops(part)) for part in (*(part for _, part in shared), *results))


def name_parts(
    expressions: Sequence[Formula],
    taken: Collection[str],
    preferred: Mapping[str, Formula] | None = None,
    given: Sequence[Line] = (),
) -> tuple[list[Line], list[Formula]]:
    """(named intermediates in the order they can be computed, the expressions by these names).

    `preferred` are names that mean something, each with what it stands for, in the order they can be computed; they are used
    where their parts return. `given` are lines whose names the expressions use already. Other parts get numbers where expressions
    are long. Short expressions stay as they are. `taken` are the names that are in use.

    >>> x, y, m = se.symbols("x y m")
    >>> name_parts([x + y], ["x", "y"])
    ([], [x + y])
    >>> name_parts([m * x / (m + x), y**2 * m * x / (m + x)], [], {"mu": m * x / (m + x)})
    ([('mu', m*x/(m + x))], [mu, y**2*mu])
    """
    known, expressions = _with_preferred(expressions, preferred or {})
    known = [*given, *known]
    if all(se.count_ops(expression) <= WALL for expression in (*expressions, *(value for _, value in known))):
        return known, list(expressions)
    names = [name for name, _ in known]
    values = [*(value for _, value in known), *expressions]
    shared, results = se.cse(values)
    naming = _Naming()
    for symbol, part in shared:
        naming.define(symbol, part)
    results = [naming.without_walls(naming.known(result)) for result in results]
    found, results = _used_again(naming.found, results)
    return _ordered(names, found, results, _free_names({*taken, *names}))


def _with_preferred(
    expressions: Sequence[Formula], preferred: Mapping[str, Formula]
) -> tuple[list[Line], Sequence[Formula]]:
    """The preferred names that are used, and the expressions by them; the longest parts are looked for first."""
    used: dict[str, Formula] = {}
    for name, part in sorted(preferred.items(), key=lambda line: -se.count_ops(line[1])):
        length = int(se.count_ops(part))
        if length < 2:
            continue
        symbol = se.Symbol(name)
        shorter = [replaced(expression, part, symbol) for expression in expressions]
        inside = {key: replaced(value, part, symbol) for key, value in used.items()}
        count = sum(uses(expression)[symbol] for expression in (*shorter, *inside.values()))
        if count > 1 or (count and length >= _LONG):
            expressions, used = shorter, {**inside, name: part}
    return [(name, used[name]) for name in preferred if name in used], expressions


def replaced(expression: Formula, part: Formula, symbol: Formula) -> Formula:
    """The expression with a part, a power of it or a multiple of it by its symbol.

    >>> a, b, c, d = se.symbols("a b c d")
    >>> replaced(3 * a + 3 * b + c / (a + b) ** 2, a + b, d)
    3*d + c/d**2
    """

    def build(node: Formula, parts: list[Formula]) -> Formula:
        out = rebuild(node, parts) if parts else node
        if out == part:
            return symbol
        if isinstance(out, se.Mul) and isinstance(part, se.Mul | se.Pow):
            return _without_factors(out, part, symbol)
        if isinstance(out, se.Pow) and isinstance(part, se.Mul | se.Pow):
            return _without_factors(out, part, symbol)
        if isinstance(out, se.Add) and isinstance(part, se.Add):
            return _without_terms(out, part, symbol)
        return out

    return fold(se.sympify(expression), lambda node: node.args, build)


def _without_factors(product: Formula, part: Formula, symbol: Formula) -> Formula:
    have = {base: int(power) for base, power in factors(product) if power.is_Integer and not base.is_Number}
    want = {base: int(power) for base, power in factors(part) if power.is_Integer and not base.is_Number}
    if not want or any(base not in have for base in want):
        return product
    times = [int(have[base] / power) for base, power in want.items()]
    k = min(times) if min(times) > 0 else max(times) if max(times) < 0 else 0
    return product / part**k * symbol**k if k else product


def _without_terms(total: Formula, part: Formula, symbol: Formula) -> Formula:
    have, want = _coefficients(total), _coefficients(part)
    ratios = {have[rest] / number if rest in have else None for rest, number in want.items()}
    ratio = next(iter(ratios))
    if len(ratios) != 1 or ratio is None:
        return total
    return se.Add(*(number * rest for rest, number in have.items() if rest not in want)) + ratio * symbol


def _coefficients(total: Formula) -> dict[Formula, Formula]:
    return {term / number_in(term): number_in(term) for term in terms(total)}


def uses(expression: Formula) -> Counter[Formula]:
    """How often each symbol is written in an expression."""
    found: Counter[Formula] = Counter()
    stack = [se.sympify(expression)]
    while stack:
        node = stack.pop()
        if node.is_Symbol:
            found[node] += 1
        stack += node.args
    return found


class _Naming:
    """Gives names to parts, leaves trivial ones where they stand, and takes walls apart."""

    def __init__(self) -> None:
        self.found: list[tuple[Formula, Formula]] = []
        self._table: dict[Formula, Formula] = {}
        self._named: dict[Formula, Formula] = {}
        self._own: set[Formula] = set()

    def known(self, expression: Formula) -> Formula:
        """The expression with every shared part by its name or as it is."""
        return _by_table(se.sympify(expression), self._table)

    def define(self, symbol: Formula, part: Formula) -> None:
        """Keep a shared part: by a name, or as it is when it is trivial."""
        part = self.known(part)
        self._table[symbol] = self._name(self.without_walls(part))

    def without_walls(self, expression: Formula) -> Formula:
        """The expression with so many of its parts named that it is short."""
        if se.count_ops(expression) <= WALL or isinstance(expression, se.Piecewise):
            return expression
        parts = [self.without_walls(part) for part in expression.args]
        if isinstance(expression, se.Add | se.Mul):
            return self._bundled(type(expression), parts)
        return rebuild(expression, [self._name(part) for part in parts])

    def _bundled(self, kind: Formula, parts: list[Formula]) -> Formula:
        """The sum or product with its longest operands named, and operands in named bundles where there are many."""
        ordered = sorted(parts, key=lambda part: (se.count_ops(part), str(part)))
        while se.count_ops(kind(*ordered)) > WALL and se.count_ops(ordered[-1]) > WALL // 3:
            ordered = [self._name(ordered[-1]), *ordered[:-1]]
        out, bundle = [], []
        for part in ordered:
            if bundle and se.count_ops(kind(*bundle, part)) > WALL:
                out.append(self._name(kind(*bundle)))
                bundle = []
            bundle.append(part)
        return kind(*out, *bundle)

    def _is_trivial(self, part: Formula) -> bool:
        """Whether a part is as short as a name would be: a number times a name, a sine, a small product."""
        plain = not self._own.intersection(part.free_symbols)
        return se.count_ops(part) <= (TRIVIAL if plain else 1)

    def _name(self, part: Formula) -> Formula:
        if self._is_trivial(part):
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
    """What is used once stands where it is used, unless it would make a wall there."""
    lines: dict[Formula | int, Formula] = {**dict(found), **dict(enumerate(results))}
    users: dict[Formula, set[Formula | int]] = {symbol: set() for symbol, _ in found}
    for key, value in lines.items():
        for symbol in value.free_symbols & users.keys():
            users[symbol].add(key)
    for symbol in reversed([symbol for symbol, _ in found]):
        if len(users[symbol]) != 1:
            continue
        (place,) = users[symbol]
        after = lines[place].xreplace({symbol: lines[symbol]})
        if se.count_ops(after) > MOST or uses(lines[place])[symbol] > 1:
            continue
        lines[place] = after
        for inner in lines.pop(symbol).free_symbols & users.keys():
            users[inner] = users[inner] - {symbol} | {place}
    kept = [(symbol, lines[symbol]) for symbol, _ in found if symbol in lines]
    return kept, [lines[k] for k in range(len(results))]


def _by_table(expression: Formula, table: Mapping[Formula, Formula]) -> Formula:
    """The expression with what the table has for its symbols; large tables are slow to hand over."""
    return expression.xreplace({symbol: table[symbol] for symbol in expression.free_symbols & table.keys()})


def _ordered(
    names: Sequence[str], found: list[tuple[Formula, Formula]], results: list[Formula], free: Iterator[str]
) -> tuple[list[Line], list[Formula]]:
    """Lines in the order they can be computed, numbered in this order; the first results are those of the names."""
    waiting = {se.Symbol(name): value for name, value in zip(names, results, strict=False)}
    lines: list[tuple[Formula, Formula]] = []
    table: dict[Formula, Formula] = {}

    def place(symbol: Formula, value: Formula) -> None:
        for other in sorted(value.free_symbols & waiting.keys(), key=str):
            if other != symbol:
                place(other, waiting.pop(other))
        lines.append((symbol, value))

    for symbol, value in found:
        place(symbol, value)
    for symbol in list(waiting):
        if symbol in waiting:
            place(symbol, waiting.pop(symbol))
    for symbol, _ in lines:
        table[symbol] = se.Symbol(next(free)) if symbol.name.startswith("@") else symbol
    written = [(table[symbol].name, _by_table(value, table)) for symbol, value in lines]
    return written, [_by_table(result, table) for result in results[len(names) :]]


def _free_names(taken: Collection[str]) -> Iterator[str]:
    """z1, z2, ..., with more letters z when the user has such names."""
    prefixes = ("z" * k for k in itertools.count(1))
    prefix = next(p for p in prefixes if not any(n.startswith(p) and n[len(p) :].isdigit() for n in taken))
    return (f"{prefix}{k}" for k in itertools.count(1))
