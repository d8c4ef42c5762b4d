"""Loads that act inside a joint, along one of its motions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

from dalembert.algebra import Scalar, matrix, vector
from dalembert.model.declared import Traced, Watch
from dalembert.model.loads.base import Applied, Load, Motion


@dataclass(frozen=True)
class InJoint(Load):
    """It acts on the child along one motion of a joint, counted from 0, and its opposite on the parent."""

    body: str
    joint: int
    motion: int

    @abstractmethod
    def reversed(self) -> Self:
        """The same in a joint that is read backwards, whose motion has changed its sign."""

    def _along(self, motion: Motion, force: Scalar, potential: Scalar | None = None) -> Applied:
        joint = motion.joint(self.body, self.joint, self.motion)
        return Applied(self.name, vector([force]), matrix([list(joint.gradient)]), potential)

    def _moved(self, watch: Watch) -> Traced:
        """For the evidence: how far the joint has moved."""
        return watch.traced(lambda places: places.value(self.body, self.joint, self.motion))
