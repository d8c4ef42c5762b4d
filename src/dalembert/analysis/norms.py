"""The error norms of papers/volterra: 2-norms over the samples, relative to the initial value where there is one."""

from __future__ import annotations

import numpy as np


def relative_drift(values: np.ndarray) -> float:
    """‖(x − x₀)/x₀‖₂ over the samples; ‖x − x₀‖₂ when x₀ = 0.

    >>> relative_drift(np.array([2.0, 2.0, 3.0]))
    0.5
    """
    start = values[0]
    return float(np.linalg.norm((values - start) / (start if start != 0 else 1.0)))


def violation(values: np.ndarray) -> float:
    """‖violation‖₂ over all rows and samples."""
    return float(np.linalg.norm(values))
