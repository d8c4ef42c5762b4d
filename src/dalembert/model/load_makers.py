"""Making loads: forces, torques, springs, friction, drives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dalembert.errors import InputError, nearest
from dalembert.expressions import parse
from dalembert.expressions.symbols import maximum, minimum
from dalembert.model.checks.values import value as number
from dalembert.model.declarations import pair
from dalembert.model.elements import WORLD, Holonomic, Rotor
from dalembert.model.joint_makers import JointMakers
from dalembert.model.loads import Damper, Force, JointFriction, JointSpring, JointTorque, Spring, Torque
from dalembert.model.tables import column, increasing_times, polyline, three_columns


class LoadMakers(JointMakers):
    """What pushes and pulls on a model, and what drives it."""

    def force(
        self,
        body: str,
        force: Sequence[Any],
        *,
        point: Sequence[Any] | None = None,
        frame: str = WORLD,
        name: str | None = None,
    ) -> Self:
        """Apply a force at a point of a body (default: its mass centre), in the axes of `frame`."""
        key = self._load_name(name, "force")
        where = f"force '{key}'"
        at = None if point is None else self._vector(point, f"{where}, point", constant=True)
        self.loads += (Force(key, body, self._vector(force, where), at, frame),)
        return self

    def torque(
        self,
        body: str,
        torque: Sequence[Any],
        *,
        frame: str = WORLD,
        reaction: str | None = None,
        name: str | None = None,
    ) -> Self:
        """Apply a torque to a body, in the axes of `frame`, and its opposite to `reaction` when that is given."""
        key = self._load_name(name, "torque")
        self.loads += (Torque(key, body, self._vector(torque, f"torque '{key}'"), frame, reaction),)
        return self

    def joint_torque(self, body: str, value: Any, *, joint: int = 0, motion: int = 0, name: str | None = None) -> Self:
        """Drive the joint of a body: `value` acts along its motion on the child, its opposite on the parent.

        Where a body has several joints, or a joint several motions, `joint` and `motion` count from 0.
        """
        key = self._load_name(name, "joint_torque")
        self.loads += (JointTorque(key, body, joint, self.reader.read(value, f"joint_torque '{key}'"), motion),)
        return self

    def actuator(
        self,
        body: str,
        effort: Any,
        *,
        limit: Any = None,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Drive the joint of a body by `effort`, cut off at ±`limit` or at `limit` = (lowest, highest)."""
        key = self._load_name(name, "actuator")
        where = f"actuator '{key}'"
        value = self.reader.read(effort, f"{where}, effort")
        if limit is not None:
            given = list(limit) if isinstance(limit, list | tuple) else [limit]
            if len(given) not in (1, 2):
                raise InputError(
                    f"{where}, limit: got {len(given)} values. Expected one, or the lowest and the highest."
                )
            ends = [self.reader.constant(end, f"{where}, limit") for end in given]
            low, high = ends if len(ends) == 2 else (-ends[0], ends[0])
            width = number(high - low, self.parameter_values)
            if not width >= 0:
                raise InputError(
                    f"{where}, limit: the highest lies {-width:g} below the lowest. Expected lowest ≤ highest."
                )
            value = maximum(low, minimum(high, value))
        self.loads += (JointTorque(key, body, joint, value, motion),)
        return self

    def joint_spring(
        self,
        body: str,
        *,
        stiffness: Any = 0,
        rest: Any = 0,
        damping: Any = 0,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Put a spring and a damper into a joint: −stiffness × (motion − rest) − damping × rate, a torsion spring if it turns."""
        key = self._load_name(name, "joint_spring")
        where = f"joint_spring '{key}'"
        given = (("stiffness", stiffness), ("rest", rest), ("damping", damping))
        k, at, c = (self.reader.constant(value, f"{where}, {what}") for what, value in given)
        self.loads += (JointSpring(key, body, joint, motion, k, at, c),)
        return self

    def joint_friction(
        self,
        body: str,
        *,
        viscous: Any = 0,
        coulomb: Any = 0,
        smoothing: Any = 1e-3,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Let a joint resist its motion: −viscous × rate − coulomb × rate / √(rate² + smoothing²).

        Coulomb's force has its full size at rates well above `smoothing` and no jump at rest.
        """
        key = self._load_name(name, "joint_friction")
        where = f"joint_friction '{key}'"
        given = (("viscous", viscous), ("coulomb", coulomb), ("smoothing", smoothing))
        b, c, eps = (self.reader.constant(value, f"{where}, {what}") for what, value in given)
        self.loads += (JointFriction(key, body, joint, motion, b, c, eps),)
        return self

    def rotor(
        self, body: str, inertia: Any, *, ratio: Any = 1, joint: int = 0, motion: int = 0, name: str | None = None
    ) -> Self:
        """Give the motor of a joint its inertia: a rotor that turns `ratio` times as fast as the joint.

        It adds ½ inertia (ratio × rate)² to the kinetic energy; its gyroscopic effects are left out, as is usual for
        geared drives.
        """
        key = name or f"rotor{len(self.rotors) + 1}"
        where = f"rotor '{key}'"
        if any(rotor.name == key for rotor in self.rotors):
            raise InputError(f"{where}: declared twice. Give each rotor its own name.")
        J, N = self.reader.constant(inertia, f"{where}, inertia"), self.reader.constant(ratio, f"{where}, ratio")
        self.rotors += (Rotor(key, body, joint, motion, J, N),)
        return self

    def drive(self, coordinate: str, motion: Any, name: str | None = None, feedback: Any = None) -> Self:
        """Prescribe the motion of a coordinate: a formula of time. The force that it takes is the multiplier of the drive.

        With `feedback` = (α, β) it is a computed-torque controller: an error e of the motion dies out by ë + β ė + α e = 0.
        """
        if coordinate not in self.coordinate_names:
            raise InputError(
                f"drive: there is no coordinate '{coordinate}'. {nearest(coordinate, self.coordinate_names)}"
            )
        key = name or f"drive of {coordinate}"
        formula = parse(motion, coordinates=(), parameters=self.parameter_values, where=f"'{key}'", rates=False)
        phi = self.reader.read(coordinate, f"'{key}'") - formula
        gains = self._feedback(feedback, 2, f"'{key}', feedback")
        self.holonomic_list += (Holonomic(key, phi, f"prescribed motion of {coordinate}", gains),)
        return self

    def torque_table(
        self,
        body: str,
        times: Sequence[float],
        values: Sequence[float],
        *,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Drive the joint of a body by a table: one value for each time, straight lines in between, level outside."""
        key = self._load_name(name, "torque_table")
        where = f"torque_table '{key}'"
        clock = increasing_times(times, self.number, where)
        if len(values) != len(clock):
            raise InputError(f"{where}: {len(values)} values for {len(clock)} times. Give one for each.")
        line = polyline(clock, column(values, self.number, f"{where}, values"))
        self.loads += (JointTorque(key, body, joint, line, motion),)
        return self

    def wrench_table(
        self,
        body: str,
        times: Sequence[float],
        *,
        force: Sequence[Sequence[float]] | None = None,
        torque: Sequence[Sequence[float]] | None = None,
        point: Sequence[Any] | None = None,
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
        clock = increasing_times(times, self.number, where)
        if force is not None:
            at = None if point is None else self._vector(point, f"{where}, point", constant=True)
            self.loads += (Force(key, body, self._table(clock, force, f"{where}, force"), at, frame),)
        if torque is not None:
            label = key if force is None else f"{key}, torque"
            self.loads += (Torque(label, body, self._table(clock, torque, f"{where}, torque"), frame, None),)
        return self

    def _table(self, times: np.ndarray, rows: Sequence[Sequence[float]], where: str) -> tuple[Any, Any, Any]:
        x, y, z = (polyline(times, values) for values in three_columns(rows, len(times), self.number, where))
        return (x, y, z)

    def spring(
        self,
        bodies: tuple[str, str],
        *,
        stiffness: Any,
        natural_length: Any = 0,
        points: Sequence[Sequence[Any]] = ((0, 0, 0), (0, 0, 0)),
        name: str | None = None,
    ) -> Self:
        """Connect points of two bodies (or of the world) by a linear spring."""
        key = self._load_name(name, "spring")
        where = f"spring '{key}'"
        k = self.reader.constant(stiffness, f"{where}, stiffness")
        length = self.reader.constant(natural_length, f"{where}, natural_length")
        self.loads += (Spring(key, pair(bodies, where), self._points(points, where), k, length),)
        return self

    def damper(
        self,
        bodies: tuple[str, str],
        *,
        damping: Any,
        points: Sequence[Sequence[Any]] = ((0, 0, 0), (0, 0, 0)),
        name: str | None = None,
    ) -> Self:
        """Connect points of two bodies (or of the world) by a linear damper."""
        key = self._load_name(name, "damper")
        where = f"damper '{key}'"
        c = self.reader.constant(damping, f"{where}, damping")
        self.loads += (Damper(key, pair(bodies, where), self._points(points, where), c),)
        return self
