"""Strut between two points: a tension that is any function of its length and its rate."""

from __future__ import annotations

import numpy as np

from dalembert.model.loads.base import Applied, Between, LoadKinematics, Span
from dalembert.model.loads.force_laws import RATE, ByLaw, law, measure
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Derivatives, MotionProbe
from dalembert.symbolic.algebra_base import scaled
from dalembert.symbolic.symbols import Formula, Lowering

LENGTH = "length"


@record
class Strut(ByLaw, Between):
    """Connect points of two bodies (or of the world) by a strut with any force law.

    `pull` is a formula of `length`, `rate`, parameters and `t`, positive in tension. `curve` has rows (length, pull) and
    `rate_curve` rows (rate, pull), with linear interpolation and constant extrapolation. The three are added. Powers,
    sines, cosines and exponentials of the length contribute to the potential energy, all other terms to the work.

    >>> from dalembert.model.model import Model
    >>> model = Model("bumper").parameters(k=4e4, c=30.0, l=0.2).coordinate("x", 0.15)
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    >>> _ = model.strut(("world", "block"), pull="k*(length - l)**3 + c*rate", rate_curve=[[-1, -80], [0, 0], [1, 20]])
    >>> model.loads[0].law()
    ('strut', 'c*rate + k*(-l + length)**3 + a curve over rate of 3 points')
    """

    kind = "strut"
    measured = (LENGTH,)

    pull: Formula = argument(
        law(LENGTH, RATE), None, saved=0, about="a formula of `length`, `rate`, parameters and `t`", absent="`0`"
    )

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        """Its tension along the vector between its ends: the conservative part, then the rest."""
        (line, J, c), lower = self._line(motion), self.lowering(motion)
        length = lower(measure(LENGTH))
        with np.errstate(all="ignore"):  # 0/0 where the ends coincide, see `span`
            pulls = [(scaled(-pull / length, line), V) for pull, V in self._force_terms(lower)]
        return [Applied(self.name, force, J, c, V, self._pull(motion, force)) for force, V in pulls]

    def lowering(self, motion: LoadKinematics) -> Lowering:
        line, J, c = self._line(motion)
        length = motion.algebra.sqrt(line @ line)
        with np.errstate(all="ignore"):
            rate = (line @ (J @ motion.qd + c)) / length
        return motion.lower.with_values({measure(LENGTH).name: length, measure(RATE).name: rate})

    def span(self, motion: LoadKinematics) -> Span:
        return self._span(motion, motion.lower(0))

    def tension(self, probe: MotionProbe, length: Derivatives) -> np.ndarray:
        return self._law_value(probe, length)
