"""The states along a run: its stretches put together, with rates, accelerations and what happened on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.arguments import checked
from dalembert.errors import InputError
from dalembert.model.frozen import Value
from dalembert.model.loads.damper import Damper
from dalembert.simulation.integrators.integrate import Solution
from dalembert.simulation.mode_changes import Happening
from dalembert.simulation.partition import Part
from dalembert.simulation.right_hand_side import Kernel
from dalembert.simulation.rigid_contacts import Impulse
from dalembert.simulation.run_kinematics import Places, Samples

if TYPE_CHECKING:
    from dalembert.api.equations import Equations


def _joined(parts: Sequence[Part]) -> Solution:
    """The counts of all stretches; the states stay with them."""
    last = parts[-1].solution
    calls = [part.solution.evaluations for part in parts]
    total = None if None in calls else sum(c for c in calls if c is not None)
    steps = sum(part.solution.steps for part in parts)
    dense = tuple(piece for part in parts for piece in part.solution.dense)
    return replace(last, steps=steps, evaluations=total, dense=dense)


def columns(part: Part) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q, v, t and the constants along a stretch."""
    n, size, t = len(part.equations.model.coordinate_names), part.equations.n_states, part.solution.t
    y, known = part.solution.y, part.constants
    return y[:n], y[n:size], t, known if known.ndim == 2 else np.repeat(known[:, None], len(t), axis=1)


def columns_apart(part: Part) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same, where the ends of dampers meet as they are a little later: their forces are 0/0 at the very meeting."""
    q, v, t, known = columns(part)
    if not any(isinstance(load, Damper) for load in part.equations.model.loads):
        return q, v, t, known
    kernel, values = part.equations.kernel, known[: len(part.equations.values)]
    q, t = part.equations.workspace.lengths.apart(q, kernel.velocities(np.concatenate([q, v]), t, known), t, values)
    return q, v, t, known


@dataclass(frozen=True, repr=False)
class States(Places, Value):
    """What was integrated: coordinates on the first axis, samples on the last."""

    equations: Equations
    parts: tuple[Part, ...]  # later ones begin with the state the earlier ended in
    integrator: str
    cpu_seconds: float
    notes: tuple[str, ...] = ()  # what was noticed on the way, in sentences
    happened: tuple[Happening, ...] = ()  # events and switchings
    held: Equations | None = None  # the equations with every condition held, where there are such
    impulses: tuple[Impulse, ...] = ()  # of rigid contacts, in their order

    @property
    def events(self) -> tuple[Happening, ...]:
        """The events along the run, each with its name, its time and the state on both sides: see `Model.event`."""
        return tuple(each for each in self.happened if not each.switching)

    @property
    def switchings(self) -> tuple[Happening, ...]:
        """Where formulas changed their branch along the run."""
        return tuple(each for each in self.happened if each.switching)

    @property
    def used(self) -> Equations:
        """The equations that were integrated, as they stand at the start: with every condition held."""
        return self.held or self.equations

    @cached_property
    def values(self) -> np.ndarray:
        """The values of the parameters of `used`: (parameters,), or (parameters, samples) where they change on the way."""
        if self.held is None and not self.equations.model.controllers:
            return self.equations.values
        count = len(self.used.values)
        return self._together(lambda part: columns(part)[3][:count])

    @property
    def _named(self) -> dict[str, Any]:
        """The same by name."""
        return dict(zip(self.used.model.parameter_values, self.values, strict=True))

    @property
    def solution(self) -> Solution:
        """How the motion was reached."""
        return self.parts[-1].solution if len(self.parts) == 1 else _joined(self.parts)

    @cached_property
    def t(self) -> np.ndarray:
        """The times of the samples."""
        return self._together(lambda part: part.solution.t)

    @cached_property
    def q(self) -> np.ndarray:
        """The coordinates along the run, (n, samples)."""
        return self._together(lambda part: part.positions)

    @cached_property
    def _places_apart(self) -> np.ndarray:
        """The coordinates at which forces are evaluated."""
        return self._together(lambda part: columns_apart(part)[0] if part.chart is None else part.positions)

    @cached_property
    def v(self) -> np.ndarray:
        """The velocity variables of the formalism along the run; with the speeds of the start, where they were chosen again."""
        choice = self.equations.derivation.setup.choice
        same = all(part.chart is None and part.equations.derivation.setup.choice == choice for part in self.parts)
        if self.equations.about.velocities.are_rates:
            return self._together(lambda part: part.shown_motion(columns(part)[1][None])[0])
        if same:
            return self._together(lambda part: columns(part)[1])
        start, values = self.equations.kernel.start, self.equations.values
        samples = zip(self.q.T, self._natural.T, self.t, strict=True)
        return np.stack([start(q, qd, t, values)[0] for q, qd, t in samples], axis=1)

    @checked
    def at(self, t: float) -> np.ndarray:
        """The state (q, v) at any time of the run; needs `simulate(dense=True)`."""
        if not self.solution.dense:
            raise InputError("this run kept only its samples. Simulate with dense=True to ask for other times.")
        if not self.t[0] <= t <= self.t[-1]:
            raise InputError(f"t = {t:g} is outside the run. Expected {self.t[0]:g} to {self.t[-1]:g}.")
        later = [part for part in self.parts if part.solution.dense and part.solution.dense[0].t0 <= t]
        part = later[-1] if later else self.parts[0]
        starts = [piece.t0 for piece in part.solution.dense]
        index = max(0, int(np.searchsorted(starts, t, side="right")) - 1)
        y = part.solution.dense[index](t)[: part.equations.n_states]
        if part.chart is None and part.equations.derivation.setup.choice == self.equations.derivation.setup.choice:
            return y
        n = len(self.q)
        q, qd = (
            y[:n],
            part.equations.kernel.velocities(
                y, t, part.constants if part.constants.ndim == 1 else part.constants[:, 0]
            ),
        )
        if part.chart is not None:
            q, qd = part.chart.positions(np.array([t]), q[:, None])[:, 0], part.chart.rates(q, qd)
        return np.concatenate([q, self.equations.kernel.start(q, qd, t, self.equations.values)[0]])

    @cached_property
    def _found(self) -> np.ndarray:
        """q̇ and q̈ along the run, (2, n, samples)."""
        return self._together(
            lambda part: part.shown_motion(np.stack(part.equations.kernel.accelerations(*columns_apart(part))[:2]))
        )

    @property
    def qd(self) -> np.ndarray:
        """q̇ along the run, (n, samples): the rate that is integrated, with the term of the multipliers that dirac has."""
        return self.v if self.equations.about.velocities.are_rates else self._found[0]

    @cached_property
    def _natural(self) -> np.ndarray:
        """The velocities that belong to the momenta, H_p: energies, momenta and violations are those of the state (q, p)."""
        if self.equations.form.own_multipliers is None:
            return self.qd
        return self._together(
            lambda part: part.shown_motion(part.equations.kernel.velocities(part.solution.y, *columns(part)[2:])[None])[
                0
            ]
        )

    @property
    def qdd(self) -> np.ndarray:
        """q̈ along the run, (n, samples)."""
        return self._found[1]

    @property
    def changed_charts(self) -> bool:
        """True where the run went on with other angles next to gimbal lock."""
        return any(part.chart is not None for part in self.parts)

    def integrated(self, part: Part) -> Equations:
        """The equations whose coordinates are those of a stretch."""
        return self.used if part.chart is None else part.equations

    def _values_along(self, part: Part) -> np.ndarray:
        """The values of the parameters along a stretch, (parameters, samples)."""
        return columns(part)[3][: len(self.used.values)]

    @property
    def samples(self) -> Samples:
        """The states along the run."""
        return Samples(self.equations, self.t, self.q, self.qd, self.qdd)

    @property
    def pieces(self) -> Sequence[Samples]:
        """The states in the coordinates that were integrated, where the run went on with other angles."""
        if not self.changed_charts:
            return [self.samples]
        found = []
        for i, part in enumerate(self.parts):
            apart = columns_apart(part)
            (q, _, t, _), (qd, qdd) = apart, part.equations.kernel.accelerations(*apart)[:2]
            found.append(Samples(part.equations, t[i > 0 :], *(x[:, i > 0 :] for x in (q, qd, qdd))))
        return found

    @property
    def status(self) -> str:
        """How the simulation ended, as a sentence."""
        return self.solution.status.value

    @property
    def formalism(self) -> str:
        """The key of the formalism that was integrated."""
        return self.equations.formalism

    def _together(self, values: Callable[[Part], np.ndarray]) -> np.ndarray:
        return self._end_to_end([values(part) for part in self.parts])

    def _end_to_end(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """What there is along each part, over all samples."""
        return np.concatenate([each[..., i > 0 :] for i, each in enumerate(values)], axis=-1)

    def _evaluated(
        self, work: Callable[[Kernel, np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """The generalized forces that the compiled equations give of (q, v, t, constants) along the run."""
        return self._together(lambda part: part.shown_forces(work(part.equations.kernel, *columns_apart(part))))
