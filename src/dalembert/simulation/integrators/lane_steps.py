"""The loop of many simultaneous runs: one in each lane, with its own constants, step length and end.

It takes the steps of `explicit_steps` with the same operations in the same order, so a run in a lane equals the single run to the
last bit, independent of the other lanes. In each round every lane tries a step; a lane whose run has ended takes the next pending
run. A projection that does not converge, a step that becomes too short, values that are not finite, and constraints that become
nearly dependent end the run here: it is `REPEAT`, to be repeated as a single run.

Arrays over lanes are flat: the values of one state of all lanes are contiguous.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import CompiledLoop, call, call_many
from dalembert.simulation.integrators.compiled_projection import PROJECT, ProjectionData, project_state
from dalembert.simulation.integrators.explicit_steps import HAIRER, Control, Scheme, is_finite

WAITS, DONE, REPEAT = 0, 1, 2  # outcome of a run
_MIN_INDEPENDENCE = 1e-3  # of the constraints, relative to its maximum: below it a run is repeated as a single run
_INNER = 3  # points within a step at which constraints are checked


class BatchRates(NamedTuple):
    """The rates of many states: machine code, its tables, and the layout of inputs and outputs, a row for each stage."""

    many: int
    none: np.ndarray  # no parameters: they are among the inputs
    tables: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray  # (stages + 1, 3); the last row is for the derivatives at the start of steps


class Runs(NamedTuple):
    """The runs, on the first axis."""

    y0: np.ndarray
    constants: np.ndarray
    h0: np.ndarray
    atol: np.ndarray
    samples: np.ndarray  # (runs, samples, states), written
    outcome: np.ndarray  # written
    steps: np.ndarray  # written


class LaneStates(NamedTuple):
    """The state of all lanes."""

    y: np.ndarray  # states × lanes
    stage: np.ndarray  # the state of a stage
    new: np.ndarray  # the end of the step
    fresh: np.ndarray  # derivatives at the start of steps, for lanes without them
    K: np.ndarray  # (stages, states × lanes)
    atol: np.ndarray
    powers: np.ndarray  # (orders, states × lanes)
    p: np.ndarray  # constants × lanes
    clock: np.ndarray  # of the stage
    t: np.ndarray
    t1: np.ndarray
    h: np.ndarray
    sums: np.ndarray  # (4, lanes)
    error: np.ndarray
    run: np.ndarray  # the run in each lane, −1 for none
    sample: np.ndarray
    known: np.ndarray  # is the derivative at the start known?
    failed: np.ndarray  # has this step failed before?
    row: np.ndarray  # one state
    point: np.ndarray  # q, q̇ and t of one state
    constraints: np.ndarray  # the constraints there
    rows: np.ndarray  # (constraints, coordinates) of one state
    longest: np.ndarray  # (lanes, constraints)
    max_independence: np.ndarray  # the maximum independence so far
    before: np.ndarray  # the independence at the start of the step
    seconds: np.ndarray  # rows of the second angles of attitudes
    singular: np.ndarray  # a value of each at gimbal lock, which repeats every π
    near: np.ndarray  # (1,) distance from gimbal lock in radians, below which a run is repeated as a single run


def integrate_lanes(
    scheme: Scheme,
    control: Control,
    rates: BatchRates,
    surface: ProjectionData,
    guarded: bool,
    runs: Runs,
    lanes: LaneStates,
    times: np.ndarray,
    max_steps: int,
) -> int:
    """Integrate all runs to their ends, each with at most `max_steps` steps; the number of rounds."""
    waiting, active, rounds, count = 0, 0, 0, len(lanes.t)
    for b in range(count):
        lanes.run[b] = -1
        if waiting < len(runs.h0):
            _start_run(surface, guarded, runs, lanes, times, b, waiting)
            waiting += 1
            active += 1
        else:
            _start_run(surface, False, runs, lanes, times, b, 0)
            lanes.run[b] = -1
    while active > 0:
        rounds += 1
        _set_step_ends(control, lanes)
        _attempt(scheme, rates, lanes)
        _estimate_errors(scheme, control, lanes)
        if _ends_behind_samples(lanes, times):
            for i in range(scheme.ends + 1, len(scheme.c)):
                _stage(scheme, rates, lanes, i)
            _powers(scheme, lanes)
        for b in range(count):
            if lanes.run[b] < 0 or not _accept_step(
                scheme, control, surface, guarded, runs, lanes, times, b, max_steps
            ):
                continue
            lanes.run[b] = -1
            if waiting < len(runs.h0):
                _start_run(surface, guarded, runs, lanes, times, b, waiting)
                waiting += 1
            else:
                active -= 1
    return rounds


def _start_run(
    surface: ProjectionData,
    guarded: bool,
    runs: Runs,
    lanes: LaneStates,
    times: np.ndarray,
    b: int,
    run: int,
) -> None:
    """Start a run in a lane."""
    count = len(lanes.t)
    for k in range(len(lanes.row)):
        lanes.y[k * count + b] = runs.samples[run, 0, k] = runs.y0[run, k]
        lanes.atol[k * count + b] = runs.atol[run, k]
    for k in range(runs.constants.shape[1]):
        lanes.p[k * count + b] = runs.constants[run, k]
    lanes.run[b], lanes.sample[b], lanes.known[b], lanes.failed[b] = run, 1, 0, 0
    lanes.t[b], lanes.h[b] = times[0], runs.h0[run]
    if guarded:
        _load(surface, lanes, b)
        for i in range(lanes.longest.shape[1]):
            lanes.longest[b, i] = 0.0
        for k in range(2 * surface.n):
            lanes.point[k] = 0.0
        for k in range(surface.n):
            lanes.point[k] = runs.y0[run, k]
        lanes.point[2 * surface.n] = times[0]
        lanes.max_independence[b] = 0.0
        lanes.before[b] = _independence(surface, lanes, b)


def _load(surface: ProjectionData, lanes: LaneStates, b: int) -> None:
    """Load the constants of a lane, for functions of one state."""
    count, own, p, start = len(lanes.t), surface.constraints.p, surface.velocities.p, surface.start.p
    for k in range(len(p)):
        p[k] = lanes.p[k * count + b]
    for k in range(len(own)):
        own[k] = start[k] = p[k]


def _set_step_ends(control: Control, lanes: LaneStates) -> None:
    """The end of the next step of every lane."""
    for b in range(len(lanes.t)):
        t = lanes.t[b]
        if control.kind == HAIRER:
            h = lanes.h[b]
            if lanes.failed[b] == 0:
                h = min(control.largest, max(10 * np.spacing(abs(t)), h))
            lanes.t1[b] = min(t + h, control.end)
            lanes.h[b] = lanes.t1[b] - t


def _stage(scheme: Scheme, rates: BatchRates, lanes: LaneStates, i: int) -> None:
    """Stage i of every lane."""
    count, stage, K = len(lanes.t), lanes.stage, lanes.K
    for k in range(len(stage)):
        stage[k] = 0.0
    for j in range(i):
        weight, slopes = scheme.A[i, j], K[j]
        if weight != 0.0:
            for k in range(len(stage)):
                stage[k] += weight * slopes[k]
    for k in range(len(lanes.row)):
        y, stage_state = lanes.y[k * count : (k + 1) * count], stage[k * count : (k + 1) * count]
        for b in range(count):
            stage_state[b] = y[b] + lanes.h[b] * stage_state[b]
    for b in range(count):
        lanes.clock[b] = lanes.t[b] + scheme.c[i] * lanes.h[b]
    call_many(rates.many, rates.inputs, rates.none, rates.tables, rates.outputs[i], count)


def _attempt(scheme: Scheme, rates: BatchRates, lanes: LaneStates) -> None:
    """The stages of one step of every lane, and the state at its end."""
    count, unknown, first, last = len(lanes.t), 0, lanes.K[0], len(scheme.c)
    for b in range(count):
        unknown += 1 - lanes.known[b]
    if unknown:
        for k in range(len(lanes.y)):
            lanes.stage[k] = lanes.y[k]
        for b in range(count):
            lanes.clock[b] = lanes.t[b]
        call_many(rates.many, rates.inputs, rates.none, rates.tables, rates.outputs[last], count)
        for b in range(count):
            if lanes.known[b] == 0:
                for k in range(len(lanes.row)):
                    first[k * count + b] = lanes.fresh[k * count + b]
                lanes.known[b] = 1
    for i in range(1, scheme.ends + 1):
        _stage(scheme, rates, lanes, i)
    for k in range(len(lanes.y)):
        lanes.new[k] = lanes.stage[k]


def _estimate_errors(scheme: Scheme, control: Control, lanes: LaneStates) -> None:
    """|e₅|² / √(n (|e₅|² + |e₃|²/100)) h relative to the tolerances, of every lane."""
    count, h, error = len(lanes.t), lanes.h, lanes.error
    n, first, second, fifth, third = len(lanes.row), lanes.sums[0], lanes.sums[1], lanes.sums[2], lanes.sums[3]
    for b in range(count):
        fifth[b] = third[b] = error[b] = 0.0
    for k in range(n):
        y, new = lanes.y[k * count : (k + 1) * count], lanes.new[k * count : (k + 1) * count]
        atol = lanes.atol[k * count : (k + 1) * count]
        for b in range(count):
            first[b] = second[b] = 0.0
        for i in range(scheme.ends + 1):
            one, other, slopes = scheme.E[0, i], scheme.E[1, i], lanes.K[i][k * count : (k + 1) * count]
            for b in range(count):
                first[b] += one * slopes[b]
                second[b] += other * slopes[b]
        for b in range(count):
            scale = atol[b] + max(abs(y[b]), abs(new[b])) * control.rtol
            error[b] += 0.0 * scale  # NaN if the scale is not finite
            fifth[b] += (first[b] / scale) ** 2
            third[b] += (second[b] / scale) ** 2
    for b in range(count):
        if error[b] == 0.0 and (fifth[b] != 0.0 or third[b] != 0.0):
            error[b] = fifth[b] / np.sqrt((fifth[b] + 0.01 * third[b]) * n)
        error[b] = h[b] * error[b]


def _ends_behind_samples(lanes: LaneStates, times: np.ndarray) -> bool:
    """True if an accepted step of a lane contains samples."""
    found = False
    for b in range(len(lanes.t)):
        if lanes.run[b] >= 0 and lanes.error[b] < 1 and times[lanes.sample[b]] < lanes.t1[b]:
            found = True
    return found


def _powers(scheme: Scheme, lanes: LaneStates) -> None:
    """The motion within the steps as powers of (t − t0) / h."""
    P, powers, K, count = scheme.P, lanes.powers, lanes.K, len(lanes.t)
    for j in range(P.shape[1]):
        row = powers[j + 1]
        for k in range(len(row)):
            row[k] = 0.0
        for i in range(P.shape[0]):
            weight, slopes = P[i, j], K[i]
            for k in range(len(row)):
                row[k] += weight * slopes[k]
        for k in range(len(lanes.row)):
            for b in range(count):
                row[k * count + b] = lanes.h[b] * row[k * count + b]
    for k in range(len(lanes.y)):
        powers[0, k] = lanes.y[k]


def _accept_step(
    scheme: Scheme,
    control: Control,
    surface: ProjectionData,
    guarded: bool,
    runs: Runs,
    lanes: LaneStates,
    times: np.ndarray,
    b: int,
    max_steps: int,
) -> bool:
    """Accept the step of one lane, or shorten it; True if its run has ended."""
    run, count, h, error, power = lanes.run[b], len(lanes.t), lanes.h[b], lanes.error[b], -1 / 8
    runs.steps[run] += 1
    if not error < 1:
        shrink = 0.9 * error**power
        lanes.h[b] = h * (shrink if shrink > 0.2 else 0.2)
        lanes.failed[b] = 1
        if lanes.h[b] >= 10 * np.spacing(abs(lanes.t[b])) and runs.steps[run] < max_steps:
            return False
        runs.outcome[run] = REPEAT
        return True
    for k in range(len(lanes.row)):
        lanes.row[k] = lanes.new[k * count + b]
    runs.outcome[run] = REPEAT
    if not is_finite(lanes.row) or runs.steps[run] >= max_steps:
        return True
    if not _away_from_gimbal_lock(lanes, b):
        return True
    if surface.mode == PROJECT or guarded:
        _load(surface, lanes, b)
    if guarded and not _stays_independent(scheme, surface, lanes, b):
        return True
    if not _sampled(surface, runs, lanes, times, b):
        return True
    factor = min(10.0, 0.9 * error**power) if error > 0 else 10.0
    lanes.h[b] = h * (min(1.0, factor) if lanes.failed[b] else factor)
    lanes.failed[b] = 0
    return _continue_run(scheme, runs, lanes, times, b)


def _away_from_gimbal_lock(lanes: LaneStates, b: int) -> bool:
    """True if all second angles stay away from gimbal lock; a step must not cross it."""
    count = len(lanes.t)
    for i in range(len(lanes.seconds)):
        k = lanes.seconds[i]
        old, new = (lanes.y[k * count + b] - lanes.singular[i]) / np.pi, (lanes.row[k] - lanes.singular[i]) / np.pi
        if np.floor(old) != np.floor(new) or abs(new - np.floor(new + 0.5)) * np.pi < lanes.near[0]:
            return False
    return True


def _continue_run(scheme: Scheme, runs: Runs, lanes: LaneStates, times: np.ndarray, b: int) -> bool:
    """Continue from the end of the step; True at the end of the run."""
    run, count, first, last = lanes.run[b], len(lanes.t), lanes.K[0], lanes.K[scheme.ends]
    lanes.known[b] = 1
    for k in range(len(lanes.row)):
        first[k * count + b] = last[k * count + b]
        if lanes.row[k] != lanes.new[k * count + b]:
            lanes.known[b] = 0
        lanes.y[k * count + b] = lanes.row[k]
    lanes.t[b] = lanes.t1[b]
    while lanes.sample[b] < len(times) and times[lanes.sample[b]] <= lanes.t[b]:
        for k in range(len(lanes.row)):
            runs.samples[run, lanes.sample[b], k] = lanes.row[k]
        lanes.sample[b] += 1
    if lanes.sample[b] < len(times):
        return False
    runs.outcome[run] = DONE
    return True


def _sampled(surface: ProjectionData, runs: Runs, lanes: LaneStates, times: np.ndarray, b: int) -> bool:
    """Project the samples within a step, and its end, onto the constraints; False if this does not converge."""
    run, count, t0, t1, h, powers = lanes.run[b], len(lanes.t), lanes.t[b], lanes.t1[b], lanes.h[b], lanes.powers
    while lanes.sample[b] < len(times) and times[lanes.sample[b]] < t1:
        t, sample = float(times[lanes.sample[b]]), runs.samples[run, lanes.sample[b]]
        for k in range(len(sample)):
            sample[k] = 0.0
            for j in range(powers.shape[0] - 1, -1, -1):
                sample[k] = sample[k] * ((t - t0) / h) + powers[j, k * count + b]
        if surface.mode == PROJECT and not project_state(surface, t, sample):
            return False
        lanes.sample[b] += 1
    return surface.mode != PROJECT or project_state(surface, t1, lanes.row)


# independence of the constraints


def _stays_independent(scheme: Scheme, surface: ProjectionData, lanes: LaneStates, b: int) -> bool:
    """True if the constraints stay independent along a step, where q is the cubic Hermite interpolant."""
    n, count, t0, h = surface.n, len(lanes.t), lanes.t[b], lanes.h[b]
    first, last, point = lanes.K[0], lanes.K[scheme.ends], lanes.point
    older, old, dips = lanes.before[b], lanes.before[b], False
    for i in range(1, _INNER + 2):
        x = i / (_INNER + 1)
        for k in range(n):
            at = k * count + b
            a, z, u, w = lanes.y[at], lanes.new[at], h * first[at], h * last[at]
            point[k] = a + x * (u + x * (3 * (z - a) - 2 * u - w + x * (u + w - 2 * (z - a))))
            point[n + k] = (1 - x) * first[at] + x * last[at]
        point[2 * n] = t0 + x * h
        now = _independence(surface, lanes, b)
        if i > 1 and old <= older and old <= now and 2 * old <= 1.1 * max(older, now):
            dips = True
        older, old = old, now
        if not now > _MIN_INDEPENDENCE * max(lanes.max_independence[b], _MIN_INDEPENDENCE):
            return False
    lanes.before[b] = old
    return not dips


def _independence(surface: ProjectionData, lanes: LaneStates, b: int) -> float:
    """The minimum distance of a constraint from the span of the preceding ones; rows and columns are dimensionless.

    Columns are scaled by diag(M)^(−1/2), rows by their maximum norm so far, as in `Independence`.
    """
    n, constraints, Q, heaviest = surface.n, lanes.constraints, lanes.rows, 0.0
    slopes, mass = surface.n_phi + surface.n_rows, surface.n_phi + surface.n_rows * (n + 1)
    call(surface.constraints.one, lanes.point, surface.constraints.p, surface.constraints.tables, constraints)
    for k in range(n):
        heaviest = max(heaviest, constraints[mass + k * n + k])
    floor, minimum = 1e-8 * np.sqrt(heaviest) if heaviest > 0 else 1.0, 1.0
    for i in range(len(surface.rows_v)):
        size, rest = 0.0, 0.0
        for k in range(n):
            weight = max(np.sqrt(max(constraints[mass + k * n + k], 0.0)), floor)
            Q[i, k] = constraints[slopes + surface.rows_v[i] * n + k] / weight
            size += Q[i, k] * Q[i, k]
        lanes.longest[b, i] = max(lanes.longest[b, i], np.sqrt(size))
        for _ in range(2):
            for j in range(i):
                along = 0.0
                for k in range(n):
                    along += Q[j, k] * Q[i, k]
                for k in range(n):
                    Q[i, k] -= along * Q[j, k]
        for k in range(n):
            rest += Q[i, k] * Q[i, k]
        rest = np.sqrt(rest)
        if not 0.0 < rest < np.inf:
            return 0.0
        minimum = min(minimum, rest / lanes.longest[b, i])
        for k in range(n):
            Q[i, k] /= rest
    lanes.max_independence[b] = max(lanes.max_independence[b], minimum)
    return minimum


compiled = CompiledLoop(integrate_lanes, vectorize=True)  # the same in machine code
