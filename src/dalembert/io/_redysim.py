"""Robots from the arrays of ReDySim: one entry for each link, as in `inputs.m`.

The arrays are read from a TOML file with `convention = "redysim"`, from JSON, or from ReDySim's own files `inputs.m` and
`inputs.mat`; their meaning is documented in `_redysim_arrays`. `docs/robot-tables.md` is the reference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import numpy as np

from dalembert.errors import InputError, suggest_name
from dalembert.io._mat_file import MatFile, Values, read_mat
from dalembert.io._matlab_interpreter import call, read_assignments
from dalembert.io._matlab_values import Function
from dalembert.io._redysim_arrays import (
    APART,
    BODY,
    GROUND,
    KEYS,
    LENGTHS,
    SCALARS,
    STEP,
    TIPS,
    from_arrays,
    sample_count,
)
from dalembert.io.toml_reader import Table, beyond_bounds, failure, read_text, require_short, tables
from dalembert.model.keys import quote
from dalembert.model.model import Model
from dalembert.model.values import MAX_NAME

KINDS = {".toml": "toml", ".json": "json", ".m": "matlab", ".mat": "mat"}
MAX_SHOWN = 20  # names in a message
FIELDS = ("gx", "gy", "gz")
TIMES = ("Tp", "steps")
SPAN = (("ti", "t_initial"), ("tf", "t_final"), ("incr",))  # names in initials.m of different ReDySim versions
LINKS = ("bt", "r", "th", *STEP, *BODY)  # arrays with an entry for each link
INPUTS, INITIALS, TRAJECTORY = "inputs.m", "initials.m", "trajectory.m"


def read_redysim(
    path: str | Path, model: str | None = None, *, quaternion: bool = False, initials: str | Path | None = None
) -> Model:
    """Read a robot from a file with ReDySim's arrays: .toml, .json, or ReDySim's own inputs.m and inputs.mat.

    A JSON file may contain several robots by name; `model` selects one. With `quaternion` a spatial floating base has
    a quaternion instead of three angles. `initials` is ReDySim's file of that name, with the initial state and the time span;
    a file initials.m next to inputs.m or inputs.mat is read by default.
    """
    path = Path(path)
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        expected = f"Expected {', '.join(KINDS)}."
        raise failure(str(path), f"unknown suffix {quote(path.suffix)}.", expected)
    if kind == "mat":
        _require_one(model, str(path))
        robot = _stored(opened(path), path.stem, quaternion=quaternion)
    else:
        robot = _from_string(read_text(path), str(path), kind, model, path.stem, quaternion, opener(path))
    return started(robot, path, initials, quaternion=quaternion)


def loads_redysim(
    content: str,
    source: str = "<text>",
    *,
    kind: str = "toml",
    model: str | None = None,
    quaternion: bool = False,
    name: str = "robot",
) -> Model:
    """Read a robot from a string of the given kind: toml, json or matlab; `name` is used if the string has none.

    >>> loads_redysim('''
    ... n = 1; alp = 0; a = 0; b = 0; th = pi/3; r = 1; bt = 0;
    ... al = 0.5; dx = al/2; dy = 0; dz = 0; m = 2; g = [0; -9.81; 0];
    ... Icxx = 0; Icyy = m*al^2/12; Iczz = Icyy; Icxy = 0; Icyz = 0; Iczx = 0;
    ... ''', kind="matlab", name="rod").initial[0].round(4).tolist()
    [1.0472]
    """
    kinds = [kind for kind in KINDS.values() if kind != "mat"]
    if kind not in kinds:
        raise InputError(f"redysim: there is no kind {kind!r}. Expected {', '.join(kinds)}.")
    return _from_string(content, source, kind, model, name, quaternion, None)


def _from_string(
    content: str,
    source: str,
    kind: str,
    model: str | None,
    name: str,
    quaternion: bool,
    load: Callable[[str], MatFile] | None,
) -> Model:
    """The robot described by a string; `load` opens the data files that MATLAB code loads."""
    if kind != "json":
        _require_one(model, source)
    if kind == "toml":
        data = tables(content, source)
        if data.get("convention", "redysim") != "redysim":
            raise failure(f"{source}, convention", f"got {data['convention']!r:.60}.", "Expected 'redysim'.")
    elif kind == "json":
        data, chosen = _chosen(_json(content, source), model, source)
        data = {"name": chosen or name, **data}
    else:
        # other names are intermediate results
        values = read_assignments(content, source, load=load)
        return from_matlab(values, source, name, quaternion=quaternion)
    return from_arrays(data, source, quaternion=quaternion)


def _stored(found: MatFile, name: str, *, quaternion: bool) -> Model:
    """The robot whose arrays a data file contains; other content is noted."""
    for key in found.others.keys() & set(KEYS):
        found.vector(key, found.source)  # raises with the reason
    if "n" not in found.vectors and found.others:
        listed = ", ".join(f"{name[:MAX_NAME]} ({what})" for name, what in list(found.others.items())[:MAX_SHOWN])
        raise failure(found.source, f"'n' is missing. The file contains {listed}.", "Save each array by name.")
    model = from_matlab(found.vectors, found.source, name, quaternion=quaternion)
    if unknown := sorted((found.vectors.keys() | found.others.keys()) - set(KEYS)):
        names = ", ".join(key[:MAX_NAME] for key in unknown[:MAX_SHOWN]) + (", ..." if unknown[MAX_SHOWN:] else "")
        model.note(f"ignored, since ReDySim has no inputs of these names: {names}.")
    return model


def _require_one(model: str | None, source: str) -> None:
    if model is not None:
        raise failure(source, f"`model` is {quote(model)}, but only JSON files hold several robots.", "Omit `model`.")


def _json(content: str, source: str) -> Table:
    """Parse a JSON object without duplicate names or infinite numbers, with limited size and depth."""
    require_short(len(content), source)

    def once(pairs: list[tuple[str, object]]) -> Table:
        out = dict(pairs)
        if len(out) < len(pairs):
            names = [key for key, _ in pairs]
            twice = next(key for key in names if names.count(key) > 1)
            raise failure(source, f"duplicate name {quote(twice)} in one object.", "Keep one of them.")
        return out

    def infinite(word: str) -> NoReturn:
        raise failure(source, f"{word} is not a finite number.", "Expected finite numbers.")

    try:
        data = json.loads(content, object_pairs_hook=once, parse_constant=infinite)
    except json.JSONDecodeError as error:
        where, fact = f"{source}, line {error.lineno}", f"not valid JSON: {error.msg}."
        raise failure(where, fact, "Correct this line.") from error
    except InputError:
        raise
    except (RecursionError, ValueError) as error:
        raise beyond_bounds(error, source, "objects") from error
    if not isinstance(data, dict):
        raise failure(source, "the top level is not an object.", "Expected { ... } with the arrays of a robot.")
    return data


def _chosen(data: Table, model: str | None, source: str) -> tuple[Table, str | None]:
    """One robot of a file, and its name if the file contains several."""
    several = bool(data) and "n" not in data and all(isinstance(value, dict) for value in data.values())
    if not several:
        if model is not None:
            raise failure(source, f"`model` is {quote(model)}, but the file contains one robot.", "Omit `model`.")
        return data, None
    if model is None:
        advice = f"Select one with model=..., such as {next(iter(data))[:MAX_NAME]!r}."
        raise failure(source, f"the file contains {len(data)} robots.", advice)
    if model not in data:
        raise failure(source, f"there is no robot {quote(model)}.", suggest_name(model[:MAX_NAME], data))
    return data[model], model.rsplit("/", 1)[-1]


def opened(path: Path) -> MatFile:
    """The content of a data file; values that the equations of motion do not need are not checked."""
    return read_mat(path).without(APART)


def opener(path: Path) -> Callable[[str], MatFile]:
    """A function that opens the data files that MATLAB code loads, in its directory or below."""

    def load(name: str) -> MatFile:
        file = path.parent / name.replace("\\", "/")
        if not os.path.exists(file):  # also False for names that no file can have, such as very long ones
            raise failure(str(file), "there is no such file.", f"Copy it into the directory of {path.name}.")
        return opened(file)

    return load


def from_matlab(values: Mapping[str, Values], source: str, name: str, *, quaternion: bool) -> Model:
    """The robot of ReDySim's arrays as MATLAB vectors.

    >>> names = ("n", "alp", "a", "b", "th", "bt", "r", "dx", "dy", "dz", "m", "Icxx", "Icyy", "Iczz")
    >>> one = dict.fromkeys(names, (0.0,)) | dict.fromkeys(("n", "r", "m", "dx"), (1.0,)) | {"g": (0.0, -9.81, 0.0)}
    >>> from_matlab(one | {"Tp": (0.0,)}, "inputs.mat", "rod", quaternion=False).notes
    ('Tp is 0 and ignored: no simulation time is set.',)
    """
    data: Table = {"name": name, **{key: list(value) for key, value in values.items() if key in KEYS}}
    remarks = [*_left_over(data), *_too_long(data), *_gravity(data), *_empty(data), *_times(data)]
    model = from_arrays(data, source, quaternion=quaternion)
    for sentence in remarks:
        model.note(sentence)
    return model


def _left_over(data: Table) -> Iterator[str]:
    """Remove unused r and th: with a floating base ReDySim's joints are revolute, and their start is defined elsewhere."""
    for key in ("r", "th") if "nq" in data else ():
        if key in data and [len(data[key])] != data.get("n"):
            count = len(data.pop(key))
            yield f"{key} has {count} entries and is ignored: with nq ReDySim does not read it."


def _too_long(data: Table) -> Iterator[str]:
    """Truncate arrays that are longer than n: ReDySim reads links 1 to n."""
    n = data["n"][0] if len(data.get("n", ())) == 1 else 0.0
    if n < 1 or not n.is_integer():
        return
    feet = (LENGTHS, TIPS) if GROUND in data else ()
    long = [key for key in (*LINKS, *feet) if len(data.get(key, ())) > n]
    for key in long:
        data[key] = data[key][: int(n)]
    if long:
        yield f"arrays with more than n = {n:g} entries, of which ReDySim reads the first n: {', '.join(long)}."


def _empty(data: Table) -> Iterator[str]:
    """Remove empty scalars, []."""
    for key in SCALARS:
        if key in data and not data[key]:
            del data[key]
            yield f"{key} is empty and ignored."


def _gravity(data: Table) -> Iterator[str]:
    """ReDySim reads g; its window displays gx, gy, gz."""
    if not all(len(data.get(key, ())) == 1 for key in FIELDS):
        return
    gravity = [data[key][0] for key in FIELDS]
    if "g" not in data:
        data["g"] = gravity
        for key in FIELDS:
            del data[key]
    elif data["g"] != gravity:
        yield f"gravity is g = {data['g']}, which ReDySim reads, not {gravity} of gx, gy, gz."


def _times(data: Table) -> Iterator[str]:
    """Remove zero times: ReDySim's window stores 0 for an empty field."""
    for key in TIMES:
        if data.get(key) == [0]:
            del data[key]
            yield f"{key} is 0 and ignored: no simulation time is set."
    if "Tp" not in data:
        data.pop("steps", None)


def started(model: Model, path: Path, initials: str | Path | None, *, quaternion: bool) -> Model:
    """The model with the initial state and time span of `initials`, or of the initials.m next to ReDySim's inputs.

    An explicit file must be valid; a note reports why the file next to the inputs was ignored.
    """
    if initials is not None:
        return _started(model, Path(initials), quaternion=quaternion)
    beside = path.with_name(INITIALS)
    if path.stem != "inputs" or path.suffix.lower() not in (".m", ".mat") or not beside.is_file():
        return model
    try:
        return _started(model, beside, quaternion=quaternion)
    except InputError as error:
        return model.note(f"{INITIALS} is ignored, and the initial state is that of the arrays: {error}")


def _started(model: Model, path: Path, *, quaternion: bool) -> Model:
    source = str(path)
    links = float(len(model.bodies))
    values = read_assignments(read_text(path), source, functions=_functions(path, links))
    state = values.get("y0", values.get("yo"))
    if state is None:
        raise failure(source, "y0 is missing.", "Define the initial state, y0 = [q; dq; 0].")
    names = model.coordinate_names
    if quaternion and "e0" in names:
        raise failure(source, "y0 has base angles, but the model has a quaternion.", "Omit quaternion=True.")
    q, qd = _halves(state, names, source)
    first, last, step = (_first(values, keys) for keys in SPAN)
    if len(first) == len(last) == len(step) == 1 and step[0] > 0 and last[0] > first[0]:
        time = last[0] - first[0]
        model.simulation(time, sample_count(time, step[0], f"{source}: (tf - ti)/incr"))
    return model.start(q, qd).note(f"initial state and time span are those of {path.name}.")


def _first(values: Mapping[str, Values], keys: Iterable[str]) -> Values:
    """The value of the first of these names that exists; empty if there is none."""
    return next((values[key] for key in keys if key in values), ())


def _functions(path: Path, links: float) -> dict[str, Function]:
    """Functions for initials.m: inputs.m and trajectory.m next to it; without inputs.m, inputs() is the number of links."""
    found: dict[str, Function] = {"inputs": lambda arguments: [(links,)]}
    if (inputs_file := path.with_name(INPUTS)).is_file():
        code = read_text(inputs_file)
        found["inputs"] = lambda arguments: call(code, str(inputs_file), arguments, load=opener(inputs_file))
    if (beside := path.with_name(TRAJECTORY)).is_file():
        content, inputs = read_text(beside), dict(found)
        found["trajectory"] = lambda arguments: call(content, str(beside), arguments, inputs)
    return found


def read_trajectory(path: str | Path, times: Iterable[float], *others: float) -> tuple[np.ndarray, ...]:
    """The motion in ReDySim's trajectory.m at many times: q, q̇ and q̈, one row for each entry of the function's results.

    The function is called with the time and `others`, as in trajectory(tim, dof, Tp).
    """
    content, rest = read_text(path), [(float(value),) for value in others]
    found = [call(content, str(path), [(float(time),), *rest]) for time in times]
    rows = [[len(result) for result in results] for results in found]
    if not found or any(row != rows[0] for row in rows):
        fact = "the number of results changes with time, or `times` is empty."
        raise failure(str(path), fact, "Expected the same number at all times.")
    return tuple(np.array(result).T for result in zip(*found, strict=True))


def _halves(state: Values, names: tuple[str, ...], source: str) -> tuple[list[float], list[float]]:
    """q and q̇ of ReDySim's state [base; joints; their rates; energies], in which a planar base also has six entries."""
    planar = names[:3] == ("x", "y", "phi")
    n = len(names) + (3 if planar else 0)
    if len(state) < 2 * n:
        fact = f"y0 has {len(state)} entries."
        raise failure(source, fact, f"Expected at least {2 * n}: {n} coordinates, then their rates.")
    halves = list(state[:n]), list(state[n : 2 * n])
    if not planar:
        return halves
    for half in halves:
        if any(half[2:3] + half[4:6]):
            raise failure(source, "y0 moves the base out of the plane.", "Set nq = 1, or these entries to 0.")
        del half[4:6], half[2]
    return halves
