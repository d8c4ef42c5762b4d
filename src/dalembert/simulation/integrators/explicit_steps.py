"""The loop of explicit Runge–Kutta steps: many steps per call, each projected onto the constraints, with samples.

Functions on arrays of floats, which run in Python or as machine code (`compiled`). Right-hand sides are machine code
`void one(const double *x, const double *p, const double *tables, double *out)`, called by address, or Python functions of the
same arguments. A method is a table of coefficients (`Scheme`), so this loop is compiled once.

Rare cases are handled in Python: a projection for which the plain Newton method does not converge ends the burst.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import CallableProgram, CompiledLoop, call
from dalembert.simulation.integrators.compiled_projection import (
    PROJECT,
    PROJECT_IN_PYTHON,
    ProjectionData,
    project_state,
)

FIXED, ODE45, HAIRER = 0, 1, 2  # step control: fixed, of MATLAB's ode45, of Hairer, Nørsett and Wanner
CONTINUES, COLLAPSED, NOT_FINITE, UNPROJECTED = 0, 1, 2, 3  # how a burst ended
T, H = 0, 1  # indices of `Now.clock`
DONE, CALLS, KNOWN, SAMPLE = 0, 1, 2, 3  # indices of `Now.counts`
UNSTABLE, STABLE, STIFF = (
    4,
    5,
    6,
)  # also: consecutive steps at the stability limit, then below it, and steps of stiff series
# the stiffness test of Hairer, Nørsett and Wanner II, IV.2
_STABILITY_LIMIT = 6.1  # of |h λ| for dop853
_TEST_INTERVAL = 100  # steps between tests while no step is near the limit
_MIN_UNSTABLE, _MIN_STABLE = 15, 6  # steps at the limit that show stiffness, and steps below it that end a series


class Scheme(NamedTuple):
    """A Runge–Kutta method: K_i = f(t + c_i h, y + h Σ A_ij K_j).

    A[ends] are the weights of the solution, K[ends] is the derivative at its end; later stages are only for the dense output,
    y + h Σ K_i P_ij xʲ⁺¹. If the derivative at the end is not `carried` to the next step, there is one stage, and K[1] is the
    mean derivative: K[0], plus `bend` h v̇ for positions.
    """

    c: np.ndarray
    A: np.ndarray
    P: np.ndarray
    E: np.ndarray  # (2, stages): the weights of two error estimates, of which ode45 uses the first
    ends: int
    carried: bool = True
    bend: float = 0.0
    positions: int = 0


class Control(NamedTuple):
    """Step control."""

    atol: np.ndarray  # ode45: the size below which a state is measured absolutely
    rtol: float = 0.0
    largest: float = np.inf
    number: int = 0  # of fixed steps
    kind: int = FIXED
    start: float = 0.0
    end: float = 0.0
    inputs: int = 0  # the number of states that enter the rates
    keep: bool = False  # the motion within every step is required
    exact_samples: bool = False  # samples are ends of shorter steps: the dense output is of lower order


class Now(NamedTuple):
    """The present state of a run; modified in place."""

    y: np.ndarray
    K: np.ndarray  # stages; K[0] is the present derivative if `KNOWN`
    stages: np.ndarray  # stages of the shorter steps to samples
    clock: np.ndarray  # t, h
    counts: np.ndarray  # steps, evaluations, is the derivative known, samples, and three of the stiffness test


class AcceptedSteps(NamedTuple):
    """Consecutive steps, on the first axis; written by a burst."""

    t0: np.ndarray
    t1: np.ndarray
    h: np.ndarray
    y1: np.ndarray  # before the projection
    last: np.ndarray  # after the projection
    powers: np.ndarray  # (steps, states, orders) of (t − t0) / h
    calls: np.ndarray  # evaluations so far

    @classmethod
    def empty(cls, count: int, n: int, orders: int) -> AcceptedSteps:
        """Uninitialized arrays of `count` steps."""
        (t0, t1, h), (y1, last) = np.empty((3, count)), np.empty((2, count, n))
        return cls(t0, t1, h, y1, last, np.empty((count, n, orders)), np.zeros(count, dtype=np.int64))

    def until(self, count: int) -> AcceptedSteps:
        """The first `count` steps."""
        return AcceptedSteps(*[part[:count] for part in self])


def burst(
    scheme: Scheme,
    control: Control,
    rates: CallableProgram,
    surface: ProjectionData,
    now: Now,
    taken: AcceptedSteps,
    times: np.ndarray,
    samples: np.ndarray,
    stop: float,
    max_steps: int,
) -> tuple[int, int]:
    """Take up to `max_steps` steps, until `stop` is reached; the number of accepted steps, and how the burst ended."""
    x, count, n = np.empty(control.inputs + 1), 0, len(now.y)
    y, K, clock, counts = now.y, now.K, now.clock, now.counts
    while count < max_steps and clock[T] < stop:
        new, last, t0 = taken.y1[count], taken.last[count], clock[T]
        t1, h = _next_step(scheme, control, rates, now, x, new)
        if t1 != t1:
            clock[H] = h
            return count, COLLAPSED
        taken.t0[count], taken.t1[count], taken.h[count] = t0, t1, h
        if not is_finite(new):
            return count, NOT_FINITE
        if control.keep or (counts[SAMPLE] < len(times) and times[counts[SAMPLE]] < t1):
            _stages(scheme, rates, scheme.ends + 1, len(scheme.c), t0, h, now, K, x, last)
            _powers(scheme.P, y, h, K, taken.powers[count])
        if control.exact_samples:
            _step_to_samples(scheme, rates, now, t0, t1, times, samples, x)
        for k in range(n):
            y[k] = last[k] = new[k]
            K[0, k] = K[scheme.ends, k]
        clock[T] = t1
        counts[DONE] += 1
        counts[KNOWN] = scheme.carried
        taken.calls[count] = counts[CALLS]
        count += 1
        if surface.mode == PROJECT_IN_PYTHON or not project_and_sample(
            surface, control, now, taken, count - 1, times, samples
        ):
            return count, UNPROJECTED
    return count, CONTINUES


def is_finite(y: np.ndarray) -> bool:
    """True if every state is finite."""
    total = 0.0
    for i in range(len(y)):
        total += 0.0 * y[i]  # 0, or NaN
    return total == 0.0


def _stages(
    scheme: Scheme,
    rates: CallableProgram,
    first: int,
    after: int,
    t: float,
    h: float,
    now: Now,
    K: np.ndarray,
    x: np.ndarray,
    stage_state: np.ndarray,
) -> None:
    """Stages first, ..., after − 1; the state of the last one is returned in `stage_state`."""
    A, c, p, tables, y = scheme.A, scheme.c, rates.p, rates.tables, now.y
    n, m = len(y), len(x) - 1
    for i in range(first, after):
        for k in range(n):
            stage_state[k] = 0.0
        for j in range(i):
            weight = A[i, j]
            if weight != 0.0:
                for k in range(n):
                    stage_state[k] += weight * K[j, k]
        for k in range(n):
            stage_state[k] = y[k] + h * stage_state[k]
        for k in range(m):
            x[k] = stage_state[k]
        x[m] = t + c[i] * h
        call(rates.one, x, p, tables, K[i])
    now.counts[CALLS] += after - first


def _attempt(
    scheme: Scheme, rates: CallableProgram, t: float, h: float, now: Now, x: np.ndarray, new: np.ndarray
) -> None:
    """The stages of one step, and the state at its end."""
    first, after = now.counts[KNOWN], scheme.ends + 1 if scheme.carried else 1
    _stages(scheme, rates, first, after, t, h, now, now.K, x, new)
    now.counts[KNOWN] = 1
    if scheme.carried:
        return
    y, K, n = now.y, now.K, scheme.positions
    for k in range(len(y)):
        K[1, k] = K[0, k] + (scheme.bend * h * K[0, n + k] if k < n else 0.0)
        new[k] = y[k] + h * K[1, k]


def _powers(P: np.ndarray, y: np.ndarray, h: float, K: np.ndarray, out: np.ndarray) -> None:
    """The motion within a step as powers of (t − t0) / h, (states, orders)."""
    for k in range(len(y)):
        out[k, 0] = y[k]
        for j in range(P.shape[1]):
            total = 0.0
            for i in range(P.shape[0]):
                total += P[i, j] * K[i, k]
            out[k, j + 1] = h * total


def _next_step(
    scheme: Scheme, control: Control, rates: CallableProgram, now: Now, x: np.ndarray, new: np.ndarray
) -> tuple[float, float]:
    """The time at the end of the next step and its length; NaN if steps have become too short."""
    t, end = now.clock[T], control.end
    if control.kind == ODE45:
        return _ode45(scheme, control, rates, now, x, new)
    if control.kind == HAIRER:
        return _hairer(scheme, control, rates, now, x, new)
    h, after = now.clock[H], now.counts[DONE] + 1
    t1 = end if after == control.number else control.start + after * h
    _attempt(scheme, rates, t, h, now, x, new)
    return t1, h


def _ode45(
    scheme: Scheme, control: Control, rates: CallableProgram, now: Now, x: np.ndarray, new: np.ndarray
) -> tuple[float, float]:
    """Control by the largest relative error; repeated rejections halve the step, and the next step is not longer."""
    t, rest, rtol = now.clock[T], control.end - now.clock[T], control.rtol
    smallest, power, failed = 16 * np.spacing(abs(t)), 0.2, False
    h = min(control.largest, max(smallest, now.clock[H]))
    if 1.1 * h >= rest:
        h = rest
    while True:
        t1 = control.end if h == rest else t + h
        _attempt(scheme, rates, t, h, now, x, new)
        error = h * _largest_error(scheme, control, now, new)
        if error <= rtol:
            break
        if h <= smallest or not np.isfinite(h):
            return np.nan, h
        shrink = 0.5
        if not failed and np.isfinite(error):
            shrink = max(0.1, 0.8 * (rtol / error) ** power)
        h, failed = max(smallest, h * shrink), True
    grow = 1.25 * (error / rtol) ** power
    now.clock[H] = h if failed else (h / grow if grow > 0.2 else 5 * h)
    return t1, h


def _largest_error(scheme: Scheme, control: Control, now: Now, new: np.ndarray) -> float:
    """The largest error estimate relative to the states; NaN if it is not finite."""
    largest, E, K, y, atol = 0.0, scheme.E, now.K, now.y, control.atol
    for k in range(len(new)):
        total = 0.0
        for i in range(scheme.ends + 1):
            total += E[0, i] * K[i, k]
        error = abs(total) / max(max(abs(y[k]), abs(new[k])), atol[k])
        if error != error:
            return np.nan
        largest = max(largest, error)
    return largest


def _hairer(
    scheme: Scheme, control: Control, rates: CallableProgram, now: Now, x: np.ndarray, new: np.ndarray
) -> tuple[float, float]:
    """Factors between 0.2 and 10, with a safety of 0.9; no growth after a step that failed."""
    t, failed, power = now.clock[T], False, -1 / 8
    smallest = 10 * np.spacing(abs(t))
    h = min(control.largest, max(smallest, now.clock[H]))
    while True:
        if not h >= smallest:
            return np.nan, h
        t1 = min(t + h, control.end)
        h = t1 - t
        _attempt(scheme, rates, t, h, now, x, new)
        error = h * _error_norm(scheme, control, now, new)
        if error < 1:
            break
        shrink = 0.9 * error**power
        h *= shrink if shrink > 0.2 else 0.2  # 0.2 for NaN, too
        failed = True
    if now.counts[UNSTABLE] > 0 or now.counts[DONE] % _TEST_INTERVAL == _TEST_INTERVAL - 1:
        _test_stiffness(scheme, control, now, h, new)
    factor = min(10.0, 0.9 * error**power) if error > 0 else 10.0
    now.clock[H] = h * (min(1.0, factor) if failed else factor)
    return t1, h


def _test_stiffness(scheme: Scheme, control: Control, now: Now, h: float, new: np.ndarray) -> None:
    """Count steps whose length is limited by stability: |h λ|, from the last two stages, is at the limit of the method."""
    y, K, counts, last = now.y, now.K, now.counts, scheme.ends - 1
    rates, states = 0.0, 0.0
    for k in range(len(y)):
        stage = 0.0
        for j in range(last):
            stage += scheme.A[last, j] * K[j, k]
        scale = control.atol[k] + max(abs(y[k]), abs(new[k])) * control.rtol
        rates += ((K[scheme.ends, k] - K[last, k]) / scale) ** 2
        states += ((new[k] - y[k] - h * stage) / scale) ** 2
    if abs(h) * np.sqrt(rates) > _STABILITY_LIMIT * np.sqrt(states):
        counts[UNSTABLE] += 1
        counts[STABLE] = 0
        if counts[UNSTABLE] >= _MIN_UNSTABLE:
            counts[STIFF] += 1
    else:
        counts[STABLE] += 1
        if counts[STABLE] >= _MIN_STABLE:
            counts[UNSTABLE] = 0


def _error_norm(scheme: Scheme, control: Control, now: Now, new: np.ndarray) -> float:
    """|e₅|² / √(n (|e₅|² + |e₃|²/100)), relative to the tolerances."""
    fifth, third, n, E, K, y, atol = 0.0, 0.0, len(new), scheme.E, now.K, now.y, control.atol
    for k in range(n):
        scale = atol[k] + max(abs(y[k]), abs(new[k])) * control.rtol
        if not scale < np.inf:
            return np.nan
        first, second = 0.0, 0.0
        for i in range(scheme.ends + 1):
            first += E[0, i] * K[i, k]
            second += E[1, i] * K[i, k]
        fifth += (first / scale) ** 2
        third += (second / scale) ** 2
    if fifth == 0.0 and third == 0.0:
        return 0.0
    return fifth / np.sqrt((fifth + 0.01 * third) * n)


# samples and projection onto the constraints


def _step_to_samples(
    scheme: Scheme,
    rates: CallableProgram,
    now: Now,
    t0: float,
    t1: float,
    times: np.ndarray,
    samples: np.ndarray,
    x: np.ndarray,
) -> None:
    """The states at the samples between t0 and t1, by shorter steps from t0."""
    i = now.counts[SAMPLE]
    for k in range(len(now.y)):
        now.stages[0, k] = now.K[0, k]
    while i < len(times) and times[i] < t1:
        _stages(scheme, rates, 1, scheme.ends + 1, t0, float(times[i]) - t0, now, now.stages, x, samples[i])
        i += 1


def project_and_sample(
    surface: ProjectionData,
    control: Control,
    now: Now,
    taken: AcceptedSteps,
    i: int,
    times: np.ndarray,
    samples: np.ndarray,
) -> bool:
    """Project the samples of step i and its end onto the constraints; False if Python has to continue."""
    t0, t1, h, counts, state, y = taken.t0[i], taken.t1[i], taken.h[i], now.counts, taken.last[i], now.y
    powers = taken.powers[i]
    while counts[SAMPLE] < len(times) and times[counts[SAMPLE]] < t1:
        sample, t = samples[counts[SAMPLE]], float(times[counts[SAMPLE]])
        if not control.exact_samples:
            for k in range(len(y)):
                sample[k] = 0.0
                for j in range(powers.shape[1] - 1, -1, -1):
                    sample[k] = sample[k] * ((t - t0) / h) + powers[k, j]
        if surface.mode == PROJECT and not project_state(surface, t, sample):
            return False
        counts[SAMPLE] += 1
    if surface.mode == PROJECT and not project_state(surface, t1, state):
        return False
    for k in range(len(y)):
        if state[k] != y[k]:
            counts[KNOWN] = 0
        y[k] = state[k]
    while counts[SAMPLE] < len(times) and times[counts[SAMPLE]] <= t1:
        for k in range(len(y)):
            samples[counts[SAMPLE], k] = y[k]
        counts[SAMPLE] += 1
    return True


compiled = CompiledLoop(burst)  # the same in machine code
