"""Properties of a formulation: its source, its variables, the models it supports, and its derivation lineage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Fact = Literal["T", "V", "free motion", "Legendre", "bodies", "active forces", "wrenches", "recursion", "positions"]
# intermediate results that several formulations share; positions, Jacobians, the declared loads and the constraint levels are
# shared by all and not listed
FACTS: dict[Fact, str] = {
    "T": "inertia terms are derivatives of the kinetic energy",
    "V": "gravity and springs are derivatives of the potential energy",
    "free motion": "M and h of M q̈ = h are computed by Lagrange's operators, in one shared function",
    "Legendre": "H and its derivatives are computed from L by the Legendre transform, in one shared function",
    "bodies": "inertia terms are sums of momenta or accelerations of bodies, through their Jacobians",
    "active forces": "all loads are forces projected on partial velocities, in one shared function",
    "wrenches": "loads are applied as a force and a moment on each body",
    "recursion": "inertia terms are propagated from body to body, without Jacobians",
    "positions": "positions from a separate traversal, differentiated numerically, and forces from the declarations",
}
Lineage = tuple[Fact, ...]


class Velocities(StrEnum):
    """The velocity variables v of a form; the value is the printed letter.

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
        """True for quasi-velocities."""
        return self in (Velocities.SPEEDS, Velocities.REDUCED_SPEEDS, Velocities.SQUARE_SPEEDS)

    @property
    def are_rates(self) -> bool:
        """True for all n rates q̇."""
        return self is Velocities.RATES

    @property
    def are_reduced(self) -> bool:
        """True for the reduced speeds, without ignorable coordinates."""
        return self is Velocities.REDUCED_SPEEDS

    @property
    def are_momenta(self) -> bool:
        """True for the momenta p = ∂L/∂q̇."""
        return self is Velocities.MOMENTA

    @property
    def satisfy_constraints(self) -> bool:
        """True if every v satisfies the constraints on velocity level."""
        return self in (Velocities.SPEEDS, Velocities.REDUCED_SPEEDS)

    @property
    def exceed_rates(self) -> bool:
        """True if there are more velocity variables than rates, so that they must stay compatible with the joints."""
        return self is Velocities.TWISTS

    @property
    def heading(self) -> str:
        """Heading of the velocity variables in printed equations."""
        return {Velocities.MOMENTA: "Momenta", Velocities.TWISTS: "Twists"}.get(self, "Speeds")


@dataclass(frozen=True)
class About:
    """Properties of a formulation."""

    key: str
    title: str
    source: str
    needs: Literal["bodies", "energies"]  # models without bodies support only "energies"
    velocities: Velocities
    count: Literal["n", "d", "d − s", "n − s", "6N"]  # number of dynamic equations, Table 1 of papers/volterra
    citation: str
    lineage: Lineage  # the shared facts on which its inertia and load terms depend
    nonholonomic: bool = True  # supports constraints on velocities
    nonlinear: bool = False  # supports constraints that are nonlinear in the velocities
    servo: bool = False  # supports constraints with feedback, whose velocity level may be violated initially
    canonical: bool = False  # supports constraints on momenta
    first_order: bool = False  # supports first-order stabilization, φ̇ + α φ = 0 with one gain
    singular_mass: bool = False  # supports a mass matrix that is singular but regular on the constraints
    dependent_rows: Literal["drops", "takes"] = "drops"  # treatment of dependent constraints
    recursive: bool = False  # derived link by link: `recursive.stages`
    along_speeds: bool = False  # projects on the directions of the speeds, with any velocity variables
    compiles: Literal["large", "large open", "small"] = "small"  # systems whose equations are compiled quickly

    @property
    def uses_speeds(self) -> bool:
        """True if the equations depend on the choice of quasi-velocities."""
        return self.velocities.in_speeds or self.along_speeds


def group_by_lineage(lineages: Mapping[str, Lineage]) -> dict[Lineage, tuple[str, ...]]:
    """Group names by lineage, related lineages next to each other.

    >>> group_by_lineage({"denoc": ("recursion",), "lagrange": ("T", "V"), "kane": ("bodies",), "routh": ("T", "V")})
    {('T', 'V'): ('lagrange', 'routh'), ('bodies',): ('kane',), ('recursion',): ('denoc',)}
    """
    rank = list(FACTS).index
    order = sorted(set(lineages.values()), key=lambda lineage: [rank(fact) for fact in lineage])
    return {lineage: tuple(name for name, its in lineages.items() if its == lineage) for lineage in order}
