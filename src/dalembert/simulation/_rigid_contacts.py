"""Rigid contacts along a run: open, closed, sticking and sliding contacts, and impacts.

An open contact is monitored until its gap closes; a closed one until its normal force changes sign, its slip becomes zero, or
its friction exceeds the sticking limit. At each of these instants, and whenever forces or velocities have changed, all closed
contacts are solved together: first the impulses, if a gap is still closing, then the modes of the contacts that remain closed
(`simulation/_complementarity`). Between two instants the contact forces keep the rates of closed gaps, and the slips of sticking
contacts, at zero (`simulation/_sliding_mode`), and every step is projected onto them (`simulation/constraint_manifold`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.codegen.function import CompiledFunction
from dalembert.errors import InputError, NotApplicableError, SimulationError
from dalembert.model.loads.base import Load
from dalembert.model.loads.contact_base import ConstrainedRate, Unilateral
from dalembert.simulation import _complementarity
from dalembert.simulation._complementarity import OPEN, ContactMode, Contacts, paradox, sliding, solve_modes
from dalembert.simulation._crossings import EventFunction
from dalembert.simulation._sliding_mode import SlidingKernel
from dalembert.simulation.constraint_manifold import ClosedContactManifold
from dalembert.simulation.trajectory_data import Impulse
from dalembert.symbolic.algebra_base import stack, vector

if TYPE_CHECKING:
    from dalembert.model.discontinuities import Switch
    from dalembert.simulation.bound_equations import BoundEquations

_CLOSED = 1e-11  # of the model's length: smaller gaps are closed
_INSIDE = 1e-8  # of the model's length: a larger initial penetration is an error
_ROUNDING = 4e-14  # of the model's length: a gap that rebounds less stays closed
_STEEP = 1e6  # of the model's acceleration: larger gap accelerations are not expected
_SLOW = 1e-11  # of the model's speed: gaps that open more slowly stay closed, slower slips are zero
_TENSION = 1e-11  # of the force that cancels the accelerations: a contact with more tension opens
_DEPENDENT = 1e-10  # of the largest response: dependent contacts share their impulses
_NEGLIGIBLE = 1e-9  # of the energies: endless impacts with less energy come to rest
_GAIN = 1e-9  # of the energies of an impact: a larger gain is not rounding
FASTER = 8  # consecutive decreasing intervals that indicate an accumulation
_JAMMED = 1e-7  # the response determinant with friction relative to that without, below which contacts jam


@dataclass(frozen=True)
class Gaps:
    """Gaps, rates and coefficients of all contacts at one state."""

    gap: np.ndarray
    rate: np.ndarray
    slip: np.ndarray
    normal: np.ndarray  # (contacts, 3)
    tangent: np.ndarray
    restitution: np.ndarray
    friction: np.ndarray
    slow: np.ndarray


@dataclass(frozen=True)
class ContactEvent:
    """A monitored function of a contact: the row of `RigidContacts.functions`, and the preferred mode after a crossing."""

    contact: int
    function: EventFunction
    preferred: ContactMode | None = None


class RigidContacts:
    """The rigid contacts of a run."""

    def __init__(self, equations: BoundEquations) -> None:
        self._equations = equations
        self._known = equations.model.rigid
        self._modes: tuple[ContactMode, ...] = (OPEN,) * len(self._known)
        self._manifolds: dict[tuple[tuple[str, ...], tuple[str, ...]], ClosedContactManifold] = {}
        self.impulses: list[Impulse] = []
        self.notes: tuple[str, ...] = ()
        self.inputs: Mapping[str, float] = {}  # the present outputs of laws in Python
        self._opening_tensions = np.zeros(len(self._known))  # the tension at which each contact opens
        self._now: Gaps | None = None
        if self._known:
            self._require_supported(equations)

    def __bool__(self) -> bool:
        return bool(self._known)

    @property
    def _length(self) -> float:
        return self._equations.workspace.facts.scales.length

    @property
    def _speed(self) -> float:
        return self._length / self._equations.workspace.facts.scales.time

    def _require_supported(self, equations: BoundEquations) -> None:
        title, levels = self._known[0].title, equations.workspace.facts.levels
        if equations.kernel.phase is not None:
            raise NotApplicableError(
                f"{title} is rigid, and the model has constraints on momenta. Expected none; use a compliant contact."
            )
        nonlinear = [name for name, linear in zip(levels.names, levels.linear, strict=True) if not linear]
        if nonlinear:
            raise NotApplicableError(
                f"{title} is rigid, and the constraint '{nonlinear[0]}' is not linear in the velocities, so an impact has no "
                "linear equations. Expected linear constraints; use a compliant contact."
            )

    # contact kinematics

    @cached_property
    def _function(self) -> CompiledFunction:
        space = self._equations.workspace
        motion = space.system.motion
        rows = []
        for load, known in self._loads:
            it = load.gap_state(motion)
            numbers = (known.restitution, known.friction, known.rest_speed)
            rows += [it.gap, it.rate, it.slip, *it.normal, *it.slip_direction, *(motion.lower(x) for x in numbers)]
        return space.compiled(vector(rows), space.system.q, space.system.qd)

    @property
    def _loads(self) -> Iterator[tuple[Load, Unilateral]]:
        loads = {load.name: load for load in self._equations.workspace.model.loads}
        yield from ((loads[known.load], known) for known in self._known)

    @cached_property
    def _slopes(self) -> CompiledFunction:
        """The derivatives of gap rates, then of slips, by (q, q̇, t)."""
        space = self._equations.workspace
        system = space.system
        openings = [load.gap_state(system.motion) for load, _ in self._loads]
        rates = vector([it.rate for it in openings] + [it.slip for it in openings])
        x = stack(system.q, system.qd, vector([system.t]))
        return space.compiled(system.algebra.jacobian(rates, x).ravel(), system.q, system.qd)

    def gaps_at(self, t: float, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> Gaps:
        """The contacts at a state."""
        out = self._function(np.concatenate([q, qd, [t]]), values).reshape(len(self._known), 12)
        return Gaps(out[:, 0], out[:, 1], out[:, 2], out[:, 3:6], out[:, 6:9], *out[:, 9:].T)

    # present modes

    @property
    def parameter_values(self) -> dict[str, float]:
        """The values of the parameters of all contacts; forces of closed ones are computed along the run."""
        out: dict[str, float] = {}
        for known, mode in zip(self._known, self._modes, strict=True):
            out |= dict.fromkeys(known.parameters, 0.0)
            if known.has_friction:
                out[known.slide] = mode.slide
        return out

    @property
    def constrained_rates(self) -> tuple[ConstrainedRate, ...]:
        """The rates that contact forces keep at zero."""
        pairs = list(zip(self._known, self._modes, strict=True))
        closed = [ConstrainedRate(known.load, False, known.press) for known, mode in pairs if mode.closed]
        return (*closed, *(ConstrainedRate(known.load, True, known.rub) for known, mode in pairs if mode.sticks))

    @property
    def closed_manifold(self) -> ClosedContactManifold | None:
        """The constraints with the closed contacts; None if all are open."""
        rows = self.constrained_rates
        key = tuple(r.load for r in rows if not r.slips), tuple(r.load for r in rows if r.slips)
        if not key[0]:
            return None
        if key not in self._manifolds:
            self._manifolds[key] = ClosedContactManifold(self._equations.workspace.manifold, *key)
        return self._manifolds[key]

    # monitored functions

    def functions(self, state: np.ndarray, values: np.ndarray, forces: np.ndarray, jam: np.ndarray) -> np.ndarray:
        """The monitored functions at K states (q, q̇, t): gaps, slips, normal forces, both friction margins, and `jam`."""
        m, K = len(self._known), state.shape[1]
        out = self._function(state, values).reshape(m, 12, K)
        N, rub, mu = np.zeros((m, K)), np.zeros((m, K)), out[:, 10]
        for force, row in zip(forces, self.constrained_rates, strict=True):
            (rub if row.slips else N)[self._index(row.load)] = force
        return np.concatenate([out[:, 0], out[:, 2], N, mu * N - rub, mu * N + rub, jam[None]])

    def _index(self, load: str) -> int:
        return next(i for i, known in enumerate(self._known) if known.load == load)

    def monitored_functions(self) -> Iterator[ContactEvent]:
        """The functions monitored in the present modes, by rows of `functions`."""
        m, gaps = len(self._known), self._now
        assert gaps is not None
        for i, mode in enumerate(self._modes):
            if not mode.closed:
                near = _CLOSED * self._length
                fresh = abs(gaps.gap[i]) <= near and not mode.follows
                # a contact that has just opened closes again at its present gap, which may never exceed `near`
                floor = float(gaps.gap[i]) if fresh else -near if mode.follows else 0.0
                yield ContactEvent(i, EventFunction(i, 1.0, floor, fresh=bool(fresh)))
                continue
            tension = float(self._opening_tensions[i])
            yield ContactEvent(i, EventFunction(2 * m + i, 1.0, -tension), OPEN)
            if mode.sticks:
                yield ContactEvent(i, EventFunction(3 * m + i, 1.0, -tension), sliding(1.0))
                yield ContactEvent(i, EventFunction(4 * m + i, 1.0, -tension), sliding(-1.0))
            elif mode.slide and not mode.follows:
                yield ContactEvent(
                    i, EventFunction(m + i, mode.slide, fresh=bool(abs(gaps.slip[i]) <= _SLOW * self._speed))
                )
        if self._slides:
            yield ContactEvent(-1, EventFunction(5 * m, 1.0, _JAMMED))

    @property
    def _slides(self) -> bool:
        return any(mode.slide for mode in self._modes)

    def jamming(self, kernel: SlidingKernel, y: np.ndarray, t: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """|det G| relative to its value without friction, at K states: Painlevé's paradox begins where it is zero."""
        if not self._slides:
            return np.ones(len(t))
        smooth, names = constants.copy(), list(map(str, kernel.parameters))
        smooth[[names.index(known.slide) for known in self._known if known.has_friction]] = 0.0
        with_friction, frictionless = (
            np.abs(np.linalg.det(kernel.responses(y, t, values))) for values in (constants, smooth)
        )
        return with_friction / np.maximum(frictionless, 1e-300)

    # mode changes and impacts

    def update_modes(
        self,
        t: float,
        q: np.ndarray,
        qd: np.ndarray,
        equations: BoundEquations,
        stuck: tuple[Switch, ...] = (),
        preferred: Mapping[int, ContactMode] | None = None,
        no_rebound: bool = False,
    ) -> tuple[np.ndarray, list[tuple[str, str]]]:
        """Update the modes of all contacts, with impulses if a gap is closing; the velocities after them, and the changes.

        `stuck` are the switches along which the motion slides, `preferred` the preferred modes where several are possible. With
        `no_rebound` closed contacts do not rebound; their energy must be negligible.
        """
        before, here = self._modes, _ContactState(t, q, qd, equations, stuck)
        gaps = self.gaps_at(t, q, qd, equations.values)
        touching = [i for i in range(len(self._known)) if before[i].closed or gaps.gap[i] <= _CLOSED * self._length]
        enough = np.full(len(self._known), _SLOW * self._speed)
        if no_rebound:
            self._require_negligible(here, gaps, touching)
            enough = np.full(len(self._known), np.inf)
            gaps = replace(gaps, slow=enough)
        if any(gaps.rate[i] < -_SLOW * self._speed for i in touching):
            if all(gaps.rate[i] >= -gaps.slow[i] for i in touching):
                enough = np.maximum(gaps.slow, enough)  # contacts that rock or bounce faster and faster come to rest
            here = self._impact(here, gaps, touching, self._impact_impulses)
            gaps = self.gaps_at(t, q, here.qd, equations.values)
        staying = [i for i in touching if gaps.rate[i] <= enough[i] or self._recloses(here, gaps, i)]
        self._modes = self._solve_modes(here, gaps, staying, preferred or {})
        self._note(t, gaps, [i for i in staying if self._modes[i].closed and not before[i].closed])
        closed = [i for i in staying if self._modes[i].closed]
        if any(gaps.rate[i] > _SLOW * self._speed for i in closed):
            here = self._impact(here, gaps, closed, self._stopping_impulses)
            gaps = self.gaps_at(t, q, here.qd, equations.values)
        self._now = gaps
        pairs = zip(self._known, before, self._modes, strict=True)
        return here.qd, [(known.title, _change(old, new)) for known, old, new in pairs if old[:3] != new[:3]]

    def _require_negligible(self, here: _ContactState, gaps: Gaps, touching: list[int]) -> None:
        """Raise if endless impacts do not have negligible energy."""
        lcp = self._lcp(here, gaps, touching, self._responses(here, touching, impulsive=True), impulsive=True)
        rates, own = lcp.free[: lcp.m], np.diag(lcp.response)[: lcp.m]
        energy = float((rates**2 / np.maximum(own, 1e-300)).sum()) / 2
        observed = here.equations.workspace.observables.along
        found = observed(np.array([here.t]), here.q[:, None], here.qd[:, None], here.equations.values)
        size = float(abs(found.kinetic[0])) + self._equations.workspace.facts.scales.mass * self._speed**2
        if energy > _NEGLIGIBLE * size:
            names = {self._known[i].load for i in touching}
            met = [each.approach for each in self.impulses[-4 * lcp.m :] if each.name in names]
            fastest = max(float(np.abs(rates).max(initial=0.0)), *met, 0.0)
            raise SimulationError(
                f"{lcp.where} impacts of {', '.join(lcp.names)} repeat at the same instant and do not end; approach speeds are "
                f"up to {fastest:.3g}, the energy is {energy:.3g}. Give the contacts rest_speed = {2 * fastest:.2g}, below "
                "which they do not rebound, or a smaller restitution; or check for events that reset these velocities repeatedly."
            )

    def _recloses(self, here: _ContactState, gaps: Gaps, i: int) -> bool:
        """True if a gap opens so slowly that it closes again before it exceeds rounding."""
        rate, width = float(gaps.rate[i]), _ROUNDING * self._length
        if rate**2 > _STEEP * 2 * width * self._speed**2 / self._length:
            return False
        state = np.concatenate([here.q, here.qd, [here.t]])
        slopes = self._slopes(state, here.equations.values).reshape(2 * len(self._known), -1)[i]
        n, qdd = len(here.q), self._responses(here, [], impulsive=False)[0]
        closing_acceleration = -float(slopes @ np.concatenate([here.qd, qdd, [1.0]]))
        size = self._length + float(np.abs(slopes[n : 2 * n]) @ np.abs(here.q))
        return closing_acceleration > 0 and rate**2 <= 2 * closing_acceleration * _ROUNDING * size

    def _note(self, t: float, gaps: Gaps, closing: list[int]) -> None:
        """Add a note if impacts accumulated before a contact came to rest."""
        for i in closing:
            known = self._known[i]
            found = accumulation([each.t for each in self.impulses if each.name == known.load])
            if found is None:
                continue
            last = next(each for each in reversed(self.impulses) if each.name == known.load)
            slow = last.approach <= gaps.slow[i] or last.departure <= gaps.slow[i]
            why = "slower than rest_speed" if slow else "within rounding"
            self.notes += (
                f"{known.title}: impacts accumulate at t = {last.t + found[1]:.10g}, each interval {found[0]:.3g} of the one "
                f"before; from t = {t:.9g} on, where they are {why}, the contact stays closed",
            )

    def _solve_modes(
        self, here: _ContactState, gaps: Gaps, staying: list[int], preferred: Mapping[int, ContactMode]
    ) -> tuple[ContactMode, ...]:
        """The modes of all contacts, if those in `staying` remain closed."""
        modes = [OPEN] * len(self._known)
        if staying:
            lcp = self._lcp(here, gaps, staying, self._responses(here, staying, impulsive=False), impulsive=False)
            hints = {k: preferred[i] for k, i in enumerate(staying) if i in preferred}
            size = max(lcp.unit, float(np.abs(lcp.free).max()))
            self._opening_tensions[staying] = _TENSION * size / np.diag(lcp.response)[: len(staying)]
            for i, mode in zip(staying, solve_modes(lcp, hints).modes, strict=True):
                modes[i] = mode
        return tuple(modes)

    def require_no_penetration(self, t: float, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> None:
        """Raise if bodies penetrate each other at the start."""
        gap = self.gaps_at(t, q, qd, values).gap
        for known, width in zip(self._known, gap.tolist(), strict=True):
            if width < -_INSIDE * self._length:
                raise InputError(
                    f"{known.title}: initial penetration of {-width:.6g}. Expected a gap >= 0, because the contact is "
                    "rigid. Increase the initial distance."
                )

    def jamming_error(self, t: float, q: np.ndarray, qd: np.ndarray, equations: BoundEquations) -> SimulationError:
        """The error for friction and normal forces that grow without bound."""
        here, gaps = _ContactState(t, q, qd, equations, ()), self.gaps_at(t, q, qd, equations.values)
        closed = [i for i, mode in enumerate(self._modes) if mode.closed]
        moved = self._responses(here, closed, impulsive=False)
        return SimulationError(paradox(self._lcp(here, gaps, closed, moved, impulsive=False)))

    def _lcp(
        self,
        here: _ContactState,
        gaps: Gaps,
        which: Sequence[int],
        moved: tuple[np.ndarray, np.ndarray],
        *,
        impulsive: bool,
    ) -> Contacts:
        """The complementarity problem of some contacts: of accelerations, or of velocities."""
        m, count, n = len(which), len(self._known), len(here.q)
        rows = [*which, *(count + i for i in which)]
        state = np.concatenate([here.q, here.qd, [here.t]])
        slopes = self._slopes(state, here.equations.values).reshape(2 * count, -1)[rows]
        qdd, response = moved[0], slopes[:, n : 2 * n] @ moved[1]
        slip, at_rest = gaps.slip[list(which)], np.abs(gaps.slip[list(which)]) <= _SLOW * self._speed
        if impulsive:
            free, unit = np.concatenate([gaps.rate[list(which)], slip]), self._speed
        else:
            free, unit = slopes @ np.concatenate([here.qd, qdd, [1.0]]), self._speed**2 / self._length
        side = np.zeros(m) if impulsive else np.where(at_rest, 0.0, np.sign(slip))
        return Contacts(
            free,
            response,
            gaps.friction[list(which)],
            np.where(gaps.friction[list(which)] > 0, side, 0.0),
            unit,
            np.zeros(m),
            tuple(self._known[i].title for i in which),
            f"at t = {here.t:.9g}",
            "speed" if impulsive else "acceleration",
        )

    def _responses(
        self, here: _ContactState, which: Sequence[int], *, impulsive: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """q̈ without contact forces, and its response (n, 2 m) to unit normal forces, then unit friction, of some contacts."""
        unit = self._equations.workspace.facts.scales.force
        forces = [(self._known[i].press, unit) for i in which]
        forces += [(self._known[i].rub, -unit) if self._known[i].has_friction else ("", 0.0) for i in which]
        qdd = here.accelerations(
            [dict(self._unloaded), *({**self._unloaded, name: x} for name, x in forces)], impulsive
        )
        return qdd[:, 0], (qdd[:, 1:] - qdd[:, :1]) / unit

    @property
    def _unloaded(self) -> dict[str, float]:
        """The values of the parameters with zero contact forces."""
        return {**self.inputs, **{name: 0.0 for known in self._known for name in known.parameters}}

    def _impact_impulses(self, lcp: Contacts, gaps: Gaps, which: list[int]) -> np.ndarray:
        """The impulses of an impact: normal impulses, then friction impulses."""
        slow, e = gaps.slow[which], gaps.restitution[which]
        match self._known[0].impact:
            case "newton":
                return _complementarity.newton(lcp, np.where(-gaps.rate[which] > slow, e, 0.0))
            case "poisson":
                return _complementarity.poisson(lcp, np.where(-gaps.rate[which] > slow, e, 0.0))
            case "successive":
                return _complementarity.successive(lcp, e, slow, _SLOW * self._speed)

    def _stopping_impulses(self, lcp: Contacts, gaps: Gaps, which: list[int]) -> np.ndarray:
        """The small impulses that stop slowly opening gaps and the slip of sticking contacts."""
        m, out = lcp.m, np.zeros(2 * lcp.m)
        rows = [*range(m), *(m + k for k, i in enumerate(which) if self._modes[i].sticks)]
        out[rows] = np.linalg.lstsq(lcp.response[np.ix_(rows, rows)], -lcp.free[rows], rcond=_DEPENDENT)[0]
        return out

    def _impact(
        self,
        here: _ContactState,
        gaps: Gaps,
        which: list[int],
        impulses: Callable[[Contacts, Gaps, list[int]], np.ndarray],
    ) -> _ContactState:
        """The state after impulses, which are recorded."""
        moved, m = self._responses(here, which, impulsive=True), len(which)
        lcp = self._lcp(here, gaps, which, moved, impulsive=True)
        P = impulses(lcp, gaps, which)
        rates, first, law = lcp.free + lcp.response @ P, len(self.impulses), self._known[0].impact.title()
        for k, i in enumerate(which):
            if P[k] or P[m + k]:
                vector = P[k] * gaps.normal[i] + P[m + k] * gaps.tangent[i]
                energy = P[k] * (lcp.free[k] + rates[k]) / 2 + P[m + k] * (lcp.free[m + k] + rates[m + k]) / 2
                numbers = float(-lcp.free[k]), float(rates[k]), float(energy)
                self.impulses.append(Impulse(self._known[i].load, here.t, vector, *numbers))
        energies = [each.energy for each in self.impulses[first:]]
        if sum(energies) > _GAIN * (sum(map(abs, energies)) + lcp.unit * abs(P).sum()):
            self.notes += (
                f"the impact at t = {here.t:.9g} of {', '.join(lcp.names)} adds the energy {sum(energies):.3g}: {law}'s law "
                "of impact with friction can add energy. Compare with another `impact`",
            )
        return replace(here, qd=here.qd + moved[1] @ P)


@dataclass(frozen=True)
class _ContactState:
    """One state with its equations."""

    t: float
    q: np.ndarray
    qd: np.ndarray
    equations: BoundEquations
    stuck: tuple[Switch, ...]

    def accelerations(self, changes: Sequence[Mapping[str, float]], impulsive: bool) -> np.ndarray:
        """q̈ (n, K) with changed parameters, for each of K changes; in an impact finite forces are ignored."""
        equations, K = self.equations, len(changes)
        names = list(equations.model.parameter_values)
        v, more = equations.kernel.start(self.q, self.qd, self.t, equations.values)
        constants = np.repeat(np.concatenate([equations.values, more])[:, None], K, axis=1)
        for k, changed in enumerate(changes):
            for name, x in changed.items():
                if name:
                    constants[names.index(name), k] = x
        Q, V, t = np.repeat(self.q[:, None], K, axis=1), np.repeat(v[:, None], K, axis=1), np.full(K, self.t)
        if self.stuck and not impulsive:
            kernel = SlidingKernel.of(equations.kernel, self.stuck)
            constants[kernel.rows] = kernel.mixture(np.concatenate([Q, V]), t, constants)
        return equations.kernel.accelerations(Q, V, t, constants)[1]


def accumulation(times: Sequence[float]) -> tuple[float, float] | None:
    """If the last intervals between times decrease: their ratio, and the time until the accumulation point; else None.

    >>> ratio, left = accumulation([2 - 0.5**k for k in range(20)])
    >>> round(ratio, 9), round(left * 2**19, 9)
    (0.5, 1.0)
    """
    gaps = np.diff(times[-FASTER - 1 :])
    if len(gaps) < FASTER or not (gaps > 0).all() or not (gaps[1:] < gaps[:-1]).all():
        return None
    ratio = float((gaps[-1] / gaps[0]) ** (1 / (len(gaps) - 1)))
    return ratio, float(gaps[-1]) * ratio / (1 - ratio)


def _change(old: ContactMode, new: ContactMode) -> str:
    """The name of a mode change."""
    if not new.closed:
        return "opens"
    how = "sticks" if new.sticks else "slides" if new.slide else "closes"
    return how if old.closed else f"closes and {how}" if how != "closes" else how
