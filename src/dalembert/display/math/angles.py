"""The angles behind the sines and cosines of an expression: few of them, each argument a whole combination of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import symengine as se

from dalembert.display.math.factor import number_in, terms
from dalembert.symbolic.symbols import Formula

Vector = dict[Formula, Fraction]  # an argument as a sum of multiples of its parts
_MOST = 6  # how often one argument may contain angles


class Angles:
    """A basis of the arguments that occur: sums of angles stay together where all others follow from them.

    `arguments` come in the order of their importance; of equally important ones the shortest is taken first.

    >>> x, y = se.symbols("x y")
    >>> found = Angles([], [x + y, x, 2 * x + y])
    >>> found.basis, found.counts(2 * x + y)
    ([x, x + y], {0: 1, 1: 1})
    """

    def __init__(self, important: Iterable[Formula], arguments: Iterable[Formula]) -> None:
        groups = [_shortest_first(important), _shortest_first(arguments)]
        vectors = [_vector(argument) for group in groups for argument in group]
        chosen = _chosen(vectors)
        self._vectors = _singles(vectors) if chosen is None else chosen
        self.basis: list[Formula] = [_sum(vector) for vector in self._vectors]

    def counts(self, argument: Formula) -> dict[int, int]:
        """How often each angle of the basis is in an argument; the argument itself joins the basis where it does not fit."""
        vector = _vector(argument)
        found = _coordinates(self._vectors, vector)
        if found is None or not _is_short(found):
            self._vectors.append(vector)
            self.basis.append(argument)
            return {len(self.basis) - 1: 1}
        return {index: int(count) for index, count in enumerate(found) if count}


def _shortest_first(arguments: Iterable[Formula]) -> list[Formula]:
    return sorted(set(arguments), key=lambda a: (len(_vector(a)), sum(map(abs, _vector(a).values())), str(a)))


def _vector(argument: Formula) -> Vector:
    out: Vector = {}
    for term in terms(argument):
        number = number_in(term)
        rest = term / number
        whole = isinstance(number, se.Rational) and not rest.is_Number
        key, factor = (rest, Fraction(int(number.p), int(number.q))) if whole else (term, Fraction(1))
        out[key] = out.get(key, Fraction(0)) + factor
    return out


def _sum(vector: Vector) -> Formula:
    return se.Add(*(se.Integer(k.numerator) / se.Integer(k.denominator) * part for part, k in vector.items()))


def _is_short(coordinates: Sequence[Fraction]) -> bool:
    return all(k.denominator == 1 for k in coordinates) and sum(map(abs, coordinates)) <= _MOST


def _chosen(vectors: Sequence[Vector]) -> list[Vector] | None:
    """The first vectors that all others are short whole combinations of; None where they do not exist."""
    basis: list[Vector] = []
    for vector in vectors:
        found = _coordinates(basis, vector)
        if found is None:
            basis.append(vector)
        elif not _is_short(found):
            return None
    return basis


def _singles(vectors: Sequence[Vector]) -> list[Vector]:
    """Each part by itself, as small a piece of it as occurs."""
    pieces: dict[Formula, int] = {}
    for vector in vectors:
        for part, k in vector.items():
            pieces[part] = math.lcm(pieces.get(part, 1), k.denominator)
    return [{part: Fraction(1, piece)} for part, piece in pieces.items()]


def _coordinates(basis: Sequence[Vector], vector: Vector) -> list[Fraction] | None:
    """The vector by the basis, None where it is independent of it: elimination of the parts one by one."""
    rows = [dict(b) for b in basis]
    shares = [{i: Fraction(1)} for i in range(len(basis))]  # each row as a combination of the basis
    rest, out = dict(vector), [Fraction(0)] * len(basis)
    for i, row in enumerate(rows):
        pivot = next((part for part, k in row.items() if k), None)
        if pivot is None:
            continue
        for j in range(i + 1, len(rows)):
            if factor := rows[j].get(pivot, Fraction(0)) / row[pivot]:
                _subtract(rows[j], row, factor)
                _subtract(shares[j], shares[i], factor)
        if factor := rest.get(pivot, Fraction(0)) / row[pivot]:
            _subtract(rest, row, factor)
            for k, share in shares[i].items():
                out[k] += factor * share
    return None if any(rest.values()) else out


def _subtract(a: dict, b: dict, factor: Fraction) -> None:
    for key, value in b.items():
        a[key] = a.get(key, Fraction(0)) - factor * value
