"""The papers' tables: formalisms side by side in equations, states, operations, time and drift."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One formalism in a comparison; errors are the papers' norms, None where there is nothing to measure."""

    formalism: str
    n_dynamic: int
    n_states: int
    operations: int
    cpu_seconds: float
    energy_error: float
    constraint_error: float | None
    momentum_error: float | None


@dataclass(frozen=True)
class Comparison:
    """A table with one row per formalism, the runs behind it, and the reasons of formalisms left out."""

    model: str
    duration: float
    integrator: str
    rows: tuple[Row, ...]
    refused: Mapping[str, str]
    runs: Mapping[str, Any] = field(repr=False)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, formalism: str) -> Row:
        return next(row for row in self.rows if row.formalism == formalism)

    def to_dict(self) -> dict:
        """The table as plain data."""
        return {
            "model": self.model,
            "duration": self.duration,
            "integrator": self.integrator,
            "rows": [asdict(row) for row in self.rows],
            "refused": dict(self.refused),
        }

    def __str__(self) -> str:
        names = list(asdict(self.rows[0])) if self.rows else []
        cells = [names] + [[_short(value) for value in asdict(row).values()] for row in self.rows]
        widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in cells)


def _short(value: Any) -> str:
    """A cell of the table: three digits, and a dash for nothing."""
    if value is None:
        return "-"
    return f"{value:.2e}" if isinstance(value, float) else str(value)
