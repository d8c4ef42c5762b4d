"""The decoupled natural orthogonal complement as matrices: N = N_l N_d and derived quantities, over any algebra.

Everything is in world axes, as printed in papers/denoc, so that propagation depends only on lever arms. The links of a
serial chain refer to their mass centers, (2)–(9); those of a tree to their joint origins, (36)–(48).

    t_i = B_ij t_j + p_i θ̇_i          (4), (36a)      B_ij = [1 0; c_ij× 1],  c_ij from point i to point j
    t = N θ̇,  N = N_l N_d             (9), (43)
    M̃_i = M_i + Σ B_kiᵀ M̃_k B_ki      (20)            composite: the subtree of link i as one rigid body
    M̂_i = M_i + Σ B_kiᵀ M̄_k B_ki      (31)            articulated: the subtree with free joints
    I = U D Uᵀ                        (27)            u_ij = p_iᵀ B_jiᵀ ψ_j, d_i = m̂_i

These matrices are for display and numerical checks. The fast algorithms are the recursions in link axes in this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import symengine as se

from dalembert.mechanics.constraint_levels import loop_rows
from dalembert.mechanics.system import System
from dalembert.model.elements import Body
from dalembert.recursive.joint_speeds import to_speed_forces, to_speed_rates, to_speeds
from dalembert.recursive.link_states import Moving, moving
from dalembert.recursive.point_jacobians import link_poses
from dalembert.recursive.tree import Tree, tree_of
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, matrix, stack, vector, zeros
from dalembert.symbolic.elimination import ldl, ldl_solve
from dalembert.symbolic.rotations import cross, skew

Simplify = Callable[[Array], Array]  # simplifies a value


@dataclass(frozen=True)
class WorldLink:
    """A link in world axes with all bodies fixed to it, its twist taken at `point`."""

    name: str
    parent: int
    bodies: tuple[str, ...]
    speeds: tuple[int, ...]
    point: Array  # its mass center C_i or joint origin O_i
    p: Array  # joint-rate propagation for its own speeds, 6×k: (5), (7), (36b)
    drift: Array  # contribution of explicit time dependence to its twist
    M: Array  # its mass matrix about the point: (2), (47b)


@dataclass(frozen=True)
class MovingGroup:
    """A moving link and the links fixed to it: indices of the links of the tree, which has one for every joint."""

    home: int
    parent: int  # among the nodes
    fixed: tuple[int, ...]  # the home itself first
    bodies: tuple[str, ...]


@dataclass(frozen=True)
class Complement:
    """The links of a model in world axes, and the matrices of papers/denoc."""

    moving: Moving
    shape: tuple[MovingGroup, ...]
    centered: bool  # about mass centers, as (2)–(9); else about joint origins, as (36)–(48)
    simplify: Simplify

    @property
    def algebra(self) -> Algebra:
        """The algebra of the entries."""
        return self.moving.algebra

    @property
    def tree(self) -> Tree:
        """The tree, with a link for every joint."""
        return self.moving.tree

    @cached_property
    def links(self) -> tuple[WorldLink, ...]:
        """The links in their current poses."""
        frames = link_poses(self.moving, self.simplify)
        return tuple(_world_link(self.moving, frames, node, self.centered, self.simplify) for node in self.shape)

    @cached_property
    def rotors(self) -> Array:
        """The contribution of rotors to the inertia matrix."""
        out = zeros(self.n, self.n)
        for node in self.shape:
            link = self.moving.links[node.home]
            for motion, formula in self.tree.links[node.home].rotors:
                row = link.G[motion]
                weighted = self.moving.lower(formula) * row
                out[np.ix_(link.speeds, link.speeds)] += np.multiply.outer(row, weighted)
        return out

    @property
    def n(self) -> int:
        """The number of joint rates θ̇."""
        return self.tree.n_speeds

    def path(self, i: int) -> Iterator[int]:
        """Link i, its parent, and so on to the world."""
        while i >= 0:
            yield i
            i = self.links[i].parent

    def B(self, i: int, j: int) -> Array:
        """The twist propagation from link j to link i: (5), (36b)."""
        out = identity(6)
        out[3:, :3] = skew(self.links[j].point - self.links[i].point)
        return out

    @property
    def p(self) -> Array:
        """The joint-rate propagation of all links, as adjacent columns: (5), (7), (36b)."""
        return np.concatenate([link.p for link in self.links], axis=1)

    @property
    def propagation(self) -> Array:
        """B of (1 − B) t = N_d θ̇: (8b), with the propagation from every parent."""
        return self._below(self.B, parents=True)

    @cached_property
    def N_l(self) -> Array:
        """Propagates twists outward: (9b), (44)."""
        return identity(6 * len(self.links)) + self._below(self.B)

    @cached_property
    def N_d(self) -> Array:
        """Maps every joint rate to the twist of its link: (9b), (45)."""
        out = zeros(6 * len(self.links), self.n)
        for i, link in enumerate(self.links):
            out[np.ix_(_six(i), link.speeds)] = link.p
        return out

    @cached_property
    def rows(self) -> list[Array]:
        """The rows of N link by link, 6×n each: N_i = B_ij N_j + N_d,i."""
        out: list[Array] = []
        for i, link in enumerate(self.links):
            own = zeros(6, self.n)
            own[:, list(link.speeds)] = link.p
            out.append(own if link.parent < 0 else self.simplify(self.B(i, link.parent) @ out[link.parent] + own))
        return out

    @property
    def N(self) -> Array:
        """N = N_l N_d: (9a), (43)."""
        return np.concatenate(self.rows)

    def twists(self, rates: Array) -> list[Array]:
        """t_i at the joint rates, including explicit time dependence: (22)."""
        out: list[Array] = []
        for i, link in enumerate(self.links):
            own = link.p @ rates[list(link.speeds)] + link.drift
            out.append(own if link.parent < 0 else self.B(i, link.parent) @ out[link.parent] + own)
        return out

    @cached_property
    def composites(self) -> list[Array]:
        """M̃_i: (20)."""
        out = [link.M for link in self.links]
        for i in reversed(range(len(out))):
            if (j := self.links[i].parent) >= 0:
                out[j] = self.simplify(out[j] + self.B(i, j).T @ out[i] @ self.B(i, j))
        return out

    @property
    def M_tilde(self) -> Array:
        """M̃ = N_lᵀ M N_l: (19)."""
        out = self._below(lambda i, j: self.composites[i] @ self.B(i, j))
        out = out + out.T
        for i, composite in enumerate(self.composites):
            out[np.ix_(_six(i), _six(i))] = composite
        return out

    @cached_property
    def inertia(self) -> Array:
        """The generalized inertia matrix, i_ij = p_iᵀ M̃_i B_ij p_j: (18), (21)."""
        out = np.array(self.rotors, dtype=object)
        for i, link in enumerate(self.links):
            for j in self.path(i):
                block = link.p.T @ self.composites[i] @ self.B(i, j) @ self.links[j].p
                out[np.ix_(link.speeds, self.links[j].speeds)] += block
                if i != j:
                    out[np.ix_(self.links[j].speeds, link.speeds)] += block.T
        return self.simplify(out)

    def convective(self, N_dot: Array, rates: Array) -> Array:
        """C = Nᵀ(M Ṅ + W M N) about mass centers, Nᵀ(M Ṅ + Ω M E N) about joint origins: (17), (47), (48)."""
        out = zeros(self.n, self.n)
        for i, (N, t) in enumerate(zip(self.rows, self.twists(rates), strict=True)):
            out = out + N.T @ (self.links[i].M @ N_dot[_six(i)] + self.gyroscopic(i, t[:3]) @ N)
        return out

    def gyroscopic(self, i: int, w: Array) -> Array:
        """W M of (12) for a link about its mass center, Ω M E of (47a) about its joint origin; w is its angular velocity."""
        M, w_cross, out = self.links[i].M, skew(w), zeros(6, 6)
        out[:3, :3] = w_cross @ M[:3, :3]
        if not self.centered:
            out[3:, :3] = w_cross @ M[3:, :3]
        return out

    @cached_property
    def articulated(self) -> list[ArticulatedLink]:
        """M̂_i and derived quantities, from the tips to the world: (30), (31). Each speed must move one link only."""
        inertias, out = [link.M for link in self.links], list[ArticulatedLink]()
        for i in reversed(range(len(self.links))):
            out.append(self.articulate(i, inertias[i]))
            if (j := self.links[i].parent) >= 0:
                inertias[j] = self.simplify(inertias[j] + self.B(i, j).T @ out[-1].M_bar @ self.B(i, j))
        return out[::-1]

    def articulate(self, i: int, M_hat: Array) -> ArticulatedLink:
        """ψ̂_i, m̂_i, ψ_i (30) and M̄_i (31) of an articulated mass matrix."""
        link = self.links[i]
        psi_hat = self.simplify(M_hat @ link.p)
        if not link.speeds:
            return ArticulatedLink(M_hat, psi_hat, zeros(0, 0), psi_hat, M_hat)
        m_hat = self.simplify(link.p.T @ psi_hat + self.rotors[np.ix_(link.speeds, link.speeds)])
        psi = self.simplify(ldl_solve(self.algebra, m_hat, psi_hat.T).T)
        return ArticulatedLink(M_hat, psi_hat, m_hat, psi, self.simplify(M_hat - psi_hat @ psi.T))

    @cached_property
    def U(self) -> Array:
        """U of I = U D Uᵀ, u_ij = p_iᵀ B_jiᵀ ψ_j: the terms subtracted in (28), (29)."""
        return self._factors[0]

    @cached_property
    def D(self) -> Array:
        """D of I = U D Uᵀ, with the m̂_i of (30) along its diagonal."""
        return self._factors[1]

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        if not self.tree.decoupled:
            U, D = reverse_elimination(self.algebra, self.inertia)
            return self.simplify(U), self.simplify(D)
        U, D = identity(self.n), zeros(self.n, self.n)
        for j, (link, body) in enumerate(zip(self.links, self.articulated, strict=True)):
            D[np.ix_(link.speeds, link.speeds)] = body.m_hat
            for i in self.path(link.parent):
                above = self.links[i]
                U[np.ix_(above.speeds, link.speeds)] = self.simplify(above.p.T @ self.B(j, i).T @ body.psi)
        return U, D

    @property
    def inverse(self) -> Array:
        """I⁻¹ = U⁻ᵀ D⁻¹ U⁻¹: the steps (28), (32), (33) for unit forces."""
        order = self._outwards
        V = zeros(self.n, self.n)  # U⁻¹
        for k in reversed(order):
            row = identity(self.n)[k]
            for later in order[order.index(k) + 1 :]:
                if not self.algebra.is_zero(self.U[k, later]):
                    row = row - self.U[k, later] * V[later]
            V[k] = self.simplify(row)
        return V.T @ ldl_solve(self.algebra, self.D, V)

    @property
    def _outwards(self) -> list[int]:
        """The speeds in an order in which U is upper triangular: those of a parent come first."""
        if not self.tree.decoupled:
            return list(range(self.n))
        return list(dict.fromkeys(speed for link in self.links for speed in link.speeds))

    def _below(self, block: Callable[[int, int], Array], *, parents: bool = False) -> Array:
        """Blocks at (i, j) for every link j between link i and the world, or for its parent only."""
        size = 6 * len(self.links)
        out = zeros(size, size)
        for i, link in enumerate(self.links):
            for j in [link.parent] * (link.parent >= 0) if parents else self.path(link.parent):
                out[np.ix_(_six(i), _six(j))] = block(i, j)
        return out


@dataclass(frozen=True)
class ArticulatedLink:
    """The articulated mass matrix of a link with its subtree, and the quantities of its own joint."""

    M_hat: Array
    psi_hat: Array
    m_hat: Array
    psi: Array
    M_bar: Array


def reverse_elimination(algebra: Algebra, M: Array) -> tuple[Array, Array]:
    """U and D of a symmetric M = U D Uᵀ, from the last row to the first.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> U, D = reverse_elimination(FLOATS, matrix([[5.0, 2.0], [2.0, 4.0]]))
    >>> U.tolist(), D.tolist()
    ([[1, 0.5], [0, 1]], [[4.0, 0], [0, 4.0]])
    """
    L, D = ldl(algebra, M[::-1, ::-1])
    diagonal = zeros(*M.shape)
    np.fill_diagonal(diagonal, D[::-1])
    return L[::-1, ::-1], diagonal


def _six(i: int) -> list[int]:
    """The rows of the twist of link i."""
    return list(range(6 * i, 6 * i + 6))


def complement_of(
    moving: Moving, *, centered: bool | None = None, simplify: Simplify = lambda value: value
) -> Complement:
    """The links in world axes: about mass centers if they form one serial chain, else about joint origins.

    Links without relative motion are merged. `simplify` may simplify intermediate values.
    """
    shape = nodes_of(moving.tree)
    parents = [node.parent for node in shape]
    about_centers = len(parents) == len(set(parents)) if centered is None else centered
    return Complement(moving, shape, about_centers, simplify)


def nodes_of(tree: Tree) -> tuple[MovingGroup, ...]:
    """The moving links, parents before children; links without relative motion are merged."""
    homes = list[int]()  # for each link the one whose joint moves it: itself, or the one it is fixed to; −1: world
    for i, link in enumerate(tree.links):
        homes.append(i if link.motions else homes[link.parent] if link.parent >= 0 else -1)
    indices = {home: k for k, home in enumerate(sorted({*homes} - {-1}))}
    out = []
    for home in indices:
        above, fixed = tree.links[home].parent, tuple(i for i, other in enumerate(homes) if other == home)
        parent = indices.get(homes[above], -1) if above >= 0 else -1
        bodies = tuple(body.name for i in fixed if (body := tree.links[i].body) is not None)
        out.append(MovingGroup(home, parent, fixed, bodies))
    return tuple(out)


def _world_link(
    moving: Moving, frames: list[tuple[Array, Array]], node: MovingGroup, about_centers: bool, simplify: Simplify
) -> WorldLink:
    link, tree_link, (R, origin) = moving.links[node.home], moving.tree.links[node.home], frames[node.home]
    bodies = [(body, frames[i]) for i in node.fixed if (body := moving.tree.links[i].body) is not None]
    masses = [_mass(moving, body, frame) for body, frame in bodies]
    point = _center(moving.algebra, masses, origin) if about_centers else origin
    arm = simplify(point - origin)
    P = np.concatenate([R @ link.about, R @ link.along - skew(arm) @ (R @ link.about)])  # (5), (36b)
    clock = zeros(0) if tree_link.value is None else vector([moving.lower(tree_link.value.drift)])  # ∂f/∂t
    M = zeros(6, 6)
    for mass, center, inertia in masses:
        lever = mass * skew(center - point)
        M[:3, :3] = M[:3, :3] + inertia + lever @ skew(center - point).T
        M[:3, 3:], M[3:, :3], M[3:, 3:] = M[:3, 3:] + lever, M[3:, :3] - lever, M[3:, 3:] + mass * identity(3)
    return WorldLink(
        node.bodies[0] if node.bodies else tree_link.name,
        node.parent,
        node.bodies,
        link.speeds,
        simplify(point),
        simplify(P @ link.G) if link.speeds else zeros(6, 0),
        P[:, : len(clock)] @ clock if len(clock) else zeros(6),
        simplify(M),
    )


def _mass(moving: Moving, body: Body, frame: tuple[Array, Array]) -> tuple[Scalar, Array, Array]:
    """Mass, mass center and inertia about it, in world axes."""
    lower, (R, origin) = moving.lower, frame
    inertia = matrix([[lower(x) for x in row] for row in body.inertia])
    return lower(body.mass), origin + R @ vector([lower(x) for x in body.center]), R @ inertia @ R.T


def _center(algebra: Algebra, masses: list[tuple[Scalar, Array, Array]], origin: Array) -> Array:
    """The common mass center; the joint origin if there is no mass."""
    heavy = [(mass, center) for mass, center, _ in masses if not algebra.is_zero(mass)]
    if len(heavy) < 2:
        return heavy[0][1] if heavy else origin
    total = sum((mass for mass, _ in heavy[1:]), start=heavy[0][0])
    moment = sum((mass * center for mass, center in heavy[1:]), start=heavy[0][0] * heavy[0][1])
    return moment / total


def in_motion(system: System) -> Moving:
    """The links in motion: A_ij and P_i of (36), M_i of (47)."""
    algebra, tree = system.algebra, tree_of(system.model)
    parameters = {name: system.lower(se.Symbol(name)) for name in system.model.parameter_values}
    return moving(tree, algebra, system.t, list(system.q), list(joint_rates(system, tree)), parameters)


def joint_rates(system: System, tree: Tree) -> Array:
    """θ̇ = Y q̇."""
    return to_speeds(tree, system.algebra, list(system.q), list(system.qd))


def joint_accelerations(system: System, tree: Tree, qdd: Array) -> Array:
    """θ̈ at q̈: q̈ itself, except for quaternions."""
    return to_speed_rates(tree, system.algebra, list(system.q), list(system.qd), list(qdd))


def speed_matrix(system: System, tree: Tree) -> Array:
    """Y of θ̇ = Y q̇."""
    n = len(system.q)
    columns = [to_speeds(tree, system.algebra, list(system.q), [int(i == k) for k in range(n)]) for i in range(n)]
    return matrix([list(column) for column in columns]).T


def loads(system: System) -> Array:
    """τ = Nᵀ w^E (17) for all loads except gravity, which is included as an acceleration of the world (26)."""
    total = zeros(len(system.q))
    for load in system.model.loads:
        for push in load.applied(system.motion):
            total = total + push.J.T @ push.force
    return total


def gravity(system: System) -> Array:
    """The gravitational acceleration, world axes."""
    return vector([system.lower(x) for x in system.model.gravity])


def efforts(system: System, parts: Complement) -> Array:
    """τ = Nᵀ w^E of (17), with gravity among the external wrenches."""
    total = to_speed_forces(parts.tree, system.algebra, list(system.q), list(loads(system)))
    falling = stack(zeros(3), gravity(system))
    for link, N in zip(parts.links, parts.rows, strict=True):
        total = total + N.T @ (link.M @ falling)
    return total


def rate(system: System, f: Array) -> Array:
    """d/dt of a function of q and t."""
    return system.algebra.total_derivative(f, (system.q, system.qd), system.clock)


def convective(system: System, parts: Complement) -> Array:
    """C(θ, θ̇) of (17), from N and Ṅ."""
    return parts.convective(rate(system, parts.N), joint_rates(system, parts.tree))


def cut_joints(system: System, parts: Complement) -> Array:
    """J = A_en N of (53): A_en maps the twists of the links on both sides of the cut joints to the rates of their rows."""
    rows = loop_rows(system.motion)
    indices = {body: i for i, node in enumerate(parts.shape) for body in node.bodies}
    out = zeros(len(rows), 6 * len(parts.links))
    for r, row in enumerate(rows):
        for body, side in zip(row.bodies, (-1, 1), strict=True):
            if body in indices:
                i = indices[body]
                turning = row.moment + cross(row.point - parts.links[i].point, row.force)
                out[r, 6 * i : 6 * i + 6] = out[r, 6 * i : 6 * i + 6] + side * stack(turning, row.force)
    return out @ parts.N
