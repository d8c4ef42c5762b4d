"""Where the bodies of a run are and how they move, sample by sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.api.kinematics import ORIGIN, Kinematics, require_bodies
from dalembert.api.relative_motion import PointMotion
from dalembert.errors import InputError, nearest
from dalembert.model.values import WORLD
from dalembert.recursive.joint_speeds import to_speed_rates, to_speeds, with_unit_quaternions
from dalembert.symbolic.floats import FLOATS, numbers
from dalembert.symbolic.frames import Pose

if TYPE_CHECKING:
    from dalembert.api.equations import Equations
    from dalembert.api.lazy_functions import Numbers
    from dalembert.simulation.trajectory import Trajectory

PLACES = ("position", "velocity", "acceleration", "rotation", "orientation", "angular_velocity", "angular_acceleration")
CARRIED = ("force", "moment")  # of the joint between a body and its parent, or of a joint that closes a loop


Motion = tuple[np.ndarray, np.ndarray, np.ndarray]


class Samples(NamedTuple):
    """The states of a run: t (samples,), and q, q̇ and q̈ (n, samples), by equations."""

    equations: Equations
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


class Places(ABC):
    """What a run knows of places: samples on the last axis, in axes of the world or relative to another body."""

    @property
    @abstractmethod
    def samples(self) -> Samples:
        """The states along the run."""

    @property
    def pieces(self) -> Sequence[Samples]:
        """The same one behind the other, each in coordinates that are regular there: velocities of bodies come from these."""
        return [self.samples]

    @cached_property
    def kinematics(self) -> Kinematics:
        """The kinematics of the model, with the values that parameters have in this run."""
        return _kinematics(self.samples.equations)

    @cached_property
    def _motion(self) -> Motion:
        """q, speeds and their rates."""
        return _motion(self.kinematics, self.samples)

    @cached_property
    def _moved(self) -> list[tuple[Kinematics, Motion, np.ndarray]]:
        """Kinematics, motion and times of the pieces."""
        if len(self.pieces) == 1:
            return [(self.kinematics, self._motion, self.samples.t)]
        known = {id(each.equations.derivation): _kinematics(each.equations) for each in self.pieces}
        found = [(known[id(each.equations.derivation)], each) for each in self.pieces]
        return [(kinematics, _motion(kinematics, each), each.t) for kinematics, each in found]

    def pose(self, body: str, *, relative_to: str = WORLD) -> Pose:
        """Where a body is along the run: `.rotation` (3, 3, samples), `.position` (3, samples), `.matrix`, `.quaternion`.

        With `relative_to`, here and below, it is seen from another body: places and motions relative to it, in its axes.

        >>> import dalembert as dl
        >>> run = dl.simulate("four-bar", 1.0, samples=11)
        >>> run.pose("coupler").rotation.shape
        (3, 3, 11)
        """
        return self.kinematics.pose(self._motion[0], body, self.samples.t, relative_to=relative_to)

    def frames(self) -> dict[str, Pose]:
        """The poses of all bodies along the run, by name.

        >>> import dalembert as dl
        >>> list(dl.simulate("double-pendulum", 1.0, samples=11).frames())
        ['upper', 'lower']
        """
        return self.kinematics.poses(self._motion[0], self.samples.t)

    def path(self, body: str, point: Numbers = ORIGIN, *, relative_to: str = WORLD) -> np.ndarray:
        """Where a point goes, given in axes of its body, (3, samples).

        >>> import dalembert as dl
        >>> run = dl.simulate("four-bar", 1.0, samples=11)
        >>> run.path("coupler", (0.1, 0.0, 0.0)).shape
        (3, 11)
        """
        return self.kinematics.position(self._motion[0], body, point, self.samples.t, relative_to=relative_to)

    def velocity(self, body: str, point: Numbers = ORIGIN, *, relative_to: str = WORLD) -> PointMotion:
        """The velocity of a point along the run, `.linear`, and the angular velocity of its body, `.angular`, (3, samples).

        >>> import dalembert as dl
        >>> dl.simulate("simple-pendulum", 1.0, samples=11).velocity("bob").linear.shape
        (3, 11)
        """
        return _joined(
            [known.velocity(q, s, body, point, t, relative_to=relative_to) for known, (q, s, _), t in self._moved]
        )

    def acceleration(self, body: str, point: Numbers = ORIGIN, *, relative_to: str = WORLD) -> PointMotion:
        """The acceleration of a point along the run, `.linear`, and the angular one of its body, `.angular`, (3, samples).

        >>> import dalembert as dl
        >>> dl.simulate("simple-pendulum", 1.0, samples=11).acceleration("bob").angular.shape
        (3, 11)
        """
        return _joined(
            [known.acceleration(*motion, body, point, t, relative_to=relative_to) for known, motion, t in self._moved]
        )


def _kinematics(equations: Equations) -> Kinematics:
    known = equations.derivation.setup
    require_bodies(known.declared)
    return Kinematics(known.declared.without_laws(), known.engine, changes=equations.changes)


def _motion(kinematics: Kinematics, samples: Samples) -> Motion:
    """q, speeds and their rates; quaternions that drift are taken as the rotations they stand for."""
    tree, (_, t, q, qd, qdd) = kinematics.plan.tree, samples
    if not tree.attitudes:
        return q, qd, qdd
    s = to_speeds(tree, FLOATS, list(q), list(qd))
    sd = to_speed_rates(tree, FLOATS, list(q), list(qd), list(qdd))
    return with_unit_quaternions(tree, q), numbers(s, len(t)), numbers(sd, len(t))


def _joined(found: Sequence[PointMotion]) -> PointMotion:
    """Motions one behind the other."""
    if len(found) == 1:
        return found[0]
    linear, angular = (np.concatenate(each, axis=-1) for each in zip(*found, strict=True))
    return PointMotion(linear, angular)


def asked(run: Trajectory, name: str, what: str) -> np.ndarray:
    """What a run says of a body, of the joint that carries it or closes a loop, or of a load."""
    model = run.equations.model
    known: dict[str, tuple[str, ...]] = {loop.name: CARRIED for loop in model.loops}
    known |= {body.name: PLACES + CARRIED for body in model.bodies}
    known |= {load: ("force",) for load in run.load_forces if load not in known}
    if name not in known:
        raise InputError(f"the run has no body, loop or load '{name}'. {nearest(name, known)}")
    if what not in known[name]:
        expected = ", ".join(known[name])
        raise InputError(
            f"the run has no '{what}' of '{name}'. {nearest(what, known[name])} Expected one of {expected}."
        )
    if what in CARRIED:
        return run.load_forces[name] if len(known[name]) == 1 else getattr(run.joint_reactions()[name], what)
    if what in ("rotation", "orientation", "position"):
        pose = run.pose(name)
        return pose.quaternion if what == "orientation" else getattr(pose, what)
    part, _, whole = what.rpartition("_")
    moved = run.velocity(name) if whole == "velocity" else run.acceleration(name)
    return moved.angular if part else moved.linear
