"""Linear spring between two points."""

from __future__ import annotations

import numpy as np

from dalembert.model.keys import constant_length, constant_stiffness
from dalembert.model.loads.base import Applied, Between, LoadKinematics, Span
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Derivatives, MotionProbe, ReferencePoses, VirtualWork, product
from dalembert.symbolic.algebra_base import Scalar, scaled
from dalembert.symbolic.symbols import Formula


@record
class Spring(Between):
    """Connect points of two bodies (or the world) by a linear spring of tension stiffness × (distance − natural_length)."""

    kind = "spring"

    stiffness: Formula = argument(constant_stiffness, about="a constant")
    natural_length: Formula = argument(constant_length, 0, about="a constant")

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        span, J, c = self._line(motion)
        k, length = motion.lower(self.stiffness), motion.lower(self.natural_length)
        if motion.algebra.is_zero(length):
            force, potential = scaled(-k, span), k * (span @ span) * motion.algebra.half
        else:
            distance = motion.algebra.sqrt(span @ span)
            stretch = distance - length
            with np.errstate(all="ignore"):  # 0/0 where the ends coincide, see `span`
                force, potential = scaled(-k * stretch / distance, span), motion.algebra.half * k * stretch * stretch
        return [Applied(self.name, force, J, c, potential, self._pull(motion, force))]

    def span(self, motion: LoadKinematics) -> Span | None:
        """It is singular at length zero only with a natural length."""
        length = motion.lower(self.natural_length)
        return None if motion.algebra.is_zero(length) else self._span(motion, length)

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        """−k δ(½ distance²) without a natural length, also where the ends coincide."""
        if probe.number(self.natural_length).any():
            return super().reference_work(probe)

        def half_square(poses: ReferencePoses) -> Scalar:
            first, second = (poses.point(body, x) for body, x in self.fixed_points)
            return 0.5 * ((second - first) @ (second - first))

        return product(self.name, -probe.number(self.stiffness), probe.traced(half_square))

    def tension(self, probe: MotionProbe, length: Derivatives) -> np.ndarray:
        return probe.number(self.stiffness) * (length.value - probe.number(self.natural_length))
