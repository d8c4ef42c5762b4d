"""D'Alembert's principle evaluated at known accelerations, from positions and declarations only.

    Σ (F − m r̈)·δr + w·C = 0     for all virtual displacements δr that the constraints admit

r̈ and δr come from numerical differentiation of positions (`move_model`), positions from a separate traversal (`body_poses`),
forces and constraints from the declarations (`declared_work`, `declared_conditions`). Only the formula parser is
shared with `mechanics`, the formulations and the recursion, so a wrong Jacobian, load, contact or sign there is detected here.
The remainder of Σ (F − m r̈)·δr on inadmissible displacements is the constraint reaction with the opposite sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.evidence._numeric_differentiation import BodyPoses, MovingModel, move_model
from dalembert.mechanics.rank import TOLERANCE
from dalembert.mechanics.state_batch import States
from dalembert.model.constraints.loop import Loop
from dalembert.model.constraints.nonholonomic import Nonholonomic
from dalembert.model.description import Elements
from dalembert.model.elements import Body
from dalembert.model.joints.base import Joint
from dalembert.model.reference_model import (
    Condition,
    Derivatives,
    Level,
    ReferenceFrame,
    VirtualWork,
    axes_of,
    length,
    on_point,
    point_of,
    position_condition,
    product,
)
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import Array, vector
from dalembert.symbolic.floats import series

# Differentiation is exact to rounding, and solved equations are satisfied to rounding even if they are ill-conditioned: 2e-14
# is the largest residual over the gallery, at 200 states each. A relative force error of 1e-9 is detected. States satisfy the
# constraints to 1e-9 in their own units, and accelerations on curved constraints inherit a part of this error.
TOLERANCES = {"motion": 1e-11, "position": 1e-7, "velocity": 1e-7, "acceleration": 1e-10, "reaction": 1e-11}


@dataclass(frozen=True)
class Residual:
    """Relative residuals at every state (K,); each is relative to the size of the terms. None: not computed."""

    motion: np.ndarray  # virtual work on admissible displacements
    position: np.ndarray  # declared constraints at q
    velocity: np.ndarray  # declared constraints at q̇
    acceleration: np.ndarray  # declared constraints at q̈
    reaction: np.ndarray | None

    @property
    def worst(self) -> float:
        """The largest residual; infinite if a value is not finite."""
        return max(self.largest.values())

    @property
    def broken(self) -> tuple[str, ...]:
        """The kinds that exceed their tolerance, the worst first; empty if the principle is satisfied."""
        excess = {kind: size / TOLERANCES[kind] for kind, size in self.largest.items()}
        return tuple(sorted((kind for kind in excess if excess[kind] > 1), key=lambda kind: -excess[kind]))

    @property
    def largest(self) -> Mapping[str, float]:
        """The largest residual of every kind."""
        parts = {kind: getattr(self, kind) for kind in TOLERANCES}
        return {kind: float(part.max(initial=0.0)) for kind, part in parts.items() if part is not None}


def residual(model: Elements, states: States, qdd: np.ndarray, reactions: np.ndarray | None = None) -> Residual:
    """Return the residuals of the principle for accelerations q̈ (n, K) and, optionally, reactions Aᵀλ + C.

    >>> import dalembert as dl
    >>> model = dl.load("simple-pendulum")
    >>> eom = dl.derive(model, "kane", engine="python")
    >>> states = States(np.array([[0.3]]), np.array([[1.2]]), np.zeros(1))
    >>> qdd = eom.accelerations(states.q, states.qd, states.t)
    >>> residual(model, states, qdd).worst < 1e-14
    True
    >>> residual(model, states, 1.001 * qdd).worst > 1e-4
    True
    """
    with np.errstate(all="ignore"):
        moving = move_model(model, states, np.asarray(qdd, dtype=float))
        works, C = declared_work(moving), non_ideal_work(moving)
        conditions = declared_conditions(moving)
        parts = [c.slopes for c in conditions]
        slopes = np.concatenate(parts) if parts else np.zeros((0, moving.n, moving.K))
        scale = _scale(inertias(moving), slopes)
        left = sum((work.value for work in works), start=np.zeros_like(qdd))
        force = scale * sum((work.size for work in works), start=np.abs(C))
        size = np.sqrt(np.sum(force**2, axis=0))
        admitted = _admitted(slopes * scale, scale * (left + C))
        reaction = None if reactions is None else _ratio(np.abs(scale * (reactions + left)).max(axis=0), size)
        return Residual(
            _ratio(np.sqrt(np.sum(admitted**2, axis=0)), size),
            _broken(conditions, "position", scale, states.q),
            _broken(conditions, "velocity", scale, states.qd),
            _broken(conditions, "acceleration", scale, moving.qdd, size),
            reaction,
        )


def _scale(inertia: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return a unit for every coordinate (n, K) such that all have unit inertia, independent of units of length and angle.

    The unit of a coordinate without inertia is chosen such that the constraints weight it like the others.
    """
    heavy = inertia > 1e-28 * inertia.max(axis=0, initial=0.0)  # rounding errors are smaller, even in units of 1e-9
    scale = np.where(heavy, 1 / np.sqrt(np.where(heavy, inertia, 1.0)), 0.0)
    weighed = np.abs(slopes * scale).max(axis=1, initial=0.0)
    shares = np.abs(slopes) / np.where(weighed > 0, weighed, 1.0)[:, None]
    share = shares.max(axis=0, initial=0.0)
    return np.where(heavy, scale, 1 / np.where(share > 0, share, 1.0))


def _admitted(rows: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return the part of a force (n, K) that does work on displacements with rows · δq = 0, in units of equal inertia."""
    if not len(rows):
        return force
    lengths = np.sqrt(np.sum(rows**2, axis=1))
    level = np.moveaxis(rows / np.where(lengths > 0, lengths, 1.0)[:, None], -1, 0)
    level = np.where(np.isfinite(level), level, 0.0)
    _, sigma, Vt = np.linalg.svd(level, full_matrices=False)
    independent = sigma > TOLERANCE * sigma.max(axis=1, initial=0.0, keepdims=True)
    forbidden = Vt * independent[:, :, None]
    return force - np.einsum("Krn,Krm,mK->nK", forbidden, forbidden, force)


def _broken(
    conditions: Sequence[Condition], level: str, scale: np.ndarray, x: np.ndarray, force: np.ndarray | float = 0.0
) -> np.ndarray:
    """Return the largest relative constraint violation on one level; x is q, q̇ or q̈.

    `force` is the size of the forces, which in units of equal inertia is the size of the accelerations they can cause: if the
    constraints admit no motion, the accelerations are rounding errors of this size.
    """
    size = np.sqrt(np.sum((x / scale) ** 2, axis=0)) + force
    out = np.zeros(x.shape[1])
    for condition in conditions:
        terms: Level | None = getattr(condition, level)
        if terms is not None:
            weight = np.sqrt(np.sum((condition.slopes * scale) ** 2, axis=1))
            rest = np.abs(terms.value - np.einsum("mnk,nk->mk", condition.slopes, x))
            ratios = _ratio(np.abs(terms.value), terms.size + weight * size + rest)
            out = np.maximum(out, ratios.max(axis=0, initial=0.0))
    return out


def _ratio(value: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return value / size: zero if the value is zero, infinite if it is not finite."""
    ratio = np.where(value == 0, 0.0, value / np.where(size > 0, size, np.finfo(float).tiny))
    return np.where(np.isfinite(ratio), ratio, np.inf)


def declared_conditions(probe: MovingModel) -> list[Condition]:
    """Return all constraints of the model, including quaternion norms and contacts."""
    model = probe.model
    out = [_norm(probe, body.name, joint) for body in model.bodies for joint in body.joints if joint.quaternion]
    for c in model.holonomic_constraints:
        gap = probe.traced(lambda poses, phi=c.phi: vector([poses.lower(phi)]))
        out.append(position_condition(c.name, probe, gap, c.feedback))
    out += [_loop(probe, loop) for loop in model.loops if loop.row_names]
    out += [_nonholonomic(probe, c) for c in model.nonholonomic_constraints]
    for contact in model.contacts:
        out += contact.declared(probe)
    return out


def _norm(probe: MovingModel, body: str, joint: Joint) -> Condition:
    def excess(poses: BodyPoses) -> Array:
        parts = poses.numbers(joint.values[-4:])
        return vector([0.5 * (parts @ parts - 1)])

    return position_condition(f"norm of {body}", probe, probe.traced(excess), ())


def _nonholonomic(probe: MovingModel, constraint: Nonholonomic) -> Condition:
    """Return the condition ψ = 0 and ψ̇ = 0; with a gain α only ψ̇ + α ψ = 0."""
    along = series(probe.path.lower(constraint.psi))
    value, rate = (np.broadcast_to(x, probe.K)[None] for x in (along.value, along.rate))
    slopes = probe.slopes(constraint.psi)[0][None]
    zero = np.zeros_like(value)
    if constraint.feedback:
        pull = probe.number(constraint.feedback[0]) * value
        return Condition(constraint.name, slopes, None, None, Level(rate + pull, np.abs(pull)))
    return Condition(constraint.name, slopes, None, Level(value, zero), Level(rate, zero))


def _loop(probe: MovingModel, loop: Loop) -> Condition:
    """Return the closure condition of a cut joint."""

    def ends(poses: BodyPoses) -> tuple[ReferenceFrame, ReferenceFrame]:
        first, second = loop.bodies
        return (
            poses.fixed_frame(first, loop.joint.position, loop.joint.rotation),
            poses.fixed_frame(second, loop.position, loop.rotation),
        )

    def gap(poses: BodyPoses) -> Array:
        F, M = ends(poses)
        if loop.feedback:
            rows = loop.joint.closure(poses.algebra, F.R.T @ M.R, F.R.T @ (M.p - F.p))
            return vector([row.phi for row in rows])
        lengths, turns = loop.joint.reference_residuals(poses.algebra, F, M)
        return vector([*lengths, *turns])

    halves = [
        (probe.traced(lambda poses, i=i: ends(poses)[i].p), probe.traced(lambda poses, i=i: ends(poses)[i].R))
        for i in (0, 1)
    ]
    return position_condition(
        loop.name, probe, probe.traced(gap), loop.feedback, _sizes(probe, _are_lengths(loop, probe), *halves)
    )


def _are_lengths(loop: Loop, probe: MovingModel) -> np.ndarray:
    """Return for each row whether it measures a length (True) or a direction (False)."""
    if loop.feedback:
        return np.array(loop.joint.holds_lengths)[:, None]
    world = probe.path.frames[WORLD]
    lengths, turns = loop.joint.reference_residuals(probe.path.algebra, world, world)
    return np.array([[True]] * len(lengths) + [[False]] * len(turns))


def _sizes(
    probe: MovingModel,
    lengths: np.ndarray,
    first: tuple[Derivatives, Derivatives],
    second: tuple[Derivatives, Derivatives],
) -> tuple[np.ndarray, ...]:
    """Return the sizes of the terms of the rows on each level: of positions or axes, and of their derivatives."""
    (F, R_F), (M, R_M) = first, second
    apart, reach = length(M.value - F.value), length(F.value) + length(M.value)
    fast, spin = (sum(_size(x.rate, x, probe.states.qd) for x in pair) for pair in ((F, M), (R_F, R_M)))
    quick, jerk = (sum(_size(x.second, x, probe.qdd) for x in pair) for pair in ((F, M), (R_F, R_M)))
    jerk = jerk + spin**2
    return (
        np.where(lengths, reach, 1.0),
        np.where(lengths, fast + apart * spin, spin),
        np.where(lengths, quick + 2 * fast * spin + apart * jerk, jerk),
    )


def _size(rate: np.ndarray, moved: Derivatives, by: np.ndarray) -> np.ndarray:
    """Return the size of a rate plus the sizes of its terms from each coordinate, which may cancel."""
    parts = np.sqrt(np.sum(moved.change.reshape(-1, *moved.change.shape[-2:]) ** 2, axis=0))
    return length(rate) + np.sum(parts * np.abs(by), axis=0)


def declared_work(probe: MovingModel) -> list[VirtualWork]:
    """Return the virtual work of inertia, gravity, rotors and loads, or of the energies that define the model."""
    if probe.model.energies is not None:
        return list(_energies(probe))
    works = [work for body in probe.model.bodies for work in _of_body(probe, body)]
    works += [load.reference_work(probe) for load in probe.model.loads if not load.in_joints]
    return works + joint_work(probe)


def joint_work(probe: MovingModel) -> list[VirtualWork]:
    """Return the virtual work of joint drives: rotors, torques, springs and friction."""
    works = []
    for rotor in probe.model.rotors:
        turn = probe.traced(lambda poses, r=rotor: poses.value(r.body, r.joint, r.motion))
        inertia = probe.number(rotor.inertia) * probe.number(rotor.ratio) ** 2
        works.append(product(f"inertia of {rotor.name}", -inertia * turn.second, turn))
    return works + [load.reference_work(probe) for load in probe.model.loads if load.in_joints]


def non_ideal_work(probe: MovingModel) -> np.ndarray:
    """Return C of the virtual work wᵀC of non-ideal constraints (n, K)."""
    forces = probe.model.non_ideal_forces
    return probe.numbers([forces.get(name, 0) for name in probe.model.coordinate_names])


def inertias(probe: MovingModel) -> np.ndarray:
    """Return the diagonal inertia of each coordinate, Σ m |∂r/∂q_i|² over all bodies and rotors, (n, K)."""
    if probe.model.energies is not None:
        return probe.slopes(probe.model.energies.kinetic)[1]
    total = np.zeros((probe.n, probe.K))
    for body in probe.model.bodies:
        center, axes = _matter(probe, body)
        total += probe.number(body.mass) * np.einsum("xnk,xnk->nk", center.change, center.change)
        total += np.einsum("abk,xank,xbnk->nk", second_moments(probe, body), axes.change, axes.change)
    for rotor in probe.model.rotors:
        turn = probe.traced(lambda poses, r=rotor: poses.value(r.body, r.joint, r.motion))
        total += probe.number(rotor.inertia) * (probe.number(rotor.ratio) * turn.change) ** 2
    return total


def _matter(probe: MovingModel, body: Body) -> tuple[Derivatives, Derivatives]:
    """Return the mass center and the axes of a body."""
    return point_of(probe, body.name, body.center), axes_of(probe, body.name)


def second_moments(probe: MovingModel, body: Body) -> np.ndarray:
    """Return S = ½ tr(I) 1 − I about the mass center, (3, 3, K)."""
    inertia = probe.numbers(body.inertia)
    return 0.5 * np.trace(inertia) * np.eye(3)[:, :, None] - inertia


def _of_body(probe: MovingModel, body: Body) -> Iterator[VirtualWork]:
    center, axes = _matter(probe, body)
    mass, S = probe.number(body.mass), second_moments(probe, body)
    yield on_point(f"inertia of {body.name}", -mass * center.second, center)
    turning = -np.einsum("abk,xak->xbk", S, axes.second)
    yield on_point(
        f"rotational inertia of {body.name}",
        turning.reshape(9, -1),
        Derivatives(*(x.reshape(9, *x.shape[2:]) for x in (axes.value, axes.rate, axes.second, axes.change))),
    )
    yield on_point(f"gravity on {body.name}", mass * probe.numbers(probe.model.gravity), center)


def _energies(probe: MovingModel) -> Iterator[VirtualWork]:
    """−(d/dt ∂T/∂q̇ − ∂T/∂q) − ∂V/∂q + Q for a model defined by energies: Lagrange's form of the same sum."""
    energies = probe.model.energies
    assert energies is not None
    rates = probe.changes(series(probe.momentum(energies.kinetic)).rate)
    for name, value in (
        ("rate of momentum", -rates),
        ("kinetic energy", probe.changes(probe.perturbed.lower(energies.kinetic))),
        ("potential energy", -probe.changes(probe.perturbed.lower(energies.potential))),
        ("forces", probe.numbers(energies.forces)),
    ):
        yield VirtualWork(name, value, np.abs(value))
