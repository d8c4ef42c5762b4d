"""Light algebra for the reader: exact numbers and short trigonometry. What the machine computes with is never touched.

An expression is brought to a sum of products over sin and cos of single angles, with sin² + cos² = 1 used up. Then each
coefficient of the velocities is written as products or as sines of summed angles, whichever is shorter.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

import symengine as se

from dalembert.expressions.formula import Formula
from dalembert.expressions.numbers import rebuild, with_exact_numbers
from dalembert.expressions.parser import fold
from dalembert.show import fourier

MAX_TERMS = 150
MAX_OPERATIONS = 6_000


class _TooLarge(Exception):
    """The sum of products has too many terms to be readable."""


def tidy(expression: Formula, velocities: Iterable[str] = ()) -> Formula:
    """The expression in a short form; only with exact numbers when it is too large for one.

    `velocities` are the names whose coefficients are written as one each.

    >>> x, m = se.symbols("x m")
    >>> tidy(0.5 * m * (2 * se.sin(x) ** 2 + 2 * se.cos(x) ** 2))
    m
    """
    plain = with_exact_numbers(expression)
    if se.count_ops(plain) > MAX_OPERATIONS:
        return plain
    ring = _Ring()
    try:
        sum_of_products = fold(plain, lambda node: node.args, ring.build)
    except _TooLarge:
        return plain
    return ring.written(sum_of_products, set(velocities))


class _Ring:
    """Sums of products over symbols, sines and cosines of single angles, and parts that are not taken apart."""

    def __init__(self) -> None:
        self._angles: list[Formula] = []
        self._parts: dict[
            Formula, Formula
        ] = {}  # symbol of a part that is not taken apart -> the part as it is written
        self._part_symbols: dict[Formula, Formula] = {}
        self._sums: dict[Formula, Formula] = {}  # symbol of a denominator -> its sum of products
        self._trig: dict[Formula, tuple[int, str]] = {}  # symbol of a sine or cosine -> (angle, kind)

    def build(self, node: Formula, parts: list[Formula]) -> Formula:
        """The sum of products of a node, from those of its parts."""
        if not parts:
            return node
        if isinstance(node, se.Add):
            return _limited(se.Add(*parts))
        if isinstance(node, se.Mul):
            product = se.Integer(1)
            for part in parts:
                product = self._times(product, part)
            return product
        if isinstance(node, se.Pow) and parts[1].is_Integer and 0 < abs(int(parts[1])) <= 8:
            return self._power(parts[0], int(parts[1]))
        if isinstance(node, se.sin | se.cos):
            return self._sine_or_cosine(node, parts[0])
        return self._apart(rebuild(node, [self.written(part, set()) for part in parts]))

    def _times(self, a: Formula, b: Formula) -> Formula:
        if len(_terms(a)) * len(_terms(b)) > 20 * MAX_TERMS:
            raise _TooLarge
        return _limited(self._reduced(se.expand(a * b)))

    def _reduced(self, total: Formula) -> Formula:
        """The sum with every sin² replaced by 1 − cos²."""
        while True:
            out, changed = [], False
            for term in _terms(total):
                for base, power in _factors(term):
                    index, kind = self._trig.get(base, (0, ""))
                    if kind == "sin" and int(power) > 1:
                        term = term / base**2 * (1 - self._symbol("cos", index) ** 2)
                        changed = True
                out.append(term)
            if not changed:
                return total
            total = se.expand(se.Add(*out))

    def _power(self, base: Formula, exponent: int) -> Formula:
        if exponent < 0:
            base = self._inverse(base)
        out = base
        for _ in range(abs(exponent) - 1):
            out = self._times(out, base)
        return out

    def _inverse(self, base: Formula) -> Formula:
        """1/base, its common factors taken out and the rest kept in one piece."""
        common, rest = factored(base)
        if rest == 1 and not any(symbol in self._trig for symbol in common.free_symbols):
            return 1 / common
        for symbol, known in self._sums.items():
            if known == rest:
                return 1 / common / symbol
        whole = common * rest if rest == 1 else rest
        symbol = self._apart(self.written(whole, set()))
        self._sums[symbol] = whole
        return 1 / symbol if rest == 1 else 1 / common / symbol

    def _apart(self, part: Formula) -> Formula:
        if part not in self._part_symbols:
            symbol = se.Symbol(f"@part{len(self._parts)}")
            self._parts[symbol] = part
            self._part_symbols[part] = symbol
        return self._part_symbols[part]

    def _sine_or_cosine(self, node: Formula, argument: Formula) -> Formula:
        """Sine or cosine of a sum of angles by those of the single angles."""
        sine, cosine = se.Integer(0), se.Integer(1)
        for count, angle in self._single_angles(argument):
            for _ in range(abs(count)):
                index = self._angle(angle)
                s, c = self._symbol("sin", index), self._symbol("cos", index)
                s = s if count > 0 else -s
                sine, cosine = (
                    self._reduced(se.expand(sine * c + cosine * s)),
                    self._reduced(se.expand(cosine * c - sine * s)),
                )
        return sine if isinstance(node, se.sin) else cosine

    def _single_angles(self, argument: Formula) -> list[tuple[int, Formula]]:
        """The argument as whole multiples of single angles."""
        found = []
        for term in _terms(argument):
            number, rest = _number_and_rest(term)
            whole = number.is_Integer and 0 < abs(int(number)) <= 3 and rest != 1
            found.append((int(number), self.restored(rest)) if whole else (1, self.restored(term)))
        return found if len(found) <= 4 else [(1, self.restored(argument))]

    def _angle(self, angle: Formula) -> int:
        if angle not in self._angles:
            self._angles.append(angle)
        return self._angles.index(angle)

    def _symbol(self, kind: str, index: int) -> Formula:
        symbol = se.Symbol(f"@{kind}{index}")
        self._trig[symbol] = (index, kind)
        return symbol

    def restored(self, total: Formula) -> Formula:
        """The expression behind the ring's own symbols."""
        table = {symbol: getattr(se, kind)(self._angles[index]) for symbol, (index, kind) in self._trig.items()}
        return se.sympify(total).xreplace({**table, **self._parts})

    def written(self, total: Formula, velocities: set[str]) -> Formula:
        """The shortest of the forms we know: one coefficient for each product of velocities, common factors outside."""
        groups: defaultdict[Formula, list[Formula]] = defaultdict(list)
        for term in _terms(total):
            moving = [b**e for b, e in _factors(term) if b.is_Symbol and b.name in velocities]
            outside = se.Mul(*moving)
            groups[outside].append(term / outside)
        grouped = se.Add(*(outside * self._shortest(se.Add(*terms)) for outside, terms in groups.items()))
        return min(_taken_out(grouped), self._shortest(total), key=se.count_ops)

    def _shortest(self, total: Formula) -> Formula:
        forms = [total, self._over_one_denominator(total)]
        written = [form for total in forms for form in (self.restored(total), self._summed_angles(total))]
        return min((_taken_out(form) for form in written), key=se.count_ops)

    def _over_one_denominator(self, total: Formula) -> Formula:
        """The sum over its common denominator, where that is short."""
        powers: dict[Formula, int] = {}
        for term in _terms(total):
            for base, power in _factors(term):
                if base in self._sums:
                    powers[base] = min(powers.get(base, 0), int(power))
        if not powers or len(_terms(total)) > 40 or sum(powers.values()) < -4:
            return total
        table = dict(self._sums)
        numerator = se.expand(total * se.Mul(*(d**-power for d, power in powers.items())))
        numerator = self._reduced(se.expand(numerator.xreplace(table)))
        return se.Mul(numerator, *(d**power for d, power in powers.items()))

    def _summed_angles(self, total: Formula) -> Formula:
        """Products of sines and cosines as sines and cosines of summed angles."""
        common, rest = factored(total) if isinstance(total, se.Add) else _split_denominator(total)
        out = []
        for term in _terms(rest):
            waves = [(*self._trig[base], int(power)) for base, power in _factors(term) if base in self._trig]
            other = se.Mul(*(base**power for base, power in _factors(term) if base not in self._trig))
            if any(power < 0 for *_, power in waves):
                return self.restored(total)
            out.append(self.restored(other) * fourier.sum_of_waves(waves, self._angles))
        return self.restored(common) * _taken_out(se.expand(se.Add(*out)))


def factored(total: Formula) -> tuple[Formula, Formula]:
    """(common factor of all terms, the sum without it).

    >>> x, y = se.symbols("x y")
    >>> factored(2 * x * y + 4 * x**2)
    (2*x, 2*x + y)
    """
    terms = _terms(total)
    shared: dict[Formula, Formula] | None = None
    numbers: list[Fraction] = []
    for term in terms:
        number, _ = _number_and_rest(term)
        numbers.append(Fraction(int(number.p), int(number.q)) if isinstance(number, se.Rational) else Fraction(1))
        powers = {b: e for b, e in _factors(term) if e.is_Integer and not b.is_Number}
        shared = powers if shared is None else {b: min(e, powers[b]) for b, e in shared.items() if b in powers}
    content = _content(numbers)
    common = content * se.Mul(*(base**power for base, power in (shared or {}).items()))
    return common, se.Add(*(term / common for term in terms))


def _content(numbers: list[Fraction]) -> Formula:
    """The greatest number that divides all, negative when all are."""
    top = math.gcd(*(number.numerator for number in numbers))
    bottom = math.lcm(*(number.denominator for number in numbers))
    sign = -1 if all(number < 0 for number in numbers) else 1
    return se.Integer(sign * max(top, 1)) / se.Integer(bottom)


def _taken_out(total: Formula) -> Formula:
    """The expression with the common factors of its terms in front, where that is shorter."""
    if not isinstance(total, se.Add):
        return total
    common, rest = factored(total)
    return min(total, common * rest, key=se.count_ops)


def _split_denominator(product: Formula) -> tuple[Formula, Formula]:
    """(all factors that are no sum, the first sum among the factors)."""
    sums = [factor for factor in product.args if isinstance(factor, se.Add)] if isinstance(product, se.Mul) else []
    return (product / sums[0], sums[0]) if sums else (se.Integer(1), product)


def _limited(total: Formula) -> Formula:
    if len(_terms(total)) > MAX_TERMS:
        raise _TooLarge
    return total


def _terms(total: Formula) -> tuple[Formula, ...]:
    return total.args if isinstance(total, se.Add) else (total,)


def _factors(term: Formula) -> list[tuple[Formula, Formula]]:
    parts = term.args if isinstance(term, se.Mul) else (term,)
    return [tuple(part.args) if isinstance(part, se.Pow) else (part, se.Integer(1)) for part in parts]


def _number_and_rest(term: Formula) -> tuple[Formula, Formula]:
    if term.is_Number:
        return term, se.Integer(1)
    if isinstance(term, se.Mul) and term.args[0].is_Number:
        return term.args[0], term / term.args[0]
    return se.Integer(1), term
