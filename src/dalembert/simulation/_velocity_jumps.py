"""Jumps of velocities at kinks of prescribed motions and of constraints.

If a formula of a joint or a constraint changes its branch, positions are continuous, and velocities may jump. With the momenta
p = ∂T/∂q̇ and the constraints A q̇ + b = 0, both with the branches on the two sides (− and +),

    p⁺(q̇⁺) − p⁻(q̇⁻) = Aᵀ Λ,    A q̇⁺ + b⁺ = 0,

which are the equations of motion integrated over the instant: Λ are the impulses of the constraints. They are unique as long as
M = ∂p/∂q̇ and A are the same on both sides. If these jump, the path has a corner, where the motion of rigid bodies is not unique,
and the run ends; so it does if a position jumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import SimulationError
from dalembert.mechanics.system import System
from dalembert.simulation.observables import Observed
from dalembert.simulation.trajectory_data import Impulse
from dalembert.symbolic.algebra_base import Array, stack, vector

if TYPE_CHECKING:
    from dalembert.simulation.bound_equations import BoundEquations

_SAME = 1e-9  # of the compared values: smaller differences are rounding
_MAX_ITERATIONS = 30  # of Newton's method, if T is not quadratic in the velocities
_CONVERGED = 1e-13  # of the velocities of the model: the iteration ends at a smaller correction
_RANK_TOLERANCE = 1e-12
_PER_BODY = 28


@dataclass(frozen=True)
class Kink:
    """The instant at which formulas change their branch, with the equations on both sides."""

    t: float
    q: np.ndarray
    qd: np.ndarray  # just before
    before: BoundEquations
    after: BoundEquations
    names: tuple[str, ...]  # the elements with the kink, for messages
    timed: bool  # the instant depends on time alone
    event: bool = False  # parameters change, by an event

    @property
    def where(self) -> str:
        """The instant and the elements with the kink."""
        return f"at t = {self.t:.9g} {', '.join(self.names)}"


@dataclass(frozen=True)
class KinkSide:
    """The equations on one side of a kink."""

    equations: BoundEquations
    t: float
    q: np.ndarray

    def levels(self, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """φ, the rates of all constraints, A and M."""
        return self.equations.workspace.manifold.evaluate(self.q, qd, self.t, self.equations.values)

    def momenta(self, qd: np.ndarray) -> np.ndarray:
        """∂T/∂q̇."""
        return self.observed(qd).momenta[:, 0]

    def observed(self, qd: np.ndarray) -> Observed:
        """Energies and momenta."""
        along = self.equations.workspace.observables.along
        return along(np.array([self.t]), self.q[:, None], qd[:, None], self.equations.values)

    def bodies(self, qd: np.ndarray) -> Bodies:
        """Poses and velocities of the bodies."""
        space = self.equations.workspace
        found = space.evaluated(_bodies, (self.q, qd), self.t, self.equations.values)
        return Bodies(found.reshape(-1, _PER_BODY))


@dataclass(frozen=True)
class Bodies:
    """The bodies at one instant, a row for each: mass, inertia, pose and velocities in world axes."""

    rows: np.ndarray

    @property
    def pose(self) -> np.ndarray:
        """Origins (bodies, 3) and rotations (bodies, 9)."""
        return self.rows[:, :12]

    @property
    def mass(self) -> np.ndarray:
        """The masses."""
        return self.rows[:, 12]

    @property
    def center(self) -> np.ndarray:
        """The mass centers."""
        return self.rows[:, 13:16]

    @property
    def velocity(self) -> np.ndarray:
        """The velocities of the mass centers."""
        return self.rows[:, 16:19]

    @property
    def spin(self) -> np.ndarray:
        """The angular momenta about the mass centers."""
        return self.rows[:, 19:22]

    @property
    def carried(self) -> np.ndarray:
        """The terms of the mass-center velocities that do not depend on q̇."""
        return self.rows[:, 22:25]

    @property
    def rheonomic_spin(self) -> np.ndarray:
        """The terms of the angular velocities that do not depend on q̇."""
        return self.rows[:, 25:28]


def _bodies(system: System) -> Array:
    """The rows of `Bodies`, end to end."""
    rows = []
    for body in system.motion.bodies:
        spin = body.R_WB @ (body.inertia @ (body.D @ system.qd + body.E))
        moving = body.B @ system.qd + body.C
        pose = stack(body.frame.p, body.R_WB.ravel(), vector([body.mass]))
        rows += [pose, body.p_WG, moving, spin, body.C, body.R_WB @ body.E]
    return stack(*rows)


class VelocityJump:
    """The velocities after a kink, and its impulses."""

    def __init__(self, kink: Kink) -> None:
        self.kink = kink
        self._before, self._after = (KinkSide(of, kink.t, kink.q) for of in (kink.before, kink.after))
        known = kink.after.workspace.facts
        self._scales, self._facts = known.scales, known
        self._rows = list(kink.after.workspace.manifold.rows)
        self._require_continuous()

    @cached_property
    def _then(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self._before.levels(self.kink.qd)

    @cached_property
    def _now(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self._after.levels(self.kink.qd)

    # continuity of positions

    def _require_continuous(self) -> None:
        """Raise where positions jump."""
        phi, A, q = self._now[0] - self._then[0], self._now[2], self.kink.q
        sizes = np.array(self._facts.sizes, dtype=float) + np.abs(A) @ np.abs(q)
        for i, gap in enumerate(phi):
            if abs(gap) > _SAME * sizes[i] and not self._facts.levels.servo[i]:
                raise self._jump(f"the position that '{self._facts.levels.names[i]}' prescribes jumps by {gap:.6g}")
        names = [body.name for body in self.kink.after.workspace.system.motion.bodies]
        if not names:
            return
        gaps = self._bodies[1].pose - self._bodies[0].pose
        length = self._scales.length + np.abs(self._bodies[0].pose[:, :3]).max()
        for name, gap in zip(names, gaps, strict=True):
            if np.abs(gap[:3]).max() > _SAME * length or np.abs(gap[3:]).max() > _SAME:
                far, turn = np.linalg.norm(gap[:3]), np.linalg.norm(gap[3:]) / np.sqrt(2)
                raise self._jump(f"the position of body '{name}' jumps by {far:.6g}, its rotation by {turn:.6g}")

    def _jump(self, fact: str) -> SimulationError:
        advice = (
            "Set the other parameters of the motion so that it continues" if self.kink.event else "Use a steep ramp"
        )
        return SimulationError(
            f"{self.kink.where}: {fact}. Expected a continuous position, because rigid bodies cannot jump. {advice}, or a "
            "profile such as dl.cycloidal."
        )

    @cached_property
    def _bodies(self) -> tuple[Bodies, Bodies]:
        """The bodies on both sides, with the velocities before the kink."""
        return self._before.bodies(self.kink.qd), self._after.bodies(self.kink.qd)

    # jump of the velocities

    @cached_property
    def _push(self) -> np.ndarray:
        """p⁺(q̇⁻) − p⁻(q̇⁻); an event that changes masses does not change velocities."""
        if self.kink.event and self._mass_jumps:
            return np.zeros_like(self.kink.q)
        return self._after.momenta(self.kink.qd) - self._before.momenta(self.kink.qd)

    @property
    def _mass_jumps(self) -> bool:
        s = self._scales.velocities
        gap, size = (np.abs(M * np.outer(s, s)).max(initial=0.0) for M in (self._now[3] - self._then[3], self._now[3]))
        return bool(gap > _SAME * size)

    @property
    def _pushes(self) -> bool:
        """True if the momenta jump at equal velocities."""
        s, M = self._scales.velocities, self._now[3]
        size = np.abs(M * s[:, None]) @ (s + np.abs(self.kink.qd))
        return bool((np.abs(self._push * s) > _SAME * max(float(size.max(initial=0.0)), 1e-300)).any())

    def _violated(self, qd: np.ndarray) -> list[int]:
        """The constraints whose rates do not vanish after the kink, without those with feedback."""
        _, rates, A, _ = self._after.levels(qd)
        sizes = np.array(self._facts.sizes, dtype=float) / self._scales.time + np.abs(A) @ np.abs(qd)
        servo = self._facts.levels.servo
        return [i for i in range(len(rates)) if not servo[i] and abs(rates[i]) > _SAME * sizes[i]]

    @property
    def _jumping_rows(self) -> list[int]:
        """The constraints whose rows of A jump."""
        s, old, new = self._scales.velocities, self._then[2], self._now[2]
        size = np.maximum(np.abs(new * s).max(axis=1, initial=0.0), np.abs(old * s).max(axis=1, initial=0.0))
        return np.flatnonzero(np.abs((new - old) * s).max(axis=1, initial=0.0) > _SAME * size).tolist()

    def solve(self) -> tuple[np.ndarray, list[Impulse], list[Impulse]]:
        """q̇ after the kink, and the impulses of constraints and of joints; no impulses if nothing jumps."""
        violated = self._violated(self.kink.qd)
        self._require_no_step()
        if not violated and not self._pushes and (self.kink.event or not self._mass_jumps):
            return self.kink.qd, [], self._of_joints(self.kink.qd)
        self._require_law(violated)
        qd, impulses = self._jumped()
        if left := self._violated(qd):
            names = ", ".join(f"'{self._facts.levels.names[i]}'" for i in left)
            raise SimulationError(
                f"{self.kink.where}: after the kink no velocities satisfy the constraints {names} together. Expected prescribed "
                "motions that are consistent with each other and with the other constraints. Remove one, or change its rate."
            )
        return qd, self._of_constraints(qd, impulses), self._of_joints(qd)

    def _require_law(self, violated: Sequence[int]) -> None:
        """Raise if the impulses are not determined."""
        levels = self._facts.levels
        nonlinear = [name for name, linear in zip(levels.names, levels.linear, strict=True) if not linear]
        if nonlinear:
            raise SimulationError(
                f"{self.kink.where}: the velocities jump, and the constraint '{nonlinear[0]}' is not linear in the velocities, "
                "so the impulses have no linear equations. Expected linear constraints, or a motion without kinks: smooth "
                "the kink."
            )
        if jumping := self._jumping_rows:
            names = ", ".join(f"'{levels.names[i]}'" for i in dict.fromkeys([*jumping, *violated]))
            raise self._corner(f"the direction that the constraint {names} permits jumps")
        if self._mass_jumps or (self._pushes and not self.kink.timed):
            if self.kink.timed and self.kink.after.model.energies is not None:
                return  # T(q, q̇, t) with a jump in time: its momenta are continuous
            if not self.kink.event:
                raise self._corner("the direction in which a joint moves its body jumps")

    def _require_no_step(self) -> None:
        """Raise if the potential energy jumps along the motion: the force would be infinite."""
        if self.kink.timed:
            return
        old, new = (side.observed(self.kink.qd) for side in (self._before, self._after))
        gap = float(new.potential[0] - old.potential[0])
        if abs(gap) > _SAME * float(abs(new.kinetic[0]) + abs(new.potential[0]) + abs(old.potential[0])):
            raise SimulationError(
                f"{self.kink.where}: the potential energy jumps by {gap:.6g} along the motion, so its force would be "
                "infinite. Expected a continuous potential. Replace the step by a steep ramp."
            )

    def _corner(self, fact: str) -> SimulationError:
        return SimulationError(
            f"{self.kink.where}: {fact} while the mechanism moves, as at a corner of a path. Expected a smooth path: the "
            "motion of rigid bodies at a corner is not unique. Smooth the corner, such as by sqrt(x**2 + d**2) "
            "instead of abs(x) with a small d; or let the condition depend on time alone."
        )

    def _jumped(self) -> tuple[np.ndarray, np.ndarray]:
        """q̇⁺ and Λ (independent rows), by Newton's method; one iteration if T is quadratic."""
        qd, rows, s = self.kink.qd.copy(), self._rows, self._scales.velocities
        goal, total = self._after.momenta(qd) - self._push, np.zeros(len(rows))
        for _ in range(_MAX_ITERATIONS):
            _, rates, A, M = self._after.levels(qd)
            A, k = A[rows], len(s)
            mass, size = M * np.outer(s, s), np.linalg.norm(A * s, axis=1)
            unit = max(float(np.abs(mass).max(initial=0.0)), 1e-300)
            sides = A * s / np.maximum(size, 1e-300)[:, None]
            K = np.block([[mass / unit, -sides.T], [sides, np.zeros((len(rows), len(rows)))]])
            off = s * (self._after.momenta(qd) - goal - A.T @ total) / unit
            rest = np.concatenate([-off, -rates[rows] / np.maximum(size, 1e-300)])
            found = np.linalg.lstsq(K, rest, rcond=_RANK_TOLERANCE)[0]
            qd, total = qd + s * found[:k], total + found[k:] * unit / np.maximum(size, 1e-300)
            if np.abs(found[:k]).max(initial=0.0) <= _CONVERGED * (1 + np.abs(qd / s).max(initial=0.0)):
                break
        return qd, total

    # recorded impulses

    def _of_constraints(self, qd: np.ndarray, impulses: np.ndarray) -> list[Impulse]:
        """The impulses of the constraints, with the rates on both sides and the energy they add."""
        _, rates, A, M = self._now
        mean, after, s = (qd + self.kink.qd) / 2, self._after.levels(qd)[1], self._scales.velocities
        unit = float(np.abs(M * np.outer(s, s)).max(initial=0.0))
        out = []
        for i, P in zip(self._rows, impulses.tolist(), strict=True):
            if abs(P) * np.abs(A[i] * s).max() > _SAME * unit:
                known = float(-rates[i]), float(after[i]), float(P * (A[i] @ mean))
                out.append(Impulse(self._facts.levels.names[i], self.kink.t, np.array([P]), *known))
        return out

    def _of_joints(self, qd: np.ndarray) -> list[Impulse]:
        """The impulses of joints whose motion has a kink in time, on their child bodies."""
        model = self.kink.after.model
        if model.energies is not None:
            return []
        names = [body.name for body in self.kink.after.workspace.system.motion.bodies]
        parents = {body.name: body.parent for body in model.bodies}
        old, new = self._before.bodies(self.kink.qd), self._after.bodies(qd)
        arms, out = _Arms(names, parents, new.center), []
        for k, name in enumerate(names):
            (c0, e0), (c1, e1) = (arms.relative(k, side.carried, side.rheonomic_spin) for side in (old, new))
            jump = max(float(np.abs(c1 - c0).max()) / self._scales.length, float(np.abs(e1 - e0).max()))
            if jump * self._scales.time <= _SAME:
                continue
            force, moment = arms.gathered(k, new.mass[:, None] * (new.velocity - old.velocity), new.spin - old.spin)
            along = float(np.linalg.norm(c1 - c0)) or float(np.linalg.norm(e1 - e0))
            energy = float(force @ (c0 + c1) + moment @ (e0 + e1)) / 2
            out.append(Impulse(name, self.kink.t, force, along, 0.0, energy))
        return out


@dataclass(frozen=True)
class _Arms:
    """The tree of bodies with their mass centers."""

    names: Sequence[str]
    parents: dict[str, str]
    centers: np.ndarray

    def relative(self, k: int, velocity: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The velocity of the mass center of body k relative to its parent, and the angular velocity."""
        parent = self.parents[self.names[k]]
        if parent not in self.names:
            return velocity[k], turn[k]
        p = list(self.names).index(parent)
        moved = velocity[p] + np.cross(turn[p], self.centers[k] - self.centers[p])
        return velocity[k] - moved, turn[k] - turn[p]

    def gathered(self, k: int, force: np.ndarray, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sum of the forces on body k and its descendants, and their moment about its mass center."""
        total, turning = np.zeros(3), np.zeros(3)
        for i, name in enumerate(self.names):
            above = name
            while above in self.parents and above != self.names[k]:
                above = self.parents[above]
            if above == self.names[k]:
                total = total + force[i]
                turning = turning + moment[i] + np.cross(self.centers[i] - self.centers[k], force[i])
        return total, turning
