"""What a formalism says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class About:
    """The facts of a formalism that users choose it by."""

    key: str
    title: str
    source: str
    needs: Literal["bodies", "energies"]  # a model given by its energies serves only formalisms that need no bodies
    velocities: Literal["q̇", "u", "u_NI", "q̇_NI", "s", "p", "twists"]
    count: Literal["n", "d", "d − s", "n − s", "6N"]  # number of dynamic equations, Table 1 of papers/volterra
    citation: str
    nonholonomic: bool = True  # takes constraints on velocities
    nonlinear: bool = False  # takes constraints that are nonlinear in the velocities
    servo: bool = False  # takes constraints with feedback, whose velocity level does not hold at first
    canonical: bool = False  # takes constraints on momenta
    first_order: bool = False  # takes stabilisation of first order, φ̇ + α φ = 0 with one gain
    singular_mass: bool = False  # takes a mass matrix that is singular but regular on the constraints
    redundant: Literal["drops", "takes"] = "drops"  # what happens to dependent constraints
