"""½ xᵀM⁻¹x as people write it: with named entries of M and its determinant, or as a sum of squares, whichever is shorter.

M falls into blocks that do not see each other; each is inverted by itself. For reading only: over SymEngine's expressions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import symengine as se

from dalembert.algebra import Array
from dalembert.equations.quantities import Short
from dalembert.expressions import Kind
from dalembert.expressions.formula import Formula
from dalembert.kinematics.energies import kinetic, potential
from dalembert.structure.system import System

Line = tuple[str, Formula]  # a name and what it stands for

_BY_HAND = 3  # unknowns up to which all orders and the determinant are tried
_NAMELESS = 2  # operations of an entry that needs no name


@dataclass(frozen=True)
class Named:
    """An expression through named lines, in the order they can be computed."""

    lines: tuple[Line, ...]
    value: Formula

    @property
    def operations(self) -> int:
        """Of all lines together."""
        return int(se.count_ops(self.value)) + sum(int(se.count_ops(value)) for _, value in self.lines)

    @property
    def written_out(self) -> Formula:
        """The expression without names."""
        out = self.value
        for name, value in reversed(self.lines):
            out = out.xreplace({se.Symbol(name): value})
        return out

    def by(self, symbol: Formula) -> Named:
        """Its derivative by a symbol that no line contains, such as a momentum: q̇ = ∂H/∂p."""
        return Named(self.lines, se.diff(self.value, symbol))


def hamiltonian(system: System, short: Short) -> Named:
    """H = ½ (p − a)ᵀM⁻¹(p − a) − T₀ + V of T = ½ q̇ᵀM q̇ + a·q̇ + T₀, which is (5.275) of papers/desapio.

    `short` brings arrays of expressions to a short form. p are the symbols `Kind.MOMENTUM` of the coordinates.

    >>> from dalembert import gallery, structure
    >>> found = hamiltonian(structure.system_of(gallery.load("simple-pendulum"), "symbolic"), lambda value: value)
    >>> found.lines
    ()
    """
    algebra, qd = system.algebra, system.qd
    p = algebra.symbols([Kind.MOMENTUM.of(name) for name in system.model.coordinate_names])
    T, V = kinetic(system.motion, qd), potential(system.motion)
    momenta = algebra.gradient(T - V, qd)  # (5.270)
    rest = {str(x): 0 for x in qd}
    a, at_rest = algebra.substitute(momenta, rest), algebra.substitute(np.array([V - T], dtype=object), rest)
    square = half_square(algebra.jacobian(momenta, qd), p - short(a), short)  # (5.278)
    (height,) = short(at_rest)
    return Named(square.lines, square.value + height)


def half_square(M: Array, x: Array, short: Short, letter: str = "M", determinant: str = "D") -> Named:
    """½ xᵀM⁻¹x for a symmetric M, by named entries M[i,j] and determinants D, or by squares.

    >>> a, b, c, x, y = se.symbols("a b c x y")
    >>> half_square(np.array([[a, b], [b, c]], dtype=object), np.array([x, y], dtype=object), lambda value: value).value
    (1/2)*(a*y**2 + c*x**2 - 2*b*x*y)/(a*c - b**2)
    """
    M = short(M)
    blocks = _blocks(M)
    lines: list[Line] = []
    total = se.Integer(0)
    for number, block in enumerate(blocks):
        name = determinant if sum(len(b) > 1 for b in blocks) < 2 else f"{determinant}[{number + 1}]"
        ways = list(_ways(M, x, block, short, letter, name))
        best = min(ways, key=lambda way: way.operations)
        lines += best.lines
        total += best.value
    return Named(tuple(lines), total)


def _blocks(M: Array) -> list[list[int]]:
    """The rows that see each other through entries that are not zero."""
    left, out = list(range(len(M))), []
    while left:
        block = [left.pop(0)]
        for i in block:
            seen = [j for j in left if M[i, j] != 0]
            block += seen
            left = [j for j in left if j not in seen]
        out.append(sorted(block))
    return out


def _ways(M: Array, x: Array, block: Sequence[int], short: Short, letter: str, determinant: str) -> Iterator[Named]:
    if len(block) == 1:
        (i,) = block
        yield Named((), x[i] ** 2 / (2 * M[i, i]))
        return
    table = _Table(letter)
    named = {(i, j): table.called(min(i, j), max(i, j), M[i, j]) for i in block for j in block}
    orders = itertools.permutations(block) if len(block) <= _BY_HAND else (tuple(block),)
    if len(block) <= _BY_HAND:
        yield _by_cofactors(M, named, x, block, short, table, determinant)
        yield from (_by_squares(M, x, order, lambda entry: _one(short, entry)) for order in orders)
    else:
        yield _by_named_squares(M, x, block, short)


class _Table:
    """Names of the entries of a matrix."""

    def __init__(self, letter: str) -> None:
        self._letter = letter
        self.lines: dict[str, Formula] = {}

    def called(self, i: int, j: int, entry: Formula) -> Formula:
        """An entry by its name, or as it is where it is short."""
        entry = se.sympify(entry)
        if se.count_ops(entry) <= _NAMELESS:
            return entry
        name = f"{self._letter}[{i + 1},{j + 1}]"
        self.lines[name] = entry
        return se.Symbol(name)


def _one(short: Short, entry: Formula) -> Formula:
    return short(np.array([entry], dtype=object))[0]


def _by_cofactors(
    M: Array,
    named: dict[tuple[int, int], Formula],
    x: Array,
    block: Sequence[int],
    short: Short,
    table: _Table,
    determinant: str,
) -> Named:
    """½ xᵀ adj(M) x / det M in named entries."""
    entries = np.array([[named[i, j] for j in block] for i in block], dtype=object)
    plain = np.array([[M[i, j] for j in block] for i in block], dtype=object)
    D = min(_determinant(entries), _one(short, _determinant(plain)), key=se.count_ops)
    n = len(block)
    above = []
    for i in range(n):
        for j in range(i, n):
            minor = np.delete(np.delete(entries, i, 0), j, 1)
            cofactor = (-1) ** (i + j) * _determinant(minor) * (1 if i == j else 2)
            above.append(cofactor * x[block[i]] * x[block[j]])
    lines = dict(table.lines)
    below = D
    if se.count_ops(D) > _NAMELESS + 3:
        lines[determinant], below = D, se.Symbol(determinant)
    return _only_used(lines, se.Add(*above) / (2 * below))


def _only_used(lines: dict[str, Formula], value: Formula) -> Named:
    """Names that the value or a later line uses."""
    kept: list[Line] = []
    used = set(value.free_symbols)
    for name, line in reversed(lines.items()):
        if se.Symbol(name) in used:
            kept.append((name, line))
            used |= line.free_symbols
    return Named(tuple(reversed(kept)), value)


def _determinant(M: Array) -> Formula:
    if len(M) == 0:
        return se.Integer(1)
    if len(M) == 1:
        return M[0, 0]
    signs = itertools.cycle((1, -1))
    minors = (np.delete(M[1:], j, 1) for j in range(len(M)))
    return se.Add(*(s * a * _determinant(m) for s, a, m in zip(signs, M[0], minors, strict=False) if a != 0))


def _by_squares(M: Array, x: Array, order: Sequence[int], change: Callable[[Formula], Formula]) -> Named:
    """Σ (x_k − Σ l_kj x_j)² / 2 d_k, the rows eliminated in this order: the last one keeps x itself."""
    rest = {(i, j): M[i, j] for i in order for j in order}
    x = x.copy()
    out = []
    for step, k in enumerate(order):
        pivot, behind = rest[k, k], order[step + 1 :]
        out.append(x[k] ** 2 / (2 * pivot))
        ratio = {i: change(rest[i, k] / pivot) for i in behind}
        for i in behind:
            x[i] = x[i] - ratio[i] * x[k]
            for j in behind:
                rest[i, j] = change(rest[i, j] - ratio[i] * rest[k, j])
    return Named((), se.Add(*out))


def _by_named_squares(M: Array, x: Array, block: Sequence[int], short: Short) -> Named:
    """The same for many rows, with a name for every entry that is not short."""
    lines: dict[str, Formula] = {}
    known: dict[Formula, Formula] = {}
    numbers = itertools.count(1)

    def change(entry: Formula) -> Formula:
        entry = _one(short, entry)
        if se.count_ops(entry) <= _NAMELESS:
            return entry
        if entry not in known:
            name = f"S[{next(numbers)}]"
            lines[name], known[entry] = entry, se.Symbol(name)
        return known[entry]

    M = M.copy()
    for i in block:
        for j in block:
            M[i, j] = change(M[i, j])
    return _only_used(lines, _by_squares(M, x, tuple(block), change).value)
