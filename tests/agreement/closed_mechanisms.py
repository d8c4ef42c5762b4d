"""Random closed mechanisms with at least one degree of freedom, as data, and an independent reference solution.

A mechanism is a tree of bodies on joints, closed by one more joint between two of its bodies, or a body and the world. A random
posture is chosen first, and the frame of the closing joint on its second body follows from it: it is closed by construction.
The reference does not use dalembert: it evaluates the tree in NumPy, differentiates positions by complex steps, and solves
[M −Aᵀ; A 0] (q̈, λ) = (h, −Ȧq̇) by least squares, which permits redundant rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from dalembert.api.equations import Equations
from dalembert.mechanics import state_batch
from dalembert.model.model import Model
from dalembert.simulation.bound_equations import derivation_of

FREEDOMS = {"revolute": 1, "prismatic": 1, "universal": 2, "ball": 3}
Transform = tuple[np.ndarray, np.ndarray]  # rotation and position


@dataclass(frozen=True)
class Joint:
    """A joint of a tree: its frame on the parent, and its axes; a spherical joint has a quaternion."""

    kind: str
    frame: Transform
    axes: tuple[np.ndarray, ...] = ()

    @property
    def n(self) -> int:
        """The number of coordinates."""
        return 4 if self.kind == "ball" else FREEDOMS[self.kind]


@dataclass(frozen=True)
class Body:
    parent: int  # −1 is the world
    joint: Joint
    mass: float
    center: np.ndarray
    inertia: np.ndarray  # about the mass center, in axes of the body


@dataclass(frozen=True)
class Closing:
    """A joint between body `first`, at its frame `frame`, and body `second`, at its frame `other`."""

    kind: str
    axes: tuple[np.ndarray, ...]
    first: int
    second: int
    frame: Transform
    other: Transform = field(default=(np.eye(3), np.zeros(3)))


@dataclass(frozen=True)
class Mechanism:
    name: str
    gravity: np.ndarray
    bodies: tuple[Body, ...]
    closing: Closing
    posture: np.ndarray

    @property
    def slices(self) -> list[slice]:
        """The coordinates of every body."""
        ends = np.cumsum([0, *(body.joint.n for body in self.bodies)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    @property
    def balls(self) -> list[slice]:
        """The quaternions."""
        return [own for own, body in zip(self.slices, self.bodies, strict=True) if body.joint.kind == "ball"]


# rotations


def skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def about(axis: np.ndarray, angle: complex) -> np.ndarray:
    """Rodrigues' formula."""
    K = skew(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def quaternion_rotation(quaternion: np.ndarray) -> np.ndarray:
    """The rotation of a quaternion (w, x, y, z) of any length."""
    w, u = quaternion[0], skew(quaternion[1:])
    square = np.sum(quaternion**2)
    return np.eye(3) + 2 * (w * u + u @ u) / square


def roll_pitch_yaw(R: np.ndarray) -> tuple[float, float, float]:
    """The angles of Rz Ry Rx."""
    return (
        float(np.arctan2(R[2, 1], R[2, 2])),
        float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))),
        float(np.arctan2(R[1, 0], R[0, 0])),
    )


def compose(a: Transform, b: Transform) -> Transform:
    """Composition of two transforms."""
    return a[0] @ b[0], a[1] + a[0] @ b[1]


def relative_transform(a: Transform, b: Transform) -> Transform:
    """The transform b relative to a."""
    return a[0].T @ b[0], a[0].T @ (b[1] - a[1])


def moved(joint: Joint, q: np.ndarray) -> Transform:
    """What a joint does."""
    still = np.zeros(3)
    if joint.kind == "revolute":
        return about(joint.axes[0], q[0]), still
    if joint.kind == "prismatic":
        return np.eye(3), q[0] * joint.axes[0]
    if joint.kind == "universal":
        return about(joint.axes[0], q[0]) @ about(joint.axes[1], q[1]), still
    return quaternion_rotation(q), still


def body_transforms(mechanism: Mechanism, q: np.ndarray) -> list[Transform]:
    """Where all bodies are; q may be complex."""
    out: list[Transform] = []
    for body, own in zip(mechanism.bodies, mechanism.slices, strict=True):
        base = compose(out[body.parent] if body.parent >= 0 else (np.eye(3), np.zeros(3)), body.joint.frame)
        out.append(compose(base, moved(body.joint, q[own])))
    return out


# reference solution


def gaps(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Residuals of the closing joint and of the quaternion norms."""
    cut, all_transforms = mechanism.closing, [*body_transforms(mechanism, q), (np.eye(3), np.zeros(3))]
    R, p = relative_transform(
        compose(all_transforms[cut.first], cut.frame), compose(all_transforms[cut.second], cut.other)
    )
    norms = [np.sum(q[own] ** 2) - 1 for own in mechanism.balls]
    if cut.kind == "ball":
        rows = list(p)
    elif cut.kind == "universal":
        rows = [*p, cut.axes[0] @ R @ cut.axes[1]]
    else:
        first, second = across(cut.axes[0])
        if cut.kind == "revolute":
            rows = [*p, first @ R @ cut.axes[0], second @ R @ cut.axes[0]]
        else:  # prismatic
            turn = (R - R.T)[[2, 0, 1], [1, 2, 0]]
            rows = [first @ p, second @ p, *turn]
    return np.array([*rows, *norms])


def across(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors perpendicular to an axis."""
    first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)


def slopes(function, q: np.ndarray) -> np.ndarray:
    """∂f/∂q by complex steps, the coordinate on the last axis."""
    steps = 1e-30j * np.eye(len(q))
    return np.stack([np.imag(function(q + step)) / 1e-30 for step in steps], axis=-1)


def jacobians(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Jacobians of mass-center velocities and angular velocities in world axes, (bodies, 6, n)."""

    def flat(at: np.ndarray) -> np.ndarray:
        found = zip(body_transforms(mechanism, at), mechanism.bodies, strict=True)
        return np.array([np.concatenate([p + R @ body.center, R.ravel()]) for (R, p), body in found])

    change = slopes(flat, q)
    out = np.empty((len(mechanism.bodies), 6, len(q)))
    for i, (R, _) in enumerate(body_transforms(mechanism, q)):
        out[i, :3] = change[i, :3]
        spin = np.einsum("abk,cb->ack", change[i, 3:].reshape(3, 3, -1), R)  # Ṙ Rᵀ
        out[i, 3:] = spin[[2, 0, 1], [1, 2, 0]]
    return out


def along(function, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """The rate of a function along q̇, by differences of sixth order."""
    h = 2e-3 / max(1.0, np.abs(qd).max())
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    slopes = sum(w * (function(q + k * h * qd) - function(q - k * h * qd)) for k, w in weights.items())
    return np.asarray(slopes) / h


@dataclass(frozen=True)
class ReferenceSolution:
    """Reference solution at one state."""

    M: np.ndarray
    A: np.ndarray
    qdd: np.ndarray
    reaction: np.ndarray
    condition: float  # of the equations in independent rows, scaled

    @property
    def rank(self) -> int:
        """Of the constraints."""
        return int(np.linalg.matrix_rank(self.A, tol=1e-7 * np.linalg.norm(self.A, 2)))


def reference_solution(mechanism: Mechanism, q: np.ndarray, qd: np.ndarray) -> ReferenceSolution:
    """M, A, accelerations and reactions at a state."""
    n = len(q)
    J, Jd = jacobians(mechanism, q), along(lambda at: jacobians(mechanism, at), q, qd)
    M, h = np.zeros((n, n)), np.zeros(n)
    for body, (R, _), own, change in zip(mechanism.bodies, body_transforms(mechanism, q), J, Jd, strict=True):
        inertia, w = R @ body.inertia @ R.T, own[3:] @ qd
        M += body.mass * own[:3].T @ own[:3] + own[3:].T @ inertia @ own[3:]
        h += body.mass * own[:3].T @ (mechanism.gravity - change[:3] @ qd)
        h -= own[3:].T @ (inertia @ (change[3:] @ qd) + np.cross(w, inertia @ w))

    def rows(at: np.ndarray) -> np.ndarray:
        return slopes(lambda x: gaps(mechanism, x), at)

    A, beta = rows(q), -along(rows, q, qd) @ qd
    # an independent combination of the rows; M is singular along quaternions, so the full system is solved
    U, sigma, Vt = np.linalg.svd(A)
    r = int((sigma > 1e-7 * sigma[0]).sum())
    independent, right = Vt[:r], (U.T @ beta)[:r] / sigma[:r]
    size = np.sqrt(np.diag(M).max())
    system = np.block([[M / size**2, -independent.T], [independent, np.zeros((r, r))]])
    found = np.linalg.solve(system, np.concatenate([h / size**2, right]))
    qdd = found[:n]
    return ReferenceSolution(M, A, qdd, M @ qdd - h, float(np.linalg.cond(system)))


def well_conditioned(space, states, count: int):
    """The first states at which the chosen speeds are well-conditioned."""
    equations = Equations(derivation_of(space.setup, "kane"))
    kernel, values = equations.kernel, equations.values
    v, _ = kernel.start(states.q, states.qd, states.t, values)
    y, none = np.concatenate([states.q, v]), np.zeros_like(v)
    rest = kernel.second_rates(y, states.t, values, none)
    W = [kernel.second_rates(y, states.t, values, none + unit[:, None]) - rest for unit in np.eye(len(v))]
    selected = np.flatnonzero(np.abs(W).max(axis=(0, 1)) < 20)[:count]
    assert len(selected) == count
    return state_batch.States(states.q[:, selected], states.qd[:, selected], states.t[selected])


# random mechanisms


class _Draw:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def unit(self) -> np.ndarray:
        x = self.rng.normal(size=3)
        return np.round(x / np.linalg.norm(x), 12)

    def axes(self, kind: str, plane: bool) -> tuple[np.ndarray, ...]:
        if kind == "ball":
            return ()
        if plane:
            angle = self.rng.uniform(0, 2 * np.pi)
            return (np.array([0.0, 0, 1]) if kind == "revolute" else np.array([np.cos(angle), np.sin(angle), 0]),)
        first = self.unit()
        first /= np.linalg.norm(first)
        return (first, across(first)[0]) if kind == "universal" else (first,)

    def pose(self, plane: bool, first: bool = False) -> Transform:
        angles = self.rng.uniform(-1, 1, 3)
        p = self.rng.uniform(-0.8, 0.8, 3)
        if plane and not first:
            return about(np.array([0.0, 0, 1]), angles[2]), p
        x, y, z = np.eye(3)
        return about(z, angles[2]) @ about(y, angles[1]) @ about(x, angles[0]), p

    def body(self, parent: int, joint: Joint) -> Body:
        axes, _ = np.linalg.qr(self.rng.normal(size=(3, 3)))
        second = axes @ np.diag(self.rng.uniform(0.02, 0.2, 3)) @ axes.T  # ∫ r rᵀ dm
        inertia = np.trace(second) * np.eye(3) - second
        return Body(parent, joint, float(self.rng.uniform(0.4, 2)), self.rng.uniform(-0.4, 0.4, 3), inertia)


# families: planar or not, joints from the world outward in two branches, closing joint
FAMILIES: dict[str, tuple[bool, tuple[str, ...], tuple[str, ...], str]] = {
    "planar, pin": (True, ("revolute", "revolute"), ("revolute",), "revolute"),
    "planar, slide": (True, ("revolute", "revolute"), ("revolute",), "prismatic"),
    "planar, slider-crank": (True, ("revolute", "revolute"), ("prismatic",), "revolute"),
    "planar, five bars": (True, ("revolute", "revolute"), ("revolute", "revolute"), "revolute"),
    "spatial, ball": (False, ("revolute", "universal"), ("revolute",), "ball"),
    "spatial, ball and slide": (False, ("prismatic", "universal"), ("revolute",), "ball"),
    "spatial, two balls": (False, ("revolute", "ball"), ("revolute",), "ball"),
    "spatial, cross": (False, ("universal", "universal"), ("revolute",), "universal"),
    "spatial, ball and cross": (False, ("revolute", "ball"), ("revolute",), "universal"),
    "spatial, pin": (False, ("revolute", "ball"), ("universal",), "revolute"),
    "spatial, slide": (False, ("universal", "ball"), ("revolute",), "prismatic"),
    "spatial, to the world": (False, ("universal", "revolute", "revolute"), (), "ball"),
}


def random_mechanism(family: str, seed: int) -> Mechanism:
    """A mechanism of a family with at least one degree of freedom at its posture and well-conditioned constraints."""
    for trial in range(100):
        found = _tried(family, 1000 * seed + trial)
        rates = np.random.default_rng(seed).normal(size=len(found.posture))
        here = reference_solution(found, found.posture, rates)
        sigma = np.linalg.svd(here.A, compute_uv=False)
        selected = sigma[sigma > 1e-7 * sigma[0]]
        if len(found.posture) - len(selected) >= 1 and selected[-1] > 0.05 * selected[0] and here.condition < 1e4:
            return found
    raise AssertionError(f"{family}, seed {seed}: no mechanism was found")


def _tried(family: str, seed: int) -> Mechanism:
    draw, (plane, one, two, kind) = _Draw(seed), FAMILIES[family]
    bodies: list[Body] = []
    base = draw.pose(False, first=True)[0]  # the plane of planar ones
    tips = []
    for branch in (one, two):
        parent = -1
        for each in branch:
            frame = draw.pose(plane)
            frame = (base @ frame[0], base @ frame[1]) if parent < 0 else frame
            bodies.append(draw.body(parent, Joint(each, frame, draw.axes(each, plane))))
            parent = len(bodies) - 1
        tips.append(parent)
    posture = np.concatenate([_values(body.joint, draw.rng) for body in bodies])
    closing = Closing(kind, draw.axes(kind, plane), tips[0], tips[1], draw.pose(plane))
    open_one = Mechanism(f"{family} {seed}", draw.rng.uniform(-9, 9, 3), tuple(bodies), closing, posture)
    at = [*body_transforms(open_one, posture), (np.eye(3), np.zeros(3))]
    other = relative_transform(at[closing.second], compose(at[closing.first], closing.frame))
    closed = Closing(kind, closing.axes, closing.first, closing.second, closing.frame, other)
    return Mechanism(open_one.name, open_one.gravity, open_one.bodies, closed, posture)


def _values(joint: Joint, rng: np.random.Generator) -> np.ndarray:
    if joint.kind != "ball":
        return rng.uniform(-1, 1, joint.n)
    x = np.array([1.5, *rng.normal(size=3)])
    return x / np.linalg.norm(x)


# the same as a model of dalembert


def as_model(mechanism: Mechanism) -> Model:
    """The mechanism as a dalembert model at its posture."""
    model = Model(mechanism.name.replace(",", "").replace(" ", "-"), gravity=mechanism.gravity.tolist())
    for i, value in enumerate(mechanism.posture):
        model.coordinate(f"q{i}", float(value))
    names = ["world", *(f"body{i}" for i in range(len(mechanism.bodies)))]
    for i, (body, own) in enumerate(zip(mechanism.bodies, mechanism.slices, strict=True)):
        motions = [f"q{k}" for k in range(own.start, own.stop)]
        model.body(
            names[i + 1],
            parent=names[body.parent + 1],
            joint=_joint(model, body.joint.kind, body.joint.axes, body.joint.frame, motions),
            mass=body.mass,
            center=body.center.tolist(),
            inertia=body.inertia.tolist(),
        )
    cut = mechanism.closing
    ends = names[cut.first + 1], names[cut.second + 1]
    other = {"position": cut.other[1].tolist(), "rotation": roll_pitch_yaw(cut.other[0])}
    return model.loop("cut", ends, _joint(model, cut.kind, cut.axes, cut.frame, None), **other)


def _joint(model: Model, kind: str, axes: Sequence[np.ndarray], frame: Transform, motions: list[str] | None):
    at = {"position": frame[1].tolist(), "rotation": roll_pitch_yaw(frame[0])}
    if kind == "ball":
        return model.spherical(**({} if motions is None else {"quaternion": motions}), **at)
    if kind == "universal":
        return model.universal([a.tolist() for a in axes], motions, **at)
    make = model.revolute if kind == "revolute" else model.prismatic
    return make(axes[0].tolist(), None if motions is None else motions[0], **at)
