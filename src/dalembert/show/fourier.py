"""Products of sines and cosines as sums of sines and cosines of summed angles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import symengine as se

from dalembert.expressions.formula import Formula

Wave = tuple[str, tuple[int, ...]]  # "sin" or "cos", and how often each angle is in its argument


def sum_of_waves(factors: Sequence[tuple[int, str, int]], angles: Sequence[Formula]) -> Formula:
    """The product of sin or cos of the angles to powers, given as (angle, kind, power), written as a sum.

    >>> x, y = se.symbols("x y")
    >>> sum_of_waves([(0, "sin", 1), (0, "cos", 1)], [x, y])
    (1/2)*sin(2*x)
    """
    waves: dict[Wave, Fraction] = {("cos", (0,) * len(angles)): Fraction(1)}
    for index, kind, power in factors:
        for _ in range(power):
            waves = _times(waves, kind, index)
    return se.Add(*(_written(wave, amount, angles) for wave, amount in waves.items() if amount))


def _times(waves: dict[Wave, Fraction], kind: str, index: int) -> dict[Wave, Fraction]:
    """The sum of waves times one more sine or cosine, by the product formulas."""
    out: defaultdict[Wave, Fraction] = defaultdict(Fraction)
    for (name, counts), amount in waves.items():
        plus, minus = (tuple(c + s * (k == index) for k, c in enumerate(counts)) for s in (1, -1))
        result = "cos" if name == kind else "sin"
        # sin·sin and cos·sin carry a minus, each on another side
        signs = {"coscos": (1, 1), "sinsin": (-1, 1), "sincos": (1, 1), "cossin": (1, -1)}[name + kind]
        for sign, angle in zip(signs, (plus, minus), strict=True):
            flip = next((c < 0 for c in angle if c), False)
            turned = tuple(-c for c in angle) if flip else angle
            odd = flip and result == "sin"
            if any(angle) or result == "cos":
                out[(result, turned)] += amount * sign * (-1 if odd else 1) / 2
    return out


def _written(wave: Wave, amount: Fraction, angles: Sequence[Formula]) -> Formula:
    name, counts = wave
    argument = se.expand(se.Add(*(count * angle for count, angle in zip(counts, angles, strict=True))))
    number = se.Integer(amount.numerator) / se.Integer(amount.denominator)
    return number * (se.cos(argument) if name == "cos" else se.sin(argument))
