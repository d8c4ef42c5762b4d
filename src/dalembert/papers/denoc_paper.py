"""Reproduction of papers/denoc: its equations as identities, its examples, and Figures 4–6 and 11–20.

The paper has no numbered tables; its printed values are listed by section. ReDySim, by the same authors, prints more digits.

World axes throughout. The twist t = (ω, v) of a link refers to a point P: its mass center C in section 2, the origin O of its
joint in section 3. B_ij of (5) and A_ij of (36b) are then the same formula, and so are the two forms of p_i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

import dalembert as dl
from dalembert.api.dynamics import Dynamics
from dalembert.mechanics.motion import move_symbols
from dalembert.model.description import Elements
from dalembert.papers import denoc_figures as figures
from dalembert.papers.denoc_figures import DesignedStep
from dalembert.papers.page import derivative, evaluate_motion, pose_bodies, relative_difference
from dalembert.papers.printed_values import ClaimResult, Computed, Picture, Recipe, keyed_rows, printed
from dalembert.papers.table_cells import Cell, Entry
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.rotations import Pose
from dalembert.symbolic.symengine_algebra import SYMBOLIC


@dataclass(frozen=True)
class Links:
    """Links of a tree with one single-degree-of-freedom joint each, at a state (θ, θ̇)."""

    parents: tuple[int, ...]  # −1 for the ground
    is_revolute: tuple[bool, ...]  # True: revolute, False: prismatic
    e: np.ndarray  # (n, 3) axes
    origins: np.ndarray  # (n, 3) O of the joints
    C: np.ndarray  # (n, 3) mass centers
    P: np.ndarray  # (n, 3) reference points of the twists: C or O
    m: np.ndarray
    I_C: np.ndarray  # (n, 3, 3) about the mass centers
    g: np.ndarray
    qd: np.ndarray

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.parents)

    def ancestors(self, i: int) -> list[int]:
        """Return the link and its ancestors, the link first."""
        return [i, *self.ancestors(self.parents[i])] if i >= 0 else []

    def B(self, i: int, j: int) -> np.ndarray:
        """Twist propagation from link j to link i, (5) and (36b)."""
        return np.block([[np.eye(3), np.zeros((3, 3))], [cross(self.P[j] - self.P[i]), np.eye(3)]])

    def p(self, i: int) -> np.ndarray:
        """Joint-rate propagation: (5), (7) and (36b)."""
        e = self.e[i]
        return np.concatenate(
            [e, np.cross(e, self.P[i] - self.origins[i])] if self.is_revolute[i] else [np.zeros(3), e]
        )

    @cached_property
    def N_l(self) -> np.ndarray:
        """(9b), (44)."""
        N = np.zeros((6 * self.n, 6 * self.n))
        for i in range(self.n):
            for j in self.ancestors(i):
                N[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = self.B(i, j)
        return N

    @cached_property
    def N_d(self) -> np.ndarray:
        """(9b), (45)."""
        N = np.zeros((6 * self.n, self.n))
        for i in range(self.n):
            N[6 * i : 6 * i + 6, i] = self.p(i)
        return N

    @property
    def N(self) -> np.ndarray:
        """(9a)."""
        return self.N_l @ self.N_d

    @property
    def t(self) -> np.ndarray:
        """The twists (n, 6)."""
        return (self.N @ self.qd).reshape(-1, 6)  # (9a), (43)

    @cached_property
    def M(self) -> np.ndarray:
        """The mass matrices (n, 6, 6): (2) at C, (47b) at O."""
        out = np.zeros((self.n, 6, 6))
        for i, (m, d) in enumerate(zip(self.m, self.C - self.P, strict=True)):
            out[i, :3, :3] = self.I_C[i] - m * cross(d) @ cross(d)
            out[i, :3, 3:], out[i, 3:, :3], out[i, 3:, 3:] = m * cross(d), -m * cross(d), m * np.eye(3)
        return out

    def twist_rates(self, qdd: np.ndarray, *, weight: bool = True) -> np.ndarray:
        """ṫ (n, 6) by (23); with `weight` the ground accelerates by −g, (26)."""
        t, out = self.t, np.zeros((self.n, 6))
        ground = np.concatenate([np.zeros(3), -self.g if weight else np.zeros(3)])
        for i, j in enumerate(self.parents):
            w, v, e = t[i, :3], t[i, 3:], self.e[i]
            e_dot = np.cross(t[j, :3], e) if j >= 0 else np.zeros(3)
            if self.is_revolute[i]:
                hinge = t[j, 3:] + np.cross(t[j, :3], self.origins[i] - self.P[j]) if j >= 0 else np.zeros(3)
                p_dot = np.concatenate([e_dot, np.cross(e_dot, self.P[i] - self.origins[i]) + np.cross(e, v - hinge)])
            else:
                p_dot = np.concatenate([np.zeros(3), np.cross(w, e)])
            out[i] = self.p(i) * qdd[i] + p_dot * self.qd[i]
            if j < 0:
                out[i] += ground
            else:
                out[i] += self.B(i, j) @ out[j]
                out[i, 3:] += np.cross(t[j, 3:] - v, t[j, :3])  # Ḃ_ij t_j: the rate of c_ij is v_j − v_i
        return out

    def wrenches(self, qdd: np.ndarray) -> np.ndarray:
        """w (n, 6) by M ṫ + Ω M E t of (47a); at C this is (12) and (24)."""
        t_dot, out = self.twist_rates(qdd), np.zeros((self.n, 6))
        for i, t in enumerate(self.t):
            spin = self.M[i] @ np.concatenate([t[:3], np.zeros(3)])  # M E t
            gyroscopic = np.concatenate([np.cross(t[:3], spin[:3]), np.cross(t[:3], spin[3:])])  # Ω M E t
            out[i] = self.M[i] @ t_dot[i] + gyroscopic
        return out

    def torques(self, w: np.ndarray, *, as_printed: bool = False) -> np.ndarray:
        """Return τ by the backward recursion (25); with `as_printed` without w_i."""
        total = w.copy()
        for i in reversed(range(self.n)):
            if as_printed and any(self.parents[k] == i for k in range(self.n)):
                total[i] -= w[i]
            if self.parents[i] >= 0:
                total[self.parents[i]] += self.B(i, self.parents[i]).T @ total[i]
        return np.array([self.p(i) @ total[i] for i in range(self.n)])

    @cached_property
    def composite(self) -> np.ndarray:
        """M̃ (n, 6, 6) of composite bodies (20)."""
        out = self.M.copy()
        for i, j in reversed(list(enumerate(self.parents))):
            if j >= 0:
                out[j] += self.B(i, j).T @ out[i] @ self.B(i, j)
        return out

    @property
    def inertia(self) -> np.ndarray:
        """The generalized inertia matrix by its entries (21)."""
        out = np.zeros((self.n, self.n))
        for i in range(self.n):
            for j in self.ancestors(i):
                out[i, j] = out[j, i] = self.p(i) @ self.composite[i] @ self.B(i, j) @ self.p(j)
        return out


@dataclass(frozen=True)
class ReverseElimination:
    """2.7: Reverse Gaussian elimination of a serial chain, link by link."""

    links: Links
    psi: np.ndarray  # (n, 6)
    m_hat: np.ndarray

    @classmethod
    def of(cls, links: Links) -> ReverseElimination:
        """ψ and m̂ of articulated bodies, (30) and (31)."""
        M_hat, psi, m_hat = links.M.copy(), np.zeros((links.n, 6)), np.zeros(links.n)
        for i in reversed(range(links.n)):
            psi_hat = M_hat[i] @ links.p(i)
            m_hat[i] = links.p(i) @ psi_hat
            psi[i] = psi_hat / m_hat[i]
            if i:
                M_bar = M_hat[i] - np.outer(psi_hat, psi[i])
                M_hat[i - 1] += links.B(i, i - 1).T @ M_bar @ links.B(i, i - 1)
        return cls(links, psi, m_hat)

    @property
    def U(self) -> np.ndarray:
        """The upper triangular factor of I = U D Uᵀ (27)."""
        out = np.eye(self.links.n)
        for j in range(self.links.n):
            for i in range(j):
                out[i, j] = self.links.p(i) @ self.links.B(j, i).T @ self.psi[j]
        return out

    def first(self, phi: np.ndarray) -> np.ndarray:
        """τ̂ of step 1, (28) and (29)."""
        out, eta = phi.copy(), np.zeros(6)
        for i in reversed(range(self.links.n)):
            out[i] -= self.links.p(i) @ eta
            eta = out[i] * self.psi[i] + eta
            eta = self.links.B(i, i - 1).T @ eta if i else eta
        return out

    def last(self, tau_tilde: np.ndarray) -> np.ndarray:
        """θ̈ of step 3, (33)."""
        out, mu = tau_tilde.copy(), np.zeros(6)
        for i in range(self.links.n):
            mu = self.links.B(i, i - 1) @ mu if i else mu
            out[i] -= self.psi[i] @ mu
            mu = self.links.p(i) * out[i] + mu
        return out


def links_of(model: Elements, q: np.ndarray, qd: np.ndarray, *, at_joints: bool = False) -> Links:
    """Return the links of a model at a state: twists at the mass centers, or at the joint origins.

    >>> import dalembert as dl
    >>> links_of(dl.load("kuka-kr5"), np.zeros(6), np.ones(6)).N.shape
    (36, 6)
    """
    here = evaluate_motion(model, q)
    bodies = here.bodies
    names = [body.name for body in bodies]
    parents = tuple(names.index(body.parent) if body.parent in names else -1 for body in model.bodies)
    origins, C = _array([body.p_WJ for body in bodies]), _array([body.p_WG for body in bodies])
    about = [_array(body.R_WB) @ _array(body.D[:, i]) for i, body in enumerate(bodies)]
    is_revolute = tuple(bool(np.any(axis)) for axis in about)
    axes = [
        axis if revolute else _array(bodies[i].B[:, i])
        for i, (axis, revolute) in enumerate(zip(about, is_revolute, strict=True))
    ]
    inertias = [_array(body.R_WB) @ _array(body.inertia) @ _array(body.R_WB).T for body in bodies]
    return Links(
        parents,
        is_revolute,
        np.array(axes),
        origins,
        C,
        origins if at_joints else C,
        _array([body.mass for body in bodies]),
        np.array(inertias),
        _array([here.lower(x) for x in here.model.gravity]),
        qd,
    )


def cross(a: np.ndarray) -> np.ndarray:
    """a × 1, below (2).

    >>> cross(np.array([1, 0, 0])) @ np.array([0, 1, 0])
    array([0, 0, 1])
    """
    return np.cross(np.eye(3, dtype=a.dtype), a)


def _array(entries: object) -> np.ndarray:
    return np.array(entries, dtype=float)


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
