"""Example models built by a function: families of models of variable size."""

from __future__ import annotations

from collections.abc import Callable

from dalembert.errors import InputError
from dalembert.model.model import Model


def n_four_bar(loops: int = 2) -> Model:
    """`loops` four-bar linkages in a row: N + 1 rods on the ground, N rods that connect their tips, all of unit length.

    Every rod has an absolute angle from world x, and two constraints close each loop. Problem A02 of the IFToMM library.

    >>> n_four_bar(3).coordinate_names
    ('theta0', 'theta1', 'theta2', 'theta3', 'phi1', 'phi2', 'phi3')
    """
    _require_count("n-four-bar: loops", loops, 100)
    about = f"{loops} four-bar linkages in a row fall through their singular position."
    model = Model("n-four-bar", gravity=(0, "-g", 0), description=about)
    model.parameter("m", 1.0, "mass of each rod", "kg")
    model.parameter("L", 1.0, "length of each rod", "m")
    model.parameter("g", 9.81, "acceleration of gravity", "m/s²")
    model.parameter("v", 1.0, "velocity of the first tip at the start, along world x", "m/s")
    for i in range(loops + 1):
        model.coordinate(f"theta{i}", "pi/2", "-v/L", f"angle of upright rod {i} from world x", "rad")
    for i in range(1, loops + 1):
        model.coordinate(f"phi{i}", 0.0, 0.0, f"angle of level rod {i} from world x", "rad")
    rod = {"mass": "m", "center": ("L/2", 0, 0), "inertia": (0, "m*L**2/12", "m*L**2/12")}
    for i in range(loops + 1):
        model.body(f"upright{i}", joint=model.revolute((0, 0, 1), f"theta{i}", position=(f"{i}*L", 0, 0)), **rod)
    for i in range(1, loops + 1):
        hinge = model.revolute((0, 0, 1), f"phi{i} - theta{i - 1}", position=("L", 0, 0))
        model.body(f"level{i}", parent=f"upright{i - 1}", joint=hinge, **rod)
    for i in range(1, loops + 1):
        for axis, f, ground in (("x", "cos", " - L"), ("y", "sin", "")):
            closure = f"L*{f}(theta{i - 1}) + L*{f}(phi{i}) - L*{f}(theta{i}){ground}"
            about = f"level rod {i} ends at the tip of upright rod {i}, along {axis}"
            model.holonomic(closure, f"loop{i}, {axis}", about)
    model.speed("dot(theta0)", "u", "rate of the first upright rod")
    # fixed steps pass the singular position, where the step size of an adaptive method would collapse
    return model.simulation(10.0, 501, integrator="rk4", step=1e-3)


def rope(links: int = 20, strands: int = 1) -> Model:
    """A rope of `links` thin rods of 3 cm and 50 g, pinned at one end and released from the horizontal: ReDySim's chain.

    With several `strands`, that many chains of the same length are attached to its end.

    >>> len(rope(100).coordinate_names), len(rope(10, strands=3).coordinate_names)
    (100, 40)
    """
    _require_count("rope: links", links, 10_000)
    _require_count("rope: strands", strands, 100)
    count = links * (strands + 1 if strands > 1 else 1)
    _require_count("rope: rods in all", count, 10_000)
    model = Model("rope", gravity=(0, "-g", 0), description=f"A rope of {count} rods falls from the horizontal.")
    model.parameter("m", 0.05, "mass of a rod", "kg")
    model.parameter("l", 0.03, "length of a rod", "m")
    model.parameter("w", 0.01, "width of a rod", "m")
    model.parameter("g", 9.81, "acceleration of gravity", "m/s²")
    rod = {"mass": "m", "center": ("l/2", 0, 0), "inertia": ("m*w**2/12", "m*l**2/12", "m*l**2/12")}
    # the parent of the first rod of every strand is the last rod of the rope
    before = [links if i > links and i % links == 1 % links else i - 1 for i in range(1, count + 1)]
    for i, parent in enumerate(before, 1):
        start = 0.4 * ((i - 1) // links - (strands + 1) / 2) / strands if i > links and parent == links else 0.0
        model.coordinate(
            f"q{i}", start, 0.0, f"angle of rod {i} from {f'rod {parent}' if parent else 'world x'}", "rad"
        )
    for i, parent in enumerate(before, 1):
        # the first joint is also one length from the origin, as in ReDySim's table
        hinge = model.revolute((0, 0, 1), f"q{i}", position=("l", 0, 0))
        model.body(f"rod{i}", parent=f"rod{parent}" if parent else "world", joint=hinge, **rod)
    return model.simulation(1.0, 201)


def _require_count(what: str, count: object, max_count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= max_count:
        raise InputError(f"{what} is {count!r}. Expected an int from 1 to {max_count}.")


GENERATED: dict[str, Callable[..., Model]] = {"n-four-bar": n_four_bar, "rope": rope}
