"""Joint actuation: a torque or force by a formula, optionally with saturation, or by a time table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from dalembert.arguments import is_str_sequence
from dalembert.errors import InputError, short_repr
from dalembert.model.evaluation import value as evaluate
from dalembert.model.keys import Element, Key, constant, entries, limit, moving
from dalembert.model.loads.base import Applied, InJoint, LoadKinematics, add, controlled, new_name
from dalembert.model.loads.force_laws import TIMES, curve, describe_formulas, increasing_times, opposite, rows, short
from dalembert.model.python_laws import Law, Timing, controller_of
from dalembert.model.record import argument, builder_of, record
from dalembert.model.reference_model import MotionProbe, VirtualWork, product
from dalembert.model.values import ArrayInput
from dalembert.symbolic.formula_writer import formula_string, knots, saturation_limits, write_formula
from dalembert.symbolic.symbols import Formula, Written, maximum, minimum

if TYPE_CHECKING:
    from dalembert.model.model import Model


@record
class JointTorque(InJoint):
    """Drive the joint of a body: `value` acts on the child along its motion, the reaction on the parent.

    `joint` and `motion` are the indices of the joint and of its motion, counted from 0.
    """

    kind = "joint_torque"
    drives = True

    value: Formula = argument(moving, positional=True, about="a formula")

    def reversed(self) -> Self:
        return replace(self, value=opposite(self.value))

    def element(self, parameters: set[str]) -> tuple[str, Element]:
        """A time table if it is one; an actuator if the effort saturates at constant limits."""
        if points := knots(self.value):
            times, values = map(short, zip(*points, strict=True))
            return "torque_table", entries(self, InJoint.keys(), self.title) | {"times": times, "values": values}
        found, where = saturation_limits(self.value), self.title
        if found is None or not {symbol.name for end in found[1:] for symbol in end.free_symbols} <= parameters:
            return super().element(parameters)
        effort, low, high = found
        ends = write_formula(high, where) if low == -high else [write_formula(low, where), write_formula(high, where)]
        return "actuator", entries(self, InJoint.keys(), where) | {
            "effort": write_formula(effort, where),
            "limit": ends,
        }

    def law(self) -> tuple[str, str]:
        if knots(self.value):
            return "torque_table", describe_formulas([self.value])
        if found := saturation_limits(self.value):
            effort, low, high = map(formula_string, found)
            return "actuator", f"{effort}, cut off at {low} and {high}"
        return self.kind, formula_string(self.value)

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        return [self._along(motion, motion.lower(self.value))]

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        return product(self.name, probe.number(self.value), self._joint_motion(probe))


@builder_of(
    JointTorque,
    {
        **InJoint.keys(),
        "effort": Key(moving, True, description="a formula: the effort before saturation"),
        "limit": Key(limit, description="a constant, for both directions, or two: `[lowest, highest]`"),
    },
)
def actuator(
    model: Model,
    body: str | Sequence[str],
    effort: Written | None = None,
    *,
    law: Law | None = None,
    period: float | None = None,
    delay: float = 0.0,
    vectorized: bool = False,
    limit: Written | Sequence[Written] | None = None,
    joint: int = 0,
    motion: int = 0,
    name: str | None = None,
) -> Model:
    """Drive the joint of a body by the formula `effort` or by the control law `law`.

    A law is a Python function: law(t, state) returns the torque or force, where state["theta"] and state["dot(theta)"] are
    coordinates and rates by name, and state.q and state.qd the arrays. It is called at every evaluation of the equations or,
    with a `period`, every `period` seconds from the start of the simulation; its output is then held until the next sample,
    and acts `delay` seconds later. A `vectorized` law may receive times (batch,) and states (n, batch), and returns as many
    values. A law for several bodies returns one value for each. A law compiled by Numba is called as law(t, q, qd, out).

    Parameters
    ----------
    model : Model
        The model to which it is added.
    body : str or sequence of str
        The body whose joint is driven; several bodies for a law that returns one value for each.
    effort : formula, optional
        Torque or force along the motion: a formula of coordinates, rates, parameters and t.
    law : callable, optional
        Control law in Python, instead of `effort`.
    limit : formula or sequence of formula, optional
        Saturation: one constant for ±limit, or (lowest, highest).

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("arm").coordinates("a")
    >>> _ = model.body("link", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(1, 1, 1))
    >>> _ = model.actuator("link", law=lambda t, state: -4 * state["a"] - 2 * state["dot(a)"], name="servo")
    >>> model.loads[0].formulas
    (u(servo),)
    """
    several, key = not isinstance(body, str), new_name(model, name, "actuator")
    bodies = (body,) if isinstance(body, str) else tuple(body) if is_str_sequence(body) else ()
    if not bodies:
        raise InputError(
            f"actuator '{key}', body: got {short_repr(body)}. Expected the name of a body, or several names."
        )
    where, keys = f"actuator '{key}'", [f"{key} of {each}" for each in bodies] if several else [key]
    if (effort is None) == (law is None):
        got = "both an effort and a law" if law is not None else "neither an effort nor a law"
        raise InputError(f"{where}: got {got}. Expected a formula as effort, or law=... with a Python function.")
    if effort is not None:
        if several or period is not None or delay or vectorized:
            fact = "several bodies, period, delay and vectorized need a control law in Python"
            raise InputError(f"{where}: {fact}. Got a formula.")
        values = [model.reader.read(effort, f"{where}, effort")]
    else:
        keys = [new_name(model, each, "actuator") for each in keys]
        values = controlled(model, controller_of(key, keys, law, Timing(period, delay, vectorized)))
    if limit is not None:
        ends = list(limit) if isinstance(limit, list | tuple) else [limit]
        values = [_saturated(model, value, ends, f"{where}, limit") for value in values]
    each = zip(keys, bodies, values, strict=True)
    return add(model, *(JointTorque(name, part, joint, motion, value) for name, part, value in each))


@builder_of(
    JointTorque,
    {**InJoint.keys(), "times": TIMES, "values": rows(constant, "values", "a constant for each time", required=True)},
)
def torque_table(
    model: Model,
    body: str,
    times: ArrayInput,
    values: ArrayInput,
    *,
    joint: int = 0,
    motion: int = 0,
    name: str | None = None,
) -> Model:
    """Drive the joint of a body by a table: one value for each time, linear interpolation, constant extrapolation.

    Parameters
    ----------
    model : Model
        The model to which it is added.
    body : str
        The body whose joint is driven.
    times : array_like, shape (K,)
        Increasing times, s.
    values : array_like, shape (K,)
        Torque or force at the times.
    """
    key = new_name(model, name, "torque_table")
    where = f"torque_table '{key}'"
    value = curve(increasing_times(times, model.number, where), values, model.number, where)
    return add(model, JointTorque(key, body, joint, motion, value))


def _saturated(model: Model, value: Formula, limits: list[Written], where: str) -> Formula:
    if len(limits) not in (1, 2):
        raise InputError(f"{where}: got {len(limits)} values. Expected one, or the lowest and the highest.")
    ends = [model.reader.constant(end, where) for end in limits]
    low, high = ends if len(ends) == 2 else (-ends[0], ends[0])
    width = evaluate(high - low, model.parameter_values)
    if not width >= 0:
        raise InputError(f"{where}: the upper limit is {-width:g} below the lower limit. Expected lowest <= highest.")
    return maximum(low, minimum(high, value))
