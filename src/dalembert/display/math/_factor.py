"""Factor sums: common factors of several terms are factored out, the largest saving first."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import symengine as se

from dalembert.symbolic.symbols import Formula

_MAX_TERMS = 120  # of a sum that is factored
_ONE = se.Integer(1)
_CACHE_SIZE = 20_000  # cached results: the same sums recur in many forms of an expression


@dataclass(frozen=True)
class _Term:
    """A number times powers of factors."""

    number: Fraction
    powers: dict[Formula, int]

    def over(self, number: Fraction, powers: dict[Formula, int]) -> _Term:
        left = {base: power - powers.get(base, 0) for base, power in self.powers.items()}
        return _Term(self.number / number, {base: power for base, power in left.items() if power})

    def written(self) -> Formula:
        return number(self.number) * se.Mul(*(base**power for base, power in self.powers.items()))


@lru_cache(maxsize=_CACHE_SIZE)
def factor_sum(total: Formula) -> Formula:
    """Factor out the common factors of a sum, and those of groups of its terms.

    >>> a, b, c, x, y = se.symbols("a b c x y")
    >>> factor_sum(a * x + b * x + c * y)
    c*y + x*(a + b)
    """
    while 1 < len(parts := terms(total)) <= _MAX_TERMS:
        found = [term for part in parts if (term := _term(part)) is not None]
        if len(found) < len(parts):
            return total
        shorter = _collected(found)
        if se.count_ops(shorter) >= se.count_ops(total):
            return total
        total = shorter
    return total


def collect(total: Formula, leads: Callable[[Formula], bool]) -> Formula:
    """Collect a sum by products of the leading factors, with common factors in front.

    >>> a, b, x, y = se.symbols("a b x y")
    >>> collect(a * x + b * x + a * y + b, lambda factor: factor in (x, y))
    b + a*y + x*(a + b)
    """
    groups = grouped(total, lambda base: not base.is_Number and leads(base))
    written = [leading * factor_sum(se.Add(*group)) for leading, group in groups.items()]
    parts = [term for part in written if part != 0 and (term := _term(part)) is not None]
    if len(parts) < sum(part != 0 for part in written):
        return total
    return _with_factor(parts, _plain_sum)


def grouped(total: Formula, leads: Callable[[Formula], bool]) -> dict[Formula, list[Formula]]:
    """Group the terms of a sum by the product of their leading factors, and divide by it."""
    groups: defaultdict[Formula, list[Formula]] = defaultdict(list)
    for term in terms(total):
        leading = se.Mul(*(base**power for base, power in factors(term) if leads(base)))
        groups[leading].append(term / leading)
    return groups


def _with_factor(parts: Sequence[_Term], inside: Callable[[Sequence[_Term]], Formula]) -> Formula:
    """Return the common factor of all terms times the sum of the rest."""
    if len(parts) < 2:
        return _plain_sum(parts)
    shared = _shared(parts)
    content = _content([part.number for part in parts])
    return _Term(content, shared).written() * inside([part.over(content, shared) for part in parts])


def _plain_sum(parts: Sequence[_Term]) -> Formula:
    return se.Add(*(part.written() for part in parts))


def _collected(parts: Sequence[_Term]) -> Formula:
    return _with_factor(parts, _sum)


def _sum(parts: Sequence[_Term]) -> Formula:
    """Return a sum without common factor as a square, or with its best group of terms factored."""
    if (root := _root(parts)) is not None:
        return root**2
    group = _group(parts)
    if not group:
        return _plain_sum(parts)
    inside = {id(part) for part in group}
    rest = [part for part in parts if id(part) not in inside]
    return _collected(group) + (_sum(rest) if rest else 0)


def _root(parts: Sequence[_Term]) -> Formula | None:
    """Return the square root of the sum of the terms, None if it is no square."""
    k = (math.isqrt(8 * len(parts) + 1) - 1) // 2
    if len(parts) < 3 or 2 * len(parts) != k * (k + 1):
        return None
    squares = [part for part in parts if not any(power % 2 for power in part.powers.values())]
    roots = [_root_of_term(part) for part in squares if part.number > 0]
    if len(roots) < k or any(root is None for root in roots):
        return None
    total = _plain_sum(parts)
    known = [root for root in roots if root is not None][:k]
    out = known[0]
    written = [part.written() for part in parts]
    for root in known[1:]:
        out = out + root if 2 * known[0] * root in written else out - root
    return out if se.expand(out**2) == total else None


def _root_of_term(part: _Term) -> Formula | None:
    top, bottom = math.isqrt(part.number.numerator), math.isqrt(part.number.denominator)
    if (top**2, bottom**2) != (part.number.numerator, part.number.denominator):
        return None
    return _Term(Fraction(top, bottom), {base: power // 2 for base, power in part.powers.items()}).written()


def _group(parts: Sequence[_Term]) -> list[_Term]:
    """Return the terms with the common factor that saves most operations; empty if none saves any."""
    users: dict[tuple[Formula, bool], list[_Term]] = {}
    for part in parts:
        for base, power in part.powers.items():
            users.setdefault((base, power > 0), []).append(part)
    best, best_rank = [], (0, 0, "")
    for (base, positive), group in users.items():
        if len(group) < 2:
            continue
        saved = (len(group) - 1) * sum(1 + _cost(b, p) for b, p in _shared(group).items())
        rank = (saved, len(group), f"{base}{positive}")
        if rank > best_rank:
            best, best_rank = group, rank
    return best


@lru_cache(maxsize=_CACHE_SIZE)
def _cost(base: Formula, power: int) -> int:
    return int(se.count_ops(base**power))


def _shared(parts: Sequence[_Term]) -> dict[Formula, int]:
    """Return the common factors of all terms with their common powers."""
    shared = dict(parts[0].powers)
    for part in parts[1:]:
        both = {b: (p, part.powers[b]) for b, p in shared.items() if p * part.powers.get(b, 0) > 0}
        shared = {b: min(pair) if pair[0] > 0 else max(pair) for b, pair in both.items()}
    return shared


def _content(numbers: Sequence[Fraction]) -> Fraction:
    """Return the numeric factor worth factoring out: most terms have it, and the rest stays as readable."""
    counted = Counter(numbers)
    if len(counted) == 1:
        return numbers[0]
    finest = max(n.denominator for n in numbers)
    best, best_rank = Fraction(1), (len(numbers) - counted[Fraction(1)], finest != 1)
    for candidate, count in sorted(counted.items(), key=lambda item: (-item[1], item[0].denominator, str(item[0]))):
        # terms with this number then need no number, all others do
        if candidate == 1 or 1 + len(numbers) - count > best_rank[0]:
            continue
        rest = max((n / candidate).denominator for n in counted)
        length = (1 + len(numbers) - count, rest != 1)
        if length < best_rank and rest <= finest:
            best, best_rank = candidate, length
    return best


def factored(total: Formula) -> tuple[Formula, Formula]:
    """(common factor of all terms, the sum without it).

    >>> x, y = se.symbols("x y")
    >>> factored(2 * x * y + 4 * x**2)
    (2*x, 2*x + y)
    """
    found = [_term(part) or _Term(Fraction(1), {part: 1}) for part in terms(total)]
    numbers = [term.number for term in found]
    top = math.gcd(*(n.numerator for n in numbers))
    content = Fraction(max(top, 1), math.lcm(*(n.denominator for n in numbers)))
    content = -content if all(n < 0 for n in numbers) else content
    common: dict[Formula, int] | None = None
    for term in found:
        powers = term.powers
        common = powers if common is None else {b: min(p, powers[b]) for b, p in common.items() if b in powers}
    shared = _Term(content, common or {})
    return shared.written(), se.Add(*(term.over(content, shared.powers).written() for term in found))


def exact_quotient(total: Formula, by: Formula) -> Formula | None:
    """Return total / by for sums of products of symbols if it is one too, else None: division of leading terms.

    >>> x, y = se.symbols("x y")
    >>> exact_quotient(x**2 - y**2, x + y), exact_quotient(x**2 + y**2, x + y)
    (x - y, None)
    """
    symbols: list[Formula] = sorted({*by.free_symbols, *total.free_symbols}, key=str)
    if total == 0 or not by.free_symbols <= total.free_symbols:
        return None
    left, divisor = _polynomial(total, symbols), _polynomial(by, symbols)
    if left is None or divisor is None:
        return None
    lead = max(divisor)
    quotient: dict[tuple[int, ...], Fraction] = {}
    while left:
        top = max(left)
        powers = tuple(a - b for a, b in zip(top, lead, strict=True))
        if min(powers) < 0 or len(quotient) > _MAX_TERMS:
            return None
        share = left[top] / divisor[lead]
        quotient[powers] = share
        for key, value in divisor.items():
            exponents = tuple(a + b for a, b in zip(key, powers, strict=True))
            left[exponents] = left.get(exponents, Fraction(0)) - share * value
            if not left[exponents]:
                del left[exponents]
    return _plain_sum([_Term(value, dict(zip(symbols, key, strict=True))) for key, value in quotient.items()])


def _polynomial(total: Formula, symbols: Sequence[Formula]) -> dict[tuple[int, ...], Fraction] | None:
    """Return a sum of products by the powers of the symbols, None if it is no polynomial."""
    out: dict[tuple[int, ...], Fraction] = {}
    for part in terms(total):
        term = _term(part)
        if term is None or any(base not in symbols or power < 0 for base, power in term.powers.items()):
            return None
        out[tuple(term.powers.get(symbol, 0) for symbol in symbols)] = term.number
    return out


def greatest_factor(expressions: Iterable[Formula]) -> Formula:
    """Return the common factor of all expressions, without expansion.

    >>> x, y = se.symbols("x y")
    >>> greatest_factor([2 * x * (1 + y), x / 2])
    (1/2)*x
    """
    found = [_term(expression) or _Term(Fraction(1), {expression: 1}) for expression in expressions]
    numbers = [term.number for term in found]
    content = Fraction(math.gcd(*(n.numerator for n in numbers)), math.lcm(*(n.denominator for n in numbers)))
    return _Term(content, _shared(found)).written()


def number(value: Fraction) -> Formula:
    """Convert a fraction to a number in formulas."""
    return se.Integer(value.numerator) / se.Integer(value.denominator)


def terms(total: Formula) -> tuple[Formula, ...]:
    """Return the terms of a sum."""
    return total.args if isinstance(total, se.Add) else (total,)


@lru_cache(maxsize=_CACHE_SIZE)
def factors(term: Formula) -> tuple[tuple[Formula, Formula], ...]:
    """Return the factors of a product as (base, exponent)."""
    parts = term.args if isinstance(term, se.Mul) else (term,)
    return tuple(tuple(part.args) if isinstance(part, se.Pow) else (part, _ONE) for part in parts)


def number_in(product: Formula) -> Formula:
    """Return the numeric factor of a product."""
    return next((factor for factor, _ in factors(product) if factor.is_Number), se.Integer(1))


@lru_cache(maxsize=_CACHE_SIZE)
def _term(part: Formula) -> _Term | None:
    """Return a term by its factors; None if it has a number that is no fraction."""
    value, powers = Fraction(1), dict[Formula, int]()
    for factor in part.args if isinstance(part, se.Mul) else (part,):
        if isinstance(factor, se.Rational):
            value *= Fraction(int(factor.p), int(factor.q))
        elif factor.is_Number:
            return None
        elif isinstance(factor, se.Pow) and factor.args[1].is_Integer:
            powers[factor.args[0]] = powers.get(factor.args[0], 0) + int(factor.args[1])
        else:
            powers[factor] = powers.get(factor, 0) + 1
    return _Term(value, powers)
