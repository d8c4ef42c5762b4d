"""What is found of the programs that runs integrate, over all formalisms and engines, as one verdict for each kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.api.derive import derived
from dalembert.api.equations import Equations
from dalembert.api.tree_equations import TreeEquations
from dalembert.errors import EngineError
from dalembert.evidence.agreement import Verdict
from dalembert.evidence.differences import Reference
from dalembert.evidence.integrated_programs import (
    PROGRAMS,
    NotInstalled,
    NotRun,
    batch_of,
    difference_of_rates,
    held_values,
    tree_difference,
)
from dalembert.formalisms import denoc
from dalembert.formalisms.catalogue import refusal
from dalembert.mechanics.state_batch import States
from dalembert.simulation.derivation import derivation_of
from dalembert.simulation.workspace import Workspace

_RIGHT_HAND_SIDE = "integrated right-hand side"


class ProgramChecks:
    """Gathers the differences of the programs of formalisms at a batch of states."""

    def __init__(self, states: States) -> None:
        self._states = states
        self._differences: dict[str, dict[str, float]] = {name: {} for name in PROGRAMS}
        self._reasons: dict[str, dict[str, NotRun]] = {name: {} for name in PROGRAMS}
        self._values: dict[str, np.ndarray] = {}  # by engine: what holds conditions at the states

    def look_at(self, key: str, spaces: Sequence[Workspace], known: Reference) -> None:
        """Compare the programs of one formalism on every engine."""
        for space in spaces:
            try:
                equations = Equations(derivation_of(space.setup, key))
                first = space.engine not in self._values
                if first:
                    self._values[space.engine] = held_values(equations, self._states)
                given = batch_of(equations, self._states, self._values[space.engine], first)
            except EngineError:
                continue  # left out, as the formalism is on this engine; its own verdict says so
            for name, rates in PROGRAMS.items():
                try:
                    with np.errstate(all="ignore"):
                        found = difference_of_rates(rates(given), given, self._states, known)
                    self._differences[name][f"{key} on {space.engine}"] = found
                except NotRun as reason:
                    self._reasons[name][f"{key} on {space.engine}"] = reason

    def look_at_tree(self, space: Workspace, known: Reference) -> None:
        """Compare the recursion that a run of a large tree integrates."""
        if refusal(denoc.ABOUT, space.model, space.facts) is not None:
            return
        equations = derived(space.setup, denoc.ABOUT.key)
        if isinstance(equations, TreeEquations):
            found = tree_difference(equations, self._states, known)
            self._differences[_RIGHT_HAND_SIDE]["denoc, link by link"] = found

    def verdicts(self, tolerance: float) -> dict[str, Verdict]:
        """One for each kind of program: the largest difference, and who differs or does not run it."""
        return {name: self._verdict(name, tolerance) for name in PROGRAMS}

    def _verdict(self, name: str, tolerance: float) -> Verdict:
        found, reasons = self._differences[name], self._reasons[name]
        if not found:
            missing = any(isinstance(reason, NotInstalled) for reason in reasons.values())
            why = "; ".join(dict.fromkeys(map(str, reasons.values())))
            return Verdict("not installed" if missing else "not used", why or None, None, None)
        wrong = [f"{who} by {size:.1e}" for who, size in found.items() if not size <= tolerance]
        return Verdict("differs" if wrong else "agrees", ", ".join(wrong) or None, max(found.values()), None)
