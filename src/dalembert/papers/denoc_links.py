"""Sections 2 and 3 of papers/denoc as printed, evaluated at one state: matrices, recursions, Newton–Euler equations.

World axes throughout. The twist t = (ω, v) of a link refers to a point P: its mass center C in section 2, the origin O of its
joint in section 3. B_ij of (5) and A_ij of (36b) are then the same formula, and so are the two forms of p_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.model.description import Elements
from dalembert.papers.mechanism import evaluate_motion


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
