"""Eigenvalues and modes of ẋ = A x: frequencies, damping and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_SYMMETRIC = 1e-10  # relative to the largest entry
_REAL = 1e-9  # relative to an eigenvalue: a smaller imaginary part is zero
_ZERO = 1e-14  # relative to the largest eigenvalue: smaller ones are zero
_FINITE = 1e-9  # relative size of both sides of A x = s E x: below it s is infinite
_ZERO_STIFFNESS = 1e-13  # relative to the largest squared frequency: below it the stiffness is zero


@dataclass(frozen=True)
class VibrationMode:
    """A mode of a linear system: δq(t) = Re(shape · exp(eigenvalue · t)).

    `shape` has an entry for every coordinate; the largest, in scales of the model, is real and positive.

    >>> mode = VibrationMode(-0.1 + 2j, np.array([1.0 + 0j]), np.array([-0.1 + 2j]))
    >>> round(mode.frequency, 6), round(mode.damping_ratio, 6), round(mode.hertz, 6)
    (2.002498, 0.049938, 0.318708)
    """

    eigenvalue: complex
    shape: npt.NDArray[np.inexact]
    rates: npt.NDArray[np.inexact]  # δq̇, nonzero for a uniform drift whose shape is zero

    @property
    def frequency(self) -> float:
        """|λ| in rad/s: the undamped natural frequency."""
        return abs(self.eigenvalue)

    @property
    def hertz(self) -> float:
        """|λ|/2π: the undamped natural frequency in Hz."""
        return self.frequency / (2 * np.pi)

    @property
    def damped_frequency(self) -> float:
        """|Im λ| in rad/s: the damped natural frequency."""
        return abs(self.eigenvalue.imag)

    @property
    def damping_ratio(self) -> float:
        """−Re λ/|λ|: 1 without oscillation, negative if the mode grows, 0 for a zero eigenvalue."""
        return 0.0 - self.eigenvalue.real / self.frequency if self.frequency else 0.0

    @property
    def oscillates(self) -> bool:
        """True if the eigenvalue is one of a complex pair."""
        return self.eigenvalue.imag != 0


Second: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # M, K and V of M η̈ + K η = 0 with x = (V η, η̇)


def spectrum_of(A: np.ndarray, second: Second | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors (columns) of A.

    `second` describes an undamped system: then the frequencies come from the symmetric eigenvalue problem, which is accurate
    for repeated and zero frequencies.
    """
    if second is not None:
        return _undamped(*second)
    values, vectors = np.linalg.eig(A)
    size = np.abs(values).max(initial=0.0)
    values = np.where(np.abs(values) < _ZERO * size, 0.0, values)
    return np.where(np.abs(np.imag(values)) < _REAL * np.abs(values), np.real(values), values), vectors


def _undamped(M: np.ndarray, K: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy import linalg

    squares, shapes = linalg.eigh(K, M)
    squares = np.where(np.abs(squares) < _ZERO_STIFFNESS * np.abs(squares).max(initial=0.0), 0.0, squares)
    roots = np.sqrt(-squares.astype(complex))
    values = np.concatenate([roots, -roots])
    both = np.concatenate([shapes, shapes], axis=1).astype(complex)
    return values, np.concatenate([V @ both, both * values])


def second_order(A: np.ndarray, M: np.ndarray, coordinates: int) -> Second | None:
    """M, K and V of M η̈ + K η = 0 if ẋ = A x is an undamped system with symmetric stiffness; otherwise None."""
    c, d = coordinates, len(M)
    V, K = A[:c, c:], -M @ A[c:, :c]
    if c != d or np.abs(A[:c, :c]).max(initial=0.0) or not d:
        return None
    K, D = K @ V, M @ A[c:, c:]
    size = np.abs(K).max(initial=0.0)
    if (
        np.abs(D).max(initial=0.0) > _SYMMETRIC * np.sqrt(size * np.abs(M).max())
        or np.abs(K - K.T).max() > _SYMMETRIC * size
    ):
        return None
    return M, (K + K.T) / 2, V


def modes_of(
    values: np.ndarray, vectors: np.ndarray, shapes: np.ndarray, unit: np.ndarray
) -> tuple[VibrationMode, ...]:
    """The modes, slowest first, one for each pair; `shapes` maps states to (δq, δq̇), `unit` are the coordinate scales."""
    out: list[VibrationMode] = []
    for value, vector in zip(values, vectors.T, strict=True):
        q, qd = np.split(shapes @ vector, 2)
        if np.abs(q / unit).max(initial=0.0) < _ZERO * np.abs(qd / unit).max(initial=0.0):
            q = np.zeros_like(q)
        relative = q / unit if q.any() else qd / unit
        largest = relative[int(np.argmax(np.round(np.abs(relative), 12)))] if len(relative) else 1.0
        size = largest or 1.0
        mode = VibrationMode(complex(value), q / size, qd / size)
        if value.imag > 0 or (not value.imag and not (value == 0 and any(_same(mode, other) for other in out))):
            out.append(mode)
    return tuple(sorted(out, key=lambda mode: (round(mode.frequency, 9), -mode.eigenvalue.real)))


def _same(mode: VibrationMode, other: VibrationMode) -> bool:
    """True if two modes of a double zero eigenvalue are equal."""
    return other.eigenvalue == 0 and bool(np.allclose(mode.shape, other.shape) and np.allclose(mode.rates, other.rates))


def finite_eigenvalues(A: np.ndarray, E: np.ndarray) -> npt.NDArray[np.complex128]:
    """The finite s of A x = s E x.

    >>> finite_eigenvalues(np.diag([2.0, 1.0]), np.diag([1.0, 0.0])).tolist()
    [(2+0j)]
    """
    from scipy import linalg

    pairs: Any = linalg.eig(A, E, right=False, homogeneous_eigvals=True)
    a, b = np.asarray(pairs)
    large, small = (max(float(np.abs(each).max(initial=0.0)), 1e-300) for each in (A, E))
    finite = np.abs(b) / small > _FINITE * (np.abs(a) / large + np.abs(b) / small)
    return a[finite] / b[finite]


def matched(before: Sequence[complex], after: Sequence[complex]) -> np.ndarray:
    """The eigenvalues `after`, in the order of `before`: the assignment with the smallest total distance.

    >>> matched([1j, -1j], [-1.1j, 1.1j]).tolist()
    [1.1j, (-0-1.1j)]
    """
    from scipy.optimize import linear_sum_assignment

    first, then = np.asarray(before), np.asarray(after)
    return then[linear_sum_assignment(np.abs(first[:, None] - then))[1]]
