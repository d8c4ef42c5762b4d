"""The tree of a system over its symbols: joint rates, loads, cut joints and convective inertia, as papers/denoc has them."""

from __future__ import annotations

import symengine as se

from dalembert.mechanics.contact_constraints import loop_rows
from dalembert.mechanics.system import System
from dalembert.recursive.joint_speeds import to_speed_forces, to_speed_rates, to_speeds
from dalembert.recursive.link_states import Moving, moving
from dalembert.recursive.orthogonal_complement import Complement
from dalembert.recursive.tree import Tree, tree_of
from dalembert.symbolic.algebra_base import Array, matrix, stack, vector, zeros
from dalembert.symbolic.rotations import cross


def in_motion(system: System) -> Moving:
    """The links in motion: A_ij and P_i of (36), M_i of (47)."""
    algebra, tree = system.algebra, tree_of(system.model)
    parameters = {name: system.lower(se.Symbol(name)) for name in system.model.parameter_values}
    return moving(tree, algebra, system.t, list(system.q), list(joint_rates(system, tree)), parameters)


def joint_rates(system: System, tree: Tree) -> Array:
    """θ̇ = Y q̇."""
    return to_speeds(tree, system.algebra, list(system.q), list(system.qd))


def joint_accelerations(system: System, tree: Tree, qdd: Array) -> Array:
    """θ̈ at q̈: q̈ itself, but for quaternions."""
    return to_speed_rates(tree, system.algebra, list(system.q), list(system.qd), list(qdd))


def speed_matrix(system: System, tree: Tree) -> Array:
    """Y of θ̇ = Y q̇."""
    n = len(system.q)
    columns = [to_speeds(tree, system.algebra, list(system.q), [int(i == k) for k in range(n)]) for i in range(n)]
    return matrix([list(column) for column in columns]).T


def loads(system: System) -> Array:
    """τ = Nᵀ w^E (17) for all loads but gravity, which the links carry as an acceleration of the world (26)."""
    total = zeros(len(system.q))
    for load in system.model.loads:
        for push in load.applied(system.motion):
            total = total + push.J.T @ push.force
    return total


def gravity(system: System) -> Array:
    """The acceleration of gravity, world axes."""
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
    """J = A_en N of (53): A_en is the rate of every row of the cut joints for the twists of the links on its two sides."""
    rows = loop_rows(system.motion)
    places = {body: i for i, node in enumerate(parts.shape) for body in node.bodies}
    out = zeros(len(rows), 6 * len(parts.links))
    for r, row in enumerate(rows):
        for body, side in zip(row.bodies, (-1, 1), strict=True):
            if body in places:
                i = places[body]
                turning = row.moment + cross(row.point - parts.links[i].point, row.force)
                out[r, 6 * i : 6 * i + 6] = out[r, 6 * i : 6 * i + 6] + side * stack(turning, row.force)
    return out @ parts.N
