"""Trajectory tracking: feedforward torques of a desired motion, and computed-torque control.

desired motion ──► inverse dynamics ──► torques over time ──► forward simulation (open loop)
               └─► drives with feedback ──► forward simulation (computed torque)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from dalembert.api.load import accepts_source
from dalembert.errors import InputError, short_repr, suggest_name
from dalembert.model.description import Elements
from dalembert.model.model import Model
from dalembert.model.profiles import Profile
from dalembert.model.values import TimeLaw
from dalembert.recursive.tree_dynamics import inverse_dynamics
from dalembert.symbolic.symbols import coordinate

DesiredMotion: TypeAlias = "Mapping[str, TimeLaw] | Profile"


def laws_of(model: Elements, motion: DesiredMotion, duration: float) -> dict[str, Profile]:
    """The motion of each named coordinate, or of all coordinates in order for a profile without names."""
    names = model.coordinate_names
    if isinstance(motion, Profile):
        known = motion.names or names
        if len(motion) != len(known):
            raise InputError(
                f"motion: the profile has {len(motion)} values, and the model has the coordinates {', '.join(names)}. "
                "Expected one value for each coordinate, or a mapping of coordinates to motions."
            )
        motion = {name: motion[i] for i, name in enumerate(known)}
    if not isinstance(motion, Mapping):
        raise InputError(
            f"motion: got {short_repr(motion)}. Expected a profile, or a mapping of coordinates to motions."
        )
    for name in motion:
        if name not in names:
            raise InputError(f"motion: there is no coordinate '{name}'. {suggest_name(name, names)}")
    return {name: model.reader.law(law, f"motion of '{name}'", duration) for name, law in motion.items()}


def desired_motion(
    model: Elements, motion: DesiredMotion, times: np.ndarray, duration: float | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q̇ and q̈ of a desired motion at many times; other coordinates stay at their initial values."""
    names, values = model.coordinate_names, model.parameter_values
    out = np.zeros((3, len(names), len(times)))
    out[0] = model.initial[0][:, None]
    for name, law in laws_of(model, motion, model.duration if duration is None else duration).items():
        out[:, names.index(name)] = replace(law, formulas=(law.formulas[0].subs(values),))(times)
    return out[0], out[1], out[2]


def at_start(model: Elements, motion: DesiredMotion) -> Model:
    """The model with the initial state of the desired motion at t = 0."""
    q, qd, _ = desired_motion(model, motion, np.zeros(1))
    return Model.of(model).start(q[:, 0].tolist(), qd[:, 0].tolist())


@accepts_source
def feedforward(
    model: Elements,
    motion: DesiredMotion,
    duration: float,
    samples: int = 501,
    *,
    actuated: Sequence[str] | None = None,
) -> Model:
    """The model driven by the feedforward torques of a desired motion. It starts on the motion.

    A motion is a profile for all coordinates, or a mapping of moving coordinates to laws: a formula of t as str or SymPy
    expression, a profile, points as (times, values), or a function of time.
    Inverse dynamics at `samples` times gives the torques, which time tables apply; there is no feedback.

    Parameters
    ----------
    model : Model, Description, str or Path
        A model, the name of an example model, or a model file.
    motion : Profile or mapping of str to law
        The desired motion of all coordinates, or of each moving one.
    duration : float
        The length of the time tables, s.
    samples : int, optional
        The number of times at which the torques are computed.
    actuated : sequence of str, optional
        The actuated coordinates of a constrained model, as for `inverse_dynamics`.

    Returns
    -------
    Model
        The model with the initial state of the motion and one torque table for each coordinate with a nonzero torque.

    Examples
    --------
    >>> import dalembert as dl
    >>> model = feedforward(dl.load("two-link-robot"), {"q1": "0.1*t**2", "q2": "0.2*t**2"}, 1.0)
    >>> abs(dl.simulate(model, 1.0, samples=11).q[:, -1] - [0.1, 0.2]).max() < 1e-4
    np.True_
    """
    times = np.linspace(0.0, duration, samples)
    motion = laws_of(model, motion, duration)
    q, qd, qdd = desired_motion(model, motion, times)
    tau = inverse_dynamics(model, q, qd, qdd, times, friction=True, actuated=actuated)
    out = at_start(model, motion)
    for name, row in zip(model.coordinate_names, tau, strict=True):
        if np.abs(row).max() > 0:
            body, joint, index = joint_of(model, name, "feedforward")
            out.torque_table(body, times.tolist(), row.tolist(), joint=joint, motion=index, name=f"torque on {name}")
    return out


@accepts_source
def computed_torque(model: Elements, motion: DesiredMotion, gains: tuple[float, float] = (100.0, 20.0)) -> Model:
    """The model with a computed-torque controller that tracks a desired motion: errors obey ë + β ė + α e = 0.

    Functions of time are sampled over the duration of the model. The torques of the controller are the multipliers of the run.
    Coordinates that are not named are held at their initial values, unless the model has constraints.

    Parameters
    ----------
    model : Model, Description, str or Path
        A model, the name of an example model, or a model file.
    motion : Profile or mapping of str to law
        The desired motion, as for `feedforward`.
    gains : tuple of float
        (α, β) in 1/s² and 1/s.

    Returns
    -------
    Model
        The model with one drive with feedback for each tracked coordinate.

    Examples
    --------
    >>> import dalembert as dl
    >>> model = computed_torque(dl.load("two-link-robot"), {"q1": "0.1*t**2", "q2": "0.2*t**2"})
    >>> abs(dl.simulate(model, 1.0, samples=11).q[:, -1] - [0.1, 0.2]).max() < 1e-9
    np.True_
    """
    motion = laws_of(model, motion, model.duration)
    out = at_start(model, motion)
    start = dict(zip(model.coordinate_names, model.initial[0].tolist(), strict=True))
    fixed = {} if model.constraint_names or model.contacts else start
    for name, law in {**fixed, **motion}.items():
        out.drive(name, law, name=f"control of {name}", feedback=gains)
    return out


def joint_of(model: Elements, name: str, who: str) -> tuple[str, int, int]:
    """The joint motion that equals a coordinate: its body, the joint index and the motion index."""
    found = [
        ((body.name, index, motion), formula)
        for body in model.bodies
        for index, joint in enumerate(body.joints)
        for motion, formula in enumerate(joint.values)
        if coordinate(name) in formula.free_symbols
    ]
    if len(found) != 1 or found[0][1] != coordinate(name):
        raise InputError(
            f"{who}: the coordinate '{name}' moves {len(found)} joints, or a joint motion differs from it. "
            "Expected one joint whose motion equals this coordinate, so that a joint torque acts along it."
        )
    return found[0][0]
