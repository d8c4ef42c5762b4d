"""The recursions of papers/denoc for display, each quantity in symbols of the preceding ones: (22)–(33).

Twists, their rates and the wrench of every link are computed outward, the wrenches of its subtree inward. Then the inertia
matrix is eliminated from the tips to the world, and the accelerations are computed outward. With kinematic modules the
inverse dynamics is computed module by module, section 3 of the paper; a module treats its links together:

    t̄_i = Ā_iβ t̄_β + N̄_i θ̄̇_i                           (40)
    t̄̇_i = Ā_iβ t̄̇_β + Ā̇_iβ t̄_β + N̄_i θ̄̈_i + N̄̇_i θ̄̇_i      its rate, with (26) at the world
    w̄_i = M̄_i t̄̇_i + Ω̄_i M̄_i Ē_i t̄_i                    (48)
    w̃_β = w̄_β + Σ Ā_iβᵀ w̃_i,  τ̄_i = N̄_iᵀ w̃_i            (25) for modules
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.formalisms.shared.quantities import Quantity, Stage
from dalembert.mechanics.system import System
from dalembert.recursive.composite_inertia import mass_matrix
from dalembert.recursive.modules import Modular, Named, modules_of
from dalembert.recursive.orthogonal_complement import (
    Complement,
    complement_of,
    convective,
    cut_joints,
    efforts,
    gravity,
    in_motion,
    joint_accelerations,
    joint_rates,
    rate,
)
from dalembert.symbolic.algebra_base import Array, stack, zeros
from dalembert.symbolic.elimination import ldl_solve


def stages(system: System, modules: Named | None = None) -> Iterator[Stage]:
    """Twists and wrenches outward (22)–(24), wrenches inward (25); elimination inward, accelerations outward (27)–(33).

    With `modules`, groups of bodies by name, the inverse dynamics is computed module by module (37)–(45).
    """
    parts = complement_of(in_motion(system))
    rates, accelerations = joint_rates(system, parts.tree), joint_accelerations(system, parts.tree, system.qdd)
    links = LinkRecursion(system, parts, rates, accelerations)
    if modules is None:
        yield from links.inverse()
    else:
        modular = Modular(parts, modules_of(parts, modules))
        yield from ModuleRecursion(system, parts, rates, accelerations, modular).inverse()
    if parts.tree.decoupled:
        yield from links.forward()
    law = "I θ̈ + C θ̇ = τ" + (" + Jᵀλ with J θ̇ = 0" if system.model.loops else "")
    yield Stage(law, tuple(_final_equation(system, parts)))


def _final_equation(system: System, parts: Complement) -> Iterator[Quantity]:
    """I, C and τ, gravity included, of (17), (49); J of (54)."""
    number = "(17)" if parts.centered else "(49)"
    yield Quantity("I", lambda: mass_matrix(parts.moving), "generalized inertia matrix", number)
    yield Quantity("C", lambda: convective(system, parts), "matrix of convective inertia", number)
    yield Quantity("tau", lambda: efforts(system, parts), "generalized forces of loads and gravity", number)
    if system.model.loops:
        yield Quantity("J", lambda: cut_joints(system, parts), "closes the cut joints", "(54)")


@dataclass(frozen=True)
class _Recursion:
    """The tree of a system, its joint rates θ̇ and accelerations θ̈."""

    system: System
    parts: Complement
    rates: Array
    accelerations: Array

    def _define(self, found: list[Quantity], letter: str, i: int, value: Array, meaning: str, equation: str) -> Array:
        """Define a quantity of one link or module; returns it with symbols for its long entries."""
        key = f"{letter}_{i + 1}"
        found.append(Quantity(key, value, meaning, equation))
        return self.system.notation.symbols(key, value)


@dataclass(frozen=True)
class LinkRecursion(_Recursion):
    """Inverse and forward dynamics link by link."""

    def inverse(self) -> Iterator[Stage]:
        """Motions outward, wrenches inward: section 2.6."""
        t, td, wrenches = list[Array](), list[Array](), list[Array]()
        for i, link in enumerate(self.parts.links):
            found = list[Quantity]()
            twist = link.p @ self.rates[list(link.speeds)] + link.drift if link.speeds else link.drift
            if link.parent >= 0:
                twist = self.parts.B(i, link.parent) @ t[link.parent] + twist
            t.append(self._define(found, "t", i, twist, "twist", "(22)"))
            td.append(self._define(found, "t_dot", i, self._twist_rate(i, t, td), "rate of the twist", "(23)"))
            wrench = link.M @ td[i] + self.parts.gyroscopic(i, t[i][:3]) @ t[i]
            number = "(24)" if self.parts.centered else "(47a)"
            wrenches.append(self._define(found, "w", i, wrench, "inertia wrench of the link", number))
            yield Stage(f"{self._name(i)}: outward", tuple(found))
        for i in reversed(range(len(wrenches))):
            link, found = self.parts.links[i], list[Quantity]()
            total = self._define(found, "w_tilde", i, wrenches[i], "wrench of its subtree", "(25)")
            if link.speeds:
                self._define(found, "tau", i, link.p.T @ total, "joint force or torque", "(25)")
            if link.parent >= 0:
                wrenches[link.parent] = wrenches[link.parent] + self.parts.B(i, link.parent).T @ total
            yield Stage(f"{self._name(i)}: inward", tuple(found))

    def _twist_rate(self, i: int, t: list[Array], td: list[Array]) -> Array:
        link = self.parts.links[i]
        own = rate(self.system, link.drift)
        if link.speeds:
            speeds = list(link.speeds)
            own = own + link.p @ self.accelerations[speeds] + rate(self.system, link.p) @ self.rates[speeds]
        if link.parent < 0:
            own[3:] = own[3:] - gravity(self.system)  # (26)
            return own
        B = self.parts.B(i, link.parent)
        return B @ td[link.parent] + rate(self.system, B) @ t[link.parent] + own  # (23)

    def forward(self) -> Iterator[Stage]:
        """Elimination inward, accelerations outward, for φ = τ − C θ̇: section 2.7."""
        links, algebra = self.parts.links, self.parts.algebra
        phi = self.system.algebra.symbols([f"phi[{i + 1}]" for i in range(self.parts.n)])
        inertias, eta = [link.M for link in links], [zeros(6) for _ in links]
        psi, tau_tilde = [zeros(6, 0) for _ in links], [zeros(0) for _ in links]
        for i in reversed(range(len(links))):
            found, link = list[Quantity](), links[i]
            M_hat = self._define(found, "M_hat", i, inertias[i], "articulated mass matrix", "(31)")
            if link.speeds:
                hat = self._define(found, "psi_hat", i, M_hat @ link.p, "M̂ p", "(30)")
                own = link.p.T @ hat + self.parts.rotors[np.ix_(link.speeds, link.speeds)]
                m_hat = self._define(found, "m_hat", i, own, "pᵀ ψ̂, on the diagonal of D", "(30)")
                psi[i] = self._define(found, "psi", i, ldl_solve(algebra, m_hat, hat.T).T, "ψ̂ / m̂", "(30)")
                rest = phi[list(link.speeds)] - link.p.T @ eta[i]
                tau_hat = self._define(found, "tau_hat", i, rest, "U⁻¹ φ", "(28)")
                solved = ldl_solve(algebra, m_hat, tau_hat)
                tau_tilde[i] = self._define(found, "tau_tilde", i, solved, "D⁻¹ τ̂", "(32)")
                eta[i] = eta[i] + psi[i] @ tau_hat
                M_hat = M_hat - hat @ psi[i].T
            if (j := link.parent) >= 0:
                B = self.parts.B(i, j)
                M_bar = self._define(found, "M_bar", i, M_hat, "articulated mass matrix passed to its parent", "(31)")
                out = self._define(found, "eta", i, eta[i], "bias passed to its parent", "(29)")
                inertias[j], eta[j] = inertias[j] + B.T @ M_bar @ B, eta[j] + B.T @ out
            yield Stage(f"{self._name(i)}: eliminated", tuple(found))
        yield from self._outwards(psi, tau_tilde)

    def _outwards(self, psi: list[Array], tau_tilde: list[Array]) -> Iterator[Stage]:
        mu: list[Array] = []
        for i, link in enumerate(self.parts.links):
            found = list[Quantity]()
            carried = self.parts.B(i, link.parent) @ mu[link.parent] if link.parent >= 0 else zeros(6)
            if link.speeds:
                value = tau_tilde[i] - psi[i].T @ carried
                carried = carried + link.p @ self._define(found, "theta_ddot", i, value, "τ̃ − ψᵀ μ", "(33)")
            mu.append(carried)
            if found:
                yield Stage(f"{self._name(i)}: accelerations outward", tuple(found))

    def _name(self, i: int) -> str:
        return f"Link {i + 1}, {self.parts.links[i].name}"


@dataclass(frozen=True)
class ModuleRecursion(_Recursion):
    """Inverse dynamics module by module."""

    modular: Modular

    def inverse(self) -> Iterator[Stage]:
        """Motions outward, wrenches and joint forces inward; forces of a speed that moves two modules are summed."""
        t, td, w = list[Array](), list[Array](), list[Array]()
        modules = self.modular.modules
        for m, module in enumerate(modules):
            found = list[Quantity]()
            t.append(self._define(found, "t_bar", m, self._twists(m, t), "twists of its links", "(40)"))
            value = self._twist_rates(m, t, td)
            td.append(self._define(found, "t_bar_dot", m, value, "rates of the twists", "(40)"))
            wrenches = list[Array]()
            for k, i in enumerate(module.links):
                t_i, td_i = t[m][6 * k : 6 * k + 6], td[m][6 * k : 6 * k + 6]
                wrenches.append(self.parts.links[i].M @ td_i + self.parts.gyroscopic(i, t_i[:3]) @ t_i)
            w.append(self._define(found, "w_bar", m, stack(*wrenches), "inertia wrenches of its links", "(48)"))
            yield Stage(f"Module {module.name}: outward", tuple(found))
        for m in reversed(range(len(modules))):
            found, parent, own = list[Quantity](), modules[m].parent, self.modular.speeds(m)
            total = self._define(found, "w_tilde", m, w[m], "wrenches of its subtree", "(25)")
            tau = self.modular.N_bar(m).T @ total + self.parts.rotors[np.ix_(own, own)] @ self.accelerations[own]
            self._define(found, "tau_bar", m, tau, "joint forces and torques", "(25)")
            if parent >= 0:
                w[parent] = w[parent] + self.modular.A_bar(m).T @ total
            yield Stage(f"Module {modules[m].name}: inward", tuple(found))

    def _twists(self, m: int, t: list[Array]) -> Array:
        parent = self.modular.modules[m].parent
        own = self.modular.N_bar(m) @ self.rates[self.modular.speeds(m)] + self.modular.drift_bar(m)
        return own if parent < 0 else self.modular.A_bar(m) @ t[parent] + own

    def _twist_rates(self, m: int, t: list[Array], td: list[Array]) -> Array:
        module, speeds, N = self.modular.modules[m], self.modular.speeds(m), self.modular.N_bar(m)
        own = N @ self.accelerations[speeds] + rate(self.system, N) @ self.rates[speeds]
        own = own + rate(self.system, self.modular.drift_bar(m))
        if module.parent < 0:
            return own - stack(*[stack(zeros(3), gravity(self.system))] * len(module.links))  # (26)
        A = self.modular.A_bar(m)
        return own + A @ td[module.parent] + rate(self.system, A) @ t[module.parent]
