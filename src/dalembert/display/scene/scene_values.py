"""Frozen records of a scene, and their conversion to plain data.

Lengths are those of the model. A shape is given in body axes: `at` is its center, `turn` the rotation to body axes. The axis of
a cylinder, capsule, cone or disc is its z.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.codegen.function import nodes
from dalembert.codegen.program import Program, program_of
from dalembert.mechanics.constraint_levels import Constraints, levels
from dalembert.mechanics.motion import Motion, move_symbols
from dalembert.model.description import Elements
from dalembert.symbolic.algebra_base import Array, choose, stack
from dalembert.symbolic.lookup_tables import LookupTable
from dalembert.symbolic.operations import OPERATIONS
from dalembert.symbolic.rotations import quaternion

FORMAT = 1
PosesByBody = dict[str, tuple[np.ndarray, np.ndarray]]  # rotations (3, 3, batch) and positions (3, batch) by body


def packed(values: np.ndarray, kind: str = "f64") -> dict[str, Any]:
    """Return an array as base64 of little-endian numbers, with its shape.

    >>> packed(np.array([1.0, 2.0]))
    {'f64': 'AAAAAAAA8D8AAAAAAAAAQA==', 'shape': [2]}
    """
    dtype = {"f64": "<f8", "f32": "<f4", "u32": "<u4"}[kind]
    data = np.ascontiguousarray(values, dtype=dtype)
    return {kind: base64.b64encode(data.tobytes()).decode("ascii"), "shape": list(data.shape)}


@dataclass(frozen=True, eq=False)
class SceneShape:
    """One shape: its kind, its pose on the body, and its size.

    | kind | size |
    |---|---|
    | box | three edges |
    | cylinder, capsule, cone, disc | radius, length; for a capsule without its round ends |
    | sphere | radius |
    | frame | length of the axes |
    | line | width; `points` (n, 3) |
    | mesh | `points` (n, 3), `faces` (m, 3) |
    """

    kind: str
    size: tuple[float, ...]
    color: str
    role: str = "body"  # body, joint, center or ground
    at: np.ndarray = field(default_factory=lambda: np.zeros(3))
    turn: np.ndarray = field(default_factory=lambda: np.eye(3))
    points: np.ndarray | None = None
    faces: np.ndarray | None = None
    opacity: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data."""
        out: dict[str, Any] = {
            "kind": self.kind,
            "at": _rounded(self.at),
            "turn": _rounded(quaternion(self.turn)),
            "size": _rounded(self.size),
            "color": self.color,
            "role": self.role,
        }
        if self.opacity < 1:
            out["opacity"] = round(self.opacity, 3)
        if self.points is not None:
            out["vertices" if self.kind == "mesh" else "points"] = packed(self.points, "f32")
        if self.faces is not None:
            out["faces"] = packed(self.faces, "u32")
        return out


@dataclass(frozen=True)
class SceneBody:
    """A body, or the world, with its shapes."""

    name: str
    shapes: tuple[SceneShape, ...]


@dataclass(frozen=True)
class View:
    """Camera of the scene: `size` is the diameter in view, `unit` a characteristic length of the mechanism."""

    up: np.ndarray
    planar: bool
    eye: np.ndarray
    target: np.ndarray
    size: float
    unit: float
    follow: str | None  # body that the camera follows, for a motion over a long distance

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data."""
        vectors = {"up": _rounded(self.up), "eye": _rounded(self.eye), "target": _rounded(self.target)}
        return {**vectors, "planar": self.planar, "size": self.size, "unit": self.unit, "follow": self.follow}


@dataclass(frozen=True)
class Slider:
    """A coordinate that the user can move."""

    name: str
    label: str
    unit: str
    start: float
    low: float | None
    high: float | None
    turns: bool
    prescribed: bool  # prescribed motion

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class Trail:
    """A point of a body whose path is drawn."""

    body: str
    point: np.ndarray
    color: str
    seconds: float  # visible duration of the path

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data."""
        point = {"point": _rounded(self.point), "seconds": self.seconds}
        return {"body": self.body, **point, "color": self.color}


@dataclass(frozen=True)
class Connector:
    """A spring, damper or rope: the straight line between points of two bodies."""

    name: str
    kind: str
    bodies: tuple[str, str]
    points: tuple[np.ndarray, np.ndarray]
    color: str

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data."""
        points = [_rounded(point) for point in self.points]
        return {"name": self.name, "kind": self.kind, "bodies": [*self.bodies], "points": points, "color": self.color}


@dataclass(frozen=True)
class Channel:
    """One time history."""

    key: str
    name: str
    label: str
    unit: str
    group: str
    values: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data."""
        return {**vars(self), "values": packed(self.values)}


@dataclass(frozen=True)
class Arrow:
    """A force, torque or velocity along a run, in the world: one column for each sample."""

    name: str
    kind: str
    body: str
    point: np.ndarray
    vector: np.ndarray
    unit: str
    scale: float  # length per unit

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data."""
        return {**vars(self), "point": packed(self.point, "f32"), "vector": packed(self.vector, "f32")}


@dataclass(frozen=True)
class Recorded:
    """The samples of a run."""

    formalism: str
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    channels: tuple[Channel, ...]
    arrows: tuple[Arrow, ...]

    def at(self, times: np.ndarray) -> np.ndarray:
        """The coordinates (n, k) at any times of the run, by quintic Hermite interpolation of q, q̇ and q̈."""
        k = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, max(len(self.t) - 2, 0))
        after = np.minimum(k + 1, len(self.t) - 1)
        h = np.where(after > k, self.t[after] - self.t[k], 1.0)
        s = np.clip((times - self.t[k]) / h, 0.0, 1.0)
        a, b, c = self.q[:, k], self.qd[:, k] * h, self.qdd[:, k] * h**2 / 2
        # residuals at the end of the Taylor polynomial from the start
        end, slope, bend = self.q[:, after], self.qd[:, after] * h, self.qdd[:, after] * h**2 / 2
        d0, d1, d2 = end - a - b - c, slope - b - 2 * c, bend - c
        cubic = 10 * d0 - 4 * d1 + d2
        return a + s * (b + s * (c + s * (cubic + s * (-15 * d0 + 7 * d1 - 2 * d2 + s * (6 * d0 - 3 * d1 + d2)))))

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data."""
        arrays = {key: packed(getattr(self, key)) for key in ("t", "q", "qd", "qdd")}
        lists = {key: [each.to_dict() for each in getattr(self, key)] for key in ("channels", "arrows")}
        return {"formalism": self.formalism, "duration": float(self.t[-1] - self.t[0]), **arrays, **lists}


@dataclass(frozen=True)
class Scene:
    """Data to draw a model, to move it interactively, and to play a run."""

    name: str
    description: str
    view: View
    coordinates: tuple[Slider, ...]
    bodies: tuple[SceneBody, ...]
    kinematics: Poses
    closure: ProgramForm | None
    run: Recorded | None = None
    trails: tuple[Trail, ...] = ()
    cords: tuple[Connector, ...] = ()
    notes: tuple[str, ...] = ()  # differences between drawing and declaration

    @property
    def start(self) -> tuple[np.ndarray, float]:
        """Initial coordinates and time."""
        if self.run is not None:
            return self.run.q[:, 0], float(self.run.t[0])
        return np.array([each.start for each in self.coordinates]), 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data for the viewer, which `json.dumps` accepts.

        >>> import dalembert as dl
        >>> data = dl.simulate("simple-pendulum", 1.0, samples=11).scene().to_dict()
        >>> data["view"]["planar"], [body["name"] for body in data["bodies"]], data["run"]["t"]["shape"]
        (True, ['world', 'bob'], [11])
        """
        return {
            "format": FORMAT,
            "model": {"name": self.name, "description": self.description, "notes": [*self.notes]},
            "view": self.view.to_dict(),
            "coordinates": [each.to_dict() for each in self.coordinates],
            "bodies": [{"name": part.name, "shapes": [each.to_dict() for each in part.shapes]} for part in self.bodies],
            "kinematics": self.kinematics.form.to_dict(),
            "closure": None if self.closure is None else self.closure.to_dict(),
            "run": None if self.run is None else self.run.to_dict(),
            "trails": [each.to_dict() for each in self.trails],
            "cords": [each.to_dict() for each in self.cords],
            "modes": [],
            "tabs": [],
        }


def _rounded(values: Iterable[float]) -> list[float]:
    """Round to nine digits, enough for a drawing."""
    return [float(f"{float(x):.9g}") + 0.0 for x in values]


@dataclass(frozen=True)
class ProgramForm:
    """A program without parameters."""

    program: Program

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data."""
        program = self.program
        tables = [{"times": x.times.tolist(), "values": x.values.tolist(), "order": x.order} for x in program.tables]
        lines = [[name, *operands] for name, operands in program.lines]
        form: dict[str, Any] = {"inputs": len(program.inputs), "numbers": [*program.numbers], "lines": lines}
        form["outputs"] = [*program.outputs]
        return {**form, "tables": tables} if tables else form

    def rows(self, n: int) -> int:
        """Number of functions, if each is followed by its n derivatives."""
        return len(self.program.outputs) // (n + 1)

    def at(self, q: np.ndarray, t: np.ndarray | float) -> np.ndarray:
        """Return the outputs at states (n, batch) and times, (outputs, batch)."""
        times = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])
        return evaluated(self.program, np.concatenate([q, times[None]]))


@dataclass(frozen=True)
class Poses:
    """Poses of the bodies: 12 outputs per body, the position and the rows of the rotation."""

    names: tuple[str, ...]
    form: ProgramForm

    def at(self, q: np.ndarray, t: np.ndarray | float) -> PosesByBody:
        """Return rotation (3, 3, batch) and position (3, batch) of every body, including the world."""
        batch = q.shape[1]
        out = self.form.at(q, t).reshape(len(self.names), 12, batch)
        found = {name: (each[3:].reshape(3, 3, batch), each[:3]) for name, each in zip(self.names, out, strict=True)}
        return {"world": (np.repeat(np.eye(3)[:, :, None], batch, axis=2), np.zeros((3, batch))), **found}


@dataclass(frozen=True)
class Forms:
    """The programs of one model at its parameter values."""

    model: Elements  # with contacts expanded to formulas
    values: dict[str, float]

    @cached_property
    def _motion(self) -> Motion:
        return move_symbols(self.model, choose("graph"))

    def _form(self, outputs: Array) -> ProgramForm:
        inputs = [*self.model.coordinate_names, "t"]
        found = program_of(nodes(choose("graph"), outputs), inputs, list(self.values))
        return ProgramForm(folded(found, self.values))

    @cached_property
    def poses(self) -> Poses:
        """Positions and rotations of all bodies."""
        bodies = self._motion.bodies
        parts = [part for body in bodies for part in (body.frame.p, body.R_WB.ravel())]
        return Poses(tuple(body.name for body in bodies), self._form(stack(*parts)))

    @cached_property
    def closure(self) -> ProgramForm | None:
        """The constraints on positions g(q, t) and ∂g/∂q row by row; None without constraints."""
        known = levels(self.model)
        rows = [i for i in range(known.n_holonomic) if not known.servo[i]]
        if not rows:
            return None
        constraints = Constraints(self._motion, known)
        return self._form(stack(constraints.phi[rows], constraints.A[rows].ravel()))


def to_world(poses: PosesByBody, body: str, point: np.ndarray) -> np.ndarray:
    """Transform a point of a body to world axes, (3, batch)."""
    R, p = poses[body]
    return np.einsum("xyk,y->xk", R, point) + p


def folded(program: Program, values: dict[str, float]) -> Program:
    """Return the program with its parameters and constant subexpressions replaced by numbers."""
    n = len(program.inputs)
    fixed = [*(values[name] for name in program.parameters), *program.numbers, *program.tables]
    known: dict[int, Any] = {n + i: each for i, each in enumerate(fixed)}
    first, moves = program.first_line, program.depends_on_inputs
    with np.errstate(all="ignore"):
        for i, (name, operands) in enumerate(program.lines):
            if not moves[first + i]:
                known[first + i] = _applied(name, [known[a] for a in operands])
    used = {a for i, (_, operands) in enumerate(program.lines) if moves[first + i] for a in operands} | {
        *program.outputs
    }
    used_constants = [a for a in sorted(known) if a in used]
    numbers = [a for a in used_constants if not isinstance(known[a], LookupTable)]
    tables = [a for a in used_constants if isinstance(known[a], LookupTable)]
    lines = [i for i in range(len(program.lines)) if moves[first + i]]
    order = [*range(n), *numbers, *tables, *(first + i for i in lines)]
    new_index = {old: new for new, old in enumerate(order)}
    return replace(
        program,
        parameters=(),
        numbers=tuple(float(known[a]) for a in numbers),
        tables=tuple(known[a] for a in tables),
        lines=tuple((program.lines[i][0], tuple(new_index[a] for a in program.lines[i][1])) for i in lines),
        outputs=tuple(new_index[a] for a in program.outputs),
    )


def evaluated(program: Program, inputs: np.ndarray) -> np.ndarray:
    """Evaluate a program without parameters at columns of inputs, line by line."""
    values: list[Any] = [*inputs, *program.numbers, *program.tables]
    with np.errstate(all="ignore"):
        for name, operands in program.lines:
            values.append(_applied(name, [values[a] for a in operands]))
    out = np.empty((len(program.outputs), *inputs.shape[1:]))
    for i, output in enumerate(program.outputs):
        out[i] = values[output]
    return out


def _applied(name: str, arguments: list[Any]) -> Any:
    if name == "interpolate":
        return arguments[0].at(arguments[1])
    return OPERATIONS[name].array(*arguments)
