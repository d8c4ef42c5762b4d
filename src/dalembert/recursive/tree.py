"""The tree of a model: one link for every joint, and the formulas of the joints differentiated once and for all.

A body that hangs on a sequence of joints gets a link for each of them; all but the last have no mass. Velocities of the
recursions are speeds s: the rate of every ordinary coordinate, and in place of the four parts of a quaternion the angular
velocity of its joint in axes of the moved frame.

    θ      values of a link's joint           f(q, t), usually one coordinate each
    θ̇      (∂f/∂q) q̇ + ∂f/∂t                  with q̇ = H(q) s
    θ̈      (∂f/∂q) q̈ + what is left at q̈ = 0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import symengine as se

from dalembert.algebra import Array, choose, vector
from dalembert.errors import InputError
from dalembert.expressions import TIME, coordinate, rate
from dalembert.expressions.formula import Formula
from dalembert.kinematics.motion import outwards
from dalembert.model import WORLD, Body, Elements
from dalembert.model.joints import Fixed, Joint


@dataclass(frozen=True)
class Attitude:
    """A quaternion: where its parts stand among the coordinates, and where its angular velocity begins among the speeds."""

    name: str
    joint: Joint
    parts: tuple[int, int, int, int]  # w, x, y, z
    first: int


@dataclass(frozen=True)
class Value:
    """One motion of a joint as formulas: f(q, t), ∂f/∂q by coordinate, ∂f/∂t, its rate, and its second rate at q̈ = 0."""

    value: Formula
    slopes: tuple[tuple[int, Formula], ...]
    drift: Formula
    rate: Formula
    bias: Formula


@dataclass(frozen=True)
class Link:
    """A frame that one joint moves: M of the joint, carried by the link `parent` (−1 is the world).

    `values` are its ordinary motions; those of an `attitude` come behind them. `speeds` lists which speeds move it,
    `turning` what its rate directions do while they turn, Ω̇ θ̇ and L̇ θ̇ as formulas of θ and θ̇ (empty when they stand still).
    """

    name: str
    parent: int
    joint: Joint
    place: tuple[str, int]  # the body, and which of its joints this is
    body: Body | None  # None for all joints of a body but the last
    values: tuple[Value, ...]
    attitude: Attitude | None
    speeds: tuple[int, ...]
    turning: tuple[Formula, ...]
    rotors: tuple[tuple[int, Formula], ...]  # motion, inertia × ratio²


@dataclass(frozen=True)
class Tree:
    """The links of a model, parents before children, and its speeds."""

    model: Elements
    links: tuple[Link, ...]
    attitudes: tuple[Attitude, ...]

    @property
    def n(self) -> int:
        """The number of coordinates."""
        return len(self.model.coordinate_list)

    @property
    def n_speeds(self) -> int:
        """The number of speeds: one less than coordinates for each quaternion."""
        return self.n - len(self.attitudes)

    @cached_property
    def columns(self) -> tuple[int | None, ...]:
        """Coordinate by coordinate the speed that is its rate; None for the parts of quaternions."""
        return _columns(self.n, self.attitudes)

    @cached_property
    def speed_names(self) -> tuple[str, ...]:
        """The names of the speeds: `dot(theta)`, or `omega_x(body)` for the turning of a quaternion."""
        out = [""] * self.n_speeds
        for name, column in zip(self.model.coordinate_names, self.columns, strict=True):
            if column is not None:
                out[column] = rate(name).name
        for attitude in self.attitudes:
            for k, axis in enumerate("xyz"):
                out[attitude.first + k] = f"omega_{axis}({attitude.name})"
        return tuple(out)

    @cached_property
    def places(self) -> dict[tuple[str, int], Link]:
        """The links by body and number of the joint."""
        return {link.place: link for link in self.links}

    @cached_property
    def decoupled(self) -> bool:
        """True when every speed moves one link only: then the inertia matrix can be eliminated link by link."""
        used = [speed for link in self.links for speed in link.speeds]
        return len(used) == len(set(used))


def tree_of(model: Elements) -> Tree:
    """The links of a model.

    >>> from dalembert.model import Model
    >>> model = Model("arm").coordinates("a", "b")
    >>> _ = model.body("hand", joint=[model.revolute((0, 0, 1), "a"), model.prismatic((1, 0, 0), "b")], mass=1)
    >>> [(link.name, link.parent) for link in tree_of(model).links]
    [('hand, joint 0', -1), ('hand', 0)]
    """
    if model.energies is not None:
        raise InputError(
            f"model '{model.name}' is described by its energies. Expected bodies: a recursion runs from body to body. "
            "Describe the system by bodies and joints, or derive its equations by a formalism."
        )
    attitudes = _attitudes(model)
    grow = _Grow(model, attitudes, _columns(len(model.coordinate_list), attitudes))
    place, links = {WORLD: -1}, []
    for body in outwards(model):
        parent = place[body.parent]
        joints = body.joints or (Fixed((0, 0, 0), (0, 0, 0)),)
        for index, joint in enumerate(joints):
            links.append(grow.link(body, index, joint, parent, last=index == len(joints) - 1))
            parent = len(links) - 1
        place[body.name] = parent
    return Tree(model, tuple(links), attitudes)


def _attitudes(model: Elements) -> tuple[Attitude, ...]:
    """The quaternions in the order of their parts w among the coordinates."""
    places = {name: i for i, name in enumerate(model.coordinate_names)}
    found: dict[tuple[int, ...], tuple[str, Joint]] = {}
    for body in model.bodies:
        for index, joint in enumerate(body.joints):
            if joint.quaternion:
                several = sum(other.quaternion for other in body.joints) > 1
                name = f"{body.name}, joint {index}" if several else body.name
                found.setdefault(tuple(places[part.name] for part in joint.values[-4:]), (name, joint))
    parts = [part for group in found for part in group]
    if len(parts) != len(set(parts)):
        shared = next(model.coordinate_names[part] for part in parts if parts.count(part) > 1)
        raise InputError(
            f"model '{model.name}': coordinate '{shared}' is a part of two different quaternions. "
            "Expected every quaternion to have four coordinates of its own. Declare more coordinates."
        )
    out: list[Attitude] = []
    for group, (name, joint) in sorted(found.items()):
        w, x, y, z = group
        before = sum(1 for i in range(w) if i not in parts) + 3 * sum(1 for other in found if other[0] < w)
        out.append(Attitude(name, joint, (w, x, y, z), before))
    return tuple(out)


def _columns(n: int, attitudes: Sequence[Attitude]) -> tuple[int | None, ...]:
    taken = {part for attitude in attitudes for part in attitude.parts}
    first = {attitude.parts[0] for attitude in attitudes}
    out: list[int | None] = []
    column = 0
    for i in range(n):
        out.append(None if i in taken else column)
        column += 3 if i in first else 0 if i in taken else 1
    return tuple(out)


@dataclass(frozen=True)
class _Grow:
    """Makes the links of a model."""

    model: Elements
    attitudes: tuple[Attitude, ...]
    columns: tuple[int | None, ...]

    def link(self, body: Body, index: int, joint: Joint, parent: int, *, last: bool) -> Link:
        ordinary = joint.values[:-4] if joint.quaternion else joint.values
        values = tuple(_value(self.model, formula) for formula in ordinary)
        attitude = self._attitude(joint)
        rotors = tuple(
            (rotor.motion, rotor.inertia * rotor.ratio**2)
            for rotor in self.model.rotors
            if (rotor.body, rotor.joint) == (body.name, index)
        )
        return Link(
            body.name if last else f"{body.name}, joint {index}",
            parent,
            joint,
            (body.name, index),
            body if last else None,
            values,
            attitude,
            self._speeds(values, attitude),
            _turning(joint, len(ordinary)),
            rotors,
        )

    def _attitude(self, joint: Joint) -> Attitude | None:
        """The quaternion of a joint."""
        if not joint.quaternion:
            return None
        names = [part.name for part in joint.values[-4:]]
        return next(a for a in self.attitudes if names == [self.model.coordinate_names[i] for i in a.parts])

    def _speeds(self, values: Sequence[Value], own: Attitude | None) -> tuple[int, ...]:
        """Which speeds move a link."""
        turned = set() if own is None else {own}
        found: set[int] = set()
        for i in (i for value in values for i, _ in value.slopes):
            column = self.columns[i]
            if column is None:
                turned.add(next(a for a in self.attitudes if i in a.parts))
            else:
                found.add(column)
        return tuple(sorted(found | {a.first + k for a in turned for k in range(3)}))


def _value(model: Elements, formula: Formula) -> Value:
    names = model.coordinate_names
    slopes = tuple((i, se.diff(formula, x)) for i, x in enumerate(map(coordinate, names)) if x in formula.free_symbols)
    velocity = _along(formula, names)
    return Value(formula, slopes, _partial(formula), velocity, _along(velocity, names))


def _partial(f: Formula) -> Formula:
    """∂f/∂t."""
    return se.diff(f, TIME) if TIME in f.free_symbols else se.Integer(0)


def _along(f: Formula, names: Sequence[str]) -> Formula:
    """∂f/∂t + (∂f/∂q) q̇."""
    used = {symbol.name for symbol in f.free_symbols}
    terms = [se.diff(f, coordinate(name)) * rate(name) for name in names if name in used]
    return sum(terms, start=_partial(f))


def value_name(k: int) -> str:
    """The symbol of a joint's k-th value in the formulas of `Link.turning`."""
    return f"value {k}"


def rate_name(k: int) -> str:
    """The symbol of its rate."""
    return f"rate {k}"


def _turning(joint: Joint, count: int) -> tuple[Formula, ...]:
    """Ω̇ θ̇ in axes of M and L̇ θ̇ in axes of F for the first `count` motions, six formulas; none when Ω and L are constant."""
    if not count:
        return ()
    algebra = choose("symbolic")
    values = algebra.symbols([value_name(k) for k in range(len(joint.values))])
    rates = algebra.symbols([rate_name(k) for k in range(count)])
    along: tuple[Array, Array] = (values[:count], rates)
    out: list[Formula] = []
    for directions in (joint.angular(algebra, list(values)), joint.linear(algebra, list(values))):
        velocity = vector([se.sympify(entry) for entry in directions[:, :count] @ rates])
        out += [se.sympify(entry) for entry in algebra.total_derivative(velocity, along)]
    return tuple(out) if any(entry != 0 for entry in out) else ()
