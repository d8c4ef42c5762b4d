"""Linear damper between two points."""

from __future__ import annotations

import numpy as np

from dalembert.model.keys import constant
from dalembert.model.loads.base import Applied, Between, LoadKinematics, Span
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Derivatives, MotionProbe
from dalembert.symbolic.algebra_base import scaled
from dalembert.symbolic.symbols import Formula


@record
class Damper(Between):
    """Connect points of two bodies (or of the world) by a linear damper with the force damping × rate of their distance."""

    kind = "damper"

    damping: Formula = argument(constant, about="a constant")

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        line, J, c = self._line(motion)
        # the rate of the distance is (line · rate of line) / distance, and the force points along line / distance
        with np.errstate(all="ignore"):  # 0/0 where the ends coincide, see `span`
            pull = motion.lower(self.damping) * (line @ (J @ motion.qd + c)) / (line @ line)
            force = scaled(-pull, line)
        return [Applied(self.name, force, J, c, wrenches=self._pull(motion, force))]

    def span(self, motion: LoadKinematics) -> Span:
        """At length zero its force is 0/0, with the limit −damping × rate of the vector between its ends."""
        return self._span(motion, motion.lower(0), regular=True)

    def tension(self, probe: MotionProbe, length: Derivatives) -> np.ndarray:
        return probe.number(self.damping) * length.rate
