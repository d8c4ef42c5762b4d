"""Equations solved in numbers at every state, as one function: M, f, A, β and the rest side by side, then v̇ and λ from them.

The text is compiled once for all models. What it has to know of a form stands in front of its tables of numbers, so that it is
called as any program is, `one(x, p, tables, out)`. On the engine `python` it runs as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np

from dalembert.codegen.compiled_loop import CompiledText
from dalembert.codegen.function import Code, Function, MachineFunction
from dalembert.formalisms.shared.linear_form import LinearForm, Numeric, Rows
from dalembert.simulation import numeric_solution
from dalembert.symbolic.algebra_base import Array

Wanted = Literal["rates", "accelerations"]  # (q̇, v̇, powers) or (q̇, q̈, λ)


def parts_of(form: LinearForm) -> Array:
    """The parts of a form side by side, in the order in which `simulation/numeric_solution` reads them."""
    linear, velocity, own = form.linear, form.velocity, form.own_multipliers
    parts = [linear.M, linear.push, linear.A, linear.beta, velocity.W]
    parts += [] if linear.J is None else [linear.J]
    parts += [velocity.qd, velocity.qdd_bias]
    parts += [] if own is None else [own.S, own.power]
    return np.concatenate([np.asarray(part, dtype=object).ravel() for part in parts])


@dataclass(frozen=True)
class Assembly:
    """What is needed to solve a form in numbers: the parts, and the powers where they are functions of (q, q̇, q̈, t)."""

    form: LinearForm
    parts: Function
    power: Function | None
    n_work: int  # what does work
    wanted: Wanted

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        n, k = len(self.form.system.q), len(self.form.velocity.v)
        return n + k + self.n_work if self.wanted == "rates" else 2 * n + len(self.form.directions)

    @property
    def way(self) -> Numeric:
        """How the form is solved."""
        return Numeric.WHOLE if self.form.solver is None else self.form.solver.numeric

    @cached_property
    def function(self) -> Function:
        """The function of (q, v, t), in machine code where that can be."""
        if isinstance(self.parts, MachineFunction):
            return AssembledCode(self, self.parts, self.power)
        return Interpreted(self)

    def plan(self, **programs: int) -> numeric_solution.Plan:
        """What the text has to know of the form."""
        form, linear, known, most = self.form, self.form.linear, self.form.system.facts, -1
        nearly = known.nearly_dependent and known.mix is None and form.rows is Rows.INDEPENDENT
        if linear.constrained and (self.way.takes_dependent_rows or nearly):
            most = len(known.rows)
        nothing = dict.fromkeys(("parts", "power", "parts_tables", "power_tables"), 0)
        return numeric_solution.Plan(
            inputs=self.parts.sizes[0],
            outputs=self.n_outputs,
            n_parts=self.parts.n_outputs,
            n_q=len(form.system.q),
            n_v=len(form.velocity.v),
            n_x=len(linear.f),
            n_rows=len(linear.beta),
            n_lam=len(form.directions),
            n_work=self.n_work,
            own=form.own_multipliers is not None,
            apart=linear.J is not None,
            accelerations=self.wanted == "accelerations",
            even=form.solver is not None and form.behind is None,
            most=most,
            **nothing | programs,
        )

    def numbers(self, plan: numeric_solution.Plan) -> np.ndarray:
        """A plan, the scales of the coordinates and the sizes of the rows."""
        form, known = self.form, self.form.system.facts
        rows = range(len(known.levels.names)) if form.rows is Rows.ALL else known.rows
        sizes = [known.sizes[i] or 1.0 for i in rows] if plan.most >= 0 else np.ones(plan.n_rows)
        return np.concatenate([plan, known.scales.positions, sizes])


class Interpreted(Function):
    """The text as it stands, state by state."""

    def __init__(self, assembly: Assembly) -> None:
        self.n_outputs, self.sizes = assembly.n_outputs, assembly.parts.sizes
        self._assembly, self._plan, self._solver = assembly, assembly.plan(), numeric_solution.SOLVERS[assembly.way]
        self._numbers = assembly.numbers(self._plan)

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs of one state (k,) or of many (k, batch)."""
        if inputs.ndim == 1:
            return self(inputs[:, None], parameters, threads)[:, 0]
        parts = np.ascontiguousarray(self._assembly.parts(inputs, parameters, threads).T)
        out, plan = np.empty((self.n_outputs, inputs.shape[1])), self._plan
        power, moved = self._assembly.power, np.empty((2 * plan.n_q, inputs.shape[1]))
        for k in range(inputs.shape[1]):
            x, lam = numeric_solution.unknowns(plan, self._solver, self._numbers, parts[k])
            numeric_solution.motion(plan, parts[k], x, lam, moved[:, k], out[:, k])
        if power is not None and not plan.accelerations:
            n, k = plan.n_q, plan.n_v
            out[n + k :] = power(np.concatenate([inputs[:n], moved, inputs[n + k :]]), parameters, threads)
        return out


class AssembledCode(MachineFunction):
    """The text as machine code, which calls the programs of the parts and of the powers."""

    def __init__(self, assembly: Assembly, parts: MachineFunction, power: Function | None) -> None:
        super().__init__(*parts.sizes, assembly.n_outputs)
        self._assembly, self._parts = assembly, parts
        self._power = power if isinstance(power, MachineFunction) else None

    @cached_property
    def _tables(self) -> np.ndarray:
        parts, power = self._parts.native, None if self._power is None else self._power.native
        assert parts is not None
        own = len(self._assembly.numbers(self._assembly.plan()))
        plan = self._assembly.plan(
            parts=parts.address,
            power=0 if power is None else power.address,
            parts_tables=own,
            power_tables=own + len(parts.tables),
        )
        plan = plan._replace(inputs=self.sizes[0])
        numbers = self._assembly.numbers(plan)
        return np.concatenate([numbers, parts.tables, [] if power is None else power.tables, [0.0]])

    @cached_property
    def _one(self) -> Code:
        return compiled_solution(self._assembly.way)

    @cached_property
    def _many(self) -> Code:
        return compiled_solution(self._assembly.way)

    @cached_property
    def varied(self) -> AssembledCode:
        """The same with parameters among the inputs."""
        power = None if self._power is None else self._power.varied
        return AssembledCode(self._assembly, self._parts.varied, power)


@cache
def compiled_solution(way: Numeric) -> CompiledText:
    """The text as machine code."""
    return CompiledText(numeric_solution.one, numeric_solution.SOLVERS[way])
