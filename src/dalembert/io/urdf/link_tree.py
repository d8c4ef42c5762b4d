"""From links and joints to a tree: every link hangs on one joint, and all of them on one root."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from dalembert.io.urdf.urdf_elements import MOTIONS, Joint, Link, Robot
from dalembert.io.urdf.xml_reading import Reading, hint
from dalembert.model.keys import quote

MAX_COORDINATES = 2000

_Named = TypeVar("_Named", Link, Joint)


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
    """Links that carry each other; each ring is told once."""
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
