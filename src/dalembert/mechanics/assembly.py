"""Assembly: the nearest state that satisfies the constraints, positions first, then velocities, and the changes.

It is numerical, so a rough guess needs no compilation, and it uses all constraints, including redundant ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dalembert.errors import InconsistentStateError, InputError, suggest_name
from dalembert.mechanics import newton, rank, state_batch
from dalembert.mechanics.constraint_levels import displacement, ends, levels, with_contacts
from dalembert.mechanics.motion import Motion
from dalembert.mechanics.state_batch import States, dimensionless, mass_matrices, one_state
from dalembert.model.constraints.loop import ancestors, loop_bodies
from dalembert.model.description import Elements
from dalembert.model.elements import Body
from dalembert.model.evaluation import Start, start_state
from dalembert.model.model import Model
from dalembert.model.scales import scales_of
from dalembert.symbolic.floats import FLOATS, numbers, to_numeric
from dalembert.symbolic.rotations import roll_pitch_yaw

_COLLINEAR = 1e-9


def bend_sides(model: Elements, q: np.ndarray, t: float = 0.0) -> dict[str, str]:
    """`left`, `right` or `straight` for every revolute joint of every loop, by its child body or the loop's name.

    A joint is bent to the left if the path around the loop turns counterclockwise about the joint axis there.
    """
    if not model.loops:
        return {}
    motion = state_batch.motion_at(model, one_state(q, t=t))
    out: dict[str, str] = {}
    for loop in model.loops:
        joints: list[tuple[str, np.ndarray, np.ndarray | None]] = []
        inward = set(ancestors(model, loop.bodies[0]))
        for name in loop_bodies(model, loop):
            body = next(b for b in model.bodies if b.name == name)
            moving = [joint for joint in body.joints if joint.values]
            if moving:
                axis = getattr(moving[-1], "axis", None) if moving[-1].kind == "revolute" else None
                R = to_numeric(motion.frames[name].R) @ _rotation_after_joint(body, motion).T
                normal = None if axis is None else R @ np.array(axis, float)
                joints.append((name, to_numeric(motion.body(name).p_WJ), normal))
        F, _ = ends(loop, motion)
        axis = getattr(loop.joint, "axis", None) if loop.joint.kind == "revolute" else None
        cut = (loop.name, to_numeric(F.p), None if axis is None else to_numeric(F.R) @ np.array(axis, float))
        first = [j for j in joints if j[0] in inward]
        second = [j for j in joints if j[0] not in inward]
        # from the root of the first chain out to the cut, and back along the second chain
        path = [*reversed(first), cut, *reversed(second)]
        for k, (name, point, normal) in enumerate(path):
            if normal is not None and name not in out:
                here, there = point - path[k - 1][1], path[(k + 1) % len(path)][1] - point
                turn, size = float(normal @ np.cross(here, there)), float(np.linalg.norm(here) * np.linalg.norm(there))
                straight = abs(turn) <= _COLLINEAR * max(size, 1e-300)
                out[name] = "straight" if straight else "left" if turn > 0 else "right"
    return out


def _rotation_after_joint(body: Body, motion: Motion) -> np.ndarray:
    """The rotation from body axes to the axes of the last moving joint: fixed placements may follow it."""
    R = np.eye(3)
    for joint in body.joints:
        rotated = R @ to_numeric(roll_pitch_yaw(motion.algebra, [motion.lower(x) for x in joint.rotation]))
        R = np.eye(3) if joint.values else rotated
    return R


_N_GUESSES = 60
_SEED = 2718
_POSE_TOLERANCE = 1e-6  # poses that differ by less, in scales of the model, are the same
_FULL_TURN_TOLERANCE = 1e-9  # largest change by a full turn that leaves the pose the same
_ROUNDING = 1e-12  # changes below this, in scales of the model, are rounding errors
_MAX_WORK = 4_000_000  # evaluations × coordinates × max(rows, coordinates): some seconds
_MIN_EVALUATIONS = 20  # for models of any size
_LARGE_MODEL = 60  # coordinates above which a failure reports the size of the model


@dataclass(frozen=True)
class Assembly:
    """A consistent state; `moved` and `moved_rates` are the changes of the coordinates and velocities.

    `branch` is the side to which every joint of a loop is bent, viewed against its axis: `left`, `right` or `straight`. It
    distinguishes elbow up from elbow down.
    """

    q: np.ndarray
    qd: np.ndarray
    moved: dict[str, float]
    moved_rates: dict[str, float]
    branch: dict[str, str] = field(default_factory=dict)
    residual: float = 0.0  # the largest remaining violation

    def __str__(self) -> str:
        changes = [f"{name} by {x:+.6g}" for name, x in self.moved.items() if x]
        rates = [f"{name} by {x:+.6g}" for name, x in self.moved_rates.items() if x]
        changed = f"positions moved: {', '.join(changes) or 'none'}; velocities changed: {', '.join(rates) or 'none'}"
        bent = ", ".join(f"{joint} {side}" for joint, side in self.branch.items())
        return f"{changed}; branch: {bent}" if bent else changed


def assemble_state(
    model: Elements,
    q: Start = None,
    qd: Start = None,
    *,
    t: float = 0.0,
    weights: Mapping[str, float] | None = None,
    fixed: Sequence[str] = (),
) -> Assembly:
    """The state nearest to (q, qd), in the metric of the mass matrix, that satisfies the constraints, and the changes.

    Parameters
    ----------
    q, qd : array_like, shape (n,), or mapping of str to float, optional
        The guess, in the order of the coordinates or by name; the initial state of the model if None.
    t : float, default 0.0
        Time.
    weights : mapping of str to float, optional
        Factors of the cost of moving a coordinate, by name; 1 for all others.

    Returns
    -------
    Assembly
        The state `q` and `qd`, each of shape (n,), and the changes by coordinate.

    Raises
    ------
    InputError
        If a name is unknown or a weight is not positive.
    InconsistentStateError
        If no state near the guess satisfies the constraints.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("bead").coordinates("x", "y").holonomic("x**2 + y**2 - 1", name="ring")
    >>> _ = model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    >>> assemble_state(model, [1.1, 0.0], [0.0, 2.0]).q.tolist()
    [1.0, 0.0]
    """
    with_formulas, start = _prepared(model, q, qd, "assemble")
    return Assembler(with_formulas, weights or {}, fixed).at(*start, t)


def assemble_model(model: Elements) -> Model:
    """The model with its initial state projected onto the constraints; the changes are noted.

    Returns
    -------
    Model
        A copy of the model, with a note on the changes.

    Raises
    ------
    InconsistentStateError
        If no state near the initial one satisfies the constraints.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("bead").coordinates("x", "y").holonomic("x**2 + y**2 - 1").start([2, 0], [0, 0])
    >>> _ = model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    >>> assemble_model(model).initial[0].round(9).tolist()
    [1.0, 0.0]
    """
    found = assemble_state(model)
    out = Model.of(model).start(found.q.tolist(), found.qd.tolist())
    out.assemble_start = False
    return out.note(f"the initial state was assembled: {found}")


def branches(
    model: Elements, q: Start = None, qd: Start = None, *, t: float = 0.0, fixed: Sequence[str] = ()
) -> list[Assembly]:
    """The assembly branches of a model with the coordinates in `fixed` fixed, the nearest first.

    The search starts from many guesses with a fixed seed, so a rare branch can be missed. Coordinates that no constraint
    contains stay fixed; the others must have no remaining degree of freedom.

    Parameters
    ----------
    q, qd : array_like, shape (n,), or mapping of str to float, optional
        The state from which distances are measured; the initial state of the model if None.
    t : float, default 0.0
        Time.

    Returns
    -------
    list of Assembly
        One for each branch, the nearest first.

    Raises
    ------
    InputError
        If a name is unknown, or if the coordinates have a degree of freedom left.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("bead").coordinates("x", "y").holonomic("x**2 + y**2 - 1", name="ring")
    >>> _ = model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    >>> [float(a.q[1].round(6)) for a in branches(model, [0.6, 0.5], fixed=["x"])]
    [0.8, -0.8]
    """
    with_formulas, start = _prepared(model, q, qd, "branches")
    return _branches(with_formulas, *start, t, fixed)


def _prepared(model: Elements, q: Start, qd: Start, who: str) -> tuple[Elements, tuple[np.ndarray, np.ndarray]]:
    """The checked model with contacts and norms as formulas, and the initial guess."""
    model.refuse_canonical(who)
    model.require_valid()
    with_formulas = with_contacts(model)
    return with_formulas, start_state(with_formulas, q, qd, who, ("q", "qd"))


def _branches(model: Elements, q: np.ndarray, qd: np.ndarray, t: float, fixed: Sequence[str]) -> list[Assembly]:
    """The assembly branches found from many guesses, the nearest first."""
    assembler = Assembler(model, {}, fixed)
    rng = np.random.default_rng(_SEED)
    reach = np.pi * assembler.scales.positions
    draws = [reach * rng.uniform(-1, 1, len(q)) * assembler.free for _ in range(_N_GUESSES)]
    tied = assembler.movable = assembler.constrained_coordinates([q, *(q + draw for draw in draws)], t)
    closed: list[np.ndarray] = []
    poses: list[np.ndarray] = []
    for each in assembler.closed(np.array([q, *(q + draw * tied for draw in draws[1:])]), t):
        pose = assembler.pose(each, t)
        if all(np.abs(pose - other).max() > _POSE_TOLERANCE for other in poses):
            closed.append(each)
            poses.append(pose)
    if closed:
        assembler.require_separate(closed, tied, t)
    found: list[Assembly] = []
    for each in closed:
        with contextlib.suppress(InconsistentStateError):  # flipped joint frames
            found.append(assembler.at(each, qd, t, origin=q))
    if not found:
        assembler.at(q, qd, t)  # raises with the reason
    return sorted(found, key=lambda a: float(np.linalg.norm((a.q - q) / assembler.scales.positions)))


def _beyond_rounding(change: np.ndarray, scale: np.ndarray) -> list[float]:
    """The changes, with rounding errors set to zero."""
    return np.where(np.abs(change) > _ROUNDING * scale, change, 0.0).tolist()


class Assembler:
    """Damped Newton's method on the constraints of one model, for rough guesses."""

    def __init__(self, model: Elements, weights: Mapping[str, float], fixed: Sequence[str]) -> None:
        names = model.coordinate_names
        for name in (*fixed, *weights):
            if name not in names:
                raise InputError(f"assemble: there is no coordinate '{name}'. {suggest_name(name, names)}")
        heavy = np.array([weights.get(name, 1.0) for name in names], dtype=float)
        if not (np.isfinite(heavy).all() and (heavy > 0).all()):
            raise InputError("assemble: weights must be positive numbers.")
        self.model, self.weights = model, heavy
        self.free = np.array([name not in fixed for name in names])
        self.movable = self.free  # at position level
        self.facts, self.scales = levels(model), scales_of(model)
        self.onto = state_batch.Projector(model, self.facts, self.scales, None)
        self.rows, self.position_rows, self.sizes = self.onto.rows, self.onto.position_rows, self.onto.sizes
        self.max_evaluations = max(_MIN_EVALUATIONS, _MAX_WORK // max(1, len(names) * max(len(names), len(self.rows))))

    def at(self, q: np.ndarray, qd: np.ndarray, t: float, origin: np.ndarray | None = None) -> Assembly:
        """The nearest consistent state; changes are relative to `origin`."""
        names, start = self.model.coordinate_names, q if origin is None else origin
        new_q = self.without_full_turns(self._positions(q, t, again=origin is None), start, t)
        self.require_proper(new_q, t)
        new_qd = self._velocities(new_q, qd, t)
        moved = dict(zip(names, _beyond_rounding(new_q - start, self.scales.positions), strict=True))
        rates = dict(zip(names, _beyond_rounding(new_qd - qd, self.scales.velocities), strict=True))
        phi, psi, _ = self._evaluate(new_q, new_qd, t)
        left = float(max(np.abs(phi[self.position_rows]).max(initial=0.0), np.abs(psi[self.rows]).max(initial=0.0)))
        return Assembly(new_q, new_qd, moved, rates, bend_sides(self.model, new_q, t), left)

    def closed(self, guesses: np.ndarray, t: float) -> np.ndarray:
        """The positions that guesses (K, n) converge to, without those that do not converge."""
        states = States(guesses.T, np.zeros_like(guesses.T), np.full(len(guesses), t))
        with np.errstate(all="ignore"):
            A = numbers(state_batch.constraints_at(self.model, self.facts, states).A, len(guesses))
            M = mass_matrices(self.model, states)
        finite = np.flatnonzero(np.isfinite(M).all(axis=(1, 2)) & np.isfinite(A).all(axis=(0, 1)))
        if not self.position_rows or not len(finite):
            return guesses[finite]
        root = self._root(self.movable, None, t)
        found = self.onto.level(states.where(finite), position=True, root=root, max_evaluations=self.max_evaluations)
        return found.x[found.converged]

    def constrained_coordinates(self, guesses: Sequence[np.ndarray], t: float) -> np.ndarray:
        """The free coordinates that occur in a position constraint, as a mask."""
        slopes = [np.abs(np.nan_to_num(self._evaluate(q, np.zeros_like(q), t)[2][self.position_rows])) for q in guesses]
        return self.free & (np.array(slopes).max(axis=(0, 1), initial=0.0) > 0)

    def pose(self, q: np.ndarray, t: float) -> np.ndarray:
        """The poses of all bodies as one vector in scales of the model; the coordinates if there are no bodies."""
        bodies = state_batch.motion_at(self.model, one_state(q, t=t)).bodies
        parts = [to_numeric(x.ravel()) for body in bodies for x in (body.frame.R, body.frame.p / self.scales.length)]
        return np.concatenate(parts) if parts else q / self.scales.positions

    def require_separate(self, found: Sequence[np.ndarray], tied: np.ndarray, t: float) -> None:
        """Raise if the loops can still move, so that their positions are not separate branches."""
        rows, count = self.position_rows, int(tied.sum())
        unit = self.scales.positions
        A = [dimensionless(self._evaluate(q, np.zeros_like(q), t)[2], unit, self.sizes)[rows] for q in found]
        left = count - max((int(rank.numeric_rank(a[:, tied], unit[tied])) for a in A if a.size), default=0)
        if left > 0:
            names = [name for name, yes in zip(self.model.coordinate_names, tied, strict=True) if yes]
            raise InputError(
                f"branches: the coordinates {', '.join(names)} have {left} remaining "
                f"{'degree' if left == 1 else 'degrees'} of freedom, so their positions are not separate branches. Add as "
                "many of them to `fixed`."
            )

    def without_full_turns(self, q: np.ndarray, start: np.ndarray, t: float) -> np.ndarray:
        """The same pose with coordinates shifted near the start by full turns, if these do not change the pose."""
        for i in np.flatnonzero(np.round((q - start) / (2 * np.pi)) if self.model.bodies else []):
            trial = q.copy()
            trial[i] -= 2 * np.pi * np.round((q[i] - start[i]) / (2 * np.pi))
            here, there = (self._evaluate(x, np.zeros_like(q), t)[0][self.position_rows] for x in (q, trial))
            if (
                np.abs(self.pose(q, t) - self.pose(trial, t)).max() < _FULL_TURN_TOLERANCE
                and (np.abs(here - there) <= _FULL_TURN_TOLERANCE * self.sizes[self.position_rows]).all()
            ):
                q = trial
        return q

    def require_proper(self, q: np.ndarray, t: float) -> None:
        """Raise if joint frames are flipped: the rows of a joint also vanish there, but the joint cannot reach it."""
        if not self.model.loops:
            return
        motion = state_batch.motion_at(self.model, one_state(q, t=t))
        for loop in self.model.loops:
            F, M = ends(loop, motion)
            R, p = displacement(F, M)
            values = loop.joint.measure(R, p)
            off = [
                loop.joint.rotation_matrix(FLOATS, values) - R,
                (loop.joint.translation(FLOATS, values) - p) / self.scales.length,
            ]
            if not loop.feedback and max(np.abs(x.astype(float)).max() for x in off) > _POSE_TOLERANCE:
                raise InconsistentStateError(
                    f"assemble: loop '{loop.name}' would be closed with the two frames of its {loop.joint.kind} joint flipped "
                    "against each other, which the joint does not allow. Use another initial guess, or rotate the frame on "
                    f"'{loop.bodies[1]}' with `rotation`."
                )

    def _evaluate(self, q: np.ndarray, qd: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """φ, the velocity residual and A at one state."""
        with np.errstate(all="ignore"):
            known = state_batch.constraints_at(self.model, self.facts, one_state(q, qd, t))
            return tuple(to_numeric(x) for x in (known.phi, known.velocity, known.A))  # type: ignore[return-value]

    def _root(self, free: np.ndarray, q: np.ndarray | None, t: float) -> newton.Root:
        """The weighted metric of M for the free coordinates; at the current positions, or at q for velocities."""

        def root(x: np.ndarray, A: np.ndarray, which: np.ndarray) -> np.ndarray:
            here = x if q is None else np.repeat(q[None], len(x), axis=0)
            states = States(here.T, np.zeros_like(here.T), np.full(len(here), t))
            M = mass_matrices(self.model, states)
            self._require_finite(here[0], A, M)
            out = np.zeros((len(x), len(free), int(free.sum())))
            out[:, free] = newton.mass_root(M[:, free][:, :, free], A[:, :, free], self.weights[free])
            return out

        return root

    def _positions(self, q: np.ndarray, t: float, *, again: bool) -> np.ndarray:
        if not self.position_rows:
            return q
        state, root = one_state(q, t=t), self._root(self.movable, None, t)
        found = self.onto.level(state, position=True, root=root, max_evaluations=self.max_evaluations)
        if again and not found.converged[0]:
            # the light end of a long chain would rotate too far; in coordinate scales all links move equally
            uniform = np.diag(self.scales.positions / np.sqrt(self.weights))[None, :, self.movable]
            found = self.onto.level(
                state, position=True, root=lambda x, A, which: uniform, max_evaluations=self.max_evaluations
            )
        self._require(found, self.position_rows, "position")
        return found.x[0]

    def _velocities(self, q: np.ndarray, qd: np.ndarray, t: float) -> np.ndarray:
        if not self.rows:
            return qd
        state, root = one_state(q, qd, t), self._root(self.free, q, t)
        found = self.onto.level(state, position=False, root=root, max_evaluations=self.max_evaluations)
        self._require(found, self.rows, "velocity")
        return found.x[0]

    def _require_finite(self, q: np.ndarray, *known: np.ndarray) -> None:
        """Raise if the constraints or the mass matrix are not finite, such as for a quaternion of norm 0."""
        if not all(np.isfinite(x).all() for x in known):
            state = ", ".join(f"{name} = {x:.6g}" for name, x in zip(self.model.coordinate_names, q, strict=True))
            raise InconsistentStateError(
                f"assemble: the constraints or the body poses are not finite at {state}. Use another initial guess; "
                "start a quaternion with w = 1."
            )

    def _require(self, found: newton.Projected, rows: list[int], level: str) -> None:
        if found.converged[0]:
            return
        self._require_finite(found.x[0], found.residual)
        worst, n = int(np.argmax(found.relative_residual[0])), len(self.model.generalized_coordinates)
        size = f"With {n} coordinates and {len(rows)} constraints the search stops after {self.max_evaluations} evaluations. "
        large = size if n > _LARGE_MODEL else ""
        raise InconsistentStateError(
            f"assemble: no state near the initial guess satisfies the constraints at {level} level; the nearest has a residual "
            f"of {found.residual[0, worst]:.6g} in '{self.facts.names[rows[worst]]}'. {large}Use another initial guess, fix "
            "fewer coordinates with `fixed`, or check the link lengths."
        )
