"""The program that a run integrates, in the prime field: the shortened rates are the raw ones, and those that were proved.

`Kernel.program` is what simulations run: the right-hand side ẏ = (q̇, v̇, powers), shortened. The nodes it is made of are evaluated
at the same exact state as the formalisms. For the comparison with the raw rates a square root is any function of its argument, so
no sign of a root is a matter of luck; for that with the accelerations it is one whose square is the argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.api.equations import Equations
from dalembert.evidence.field_states import ExactState, Solved, form_symbols, nodes
from dalembert.evidence.integrated_programs import run_equations
from dalembert.simulation.right_hand_side import Kernel
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.nodes import Node
from dalembert.symbolic.random_points import root_beyond
from dalembert.symbolic.residues import as_residues

SOLVED_IN_NUMBERS = "a run solves these equations in numbers at every step: there is no shortened program"


@dataclass(frozen=True)
class ShortenedRates:
    """The right-hand side of one formalism before and after shortening, as nodes of the graph."""

    kernel: Kernel
    raw: Array
    short: Array
    held: bool  # conditions are parameters here, and choices in the formalisms: accelerations cannot be compared

    @property
    def roots(self) -> list[Node]:
        """Everything that is evaluated."""
        velocity = self.kernel.form.velocity
        return [y for part in (self.raw, self.short, velocity.W, velocity.qdd_bias) for y in nodes(part)]

    def differences(self, state: ExactState, known: Solved) -> Iterator[str]:
        """What the shortened rates do not share with the raw ones, or with the accelerations that were proved."""
        form = self.kernel.form
        table = form_symbols(form, state)
        raw, short = (state.at(part, table, state.point.any_root) for part in (self.raw, self.short))
        names = [str(x) for x in self.kernel.state_symbols]
        if wrong := [name for name, a, b in zip(names, raw, short, strict=True) if a != b]:
            yield f"the shortened program has another rate of {', '.join(wrong)}"
        if self.held:
            return
        n, m = len(form.system.q), form.n_states
        short, W, bias = (
            state.at(part, table, root_beyond) for part in (self.short, form.velocity.W, form.velocity.qdd_bias)
        )
        qdd = W @ short[n:m] + bias
        if not (qdd == known.qdd).all():
            yield "the shortened program has other accelerations than were proved"
        if form.own_multipliers is None and not (short[:n] == as_residues(state.qd)).all():
            yield "the shortened program has other velocities"


def shortened_rates(equations: Equations) -> ShortenedRates | None:
    """The right-hand side that a run of the equations integrates; None where they are solved in numbers."""
    run = run_equations(equations)
    kernel = run.kernel
    if not kernel.fused:
        return None
    short = np.array(kernel.shortened_rates, dtype=object)
    return ShortenedRates(kernel, kernel.rates, short, held=run is not equations)
