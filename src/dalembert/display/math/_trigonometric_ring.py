"""Sums of products over symbols, sines and cosines: a normal form of expressions modulo sin² + cos² = 1.

Sums of parameters that occur as factors are single symbols (`sums`), and so are denominators; both can be expanded.
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

Wave = tuple[str, tuple[int, ...]]  # "sin" or "cos", and the multiple of each angle in its argument
# signs of the waves of sum and difference angles; sin·sin and cos·sin have a minus, each in another term
_SIGNS = {("cos", "cos"): (1, 1), ("sin", "sin"): (-1, 1), ("sin", "cos"): (1, 1), ("cos", "sin"): (1, -1)}
Vector = dict[Formula, Fraction]  # an argument as a sum of multiples of its parts
_MAX_MULTIPLES = 6  # of angles in one argument


def wave_count(factors: Iterable[tuple[int, str, int]]) -> int:
    """Return a bound on the number of waves in `sum_of_waves`: a product of n different cosines has 2ⁿ⁻¹.

    >>> wave_count(((0, "sin", 2), (1, "cos", 1)))
    6
    """
    powers: Counter[int] = Counter()
    for index, _, power in factors:
        powers[index] += power
    return prod(power + 1 for power in powers.values())


@lru_cache(maxsize=5_000)
def sum_of_waves(factors: tuple[tuple[int, str, int], ...], angles: tuple[Formula, ...]) -> Formula:
    """Return a product of powers of sin or cos, as (angle, kind, power), as a sum.

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
    """Multiply twice the sum of waves by another sine or cosine, by the product formulas."""
    out: defaultdict[Wave, int] = defaultdict(int)
    for (name, counts), amount in waves.items():
        result = "cos" if name == kind else "sin"
        for step, sign in zip((1, -1), _SIGNS[name, kind], strict=True):
            angle = (*counts[:index], counts[index] + step, *counts[index + 1 :])
            flip = next((c < 0 for c in angle if c), False)
            flipped = tuple(-c for c in angle) if flip else angle
            if result == "cos" or any(angle):
                out[result, flipped] += -amount * sign if flip and result == "sin" else amount * sign
    return out


MAX_TERMS = 400
_CALLS_PER_CLOCK_CHECK = 30
_MAX_WAVES = 4096  # in a sum of sines and cosines of sum angles


class TooLarge(Exception):
    """Raised if a sum of products has too many terms, or takes too long."""


class Ring:
    """Normal forms of expressions in sines and cosines of a basis of angles."""

    def __init__(
        self, angles: Angles, moving: Iterable[str], until: float, write: Callable[[Ring, Formula], Formula]
    ) -> None:
        self.angles, self._write = angles, write
        self._moving, self._until, self._looks = set(moving), until, 0
        self._part_symbols: dict[Formula, Formula] = {}  # a part that is not expanded -> its symbol
        self.sums: dict[Formula, Formula] = {}  # symbol of a sum -> its sum of products
        self._sum_symbols: dict[Formula, tuple[Formula, Formula]] = {}
        self.trig: dict[Formula, tuple[int, str]] = {}  # symbol of a sine or cosine -> (angle, kind)
        self._expressions: dict[Formula, Formula] = {}  # each internal symbol -> its expression
        self._reduced: dict[frozenset[int], dict[Formula, Formula | None]] = {}  # products and their reduced forms
        self.written: dict[tuple[str, Formula], Formula] = {}  # results by form

    # from an expression

    def build(self, node: Formula, parts: list[Formula]) -> Formula:
        """Return the sum of products of a node, from those of its parts."""
        if not parts:
            return node
        if isinstance(node, se.Add):
            return self._limited(se.Add(*parts))
        if isinstance(node, se.Mul):
            product = se.Integer(1)
            for part in parts:
                product = self._times(product, self._as_symbol(part))
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
        base = self._as_symbol(base) if exponent > 0 else self._inverse(base)
        out = base
        for _ in range(abs(exponent) - 1):
            out = self._times(out, base)
        return out

    def _as_symbol(self, part: Formula) -> Formula:
        """Replace a sum of parameters by one symbol; other expressions stay unchanged."""
        if not isinstance(part, se.Add):
            return part
        for symbol in part.free_symbols:
            if symbol.name.startswith("@") or symbol.name in self._moving:
                return part
        return self._in_one_piece(part) if len(part.args) <= 8 else part

    def _in_one_piece(self, total: Formula) -> Formula:
        """Return a multiple of the symbol of a sum, which is the sum at its first occurrence, up to its sign."""
        common, rest = factored(total)
        for key, sign in ((rest, 1), (-rest, -1)):
            if key in self._sum_symbols:
                scale, symbol = self._sum_symbols[key]
                return sign * common / scale * symbol
        symbol = se.Symbol(f"@sum{len(self.sums)}")
        scale = abs(number_in(common))
        self._sum_symbols[rest] = scale, symbol
        self.sums[symbol] = se.expand(scale * rest)
        self._expressions[symbol] = self._write(self, self.sums[symbol])
        return common / scale * symbol

    def _inverse(self, base: Formula) -> Formula:
        """Return 1/base, with common factors and known sums factored out, and the rest as one symbol."""
        below, above = self._quotient(base)
        common, rest = factored(self.expand(above))
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
            self._expressions[symbol] = part
            self._part_symbols[part] = symbol
        return self._part_symbols[part]

    def _sine_or_cosine(self, node: Formula, argument: Formula) -> Formula:
        """Return the sine or cosine of an argument in terms of those of its angles."""
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
        """Return the symbol of the sine or cosine of an angle."""
        symbol = se.Symbol(f"@{kind}{index}")
        if symbol not in self.trig:
            self.trig[symbol] = (index, kind)
            self._expressions[symbol] = getattr(se, kind)(self.angles.basis[index])
        return symbol

    def _limited(self, total: Formula) -> Formula:
        self.require_time()
        if len(terms(total)) > MAX_TERMS:
            raise TooLarge
        return total

    def require_time(self) -> None:
        """Raise TooLarge at the time limit; the clock is slow and checked only now and then."""
        self._looks += 1
        if self._looks % _CALLS_PER_CLOCK_CHECK == 1 and thread_time() > self._until:
            raise TooLarge

    # normal form and equivalent forms

    def reduced(self, total: Formula, by_sines: Iterable[int] = ()) -> Formula:
        """Replace every sin² in a sum by 1 − cos²; for the angles `by_sines` every cos² by 1 − sin²."""
        angles_by_sines = frozenset(by_sines)
        known = self._reduced.setdefault(angles_by_sines, {})
        while True:
            out, changed = [], False
            for term in terms(total):
                if term not in known:
                    known[term] = self._without_squares(term, angles_by_sines)
                other = known[term]
                out.append(term if other is None else other)
                changed = changed or other is not None
            if not changed:
                return total
            total = se.expand(se.Add(*out))

    def _without_squares(self, term: Formula, by_sines: frozenset[int]) -> Formula | None:
        """Replace sin² in a product by 1 − cos², or vice versa; None if it has no such square."""
        out = term
        for base, power in factors(term):
            index, kind = self.trig.get(base, (0, ""))
            if kind == ("cos" if index in by_sines else "sin") and int(power) > 1:
                other, pairs = self.symbol("sin" if kind == "cos" else "cos", index), int(power) // 2
                out = out / base ** (2 * pairs) * (1 - other**2) ** pairs
        return None if out is term else out

    def expand(self, total: Formula) -> Formula:
        """Expand all sums in numerators; raises TooLarge if the result is long."""
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
        """Return the sum as Σ factor · numerator over one denominator, with common factors canceled.

        `apart`: one quotient per product of factors that do not occur in denominators.
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
            numerator = self.expand(self.reduced(numerator))
        for symbol in powers:
            while powers[symbol] and (quotient := self.divided(numerator, self.sums[symbol])) is not None:
                numerator, powers[symbol] = quotient, powers[symbol] - 1
        return se.Mul(*(d**-power for d, power in powers.items())), numerator

    def divided(self, total: Formula, by: Formula) -> Formula | None:
        """Return total / by if it is a sum of products again, None if not or if not detected."""
        waves = [self.trig[symbol] for symbol in by.free_symbols if symbol in self.trig]
        sines, cosines = ({index for index, kind in waves if kind == name} for name in ("sin", "cos"))
        if sines & cosines:
            return None  # not unique over the powers of both
        quotient = exact_quotient(self.reduced(total, sines), by)
        return None if quotient is None else self.reduced(quotient)

    # back to expressions

    def restored(self, total: Formula) -> Formula:
        """Replace the internal symbols of the ring by their expressions."""
        total = se.sympify(total)
        table = {symbol: self._expressions[symbol] for symbol in total.free_symbols if symbol in self._expressions}
        return total.xreplace(table) if table else total

    def waves(self, total: Formula) -> Formula:
        """Convert products of sines and cosines to those of sum angles; products with too many waves stay unchanged."""
        out = []
        for term in terms(total):
            found = tuple((*self.trig[base], int(power)) for base, power in factors(term) if base in self.trig)
            other = se.Mul(*(base**power for base, power in factors(term) if base not in self.trig))
            if any(power < 0 for *_, power in found) or wave_count(found) > _MAX_WAVES:
                return self.restored(total)
            out.append(other * sum_of_waves(found, tuple(self.angles.basis)))
        return se.expand(se.Add(*out))


class Angles:
    """A basis of the arguments of sines and cosines: sums of angles are kept if all others follow from them.

    `arguments` are in order of importance; shorter ones first among equals.

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
        """Return the multiples of the basis angles in an argument; an independent argument is added to the basis."""
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
        has_factor = isinstance(number, se.Rational) and not rest.is_Number
        key, factor = (rest, Fraction(int(number.p), int(number.q))) if has_factor else (term, Fraction(1))
        out[key] = out.get(key, Fraction(0)) + factor
    return out


def _is_short(coordinates: Sequence[Fraction]) -> bool:
    return all(k.denominator == 1 for k in coordinates) and sum(map(abs, coordinates)) <= _MAX_MULTIPLES


def _chosen(vectors: Sequence[Vector]) -> list[Vector] | None:
    """Return the first vectors of which all others are short integer combinations; None if there are none."""
    basis: list[Vector] = []
    for vector in vectors:
        found = _coordinates(basis, vector)
        if found is None:
            basis.append(vector)
        elif not _is_short(found):
            return None
    return basis


def _singles(vectors: Sequence[Vector]) -> list[Vector]:
    """Return each part separately, with its smallest fraction that occurs."""
    pieces: dict[Formula, int] = {}
    for vector in vectors:
        for part, k in vector.items():
            pieces[part] = math.lcm(pieces.get(part, 1), k.denominator)
    return [{part: Fraction(1, piece)} for part, piece in pieces.items()]


def _coordinates(basis: Sequence[Vector], vector: Vector) -> list[Fraction] | None:
    """Return the coordinates of a vector in the basis by elimination, None if it is independent."""
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
