"""Complementarity of rigid contacts: which of them press, stick, slide or let go, all at once.

The rates of gaps and slips, a = a₀ + G (N, T), are affine in the normal forces N and the friction T of m contacts. A solution has

    N ≥ N₀,   a_N ≥ 0,   (N − N₀) a_N = 0,        |T| ≤ μ N,   T = −μ N sign(slip) where it slides.

Where the slip is zero, sign(slip) is that of a_T, or it sticks: a_T = 0. The same problem is asked of accelerations, of impulses
by Newton's law (a₀ with 1 + e times the approach), and of both phases of an impact by Poisson's. Contacts that touch are few,
so all modes are tried: this finds every solution, and says where there is none, or more than one (Painlevé's paradox).
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

_TOLERANCE = 1e-12  # of what is compared


_SINGULAR = 1e-9  # of the rows in the metric of the response


_SAME = 1e-5  # of the forces, in the metric of the response: solutions as close as this are one


MOST = 20_000  # modes that are tried


_MOST = 100_000  # single impacts in succession


class Mode(NamedTuple):
    """What one contact does."""

    closed: bool
    slide: float = 0.0  # the sign of its slip where it slides
    sticks: bool = False
    follows: bool = False  # its slip is zero, or its gap is closed, since that of others is


OPEN, SMOOTH, STICK = Mode(False), Mode(True), Mode(True, sticks=True)


def sliding(side: float) -> Mode:
    """A contact that slides to one side."""
    return Mode(True, side)


@dataclass(frozen=True)
class Contacts:
    """Contacts at one instant, m of them: rows of a₀ and G are the m gaps, then the m slips."""

    free: np.ndarray  # a₀
    response: np.ndarray  # G
    friction: np.ndarray  # μ; zero where there is none
    slip: np.ndarray  # the sign of the slip, 0 where it is at rest
    unit: float  # a size of a₀ that counts
    least: np.ndarray  # N₀
    names: tuple[str, ...] = ()
    where: str = ""  # the instant, in words
    rate: str = "acceleration"  # what a₀ is, in words

    @cached_property
    def sizes(self) -> np.ndarray:
        """The roots of what each force changes its own rate by; the largest of them where there is no such force."""
        own = np.diag(self.response)
        return np.sqrt(np.where(own > 0, own, own.max(initial=0.0) or 1.0))

    @property
    def m(self) -> int:
        """The number of contacts."""
        return len(self.friction)


@dataclass(frozen=True)
class Solution:
    """The modes and forces of all contacts, and the rates they lead to."""

    modes: tuple[Mode, ...]
    forces: np.ndarray
    rates: np.ndarray


def solutions(asked: Contacts) -> list[Solution]:
    """Every solution, those that leave the same motion among them.

    >>> ball = Contacts(np.array([-9.81, 0.0]), np.diag([0.5, 0.5]), np.zeros(1), np.zeros(1), 1.0, np.zeros(1))
    >>> [(each.modes[0].closed, each.forces.round(9).tolist()) for each in solutions(ball)]
    [(True, [19.62, 0.0])]
    """
    size = asked.sizes
    found = (_tried(asked, modes, size) for modes in product(*map(tuple, _modes(asked))))
    return [each for each in found if each is not None]


def decided(asked: Contacts, wanted: Mapping[int, Mode] | None = None) -> Solution:
    """The solution; where forces are not unique, that with the wanted modes and most contacts that stick.

    Raises where no motion is possible, or several are.
    """
    if count(asked) > MOST:
        raise SimulationError(
            f"{asked.where} {asked.m} rigid contacts touch at once: {', '.join(asked.names)}. Expected no more than have "
            f"{MOST} modes in all, which is 6 with friction or 14 without. Let some of them be compliant, by a stiffness."
        )
    found = solutions(asked)
    if len(motions(asked, found)) != 1:
        raise SimulationError(paradox(asked, motions(asked, found)))
    hints = wanted or {}

    def cost(each: Solution) -> tuple[int, ...]:
        missed = sum(each.modes[i][:3] != mode[:3] for i, mode in hints.items())
        sticking, closed = (sum(getattr(mode, key) for mode in each.modes) for key in ("sticks", "closed"))
        return missed, -closed, -sticking, sum(mode.slide != 0 for mode in each.modes)

    return min(found, key=cost)


def paradox(asked: Contacts, found: Sequence[Solution] | None = None) -> str:
    """What is said where rigid contacts and friction contradict each other, leave the motion open, or are about to."""
    m = asked.m
    parts = []
    for i, name in enumerate(asked.names):
        side, mu = asked.slip[i], asked.friction[i]
        A = asked.response[i, i] - side * mu * asked.response[i, m + i]
        parts.append(f"{name} with μ = {mu:.6g}, whose gap has the {asked.rate} {asked.free[i]:.6g} + ({A:.6g}) N")
    if found is None:
        what = "friction jams; from here on no forces, or several, fulfil"
    else:
        what = f"{len(found)} different motions fulfil" if found else "no forces fulfil"
    return (
        f"{asked.where} {what} the laws of rigid contact and Coulomb friction (Painlevé's paradox): {'; '.join(parts)}. "
        "Rigid bodies have no unique motion from here. Take less friction, or a compliant contact with a stiffness."
    )


def count(asked: Contacts) -> int:
    """The number of modes there are to try."""
    return int(np.prod([float(len(list(each))) for each in _modes(asked)]))


def motions(asked: Contacts, found: Sequence[Solution]) -> list[Solution]:
    """One solution for each motion that is possible."""
    out: list[Solution] = []
    size = asked.sizes
    unit = max(float(np.abs(asked.free / size).max(initial=0.0)), asked.unit / float(size.max(initial=1e-300)))
    for each in found:
        ways = [each.forces - other.forces for other in out]
        if all(np.sqrt(max(float(d @ asked.response @ d), 0.0)) > _SAME * unit for d in ways):
            out.append(each)
    return out


def _modes(asked: Contacts) -> Iterator[list[Mode]]:
    """What each contact may do."""
    for mu, slip, least in zip(asked.friction, asked.slip, asked.least, strict=True):
        rubbing = [SMOOTH] if mu == 0 else [sliding(slip)] if slip else [STICK, SMOOTH, sliding(1.0), sliding(-1.0)]
        yield rubbing + ([mode._replace(closed=False) for mode in rubbing] if least > 0 and mu > 0 else [OPEN])


def _tried(asked: Contacts, modes: Sequence[Mode], size: np.ndarray) -> Solution | None:
    """The solution with these modes, if there is one."""
    m, G, mu = asked.m, asked.response / np.outer(size, size), asked.friction * size[asked.m :] / size[: asked.m]
    a0, least = asked.free / size, asked.least * size[:m]
    rows = [i for i, mode in enumerate(modes) if mode.closed] + [m + i for i, mode in enumerate(modes) if mode.sticks]
    # the friction of what slides goes with its normal force
    S = np.eye(2 * m)
    for i, mode in enumerate(modes):
        S[m + i, i] = -mode.slide * mu[i]
        S[m + i, m + i] = float(mode.sticks)
    start = S[:, :m] @ least
    forces = start.copy()
    if rows:
        A = (G @ S)[np.ix_(rows, rows)]
        if np.linalg.svd(A, compute_uv=False)[-1] < _SINGULAR:
            return None
        forces = start + S[:, rows] @ np.linalg.solve(A, -(a0 + G @ start)[rows])
    rates = a0 + G @ forces
    unit = max(float(np.abs(a0).max(initial=0.0)), asked.unit / float(size.max(initial=1e-300)))
    kept = [_dependent(G, rows, m + i) if _leans(asked, modes, i) else False for i in range(m)]
    if not all(_fits(asked, i, modes[i], kept[i], forces, rates, (mu, least, _TOLERANCE * unit)) for i in range(m)):
        return None
    for i, mode in enumerate(modes):
        if not mode.closed and asked.least[i] == 0:  # it touches, and others carry
            kept[i] = abs(rates[i]) <= _TOLERANCE * unit and _dependent(G, rows, i)
    said = tuple(mode._replace(follows=True) if kept[i] else mode for i, mode in enumerate(modes))
    return Solution(said, forces / size, rates * size)


def _leans(asked: Contacts, modes: Sequence[Mode], i: int) -> bool:
    """True where the slip of a contact may be zero since that of others is."""
    mode = modes[i]
    return asked.friction[i] > 0 and not asked.slip[i] and not mode.sticks and (mode.closed or asked.least[i] > 0)


def _dependent(G: np.ndarray, rows: Sequence[int], row: int) -> bool:
    """True where a rate cannot be changed without changing those that are kept at zero."""
    if not rows:
        return False
    inner = G[np.ix_(rows, rows)]
    rest = G[row, row] - G[row, rows] @ np.linalg.lstsq(inner, G[rows, row], rcond=_SINGULAR)[0]
    return bool(rest < 1e-7)


def _fits(
    asked: Contacts,
    i: int,
    mode: Mode,
    follows: bool,
    forces: np.ndarray,
    rates: np.ndarray,
    sizes: tuple[np.ndarray, np.ndarray, float],
) -> bool:
    """True where one contact may do what its mode says."""
    m, (mu, least, tolerance) = asked.m, sizes
    N, T, opening, slipping = forces[i], forces[m + i], rates[i], rates[m + i]
    if (mode.closed and N - least[i] < -tolerance) or (not mode.closed and opening < -tolerance):
        return False
    if mode.sticks:
        return bool(abs(T) <= mu[i] * N + tolerance)
    if mu[i] == 0 or asked.slip[i] or (not mode.closed and least[i] == 0):
        return True
    if mode.slide == 0:  # without friction, since others carry it
        return follows and bool(abs(slipping) <= tolerance)
    return bool(mode.slide * slipping >= -tolerance)


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
