"""A model as a robot: its hand and its drives, inverse kinematics, and motions through points with the required torques.

A planned motion is an ordinary run: drives prescribe the coordinates, and their efforts are the inverse dynamics. So it is saved,
plotted, animated and exported like every run. Forward dynamics applies these torques, or a controller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import dalembert as dl
from dalembert.analysis.controllers import joint_of
from dalembert.api.trajectory import Trajectory
from dalembert.display.scene.scene_builder import scene_of
from dalembert.display.scene.scene_values import Forms
from dalembert.errors import DalembertError, InputError
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.mechanics.rank import numeric_rank
from dalembert.model.description import Elements
from dalembert.model.model import Model
from dalembert.model.profiles import (
    Profile,
    cycloidal,
    piecewise_in_time,
    quintic,
    spline,
    trapezoidal,
)
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress
from dalembert.studio.tasks.describe_task import description_of
from dalembert.symbolic.lookup_tables import cubic_points, piecewise_cubic
from dalembert.tables import Table, format_cell

LAWS = {"quintic": quintic, "cycloidal": cycloidal, "trapezoidal": trapezoidal}
PATHS = ("line", "circle")
KINDS = (*LAWS, "spline", *PATHS)
CONTROLS = ("free", "feedforward", "pd", "both", "computed_torque")
MAX_POINTS = 50
PAYLOAD = "payload"
_FORMALISM, _INTEGRATOR = "kane", "dop853"  # compiled in a second for an arm of six joints
_SERVO = "denoc"  # supports constraints with feedback
_TORQUE_SAMPLES = 201  # of applied torques: the integrator restarts at each of them
_ACCURACY = 3e-5  # of hand paths, relative to the length of the model: the integrator restarts at each point too


def robot_properties(payload: Payload, folder: Folder | None, progress: ReportProgress) -> Answer:
    """Return the properties of a model as a robot: limits, coordinates that can be driven, and the hand."""
    model = description_of(payload)
    limits = {name: [each.lower, each.upper] for name, each in model.limits.items()}
    return {
        "limits": {name: ends for name, ends in limits.items() if name in model.coordinate_names},
        "driven": driven_by(model, model.initial[0]),
        "body": model.bodies[-1].name if model.bodies else "",
        "gravity": bool(np.any([str(x) != "0" for x in model.gravity])),
        "duration": model.duration,
    }


def driven_by(model: Elements, q: np.ndarray) -> list[str]:
    """Return coordinates that determine the motion if each has a drive: all of a tree; with loops an independent subset."""
    closure = Forms(with_contacts(model), dict(model.parameter_values)).closure
    n = len(model.coordinate_names)
    if closure is None:
        return list(model.coordinate_names)
    count = closure.rows(n)
    rows = closure.at(q[:, None], np.zeros(1))[count:].reshape(count, n)
    rank, out = int(numeric_rank(rows)), []
    for k, name in enumerate(model.coordinate_names):
        more = np.vstack([rows, np.eye(n)[k]])
        if (found := int(numeric_rank(more))) > rank:
            rows, rank = more, found
            out.append(name)
    return out


# inverse kinematics


def inverse_kinematics(payload: Payload, folder: Folder | None, progress: ReportProgress) -> Answer:
    """Return a configuration in which the hand is at its target and, on request, all isolated ones."""
    model = description_of(payload)
    body, point = _hand(payload, model)
    pose = _vector(payload, "position")
    target = pose if "angles" not in payload else _pose(pose, _vector(payload, "angles"))
    start = _posture(payload.numbers("start"), model)
    found = dl.inverse_kinematics(model, body, target, point=point, q0=start)
    postures, reason = [found.q], ""
    if found.converged and payload.boolean("branches"):
        try:
            postures = list(dl.inverse_kinematics(model, body, target, point=point, q0=start, branches=True).branches)
        except DalembertError as error:
            reason = str(error)
    return {
        "reached": bool(found.converged),
        "message": found.message,
        "singular": found.singular or "",
        "manipulability": float(found.manipulability),
        "postures": [dict(zip(model.coordinate_names, map(float, q), strict=True)) for q in postures],
        "reason": reason,
    }


def _hand(payload: Payload, model: Elements) -> tuple[str, list[float]]:
    names = [body.name for body in model.bodies]
    if not names:
        raise InputError(f"model '{model.name}' has no bodies, so it has no hand. Define it by bodies and joints.")
    return payload.choice("body", names, names[-1]), _vector(payload, "point") if "point" in payload else [
        0.0,
        0.0,
        0.0,
    ]


def _vector(payload: Payload, name: str) -> list[float]:
    found = payload.items(name)
    if len(found) != 3:
        raise InputError(f"studio, {name}: got {len(found)} numbers. Expected 3.")
    return [Payload({name: each}).number(name, minimum=-1e9, maximum=1e9) for each in found]


def _pose(position: Sequence[float], angles: Sequence[float]) -> np.ndarray:
    """Return T (4, 4) from a position and roll, pitch, yaw in rad: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(x), math.sin(x)) for x in angles)
    T = np.eye(4)
    T[:3, :3] = (
        np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    )
    T[:3, 3] = position
    return T


def _posture(values: dict[str, float], model: Elements) -> np.ndarray:
    """Return the coordinates; those not named have their initial values."""
    q = model.initial[0].copy()
    for name, x in values.items():
        if name not in model.coordinate_names:
            raise InputError(f"model '{model.name}' has no coordinate '{name[:80]}'. Save the postures again.")
        q[model.coordinate_names.index(name)] = x
    return q


# planned motions and their torques


def inverse_dynamics(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Move the model through postures: a run whose drive efforts are the inverse dynamics."""
    model, motion, driven, start = _planned(payload, progress)
    progress(0.0, "computing the drive torques")
    run = _driven_run(
        model, motion, driven, start, payload.integer("samples", 301, minimum=11, maximum=20_001), progress
    )
    return _saved(run, model, folder, [_drive_table(run), *run.tables()])


def forward_dynamics(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Compute forward dynamics from the first posture: without torques, with those of the motion, or with a controller."""
    control = payload.choice("control", CONTROLS)
    model, motion, driven, start = _planned(payload, progress)
    gains = payload.number("kp", 100.0, minimum=0, maximum=1e9), payload.number("kd", 20.0, minimum=0, maximum=1e9)
    if control == "free":
        loaded = _starting_at(model, start)
    elif control == "computed_torque":
        loaded = dl.computed_torque(_starting_at(model, start), {name: motion[name] for name in driven}, gains)
    else:
        feedback = (0.0, 0.0) if control == "feedforward" else gains
        loaded = _with_torques(model, motion, driven, start, feedback, control != "pd", progress)
    progress(0.0, "simulating")
    formalism = _SERVO if control == "computed_torque" else _FORMALISM
    run = _simulated(loaded, formalism, motion, payload.integer("samples", 301, minimum=11, maximum=20_001), progress)
    desired = motion.position(run.t)
    rows = [model.coordinate_names.index(name) for name in driven]
    deviation = np.abs(run.q[rows] - desired).max(axis=1)
    table = Table(
        ("coordinate", "largest deviation from the motion"),
        tuple((name, format_cell(float(x))) for name, x in zip(driven, deviation, strict=True)),
        "Tracking error",
    )
    return _saved(run, model, folder, [table, *run.tables()])


def _saved(run: Trajectory, model: Elements, folder: Folder, tables: Sequence[Table]) -> Answer:
    """Save the run and return its display data; in the interactive scene the coordinates are not driven."""
    key, path = folder.new_run()
    run.save(path)
    free = scene_of(model.description).to_dict()
    return {
        "run": key,
        "scene": run.scene().to_dict() | {"tabs": [], "coordinates": free["coordinates"], "closure": free["closure"]},
        "tables": "\n".join(table.html() for table in tables),
        "status": run.status,
    }


def _drive_table(run: Trajectory) -> Table:
    rows = tuple(
        (name, format_cell(float(np.abs(x).max())), format_cell(float(np.sqrt(np.mean(x**2)))))
        for name, x in run.drives.items()
    )
    return Table(("drive", "largest", "root mean square"), rows, "Torques and forces of the drives")


def _planned(payload: Payload, progress: ReportProgress) -> tuple[Model, Profile, list[str], np.ndarray]:
    """Return the model with its payload, the motion of the driven coordinates, their names, and the first posture."""
    model = _with_hand_mass(payload)
    points = payload.rows("points")
    if not 2 <= len(points) <= MAX_POINTS:
        raise InputError(f"the motion has {len(points)} postures. Expected 2 to {MAX_POINTS}. Save at least two.")
    times = np.array([each.number("time", minimum=0, maximum=1e6) for each in points])
    if not (np.diff(times) > 0).all():
        raise InputError("the times of the postures do not increase. Expected strictly increasing times.")
    q = np.array([_posture(each.numbers("q"), model) for each in points])
    driven, kind = driven_by(model, q[0]), payload.choice("kind", KINDS, "quintic")
    if not driven:
        raise InputError(f"model '{model.name}' has no coordinate that a drive can move.")
    progress(0.0, "planning the motion")
    rows = [model.coordinate_names.index(name) for name in driven]
    if kind not in PATHS:
        return model, _through(kind, q[:, rows], times - times[0], tuple(driven)), driven, q[0]
    path = _hand_path(payload, model, q, times - times[0])
    formulas = tuple(path.formulas[i] for i in rows)
    return model, Profile(formulas, path.start, path.end, names=tuple(driven)), driven, path.position(path.start)


def _with_hand_mass(payload: Payload) -> Model:
    """Return the model with the payload of its hand, and with or without gravity."""
    model = Model.of(description_of(payload))
    mass = payload.number("payload", 0.0, minimum=0, maximum=1e9)
    if mass > 0:
        body, point = _hand(payload, model)
        model.body(PAYLOAD, parent=body, joint=model.fixed(tuple(point)), mass=mass)
    if not payload.boolean("gravity", True):
        model.gravity_input = (0, 0, 0)
    return model


def _through(kind: str, q: np.ndarray, times: np.ndarray, names: tuple[str, ...]) -> Profile:
    """Return the motion of coordinates through postures (K, n): one spline, or from rest to rest."""
    if kind == "spline":
        found = spline(times.tolist(), q.T.tolist(), rates=(0.0, 0.0))
        return Profile(found.formulas, found.start, found.end, names=names)
    law = LAWS[kind]
    legs = [
        law(q[k].tolist(), q[k + 1].tolist(), float(times[k + 1] - times[k]), after=float(times[k]))
        for k in range(len(q) - 1)
    ]
    formulas = legs[0].formulas
    if len(legs) > 1:
        ends = enumerate(q[-1].tolist())
        formulas = tuple(piecewise_in_time([(leg.formulas[i], leg.end) for leg in legs], x) for i, x in ends)
    return Profile(tuple(formulas), 0.0, float(times[-1]), names=names)


def _hand_path(payload: Payload, model: Elements, q: np.ndarray, times: np.ndarray) -> Profile:
    """Return the motion of all coordinates with the hand on straight lines, or on the circle through three postures."""
    body, point = _hand(payload, model)
    timing = payload.choice("timing", tuple(LAWS), "cycloidal")
    kinematics = dl.kinematics(model)
    points = [kinematics.position(each, body, point) for each in q]
    if payload.choice("kind", PATHS) == "circle":
        if len(q) < 3:
            raise InputError("a circle needs the hand positions of three postures. Save one more posture.")
        center, axis = _circle(points[:3])
        angle = math.radians(payload.number("angle", 360.0, minimum=-3600, maximum=3600))
        options = {"angle": angle, "point": point, "timing": timing, "q0": q[0].tolist(), "accuracy": _ACCURACY}
        return dl.circle(model, body, center, axis, float(times[-1]), **options)
    legs, at = [], q[0]
    for k, target in enumerate(points[1:]):
        options = {"point": point, "timing": timing, "q0": at.tolist(), "accuracy": _ACCURACY}
        legs.append(dl.straight_line(model, body, target, float(times[k + 1] - times[k]), **options))
        at = legs[-1].position(legs[-1].end)
    return legs[0] if len(legs) == 1 else _concatenated(legs, times)


def _circle(points: Sequence[np.ndarray]) -> tuple[list[float], list[float]]:
    """Return center and axis of the circle through three points, directed from the first to the second."""
    a, b = points[1] - points[0], points[2] - points[0]
    n = np.cross(a, b)
    if np.linalg.norm(n) < 1e-6 * max(float(a @ a), float(b @ b), 1e-300):
        raise InputError("the hand positions of the first three postures lie on a line and define no circle. Move one.")
    # the circumcenter of a triangle: p₀ + (|b|² a − |a|² b) × n … with n = a × b
    to = np.cross((a @ a) * b - (b @ b) * a, n) / (2 * (n @ n))
    center = points[0] + to
    return center.tolist(), n.tolist()


def _concatenated(legs: Sequence[Profile], times: np.ndarray) -> Profile:
    """Concatenate motions through points: the points of all, with their second derivatives."""
    formulas = []
    for i in range(len(legs[0])):
        parts = [cubic_points(leg.formulas[i]) for leg in legs]
        t, x, accelerations = [], [], []
        for k, part in enumerate(parts):
            if part is None:  # constant
                at = float(legs[k].position(legs[k].start)[i])
                part = np.array([0.0, legs[k].end]), np.array([at, at]), np.zeros(2)
            skipped = 0 if k == 0 else 1
            t.append(part[0][skipped:] + times[k])
            x.append(part[1][skipped:])
            accelerations.append(part[2][skipped:])
        formulas.append(piecewise_cubic(np.concatenate(t), np.concatenate(x), np.concatenate(accelerations)))
    return Profile(tuple(formulas), 0.0, float(times[-1]))


def _starting_at(model: Elements, start: np.ndarray) -> Model:
    return Model.of(model).start(start.tolist(), [0.0] * len(start))


def _driven_run(
    model: Elements, motion: Profile, driven: Sequence[str], start: np.ndarray, samples: int, progress: ReportProgress
) -> Trajectory:
    """Return the run in which drives prescribe the motion."""
    out = _starting_at(model, start)
    for name in driven:
        out.drive(name, motion[name], name=f"drive of {name}")
    return _simulated(out, _FORMALISM, motion, samples, progress)


def _simulated(model: Elements, formalism: str, motion: Profile, samples: int, progress: ReportProgress) -> Trajectory:
    equations, span = dl.derive(model, formalism), motion.end - motion.start
    return equations.simulate(
        span, samples=samples, integrator=_INTEGRATOR, progress=lambda fraction: progress(fraction)
    )


def _with_torques(
    model: Elements,
    motion: Profile,
    driven: Sequence[str],
    start: np.ndarray,
    gains: tuple[float, float],
    forward: bool,
    progress: ReportProgress,
) -> Model:
    """Return the model with the torques of the motion as time tables and PD feedback: τ + kp e + kd ė."""
    kp, kd = gains
    run = _driven_run(model, motion, driven, start, _TORQUE_SAMPLES, progress) if forward else None
    times = np.linspace(0.0, motion.end - motion.start, _TORQUE_SAMPLES) if run is None else run.t
    desired = motion(times)
    out = _starting_at(model, start)
    for i, name in enumerate(driven):
        body, joint, index = joint_of(model, name, "forward dynamics")
        torque = kp * desired.position[i] + kd * desired.rate[i]
        torque = torque if run is None else torque + run.drives[f"drive of {name}"]
        torque[1:-1] -= np.diff(torque, 2) / 12  # linear interpolation then preserves the mean torque
        where = {"joint": joint, "motion": index}
        out.torque_table(body, times.tolist(), torque.tolist(), **where, name=f"torque on {name}")
        if kp or kd:
            out.joint_torque(body, f"-{kp!r}*{name} - {kd!r}*dot({name})", **where, name=f"feedback of {name}")
    return out
