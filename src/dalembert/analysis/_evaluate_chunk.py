"""Evaluation of a chunk of a sweep: its runs, in lanes if possible, otherwise one by one, and their observables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.analysis._sweep_lanes import LaneRuns, Starts, keeps_structure, run_lanes
from dalembert.analysis.sweep_spec import Observer, SweepSpec
from dalembert.api.equations import Equations
from dalembert.api.recording import Recording
from dalembert.api.simulate import CHECK, MAX_SAMPLES, check_run, runs_to_check, spread
from dalembert.api.trajectory import Trajectory
from dalembert.errors import DalembertError
from dalembert.simulation.constraint_manifold import are_consistent
from dalembert.simulation.integrators.base import Solution, Status
from dalembert.simulation.observables import EnergySamples
from dalembert.simulation.partition import RunSegment

_MAX_STATES = 2**16  # states that are observed in one call


@dataclass(frozen=True)
class ChunkResult:
    """Observables of runs, on the first axis, the reasons of failed runs, and the notes of the checks of the others."""

    columns: dict[str, np.ndarray]
    reasons: dict[int, str]  # by the index among these runs
    notes: dict[int, str]


def evaluate_chunk(spec: SweepSpec, points: np.ndarray) -> ChunkResult:
    """Simulate the runs of a sweep with these values (axes, runs)."""
    return _Chunk(spec, points).evaluate()


class _Chunk:
    """Runs of a sweep with these values, and their observables."""

    def __init__(self, spec: SweepSpec, points: np.ndarray) -> None:
        self._spec, self._points, self._eom = spec, points, spec.equations
        self._count = count = points.shape[1]
        self._times = np.array(spec.times)
        self._starts = self._start_states()
        self._observer = Observer(self._eom, spec.observables)
        self._columns = {each.name: np.full((count, *spec.shape_of(each)), np.nan) for each in spec.observables}
        self._reasons: dict[int, str] = {}
        self._notes: dict[int, str] = {}

    def _start_states(self) -> Starts:
        """Parameters and initial states, a column for each run."""
        q, qd = self._eom.model.initial
        columns = {"parameter": self._eom.values, "position": q, "velocity": qd}
        starts = {kind: np.repeat(known[:, None], self._count, axis=1) for kind, known in columns.items()}
        for axis, row in zip(self._spec.variation.axes, self._points, strict=True):
            starts[axis.kind][axis.index] = row
        return Starts(starts["parameter"], starts["position"], starts["velocity"])

    def evaluate(self) -> ChunkResult:
        """Run in lanes if possible, the others one by one."""
        remaining = np.arange(self._count)
        if self._spec.reason_without_lanes is None:
            remaining = self._in_lanes(np.flatnonzero(self._regular_starts()))
        for i in remaining.tolist():
            try:
                run = self._simulated(i)
                self._record(i, run)
                self._note(i, [note for note in run.notes if note.startswith(CHECK)])
            except DalembertError as error:
                self._reasons[i] = " ".join(str(error).split())
        return ChunkResult(self._columns, self._reasons, self._notes)

    def _regular_starts(self) -> np.ndarray:
        """Which runs start on their constraints with the derived structure; the others run alone and report errors."""
        starts, regular = self._starts, np.isfinite(self._points).all(axis=0)
        for axis, row in zip(self._spec.variation.axes, self._points, strict=True):
            if axis.kind == "parameter":
                regular &= keeps_structure(self._eom, axis.name, row)
        manifold = self._eom.workspace.manifold
        return regular & are_consistent(manifold, starts.q, starts.qd, float(self._times[0]), starts.values)

    def _in_lanes(self, runs: np.ndarray) -> np.ndarray:
        """Simulate runs in lanes; return the remaining runs."""
        remaining = np.setdiff1d(np.arange(self._count), runs)
        if not len(runs):
            return remaining
        begin = Starts(*(part[:, runs] for part in (self._starts.values, self._starts.q, self._starts.qd)))
        found = run_lanes(self._eom, begin, self._times, self._spec.settings)
        count = max(1, _MAX_STATES // len(self._times))
        for at in range(0, len(runs), count):
            here = np.flatnonzero(found.finished[at : at + count]) + at
            if len(here):
                self._record_lanes(runs[here], found._replace(states=found.states[here], steps=found.steps[here]))
        return np.concatenate([remaining, runs[~found.finished]])

    def _record_lanes(self, runs: np.ndarray, lanes: LaneRuns) -> None:
        """Record the observables of runs in lanes, and check their energies and constant momenta."""
        kernel, n, samples, states = self._eom.kernel, len(self._starts.q), len(self._times), lanes.states
        y = np.ascontiguousarray(states.reshape(-1, states.shape[2]).T)
        t, values = np.tile(self._times, len(runs)), np.repeat(self._starts.values[:, runs], samples, axis=1)
        if self._eom.about.velocities.are_rates:
            qd = y[n : self._eom.n_states]
        else:
            _, moving = kernel.start(
                self._starts.q[:, runs], self._starts.qd[:, runs], self._times[0], values[:, ::samples]
            )
            qd = kernel.velocities(y, t, np.concatenate([values, np.repeat(moving, samples, axis=1)]))
        self._check_lanes(runs, lanes, (t, y, qd, values))
        found = self._observer.along(t, y[:n], qd, values)
        for each in self._observer.formulas:
            along = found[each.name].reshape(len(runs), samples)
            self._columns[each.name][runs] = each.reduced(along)
        if len(self._observer.formulas) < len(self._spec.observables):
            for i, run in zip(runs.tolist(), states, strict=True):
                self._record(i, self._recording(i, run.T.copy()).trajectory(), only_columns=True)

    def _check_lanes(
        self, runs: np.ndarray, lanes: LaneRuns, along: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        """Note the checks of `api.simulate` that fail; constraints are projected, or a run has not finished in its lane."""
        count, which = len(self._times), spread(len(self._times), MAX_SAMPLES)
        n, size, shape = len(self._starts.q), self._eom.n_states, (len(runs), len(which))
        t, y, qd, values = (
            part.reshape(*part.shape[:-1], len(runs), count)[..., which].reshape(*part.shape[:-1], shape[0] * shape[1])
            for part in along
        )
        energies = self._eom.workspace.observables.energies(t, y[:n], qd, values)
        batch = EnergySamples(*(part.reshape(*part.shape[:-1], *shape) for part in energies))
        allowed = np.array([lanes.accuracy.allowed(steps) for steps in lanes.steps.tolist()])
        works, rates = y[size:].reshape(len(y) - size, *shape), qd.reshape(n, *shape)
        for k in np.flatnonzero(runs_to_check(self._eom, batch, rates, works, allowed)).tolist():
            recording = self._recording(int(runs[k]), lanes.states[k].T.copy(), int(lanes.steps[k]))
            self._note(int(runs[k]), check_run(recording, lanes.accuracy))

    def _note(self, i: int, notes: Sequence[str]) -> None:
        if notes:
            self._notes[i] = "; ".join(notes)

    def _changed(self, i: int) -> Equations:
        axes = zip(self._spec.variation.axes, self._points[:, i].tolist(), strict=True)
        changes = {axis.name: value for axis, value in axes if axis.kind == "parameter"}
        return self._eom.with_parameters(changes) if changes else self._eom

    def _recording(self, i: int, y: np.ndarray, steps: int = 0) -> Recording:
        """The recording of a run in a lane."""
        eom, (values, q, qd) = self._changed(i), self._starts.one(i)
        _, moving = eom.kernel.start(q, qd, self._times[0], values)
        solution = Solution(self._times, y, Status.FINISHED, steps, None)
        return Recording(eom, (RunSegment(eom, solution, np.concatenate([values, moving])),), "dop853", 0.0)

    def _simulated(self, i: int) -> Trajectory:
        spec, settings, (_, q, qd) = self._spec, self._spec.settings, self._starts.one(i)
        return self._changed(i).simulate(
            q0=q,
            qd0=qd,
            times=spec.times,
            integrator=spec.integrator,
            project=spec.project,
            rtol=settings.rtol,
            atol=settings.atol,
            max_step=settings.max_step,
            step=settings.step,
        )

    def _record(self, i: int, run: Trajectory, *, only_columns: bool = False) -> None:
        """Record the observables of one run, which may have ended early."""
        known = {} if only_columns else self._observer.along(run.t, run.q, run.qd, self._values_along(run))
        for each in self._spec.observables:
            if each.column or not only_columns:
                found = run[each.source] if each.column else known[each.name]
                if each.reduction is None:
                    sampled = np.isin(run.t, self._times)  # an event may have ended it between samples
                    self._columns[each.name][i, : sampled.sum()] = found[sampled]
                else:
                    self._columns[each.name][i] = each.reduced(found)

    def _values_along(self, run: Trajectory) -> np.ndarray:
        """The parameters of a run at its samples; those of the model come first if switching states are added."""
        values = run.values[: len(self._starts.values)]
        return values if values.ndim == 2 else np.repeat(values[:, None], len(run.t), axis=1)
