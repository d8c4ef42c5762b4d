"""Bushing: stiffness and damping in all six directions between a frame on one body and a frame on another.

The deformation is the pose of the second frame B in the first frame A: displacement and rotation, both in axes of A,

    d = R_Aᵀ (p_B − p_A),    θ = 2 sin(α/2) k    for R_AᵀR_B = rotation by α about k,

so that θ is the rotation vector α k to third order in α, and regular up to α = π. With e = (d, θ) the virtual work of the
bushing is −(K e + C ė)·δe. So K stores the energy ½ eᵀK e for arbitrarily large motions, and the wrench follows: on the second
body the force R_A f at p_B and the couple R_A (w + u×) m, where (f, m) = −(K e + C ė), u = θ/2 and w = cos(α/2); on the first
body the opposite force at the same point p_B, and the opposite couple.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import InputError, Problem, short_repr
from dalembert.model import keys
from dalembert.model.attitude import roll_pitch_yaw, rotation_of
from dalembert.model.evaluation import value
from dalembert.model.keys import Value, ValueType, array, constant, invalid_value, two_bodies, two_points
from dalembert.model.loads.base import Applied, Load, LoadKinematics, Wrench, at_point, vector_of
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Action, Derivatives, MotionProbe, ReferencePoses, VirtualWork, on_point
from dalembert.model.values import WORLD, ZERO, Vector3, is_sequence, row_of
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, matrix, scaled, stack, vector, zeros
from dalembert.symbolic.formula_writer import write_formula
from dalembert.symbolic.rotations import Frame, cross, skew
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements

Row6 = tuple[Formula, ...]
Matrix6 = tuple[Row6, ...]
_SIX = "6 numbers (along x, y, z, about x, y, z) or 6 rows of 6"
NOTHING = (0, 0, 0, 0, 0, 0)


def _check(value: object, where: str, model: Elements) -> Iterator[Problem]:
    rows = isinstance(value, list) and len(value) == 6
    if isinstance(value, list) and rows and all(isinstance(row, list) for row in value):
        yield from array(6, array(6, constant, "numbers or formulas"), "rows")(value, where, model)
    elif rows:
        yield from array(6, constant, "numbers or formulas")(value, where, model)
    else:
        yield invalid_value(where, _SIX, value)


def _read(model: Elements, entries: object, where: str) -> Matrix6:
    """Read a matrix; six numbers are its diagonal."""
    rows = row_of(entries, where, _SIX)
    if len(rows) != 6:
        raise InputError(f"{where}: got {len(rows)} entries. Expected {_SIX}.")
    full = [row for row in rows if is_sequence(row, 6)]
    if not any(is_sequence(row) for row in rows):
        full = [[entry if i == j else 0 for j in range(6)] for i, entry in enumerate(rows)]
    if len(full) != 6:
        raise InputError(f"{where}: got {short_repr(entries)}. Expected {_SIX}.")
    return tuple(tuple(model.reader.constant(x, f"{where}[{i}]") for x in row) for i, row in enumerate(full))


def _write(entries: Matrix6, where: str) -> Value:
    if all(entry == 0 for i, row in enumerate(entries) for j, entry in enumerate(row) if i != j):
        return [write_formula(entries[i][i], where) for i in range(6)]
    return [keys.vector(row, where) for row in entries]


def _read_rotations(model: Elements, entries: object, where: str) -> tuple[Vector3, Vector3]:
    if not is_sequence(entries, 2):
        raise InputError(f"{where}: got {short_repr(entries)}. Expected 2 rotations, one for each body.")
    first, second = (roll_pitch_yaw(model, each, f"{where}[{i}]") for i, each in enumerate(entries))
    return first, second


six_by_six = ValueType(_check, _read, _write, argument="ArrayInput")
two_rotations = ValueType(
    array(2, rotation_of, "rotations"), _read_rotations, two_points.write, argument="Sequence[Rotation]"
)


@record
class Bushing(Load):
    """Connect frames of two bodies (or of the world) by stiffness and damping in all six directions.

    Both are six numbers, along x, y, z and about x, y, z of the first frame, or a 6×6 matrix; a stiffness is symmetric.
    The deformation is the displacement d from the first origin to the second and the rotation θ = 2 sin(α/2) k by α about k,
    both in axes of the first frame. The wrench acts at the second origin, and its reaction on the first body at the same point.

    >>> from dalembert.model.model import Model
    >>> model = Model("mount", gravity=(0, 0, -9.81)).coordinates("x", "y", "z", "a", "b", "c")
    >>> free = model.free(("x", "y", "z"), ("a", "b", "c"))
    >>> _ = model.body("engine", joint=free, mass=80, inertia=(2, 3, 3))
    >>> _ = model.bushing(("world", "engine"), stiffness=(2e5, 2e5, 1e5, 500, 500, 300), damping=(100, 100, 100, 1, 1, 1))
    >>> model.check()
    []
    """

    kind = "bushing"

    bodies: tuple[str, str] = argument(two_bodies, positional=True, about='two names, of bodies or `"world"`')
    points: tuple[Vector3, Vector3] = argument(
        two_points, (ZERO, ZERO), about="two points, the origins of the frames, each in the axes of its body"
    )
    rotations: tuple[Vector3, Vector3] = argument(
        two_rotations, (ZERO, ZERO), about="two [rotations](#rotations): the orientation of each frame on its body"
    )
    stiffness: Matrix6 = argument(
        six_by_six,
        NOTHING,
        about="six constants (along x, y, z, then about x, y, z), or a symmetric matrix as six rows of six",
    )
    damping: Matrix6 = argument(six_by_six, NOTHING, about="as `stiffness`; a matrix need not be symmetric")

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        return list(zip(self.bodies, self.points, strict=True))

    @property
    def stiff(self) -> Formula:
        return self.stiffness[0][0]

    def law(self) -> tuple[str, str]:
        pairs = (("stiffness", self.stiffness), ("damping", self.damping))
        parts = (f"{name} {', '.join(str(rows[i][i]) for i in range(6))}" for name, rows in pairs)
        return self.kind, "; ".join(parts)

    def problems(self, table: dict[str, float]) -> list[Problem]:
        found = []
        if self.bodies[0] == self.bodies[1]:
            fact = f"both frames are on '{self.bodies[0]}', so it has no effect."
            found.append(Problem(self.title, fact, "Give `bodies` two different names."))
        K = np.array([[value(entry, table) for entry in row] for row in self.stiffness])
        uneven = np.argwhere(np.abs(K - K.T) > 1e-12 * np.abs(K).max()).tolist()
        if uneven:
            i, j = uneven[0]
            fact = f"entry [{i}][{j}] is {K[i, j]:g} and entry [{j}][{i}] is {K[j, i]:g}, so it is not conservative."
            found.append(Problem(f"{self.title}, stiffness", fact, "Expected a symmetric matrix."))
        return found

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        """The elastic part, with its potential, and the damping part: each a force and a couple."""
        A, B = self._frames(motion)
        d, R = A.R.T @ (B.p - A.p), A.R.T @ B.R
        theta, E = _turn(motion.algebra, R)
        relative, drift = R @ B.D - A.D, R @ B.E - A.E  # ω_B − ω_A in axes of A
        J_d, c_d = A.R.T @ (B.J - A.J) + skew(d) @ A.D, A.R.T @ (B.c - A.c) + skew(d) @ A.E
        e, rate = stack(d, theta), stack(J_d @ motion.qd + c_d, E @ (relative @ motion.qd + drift))
        out = []
        for entries, x, stores in ((self.stiffness, e, True), (self.damping, rate, False)):
            rows = matrix([[motion.lower(entry) for entry in row] for row in entries])
            if all(motion.algebra.is_zero(entry) for entry in rows.ravel()):
                continue
            pull = rows @ x
            force, couple = -(A.R @ pull[:3]), -(A.R @ (E.T @ pull[3:]))
            energies = (motion.algebra.half * (x @ pull), 0) if stores else (None, None)
            forces, couples = self._wrenches(motion, B.p, force, couple)
            out.append(Applied(self.name, force, A.R @ J_d, A.R @ c_d, energies[0], forces))
            out.append(Applied(f"couple of {self.name}", couple, A.R @ relative, A.R @ drift, energies[1], couples))
        return out

    def _frames(self, motion: LoadKinematics) -> Iterator[Frame]:
        for body, position, rotation in zip(self.bodies, self.points, self.rotations, strict=True):
            at, angles = vector_of(motion, position), list(vector_of(motion, rotation))
            yield motion.frame(body).fixed_frame(motion.algebra, at, angles)

    def _wrenches(
        self, motion: LoadKinematics, point: Array, force: Array, couple: Array
    ) -> Iterator[tuple[Wrench, ...]]:
        """The force at a world point on the second body and its reaction on the first; then the couples."""
        signed = [(body, motion.frame(body), sign) for body, sign in zip(self.bodies, (-1, 1), strict=True)]
        at = [(body, frame.R.T @ (point - frame.p), sign * force) for body, frame, sign in signed]
        yield tuple(wrench for each in at for wrench in at_point(motion, *each))
        yield tuple(
            Wrench(body, zeros(3), frame.R.T @ (sign * couple)) for body, frame, sign in signed if body != WORLD
        )

    # verification

    def _deformation(self, poses: ReferencePoses) -> Array:
        """d and θ from the Cayley parameters g of R: [g×] = (R − 1)(R + 1)⁻¹, θ = 2 g / √(1 + g·g)."""
        A, B = (poses.fixed_frame(*of) for of in zip(self.bodies, self.points, self.rotations, strict=True))
        d, R = A.R.T @ (B.p - A.p), A.R.T @ B.R
        G = (R - identity(3)) @ _inverse(R + identity(3))
        g = vector([G[2, 1], G[0, 2], G[1, 0]])
        return stack(d, scaled(2 / poses.algebra.sqrt(1 + g @ g), g))

    def _push(self, probe: MotionProbe, deformation: Derivatives) -> np.ndarray:
        stiff = np.einsum("ijk,jk->ik", probe.numbers(self.stiffness), deformation.value)
        return -stiff - np.einsum("ijk,jk->ik", probe.numbers(self.damping), deformation.rate)

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        """−(K e + C ė)·δe."""
        deformation = probe.traced(self._deformation)
        return on_point(self.name, self._push(probe, deformation), deformation)

    def actions(self, probe: MotionProbe) -> Iterator[Action]:
        deformation = probe.traced(self._deformation)
        frames = [
            probe.traced(
                lambda poses, of=of: vector([*poses.fixed_frame(*of).p, *poses.fixed_frame(*of).R.ravel()])
            ).value
            for of in zip(self.bodies, self.points, self.rotations, strict=True)
        ]
        axes, point, push = frames[0][3:].reshape(3, 3, -1), frames[1][:3], self._push(probe, deformation)
        u, m = 0.5 * deformation.value[3:], push[3:]
        couple = np.sqrt(1 - np.sum(u**2, axis=0)) * m + np.cross(u, m, axis=0)
        force, couple = (np.einsum("xak,ak->xk", axes, x) for x in (push[:3], couple))
        for body, sign in zip(self.bodies, (-1.0, 1.0), strict=True):
            if body != WORLD:
                yield Action(body, sign * force, point, sign * couple)


def _turn(algebra: Algebra, R: Array) -> tuple[Array, Array]:
    """θ of a rotation, and E = w − u× of θ̇ = E ω."""
    twice = algebra.sqrt(1 + R[0, 0] + R[1, 1] + R[2, 2])  # 2 w
    with np.errstate(all="ignore"):  # undefined at α = π
        theta = vector([x / twice for x in (R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])])
    w, x, y, z = scaled(algebra.half, vector([twice, *theta]))
    return theta, matrix([[w, z, -y], [-z, w, x], [y, -x, w]])


def _inverse(A: Array) -> Array:
    """The inverse of a 3×3 matrix: its columns are cross products of the rows over their determinant."""
    x, y, z = A
    columns = [cross(y, z), cross(z, x), cross(x, y)]
    size: Scalar = x @ columns[0]
    return matrix([[column[i] / size for column in columns] for i in range(3)])
