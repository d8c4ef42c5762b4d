"""Impacts of rigid contacts: impulses in no time, from the rates of gaps and slips just before.

    newton       all at once: every gap opens at least e times as fast as it closed
    poisson      all at once, in two phases: compression until no gap closes, then expansion, in which every contact gives back
                 at least e times the impulse it took
    successive   one contact after the other by Newton's law, the fastest first, until no gap closes: chains of touching balls

Friction obeys Coulomb's law between the impulses, in each phase. F. Pfeiffer and Ch. Glocker, Multibody Dynamics with Unilateral
Contacts, Wiley 1996, chapter 8.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.errors import SimulationError
from dalembert.simulation.complementarity import Contacts, decided

_MOST = 100_000  # single impacts in succession


def newton(asked: Contacts, restitution: np.ndarray) -> np.ndarray:
    """The impulses; `asked.free` are the rates just before.

    >>> wall = Contacts(np.array([-2.0, 0.0]), np.diag([0.5, 0.0]), np.zeros(1), np.zeros(1), 1.0, np.zeros(1))
    >>> newton(wall, np.array([0.5])).tolist()  # 2 kg thrown back with 1 m/s
    [6.0, 0.0]
    """
    free = asked.free.copy()
    free[: asked.m] *= 1 + np.where(free[: asked.m] < 0, restitution, 0.0)
    return decided(replace(asked, free=free)).forces


def poisson(asked: Contacts, restitution: np.ndarray) -> np.ndarray:
    """The impulses of both phases."""
    taken = decided(asked).forces
    least = restitution * taken[: asked.m]
    if not least.any():
        return taken
    return taken + decided(replace(asked, free=asked.free + asked.response @ taken, least=least)).forces


def successive(asked: Contacts, restitution: np.ndarray, slow: np.ndarray, enough: float) -> np.ndarray:
    """The impulses of single impacts one after the other; those slower than `slow` do not bounce, below `enough` none is left."""
    m, rates, total = asked.m, asked.free.copy(), np.zeros(2 * asked.m)
    for _ in range(_MOST):
        i = int(np.argmin(rates[:m]))
        if rates[i] >= -enough:
            return total
        own = [i, m + i]
        alone = replace(
            asked,
            free=rates[own],
            response=asked.response[np.ix_(own, own)],
            friction=asked.friction[[i]],
            slip=asked.slip[[i]],
            least=asked.least[[i]],
            names=asked.names[i : i + 1],
        )
        e = restitution[[i]] if -rates[i] > slow[i] else np.zeros(1)
        impulse = newton(alone, e)
        total[own] += impulse
        rates = rates + asked.response[:, own] @ impulse
    raise SimulationError(
        f"{asked.where} {_MOST} successive impacts do not end: {', '.join(asked.names)}. Take impact = 'newton' or 'poisson'."
    )
