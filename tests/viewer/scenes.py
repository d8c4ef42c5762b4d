"""Hand-written scenes with closed-form motion, as plain data."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.codegen.program import Program, program_of
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.lookup_tables import table
from dalembert.symbolic.nodes import Node, constant
from dalembert.symbolic.operations import BLOCKS, OPERATIONS

COLORS = ("#3f86c9", "#e0803c", "#35a57d")


def packed(values: Any) -> dict[str, Any]:
    array = np.ascontiguousarray(values, dtype="<f8")
    return {"f64": base64.b64encode(array.tobytes()).decode(), "shape": list(array.shape)}


def code(program: Program) -> dict[str, Any]:
    tables = [{"times": x.times.tolist(), "values": x.values.tolist(), "order": x.order} for x in program.tables]
    lines = [[name, *places] for name, places in program.lines]
    return {
        "inputs": len(program.inputs), "numbers": [*program.numbers], "tables": tables, "lines": lines,
        "outputs": [*program.outputs],
    }  # fmt: skip


def scene(starts: dict[str, float], bodies: Sequence[str], kinematics: Program, length: float = 1.0) -> dict[str, Any]:
    """A planar scene with one bar along x for each body."""
    bar = {
        "kind": "capsule",
        "at": [length / 2, 0, 0],
        "turn": [0.5**0.5, 0, 0.5**0.5, 0],
        "size": [0.03, length],
        "role": "body",
    }
    return {
        "format": 1,
        "model": {"name": "by hand <script>", "description": "a scene made by hand"},
        "view": {"up": [0, 1, 0], "planar": True, "eye": [0, 0, 5], "target": [0, 0, 0], "size": 4.0},
        "coordinates": [
            {"name": name, "label": name, "unit": "rad", "start": x, "low": None, "high": None}
            | {"turns": True, "prescribed": False}
            for name, x in starts.items()
        ],
        "bodies": [
            {"name": "world", "shapes": []},
            *({"name": name, "shapes": [bar | {"color": COLORS[i % 3]}]} for i, name in enumerate(bodies)),
        ],
        "kinematics": code(kinematics), "closure": None, "run": None, "trails": [], "cords": [], "modes": [], "tabs": [],
    }  # fmt: skip


def turned(angle: Node, x: Scalar, y: Scalar) -> list[Scalar]:
    """The twelve outputs of a body at (x, y, 0), rotated about z."""
    c, s = GRAPH.cos(angle), GRAPH.sin(angle)
    return [x, y, 0.0, c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0]


def graph_program(outputs: Sequence[Any], inputs: Sequence[str]) -> Program:
    return program_of([constant(x) if isinstance(x, float) else x for x in outputs], inputs)


def operations() -> tuple[dict[str, Any], Program]:
    """A scene in which every operation of a program gives one coordinate of a body's position."""
    names = [name for name in OPERATIONS if name not in BLOCKS]
    held = table([0.0, 1.0, 3.0], [0.0, 2.0, 2.5])
    # indices: a, b, t, three numbers, the table, then lines: first one that is true and one that is false
    where = {"interpolate": (6, 0), "and": (7, 8), "or": (7, 8), "select": (7, 0, 1)}
    lines = [("less", (0, 1)), ("less", (1, 0))]
    lines += [(name, where.get(name, (0, 1)[: OPERATIONS[name].arity])) for name in names]
    lines += [("select", (8, 0, 1)), ("or", (8, 8)), ("and", (7, 7))]
    results = [9 + i for i in range(len(lines) - 2)]
    results += [results[0]] * (-len(results) % 3)
    bodies = len(results) // 3
    turn = [4, 3, 3, 3, 4, 3, 3, 3, 4]  # the numbers 0 and 1
    outputs = [place for k in range(bodies) for place in [*results[3 * k : 3 * k + 3], *turn]]
    program = Program(("a", "b", "t"), (), (0.0, 1.0, 2.0), (held,), tuple(lines), tuple(outputs))
    return scene({"a": 0.37, "b": 0.81}, [f"body{k}" for k in range(bodies)], program), program


def polynomial_run(seed: int = 3) -> tuple[dict[str, Any], np.ndarray]:
    """A run whose coordinates are polynomials of degree five, few samples apart; their coefficients by rows."""
    coefficients = np.random.default_rng(seed).uniform(-0.5, 0.5, (2, 6))
    a, b = GRAPH.symbols(["a", "b"])
    program = graph_program([*turned(a, 0.0, 0.0), *turned(a + b, GRAPH.cos(a), GRAPH.sin(a))], ["a", "b", "t"])
    t = np.array([0.0, 0.4, 0.5, 1.1, 2.0])
    levels = [[np.polyval(np.polyder(c, k), t) for c in coefficients] for k in range(3)]
    data = scene({"a": 0.0, "b": 0.0}, ["one", "two"], program)
    shared = {"unit": "rad", "group": "coordinates"}
    channels = [
        {"key": name, "name": name, "label": name, **shared, "values": packed(levels[0][i])}
        for i, name in enumerate("ab")
    ]
    arrow = {"name": "push", "kind": "force", "body": "two", "unit": "N", "scale": 0.5}
    ways = {"point": packed(np.zeros((3, 5))), "vector": packed(np.ones((3, 5)))}
    run = {"formalism": "lagrange", "duration": 2.0, "t": packed(t), "channels": channels, "arrows": [arrow | ways]}
    run |= dict(zip(("q", "qd", "qdd"), map(packed, levels), strict=True))
    trails = [{"body": "two", "point": [1.0, 0.0, 0.0], "color": COLORS[1]}]
    return data | {"run": run, "trails": trails}, coefficients


LINKS = (0.5, 1.0, 0.8, 1.1)  # crank, coupler, rocker, ground


def four_bar() -> dict[str, Any]:
    """Crank a, coupler b and rocker c with their angles against x; the rocker is attached to the ground at (1.1, 0)."""
    crank, coupler, rocker, ground = LINKS
    angles = a, b, c = GRAPH.symbols(["a", "b", "c"])
    lengths = (crank, coupler, -rocker)
    g = [
        sum((length * f(x) for length, x in zip(lengths, angles, strict=True)), constant(-d))
        for f, d in ((GRAPH.cos, ground), (GRAPH.sin, 0.0))
    ]
    slopes = [-(length * GRAPH.sin(x)) for length, x in zip(lengths, angles, strict=True)]
    slopes += [length * GRAPH.cos(x) for length, x in zip(lengths, angles, strict=True)]
    tip = crank * GRAPH.cos(a), crank * GRAPH.sin(a)
    poses = [*turned(a, 0.0, 0.0), *turned(b, *tip), *turned(c, ground, 0.0)]
    start = closed(1.0)
    data = scene(
        {"a": 1.0, "b": start[0], "c": start[1]},
        ["crank", "coupler", "rocker"],
        graph_program(poses, ["a", "b", "c", "t"]),
    )
    return data | {"closure": code(graph_program([*g, *slopes], ["a", "b", "c", "t"]))}


def closed(a: float) -> tuple[float, float]:
    """Coupler and rocker for an angle of the crank: the upper intersection of two circles."""
    crank, coupler, rocker, ground = LINKS
    x, y = crank * math.cos(a), crank * math.sin(a)
    d = math.hypot(ground - x, y)
    base = math.atan2(-y, ground - x)
    b = base + math.acos((d * d + coupler**2 - rocker**2) / (2 * d * coupler))
    end = x + coupler * math.cos(b), y + coupler * math.sin(b)
    return b, math.atan2(end[1], end[0] - ground)
