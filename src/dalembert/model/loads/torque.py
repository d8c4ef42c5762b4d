"""Torque on a body, and the time table of forces and torques."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import InputError
from dalembert.model.keys import Element, body_name, entries, fixed_vector, moving_vector
from dalembert.model.loads.base import Applied, Load, LoadKinematics, Wrench, add, by_law, new_name, vector_of
from dalembert.model.loads.force import Force
from dalembert.model.loads.force_laws import TIMES, describe_formulas, increasing_times, rows, three_curves, timed
from dalembert.model.python_laws import Law, Timing
from dalembert.model.record import argument, builder_of, record
from dalembert.model.reference_model import Action, MotionProbe, VirtualWork, axes_of, in_world, rotation_variation
from dalembert.model.values import WORLD, ArrayInput, Vector3, vector3
from dalembert.symbolic.algebra_base import Array, zeros

if TYPE_CHECKING:
    from dalembert.model.model import Model


@record
class Torque(Load):
    """A torque on a body, in the axes of `frame`; its reaction acts on the body `reaction`, if set."""

    kind = "torque"

    body: str = argument(body_name, positional=True, about="the body it acts on")
    torque: Vector3 = argument(moving_vector, positional=True, about="three formulas")
    frame: str = argument(body_name, WORLD, about='the axes in which `torque` is expressed: a body, or `"world"`')
    reaction: str | None = argument(body_name, None, about="the body on which the opposite torque acts")

    @property
    def on(self) -> str:
        return f"{self.body} against {self.reaction}" if self.reaction else self.body

    def element(self, parameters: set[str]) -> tuple[str, Element]:
        """A time table if it is one; a table has no reaction."""
        kind, torque = timed("torque", self.torque, self.title, table=self.reaction is None)
        return kind, entries(self, self.keys(), self.title, torque=torque)

    def law(self) -> tuple[str, str]:
        return self.kind, f"{describe_formulas(self.torque)} in axes of {self.frame}"

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        torque_W = motion.frame(self.frame).R @ vector_of(motion, self.torque)
        out = [_moment(self.name, self.body, torque_W, motion)]
        if self.reaction is not None:
            out.append(_moment(f"reaction of {self.name}", self.reaction, -torque_W, motion))
        return out

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        torque = in_world(probe, self.torque, self.frame)
        value = np.einsum("xk,xnk->nk", torque, rotation_variation(axes_of(probe, self.body)))
        if self.reaction is not None and self.reaction != WORLD:
            value = value - np.einsum("xk,xnk->nk", torque, rotation_variation(axes_of(probe, self.reaction)))
        return VirtualWork(self.name, value, np.abs(value))

    def actions(self, probe: MotionProbe) -> Iterator[Action]:
        zero, couple = np.zeros((3, probe.K)), in_world(probe, self.torque, self.frame)
        yield Action(self.body, zero, zero, couple)
        if self.reaction is not None:
            yield Action(self.reaction, zero, zero, -couple)


def _moment(name: str, body: str, torque_W: Array, motion: LoadKinematics) -> Applied:
    frame = motion.frame(body)
    moment = frame.R.T @ torque_W
    wrenches = () if body == WORLD else (Wrench(body, zeros(3), moment),)
    return Applied(name, moment, frame.D, frame.E, wrenches=wrenches)


@builder_of(Torque)
def torque(
    model: Model,
    body: str,
    torque: ArrayInput | None = None,
    *,
    law: Law | None = None,
    period: float | None = None,
    delay: float = 0.0,
    vectorized: bool = False,
    frame: str = WORLD,
    reaction: str | None = None,
    name: str | None = None,
) -> Model:
    """Apply a torque to a body, in the axes of `frame`, and the opposite torque to the body `reaction`, if set.

    Parameters
    ----------
    model : Model
        The model to which it is added.
    body : str
        The body on which the torque acts.
    torque : sequence of formula, optional
        Three components; formulas of coordinates, rates, parameters and t.
    law : callable, optional
        Control law in Python that returns three components, called as law(t, state); see `actuator`.
    frame : str, default 'world'
        The body in whose axes the components are expressed, or the world.
    reaction : str, optional
        The body on which the opposite torque acts.
    """
    found = by_law(model, Torque.kind, name, torque, law, Timing(period, delay, vectorized))
    if found is None:
        return Torque.build(model, name=name, body=body, torque=torque, frame=frame, reaction=reaction)
    return add(model, Torque(found[0], body, found[1], frame, reaction))


_ROWS = rows(fixed_vector, "rows of three", "a row of three constants for each time")


@builder_of(Torque, {**Force.keys(), "times": TIMES, "force": _ROWS, "torque": _ROWS})
def wrench_table(
    model: Model,
    body: str,
    times: ArrayInput,
    *,
    force: ArrayInput | None = None,
    torque: ArrayInput | None = None,
    point: ArrayInput | None = None,
    frame: str = WORLD,
    name: str | None = None,
) -> Model:
    """Apply a force and a torque defined by tables: one row of three for each time, with linear interpolation.

    Before the first time and after the last, the first and the last row apply.

    Parameters
    ----------
    model : Model
        The model to which it is added.
    body : str
        The body on which the load acts.
    times : array_like, shape (K,)
        Increasing times, s.
    force : array_like, shape (K, 3), optional
        Force at the times.
    torque : array_like, shape (K, 3), optional
        Torque at the times.
    point : array_like, shape (3,), optional
        Point of application of the force in body axes; the mass center by default.
    frame : str, default 'world'
        The body in whose axes the components are expressed, or the world.
    """
    key = new_name(model, name, "wrench_table")
    where = f"wrench_table '{key}'"
    if force is None and torque is None:
        raise InputError(f"{where}: got neither force nor torque. Give at least one table of rows.")
    clock, loads = increasing_times(times, model.number, where), list[Load]()
    if force is not None:
        at = None if point is None else vector3(model.reader.constant, point, f"{where}, point")
        loads.append(Force(key, body, three_curves(clock, force, model.number, f"{where}, force"), at, frame))
    if torque is not None:
        label = key if force is None else f"{key}, torque"
        couple = three_curves(clock, torque, model.number, f"{where}, torque")
        loads.append(Torque(label, body, couple, frame, None))
    return add(model, *loads)
