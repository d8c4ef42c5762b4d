"""A strut between two points: it pulls by any law of its length and its rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from dalembert.arguments import checked
from dalembert.model.keys import Key, Keys
from dalembert.model.loads.base import Applied, LoadMaker, Motion, Span
from dalembert.model.loads.between import ENDS, Between
from dalembert.model.loads.by_law import ByLaw
from dalembert.model.loads.force_laws import CURVES, RATE, law, measure, require_some
from dalembert.model.making import ZERO, Given
from dalembert.model.reference_model import Traced, Watch
from dalembert.symbolic.algebra_base import scaled
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import Written

LENGTH = "length"


@dataclass(frozen=True)
class Strut(ByLaw, Between):
    """It pulls its ends together by a formula of `length` and `rate` and by curves over them; where negative it pushes."""

    kind: ClassVar[str] = "strut"
    measured: ClassVar[tuple[str, ...]] = (LENGTH,)
    forms: ClassVar[dict[str, Keys]] = {"strut": {**ENDS, "pull": Key(law(LENGTH, RATE), usual=0), **CURVES}}

    def applied(self, motion: Motion) -> list[Applied]:
        """Its pull on the rate of the vector between its ends: first what has a potential, then the rest."""
        (line, J, c), lower = self._line(motion), self.lowering(motion)
        length = lower(measure(LENGTH))
        with np.errstate(all="ignore"):  # 0/0 where the ends meet, see `span`
            pulls = [(scaled(-pull / length, line), V) for pull, V in self._pulls(lower)]
        return [Applied(self.name, force, J, c, V, self._pull(motion, force)) for force, V in pulls]

    def lowering(self, motion: Motion) -> Lowering:
        """Knowing length and rate."""
        line, J, c = self._line(motion)
        length = motion.algebra.sqrt(line @ line)
        with np.errstate(all="ignore"):
            rate = (line @ (J @ motion.qd + c)) / length
        return motion.lower.knowing({measure(LENGTH).name: length, measure(RATE).name: rate})

    def span(self, motion: Motion) -> Span:
        """Its force has no direction at length zero."""
        return self._span(motion, motion.lower(0))

    def tension(self, watch: Watch, length: Traced) -> np.ndarray:
        """By its formula as it is given, and by its curves."""
        return self._pulled(watch, length)


class StrutMaker(LoadMaker):
    """Makes struts."""

    @checked
    def strut(
        self,
        bodies: tuple[str, str],
        *,
        pull: Written | None = None,
        curve: Given | None = None,
        rate_curve: Given | None = None,
        points: Given = (ZERO, ZERO),
        name: str | None = None,
    ) -> Self:
        """Connect points of two bodies (or of the world) by a strut that pulls them together by any law.

        `pull` is a formula of `length`, `rate`, parameters and `t`. `curve` has rows (length, pull) and `rate_curve` rows
        (rate, pull), with straight lines between them and level outside. What is given adds up. Powers, sines, cosines and
        exponentials of the length count as potential energy, all else as work.

        >>> from dalembert.model.model import Model
        >>> model = Model("bumper").parameters(k=4e4, c=30.0, l=0.2).coordinate("x", 0.15)
        >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
        >>> _ = model.strut(("world", "block"), pull="k*(length - l)**3 + c*rate", rate_curve=[[-1, -80], [0, 0], [1, 20]])
        >>> model.loads[0].law()
        ('strut', 'c*rate + k*(-l + length)**3 + a curve over rate of 3 points')
        """
        require_some((pull, curve, rate_curve), f"strut '{name or 'strut'}'")
        given = {"pull": 0 if pull is None else pull, "curve": curve, "rate_curve": rate_curve}
        return self._load(Strut, name, bodies=bodies, points=points, **given)
