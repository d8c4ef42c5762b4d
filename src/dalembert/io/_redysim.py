"""Robots from the arrays of ReDySim: one entry for each link, as its users write them in `inputs.m`.

The arrays can stand in a TOML file with `convention = "redysim"`, in JSON, or in ReDySim's own files `inputs.m` and
`inputs.mat`; their meaning is documented in `redysim_arrays`. `docs/robot-tables.md` is the reference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import numpy as np

from dalembert.errors import InputError, nearest
from dalembert.io._mat_file import Stored, Values, read_mat
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
from dalembert.io.toml_source import Table, beyond_bounds, failure, read_text, require_short, tables
from dalembert.model.keys import quote
from dalembert.model.model import Model
from dalembert.model.values import MAX_NAME

KINDS = {".toml": "toml", ".json": "json", ".m": "matlab", ".mat": "mat"}
MAX_SHOWN = 20  # names in a message
FIELDS = ("gx", "gy", "gz")
TIMES = ("Tp", "steps")
SPAN = (("ti", "t_initial"), ("tf", "t_final"), ("incr",))  # in initials.m, as editions name them
LINKS = ("bt", "r", "th", *STEP, *BODY)  # arrays with an entry for each link
INPUTS, INITIALS, TRAJECTORY = "inputs.m", "initials.m", "trajectory.m"


def read_redysim(
    path: str | Path, model: str | None = None, *, quaternion: bool = False, initials: str | Path | None = None
) -> Model:
    """The robot described by a file with ReDySim's arrays: .toml, .json, or ReDySim's own inputs.m and inputs.mat.

    A JSON file may hold several robots by name; `model` chooses one. With `quaternion` a base that floats in space has
    a quaternion in place of its three angles. `initials` is ReDySim's file of that name, with the start and the time; the
    one beside inputs.m or inputs.mat is read without being asked for.
    """
    path = Path(path)
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        expected = f"Expected {', '.join(KINDS)}."
        raise failure(str(path), f"the ending {quote(path.suffix)} is not known.", expected)
    if kind == "mat":
        _require_one(model, str(path))
        robot = _stored(opened(path), path.stem, quaternion=quaternion)
    else:
        robot = _worded(read_text(path), str(path), kind, model, path.stem, quaternion, opener(path))
    return started(robot, path, initials, quaternion=quaternion)


def loads_redysim(
    text: str,
    source: str = "<text>",
    *,
    kind: str = "toml",
    model: str | None = None,
    quaternion: bool = False,
    name: str = "robot",
) -> Model:
    """The robot described by a text of the given kind: toml, json or matlab; `name` is for texts that tell none.

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
    return _worded(text, source, kind, model, name, quaternion, None)


def _worded(
    text: str,
    source: str,
    kind: str,
    model: str | None,
    name: str,
    quaternion: bool,
    load: Callable[[str], Stored] | None,
) -> Model:
    """The robot described by a text; `load` opens the data files that a MATLAB text asks for."""
    if kind != "json":
        _require_one(model, source)
    if kind == "toml":
        data = tables(text, source)
        if data.get("convention", "redysim") != "redysim":
            raise failure(f"{source}, convention", f"got {data['convention']!r:.60}.", "Expected 'redysim'.")
    elif kind == "json":
        data, chosen = _chosen(_json(text, source), model, source)
        data = {"name": chosen or name, **data}
    else:
        # names that are no inputs were steps on the way to them
        values = read_assignments(text, source, load=load)
        return from_matlab(values, source, name, quaternion=quaternion)
    return from_arrays(data, source, quaternion=quaternion)


def _stored(found: Stored, name: str, *, quaternion: bool) -> Model:
    """The robot whose arrays a data file holds; what else it holds is noted."""
    for key in found.others.keys() & set(KEYS):
        found.vector(key, found.source)  # which says what is wrong with it
    if "n" not in found.vectors and found.others:
        held = ", ".join(f"{name[:MAX_NAME]} ({what})" for name, what in list(found.others.items())[:MAX_SHOWN])
        raise failure(found.source, f"there is no 'n'. The file holds {held}.", "Save each array under its own name.")
    model = from_matlab(found.vectors, found.source, name, quaternion=quaternion)
    if unknown := sorted((found.vectors.keys() | found.others.keys()) - set(KEYS)):
        shown = ", ".join(key[:MAX_NAME] for key in unknown[:MAX_SHOWN]) + (", ..." if unknown[MAX_SHOWN:] else "")
        model.note(f"not read, since ReDySim has no inputs of these names: {shown}.")
    return model


def _require_one(model: str | None, source: str) -> None:
    if model is not None:
        raise failure(source, f"only JSON files hold several robots, but {quote(model)} is asked for.", "Leave it out.")


def _json(text: str, source: str) -> Table:
    """The objects of a JSON text: no names twice, no infinite numbers, not too large and not too deep."""
    require_short(len(text), source)

    def once(pairs: list[tuple[str, object]]) -> Table:
        out = dict(pairs)
        if len(out) < len(pairs):
            names = [key for key, _ in pairs]
            twice = next(key for key in names if names.count(key) > 1)
            raise failure(source, f"the name {quote(twice)} is there twice in one object.", "Keep one of them.")
        return out

    def infinite(word: str) -> NoReturn:
        raise failure(source, f"{word} is not a finite number.", "Expected finite numbers.")

    try:
        data = json.loads(text, object_pairs_hook=once, parse_constant=infinite)
    except json.JSONDecodeError as error:
        where, fact = f"{source}, line {error.lineno}", f"not valid JSON: {error.msg}."
        raise failure(where, fact, "Correct this line.") from error
    except InputError:
        raise
    except (RecursionError, ValueError) as error:
        raise beyond_bounds(error, source, "objects") from error
    if not isinstance(data, dict):
        raise failure(source, "there is no object at the top.", "Expected { ... } with the arrays of a robot.")
    return data


def _chosen(data: Table, model: str | None, source: str) -> tuple[Table, str | None]:
    """One robot of a file, and its name where the file holds several."""
    several = bool(data) and "n" not in data and all(isinstance(value, dict) for value in data.values())
    if not several:
        if model is not None:
            raise failure(source, f"the file holds one robot, but {quote(model)} is asked for.", "Leave the name out.")
        return data, None
    if model is None:
        advice = f"Choose one by model=..., such as {next(iter(data))[:MAX_NAME]!r}."
        raise failure(source, f"the file holds {len(data)} robots.", advice)
    if model not in data:
        raise failure(source, f"there is no robot {quote(model)}.", nearest(model[:MAX_NAME], data))
    return data[model], model.rsplit("/", 1)[-1]


def opened(path: Path) -> Stored:
    """What a data file holds; what the equations of motion do not need may be anything."""
    return read_mat(path).without(APART)


def opener(path: Path) -> Callable[[str], Stored]:
    """What opens the data files that a MATLAB text asks for, in its directory or below."""

    def load(name: str) -> Stored:
        file = path.parent / name.replace("\\", "/")
        if not file.exists():
            raise failure(str(file), "there is no such file.", f"Copy it into the directory of {path.name}.")
        return opened(file)

    return load


def from_matlab(values: Mapping[str, Values], source: str, name: str, *, quaternion: bool) -> Model:
    """The robot of ReDySim's arrays as MATLAB holds them, all of them vectors.

    >>> names = ("n", "alp", "a", "b", "th", "bt", "r", "dx", "dy", "dz", "m", "Icxx", "Icyy", "Iczz")
    >>> one = dict.fromkeys(names, (0.0,)) | dict.fromkeys(("n", "r", "m", "dx"), (1.0,)) | {"g": (0.0, -9.81, 0.0)}
    >>> from_matlab(one | {"Tp": (0.0,)}, "inputs.mat", "rod", quaternion=False).notes
    ('Tp is 0 and not used: no time to simulate is set.',)
    """
    data: Table = {"name": name, **{key: list(value) for key, value in values.items() if key in KEYS}}
    remarks = [*_left_over(data), *_too_long(data), *_gravity(data), *_empty(data), *_times(data)]
    model = from_arrays(data, source, quaternion=quaternion)
    for sentence in remarks:
        model.note(sentence)
    return model


def _left_over(data: Table) -> Iterator[str]:
    """ReDySim's floating bases have revolute joints that start elsewhere: r and th are left from another robot."""
    for key in ("r", "th") if "nq" in data else ():
        if key in data and [len(data[key])] != data.get("n"):
            count = len(data.pop(key))
            yield f"{key} has {count} entries and is not used: with nq ReDySim does not read it."


def _too_long(data: Table) -> Iterator[str]:
    """ReDySim goes from link 1 to link n, so arrays that are longer are left from a longer robot."""
    n = data["n"][0] if len(data.get("n", ())) == 1 else 0.0
    if n < 1 or not n.is_integer():
        return
    feet = (LENGTHS, TIPS) if GROUND in data else ()
    long = [key for key in (*LINKS, *feet) if len(data.get(key, ())) > n]
    for key in long:
        data[key] = data[key][: int(n)]
    if long:
        yield f"more than n = {n:g} entries, of which ReDySim reads the first: {', '.join(long)}."


def _empty(data: Table) -> Iterator[str]:
    """Scalars that were left empty, []."""
    for key in SCALARS:
        if key in data and not data[key]:
            del data[key]
            yield f"{key} is empty and not used."


def _gravity(data: Table) -> Iterator[str]:
    """g is what ReDySim reads; what its window shows stands in gx, gy, gz."""
    if not all(len(data.get(key, ())) == 1 for key in FIELDS):
        return
    shown = [data[key][0] for key in FIELDS]
    if "g" not in data:
        data["g"] = shown
        for key in FIELDS:
            del data[key]
    elif data["g"] != shown:
        yield f"gravity is g = {data['g']}, which ReDySim reads, and not {shown} of gx, gy, gz."


def _times(data: Table) -> Iterator[str]:
    """ReDySim's window stores 0 where a time was left empty."""
    for key in TIMES:
        if data.get(key) == [0]:
            del data[key]
            yield f"{key} is 0 and not used: no time to simulate is set."
    if "Tp" not in data:
        data.pop("steps", None)


def started(model: Model, path: Path, initials: str | Path | None, *, quaternion: bool) -> Model:
    """The model with the start and the time of `initials`, or of the initials.m beside ReDySim's inputs.

    A file that was asked for has to be sound; a note says why the one beside the inputs was left out.
    """
    if initials is not None:
        return _started(model, Path(initials), quaternion=quaternion)
    beside = path.with_name(INITIALS)
    if path.stem != "inputs" or path.suffix.lower() not in (".m", ".mat") or not beside.is_file():
        return model
    try:
        return _started(model, beside, quaternion=quaternion)
    except InputError as error:
        return model.note(f"{INITIALS} is not used, and the robot starts as the arrays say: {error}")


def _started(model: Model, path: Path, *, quaternion: bool) -> Model:
    source = str(path)
    links = float(len(model.bodies))
    values = read_assignments(read_text(path), source, functions=_functions(path, links))
    state = values.get("y0", values.get("yo"))
    if state is None:
        raise failure(source, "there is no y0.", "Give the state at the start, y0 = [q; dq; 0].")
    names = model.coordinate_names
    if quaternion and "e0" in names:
        raise failure(source, "y0 has angles of the base, but the model a quaternion.", "Leave out quaternion=True.")
    q, qd = _halves(state, names, source)
    first, last, step = (_first(values, keys) for keys in SPAN)
    if len(first) == len(last) == len(step) == 1 and step[0] > 0 and last[0] > first[0]:
        time = last[0] - first[0]
        model.simulation(time, sample_count(time, step[0], f"{source}: (tf - ti)/incr"))
    return model.start(q, qd).note(f"start and time are those of {path.name}.")


def _first(values: Mapping[str, Values], keys: Iterable[str]) -> Values:
    """What stands under the first of these names that is there; nothing where none is."""
    return next((values[key] for key in keys if key in values), ())


def _functions(path: Path, links: float) -> dict[str, Function]:
    """What initials.m can call: the inputs.m and trajectory.m beside it; inputs() is the number of links where there is none."""
    found: dict[str, Function] = {"inputs": lambda arguments: [(links,)]}
    if (inputs_file := path.with_name(INPUTS)).is_file():
        said = read_text(inputs_file)
        found["inputs"] = lambda arguments: call(said, str(inputs_file), arguments, load=opener(inputs_file))
    if (beside := path.with_name(TRAJECTORY)).is_file():
        text, inputs = read_text(beside), dict(found)
        found["trajectory"] = lambda arguments: call(text, str(beside), arguments, inputs)
    return found


def read_trajectory(path: str | Path, times: Iterable[float], *others: float) -> tuple[np.ndarray, ...]:
    """The designed motion in ReDySim's trajectory.m at many times: q, q̇ and q̈, an entry of the function's results in each row.

    The function is called with the time and `others`, as in trajectory(tim, dof, Tp).
    """
    text, rest = read_text(path), [(float(value),) for value in others]
    found = [call(text, str(path), [(float(time),), *rest]) for time in times]
    rows = [[len(result) for result in results] for results in found]
    if not found or any(row != rows[0] for row in rows):
        fact = "the number of results changes with time, or there is no time."
        raise failure(str(path), fact, "Expected equal ones.")
    return tuple(np.array(result).T for result in zip(*found, strict=True))


def _halves(state: Values, names: tuple[str, ...], source: str) -> tuple[list[float], list[float]]:
    """q and q̇ of ReDySim's state [base; joints; their rates; energies], whose base in the plane has six places too."""
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
