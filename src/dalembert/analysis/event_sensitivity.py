"""What events and switchings do to derivatives.

At a surface g(y, t; p) = 0 that is crossed with ġ ≠ 0, the instant moves by t′ = −(g_y y′ + g_p p′) / ġ, and behind it, with
y⁺ = R(y, t; p) where velocities are reset,

    y⁺′ = R_y (y′ + F⁻t′) + R_t t′ + R_p p′ − F⁺t′,

the saltation matrix applied to y′. Where a motion touches a surface, slides along it, or meets several at once, there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.analysis.directional_derivatives import Differentials, Directions, Varied, with_time
from dalembert.codegen.function import nodes
from dalembert.codegen.program import program_of
from dalembert.errors import NotApplicableError
from dalembert.model.discontinuities import Held, held
from dalembert.model.elements import Event
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.main_loop import Stretches
from dalembert.simulation.partition import Part
from dalembert.simulation.trajectory_data import EventRecord
from dalembert.symbolic.algebra_base import Scalar, stack, vector

_SAME = 1e-13  # of the time, or of the time of the model: happenings as close as this are at one instant
_ALONG = 1e-6  # of the size of its parts: a rate of g below this is none
_ALIKE = 1e-9  # of the rates: what is less apart is the same


@dataclass(frozen=True)
class Crossing:
    """An event or switching, when it happened, and how that instant moves with what is differentiated by."""

    name: str
    t: float
    first: np.ndarray  # (directions,)

    def __repr__(self) -> str:
        return f"<{self.name} at t = {self.t:.9g}, moves by {np.array2string(self.first, precision=6)}>"


@dataclass(frozen=True)
class Jumps:
    """What happens between the stretches of a run."""

    stretches: Stretches
    equations: BoundEquations  # as they were declared
    directions: Directions
    order: int

    def __post_init__(self) -> None:
        for part in self.stretches.parts:
            if part.constants.ndim == 2:
                raise NotApplicableError(
                    f"sensitivity: from t = {part.solution.t[0]:.9g} on the motion slides along a switching surface, as dry "
                    "friction sticks, and derivatives along such a stretch are not known. End the run before, or smooth the law."
                )

    @cached_property
    def _held(self) -> Held:
        return held(self.equations.derivation.setup.declared.replaced(events=()))

    def _instant(self, t: float) -> float:
        """How far apart happenings at one instant may be."""
        parts, scales = self.stretches.parts, self.equations.workspace.facts.scales
        return _SAME * scales.instant(t, float(parts[-1].solution.t[-1] - parts[0].solution.t[0]))

    def across(self, before: Part, after: Part | None, y: Varied) -> tuple[Varied, Crossing | None]:
        """State and derivatives behind the end of a stretch, where the run may end, too."""
        t, start = _end(before, after)
        happened = [each for each in self.stretches.happened if abs(each.t - t) <= self._instant(t)]
        happened = [each for each in happened if each.switching or self._event(each).acts]
        if after is None and not happened:
            return y, None
        self._require_no_impulse(happened)
        rates = _rates(before, y.value, t)
        new = rates if after is None else _rates(after, start, t)
        if not happened:
            self._require_alike(rates, new, t)
            return y, None
        if len(happened) > 1:
            names = " and ".join(each.name for each in happened)
            raise NotApplicableError(
                f"sensitivity: {names} happen at one instant, t = {t:.9g}, and derivatives depend on which comes first. Change "
                "the start, or end the run before."
            )
        if self.order == 2:
            raise NotApplicableError(
                f"sensitivity: {happened[0].name} at t = {t:.9g} ends a smooth stretch. Second derivatives are known along "
                "smooth motions only. Ask for order=1, or end the run before."
            )
        return self._saltation(happened[0], before, y, t, rates, new)

    def _require_no_impulse(self, happened: list[EventRecord]) -> None:
        for each in happened:
            if each.switching and not np.array_equal(each.qd, each.after):
                raise NotApplicableError(
                    f"sensitivity: {each.name} at t = {each.t:.9g} makes the velocities jump, and derivatives across such a jump "
                    "are not known. Round the kink of the prescribed motion off, or end the run before."
                )

    def _saltation(
        self, what: EventRecord, before: Part, y: Varied, t: float, rates: np.ndarray, new: np.ndarray
    ) -> tuple[Varied, Crossing]:
        function, moved = self._function(what, before.equations), self.directions.moved
        values = before.constants
        here = function(with_time(y, t), values, moved)
        flow = Varied(np.append(y.value, t), np.append(rates, 1.0)[:, None])
        slope = function(flow, values, np.zeros((len(moved), 1))).first[0, 0]
        self._require_transversal(what, function, flow.value, values, rates, float(slope))
        instant = -here.first[0] / slope
        first = y.first + np.outer(rates, instant)
        at = function(Varied(flow.value, np.concatenate([first, instant[None]])), values, moved)
        return Varied(at.value[1:], at.first[1:] - np.outer(new, instant)), Crossing(what.name, t, instant)

    def _function(self, what: EventRecord, equations: BoundEquations) -> Differentials:
        """g and the state behind, of (q, q̇, t)."""
        system = equations.workspace.system
        rates: list[Scalar] = list(system.qd)
        if what.switching:
            g = next(each for each in self._held.switches if each.title == what.name).at(system.motion)
        else:
            event = self._event(what)
            self._require_constant(event)
            g = system.motion.lower(event.when)
            for name, formula in event.reset.items():
                rates[equations.model.coordinate_names.index(name)] = system.motion.lower(formula)
        outputs = nodes(system.algebra, stack(vector([g]), system.q, vector(rates)))
        inputs = [str(x) for x in stack(system.q, system.qd, vector([system.t]))]
        program = program_of(outputs, inputs, list(system.model.parameter_values))
        return Differentials(program, self.directions.parameters, equations.workspace.engine)

    def _event(self, what: EventRecord) -> Event:
        return next(event for event in self.equations.derivation.setup.declared.events if event.name == what.name)

    def _require_constant(self, event: Event) -> None:
        """Parameters that an event sets must not carry derivatives."""
        for name, formula in event.set.items():
            if name in self.directions.parameters or formula.free_symbols:
                raise NotApplicableError(
                    f"sensitivity: event '{event.name}' sets the parameter '{name}' to {formula}, and derivatives through "
                    "parameters that change on the way are not known. Set numbers, and differentiate by others."
                )

    def _require_alike(self, rates: np.ndarray, new: np.ndarray, t: float) -> None:
        if np.abs(new - rates).max() > _ALIKE * (1.0 + np.abs(rates).max()) or (self.order == 2 and self._held.tables):
            raise NotApplicableError(
                f"sensitivity: at t = {t:.9g} a table of the model has a corner that derivatives of this order do not pass. "
                "Use a smooth profile in place of the table, or end the run before."
            )

    def _require_transversal(
        self, what: EventRecord, g: Differentials, at: np.ndarray, values: np.ndarray, rates: np.ndarray, slope: float
    ) -> None:
        parts = g(Varied(at, np.diag(np.append(rates, 1.0))), values, np.zeros((len(self.directions.moved), len(at))))
        if abs(slope) <= _ALONG * float(np.abs(parts.first[0]).sum()):
            raise NotApplicableError(
                f"sensitivity: at t = {what.t:.9g} the motion only touches the surface of {what.name}, so the next motion "
                "would miss it, and there is no derivative. Change the start, or end the run before."
            )


def _end(before: Part, after: Part | None) -> tuple[float, np.ndarray]:
    """The end of a stretch, and the state (q, q̇) that the next begins with."""
    part, place = (before, -1) if after is None else (after, 0)
    return float(part.solution.t[place]), part.solution.y[: part.equations.n_states, place]


def _rates(part: Part, y: np.ndarray, t: float) -> np.ndarray:
    """(q̇, q̈) at a state by the equations of a stretch."""
    return part.equations.kernel.state_rates(y, t, part.constants)[: len(y)]
