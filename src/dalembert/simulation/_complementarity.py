"""Complementarity problem of rigid contacts: which of them press, stick, slide or open, solved together.

The rates of gaps and slips, a = a₀ + G (N, T), are affine in the normal forces N and the friction T of m contacts. A solution has

    N ≥ N₀,   a_N ≥ 0,   (N − N₀) a_N = 0,        |T| ≤ μ N,   T = −μ N sign(slip) where it slides.

Where the slip is zero, sign(slip) is that of a_T, or it sticks: a_T = 0. The same problem is solved for accelerations, for
impulses by Newton's law (a₀ with 1 + e times the approach), and for both phases of an impact by Poisson's law. Few contacts are
closed at a time, so all modes are enumerated: this finds every solution, and detects none or several (Painlevé's paradox).
F. Pfeiffer and Ch. Glocker, Multibody Dynamics with Unilateral Contacts, Wiley 1996, chapters 6 to 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from dalembert.errors import SimulationError

_TOLERANCE = 1e-12  # relative to the compared values


_SINGULAR = 1e-9  # smallest singular value of the rows, in the metric of the response


_SAME = 1e-5  # of the forces, in the metric of the response: closer solutions are the same


MAX_MODES = 20_000  # maximum number of enumerated mode combinations


_MAX_IMPACTS = 100_000  # maximum number of successive single impacts


class ContactMode(NamedTuple):
    """The mode of one contact."""

    closed: bool
    slide: float = 0.0  # the sign of its slip if it slides
    sticks: bool = False
    follows: bool = False  # its slip is zero, or its gap closed, as a consequence of other contacts


OPEN, SMOOTH, STICK = ContactMode(False), ContactMode(True), ContactMode(True, sticks=True)


def sliding(side: float) -> ContactMode:
    """The mode of a contact that slides in one direction."""
    return ContactMode(True, side)


@dataclass(frozen=True)
class Contacts:
    """Contacts at one instant, m of them: rows of a₀ and G are the m gaps, then the m slips."""

    free: np.ndarray  # a₀
    response: np.ndarray  # G
    friction: np.ndarray  # μ; zero without friction
    slip: np.ndarray  # the sign of the slip, 0 at rest
    unit: float  # the characteristic magnitude of a₀
    min_forces: np.ndarray  # N₀
    names: tuple[str, ...] = ()
    where: str = ""  # the instant, for messages
    rate: str = "acceleration"  # what a₀ is, for messages

    @cached_property
    def sizes(self) -> np.ndarray:
        """The square roots of the diagonal of G; the largest of them where an entry vanishes."""
        own = np.diag(self.response)
        return np.sqrt(np.where(own > 0, own, own.max(initial=0.0) or 1.0))

    @property
    def m(self) -> int:
        """The number of contacts."""
        return len(self.friction)


@dataclass(frozen=True)
class ContactSolution:
    """The modes and forces of all contacts, and the resulting rates."""

    modes: tuple[ContactMode, ...]
    forces: np.ndarray
    rates: np.ndarray


def solutions(lcp: Contacts) -> list[ContactSolution]:
    """All solutions, including those with equal motion.

    >>> ball = Contacts(np.array([-9.81, 0.0]), np.diag([0.5, 0.5]), np.zeros(1), np.zeros(1), 1.0, np.zeros(1))
    >>> [(each.modes[0].closed, each.forces.round(9).tolist()) for each in solutions(ball)]
    [(True, [19.62, 0.0])]
    """
    size = lcp.sizes
    found = (_try_modes(lcp, modes, size) for modes in product(*map(tuple, _modes(lcp))))
    return [each for each in found if each is not None]


def solve_modes(lcp: Contacts, preferred: Mapping[int, ContactMode] | None = None) -> ContactSolution:
    """The solution; if forces are not unique, the one with the wanted modes and the most sticking contacts.

    Raises if no motion is possible, or several are.
    """
    if count(lcp) > MAX_MODES:
        raise SimulationError(
            f"{lcp.where} {lcp.m} rigid contacts are closed at once: {', '.join(lcp.names)}. Expected at most {MAX_MODES} "
            "combinations of modes: 6 contacts with friction or 14 without. Make some of them compliant with a stiffness."
        )
    found = solutions(lcp)
    if len(motions(lcp, found)) != 1:
        raise SimulationError(paradox(lcp, motions(lcp, found)))
    hints = preferred or {}

    def cost(each: ContactSolution) -> tuple[int, ...]:
        missed = sum(each.modes[i][:3] != mode[:3] for i, mode in hints.items())
        sticking, closed = (sum(getattr(mode, key) for mode in each.modes) for key in ("sticks", "closed"))
        return missed, -closed, -sticking, sum(mode.slide != 0 for mode in each.modes)

    return min(found, key=cost)


def paradox(lcp: Contacts, found: Sequence[ContactSolution] | None = None) -> str:
    """The message where rigid contacts with friction have no unique motion, or are about to have none."""
    m = lcp.m
    parts = []
    for i, name in enumerate(lcp.names):
        side, mu = lcp.slip[i], lcp.friction[i]
        A = lcp.response[i, i] - side * mu * lcp.response[i, m + i]
        parts.append(f"{name} with μ = {mu:.6g}, whose gap has the {lcp.rate} {lcp.free[i]:.6g} + ({A:.6g}) N")
    if found is None:
        what = "friction jams; from here on no forces, or several, satisfy"
    else:
        what = f"{len(found)} different motions satisfy" if found else "no forces satisfy"
    return (
        f"{lcp.where} {what} the laws of rigid contact and Coulomb friction (Painlevé's paradox): {'; '.join(parts)}. "
        "Rigid bodies have no unique motion from here. Reduce the friction, or use a compliant contact with a stiffness."
    )


def count(lcp: Contacts) -> int:
    """The number of mode combinations."""
    return int(np.prod([float(len(list(each))) for each in _modes(lcp)]))


def motions(lcp: Contacts, found: Sequence[ContactSolution]) -> list[ContactSolution]:
    """One solution for each possible motion."""
    out: list[ContactSolution] = []
    size = lcp.sizes
    unit = max(float(np.abs(lcp.free / size).max(initial=0.0)), lcp.unit / float(size.max(initial=1e-300)))
    for each in found:
        differences = [each.forces - other.forces for other in out]
        if all(np.sqrt(max(float(d @ lcp.response @ d), 0.0)) > _SAME * unit for d in differences):
            out.append(each)
    return out


def _modes(lcp: Contacts) -> Iterator[list[ContactMode]]:
    """The possible modes of each contact."""
    for mu, slip, min_forces in zip(lcp.friction, lcp.slip, lcp.min_forces, strict=True):
        rubbing = [SMOOTH] if mu == 0 else [sliding(slip)] if slip else [STICK, SMOOTH, sliding(1.0), sliding(-1.0)]
        yield rubbing + ([mode._replace(closed=False) for mode in rubbing] if min_forces > 0 and mu > 0 else [OPEN])


def _try_modes(lcp: Contacts, modes: Sequence[ContactMode], size: np.ndarray) -> ContactSolution | None:
    """The solution with these modes, or None."""
    m, G, mu = lcp.m, lcp.response / np.outer(size, size), lcp.friction * size[lcp.m :] / size[: lcp.m]
    a0, min_forces = lcp.free / size, lcp.min_forces * size[:m]
    rows = [i for i, mode in enumerate(modes) if mode.closed] + [m + i for i, mode in enumerate(modes) if mode.sticks]
    # sliding friction is proportional to the normal force
    S = np.eye(2 * m)
    for i, mode in enumerate(modes):
        S[m + i, i] = -mode.slide * mu[i]
        S[m + i, m + i] = float(mode.sticks)
    start = S[:, :m] @ min_forces
    forces = start.copy()
    if rows:
        A = (G @ S)[np.ix_(rows, rows)]
        if np.linalg.svd(A, compute_uv=False)[-1] < _SINGULAR:
            return None
        forces = start + S[:, rows] @ np.linalg.solve(A, -(a0 + G @ start)[rows])
    rates = a0 + G @ forces
    unit = max(float(np.abs(a0).max(initial=0.0)), lcp.unit / float(size.max(initial=1e-300)))
    implied = [_dependent(G, rows, m + i) if _may_follow(lcp, modes, i) else False for i in range(m)]
    if not all(
        _admits(lcp, i, modes[i], implied[i], forces, rates, (mu, min_forces, _TOLERANCE * unit)) for i in range(m)
    ):
        return None
    for i, mode in enumerate(modes):
        if not mode.closed and lcp.min_forces[i] == 0:  # the gap is zero, and other contacts carry the load
            implied[i] = abs(rates[i]) <= _TOLERANCE * unit and _dependent(G, rows, i)
    found = tuple(mode._replace(follows=True) if implied[i] else mode for i, mode in enumerate(modes))
    return ContactSolution(found, forces / size, rates * size)


def _may_follow(lcp: Contacts, modes: Sequence[ContactMode], i: int) -> bool:
    """True if the slip of a contact may be zero as a consequence of other contacts."""
    mode = modes[i]
    return lcp.friction[i] > 0 and not lcp.slip[i] and not mode.sticks and (mode.closed or lcp.min_forces[i] > 0)


def _dependent(G: np.ndarray, rows: Sequence[int], row: int) -> bool:
    """True if a rate cannot change without changing those that are constrained to zero."""
    if not rows:
        return False
    inner = G[np.ix_(rows, rows)]
    rest = G[row, row] - G[row, rows] @ np.linalg.lstsq(inner, G[rows, row], rcond=_SINGULAR)[0]
    return bool(rest < 1e-7)


def _admits(
    lcp: Contacts,
    i: int,
    mode: ContactMode,
    follows: bool,
    forces: np.ndarray,
    rates: np.ndarray,
    sizes: tuple[np.ndarray, np.ndarray, float],
) -> bool:
    """True if the forces and rates of one contact are admissible in its mode."""
    m, (mu, min_forces, tolerance) = lcp.m, sizes
    N, T, opening, slipping = forces[i], forces[m + i], rates[i], rates[m + i]
    if (mode.closed and N - min_forces[i] < -tolerance) or (not mode.closed and opening < -tolerance):
        return False
    if mode.sticks:
        return bool(abs(T) <= mu[i] * N + tolerance)
    if mu[i] == 0 or lcp.slip[i] or (not mode.closed and min_forces[i] == 0):
        return True
    if mode.slide == 0:  # without friction, because other contacts carry the load
        return follows and bool(abs(slipping) <= tolerance)
    return bool(mode.slide * slipping >= -tolerance)


def newton(lcp: Contacts, restitution: np.ndarray) -> np.ndarray:
    """The impulses by Newton's law; `lcp.free` are the rates just before the impact.

    >>> wall = Contacts(np.array([-2.0, 0.0]), np.diag([0.5, 0.0]), np.zeros(1), np.zeros(1), 1.0, np.zeros(1))
    >>> newton(wall, np.array([0.5])).tolist()  # 2 kg thrown back with 1 m/s
    [6.0, 0.0]
    """
    free = lcp.free.copy()
    free[: lcp.m] *= 1 + np.where(free[: lcp.m] < 0, restitution, 0.0)
    return solve_modes(replace(lcp, free=free)).forces


def poisson(lcp: Contacts, restitution: np.ndarray) -> np.ndarray:
    """The impulses of both phases by Poisson's law."""
    compression = solve_modes(lcp).forces
    min_forces = restitution * compression[: lcp.m]
    if not min_forces.any():
        return compression
    return (
        compression
        + solve_modes(replace(lcp, free=lcp.free + lcp.response @ compression, min_forces=min_forces)).forces
    )


def successive(lcp: Contacts, restitution: np.ndarray, slow: np.ndarray, enough: float) -> np.ndarray:
    """The sum of successive single impacts; approaches below `slow` do not rebound, and those below `enough` are ignored."""
    m, rates, total = lcp.m, lcp.free.copy(), np.zeros(2 * lcp.m)
    for _ in range(_MAX_IMPACTS):
        i = int(np.argmin(rates[:m]))
        if rates[i] >= -enough:
            return total
        own = [i, m + i]
        alone = replace(
            lcp,
            free=rates[own],
            response=lcp.response[np.ix_(own, own)],
            friction=lcp.friction[[i]],
            slip=lcp.slip[[i]],
            min_forces=lcp.min_forces[[i]],
            names=lcp.names[i : i + 1],
        )
        e = restitution[[i]] if -rates[i] > slow[i] else np.zeros(1)
        impulse = newton(alone, e)
        total[own] += impulse
        rates = rates + lcp.response[:, own] @ impulse
    raise SimulationError(
        f"{lcp.where} {_MAX_IMPACTS} successive impacts do not end: {', '.join(lcp.names)}. Use impact = 'newton' or 'poisson'."
    )
