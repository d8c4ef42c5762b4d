"""What a paper claims about its formulation, beside what the same run measures: each claim gets a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Finding(NamedTuple):
    """Whether a claim was reproduced, and the numbers that decide it."""

    reproduced: bool
    measured: str


@dataclass(frozen=True)
class Claim:
    """A claim of a paper with its verdict."""

    key: str
    text: str  # as the paper says it, shortened
    place: str  # in the paper
    finding: Finding

    @property
    def verdict(self) -> str:
        """`reproduced` or `not reproduced`."""
        return "reproduced" if self.finding.reproduced else "not reproduced"

    def to_dict(self) -> dict[str, object]:
        """The claim as plain data."""
        return {
            "claim": self.text,
            "place": self.place,
            "measured": self.finding.measured,
            "reproduced": self.finding.reproduced,
        }


def smallest(
    key: str,
    measured: Mapping[str, Mapping[str, float | None]],
    *,
    ties: bool = False,
    floor: float = 0.0,
    margin: float = 0.0,
) -> Finding:
    """Whether one method has a smaller number than all others in every case; `measured` is by case and method.

    With `ties` equal numbers do; those up to `floor` count as equal, since they are rounding. The number has to be smaller by
    `margin`, relative to the next one: what the measurement scatters.

    >>> smallest("b", {"one": {"a": 3, "b": 2}, "two": {"a": 1, "b": 2}})
    Finding(reproduced=False, measured='one: b 2, a 3. two: a 1, b 2.')
    """

    def holds(found: Mapping[str, float]) -> bool:
        own, next_one = found[key], min(value for name, value in found.items() if name != key)
        return own < (1 - margin) * next_one or (ties and own == next_one) or max(own, next_one) <= floor

    cases = {
        case: {name: value for name, value in sorted(found.items(), key=_by_size) if value is not None}
        for case, found in measured.items()
    }
    texts = [f"{case}: {', '.join(f'{name} {_number(x)}' for name, x in of.items())}." for case, of in cases.items()]
    texts += [f"Up to {floor:.0e} is rounding."] if floor else []
    texts += [f"Differences below {100 * margin:g} % are scatter."] if margin else []
    return Finding(all(map(holds, cases.values())), " ".join(texts))


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3g}"


def _by_size(item: tuple[str, float | None]) -> float:
    return float("inf") if item[1] is None else item[1]
