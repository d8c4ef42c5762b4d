"""Rigid contacts along a run: which are closed, which stick or slide, and the impacts between.

An open contact is watched until its gap closes; a closed one until its normal force would pull, its slip comes to rest, or
its friction is more than sticking can be. At each of these instants, and wherever the forces or velocities have changed,
everything that touches is asked at once: first the impulses, where a gap still closes, then the modes of what stays in touch
(`simulation/_complementarity`). Between two instants the forces keep the rates of closed gaps, and the slips of what
sticks, at zero (`simulation/_sliding_mode`), and every step is brought back onto them (`simulation/_closed_contacts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.codegen.function import Function
from dalembert.errors import InputError, NotApplicableError, SimulationError
from dalembert.model.loads.base import Load
from dalembert.model.loads.touching import KeptRate, Unilateral
from dalembert.simulation import _complementarity
from dalembert.simulation._closed_contacts import Resting
from dalembert.simulation._complementarity import OPEN, Contacts, Mode, decided, paradox, sliding
from dalembert.simulation._crossings import Watched
from dalembert.simulation._sliding_mode import SlidingKernel
from dalembert.simulation.trajectory_data import Impulse
from dalembert.symbolic.algebra_base import stack, vector

if TYPE_CHECKING:
    from dalembert.model.discontinuities import Switch
    from dalembert.simulation.bound_equations import BoundEquations

_TOUCH = 1e-11  # lengths of the model: gaps as small as this are closed
_DEEP = 1e-8  # and what is deeper in the ground at the start is refused
_ROUNDING = 4e-14  # lengths of the model: a gap that bounces less than this stays closed
_STEEP = 1e6  # accelerations of the model: larger ones are not expected of a gap
_STILL = 1e-11  # velocities of the model: gaps that open more slowly stay closed, and what slips more slowly is at rest
_PULL = 1e-11  # of what would undo the accelerations: a contact that would pull more lets go
_DEPENDENT = 1e-10  # of the largest response: contacts that depend on others share their impulses
_NEGLIGIBLE = 1e-9  # of the energies: what bounces without end with less than this comes to rest
_GAINED = 1e-9  # of the energies of an impact: more is no rounding
FASTER = 8  # intervals, each shorter than the one before it
_SOUND = 1e-7  # of its own: what pressing changes the rate of a gap by, where friction and the normal force nearly jam


@dataclass(frozen=True)
class Seen:
    """All contacts at one state."""

    gap: np.ndarray
    rate: np.ndarray
    slip: np.ndarray
    normal: np.ndarray  # (contacts, 3)
    way: np.ndarray
    restitution: np.ndarray
    friction: np.ndarray
    slow: np.ndarray


@dataclass(frozen=True)
class Watch:
    """What is watched of a contact: the row of `RigidContacts.functions`, and what is wanted where it is crossed."""

    contact: int
    watched: Watched
    wanted: Mode | None = None


class RigidContacts:
    """The rigid contacts of a run."""

    def __init__(self, equations: BoundEquations) -> None:
        self._equations = equations
        self._known = equations.model.rigid
        self._modes: tuple[Mode, ...] = (OPEN,) * len(self._known)
        self._resting: dict[tuple[tuple[str, ...], tuple[str, ...]], Resting] = {}
        self.impulses: list[Impulse] = []
        self.notes: tuple[str, ...] = ()
        self.inputs: Mapping[str, float] = {}  # what laws in Python give now
        self._pull = np.zeros(len(self._known))  # the force with which each lets go
        self._now: Seen | None = None
        if self._known:
            self._require_possible(equations)

    def __bool__(self) -> bool:
        return bool(self._known)

    @property
    def _length(self) -> float:
        return self._equations.workspace.facts.scales.length

    @property
    def _speed(self) -> float:
        return self._length / self._equations.workspace.facts.scales.time

    def _require_possible(self, equations: BoundEquations) -> None:
        title, levels = self._known[0].title, equations.workspace.facts.levels
        if equations.kernel.phase is not None:
            raise NotApplicableError(
                f"{title} is rigid, and constraints on momenta are there. Expected none; take a compliant contact."
            )
        nonlinear = [name for name, linear in zip(levels.names, levels.linear, strict=True) if not linear]
        if nonlinear:
            raise NotApplicableError(
                f"{title} is rigid, and the constraint '{nonlinear[0]}' is not linear in the velocities, so an impact has no "
                "linear equations. Expected linear constraints; take a compliant contact."
            )

    # what is seen

    @cached_property
    def _function(self) -> Function:
        space = self._equations.workspace
        motion = space.system.motion
        rows = []
        for load, known in self._loads:
            it = load.opening(motion)
            given = (known.restitution, known.friction, known.rest_speed)
            rows += [it.gap, it.rate, it.slip, *it.normal, *it.way, *(motion.lower(x) for x in given)]
        return space.compiled(vector(rows), space.system.q, space.system.qd)

    @property
    def _loads(self) -> Iterator[tuple[Load, Unilateral]]:
        loads = {load.name: load for load in self._equations.workspace.model.loads}
        yield from ((loads[known.load], known) for known in self._known)

    @cached_property
    def _slopes(self) -> Function:
        """The slopes of the rates of gaps, then of slips, by (q, q̇, t)."""
        space = self._equations.workspace
        system = space.system
        openings = [load.opening(system.motion) for load, _ in self._loads]
        rates = vector([it.rate for it in openings] + [it.slip for it in openings])
        x = stack(system.q, system.qd, vector([system.t]))
        return space.compiled(system.algebra.jacobian(rates, x).ravel(), system.q, system.qd)

    def see(self, t: float, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> Seen:
        """The contacts at a state."""
        out = self._function(np.concatenate([q, qd, [t]]), values).reshape(len(self._known), 12)
        return Seen(out[:, 0], out[:, 1], out[:, 2], out[:, 3:6], out[:, 6:9], *out[:, 9:].T)

    # what holds now

    @property
    def held(self) -> dict[str, float]:
        """The values of the parameters of all contacts; forces of closed ones are found along the way."""
        out: dict[str, float] = {}
        for known, mode in zip(self._known, self._modes, strict=True):
            out |= dict.fromkeys(known.parameters, 0.0)
            if known.rubs:
                out[known.slide] = mode.slide
        return out

    @property
    def kept(self) -> tuple[KeptRate, ...]:
        """The rates that forces keep at zero."""
        pairs = list(zip(self._known, self._modes, strict=True))
        closed = [KeptRate(known.load, False, known.press) for known, mode in pairs if mode.closed]
        return (*closed, *(KeptRate(known.load, True, known.rub) for known, mode in pairs if mode.sticks))

    @property
    def resting(self) -> Resting | None:
        """The constraints with what is closed; None where nothing is."""
        rows = self.kept
        key = tuple(r.load for r in rows if not r.slips), tuple(r.load for r in rows if r.slips)
        if not key[0]:
            return None
        if key not in self._resting:
            self._resting[key] = Resting(self._equations.workspace.manifold, *key)
        return self._resting[key]

    # what is watched

    def functions(self, state: np.ndarray, values: np.ndarray, forces: np.ndarray, jam: np.ndarray) -> np.ndarray:
        """What is watched at K states (q, q̇, t): gaps, slips, normal forces, friction left on both sides, and `jam`."""
        m, K = len(self._known), state.shape[1]
        out = self._function(state, values).reshape(m, 12, K)
        N, rub, mu = np.zeros((m, K)), np.zeros((m, K)), out[:, 10]
        for force, row in zip(forces, self.kept, strict=True):
            (rub if row.slips else N)[self._index(row.load)] = force
        return np.concatenate([out[:, 0], out[:, 2], N, mu * N - rub, mu * N + rub, jam[None]])

    def _index(self, load: str) -> int:
        return next(i for i, known in enumerate(self._known) if known.load == load)

    def watches(self) -> Iterator[Watch]:
        """What is watched now, in rows of `functions`."""
        m, seen = len(self._known), self._now
        assert seen is not None
        for i, mode in enumerate(self._modes):
            if not mode.closed:
                near = _TOUCH * self._length
                fresh = abs(seen.gap[i]) <= near and not mode.follows
                # what has just touched touches again where its gap is as small as it is now: it may never be wider than `near`
                floor = float(seen.gap[i]) if fresh else -near if mode.follows else 0.0
                yield Watch(i, Watched(i, 1.0, floor, fresh=bool(fresh)))
                continue
            pull = float(self._pull[i])
            yield Watch(i, Watched(2 * m + i, 1.0, -pull), OPEN)
            if mode.sticks:
                yield Watch(i, Watched(3 * m + i, 1.0, -pull), sliding(1.0))
                yield Watch(i, Watched(4 * m + i, 1.0, -pull), sliding(-1.0))
            elif mode.slide and not mode.follows:
                yield Watch(i, Watched(m + i, mode.slide, fresh=bool(abs(seen.slip[i]) <= _STILL * self._speed)))
        if self._slides:
            yield Watch(-1, Watched(5 * m, 1.0, _SOUND))

    @property
    def _slides(self) -> bool:
        return any(mode.slide for mode in self._modes)

    def jamming(self, kernel: SlidingKernel, y: np.ndarray, t: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """|det G| of the forces by what it is without friction, at K states: Painlevé's paradox begins where it is zero."""
        if not self._slides:
            return np.ones(len(t))
        smooth, names = constants.copy(), list(map(str, kernel.parameters))
        smooth[[names.index(known.slide) for known in self._known if known.rubs]] = 0.0
        rubbing, plain = (np.abs(np.linalg.det(kernel.responses(y, t, given))) for given in (constants, smooth))
        return rubbing / np.maximum(plain, 1e-300)

    # what happens

    def settle(
        self,
        t: float,
        q: np.ndarray,
        qd: np.ndarray,
        equations: BoundEquations,
        stuck: tuple[Switch, ...] = (),
        wanted: Mapping[int, Mode] | None = None,
        calm: bool = False,
    ) -> tuple[np.ndarray, list[tuple[str, str]]]:
        """Find anew what every contact does, with impulses where a gap still closes; the velocities behind, and what changed.

        `stuck` are the switches that the motion slides along, `wanted` what contacts should do where both is possible. With
        `calm` nothing that touches bounces any more, as long as its energy is negligible.
        """
        before, here = self._modes, _Here(t, q, qd, equations, stuck)
        seen = self.see(t, q, qd, equations.values)
        touching = [i for i in range(len(self._known)) if before[i].closed or seen.gap[i] <= _TOUCH * self._length]
        enough = np.full(len(self._known), _STILL * self._speed)
        if calm:
            self._require_negligible(here, seen, touching)
            enough = np.full(len(self._known), np.inf)
            seen = replace(seen, slow=enough)
        if any(seen.rate[i] < -_STILL * self._speed for i in touching):
            if all(seen.rate[i] >= -seen.slow[i] for i in touching):
                enough = np.maximum(seen.slow, enough)  # what rocks or bounces ever faster comes to rest
            here = self._hit(here, seen, touching, self._impulses)
            seen = self.see(t, q, here.qd, equations.values)
        staying = [i for i in touching if seen.rate[i] <= enough[i] or self._too_low(here, seen, i)]
        self._modes = self._decided(here, seen, staying, wanted or {})
        self._tell(t, seen, [i for i in staying if self._modes[i].closed and not before[i].closed])
        closed = [i for i in staying if self._modes[i].closed]
        if any(seen.rate[i] > _STILL * self._speed for i in closed):
            here = self._hit(here, seen, closed, self._rest)
            seen = self.see(t, q, here.qd, equations.values)
        self._now = seen
        pairs = zip(self._known, before, self._modes, strict=True)
        return here.qd, [(known.title, _said(old, new)) for known, old, new in pairs if old[:3] != new[:3]]

    def _require_negligible(self, here: _Here, seen: Seen, touching: list[int]) -> None:
        """Raise where the energy of what bounces without end is not negligible."""
        asked = self._asked(here, seen, touching, self._pushed(here, touching, impulsive=True), impulsive=True)
        rates, own = asked.free[: asked.m], np.diag(asked.response)[: asked.m]
        energy = float((rates**2 / np.maximum(own, 1e-300)).sum()) / 2
        observed = here.equations.workspace.observables.along
        found = observed(np.array([here.t]), here.q[:, None], here.qd[:, None], here.equations.values)
        size = float(abs(found.kinetic[0])) + self._equations.workspace.facts.scales.mass * self._speed**2
        if energy > _NEGLIGIBLE * size:
            names = {self._known[i].load for i in touching}
            met = [each.approach for each in self.impulses[-4 * asked.m :] if each.name in names]
            fastest = max(float(np.abs(rates).max(initial=0.0)), *met, 0.0)
            raise SimulationError(
                f"{asked.where} impacts of {', '.join(asked.names)} follow each other within no time and do not end; they meet "
                f"with up to {fastest:.3g}, an energy of {energy:.3g}. Give the contacts rest_speed = {2 * fastest:.2g}, below "
                "which nothing bounces, or a smaller restitution; or look for events that set these velocities again and again."
            )

    def _too_low(self, here: _Here, seen: Seen, i: int) -> bool:
        """True where a gap opens so slowly that it closes again before it is wider than rounding."""
        rate, least = float(seen.rate[i]), _ROUNDING * self._length
        if rate**2 > _STEEP * 2 * least * self._speed**2 / self._length:
            return False
        state = np.concatenate([here.q, here.qd, [here.t]])
        slopes = self._slopes(state, here.equations.values).reshape(2 * len(self._known), -1)[i]
        n, qdd = len(here.q), self._pushed(here, [], impulsive=False)[0]
        falling = -float(slopes @ np.concatenate([here.qd, qdd, [1.0]]))
        size = self._length + float(np.abs(slopes[n : 2 * n]) @ np.abs(here.q))
        return falling > 0 and rate**2 <= 2 * falling * _ROUNDING * size

    def _tell(self, t: float, seen: Seen, resting: list[int]) -> None:
        """Write down where impacts came ever faster before a contact came to rest."""
        for i in resting:
            known = self._known[i]
            found = accumulation([each.t for each in self.impulses if each.name == known.load])
            if found is None:
                continue
            last = next(each for each in reversed(self.impulses) if each.name == known.load)
            slow = last.approach <= seen.slow[i] or last.departure <= seen.slow[i]
            why = "slower than rest_speed" if slow else "too small to be told from rounding"
            self.notes += (
                f"{known.title}: impacts come ever faster, each interval {found[0]:.3g} of the one before, and all come before "
                f"t = {last.t + found[1]:.10g}; from t = {t:.9g} on, where they are {why}, it rests",
            )

    def _decided(self, here: _Here, seen: Seen, staying: list[int], wanted: Mapping[int, Mode]) -> tuple[Mode, ...]:
        """What every contact does, if these stay in touch."""
        modes = [OPEN] * len(self._known)
        if staying:
            asked = self._asked(here, seen, staying, self._pushed(here, staying, impulsive=False), impulsive=False)
            hints = {k: wanted[i] for k, i in enumerate(staying) if i in wanted}
            size = max(asked.unit, float(np.abs(asked.free).max()))
            self._pull[staying] = _PULL * size / np.diag(asked.response)[: len(staying)]
            for i, mode in zip(staying, decided(asked, hints).modes, strict=True):
                modes[i] = mode
        return tuple(modes)

    def require_apart(self, t: float, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> None:
        """Raise where bodies are in each other at the start."""
        gap = self.see(t, q, qd, values).gap
        for known, width in zip(self._known, gap.tolist(), strict=True):
            if width < -_DEEP * self._length:
                raise InputError(
                    f"{known.title}: the bodies are in each other by {-width:.6g} at the start. Expected a gap of at least 0, "
                    "since it is rigid. Start further away."
                )

    def jam(self, t: float, q: np.ndarray, qd: np.ndarray, equations: BoundEquations) -> SimulationError:
        """The error where friction and normal force grow without bound."""
        here, seen = _Here(t, q, qd, equations, ()), self.see(t, q, qd, equations.values)
        closed = [i for i, mode in enumerate(self._modes) if mode.closed]
        pushed = self._pushed(here, closed, impulsive=False)
        return SimulationError(paradox(self._asked(here, seen, closed, pushed, impulsive=False)))

    def _asked(
        self, here: _Here, seen: Seen, which: Sequence[int], pushed: tuple[np.ndarray, np.ndarray], *, impulsive: bool
    ) -> Contacts:
        """The problem of complementarity of some contacts: of accelerations, or of velocities."""
        m, count, n = len(which), len(self._known), len(here.q)
        rows = [*which, *(count + i for i in which)]
        state = np.concatenate([here.q, here.qd, [here.t]])
        slopes = self._slopes(state, here.equations.values).reshape(2 * count, -1)[rows]
        qdd, response = pushed[0], slopes[:, n : 2 * n] @ pushed[1]
        slip, resting = seen.slip[list(which)], np.abs(seen.slip[list(which)]) <= _STILL * self._speed
        if impulsive:
            free, unit = np.concatenate([seen.rate[list(which)], slip]), self._speed
        else:
            free, unit = slopes @ np.concatenate([here.qd, qdd, [1.0]]), self._speed**2 / self._length
        side = np.zeros(m) if impulsive else np.where(resting, 0.0, np.sign(slip))
        return Contacts(
            free,
            response,
            seen.friction[list(which)],
            np.where(seen.friction[list(which)] > 0, side, 0.0),
            unit,
            np.zeros(m),
            tuple(self._known[i].title for i in which),
            f"at t = {here.t:.9g}",
            "speed" if impulsive else "acceleration",
        )

    def _pushed(self, here: _Here, which: Sequence[int], *, impulsive: bool) -> tuple[np.ndarray, np.ndarray]:
        """q̈ without forces of contacts, and what unit forces of some, normal ones and then friction, add to it (n, 2 m)."""
        unit = self._equations.workspace.facts.scales.force
        forces = [(self._known[i].press, unit) for i in which]
        forces += [(self._known[i].rub, -unit) if self._known[i].rubs else ("", 0.0) for i in which]
        qdd = here.accelerations([dict(self._silent), *({**self._silent, name: x} for name, x in forces)], impulsive)
        return qdd[:, 0], (qdd[:, 1:] - qdd[:, :1]) / unit

    @property
    def _silent(self) -> dict[str, float]:
        """The values of parameters without any force of a contact."""
        return {**self.inputs, **{name: 0.0 for known in self._known for name in known.parameters}}

    def _impulses(self, asked: Contacts, seen: Seen, which: list[int]) -> np.ndarray:
        """The impulses of an impact: normal ones, then those of friction."""
        slow, e = seen.slow[which], seen.restitution[which]
        match self._known[0].impact:
            case "newton":
                return _complementarity.newton(asked, np.where(-seen.rate[which] > slow, e, 0.0))
            case "poisson":
                return _complementarity.poisson(asked, np.where(-seen.rate[which] > slow, e, 0.0))
            case "successive":
                return _complementarity.successive(asked, e, slow, _STILL * self._speed)

    def _rest(self, asked: Contacts, seen: Seen, which: list[int]) -> np.ndarray:
        """The small impulses after which gaps that open slowly do not open, and what sticks does not slip."""
        m, out = asked.m, np.zeros(2 * asked.m)
        rows = [*range(m), *(m + k for k, i in enumerate(which) if self._modes[i].sticks)]
        out[rows] = np.linalg.lstsq(asked.response[np.ix_(rows, rows)], -asked.free[rows], rcond=_DEPENDENT)[0]
        return out

    def _hit(
        self, here: _Here, seen: Seen, which: list[int], impulses: Callable[[Contacts, Seen, list[int]], np.ndarray]
    ) -> _Here:
        """The state behind impulses, which are written down."""
        pushed, m = self._pushed(here, which, impulsive=True), len(which)
        asked = self._asked(here, seen, which, pushed, impulsive=True)
        P = impulses(asked, seen, which)
        rates, first, law = asked.free + asked.response @ P, len(self.impulses), self._known[0].impact.title()
        for k, i in enumerate(which):
            if P[k] or P[m + k]:
                vector = P[k] * seen.normal[i] + P[m + k] * seen.way[i]
                energy = P[k] * (asked.free[k] + rates[k]) / 2 + P[m + k] * (asked.free[m + k] + rates[m + k]) / 2
                told = float(-asked.free[k]), float(rates[k]), float(energy)
                self.impulses.append(Impulse(self._known[i].load, here.t, vector, *told))
        energies = [each.energy for each in self.impulses[first:]]
        if sum(energies) > _GAINED * (sum(map(abs, energies)) + asked.unit * abs(P).sum()):
            self.notes += (
                f"the impact at t = {here.t:.9g} of {', '.join(asked.names)} adds the energy {sum(energies):.3g}: {law}'s law "
                "of impact with friction can. Compare with another `impact`",
            )
        return replace(here, qd=here.qd + pushed[1] @ P)


@dataclass(frozen=True)
class _Here:
    """One state, and the equations there."""

    t: float
    q: np.ndarray
    qd: np.ndarray
    equations: BoundEquations
    stuck: tuple[Switch, ...]

    def accelerations(self, changes: Sequence[Mapping[str, float]], impulsive: bool) -> np.ndarray:
        """q̈ (n, K) with some parameters changed, for each of K changes; in an impact nothing finite counts."""
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
    """Where the last intervals between times shrink: the ratio of one to the one before, and how long all that are left take.

    >>> ratio, left = accumulation([2 - 0.5**k for k in range(20)])
    >>> round(ratio, 9), round(left * 2**19, 9)
    (0.5, 1.0)
    """
    gaps = np.diff(times[-FASTER - 1 :])
    if len(gaps) < FASTER or not (gaps > 0).all() or not (gaps[1:] < gaps[:-1]).all():
        return None
    ratio = float((gaps[-1] / gaps[0]) ** (1 / (len(gaps) - 1)))
    return ratio, float(gaps[-1]) * ratio / (1 - ratio)


def _said(old: Mode, new: Mode) -> str:
    """A change of mode in words."""
    if not new.closed:
        return "opens"
    how = "sticks" if new.sticks else "slides" if new.slide else "closes"
    return how if old.closed else f"closes and {how}" if how != "closes" else how
