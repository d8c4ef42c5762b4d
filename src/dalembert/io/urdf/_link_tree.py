"""Builds the link tree: every link except the root is the child of one joint; checks and merges masses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Flag, auto
from typing import TypeVar

import numpy as np

from dalembert.io.urdf._xml_reading import UrdfOrigin, UrdfReading, hint
from dalembert.io.urdf.urdf_elements import MOTIONS, Inertial, UrdfJoint, UrdfLink, UrdfRobot
from dalembert.model.keys import quote
from dalembert.model.values import WORLD

MAX_COORDINATES = 2000
_Named = TypeVar("_Named", UrdfLink, UrdfJoint)
_RELATIVE_TOLERANCE = 1e-9
_GROSS = 5.0  # files of real robots have moments of up to 4.9 times the sum of the others
_POINT_MASS = 1e-12  # square of a micrometer: moments below mass × this are zero
_LOOSE = "read the file with strict=False to accept it"


@dataclass(frozen=True)
class LinkWithJoint:
    """A link with its parent joint (None for the root)."""

    link: UrdfLink
    joint: UrdfJoint | None

    @property
    def moving(self) -> bool:
        """True if the joint can move."""
        return self.joint is not None and MOTIONS[self.joint.kind] > 0


Tree = tuple[LinkWithJoint, ...]  # depth first from the root, parents before their children


def build_tree(robot: UrdfRobot, reading: UrdfReading) -> Tree:
    """The links from the root outward; empty if they do not form a tree."""
    before = len(reading.found)
    links, joints = _unique(robot.links, "link", reading), _unique(robot.joints, "joint", reading)
    joint_of = _parent_joints(joints.values(), links, reading)
    _cycles(joint_of, reading)
    roots = [link for name, link in links.items() if name not in joint_of]
    complete = all(joint.name and joint.parent and joint.child for joint in robot.joints)
    # a second root is usually a consequence of problems with names
    if len(roots) > 1 and complete and len(reading.found) == before:
        _report_roots(roots, reading)
    tree = len(reading.found) == before and len(roots) == 1
    followers = _followers(joints, reading)
    _require_count(joints.values(), reading)
    return _ordered(links, {child: followers[each.name] for child, each in joint_of.items()}, roots[0]) if tree else ()


def _unique(items: Sequence[_Named], kind: str, reading: UrdfReading) -> dict[str, _Named]:
    """The items by name; duplicate names are problems."""
    found: dict[str, _Named] = {}
    for item in items:
        if item.name in found:
            fact = f"the name was already used in line {found[item.name].line}."
            reading.wrong(item.line, f"{kind} {quote(item.name)}", fact, f"Give each {kind} a unique name.")
        elif item.name:
            found[item.name] = item
    return found


def _parent_joints(
    joints: Iterable[UrdfJoint], links: Mapping[str, UrdfLink], reading: UrdfReading
) -> dict[str, UrdfJoint]:
    """The parent joint of each link."""
    found: dict[str, UrdfJoint] = {}
    for joint in joints:
        what = f"joint {quote(joint.name)}"
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name and name not in links:
                reading.wrong(joint.line, f"{what}, {end}", f"there is no link {quote(name)}.", hint(name, links))
        if joint.parent and joint.parent == joint.child:
            fact = f"it connects the link {quote(joint.child)} with itself."
            reading.wrong(joint.line, what, fact, "Use different links for parent and child.")
        elif joint.child in found:
            other = found[joint.child]
            fact = f"the link {quote(joint.child)} is already a child of joint {quote(other.name)} (line {other.line})."
            advice = "URDF describes trees: remove one of the joints, and close the loop with model.loop."
            reading.wrong(joint.line, what, fact, advice)
        elif joint.child in links:
            found[joint.child] = joint
    return found


def _cycles(joint_of: Mapping[str, UrdfJoint], reading: UrdfReading) -> None:
    """Report cycles of parent links, each once."""
    visited: set[str] = set()
    for start in joint_of:
        name, path = start, dict[str, None]()
        while name in joint_of and name not in visited:
            visited.add(name)
            path[name] = None
            name = joint_of[name].parent
        if name in path:
            cycle = [*path][[*path].index(name) :]
            path_names = " on ".join(map(quote, [*cycle[:5], *(["..."] if len(cycle) > 5 else []), name]))
            joint = joint_of[name]
            fact = f"the links form a cycle: {path_names}."
            reading.wrong(joint.line, f"joint {quote(joint.name)}", fact, "Expected a tree: remove one of the joints.")


def _report_roots(roots: list[UrdfLink], reading: UrdfReading) -> None:
    first, second, *others = (f"{quote(link.name)} (line {link.line})" for link in roots)
    more = f" and {len(others)} more" if others else ""
    fact = f"there are several roots: the links {first} and {second}{more} have no parent joint."
    advice = "Expected one root: connect them with joints, or remove the other links."
    reading.wrong(roots[1].line, f"link {quote(roots[1].name)}", fact, advice)


def _followers(joints: Mapping[str, UrdfJoint], reading: UrdfReading) -> dict[str, UrdfJoint]:
    """The joints with checked mimic elements: the other joint must exist, have one motion and not mimic this joint.

    Files with parts of a robot often keep mimic joints of missing joints, so this can be a remark.
    """
    out = dict(joints)
    for joint in joints.values():
        if joint.mimic is None or not joint.mimic.joint or not (reason := _no_mimic(joint, joint.mimic.joint, joints)):
            continue
        what = f"joint {quote(joint.name)}, mimic"
        if reading.options.strict:
            close = "" if joint.mimic.joint in joints else f"{hint(joint.mimic.joint, joints)} "
            advice = "Name a moving joint, remove the element, or read the file with strict=False to ignore it."
            reading.wrong(joint.mimic.line, what, f"{reason}.", f"{close}{advice}")
        else:
            reading.remark("<mimic> is ignored; the joint is free", f"{what} (line {joint.mimic.line}): {reason}")
        out[joint.name] = replace(joint, mimic=None)
    return out


def _no_mimic(joint: UrdfJoint, name: str, joints: Mapping[str, UrdfJoint]) -> str:
    """Why a joint cannot mimic the other; an empty str if it can."""
    other = joints.get(name)
    if other is None:
        return f"there is no joint {quote(name)}"
    if MOTIONS[other.kind] != 1:
        return f"the joint {quote(name)} is {other.kind}"
    return "the joint mimics itself, directly or indirectly" if _mimics_itself(joint, joints) else ""


def _mimics_itself(joint: UrdfJoint, joints: Mapping[str, UrdfJoint]) -> bool:
    start, visited = joint.name, set[str]()
    while joint.mimic is not None and joint.mimic.joint in joints and joint.name not in visited:
        visited.add(joint.name)
        joint = joints[joint.mimic.joint]
    return joint.name == start and start in visited


def _require_count(joints: Iterable[UrdfJoint], reading: UrdfReading) -> None:
    count = 0
    for joint in joints:
        count += MOTIONS[joint.kind]
        if count > MAX_COORDINATES:
            fact = f"the file has more than {MAX_COORDINATES} coordinates."
            reading.wrong(joint.line, f"joint {quote(joint.name)}", fact, "Split the system into several models.")
            return


def _ordered(links: Mapping[str, UrdfLink], joint_of: Mapping[str, UrdfJoint], root: UrdfLink) -> Tree:
    """The links in depth-first order, branches in the order of the file."""
    children: dict[str, list[UrdfJoint]] = {}
    for joint in joint_of.values():
        children.setdefault(joint.parent, []).append(joint)
    parts, waiting = list[LinkWithJoint](), [LinkWithJoint(root, None)]
    while waiting:
        part = waiting.pop()
        parts.append(part)
        waiting += [LinkWithJoint(links[joint.child], joint) for joint in reversed(children.get(part.link.name, ()))]
    return tuple(parts)


def in_frame(inertial: Inertial, pose: UrdfOrigin) -> Inertial:
    """The mass properties expressed in the frame in which the link has the pose `pose`."""
    return Inertial(inertial.line, inertial.mass, pose.point(inertial.center), pose.tensor(inertial.inertia))


def combined_inertia(parts: Iterable[Inertial]) -> Inertial:
    """The mass properties of rigidly connected parts in one frame, by the parallel axis theorem."""
    members = [*parts]
    if len(members) == 1:
        return members[0]
    mass = sum(part.mass for part in members)
    moment = sum((part.mass * np.array(part.center) for part in members), start=np.zeros(3))
    center = moment / mass if mass else moment
    inertia = np.zeros((3, 3))
    for part in members:
        d = np.array(part.center) - center
        inertia = inertia + part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    x, y, z = center.tolist()
    return Inertial(members[0].line, mass, (x, y, z), inertia)


def is_empty(inertial: Inertial | None) -> bool:
    """True if there is neither mass nor inertia."""
    return inertial is None or (not inertial.mass and not inertial.inertia.any())


def inertia_inconsistency(inertial: Inertial) -> tuple[str, bool] | None:
    """The physical inconsistency of an inertia, and whether it is gross; None if it is consistent.

    A single nonzero moment, as in planar models, is accepted.

    >>> inertia_inconsistency(Inertial(1, 1.0, (0, 0, 0), np.diag([1.0, 1.0, 10.0])))
    ('the principal moments 1, 1, 10 violate the triangle inequality', True)
    >>> inertia_inconsistency(Inertial(1, 1.0, (0, 0, 0), np.diag([1.0, 1.0, 2.0])))
    """
    moments = np.linalg.eigvalsh(inertial.inertia)
    small = _RELATIVE_TOLERANCE * float(np.abs(moments).max())
    moments_list = ", ".join(f"{0.0 if abs(m) <= small else m:.6g}" for m in moments)
    if moments[0] < -small:
        return f"a principal moment is negative; they are {moments_list}", True
    others = moments[0] + moments[1]
    if moments[2] > others + small:
        gross = moments[1] > small and moments[2] >= _GROSS * (1 - _RELATIVE_TOLERANCE) * others
        return f"the principal moments {moments_list} violate the triangle inequality", bool(gross)
    return None


@dataclass(frozen=True)
class _Member:
    """A link of a rigid group, with its pose in the frame of the group's first link."""

    part: LinkWithJoint
    pose: UrdfOrigin

    @property
    def inertial(self) -> Inertial | None:
        inertial = self.part.link.inertial
        return None if inertial is None else in_frame(inertial, self.pose)


def without_rounding(part: LinkWithJoint, reading: UrdfReading) -> LinkWithJoint:
    """The part without inconsistent moments of inertia that are only rounding relative to the mass."""
    inertial = part.link.inertial
    if inertial is None or not inertial.inertia.any() or inertia_inconsistency(inertial) is None:
        return part
    if float(np.abs(inertial.inertia).max()) > _POINT_MASS * inertial.mass:
        return part
    reading.remark("the inertia is inconsistent but negligible and set to 0", _item(part, inertial.line))
    return replace(part, link=replace(part.link, inertial=replace(inertial, inertia=np.zeros((3, 3)))))


def check_masses(tree: Tree, reading: UrdfReading) -> None:
    """Problems and remarks about masses: links without mass, and physically inconsistent inertias.

    Only the total inertia of a rigid group affects the motion. So an inconsistent inertia is a problem if the inertia of
    its group is inconsistent, and otherwise a remark.
    """
    for part in tree:
        if part.link.inertial is None:
            reading.remark("<inertial> is missing; the link has no mass", _item(part, part.link.line))
    for group in _groups(tree, reading.options.floating).values():
        parts = [member.inertial for member in group if member.inertial is not None]
        total = inertia_inconsistency(combined_inertia(parts)) if parts else None
        for member in group:
            _judge_inertia(member.part, total is not None and total[1], reading)
    _judge_masses(tree, reading)


def _judge_inertia(part: LinkWithJoint, wrong: bool, reading: UrdfReading) -> None:
    inertial = part.link.inertial
    found = None if inertial is None else inertia_inconsistency(inertial)
    if found is None or inertial is None:
        return
    fact, gross = found
    if wrong and gross and reading.options.strict:
        advice = f"No rigid body has such moments: use those about the mass center and check their signs, or {_LOOSE}."
        reading.wrong(inertial.line, f"link {quote(part.link.name)}, inertia", f"{fact}.", advice)
    else:
        why = " (compensated by the links fixed to it)" if gross and not wrong else ""
        reading.remark("a physically inconsistent inertia is accepted", f"{_item(part, inertial.line)}: {fact}{why}")


class _Load(Flag):
    """Properties of a link or its descendants; DECLARED: the file has an <inertial>."""

    NONE = 0
    MASS = auto()
    INERTIA = auto()
    DECLARED = auto()


def _judge_masses(tree: Tree, reading: UrdfReading) -> None:
    """Check that moving links carry mass; of a branch without mass the first link is reported."""
    loads, below = _loads(tree), set[str]()
    for part in tree:
        name, joint = part.link.name, part.joint
        load, rotates = loads[name], joint is not None and joint.kind in ("revolute", "continuous", "fixed")
        needed = _Load.MASS | _Load.INERTIA if rotates else _Load.MASS
        if joint is not None and joint.parent in below:
            below.add(name)
        elif (reading.options.floating if joint is None else part.moving) and not load & needed:
            below.add(name)
            _report_massless(part, _Load.DECLARED in load or not reading.options.strict, reading)


def _report_massless(part: LinkWithJoint, allowed: bool, reading: UrdfReading) -> None:
    if allowed:
        fact = "a moving link has no mass, so its acceleration is not determined without a constraint or a drive"
        reading.remark(fact, _item(part, part.link.line))
        return
    fact = "it moves, but neither it nor its descendants have mass."
    advice = f"Add an <inertial> with a mass, make its joint fixed, or {_LOOSE}."
    reading.wrong(part.link.line, f"link {quote(part.link.name)}", fact, advice)


def _loads(tree: Tree) -> dict[str, _Load]:
    loads = dict[str, _Load]()
    for part in tree:
        inertial, load = part.link.inertial, _Load.NONE
        if inertial is not None:
            load = _Load.DECLARED | (_Load.MASS if inertial.mass > 0 else _Load.NONE)
        loads[part.link.name] = load if is_empty(inertial) else load | _Load.INERTIA
    for part in reversed(tree):
        if part.joint is not None:
            loads[part.joint.parent] |= loads[part.link.name]
    return loads


def merged(tree: Tree, reading: UrdfReading) -> Tree:
    """The tree with every link on a fixed joint merged into its parent link, except for the world."""
    groups, out = _groups(tree, reading.options.floating), list[LinkWithJoint]()
    pose_of = {member.part.link.name: (head, member.pose) for head, group in groups.items() for member in group}
    for head, group in groups.items():
        joint = group[0].part.joint
        if joint is not None:
            parent, pose = pose_of[joint.parent]
            joint = replace(joint, parent=parent, origin=pose @ joint.origin)
        out.append(LinkWithJoint(_one(group), joint))
        for member in group[1:]:
            item = _item(member.part, member.part.link.line)
            reading.remark(f"links on fixed joints are merged into {quote(head)}", item)
    return tuple(out)


def _groups(tree: Tree, floating: bool) -> dict[str, list[_Member]]:
    """The rigid groups by the name of their first link, in tree order; links fixed to the world are separate groups."""
    groups: dict[str, list[_Member]] = {}
    heads: dict[str, tuple[str, UrdfOrigin]] = {}
    root = tree[0].link.name
    for part in tree:
        joint = part.joint
        if joint is None or part.moving or (joint.parent == root == WORLD and not floating):
            head, pose = part.link.name, UrdfOrigin()
        else:
            head, above = heads[joint.parent]
            pose = above @ joint.origin
        heads[part.link.name] = (head, pose)
        groups.setdefault(head, []).append(_Member(part, pose))
    return groups


def _one(group: list[_Member]) -> UrdfLink:
    """One link with the masses and visuals of all members."""
    first = group[0].part.link
    inertials = [member.inertial for member in group if member.inertial is not None]
    visuals = [
        replace(visual, pose=member.pose @ visual.pose) for member in group for visual in member.part.link.visuals
    ]
    return UrdfLink(first.name, first.line, combined_inertia(inertials) if inertials else None, tuple(visuals))


def _item(part: LinkWithJoint, line: int) -> str:
    return f"{quote(part.link.name)} (line {line})"
