"""Conversion of ReDySim's arrays: a tree of links in modified Denavit–Hartenberg parameters, on the ground or a floating base.

The transform from the parent's frame to the link's is Rx(alp) Tx(a) Rz(th) Tz(b). In a revolute joint (r = 1) q replaces th, in
a prismatic joint (r = 0) it replaces b, so th and b are initial values. With `nq` the first link floats: in the x-y plane
if it is 0, in space if it is 1, rotated by three angles about z, x and y.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dalembert.errors import InputError, Problem
from dalembert.io.robot_rows import RobotRow, add_rows, build, coordinate_entry, merged, names_in
from dalembert.io.toml_reader import FileModelBuilder, Table, failure
from dalembert.model import keys
from dalembert.model.keys import MAX_ELEMENTS, MAX_SAMPLES, invalid_value, problem_of
from dalembert.model.model import Model
from dalembert.model.values import WORLD

STEP = ("alp", "a", "b")
PRODUCTS = ("Icxy", "Icyz", "Iczx")  # zero by default
BODY = ("dx", "dy", "dz", "m", "Icxx", "Icyy", "Iczz", *PRODUCTS)
NEEDED = ("n", "bt", "g", *STEP, *(key for key in BODY if key not in PRODUCTS))
SCALARS = ("dof", "nq", "type", "Tp", "steps")
TIPS, LENGTHS = "alt", "al"
# inputs for drawings and control, not for the equations of motion; lengths and tips are the positions of the feet
APART = {
    LENGTHS: "the lengths of the links",
    TIPS: "the tips of the links",
    "aj": "which joints are actuated",
    "gx": "gravity along x in ReDySim's window",
    "gy": "gravity along y in ReDySim's window",
    "gz": "gravity along z in ReDySim's window",
}
GROUND = "g_prop"
KEYS = (*NEEDED, *PRODUCTS, "r", "th", *SCALARS, *APART, GROUND)
OWN = ("convention", "quaternion", "names", *KEYS)
# the floating base: coordinate, unit, description
_SPACE = {axis: ("m", f"position of the base along world {axis}") for axis in "xyz"}
_PLANE = {"x": _SPACE["x"], "y": _SPACE["y"], "phi": ("rad", "angle of the base about world z")}
_ANGLES = {
    "phi": ("rad", "first angle of the base, about world z"),
    "theta": ("rad", "second angle of the base, about its rotated x axis"),
    "psi": ("rad", "third angle of the base, about its own y axis"),
}
_QUATERNION = {
    f"e{i}": ("1", f"{part} part of the base's quaternion") for i, part in enumerate(("scalar", "x", "y", "z"))
}
_LAW = {0: "stiffness", 1: "damping", 3: "friction", 4: "viscous"}  # index in g_prop, and the argument of a contact
_VMAX, _AXES = 2, slice(5, 8)


def from_arrays(data: Table, source: str, *, quaternion: bool = False) -> Model:
    """Build the robot described by ReDySim's arrays and by sections of ordinary model files.

    >>> rod = {"n": 1, "bt": [0], "r": [1], "th": [0.5], "g": [0, -9.81, 0], "m": [2], "dx": [0.25], "Iczz": [0.04]}
    >>> zero = dict.fromkeys(("alp", "a", "b", "dy", "dz", "Icxx", "Icyy"), [0])
    >>> from_arrays({"name": "rod", **rod, **zero}, "rod.json").initial[0]
    array([0.5])
    """
    data = {key: _plain(key, value) for key, value in data.items()}
    n = _count(data, source)
    data = {**{key: [0] * n for key in PRODUCTS}, **data}
    quaternion = quaternion or data.get("quaternion") is True
    found = [*_shapes(data, n), *_choices(data), *ground_problems(data, n)]
    robot = None if found else _Robot({"r": [1] * n, "th": [0] * n, **data}, n, _names(data, n), quaternion)
    head = {"gravity": data["g"]} if "gravity" not in data and _is_vector(data.get("g"), 3) else {}

    def rows(builder: FileModelBuilder) -> None:
        if builder.note(found) and robot and builder.note(_entries(data, builder.model)):
            builder.note(robot.parents())
            robot.add(builder)

    coordinates = merged(robot.coordinates() if robot else {}, data.get("coordinates"))
    model = build({**data, **head}, OWN, coordinates, source, rows)
    for sentence in _remarks(data, n):
        model.note(sentence)
    return model


@dataclass(frozen=True)
class _Robot:
    """Arrays of the right lengths."""

    data: Table
    n: int
    names: list[str]
    quaternion: bool

    @property
    def floating(self) -> bool:
        return "nq" in self.data

    @property
    def spatial(self) -> bool:
        return self.data.get("nq") == 1

    def revolute(self, i: int) -> bool:
        return self.data["r"][i] == 1

    def moving(self) -> range:
        """The links with joints of the table: all except a floating base."""
        return range(1 if self.floating else 0, self.n)

    def coordinates(self) -> dict[str, Table]:
        """The coordinates with their initial values, for the section [coordinates]."""
        out: dict[str, Table] = {}
        for name, (unit, about) in self._base().items():
            out[name] = {"unit": unit, "description": about, "start": 1 if name == "e0" else 0}
        for i in self.moving():
            rotates = self.revolute(i)
            start = self.data["th" if rotates else "b"][i]
            out[f"q{i + 1}"] = {**coordinate_entry(self.names[i], rotates=rotates), "start": start}
        return out

    def _base(self) -> dict[str, tuple[str, str]]:
        if not self.floating:
            return {}
        if not self.spatial:
            return _PLANE
        return {**_SPACE, **(_QUATERNION if self.quaternion else _ANGLES)}

    def parents(self) -> Iterator[Problem]:
        """Check that every parent precedes its link; with a floating base only the first link has parent 0."""
        lowest = 1 if self.floating else 0
        for i, parent in enumerate(self.data["bt"]):
            low, high = (0, 0) if i == 0 else (lowest, i)
            if not _is_integer(parent) or not low <= parent <= high:
                advice = f"Expected {low}." if low == high else f"Expected a number from {low} to {high}."
                yield Problem(f"bt, link {i + 1}", f"the parent is {parent!r:.20}.", advice)
        for key in STEP if self.floating else ():
            if self.data[key][0] != 0:
                advice = "Expected 0: its coordinates define its position."
                yield Problem(f"{key}, link 1", f"the floating base has the value {self.data[key][0]!r:.20}.", advice)

    def add(self, builder: FileModelBuilder) -> None:
        """Add the bodies, the ground contacts and the simulation time."""
        if builder.found:
            return
        model = builder.model
        if self.floating:
            builder.note(problem_of("link 1", lambda: self._add_base(model)))
        rows = [(f"link {i + 1}", self._row(i)) for i in self.moving()]
        add_rows(builder, rows, "mdh", [*self.names, *names_in(self.data.get("body"))])
        if GROUND in self.data and not builder.found:
            builder.note(problem_of(GROUND, lambda: add_feet(model, self.data, self.names)))
        if "Tp" in self.data:
            builder.note(problem_of("Tp", lambda: _simulation(model, self.data)))

    def _add_base(self, model: Model) -> None:
        if not self.spatial:
            joint = model.planar((0, 0, 1), ("x", "y"), "phi", where="link 1")
        elif self.quaternion:
            joint = model.free(("x", "y", "z"), quaternion=("e0", "e1", "e2", "e3"), where="link 1")
        else:
            joint = model.free(("x", "y", "z"), ("phi", "theta", "psi"), "zxy", where="link 1")
        model.body(self.names[0], joint=joint, description="the floating base", **self._body(0))

    def _row(self, i: int) -> RobotRow:
        data, parent, rotates = self.data, int(self.data["bt"][i]), self.revolute(i)
        return RobotRow(
            self.names[i],
            self.names[parent - 1] if parent else WORLD,
            "revolute" if rotates else "prismatic",
            f"q{i + 1}",
            theta=0 if rotates else data["th"][i],
            d=data["b"][i] if rotates else 0,
            a=data["a"][i],
            alpha=data["alp"][i],
            **self._body(i),
        )

    def _body(self, i: int) -> Table:
        data = self.data
        center = [data[key][i] for key in ("dx", "dy", "dz")]
        inertia = [data[key][i] for key in ("Icxx", "Icyy", "Iczz", "Icxy", "Iczx", "Icyz")]
        return {"mass": data["m"][i], "center": center, "inertia": inertia}


def _plain(key: str, value: object) -> object:
    """Unwrap scalars and wrap vectors: MATLAB and JSON do not distinguish them."""
    if key in ("n", *SCALARS) and isinstance(value, list) and len(value) == 1:
        return value[0]
    single = isinstance(value, int | float | str) and not isinstance(value, bool)
    return [value] if single and key in ("bt", "r", "th", LENGTHS, TIPS, *STEP, *BODY) else value


def _is_vector(value: object, count: int) -> bool:
    return isinstance(value, list) and len(value) == count


def _is_integer(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _count(data: Table, source: str) -> int:
    """The number of links, which is required to read the arrays."""
    n = data.get("n")
    if n is None:
        raise failure(source, "the key 'n' is missing.", "Add the number of links, and arrays with one entry for each.")
    if not _is_integer(n) or not 1 <= n <= MAX_ELEMENTS:
        raise failure(f"{source}, n", f"got {n!r:.40}.", f"Expected the number of links, from 1 to {MAX_ELEMENTS}.")
    return int(n)


def _shapes(data: Table, n: int) -> Iterator[Problem]:
    """Missing arrays, and arrays whose number of entries is not the number of links."""
    for key in (*NEEDED, *(() if "nq" in data else ("r", "th"))):
        if key not in data:
            advice = f"Add {key} with {3 if key == 'g' else n} entries."
            yield Problem("model file", f"the array '{key}' is missing.", advice)
    for key in ("bt", "r", "th", "names", *STEP, *BODY):
        if key in data and not _is_vector(data[key], n):
            yield invalid_value(key, f"an array of {n}, one entry for each link", data[key])
    if "g" in data and not _is_vector(data["g"], 3):
        yield invalid_value("g", "an array of 3, the acceleration of gravity", data["g"])
    if "gravity" in data:
        yield Problem("gravity", "ReDySim's arrays define it as g.", "Use g = [...] only.")


def _choices(data: Table) -> Iterator[Problem]:
    """Switches other than 0 and 1, and times that are not positive."""
    for key in ("nq", "type"):
        if key in data and (not _is_integer(data[key]) or data[key] not in (0, 1)):
            yield Problem(key, f"got {data[key]!r:.40}.", "Expected 0 or 1.")
    entries = data["r"] if isinstance(data.get("r"), list) else []
    for i, entry in enumerate(entries):
        if not _is_integer(entry) or entry not in (0, 1):
            yield Problem(f"r, link {i + 1}", f"got {entry!r:.40}.", "Expected 1 (revolute) or 0 (prismatic).")
    if "dof" in data and not _is_integer(data["dof"]):
        yield invalid_value("dof", "an integer", data["dof"])
    if "quaternion" in data and not isinstance(data["quaternion"], bool):
        yield invalid_value("quaternion", "true or false", data["quaternion"])
    if "steps" in data and "Tp" not in data:
        yield Problem("steps", "the time Tp is missing.", "Define both, or the section [simulation].")
    for key in ("Tp", "steps"):
        value = data.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            yield invalid_value(key, "a positive number of seconds", value)
    if "Tp" in data and "simulation" in data:
        yield Problem("Tp", "the section [simulation] is also defined.", "Keep one of them.")


def _entries(data: Table, model: Model) -> Iterator[Problem]:
    """Problems of entries that are neither numbers nor formulas of parameters."""
    for key in (*STEP, "th", *BODY):
        for i, entry in enumerate(data.get(key, [])):
            yield from keys.constant(entry, f"{key}, link {i + 1}", model)
    for i, name in enumerate(data.get("names", [])):
        yield from keys.name(name, f"names, link {i + 1}", model)


def _names(data: Table, n: int) -> list[str]:
    names = data.get("names", [])
    return [str(name) for name in names] if names else [f"link{i + 1}" for i in range(n)]


def _simulation(model: Model, data: Table) -> None:
    """Set the simulation time Tp and the time between samples `steps`."""
    duration = float(data["Tp"])
    model.simulation(duration, sample_count(duration, data["steps"]) if "steps" in data else model.samples)


def sample_count(duration: float, step: float, expression: str = "Tp: Tp/steps") -> int:
    """The number of samples for a time between them; raises if there are too few or too many.

    >>> sample_count(10.0, 0.01)
    1001
    """
    samples = duration / step + 1
    if not 1.5 <= samples <= MAX_SAMPLES:
        raise InputError(f"{expression} gives {samples:.6g} samples. Expected 2 to {MAX_SAMPLES}.")
    return round(samples)


def _remarks(data: Table, n: int) -> Iterator[str]:
    """Notes about ignored inputs and about closed loops."""
    used = (LENGTHS, TIPS) if GROUND in data else ()
    apart = [f"{key} ({about})" for key, about in APART.items() if key in data and key not in used]
    if apart:
        yield f"ignored, since the equations of motion do not need it: {', '.join(apart)}."
    yield from ground_remarks(data)
    freedoms = n + (0 if "nq" not in data else 5 if data["nq"] == 1 else 2)
    if data.get("type") == 1 and not data.get("loop"):
        closed = f", of which {data['dof']:g} remain with closed loops" if "dof" in data else ""
        yield (
            f"type = 1: the mechanism has closed loops, but the arrays describe only its open tree, with {freedoms} degrees of "
            f"freedom{closed}. Close the loops with model.loop(...), or with [[loop]] in a TOML file."
        )
    if data.get("type", 0) == 0 and data.get("dof", freedoms) != freedoms:
        yield f"dof is {data['dof']:g}, but the tree has {freedoms} degrees of freedom."


def ground_problems(data: Table, n: int) -> Iterator[Problem]:
    """Problems of the ground properties, if there are any."""
    if GROUND not in data:
        return
    ground = data[GROUND]
    expected = "an array of 8: stiffness, damping, speed, friction, its damping, and three axis numbers, vertical first"
    if not isinstance(ground, list) or len(ground) != 8 or not all(map(_is_number, ground)):
        yield invalid_value(GROUND, expected, ground)
        return
    for index, name in _LAW.items():
        if ground[index] < 0 or (name == "stiffness" and ground[index] == 0):
            yield Problem(GROUND, f"the {name} is {ground[index]:g}.", "Expected a positive number.")
    if sorted(ground[_AXES]) != [1, 2, 3]:
        yield Problem(
            GROUND, f"the axes are {ground[_AXES]}.", "Expected 1, 2 and 3 in some order, the vertical first."
        )
    elif isinstance(data.get("g"), list) and len(data["g"]) == 3:
        up = int(ground[_AXES][0]) - 1
        if any(x != 0 for i, x in enumerate(data["g"]) if i != up) or data["g"][up] == 0:
            fact = f"the ground normal is axis {up + 1}, but gravity is {data['g']}."
            yield Problem(GROUND, fact, "Expected gravity along the vertical axis.")
    for key in (TIPS, LENGTHS):
        if key in data and (not isinstance(data[key], list) or len(data[key]) != n):
            yield invalid_value(key, f"an array of {n}, one entry for each link", data[key])
    if TIPS not in data:
        yield Problem(GROUND, f"the array '{TIPS}' is missing.", f"Add {TIPS} with {n} entries: the tips of the links.")


def add_feet(model: Model, data: Table, names: list[str]) -> None:
    """Add ground contacts to the last links."""
    ground = data[GROUND]
    law = {name: ground[index] for index, name in _LAW.items() if ground[index] != 0}
    if law.get("friction") is None:
        law.pop("viscous", None)
    up = int(ground[_AXES][0]) - 1
    normal, g = [0, 0, 0], data["g"][up]
    downwards = not g.lstrip().startswith("-") if isinstance(g, str) else g > 0  # formulas have their sign in front
    normal[up] = -1 if downwards else 1
    parents = {int(parent) for parent in data["bt"]}
    for i in (i for i in range(len(names)) if i + 1 not in parents):
        for name, x in _points(names[i], data[TIPS][i], data.get(LENGTHS, data[TIPS])[i]):
            model.sphere_on_plane(names[i], center=(x, 0, 0), normal=normal, name=name, **law)


def ground_remarks(data: Table) -> Iterator[str]:
    """Notes about the ground contacts and the unused speed."""
    if GROUND not in data:
        return
    parents = {int(parent) for parent in data["bt"]}
    feet = sum(i not in parents for i in range(1, len(data["bt"]) + 1))
    yield (
        f"the ground of {GROUND} is a contact under each of the {feet} last links. Its speed {data[GROUND][_VMAX]:g} is "
        "ignored: its use in ReDySim is not published."
    )


def _points(name: str, tip: str | float, length: str | float) -> Iterator[tuple[str, str | float]]:
    """The contact points of a foot, by contact name."""
    if isinstance(tip, str) or isinstance(length, str):
        behind = None if length == tip else f"({tip}) - ({length})"
    else:
        behind = tip - length if length > tip else None
    if behind is None:
        yield f"foot of {name}", tip
    else:
        yield f"toe of {name}", tip
        yield f"heel of {name}", behind


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
