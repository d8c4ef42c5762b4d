"""The text of explicit steps: many of them in one go, each brought back onto the constraints, with the samples on the way.

Plain functions on arrays of floats. Numba compiles them (`explicit.compiled`), and where it cannot they run as they stand. Right-hand
sides are machine code `void one(const double *x, const double *p, const double *tables, double *out)`, known by its
address, or Python functions of the same arguments. A method is a table of numbers (`Scheme`), so this text is compiled once.
Numba keeps what it compiled until this file changes: numbers of other files come as arguments.

What is rare is left to Python: a projection that Newton's plain method does not settle at once ends the burst.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

FIXED, ODE45, HAIRER = 0, 1, 2  # how steps are chosen: all equal, as MATLAB's ode45, as Hairer, Nørsett and Wanner
FREE, HELD, ASK = 0, 1, 2  # after a step: nothing to bring back, brought back here, by Python
WENT, COLLAPSED, NOT_FINITE, LEFT = 0, 1, 2, 3  # how a burst ended
T, H = 0, 1  # places in `Now.clock`
DONE, CALLS, KNOWN, SAMPLE = 0, 1, 2, 3  # places in `Now.counts`
_FLOOR = 1e-12  # of the size of its terms: what is left of a constraint and does not shrink any more is rounding
_DEPENDENT = 1e-5  # rows closer to each other than this are left to Python


class Machine(NamedTuple):
    """A function of (x, p, tables, out): its address, or itself."""

    one: int | Callable[..., None]
    p: np.ndarray
    tables: np.ndarray


class Scheme(NamedTuple):
    """A Runge–Kutta method: K_i = f(t + c_i h, y + h Σ A_ij K_j).

    A[ends] are the weights of the solution, K[ends] is the slope at its end; stages behind it only serve the output between,
    y + h Σ K_i P_ij xʲ⁺¹. Where the slope at the end is not `carried` to the next step, K[ends] is the mean slope.
    """

    c: np.ndarray
    A: np.ndarray
    P: np.ndarray
    E: np.ndarray  # (2, stages): the weights of two error estimates, of which ode45 uses the first
    ends: int
    carried: bool = True
    bend: float = 0.0  # h² v̇ that is added to positions

    @property
    def orders(self) -> int:
        """The number of powers, the constant included."""
        return self.P.shape[1] + 1


class Control(NamedTuple):
    """How long steps are."""

    kind: int
    rtol: float
    atol: np.ndarray  # ode45: the size below which a state is measured absolutely
    largest: float
    start: float
    end: float
    count: int  # of fixed steps
    inputs: int  # how many of the states enter their rates
    positions: int
    keep: bool  # the motion within every step is asked for


class Now(NamedTuple):
    """Where a run is; written as it goes on."""

    y: np.ndarray
    K: np.ndarray  # stages; K[0] is the slope here where `KNOWN`
    clock: np.ndarray  # t, h
    counts: np.ndarray  # steps, evaluations, is the slope known, samples


class Taken(NamedTuple):
    """The steps of a burst, in the order of `Burst`; written by it."""

    t0: np.ndarray
    t1: np.ndarray
    h: np.ndarray
    y1: np.ndarray
    last: np.ndarray
    powers: np.ndarray
    calls: np.ndarray


class Surface(NamedTuple):
    """The constraints, and what brings a state (q, v) back onto them."""

    mode: int
    constraints: Machine  # (q, q̇, t) → φ, the velocity residual, A, M
    velocities: Machine  # (q, v, t) → q̇
    start: Machine  # (q, q̇, t) → v and more
    keeps: bool  # velocities keep the constraints by construction
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


def call(one: int | Callable[..., None], x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
    """Run a function; Numba has another text for it, which jumps to the address."""
    one(x, p, tables, out)  # type: ignore[operator]


def burst(
    scheme: Scheme,
    control: Control,
    rates: Machine,
    surface: Surface,
    now: Now,
    taken: Taken,
    times: np.ndarray,
    samples: np.ndarray,
    stop: float,
    most: int,
) -> tuple[int, int]:
    """Take up to `most` steps, no more once `stop` is reached; the number of good ones, and how it ended."""
    x, count = np.empty(control.inputs + 1), 0
    while count < most and now.clock[T] < stop:
        new, K, t0 = taken.y1[count], now.K, now.clock[T]
        t1, h = _chosen(scheme, control, rates, now, x, new)
        now.clock[H] = h if t1 != t1 else now.clock[H]
        taken.t0[count], taken.t1[count], taken.h[count] = t0, t1, h
        if t1 != t1:
            return count, COLLAPSED
        if not _finite(new):
            return count, NOT_FINITE
        inside = now.counts[SAMPLE] < len(times) and times[now.counts[SAMPLE]] < t1
        if control.keep or inside:
            for i in range(scheme.ends + 1, len(scheme.c)):
                _stage(scheme, rates, i, t0, h, now, x, taken.last[count])
            _powers(scheme, now.y, h, K, taken.powers[count])
        now.y[:] = new
        now.clock[T] = t1
        now.counts[DONE] += 1
        now.counts[KNOWN] = scheme.carried
        K[0] = K[scheme.ends]
        taken.last[count] = new
        taken.calls[count] = now.counts[CALLS]
        count += 1
        if surface.mode == ASK or not _brought_back(surface, now, taken, count - 1, times, samples):
            return count, LEFT
    return count, WENT


def _finite(y: np.ndarray) -> bool:
    for i in range(len(y)):
        if not np.isfinite(y[i]):
            return False
    return True


def _slope(rates: Machine, t: float, y: np.ndarray, x: np.ndarray, now: Now, out: np.ndarray) -> None:
    """ẏ at a state."""
    m = len(x) - 1
    x[:m] = y[:m]
    x[m] = t
    call(rates.one, x, rates.p, rates.tables, out)
    now.counts[CALLS] += 1


def _sum(scheme: Scheme, i: int, h: float, now: Now, out: np.ndarray) -> None:
    """y + h Σ A_ij K_j."""
    y, K = now.y, now.K
    out[:] = 0.0
    for j in range(i):
        weight = scheme.A[i, j]
        if weight != 0.0:
            for k in range(len(y)):
                out[k] += weight * K[j, k]
    for k in range(len(y)):
        out[k] = y[k] + h * out[k]


def _stage(
    scheme: Scheme, rates: Machine, i: int, t: float, h: float, now: Now, x: np.ndarray, room: np.ndarray
) -> None:
    """Stage i of a step."""
    _sum(scheme, i, h, now, room)
    _slope(rates, t + scheme.c[i] * h, room, x, now, now.K[i])


def _attempt(
    scheme: Scheme,
    control: Control,
    rates: Machine,
    t: float,
    t1: float,
    h: float,
    now: Now,
    x: np.ndarray,
    new: np.ndarray,
) -> None:
    """The stages of one step, and the state at its end."""
    n, K, y = control.positions, now.K, now.y
    if not now.counts[KNOWN]:
        _slope(rates, t, y, x, now, K[0])
        now.counts[KNOWN] = 1
    for i in range(1, scheme.ends):
        _stage(scheme, rates, i, t, h, now, x, new)
    _sum(scheme, scheme.ends, h, now, new)
    if scheme.carried:
        _slope(rates, t1, new, x, now, K[scheme.ends])
        return
    if scheme.bend != 0.0:
        for k in range(n):
            new[k] += scheme.bend * h * h * K[0, n + k]
    for k in range(len(y)):
        K[scheme.ends, k] = (new[k] - y[k]) / h


def _powers(scheme: Scheme, y: np.ndarray, h: float, K: np.ndarray, out: np.ndarray) -> None:
    """The motion within a step as powers of (t − t0) / h, (states, orders)."""
    for k in range(len(y)):
        out[k, 0] = y[k]
        for j in range(scheme.P.shape[1]):
            total = 0.0
            for i in range(scheme.P.shape[0]):
                total += scheme.P[i, j] * K[i, k]
            out[k, j + 1] = h * total


def _chosen(
    scheme: Scheme, control: Control, rates: Machine, now: Now, x: np.ndarray, new: np.ndarray
) -> tuple[float, float]:
    """The time at the end of the next step and its length; nan where steps have become too short."""
    t, end = now.clock[T], control.end
    if control.kind == ODE45:
        return _ode45(scheme, control, rates, now, x, new)
    if control.kind == HAIRER:
        return _hairer(scheme, control, rates, now, x, new)
    h, after = now.clock[H], now.counts[DONE] + 1
    t1 = end if after == control.count else control.start + after * h
    _attempt(scheme, control, rates, t, t1, h, now, x, new)
    return t1, h


def _ode45(
    scheme: Scheme, control: Control, rates: Machine, now: Now, x: np.ndarray, new: np.ndarray
) -> tuple[float, float]:
    """Relative to the largest error of all states; a step that failed once is halved, and the next is no longer."""
    t, rest, rtol = now.clock[T], control.end - now.clock[T], control.rtol
    smallest, power, failed = 16 * np.spacing(abs(t)), 0.2, False
    h = min(control.largest, max(smallest, now.clock[H]))
    if 1.1 * h >= rest:
        h = rest
    while True:
        t1 = control.end if h == rest else t + h
        _attempt(scheme, control, rates, t, t1, h, now, x, new)
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
    """Of the error estimate by the size of the states; nan where it has no value."""
    largest = 0.0
    for k in range(len(new)):
        total = 0.0
        for i in range(scheme.ends + 1):
            total += scheme.E[0, i] * now.K[i, k]
        error = abs(total) / max(max(abs(now.y[k]), abs(new[k])), control.atol[k])
        if error != error:
            return np.nan
        largest = max(largest, error)
    return largest


def _hairer(
    scheme: Scheme, control: Control, rates: Machine, now: Now, x: np.ndarray, new: np.ndarray
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
        _attempt(scheme, control, rates, t, t1, h, now, x, new)
        error = h * _error_norm(scheme, control, now, new)
        if error < 1:
            break
        shrink = 0.9 * error**power
        h *= shrink if shrink > 0.2 else 0.2  # 0.2 for what has no value, too
        failed = True
    factor = min(10.0, 0.9 * error**power) if error > 0 else 10.0
    now.clock[H] = h * (min(1.0, factor) if failed else factor)
    return t1, h


def _error_norm(scheme: Scheme, control: Control, now: Now, new: np.ndarray) -> float:
    """|e₅|² / √(n (|e₅|² + |e₃|²/100)), by the tolerances."""
    fifth, third, n = 0.0, 0.0, len(new)
    for k in range(n):
        scale = control.atol[k] + max(abs(now.y[k]), abs(new[k])) * control.rtol
        if not scale < np.inf:
            return np.nan
        first, second = 0.0, 0.0
        for i in range(scheme.ends + 1):
            first += scheme.E[0, i] * now.K[i, k]
            second += scheme.E[1, i] * now.K[i, k]
        fifth += (first / scale) ** 2
        third += (second / scale) ** 2
    if fifth == 0.0 and third == 0.0:
        return 0.0
    return fifth / np.sqrt((fifth + 0.01 * third) * n)


# onto the constraints


def _brought_back(surface: Surface, now: Now, taken: Taken, i: int, times: np.ndarray, samples: np.ndarray) -> bool:
    """The samples of step i and its end, on the constraints; False where Python has to go on with them."""
    t0, t1, counts, state = taken.t0[i], taken.t1[i], now.counts, taken.last[i]
    sample = np.empty_like(state)
    while counts[SAMPLE] < len(times) and times[counts[SAMPLE]] < t1:
        t = times[counts[SAMPLE]]
        at = (t - t0) / taken.h[i]
        powers = taken.powers[i]
        for k in range(len(sample)):
            value = 0.0
            for j in range(powers.shape[1] - 1, -1, -1):
                value = value * at + powers[k, j]
            sample[k] = value
        if not _projected(surface, t, sample):
            return False
        samples[counts[SAMPLE]] = sample
        counts[SAMPLE] += 1
    if not _projected(surface, t1, state):
        return False
    for k in range(len(state)):
        if state[k] != now.y[k]:
            counts[KNOWN] = 0
    now.y[:] = state
    while counts[SAMPLE] < len(times) and times[counts[SAMPLE]] <= t1:
        samples[counts[SAMPLE]] = state
        counts[SAMPLE] += 1
    return True


def _projected(surface: Surface, t: float, y: np.ndarray) -> bool:
    """Move y = (q, v, ...) onto the constraints, positions first; False, and y as it was, where that is not settled here."""
    if surface.mode == FREE:
        return True
    n, m = surface.n, surface.inputs
    q = y[:n].copy()
    if len(surface.rows_q) and not _settled(surface, t, q, q, False):
        return False
    if not surface.keeps:
        x, qd, v = np.empty(m + 1), np.empty(n), np.empty(surface.started)
        x[:n], x[n:m], x[m] = q, y[n:m], t
        call(surface.velocities.one, x, surface.velocities.p, surface.velocities.tables, qd)
        if len(surface.rows_v) and not _settled(surface, t, q, qd, True):
            return False
        x = np.empty(2 * n + 1)
        x[:n], x[n : 2 * n], x[2 * n] = q, qd, t
        call(surface.start.one, x, surface.start.p, surface.start.tables, v)
        y[n:m] = v[: m - n]
    y[:n] = q
    return True


def _look(surface: Surface, t: float, q: np.ndarray, x: np.ndarray, moving: bool, out: np.ndarray) -> None:
    """φ, the velocity residual, A and M at positions x and rest, or at q and velocities x."""
    n, place = surface.n, np.zeros(2 * surface.n + 1)
    if moving:
        place[:n], place[n : 2 * n] = q, x
    else:
        place[:n] = x
    place[2 * n] = t
    call(surface.constraints.one, place, surface.constraints.p, surface.constraints.tables, out)


def _settled(surface: Surface, t: float, q: np.ndarray, x: np.ndarray, moving: bool) -> bool:
    """Newton's method from x, as `structure.newton.onto` takes it where steps are good; False where they are not."""
    n, size = surface.n, surface.n_phi + surface.n_rows * (surface.n + 1) + surface.n * surface.n
    rounding, good = surface.limits[0], surface.limits[1]
    here, there, step, trial = np.empty(size), np.empty(size), np.empty(n), np.empty(n)
    _look(surface, t, q, x, moving, here)
    for _ in range(surface.rounds):
        worst, before = _left(surface, moving, here, here, x)
        if worst <= rounding:
            return True
        if not worst < np.inf or not _newton(surface, moving, here, step):
            return False
        trial[:] = x - step
        _look(surface, t, q, trial, moving, there)
        if not _left(surface, moving, there, there, trial)[0] <= rounding:
            after = _left(surface, moving, there, here, x)[1]
            if not after < (good if worst > _FLOOR else 1.0) * before:
                return worst <= _FLOOR
        x[:] = trial
        here, there = there, here
    return _left(surface, moving, here, here, x)[0] <= _FLOOR


def _left(surface: Surface, moving: bool, values: np.ndarray, slopes: np.ndarray, x: np.ndarray) -> tuple[float, float]:
    """What is left of the constraints by the size of their terms: the largest, and the norm of all."""
    rows, scale, sizes = surface.rows_q, surface.scale_q, surface.size_q
    if moving:
        rows, scale, sizes = surface.rows_v, surface.scale_v, surface.size_v
    n, first, worst, square = surface.n, surface.n_phi if moving else 0, 0.0, 0.0
    for i in range(len(rows)):
        size, place = sizes[i], surface.n_phi + surface.n_rows + rows[i] * n
        for j in range(n):
            size += abs(slopes[place + j]) * (abs(x[j]) + scale[j])
        left = abs(values[first + rows[i]])
        if not (left < np.inf and size < np.inf) or (size <= 0.0 and left > 0.0):
            return np.inf, np.inf
        share = left / size if left > 0.0 else 0.0
        worst = max(worst, share)
        square += share * share
    return worst, np.sqrt(square)


def _newton(surface: Surface, moving: bool, here: np.ndarray, step: np.ndarray) -> bool:
    """The smallest step in the metric of M that removes what is left to first order; False where rows depend on each other.

    M = U⁻¹ L Lᵀ U⁻¹ with a diagonal U. Rows are L⁻¹ U a, made orthonormal one by one.
    """
    rows = surface.rows_v if moving else surface.rows_q
    n, r, first = surface.n, len(rows), surface.n_phi if moving else 0
    slopes = surface.n_phi + surface.n_rows
    L, unit = np.empty((n, n)), np.empty(n)
    if not _factored(here[slopes + surface.n_rows * n :], surface.limits, L, unit):
        return False
    Q, w, row = np.empty((r, n)), np.zeros(r), np.empty(n)
    for i in range(r):
        for j in range(n):  # L z = U a
            total = unit[j] * here[slopes + rows[i] * n + j]
            for k in range(j):
                total -= L[j, k] * row[k]
            row[j] = total / L[j, j]
        size = np.sqrt(_inner(row, row))
        if not (0.0 < size < np.inf):
            return False
        row /= size
        w[i] = here[first + rows[i]] / size
        for _ in range(2):  # twice is enough
            for j in range(i):
                along = _inner(Q[j], row)
                w[i] -= along * w[j]
                for k in range(n):
                    row[k] -= along * Q[j, k]
        rest = np.sqrt(_inner(row, row))
        if not rest > _DEPENDENT:
            return False
        w[i] /= rest
        Q[i] = row / rest
    for j in range(n - 1, -1, -1):  # U L⁻ᵀ Σ w Q
        total = 0.0
        for i in range(r):
            total += w[i] * Q[i, j]
        for k in range(j + 1, n):
            total -= L[k, j] * row[k]
        row[j] = total / L[j, j]
    step[:] = unit * row
    return True


def _inner(a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def _factored(M: np.ndarray, limits: np.ndarray, L: np.ndarray, unit: np.ndarray) -> bool:
    """L of U M U = L Lᵀ with a unit diagonal; False where M is singular."""
    n, heaviest = len(unit), 0.0
    for i in range(n):
        heaviest = max(heaviest, M[i * n + i])
    for i in range(n):
        mass = M[i * n + i]
        if not mass > limits[3] * heaviest:
            return False
        unit[i] = 1 / np.sqrt(mass)
    for i in range(n):
        for j in range(i + 1):
            total = M[i * n + j] * unit[i] * unit[j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if j < i:
                L[i, j] = total / L[j, j]
            elif total > limits[2]:
                L[i, i] = np.sqrt(total)
            else:
                return False
    return True
