"""Recursive inverse dynamics: the forces on the speeds that a motion takes, in O(n). Section 2.6 of papers/denoc for trees.

Outwards the angular velocity ω and the rates ω̇ and v̇ of every link's twist, inwards the wrench of all that hangs on it.

    ṫ_i = A ṫ_j + Ȧ t_j + P θ̈ + Ṗ θ̇           (23), with A of (36) in place of B
    ṫ_0 = [0; −g]                              (26): gravity as an acceleration of the world
    w_i = M_i ṫ_i + Ω_i M_i E_i t_i            (46), (47): Newton and Euler about the origin of the link
    w̃_j = w_j + Σ A_ijᵀ w̃_i,  τ_i = Pᵀ w̃_i     (25)

v itself is never needed. Deviates: (25) is printed without w_j, and (46b) without the dot on v.
"""

from __future__ import annotations

from dalembert.algebra import Array, scaled, vector, zeros
from dalembert.recursive.links import Moving, MovingLink
from dalembert.spatial import cross


def inverse_dynamics(moving: Moving, sd: Array) -> Array:
    """τ of τ = M ṡ + c + g, one for each speed: the recursion of section 2.6 at the accelerations `sd`.

    >>> from dalembert.algebra import FLOATS, vector
    >>> from dalembert.model import Model
    >>> from dalembert.recursive import moving, tree_of
    >>> model = Model("slider", gravity=(-10, 0, 0)).coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    >>> inverse_dynamics(moving(tree_of(model), FLOATS, 0.0, [0.3], [0.0], {}), vector([1.5]))
    array([23.0], dtype=object)
    """
    accelerations = [_second_rates(link, sd) for link in moving.links]
    wrenches = _outwards(moving, accelerations)
    return _inwards(moving, accelerations, wrenches)


def _second_rates(link: MovingLink, sd: Array) -> Array:
    """θ̈ = G ṡ + drift."""
    return link.G @ sd[list(link.speeds)] + link.drift if link.speeds else link.drift


def _outwards(moving: Moving, accelerations: list[Array]) -> list[tuple[Array, Array]]:
    """The wrench (n, f) that every link takes for itself."""
    still = (zeros(3), zeros(3), scaled(-1, moving.gravity))  # (26)
    states: list[tuple[Array, Array, Array]] = []
    out = []
    for link, thdd in zip(moving.links, accelerations, strict=True):
        states.append(_carried(link, thdd, still if link.parent < 0 else states[link.parent]))
        out.append(_newton_euler(link, *states[-1]))
    return out


def _carried(link: MovingLink, thdd: Array, parent: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """ω, ω̇ and v̇ of a link from those of its parent: (22), (23)."""
    w_P, wd_P, vd_P = parent
    Rt = link.R.T
    w = Rt @ w_P
    wd = Rt @ wd_P
    vd = Rt @ (vd_P + cross(wd_P, link.p) + cross(w_P, cross(w_P, link.p)))
    if len(thdd):
        turn, slide = link.about @ link.rates, link.along @ link.rates
        wd = wd + link.about @ thdd + link.turning[:3] + cross(w, turn)
        vd = vd + link.along @ thdd + link.turning[3:] + 2 * cross(w, slide)
        w = w + turn  # (3a)
    return w, wd, vd


def _newton_euler(link: MovingLink, w: Array, wd: Array, vd: Array) -> tuple[Array, Array]:
    m, h, inertia = link.fixture.mass, link.fixture.moment, link.fixture.inertia
    n = inertia @ wd + cross(h, vd) + cross(w, inertia @ w)  # (46a)
    f = scaled(m, vd) - cross(h, wd) - cross(w, cross(h, w))  # (46b)
    return n, f


def _inwards(moving: Moving, accelerations: list[Array], wrenches: list[tuple[Array, Array]]) -> Array:
    tau = zeros(moving.tree.n_speeds)
    for index in reversed(range(len(moving.links))):
        link, thdd = moving.links[index], accelerations[index]
        n, f = wrenches[index]
        if link.speeds:
            effort = link.about.T @ n + link.along.T @ f  # (25)
            effort = effort + vector([a * x for a, x in zip(link.fixture.armature, thdd, strict=True)])
            tau[list(link.speeds)] += link.G.T @ effort
        if link.parent >= 0:
            n_j, f_j = wrenches[link.parent]
            f = link.R @ f
            wrenches[link.parent] = (n_j + link.R @ n + cross(link.p, f), f_j + f)
    return tau
