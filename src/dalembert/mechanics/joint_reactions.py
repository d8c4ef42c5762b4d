"""The force and moment in every joint, by the dynamic balance of its outboard bodies.

The wrench through a tree joint is the rate of momentum of all outboard bodies, minus the loads, contact forces and cut-joint
forces on them. It is the wrench that the parent exerts on the child through the joint, drives included, at the origin of the
joint's moved frame. The wrench through a cut joint is the sum of its multipliers times the unit wrenches of its rows.

A constraint formula of several coordinates does not define on which bodies and at which points its force acts. Its
generalized forces Aᵀλ are known, forces and moments in the joints between its bodies are not: those joints are omitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

import numpy as np

from dalembert.codegen.function import CompiledFunction, compile_function
from dalembert.errors import InputError, suggest_name
from dalembert.mechanics.energies import applied_forces
from dalembert.mechanics.system import System
from dalembert.model.contacts.base import ConstraintAction
from dalembert.model.description import Elements
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import Array, stack, vector
from dalembert.symbolic.rotations import cross_columns
from dalembert.symbolic.symbols import split_symbol

_VALUES_PER_BODY = 24  # in the output of the compiled function
Acting = tuple[str, np.ndarray, np.ndarray, np.ndarray]  # body, force, moment and point
FRAMES = ("world", "parent", "child")


def undetermined_joints(model: Elements) -> dict[str, tuple[str, ...]]:
    """The joints, by child body, that may transmit forces of formula constraints, and the names of these constraints.

    They lie on the paths between the joints of the formula's coordinates. A formula of one coordinate acts like a
    drive of its joint.
    """
    found: dict[str, list[str]] = {}
    for constraint in (*model.holonomic_constraints, *model.nonholonomic_constraints):
        names = {split_symbol(symbol.name)[1] for symbol in constraint.formula.free_symbols} & set(
            model.coordinate_names
        )
        for body in _between(model, names) if len(names) > 1 else ():
            found.setdefault(body, []).append(constraint.name)
    return {body.name: tuple(found[body.name]) for body in model.bodies if body.name in found}


def _between(model: Elements, coordinates: set[str]) -> list[str]:
    """The bodies whose joints lie on the paths between all joints of the coordinates."""
    parents = {body.name: body.parent for body in model.bodies}
    symbols = {
        body.name: {symbol.name for joint in body.joints for value in joint.values for symbol in value.free_symbols}
        for body in model.bodies
    }
    paths = [_path(name, parents) for name, used in symbols.items() if used & coordinates]
    carriers = zip(*(path[:-1] for path in paths), strict=False)  # level by level, up to the shortest path
    shared = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, carriers))
    return list(dict.fromkeys(name for path in paths for name in path[shared:]))


def _path(body: str, parents: Mapping[str, str]) -> list[str]:
    """The bodies on the path from the world to a body."""
    path = [body]
    while parents[path[0]] != WORLD:
        path.insert(0, parents[path[0]])
    return path


class JointReactions:
    """The joint reactions of one system, evaluated with NumPy at the samples of a run, without compilation."""

    def __init__(
        self, system: System, pushes: dict[str, list[ConstraintAction]], undetermined: dict[str, tuple[str, ...]]
    ) -> None:
        self.system, self._undetermined = system, undetermined
        self._pushes = [(name, wrench) for name, each in pushes.items() for wrench in each]  # by constraint

    @cached_property
    def _function(self) -> CompiledFunction:
        """Required force and moment about the mass center, positions and rotation of every body, and contacts, in world axes."""
        system = self.system
        parts = [part for body in range(len(system.motion.bodies)) for part in self._body(body)]
        for _, wrench in self._pushes:
            parts += [wrench.force, wrench.moment, wrench.point]
        inputs = stack(system.q, system.qd, system.qdd, vector([system.t]))
        parameters = system.algebra.symbols(list(system.model.parameter_values))
        return compile_function(system.algebra, inputs, stack(*parts), parameters, "python")

    def _body(self, index: int) -> list[Array]:
        body = self.system.motion.bodies[index]
        force, moment = self.system.inertia_of(body)
        for load in applied_forces(self.system.motion):
            for part in load.wrenches:
                if part.body == body.name:
                    force, moment = force - part.force, moment - part.moment
        return [force, body.R_WB @ moment, body.p_WG, body.frame.p, body.R_WB.ravel(), body.p_WJ]

    def along(
        self,
        q: np.ndarray,
        qd: np.ndarray,
        qdd: np.ndarray,
        t: np.ndarray,
        multipliers: np.ndarray,
        parameters: np.ndarray,
        frame: str,
    ) -> JointForces:
        """The reactions at the samples, in the axes of `frame`: `world`, `parent` or `child`."""
        model, bodies = self.system.model, self.system.motion.bodies
        out = self._function(np.concatenate([q, qd, qdd, np.broadcast_to(t, q.shape[1:])[None]]), parameters)
        blocks = {body.name: out[_VALUES_PER_BODY * i : _VALUES_PER_BODY * (i + 1)] for i, body in enumerate(bodies)}
        force = {name: block[:3].copy() for name, block in blocks.items()}
        origin = {name: block[9:12] for name, block in blocks.items()}
        moment = {n: b[3:6] + cross_columns(b[6:9] - b[9:12], b[:3]) for n, b in blocks.items()}
        acting = self._acting(out[_VALUES_PER_BODY * len(bodies) :], multipliers)
        for body, thrust, couple, point in acting.values():
            force[body] = force[body] - thrust
            moment[body] = moment[body] - couple - cross_columns(point - origin[body], thrust)
        parents = {body.name: body.parent for body in model.bodies}
        for body in reversed(bodies):
            parent = parents[body.name]
            if parent != WORLD:
                force[parent] = force[parent] + force[body.name]
                arm = cross_columns(origin[body.name] - origin[parent], force[body.name])
                moment[parent] = moment[parent] + moment[body.name] + arm
        joint_origin = {name: block[21:24] for name, block in blocks.items()}
        moment = {n: m + cross_columns(origin[n] - joint_origin[n], force[n]) for n, m in moment.items()}
        rotations = {name: block[12:21].reshape(3, 3, *q.shape[1:]) for name, block in blocks.items()}
        found = {
            body.name: JointReaction(body.name, parents[body.name], WORLD, force[body.name], moment[body.name])
            for body in bodies
            if body.name not in self._undetermined
        }
        return JointForces(found | self._cut_joints(acting), self._undetermined).in_frame(frame, rotations)

    def _acting(self, out: np.ndarray, multipliers: np.ndarray) -> dict[tuple[str, str], Acting]:
        """Constraint wrenches on the bodies, by constraint and body: body, force, moment and point."""
        names = self.system.facts.levels.names
        acting = {}
        for i, (name, wrench) in enumerate(self._pushes):
            size = multipliers[names.index(name)]
            unit = out[9 * i : 9 * i + 9]
            acting[name, wrench.body] = (wrench.body, size * unit[:3], size * unit[3:6], unit[6:9])
        return acting

    def _cut_joints(self, acting: dict[tuple[str, str], Acting]) -> dict[str, JointReaction]:
        """Reactions of the loop-closing joints by loop name: the wrench of the first body on the second."""
        found = {}
        for loop in self.system.model.loops:
            first, second = loop.bodies
            on, sign = (second, 1.0) if second != WORLD else (first, -1.0)
            parts = [acting[name, on] for name in loop.row_names]
            force, moment = (sign * np.sum(each, axis=0) for each in zip(*(part[1:3] for part in parts), strict=True))
            found[loop.name] = JointReaction(second, first, WORLD, force, moment)
        return found


@dataclass(frozen=True)
class JointReaction:
    """The wrench that `parent` exerts on `body` through their joint, at the origin of the joint's moved frame.

    That is the origin of the body's frame, unless fixed placements follow the joint.

    `force` and `moment` have shape (3,) or (3, samples), in the axes of `frame`.
    """

    body: str
    parent: str
    frame: str
    force: np.ndarray
    moment: np.ndarray


class JointForces(dict[str, JointReaction]):
    """Joint reactions by name; `undetermined` lists the other joints, each with the constraints that cause it."""

    def __init__(self, found: Mapping[str, JointReaction], undetermined: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(found)
        self.undetermined = dict(undetermined)

    def __missing__(self, name: str) -> JointReaction:
        """Raise for an unknown joint, or one whose reaction is not determined."""
        if name in self.undetermined:
            raise InputError(f"joint_reactions, joint '{name}': {_cause(self.undetermined[name])}")
        raise InputError(
            f"joint_reactions: there is no joint '{name}'. {suggest_name(name, [*self, *self.undetermined])}"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """The omitted joints and the reason, as at most one sentence."""
        if not self.undetermined:
            return ()
        causes = tuple(dict.fromkeys(name for names in self.undetermined.values() for name in names))
        return (f"not determined in {', '.join(self.undetermined)}: {_cause(causes)}",)

    def in_frame(self, frame: str, rotations: Mapping[str, np.ndarray]) -> JointForces:
        """Reactions in the axes of `world`, `parent` or `child`, from world axes; `rotations` are R_WB by body."""
        if frame == "world":
            return self
        return JointForces({name: _rotated(each, frame, rotations) for name, each in self.items()}, self.undetermined)


def require_frame(frame: str) -> None:
    """Raise for an unknown frame."""
    if frame not in FRAMES:
        raise InputError(f"joint_reactions: there is no frame '{frame}'. Expected 'world', 'parent' or 'child'.")


def _rotated(reaction: JointReaction, frame: str, rotations: Mapping[str, np.ndarray]) -> JointReaction:
    axes = reaction.body if frame == "child" else reaction.parent
    if axes == WORLD:
        return reaction
    force, moment = (np.einsum("ij...,i...->j...", rotations[axes], x) for x in (reaction.force, reaction.moment))
    return JointReaction(reaction.body, reaction.parent, axes, force, moment)


def _cause(names: tuple[str, ...]) -> str:
    one = len(names) == 1
    return (
        f"the formula{'' if one else 's'} of the constraint{'' if one else 's'} {', '.join(names)} "
        f"{'does' if one else 'do'} not define where the force acts. The generalized forces are in `reactions`; to get "
        "forces and moments in the joints, declare a loop, a contact or a coupling instead."
    )
