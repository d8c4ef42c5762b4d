"""Following a designed motion: the torques it takes, the model driven by them, and the model with a controller.

designed motion ──► inverse dynamics ──► torques in time ──► forward simulation (open loop)
                └─► drives with feedback ──► forward simulation (computed torque)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import symengine as se

from dalembert.algebra.floats import FLOATS, number
from dalembert.analysis.dynamics import inverse_dynamics
from dalembert.errors import InputError, nearest
from dalembert.expressions import TIME, coordinate, parse
from dalembert.expressions.formula import Formula
from dalembert.expressions.lower import Lowering
from dalembert.model import Elements, Model


def designed(
    model: Elements, motion: Mapping[str, str | float], times: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q̇ and q̈ of a designed motion at many times; coordinates that are not named rest where the model starts."""
    names = model.coordinate_names
    formulas = {name: _formula(model, name, motion[name]) for name in motion}
    lower = Lowering(FLOATS, {"t": times, **model.parameter_values})
    start, _ = model.initial
    out = np.zeros((3, len(names), len(times)))
    out[0] = start[:, None]
    for name, formula in formulas.items():
        for level in range(3):
            out[level, names.index(name)] = number(lower(formula))
            formula = se.diff(formula, TIME)
    return out[0], out[1], out[2]


def _formula(model: Elements, name: str, given: str | float) -> Formula:
    if name not in model.coordinate_names:
        raise InputError(f"motion: there is no coordinate '{name}'. {nearest(name, model.coordinate_names)}")
    return parse(given, coordinates=(), parameters=model.parameter_values, where=f"motion of '{name}'", rates=False)


def at_start(model: Elements, motion: Mapping[str, str | float]) -> Model:
    """The model starting on the designed motion at t = 0."""
    q, qd, _ = designed(model, motion, np.zeros(1))
    return Model.of(model).start(q[:, 0].tolist(), qd[:, 0].tolist())


def feedforward(
    model: Elements,
    motion: Mapping[str, str | float],
    duration: float,
    samples: int = 501,
    *,
    actuated: Sequence[str] | None = None,
) -> Model:
    """The model driven by the torques that a designed motion takes: formulas of t by coordinate. It starts on the motion.

    Inverse dynamics at `samples` times gives the torques, and tables of time apply them; nothing corrects an error.

    >>> import dalembert as dl
    >>> model = feedforward(dl.load("two-link-robot"), {"q1": "0.1*t**2", "q2": "0.2*t**2"}, 1.0)
    >>> abs(dl.simulate(model, 1.0, samples=11).q[:, -1] - [0.1, 0.2]).max() < 1e-4
    np.True_
    """
    times = np.linspace(0.0, duration, samples)
    q, qd, qdd = designed(model, motion, times)
    tau = inverse_dynamics(model, q, qd, qdd, times, friction=True, actuated=actuated)
    out = at_start(model, motion)
    for name, row in zip(model.coordinate_names, tau, strict=True):
        if np.abs(row).max() > 0:
            body, joint, place = _joint_of(model, name)
            out.torque_table(body, times.tolist(), row.tolist(), joint=joint, motion=place, name=f"torque on {name}")
    return out


def computed_torque(
    model: Elements, motion: Mapping[str, str | float], gains: tuple[float, float] = (100.0, 20.0)
) -> Model:
    """The model with a computed-torque controller that follows a designed motion: errors die out by ë + β ė + α e = 0.

    `gains` are (α, β); the torques of the controller are the multipliers of the run. Coordinates that are not named are held
    where the model starts, unless constraints move them.

    >>> import dalembert as dl
    >>> model = computed_torque(dl.load("two-link-robot"), {"q1": "0.1*t**2", "q2": "0.2*t**2"})
    >>> abs(dl.simulate(model, 1.0, samples=11).q[:, -1] - [0.1, 0.2]).max() < 1e-9
    np.True_
    """
    out = at_start(model, motion)
    start = dict(zip(model.coordinate_names, model.initial[0].tolist(), strict=True))
    held = {} if model.constraint_names or model.contacts else start
    for name, law in {**held, **motion}.items():
        out.drive(name, law, name=f"control of {name}", feedback=gains)
    return out


def _joint_of(model: Elements, name: str) -> tuple[str, int, int]:
    """The one joint that moves by a coordinate alone."""
    found = [
        ((body.name, index, place), formula)
        for body in model.bodies
        for index, joint in enumerate(body.joints)
        for place, formula in enumerate(joint.values)
        if coordinate(name) in formula.free_symbols
    ]
    if len(found) != 1 or found[0][1] != coordinate(name):
        raise InputError(
            f"feedforward: the coordinate '{name}' moves {len(found)} joints, or not by itself. "
            "Expected one joint whose motion is this coordinate, so that a torque in it acts along the coordinate."
        )
    return found[0][0]
