"""Long expressions through named intermediates, so that no line is a wall."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

import symengine as se

from dalembert.expressions.formula import Formula
from dalembert.expressions.numbers import rebuild

WALL = 24  # operations in one line
TRIVIAL = 4  # operations of a part that needs no name


def name_parts(
    expressions: Sequence[Formula], taken: Collection[str]
) -> tuple[list[tuple[str, Formula]], list[Formula]]:
    """(named intermediates in the order they can be computed, the expressions by these names).

    Short expressions stay as they are. `taken` are the names that are in use.

    >>> x, y = se.symbols("x y")
    >>> name_parts([x + y], ["x", "y"])
    ([], [x + y])
    """
    if all(se.count_ops(expression) <= WALL for expression in expressions):
        return [], list(expressions)
    shared, results = se.cse(list(expressions))
    naming = _Naming(taken)
    for symbol, part in shared:
        naming.define(symbol, part)
    return naming.found, [naming.without_walls(naming.known(result)) for result in results]


class _Naming:
    """Gives names to parts, leaves trivial ones where they stand, and takes walls apart."""

    def __init__(self, taken: Collection[str]) -> None:
        self.found: list[tuple[str, Formula]] = []
        self._names = _free_names(taken)
        self._table: dict[Formula, Formula] = {}
        self._named: dict[Formula, Formula] = {}

    def known(self, expression: Formula) -> Formula:
        """The expression with every shared part by its name or as it is."""
        return se.sympify(expression).xreplace(self._table)

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
        """The sum or product with its operands in named bundles."""
        out, bundle = [], []
        for part in sorted(parts, key=lambda part: (se.count_ops(part), str(part))):
            if bundle and se.count_ops(kind(*bundle, part)) > WALL:
                out.append(self._name(kind(*bundle)))
                bundle = []
            bundle.append(part)
        return kind(*out, *bundle)

    def _is_trivial(self, part: Formula) -> bool:
        """Whether a part is as short as a name would be: a number times a name, a sine, a small product."""
        own = {name for name, _ in self.found}
        plain = not any(symbol.name in own for symbol in part.free_symbols)
        return se.count_ops(part) <= (TRIVIAL if plain else 1)

    def _name(self, part: Formula) -> Formula:
        if self._is_trivial(part):
            return part
        if part not in self._named:
            name = next(self._names)
            self.found.append((name, part))
            self._named[part] = se.Symbol(name)
        return self._named[part]


def _free_names(taken: Collection[str]) -> Iterator[str]:
    """z1, z2, ..., with more letters z when the user has such names."""
    prefixes = ("z" * k for k in itertools.count(1))
    prefix = next(p for p in prefixes if not any(n.startswith(p) and n[len(p) :].isdigit() for n in taken))
    return (f"{prefix}{k}" for k in itertools.count(1))
