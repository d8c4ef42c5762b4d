"""Base parameters: the combinations of inertial parameters that torques depend on.

The columns of a regressor depend on each other. Taken one after the other, a column that depends on those before it has no part
of its own: it is given to them, Y_d = Y_b B, and π_b + B π_d are the base parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.mechanics.rank import TOLERANCE
from dalembert.model.frozen import Value
from dalembert.tables import Table, Tabular, short

_KEEP = (
    "Izz",
    "Ixy",
    "Ixz",
    "Iyz",
    "Ixx",
    "Iyy",
    "mx",
    "my",
    "mz",
    "m",
)  # those behind are rather given to those before
_SMALL = 1e-9  # of the largest: coefficients of a combination below this are rounding


@dataclass(frozen=True, repr=False)
class BaseParameters(Value, Tabular):
    """Combinations `combine` π of the parameters, one for each of the independent `columns` of the regressor."""

    columns: tuple[int, ...]
    combine: np.ndarray  # (rank, parameters)
    parameters: tuple[str, ...]
    values: np.ndarray  # of the combinations, for the model as it is
    states: int  # at which the rank was tested
    gap: tuple[float, float]  # the smallest relative singular value that counts, and the largest that does not

    @property
    def rank(self) -> int:
        """The number of base parameters."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Each combination as a sum."""
        return tuple(_sum(row, self.parameters, lead) for row, lead in zip(self.combine, self.columns, strict=True))

    @property
    def unseen(self) -> tuple[str, ...]:
        """The parameters that no torque depends on."""
        return tuple(name for name, column in zip(self.parameters, self.combine.T, strict=True) if not column.any())

    def tables(self) -> tuple[Table, ...]:
        """The combinations with their values."""
        rows = [(name, short(float(x))) for name, x in zip(self.names, self.values, strict=True)]
        low, high = self.gap
        title = f"{self.rank} base parameters of {len(self.parameters)}"
        note = (
            f"The rank was tested at {self.states} random states: relative singular values that count go down to {low:.1e}, the "
            f"others are at most {high:.1e}. Samples can miss what is rare; they cannot find too many."
        )
        seen = f"No torque depends on {', '.join(self.unseen)}." if self.unseen else ""
        return (Table(("combination", "value"), tuple(rows), title, tuple(x for x in (note, seen) if x)),)

    def __repr__(self) -> str:
        return f"<BaseParameters: {self.rank} of {len(self.parameters)}, tested at {self.states} random states>"


def base_parameters_of(Y: np.ndarray, names: Sequence[str], values: np.ndarray, states: int) -> BaseParameters:
    """The base parameters behind rows of a regressor.

    >>> found = base_parameters_of(np.array([[1.0, 2.0, 0.0], [3.0, 6.0, 0.0]]), ["a", "b", "c"], np.array([1.0, 1.0, 1.0]), 2)
    >>> found.names, found.values.tolist(), found.unseen
    (('a + 2·b',), [3.0], ('c',))
    """
    size = np.linalg.norm(Y, axis=0)
    used = np.flatnonzero(size > TOLERANCE * max(float(size.max(initial=0.0)), 1e-300))
    order = np.array(sorted(used.tolist(), key=lambda k: (_place(names[k]), k)), dtype=np.intp)
    columns = np.sort(order[_independent(Y[:, order] / size[order])])
    B, *_ = np.linalg.lstsq(Y[:, columns] / size[columns], Y[:, used] / size[used], rcond=None)
    combine = np.zeros((len(columns), len(names)))
    combine[:, used] = B * size[used] / size[columns][:, None]
    combine[np.abs(combine) < _SMALL * np.abs(combine).max(axis=1, keepdims=True)] = 0.0
    combine[:, columns] = np.eye(len(columns))
    sigma = np.linalg.svd(Y[:, used] / size[used], compute_uv=False)
    sigma = sigma / sigma[0]
    gap = float(sigma[len(columns) - 1]), float(sigma[len(columns)]) if len(columns) < len(sigma) else 0.0
    return BaseParameters(tuple(columns.tolist()), combine, tuple(names), combine @ values, states, gap)


def _place(name: str) -> int:
    """Where the letter of a parameter stands among those to keep."""
    letter = name.partition("(")[0]
    return _KEEP.index(letter) if letter in _KEEP else 0


def _independent(Y: np.ndarray) -> list[int]:
    """The columns that have a part of their own beside those taken before them."""
    taken: list[int] = []
    Q = np.zeros((len(Y), 0))
    for k in range(Y.shape[1]):
        part = Y[:, k] - Q @ (Q.T @ Y[:, k])
        part = part - Q @ (Q.T @ part)
        length = float(np.linalg.norm(part))
        if length > TOLERANCE:
            taken.append(k)
            Q = np.column_stack([Q, part / length])
    return taken


def _sum(row: np.ndarray, names: Sequence[str], lead: int) -> str:
    """A combination as a sum, the parameter that leads it first."""
    order = [lead, *(k for k in np.flatnonzero(row) if k != lead)]
    words = ""
    for k in order:
        c = float(row[k])
        sign = ("− " if c < 0 else "+ ") if words else ("−" if c < 0 else "")
        factor = "" if abs(abs(c) - 1) < 1e-9 else f"{abs(c):.6g}·"
        words += f"{' ' if words else ''}{sign}{factor}{names[k]}"
    return words
