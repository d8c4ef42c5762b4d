"""Evaluation at given states where trial vectors fail: by equations with others, as a run would continue with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
import numpy.typing as npt

from dalembert.simulation.partition import Partition

if TYPE_CHECKING:
    from dalembert.api.equations import Equations

Evaluate = TypeVar("Evaluate", bound=Callable[..., np.ndarray])


def with_regular_trials(evaluate: Evaluate) -> Evaluate:
    """A function of (q, q̇, t) whose values at states where trial vectors fail come from equations with other ones."""

    @wraps(evaluate)
    def evaluated(
        equations: Equations, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0, **options: object
    ) -> np.ndarray:
        out = evaluate(equations, q, qd, t, **options)
        solver = equations.form.solver
        if solver is None or solver.trials is None:
            return out
        columns, n = out.reshape(len(out), -1), len(equations.model.coordinate_names)
        states = [np.asarray(x, dtype=float).reshape(n, -1) for x in (q, qd)]
        times = np.broadcast_to(np.asarray(t, dtype=float), np.shape(q)[1:]).ravel()
        for k, other in _others(equations, states[0], states[1], times):
            columns[:, k] = evaluate(other, states[0][:, k], states[1][:, k], float(times[k]), **options)
        return columns.reshape(out.shape)

    return cast(Evaluate, evaluated)


def _others(equations: Equations, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> Iterator[tuple[int, Equations]]:
    """The states at which the trial vectors fail, each with equations whose trial vectors do not."""
    run = Partition(equations)
    for k in run.failing(t, q, qd):
        run.equations = equations
        run.begin(float(t[k]), q[:, k], qd[:, k])
        yield int(k), run.equations
