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
    velocities: Literal["q̇", "u", "u_NI"]
    count: Literal["n", "d", "d − s"]  # number of dynamic equations, Table 1 of papers/volterra
    nonlinear: bool  # takes constraints that are nonlinear in the velocities
    citation: str
