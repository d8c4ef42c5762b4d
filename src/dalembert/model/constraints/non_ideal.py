"""The work of constraints that are not ideal: C(q, q̇, t), one force for each coordinate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from dalembert.arguments import checked
from dalembert.model.frozen import Frozen
from dalembert.model.initial_state import by_coordinate
from dalembert.model.making import Maker
from dalembert.symbolic.symbols import Formula, Written


class NonIdealMaker(Maker):
    """Says what virtual work constraints do."""

    non_ideal_forces: Frozen[str, Formula]

    @checked
    def non_ideal(self, forces: Mapping[str, Written] | Sequence[Written]) -> Self:
        """Let the constraints do the virtual work wᵀC: C(q, q̇, t) by coordinate name, or one entry for each coordinate."""
        given = by_coordinate(self.coordinate_names, forces, "non_ideal").items()
        read = {name: self.reader.read(force, f"non_ideal '{name}'") for name, force in given}
        self.non_ideal_forces = self.non_ideal_forces | read
        return self
