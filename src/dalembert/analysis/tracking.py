"""Following a designed motion: the torques it takes, the model driven by them, and the model with a controller.

designed motion ──► inverse dynamics ──► torques in time ──► forward simulation (open loop)
                └─► drives with feedback ──► forward simulation (computed torque)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from dalembert.api.load import accepts_source
from dalembert.arguments import shown
from dalembert.errors import InputError, nearest
from dalembert.model.description import Elements
from dalembert.model.formulas import TimeLaw
from dalembert.model.model import Model
from dalembert.model.profiles import Profile
from dalembert.recursive.tree_dynamics import inverse_dynamics
from dalembert.symbolic.symbols import coordinate

Designed: TypeAlias = "Mapping[str, TimeLaw] | Profile"


def laws_of(model: Elements, motion: Designed, duration: float) -> dict[str, Profile]:
    """The motion of each coordinate: of those that are named, or of all, in order, by a profile that names none."""
    names = model.coordinate_names
    if isinstance(motion, Profile):
        known = motion.names or names
        if len(motion) != len(known):
            raise InputError(
                f"motion: the profile has {len(motion)} values, and the model has the coordinates {', '.join(names)}. "
                "Expected one for each, or a mapping of coordinates to motions."
            )
        motion = {name: motion[i] for i, name in enumerate(known)}
    if not isinstance(motion, Mapping):
        raise InputError(f"motion: got {shown(motion)}. Expected a profile, or a mapping of coordinates to motions.")
    for name in motion:
        if name not in names:
            raise InputError(f"motion: there is no coordinate '{name}'. {nearest(name, names)}")
    return {name: model.reader.law(law, f"motion of '{name}'", duration) for name, law in motion.items()}


def designed(
    model: Elements, motion: Designed, times: np.ndarray, duration: float | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q̇ and q̈ of a designed motion at many times; coordinates that are not named rest where the model starts."""
    names, values = model.coordinate_names, model.parameter_values
    out = np.zeros((3, len(names), len(times)))
    out[0] = model.initial[0][:, None]
    for name, law in laws_of(model, motion, model.duration if duration is None else duration).items():
        out[:, names.index(name)] = replace(law, formulas=(law.formulas[0].subs(values),))(times)
    return out[0], out[1], out[2]


def at_start(model: Elements, motion: Designed) -> Model:
    """The model starting on the designed motion at t = 0."""
    q, qd, _ = designed(model, motion, np.zeros(1))
    return Model.of(model).start(q[:, 0].tolist(), qd[:, 0].tolist())


@accepts_source
def feedforward(
    model: Elements, motion: Designed, duration: float, samples: int = 501, *, actuated: Sequence[str] | None = None
) -> Model:
    """The model driven by the torques that a designed motion takes. It starts on the motion.

    A motion is a profile for all coordinates, or for each that moves a law: a formula of t as text or of SymPy, a profile, points
    as (times, values), or a function of time.
    Inverse dynamics at `samples` times gives the torques, and tables of time apply them; nothing corrects an error.

    >>> import dalembert as dl
    >>> model = feedforward(dl.load("two-link-robot"), {"q1": "0.1*t**2", "q2": "0.2*t**2"}, 1.0)
    >>> abs(dl.simulate(model, 1.0, samples=11).q[:, -1] - [0.1, 0.2]).max() < 1e-4
    np.True_
    """
    times = np.linspace(0.0, duration, samples)
    motion = laws_of(model, motion, duration)
    q, qd, qdd = designed(model, motion, times)
    tau = inverse_dynamics(model, q, qd, qdd, times, friction=True, actuated=actuated)
    out = at_start(model, motion)
    for name, row in zip(model.coordinate_names, tau, strict=True):
        if np.abs(row).max() > 0:
            body, joint, place = joint_of(model, name, "feedforward")
            out.torque_table(body, times.tolist(), row.tolist(), joint=joint, motion=place, name=f"torque on {name}")
    return out


@accepts_source
def computed_torque(model: Elements, motion: Designed, gains: tuple[float, float] = (100.0, 20.0)) -> Model:
    """The model with a computed-torque controller that follows a designed motion: errors die out by ë + β ė + α e = 0.

    Motions are given as for `feedforward`; functions of time are sampled over the duration of the model.
    `gains` are (α, β); the torques of the controller are the multipliers of the run. Coordinates that are not named are held
    where the model starts, unless constraints move them.

    >>> import dalembert as dl
    >>> model = computed_torque(dl.load("two-link-robot"), {"q1": "0.1*t**2", "q2": "0.2*t**2"})
    >>> abs(dl.simulate(model, 1.0, samples=11).q[:, -1] - [0.1, 0.2]).max() < 1e-9
    np.True_
    """
    motion = laws_of(model, motion, model.duration)
    out = at_start(model, motion)
    start = dict(zip(model.coordinate_names, model.initial[0].tolist(), strict=True))
    held = {} if model.constraint_names or model.contacts else start
    for name, law in {**held, **motion}.items():
        out.drive(name, law, name=f"control of {name}", feedback=gains)
    return out


def joint_of(model: Elements, name: str, who: str) -> tuple[str, int, int]:
    """The one joint that moves by a coordinate alone: its body, its place and that of the motion."""
    found = [
        ((body.name, index, place), formula)
        for body in model.bodies
        for index, joint in enumerate(body.joints)
        for place, formula in enumerate(joint.values)
        if coordinate(name) in formula.free_symbols
    ]
    if len(found) != 1 or found[0][1] != coordinate(name):
        raise InputError(
            f"{who}: the coordinate '{name}' moves {len(found)} joints, or not by itself. "
            "Expected one joint whose motion is this coordinate, so that a torque in it acts along the coordinate."
        )
    return found[0][0]
