"""Figures of papers/desapio: its mechanisms, snapshots of their motion, and curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import numpy as np

import dalembert as dl
from dalembert.api.trajectory import Trajectory
from dalembert.papers.page import BodyPoses, pose_bodies
from dalembert.papers.printed_values import FigurePanel, MechanismSnapshot, Picture, PrintedLine, Stroke, text_label

Q = ("q₁", "q₂", "q₃", "q₄", "q₅", "q₆", "q₇", "q₈", "q₉")
STABILIZATION = (100.0, 20.0)  # α and β of (5.96); the paper prints no values
_TIMES = {"serial-arm": 0.16 * np.arange(9), "3-rrr": 0.1 * np.arange(9), "gyroscope": 0.8 * np.arange(9)}
_SPAN = {"serial-arm": 2.0, "3-rrr": 1.0, "gyroscope": 10.0}  # seconds
_N_SAMPLES = 500


def pictures() -> Mapping[str, Callable[[], Picture]]:
    """Return the functions that draw the figures; the motion of each example is computed once."""

    @cache
    def motion(name: str) -> Trajectory:
        return dl.simulate(name, _SPAN[name], formalism="dalembert", samples=_N_SAMPLES + 1)

    return {
        "5.2": partial(_sketch, "serial-arm", (0.9, -0.5, -0.6, -0.4)),
        "5.3": lambda: _serial(motion("serial-arm")),
        "5.6": _stewart,
        "5.8": partial(_sketch, "3-rrr", None),
        "5.9": lambda: _parallel(motion("3-rrr")),
        "5.10": lambda: _multipliers(motion("3-rrr")),
        "5.11": partial(_sketch, "gyroscope", (0.5, -0.4, 0.0)),
        "5.12": lambda: _precession(motion("gyroscope")),
        "5.13": lambda: _energies(motion("gyroscope")),
        "5.14": partial(_sketch, "two-link-robot", (0.6, -0.6)),
        "5.15": partial(_sketch, "slider-crank-2", None),
        "5.16": partial(_sketch, "planar-four-bar", None),
        "5.17": partial(_sketch, "slider-crank-3", None),
    }


# frames and curves


def _sketch(name: str, q: Sequence[float] | None) -> list[MechanismSnapshot]:
    """Draw a mechanism with the names of its coordinates, in its initial or another configuration."""
    model = dl.load(name)
    at = pose_bodies(model, model.initial[0] if q is None else q)
    return [MechanismSnapshot("", tuple(SKETCHES[name](at, named=True)))]


def _snapshots(run: Trajectory) -> list[MechanismSnapshot]:
    """Draw the mechanism at several times; two invisible points give all frames the same window."""
    name = run.model.name
    at = np.searchsorted(run.t, _TIMES[name] - 1e-9)
    drawn = [SKETCHES[name](pose_bodies(run.model, run.q[:, k])) for k in at]
    points = np.concatenate([stroke.points for strokes in drawn for stroke in strokes])
    window = [Stroke(corner[None]) for corner in (points.min(axis=0), points.max(axis=0))]
    return [
        MechanismSnapshot(f"t = {run.t[k]:.3g} s", (*strokes, *window)) for k, strokes in zip(at, drawn, strict=True)
    ]


def _coordinates(run: Trajectory, rows: Mapping[str, int], title: str) -> FigurePanel:
    return FigurePanel(title, tuple(PrintedLine(name, run.t, run.q[row]) for name, row in rows.items()))


def _scheme_errors(run: Trajectory, schemes: Sequence[tuple[str, str, float, dict]], rows: slice) -> FigurePanel:
    """Return the errors of the printed integration schemes, the maximum over some coordinates."""
    lines = []
    for scheme, formalism, step, options in schemes:
        equations = dl.derive(run.model, formalism)
        other = equations.simulate(run.t[-1], integrator=scheme, step=step, samples=_N_SAMPLES + 1, **options)
        gap = np.abs(other.q[rows] - run.q[rows]).max(axis=0)
        label = f"Algorithm {scheme[-1]}, Δt = {1000 * step:g} ms"
        lines.append(PrintedLine(label, run.t, np.maximum.accumulate(gap)))
    return FigurePanel("error, largest so far", tuple(lines), log=True)


def _serial(run: Trajectory) -> Picture:
    """Figure 5.3."""
    panel = _coordinates(run, {name: row for row, name in enumerate(Q[:4])}, "angles [rad]")
    schemes = [("algorithm3", "dalembert", step, {}) for step in (1e-3, 5e-4)]
    return [*_snapshots(run), panel, _scheme_errors(run, schemes, slice(None))]


def _parallel(run: Trajectory) -> Picture:
    """Figure 5.9: x, y and θ of the platform."""
    panel = _coordinates(run, {"x [m]": 6, "y [m]": 7, "θ [rad]": 8}, "platform")
    schemes = [("algorithm4", "dalembert", step, {"stabilization": STABILIZATION}) for step in (1e-3, 5e-4)]
    return [*_snapshots(run), panel, _scheme_errors(run, schemes, slice(6, 9))]


def _multipliers(run: Trajectory) -> Picture:
    """Figure 5.10: the forces at the three corners."""
    lines = [PrintedLine(f"λ{'₁₂₃₄₅₆'[i]}", run.t, row) for i, row in enumerate(run.multipliers)]
    return [FigurePanel("λ [N]", tuple(lines))]


def _precession(run: Trajectory) -> Picture:
    """Figure 5.12: the gimbal angles."""
    panel = _coordinates(run, {"q₁": 0, "q₂": 1}, "gimbal angles [rad]")
    schemes = [("algorithm3", "dalembert", 1e-3, {}), ("algorithm5", "hamilton", 1e-3, {})]
    return [*_snapshots(run), panel, _scheme_errors(run, schemes, slice(0, 2))]


def _energies(run: Trajectory) -> Picture:
    """Figure 5.13: V is measured from z = −2.5 (5.255)."""
    p = run.parameters
    V = run.potential + 2.5 * p["g"] * (p["M1"] + p["M2"] + p["M3"])
    curves = {"T": run.kinetic, "V": V, "E": run.kinetic + V}
    return [FigurePanel("energy [J]", tuple(PrintedLine(name, run.t, values) for name, values in curves.items()))]


# mechanisms


def _chain(at: BodyPoses, lengths: Mapping[str, float], *, named: bool, color: int = 0) -> list[Stroke]:
    """Draw planar links from joint to joint, each with the name of its angle next to its midpoint."""
    strokes: list[Stroke] = []
    for k, (body, length) in enumerate(lengths.items()):
        ends = at.points(body, [(0, 0, 0), (length, 0, 0)])[:, :2]
        strokes.append(Stroke(ends, color=color + k, joint=True))
        if named:
            i = [each.name for each in at.model.bodies].index(body)
            x, y = ends[1] - ends[0]
            aside = np.array([y, -x]) if y > 1e-9 else np.array([-y, x])
            strokes.append(text_label(ends.mean(axis=0) + 0.1 * aside, Q[i]))
    return strokes


def _arm(at: BodyPoses, *, named: bool = False) -> list[Stroke]:
    values = at.model.parameter_values
    wall = np.array([(0, -0.12), (0, 0.12)])
    links = {f"link{i}": values[f"l{i}"] for i in range(1, 5)}
    return [Stroke(wall, thin=True), *_chain(at, links, named=named)]


def _elbows(at: BodyPoses, *, named: bool = False) -> list[Stroke]:
    """Draw the base, the platform and the three arms."""
    values = at.model.parameter_values
    base = np.array([(0, 0), (values["b2x"], values["b2y"]), (values["b3x"], values["b3y"])])
    corners = [(values["px"], values["py"], 0), (values["p2x"], values["p2y"], 0), (values["p3x"], values["p3y"], 0)]
    platform = at.points("platform", corners)[:, :2]
    arms = [
        stroke
        for i in (1, 2, 3)
        for stroke in _chain(at, {f"near{i}": values["l"], f"far{i}": values["l"]}, named=named, color=1)
    ]
    middle = [text_label(platform.mean(axis=0), "q₇, q₈, q₉")] if named else []
    return [Stroke(np.concatenate([base, base[:1]]), thin=True), Stroke(platform, closed=True), *arms, *middle]


def _gyroscope(at: BodyPoses, *, named: bool = False) -> list[Stroke]:
    """Draw the post, the beam with its counterweight and the rotor."""
    values = at.model.parameter_values
    r, h, reach, back = values["r"], values["h"], values["l3"], values["lG2"]
    post = np.array([(0, 0, -2.5), (0, 0, 0)])
    fork = at.points("gimbal", [(0, -0.4, -0.4), (0, -0.4, 0), (0, 0.4, 0), (0, 0.4, -0.4), (0, 0, -0.4)])
    beam = at.points("beam", [(-2 * back, 0, 0), (reach, 0, 0)])
    turn = np.linspace(0, 2 * np.pi, 41)
    rim = np.stack([0 * turn, r * np.cos(turn), r * np.sin(turn)], axis=1)
    rotor = [Stroke(at.points("rotor", rim + np.array([side, 0, 0])), closed=True, color=2) for side in (-h / 2, h / 2)]
    mark = Stroke(at.points("rotor", [(h / 2, 0, 0), (h / 2, 0, r)]), color=1)
    words = [text_label(post[0], "q₁"), text_label(fork[2], "q₂"), text_label(beam[1], "q₃")] if named else []
    weight = Stroke(at.points("beam", [(-back, 0, 0), (-2 * back, 0, 0)]), color=5, joint=True)
    return [Stroke(post, thin=True), Stroke(fork, color=3), Stroke(beam), weight, *rotor, mark, *words]


def _robot(at: BodyPoses, *, named: bool = False) -> list[Stroke]:
    """Draw the two links in space."""
    values = at.model.parameter_values
    first = at.points("link1", [(0, 0, 0), (values["l1"], 0, 0)])
    second = at.points("link2", [(0, 0, 0), (values["l2"], 0, 0)])
    axis = np.array([(0, 0, -0.2), (0, 0, 0.2)])
    words = [text_label(first.mean(axis=0), "q₁"), text_label(second.mean(axis=0), "q₂")] if named else []
    links = [Stroke(first, joint=True), Stroke(second, joint=True, color=1)]
    return [Stroke(axis, thin=True, label="z"), *links, *words]


def _linkage(at: BodyPoses, *, named: bool = False) -> list[Stroke]:
    """Draw equal links between a pivot at the origin and the ground."""
    model = at.model
    length = model.parameter_values["l"]
    links = _chain(at, {body.name: length for body in model.bodies}, named=named)
    end = max(stroke.points[:, 0].max() for stroke in links)
    ground = np.array([(-0.2 * length, 0), (end + 0.3 * length, 0)])
    return [Stroke(ground, thin=True), *links]


def _stewart() -> list[MechanismSnapshot]:
    """Figure 5.6: the base, six struts and the platform, assembled."""
    model = dl.load("stewart-platform")
    at = pose_bodies(model, dl.assemble_state(model).q)
    values = model.parameter_values
    feet = np.concatenate([at.points(f"cylinder{i}", [(0, 0, 0)]) for i in range(1, 7)])
    heads = np.concatenate([at.points(f"rod{i}", [(0, 0, 0)]) for i in range(1, 7)])
    turn = np.linspace(0, 2 * np.pi, 61)
    circle = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    struts = [
        stroke
        for i, (foot, head) in enumerate(zip(feet, heads, strict=True), start=1)
        for stroke in (Stroke(np.array([foot, head]), color=1, joint=True), text_label((foot + head) / 2, str(i)))
    ]
    plates = [Stroke(values["R"] * circle, thin=True), Stroke(at.points("platform", values["r"] * circle), closed=True)]
    return [MechanismSnapshot("", (*plates, *struts))]


SKETCHES: Mapping[str, Callable[..., list[Stroke]]] = {
    "serial-arm": _arm,
    "3-rrr": _elbows,
    "gyroscope": _gyroscope,
    "two-link-robot": _robot,
    "slider-crank-2": _linkage,
    "planar-four-bar": _linkage,
    "slider-crank-3": _linkage,
}
