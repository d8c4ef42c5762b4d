"""The symbols that the names of a model bring with them: rates, accelerations, momenta, constants of the motion, work.

A name that a user may choose is an identifier; these are a kind and what it belongs to, in brackets. So the two never meet,
and a coordinate may be called work, p or lam.
"""

from __future__ import annotations

import re
from enum import StrEnum

import symengine as se


class Kind(StrEnum):
    """What a symbol of ours stands for; the value is how it is written.

    >>> Kind.RATE.of("theta1"), Kind.WORK.of()
    ('dot(theta1)', 'work()')
    """

    RATE = "dot"
    ACCELERATION = "ddot"
    MOMENTUM = "p"
    CONSTANT = "G"  # the constant momentum of an ignorable coordinate
    CONSTRAINED = "w"  # a quasi-velocity that vanishes on the constraints
    MULTIPLIER = "lambda"
    SLOPE = "rate"  # the rate of any unknown in a differential-algebraic system, or of any input of a program
    FORCE = "force"  # along a speed
    WORK = "work"  # the integral of the power
    WEIGHT = "weight"  # of an output of a program
    HELD = "held"  # a condition, or a line of a table, that a run holds between two switchings
    PRESS = "press"  # the normal force of a rigid contact
    RUB = "rub"  # its friction where it sticks
    SLIDE = "slide"  # the sign of its slip where it slides
    INPUT = "u"  # what a law in Python gives a load
    MEASURE = "measure"  # what a law of a load is a formula of, such as the length of a strut
    VX, VY, VZ, WX, WY, WZ = "vx", "vy", "vz", "wx", "wy", "wz"  # the parts of a twist

    def of(self, name: object = "") -> str:
        """The name of the symbol of this kind that belongs to `name`."""
        return f"{self.value}({name})"


_KINDS = {kind.value: kind for kind in Kind}
TWIST = (Kind.VX, Kind.VY, Kind.VZ, Kind.WX, Kind.WY, Kind.WZ)


def parted(name: str) -> tuple[Kind | None, str]:
    """The kind of a symbol of ours and what it belongs to; None and the name itself for a name of the user's.

    >>> parted("dot(x)"), parted("x")
    ((<Kind.RATE: 'dot'>, 'x'), (None, 'x'))
    """
    match = re.fullmatch(r"(\w+)\((.*)\)", name)
    kind = _KINDS.get(match[1]) if match else None
    return (kind, match[2]) if match and kind else (None, name)


def kind_of(name: str) -> Kind | None:
    """The kind of a symbol of ours; None for a name of the user's.

    >>> kind_of("p(x)"), kind_of("p")
    (<Kind.MOMENTUM: 'p'>, None)
    """
    return parted(name)[0]


def rate(name: str) -> se.Symbol:
    """The symbol of the velocity of a coordinate.

    >>> rate("theta1")
    dot(theta1)
    """
    return se.Symbol(Kind.RATE.of(name))


def momentum(name: str) -> se.Symbol:
    """The symbol of the momentum ∂L/∂q̇ of a coordinate.

    >>> momentum("theta1")
    p(theta1)
    """
    return se.Symbol(Kind.MOMENTUM.of(name))
