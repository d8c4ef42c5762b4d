"""Inverse dynamics of closed loops subsystem by subsystem: section 4 of papers/denoc.

Cutting the loops leaves trees attached to the world, the subsystems I, II, … Each has its own equations (54),

    I θ̈ + C θ̇ = τ + τ^λ,     τ^λ = Jᵀλ with J = A_en N (53)

where the forces of its drives and the multipliers of its cut joints are unknown. A subsystem with as many equations as unknowns
is *determinate*: its multipliers follow from its own equations. The others are *indeterminate* until shared multipliers are
known. If no remaining subsystem is determinate, they are solved together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalembert.api.load import accepts_source
from dalembert.errors import InputError
from dalembert.model.description import Elements
from dalembert.model.immutable import Frozen
from dalembert.recursive import constraint_batch
from dalembert.recursive.constraint_batch import rows_of
from dalembert.recursive.plan import TOLERANCE, plan_of, read_speed_rates, read_state
from dalembert.recursive.tree import Tree
from dalembert.recursive.tree_dynamics import inverse_dynamics

_ZERO = 1e-12  # relative to the largest entry of a row: smaller entries are zero


@dataclass(frozen=True)
class Subsystem:
    """A tree of the mechanism with cut loops, and the unknowns that its equations determined."""

    name: str
    bodies: tuple[str, ...]
    speeds: tuple[str, ...]
    determinate: bool  # True: solved alone; False: with multipliers of other subsystems, or together with others
    drives: tuple[str, ...]  # the joint rates whose forces it determined
    multipliers: tuple[str, ...]  # the rows whose multipliers it determined


@dataclass(frozen=True)
class SubsystemDynamics:
    """The forces along the joint rates, the multipliers of the cut joints, and the subsystems in order of solution."""

    tau: np.ndarray
    multipliers: Mapping[str, float]
    subsystems: tuple[Subsystem, ...]


@accepts_source
def subsystem_dynamics(
    model: Elements,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    t: float = 0.0,
    *,
    friction: bool = False,
    actuated: Sequence[str] | None = None,
) -> SubsystemDynamics:
    """Inverse dynamics of a mechanism with loops at one state, by recursion from subsystem to subsystem.

    The result is that of `inverse_dynamics`; multipliers of rows without effect are zero.

    Parameters
    ----------
    model : Model, Description, str or Path
        A mechanism, the name of an example model, or a model file.
    q, qd, qdd : array_like of shape (n,)
        Coordinates, speeds and their rates at one state.
    t : float, optional
        Time, s.
    friction : bool, optional
        Whether joint friction is included.
    actuated : sequence of str, optional
        The actuated coordinates; by default those with a joint torque or an actuator, or all without such loads.

    Returns
    -------
    SubsystemDynamics
        The forces, the multipliers of the cut joints by row, and the subsystems in order of solution.

    Examples
    --------
    >>> import dalembert as dl
    >>> model = dl.load("four-bar")
    >>> q, qd = model.initial
    >>> found = subsystem_dynamics(model, q, qd, dl.forward_dynamics(model, q, qd), actuated=["q1"])
    >>> [(part.name, part.bodies, part.determinate) for part in found.subsystems]
    [('II', ('output', 'coupler'), True), ('I', ('crank',), False)]
    """
    model.refuse_canonical("subsystem_dynamics")
    known = plan_of(model)
    state = read_state(known, q, qd, t)
    if not state.single:
        raise InputError("subsystem_dynamics, q: got a batch. Expected one state, shape (n,). Call it for each.")
    constraints = rows_of(known, state.q, state.qd, state.s, state.t)
    constraint_batch.require_fulfilled(state, constraints, read_speed_rates(state, qdd))
    open_tree = model.replaced(loops=(), holonomic_constraints=(), nonholonomic_constraints=(), contacts=())
    required = inverse_dynamics(open_tree, q, qd, qdd, t, friction=friction)
    driven = constraint_batch.driven_speeds(known, actuated)
    chosen = list(range(known.tree.n_speeds)) if driven is None else driven
    return _SubsystemSolver(known.tree, constraints.names, constraints.A[:, :, 0], required, chosen).found()


class _SubsystemSolver:
    """Solves subsystem after subsystem, as long as the equations of one determine its unknowns."""

    def __init__(self, tree: Tree, names: Sequence[str], A: np.ndarray, need: np.ndarray, chosen: list[int]) -> None:
        self._tree, self._names, self._A, self._need = tree, names, A, need
        self._chosen = set(chosen)
        self._lam: dict[int, float] = {}
        self._tau = np.zeros(len(need))
        self._solved: list[Subsystem] = []

    def found(self) -> SubsystemDynamics:
        """The solution."""
        waiting = _groups(self._tree)
        while waiting:
            ready = next((name for name, part in waiting.items() if self._solve((name,), part)), None)
            if ready is not None:
                del waiting[ready]
                continue
            together = sorted({speed for part in waiting.values() for speed in part})
            if not self._solve(tuple(waiting), together, smallest=True):
                actuated = ", ".join(self._speed_names(sorted(self._chosen))) or "no coordinate"
                raise InputError(
                    f"model '{self._tree.model.name}': forces along {actuated} cannot produce the "
                    f"motion of {', '.join(waiting)}. Expected enough actuated coordinates. Name more in `actuated`."
                )
            break
        lam = {name: self._lam.get(i, 0.0) for i, name in enumerate(self._names)}
        return SubsystemDynamics(self._tau, Frozen(lam), tuple(self._solved))

    def _solve(self, names: tuple[str, ...], speeds: list[int], *, smallest: bool = False) -> bool:
        """Solve the equations of some speeds if they determine their unknowns, or for the least-norm unknowns."""
        tolerance = _ZERO * np.maximum(1.0, np.abs(self._A).max(axis=1, initial=0.0))
        acting = [i for i in range(len(self._A)) if np.abs(self._A[i, speeds]).max(initial=0.0) > tolerance[i]]
        rows, drives = [i for i in acting if i not in self._lam], [s for s in speeds if s in self._chosen]
        known = sum((self._A[i, speeds] * self._lam[i] for i in acting if i in self._lam), np.zeros(len(speeds)))
        columns = np.concatenate([np.eye(len(self._need))[:, drives][speeds], self._A[rows][:, speeds].T], axis=1)
        right = self._need[speeds] - known
        scale = np.linalg.norm(columns, axis=0)
        x, _, rank, _ = np.linalg.lstsq(columns / scale, right, rcond=1e-11)
        if not smallest and rank < columns.shape[1]:
            return False
        x = x / scale
        if np.linalg.norm(columns @ x - right) > TOLERANCE * (
            np.linalg.norm(right) + np.abs(self._need).max(initial=0.0)
        ):
            return False
        self._tau[drives] = x[: len(drives)]
        alone = not smallest and len(rows) == len(acting)
        self._lam |= dict(zip(rows, x[len(drives) :].tolist(), strict=True))
        row_names = tuple(self._names[i] for i in rows)
        bodies = tuple(link.body.name for link in self._tree.links if link.body and {*link.speeds} & {*speeds})
        self._solved.append(
            Subsystem(", ".join(names), bodies, self._speed_names(speeds), alone, self._speed_names(drives), row_names)
        )
        return True

    def _speed_names(self, speeds: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._tree.speed_names[i] for i in speeds)


def _groups(tree: Tree) -> dict[str, list[int]]:
    """The speeds of every tree on the world; trees with a common speed are one group."""
    roots: list[int] = []
    for i, link in enumerate(tree.links):
        roots.append(roots[link.parent] if link.parent >= 0 else i)
    groups: list[set[int]] = []
    for root in dict.fromkeys(roots):
        own = {speed for i, link in enumerate(tree.links) if roots[i] == root for speed in link.speeds}
        touching = [group for group in groups if group & own]
        groups = [group for group in groups if not group & own] + [own.union(*touching)]
    return {_roman(k + 1): sorted(group) for k, group in enumerate(group for group in groups if group)}


def _roman(k: int) -> str:
    """k in Roman numerals, as the paper counts subsystems.

    >>> _roman(4), _roman(9)
    ('IV', 'IX')
    """
    out = ""
    for value, letters in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        count, k = divmod(k, value)
        out += letters * count
    return out
