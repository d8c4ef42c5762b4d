"""What the velocity variables of a formalism are."""

from __future__ import annotations

from enum import StrEnum


class Velocities(StrEnum):
    """The velocity variables v of a form; the value is the letter that people read.

    >>> Velocities.SPEEDS.in_speeds, Velocities.MOMENTA.in_speeds
    (True, False)
    """

    RATES = "q̇"  # of all coordinates
    FREE_RATES = "q̇_NI"  # of the coordinates that are not ignorable
    SPEEDS = "u"  # d quasi-velocities
    REDUCED_SPEEDS = "u_NI"  # d − s quasi-velocities
    SQUARE_SPEEDS = "s"  # n quasi-velocities
    MOMENTA = "p"
    TWISTS = "twists"

    @property
    def in_speeds(self) -> bool:
        """True where they are quasi-velocities."""
        return self in (Velocities.SPEEDS, Velocities.REDUCED_SPEEDS, Velocities.SQUARE_SPEEDS)

    @property
    def are_rates(self) -> bool:
        """True where they are q̇ itself, all n of them."""
        return self is Velocities.RATES

    @property
    def are_reduced(self) -> bool:
        """True for the speeds that remain when ignorable coordinates are left out."""
        return self is Velocities.REDUCED_SPEEDS

    @property
    def are_momenta(self) -> bool:
        """True for the momenta p = ∂L/∂q̇."""
        return self is Velocities.MOMENTA

    @property
    def keep_constraints(self) -> bool:
        """True where every v fulfils the constraints on velocity level."""
        return self in (Velocities.SPEEDS, Velocities.REDUCED_SPEEDS)

    @property
    def exceed_rates(self) -> bool:
        """True where there are more of them than rates, so that they have to be kept compatible with the joints."""
        return self is Velocities.TWISTS

    @property
    def heading(self) -> str:
        """What a sheet of equations calls them."""
        return {Velocities.MOMENTA: "Momenta", Velocities.TWISTS: "Twists"}.get(self, "Speeds")
