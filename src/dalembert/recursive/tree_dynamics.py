"""Inverse dynamics, forward dynamics and mass matrix of a model in numbers, by recursion from body to body.

Velocities are speeds s: the rates of all coordinates, where the rates of the four components of a quaternion are replaced by the
angular velocity in axes of the moved frame. `speed_names` lists them. Models without quaternions have s = q̇.

    M ṡ + c + g = τ + loads        for a tree of bodies
    M ṡ + c + g = τ + loads + Aᵀλ  with loops and other constraints

Arrays have coordinates or speeds on the first axis and, for many states, the batch on the last.

These are single calls that run in floats: a call takes milliseconds, compilation a tenth of a second or more, and a result should
not depend on what was compiled before. For frequent calls use `dl.dynamics(model)`; if its validity check fails, it calls the
functions here, which find and report the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dalembert.errors import SingularError
from dalembert.mechanics.constraint_levels import levels
from dalembert.mechanics.facts import singular_coordinates
from dalembert.model.description import Elements
from dalembert.recursive import composite_inertia, constraint_batch, forward, inverse, link_states
from dalembert.recursive.constraint_batch import ConstraintBatch, rows_of
from dalembert.recursive.link_states import Moving
from dalembert.recursive.load_forces import ExternalWrenches, WrenchFrame, load_forces, read_wrenches, wrench_forces
from dalembert.recursive.plan import TreeState, plan_of, read_array, read_speed_rates, read_state, singular_mass
from dalembert.recursive.tree import tree_of
from dalembert.symbolic.algebra_base import Array, zeros
from dalembert.symbolic.floats import FLOATS

_SINGULAR = 1e-14  # pivots below this fraction of the diagonal are rounding errors


def speed_names(model: Elements) -> tuple[str, ...]:
    """The names of the speeds of a model, in their order in `qd`, `tau` and the mass matrix.

    Parameters
    ----------
    model : Model or Description
        A model of bodies and joints.

    Returns
    -------
    tuple of str, shape (n_speeds,)
        `dot(theta)` for the rate of a coordinate; `omega_x(base)`, `omega_y(base)` and `omega_z(base)` in rad/s for the
        angular velocity of a quaternion that rotates `base`, in axes of the moved frame.

    Raises
    ------
    InputError
        The model is defined by energies, without bodies.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("top").coordinates("x", "w", "a", "b", "c")
    >>> ball = model.spherical(quaternion=("w", "a", "b", "c"))
    >>> _ = model.body("top", joint=[model.prismatic((1, 0, 0), "x"), ball], mass=1, inertia=(1, 1, 1))
    >>> speed_names(model)
    ('dot(x)', 'omega_x(top)', 'omega_y(top)', 'omega_z(top)')
    """
    return tree_of(model).speed_names


def mass_matrix(model: Elements, q: npt.ArrayLike, t: npt.ArrayLike = 0.0) -> np.ndarray:
    """The mass matrix of the speeds, including rotors, by composite bodies.

    Constraints do not affect it: it belongs to the tree of bodies.

    Returns
    -------
    ndarray, shape (n, n) or (n, n, batch)
        The symmetric mass matrix.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("pendulum").coordinates("theta")
    >>> _ = model.body("bob", joint=model.revolute((0, 0, 1), "theta"), mass=2, center=(0.5, 0, 0))
    >>> mass_matrix(model, [0.3])
    array([[0.5]])
    """
    state = read_state(plan_of(model), q, None, t)
    return state.shaped(state.batched(composite_inertia.mass_matrix(_moving(state))))


def inverse_dynamics(
    model: Elements,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    t: npt.ArrayLike = 0.0,
    *,
    friction: bool = False,
    actuated: Sequence[str] | None = None,
    fext: ExternalWrenches | None = None,
    frame: WrenchFrame = "world",
) -> np.ndarray:
    """The generalized forces τ along the speeds for the motion (q, qd, qdd), in addition to the loads of the model.

    With constraints, the motion must satisfy them; their forces provide the rest, and τ is the solution of minimum norm. If no
    coordinate is named or driven, every joint is actuated and the constraint forces are zero: τ is that of the tree.

    Parameters
    ----------
    friction : bool, default False
        Include joint friction; without it τ acts at the joint, as in Pinocchio.
    actuated : sequence of str, optional
        Coordinates along which τ acts; with constraints, those driven by a joint torque or an actuator if None.
    fext : dict of str to array_like, shape (6,) or (6, batch), optional
        External wrenches by body: the force, then the moment.
    frame : {'world', 'body', 'mass_center'}, default 'world'
        Axes and point of application of the wrenches: axes of the world at the origin of the body frame; axes of the body there,
        as `fext` of Pinocchio; or axes of the world at the mass center, as `xfrc_applied` of MuJoCo.

    Returns
    -------
    ndarray, shape (n,) or (n, batch)
        Forces and torques along the speeds.

    Raises
    ------
    InputError
        If an array has a wrong shape, a name is unknown, or no forces along `actuated` produce the motion.
    InconsistentStateError
        If the motion violates the constraints.

    See Also
    --------
    dynamics : Compiled functions for repeated calls.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("pendulum", gravity=(0, -10, 0)).coordinates("theta")
    >>> _ = model.body("bob", joint=model.revolute((0, 0, 1), "theta"), mass=2, center=(0.5, 0, 0))
    >>> inverse_dynamics(model, [0.0], [3.0], [4.0])
    array([12.])
    """
    model.refuse_canonical("inverse_dynamics")
    plan = plan_of(model)
    state = read_state(plan, q, qd, t)
    sd = read_speed_rates(state, qdd)
    moving = _moving(state)
    pushed = _loads(state, moving, friction) + _external_forces(state, fext, frame)
    need = _needed(state, moving, state.entries(sd), pushed)
    require_finite(state, need, "τ")
    chosen = constraint_batch.driven_speeds(plan, actuated) if plan.constrained or actuated is not None else None
    if chosen is not None:
        rows = _rows(state)
        constraint_batch.require_fulfilled(state, rows, sd)
        bias = _needed(state, moving, zeros(plan.tree.n_speeds), pushed)
        need = constraint_batch.efforts(state, rows, chosen, need, np.abs(need) + np.abs(bias))
    return state.shaped(need)


def forward_dynamics(
    model: Elements,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike | None = None,
    t: npt.ArrayLike = 0.0,
    *,
    friction: bool = False,
    fext: ExternalWrenches | None = None,
    frame: WrenchFrame = "world",
) -> np.ndarray:
    """The accelerations of a model under its loads, the forces `tau` along the speeds and external wrenches.

    A tree of bodies is solved in O(n); a model with constraints through its mass matrix, for any rank of the constraints. The
    state may violate the constraints.

    Parameters
    ----------
    fext : dict of str to array_like, shape (6,) or (6, batch), optional
        External wrenches by body, in `frame`, as for `dl.inverse_dynamics`.

    Returns
    -------
    ndarray, shape (n,) or (n, batch)
        q̈ if `qd` has rates of the coordinates, or the rates of the speeds if it has speeds.

    Raises
    ------
    InputError
        If an array has a wrong shape or contains values that are not finite.
    SingularError
        If the mass matrix is singular; the message names the speeds without inertia.

    See Also
    --------
    dynamics : Compiled functions for repeated calls.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("pendulum", gravity=(0, -10, 0)).coordinates("theta")
    >>> _ = model.body("bob", joint=model.revolute((0, 0, 1), "theta"), mass=2, center=(0.5, 0, 0))
    >>> forward_dynamics(model, [0.0], [3.0], [12.0])
    array([4.])
    """
    model.refuse_canonical("forward_dynamics")
    plan = plan_of(model)
    state = read_state(plan, q, qd, t)
    moving = _moving(state)
    push = _loads(state, moving, friction) + _external_forces(state, fext, frame)
    if tau is not None:
        batch = () if state.single else (state.K,)
        push = push + state.entries(read_array(plan, "tau", tau, batch, speeds_only=True))
    sd = (_constrained_accelerations if plan.constrained else _free_accelerations)(state, moving, push)
    return state.shaped(state.second_rates(sd))


class HybridDynamics(NamedTuple):
    """Accelerations and forces of all speeds, both prescribed and computed."""

    qdd: np.ndarray
    tau: np.ndarray


def hybrid_dynamics(
    model: Elements,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike | None = None,
    t: npt.ArrayLike = 0.0,
    *,
    prescribed: Sequence[str],
    friction: bool = False,
) -> HybridDynamics:
    """Solve for the unknown accelerations and forces when the others are prescribed; for a tree, in O(n).

    Entries of `qdd` and `tau` that are unknown are ignored.

    Parameters
    ----------
    prescribed : sequence of str
        Names of coordinates or speeds whose acceleration is taken from `qdd`; all others take their force from `tau`.

    Returns
    -------
    HybridDynamics
        `qdd` and `tau`, complete, each of shape (n,) or (n, batch): rates of the speeds, and forces along them.

    Raises
    ------
    InputError
        If a name is unknown, or an array has a wrong shape.
    NotApplicableError
        If the model has constraints or loops.
    SingularError
        If the remaining mass matrix is singular.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("crane", gravity=(0, -10, 0)).coordinates("x", "theta")
    >>> _ = model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=3)
    >>> _ = model.body("load", parent="cart", joint=model.revolute((0, 0, 1), "theta"), mass=1, center=(0, -2, 0))
    >>> found = hybrid_dynamics(model, [0, 0], [0, 0], [1.0, 0.0], prescribed=["x"])  # the cart accelerates, the load swings
    >>> found.qdd.round(12).tolist(), found.tau.round(12).tolist()
    ([1.0, -0.5], [3.0, 0.0])
    """
    model.refuse_canonical("hybrid_dynamics")
    plan = plan_of(model)
    constraint_batch.require_tree(plan, "hybrid dynamics")
    chosen = constraint_batch.named_speeds(plan, prescribed, "prescribed")
    state = read_state(plan, q, qd, t)
    sd = read_speed_rates(state, qdd)
    batch = () if state.single else (state.K,)
    push = np.zeros_like(sd) if tau is None else read_array(plan, "tau", tau, batch, speeds_only=True)
    moving = _moving(state)
    loads = _loads(state, moving, friction)
    with np.errstate(all="ignore"):
        usual = state.batched(composite_inertia.diagonal(moving))
        try:
            found = forward.hybrid_dynamics(moving, chosen, state.entries(sd), state.entries(push), loads)
        except ZeroDivisionError:
            raise _singular(state, moving, 0) from None
    _require_pivots(state, moving, found.pivots, usual, [i for i in range(len(sd)) if i not in chosen])
    out = HybridDynamics(state.batched(found.sd), state.batched(found.tau))
    require_finite(state, out.qdd, "the acceleration")
    require_finite(state, out.tau, "τ")
    return HybridDynamics(state.shaped(out.qdd), state.shaped(out.tau))


def _moving(state: TreeState) -> Moving:
    plan = state.plan
    q, s = list(state.entries(state.q)), list(state.entries(state.s))
    with np.errstate(all="ignore"), _defined(state, "a joint"):
        return link_states.moving(plan.tree, FLOATS, state.time, q, s, plan.parameters, plan.link_constants)


def _loads(state: TreeState, moving: Moving, friction: bool) -> Array:
    model = state.plan.model if friction else state.plan.frictionless
    q, s = list(state.entries(state.q)), list(state.entries(state.s))
    with np.errstate(all="ignore"), _defined(state, "a load"):
        return load_forces(model, moving, state.time, q, s, state.plan.parameters)


def _external_forces(state: TreeState, fext: ExternalWrenches | None, frame: WrenchFrame) -> Array:
    """The generalized forces of external wrenches."""
    plan = state.plan
    found = read_wrenches(plan.tree.model, fext, frame, () if state.single else (state.K,))
    if found is None:
        return zeros(plan.tree.n_speeds)
    q, s = list(state.entries(state.q)), [0.0] * plan.tree.n_speeds
    values = list(state.entries(found.values.reshape(-1, state.K)))
    with np.errstate(all="ignore"), _defined(state, "a joint"):
        declared = link_states.moving(plan.tree, FLOATS, state.time, q, s, plan.parameters)
        return wrench_forces(declared, found.bodies, frame, values)


@contextmanager
def _defined(state: TreeState, what: str) -> Iterator[None]:
    """Raise `SingularError` where Python floats divide by zero, which NumPy arrays evaluate to infinity."""
    try:
        yield
    except ZeroDivisionError:
        raise SingularError(
            f"model '{state.plan.tree.model.name}': {what} is undefined at this state (singular configuration). Expected a "
            "finite number. Change the state."
        ) from None


def _rows(state: TreeState) -> ConstraintBatch:
    with np.errstate(all="ignore"):
        return rows_of(state.plan, state.q, state.qd, state.s, state.t)


def _needed(state: TreeState, moving: Moving, sd: Array, pushed: Array) -> np.ndarray:
    """M ṡ + c + g minus the loads."""
    with np.errstate(all="ignore"):
        return state.batched(inverse.inverse_dynamics(moving, sd) - pushed)


def _constrained_accelerations(state: TreeState, moving: Moving, push: Array) -> np.ndarray:
    with np.errstate(all="ignore"):
        M = state.batched(composite_inertia.mass_matrix(moving))
    h = -_needed(state, moving, zeros(len(push)), push)
    return constraint_batch.accelerations(state, M, h, _rows(state))


def _free_accelerations(state: TreeState, moving: Moving, push: Array) -> np.ndarray:
    with np.errstate(all="ignore"):
        usual = state.batched(composite_inertia.diagonal(moving))
        try:
            found, pivots = forward.forward_dynamics(moving, push)
        except ZeroDivisionError:
            raise _singular(state, moving, 0) from None
    _require_pivots(state, moving, pivots, usual, range(len(usual)))
    out = state.batched(found)
    require_finite(state, out, "the acceleration")
    return out


def _require_pivots(state: TreeState, moving: Moving, pivots: Array, usual: np.ndarray, free: Sequence[int]) -> None:
    """Raise unless the pivots of the free speeds exceed rounding errors."""
    rows = list(free)
    with np.errstate(all="ignore"):
        poor = (state.batched(pivots) <= _SINGULAR * usual) & np.isfinite(usual)
    if len(found := np.argwhere(poor[rows])):
        raise _singular(state, moving, int(found[0][1]))


def _singular(state: TreeState, moving: Moving, k: int) -> SingularError:
    """The error for a singular mass matrix at the k-th state."""
    plan, model = state.plan, state.plan.tree.model
    chart = singular_coordinates(model, levels(model), plan.scales, state.q[:, k], float(state.t[k]))
    if chart is not None:
        return SingularError(f"model '{model.name}'{state.where(k)}: {chart}.")
    M = state.batched(composite_inertia.mass_matrix(moving))[:, :, k]
    return singular_mass(plan, M, plan.tree.speed_names, state.where(k))


def require_finite(state: TreeState, values: np.ndarray, what: str) -> None:
    """Raise for the first value that is not finite; values have speeds on the first axis and states on the last."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        i, k = int(bad[0][0]), int(bad[0][-1])
        raise SingularError(
            f"model '{state.plan.tree.model.name}': {what} along '{state.plan.tree.speed_names[i]}' is undefined"
            f"{state.where(k)}. Expected a finite number. A load or a joint is singular there; change the state."
        )
