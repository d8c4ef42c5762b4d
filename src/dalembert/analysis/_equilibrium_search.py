"""Where a model can rest, or go on steadily: roots of its dynamics with q̈ = 0 on the constraints.

    r(q, q̇, 0, λ, t) = 0,     φ(q, t) = 0,     and for steady motions φ̇ = ψ = 0

Two roads lead there from each start. Levenberg's method finds every kind of root. A slow motion downhill, (M/h² + r_q) δq = −r
with h that grows, leads to those that are stable, also from where nothing is felt yet, such as above the ground.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.analysis.linear._residuals import Point, Residuals, Solved, followers_in, reduced, state_units
from dalembert.mechanics import rank

_ROUNDS, _DOWNHILL = 120, 300
_FOUND = 1e-9  # residuals in scales of the model
_ROUNDING = 1e-14
_NONE = 1e-13
_ALONE = 1e-9  # singular values below this share are zero: other roots lie beside
_FARTHEST = 0.5  # of the scale of a coordinate in one step downhill
_ZERO = 1e-9  # of the largest eigenvalue
_SYMMETRIC = 1e-9


@dataclass(frozen=True)
class Unknowns:
    """What is looked for: positions, rates and parameters, by their places; and which equations hold."""

    q: tuple[int, ...]
    qd: tuple[int, ...]
    parameters: tuple[int, ...]  # among all parameters, in the order of the slopes
    rows: tuple[int, ...]  # of the dynamics
    steady: bool  # the velocity level counts


@dataclass(frozen=True)
class Search:
    """The search for roots of one model."""

    residuals: Residuals
    unknowns: Unknowns

    @property
    def _units(self) -> tuple[np.ndarray, np.ndarray]:
        """The scales of the unknowns and of the equations."""
        facts, want, scales = self.residuals.system.facts, self.unknowns, self.residuals.system.facts.scales
        energy, sizes = scales.mass * scales.length**2 / scales.time**2, np.array(facts.sizes)
        force = energy / scales.positions
        columns = [scales.positions[list(want.q)], scales.velocities[list(want.qd)]]
        rows = [force[list(want.rows)], sizes[: facts.levels.held]]
        rows += [sizes / scales.time] if want.steady else []
        return np.concatenate(columns), np.concatenate(rows)

    def _equations(self, point: Point) -> np.ndarray:
        places, found = self.residuals.places, self.residuals.at(point)
        parts = [found[places["dynamics"]][list(self.unknowns.rows)], found[places["position"]]]
        return np.concatenate([*parts, *([found[places["velocity"]]] if self.unknowns.steady else [])])

    def _slopes(self, point: Point) -> np.ndarray:
        """By the unknowns and, behind them, λ."""
        want, places, slopes = self.unknowns, self.residuals.places, self.residuals.slopes(point)
        r = slopes.rows(places["dynamics"]).rows(list(want.rows))
        blocks = [r, slopes.rows(places["position"])]
        blocks += [slopes.rows(places["velocity"])] if want.steady else []
        columns = [(b.q[:, list(want.q)], b.qd[:, list(want.qd)], b.parameters, b.lam) for b in blocks]
        return np.concatenate([np.concatenate(each, axis=1) for each in columns])

    def _moved(self, point: Point, step: np.ndarray) -> Point:
        want = self.unknowns
        a, b, c = np.cumsum([len(want.q), len(want.qd), len(want.parameters)])
        q, qd, p = point.q.copy(), point.qd.copy(), point.parameters.copy()
        q[list(want.q)] += step[:a]
        qd[list(want.qd)] += step[a:b]
        p[list(want.parameters)] += step[b:c]
        return replace(point, q=q, qd=qd, parameters=p, lam=point.lam + step[c:])

    def _step(self, point: Point, damping: float) -> np.ndarray:
        """The smallest step that removes the equations to first order, shorter with damping; λ is never damped."""
        columns, rows = self._units
        J, f = self._slopes(point) / rows[:, None], self._equations(point) / rows
        k = len(point.lam)
        J[:, J.shape[1] - k :] = self._carried(J)
        unit = np.ones(J.shape[1])
        unit[: len(columns)] = columns
        bare = len(unit) - k
        for j in range(len(columns), len(unit)):  # parameters and λ by the size of what they do
            size = float(np.linalg.norm(J[:, j]))
            unit[j] = 1 / size if size > 0 else 1.0
        J = J * unit
        lift = np.sqrt(damping) * np.eye(bare, len(unit))
        found = np.linalg.lstsq(np.concatenate([J, lift]), -np.concatenate([f, np.zeros(bare)]), rcond=1e-13)[0]
        return found * unit

    def size(self, point: Point) -> float:
        """How far the equations are from zero, in scales of the model, with the best λ."""
        return float(np.abs(self._equations(point) / self._units[1]).max(initial=0.0))

    def balanced(self, point: Point) -> Point:
        """The same state with the λ that leave least of the dynamics."""
        if not len(point.lam):
            return point
        free, rows = replace(point, lam=np.zeros_like(point.lam)), self._units[1]
        J, f = self._carried(self._slopes(free) / rows[:, None]), self._equations(free) / rows
        return replace(point, lam=np.linalg.lstsq(J, -f, rcond=1e-13)[0])

    def _carried(self, J: np.ndarray) -> np.ndarray:
        """What λ do, by as many combinations as there are independent constraints.

        Redundant ones look independent where the constraints are not met to the last digit; their differences, with huge λ, would
        carry any load at any place.
        """
        facts = self.residuals.system.facts
        k, count = len(facts.levels.names), len(facts.rows)
        part = J[:, J.shape[1] - k :]
        if count == k:
            return part
        U, sigma, Vt = np.linalg.svd(part, full_matrices=False)
        return (U[:, :count] * sigma[:count]) @ Vt[:count]

    def family(self, point: Point) -> int:
        """In how many directions other roots lie beside a root."""
        J, k, count = self._slopes(point) / self._units[1][:, None], len(point.lam), len(self._units[0])
        J[:, :count] *= self._units[0]
        carried = J[:, J.shape[1] - k :]
        if k:
            J = J - carried @ np.linalg.pinv(carried, rcond=1e-12) @ J
        left = J[:, : J.shape[1] - k]
        sigma = np.linalg.svd(left, compute_uv=False) if left.size else np.zeros(0)
        return left.shape[1] - int((sigma > _ALONE * sigma.max(initial=0.0)).sum())

    def root(self, start: Point) -> Point | None:
        """A root by Levenberg's method, None where it does not lead to one."""
        point, damping = self.balanced(start), 1e-2
        now = self.size(point)
        for _ in range(_ROUNDS):
            if now < _ROUNDING:
                break
            trial = self.balanced(self._moved(point, self._step(point, damping)))
            then = self.size(trial)
            if np.isfinite(then) and then < now:
                damping = damping * 0.1 if damping > 1e-14 else 0.0
                finished = now < _FOUND and then > 0.5 * now
                point, now = trial, then
                if finished:
                    break
            elif damping > 1e6 or (now < _FOUND and damping == 0.0):
                break
            else:
                damping = max(10 * damping, 1e-12)
        return self._rounded(point) if now < _FOUND else None

    def _rounded(self, point: Point) -> Point:
        """The same with zero for what is rounding."""
        scale = self.residuals.system.facts.scales.positions
        trial = self.balanced(replace(point, q=np.where(np.abs(point.q) < _NONE * scale, 0.0, point.q)))
        return trial if self.size(trial) <= max(self.size(point), _ROUNDING) else point

    def downhill(self, start: Point) -> Point:
        """Where a slow motion along the forces leads, unless it goes on for ever."""
        facts, places = self.residuals.system.facts, self.residuals.places
        scales, n = facts.scales, len(start.q)
        point, h, last = self.balanced(start), scales.time, np.inf
        held = [i for i in range(n) if i not in self.unknowns.q]
        lock = np.eye(n)[held]
        for _ in range(_DOWNHILL):
            slopes, found = self.residuals.slopes(point), self.residuals.at(point)
            r, phi, A = slopes.rows(places["dynamics"]), found[places["position"]], slopes.rows(places["velocity"]).qd
            rows = np.concatenate([A, lock])
            pseudo, N = (
                rank.split(rows, scales.positions) if len(rows) else (np.zeros((n, 0)), np.diag(scales.positions))
            )
            force = -(found[places["dynamics"]] + A.T @ point.lam) if len(A) else -found[places["dynamics"]]
            now = float(np.abs(N.T @ force).max(initial=0.0)) / (scales.mass * scales.length**2 / scales.time**2)
            if now < _ROUNDING or not np.isfinite(now) or not N.shape[1]:
                break
            h = h * (0.4 if now > 2 * last else 1.3 if now > 0.5 * last else 3.0)
            last = now
            back = np.zeros(len(rows))
            back[: len(phi)] = -phi
            first = pseudo @ back
            K = N.T @ (r.qdd / h**2 + r.q) @ N
            inner = np.linalg.lstsq(K, N.T @ (force - r.q @ first), rcond=None)[0]
            if inner @ (N.T @ force) < 0:  # uphill: a heavier motion follows the force
                inner = np.linalg.lstsq(N.T @ r.qdd @ N / h**2, N.T @ force, rcond=None)[0]
            step = first + N @ inner
            far = float(np.abs(step / scales.positions).max(initial=0.0))
            point = self.balanced(replace(point, q=point.q + step * min(1.0, _FARTHEST / max(far, 1e-300))))
        return point


@dataclass(frozen=True)
class Stability:
    """`stable`, `unstable`, `marginal` (all that moves lies on the imaginary axis) or `undecided`; and the reason."""

    verdict: str
    reason: str


def by_hessian(found: Solved, locked: tuple[int, ...]) -> Stability | None:
    """By the second variation of the potential on the constraints, at rest; None where forces have no potential.

    With K positive definite and forces that take energy out, or none, the equilibrium is stable (Lagrange, Dirichlet, Kelvin);
    with a negative direction it is not.
    """
    from scipy import linalg

    r, N = found.by_row["dynamics"], found.split[1]
    if locked:
        N = N @ rank.split(N[list(locked)])[1]
    if not N.shape[1]:
        return Stability("stable", "nothing can move")
    M, K, D = (N.T @ each @ N for each in (found.M, r.q, r.qd))
    size = np.abs(K).max(initial=0.0)
    if np.abs(K - K.T).max() > _SYMMETRIC * size:
        return None
    taken = linalg.eigvalsh((D + D.T) / 2, M)
    if taken[0] < -_ZERO * max(np.abs(taken).max(), np.sqrt(size / np.abs(M).max())):
        return None
    squares = linalg.eigvalsh((K + K.T) / 2, M)
    least, most = squares[0], np.abs(squares).max()
    said = "of the Hessian of the potential on the constraints, by the masses, is"
    if least > _ZERO * most:
        return Stability("stable", f"the smallest eigenvalue {said} {least:.6g}")
    if least < -_ZERO * most:
        return Stability("unstable", f"the smallest eigenvalue {said} {least:.6g}")
    return Stability("undecided", "the Hessian of the potential on the constraints is zero along some direction")


def by_spectrum(found: Solved) -> Stability:
    """By the eigenvalues of the linear equations; those of followers are none."""
    from scipy import linalg

    linear = reduced(found)
    followers = followers_in(linear.A, state_units(found, linear.chosen), len(linear.chosen))
    rest = [i for i in range(len(linear.A)) if i not in followers]
    values = linalg.eigvals(linear.A[np.ix_(rest, rest)])
    size = np.abs(values).max(initial=0.0)
    # a double zero is known to half of the digits only
    moving = values[np.abs(values) > np.sqrt(_ZERO) * 1e-2 * size] if size else values[:0]
    still = len(values) - len(moving)
    largest = float(np.real(moving).max(initial=-np.inf))
    beside = f", besides {still} zero" if still else ""
    said = f"the largest real part of the spectrum{beside} is"
    if not len(moving):
        return Stability("undecided", "all eigenvalues are zero")
    if largest > _ZERO * size:
        return Stability("unstable", f"{said} {largest:.6g}")
    if largest < -_ZERO * size:
        return Stability("stable", f"{said} {largest:.6g}")
    return Stability("marginal", f"the spectrum{beside} has its largest real part on the imaginary axis")
