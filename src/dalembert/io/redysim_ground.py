"""ReDySim's ground: springs and dampers under the feet of walking machines, as its array g_prop describes them.

    g_prop = [K, Cv, vmax, mu, Ch, vertical, along, across]

    K, Cv       stiffness and damping against the ground: it presses with K δ + Cv δ̇ while it presses
    mu, Ch      friction: Ch times the slip, at most mu times what the ground presses with
    vertical    the world axis, 1 to 3, along which the ground presses; the other two follow
    vmax        a speed whose use ReDySim's closed code does not tell

The feet are the last links of the tree. A foot stands on its tip, `alt` along its x axis; one that reaches behind its joint,
where its length `al` is larger than `alt`, stands on its other end as well. With this ground the torques of ReDySim's walking
hexapod are met (tests/physics/test_walking.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from dalembert.errors import Problem
from dalembert.io.toml_source import Table
from dalembert.model.keys import wrong
from dalembert.model.model import Model

GROUND = "g_prop"
TIPS, LENGTHS = "alt", "al"
_LAW = {0: "stiffness", 1: "damping", 3: "friction", 4: "viscous"}  # places of numbers, and what they are to a contact
_VMAX, _AXES = 2, slice(5, 8)


def ground_problems(data: Table, n: int) -> Iterator[Problem]:
    """What is wrong with the ground, where there is one."""
    if GROUND not in data:
        return
    given = data[GROUND]
    said = "an array of 8: stiffness, damping, a speed, friction, its damping, and the numbers of three axes, the vertical first"
    if not isinstance(given, list) or len(given) != 8 or not all(map(_is_number, given)):
        yield wrong(GROUND, said, given)
        return
    for place, name in _LAW.items():
        if given[place] < 0 or (name == "stiffness" and given[place] == 0):
            yield Problem(GROUND, f"the {name} is {given[place]:g}.", "Expected a positive number.")
    if sorted(given[_AXES]) != [1, 2, 3]:
        yield Problem(GROUND, f"the axes are {given[_AXES]}.", "Expected 1, 2 and 3 in some order, the vertical first.")
    elif isinstance(data.get("g"), list) and len(data["g"]) == 3:
        up = int(given[_AXES][0]) - 1
        if any(x != 0 for i, x in enumerate(data["g"]) if i != up) or data["g"][up] == 0:
            fact = f"the ground presses along axis {up + 1}, but gravity is {data['g']}."
            yield Problem(GROUND, fact, "Expected gravity along the vertical axis.")
    for key in (TIPS, LENGTHS):
        if key in data and (not isinstance(data[key], list) or len(data[key]) != n):
            yield wrong(key, f"an array of {n}, one entry for each link", data[key])
    if TIPS not in data:
        yield Problem(GROUND, f"the array '{TIPS}' is missing.", f"Add {TIPS} with {n} entries: the tips of the links.")


def add_feet(model: Model, data: Table, names: list[str]) -> None:
    """Let the last links stand on the ground."""
    given = data[GROUND]
    law = {name: given[place] for place, name in _LAW.items() if given[place] != 0}
    if law.get("friction") is None:
        law.pop("viscous", None)
    up = int(given[_AXES][0]) - 1
    normal = [0, 0, 0]
    normal[up] = -1 if _positive(data["g"][up]) else 1
    carriers = {int(parent) for parent in data["bt"]}
    for i in (i for i in range(len(names)) if i + 1 not in carriers):
        for name, x in _points(names[i], data[TIPS][i], data.get(LENGTHS, data[TIPS])[i]):
            model.sphere_on_plane(names[i], center=(x, 0, 0), normal=normal, name=name, **law)


def ground_remarks(data: Table) -> Iterator[str]:
    """What the ground became, and which of its numbers is not used."""
    if GROUND not in data:
        return
    carriers = {int(parent) for parent in data["bt"]}
    feet = sum(i not in carriers for i in range(1, len(data["bt"]) + 1))
    yield (
        f"the ground of {GROUND} is a contact under each of the {feet} last links. Its speed {data[GROUND][_VMAX]:g} is not "
        "used: what ReDySim does with it is not published."
    )


def _points(name: str, tip: str | float, length: str | float) -> Iterator[tuple[str, str | float]]:
    """Where a foot stands, by the names of the contacts."""
    if isinstance(tip, str) or isinstance(length, str):
        behind = None if length == tip else f"({tip}) - ({length})"
    else:
        behind = tip - length if length > tip else None
    if behind is None:
        yield f"foot of {name}", tip
    else:
        yield f"toe of {name}", tip
        yield f"heel of {name}", behind


def _positive(value: str | float) -> bool:
    """True for numbers above zero; formulas of gravity have their sign in front."""
    return not value.lstrip().startswith("-") if isinstance(value, str) else value > 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
