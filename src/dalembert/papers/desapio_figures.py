"""Figures and printed equations of papers/desapio, computed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np
from scipy.linalg import null_space

import dalembert as dl
from dalembert.api.constraint_space import ConstraintSpace
from dalembert.api.equations import Equations
from dalembert.api.load import Source
from dalembert.api.trajectory import Trajectory
from dalembert.mechanics import state_batch
from dalembert.mechanics.motion import Motion
from dalembert.papers.page import BodyPoses, derivative, evaluate_motion, pose_bodies
from dalembert.papers.printed_values import (
    Computed,
    FigurePanel,
    MechanismSnapshot,
    Picture,
    PrintedLine,
    Stroke,
    printed,
    text_label,
)

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


_STATES = 5
_STEP = 4e-3  # of finite differences in time, for a motion with unit rates
_ROUNDING = 1e-9
_TORQUES = (2.0, -3.0, 5.0)  # of the elbow motors of 3-rrr


@dataclass(frozen=True)
class LagrangeState:
    """A state of a model: q̈ and λ by Lagrange's equations, other quantities by d'Alembert's principle."""

    equations: Equations  # by dalembert
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    at: ConstraintSpace

    @property
    def push(self) -> np.ndarray:
        """τ − b − g."""
        return self.at.tau - self.at.b - self.at.g

    @cached_property
    def Phi_rate(self) -> np.ndarray:
        """Φ̇q̇."""
        return self.slope(lambda x: self.Phi(self.position(x)) @ self.qd)

    def position(self, x: float) -> np.ndarray:
        """Return q at the time x along the motion."""
        return self.q + x * self.qd + x**2 * self.qdd / 2

    def Phi(self, q: np.ndarray) -> np.ndarray:
        """Return Φ at another configuration."""
        return self._manifold(q, self.qd)[2]

    def M(self, q: np.ndarray) -> np.ndarray:
        """Return M at another configuration."""
        return self._manifold(q, self.qd)[3]

    @property
    def initial_violation(self) -> float:
        """The largest |φ| at the initial state of the model, in m."""
        return float(np.abs(self._manifold(*self.equations.model.initial)[0]).max())

    def _manifold(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.equations.workspace.manifold.evaluate(q, qd, np.array(0.0), self.equations.values)

    def moved(self, x: float) -> Motion:
        """Return the bodies at the time x along the motion."""
        return evaluate_motion(self.equations.model, self.position(x))

    def slope(self, f: Callable[[float], np.ndarray]) -> np.ndarray:
        """Return f′(0) along the motion by fourth-order central differences."""
        return derivative(f, _STEP / max(1.0, float(np.abs(self.qd).max()), float(np.sqrt(np.abs(self.qdd).max()))))


def residuals() -> Computed:
    """Compute the residual of every equation as printed, and as corrected if it has a misprint."""
    arm, gyro = _states("serial-arm"), _states("gyroscope")
    driven = dl.load("3-rrr").copy()
    for i, torque in enumerate(_TORQUES, start=1):
        driven.joint_torque(f"far{i}", torque)
    loops = _states(driven)
    pairs: list[tuple[list[LagrangeState], tuple[Callable[[LagrangeState], float], ...]]] = [
        (arm, (_particle, _particle_corrected)),
        (arm, (_bodies,)),
        (gyro, (lambda s: _gap(s.at.M @ s.qdd, s.push),)),
        (loops, (lambda s: _work(s, s.at.M @ s.q), lambda s: _work(s, s.at.M @ s.qdd))),  # (5.85), printed with Mq
        (loops, (lambda s: _gap(s.at.M @ s.qdd, s.push + s.at.Phi.T @ s.lam),)),
        (loops, (lambda s: _gap(s.at.Phi @ s.qdd, -s.Phi_rate),)),
        (loops, (_accelerations,)),
        # (5.93), printed with Φ instead of Φ̇
        (
            loops,
            (
                lambda s: _printed_multipliers(s, s.at.H @ s.at.Phi @ s.qd),
                lambda s: _printed_multipliers(s, s.at.H @ s.Phi_rate),
            ),
        ),
        (loops, (lambda s: _gap(s.at.Phi @ s.at.Theta, 0 * s.at.Phi, s.at.Phi),)),
        # (5.145), as printed and with the sign of (5.86)
        (loops, tuple(lambda s, k=k: _gap(s.push, s.at.M @ s.qdd + k * (s.at.Phi.T @ s.lam)) for k in (1, -1))),
        (loops[:1], (lambda s: s.initial_violation,)),
        (loops, (_generalized,)),
        (gyro, (_momentum, _momentum_corrected)),
        (gyro, (_coriolis,)),
        (gyro, (lambda s: _energy(s, 1.0), lambda s: _energy(s, 0.5))),
        (loops, (_projected,)),
    ]
    found = [[max(map(check, states)) for check in checks] for states, checks in pairs]
    return {
        row: [values[0], *(0.0 if value < _ROUNDING else value for value in values[1:]), *[None] * (2 - len(values))]
        for row, values in zip(printed("desapio").tables["Equations"].rows, found, strict=True)
    }


def _states(model: Source) -> list[LagrangeState]:
    """Return random states that satisfy the constraints."""
    lagrange, dalembert = (dl.derive(model, key) for key in ("lagrange", "dalembert"))
    found = state_batch.consistent_states(dalembert.model, _STATES)
    states = []
    for q, qd in zip(found.q.T, found.qd.T, strict=True):
        qdd, lam = lagrange.accelerations(q, qd), lagrange.multipliers(q, qd)
        states.append(LagrangeState(dalembert, q, qd, qdd, lam, dalembert.constraint_space(q, qd)))
    return states


def _gap(left: np.ndarray, right: np.ndarray, size: np.ndarray | None = None) -> float:
    """Return the difference relative to the larger side."""
    sizes = [float(np.linalg.norm(side)) for side in (left, right, left if size is None else size)]
    return float(np.linalg.norm(left - right)) / max(sizes)


# d'Alembert's principle


def _jacobians(at: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Return Γ in world axes and Π in body axes of the last body."""
    body = at.bodies[-1]
    return np.asarray(body.B, dtype=float), np.asarray(body.D, dtype=float)


def _particle(s: LagrangeState) -> float:
    """(5.26) for the mass center of the last link."""
    velocity = s.slope(lambda x: _jacobians(s.moved(x))[0] @ (s.qd + x * s.qdd))
    return _gap(velocity, _jacobians(s.moved(0))[0] @ s.qdd)


def _particle_corrected(s: LagrangeState) -> float:
    acceleration = s.slope(lambda x: s.slope(lambda y: np.asarray(s.moved(x + y).bodies[-1].p_WG, dtype=float)))
    rate = s.slope(lambda x: _jacobians(s.moved(x))[0] @ s.qd)  # Γ̇q̇
    return _gap(acceleration, _jacobians(s.moved(0))[0] @ s.qdd + rate)


def _bodies(s: LagrangeState) -> float:
    """(5.54): a of the mass center and α of the last link."""
    gaps = [_particle_corrected(s)]
    alpha = s.slope(lambda x: _jacobians(s.moved(x))[1] @ (s.qd + x * s.qdd))
    rate = s.slope(lambda x: _jacobians(s.moved(x))[1] @ s.qd)  # Π̇q̇
    return max(*gaps, _gap(alpha, _jacobians(s.moved(0))[1] @ s.qdd + rate))


# constraints


def _work(s: LagrangeState, inertia: np.ndarray) -> float:
    """(5.85) for all δq with Φδq = 0."""
    return float(np.linalg.norm(null_space(s.at.Phi).T @ (inertia - s.push)) / np.linalg.norm(s.push))


def _accelerations(s: LagrangeState) -> float:
    """(5.92)."""
    free = np.linalg.solve(s.at.M, s.push)
    return _gap(s.qdd, -s.at.Phi_bar @ s.Phi_rate + s.at.Theta @ free)


def _printed_multipliers(s: LagrangeState, more: np.ndarray) -> float:
    """(5.93) with its last term `more`."""
    return _gap(s.lam, -s.at.Phi_bar.T @ s.push - more)


def _generalized(s: LagrangeState) -> float:
    """(5.154)."""
    at = s.at
    return _gap(at.Theta.T @ at.tau, at.M @ s.qdd + at.b + at.g - at.Phi.T @ (at.alpha + at.rho), at.tau)


def _projected(s: LagrangeState) -> float:
    """(5.301)."""
    W = null_space(s.at.Phi)
    return _gap(W.T @ s.at.tau, W.T @ (s.at.M @ s.qdd + s.at.b + s.at.g), s.at.tau)


# least action


def _momentum(s: LagrangeState) -> float:
    """(5.199): d/dt of p = Mq̇ along the motion."""
    return _gap(s.slope(lambda x: s.M(s.position(x)) @ (s.qd + x * s.qdd)), s.at.M @ s.qdd)


def _momentum_corrected(s: LagrangeState) -> float:
    rate = s.slope(lambda x: s.M(s.position(x))) @ s.qd  # Ṁq̇ of (5.211)
    return _gap(s.slope(lambda x: s.M(s.position(x)) @ (s.qd + x * s.qdd)), s.at.M @ s.qdd + rate)


def _coriolis(s: LagrangeState) -> float:
    """b by (5.57) and by (5.217)."""
    rate = s.slope(lambda x: s.M(s.q + x * s.qd)) @ s.qd
    along = [s.slope(lambda x, e=e: s.qd @ s.M(s.q + x * e) @ s.qd) for e in np.eye(len(s.q))]
    return _gap(s.at.b, rate - np.array(along) / 2)


def _energy(s: LagrangeState, factor: float) -> float:
    """T of (5.254) with the factor of its terms in q̇₂ and q̇₃, compared with ½q̇ᵀMq̇; exact coefficients."""
    (v1, v2, v3), M = s.qd, s.at.M
    printed_sum = M[0, 0] * v1**2 / 2 + factor * (M[1, 1] * v2**2 + 2 * M[0, 2] * v1 * v3 + M[2, 2] * v3**2)
    return _gap(np.array([printed_sum]), np.array([s.qd @ M @ s.qd / 2]))
