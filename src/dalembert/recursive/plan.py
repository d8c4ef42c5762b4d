"""Data computed once for a model and used at every state, and the states passed by users.

A plan is the tree of a model, its constant data and its constraints. A state is one state or a batch, in numbers, with velocities
as coordinate rates or as speeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from dalembert.arguments import as_finite_array
from dalembert.errors import InconsistentStateError, InputError, SingularError
from dalembert.mechanics.constraint_levels import Levels, levels, with_contacts
from dalembert.mechanics.state_batch import row_sizes
from dalembert.model.description import Description, Elements
from dalembert.model.scales import Scales, scales_of
from dalembert.recursive._link_frames import aligned_constants
from dalembert.recursive.joint_speeds import to_rates, to_second_rates, to_speed_rates, to_speeds
from dalembert.recursive.link_states import LinkConstants
from dalembert.recursive.load_forces import with_active_loads
from dalembert.recursive.tied_speeds import Ties, find_ties
from dalembert.recursive.tree import Tree, tree_of
from dalembert.symbolic.algebra_base import Array, Scalar, vector
from dalembert.symbolic.floats import FLOATS, numbers

TOLERANCE = 1e-6  # maximum constraint violation of a state, relative to the magnitude of the terms


@dataclass(frozen=True, eq=False)
class TreePlan:
    """A model prepared for numerical evaluation: parameters have their default values."""

    tree: Tree
    parameters: dict[str, float]
    link_constants: tuple[LinkConstants, ...]
    frictionless: Elements  # with the loads that act without friction
    model: Elements  # with all loads; contacts are formulas, norms of quaternions are preserved by the speeds
    levels: Levels
    scales: Scales

    @cached_property
    def units(self) -> np.ndarray:
        """The scale of each speed: one radian for ω of a quaternion, else that of its coordinate."""
        out = np.ones(self.tree.n_speeds)
        for i, column in enumerate(self.tree.columns):
            if column is not None:
                out[column] = self.scales.q[i]
        return out

    @cached_property
    def sizes(self) -> np.ndarray:
        """The characteristic magnitude of each constraint row."""
        return row_sizes(self.model, self.levels, self.scales)

    @property
    def constrained(self) -> bool:
        """True if there are constraints besides the joints."""
        return bool(self.levels.names)

    @cached_property
    def ties(self) -> Ties | None:
        """The constraints if all of them tie coordinates to others; see `tied_speeds`."""
        return find_ties(self.tree, self.levels, self.parameters)


def plan_of(model: Elements) -> TreePlan:
    """The plan of a model, cached by its content; an invalid model is rejected."""
    return _plan(model.description)


@lru_cache(maxsize=64)
def _plan(model: Description) -> TreePlan:
    model.require_valid()
    model.refuse_laws("dynamics", "Remove this load from the model, and pass the output of the law as tau.")
    tree, values = tree_of(model), dict(model.parameter_values)
    # the norms of quaternions follow the declared holonomic constraints; the speeds preserve them
    written, declared = with_contacts(model), len(model.holonomic_constraints)
    norms = sum(joint.quaternion for body in model.bodies for joint in body.joints)
    rest = written.holonomic_constraints[:declared] + written.holonomic_constraints[declared + norms :]
    written = written.replaced(holonomic_constraints=rest)
    frictionless = with_active_loads(written, friction=False)
    constants, scales = aligned_constants(tree, values), scales_of(model)
    return TreePlan(tree, values, constants, frictionless, written, levels(written), scales)


def forget_plans() -> None:
    """Clear the cache of plans."""
    _plan.cache_clear()


@dataclass(frozen=True)
class TreeState:
    """K states: q and q̇ (n, K), s (n_speeds, K), t (K,); `by_rates` if velocities are rates of quaternions."""

    plan: TreePlan
    q: np.ndarray
    qd: np.ndarray
    s: np.ndarray
    t: np.ndarray
    single: bool
    by_rates: bool

    @property
    def K(self) -> int:
        """The number of states."""
        return len(self.t)

    @property
    def time(self) -> Scalar:
        """The time as a scalar of the numeric algebra."""
        return float(self.t[0]) if self.single else self.t

    def entries(self, rows: np.ndarray) -> Array:
        """Scalars of the numeric algebra: floats for one state, which are much faster than batches of one."""
        return vector([float(row[0]) for row in rows] if self.single else list(rows))

    def batched(self, entries: Array) -> np.ndarray:
        """Numbers with the batch on the last axis, also for one state."""
        return numbers(entries, self.K)

    def shaped(self, values: np.ndarray) -> np.ndarray:
        """Numbers in the shape of the state that the user passed."""
        return values[..., 0] if self.single else values

    def where(self, k: int) -> str:
        """The description of the k-th state in a message."""
        return "" if self.single else f" at state {k} of the batch"

    def second_rates(self, sd: np.ndarray) -> np.ndarray:
        """q̈ from rates of speeds if velocities are q̇; else the rates of the speeds themselves."""
        if not self.by_rates:
            return sd
        return self.batched(to_second_rates(self.plan.tree, FLOATS, list(self.q), list(self.s), list(sd)))


def read_state(plan: TreePlan, q: npt.ArrayLike, qd: npt.ArrayLike | None, t: npt.ArrayLike) -> TreeState:
    """The states; `qd` has one entry for each coordinate or one for each speed, or is None for states at rest."""
    tree = plan.tree
    positions = as_finite_array(q, "q")
    if positions.ndim not in (1, 2) or len(positions) != tree.n:
        raise InputError(
            f"q has shape {positions.shape}. Expected ({tree.n},) for one state or ({tree.n}, batch); "
            f"coordinates are {', '.join(tree.model.coordinate_names)}."
        )
    batch = positions.shape[1:]
    positions = positions.reshape(tree.n, -1)
    K = positions.shape[1]
    time = _time(t, K)
    values = np.zeros((tree.n_speeds, K)) if qd is None else read_array(plan, "qd", qd, batch)
    by_rates = len(values) != tree.n_speeds
    _require_unit(plan, positions, values if by_rates else None)
    if by_rates:
        rates, s = values, numbers(to_speeds(tree, FLOATS, list(positions), list(values)), K)
    else:
        rates, s = numbers(to_rates(tree, FLOATS, list(positions), list(values)), K), values
    return TreeState(plan, positions, rates, s, time, not batch, by_rates)


def read_speed_rates(state: TreeState, qdd: npt.ArrayLike) -> np.ndarray:
    """ṡ, passed directly or as q̈."""
    plan = state.plan
    values = read_array(plan, "qdd", qdd, () if state.single else (state.K,))
    if len(values) == plan.tree.n_speeds:
        return values
    _require_unit(plan, state.q, state.qd, values)
    return state.batched(to_speed_rates(plan.tree, FLOATS, list(state.q), list(state.qd), list(values)))


def read_array(
    plan: TreePlan, name: str, values: npt.ArrayLike, batch: tuple[int, ...], *, speeds_only: bool = False
) -> np.ndarray:
    """An array with one entry per speed, or per coordinate, and the batch of q, as (entries, K)."""
    tree = plan.tree
    out = as_finite_array(values, name)
    lengths: dict[int, Sequence[str]] = {tree.n_speeds: tree.speed_names}
    if not speeds_only:
        lengths[tree.n] = tuple(f"d/dt {coordinate}" for coordinate in tree.model.coordinate_names)
    if out.ndim == 0 or out.shape[1:] != batch or len(out) not in lengths:
        if not tree.attitudes:
            lengths = {tree.n: tree.model.coordinate_names}
        kinds = " or ".join(f"{(n, *batch)} for {', '.join(names)}" for n, names in lengths.items())
        raise InputError(f"{name} has shape {out.shape}. Expected {kinds}.")
    return out.reshape(len(out), -1)


def _time(t: npt.ArrayLike, K: int) -> np.ndarray:
    time = as_finite_array(t, "t")
    if time.ndim > 1 or time.size not in (1, K):
        raise InputError(f"t has shape {time.shape}. Expected one time, or one for each of the {K} states.")
    return np.broadcast_to(time.ravel(), (K,))


def _require_unit(plan: TreePlan, q: np.ndarray, qd: np.ndarray | None, qdd: np.ndarray | None = None) -> None:
    """Raise unless quaternions have norm 1, and rates that preserve it."""
    for attitude in plan.tree.attitudes:
        parts = list(attitude.parts)
        x = q[parts]
        levels = [("its squared norm minus 1", np.sum(x * x, axis=0) - 1, np.ones(1))]
        if qd is not None:
            xd = qd[parts]
            levels.append(("q · dq/dt", np.sum(x * xd, axis=0), _size(xd) + 1 / plan.scales.time))
            if qdd is not None:
                xdd = qdd[parts]
                bent = np.sum(x * xdd + xd * xd, axis=0)
                size = _size(xdd) + _size(xd) ** 2 + 1 / plan.scales.time**2
                levels.append(("q · d²q/dt² + |dq/dt|²", bent, size))
        for what, value, size in levels:
            broken = np.abs(value) > 2 * TOLERANCE * size
            if broken.any():
                raise InconsistentStateError(
                    f"the quaternion q of '{attitude.name}': {what} is {value[broken][0]:.6g}. Expected 0. "
                    "Pass (w, x, y, z) of norm 1 and rates that preserve it, or speeds instead of rates: "
                    f"{', '.join(plan.tree.speed_names)}."
                )


def _size(x: np.ndarray) -> np.ndarray:
    return np.linalg.norm(x, axis=0)


def singular_mass(plan: TreePlan, M: np.ndarray, speeds: Sequence[str], where: str) -> SingularError:
    """The error for a singular mass matrix of these speeds, with those along which there is no inertia."""
    size = 1 / np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
    weakest = np.abs(np.linalg.eigh(M * np.outer(size, size))[1][:, 0])
    names = [name for name, x in zip(speeds, weakest, strict=True) if x > 0.1 * weakest.max()]
    return SingularError(
        f"model '{plan.tree.model.name}': the mass matrix is singular{where}: there is no inertia along "
        f"{', '.join(names)}. Expected inertia along every motion. Give the moving bodies mass or inertia, or "
        "avoid the singular configuration."
    )
