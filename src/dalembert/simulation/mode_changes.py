"""Mode changes of a run at switches, tables, events and rigid contacts.

Between two crossings every condition is fixed (see `model/discontinuities`), so that the equations are smooth. At a crossing a
condition is reversed, a table continues with its next segment, or an event is applied. If the forces on both sides of a surface
push the motion onto it, it slides along the surface: the mixture of both sides with ġ = 0 replaces them (Filippov; sticking for
dry friction) until one side suffices. The modes of rigid contacts are determined again at every crossing: `rigid_contacts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import InconsistentStateError, SimulationError
from dalembert.formalisms.shared.common_quantities import PRESCRIBED_MOTION
from dalembert.mechanics.state_batch import one_state
from dalembert.model.discontinuities import freeze_conditions
from dalembert.model.elements import Event
from dalembert.simulation import constraint_manifold
from dalembert.simulation._complementarity import ContactMode
from dalembert.simulation._crossings import Crossings, EventFunction
from dalembert.simulation._rigid_contacts import FASTER, ContactEvent, RigidContacts, accumulation
from dalembert.simulation._sliding_mode import SAME_INSTANT, SlidingKernel, SwitchingSurfaces
from dalembert.simulation._velocity_jumps import Kink, VelocityJump
from dalembert.simulation.integrators.base import Termination
from dalembert.simulation.step_monitors import StateMechanics
from dalembert.simulation.trajectory_data import EventRecord
from dalembert.simulation.workspace import Workspace

if TYPE_CHECKING:
    from dalembert.simulation.bound_equations import BoundEquations
    from dalembert.simulation.right_hand_side import RightHandSide


_MAX_CROSSINGS = 100  # at the same instant, plus
_PER_SURFACE = 4  # for each monitored surface
_MAX_IMPACTS = 40  # of rigid contacts at the same instant, before their energy must be negligible
_ZENO = 1e-10  # of the time: the remaining time to an accumulation point at which a run ends
_NEGLIGIBLE = 1e-11  # of the energies: a smaller remainder of the work of an impact is rounding


class ModeManager:
    """The modes of the equations of a run, and the surfaces at which they change."""

    def __init__(self, equations: BoundEquations, start: float = 0.0, end: float = np.inf) -> None:
        self._end = end  # of the run
        derivation = equations.derivation
        declared = derivation.setup.declared
        self._fixed, self._events = freeze_conditions(declared.replaced(events=())), declared.events
        # events stay declared, so that no fact depends on the parameters they set
        setup = replace(derivation.setup, declared=self._fixed.description.replaced(events=declared.events))
        constraints = zip(declared.formula_constraints, self._fixed.description.formula_constraints, strict=True)
        switching = any(constraint.formula != own.formula for constraint, own in constraints)
        facts = None if switching else equations.workspace.facts  # facts contain the formulas of constraints
        known = replace(derivation, setup=setup, known=facts)
        self.equations: BoundEquations = replace(equations, derivation=known)  # with every condition fixed
        self._surfaces = SwitchingSurfaces(self.equations.workspace, self._fixed, self._events, end - start)
        self.events: list[EventRecord] = []
        self._modes = np.zeros(len(self._fixed.switches))
        self._lines = np.zeros(len(self._fixed.tables), dtype=np.intp)
        self._signs = np.zeros(len(self._events))
        self._sliding: tuple[int, ...] = ()
        self._fresh: set[tuple[int, float]] = set()  # rows and offsets that are zero at the start of the segment
        self._at_start = True  # until the run has left its start
        self._zero_since_start: set[tuple[int, float]] | None = None  # of `_fresh`, after a segment without a crossing
        self._flips: dict[int, tuple[float, int]] = {}  # the time of the last reversal of each switch, and its count
        self.event: str | None = None  # the names of the events that have just changed the state
        self._simultaneous = (-np.inf, 0)  # the instant of the last crossing, and the count
        self.accumulated: str | None = None  # the note for a run that ends at an accumulation of events
        self._monitored: list[EventFunction] = []
        self._known_active: dict[tuple[float, ...], tuple[bool, ...]] = {}
        self.contacts = RigidContacts(self.equations)
        self._contact_events: dict[int, ContactEvent] = {}  # by index of the monitored function
        self._impulses = 0  # their number before the last crossing
        self._by_joints: set[int] = set()  # those at the last crossing that belong to rheonomic joints
        self._jumps = False  # True if velocities jumped at the last crossing

    @property
    def idle(self) -> bool:
        """True if no mode can change along the run: the conditions depend on parameters alone, such as input limits."""
        return not (self._fixed.surfaces or self._events or self.contacts)

    def use(self, space: Workspace) -> None:
        """Continue with the model in these coordinates, which may have other angles than the user's."""
        self._surfaces.space = space

    # present modes

    def evaluate_modes(self, t: float, q: np.ndarray, qd: np.ndarray) -> BoundEquations:
        """The equations that hold at a state, with every condition evaluated there."""
        return self._evaluate_modes(t, q, qd, self.equations)

    def begin(
        self, t: float, q: np.ndarray, qd: np.ndarray, equations: BoundEquations
    ) -> tuple[BoundEquations, np.ndarray]:
        """The equations with the modes of rigid contacts at the start of a run, and the velocities after an impact there."""
        self._require_facts(self.equations, equations, (t, q, qd), "the start")
        if self.contacts:
            self.contacts.require_no_penetration(t, q, qd, equations.values)
        qd = self._update_contacts(t, q, qd, equations)
        return self._now(equations), qd

    def _update_contacts(
        self,
        t: float,
        q: np.ndarray,
        qd: np.ndarray,
        equations: BoundEquations,
        preferred: Mapping[int, ContactMode] | None = None,
        no_rebound: bool = False,
    ) -> np.ndarray:
        """Update the modes of rigid contacts; returns the velocities after their impulses."""
        if not self.contacts:
            return qd
        stuck = tuple(self._fixed.switches[k] for k in self._sliding)
        count = len(self.contacts.impulses)
        after, changes = self.contacts.update_modes(t, q, qd, self._now(equations), stuck, preferred, no_rebound)
        if hit := dict.fromkeys(each.name for each in self.contacts.impulses[count:]):
            self.events.append(EventRecord(f"impact of {', '.join(hit)}", t, q, qd, after, switching=True))
        self.events += [EventRecord(f"{title} {what}", t, q, after, after, switching=True) for title, what in changes]
        return after

    def _evaluate_modes(self, t: float, q: np.ndarray, qd: np.ndarray, equations: BoundEquations) -> BoundEquations:
        """Evaluate all conditions, which may be nested; those of time alone are evaluated just after t."""
        count, tables = len(self._modes), self._fixed.tables
        self._sliding = ()
        g = self._surfaces.just_after(t, q, qd, equations.values)
        for _ in range(count):
            if ((g[:count] > 0) == self._modes).all():
                break
            self._modes = (g[:count] > 0).astype(float)
            equations = self._now(equations)
            g = self._surfaces.just_after(t, q, qd, equations.values)
        self._simultaneous = t, self._simultaneous[1]
        pairs = zip(tables, g[count:], strict=False)
        self._lines = np.array([np.searchsorted(one.table.times, x, side="right") for one, x in pairs], dtype=np.intp)
        exact = self._surfaces.at(np.concatenate([q, qd, [t]]), equations.values)
        signs, is_zero = exact[count + len(tables) :], np.abs(exact) <= self._surfaces.noise(t, q, qd, equations.values)
        last = np.where(self._signs == 0, 1.0, self._signs)
        self._signs = np.where(is_zero[count + len(tables) :], last, np.sign(signs))
        zero = np.flatnonzero(is_zero).tolist()
        self._sliding = tuple(i for i in zero if i < count and self._fixed.switches[i].grip is not None)
        self._fresh = {(i, 0.0) for i in zero if not count <= i < count + len(tables) and i not in self._sliding}
        self._fresh |= self._surfaces.just_passed(exact, g)
        return self._now(equations)

    @property
    def _active(self) -> tuple[bool, ...]:
        """True for switches that affect the equations now: the friction of an open contact does not."""
        free = set(self._sliding)
        key = tuple(0.5 if i in free else mode for i, mode in enumerate(self._modes.tolist()))
        if key not in self._known_active:
            pairs = zip(self._fixed.switches, self._modes, strict=True)
            modes = {one.parameter: float(mode) for i, (one, mode) in enumerate(pairs) if i not in free}
            self._known_active[key] = self._fixed.effective_switches(modes)
        return self._known_active[key]

    def _refresh(
        self, before: tuple[bool, ...], t: float, q: np.ndarray, qd: np.ndarray, equations: BoundEquations
    ) -> None:
        """After a crossing: evaluate conditions that had no effect `before`, and release those that have none now."""
        state, known = np.concatenate([q, qd, [t]]), np.array(before)
        while True:
            g = self._surfaces.at(state, self._now(equations).values)[: len(before)]
            active = self._active
            self._sliding = tuple(k for k in self._sliding if active[k])
            new = [k for k, matters in enumerate(active) if matters and not known[k]]
            if not new:
                break
            self._modes[new], known[new] = (g[new] > 0), True
        noise = self._surfaces.noise(t, q, qd, self._now(equations).values)[: len(before)]
        at_zero = np.flatnonzero(np.abs(g) <= noise).tolist()
        self._fresh |= {(k, 0.0) for k in at_zero if k not in self._sliding}

    def _now(self, equations: BoundEquations) -> BoundEquations:
        """The equations in the present modes."""
        values = {one.parameter: float(mode) for one, mode in zip(self._fixed.switches, self._modes, strict=True)}
        for one, k in zip(self._fixed.tables, self._lines, strict=True):
            values |= dict(zip(one.parameters, one.line(int(k)), strict=True))
        values |= self.contacts.parameter_values
        return replace(equations, changes=equations.changes | values)

    def kernel(self, kernel: RightHandSide) -> RightHandSide:
        """The compiled equations of the present segment."""
        sliding = (*(self._fixed.switches[k] for k in self._sliding), *self.contacts.constrained_rates)
        return SlidingKernel.of(kernel, sliding) if sliding else kernel

    def monitor(self, mechanics: StateMechanics) -> Crossings:
        """The monitor that locates the next crossing."""
        n, values, kernel = mechanics.positions, mechanics.values, mechanics.kernel

        def surfaces(t: np.ndarray, y: np.ndarray) -> np.ndarray:
            state = np.concatenate([y[:n], mechanics.velocities(t, y), t[None]])
            g, forces, jam = self._surfaces.at(state, values), np.zeros((0, len(t))), np.ones(len(t))
            if isinstance(kernel, SlidingKernel):
                constants = mechanics.constants_at(t, y)
                found, jam = kernel.mixture(y, t, constants), self.contacts.jamming(kernel, y, t, constants)
                shares = len(self._sliding)
                g, forces = np.concatenate([g, found[:shares]]), found[shares:]
            return np.concatenate([g, self.contacts.functions(state, values, forces, jam)]) if self.contacts else g

        count, rows = len(self._modes), len(self._modes) + len(self._lines)
        monitored = [
            EventFunction(i, 1.0 if mode > 0 else -1.0)
            for i, (mode, active) in enumerate(zip(self._modes, self._active, strict=True))
            if active and i not in self._sliding
        ]
        for i, (one, k) in enumerate(zip(self._fixed.tables, self._lines, strict=True), start=count):
            low, high = one.ends(int(k))
            monitored += [EventFunction(i, sign, end) for sign, end in ((1.0, low), (-1.0, high)) if np.isfinite(end)]
        for i, (event, sign) in enumerate(zip(self._events, self._signs, strict=True), start=rows):
            up, down = (event.acts and event.counts(up=upward) for upward in (True, False))
            starts = [self._at_start and event.direction == side for side in ("up", "down")]
            monitored.append(EventFunction(i, float(sign), 0.0, False, True, up, down, *starts, title=event.title))
        grips = self._surfaces.grips(np.zeros(2 * n + 1), values).reshape(-1, 2) if self._sliding else []
        for i, k in enumerate(self._sliding, start=rows + len(self._events)):
            low, high = map(float, grips[k])
            monitored += [EventFunction(i, 1.0, low), EventFunction(i, -1.0, high)]
        fresh = (replace(one, fresh=(one.row, one.offset) in self._fresh) for one in monitored)
        self._monitored = list(map(self._refreshed, fresh))
        self._contact_events, first = {}, rows + len(self._events) + len(self._sliding)
        for each in self.contacts.monitored_functions() if self.contacts else ():
            self._contact_events[len(self._monitored)] = each
            self._monitored.append(self._refreshed(replace(each.function, row=first + each.function.row)))
        return Crossings(surfaces, self._monitored, self._end)

    def _refreshed(self, one: EventFunction) -> EventFunction:
        """A monitored function, no longer fresh if it has left zero since the last crossing."""
        known = self._zero_since_start
        return one if known is None or (one.row, one.offset) in known else replace(one, fresh=False)

    # crossings and events

    def note(self, crossings: Crossings, state: Callable[[Termination], tuple[np.ndarray, np.ndarray]]) -> None:
        """Record the events along a segment that do not end it."""
        first = len(self._modes) + len(self._lines)
        self._at_start, self._zero_since_start = False, crossings.fresh
        for passed in crossings.recorded:
            k = self._monitored[passed.which].row - first
            self._signs[k] = 1.0 if passed.up else -1.0
            if self._events[k].counts(up=passed.up):
                q, qd = state(passed)
                self.events.append(EventRecord(self._events[k].name, passed.t, q, qd, qd))

    def cross(
        self, halt: Termination, others: Sequence[Termination], q: np.ndarray, qd: np.ndarray, equations: BoundEquations
    ) -> tuple[BoundEquations, np.ndarray, bool]:
        """The equations and velocities after a crossing and `others` at its instant, and whether the run ends there."""
        met, count, self._zero_since_start = self._monitored[halt.which], len(self._modes), None
        self.event, self._impulses = None, len(self.contacts.impulses)
        self._by_joints, self._jumps = set(), False
        if not self._count(halt.t):
            self._fresh = set()
        if (contact_event := self._contact_events.get(halt.which)) is not None:
            if contact_event.contact < 0:
                raise self.contacts.jamming_error(halt.t, q, qd, equations)
            preferred = {} if contact_event.preferred is None else {contact_event.contact: contact_event.preferred}
            endless = self._simultaneous[1] > _MAX_IMPACTS
            qd = self._update_contacts(halt.t, q, qd, equations, preferred, no_rebound=endless)
            return self._now(equations), qd, False
        tables, events = count + len(self._lines), count + len(self._lines) + len(self._events)
        if tables <= met.row < events:
            ends, here = False, sorted((halt, *others), key=lambda each: each.which)
            for each in here:
                k = self._monitored[each.which].row - tables
                if 0 <= k < len(self._events):
                    equations, qd, last = self._apply(k, each, q, qd, equations)
                    ends = ends or last
            rows = {self._monitored[each.which].row for each in here}
            self._fresh |= {(row, 0.0) for row in rows if tables <= row < events}
            qd = self._update_contacts(halt.t, q, qd, equations)
            return self._now(equations), qd, ends
        before, crossed = self._active, [met.row]
        self._fresh |= {(met.row, met.offset)}
        former = self._now(equations)
        if met.row < count:
            self._flip(met.row, halt.t, q, qd)
        elif met.row < tables:
            self._lines[met.row - count] += 1 if met.sign < 0 else -1
        else:
            crossed = []
            k = self._sliding[met.row - events]
            self._modes[k] = 1.0 if met.sign < 0 else 0.0
            self._fresh |= {(k, 0.0)}
            self._sliding = tuple(i for i in self._sliding if i != k)
            if not self._just_flipped(k, halt.t):
                self._record(k, halt.t, q, qd)
        qd = self._jump(halt.t, q, qd, equations, crossed + self._flip_with(crossed, halt.t, q, qd, equations))
        self._refresh(before, halt.t, q, qd, equations)
        titles = [each.title for each in (*self._fixed.switches, *self._fixed.tables)]
        who = titles[met.row] if met.row < tables else "a switch"
        self._require_facts(former, self._now(equations), (halt.t, q, qd), who)
        qd = self._update_contacts(halt.t, q, qd, equations)
        return self._now(equations), qd, False

    def _flip_with(
        self, crossed: Sequence[int], t: float, q: np.ndarray, qd: np.ndarray, equations: BoundEquations
    ) -> list[int]:
        """Also cross every other surface of time alone that is zero at the same instant; returns their rows."""
        surfaces, timed, count, out = self._fixed.surfaces, self._surfaces.timed, len(self._modes), list[int]()
        if not crossed or not surfaces[crossed[0]].timed or not timed.any():
            return out
        exact = self._surfaces.at(np.concatenate([q, qd, [t]]), self._now(equations).values)
        g = self._surfaces.just_after(t, q, qd, self._now(equations).values)
        for i in (i for i in np.flatnonzero(timed).tolist() if i not in crossed):
            if i < count and (g[i] > 0) != self._modes[i] and i not in self._sliding:
                self._flip(i, t, q, qd)
                out.append(i)
            elif i >= count:
                line = int(np.searchsorted(self._fixed.tables[i - count].table.times, g[i], side="right"))
                out += [i] if line != self._lines[i - count] else []
                self._lines[i - count] = line
        self._fresh |= self._surfaces.just_passed(exact, g)
        return out

    def _jump(
        self, t: float, q: np.ndarray, qd: np.ndarray, before: BoundEquations, crossed: Sequence[int]
    ) -> np.ndarray:
        """The velocities after a crossing of these surfaces: they jump if positions or constraints have a kink."""
        met = [self._fixed.surfaces[i] for i in crossed if self._fixed.surfaces[i].kinematic]
        if not met or before.kernel.phase is not None:
            return qd
        names = tuple(dict.fromkeys(one.owner for one in met))
        kink = Kink(t, q, qd, before, self._now(before), names, all(one.timed for one in met))
        return self._jumped(kink)

    def _jumped(self, kink: Kink) -> np.ndarray:
        """The velocities after a kink; its impulses are recorded."""
        qd, of_constraints, of_joints = VelocityJump(kink).solve()
        count, self._jumps = len(self.contacts.impulses), True
        if qd is kink.qd and not of_joints:
            return qd
        self.contacts.impulses += of_joints + of_constraints
        self._by_joints |= set(range(count, count + len(of_joints)))
        names = dict.fromkeys(each.name for each in (*of_joints, *of_constraints))
        title = f"impulse of {', '.join(names or kink.names)}"
        self.events.append(EventRecord(title, kink.t, kink.q, kink.qd, qd, switching=True))
        self._reevaluate_conditions(kink, qd)
        return qd

    def _reevaluate_conditions(self, kink: Kink, qd: np.ndarray) -> None:
        """Evaluate again the conditions that a jump of the velocities has changed."""
        count, values = len(self._modes), kink.after.values
        old, new = (self._surfaces.at(np.concatenate([kink.q, x, [kink.t]]), values)[:count] for x in (kink.qd, qd))
        noise = self._surfaces.noise(kink.t, kink.q, qd, kink.after.values)[:count]
        for i in np.flatnonzero(np.abs(new - old) > noise + 1e-9 * np.abs(old)).tolist():
            self._sliding = tuple(k for k in self._sliding if k != i)
            self._fresh.discard((i, 0.0))
            if (new[i] > 0) != self._modes[i]:
                self._modes[i] = float(new[i] > 0)
                self._record(i, kink.t, kink.q, qd)

    def energies(self, total: float, size: float) -> dict[str, float]:
        """The shares of `total`, the energy added at the last crossing, by name: contacts, an event, or rheonomic motion.

        `size` is the magnitude of the energies.
        """
        found: dict[str, float] = {}
        for i, each in enumerate(self.contacts.impulses[self._impulses :], start=self._impulses):
            if i not in self._by_joints:  # their energy is part of the prescribed motion
                found[each.name] = found.get(each.name, 0.0) + each.energy
        rest = total - sum(found.values())
        if self.event is not None:
            return found | {self.event: rest}
        if not found and abs(rest) <= _NEGLIGIBLE * size:
            return {}
        name = max(found, key=lambda key: abs(found[key]), default=PRESCRIBED_MOTION)
        name = name if abs(rest) <= _NEGLIGIBLE * size else PRESCRIBED_MOTION
        return found | {name: found.get(name, 0.0) + rest}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on accumulations and contacts."""
        return ((self.accumulated,) if self.accumulated else ()) + self.contacts.notes

    @property
    def changed_state(self) -> bool:
        """True if the last crossing changed the state."""
        return self.event is not None or self._jumps or len(self.contacts.impulses) > self._impulses

    def _flip(self, k: int, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Reverse a switch; one with a sticking range, or that both sides reverse at this instant, slides.

        The motion along a step is accurate to the tolerance only, so a crossing may be spurious. The other side
        then leads back at once, and the switch is reversed again; it slides only if this side also leads away again.
        """
        reversals = self._flips[k][1] + 1 if self._just_flipped(k, t) else 1
        self._flips[k] = t, reversals
        grips = self._fixed.switches[k].grip is not None
        if reversals > 2 or grips:
            self._sliding = tuple(sorted({*self._sliding, k}))
            self._fresh.discard((k, 0.0))
            if reversals == 1 or not grips:
                self._record(k, t, q, qd)
            return
        self._modes[k] = 1.0 - self._modes[k]
        if reversals == 1:
            self._record(k, t, q, qd)
        else:
            title = self._fixed.switches[k].title
            self.events.pop(max(i for i, each in enumerate(self.events) if each.name == title))

    def _just_flipped(self, k: int, t: float) -> bool:
        return k in self._flips and abs(t - self._flips[k][0]) <= SAME_INSTANT * self._surfaces.instant(t)

    def _record(self, k: int, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        self.events.append(EventRecord(self._fixed.switches[k].title, t, q, qd, qd, switching=True))

    def _apply(
        self, k: int, halt: Termination, q: np.ndarray, qd: np.ndarray, equations: BoundEquations
    ) -> tuple[BoundEquations, np.ndarray, bool]:
        event, after, t = self._events[k], qd.copy(), halt.t
        self._signs[k] = 1.0 if halt.up else -1.0
        if not event.counts(up=halt.up):
            return equations, qd, False
        if event.set or event.reset:
            self.event = event.name if self.event is None else f"{self.event}, {event.name}"
            before = sum(len(one.set) + len(one.reset) for one in self._events[:k])
            new = self._surfaces.changes(np.concatenate([q, qd, [t]]), equations.values)[before:].tolist()
            values = dict(zip(event.set, new, strict=False))
            names = equations.model.coordinate_names
            for name, rate in zip(event.reset, new[len(event.set) :], strict=False):
                after[names.index(name)] = rate
            former, modes = equations, (self._modes.copy(), self._lines.copy())
            equations = self._evaluate_modes(t, q, after, replace(equations, changes=equations.changes | values))
            if not event.reset and equations.kernel.phase is None and self._moves_bodies(event, *modes):
                after = self._jumped(Kink(t, q, qd, former, equations, (event.title,), timed=True, event=True))
                equations = self._now(equations)
            self._require_sound(event, t, q, after, equations)
            self._require_facts(former, equations, (t, q, after), event.title)
        self.events.append(EventRecord(event.name, t, q, qd, after))
        return equations, after, event.stop or self._check_accumulation(event.name)

    def _require_facts(
        self, before: BoundEquations, after: BoundEquations, here: tuple[float, np.ndarray, np.ndarray], who: str
    ) -> None:
        """Raise if values that change along the run change a fact on which the equations depend."""
        t, q, qd = here
        known, new = (dict(zip(e.model.parameter_values, e.values.tolist(), strict=True)) for e in (before, after))
        after.derivation.require_same_rank(known, new, one_state(q, qd, t), who)

    def _moves_bodies(self, event: Event, modes: np.ndarray, lines: np.ndarray) -> bool:
        """True if an event changes parameters or conditions of the motion of bodies or of constraints."""
        crossed = np.concatenate([modes != self._modes, lines != self._lines])
        kinematic = [one.kinematic for one in self._fixed.surfaces]
        return bool((crossed & np.array(kinematic, dtype=bool)).any() or self._surfaces.kinematic & event.set.keys())

    def _require_sound(self, event: Event, t: float, q: np.ndarray, qd: np.ndarray, equations: BoundEquations) -> None:
        """Raise if the run cannot continue from the state after an event."""
        names = equations.model.coordinate_names
        new = {name: equations.changes[name] for name in event.set} | dict(zip(names, qd.tolist(), strict=True))
        for name, value in new.items():
            if not np.isfinite(value):
                fact = f"at t = {t:.9g} {event.title} sets '{name}' to {value}"
                raise SimulationError(f"{fact}. Expected a finite number.")
        try:
            constraint_manifold.require_consistent(equations.workspace.manifold, q, qd, t, equations.values)
        except InconsistentStateError as error:
            advice = "Reset all rates that the constraints couple."
            raise SimulationError(f"{event.title} violates a constraint: {error} {advice}") from error

    def _check_accumulation(self, name: str) -> bool:
        """True if the intervals of an event decrease so that the accumulation point is within rounding."""
        times = [each.t for each in self.events[-4 * FASTER :] if each.name == name]
        if (found := accumulation(times)) is None or found[1] > _ZENO * self._surfaces.instant(times[-1]):
            return False
        ratio, left = found
        self.accumulated = (
            f"event '{name}' accumulates (Zeno behavior), each interval {ratio:.3g} of the one before: the run ends at "
            f"the accumulation point t = {times[-1] + left:.12g}"
        )
        return True

    def _count(self, t: float) -> bool:
        """True if the last crossing was at the same instant; raises if these do not end."""
        last, count = self._simultaneous
        count = count + 1 if abs(t - last) <= SAME_INSTANT * self._surfaces.instant(t) else 0
        self._simultaneous = t, count
        if count > _MAX_CROSSINGS + _PER_SURFACE * len(self._monitored):
            names = sorted({each.name for each in self.events[-_MAX_CROSSINGS:]})
            raise SimulationError(
                f"at t = {t:.9g} {count} crossings occur at the same instant: {', '.join(names[:3])}. The motion cannot "
                "continue to either side. Check for conditions or events that undo each other, or for events that "
                "reset velocities so that the same event occurs again at once."
            )
        return count > 0


def mode_manager_of(equations: BoundEquations, start: float = 0.0, end: float = np.inf) -> ModeManager | None:
    """The mode manager of a run; None if no mode can change."""
    model = equations.model
    if not (model.switching or model.events or model.rigid):
        return None
    manager = ModeManager(equations, start, end)
    return None if manager.idle else manager
