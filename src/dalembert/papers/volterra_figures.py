"""The figures of papers/volterra: drifts, coordinates beside the published samples, and the mechanisms in motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dalembert.api.trajectory import Trajectory
from dalembert.papers.mechanism import Placed, box, placed
from dalembert.papers.printed_facts import published
from dalembert.papers.printed_values import Frame, Line, Panel, Stroke

LABELS = {
    "lagrange": "Lagrange",
    "maggi": "Maggi",
    "gibbs_appell": "Gibbs–Appell",
    "volterra_reduced": "reduced Volterra",
}
_SHOTS = {"cart-pendulum": 0.16 * np.arange(9), "three-bodies": 5.0 * np.arange(9)}  # moments of Figures 6 and 11


# Figures 2–4, 8, 9, 13 and 14


def drift(title: str, of_run: Callable[[Trajectory], np.ndarray], runs: Mapping[str, Trajectory]) -> list[Panel]:
    """The largest error so far of each method, in per cent."""
    lines = [Line(LABELS[key], run.t, np.maximum.accumulate(100 * of_run(run))) for key, run in runs.items()]
    return [Panel(f"{title}, largest so far [%]", tuple(lines), log=True)]


def energy(run: Trajectory) -> np.ndarray:
    """|E − E₀|/|E₀|; with loads E is the balance (80)."""
    return np.abs(run.balance / run.balance[0] - 1)


def constraint(run: Trajectory) -> np.ndarray:
    """The violation of (69)."""
    return np.abs(run.violation[-1])


def momentum(run: Trajectory) -> np.ndarray:
    """|p − p₀|/|p₀| of the first ignorable coordinate."""
    p = run.momenta[run.ignorable[0]]
    return np.abs(p / p[0] - 1)


# Figures 5, 10 and 15


def coordinates(case: str, runs: Mapping[str, Trajectory]) -> list[Panel]:
    """The coordinates by the reduced equations, and the samples of the authors' result file."""
    run = runs["volterra_reduced"]
    rows = np.array(published("volterra")["cases"][case]["volterra_reduced"]["time_and_state"]).T
    panels = []
    for c, ours, theirs in zip(run.model.generalized_coordinates, run.q, rows[1:], strict=False):
        curve, dots = Line("computed", run.t, ours), Line("published", rows[0], theirs, points=True)
        panels.append(Panel(f"{_LETTERS.get(c.name, c.name)} [{c.unit}]", (curve, dots)))
    return panels


_LETTERS = {
    "theta1": "θ₁",
    "theta2": "θ₂",
    "psi": "ψ",
    "theta": "θ",
    "phi": "φ",
    "gamma1": "γ₁",
    "gamma2": "γ₂",
    "rho": "ρ",
}


# Figures 6 and 11


def snapshots(case: str, run: Trajectory) -> list[Frame]:
    """The mechanism at several moments."""
    draw = {"cart-pendulum": cart, "three-bodies": panels}[case]
    at = np.searchsorted(run.t, _SHOTS[case] - 1e-9)
    return [Frame(f"t = {run.t[k]:.4g} s", tuple(draw(placed(run.model, run.q[:, k])))) for k in at]


# Figures 1, 7 and 12


def sketch(case: str) -> list[Frame]:
    """The mechanism in a configuration in which everything is seen, with the names of its points."""
    q = {
        "cart-pendulum": (0.5, 1.1, 0.0),
        "three-bodies": (0, 0, 0, 0.7, 0.5, 0, 0, 0),
        "satellite-boom": (0, 0, 0, 1.5, 0, 0, 0),
    }[case]
    draw = {"cart-pendulum": cart, "three-bodies": panels, "satellite-boom": boom}[case]
    return [Frame("", tuple(draw(placed(case, q), named=True)))]


def cart(at: Placed, *, named: bool = False) -> list[Stroke]:
    """The cart on its track, with the mast that carries the hinge A, the rods AB and BC, and the wheel at C."""
    length = at.model.parameter_values["l"]
    names = ("A", "B", "C") if named else ("", "", "")
    ends = [(0, 0, 0), (0, -length, 0)]
    a, b = at.points("rod1", ends)[:, :2]
    c = at.points("rod2", ends)[1, :2]
    bottom = a[1] - 2.7 * length
    bed = np.array([(-0.9, 0), (0.9, 0), (0.9, 0.35), (-0.9, 0.35)]) * length + (a[0], bottom)
    ground = np.array([(a[0] - 2.6 * length, bottom), (a[0] + 2.6 * length, bottom)])
    mast = np.array([(a[0], bottom + 0.35 * length), a])
    wheel = np.array([c - 0.16 * (c - b), c + 0.16 * (c - b)])  # seen from its edge, along BC
    return [
        Stroke(ground, thin=True),
        Stroke(bed, closed=True, colour=5),
        Stroke(mast, thin=True, label=names[0]),
        Stroke(np.array([a, b]), colour=0, joint=True, label=names[1]),
        Stroke(np.array([b, c]), colour=1, joint=True, label=names[2]),
        Stroke(wheel, colour=6),
    ]


def panels(at: Placed, *, named: bool = False) -> list[Stroke]:
    """The middle body with its two panels."""
    p = at.model.parameter_values
    body = [Stroke(at.points("middle", face), closed=True) for face in box((p["b"] / 2, p["a"] / 2, p["c"] / 2))]
    plate = [(0, 0, p["c"] / 2), (0, 0, -p["c"] / 2), (-p["b"], 0, -p["c"] / 2), (-p["b"], 0, p["c"] / 2)]
    doors = [
        Stroke(at.points(name, plate), closed=True, colour=k, label=word if named else "")
        for name, k, word in (("panel1", 1, "panel 1, γ₁"), ("panel2", 2, "panel 2, γ₂"))
    ]
    return [*body, *doors, *(_axes(at, "middle", 1.8) if named else [])]


def boom(at: Placed, *, named: bool = False) -> list[Stroke]:
    """The satellite, the boom and the mass at its tip."""
    edge = at.model.parameter_values["l"]
    body = [Stroke(at.points("satellite", face), closed=True) for face in box([edge / 2] * 3)]
    root = at.points("satellite", [(0, 0, edge / 2)])
    tip = at.points("tip", [(0, 0, 0)])
    rod = Stroke(np.concatenate([root, tip]), colour=1, joint=True, label="m" if named else "")
    return [*body, rod, *(_axes(at, "satellite", 2.2) if named else [])]


def _axes(at: Placed, body: str, length: float) -> list[Stroke]:
    ends = zip("xyz", length * np.eye(3), strict=True)
    return [Stroke(at.points(body, [(0, 0, 0), end]), thin=True, label=name) for name, end in ends]
