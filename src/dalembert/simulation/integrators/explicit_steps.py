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
from dalembert.codegen.linear_algebra import cholesky_in_place, solve_lower, solve_lower_transposed

FIXED, ODE45, HAIRER = 0, 1, 2  # step control: fixed, of MATLAB's ode45, of Hairer, Nørsett and Wanner
FREE, PROJECT, PROJECT_IN_PYTHON = 0, 1, 2  # projection after a step: none, here, in Python
CONTINUES, COLLAPSED, NOT_FINITE, UNPROJECTED = 0, 1, 2, 3  # how a burst ended
T, H = 0, 1  # indices of `Now.clock`
DONE, CALLS, KNOWN, SAMPLE = 0, 1, 2, 3  # indices of `Now.counts`
_FLOOR = 1e-12  # of the size of its terms: a residual that no longer decreases is rounding
_DEPENDENT = 1e-5  # rows closer to dependence than this are handled in Python


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


class Now(NamedTuple):
    """The present state of a run; modified in place."""

    y: np.ndarray
    K: np.ndarray  # stages; K[0] is the present derivative if `KNOWN`
    clock: np.ndarray  # t, h
    counts: np.ndarray  # steps, evaluations, is the derivative known, samples


class AcceptedSteps(NamedTuple):
    """Consecutive steps, on the first axis; written by a burst."""

    t0: np.ndarray
    t1: np.ndarray
    h: np.ndarray
    y1: np.ndarray  # before the projection
    last: np.ndarray  # after the projection
    powers: np.ndarray  # (steps, states, orders) of (t − t0) / h
    calls: np.ndarray  # evaluations so far

    def until(self, count: int) -> AcceptedSteps:
        """The first `count` steps."""
        return AcceptedSteps(*[part[:count] for part in self])


class ProjectionData(NamedTuple):
    """The constraints, and the data to project a state (q, v) onto them."""

    mode: int
    constraints: CallableProgram  # (q, q̇, t) → φ, the velocity residual, A, M
    velocities: CallableProgram  # (q, v, t) → q̇
    start: CallableProgram  # (q, q̇, t) → v and more
    keeps: bool  # velocities satisfy the constraints by construction
    n: int
    inputs: int
    started: int  # outputs of `start`
    n_phi: int
    n_rows: int
    rows_q: np.ndarray
    rows_v: np.ndarray
    scale_q: np.ndarray
    scale_v: np.ndarray
    size_q: np.ndarray
    size_v: np.ndarray
    limits: np.ndarray  # rounding, a good step, the tolerance of rank, massless
    rounds: int


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
        if not _finite(new):
            return count, NOT_FINITE
        if control.keep or (counts[SAMPLE] < len(times) and times[counts[SAMPLE]] < t1):
            _stages(scheme, rates, scheme.ends + 1, len(scheme.c), t0, h, now, x, last)
            _powers(scheme.P, y, h, K, taken.powers[count])
        for k in range(n):
            y[k] = last[k] = new[k]
            K[0, k] = K[scheme.ends, k]
        clock[T] = t1
        counts[DONE] += 1
        counts[KNOWN] = scheme.carried
        taken.calls[count] = counts[CALLS]
        count += 1
        if surface.mode == PROJECT_IN_PYTHON or not _project_and_sample(surface, now, taken, count - 1, times, samples):
            return count, UNPROJECTED
    return count, CONTINUES


def _finite(y: np.ndarray) -> bool:
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
    x: np.ndarray,
    stage_state: np.ndarray,
) -> None:
    """Stages first, ..., after − 1; the state of the last one is returned in `stage_state`."""
    A, c, p, tables, y, K = scheme.A, scheme.c, rates.p, rates.tables, now.y, now.K
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
    _stages(scheme, rates, first, after, t, h, now, x, new)
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
    factor = min(10.0, 0.9 * error**power) if error > 0 else 10.0
    now.clock[H] = h * (min(1.0, factor) if failed else factor)
    return t1, h


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


# projection onto the constraints


def _project_and_sample(
    surface: ProjectionData, now: Now, taken: AcceptedSteps, i: int, times: np.ndarray, samples: np.ndarray
) -> bool:
    """Project the samples of step i and its end onto the constraints; False if Python has to continue."""
    t0, t1, h, counts, state, y = taken.t0[i], taken.t1[i], taken.h[i], now.counts, taken.last[i], now.y
    powers = taken.powers[i]
    while counts[SAMPLE] < len(times) and times[counts[SAMPLE]] < t1:
        sample, t = samples[counts[SAMPLE]], float(times[counts[SAMPLE]])
        for k in range(len(y)):
            sample[k] = 0.0
            for j in range(powers.shape[1] - 1, -1, -1):
                sample[k] = sample[k] * ((t - t0) / h) + powers[k, j]
        if surface.mode == PROJECT and not _projected(surface, t, sample):
            return False
        counts[SAMPLE] += 1
    if surface.mode == PROJECT and not _projected(surface, t1, state):
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


def _projected(surface: ProjectionData, t: float, y: np.ndarray) -> bool:
    """Project y = (q, v, ...) onto the constraints, positions first; False, and y unchanged, if this does not converge."""
    n, m = surface.n, surface.inputs
    here = np.empty(max(2 * n, m) + 1)
    q, qd, v = here[:n], np.zeros(n), np.empty(surface.started)
    for k in range(n):
        q[k] = y[k]
    if len(surface.rows_q) and not _newton_converges(surface, t, q, qd, False):
        return False
    if not surface.keeps:
        for k in range(n, m):
            here[k] = y[k]
        here[m] = t
        call(surface.velocities.one, here, surface.velocities.p, surface.velocities.tables, qd)
        if len(surface.rows_v) and not _newton_converges(surface, t, q, qd, True):
            return False
        for k in range(n):
            here[n + k] = qd[k]
        here[2 * n] = t
        call(surface.start.one, here, surface.start.p, surface.start.tables, v)
        for k in range(n, m):
            y[k] = v[k - n]
    for k in range(n):
        y[k] = q[k]
    return True


def _newton_converges(surface: ProjectionData, t: float, q: np.ndarray, qd: np.ndarray, moving: bool) -> bool:
    """Newton's method on q, or on q̇ if `moving`, as `mechanics.newton.onto` with good steps; False if it does not converge."""
    n, rounding, good = surface.n, surface.limits[0], surface.limits[1]
    rows, scale, sizes, first = surface.rows_q, surface.scale_q, surface.size_q, 0
    if moving:
        rows, scale, sizes, first = surface.rows_v, surface.scale_v, surface.size_v, surface.n_phi
    slopes, mass = surface.n_phi + surface.n_rows, surface.n_phi + surface.n_rows * (n + 1)
    point, there, step = np.empty(2 * n + 1), np.empty(mass + n * n), np.zeros(n)
    term, fresh, x, at = np.empty(len(rows)), np.empty(len(rows)), qd if moving else q, n if moving else 0
    worst, before = np.inf, np.inf
    for round in range(surface.rounds + 1):
        for k in range(n):
            point[k], point[n + k] = q[k], qd[k]
        for k in range(n):
            point[at + k] = x[k] - step[k]
        point[2 * n] = t
        call(surface.constraints.one, point, surface.constraints.p, surface.constraints.tables, there)
        after, max_steps, new = 0.0, 0.0, 0.0
        for i in range(len(rows)):
            size, left = sizes[i], abs(there[first + rows[i]])
            for k in range(n):
                size += abs(there[slopes + rows[i] * n + k]) * (abs(point[at + k]) + scale[k])
            if not (left < np.inf and size < np.inf) or (size <= 0.0 and left > 0.0):
                return False
            share = left / size if left > 0.0 else 0.0
            max_steps = max(max_steps, share)
            new += share * share
            if round and left > 0.0:
                after += (left / term[i]) ** 2
            fresh[i] = size
        if round and max_steps > rounding and not np.sqrt(after) < (good if worst > _FLOOR else 1.0) * before:
            return worst <= _FLOOR
        for k in range(n):
            x[k] = point[at + k]
        if max_steps <= rounding:
            return True
        for i in range(len(rows)):
            term[i] = fresh[i]
        worst, before = max_steps, np.sqrt(new)
        if round < surface.rounds and not _newton(rows, first, slopes, mass, surface.limits, there, step):
            return False
    return worst <= _FLOOR


def _newton(
    rows: np.ndarray, first: int, slopes: int, mass: int, limits: np.ndarray, here: np.ndarray, step: np.ndarray
) -> bool:
    """The smallest step in the metric of M that removes the residual to first order; False if rows are dependent.

    M = U⁻¹ L Lᵀ U⁻¹ with a diagonal U. Rows are L⁻¹ U a, made orthonormal one by one.
    """
    n, r = len(step), len(rows)
    L, unit, Q, w = np.empty((n, n)), np.empty(n), np.empty((r, n)), np.zeros(r)
    if not _factored(here, mass, limits, L, unit):
        return False
    for i in range(r):
        size, rest = 0.0, 0.0
        for k in range(n):
            Q[i, k] = unit[k] * here[slopes + rows[i] * n + k]
        solve_lower(L, Q[i])
        for k in range(n):
            size += Q[i, k] * Q[i, k]
        size = np.sqrt(size)
        if not (0.0 < size < np.inf):
            return False
        for k in range(n):
            Q[i, k] /= size
        w[i] = here[first + rows[i]] / size
        for _ in range(2):  # Gram–Schmidt, twice because of rounding
            for j in range(i):
                along = 0.0
                for k in range(n):
                    along += Q[j, k] * Q[i, k]
                w[i] -= along * w[j]
                for k in range(n):
                    Q[i, k] -= along * Q[j, k]
        for k in range(n):
            rest += Q[i, k] * Q[i, k]
        rest = np.sqrt(rest)
        if not rest > _DEPENDENT:
            return False
        w[i] /= rest
        for k in range(n):
            Q[i, k] /= rest
    for k in range(n):
        step[k] = 0.0
        for i in range(r):
            step[k] += w[i] * Q[i, k]
    solve_lower_transposed(L, step)
    for k in range(n):
        step[k] *= unit[k]
    return True


def _factored(here: np.ndarray, mass: int, limits: np.ndarray, L: np.ndarray, unit: np.ndarray) -> bool:
    """L of U M U = L Lᵀ with a unit diagonal; False if M is singular."""
    n, heaviest = len(unit), 0.0
    for i in range(n):
        heaviest = max(heaviest, here[mass + i * n + i])
    for i in range(n):
        own = here[mass + i * n + i]
        if not own > limits[3] * heaviest:
            return False
        unit[i] = 1 / np.sqrt(own)
    for i in range(n):
        for j in range(i + 1):
            L[i, j] = here[mass + i * n + j] * unit[i] * unit[j]
    return cholesky_in_place(L, limits[2], np.nan)


compiled = CompiledLoop(burst)  # the same in machine code
