"""Reproduction of papers/denoc: its equations as identities, its examples, and Figures 4–6 and 11–20.

The paper has no numbered tables; its printed values are listed by section. ReDySim, by the same authors, prints more digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial

import numpy as np

import dalembert as dl
from dalembert.api.dynamics import Dynamics
from dalembert.mechanics.motion import move_symbols
from dalembert.model.description import Elements
from dalembert.papers import denoc_figures as figures
from dalembert.papers.denoc_figures import DesignedStep
from dalembert.papers.denoc_links import Links, ReverseElimination, links_of
from dalembert.papers.mechanism import derivative, evaluate_motion, pose_bodies, relative_difference
from dalembert.papers.printed_values import ClaimResult, Computed, Picture, Recipe, keyed_rows, printed
from dalembert.papers.table_cells import Cell, Entry
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.rotations import Pose
from dalembert.symbolic.symengine_algebra import SYMBOLIC

SERIAL = ("stanford-arm", "kuka-kr5")
LEFT = np.radians(0.5)  # a larger deviation means that a joint has left the design
_STATES = 5


def recipe() -> Recipe:
    """Return the functions that compute the tables and figures; the step of the biped is shared."""
    step = cache(DesignedStep)
    tables: dict[str, Callable[[], Computed]] = {
        "Sizes": _sizes,
        "Section 2": partial(_identities, "Section 2", SERIAL, _serial_errors),
        "Section 2.8": _stanford,
        "DH parameters": _rows_of_dh,
        "Section 3": partial(_identities, "Section 3", ("biped",), _tree_errors),
        "Section 3.5": lambda: _biped(step()),
        "Section 4": _jacobian,
        "Section 4.1": _four_bar,
        "KUKA KR5": _kuka,
    }
    claims = {
        "linear-forward-dynamics": _linear_cost,
        "fewest-operations": _fewest_operations,
        "joints-of-several-axes": _gain_of_axes,
    }
    return Recipe(tables, _figures(step), claims)


def _linear_cost() -> ClaimResult:
    """Check that the operations of the recursion are linear in the degrees of freedom: second differences vanish."""
    found = [figures.costs((1,), n)["forward"] for n in figures.SIZES]
    bend = max(abs(c - 2 * b + a) for a, b, c in zip(found, found[1:], found[2:], strict=False)) / (found[1] - found[0])
    sizes = ", ".join(f"n = {n}: {count}" for n, count in zip(figures.SIZES, found, strict=True))
    return ClaimResult(bend < 0.02, f"operations {sizes}; the increments differ by {100 * bend:.1f} %.")


def _gains() -> dict[str, list[float]]:
    """Return the ratio of operations with I and Cholesky to the recursion, by kind of chain and size."""
    found: dict[str, list[float]] = {}
    for letter, joints in figures.JOINTS.items():
        counts = [figures.forward_counts(joints, n).values() for n in figures.SIZES]
        found[letter] = [composite / recursion for recursion, composite in counts]
    return found


def _fewest_operations() -> ClaimResult:
    """Compare with I of composite bodies and Cholesky factorization, the only alternative computed here."""
    gains = _gains()
    values = "; ".join(f"({letter}) {', '.join(f'{gain:.2f}' for gain in of)}" for letter, of in gains.items())
    sizes = ", ".join(map(str, figures.SIZES))
    words = f"ratio of operations, composite bodies with Cholesky to recursion, n = {sizes}: {values}."
    return ClaimResult(
        min(map(min, gains.values())) > 1, f"{words} Other algorithms of the literature are not computed here."
    )


def _gain_of_axes() -> ClaimResult:
    """Compare the gain of the recursion for joints of 1, 2 and 3 axes at the largest size."""
    last = {letter: of[-1] for letter, of in _gains().items()}
    values = ", ".join(f"{count} axes {last[letter]:.2f}" for letter, count in (("a", 1), ("b", 2), ("c", 3)))
    return ClaimResult(
        last["a"] < last["b"] < last["c"], f"gain over composite bodies, n = {figures.SIZES[-1]}: {values}."
    )


def _figures(step: Callable[[], DesignedStep]) -> Mapping[str, Callable[[], Picture]]:
    pictures: dict[str, Callable[[], Picture]] = {
        "4": figures.stanford,
        "5": figures.stanford_torques,
        "6": figures.stanford_fall,
        "16": figures.four_bar,
        "17": figures.four_bar_driven,
        "18": figures.four_bar_fall,
        "19": partial(figures.counts, figures.inverse_counts),
        "20": partial(figures.counts, figures.forward_counts),
        "KUKA KR5": figures.kuka,
    }
    of_step = {
        "11": figures.walking,
        "12": figures.designed_paths,
        "13": figures.designed_joints,
        "14": figures.designed_torques,
        "15": figures.left_design,
    }
    return pictures | {number: lambda draw=draw: draw(step()) for number, draw in of_step.items()}


# sizes


def _sizes() -> Computed:
    """Compute the shapes of the matrices, as formulas in n if two chains agree, and those of the loop of Figure 16."""
    names = dict(zip(printed("denoc").tables["Sizes"].rows, ("N_l", "N_d", "N", "I"), strict=False))
    blocks = [dl.derive(model, "denoc").blocks for model in ("two-link-robot", "robot-3-link")]
    side = {(2, 3): "n", (12, 18): "6n"}
    found: dict[str, list[str]] = {}
    for row, key in names.items():
        sides = zip(*(each[key].entries.shape for each in blocks), strict=True)
        found[row] = [" × ".join(side.get(both, str(both)) for both in sides)]
    return found | dict(zip(list(printed("denoc").tables["Sizes"].rows)[4:], _loop_sizes(), strict=True))


def _loop_sizes() -> list[list[str]]:
    """Return the sizes of J of the four-bar linkage, and of N and A_en of its two chains, with independent rows only."""
    N = np.array(dl.derive("four-bar", "denoc").blocks["N"].value, dtype=object)
    rows = len(dl.mobility("four-bar").independent)
    links, found = np.arange(len(N)) // 6, [[f"{rows} × {N.shape[1]}"]]
    chains = ([0], [1, 2])  # the joints of I and II
    sizes = [(6 * len({*links[(N[:, joints] != 0).any(axis=1)]}), len(joints)) for joints in chains]
    found += [[f"{tall} × {wide}"] for tall, wide in sizes]
    return found + [[f"{rows} × {tall}"] for tall, _ in sizes]


# sections 2 and 3 as identities


def _identities(number: str, models: tuple[str, ...], errors: Callable[..., list[float]]) -> Computed:
    """Compute the largest relative difference of the two sides at random states, by model."""
    random, columns = np.random.default_rng(2013), []
    for name in models:
        model = figures.without_drives(name)
        dynamics = dl.dynamics(model)
        states = random.uniform(-1, 1, (_STATES, 3, len(model.coordinate_names)))
        columns.append(np.max([errors(model, dynamics, *state) for state in states], axis=0).tolist())
    return keyed_rows("denoc", number, zip(*columns, strict=True))


def _serial_errors(model: Elements, dynamics: Dynamics, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[float]:
    links = links_of(model, q, qd)
    tau, w = dynamics.inverse(q, qd, qdd), links.wrenches(qdd)
    factors, n = ReverseElimination.of(links), links.n
    tau_hat = factors.first(tau - links.torques(links.wrenches(0 * qdd)))  # φ of (27) including gravity
    found = factors.last(tau_hat / factors.m_hat)  # (32), (33)
    chains = [(i, j, k) for i in range(n) for j in range(i + 1) for k in range(j + 1)]
    return [
        max(relative_difference(links.B(i, j) @ links.B(j, k), links.B(i, k)) for i, j, k in chains),
        relative_difference(links.t, _velocities(model, links, q, qd)),
        relative_difference(
            links.twist_rates(qdd, weight=False),
            derivative(lambda x: links_of(model, q + x * qd + x * x / 2 * qdd, qd + x * qdd).t),
        ),
        relative_difference(links.inertia, dynamics.mass_matrix(q)),
        relative_difference(links.torques(w, as_printed=True), tau),
        relative_difference(links.torques(w), tau),
        relative_difference(factors.U @ np.diag(factors.m_hat) @ factors.U.T, links.inertia),
        relative_difference(factors.U.T @ tau_hat, tau_hat / factors.m_hat),
        relative_difference(factors.U.T @ found, tau_hat / factors.m_hat),
        relative_difference(found, dynamics.forward(q, qd, tau)),
    ]


def _tree_errors(model: Elements, dynamics: Dynamics, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[float]:
    links = links_of(model, q, qd, at_joints=True)
    tau, w = dynamics.inverse(q, qd, qdd), links.wrenches(qdd)
    misprinted = w.copy()  # (46b) with v_k instead of v̇_k
    misprinted[:, 3:] += links.m[:, None] * (links.t - links.twist_rates(qdd))[:, 3:]
    return [
        relative_difference(links.t, _velocities(model, links, q, qd)),
        relative_difference(links.torques(misprinted), tau),
        relative_difference(links.torques(w), tau),
        relative_difference(links.N.T @ w.ravel(), tau),
        relative_difference(links.inertia, dynamics.mass_matrix(q)),
    ]


def _velocities(model: Elements, links: Links, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Return ω and v (n, 6) of the points of the links, by the kinematics of the model."""
    out = np.zeros((links.n, 6))
    for i, body in enumerate(evaluate_motion(model, q).bodies):
        w = np.array(body.R_WB @ (body.D @ qd), dtype=float)
        out[i] = *w, *(np.array(body.B @ qd, dtype=float) + np.cross(w, links.P[i] - links.C[i]))
    return out


# examples


def _stanford() -> Computed:
    """Return the values of section 2.8 from the model."""
    model = dl.load("stanford-arm")
    start = model.initial[0]
    return {
        "links": [len(model.bodies)],
        "degrees of freedom": [dl.mobility(model).degrees_of_freedom],
        "θᵢ(0), i = 1, 2, 4, 5, 6 (rad)": [float(np.abs(np.delete(start, 2)).max())],
        "b₃(0) (m)": [float(start[2])],
        "T (s)": [model.parameter_values["T"]],
    }


def _rows_of_dh() -> Computed:
    """Return θ, d, a and α of each link from the frames, Rz(θ) Tz(d) Tx(a) Rx(α); a variable entry is named."""
    model = dl.load("stanford-arm")
    rest, moved = (_steps(pose_bodies(model, np.full(6, value)).poses.values()) for value in (0.0, 0.1))
    rows: list[list[Entry]] = [
        [here if np.isclose(here, there) else f"q{i}" for here, there in zip(*both, strict=True)]
        for i, both in enumerate(zip(rest, moved, strict=True), start=1)
    ]
    return keyed_rows("denoc", "DH parameters", rows)


def _steps(poses: Iterable[Pose]) -> list[list[float]]:
    """Return θ, d, a and α between the frames of successive bodies."""
    out, R, p = [], np.eye(3), np.zeros(3)
    for pose in poses:
        rotation, position = pose.rotation, pose.position
        relative, shift = R.T @ rotation, R.T @ (position - p)
        theta = np.arctan2(relative[1, 0], relative[0, 0])
        a, alpha = shift[:2] @ (np.cos(theta), np.sin(theta)), np.arctan2(relative[2, 1], relative[2, 2])
        out.append([float(x) for x in (theta, shift[2], a, alpha)])
        R, p = rotation, position
    return out


def _biped(step: DesignedStep) -> Computed:
    """Compute section 3.5: the foot on the ground is the seventh link."""
    return {
        "links": [1 + sum(body.mass != 0 for body in evaluate_motion(step.model, step.q[:, 0]).bodies)],
        "time until which the angles match (s)": [step.divergence_time(step.redysim_torques, LEFT)],
    }


def _four_bar() -> Computed:
    """Return the values of section 4.1 from the model."""
    values = dl.load("four-bar").parameter_values
    return keyed_rows("denoc", "Section 4.1", ([values[name]] for name in ("a", "c", "b", "d", "m1", "m2", "m3")))


def _jacobian() -> Computed:
    """Compute (52b) from the closure (51): with the angles of the two chains, and with angles along one chain."""
    import sympy as sp

    motion = move_symbols(dl.load("four-bar"), SYMBOLIC)
    ends = [motion.frame(body).point(vector([*SYMBOLIC.symbols([length]), 0, 0]))[1] for body, length in _ENDS]
    J = sp.Matrix((ends[0] - ends[1])[:2].tolist())  # of a₀ + a₁ − a₂ − a₃
    theta = sp.symbols("theta1:4")
    a1, a2, a3 = sp.symbols("a1:4")
    named = dict(zip(sp.symbols("q1:4 a c b"), (*theta, a1, a2, a3), strict=True))
    along = [theta[0], theta[0] + theta[1], sum(theta)]
    chain = [sum(a * f(x) for a, x in zip((a1, a2, -a3), along, strict=True)) for f in (sp.cos, sp.sin)]
    rows = [*(J.subs(named).row(i) for i in (0, 1)), *(sp.Matrix([x]).jacobian(theta) for x in chain)]
    short = {
        f(sum(theta[i:k])): sp.Symbol(letter + "123"[i:k])
        for f, letter in ((sp.sin, "s"), (sp.cos, "c"))
        for i, k in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3))
    }
    return keyed_rows("denoc", "Section 4", ([str(entry.subs(short)) for entry in row] for row in rows))


_ENDS = (("crank", "a"), ("coupler", "b"))  # the bodies connected by joint 4


def _kuka() -> Computed:
    """Count the torques printed by ReDySim that agree in every digit."""
    redysim, computed = figures.kuka_torques()
    small = 1e-13 * np.abs(redysim).max()  # rounding error where forces cancel
    same = [
        sum(abs(a - b) <= small or Cell("", "", f"{b:.6e}", float(a)).same for a, b in zip(ours, theirs, strict=True))
        for ours, theirs in zip(computed, redysim, strict=True)
    ]
    return keyed_rows("denoc", "KUKA KR5", ([count] for count in same))
