"""Sums of products over symbols, sines and cosines: where expressions are brought to one form, with sin² + cos² = 1 used up.

Sums of parameters that occur as factors are kept in one piece (`kept`), and so are denominators; both can be multiplied out.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod
from time import thread_time

import symengine as se

from dalembert.display.math._factor import exact_quotient, factored, factors, number, number_in, terms
from dalembert.symbolic.formula_writer import rebuild
from dalembert.symbolic.symbols import Formula

Wave = tuple[str, tuple[int, ...]]  # "sin" or "cos", and how often each angle is in its argument
# of the waves of summed and of subtracted angles; sin·sin and cos·sin carry a minus, each on another side
_SIGNS = {("cos", "cos"): (1, 1), ("sin", "sin"): (-1, 1), ("sin", "cos"): (1, 1), ("cos", "sin"): (1, -1)}
Vector = dict[Formula, Fraction]  # an argument as a sum of multiples of its parts
_MOST = 6  # how often one argument may contain angles


def wave_count(factors: Iterable[tuple[int, str, int]]) -> int:
    """A bound on the number of waves in `sum_of_waves`: a product of n different cosines has 2ⁿ⁻¹.

    >>> wave_count(((0, "sin", 2), (1, "cos", 1)))
    6
    """
    powers: Counter[int] = Counter()
    for index, _, power in factors:
        powers[index] += power
    return prod(power + 1 for power in powers.values())


@lru_cache(maxsize=5_000)
def sum_of_waves(factors: tuple[tuple[int, str, int], ...], angles: tuple[Formula, ...]) -> Formula:
    """The product of sin or cos of the angles to powers, given as (angle, kind, power), written as a sum.

    >>> x, y = se.symbols("x y")
    >>> sum_of_waves(((0, "sin", 1), (0, "cos", 1)), (x, y))
    (1/2)*sin(2*x)
    """
    waves: dict[Wave, int] = {("cos", (0,) * len(angles)): 1}
    for index, kind, power in factors:
        for _ in range(power):
            waves = _times(waves, kind, index)
    halves = se.Integer(2) ** sum(power for *_, power in factors)
    out = []
    for (kind, counts), amount in waves.items():
        if amount:
            argument = se.expand(se.Add(*(n * angle for n, angle in zip(counts, angles, strict=True) if n)))
            out.append(amount / halves * (se.cos if kind == "cos" else se.sin)(argument))
    return se.Add(*out)


def _times(waves: dict[Wave, int], kind: str, index: int) -> dict[Wave, int]:
    """Twice the sum of waves times one more sine or cosine, by the product formulas."""
    out: defaultdict[Wave, int] = defaultdict(int)
    for (name, counts), amount in waves.items():
        result = "cos" if name == kind else "sin"
        for step, sign in zip((1, -1), _SIGNS[name, kind], strict=True):
            angle = (*counts[:index], counts[index] + step, *counts[index + 1 :])
            flip = next((c < 0 for c in angle if c), False)
            turned = tuple(-c for c in angle) if flip else angle
            if result == "cos" or any(angle):
                out[result, turned] += -amount * sign if flip and result == "sin" else amount * sign
    return out


MAX_TERMS = 400
_RARELY = 30  # calls between two looks at the clock
_MAX_WAVES = 4096  # in a sum of sines and cosines of summed angles


class TooLarge(Exception):
    """The sum of products has too many terms to be readable, or takes too long."""


class Ring:
    """The forms of expressions in sines and cosines of given angles."""

    def __init__(
        self, angles: Angles, moving: Iterable[str], until: float, write: Callable[[Ring, Formula], Formula]
    ) -> None:
        self.angles, self._write = angles, write
        self._moving, self._until, self._looks = set(moving), until, 0
        self._part_symbols: dict[Formula, Formula] = {}  # a part that is not taken apart -> its symbol
        self.sums: dict[Formula, Formula] = {}  # symbol of a sum that stays in one piece -> its sum of products
        self._sum_symbols: dict[Formula, tuple[Formula, Formula]] = {}
        self.trig: dict[Formula, tuple[int, str]] = {}  # symbol of a sine or cosine -> (angle, kind)
        self._shown: dict[Formula, Formula] = {}  # each symbol of our own -> how it is written
        self._reduced: dict[frozenset[int], dict[Formula, Formula | None]] = {}  # products and what became of them
        self.written: dict[tuple[str, Formula], Formula] = {}  # what was written, by the way it was written

    # from an expression

    def build(self, node: Formula, parts: list[Formula]) -> Formula:
        """The sum of products of a node, from those of its parts."""
        if not parts:
            return node
        if isinstance(node, se.Add):
            return self._limited(se.Add(*parts))
        if isinstance(node, se.Mul):
            product = se.Integer(1)
            for part in parts:
                product = self._times(product, self._kept(part))
            return product
        if isinstance(node, se.Pow) and parts[1].is_Integer and 0 < abs(int(parts[1])) <= 8:
            return self._power(parts[0], int(parts[1]))
        if isinstance(node, se.sin | se.cos):
            return self._sine_or_cosine(node, self.restored(parts[0]))
        return self._apart(rebuild(node, [self.restored(part) for part in parts]))

    def _times(self, a: Formula, b: Formula) -> Formula:
        if len(terms(a)) * len(terms(b)) > 20 * MAX_TERMS:
            raise TooLarge
        return self._limited(self.reduced(se.expand(a * b)))

    def _power(self, base: Formula, exponent: int) -> Formula:
        base = self._kept(base) if exponent > 0 else self._inverse(base)
        out = base
        for _ in range(abs(exponent) - 1):
            out = self._times(out, base)
        return out

    def _kept(self, part: Formula) -> Formula:
        """A sum of parameters as one symbol, anything else as it is."""
        if not isinstance(part, se.Add):
            return part
        for symbol in part.free_symbols:
            if symbol.name.startswith("@") or symbol.name in self._moving:
                return part
        return self._in_one_piece(part) if len(part.args) <= 8 else part

    def _in_one_piece(self, total: Formula) -> Formula:
        """A multiple of the symbol that stands for a sum; it stands for the sum as it was first met, up to its sign."""
        common, rest = factored(total)
        for key, sign in ((rest, 1), (-rest, -1)):
            if key in self._sum_symbols:
                scale, symbol = self._sum_symbols[key]
                return sign * common / scale * symbol
        symbol = se.Symbol(f"@sum{len(self.sums)}")
        scale = abs(number_in(common))
        self._sum_symbols[rest] = scale, symbol
        self.sums[symbol] = se.expand(scale * rest)
        self._shown[symbol] = self._write(self, self.sums[symbol])
        return common / scale * symbol

    def _inverse(self, base: Formula) -> Formula:
        """1/base, its common factors and the sums that are known taken out, and the rest kept in one piece."""
        below, above = self._quotient(base)
        common, rest = factored(self.multiplied_out(above))
        common = common * below
        for symbol, known in self.sums.items():
            while rest != 1 and (quotient := self.divided(rest, known)) is not None:
                rest, common = quotient, common * symbol
        more, rest = factored(rest)
        common = common * more
        return 1 / common if rest == 1 else 1 / common / self._in_one_piece(rest)

    def _apart(self, part: Formula) -> Formula:
        if part not in self._part_symbols:
            symbol = se.Symbol(f"@part{len(self._part_symbols)}")
            self._shown[symbol] = part
            self._part_symbols[part] = symbol
        return self._part_symbols[part]

    def _sine_or_cosine(self, node: Formula, argument: Formula) -> Formula:
        """Sine or cosine of an argument by those of the angles it contains."""
        sine, cosine = se.Integer(0), se.Integer(1)
        for index, count in self.angles.counts(argument).items():
            s, c = self.symbol("sin", index), self.symbol("cos", index)
            s = s if count > 0 else -s
            for _ in range(abs(count)):
                sine, cosine = (
                    self.reduced(se.expand(sine * c + cosine * s)),
                    self.reduced(se.expand(cosine * c - sine * s)),
                )
        return sine if isinstance(node, se.sin) else cosine

    def symbol(self, kind: str, index: int) -> Formula:
        """What stands for the sine or cosine of an angle."""
        symbol = se.Symbol(f"@{kind}{index}")
        if symbol not in self.trig:
            self.trig[symbol] = (index, kind)
            self._shown[symbol] = getattr(se, kind)(self.angles.basis[index])
        return symbol

    def _limited(self, total: Formula) -> Formula:
        self.require_time()
        if len(terms(total)) > MAX_TERMS:
            raise TooLarge
        return total

    def require_time(self) -> None:
        """TooLarge when the time is over; the clock is slow, so it is looked at now and then."""
        self._looks += 1
        if self._looks % _RARELY == 1 and thread_time() > self._until:
            raise TooLarge

    # the one form, and others of the same value

    def reduced(self, total: Formula, by_sines: Iterable[int] = ()) -> Formula:
        """The sum with every sin² replaced by 1 − cos²; for the angles `by_sines` every cos² by 1 − sin²."""
        kept = frozenset(by_sines)
        known = self._reduced.setdefault(kept, {})
        while True:
            out, changed = [], False
            for term in terms(total):
                if term not in known:
                    known[term] = self._without_squares(term, kept)
                other = known[term]
                out.append(term if other is None else other)
                changed = changed or other is not None
            if not changed:
                return total
            total = se.expand(se.Add(*out))

    def _without_squares(self, term: Formula, by_sines: frozenset[int]) -> Formula | None:
        """A product with 1 − cos² in the place of sin², or the other way round; None where it has none."""
        out = term
        for base, power in factors(term):
            index, kind = self.trig.get(base, (0, ""))
            if kind == ("cos" if index in by_sines else "sin") and int(power) > 1:
                other, pairs = self.symbol("sin" if kind == "cos" else "cos", index), int(power) // 2
                out = out / base ** (2 * pairs) * (1 - other**2) ** pairs
        return None if out is term else out

    def multiplied_out(self, total: Formula) -> Formula:
        """The sum with all sums in numerators multiplied out; TooLarge where that is long."""
        while True:
            out, changed, length = [], False, 0
            for term in terms(total):
                products = 1
                for base, power in factors(term):
                    if base in self.sums and int(power) > 0:
                        term = term / base**power * self.sums[base] ** power
                        changed = True
                        products *= len(terms(self.sums[base])) ** int(power)
                out.append(term)
                length += products
            if length > 20 * MAX_TERMS:
                raise TooLarge
            if not changed:
                return total
            total = self._limited(self.reduced(se.expand(se.Add(*out))))

    def quotients(self, total: Formula, apart: bool) -> list[tuple[Formula, Formula]]:
        """The sum as Σ factor · numerator, all over one denominator, with what both have cancelled.

        `apart`: one quotient for each product of what does not occur in denominators.
        """
        below = {b for term in terms(total) for b, power in factors(term) if b in self.sums and int(power) < 0}
        if not below:
            return [(se.Integer(1), total)]
        inside = set().union(*(self.sums[symbol].free_symbols for symbol in below)) | below
        angles = {self.trig[symbol][0] for symbol in inside if symbol in self.trig}
        groups: defaultdict[Formula, list[Formula]] = defaultdict(list)
        for term in terms(total):
            outer = [b**e for b, e in factors(term) if not self._belongs(b, inside, angles)] if apart else []
            groups[se.Mul(*outer)].append(term / se.Mul(*outer))
        out = []
        for outer, group in groups.items():
            below_line, numerator = self._quotient(se.Add(*group))
            out.append((outer * below_line, numerator))
        return out

    def _belongs(self, base: Formula, inside: set[Formula], angles: set[int]) -> bool:
        if base in self.trig:
            return self.trig[base][0] in angles
        if base in self.sums:
            return bool(self.sums[base].free_symbols & inside)
        return base.is_Number or base in inside

    def _quotient(self, total: Formula) -> tuple[Formula, Formula]:
        """(1 / common denominator, numerator)."""
        powers: dict[Formula, int] = {}
        for term in terms(total):
            for base, power in factors(term):
                if base in self.sums and int(power) < 0:
                    powers[base] = max(powers.get(base, 0), -int(power))
        numerator = total
        if powers:
            numerator = se.expand(total * se.Mul(*(d**power for d, power in powers.items())))
            numerator = self.multiplied_out(self.reduced(numerator))
        for symbol in powers:
            while powers[symbol] and (quotient := self.divided(numerator, self.sums[symbol])) is not None:
                numerator, powers[symbol] = quotient, powers[symbol] - 1
        return se.Mul(*(d**-power for d, power in powers.items())), numerator

    def divided(self, total: Formula, by: Formula) -> Formula | None:
        """total / by where that is a sum of products again, None where it is not or is not seen to be."""
        waves = [self.trig[symbol] for symbol in by.free_symbols if symbol in self.trig]
        sines, cosines = ({index for index, kind in waves if kind == name} for name in ("sin", "cos"))
        if sines & cosines:
            return None  # no form of `total` is free over the powers of both
        quotient = exact_quotient(self.reduced(total, sines), by)
        return None if quotient is None else self.reduced(quotient)

    # back to expressions

    def restored(self, total: Formula) -> Formula:
        """The expression behind the ring's own symbols."""
        total = se.sympify(total)
        table = {symbol: self._shown[symbol] for symbol in total.free_symbols if symbol in self._shown}
        return total.xreplace(table) if table else total

    def waves(self, total: Formula) -> Formula:
        """Products of sines and cosines as sines and cosines of summed angles; what would have too many stays as it is."""
        out = []
        for term in terms(total):
            found = tuple((*self.trig[base], int(power)) for base, power in factors(term) if base in self.trig)
            other = se.Mul(*(base**power for base, power in factors(term) if base not in self.trig))
            if any(power < 0 for *_, power in found) or wave_count(found) > _MAX_WAVES:
                return self.restored(total)
            out.append(other * sum_of_waves(found, tuple(self.angles.basis)))
        return se.expand(se.Add(*out))


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
        self.basis: list[Formula] = [
            se.Add(*(number(k) * part for part, k in vector.items())) for vector in self._vectors
        ]

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
