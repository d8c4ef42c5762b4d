"""The action along a path and its variations: Hamilton's principle of least action, shown in numbers.

Source: papers/desapio, Principle 5.1 (d'Alembert), Principle 5.2 (Hamilton), (5.158)–(5.169), constrained (5.258)–(5.263).

| symbol | name | meaning |
|---|---|---|
| I | `action` | ∫ L dt along the path (5.158) |
| δq | | a variation: smooth, random, Φ δq = 0, zero at both ends (5.258) |
| δI | `first` | ∫ (∂L/∂q · δq + ∂L/∂q̇ · δq̇ + τ · δq) dt (5.161), (5.162) |
| ε | `steps` | how far along δq the path is moved |
| I(ε) − I(0) | `changes` | of the path q + ε δq, brought back onto φ = 0, with the virtual work of τ |

Along a motion δI vanishes and I(ε) − I(0) falls with ε²; along any other path of the same ends it falls with ε. Forces without
potential, and C of constraints that are not ideal, enter by their virtual work (5.161). Constraints on velocities limit δq as
d'Alembert has it, A δq = 0 with time held, and δq̇ = d(δq)/dt: the varied path itself need not fulfil them (Hölder). That is
why the principle is one of work there and not one of least action; `of_work` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dalembert.errors import InputError
from dalembert.mechanics.applied_forces import generalized_forces, non_ideal_forces
from dalembert.mechanics.energies import kinetic, potential
from dalembert.mechanics.system import System
from dalembert.model.frozen import Value
from dalembert.symbolic.algebra_base import Array, stack, vector, zeros

_NODES = 6  # of Gauss and Legendre between two samples
_WAVES = 4  # of every random variation
_ROUNDS = 20  # of Newton's method back onto the constraints
_CLOSE = 1e-13
_ZERO = 1e-6  # of what cancels: a first variation below it vanishes
_ROUNDING = 1e-11  # of the action: smaller changes are rounding


class Path(NamedTuple):
    """A motion or any other path: times (K,), and q, q̇ and q̈ at them (n, K)."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


@dataclass(frozen=True)
class Variation(Value):
    """The action of a path, and how it changes under random variations, a row for each of them."""

    action: float  # I (5.158)
    first: np.ndarray  # δI (5.161), (variations,)
    sizes: np.ndarray  # of what cancels in it: ∫ |∂L/∂q·δq| + |∂L/∂q̇·δq̇| + |τ·δq| dt
    steps: np.ndarray  # ε, (steps,)
    changes: np.ndarray  # I(ε) − I(0) + ∫ τ·(q_ε − q) dt, (variations, steps)
    of_work: bool  # constraints on velocities, or forces without potential: the principle is one of work

    @property
    def ratios(self) -> np.ndarray:
        """|δI| by the size of what cancels in it: about rounding along a motion, of order one along another path."""
        return np.abs(self.first) / self.sizes

    @property
    def vanishes(self) -> bool:
        """True where the first variation vanishes for every variation that was tried."""
        return bool((self.ratios < _ZERO).all())

    @property
    def orders(self) -> np.ndarray:
        """The power of ε with which the change falls: 2 along a motion, 1 along another path; NaN where it is rounding."""
        change = np.abs(self.changes)
        seen = change > _ROUNDING * (abs(self.action) + self.sizes[:, None] * self.steps)
        with np.errstate(all="ignore"):
            slopes = np.diff(np.log(change), axis=1) / np.diff(np.log(self.steps))
        slopes = np.where(seen[:, 1:] & seen[:, :-1], slopes, np.nan)
        return np.array([row[~np.isnan(row)][-1] if (~np.isnan(row)).any() else np.nan for row in slopes])

    def __str__(self) -> str:
        kind = "the work of forces included" if self.of_work else "least action"
        head = f"action {self.action:.9g}; first variation ({kind}), and the change of the action at ε"
        columns = "  ".join(f"{f'ε = {step:g}':>12}" for step in self.steps)
        lines = [head, f"{'δI':>12}  {'δI / size':>10}  {columns}  {'order':>6}"]
        for first, ratio, row, order in zip(self.first, self.ratios, self.changes, self.orders, strict=True):
            lines.append(f"{first:12.3e}  {ratio:10.1e}  {'  '.join(f'{x:12.3e}' for x in row)}  {order:6.2f}")
        return "\n".join(lines)


class Actions:
    """The action of paths of one system; `evaluate` and `look` are `along` and `beside` of it in numbers."""

    def __init__(self, system: System, evaluate: Callable[..., np.ndarray], look: Callable[..., np.ndarray]) -> None:
        self._evaluate, self._look = evaluate, look
        facts = system.facts
        self._n, self._rows = len(system.q), len(facts.rows)
        # constraints on positions that feedback does not drive: varied paths are brought back onto these
        self._kept = [k for k, i in enumerate(facts.rows) if i < facts.levels.held and not facts.levels.servo[i]]
        self._held = sum(i < facts.levels.held for i in facts.rows)
        self._scale = facts.scales.positions
        forces, C = generalized_forces(system.motion), non_ideal_forces(system.motion)
        forced = C is not None or not all(map(system.algebra.is_zero, forces))
        self.of_work = self._rows > len(self._kept) or forced

    def action(self, path: Path) -> float:
        """∫ L dt (5.158)."""
        t, weights, q, qd, _ = _nodes(path)
        return float(self._look(q, qd, t)[0] @ weights)

    def variation(self, path: Path, steps: np.ndarray, count: int, seed: int) -> Variation:
        """The first variation and the changes for `count` random variations."""
        t, weights, q, qd, qdd = _nodes(path)
        n, k = self._n, self._rows
        seen = self._evaluate(q, qd, qdd, t)
        L, L_q, p, tau, A, Ad = np.split(seen, np.cumsum([1, n, n, n, k * n]))
        A, Ad = (np.moveaxis(x.reshape(k, n, len(t)), -1, 0) for x in (A, Ad))
        start, random = float(L[0] @ weights), np.random.default_rng(seed)
        first, sizes, changes = [], [], []
        for _ in range(count):
            eta, etad = self._waves(random, t, (float(path.t[0]), float(path.t[-1])))
            dq, dqd = self._admitted(eta, etad, A, Ad)
            parts = np.sum(L_q * dq, axis=0), np.sum(p * dqd, axis=0), np.sum(tau * dq, axis=0)
            first.append(float(sum(parts) @ weights))  # (5.161), (5.162)
            sizes.append(float(sum(map(np.abs, parts)) @ weights))
            row = []
            for step in steps:
                x, xd = self._moved((q, qd, t), step * dq, step * dqd, A, Ad)
                work = np.sum(tau * (x - q), axis=0)
                row.append(float((self._look(x, xd, t)[0] - L[0] + work) @ weights))
            changes.append(row)
        return Variation(start, np.array(first), np.array(sizes), steps, np.array(changes), self.of_work)

    def _waves(
        self, random: np.random.Generator, t: np.ndarray, ends: tuple[float, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Random sums of waves that vanish at both ends, and their rates: (n, nodes)."""
        begin, end = ends
        k = np.arange(1, _WAVES + 1)[:, None] * np.pi / (end - begin)
        weights = random.normal(size=(self._n, _WAVES)) / np.arange(1, _WAVES + 1) * self._scale[:, None]
        phase = k * (t - begin)
        return weights @ np.sin(phase), weights @ (k * np.cos(phase))

    def _admitted(
        self, eta: np.ndarray, etad: np.ndarray, A: np.ndarray, Ad: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """δq = η − S Aᵀ y with A δq = 0, nearest to η in the scales S of the coordinates, and its rate."""
        if not self._rows:
            return eta, etad
        S, e, ed = self._scale**2, eta.T[..., None], etad.T[..., None]
        At, Adt = S[:, None] * np.swapaxes(A, 1, 2), S[:, None] * np.swapaxes(Ad, 1, 2)
        y = np.linalg.solve(A @ At, A @ e)
        yd = np.linalg.solve(A @ At, Ad @ e + A @ ed - (Ad @ At + A @ Adt) @ y)
        return (e - At @ y)[..., 0].T, (ed - Adt @ y - At @ yd)[..., 0].T

    def _moved(
        self,
        base: tuple[np.ndarray, np.ndarray, np.ndarray],
        dq: np.ndarray,
        dqd: np.ndarray,
        A: np.ndarray,
        Ad: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """q + δq brought back onto φ = 0 along S Aᵀ of the path itself, x = q + δq + S Aᵀ μ, and its exact rate."""
        (q, qd, t), kept = base, self._kept
        x, xd = q + dq, qd + dqd
        if not kept:
            return x, xd
        S, rows = self._scale[:, None] ** 2, A[:, kept]
        At, Adt = S * np.swapaxes(rows, 1, 2), S * np.swapaxes(Ad[:, kept], 1, 2)
        mu = np.zeros((len(t), len(kept), 1))
        for _ in range(_ROUNDS):
            phi, _, there = self._constraints(x, xd, t)
            step = np.linalg.solve(there @ At, phi.T[..., None])
            mu -= step
            x = q + dq + (At @ mu)[..., 0].T
            if np.abs(At @ step)[..., 0].max() <= _CLOSE * float(self._scale.max()):
                break
        else:
            raise InputError(
                "variation: a varied path could not be brought back onto the constraints. Give smaller `steps`."
            )
        carried = xd + (Adt @ mu)[..., 0].T
        _, rate, there = self._constraints(x, carried, t)
        mud = -np.linalg.solve(there @ At, rate.T[..., None])
        return x, carried + (At @ mud)[..., 0].T

    def _constraints(self, x: np.ndarray, xd: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """φ, φ̇ and Φ of the constraints that are kept."""
        h, n, kept = self._held, self._n, self._kept
        seen = self._look(x, xd, t)
        phi, rate, A = np.split(seen[1:], [h, 2 * h])
        return phi[kept], rate[kept], np.moveaxis(A.reshape(h, n, len(t)), -1, 0)[:, kept]


def along(system: System) -> Array:
    """L, ∂L/∂q, ∂L/∂q̇, τ, A and Ȧ of (q, q̇, q̈, t), end to end."""
    algebra, rows = system.algebra, system.constraints.A[list(system.facts.rows)]
    L = kinetic(system.motion, system.qd) - potential(system.motion)
    tau, C = generalized_forces(system.motion), non_ideal_forces(system.motion)
    rate = system.derivative(rows.ravel()) if rows.size else zeros(0)
    slopes = algebra.gradient(L, system.q), algebra.gradient(L, system.qd)
    return stack(vector([L]), *slopes, tau if C is None else tau + C, rows.ravel(), rate)


def beside(system: System) -> Array:
    """L, φ, φ̇ and Φ of (q, q̇, t), end to end: what is asked on a varied path."""
    L = kinetic(system.motion, system.qd) - potential(system.motion)
    known, held = system.constraints, [i for i in system.facts.rows if i < system.facts.levels.held]
    return stack(vector([L]), known.phi[held], known.velocity[held], known.A[held].ravel())


def _nodes(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times and weights of quadrature, and q, q̇, q̈ there: polynomials of degree 5 through both ends of every interval."""
    x, w = np.polynomial.legendre.leggauss(_NODES)
    x, w = (x + 1) / 2, w / 2
    h = np.diff(path.t)
    t, weights = path.t[:-1, None] + h[:, None] * x, h[:, None] * w
    q0, q1 = path.q[:, :-1], path.q[:, 1:]
    v0, v1, a0, a1 = h * path.qd[:, :-1], h * path.qd[:, 1:], h**2 * path.qdd[:, :-1], h**2 * path.qdd[:, 1:]
    gap, slope, bend = q1 - q0 - v0 - a0 / 2, v1 - v0 - a0, a1 - a0
    powers = np.stack(
        [q0, v0, a0 / 2, 10 * gap - 4 * slope + bend / 2, -15 * gap + 7 * slope - bend, 6 * gap - 3 * slope + bend / 2]
    )
    k = np.arange(6)[:, None]
    at = (x**k, k * x ** np.maximum(k - 1, 0), k * (k - 1) * x ** np.maximum(k - 2, 0))
    values = [np.einsum("dni,dx->nix", powers, each) for each in at]
    out = [value / h[:, None] ** i for i, value in enumerate(values)]
    flat = [value.reshape(len(path.q), -1) for value in out]
    return t.ravel(), weights.ravel(), flat[0], flat[1], flat[2]
