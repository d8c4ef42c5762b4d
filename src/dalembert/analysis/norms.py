"""The error norms of papers/volterra: 2-norms over the samples, relative to the initial value where there is one."""

from __future__ import annotations

import numpy as np


def relative_drift(values: np.ndarray, size: float = 0.0) -> float:
    """‖(x − x₀)/x₀‖₂ over the samples.

    Where x₀ is only rounding beside `size`, the size of what x is the sum of, that size takes its place; where both are
    zero the drift is absolute.

    >>> relative_drift(np.array([2.0, 2.0, 3.0]))
    0.5
    >>> relative_drift(np.array([1e-17, 0.5]), size=10.0)
    0.05
    """
    start = abs(float(values[0]))
    scale = start if start > 1e-12 * size else size
    return float(np.linalg.norm((values - values[0]) / (scale or 1.0)))


def violation(values: np.ndarray) -> float:
    """‖violation‖₂ over all rows and samples."""
    return float(np.linalg.norm(values))
