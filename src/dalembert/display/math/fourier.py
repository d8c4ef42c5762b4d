"""Products of sines and cosines as sums of sines and cosines of summed angles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import symengine as se

from dalembert.symbolic.symbols import Formula

Wave = tuple[str, tuple[int, ...]]  # "sin" or "cos", and how often each angle is in its argument

# of the waves of summed and of subtracted angles; sin·sin and cos·sin carry a minus, each on another side
_SIGNS = {("cos", "cos"): (1, 1), ("sin", "sin"): (-1, 1), ("sin", "cos"): (1, 1), ("cos", "sin"): (1, -1)}


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
