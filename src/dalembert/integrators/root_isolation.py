"""Isolation of all roots of functions along the interpolants of integration steps.

Along a step the state is a polynomial of s in [0, 1]. A function of the state is expanded in Chebyshev polynomials on an interval
of s. The coefficients bound the function and its slope: where |c₀| > Σ|cₖ| there is no root, where the same holds for the
slope there is at most one. Every other interval is halved. A function whose coefficients have not decayed to rounding on an
interval is evaluated again on both halves, so the sampling density follows the variation of the function. Where the function is a
polynomial of the state whose degree along the step is below the number of nodes, the expansion is exact, and no root is lost.

References: J. P. Boyd, Solving Transcendental Equations (SIAM, 2014), chapters 2 and 3; L. N. Trefethen, Approximation Theory and
Approximation Practice (SIAM, 2013), chapters 4, 8 and 18; T. R. Chandrupatla, Advances in Engineering Software 28 (1997) 145.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev

Functions = Callable[[np.ndarray, np.ndarray], np.ndarray]  # steps (I,), shares s (I, P) → values (functions, I, P)

_EPS = float(np.finfo(float).eps)
_TAIL = 4  # last coefficients, from which the truncation error is estimated
_TEST_POINTS = np.array([-0.7390851332151607, 0.1415926535897932, 0.5671432904097838])  # nodes of no grid
_FEWEST_NODES, _MOST_NODES = 9, 33
_SMALLEST_SHARE = 2.0**-60  # intervals that end before this share of a step are not halved
_NOISE_LEVELS = 3  # halvings between two comparisons with rounding noise
_CHUNK = 1024  # intervals evaluated in one call
_MAX_INTERVALS = 2**15  # per call of `separate_roots`
_MAX_REFINEMENTS = 120


@dataclass(frozen=True)
class Basis:
    """Chebyshev polynomials at P Lobatto nodes in [-1, 1], and matrices that act on coefficients."""

    shares: np.ndarray  # of an interval: the nodes, then the test points
    expansion: np.ndarray  # (P, P) values at the nodes → coefficients
    predicted: np.ndarray  # (P, test points) coefficients → values at the test points
    slope: np.ndarray  # (P, P) coefficients → coefficients of the derivative
    left: np.ndarray  # (P, P) coefficients → coefficients on the left half
    right: np.ndarray

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
    return Basis(shares, inverse.T, predicted, slope, on((x - 1) / 2), on((x + 1) / 2))


def basis_for(degree: int) -> Basis:
    """The basis in which squares of an interpolant of some degree are exact, as far as the largest grid allows."""
    return basis(int(np.clip(2 * degree + 1, _FEWEST_NODES, _MOST_NODES)))


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
        """Some of them."""
        parts = (self.row, self.step, self.low, self.high, self.c, self.error)
        return Intervals(*(part[which] for part in parts))

    @property
    def size(self) -> np.ndarray:
        """A bound of each function."""
        return np.abs(self.c).sum(axis=1)


@dataclass(frozen=True)
class Separation:
    """For each function and step, points such that no two roots lie between neighbors."""

    points: dict[tuple[int, int], np.ndarray]  # by (step, function): increasing shares
    overflow: set[int] = field(default_factory=set[int])  # functions with more roots than can be separated


def keeps_sign(c: np.ndarray, error: np.ndarray) -> np.ndarray:
    """True where a Chebyshev series (..., P) with an error bound has no root in [-1, 1]."""
    first = np.abs(c[..., 0])
    return 2 * first > np.abs(c).sum(axis=-1) + error


def expand(
    functions: Functions, steps: np.ndarray, low: np.ndarray, high: np.ndarray, b: Basis
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (functions, I, P) and errors (functions, I) of all functions on I intervals."""
    found = []
    for k in range(0, len(steps), _CHUNK):
        part = slice(k, k + _CHUNK)
        s = low[part, None] + (high - low)[part, None] * b.shares
        found.append(b.coefficients(functions(steps[part], s)))
    if len(found) == 1:
        return found[0]
    return np.concatenate([c for c, _ in found], axis=1), np.concatenate([error for _, error in found], axis=1)


def separate_roots(functions: Functions, noise: Functions, start: Intervals, b: Basis) -> Separation:
    """Halve intervals until each contains at most one root of its function, or nothing but rounding noise.

    `noise` gives the effect of rounding on all functions, with the arguments of `functions`.
    """
    ends: list[Intervals] = []
    work, level, overflow = start, 0, set[int]()
    while len(work):
        open_ = ~_finished(work, b)
        if level % _NOISE_LEVELS == _NOISE_LEVELS - 1:
            middle = 0.5 * (work.low + work.high)
            known = noise(work.step, middle[:, None])[work.row, np.arange(len(work)), 0]
            open_ &= work.size > known
        if int(open_.sum()) > _MAX_INTERVALS:
            overflow = set(work.row[open_].tolist())
            open_[:] = False
        ends.append(work.chosen(~open_))
        work, level = _halved(functions, work.chosen(open_), b), level + 1
    return Separation(_end_points(ends), overflow)


def _finished(work: Intervals, b: Basis) -> np.ndarray:
    """True where there is no root, or one at most, or nothing left to halve."""
    settled = keeps_sign(work.c, work.error) | (work.size + work.error == 0) | np.isnan(work.error)
    settled |= keeps_sign(work.c @ b.slope, (b.nodes - 1) ** 2 * work.error)
    width = work.high - work.low
    return settled | (width <= 2 * _EPS * work.high) | (work.high <= _SMALLEST_SHARE)


def _halved(functions: Functions, work: Intervals, b: Basis) -> Intervals:
    """Both halves of intervals: by their series while these are accurate enough, else evaluated again."""
    middle = 0.5 * (work.low + work.high)
    good = np.tile(work.size > 16 * (b.nodes - 1) ** 2 * work.error, 2)
    halves = Intervals(
        np.tile(work.row, 2),
        np.tile(work.step, 2),
        np.concatenate([work.low, middle]),
        np.concatenate([middle, work.high]),
        np.concatenate([work.c @ b.left, work.c @ b.right]),
        np.tile(work.error, 2),
    )
    if good.all():
        return halves
    stale = np.flatnonzero(~good)
    again = halves.chosen(stale)
    keys, inverse = np.unique(np.stack([again.step, again.low, again.high]), axis=1, return_inverse=True)
    c, error = expand(functions, keys[0].astype(np.intp), keys[1], keys[2], b)
    halves.c[stale], halves.error[stale] = c[again.row, inverse], error[again.row, inverse]
    return halves


def _end_points(ends: list[Intervals]) -> dict[tuple[int, int], np.ndarray]:
    """The ends of all intervals, by step and function."""
    step, row, low, high = (
        np.concatenate([getattr(each, name) for each in ends]) for name in ("step", "row", "low", "high")
    )
    order = np.lexsort((low, row, step))
    step, row, low, high = step[order], row[order], low[order], high[order]
    cuts = np.flatnonzero((np.diff(step) != 0) | (np.diff(row) != 0)) + 1
    groups = zip(np.split(step, cuts), np.split(row, cuts), np.split(low, cuts), np.split(high, cuts), strict=True)
    return {(int(k[0]), int(j[0])): np.append(a, b[-1]) for k, j, a, b in groups if len(k)}


def refine_roots(at: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The roots of many functions, each between two shares where its signs differ, to rounding (Chandrupatla's method).

    `at` gives the value of each function at its own share. Where an end is a root, or the signs are equal, the end with the smaller value is returned.

    >>> root = refine_roots(lambda s: np.array([0.3, 0.5]) - s**3, np.zeros(2), np.ones(2))
    >>> bool(np.abs(root**3 - [0.3, 0.5]).max() < 1e-15)
    True
    """
    a, b = high.astype(float), low.astype(float)
    fa, fb = at(a), at(b)
    c, fc, share = a.copy(), fa.copy(), np.full(len(a), 0.5)
    done = (fa == 0) | (fb == 0) | (np.sign(fa) == np.sign(fb))
    for _ in range(_MAX_REFINEMENTS):
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        tolerance = 2 * _EPS * np.abs(best) + 1e-300
        width = np.abs(b - a)
        done |= (width <= tolerance) | (fa == 0) | (fb == 0)
        if done.all():
            break
        with np.errstate(all="ignore"):
            least = np.where(done, 0.5, 0.5 * tolerance / width)
        x = np.where(done, best, a + np.clip(share, least, 1 - least) * (b - a))
        fx = at(x)
        same = np.sign(fx) == np.sign(fa)
        keep = ~done
        c, fc = np.where(keep, np.where(same, a, b), c), np.where(keep, np.where(same, fa, fb), fc)
        b, fb = np.where(keep & ~same, a, b), np.where(keep & ~same, fa, fb)
        a, fa = np.where(keep, x, a), np.where(keep, fx, fa)
        share = _next_share(a, b, c, fa, fb, fc)
    return np.where(np.abs(fa) < np.abs(fb), a, b)


def _next_share(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, fa: np.ndarray, fb: np.ndarray, fc: np.ndarray
) -> np.ndarray:
    """Where between a and b to look next: inverse quadratic interpolation where it is reliable, else the middle."""
    with np.errstate(all="ignore"):
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        quadratic = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        reliable = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(quadratic)
    return np.where(reliable, quadratic, 0.5)
