"""Kinematic modules: a tree as serial chains, each attached to the last link of another. Section 3 of papers/denoc.

Twists are propagated from link to link inside a module, and from the last link of the parent to all links of a child module.

    t̄_i = Ā_iβ t̄_β + N̄_i θ̄̇_i               (40)   Ā_iβ has one column of blocks: (41a)
    N̄_i = N̄_l N̄_d of the module            (39), (41b)
    t = N_l N_d θ̇                           (43)–(45), module by module

The result is the same as link by link, for a tree with few, large nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.errors import InputError, suggest_name
from dalembert.recursive.orthogonal_complement import Complement
from dalembert.symbolic.algebra_base import Array, identity, stack, zeros
from dalembert.symbolic.elimination import ldl_solve

Named = Mapping[str, Sequence[str]]  # the bodies of each module, by its name


@dataclass(frozen=True)
class Module:
    """A serial chain of links, by their indices in the tree, outward; it is attached to the last link of its parent."""

    name: str
    parent: int  # −1: the world
    links: tuple[int, ...]


def modules_of(parts: Complement, named: Named | None = None) -> tuple[Module, ...]:
    """The modules of a tree: the longest serial chains between branchings, or the bodies grouped by `named`.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> from dalembert.model.model import Model
    >>> from dalembert.recursive.link_states import moving
    >>> from dalembert.recursive.tree import tree_of
    >>> from dalembert.recursive.orthogonal_complement import complement_of
    >>> model = Model("fork").coordinates("a", "b", "c")
    >>> _ = model.body("stem", joint=model.revolute((0, 0, 1), "a"), mass=1)
    >>> _ = model.body("left", parent="stem", joint=model.revolute((0, 0, 1), "b"), mass=1)
    >>> _ = model.body("right", parent="stem", joint=model.revolute((0, 0, 1), "c"), mass=1)
    >>> parts = complement_of(moving(tree_of(model), FLOATS, 0.0, [0.1, 0.2, 0.3], [0.0] * 3, {}))
    >>> [(module.name, module.parent, module.links) for module in modules_of(parts)]
    [('M_1', -1, (0,)), ('M_2', 0, (1,)), ('M_3', 0, (2,))]
    """
    chains = _chains(parts) if named is None else _named(parts, named)
    homes = {link: k for k, links in enumerate(chains.values()) for link in links}
    out = []
    for name, links in chains.items():
        parent = parts.shape[links[0]].parent
        out.append(Module(name, homes[parent] if parent >= 0 else -1, tuple(links)))
    return tuple(out)


def _chains(parts: Complement) -> dict[str, list[int]]:
    parents = [node.parent for node in parts.shape]
    chains: dict[int, list[int]] = {}
    heads: dict[int, int] = {}
    for i, parent in enumerate(parents):
        continues = parent >= 0 and parents.count(parent) == 1
        heads[i] = heads[parent] if continues else i
        chains.setdefault(heads[i], []).append(i)
    return {f"M_{k + 1}": links for k, links in enumerate(chains.values())}


def _named(parts: Complement, named: Named) -> dict[str, list[int]]:
    """The links of the bodies in each module, checked: all bodies once, each module a chain attached to the end of another."""
    bodies = _bodies(parts)
    grouped = [body for group in named.values() for body in group]
    for body in grouped:
        if body not in bodies:
            raise InputError(f"modules: there is no body '{body}'. {suggest_name(body, bodies)}")
    moving = [body for body, links in bodies.items() if links]
    if sorted(set(grouped) & set(moving)) != sorted(moving) or len(grouped) != len(set(grouped)):
        wrong = sorted(set(moving) - set(grouped)) or sorted({body for body in grouped if grouped.count(body) > 1})
        raise InputError(f"modules: {', '.join(wrong)}: expected every body in exactly one module.")
    chains = {name: sorted(i for body in group for i in bodies[body]) for name, group in named.items()}
    ends = {links[-1] for links in chains.values()} | {-1}
    for name, links in chains.items():
        parents = [parts.shape[i].parent for i in links]
        if parents[1:] != links[:-1] or parents[0] not in ends:
            raise InputError(
                f"module '{name}' ({', '.join(named[name])}) is not a serial chain on the last link of another module. Expected "
                "each body to be a child of the previous one, without branches in between. Split it where the tree branches."
            )
    return dict(sorted(chains.items(), key=lambda item: item[1][0]))


def _bodies(parts: Complement) -> dict[str, list[int]]:
    """The links of every body: those of its joints, outward."""
    out: dict[str, list[int]] = {}
    waiting: list[int] = []
    for i, node in enumerate(parts.shape):
        waiting.append(i)
        if node.bodies:
            out |= {body: waiting if body == node.bodies[0] else [] for body in node.bodies}
            waiting = []
    return out


@dataclass(frozen=True)
class Modular:
    """The orthogonal complement of a tree by modules."""

    parts: Complement
    modules: tuple[Module, ...]

    @property
    def names(self) -> Array:
        """The links of each module by name."""
        names = [", ".join(self.parts.links[i].name for i in module.links) for module in self.modules]
        return np.array(names, dtype=object)

    def twist_rows(self, m: int) -> list[int]:
        """The rows of the twists of a module in t."""
        return [6 * i + k for i in self.modules[m].links for k in range(6)]

    def speeds(self, m: int) -> list[int]:
        """The joint rates that move the links of a module."""
        return list(dict.fromkeys(s for i in self.modules[m].links for s in self.parts.links[i].speeds))

    def A_bar(self, m: int) -> Array:
        """The propagation from the parent of a module, through its last link only. (41a)"""
        module, parent = self.modules[m], self.modules[self.modules[m].parent]
        out = zeros(6 * len(module.links), 6 * len(parent.links))
        for k, i in enumerate(module.links):
            out[6 * k : 6 * k + 6, -6:] = self.parts.B(i, parent.links[-1])
        return out

    def N_bar(self, m: int) -> Array:
        """N̄_l N̄_d of a module: (39), (41b)."""
        rows, columns = self.twist_rows(m), self.speeds(m)
        return self.parts.N_l[np.ix_(rows, rows)] @ self.parts.N_d[np.ix_(rows, columns)]

    def drift_bar(self, m: int) -> Array:
        """The twists of the links of a module due to explicit time dependence."""
        rows = self.twist_rows(m)
        return self.parts.N_l[np.ix_(rows, rows)] @ stack(*(self.parts.links[i].drift for i in self.modules[m].links))

    @cached_property
    def N_l(self) -> Array:
        """Propagates twists from module to module, with unit blocks for the modules themselves: (44)."""
        out = identity(6 * len(self.parts.links))
        for m, module in enumerate(self.modules):
            carried, above = identity(6 * len(module.links)), m
            while self.modules[above].parent >= 0:
                carried, above = carried @ self.A_bar(above), self.modules[above].parent
                out[np.ix_(self.twist_rows(m), self.twist_rows(above))] = carried
        return out

    @cached_property
    def N_d(self) -> Array:
        """Maps the joint rates of every module to the twists of all its links: (45)."""
        out = zeros(6 * len(self.parts.links), self.parts.n)
        for m in range(len(self.modules)):
            out[np.ix_(self.twist_rows(m), self.speeds(m))] = self.N_bar(m)
        return out

    def twists(self, rates: Array) -> Array:
        """N θ̇, outward from module to module: (40)."""
        out = zeros(6 * len(self.parts.links))
        for m, module in enumerate(self.modules):
            rows = self.twist_rows(m)
            out[rows] = self.N_bar(m) @ rates[self.speeds(m)]
            if module.parent >= 0:
                out[rows] = out[rows] + self.A_bar(m) @ out[self.twist_rows(module.parent)]
        return out

    def efforts(self, wrenches: Array) -> Array:
        """Nᵀ w, inward from module to module: (25) for modules."""
        total, out = np.array(wrenches, dtype=object), zeros(self.parts.n)
        for m in reversed(range(len(self.modules))):
            rows, parent = self.twist_rows(m), self.modules[m].parent
            out[self.speeds(m)] = out[self.speeds(m)] + self.N_bar(m).T @ total[rows]
            if parent >= 0:
                above = self.twist_rows(parent)
                total[above] = total[above] + self.A_bar(m).T @ total[rows]
        return out

    def accelerations(self, phi: Array) -> Array:
        """θ̈ of I θ̈ = φ by elimination from module to module: (27)–(33) with modules for links. Each speed must move one link."""
        masses = [self._masses(m) for m in range(len(self.modules))]
        eta = [zeros(len(mass)) for mass in masses]
        solved: list[tuple[Array, Array]] = [(zeros(0), zeros(0, 0))] * len(masses)
        for m in reversed(range(len(masses))):
            N, own = self.N_bar(m), self.speeds(m)
            hat = masses[m] @ N  # (30)
            m_hat = N.T @ hat + self.parts.rotors[np.ix_(own, own)]
            right = np.concatenate([(phi[own] - N.T @ eta[m])[:, None], hat.T], axis=1)  # (28)
            found = ldl_solve(self.parts.algebra, m_hat, right)
            solved[m] = found[:, 0], found[:, 1:]  # (32), ψᵀ
            if (parent := self.modules[m].parent) >= 0:
                A = self.A_bar(m)
                masses[parent] = masses[parent] + A.T @ (masses[m] - hat @ found[:, 1:]) @ A  # (31)
                eta[parent] = eta[parent] + A.T @ (eta[m] + hat @ found[:, 0])  # (29)
        return self._outwards(solved)

    def _outwards(self, solved: list[tuple[Array, Array]]) -> Array:
        out, mu = zeros(self.parts.n), list[Array]()
        for m, (value, psi) in enumerate(solved):
            parent = self.modules[m].parent
            carried = self.A_bar(m) @ mu[parent] if parent >= 0 else zeros(6 * len(self.modules[m].links))
            out[self.speeds(m)] = value - psi @ carried  # (33)
            mu.append(carried + self.N_bar(m) @ out[self.speeds(m)])
        return out

    def _masses(self, m: int) -> Array:
        links = self.modules[m].links
        out = zeros(6 * len(links), 6 * len(links))
        for k, i in enumerate(links):
            out[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = self.parts.links[i].M
        return out
