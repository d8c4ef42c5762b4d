"""Cut a loop at another of its joints: the same mechanism with another spanning tree.

The cut joint becomes a tree joint with its own coordinates, the chain between the two joints is reversed, and the chosen joint
becomes the cut. Bodies keep their frames, so reactions and motions can be compared body by body.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import numpy as np
import symengine as se

from dalembert.api.load import accepts_source
from dalembert.errors import InputError, suggest_name
from dalembert.mechanics import rank, state_batch
from dalembert.mechanics.constraint_levels import displacement, ends
from dalembert.mechanics.state_batch import one_state
from dalembert.model.constraints.loop import Loop, ancestors, loop_bodies
from dalembert.model.description import Elements
from dalembert.model.elements import Body, Coordinate, Rotor
from dalembert.model.evaluation import at_start, value
from dalembert.model.immutable import Frozen
from dalembert.model.joints.base import HERE, Joint
from dalembert.model.joints.fixed import Fixed, invert_joints, placed_back
from dalembert.model.loads.base import InJoint, Load
from dalembert.model.model import Model
from dalembert.model.values import Vector3
from dalembert.symbolic.floats import FLOATS, real, to_numeric
from dalembert.symbolic.rotations import roll_pitch_yaw
from dalembert.symbolic.symbols import Lowering, coordinate, decimal, is_identifier, rate

Moves = dict[str, tuple[str, dict[tuple[int, int], tuple[int, int]]]]  # by body: the new index of each joint motion
JointElement = TypeVar("JointElement", InJoint, Rotor)  # an element inside a joint


@accepts_source
def recut(model: Elements, loop: str, at: str | None = None) -> Model:
    """The same mechanism with `loop` cut at another joint.

    The automatic choice is the joint with the most degrees of freedom, which leaves the fewest coordinates and constraints;
    among equals, the one in the middle of the loop, which leaves the shortest chains. A free joint has no constraints: cutting
    it removes the loop.

    Parameters
    ----------
    model : Model, Description, str or Path
        The model, the name of a gallery example, or the path of a model file.
    loop : str
        The name of the loop.
    at : str, optional
        The body whose joint is cut; chosen automatically if None.

    Returns
    -------
    Model
        A new model with other coordinates and the same motion.

    Raises
    ------
    InputError
        If there is no such loop, or the body is not part of it.
    ModelError
        If the model is incomplete or inconsistent.

    Examples
    --------
    >>> model = Model("four bars", gravity=(0, -9.81, 0)).coordinates("a", "b", "c")
    >>> _ = model.body("crank", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(0.5, 0, 0))
    >>> _ = model.body("coupler", parent="crank", joint=model.revolute((0, 0, 1), "b", position=(1, 0, 0)), mass=1)
    >>> _ = model.body("rocker", joint=model.revolute((0, 0, 1), "c", position=(2, 0, 0)), mass=1, center=(0.5, 0, 0))
    >>> _ = model.loop("pin", ("coupler", "rocker"), model.revolute((0, 0, 1), 0, position=(2, 0, 0)), position=(1, 0, 0))
    >>> recut(model, "pin", at="coupler").coordinate_names
    ('a', 'c', 'pin')
    """
    model.require_valid()
    model.refuse_canonical("recut")  # momenta belong to the coordinates, and those change
    model = Model.of(model)
    found = next((each for each in model.loops if each.name == loop), None)
    if found is None:
        known = [each.name for each in model.loops]
        raise InputError(f"recut: there is no loop '{loop}'. {suggest_name(loop, known)}")
    chain = loop_bodies(model, found)
    if at is None:
        return _best_cut(model, found, chain)
    if at not in chain:
        raise InputError(f"recut: body '{at}' is not part of loop '{loop}'. Its bodies are {', '.join(chain)}.")
    return _Recut(model, found, at).result()


def _moving(body: Body) -> list[Joint]:
    return [joint for joint in body.joints if joint.values]


def _best_cut(model: Model, loop: Loop, chain: list[str]) -> Model:
    """The model cut at the best joint that can be cut; a copy if the present cut is the best."""
    bodies, inward = {body.name: body for body in model.bodies}, set(ancestors(model, loop.bodies[0]))
    out, back = ([name for name in chain if (name in inward) == first] for first in (True, False))
    path = [*reversed(out), None, *reversed(back)]  # from the root to the present cut and back to the root

    def rating(name: str | None) -> tuple[int, float]:
        joint = loop.joint if name is None else _moving(bodies[name])[0]
        return 6 - len(joint.row_names), -abs(path.index(name) - (len(path) - 1) / 2)

    candidates = [name for name in chain if len(_moving(bodies[name])) == 1 and rating(name) > rating(None)]
    for name in sorted(candidates, key=rating, reverse=True):
        with suppress(InputError):  # a load, a formula or a joint that cannot be reversed prevents it
            return _Recut(model, loop, name).result()
    return model.copy()


class _Recut:
    """One change of the cut."""

    def __init__(self, model: Model, loop: Loop, at: str) -> None:
        self.model, self.loop, self.at = model, loop, at
        self.where = f"recut of loop '{loop.name}' at '{at}'"
        self.bodies = {body.name: body for body in model.bodies}
        # the end of the loop whose chain to the world contains the body `at`
        self.flipped = at in ancestors(model, loop.bodies[0])
        far = loop.bodies[0] if self.flipped else loop.bodies[1]
        self.reversed_chain = ancestors(model, far)
        self.reversed_chain = self.reversed_chain[: self.reversed_chain.index(at) + 1]  # far, ..., at

    def result(self) -> Model:
        old = self.bodies[self.at]
        out = self.model.copy()
        cut = self._cut(old, out)
        cut_motions = [str(value) for value in cut.joint.values]
        out.loops = tuple(each for each in self.model.loops if each is not self.loop)
        moves: Moves = {}
        out.bodies = self._bodies_with_reversed_chain(out, moves)
        names = self._lost_coordinates(old)
        out.generalized_coordinates = tuple(c for c in out.generalized_coordinates if c.name not in names)
        out.loads = tuple(self._load(load, moves) for load in self.model.loads)
        self._require_no_couplings(moves)
        out.rotors = tuple(self._in_joint(rotor, moves) for rotor in self.model.rotors)
        if cut.joint.row_names:
            out.loops += (replace(cut, joint=cut.joint.at_zero()),)
        self._require_unused(out, names, cut_motions)
        for name in sorted(names & set(out.limits)):
            out.note(f"{self.where}: the limits of {name} are dropped, since it is no longer a coordinate.")
        out.limits = Frozen({name: limits for name, limits in out.limits.items() if name not in names})
        return out

    def _bodies_with_reversed_chain(self, out: Model, moves: Moves) -> tuple[Body, ...]:
        """The bodies, with the parents of the chain reversed; the former cut gets coordinates."""
        changed: dict[str, Body] = {}
        near = self.loop.bodies[1] if self.flipped else self.loop.bodies[0]
        joints, added = self._former_cut()
        out.generalized_coordinates += added
        changed[self.reversed_chain[0]] = replace(self.bodies[self.reversed_chain[0]], parent=near, joints=joints)
        for child, parent in zip(self.reversed_chain, self.reversed_chain[1:], strict=False):
            back, indices = invert_joints(self.bodies[child].joints, self.where)
            changed[parent] = replace(self.bodies[parent], parent=child, joints=back)
            moves[child] = (parent, indices)
        return tuple(changed.get(body.name, body) for body in self.model.bodies)

    def _former_cut(self) -> tuple[tuple[Joint, ...], tuple[Coordinate, ...]]:
        """The joint that closed the loop as joints of the tree, and its coordinates with their initial values."""
        joint = self.loop.joint
        values, rates = self._at_start()
        stem = re.sub(r"[^A-Za-z0-9_]", "_", self.loop.name)
        names = [f"{stem}_{what.replace(' ', '_')}" if len(values) > 1 else stem for what in joint.motions]
        names = [self._free_name(name) for name in names]
        start = [Coordinate(*x) for x in zip(names, joint.motions, [""] * len(names), values, rates, strict=True)]
        moving = joint.with_values([coordinate(name) for name in names])
        forward: list[Joint] = [moving, *placed_back(self.loop.position, self.loop.rotation)]
        if not self.flipped:
            return tuple(forward), tuple(start)
        back, _ = invert_joints([moving], self.where)
        fixed = Fixed(self.loop.position, self.loop.rotation)
        return (fixed, *back), tuple(start)

    def _free_name(self, name: str) -> str:
        """An unused name for a coordinate."""
        model = self.model
        taken = {*model.coordinate_names, *model.parameter_values, *(speed.name for speed in model.generalized_speeds)}
        tries = itertools.chain([name, f"cut_{name}"], (f"cut{i}_{name[:40]}" for i in itertools.count(2)))
        return next(each for each in tries if is_identifier(each) and each not in taken)

    def _at_start(self) -> tuple[list[float], list[float]]:
        q, qd = self.model.initial
        F, M = ends(self.loop, state_batch.motion_at(self.model, one_state(q, qd)))
        R, p = displacement(F, M)
        values = list(self.loop.joint.measure(R, p))
        w_F, w_M = (to_numeric(frame.D) @ qd + to_numeric(frame.E) for frame in (F, M))
        v = to_numeric(F.R).T @ (to_numeric(M.J - F.J) @ qd + to_numeric(M.c - F.c)) - np.cross(w_F, p)
        w = w_M - R.T @ w_F
        joint = self.loop.joint
        S = np.concatenate(
            [
                to_numeric(joint.angular_motion_subspace(FLOATS, values)),
                to_numeric(joint.linear_motion_subspace(FLOATS, values)),
            ]
        )
        rates = np.linalg.lstsq(S, np.concatenate([w, v]), rcond=None)[0]
        return values, [float(x) for x in rates]

    def _cut(self, body: Body, out: Model) -> Loop:
        """The joint of a body as the joint that closes the loop, between its parent and the body."""
        moving = _moving(body)
        if len(moving) != 1:
            raise InputError(
                f"{self.where}: body '{body.name}' has {len(moving)} moving joints. Expected one. Cut the loop at another body."
            )
        self._require_free(moving[0])
        index = body.joints.index(moving[0])
        before, after = body.joints[:index], body.joints[index + 1 :]
        position, rotation = self._composed([*before, Fixed(moving[0].position, moving[0].rotation)], out)
        after_frame = self._composed(after, out, inverse=True)
        joint = replace(moving[0], position=position, rotation=rotation)
        return Loop(self._loop_name(), (body.parent, body.name), joint, *after_frame, feedback=self.loop.feedback)

    def _require_free(self, joint: Joint) -> None:
        """Raise unless the joint motions are independent coordinates, since a cut leaves them free."""
        q = [coordinate(name) for name in sorted(self._lost_coordinates(self.bodies[self.at]))]
        table = at_start(self.model)
        slopes = np.array([[value(se.diff(formula, x), table) for x in q] for formula in joint.values])
        if not q or rank.numeric_rank(slopes) < len(joint.values):
            moves = ", ".join(map(str, joint.values))
            raise InputError(
                f"{self.where}: the joint of body '{self.at}' moves by {moves}, which is not free. A cut would free it: "
                "expected one coordinate for every motion. Cut the loop at another body."
            )

    def _loop_name(self) -> str:
        """An unused name for the new cut; bodies and loops share one list of joints."""
        taken = {*self.bodies, *(each.name for each in self.model.loops)}
        names = itertools.chain([f"{self.at} joint"], (f"{self.at} joint {i}" for i in itertools.count(2)))
        return next(name for name in names if name not in taken)

    def _composed(self, joints: Sequence[Joint], out: Model, *, inverse: bool = False) -> tuple[Vector3, Vector3]:
        """The composition of fixed placements; formulas are preserved for one placement and for pure translations."""
        joints = [j for j in joints if any(x != 0 for x in (*j.position, *j.rotation))]
        if not joints:
            return HERE, HERE
        if len(joints) == 1 and not inverse:
            return joints[0].position, joints[0].rotation
        if all(x == 0 for joint in joints for x in joint.rotation):
            sign = -1 if inverse else 1
            x, y, z = (sign * sum((j.position[i] for j in joints), start=se.Integer(0)) for i in range(3))
            return (x, y, z), HERE
        lower = Lowering(FLOATS, dict(self.model.parameter_values))
        R, p = np.eye(3), np.zeros(3)
        for joint in joints:
            p = p + R @ np.array([real(lower(x)) for x in joint.position])
            R = R @ to_numeric(roll_pitch_yaw(FLOATS, [real(lower(x)) for x in joint.rotation]))
        if inverse:
            R, p = R.T, -R.T @ p
        if used := {s.name for joint in joints for x in (*joint.position, *joint.rotation) for s in x.free_symbols}:
            out.note(f"{self.where}: its placement is valid for the present values of {', '.join(sorted(used))} only.")
        from scipy.spatial.transform import Rotation  # slower to import than all of dalembert

        yaw, pitch, roll = Rotation.from_matrix(R).as_euler("ZYX")
        px, py, pz = (decimal(float(x)) for x in p)
        return (px, py, pz), (decimal(float(roll)), decimal(float(pitch)), decimal(float(yaw)))

    def _lost_coordinates(self, body: Body) -> set[str]:
        known = set(self.model.coordinate_names)
        return {s.name for value in _moving(body)[0].values for s in value.free_symbols if s.name in known}

    def _load(self, load: Load, moves: Moves) -> Load:
        out = self._in_joint(load, moves) if isinstance(load, InJoint) else load
        return out.reversed() if isinstance(out, InJoint) and out is not load else out

    def _in_joint(self, load: JointElement, moves: Moves) -> JointElement:
        """Move a load inside a reversed joint with that joint; raise for one inside the new cut."""
        if load.body == self.at:
            raise InputError(
                f"{self.where}: '{load.name}' acts inside the joint that would be cut. Cut the loop at another body."
            )
        if load.body not in moves:
            return load
        body, indices = moves[load.body]
        joint, motion = indices[load.joint, load.motion]
        return replace(load, body=body, joint=joint, motion=motion)

    def _require_no_couplings(self, moves: Moves) -> None:
        """Raise if a coupling refers to a changed joint: couplings depend on the sign of joint motions."""
        couplings = [load for load in self.model.loads if len(load.in_joints) > 1]
        for element in (*self.model.contacts, *couplings):
            if any(body in (self.at, *moves) for body, _, _ in element.in_joints):
                raise InputError(
                    f"{self.where}: {element.title} couples a joint that would be cut or reversed. Cut the loop at another body."
                )

    def _require_unused(self, out: Model, names: set[str], cut_motions: list[str]) -> None:
        used = {s.name for formula in out.formulas for s in formula.free_symbols} | set(out.non_ideal_forces)
        remaining = sorted(name for name in names if name in used or rate(name).name in used)
        if remaining:
            raise InputError(
                f"{self.where}: the coordinate {remaining[0]} of that joint ({', '.join(cut_motions)}) is used elsewhere in the "
                "model. Cut the loop at another body."
            )
