"""From links and joints to a tree: every link hangs on one joint, and all of them on one root."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Flag, auto
from typing import TypeVar

import numpy as np

from dalembert.io.urdf._xml_reading import Pose, Reading, hint
from dalembert.io.urdf.urdf_elements import MOTIONS, Inertial, Joint, Link, Robot
from dalembert.model.keys import quote
from dalembert.model.values import WORLD

MAX_COORDINATES = 2000
_Named = TypeVar("_Named", Link, Joint)
_CLOSE = 1e-9
_GROSS = 5.0  # the files of robots that were built have moments of up to 4.9 times the sum of the others
_POINT = 1e-12  # square of a micrometre: moments below mass × this are no moments
_LOOSE = "read the file with strict=False to take it as it is"


@dataclass(frozen=True)
class Part:
    """A link with the joint it hangs on (None for the root)."""

    link: Link
    joint: Joint | None

    @property
    def moving(self) -> bool:
        """Whether the joint can move."""
        return self.joint is not None and MOTIONS[self.joint.kind] > 0


Tree = tuple[Part, ...]  # the root first, then branch by branch, parents before their children


def grow(robot: Robot, reading: Reading) -> Tree:
    """The links in order, from the root outwards; empty if they do not form a tree."""
    before = len(reading.found)
    links, joints = _unique(robot.links, "link", reading), _unique(robot.joints, "joint", reading)
    hangs = _hangs(joints.values(), links, reading)
    _rings(hangs, reading)
    roots = [link for name, link in links.items() if name not in hangs]
    whole = all(joint.name and joint.parent and joint.child for joint in robot.joints)
    # after problems with names a second root is mostly one of their consequences
    if len(roots) > 1 and whole and len(reading.found) == before:
        _several(roots, reading)
    sound = len(reading.found) == before and len(roots) == 1
    followers = _followers(joints, reading)
    _few(joints.values(), reading)
    return _ordered(links, {child: followers[joint.name] for child, joint in hangs.items()}, roots[0]) if sound else ()


def _unique(items: Sequence[_Named], kind: str, reading: Reading) -> dict[str, _Named]:
    """The items by name; names that are used again are problems."""
    found: dict[str, _Named] = {}
    for item in items:
        if item.name in found:
            fact = f"the name was already used in line {found[item.name].line}."
            reading.wrong(item.line, f"{kind} {quote(item.name)}", fact, f"Give each {kind} a name of its own.")
        elif item.name:
            found[item.name] = item
    return found


def _hangs(joints: Iterable[Joint], links: Mapping[str, Link], reading: Reading) -> dict[str, Joint]:
    """The joint each link hangs on."""
    found: dict[str, Joint] = {}
    for joint in joints:
        what = f"joint {quote(joint.name)}"
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name and name not in links:
                reading.wrong(joint.line, f"{what}, {end}", f"there is no link {quote(name)}.", hint(name, links))
        if joint.parent and joint.parent == joint.child:
            fact = f"it connects the link {quote(joint.child)} with itself."
            reading.wrong(joint.line, what, fact, "Give parent and child two different links.")
        elif joint.child in found:
            other = found[joint.child]
            fact = f"the link {quote(joint.child)} already hangs on the joint {quote(other.name)} (line {other.line})."
            advice = "A URDF file describes a tree: remove one of them, and close the loop by model.loop."
            reading.wrong(joint.line, what, fact, advice)
        elif joint.child in links:
            found[joint.child] = joint
    return found


def _rings(hangs: Mapping[str, Joint], reading: Reading) -> None:
    """Links that carry each other; each ring is reported once."""
    seen: set[str] = set()
    for start in hangs:
        name, path = start, dict[str, None]()
        while name in hangs and name not in seen:
            seen.add(name)
            path[name] = None
            name = hangs[name].parent
        if name in path:
            ring = [*path][[*path].index(name) :]
            shown = " on ".join(map(quote, [*ring[:5], *(["..."] if len(ring) > 5 else []), name]))
            joint = hangs[name]
            fact = f"links carry each other in a ring: {shown}."
            reading.wrong(joint.line, f"joint {quote(joint.name)}", fact, "Expected a tree: remove one of the joints.")


def _several(roots: list[Link], reading: Reading) -> None:
    first, second, *others = (f"{quote(link.name)} (line {link.line})" for link in roots)
    more = f" and {len(others)} more" if others else ""
    fact = f"there are several roots: the links {first} and {second}{more} hang on no joint."
    advice = "Expected one: connect them by joints, or remove what is left over."
    reading.wrong(roots[1].line, f"link {quote(roots[1].name)}", fact, advice)


def _followers(joints: Mapping[str, Joint], reading: Reading) -> dict[str, Joint]:
    """The joints; those that follow others need one that exists and has one motion, and may not follow themselves.

    Files that leave parts of a robot out often keep what followed them, so this can be a remark.
    """
    out = dict(joints)
    for joint in joints.values():
        if joint.mimic is None or not joint.mimic.joint or not (said := _lost(joint, joint.mimic.joint, joints)):
            continue
        what = f"joint {quote(joint.name)}, mimic"
        if reading.options.strict:
            close = "" if joint.mimic.joint in joints else f"{hint(joint.mimic.joint, joints)} "
            advice = "Name a joint that moves, remove the element, or read the file with strict=False to leave it out."
            reading.wrong(joint.mimic.line, what, f"{said}.", f"{close}{advice}")
        else:
            reading.remark("a joint follows no other and moves freely", f"{what} (line {joint.mimic.line}): {said}")
        out[joint.name] = replace(joint, mimic=None)
    return out


def _lost(joint: Joint, name: str, joints: Mapping[str, Joint]) -> str:
    """Why a joint cannot follow the other one; an empty text if it can."""
    other = joints.get(name)
    if other is None:
        return f"there is no joint {quote(name)}"
    if MOTIONS[other.kind] != 1:
        return f"the joint {quote(name)} is {other.kind}"
    return "the joint follows itself, directly or through others" if _follows_itself(joint, joints) else ""


def _follows_itself(joint: Joint, joints: Mapping[str, Joint]) -> bool:
    start, seen = joint.name, set[str]()
    while joint.mimic is not None and joint.mimic.joint in joints and joint.name not in seen:
        seen.add(joint.name)
        joint = joints[joint.mimic.joint]
    return joint.name == start and start in seen


def _few(joints: Iterable[Joint], reading: Reading) -> None:
    count = 0
    for joint in joints:
        count += MOTIONS[joint.kind]
        if count > MAX_COORDINATES:
            fact = f"there are more than {MAX_COORDINATES} coordinates."
            reading.wrong(joint.line, f"joint {quote(joint.name)}", fact, "Split the system into several models.")
            return


def _ordered(links: Mapping[str, Link], hangs: Mapping[str, Joint], root: Link) -> Tree:
    """The links branch by branch, the branches in the order of the file."""
    carried: dict[str, list[Joint]] = {}
    for joint in hangs.values():
        carried.setdefault(joint.parent, []).append(joint)
    parts, waiting = list[Part](), [Part(root, None)]
    while waiting:
        part = waiting.pop()
        parts.append(part)
        waiting += [Part(links[joint.child], joint) for joint in reversed(carried.get(part.link.name, ()))]
    return tuple(parts)


def moved(inertial: Inertial, pose: Pose) -> Inertial:
    """The same mass properties, seen from the frame in which the link is placed by `pose`."""
    return Inertial(inertial.line, inertial.mass, pose.point(inertial.center), pose.tensor(inertial.inertia))


def together(parts: Iterable[Inertial]) -> Inertial:
    """The mass properties of rigidly joined parts, all given in one frame: Steiner's theorem, part by part."""
    given = [*parts]
    if len(given) == 1:
        return given[0]
    mass = sum(part.mass for part in given)
    moment = sum((part.mass * np.array(part.center) for part in given), start=np.zeros(3))
    center = moment / mass if mass else moment
    inertia = np.zeros((3, 3))
    for part in given:
        d = np.array(part.center) - center
        inertia = inertia + part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    x, y, z = center.tolist()
    return Inertial(given[0].line, mass, (x, y, z), inertia)


def is_empty(inertial: Inertial | None) -> bool:
    """Whether there is neither mass nor inertia."""
    return inertial is None or (not inertial.mass and not inertial.inertia.any())


def flaw(inertial: Inertial) -> tuple[str, bool] | None:
    """What is impossible about an inertia, and whether it is beyond what carelessness explains; None if nothing is.

    A single moment is what planar models give, and no fault.

    >>> flaw(Inertial(1, 1.0, (0, 0, 0), np.diag([1.0, 1.0, 10.0])))
    ('the principal moments 1, 1, 10 break the triangle inequality', True)
    >>> flaw(Inertial(1, 1.0, (0, 0, 0), np.diag([1.0, 1.0, 2.0])))
    """
    moments = np.linalg.eigvalsh(inertial.inertia)
    small = _CLOSE * float(np.abs(moments).max())
    shown = ", ".join(f"{0.0 if abs(m) <= small else m:.6g}" for m in moments)
    if moments[0] < -small:
        return f"a principal moment is negative; they are {shown}", True
    others = moments[0] + moments[1]
    if moments[2] > others + small:
        gross = moments[1] > small and moments[2] >= _GROSS * (1 - _CLOSE) * others
        return f"the principal moments {shown} break the triangle inequality", bool(gross)
    return None


@dataclass(frozen=True)
class _Member:
    """A link of a rigid group, placed in the frame of the group's first link."""

    part: Part
    pose: Pose

    @property
    def inertial(self) -> Inertial | None:
        given = self.part.link.inertial
        return None if given is None else moved(given, self.pose)


def without_rounding(part: Part, reading: Reading) -> Part:
    """The part without moments of inertia that are nothing but rounding beside the mass, and make no sense."""
    inertial = part.link.inertial
    if inertial is None or not inertial.inertia.any() or flaw(inertial) is None:
        return part
    if float(np.abs(inertial.inertia).max()) > _POINT * inertial.mass:
        return part
    reading.remark("the inertia is impossible but so small that it is taken as 0", _item(part, inertial.line))
    return replace(part, link=replace(part.link, inertial=replace(inertial, inertia=np.zeros((3, 3)))))


def judge(tree: Tree, reading: Reading) -> None:
    """Problems and remarks about masses: links without any, and inertias that no body has.

    Only what a rigid group has together enters the motion. So an impossible inertia counts as a problem when its group
    is impossible, and otherwise is remarked.
    """
    for part in tree:
        if part.link.inertial is None:
            reading.remark("there is no <inertial>, so the link has no mass", _item(part, part.link.line))
    for group in _groups(tree, reading.options.floating).values():
        parts = [member.inertial for member in group if member.inertial is not None]
        whole = flaw(together(parts)) if parts else None
        for member in group:
            _judge_inertia(member.part, whole is not None and whole[1], reading)
    _judge_masses(tree, reading)


def _judge_inertia(part: Part, wrong: bool, reading: Reading) -> None:
    inertial = part.link.inertial
    found = None if inertial is None else flaw(inertial)
    if found is None or inertial is None:
        return
    said, gross = found
    if wrong and gross and reading.options.strict:
        advice = f"No body has such moments: take them about the mass centre and check their signs, or {_LOOSE}."
        reading.wrong(inertial.line, f"link {quote(part.link.name)}, inertia", f"{said}.", advice)
    else:
        why = " (the links fixed to it make up for it)" if gross and not wrong else ""
        reading.remark("an inertia that no body has is taken as it is", f"{_item(part, inertial.line)}: {said}{why}")


class _Load(Flag):
    """What a link, or anything that hangs on it, has; TOLD stands for an <inertial> in the file."""

    NONE = 0
    MASS = auto()
    INERTIA = auto()
    TOLD = auto()


def _judge_masses(tree: Tree, reading: Reading) -> None:
    """A link that moves needs something with mass on it; of a branch without mass the first link is reported."""
    loads, below = _loads(tree), set[str]()
    for part in tree:
        name, joint = part.link.name, part.joint
        load, turns = loads[name], joint is not None and joint.kind in ("revolute", "continuous", "fixed")
        needed = _Load.MASS | _Load.INERTIA if turns else _Load.MASS
        if joint is not None and joint.parent in below:
            below.add(name)
        elif (reading.options.floating if joint is None else part.moving) and not load & needed:
            below.add(name)
            _light(part, _Load.TOLD in load or not reading.options.strict, reading)


def _light(part: Part, allowed: bool, reading: Reading) -> None:
    if allowed:
        fact = (
            "a link moves without any mass, so its acceleration is not determined unless a constraint or a drive does"
        )
        reading.remark(fact, _item(part, part.link.line))
        return
    fact = "it moves, but neither it nor what hangs on it has mass."
    advice = f"Give it an <inertial> with a mass, make its joint fixed, or {_LOOSE}."
    reading.wrong(part.link.line, f"link {quote(part.link.name)}", fact, advice)


def _loads(tree: Tree) -> dict[str, _Load]:
    loads = dict[str, _Load]()
    for part in tree:
        given, load = part.link.inertial, _Load.NONE
        if given is not None:
            load = _Load.TOLD | (_Load.MASS if given.mass > 0 else _Load.NONE)
        loads[part.link.name] = load if is_empty(given) else load | _Load.INERTIA
    for part in reversed(tree):
        if part.joint is not None:
            loads[part.joint.parent] |= loads[part.link.name]
    return loads


def merged(tree: Tree, reading: Reading) -> Tree:
    """The tree with every link on a fixed joint made a part of the link it is fixed to; the world takes none."""
    groups, out = _groups(tree, reading.options.floating), list[Part]()
    place = {member.part.link.name: (head, member.pose) for head, group in groups.items() for member in group}
    for head, group in groups.items():
        joint = group[0].part.joint
        if joint is not None:
            parent, pose = place[joint.parent]
            joint = replace(joint, parent=parent, origin=pose @ joint.origin)
        out.append(Part(_one(group), joint))
        for member in group[1:]:
            item = _item(member.part, member.part.link.line)
            reading.remark(f"links on fixed joints are merged into {quote(head)}", item)
    return tuple(out)


def _groups(tree: Tree, floating: bool) -> dict[str, list[_Member]]:
    """The rigid groups by the name of their first link, in the order of the tree; links fixed to the world stand alone."""
    groups: dict[str, list[_Member]] = {}
    heads: dict[str, tuple[str, Pose]] = {}
    root = tree[0].link.name
    for part in tree:
        joint = part.joint
        if joint is None or part.moving or (joint.parent == root == WORLD and not floating):
            head, pose = part.link.name, Pose()
        else:
            head, above = heads[joint.parent]
            pose = above @ joint.origin
        heads[part.link.name] = (head, pose)
        groups.setdefault(head, []).append(_Member(part, pose))
    return groups


def _one(group: list[_Member]) -> Link:
    """One link with the masses and the looks of all."""
    first = group[0].part.link
    inertials = [member.inertial for member in group if member.inertial is not None]
    visuals = [
        replace(visual, pose=member.pose @ visual.pose) for member in group for visual in member.part.link.visuals
    ]
    return Link(first.name, first.line, together(inertials) if inertials else None, tuple(visuals))


def _item(part: Part, line: int) -> str:
    return f"{quote(part.link.name)} (line {line})"
