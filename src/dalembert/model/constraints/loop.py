"""Loop-closing joints, and the bodies of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dalembert.errors import InputError, Problem
from dalembert.model.attitude import PLACEMENT, Rotation, placement
from dalembert.model.check_elements import unknown
from dalembert.model.constraints.base import Constraint, Gains, read_gains, two_gains
from dalembert.model.evaluation import Table
from dalembert.model.joints.base import Joint, joints_of
from dalembert.model.keys import Element, Key, name, placement_entries, string, two_bodies, vector
from dalembert.model.record import builder_of, record
from dalembert.model.values import WORLD, ZERO, ArrayInput, Vector3, pair
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model


@record
class Loop(Constraint):
    """A loop-closing joint: its frame F is fixed on the first body, its moved frame M on the second.

    The joint defines the placement of F; M is placed at `position` with `rotation` on the second body. The motions of the
    joint are not coordinates. With feedback gains (α, β) its rows are stabilized, φ̈ + β φ̇ + α φ = 0.
    """

    kind = "loop"
    model_attribute = "loops"

    bodies: tuple[str, str]
    joint: Joint
    position: Vector3
    rotation: Vector3

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}, {row}" for row in self.joint.row_names)

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        for path, half in ((self.title, self), (f"{self.title}, joint", self.joint)):
            for key, entries in (("position", half.position), ("rotation", half.rotation)):
                yield from ((f"{path}, {key}[{i}]", entry) for i, entry in enumerate(entries))

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        names, (first, second) = {body.name for body in model.bodies}, self.bodies
        found = [problem for body in self.bodies for problem in unknown(self.title, body, {WORLD, *names})]
        if first == second:
            found.append(Problem(self.title, f"both ends are on '{first}'.", "Give `bodies` two different names."))
        if self.name in names:
            found.append(Problem(self.title, "a body has the same name.", "Give the loop a unique name."))
        if not self.joint.row_names:
            fact = f"a {self.joint.kind} joint adds no constraint."
            found.append(Problem(self.title, fact, "Remove it, or choose another joint."))
        return found

    def element(self, parameters: set[str]) -> tuple[str, Element]:
        motions = {key for keys in self.joint.forms().values() for key, about in keys.items() if about.motion}
        joint = {key: value for key, value in self.joint.element(self.title).items() if key not in motions}
        return self.kind, {
            "name": self.name,
            "description": self.description or None,
            "bodies": list(self.bodies),
            "joint": joint,
            **placement_entries(self.position, self.rotation, self.title),
            "feedback": vector(self.feedback, self.title) or None,
        }


def ancestors(model: Elements, body: str) -> list[str]:
    """The body and its ancestors, without the world."""
    parents = {b.name: b.parent for b in model.bodies}
    out = []
    while body != WORLD:
        out.append(body)
        body = parents[body]
    return out


def loop_bodies(model: Elements, loop: Loop) -> list[str]:
    """The bodies whose joints belong to a loop: from its first body up the tree, then down to its second."""
    up, down = (ancestors(model, body) for body in loop.bodies)
    shared = set(up) & set(down)
    return [b for b in up if b not in shared] + [b for b in reversed(down) if b not in shared]


# the reader of joint tables adds the key of the joint
@builder_of(
    Loop,
    {
        "name": Key(name, required=True),
        "description": Key(string, default_in_file=""),
        "bodies": Key(two_bodies, required=True),
        **PLACEMENT,
        "feedback": Key(two_gains, default_in_file=[]),
    },
)
def loop(
    model: Model,
    name: str,
    bodies: tuple[str, str],
    joint: Joint,
    *,
    position: ArrayInput = ZERO,
    rotation: Rotation = ZERO,
    description: str = "",
    feedback: Gains | None = None,
) -> Model:
    """Close a loop: connect two bodies, or a body and the world, by a joint of any kind.

    `joint` is placed on the first body; its motions are not coordinates, so omit them. `position` and `rotation` place its
    moved frame on the second body. The constraints follow from the joint.

    Parameters
    ----------
    model : Model
        The model to which it is added.
    name : str
        Unique name of the loop.
    bodies : tuple of str
        The two bodies; one of them may be 'world'.
    joint : Joint
        The loop-closing joint, such as `model.revolute((0, 0, 1))`, placed on the first body.
    position : array_like, shape (3,)
        Origin of the moved frame of the joint, in axes of the second body; constants.
    rotation : sequence or matrix
        Orientation of that frame on the second body: roll, pitch and yaw, rad, or another rotation.
    description : str
        What it means.
    feedback : tuple of formula, optional
        Gains (α, β) of a servo constraint, 1/s² and 1/s.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("four bars").coordinates("a", "b", "c")
    >>> _ = model.body("crank", joint=model.revolute((0, 0, 1), "a"), mass=1)
    >>> _ = model.body("coupler", parent="crank", joint=model.revolute((0, 0, 1), "b", position=(1, 0, 0)), mass=1)
    >>> _ = model.body("rocker", joint=model.revolute((0, 0, 1), "c", position=(2, 0, 0)), mass=1)
    >>> _ = model.loop("pin", ("coupler", "rocker"), model.revolute((0, 0, 1), position=(2, 0, 0)), position=(1, 0, 0))
    >>> model.constraint_names
    ('pin, x', 'pin, y', 'pin, z', 'pin, tilt 1', 'pin, tilt 2')
    """
    where = f"loop '{name}'"
    if any(loop.name == name for loop in model.loops):
        raise InputError(f"{where}: declared twice. Give each loop a unique name.")
    if not isinstance(joint, Joint):
        count = len(joints_of(joint, where))
        raise InputError(f"{where}, joint: got a sequence of {count} joints. Expected one joint.")
    moving = [str(x) for x in joint.values if x is not None and not (x.is_Number and float(x) == 0)]
    if moving:
        raise InputError(
            f"{where}: its joint has the motions {', '.join(moving)}. The motions of a loop-closing joint are free: omit "
            "them, or make one body the parent of the other with this joint."
        )
    at = placement(model, where, position, rotation)
    gains = read_gains(model, feedback, 2, f"{where}, feedback")
    made = Loop(name, pair(bodies, where), joint.at_zero(), *at, description=description, feedback=gains)
    model.loops += (made,)
    return model
