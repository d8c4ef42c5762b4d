"""The pages of the gallery: an overview with pictures, and one page for each model from its description."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import dalembert as dl
from dalembert.io import gallery
from dalembert.model.model import Model

ROBOTS = ("robot", "arm", "puma", "kuka", "gripper", "biped", "quadruped", "hexapod")
# groups with their conditions, the first match applies; other models are pendulums, tops and similar
GROUPS: dict[str, Callable[[Model], bool]] = {
    "Friction, stops, bushings and clocks": lambda model: bool(model.events) or _sudden(model),
    "Wheels, blades and rolling": lambda model: (
        bool(model.nonholonomic_constraints or model.contacts) or "disk" in model.name
    ),
    "Linkages and parallel robots": lambda model: bool(model.loops or (model.holonomic_constraints and _hinged(model))),
    "Robots and walkers": lambda model: any(word in model.name for word in ROBOTS),
}
OTHERS = "Pendulums, tops and free bodies"


def _sudden(model: Model) -> bool:
    """Whether a model that is not a robot has contact or friction events."""
    kinds = ("backlash", "bushing", "joint_friction", "joint_stop", "sphere_on_plane")
    return any(load.kind in kinds for load in model.loads) and not any(word in model.name for word in ROBOTS)


def _hinged(model: Model) -> bool:
    """Whether a model has several bodies and a revolute joint."""
    return len(model.bodies) > 1 and any(joint.kind == "revolute" for body in model.bodies for joint in body.joints)


@cache
def descriptions() -> dict[str, str]:
    """The descriptions of all models, by name."""
    return {name: gallery.read_description(name) for name in gallery.names()}


def title(name: str) -> str:
    """The title of a model."""
    return descriptions()[name].splitlines()[0].lstrip("# ")


@cache
def grouped() -> dict[str, tuple[str, ...]]:
    """The models of every group, in the order of their titles."""
    found: dict[str, list[str]] = {OTHERS: [], **{group: [] for group in reversed(GROUPS)}}
    for name in sorted(gallery.names(), key=title):
        found[group_of(dl.load(name))].append(name)
    return {group: tuple(names) for group, names in found.items()}


def group_of(model: Model) -> str:
    """The first group whose condition the model satisfies."""
    return next((group for group, mark in GROUPS.items() if mark(model)), OTHERS)


def overview() -> str:
    """All models with their pictures."""
    count = len(gallery.names())
    parts = [
        "---\nhide: [toc]\n---\n# Gallery",
        f"{count} models are included in dalembert. `dl.load(name)` loads one, and every command accepts its name. "
        "Each page has an animation of the model.",
    ]
    for group, names in grouped().items():
        cards = "\n".join(card(name) for name in names)
        parts += [f"## {group}", f'<div class="cards" markdown>\n{cards}\n</div>']
    return "\n\n".join(parts)


def card(name: str, place: str = "") -> str:
    """A picture with a title that link to the page of a model; `place` is the relative path to the gallery."""
    picture = f"![]({place}pictures/{name}.png){{ loading=lazy }}"
    return f"[{picture}<span>{title(name)}</span><code>{name}</code>]({place}{name}.md){{ .card }}"


def page(name: str) -> str:
    """An animated model and its description."""
    head, _, description = descriptions()[name].partition("\n")
    live = f"live/{name}.html"
    return "\n".join(
        [
            "---\nhide: [toc]\n---",
            head,
            "",
            f'<iframe class="live" src="{live}" title="{title(name)}, in motion" loading="lazy"></iframe>',
            "",
            f'[On a page of its own]({live}) · [All models](index.md) · `dl.load("{name}")`',
            "",
            with_site_links(description).strip(),
            "",
        ]
    )


def with_site_links(description: str) -> str:
    """A description with its links rewritten for the site."""
    return re.sub(r"\]\(\.\./([\w-]+)/description\.md\)", r"](\1.md)", description)


def pages() -> dict[str, str]:
    """The pages, by their paths."""
    return {"gallery/index.md": overview()} | {f"gallery/{name}.md": page(name) for name in gallery.names()}


def navigation() -> list[Any]:
    """The overview, then the models group by group."""
    groups = [{group: [{title(name): f"gallery/{name}.md"} for name in names]} for group, names in grouped().items()]
    return ["gallery/index.md", *groups]
