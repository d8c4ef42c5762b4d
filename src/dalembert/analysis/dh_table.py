"""Denavit–Hartenberg tables of models: as they were written, or found from the axes of a chain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.analysis.dh_axes import Axis, rows_between
from dalembert.analysis.dh_rows import CONVENTIONS, EQUAL, Convention, DHTable, Motion, Row
from dalembert.analysis.task_kinematics import Places, places_of
from dalembert.api.load import accepts_source
from dalembert.errors import InputError, NotApplicableError, nearest
from dalembert.model.description import Elements
from dalembert.model.elements import Body
from dalembert.model.evaluation import at_start, value
from dalembert.model.initial_state import Start, start_state
from dalembert.model.values import WORLD
from dalembert.symbolic.symbols import coordinate

_SEED = 7


@accepts_source
def dh_table(model: Elements, body: str | None = None, *, convention: Convention | None = None) -> DHTable:
    """The Denavit–Hartenberg table of the chain from the world to a body, by default to the last one.

    A model that was read from such a table gives it back; of any other chain of turning and sliding joints, such as one from a
    URDF file, it is found from the axes. `convention` is dh or mdh, by default that of the model, or dh.

    >>> import dalembert as dl
    >>> table = dl.dh_table("puma560")
    >>> table.written, [round(row.alpha, 4) for row in table.rows]
    (True, [1.5708, 0.0, -1.5708, 1.5708, -1.5708, 0.0])
    >>> dl.dh_table("puma560", convention="mdh").written
    False
    """
    if convention is not None and convention not in CONVENTIONS:
        raise InputError(f"dh_table, convention: there is no '{convention}'. {nearest(str(convention), CONVENTIONS)}")
    model.require_sound()
    chain = _chain(model, body)
    for each in CONVENTIONS if convention is None else (convention,):
        rows = _as_written(model, chain, each)
        if rows is not None:
            return _made(model, chain, each, rows, np.eye(4), np.eye(4), written=True)
    return _from_axes(model, chain, convention or "dh")


@accepts_source
def dh_frames(
    model: Elements, q: Start = None, body: str | None = None, *, convention: Convention | None = None
) -> tuple[Motion, ...]:
    """The frames of a Denavit–Hartenberg table step by step: the four elementary motions of each row, and the frame after each.

    >>> import dalembert as dl
    >>> [(step.row, step.name, round(step.value, 3)) for step in dl.dh_frames("puma560")[:4]]
    [(0, 'θ', 0.0), (0, 'd', 0.672), (0, 'a', 0.0), (0, 'α', 1.571)]
    """
    return dh_table(model, body, convention=convention).frames(start_state(model, q, None, "dh_frames")[0])


def _chain(model: Elements, body: str | None) -> list[Body]:
    """The bodies from the world to one of them."""
    known = {each.name: each for each in model.bodies}
    if not known:
        raise NotApplicableError(f"model '{model.name}' has no bodies, so it has no Denavit–Hartenberg table.")
    if body is not None and body not in known:
        raise InputError(f"dh_table: there is no body '{body}'. {nearest(body, known)}")
    at, chain = body or model.bodies[-1].name, []
    while at != WORLD:
        chain.append(known[at])
        at = known[at].parent
    return chain[::-1]


def _made(
    model: Elements,
    chain: Sequence[Body],
    convention: Convention,
    rows: Sequence[Row],
    base: np.ndarray,
    tool: np.ndarray,
    *,
    written: bool,
) -> DHTable:
    """The table, once it says what the model says at random postures."""
    names, start = model.coordinate_names, model.initial[0]
    table = DHTable(model.name, chain[-1].name, convention, tuple(rows), base, tool, names, start, written)
    q = np.random.default_rng(_SEED).uniform(-1, 1, (len(names), 3))
    wanted = _poses(_places(model, chain[-1].name), q)
    found = np.array([table.pose(each) for each in q.T])
    if not np.abs(found - wanted).max() <= EQUAL * (1 + np.abs(wanted).max()):
        raise _refused(model, chain[-1].name, "its joints are not one turn or one slide after the other")
    return table


def _refused(model: Elements, body: str, why: str) -> NotApplicableError:
    return NotApplicableError(
        f"model '{model.name}' has no Denavit–Hartenberg table to '{body}': {why}. Expected a chain of revolute, prismatic and "
        "fixed joints, each moved by one coordinate of its own; name a body by `body` whose chain is one."
    )


def _as_written(model: Elements, chain: Sequence[Body], convention: Convention) -> list[Row] | None:
    """The rows of a model that was read from a table of this convention; None for other models."""
    values = at_start(model)
    names = set(model.coordinate_names)
    out = []
    for body in chain:
        parts = [[*joint.position, *joint.rotation] for joint in body.joints]
        places = [[value(x, values) for x in part] for part in parts]
        if not 1 <= len(body.joints) <= 2 or (len(body.joints) == 2 and body.joints[1].values):
            return None
        first, (x, y, z, roll, pitch, yaw) = body.joints[0], places[0]
        after = places[1] if len(places) == 2 else [0.0] * 6
        across, along = (places[0], after) if convention == "mdh" else (after, places[0])
        if y or pitch or after[1] or after[4]:
            return None
        if convention == "mdh" and (z or yaw or after[0] or after[3]):
            return None
        if convention == "dh" and (x or z or roll or after[5]):
            return None
        axis = (first.steps[0].about or first.steps[0].along) if first.kind in ("revolute", "prismatic") else (0, 0, 1)
        if first.kind not in ("revolute", "prismatic", "fixed") or [float(c) for c in axis or ()] != [0.0, 0.0, 1.0]:
            return None
        mine = [str(s) for f in first.values for s in f.free_symbols if str(s) in names]
        if len(mine) != len(first.values) or any(
            f.diff(coordinate(x)) != 1 for f, x in zip(first.values, mine, strict=True)
        ):
            return None
        offset = [value(f, {**values, **dict.fromkeys(mine, 0.0)}) for f in first.values] or [0.0]
        theta, d = along[5], after[2]
        if first.kind == "revolute":
            theta = offset[0]
        elif first.kind == "prismatic":
            d = offset[0]
        out.append(Row(mine[0] if mine else "", first.kind, theta, d, across[0], across[3]))
    return out


# from the axes


def _places(model: Elements, body: str) -> Places:
    return places_of(model.description, ((body, (0.0, 0.0, 0.0), True, True),), None)


def _poses(places: Places, q: np.ndarray) -> np.ndarray:
    """T (K, 4, 4) at q (n, K)."""
    seen = places.look(q, 0.0)
    p, R = seen.positions[0], seen.rotations[0]
    assert p is not None
    assert R is not None
    out = np.zeros((len(p), 4, 4))
    out[:, :3, :3], out[:, :3, 3], out[:, 3, 3] = R, p, 1.0
    return out


def _axes(model: Elements, chain: Sequence[Body]) -> tuple[list[Axis], np.ndarray]:
    """The axes from the world to the body, and the pose of the body, all coordinates zero."""
    names, body = model.coordinate_names, chain[-1].name
    places, zero = _places(model, body), np.zeros((len(model.coordinate_names), 1))
    J, T = places.look(zero, 0.0).J[0], _poses(places, zero)[0]
    order: list[str] = []
    for each in chain:
        for joint in each.joints:
            for formula in joint.values:
                moving = sorted(str(s) for s in formula.free_symbols if str(s) in names)
                if len(moving) != 1 or moving[0] in order:
                    said = f"joint of '{each.name}' moves by {formula}"
                    raise _refused(model, body, said)
                order += moving
    out = []
    for name in order:
        column = J[:, names.index(name)]
        v, w = column[:3], T[:3, :3] @ column[3:]
        turns, slides = abs(w @ w - 1) < EQUAL and abs(w @ v) < EQUAL, not w.any() and abs(v @ v - 1) < EQUAL
        if not turns and not slides:
            raise _refused(model, body, f"the coordinate {name} neither turns about an axis nor slides along one")
        point = T[:3, 3] + np.cross(w, v) if turns else None
        out.append(Axis(name, "revolute" if turns else "prismatic", w if turns else v, point))
    return out, T


def _from_axes(model: Elements, chain: Sequence[Body], convention: Convention) -> DHTable:
    """The table found from the axes."""
    axes, T = _axes(model, chain)
    if not axes:
        raise _refused(model, chain[-1].name, "no coordinate moves it")
    base, rows, last = rows_between(axes, T, convention)
    return _made(model, chain, convention, rows, base, np.linalg.inv(last) @ T, written=False)
