"""Robots from the arrays of ReDySim: one entry for each link, as its users write them in `inputs.m`.

The arrays can stand in a TOML file with `convention = "redysim"`, in JSON, or in ReDySim's own files `inputs.m` and
`inputs.mat`; what they mean is told in `redysim_arrays`. `docs/robot-tables.md` is the reference.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from dalembert.errors import InputError, nearest
from dalembert.io.mat_file import Stored
from dalembert.io.matlab_interpreter import read_assignments
from dalembert.io.redysim_arrays import KEYS, from_arrays
from dalembert.io.redysim_matlab import from_matlab, opened, opener, started
from dalembert.io.toml_source import Table, beyond_bounds, failure, read_text, require_short, tables
from dalembert.model.keys import quote
from dalembert.model.model import Model
from dalembert.model.values import MAX_NAME

KINDS = {".toml": "toml", ".json": "json", ".m": "matlab", ".mat": "mat"}
MAX_SHOWN = 20  # names in a message


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
    """The robot whose arrays a data file holds; what else it holds is told."""
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
