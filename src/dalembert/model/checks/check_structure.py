"""Is there a system at all, and do its bodies hang together?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dalembert.errors import Problem, nearest
from dalembert.model.vectors import WORLD
from dalembert.symbolic.symbols import coordinate

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def problems(model: Elements) -> list[Problem]:
    """What is missing, declared in two ways, hung on nothing, hung in a ring, or never used."""
    return [*_description(model), *_parents(model), *_rings(model), *_unused(model), *_names(model), *_shapes(model)]


def _description(model: Elements) -> list[Problem]:
    path, found = f"model '{model.name}'", []
    if not model.coordinate_list:
        fact = "it is empty: there are no coordinates."
        found.append(Problem(path, fact, "Declare at least one, and a body that moves by it."))
    if not model.bodies and model.energies is None:
        fact = "it has neither bodies nor energies."
        found.append(Problem(path, fact, "Add a body, or describe the system by its energies."))
    if model.bodies and model.energies is not None:
        fact = f"it has {len(model.bodies)} bodies and also energies."
        found.append(Problem(path, fact, "Expected one description of the system; remove the bodies or the energies."))
    return found


def _parents(model: Elements) -> list[Problem]:
    names = {body.name for body in model.bodies}
    return [
        Problem(f"body '{b.name}'", f"its parent '{b.parent}' does not exist.", nearest(b.parent, {WORLD, *names}))
        for b in model.bodies
        if b.parent != WORLD and b.parent not in names
    ]


def _rings(model: Elements) -> list[Problem]:
    """Bodies that carry each other; each ring is told once."""
    parents = {body.name: body.parent for body in model.bodies}
    seen: set[str] = set()
    found = []
    for name in parents:
        path: list[str] = []
        while name in parents and name not in seen:
            seen.add(name)
            path.append(name)
            name = parents[name]
        if name in path:
            ring = [*path[path.index(name) :], name]
            advice = f"Expected a way to the world from every body; give one of them the parent '{WORLD}'."
            found.append(Problem(f"body '{name}'", f"bodies carry each other in a ring: {' on '.join(ring)}.", advice))
    return found


def _unused(model: Elements) -> list[Problem]:
    """Coordinates that move nothing."""
    if not model.bodies:
        return []
    moved = {s for b in model.bodies for j in b.joints for value in j.values for s in value.free_symbols}
    return [
        Problem(f"coordinate '{name}'", "it appears in no joint.", "Let a joint move by it, or remove it.")
        for name in model.coordinate_names
        if coordinate(name) not in moved
    ]


def _names(model: Elements) -> list[Problem]:
    return [
        Problem(f"constraint '{name}'", f"the name is used {count} times.", "Give each constraint a name of its own.")
        for name, count in Counter((*model.constraint_names, *(c.name for c in model.canonical_list))).items()
        if count > 1
    ]


def _shapes(model: Elements) -> list[Problem]:
    names = {WORLD, *(body.name for body in model.bodies)}
    return [
        Problem(f"shape of '{shape.body}'", "there is no such body.", nearest(shape.body, names))
        for shape in model.shapes
        if shape.body not in names
    ]
