"""The interpolants of steps: values, derivatives, range of validity, and orders above rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Polynomial:
    """Σ cₖ sᵏ with s the time since the start of a step; `coefficients` is (states, orders).

    >>> float(Polynomial(np.array([[1.0, 2.0, 3.0]])).value(2.0)[0])
    17.0
    """

    coefficients: np.ndarray

    def value(self, s: float | np.ndarray) -> np.ndarray:
        """The state at one time, or the states (states, times) at many with the same rounding."""
        out = np.zeros((len(self.coefficients), *np.shape(s)))
        columns = self.coefficients[..., None] if np.ndim(s) else self.coefficients
        for k in range(columns.shape[1] - 1, -1, -1):
            out = out * s + columns[:, k]
        return out

    def values(self, s: np.ndarray) -> np.ndarray:
        """The states at many times, (states, times)."""
        return self.coefficients @ powers(np.asarray(s), self.coefficients.shape[1])

    @property
    def rate(self) -> Polynomial:
        """The derivative."""
        orders = np.arange(1, self.coefficients.shape[1])
        return Polynomial(self.coefficients[:, 1:] * orders)

    def cut(self, order: int) -> Polynomial:
        """The polynomial up to an order."""
        return Polynomial(self.coefficients[:, : order + 1])

    def terms(self, s: float) -> np.ndarray:
        """The largest term of every order."""
        return np.abs(self.coefficients).max(axis=0) * abs(s) ** np.arange(self.coefficients.shape[1])

    def reach(self, error: float) -> float:
        """The range in which the last three orders stay below an error relative to the state."""
        sizes = np.abs(self.coefficients).max(axis=0)
        orders = np.arange(len(sizes))[-3:]
        scale = max(float(sizes[:2].max()), 1e-300)
        with np.errstate(divide="ignore"):
            return float(np.min((error * scale / sizes[-3:]) ** (1 / orders)))

    def best_order(self, s: float) -> int:
        """The order at which terms stop decreasing: higher orders are amplified rounding errors.

        Rounding errors are normal to the constraints and removed by projection, truncation errors are tangential; therefore two
        orders more are used than the smallest pair of terms suggests.
        """
        terms = self.terms(s)
        return min(int(np.argmin(terms[:-1] + terms[1:])) + 2, len(terms) - 1)


def powers(s: np.ndarray, orders: int) -> np.ndarray:
    """s⁰, s¹, ... of s (..., K), as (..., orders, K).

    >>> powers(np.array([2.0, 3.0]), 3).tolist()
    [[1.0, 1.0], [2.0, 3.0], [4.0, 9.0]]
    """
    out = np.repeat(s[..., None, :], orders, axis=-2)
    out[..., 0, :] = 1.0
    return np.multiply.accumulate(out, axis=-2)


@dataclass(frozen=True)
class Piece:
    """The motion between t0 and t1 as a polynomial in (t − t0) / unit."""

    t0: float
    t1: float
    unit: float
    polynomial: Polynomial

    def __call__(self, t: float | np.ndarray) -> np.ndarray:
        """The state at a time, or the states (states, times) at many."""
        return self.polynomial.value((t - self.t0) / self.unit)


@dataclass(frozen=True)
class Interpolant:
    """The motion between t0 and t1 from its values (states, nodes) at Chebyshev points, in barycentric form.

    >>> nodes = Interpolant.nodes(0.0, 2.0)
    >>> bool(np.allclose(Interpolant(0.0, 2.0, np.sin(nodes)[None])(0.7), np.sin(0.7), atol=1e-14))
    True
    """

    t0: float
    t1: float
    values: np.ndarray

    @staticmethod
    def nodes(t0: float, t1: float, count: int = 25) -> np.ndarray:
        """The times of the nodes, from t0 to t1."""
        return t0 + (t1 - t0) * np.sin(np.linspace(0.0, np.pi / 2, count)) ** 2

    def __call__(self, t: float) -> np.ndarray:
        """The state at a time."""
        count = self.values.shape[1]
        away = t - self.nodes(self.t0, self.t1, count)
        if (found := np.flatnonzero(away == 0)).size:
            return self.values[:, found[0]].copy()
        weights = (-1.0) ** np.arange(count) / away
        weights[[0, -1]] *= 0.5
        return self.values @ weights / weights.sum()


def hermite(t0: float, t1: float, ends: tuple[np.ndarray, np.ndarray], slopes: tuple[np.ndarray, np.ndarray]) -> Piece:
    """The cubic Hermite interpolant of both ends and both derivatives.

    >>> cubic = hermite(0.0, 2.0, (np.zeros(1), np.ones(1) * 8), (np.zeros(1), np.ones(1) * 12))  # t³
    >>> float(cubic(1.0)[0])
    1.0
    """
    h, (y0, y1), (k0, k1) = t1 - t0, ends, slopes
    rows = [y0, h * k0, 3 * (y1 - y0) - h * (2 * k0 + k1), 2 * (y0 - y1) + h * (k0 + k1)]
    return Piece(t0, t1, h, Polynomial(np.stack(rows, axis=1)))
