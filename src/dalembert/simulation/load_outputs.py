"""What the drives and all other loads of a model exert along a motion."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.mechanics.state_batch import States, at
from dalembert.model.description import Elements
from dalembert.model.loads.joint_torque import JointTorque
from dalembert.symbolic.algebra_base import zeros
from dalembert.symbolic.floats import FLOATS, numbers
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import TIME, Kind


def drive_names(model: Elements) -> tuple[str, ...]:
    """The drives: torques and forces inside joints, and constraints that prescribe the motion of a coordinate."""
    loads = tuple(load.name for load in model.loads if load.drives)
    return (*loads, *(c.name for c in model.holonomic_constraints if c.prescribed))


def joint_efforts(
    model: Elements, parameters: Mapping[str, float], t: np.ndarray, q: np.ndarray, qd: np.ndarray
) -> dict[str, np.ndarray]:
    """The torque or force of every drive inside a joint along the samples, positive on the child.

    >>> from dalembert.model.model import Model
    >>> model = Model("arm").parameters(k=2.0).coordinates("a")
    >>> _ = model.body("link", joint=model.revolute((0, 0, 1), "a"), mass=1).joint_torque("link", "-k*a", name="motor")
    >>> joint_efforts(model, {"k": 3.0}, np.zeros(2), np.array([[1.0, 2.0]]), np.zeros((1, 2)))
    {'motor': array([-3., -6.])}
    """
    names = model.coordinate_names
    values = {**parameters, TIME.name: t, **dict(zip(names, q, strict=True))}
    values |= dict(zip(map(Kind.RATE.of, names), qd, strict=True))
    number = Lowering(FLOATS, values)
    drives = tuple(load for load in model.loads if load.drives)
    by_formula = {load.name: load.value for load in drives if isinstance(load, JointTorque)}
    others = tuple(load for load in drives if not isinstance(load, JointTorque))
    measured = load_forces(model.replaced(loads=others), parameters, t, q, qd)
    return {
        load.name: np.zeros(len(t)) + number(by_formula[load.name])
        if load.name in by_formula
        else measured[load.name][0]
        for load in drives
    }


def load_forces(
    model: Elements, parameters: Mapping[str, float], t: np.ndarray, q: np.ndarray, qd: np.ndarray
) -> dict[str, np.ndarray]:
    """What every load exerts along the samples, by name.

    Forces and torques on bodies have world axes, (3, samples); between two points it is the pull on the second. Loads inside
    joints are one number along the motion, positive on the child, (1, samples).

    >>> from dalembert.model.model import Model
    >>> model = Model("block").parameters(k=2.0).coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1).force("block", ("-k*x", 0, 0), name="pull")
    >>> load_forces(model, {"k": 3.0}, np.zeros(2), np.array([[1.0, 2.0]]), np.zeros((1, 2)))["pull"][0]
    array([-3., -6.])
    """
    if not model.loads:
        return {}
    motion, out = at(model, States(q, qd, t), parameters), {}
    for load in model.loads:
        # a spring with a damper acts twice on one motion, and a torque has its opposite by another name
        parts = [part.force for part in load.applied(motion) if part.name == load.name]
        total = sum(parts[1:], start=parts[0]) if parts else zeros(1)
        out[load.name] = numbers(total, len(t))
    return out
