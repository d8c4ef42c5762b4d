"""The work that was put into a system along a motion, by what put it in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dalembert.errors import nearest
from dalembert.model.frozen import Frozen
from dalembert.tables import Table, Tabular, short


class Work(Mapping[str, np.ndarray], Tabular):
    """The work of everything that can do work, from the start: arrays over the samples by name, and their sum `total`.

    >>> done = Work({"motor": np.array([0.0, 3.0]), "friction": np.array([0.0, -1.0])}, 2)
    >>> done["motor"], done.total
    (array([0., 3.]), array([0., 2.]))
    >>> print(done)
    from the start  at the end  least  most
    motor           3           0      3
    friction        -1          -1     0
    total           2           0      2
    """

    def __init__(self, found: Mapping[str, np.ndarray], samples: int) -> None:
        self._found, self._samples = Frozen(found), samples

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._found:
            raise KeyError(self.missing(name))
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def total(self) -> np.ndarray:
        """The sum of all of them."""
        return sum(self._found.values(), start=np.zeros(self._samples))

    def missing(self, name: str) -> str:
        """What is said of a name that does no work."""
        return f"nothing called '{name}' does work. {nearest(name, self) if self else 'Nothing does here.'}"

    def tables(self) -> tuple[Table, ...]:
        """Each at the end, with its smallest and largest value."""
        rows = [
            (name, *(short(float(x)) for x in (values[-1], values.min(), values.max())))
            for name, values in (*self.items(), ("total", self.total))
        ]
        return (Table(("from the start", "at the end", "least", "most"), tuple(rows)),)

    def __repr__(self) -> str:
        return f"<Work of {', '.join(self) or 'nothing'}>"
