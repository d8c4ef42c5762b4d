"""A Denavit–Hartenberg table as the cells of a grid: conversion from the source of a model and back.

Cells are strings: numbers, or formulas of parameters, angles in the unit of the table. A row without mass has 1 kg, one without a
mass center has it at the middle of its link, and one without inertia that of a rod; such cells are empty in the grid.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import dalembert as dl
from dalembert.analysis.dh_table import DHRow
from dalembert.errors import DalembertError, InputError, NotApplicableError
from dalembert.io.robot_rows import CONVENTIONS, KINDS, TABLE_KEYS, UNITS, coordinates
from dalembert.io.toml_writer import lines_of
from dalembert.model.description import Elements
from dalembert.model.evaluation import at_start, value
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress, Toml
from dalembert.studio.tasks.describe_task import description_of
from dalembert.symbolic.parser import parse

STEP = ("theta", "d", "a", "alpha")
CENTER = ("cx", "cy", "cz")
INERTIA = ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
NUMBERS = (*STEP, "start", "lower", "upper", "mass", *CENTER, *INERTIA)
MAX_ROWS = 200
_ROD_RADIUS = 0.1  # relative to its length
_BALL_RADIUS = 0.05  # of a link without length
_SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # entries of an inertia
_OWN_KEYS = {"name", "type", *STEP, "start", "mass", "center", "inertia", "limits"}
Link = dict[str, Any]


# from the grid to the source


def write_table(payload: Payload, folder: Folder | None, progress: ReportProgress) -> Answer:
    """Return the source of a robot table with these cells; other sections of the model are preserved unless `new`."""
    convention, unit = payload.choice("convention", CONVENTIONS), payload.choice("unit", UNITS)
    old = {} if payload.boolean("new") else _tables(payload.string("text", ""))
    known = _parameters(old)
    rows = payload.rows("rows")
    if not 0 < len(rows) <= MAX_ROWS:
        raise InputError(f"the table has {len(rows)} rows. Expected 1 to {MAX_ROWS}: fill a cell, or delete rows.")
    before = {str(link.get("name")): link for link in _links(old)}
    links = [_link(row, i, before, known) for i, row in enumerate(rows)]
    _fill(links, convention, unit)
    head = {
        "convention": convention,
        "unit": unit,
        "name": payload.string("name", "robot", max_length=120) or "robot",
        "description": old.get("description"),
        "gravity": [
            _number(part, "gravity", known) for part in _three(payload.string("gravity", "0 0 -9.81", max_length=200))
        ],
    }
    blocks = [lines_of(head), *(f"[[link]]\n{lines_of(link)}" for link in links)]
    rest = (
        {key: part for key, part in old.items() if key not in head and key not in TABLE_KEYS} if "link" in old else {}
    )
    if "coordinates" in rest:  # initial values are in the rows now
        moving = set(coordinates(links))
        entries = {name: _without_start(part) if name in moving else part for name, part in rest["coordinates"].items()}
        rest["coordinates"] = {name: part for name, part in entries.items() if part or name not in moving}
    return {"text": "\n".join([*blocks, *_sections(rest)])}


def _without_start(entry: object) -> object:
    return {key: part for key, part in entry.items() if key != "start"} if isinstance(entry, dict) else {}


def _tables(text: str) -> Toml:
    """Return the tables of a source; empty if it is not valid TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _links(data: Toml) -> list[Link]:
    links = data.get("link")
    return [link for link in links if isinstance(link, dict)] if isinstance(links, list) else []


def _parameters(data: Toml) -> list[str]:
    found = data.get("parameters")
    return list(found) if isinstance(found, dict) and "link" in data else []


def _sections(rest: Toml) -> list[str]:
    """Return the other sections of the file; plain values are omitted, since they cannot follow a section."""
    out = []
    for key, part in rest.items():
        if isinstance(part, dict):
            out.append(f"[{key}]\n{lines_of(part)}")
        elif isinstance(part, list) and all(isinstance(each, dict) for each in part):
            out += [f"[[{key}]]\n{lines_of(each)}" for each in part]
    return out


def _link(row: Payload, index: int, before: Mapping[str, Link], known: Sequence[str]) -> Link:
    """Return one row as a table [[link]], with the keys of the old link that the grid does not display."""
    name = row.string("name", "", max_length=80) or f"link{index + 1}"
    where = f"row {index + 1}"
    cells = {key: _number(row.string(key, "", max_length=200), f"{where}, {key}", known) for key in NUMBERS}
    kind = row.choice("type", KINDS, "revolute")
    old = before.get(row.string("old_name", "", max_length=200), {})
    link: Link = {"name": name, "type": kind, **{key: cells[key] for key in STEP}}
    link |= {"mass": cells["mass"], "center": _several(cells, CENTER), "inertia": _several(cells, INERTIA)}
    link |= {key: part for key, part in old.items() if key not in _OWN_KEYS}
    if kind == "fixed":
        return {key: part for key, part in link.items() if key not in ("coordinate", "rate", "motor", "friction")}
    limits = dict(old.get("limits", {})) | {key: cells[key] for key in ("lower", "upper")}
    limits = {key: part for key, part in limits.items() if part is not None}
    return link | {"start": cells["start"], "limits": limits or None}


def _several(cells: Mapping[str, object], keys: Sequence[str]) -> list[object] | None:
    found = [cells[key] for key in keys]
    return None if all(x is None for x in found) else [0 if x is None else x for x in found]


def _three(text: str) -> list[str]:
    parts = text.replace(",", " ").strip("[]() ").split()
    if len(parts) != 3:
        raise InputError(f"gravity has {len(parts)} components. Expected 3, such as 0 0 -9.81.")
    return parts


def _number(cell: str, where: str, known: Sequence[str]) -> float | str | None:
    """Return a number, a formula as str, or None."""
    cell = cell.strip().replace("−", "-")
    if not cell:
        return None
    try:
        found = float(cell)
    except ValueError:
        parse(cell, coordinates=(), parameters=known, where=where, rates=False, time=False)
        return cell
    if not math.isfinite(found):
        raise InputError(f"{where}: got '{cell}'. Expected a finite number, or a formula such as -pi/2.")
    return int(found) if found == int(found) and abs(found) < 1e15 else found


def _fill(links: Sequence[Link], convention: str, unit: str) -> None:
    """Fill in masses, mass centers and inertias of empty cells, and zeros of the DH parameters."""
    for i, link in enumerate(links):
        default = _default_inertia(links, i, convention, unit)
        for key in ("mass", "center", "inertia"):
            if link[key] is None:
                link[key] = default[key] if key == "mass" or isinstance(link["mass"], int | float) else None
        for key in STEP:
            if link[key] is None:
                link[key] = 0


def _default_inertia(links: Sequence[Link], i: int, convention: str, unit: str) -> Link:
    """Return default mass, mass center and inertia of a link: a rod of its length, or a ball if it has no length."""
    rod = _rod(links, i, convention, unit)
    declared = links[i].get("mass")
    mass, length = float(declared) if isinstance(declared, int | float) else 1.0, float(np.linalg.norm(rod))
    inertia = 0.4 * mass * _BALL_RADIUS**2 * np.eye(3)
    if length > 1e-9:
        along, r = np.outer(rod, rod) / length**2, _ROD_RADIUS * length
        inertia = mass * (3 * r**2 + length**2) / 12 * (np.eye(3) - along) + mass * r**2 / 2 * along
    six = [inertia[i, j] for i, j in _SIX]
    default = {"mass": mass, "center": _rounded(rod / 2), "inertia": _rounded(six)}
    return default | {"mass": int(mass) if mass == int(mass) else mass}


def _rod(links: Sequence[Link], i: int, convention: str, unit: str) -> np.ndarray:
    """Return the vector from the frame of a link to the other end of its rod: previous frame in dh, next frame in mdh."""
    if convention == "mdh" and i + 1 == len(links):
        return np.zeros(3)
    row = links[i + (convention == "mdh")]
    d, a, alpha = (x if isinstance(x := row.get(key), int | float) else 0.0 for key in ("d", "a", "alpha"))
    twist = math.radians(alpha) if unit == "deg" else alpha
    if convention == "mdh":
        return np.array([a, -d * math.sin(twist), d * math.cos(twist)])
    return -np.array([a, d * math.sin(twist), d * math.cos(twist)])


def _rounded(values: Sequence[float] | np.ndarray) -> list[float]:
    return [float(f"{x:.6g}") + 0.0 if abs(x) > 1e-12 else 0 for x in values]


# from the source to the grid


def read_table(payload: Payload, folder: Folder | None, progress: ReportProgress) -> Answer:
    """Return the cells of the table of a model and its numbers for drawing frames; `reason` states why it has none.

    The rows of a robot table (`is_robot_table`) are those of the file. For other chains the table is computed from their axes;
    editing it creates a new source of the model.
    """
    data = _tables(payload.string("text"))
    is_robot_table = data.get("convention") in CONVENTIONS and bool(_links(data))
    found: Answer = {"is_robot_table": is_robot_table, "reason": "", "frames": None}
    if is_robot_table:
        found |= _cells_of(data)
    try:
        model = description_of(payload)
        table = dl.dh_table(model)
    except NotApplicableError as error:
        return found | {"reason": str(error)}
    except DalembertError:
        return found | {"reason": "the model has problems, which are listed under Source. Correct them first."}
    found["frames"] = {
        "convention": table.convention,
        "base": table.base.tolist(),
        "tool": table.tool.tolist(),
        "body": table.body,
        "rows": [vars(row) for row in table.rows],
    }
    if is_robot_table:
        return found
    return found | {
        "name": model.name,
        "convention": table.convention,
        "unit": "rad",
        "gravity": " ".join(_string(value(x, at_start(model))) for x in model.gravity),
        "rows": [_found_row(row, i, model) for i, row in enumerate(table.rows)],
    }


def _found_row(row: DHRow, i: int, model: Elements) -> dict[str, str]:
    """Return a row computed from axes, without masses: its frame is not that of a body."""
    limits = model.limits.get(row.coordinate)
    start = dict(zip(model.coordinate_names, model.initial[0].tolist(), strict=True)).get(row.coordinate)
    ends = {} if limits is None else {"lower": limits.lower, "upper": limits.upper}
    cells = {key: getattr(row, key) for key in STEP} | {"start": start, **ends}
    return {
        "name": f"link{i + 1}",
        "type": row.kind,
        **{key: "" if x is None else f"{x:.9g}" for key, x in cells.items()},
    }


def _cells_of(data: Toml) -> Answer:
    """Return the rows of a robot table as strings."""
    convention, unit = data["convention"], data.get("unit", "rad")
    links, gravity = _links(data), data.get("gravity", [0, 0, 0])
    rows = []
    for i, (link, coordinate) in enumerate(zip(links, coordinates(links), strict=True)):
        limits = link.get("limits")
        cells = {key: link.get(key) for key in (*STEP, "start", "mass")}
        cells |= {key: limits.get(key) for key in ("lower", "upper")} if isinstance(limits, dict) else {}
        cells["mass"] = link.get("mass", 0)
        default = _default_inertia([*links[:i], {**link, "mass": cells["mass"]}, *links[i + 1 :]], i, convention, unit)
        for key, names in (("center", CENTER), ("inertia", INERTIA)):
            part = _flat(link.get(key, ()), len(names))
            if part != default[key]:
                cells |= dict(zip(names, part, strict=False))
        if cells["start"] is None and (start := _declared(data, coordinate).get("start")) is not None:
            in_degrees = unit == "deg" and link.get("type", "revolute") == "revolute"
            cells["start"] = _degrees(start) if in_degrees else start
        strings = {key: _string(x) for key, x in cells.items()}
        rows.append(
            {
                "name": str(link.get("name", "")),
                "type": link.get("type", "revolute"),
                **strings,
                "coordinate": coordinate,
            }
        )
    return {
        "name": str(data.get("name", "robot")),
        "convention": convention,
        "unit": unit,
        "gravity": " ".join(map(_string, gravity)) if isinstance(gravity, list) else "0 0 0",
        "rows": rows,
    }


def _declared(data: Toml, name: str) -> Answer:
    """Return the entry of a coordinate in the section [coordinates]."""
    section = data.get("coordinates")
    entry = section.get(name) if isinstance(section, dict) else None
    return entry if isinstance(entry, dict) else {}


def _degrees(angle: object) -> object:
    return math.degrees(angle) if isinstance(angle, int | float) else f"({angle})*180/pi"


def _flat(part: object, count: int) -> list[object]:
    """Return the entries of a mass center, or the six of an inertia that may be a matrix, padded with zeros."""
    entries = list(part) if isinstance(part, list | tuple) else []
    if len(entries) == 3 and all(isinstance(row, list) and len(row) == 3 for row in entries):
        entries = [entries[i][j] for i, j in _SIX]
    return [*entries, *[0] * (count - len(entries))]


def _string(cell: object) -> str:
    """Return a cell as str; floats with all significant digits."""
    if cell is None or isinstance(cell, dict | list):
        return ""
    return f"{cell:.15g}" if isinstance(cell, float) else str(cell)
