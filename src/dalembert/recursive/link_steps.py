"""The recursions of papers/denoc link by link, each quantity by the names of those before it: (22)–(33), for reading.

Twists, their rates and the wrench of every link come outwards, the wrenches of all that hangs on it inwards. Then the inertia
matrix is eliminated from the tips to the world, and the accelerations come outwards again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.formalisms.shared.quantities import Naming, Quantity, Stage
from dalembert.recursive.orthogonal_complement import Complement
from dalembert.symbolic.algebra_base import Array, zeros
from dalembert.symbolic.linear_algebra import ldl_solve


@dataclass(frozen=True)
class Walk:
    """A walk through the links of a chain or tree."""

    parts: Complement
    named: Naming
    rates: Array  # θ̇
    accelerations: Array  # θ̈
    phi: Array  # φ = τ − C θ̇, by name
    gravity: Array
    derivative: Callable[[Array], Array]  # d/dt of a function of q and t

    def inverse(self) -> Iterator[Stage]:
        """Motions outwards, wrenches inwards: section 2.6."""
        wrenches: list[Array] = []
        t: list[Array] = []
        td: list[Array] = []
        for i in range(len(self.parts.links)):
            shown = list[Quantity]()
            t.append(self._keep(shown, "t", i, "(22)", "twist", self._twist(i, t)))
            td.append(self._keep(shown, "t_dot", i, "(23)", "rate of the twist", self._twist_rate(i, t, td)))
            number = "(24)" if self.parts.centred else "(47a)"
            turned = self.parts.gyroscopic(i, t[i][:3]) @ t[i]
            wrench = self.parts.links[i].M @ td[i] + turned
            wrenches.append(self._keep(shown, "w", i, number, "wrench it takes for itself", wrench))
            yield Stage(f"{self._called(i)}: outwards", tuple(shown))
        for i in reversed(range(len(wrenches))):
            link, shown = self.parts.links[i], list[Quantity]()
            total = self._keep(shown, "w_tilde", i, "(25)", "wrench of all that hangs on it", wrenches[i])
            if link.speeds:
                self._keep(shown, "tau", i, "(25)", "what its joint has to give", link.p.T @ total)
            if link.parent >= 0:
                wrenches[link.parent] = wrenches[link.parent] + self.parts.B(i, link.parent).T @ total
            yield Stage(f"{self._called(i)}: inwards", tuple(shown))

    def _twist(self, i: int, t: list[Array]) -> Array:
        link = self.parts.links[i]
        own = link.p @ self.rates[list(link.speeds)] + link.drift if link.speeds else link.drift
        return own if link.parent < 0 else self.parts.B(i, link.parent) @ t[link.parent] + own  # (22)

    def _twist_rate(self, i: int, t: list[Array], td: list[Array]) -> Array:
        link = self.parts.links[i]
        own = self.derivative(link.drift)
        if link.speeds:
            speeds = list(link.speeds)
            own = own + link.p @ self.accelerations[speeds] + self.derivative(link.p) @ self.rates[speeds]
        if link.parent < 0:
            own[3:] = own[3:] - self.gravity  # (26)
            return own
        B = self.parts.B(i, link.parent)
        return B @ td[link.parent] + self.derivative(B) @ t[link.parent] + own  # (23)

    def forward(self) -> Iterator[Stage]:
        """Elimination inwards, accelerations outwards: section 2.7."""
        links = self.parts.links
        inertias, eta = [link.M for link in links], [zeros(6) for _ in links]
        psi, tau_tilde = [zeros(6, 0) for _ in links], [zeros(0) for _ in links]
        for i in reversed(range(len(links))):
            shown, link = list[Quantity](), links[i]
            M_hat = self._keep(shown, "M_hat", i, "(31)", "articulated mass matrix", inertias[i])
            if link.speeds:
                hat = self._keep(shown, "psi_hat", i, "(30)", "M̂ p", M_hat @ link.p)
                own = link.p.T @ hat + self.parts.rotors[np.ix_(link.speeds, link.speeds)]
                m_hat = self._keep(shown, "m_hat", i, "(30)", "pᵀ ψ̂, on the diagonal of D", own)
                psi[i] = self._keep(shown, "psi", i, "(30)", "ψ̂ / m̂", ldl_solve(self.parts.algebra, m_hat, hat.T).T)
                rest = self.phi[list(link.speeds)] - link.p.T @ eta[i]
                tau_hat = self._keep(shown, "tau_hat", i, "(28)", "U⁻¹ φ", rest)
                solved = ldl_solve(self.parts.algebra, m_hat, tau_hat)
                tau_tilde[i] = self._keep(shown, "tau_tilde", i, "(32)", "D⁻¹ τ̂", solved)
                eta[i] = eta[i] + psi[i] @ tau_hat
                M_hat = M_hat - hat @ psi[i].T
            if (j := link.parent) >= 0:
                B = self.parts.B(i, j)
                M_bar = self._keep(shown, "M_bar", i, "(31)", "what it leaves of M̂ for its parent", M_hat)
                out = self._keep(shown, "eta", i, "(29)", "what it passes on of φ", eta[i])
                inertias[j], eta[j] = inertias[j] + B.T @ M_bar @ B, eta[j] + B.T @ out
            yield Stage(f"{self._called(i)}: eliminated", tuple(shown))
        yield from self._outwards(psi, tau_tilde)

    def _outwards(self, psi: list[Array], tau_tilde: list[Array]) -> Iterator[Stage]:
        mu: list[Array] = []
        for i, link in enumerate(self.parts.links):
            shown = list[Quantity]()
            carried = self.parts.B(i, link.parent) @ mu[link.parent] if link.parent >= 0 else zeros(6)
            if link.speeds:
                found = self._keep(shown, "theta_ddot", i, "(33)", "τ̃ − ψᵀ μ", tau_tilde[i] - psi[i].T @ carried)
                carried = carried + link.p @ found
            mu.append(carried)
            if shown:
                yield Stage(f"{self._called(i)}: accelerations outwards", tuple(shown))

    def _called(self, i: int) -> str:
        return f"Link {i + 1}, {self.parts.links[i].name}"

    def _keep(self, shown: list[Quantity], letter: str, i: int, equation: str, meaning: str, value: Array) -> Array:
        """Show a quantity, and go on with its name where it is long."""
        key = f"{letter}_{i + 1}"
        shown.append(Quantity(key, equation, meaning, lambda: value))
        return self.named(key, value)
