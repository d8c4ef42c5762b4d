"""A Denavit–Hartenberg table as a value: its rows, its frames step by step, and how it prints itself.

dh     Rz(θ) Tz(d) Tx(a) Rx(α)      the joint moves about or along z of the frame before
mdh    Rx(α) Tx(a) Rz(θ) Tz(d)      the joint moves about or along z of its own frame
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dalembert.tables import Table, Tabular

Convention: TypeAlias = Literal["dh", "mdh"]
CONVENTIONS: tuple[Convention, ...] = ("dh", "mdh")
ORDER = {"dh": ("θ", "d", "a", "α"), "mdh": ("α", "a", "θ", "d")}
EQUAL = 1e-9  # frames that differ by less are the same


@dataclass(frozen=True)
class Row:
    """One row: θ of a turning joint and d of a sliding one are offsets, to which the coordinate is added."""

    coordinate: str
    kind: str  # revolute, prismatic or fixed
    theta: float
    d: float
    a: float
    alpha: float

    def numbers(self, q: float) -> dict[str, float]:
        """θ, d, a and α where the coordinate is q."""
        theta = self.theta + (q if self.kind == "revolute" else 0.0)
        return {"θ": theta, "d": self.d + (q if self.kind == "prismatic" else 0.0), "a": self.a, "α": self.alpha}


@dataclass(frozen=True)
class Motion:
    """One elementary motion of a row, and the frame after it, as T (4, 4) in the world."""

    row: int
    name: str  # θ, d, a or α
    value: float
    frame: np.ndarray


@dataclass(frozen=True)
class DHTable(Tabular):
    """The table of a chain of links: world ─ base ─► frame 0 ─ rows ─► frame n ─ tool ─► body.

    `written` is True where the model was written as this table, and False where the table was found from the axes.
    """

    model: str
    body: str
    convention: Convention
    rows: tuple[Row, ...]
    base: np.ndarray
    tool: np.ndarray
    names: tuple[str, ...]  # all coordinates of the model
    start: np.ndarray
    written: bool

    def frames(self, q: Sequence[float] | np.ndarray | None = None) -> tuple[Motion, ...]:
        """The four elementary motions of every row and the frame after each; at the start of the model without q."""
        at = dict(zip(self.names, self.start if q is None else q, strict=True))
        T, out = self.base, []
        for i, row in enumerate(self.rows):
            numbers = row.numbers(float(at.get(row.coordinate, 0.0)))
            for name in ORDER[self.convention]:
                T = T @ _elementary(name, numbers[name])
                out.append(Motion(i, name, numbers[name], T))
        return tuple(out)

    def pose(self, q: Sequence[float] | np.ndarray | None = None) -> np.ndarray:
        """T (4, 4) of the body in the world."""
        frames = self.frames(q)
        return (frames[-1].frame if frames else self.base) @ self.tool

    def tables(self) -> Sequence[Table]:
        """The table, with the base and the tool below it where they are not the identity."""
        rows = tuple(
            (
                str(i + 1),
                _sum(row.theta, row.coordinate if row.kind == "revolute" else ""),
                _sum(row.d, row.coordinate if row.kind == "prismatic" else ""),
                f"{row.a:.6g}",
                f"{row.alpha:.6g}",
            )
            for i, row in enumerate(self.rows)
        )
        notes = [] if self.written else ["The table was found from the axes of the joints."]
        for name, T in (("base", self.base), ("tool", self.tool)):
            if np.abs(T - np.eye(4)).max() > EQUAL:
                notes.append(f"{name}: {np.round(T, 6).tolist()}")
        what = "Denavit–Hartenberg" if self.convention == "dh" else "Modified Denavit–Hartenberg"
        return (
            Table(("row", "θ", "d", "a", "α"), rows, f"{what} table of '{self.model}' to '{self.body}'", tuple(notes)),
        )


def _elementary(name: str, value: float) -> np.ndarray:
    """One of Rz, Tz, Tx and Rx."""
    T, c, s = np.eye(4), np.cos(value), np.sin(value)
    if name == "θ":
        T[:2, :2] = [[c, -s], [s, c]]
    elif name == "α":
        T[1:3, 1:3] = [[c, -s], [s, c]]
    else:
        T[2 if name == "d" else 0, 3] = value
    return T


def _sum(offset: float, coordinate: str) -> str:
    if not coordinate:
        return f"{offset:.6g}"
    return f"{coordinate} {'-' if offset < 0 else '+'} {abs(offset):.6g}" if offset else coordinate
