"""Makers of loads that are given as tables of time; what they make are joint torques, forces and torques."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

from dalembert.errors import InputError
from dalembert.model.loads.base import LoadMaker
from dalembert.model.loads.force import Force
from dalembert.model.loads.joint_torque import JointTorque
from dalembert.model.loads.tables import polyline
from dalembert.model.loads.torque import Torque
from dalembert.model.making import Given, maker, row_of, several
from dalembert.model.vectors import WORLD

_MOST_ROWS = 2000


class TableMaker(LoadMaker):
    """Makes loads from tables."""

    @maker
    def torque_table(
        self, body: str, times: Given, values: Given, *, joint: int = 0, motion: int = 0, name: str | None = None
    ) -> Self:
        """Drive the joint of a body by a table: one value for each time, straight lines in between, level outside."""
        key = self._load_name(name, "torque_table")
        where = f"torque_table '{key}'"
        clock, given = self._clock(times, where), row_of(values, f"{where}, values", "one for each time")
        if len(given) != len(clock):
            raise InputError(f"{where}: {len(given)} values for {len(clock)} times. Give one for each.")
        line = polyline(clock, [self.number(x, f"{where}, values[{i}]") for i, x in enumerate(given)])
        return self._load(JointTorque(key, body, joint, motion, line))

    def _clock(self, times: Sequence[float], where: str) -> list[float]:
        given = row_of(times, f"{where}, times", "increasing times")
        clock = [self.number(t, f"{where}, times[{i}]") for i, t in enumerate(given)]
        if not 1 <= len(clock) <= _MOST_ROWS or any(b <= a for a, b in pairwise(clock)):
            raise InputError(f"{where}, times: expected 1 to {_MOST_ROWS} increasing times, got {len(clock)}.")
        return clock

    @maker
    def wrench_table(
        self,
        body: str,
        times: Given,
        *,
        force: Given | None = None,
        torque: Given | None = None,
        point: Given | None = None,
        frame: str = WORLD,
        name: str | None = None,
    ) -> Self:
        """Apply a force and a torque given as tables: one row of three for each time, straight lines in between.

        Before the first time and after the last the first and last rows hold.
        """
        key = self._load_name(name, "wrench_table")
        where = f"wrench_table '{key}'"
        if force is None and torque is None:
            raise InputError(f"{where}: neither force nor torque is given. Give at least one table of rows.")
        clock = self._clock(times, where)
        if force is not None:
            at = None if point is None else self._vector(point, f"{where}, point", constant=True)
            self._load(Force(key, body, self._table(clock, force, f"{where}, force"), at, frame))
        if torque is not None:
            label = key if force is None else f"{key}, torque"
            self._load(Torque(label, body, self._table(clock, torque, f"{where}, torque"), frame, None))
        return self

    def _table(self, times: list[float], rows: Sequence[Sequence[float]], where: str) -> tuple[Any, Any, Any]:
        if not several(rows, len(times)) or not all(several(row, 3) for row in rows):
            raise InputError(f"{where}: expected {len(times)} rows of 3, one for each time.")
        numbers = [[self.number(x, f"{where}[{i}]") for x in row] for i, row in enumerate(rows)]
        x, y, z = (polyline(times, [row[i] for row in numbers]) for i in range(3))
        return (x, y, z)
