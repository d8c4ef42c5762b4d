"""Forces and moments in joints, as arrays by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.errors import InputError, nearest
from dalembert.model.values import WORLD

FRAMES = ("world", "parent", "child")


@dataclass(frozen=True)
class JointReaction:
    """What `parent` exerts on `body` through the joint between them, at the origin of the joint's moved frame.

    That is the origin of the body's frame, unless fixed placements follow behind the joint.

    `force` and `moment` have shape (3,) or (3, samples), in the axes of `frame`.
    """

    body: str
    parent: str
    frame: str
    force: np.ndarray
    moment: np.ndarray


class JointForces(dict[str, JointReaction]):
    """The reactions of the joints by name; `undetermined` lists the other joints, each with the constraints that cause it."""

    def __init__(self, found: Mapping[str, JointReaction], undetermined: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(found)
        self.undetermined = dict(undetermined)

    def __missing__(self, name: str) -> JointReaction:
        """No joint of this name, or one whose reaction is not determined."""
        if name in self.undetermined:
            raise InputError(f"joint_reactions, joint '{name}': {_why(self.undetermined[name])}")
        raise InputError(f"joint_reactions: there is no joint '{name}'. {nearest(name, [*self, *self.undetermined])}")

    @property
    def notes(self) -> tuple[str, ...]:
        """Which joints are left out and why, as at most one sentence."""
        if not self.undetermined:
            return ()
        blamed = tuple(dict.fromkeys(name for names in self.undetermined.values() for name in names))
        return (f"not determined in {', '.join(self.undetermined)}: {_why(blamed)}",)

    def in_frame(self, frame: str, rotations: Mapping[str, np.ndarray]) -> JointForces:
        """The same, from world axes, in the axes of `world`, `parent` or `child`; `rotations` are R_WB by body."""
        if frame == "world":
            return self
        return JointForces({name: _rotated(each, frame, rotations) for name, each in self.items()}, self.undetermined)


def require_frame(frame: str) -> None:
    """Raise for a frame in which reactions are not given."""
    if frame not in FRAMES:
        raise InputError(f"joint_reactions: there is no frame '{frame}'. Expected 'world', 'parent' or 'child'.")


def _rotated(reaction: JointReaction, frame: str, rotations: Mapping[str, np.ndarray]) -> JointReaction:
    axes = reaction.body if frame == "child" else reaction.parent
    if axes == WORLD:
        return reaction
    force, moment = (np.einsum("ij...,i...->j...", rotations[axes], x) for x in (reaction.force, reaction.moment))
    return JointReaction(reaction.body, reaction.parent, axes, force, moment)


def _why(names: tuple[str, ...]) -> str:
    one = len(names) == 1
    return (
        f"the formula{'' if one else 's'} of the constraint{'' if one else 's'} {', '.join(names)} "
        f"{'does' if one else 'do'} not say where the force acts. The generalized forces are in `reactions`; for forces and "
        "moments in the joints declare a loop, a contact or a coupling instead."
    )
