"""Products of sines and cosines as sums of sines and cosines of summed angles."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod

import symengine as se

from dalembert.symbolic.symbols import Formula

Wave = tuple[str, tuple[int, ...]]  # "sin" or "cos", and how often each angle is in its argument

# of the waves of summed and of subtracted angles; sin·sin and cos·sin carry a minus, each on another side
_SIGNS = {("cos", "cos"): (1, 1), ("sin", "sin"): (-1, 1), ("sin", "cos"): (1, 1), ("cos", "sin"): (1, -1)}


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
    return se.Add(*(amount / halves * _written(wave, angles) for wave, amount in waves.items() if amount))


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


def _written(wave: Wave, angles: Sequence[Formula]) -> Formula:
    name, counts = wave
    argument = se.expand(se.Add(*(count * angle for count, angle in zip(counts, angles, strict=True) if count)))
    return se.cos(argument) if name == "cos" else se.sin(argument)
