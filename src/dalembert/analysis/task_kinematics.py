"""Where bodies are and how they move with the coordinates, with the constraints, as one program for inverse kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dalembert.analysis.posture_search import Task
from dalembert.codegen.compiled_loop import Machine
from dalembert.codegen.function import Function, compile_function
from dalembert.errors import InconsistentStateError
from dalembert.mechanics import random_states, rank
from dalembert.mechanics.constraint_levels import Constraints, levels
from dalembert.mechanics.constraint_rows import row_sizes
from dalembert.mechanics.contact_constraints import with_contacts
from dalembert.mechanics.motion import move_symbols
from dalembert.model.description import Description, Elements
from dalembert.model.scales import Scales, scales_of
from dalembert.symbolic.algebra_base import Array, vector
from dalembert.symbolic.graph import GRAPH

Asking = tuple[str, tuple[float, float, float], bool, bool]  # body, point, is its position asked for, its orientation
_SEED = 31
_NONE = np.zeros(1)


@dataclass(frozen=True)
class Seen:
    """What the program says of K positions: places of the bodies, their Jacobians, and the constraints."""

    positions: tuple[np.ndarray | None, ...]  # (K, 3) of each target
    rotations: tuple[np.ndarray | None, ...]  # (K, 3, 3)
    J: np.ndarray  # (K, m, n): points in world axes, turns in body axes
    phi: np.ndarray  # (K, r)
    A: np.ndarray  # (K, r, n)


@dataclass(frozen=True, eq=False)
class Places:
    """The program of a model and of what is asked for, and the facts that go with it."""

    model: Elements
    asked: tuple[Asking, ...]
    function: Function
    held: tuple[int, ...]  # rows of constraints that hold positions
    scales: Scales
    sizes: np.ndarray

    @cached_property
    def n(self) -> int:
        """The number of coordinates."""
        return len(self.model.coordinate_names)

    @cached_property
    def kinds(self) -> np.ndarray:
        """(targets, 2): is the position asked for, is the orientation?"""
        return np.array([[position, turn] for _, _, position, turn in self.asked], dtype=np.int64)

    @cached_property
    def machine(self) -> Machine:
        """The program for one position: the address of its machine code, or a Python function."""
        native = self.function.native
        if native is not None:
            return Machine(native.address, _NONE, np.append(native.tables, 0.0))

        def one(x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
            out[:] = self.function(x, np.zeros(0))

        return Machine(one, _NONE, _NONE)

    def look(self, q: np.ndarray, t: float) -> Seen:
        """What the program says of q (n, K)."""
        n, K = q.shape
        out = self.function(np.concatenate([q, np.full((1, K), t)]), np.zeros(0)).T
        at, positions, rotations, rows = 0, [], [], [np.zeros((K, 0, n))]
        for position, turn in self.kinds:
            positions.append(out[:, at : at + 3] if position else None)
            if position:
                rows.append(out[:, at + 3 : at + 3 + 3 * n].reshape(K, 3, n))
                at += 3 + 3 * n
            rotations.append(out[:, at : at + 9].reshape(K, 3, 3) if turn else None)
            if turn:
                rows.append(out[:, at + 9 : at + 9 + 3 * n].reshape(K, 3, n))
                at += 9 + 3 * n
        r = len(self.held)
        phi, A = out[:, at : at + r], out[:, at + r :].reshape(K, r, n)
        return Seen(tuple(positions), tuple(rotations), np.concatenate(rows, axis=1), phi, A)

    @cached_property
    def rows(self) -> np.ndarray:
        """(m,) the unit of each row of J: the length of the model, or a radian."""
        length = self.scales.length
        return np.concatenate([np.repeat([length, 1.0], 3 * kind) for kind in self.kinds])

    @cached_property
    def _drawn(self) -> Seen:
        """Positions here and there, on the constraints or not."""
        rng = np.random.default_rng(_SEED)
        unit = self.scales.positions[:, None]
        return self.look(self.model.initial[0][:, None] + np.pi * unit * rng.uniform(-1, 1, (self.n, 4)), 0.0)

    @cached_property
    def touched(self) -> np.ndarray:
        """(m + r, n): which row depends on which coordinate."""
        seen = self._drawn
        return np.abs(np.concatenate([seen.J, seen.A], axis=1)).max(axis=0) > 1e-12

    def tied(self, rows: np.ndarray) -> np.ndarray:
        """Which coordinates some rows depend on, directly or through constraints that they share."""
        held = self.touched[len(self.rows) :]
        found = self.touched[rows].any(axis=0)
        while True:
            more = found | held[(held & found).any(axis=1)].any(axis=0)
            if np.array_equal(more, found):
                return np.asarray(found)
            found = more

    @cached_property
    def turning(self) -> np.ndarray:
        """Which coordinates may turn round once without any change."""
        rng = np.random.default_rng(_SEED)
        q = self.model.initial[0] + self.scales.positions * rng.uniform(-1, 1, self.n)
        x = np.concatenate([q[:, None] + 2 * np.pi * np.eye(self.n), q[:, None]], axis=1)
        out = self.function(np.concatenate([x, np.zeros((1, self.n + 1))]), np.zeros(0))
        size = 1 + np.abs(out[:, -1:])
        return np.asarray((np.abs(out[:, :-1] - out[:, -1:]) < 1e-9 * size).all(axis=0))

    @cached_property
    def _usual(self) -> Seen:
        """Positions here and there, on the constraints where that can be."""
        if not self.held:
            return self._drawn
        try:
            return self.look(random_states.consistent(self.model, 6).q, 0.0)
        except InconsistentStateError:  # around a start that does not fulfil them
            return self._drawn

    @cached_property
    def _ranks(self) -> dict[bytes, int]:
        return {}

    def usual_rank(self, moving: np.ndarray) -> int:
        """In how many ways the targets can move with these coordinates, where the posture is not singular."""
        key = moving.tobytes()
        if key not in self._ranks:
            values = np.linalg.svd(self.free_rows(self._usual, moving), compute_uv=False)
            self._ranks[key] = max(int((s > 1e-6 * max(s.max(initial=0.0), 1e-300)).sum()) for s in values)
        return self._ranks[key]

    def free_rows(self, seen: Seen, moving: np.ndarray) -> np.ndarray:
        """J in its units along what the constraints leave free to the coordinates that move, for each position: (K, m, n)."""
        unit = self.scales.positions * moving
        J = seen.J / self.rows[:, None] * unit
        if not self.held:
            return J
        A = seen.A / self.sizes[:, None] * unit
        return np.array([j - j @ rank.pseudo_inverse(a) @ a for j, a in zip(J, A, strict=True)])

    @cached_property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper limits of the coordinates."""
        return limits_of(self.model)

    @cached_property
    def _spread(self) -> np.ndarray:
        """The additive sequence that fills a cube evenly: powers of the root of xⁿ⁺¹ = x + 1."""
        root = 2.0
        for _ in range(64):
            root = (1 + root) ** (1 / (self.n + 1))
        return root ** -np.arange(1.0, self.n + 1)

    def task(self, start: np.ndarray, moving: np.ndarray, *, limited: bool) -> Task:
        """The task for the compiled search, from around a start."""
        unit = self.scales.positions
        lower, upper = self.limits if limited else (np.full(self.n, -np.inf), np.full(self.n, np.inf))
        low = np.where(np.isfinite(lower), lower, np.minimum(start, upper) - np.pi * unit)
        high = np.where(np.isfinite(upper), upper, np.maximum(start, lower) + np.pi * unit)
        units = np.where(moving, unit, 0.0)
        return Task(self.kinds, self.scales.length, self.sizes, units, lower, upper, low, high - low, self._spread)


def limits_of(model: Elements) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper limits of the coordinates, infinite where there is none."""
    known = [model.limits.get(name) for name in model.coordinate_names]
    lower = [-np.inf if each is None or each.lower is None else each.lower for each in known]
    upper = [np.inf if each is None or each.upper is None else each.upper for each in known]
    return np.array(lower, dtype=float), np.array(upper, dtype=float)


@lru_cache(maxsize=64)
def places_of(declared: Description, asked: tuple[Asking, ...], engine: str | None) -> Places:
    """The program for a model and what is asked of it, made once."""
    declared.refuse_canonical("inverse_kinematics")
    declared.require_sound()
    model = with_contacts(declared)
    motion = move_symbols(model, GRAPH, model.parameter_values)
    known, scales = levels(model), scales_of(model)
    held = tuple(i for i in range(known.held) if not known.servo[i])
    constraints = Constraints(motion, known)
    parts: list[Array] = []
    for body, point, position, turn in asked:
        frame = motion.frame(body)
        if position:
            p, J, _ = frame.point(vector(point))
            parts += [p, J.ravel()]
        if turn:
            parts += [frame.R.ravel(), frame.D.ravel()]
    parts += [_rows(constraints.phi, held), _rows(constraints.A, held).ravel()]
    inputs = vector([*motion.q, motion.t])
    function = compile_function(GRAPH, inputs, np.concatenate(parts), vector([]), engine)
    return Places(model, asked, function, held, scales, row_sizes(model, known, scales)[list(held)])


def _rows(values: Array, which: Sequence[int]) -> Array:
    return values[list(which)] if len(which) else values[:0]
