"""The schemes of papers/desapio, to reproduce the figures of the textbook."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.errors import InputError
from dalembert.simulation.integrators.base import Capabilities, InitialValueProblem, Settings
from dalembert.simulation.integrators.explicit import FixedStepper
from dalembert.simulation.integrators.explicit_steps import Scheme
from dalembert.symbolic.symbols import SymbolKind, kind_of


class _TextbookMethod(FixedStepper):
    """One evaluation of the rates per step, linear interpolation; for velocity variables of one kind."""

    capabilities = Capabilities(adaptive=False, rigid_contacts=False)
    variables: ClassVar[SymbolKind]
    steps: ClassVar[str]
    formalisms: ClassVar[str]  # that have these variables
    bend: ClassVar[float] = 0.0

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        if not all(
            kind_of(name) is self.variables
            for name in problem.names[problem.system.positions : 2 * problem.system.positions]
        ):
            raise InputError(
                f"the integrator '{self.name}' steps {self.steps}, and this formalism has other velocity variables. "
                f"Use {self.formalisms}."
            )
        super().__init__(problem, settings, end)

    @classmethod
    def scheme(cls) -> Scheme:
        """y + ẏΔt, with the second-order term of the positions."""
        along = np.array([[0.0, 0.0], [1.0, 0.0]])
        return Scheme(np.array([0.0, 1.0]), along, np.array([[0.0], [1.0]]), np.zeros((2, 2)), 1, False, cls.bend)


class Algorithm3(_TextbookMethod):
    """q̇ + q̈Δt and q + q̇Δt + ½q̈Δt²: Algorithm 3, for formalisms whose velocity variables are q̇."""

    name = "algorithm3"
    variables = SymbolKind.RATE
    steps, formalisms = "q with q̇ and q̈", "a formalism in q̇, such as dalembert or lagrange"
    bend = 0.5  # lines 5 and 6 of the algorithm


class Algorithm4(Algorithm3):
    """Algorithm 4: the same steps on equations with Baumgarte's stabilization, set by `stabilization=(α, β)`."""

    name = "algorithm4"


class Algorithm5(_TextbookMethod):
    """p + ṗΔt and q + q̇Δt: Algorithm 5, for Hamilton's equations."""

    name = "algorithm5"
    variables = SymbolKind.MOMENTUM
    steps, formalisms = "momenta", "the formalism hamilton or dirac"
