"""Isolation of all roots of functions along the interpolants of integration steps.

Along a step the state is a polynomial of s in [0, 1]. A function of the state is expanded in Chebyshev polynomials on an interval
of s. The coefficients bound the function and its derivative: if |c₀| > Σ|cₖ| there is no root, if the same holds for the
derivative there is at most one. Every other interval is divided. A function whose coefficients have not decayed to rounding on an
interval is evaluated again on its parts, so the sampling density follows the variation of the function. If the function is a
polynomial of the state whose degree along the step is below the number of nodes, the expansion is exact, and no root is missed.

References: J. P. Boyd, Solving Transcendental Equations (SIAM, 2014), chapters 2 and 3; L. N. Trefethen, Approximation Theory and
Approximation Practice (SIAM, 2013), chapters 4, 8 and 18.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev

Functions = Callable[[np.ndarray, np.ndarray], np.ndarray]  # steps (I,), shares s (I, P) → values (functions, I, P)

_EPS = float(np.finfo(float).eps)
_TAIL = 4  # last coefficients, which estimate the truncation error
_TEST_POINTS = np.array([-0.7390851332151607, 0.1415926535897932, 0.5671432904097838])  # nodes of no grid
_MIN_NODES, _MAX_NODES = 9, 33
_SMALLEST_SHARE = 2.0**-60  # intervals that end before this share of a step are not divided
_PARTS = 4  # into which an interval is divided
_ROUNDING = 64  # times the noise: smaller errors of a series are rounding
_NOISE_LEVELS = 2  # divisions between two comparisons with rounding noise
_CHUNK = 1024  # intervals evaluated in one call
_MAX_REFINEMENTS = 60
_FIRST_POINTS = (1 - np.cos(np.pi * np.arange(9) / 8)) / 2  # first evaluation points of a bracket
_EVEN_POINTS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
_OFFSETS = np.array([-1e-2, -1e-4, -1e-7, -1e-11, 0.0, 1e-11, 1e-7, 1e-4, 1e-2])  # of the width, around an estimate
_STENCIL = np.arange(-2, 4)  # points of the inverse interpolation, from the one before a sign change


@dataclass(frozen=True)
class Basis:
    """Chebyshev polynomials at P Lobatto nodes in [-1, 1], and matrices that act on coefficients."""

    shares: np.ndarray  # of an interval: the nodes, then the test points
    expansion: np.ndarray  # (P, P) values at the nodes → coefficients
    predicted: np.ndarray  # (P, test points) coefficients → values at the test points
    slope: np.ndarray  # (P, P) coefficients → coefficients of the derivative
    parts: np.ndarray  # (P, 4 P) coefficients → coefficients on each quarter

    @property
    def nodes(self) -> int:
        """P."""
        return len(self.expansion)

    def coefficients(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (..., P) and error bounds (...) of values (..., P + test points).

        The error is infinite where some values are not finite, and NaN where none is.
        """
        finite, P = np.isfinite(values), self.nodes
        known = values if finite.all() else np.where(finite, values, 0.0)
        c = known[..., :P] @ self.expansion
        off = np.abs(c @ self.predicted - known[..., P:]).max(axis=-1)
        tail = np.abs(c[..., -_TAIL:]).max(axis=-1)
        error = P * tail + 8 * off + 4 * _EPS * np.abs(known).max(axis=-1)
        if known is not values:
            error = np.where(finite.all(axis=-1), error, np.where(finite.any(axis=-1), np.inf, np.nan))
        return c, error


@cache
def basis(nodes: int) -> Basis:
    """The basis with a number of nodes.

    >>> b = basis(9)
    >>> c, error = b.coefficients((2 * b.shares - 1) ** 2)  # x² = (T₀ + T₂)/2
    >>> [round(x, 12) + 0.0 for x in c[:4].tolist()], bool(error < 1e-13)
    ([0.5, 0.0, 0.5, 0.0], True)
    """
    N = nodes - 1
    x = -np.cos(np.pi * np.arange(nodes) / N)
    inverse = np.linalg.inv(chebyshev.chebvander(x, N))

    def on(points: np.ndarray) -> np.ndarray:
        return (inverse @ chebyshev.chebvander(points, N)).T

    slope = np.zeros((nodes, nodes))
    for k in range(1, nodes):
        column = chebyshev.chebder(np.eye(nodes)[k])
        slope[k, : len(column)] = column
    shares = (1 + np.concatenate([x, _TEST_POINTS])) / 2
    predicted = chebyshev.chebvander(_TEST_POINTS, N).T
    parts = np.concatenate([on((x - 3 + 2 * k) / _PARTS) for k in range(_PARTS)], axis=1)
    return Basis(shares, inverse.T, predicted, slope, parts)


def basis_for(degree: int) -> Basis:
    """The basis in which squares of an interpolant of some degree are exact, as far as the largest grid allows."""
    return basis(int(np.clip(2 * degree + 1, _MIN_NODES, _MAX_NODES)))


@dataclass(frozen=True)
class Intervals:
    """Functions on intervals of steps: Chebyshev coefficients and their errors."""

    row: np.ndarray  # (R,) the function
    step: np.ndarray  # (R,)
    low: np.ndarray  # (R,) shares of the step
    high: np.ndarray
    c: np.ndarray  # (R, P)
    error: np.ndarray  # (R,)

    def __len__(self) -> int:
        return len(self.row)

    def chosen(self, which: np.ndarray) -> Intervals:
        """The selected intervals."""
        parts = (self.row, self.step, self.low, self.high, self.c, self.error)
        return Intervals(*(part[which] for part in parts))

    @property
    def size(self) -> np.ndarray:
        """A bound of each function."""
        return np.abs(self.c).sum(axis=1)


@dataclass(frozen=True)
class Separation:
    """Intervals with at most one root of their function each, in the order of steps, functions and shares."""

    intervals: Intervals
    first: np.ndarray  # the first interval of each pair of step and function, and the number of intervals
    edge: tuple[float, float]  # the step and the share up to which roots of all functions are separated
    later: Intervals | None  # if there are very many roots: later intervals that are still to be divided


def keeps_sign(c: np.ndarray, error: np.ndarray) -> np.ndarray:
    """True where a Chebyshev series (..., P) with an error bound has no root in [-1, 1]."""
    first = np.abs(c[..., 0])
    return 2 * first > np.abs(c).sum(axis=-1) + error


def expand(
    functions: Functions, steps: np.ndarray, low: np.ndarray, high: np.ndarray, b: Basis
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (functions, I, P) and errors (functions, I) of all functions on I intervals."""
    if len(steps) <= _CHUNK:
        return b.coefficients(functions(steps, low[:, None] + (high - low)[:, None] * b.shares))
    parts = [slice(k, k + _CHUNK) for k in range(0, len(steps), _CHUNK)]
    found = [expand(functions, steps[part], low[part], high[part], b) for part in parts]
    return np.concatenate([c for c, _ in found], axis=1), np.concatenate([error for _, error in found], axis=1)


def separate_roots(
    functions: Functions, noise: Functions, start: Intervals, b: Basis, max_intervals: int = 1024
) -> Separation:
    """Divide intervals until each contains at most one root of its function, or only rounding noise.

    If more than `max_intervals` are to be divided, only the first half is; `Separation.later` contains the others.
    `noise` returns the effect of rounding on all functions, with the arguments of `functions`.
    """
    ends: list[Intervals] = []
    later: list[Intervals] = []
    work, level = start, 0
    while len(work):
        open_ = ~_finished(work, b)
        rough = np.flatnonzero(open_ & _rough(work, b)) if level % _NOISE_LEVELS == 0 else ()
        if len(rough):
            middle = 0.5 * (work.low + work.high)[rough]
            known = noise(work.step[rough], middle[:, None])[work.row[rough], np.arange(len(rough)), 0]
            rounding = (work.error[rough] <= _ROUNDING * known) & (work.size[rough] <= 16 * work.error[rough])
            open_[rough] = (work.size[rough] > known) & ~rounding
        ends.append(work.chosen(~open_))
        work, level = work.chosen(open_), level + 1
        if len(work) > max_intervals:
            order = np.lexsort((work.low, work.step))
            later.append(work.chosen(order[max_intervals // 2 :]))
            work = work.chosen(order[: max_intervals // 2])
        work = _divided(functions, work, b)
    return _separation(joined(ends), later)


def _separation(found: Intervals, later: list[Intervals]) -> Separation:
    """Finished intervals in order; those after the first unfinished one are postponed."""
    edge = (np.inf, 0.0)
    if later:
        rest = joined(later)
        edge = min(zip(rest.step.tolist(), rest.low.tolist(), strict=True))
        waits = (found.step > edge[0]) | ((found.step == edge[0]) & (found.low >= edge[1]))
        later = [rest, found.chosen(waits)]
        found = found.chosen(~waits)
    found = found.chosen(np.lexsort((found.low, found.row, found.step)))
    new = (np.diff(found.step, prepend=-1) != 0) | (np.diff(found.row, prepend=-1) != 0)
    return Separation(found, np.append(np.flatnonzero(new), len(found)), edge, joined(later) if later else None)


def joined(parts: list[Intervals]) -> Intervals:
    """The concatenated intervals."""
    if len(parts) == 1:
        return parts[0]
    fields = zip(*((x.row, x.step, x.low, x.high, x.c, x.error) for x in parts), strict=True)
    return Intervals(*map(np.concatenate, fields))


def _finished(work: Intervals, b: Basis) -> np.ndarray:
    """True where there is at most one root, or the interval is too short to divide."""
    settled = keeps_sign(work.c, work.error) | (work.size + work.error == 0) | np.isnan(work.error)
    settled |= keeps_sign(work.c @ b.slope, (b.nodes - 1) ** 2 * work.error)
    width = work.high - work.low
    return settled | (width <= 2 * _EPS * work.high) | (work.high <= _SMALLEST_SHARE)


def _rough(work: Intervals, b: Basis) -> np.ndarray:
    """True where a series is not accurate enough for the slope of its function on a part of the interval."""
    return ~(work.size > 16 * (b.nodes - 1) ** 2 * work.error)


def _divided(functions: Functions, work: Intervals, b: Basis) -> Intervals:
    """The parts of intervals: from their series if these are accurate enough, otherwise evaluated again."""
    if not len(work):
        return work
    cuts = work.low[:, None] + (work.high - work.low)[:, None] * np.arange(_PARTS + 1) / _PARTS
    cuts[:, -1] = work.high
    stale = np.repeat(_rough(work, b), _PARTS)
    parts = Intervals(
        np.repeat(work.row, _PARTS),
        np.repeat(work.step, _PARTS),
        cuts[:, :-1].ravel(),
        cuts[:, 1:].ravel(),
        (work.c @ b.parts).reshape(-1, b.nodes),
        np.repeat(work.error, _PARTS),
    )
    if stale.any():
        _expand_again(functions, parts, np.flatnonzero(stale), b)
    return parts


def _expand_again(functions: Functions, parts: Intervals, stale: np.ndarray, b: Basis) -> None:
    """Evaluate functions on some intervals, each interval once, and write their coefficients."""
    again = parts.chosen(stale)
    keys, inverse = np.unique(np.stack([again.step, again.low, again.high]), axis=1, return_inverse=True)
    c, error = expand(functions, keys[0].astype(np.intp), keys[1], keys[2], b)
    parts.c[stale], parts.error[stale] = c[again.row, inverse], error[again.row, inverse]


def estimate_root(c: np.ndarray, error: float) -> tuple[float, float]:
    """The root of a monotonic Chebyshev series in [-1, 1], and its error bound; Newton's method within a bracket.

    >>> x, off = estimate_root(np.array([0.25, 1.0, 0.125]), 1e-15)  # x²/4 + x + 1/8
    >>> abs(x - (3.5**0.5 - 2)) < 1e-15, off < 1e-14
    (True, True)
    """
    orders = int(np.flatnonzero(np.abs(c) * len(c) > error)[-1:].sum()) + 1
    series, low, high = c[:orders].tolist(), -1.0, 1.0
    rises = sum(series) > 0
    x, off = 0.0, np.inf
    for _ in range(_MAX_REFINEMENTS):
        value, slope = _clenshaw(series, x)
        low, high = (low, x) if (value > 0) == rises else (x, high)
        off = (4 * error / abs(slope) if slope else np.inf) + 4 * _EPS
        new = x - value / slope if slope else 2.0
        new = new if low < new < high else 0.5 * (low + high)
        if abs(new - x) <= 0.25 * off:
            break
        x = new
    return x, off


def _clenshaw(c: list[float], x: float) -> tuple[float, float]:
    """The value and the slope of a Chebyshev series."""
    b1 = b2 = d1 = d2 = 0.0
    for k in range(len(c) - 1, 0, -1):
        b1, b2 = c[k] + 2 * x * b1 - b2, b1
        d1, d2 = 2 * b2 + 2 * x * d1 - d2, d1
    return c[0] + x * b1 - b2, b1 + x * d1 - d2


def refine_roots(at: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The roots of R functions, each between two shares (R,) where its signs differ, to rounding.

    `at` returns the values of each function at its P shares, (R, P) → (R, P). In each iteration all functions are evaluated at
    several points: around an estimate by inverse interpolation, and evenly between the ends, so that a bracket
    shrinks by a factor of at least four.

    >>> root = refine_roots(lambda s: np.array([[0.3], [0.5]]) - s**3, np.zeros(2), np.ones(2))
    >>> bool(np.abs(root**3 - [0.3, 0.5]).max() < 1e-15)
    True
    """
    s, each = low[:, None] + (high - low)[:, None] * _FIRST_POINTS, np.arange(len(low))
    s[:, -1] = high
    g, guess = at(s), low
    for _ in range(_MAX_REFINEMENTS):
        first = np.argmax((g[:, :-1] < 0) != (g[:, 1:] < 0), axis=1)
        a, b = s[each, first], s[each, first + 1]
        with np.errstate(all="ignore"):
            secant = a + (b - a) * g[each, first] / (g[each, first] - g[each, first + 1])
        guess = _inverse_interpolation(s, g, first)
        guess = np.where((a <= guess) & (guess <= b), guess, np.where(np.isfinite(secant), secant, 0.5 * (a + b)))
        zero = (g == 0).any(axis=1)
        guess = np.where(zero, s[each, np.argmax(g == 0, axis=1)], guess)
        if (zero | (b - a <= 4 * _EPS * b)).all():
            break
        around = np.clip(guess[:, None] + (b - a)[:, None] * _OFFSETS, a[:, None], b[:, None])
        even = a[:, None] + (b - a)[:, None] * _EVEN_POINTS
        even[:, -1] = b
        s = np.sort(np.concatenate([around, even], axis=1), axis=1)
        g = at(s)
    return guess


def _inverse_interpolation(s: np.ndarray, g: np.ndarray, first: np.ndarray) -> np.ndarray:
    """s at g = 0 by the polynomial of s over g through the points next to a sign change; NaN where some g are equal."""
    near = np.clip(first[:, None] + _STENCIL, 0, s.shape[1] - 1)
    x, y = np.take_along_axis(s, near, axis=1), np.take_along_axis(g, near, axis=1)
    new = np.diff(near, axis=1, prepend=-1) > 0  # at the ends points are repeated
    alone = (near[:, :, None] == near[:, None, :]) | ~new[:, None, :]
    with np.errstate(all="ignore"):
        ratios = np.where(alone, 1.0, -y[:, None, :] / (y[:, :, None] - y[:, None, :]))
        return np.where(new, x * ratios.prod(axis=2), 0.0).sum(axis=1)
