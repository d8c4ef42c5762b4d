"""Which joints a law drives: those that move by one coordinate each."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.analysis.following import joint_of
from dalembert.arguments import are_names, shown
from dalembert.errors import InputError, nearest
from dalembert.expressions import Kind
from dalembert.handles import Dynamics, dynamics_of
from dalembert.model import Elements


def driven(model: Elements, actuated: Sequence[str] | None, who: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The coordinates that are driven, all by default, and the bodies whose first joint each of them moves."""
    if not isinstance(model, Elements):
        raise InputError(f"{who}, model: got {shown(model)}. Expected a model, such as dl.load(...) gives.")
    if actuated is not None and not are_names(actuated):
        raise InputError(f"{who}, actuated: got {shown(actuated)}. Expected names of coordinates in a list or tuple.")
    names = tuple(model.coordinate_names if actuated is None else actuated)
    for name in names:
        if name not in model.coordinate_names:
            raise InputError(f"{who}: there is no coordinate '{name}'. {nearest(name, model.coordinate_names)}")
    places = [joint_of(model, name, who) for name in names]
    for name, (body, joint, motion) in zip(names, places, strict=True):
        if (joint, motion) != (0, 0):
            raise InputError(
                f"{who}: the coordinate '{name}' is motion {motion} of joint {joint} of body '{body}'. Expected the first of "
                "each: an actuator by a law for several bodies acts there. Give the joint a body of its own."
            )
    return names, tuple(body for body, _, _ in places)


def dynamics_in_rates(model: Elements, who: str) -> Dynamics:
    """The dynamics of a model whose speeds are the rates of its coordinates."""
    found = dynamics_of(model)
    if found.speed_names != tuple(map(Kind.RATE.of, model.coordinate_names)):
        raise InputError(
            f"{who}: model '{model.name}' has quaternions, so its speeds are not rates. Expected joints that are none."
        )
    return found
