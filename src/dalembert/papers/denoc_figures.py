"""Figures of papers/denoc: the Stanford arm, the step of the biped, the four-bar linkage, and operation counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from itertools import cycle, islice

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import dalembert as dl
from dalembert.analysis.controllers import desired_motion
from dalembert.io import gallery
from dalembert.model.description import Elements
from dalembert.model.model import Model
from dalembert.model.profiles import cycloidal
from dalembert.papers.page import BodyPoses, pose_bodies
from dalembert.papers.printed_values import FigurePanel, MechanismSnapshot, PrintedLine, Stroke, published, text_label
from dalembert.recursive.plan import plan_of
from dalembert.recursive.traced import task_program

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_DRIVES = {"stanford-arm": {"k": 0.0, "kw": 0.0, "kh": 0.0}}  # stiffness of the drives that the gallery adds
TURN = 4 / 3  # s, duration of Figure 17, as in ReDySim's file of this linkage
T, h, d, s, f, g = 0.5, 0.92, 0.15, 0.06, 0.05, 9.81  # as the model file names them
GAINS = (225.0, 40.0)  # of ReDySim's controller
Torques = Callable[[float, np.ndarray, np.ndarray], np.ndarray]  # of (t, q, q̇)


def without_drives(name: str) -> Elements:
    """Return a gallery model without its drives."""
    model = dl.load(name)
    return model.with_parameters(_DRIVES[name]) if name in _DRIVES else model


def _numbered(letter: str, i: int) -> str:
    return letter + str(i).translate(_SUBSCRIPTS)


# Figures 4–6: the Stanford arm


def stanford() -> list[MechanismSnapshot]:
    """Return the arm with its boom extended."""
    at = pose_bodies("stanford-arm", (0.9, 1.0, 0.6, 0.4, 0.9, 0.0))
    corners = [np.zeros(3), *(at.points(name, [(0, 0, 0)])[0] for name in ("waist", "shoulder", "boom"))]
    corners.append(at.points("hand", [(0, 0, 0.25)])[0])
    rear = at.points("boom", [(0, 0, -0.8)])[0]
    plate = np.array([(-0.15, -0.15, 0), (0.15, -0.15, 0), (0.15, 0.15, 0), (-0.15, 0.15, 0)])
    strokes = [Stroke(plate, closed=True, thin=True), Stroke(np.array([rear, corners[3]]), color=2)]
    for k, name in enumerate(("#1", "#2", "#3", "#4–#6")):
        strokes.append(Stroke(np.array(corners[k : k + 2]), color=k, joint=True))
        strokes.append(text_label(np.array(corners[k : k + 2]).mean(axis=0), name))
    return [MechanismSnapshot("", tuple(strokes))]


def cycloid(ends: Sequence[float], T: float, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(34) and (35) from zero, with rates and accelerations.

    >>> cycloid([1.0], 10.0, np.array([10.0]))[0].tolist()
    [[1.0]]
    """
    return cycloidal(0.0, ends, T)(t)


def stanford_motion() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return t, q, q̇ and q̈ of the motion of Figure 5, with the final values of the drives of the gallery model."""
    values = dl.load("stanford-arm").parameter_values
    t = np.linspace(0, values["T"], 401)
    ends = [values["B"] if i == 2 else values["A"] for i in range(6)]
    return t, *cycloid(ends, values["T"], t)


def stanford_torques() -> list[FigurePanel]:
    """Figure 5."""
    t, *motion = stanford_motion()
    tau = dl.dynamics(without_drives("stanford-arm")).inverse(*motion)
    titles = ["f₃ [N]" if i == 2 else f"{_numbered('τ', i + 1)} [N·m]" for i in range(6)]
    return [FigurePanel(title, (PrintedLine("", t, row),)) for title, row in zip(titles, tau, strict=True)]


def stanford_fall() -> list[FigurePanel]:
    """Figure 6: free fall with all joints at zero, without drives."""
    run = dl.simulate(without_drives("stanford-arm"), 1.0, formalism="denoc", samples=101)
    angles = [PrintedLine(_numbered("θ", i + 1), run.t, np.round(run.q[i], 12)) for i in (0, 1, 3, 4, 5)]
    return [FigurePanel("b₃ [m]", (PrintedLine("", run.t, run.q[2]),)), FigurePanel("θ [rad]", tuple(angles))]


# Figures 11–15: the biped


def walking(step: DesignedStep) -> list[MechanismSnapshot]:
    """Figure 11: the biped at six times of its step."""
    at = np.arange(0, 2001, 400)
    return [MechanismSnapshot(f"t = {step.t[k]:.1f} s", _biped(pose_bodies(step.model, step.q[:, k]))) for k in at]


def _forward_up(points: np.ndarray) -> np.ndarray:
    """Return forward, sideways and up components: up is x in the model, and forward −y."""
    return np.stack([-points[:, 1], points[:, 2], points[:, 0]], axis=1)


def _biped(at: BodyPoses) -> tuple[Stroke, ...]:
    """Draw both legs, their feet and the trunk in side view."""
    legs = (("ankle-roll", "thigh", "hip-roll"), ("swing-ankle", "swing-shank", "swing-hip-yaw"))
    limbs = [_forward_up(np.concatenate([at.points(name, [(0, 0, 0)]) for name in names]))[:, ::2] for names in legs]
    trunk = limbs[0][-1] + np.array([(-0.05, 0), (0.05, 0), (0.06, 0.3), (-0.06, 0.3)])
    feet = [Stroke(limb[0] + np.array([(-0.06, 0), (0.12, 0)]), color=k) for k, limb in enumerate(limbs)]
    ground = Stroke(np.array([(-0.5, -0.01), (0.6, -0.01)]), thin=True)
    limb_strokes = [Stroke(limb, color=k, joint=True) for k, limb in reversed(list(enumerate(limbs)))]
    return (ground, *feet, Stroke(trunk, closed=True, color=5), *limb_strokes)


def designed_paths(step: DesignedStep) -> list[FigurePanel]:
    """Figure 12: trunk mass center and swing ankle from the joint angles, and the designed hip and ankle paths as points."""
    samples, sparse = slice(None, None, 20), slice(None, None, 200)
    t, states = step.t[samples], [pose_bodies(step.model, q) for q in step.q[:, samples].T]
    trunk = _forward_up(np.array([at.center("trunk") for at in states]))
    ankle = _forward_up(np.array([at.points("swing-ankle", [(0, 0, 0)])[0] for at in states]))
    dots = step.t[sparse]
    _, y, *_ = hip(dots)
    design = np.stack([-0.3 * np.cos(2 * np.pi * dots), 2 * y - 0.1, lift(dots)[0]], axis=1)
    panels = []
    for k, axis in enumerate(("forward", "sideways", "up")):
        lines = (
            PrintedLine("trunk mass center", t, trunk[:, k]),
            PrintedLine("swing ankle", t, ankle[:, k]),
            PrintedLine("designed ankle path", dots, design[:, k], points=True),
        )
        panels.append(FigurePanel(f"{axis} [m]", lines))
    return panels


def designed_joints(step: DesignedStep) -> list[FigurePanel]:
    """Figure 13, and ReDySim's controlled run at the six printed times."""
    redysim = published("denoc")["biped"]
    known, times = np.array(redysim["q"]).T, np.array(redysim["t"])
    samples = step.t[::20]
    curves = {"designed": step.q[:, ::20], "controlled": step.controlled(samples)}
    return _by_joint("θ", "rad", samples, curves, (times, known))


def designed_torques(step: DesignedStep) -> list[FigurePanel]:
    """Figure 14."""
    samples = slice(None, None, 10)
    curves = {"of the design": step.torques[:, samples], "with ReDySim's errors": step.redysim_torques[:, samples]}
    return _by_joint("τ", "N·m", step.t[samples], curves)


def left_design(step: DesignedStep) -> list[FigurePanel]:
    """Figure 15: open-loop simulation with the torques of Figure 14."""
    samples = step.t[::20]
    slipped, right = (step.open_loop(torques, samples) for torques in (step.redysim_torques, step.torques))
    curves = {
        "desired": step.q[:, ::20],
        "simulated, with ReDySim's errors": slipped,
        "simulated, torques of the design": right,
    }
    return _by_joint("θ", "rad", samples, curves)


def _by_joint(
    letter: str,
    unit: str,
    t: np.ndarray,
    curves: Mapping[str, np.ndarray],
    published: tuple[np.ndarray, np.ndarray] | None = None,
) -> list[FigurePanel]:
    """Return a panel for each joint: curves (joints, times), and the points printed by ReDySim."""
    panels = []
    for i in range(len(next(iter(curves.values())))):
        lines = [PrintedLine(label, t, rows[i]) for label, rows in curves.items()]
        if published is not None:
            lines.append(PrintedLine("ReDySim", published[0], published[1][i], points=True))
        panels.append(FigurePanel(f"{_numbered(letter, i + 1)} [{unit}]", tuple(lines)))
    return panels


# Figures 16–18: the four-bar linkage


def four_bar() -> list[MechanismSnapshot]:
    """Draw the closed loop, and the two chains after cutting joint 4."""
    model = dl.load("four-bar")
    q = model.initial[0]
    closed, cut = pose_bodies(model, q), pose_bodies(model, q + np.array([0.5, 0.15, 0.3]))
    return [
        MechanismSnapshot("(a) closed loop", _bars(closed)),
        MechanismSnapshot("(b) cut at joint 4", _bars(cut, ("#1, θ₁", "#2, θ₂", "#3, θ₃"))),
    ]


def _bars(at: BodyPoses, names: Sequence[str] = ("#1", "#2", "#3")) -> tuple[Stroke, ...]:
    values = at.model.parameter_values
    parts = [("crank", "a"), ("output", "c"), ("coupler", "b")]
    pivots = np.concatenate([at.points(name, [(0, 0, 0)])[:, :2] for name in ("crank", "output")])
    bars = [
        at.points(name, [(0, 0, 0), (values[length] / 2, 0, 0), (values[length], 0, 0)])[:, :2]
        for name, length in parts
    ]
    strokes = [Stroke(bar[::2], color=k, joint=True) for k, bar in enumerate(bars)]
    words = [text_label(bar[1], name) for bar, name in zip(bars, names, strict=True)]
    return (Stroke(pivots, thin=True), *strokes, *words)


@cache
def _driven() -> Model:
    model = Model.of(dl.load("four-bar"))
    model.parameter("T", TURN, "duration of one crank revolution", "s")
    return model.drive("q1", "2*pi*(t/T - sin(2*pi*t/T)/(2*pi))", name="motor")


def four_bar_driven() -> list[FigurePanel]:
    """Figure 17: one revolution of the crank by (34), and the required torque."""
    run = dl.simulate(_driven(), TURN, samples=201)
    torque = run.multipliers[run.constraint_names.index("motor")]
    return [
        FigurePanel("θ₁ [rad]", (PrintedLine("", run.t, run.q[0]),)),
        FigurePanel("τ₁ [N·m]", (PrintedLine("", run.t, torque),)),
    ]


def four_bar_fall() -> list[FigurePanel]:
    """Figure 18: the linkage falls from rest."""
    run = dl.simulate("four-bar", 1.0, samples=401)
    return [
        FigurePanel(title, tuple(PrintedLine(_numbered(letter, i + 1), run.t, rows[i]) for i in range(3)))
        for title, letter, rows in (("angles [rad]", "θ", run.q), ("rates [rad/s]", "θ̇", run.qd))
    ]


# Figures 19 and 20: operations

JOINTS = {"a": (1,), "b": (2,), "c": (3,), "d": (1, 2, 3)}  # numbers of axes of successive joints, by panel
SIZES = (6, 12, 18, 24)
_AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 0))


def chain(joints: Sequence[int], freedoms: int) -> Model:
    """Return a serial chain whose joints cyclically have these numbers of perpendicular, intersecting revolute axes.

    >>> len(chain((1, 2, 3), 12).bodies), len(chain((1, 2, 3), 12).coordinate_names)
    (6, 12)
    """
    model, parent = Model("chain", gravity=(0, 0, -9.81)).coordinates(*(f"q{i}" for i in range(freedoms))), "world"
    count = freedoms * len(joints) // sum(joints)
    first = 0
    for i, axes in enumerate(islice(cycle(joints), count)):
        revolutes = [
            model.revolute(_AXES[(i + k) % 3], f"q{first + k}", position=(0, 0, 0) if k else (0.3, 0.1, -0.2))
            for k in range(axes)
        ]
        mass = {"mass": 1.0, "center": (0.1, 0.2, 0.3), "inertia": (0.3, 0.4, 0.5, 0.01, 0.02, 0.03)}
        model.body(f"link{i}", parent=parent, joint=revolutes, **mass)
        parent, first = f"link{i}", first + axes
    return model


@cache
def costs(joints: tuple[int, ...], n: int) -> dict[str, int]:
    """Return the operation count of each task of a chain."""
    plan = plan_of(chain(joints, n))
    return {task: task_program(plan, task).operations for task in ("inverse", "forward", "mass_matrix", "bias")}


def inverse_counts(joints: tuple[int, ...], n: int) -> dict[str, int]:
    """Return operation counts of inverse dynamics: recursion, and I θ̈ + C θ̇ with I of composite bodies."""
    cost = costs(joints, n)
    composite = cost["mass_matrix"] + cost["bias"] + 2 * n * n
    return {"recursion (22)–(25)": cost["inverse"], "I by (21), then I θ̈ + C θ̇ (17)": composite}


def forward_counts(joints: tuple[int, ...], n: int) -> dict[str, int]:
    """Return operation counts of forward dynamics: recursion, and I of composite bodies with Cholesky factorization."""
    cost = costs(joints, n)
    factors, substitutions = n * (n + 1) * (2 * n + 1) // 6, 2 * n * n
    composite = cost["mass_matrix"] + cost["bias"] + factors + substitutions
    return {"recursion (28)–(33)": cost["forward"], "I by (21), then Cholesky": composite}


def counts(of_chain: Callable[[tuple[int, ...], int], dict[str, int]]) -> list[FigurePanel]:
    """Figures 19 and 20: operation counts over the degrees of freedom for four kinds of chains."""
    panels = []
    for letter, joints in JOINTS.items():
        found = [of_chain(joints, n) for n in SIZES]
        lines = [PrintedLine(name, np.array(SIZES), np.array([each[name] for each in found])) for name in found[0]]
        panels.append(FigurePanel(f"operations ({letter})", tuple(lines), along="degrees of freedom"))
    return panels


# ReDySim's KUKA KR5


def kuka_torques(times: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the torques printed by ReDySim (6, 51), and the computed ones at the same or other times."""
    rows = np.array(published("denoc")["kuka-kr5"]["rows"]).T
    t = rows[0] if times is None else times
    motion = (np.repeat(x, 6, axis=0) for x in cycloid([np.pi / 3], 1.0, t))
    return rows[1:7], dl.dynamics("kuka-kr5").inverse(*motion)


def kuka() -> list[FigurePanel]:
    """Torques of the KUKA KR5 in a motion by (34), and those printed by ReDySim."""
    fine = np.linspace(0, 1, 501)
    redysim, computed = kuka_torques(fine)
    dots = np.array([row[0] for row in published("denoc")["kuka-kr5"]["rows"]])
    return _by_joint("τ", "N·m", fine, {"computed": computed}, (dots, redysim))


def hip(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return x and y of the hip at the height h, and ẏ and ÿ: an inverted pendulum, Figure 12."""
    w = math.sqrt(g / h)
    x, sway = d * np.sinh(w * (t - T / 2)) / math.sinh(w * T / 2), s * np.cosh(w * (t - T / 2)) / math.cosh(w * T / 2)
    return x, s - sway, -s * w * np.sinh(w * (t - T / 2)) / math.cosh(w * T / 2), -w * w * sway


def lift(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the height of the swing ankle, its rate and acceleration."""
    omega = 2 * math.pi / T
    return f * (1 - np.cos(omega * t)), f * omega * np.sin(omega * t), f * omega**2 * np.cos(omega * t)


class DesignedStep:
    """The designed step at many times, and runs of the model.

    >>> DesignedStep().q.shape
    (12, 2001)
    """

    def __init__(self) -> None:
        self.model = dl.load("biped")
        self.dynamics = dl.dynamics(self.model)
        self.t = np.linspace(0, T, 2001)
        self.q, self.qd, self.qdd = desired_motion(self.model, gallery.expected("biped")["motion"], self.t)

    @cached_property
    def redysim_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """q̇ and q̈ with the errors in ReDySim's example, for the roll angle a of a leg: tan a = y/z from ankle to hip.

        ȧ = (ẏ − ż tan a) cos²a/z and ä = ((ÿ − z̈ tan a) cos²a − 2 ż ȧ)/z − 2 ȧ² tan a. ReDySim has ẏ + ż tan a in ȧ, and
        −((ÿ + z̈ tan a) cos²a + 2 ż ȧ)/z ± 2 ȧ tan a in ä: the sign of its main term is reversed.
        """
        _, y, yd, ydd = hip(self.t)
        rise, fall, pull = lift(self.t)
        qd, qdd = self.qd.copy(), self.qdd.copy()
        for (up, down), side, z, zd, zdd in (((1, 4), 1, h, 0, 0), ((7, 10), -1, h - rise, -fall, -pull)):
            a = np.arctan2(y, z)
            rate = (yd + zd * np.tan(a)) * np.cos(a) ** 2 / z
            wrong = -((ydd + zdd * np.tan(a)) * np.cos(a) ** 2 + 2 * zd * rate) / z + 2 * side * rate * np.tan(a)
            qd[up], qd[down], qdd[up], qdd[down] = rate, -rate, wrong, -wrong
        return qd, qdd

    @cached_property
    def torques(self) -> np.ndarray:
        """Figure 14: the torques of the design."""
        return self.dynamics.inverse(self.q, self.qd, self.qdd)

    @cached_property
    def redysim_torques(self) -> np.ndarray:
        """The torques with ReDySim's errors."""
        return self.dynamics.inverse(self.q, *self.redysim_rates)

    def open_loop(self, torques: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return q (12, k) with torques as functions of time, without feedback, Figure 15."""
        table = CubicSpline(self.t, torques.T)
        return self._run(lambda t, q, qd: table(t), times)[:12]

    def controlled(self, times: np.ndarray) -> np.ndarray:
        """Return q and q̇ (24, k) with ReDySim's controller, which tracks the design with ReDySim's errors."""
        goal = CubicSpline(self.t, np.concatenate([self.q, *self.redysim_rates]).T)

        def torques(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
            aim, rate, pull = goal(t).reshape(3, 12)
            return self.dynamics.inverse(q, rate, pull + GAINS[0] * (aim - q) + GAINS[1] * (rate - qd))

        return self._run(torques, times)

    def divergence_time(self, torques: np.ndarray, distance: float) -> float:
        """Return the time at which an open-loop run deviates from the design by more than this distance."""
        found = self.open_loop(torques, self.t[:1201])  # the first 0.3 s
        off = np.abs(found - self.q[:, :1201]).max(axis=0)
        return float(self.t[np.argmax(off > distance)])

    def _run(self, torques: Torques, times: np.ndarray) -> np.ndarray:
        """Integrate from the start of the step, with the method and tolerances of ReDySim's example."""

        def rates(t: float, state: np.ndarray) -> np.ndarray:
            q, qd = state[:12], state[12:]
            return np.concatenate([qd, self.dynamics.forward(q, qd, torques(t, q, qd))])

        start = np.concatenate([self.q[:, 0], self.qd[:, 0]])
        return solve_ivp(rates, (0, times[-1]), start, t_eval=times, rtol=1e-4, atol=1e-6).y
