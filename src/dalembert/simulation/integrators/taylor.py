"""heyoka's Taylor method: adaptive in order and step size, with machine precision by default."""

from __future__ import annotations

import numpy as np

from dalembert.errors import EngineError
from dalembert.simulation.integrators.base import Capabilities, InitialValueProblem, Settings, Step, Stepper, collapse
from dalembert.simulation.integrators.interpolant import Piece, Polynomial

_MAX_LOG2 = 8  # magnitudes from 2⁻⁸ to 2⁸ are not scaled: they cost at most two digits of sixteen


class Taylor(Stepper):
    """heyoka's adaptive integrator, one step at a time."""

    name = "taylor"
    capabilities = Capabilities(continuous_laws=False)
    evaluations = None

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        self._sizes = unusual_sizes(problem.errors(1.0))
        machine = problem.system.taylor(settings.rtol, self._sizes)
        if machine is None:
            raise EngineError(
                "the integrator 'taylor' needs heyoka (Linux) and symbolically solved equations, but these are solved "
                "numerically. Use integrator='dop853', or derive with engine='native' and heyoka installed."
            )
        self._problem = problem
        self._largest = settings.max_step or np.inf
        self._machine = machine
        self._machine.time = problem.t0
        self._state, self._tc = self._machine.state, self._machine.tc  # views of heyoka's memory
        self._state[:] = problem.y0 / self._sizes
        self._last = 0.0

    def restart(self, y: np.ndarray) -> None:
        """Continue from a projected state."""
        self._state[:] = y / self._sizes

    def renew(self, y: np.ndarray) -> None:
        """Continue with other parameters of the integrator."""
        assert self._problem.system.constants is not None
        self._machine.pars[:] = self._problem.system.constants[: len(self._machine.pars)]
        self.restart(y)

    def resize_step(self, step: Step, s: float, y: np.ndarray | None = None, order: int | None = None) -> Step:
        """The same step with another length s, and optionally another end y or fewer orders; the next step begins there."""
        assert step.coefficients is not None
        full = Polynomial(step.coefficients)
        used = full if order is None else full.cut(order)
        t1, end = step.t0 + s, used.value(s) if y is None else y
        self._machine.time = t1
        self._state[:] = end / self._sizes
        return Step(step.t0, t1, end, lambda: Piece(step.t0, t1, 1.0, used), step.coefficients)

    def advance(self, limit: float) -> Step:
        """One step, with its Taylor coefficients as dense output."""
        machine, sizes, state = self._machine, self._sizes, self._state
        t0 = machine.time
        before = state.copy()
        longest = min(limit - t0, self._largest)
        _, h = machine.step(max_delta_t=longest, write_tc=True)
        if h > 2 * self._last:  # a sudden long step may be unbounded
            safe = _safe_step(self._tc, before)
            if h > 1.5 * safe:
                machine.time = t0
                state[:] = before
                _, h = machine.step(max_delta_t=min(longest, safe), write_tc=True)
        self._last = h
        t1 = machine.time
        if limit - t1 <= 4 * np.spacing(abs(limit)):
            t1 = limit
        after = state * sizes
        if not np.isfinite(after).all():
            return Step(t0, t1, after, lambda: Piece(t0, t1, 1.0, Polynomial((before * sizes)[:, None])))
        if t1 - t0 <= 0 or (abs(h) < 16 * np.spacing(abs(t0)) and t1 != limit):
            raise collapse(self._problem, t0, float(h), before * sizes)
        coefficients = self._tc * sizes[:, None]
        return Step(t0, t1, after, lambda: Piece(t0, t1, 1.0, Polynomial(coefficients)), coefficients)


def unusual_sizes(sizes: np.ndarray) -> np.ndarray:
    """The magnitudes that are far from 1; the others are replaced by 1.

    heyoka measures all errors relative to the largest state, or to 1 if all are smaller. For micrometers and radians this loses
    digits, so such states are divided by their magnitude; a power of two, so that nothing is rounded.
    """
    return np.where(np.abs(np.log2(sizes)) > _MAX_LOG2, sizes, 1.0)


def _safe_step(coefficients: np.ndarray, state: np.ndarray) -> float:
    """The step that the last eight orders permit.

    heyoka uses only the last two orders, and both can vanish in a symmetric state, such as a horizontal pendulum at
    rest; then its step is unbounded.
    """
    order = coefficients.shape[1] - 1
    orders = np.arange(max(1, order - 7), order + 1)
    sizes = np.abs(coefficients[:, orders]).max(axis=0)
    if not np.isfinite(sizes).all() or not sizes.any():
        return np.inf
    scale = max(1.0, float(np.abs(state).max()))
    with np.errstate(divide="ignore"):
        radius = np.min((scale / sizes) ** (1 / orders))
    return float(radius * np.exp(-2 - 0.7 / (order - 1)))
