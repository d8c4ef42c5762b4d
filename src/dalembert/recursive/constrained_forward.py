"""Accelerations of models with constraints as one function: M, h, A and β by a program, then ṡ from them in numbers.

    M ṡ = h + Aᵀλ,  A ṡ = β        rows of any rank

The text is compiled once for all models by Numba and calls the program of the parts by its address. What it has to know of a
model stands in front of its tables of numbers. Where Numba is missing, and on the engine `python`, it runs as it stands. Its last
output is an alarm as in `traced`: below 1 where the parts are finite, the rows agree, and every free motion has inertia.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from inspect import isfunction

import numpy as np

from dalembert.codegen.function import Code, Function, MachineFunction
from dalembert.codegen.numba_code import Text, address_of, available
from dalembert.mechanics import constraint_rows, matrices, rank, small_matrices
from dalembert.recursive import constrained_loop, null_space_solve
from dalembert.recursive.plan import Plan
from dalembert.recursive.tree_state import TOLERANCE


@dataclass(frozen=True, eq=False)
class Held:
    """What is known of a model with constraints, and its parts (M, h, A, β) as a compiled function."""

    plan: Plan
    parts: Function
    usual: int | None  # the rank of the constraints at most states

    @property
    def function(self) -> Function:
        """ṡ and the alarm, in machine code where that can be."""
        if isinstance(self.parts, MachineFunction) and available():
            return HeldCode(self, self.parts)
        return HeldText(self)

    def numbers(self, **addresses: int) -> np.ndarray:
        """What the text knows of the model."""
        usual = -1 if self.usual is None else self.usual
        known = {"inputs": self.parts.sizes[0], "n": self.plan.tree.n_speeds, "rows": len(self.plan.sizes)}
        known |= {"usual": usual, "time": self.plan.scales.time, **addresses}
        head = np.array(
            [tuple(known.get(name, 0) for name in constrained_loop.HEAD.names or ())], dtype=constrained_loop.HEAD
        )
        return np.concatenate([head.view(float), self.plan.units, self.plan.sizes])


class HeldText(Function):
    """The text as it stands, state by state."""

    def __init__(self, held: Held) -> None:
        self.n_outputs, self.sizes = held.plan.tree.n_speeds + 1, held.parts.sizes
        self._parts, self._numbers = held.parts, held.numbers()

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs of one state (k,) or of many (k, batch)."""
        if inputs.ndim == 1:
            return self(inputs[:, None], parameters, threads)[:, 0]
        parts = np.ascontiguousarray(self._parts(inputs, parameters, threads).T)
        out, head = np.empty((inputs.shape[1], self.n_outputs)), constrained_loop.read(self._numbers)
        for k in range(inputs.shape[1]):
            constrained_loop.accelerations(head, self._numbers, parts[k], out[k])
        return out.T


class HeldCode(MachineFunction):
    """The text as machine code, which calls the program of the parts."""

    def __init__(self, held: Held, parts: MachineFunction) -> None:
        super().__init__(*parts.sizes, held.plan.tree.n_speeds + 1)
        self._held, self._parts = held, parts

    @cached_property
    def _tables(self) -> np.ndarray:
        parts = self._parts.native
        assert parts is not None
        return np.concatenate([self._held.numbers(one=self._one.address, parts=parts.address), parts.tables, [0.0]])

    @cached_property
    def _one(self) -> Code:
        return _text()

    @cached_property
    def _many(self) -> Code:
        return _text()

    @cached_property
    def varied(self) -> HeldCode:
        """The same: there are no parameters."""
        return HeldCode(self._held, self._parts.varied)


@cache
def _text() -> Text:
    """The text as machine code."""
    called = (constrained_loop, null_space_solve, constraint_rows, rank, small_matrices)
    instead = {
        operation: getattr(small_matrices, name) for name, operation in vars(matrices).items() if isfunction(operation)
    }
    pointers = ", ".join(["voidptr"] * 4)
    numbers = (rank.TOLERANCE, TOLERANCE)
    return Text(
        address_of(constrained_loop.one, f"void({pointers})", called, instead, numbers),
        address_of(constrained_loop.many, f"void({pointers}, int64, int64, int64)", called, instead, numbers),
    )
