"""The action along a path and its variations: a numerical demonstration of Hamilton's principle of least action.

Source: papers/desapio, Principle 5.1 (d'Alembert), Principle 5.2 (Hamilton), (5.158)–(5.169), constrained (5.258)–(5.263).

| symbol | name | meaning |
|---|---|---|
| I | `action` | ∫ L dt along the path (5.158) |
| δq | | a variation: smooth, random, Φ δq = 0, zero at both ends (5.258) |
| δI | `first` | ∫ (∂L/∂q · δq + ∂L/∂q̇ · δq̇ + τ · δq) dt (5.161), (5.162) |
| ε | `steps` | how far along δq the path is moved |
| I(ε) − I(0) | `changes` | of the path q + ε δq, projected onto φ = 0, with the virtual work of τ |

Along a motion δI vanishes and I(ε) − I(0) decreases with ε²; along any other path with the same ends it decreases with ε. Forces
without potential, and C of non-ideal constraints, enter through their virtual work (5.161). Velocity constraints restrict δq by
d'Alembert's rule, A δq = 0 at fixed time, and δq̇ = d(δq)/dt: the varied path itself need not satisfy them (Hölder). In that case
the principle is a principle of virtual work and not of least action; `of_work` is True.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dalembert.arguments import as_finite_array
from dalembert.errors import InputError
from dalembert.mechanics.energies import generalized_forces, kinetic, non_ideal_forces, potential
from dalembert.mechanics.system import System
from dalembert.model.immutable import FrozenValue
from dalembert.symbolic.algebra_base import Array, stack, vector, zeros

_QUADRATURE_NODES = 6  # Gauss–Legendre nodes between two samples
_SINE_TERMS = 4  # of every random variation
_MAX_ITERATIONS = 20  # of Newton's method for the projection onto the constraints
_PROJECTION_TOLERANCE = 1e-13
_VANISHING = 1e-6  # a first variation below this fraction of its terms counts as zero
_ROUNDING = 1e-11  # changes below this fraction of the action are rounding errors


class Path(NamedTuple):
    """A motion or any other path: times (K,), and q, q̇ and q̈ at them (n, K)."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray

    @classmethod
    def read(cls, n: int, t: npt.ArrayLike, *state: npt.ArrayLike) -> Path:
        """Create a path of n coordinates from the arguments of a user."""
        times = as_finite_array(t, "t")
        found = [as_finite_array(x, name) for x, name in zip(state, ("q", "qd", "qdd"), strict=True)]
        if times.ndim != 1 or len(times) < 2 or not (np.diff(times) > 0).all():
            raise InputError("t: a path requires at least two increasing times.")
        for x, name in zip(found, ("q", "qd", "qdd"), strict=True):
            if x.shape != (n, len(times)):
                raise InputError(f"{name} has shape {x.shape}. Expected {(n, len(times))}, one column for each time.")
        return cls(times, *found)


@dataclass(frozen=True)
class ActionVariation(FrozenValue):
    """The action of a path, and how it changes under random variations, a row for each of them."""

    action: float  # I (5.158)
    first: np.ndarray  # δI (5.161), (variations,)
    sizes: np.ndarray  # of the terms that cancel in it: ∫ |∂L/∂q·δq| + |∂L/∂q̇·δq̇| + |τ·δq| dt
    steps: np.ndarray  # ε, (steps,)
    changes: np.ndarray  # I(ε) − I(0) + ∫ τ·(q_ε − q) dt, (variations, steps)
    of_work: bool  # velocity constraints or forces without potential: a principle of virtual work

    @property
    def ratios(self) -> np.ndarray:
        """|δI| relative to the terms that cancel in it: near rounding along a motion, of order one along another path."""
        return np.abs(self.first) / self.sizes

    @property
    def vanishes(self) -> bool:
        """True if the first variation vanishes for all computed variations."""
        return bool((self.ratios < _VANISHING).all())

    @property
    def orders(self) -> np.ndarray:
        """The order in ε of the change: 2 along a motion, 1 along another path; NaN if the change is rounding."""
        change = np.abs(self.changes)
        significant = change > _ROUNDING * (abs(self.action) + self.sizes[:, None] * self.steps)
        with np.errstate(all="ignore"):
            slopes = np.diff(np.log(change), axis=1) / np.diff(np.log(self.steps))
        slopes = np.where(significant[:, 1:] & significant[:, :-1], slopes, np.nan)
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
    """The action of paths of one system; `evaluate` and `evaluate_varied` are `path_quantities` and `varied_path_quantities`."""

    def __init__(
        self, system: System, evaluate: Callable[..., np.ndarray], evaluate_varied: Callable[..., np.ndarray]
    ) -> None:
        self._evaluate, self._evaluate_varied = evaluate, evaluate_varied
        facts = system.facts
        self._n, self._rows = len(system.q), len(facts.rows)
        # holonomic constraints without feedback: varied paths are projected onto these
        self._phi_rows = [
            k for k, i in enumerate(facts.rows) if i < facts.levels.n_holonomic and not facts.levels.servo[i]
        ]
        self._n_holonomic = sum(i < facts.levels.n_holonomic for i in facts.rows)
        self._scale = facts.scales.positions
        forces, C = generalized_forces(system.motion), non_ideal_forces(system.motion)
        forced = C is not None or not all(map(system.algebra.is_zero, forces))
        self.of_work = self._rows > len(self._phi_rows) or forced

    def action(self, path: Path) -> float:
        """∫ L dt (5.158)."""
        t, weights, q, qd, _ = _nodes(path)
        return float(self._evaluate_varied(q, qd, t)[0] @ weights)

    def variation(self, path: Path, steps: np.ndarray, count: int, seed: int) -> ActionVariation:
        """The first variation and the changes of the action for `count` random variations."""
        t, weights, q, qd, qdd = _nodes(path)
        n, k = self._n, self._rows
        values = self._evaluate(q, qd, qdd, t)
        L, L_q, p, tau, A, Ad = np.split(values, np.cumsum([1, n, n, n, k * n]))
        A, Ad = (np.moveaxis(x.reshape(k, n, len(t)), -1, 0) for x in (A, Ad))
        start, random = float(L[0] @ weights), np.random.default_rng(seed)
        first, sizes, changes = [], [], []
        for _ in range(count):
            eta, etad = self._random_variation(random, t, (float(path.t[0]), float(path.t[-1])))
            dq, dqd = self._admissible(eta, etad, A, Ad)
            parts = np.sum(L_q * dq, axis=0), np.sum(p * dqd, axis=0), np.sum(tau * dq, axis=0)
            first.append(float(sum(parts) @ weights))  # (5.161), (5.162)
            sizes.append(float(sum(map(np.abs, parts)) @ weights))
            row = []
            for step in steps:
                x, xd = self._projected((q, qd, t), step * dq, step * dqd, A, Ad)
                work = np.sum(tau * (x - q), axis=0)
                row.append(float((self._evaluate_varied(x, xd, t)[0] - L[0] + work) @ weights))
            changes.append(row)
        return ActionVariation(start, np.array(first), np.array(sizes), steps, np.array(changes), self.of_work)

    def _random_variation(
        self, random: np.random.Generator, t: np.ndarray, ends: tuple[float, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Random sums of sines that vanish at both ends, and their rates: (n, nodes)."""
        begin, end = ends
        k = np.arange(1, _SINE_TERMS + 1)[:, None] * np.pi / (end - begin)
        weights = random.normal(size=(self._n, _SINE_TERMS)) / np.arange(1, _SINE_TERMS + 1) * self._scale[:, None]
        phase = k * (t - begin)
        return weights @ np.sin(phase), weights @ (k * np.cos(phase))

    def _admissible(
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

    def _projected(
        self,
        base: tuple[np.ndarray, np.ndarray, np.ndarray],
        dq: np.ndarray,
        dqd: np.ndarray,
        A: np.ndarray,
        Ad: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """q + δq projected onto φ = 0 along S Aᵀ of the path itself, x = q + δq + S Aᵀ μ, and its exact rate."""
        (q, qd, t), phi_rows = base, self._phi_rows
        x, xd = q + dq, qd + dqd
        if not phi_rows:
            return x, xd
        S, rows = self._scale[:, None] ** 2, A[:, phi_rows]
        At, Adt = S * np.swapaxes(rows, 1, 2), S * np.swapaxes(Ad[:, phi_rows], 1, 2)
        mu = np.zeros((len(t), len(phi_rows), 1))
        for _ in range(_MAX_ITERATIONS):
            phi, _, there = self._constraints(x, xd, t)
            step = np.linalg.solve(there @ At, phi.T[..., None])
            mu -= step
            x = q + dq + (At @ mu)[..., 0].T
            if np.abs(At @ step)[..., 0].max() <= _PROJECTION_TOLERANCE * float(self._scale.max()):
                break
        else:
            raise InputError(
                "variation: the projection of a varied path onto the constraints did not converge. Use smaller `steps`."
            )
        velocity = xd + (Adt @ mu)[..., 0].T
        _, rate, there = self._constraints(x, velocity, t)
        mud = -np.linalg.solve(there @ At, rate.T[..., None])
        return x, velocity + (At @ mud)[..., 0].T

    def _constraints(self, x: np.ndarray, xd: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """φ, φ̇ and Φ of the constraints that paths are projected onto."""
        h, n, phi_rows = self._n_holonomic, self._n, self._phi_rows
        values = self._evaluate_varied(x, xd, t)
        phi, rate, A = np.split(values[1:], [h, 2 * h])
        return phi[phi_rows], rate[phi_rows], np.moveaxis(A.reshape(h, n, len(t)), -1, 0)[:, phi_rows]


def path_quantities(system: System) -> Array:
    """L, ∂L/∂q, ∂L/∂q̇, τ, A and Ȧ of (q, q̇, q̈, t), concatenated."""
    algebra, rows = system.algebra, system.constraints.A[list(system.facts.rows)]
    L = kinetic(system.motion, system.qd) - potential(system.motion)
    tau, C = generalized_forces(system.motion), non_ideal_forces(system.motion)
    rate = system.derivative(rows.ravel()) if rows.size else zeros(0)
    slopes = algebra.gradient(L, system.q), algebra.gradient(L, system.qd)
    return stack(vector([L]), *slopes, tau if C is None else tau + C, rows.ravel(), rate)


def varied_path_quantities(system: System) -> Array:
    """L, φ, φ̇ and Φ of (q, q̇, t), concatenated: the quantities needed on a varied path."""
    L = kinetic(system.motion, system.qd) - potential(system.motion)
    known, phi_rows = system.constraints, [i for i in system.facts.rows if i < system.facts.levels.n_holonomic]
    return stack(vector([L]), known.phi[phi_rows], known.velocity[phi_rows], known.A[phi_rows].ravel())


def _nodes(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Quadrature times and weights, and q, q̇, q̈ there, by quintic Hermite interpolation in every interval."""
    x, w = np.polynomial.legendre.leggauss(_QUADRATURE_NODES)
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
