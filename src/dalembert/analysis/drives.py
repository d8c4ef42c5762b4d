"""What the drives of a model exert along a motion."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.algebra import FLOATS
from dalembert.expressions import TIME, Kind
from dalembert.expressions.lower import Lowering
from dalembert.model import Elements


def drive_names(model: Elements) -> tuple[str, ...]:
    """The drives: torques and forces inside joints, and constraints that prescribe the motion of a coordinate."""
    loads = tuple(load.name for load in model.loads if load.drives)
    return (*loads, *(c.name for c in model.holonomic_list if c.prescribed))


def joint_efforts(
    model: Elements, parameters: Mapping[str, float], t: np.ndarray, q: np.ndarray, qd: np.ndarray
) -> dict[str, np.ndarray]:
    """The torque or force of every drive inside a joint along the samples, positive on the child.

    >>> from dalembert.model import Model
    >>> model = Model("arm").parameters(k=2.0).coordinates("a")
    >>> _ = model.body("link", joint=model.revolute((0, 0, 1), "a"), mass=1).joint_torque("link", "-k*a", name="motor")
    >>> joint_efforts(model, {"k": 3.0}, np.zeros(2), np.array([[1.0, 2.0]]), np.zeros((1, 2)))
    {'motor': array([-3., -6.])}
    """
    names = model.coordinate_names
    values = {**parameters, TIME.name: t, **dict(zip(names, q, strict=True))}
    values |= dict(zip(map(Kind.RATE.of, names), qd, strict=True))
    number = Lowering(FLOATS, values)
    return {load.name: np.zeros(len(t)) + number(load.formulas[0]) for load in model.loads if load.drives}
