"""Rigid contact: what a run has to know of a load that only pushes, and only where a gap is closed.

The force of a rigid contact is no formula of the motion. Its sizes are parameters of the model, which a run gives values:

    press(name)     N, the normal force
    rub(name)       the friction of a contact that sticks, against the direction of its slip
    slide(name)     1 or −1, the sign of the slip of a contact that slides, else 0

and the force on the body is N n − (slide μ N + rub) w, w being the direction of the slip. All formalisms take it as they take
any load. What N and the friction are follows from the gap g, its rate and the slip s: while g > 0 they are zero, and in a closed
contact 0 ≤ N ⊥ g̈ ≥ 0, and |friction| ≤ μ N, with μ N against the slip or its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import symengine as se

from dalembert.symbolic.algebra_base import Array, Scalar
from dalembert.symbolic.symbols import Formula, Kind

if TYPE_CHECKING:
    from dalembert.model.loads.base import Motion

Impact = Literal["newton", "poisson", "successive"]
IMPACTS: tuple[str, ...] = get_args(Impact)
FORCES = (Kind.PRESS, Kind.RUB, Kind.SLIDE)


@dataclass(frozen=True)
class Opening:
    """A gap in motion: its width, its rate, the slip, and the directions of both, in world axes."""

    gap: Scalar
    rate: Scalar
    slip: Scalar
    normal: Array
    way: Array


@dataclass(frozen=True)
class Unilateral:
    """The constants of a rigid contact."""

    load: str
    title: str
    restitution: Formula
    friction: Formula
    rest_speed: Formula  # an approach that is slower does not bounce
    impact: Impact

    @property
    def rubs(self) -> bool:
        """True where it has friction."""
        return bool(self.friction != 0)

    @property
    def press(self) -> str:
        """The parameter that holds N."""
        return Kind.PRESS.of(self.load)

    @property
    def rub(self) -> str:
        """The parameter that holds the friction where it sticks."""
        return Kind.RUB.of(self.load)

    @property
    def slide(self) -> str:
        """The parameter that holds the sign of the slip where it slides."""
        return Kind.SLIDE.of(self.load)

    @property
    def parameters(self) -> Iterator[str]:
        """The parameters that hold its force."""
        yield self.press
        if self.rubs:
            yield from (self.rub, self.slide)

    @property
    def laws(self) -> tuple[Formula, Formula]:
        """Press and drag, which is against the slip."""
        N, rub, slide = (se.Symbol(name) for name in (self.press, self.rub, self.slide))
        return N, slide * self.friction * N + rub if self.rubs else se.Integer(0)


@dataclass(frozen=True)
class KeptRate:
    """A rate of a rigid contact that its force keeps at zero, and the parameter of this force."""

    load: str
    slips: bool  # the slip, else the rate of the gap
    parameter: str

    def at(self, motion: Motion) -> Scalar:
        """Its value, a function of (q, q̇, t)."""
        load = next(load for load in motion.model.loads if load.name == self.load)
        opening = load.opening(motion)
        return opening.slip if self.slips else opening.rate
