"""Assembly: the nearest state that fulfils the constraints, positions first, then velocities, and what it moved.

It works over plain numbers, so a rough guess costs no compilation, and it takes all constraints, redundant ones too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dalembert.algebra import FLOATS, plain
from dalembert.analysis.branches import bends
from dalembert.errors import InconsistentStateError, InputError, nearest
from dalembert.kinematics.constraints import Levels, levels
from dalembert.kinematics.loops import ends
from dalembert.model import Model
from dalembert.structure import samples
from dalembert.structure.facts import mass_matrices
from dalembert.structure.samples import States

_ROUNDS = 60
_TOLERANCE = 1e-12
_GUESSES = 60
_SEED = 2718
_IDLE = 1e-2  # a round that shrinks the violation by a smaller share leads nowhere
_APART = 1e-6  # positions of bodies that differ by less are the same


@dataclass(frozen=True)
class Assembly:
    """A consistent state and the way to it: `moved` and `moved_rates` say by how much each coordinate changed.

    `branch` tells on which side every joint of a loop is bent, seen against its axis: `left`, `right` or `straight`. That is what
    tells elbow up from elbow down.
    """

    q: np.ndarray
    qd: np.ndarray
    moved: dict[str, float]
    moved_rates: dict[str, float]
    branch: dict[str, str] = field(default_factory=dict)
    residual: float = 0.0  # the largest violation that is left

    def __str__(self) -> str:
        changes = [f"{name} by {x:+.6g}" for name, x in self.moved.items() if abs(x) > 1e-12]
        rates = [f"{name} by {x:+.6g}" for name, x in self.moved_rates.items() if abs(x) > 1e-12]
        said = f"positions moved: {', '.join(changes) or 'none'}; velocities changed: {', '.join(rates) or 'none'}"
        bent = ", ".join(f"{joint} {side}" for joint, side in self.branch.items())
        return f"{said}; branch: {bent}" if bent else said


def assemble(
    model: Model,
    q: np.ndarray,
    qd: np.ndarray,
    t: float = 0.0,
    *,
    weights: Mapping[str, float] | None = None,
    keep: Sequence[str] = (),
) -> Assembly:
    """Mass-weighted projection; `weights` make coordinates heavier to move, those in `keep` do not move at all.

    Contacts and the norms of quaternions must be written as formulas already.
    """
    return _Assembler(model, weights or {}, keep).at(q, qd, t)


def all_branches(
    model: Model, q: np.ndarray, qd: np.ndarray, t: float = 0.0, *, keep: Sequence[str] = (), guesses: int = _GUESSES
) -> list[Assembly]:
    """The different ways to close the loops that are found from many guesses, the nearest first.

    Coordinates that no constraint ties stay where they are; those that are tied must not be left a freedom.
    """
    assembler = _Assembler(model, {}, keep)
    rng = np.random.default_rng(_SEED)
    draws = [np.pi * rng.uniform(-1, 1, len(q)) * assembler.free for _ in range(guesses)]
    tied = assembler.movable = assembler.tied([q, *(q + draw for draw in draws)], t)
    found: list[Assembly] = []
    poses: list[np.ndarray] = []
    for draw in [np.zeros_like(q), *draws[1:]]:
        try:
            closed = assembler.at(q + draw * tied, qd, t, origin=q)
        except InconsistentStateError:
            continue
        pose = assembler.pose(closed.q, t)
        if all(np.abs(pose - other).max() > _APART for other in poses):
            found.append(closed)
            poses.append(pose)
    if not found:
        assembler.at(q, qd, t)  # says why
    assembler.require_separate(found, tied, t)
    return sorted(found, key=lambda a: float(np.linalg.norm(a.q - q)))


class _Assembler:
    """Newton's method on the constraints of one model, damped so that a rough guess does not run away."""

    def __init__(self, model: Model, weights: Mapping[str, float], keep: Sequence[str]) -> None:
        names = model.coordinate_names
        for name in (*keep, *weights):
            if name not in names:
                raise InputError(f"assemble: there is no coordinate '{name}'. {nearest(name, names)}")
        heavy = np.array([weights.get(name, 1.0) for name in names], dtype=float)
        if not (np.isfinite(heavy).all() and (heavy > 0).all()):
            raise InputError("assemble: weights must be positive numbers.")
        self.model, self.scale = model, np.sqrt(heavy)
        self.free = np.array([name not in keep for name in names])
        self.movable = self.free  # of the positions
        self.facts: Levels = levels(model)
        self.rows = [i for i, driven in enumerate(self.facts.servo) if not driven]
        self.held = [i for i in self.rows if i < self.facts.held]

    def at(self, q: np.ndarray, qd: np.ndarray, t: float, origin: np.ndarray | None = None) -> Assembly:
        names, start = self.model.coordinate_names, q if origin is None else origin
        new_q = self._without_turns(self._positions(q, t), start, t)
        self._require_proper(new_q, t)
        new_qd = self._velocities(new_q, qd, t)
        moved = dict(zip(names, (new_q - start).tolist(), strict=True))
        rates = dict(zip(names, (new_qd - qd).tolist(), strict=True))
        phi, psi, _ = self._look(new_q, new_qd, t)
        left = float(max(np.abs(phi[self.held]).max(initial=0.0), np.abs(psi[self.rows]).max(initial=0.0)))
        return Assembly(new_q, new_qd, moved, rates, bends(self.model, new_q, t), left)

    def tied(self, guesses: Sequence[np.ndarray], t: float) -> np.ndarray:
        """Which of the free coordinates some position constraint depends on."""
        slopes = [np.abs(np.nan_to_num(self._look(q, np.zeros_like(q), t)[2][self.held])) for q in guesses]
        return self.free & (np.array(slopes).max(axis=(0, 1), initial=0.0) > 0)

    def pose(self, q: np.ndarray, t: float) -> np.ndarray:
        """Where all bodies are, as one row of numbers; the coordinates themselves where there are no bodies."""
        bodies = samples.at(self.model, self._state(q, np.zeros_like(q), t)).bodies
        parts = [plain(x.ravel()) for body in bodies for x in (body.frame.R, body.frame.p)]
        return np.concatenate(parts) if parts else q

    def require_separate(self, found: Sequence[Assembly], tied: np.ndarray, t: float) -> None:
        """Raise when the loops can still move, so that their positions are no separate branches."""
        rows, count = self.held, int(tied.sum())
        A = [self._look(each.q, np.zeros_like(each.q), t)[2][rows][:, tied] for each in found]
        left = count - max((int(np.linalg.matrix_rank(a, tol=1e-9)) for a in A if a.size), default=0)
        if left > 0:
            names = [name for name, yes in zip(self.model.coordinate_names, tied, strict=True) if yes]
            raise InputError(
                f"branches: the coordinates {', '.join(names)} can still move together in {left} "
                f"{'way' if left == 1 else 'ways'}, so their positions are no separate branches. Name as many more of them "
                "in `keep`."
            )

    def _without_turns(self, q: np.ndarray, start: np.ndarray, t: float) -> np.ndarray:
        """The same position with the coordinates brought near to the start by full turns, where these change nothing."""
        for i in np.flatnonzero(np.round((q - start) / (2 * np.pi)) if self.model.bodies else []):
            trial = q.copy()
            trial[i] -= 2 * np.pi * np.round((q[i] - start[i]) / (2 * np.pi))
            here, there = (self._look(x, np.zeros_like(q), t)[0][self.held] for x in (q, trial))
            if (
                np.abs(self.pose(q, t) - self.pose(trial, t)).max() < 1e-9
                and np.abs(here - there).max(initial=0.0) < 1e-9
            ):
                q = trial
        return q

    def _require_proper(self, q: np.ndarray, t: float) -> None:
        """Rows of a joint also vanish where its halves are turned over; such a position is none of the joint's."""
        if not self.model.loops:
            return
        motion = samples.at(self.model, self._state(q, np.zeros_like(q), t))
        for loop in self.model.loops:
            F, M = ends(loop, motion)
            R_F, R_M, d = (plain(x) for x in (F.R, M.R, M.p - F.p))
            R, p = R_F.T @ R_M, R_F.T @ d
            values = loop.joint.measure(R, p)
            off = [loop.joint.turn(FLOATS, values) - R, loop.joint.shift(FLOATS, values) - p]
            if not loop.feedback and max(np.abs(x.astype(float)).max() for x in off) > _APART:
                raise InconsistentStateError(
                    f"assemble: loop '{loop.name}' would be closed with the halves of its {loop.joint.kind} joint turned over "
                    "against each other, as the joint cannot be. Give another guess, or turn the half on "
                    f"'{loop.bodies[1]}' round by `rotation`."
                )

    def _look(self, q: np.ndarray, qd: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """φ, the velocity residual and A at one state."""
        with np.errstate(all="ignore"):
            known = samples.constraints_at(self.model, self.facts, self._state(q, qd, t))
            return tuple(plain(x) for x in (known.phi, known.velocity, known.A))  # type: ignore[return-value]

    def _state(self, q: np.ndarray, qd: np.ndarray, t: float) -> States:
        return States(q[:, None], qd[:, None], np.array([t]))

    def _step(self, q: np.ndarray, A: np.ndarray, residual: np.ndarray, t: float, free: np.ndarray) -> np.ndarray:
        """The smallest change of what is free, in the weighted metric of M, that removes the residual to first order."""
        with np.errstate(all="ignore"):
            M = mass_matrices(self.model, self._state(q, np.zeros_like(q), t))[0]
        self._require_finite(q, residual, A, M)
        scale = self.scale
        metric = scale[:, None] * M * scale[None, :]
        metric = metric[np.ix_(free, free)]
        metric = metric + 1e-12 * max(np.trace(metric) / max(len(metric), 1), 1e-12) * np.eye(len(metric))
        root = np.linalg.cholesky(metric)
        B = np.linalg.solve(root, A[:, free].T).T
        out = np.zeros(len(free))
        out[free] = np.linalg.solve(root.T, np.linalg.pinv(B, rcond=1e-9) @ residual)
        return out

    def _positions(self, q: np.ndarray, t: float) -> np.ndarray:
        rows, still, idle = self.held, np.zeros_like(q), 0
        for _ in range(_ROUNDS if rows else 0):
            phi, _, A = self._look(q, still, t)
            if np.max(np.abs(phi[rows])) <= _TOLERANCE:
                return q
            shorter, gain = self._shortened(q, self._step(q, A[rows], phi[rows], t, self.movable), phi[rows], t)
            idle = idle + 1 if gain < _IDLE else 0
            q = q - shorter
            if gain <= 0 or idle > 6:  # a place where the violation is smallest, but not zero
                break
        if rows:
            phi, *_ = self._look(q, still, t)
            self._require(phi, rows, "position")
        return q

    def _shortened(self, q: np.ndarray, step: np.ndarray, phi: np.ndarray, t: float) -> tuple[np.ndarray, float]:
        """The step halved until the violation shrinks, so that a rough guess does not run away, and the share it shrinks by."""
        size = np.linalg.norm(phi)
        for _ in range(12):
            trial, *_ = self._look(q - step, np.zeros_like(q), t)
            left = np.linalg.norm(trial[self.held])
            if left < size:
                return step, float(1 - left / size)
            step = step / 2
        return 0 * step, 0.0

    def _velocities(self, q: np.ndarray, qd: np.ndarray, t: float) -> np.ndarray:
        rows = self.rows
        for _ in range(_ROUNDS if rows else 0):
            _, residual, A = self._look(q, qd, t)
            if np.max(np.abs(residual[rows])) <= _TOLERANCE:
                return qd
            qd = qd - self._step(q, A[rows], residual[rows], t, self.free)
        if rows:
            _, residual, _ = self._look(q, qd, t)
            self._require(residual, rows, "velocity")
        return qd

    def _require_finite(self, q: np.ndarray, *known: np.ndarray) -> None:
        """Raise where the constraints or the mass matrix have no value, such as for a quaternion of length 0."""
        if not all(np.isfinite(x).all() for x in known):
            shown = ", ".join(f"{name} = {x:.6g}" for name, x in zip(self.model.coordinate_names, q, strict=True))
            raise InconsistentStateError(
                f"assemble: the constraints or the bodies have no finite place at {shown}. Give another guess; "
                "a quaternion starts with w = 1."
            )

    def _require(self, residual: np.ndarray, rows: list[int], level: str) -> None:
        worst = max(rows, key=lambda i: abs(residual[i]))
        if not abs(residual[worst]) <= 1e-9:
            raise InconsistentStateError(
                f"assemble: no state near the given one fulfils the constraints at {level} level; the nearest that was found "
                f"leaves '{self.facts.names[worst]}' at {residual[worst]:.6g}. Give another guess, keep fewer coordinates, or "
                "check the lengths of the links."
            )
