"""Linear equations in independent states: coordinates z and speeds u that the constraints leave free.

Near a state every motion has δq = T δz, with φ_q T = 0, and δq̇ = Q δz + W δu, so that velocities stay on the constraints. With
λ held at its value, Aᵀλ has no part along W; so

    WᵀM δq̈ = −Wᵀ(r_q δq + r_q̇ δq̇),     A δq̈ = −(a_q δq + a_q̇ δq̇)

where r = M q̈ − h − C − Aᵀλ, and a = A q̈ − β. A nonholonomic system has more z than u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.analysis.linear.residuals import Partials, Residuals, Solved, solved_at
from dalembert.errors import SingularError
from dalembert.mechanics import rank

_ZERO = 1e-10  # of the largest entry of A in scales of the model
_STILL = 1e-7  # rates below this, in scales of the model, are none
_SAME = 1e-5  # the equations a short time later, found by a method of order four
_OTHER_TIMES = (0.13, 0.37, 0.71)  # of the duration of the model
_LATER, _STEPS = 0.3, 8  # of the shortest time: that of the model, of its motion, or of its fastest mode


@dataclass(frozen=True)
class Reduced:
    """δq, δq̇, δq̈ and δλ of every independent state (columns), and the rates of these states."""

    chosen: tuple[int, ...]  # the coordinates z
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    A: np.ndarray  # ẋ = A x with x = (z, u)
    onto: np.ndarray  # x from (δq, δq̇)

    def seen(self, partials: Partials) -> np.ndarray:
        """The slopes of any functions by the states."""
        return partials.q @ self.q + partials.qd @ self.qd + partials.qdd @ self.qdd + partials.lam @ self.lam


@dataclass(frozen=True)
class Driven:
    """δq̈ and δλ that inputs (columns) bring about, and the rates of the states by them."""

    qdd: np.ndarray
    lam: np.ndarray
    B: np.ndarray


def reduced(found: Solved, chosen: tuple[int, ...] | None = None) -> Reduced:
    """The linear equations at a solved state, in the coordinates `chosen` or in those that serve best."""
    phi, velocity, u = (found.by_row[name] for name in ("position", "velocity", "speeds"))
    n, d, unit = len(found.point.q), found.facts.d, found.facts.scales.positions
    T = rank.split(phi.q, unit)[1] if len(phi.q) else np.diag(unit)  # displacements that the constraints leave free
    z = rank.best_rows(rank.leveled(T / unit[:, None])[0], T.shape[1]) if chosen is None else chosen
    T = T @ np.linalg.inv(T[list(z)])
    S = np.concatenate([u.qd, velocity.qd])
    if int(rank.numeric_rank(S, unit, n)) < n:
        raise SingularError(
            f"the speeds {', '.join(found.facts.speed_names)} and the constraints do not determine the velocities at the given "
            "state. Expected [Y; A] to be invertible. Give the model other speeds."
        )
    inverse = rank.pseudo_inverse(S, unit, n)
    W, Q = inverse[:, :d], -inverse @ np.concatenate([u.q, velocity.q]) @ T
    q, qd = np.concatenate([T, np.zeros((n, d))], axis=1), np.concatenate([Q, W], axis=1)
    r, a, rates = (found.by_row[name] for name in ("dynamics", "acceleration", "speed_rates"))
    force = -(r.q @ q + r.qd @ qd)
    qdd = found.answer(force, -(a.q @ q + a.qd @ qd))
    lam = found.multipliers(found.M @ qdd - force)
    speeds = rates.q @ q + rates.qd @ qd + rates.qdd @ qdd
    pick = np.eye(n)[list(z)]
    onto = np.block([[pick, np.zeros((len(z), n))], [u.q, u.qd]])
    return Reduced(tuple(z), q, qd, qdd, lam, np.concatenate([qd[list(z)], speeds]), onto)


def driven(found: Solved, forces: np.ndarray, states: int) -> Driven:
    """What inputs bring about: each column of `forces` is a generalized force, or what a parameter does in place of one."""
    qdd = found.answer(forces, np.zeros((len(found.A), forces.shape[1])))
    lam = found.multipliers(found.M @ qdd - forces)
    speeds = found.by_row["speed_rates"].qdd @ qdd
    return Driven(qdd, lam, np.concatenate([np.zeros((states - len(speeds), forces.shape[1])), speeds]))


@dataclass(frozen=True)
class Verdict:
    """What a state is, and why its linear equations do not hold for long where that is so."""

    kind: str  # "equilibrium", "steady motion" or "moment of a motion"
    followers: tuple[int, ...]  # places among the states
    reason: str = ""

    @property
    def steady(self) -> bool:
        """True where the linear equations hold for all times."""
        return not self.reason


def state_units(found: Solved, chosen: tuple[int, ...]) -> np.ndarray:
    """The scale of every state (z, u)."""
    scales = found.facts.scales
    speeds = np.abs(found.by_row["speeds"].qd) @ scales.velocities
    return np.concatenate([scales.positions[list(chosen)], np.where(speeds > 0, speeds, 1.0)])


def followers_in(A: np.ndarray, units: np.ndarray, coordinates: int) -> tuple[int, ...]:
    """The coordinates, the first of the states, on which nothing depends but other followers.

    >>> followers_in(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -2.0]]), np.ones(3), 2)
    (0, 1)
    """
    sizes = np.abs(A) * units / units[:, None]
    linked = sizes > _ZERO * max(sizes.max(initial=0.0), 1e-300)
    found: list[int] = []
    while True:
        rest = [i for i in range(len(A)) if i not in found]
        new = [j for j in rest if j < coordinates and not linked[rest, j].any()]
        if not new:
            return tuple(sorted(found))
        found += new


def judged(residuals: Residuals, found: Solved, linear: Reduced, held: np.ndarray | None, names: list[str]) -> Verdict:
    """What a state with its linear equations is; `names` are those of the states."""
    point, scales, chosen = found.point, found.facts.scales, linear.chosen
    units = state_units(found, chosen)
    followers = followers_in(linear.A, units, len(chosen))
    moving = np.abs(point.qd) > _STILL * scales.velocities
    rates = _rates(residuals, found, chosen)
    share = np.abs(rates) / units * scales.time
    share[list(followers)] = 0.0
    if (share > _STILL).any():
        worst = int(np.argmax(share))
        return Verdict("moment of a motion", followers, f"d/dt {names[worst]} = {rates[worst]:.6g}, not 0")
    kind = "steady motion" if moving.any() else "equilibrium"
    if residuals.timed:
        return Verdict(kind, followers, "formulas of time stand in the linear equations")
    rest = [i for i in range(len(units)) if i not in followers]
    if residuals.clocked and not moving.any() and not _stays(residuals, found, chosen, held, units):
        return Verdict("moment of a motion", followers, "forces or drives change with time")
    if (moving.any() or residuals.clocked) and not _lasts(residuals, found, linear, held, rest, units):
        return Verdict("moment of a motion", followers, "the linear equations change while the motion goes on")
    return Verdict(kind, followers)


def _rates(residuals: Residuals, found: Solved, chosen: tuple[int, ...]) -> np.ndarray:
    """ẋ of the states at the point."""
    return np.concatenate([found.point.qd[list(chosen)], residuals.at(found.point)[residuals.places["speed_rates"]]])


def _stays(
    residuals: Residuals, found: Solved, chosen: tuple[int, ...], held: np.ndarray | None, units: np.ndarray
) -> bool:
    """True where a position of rest is one at other times of the model, too."""
    point, scales, facts = found.point, found.facts.scales, found.facts
    for share in _OTHER_TIMES:
        then = solved_at(residuals, point.q, point.qd, point.t + share * scales.duration, point.parameters, held)
        off = residuals.at(then.point)[residuals.places["position"]] / np.array(facts.sizes)[: facts.levels.held]
        rates = _rates(residuals, then, chosen) / units * scales.time
        if np.abs(np.concatenate([off, rates])).max(initial=0.0) > _SAME:
            return False
    return True


def _lasts(
    residuals: Residuals, found: Solved, linear: Reduced, held: np.ndarray | None, rest: list[int], units: np.ndarray
) -> bool:
    """True where the equations of the states but the followers are the same a short time later."""
    scales = found.facts.scales
    moving = float((np.abs(found.point.qd) / scales.positions).max(initial=0.0))
    fastest = max(1 / scales.time, moving, float(np.abs(np.linalg.eigvals(linear.A)).max(initial=0.0)))
    try:
        later = _flown(residuals, found, held, _LATER / fastest)
        then = reduced(later, linear.chosen)
    except SingularError:  # it runs away
        return False
    change = np.abs(then.A - linear.A) * units / units[:, None] * scales.time
    size = max(1.0, float((np.abs(linear.A) * units / units[:, None] * scales.time).max(initial=0.0)))
    rates = np.abs(_rates(residuals, later, linear.chosen)) / units * scales.time
    return bool(change[np.ix_(rest, rest)].max(initial=0.0) < _SAME * size and rates[rest].max(initial=0.0) < _SAME)


def _flown(residuals: Residuals, found: Solved, held: np.ndarray | None, duration: float) -> Solved:
    """The state that the motion reaches, by the classical Runge–Kutta method."""
    point, h, n = found.point, duration / _STEPS, len(found.point.q)

    def at(x: np.ndarray, t: float) -> Solved:
        return solved_at(residuals, x[:n], x[n:], t, point.parameters, held)

    def rates(x: np.ndarray, t: float) -> np.ndarray:
        return np.concatenate([x[n:], at(x, t).point.qdd])

    x, t = np.concatenate([point.q, point.qd]), point.t
    for _ in range(_STEPS):
        a = rates(x, t)
        b = rates(x + h / 2 * a, t + h / 2)
        c = rates(x + h / 2 * b, t + h / 2)
        d = rates(x + h * c, t + h)
        x, t = x + h / 6 * (a + 2 * b + 2 * c + d), t + h
    return at(x, t)
