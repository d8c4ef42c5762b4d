"""Inverse dynamics from module to module, for reading: section 3 of papers/denoc. Inside a module all links move at once.

t̄_i = Ā_iβ t̄_β + N̄_i θ̄̇_i                           (40)
t̄̇_i = Ā_iβ t̄̇_β + Ā̇_iβ t̄_β + N̄_i θ̄̈_i + N̄̇_i θ̄̇_i      its rate, with (26) at the world
w̄_i = M̄_i t̄̇_i + Ω̄_i M̄_i Ē_i t̄_i                    (48)
w̃_β = w̄_β + Σ Ā_iβᵀ w̃_i,  τ̄_i = N̄_iᵀ w̃_i            (25) for modules
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.algebra import Array, stack, zeros
from dalembert.equations.quantities import Naming, Quantity, Stage
from dalembert.recursive.modules import Modular


@dataclass(frozen=True)
class ModuleWalk:
    """A walk through the modules of a tree."""

    whole: Modular
    named: Naming
    rates: Array  # θ̇
    accelerations: Array  # θ̈
    gravity: Array
    derivative: Callable[[Array], Array]  # d/dt of a function of q and t

    def inverse(self) -> Iterator[Stage]:
        """Motions outwards, wrenches and the forces of the joints inwards; forces of a speed that moves two modules add up."""
        t, td, w = list[Array](), list[Array](), list[Array]()
        modules = self.whole.modules
        for m, module in enumerate(modules):
            shown = list[Quantity]()
            t.append(self._keep(shown, "t_bar", m, "(40)", "twists of its links", self._twists(m, t)))
            rates = self._twist_rates(m, t, td)
            td.append(self._keep(shown, "t_bar_dot", m, "(40)", "rates of the twists", rates))
            w.append(self._keep(shown, "w_bar", m, "(48)", "wrenches that its links take", self._wrenches(m, t, td)))
            yield Stage(f"Module {module.name}: outwards", tuple(shown))
        for m in reversed(range(len(modules))):
            shown, parent, own = list[Quantity](), modules[m].parent, self.whole.speeds(m)
            total = self._keep(shown, "w_tilde", m, "(25)", "wrenches of all that hangs on it", w[m])
            rotors = self.whole.parts.rotors[np.ix_(own, own)] @ self.accelerations[own]
            self._keep(
                shown, "tau_bar", m, "(25)", "what its joints have to give", self.whole.N_bar(m).T @ total + rotors
            )
            if parent >= 0:
                w[parent] = w[parent] + self.whole.A_bar(m).T @ total
            yield Stage(f"Module {modules[m].name}: inwards", tuple(shown))

    def _twists(self, m: int, t: list[Array]) -> Array:
        parent = self.whole.modules[m].parent
        own = self.whole.N_bar(m) @ self.rates[self.whole.speeds(m)] + self.whole.drift_bar(m)
        return own if parent < 0 else self.whole.A_bar(m) @ t[parent] + own

    def _twist_rates(self, m: int, t: list[Array], td: list[Array]) -> Array:
        module, speeds, N = self.whole.modules[m], self.whole.speeds(m), self.whole.N_bar(m)
        own = N @ self.accelerations[speeds] + self.derivative(N) @ self.rates[speeds]
        own = own + self.derivative(self.whole.drift_bar(m))
        if module.parent < 0:
            return own - stack(*[stack(zeros(3), self.gravity)] * len(module.links))  # (26)
        A = self.whole.A_bar(m)
        return own + A @ td[module.parent] + self.derivative(A) @ t[module.parent]

    def _wrenches(self, m: int, t: list[Array], td: list[Array]) -> Array:
        parts, out = self.whole.parts, list[Array]()
        for k, i in enumerate(self.whole.modules[m].links):
            six = slice(6 * k, 6 * k + 6)
            out.append(parts.links[i].M @ td[m][six] + parts.gyroscopic(i, t[m][six][:3]) @ t[m][six])
        return stack(*out)

    def _keep(self, shown: list[Quantity], letter: str, m: int, equation: str, meaning: str, value: Array) -> Array:
        """Show a quantity, and go on with its name where it is long."""
        key = f"{letter}_{m + 1}"
        shown.append(Quantity(key, equation, meaning, lambda: value))
        return self.named(key, value)
