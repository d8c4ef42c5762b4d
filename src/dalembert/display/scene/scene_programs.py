"""Poses and closure as programs of plain numbers: what the page computes is what Python compiles.

Parameters are folded: they are numbers, and so is every line that depends on nothing else. Places are counted through: inputs
(the coordinates, then time), numbers, tables, lines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.codegen.function import nodes
from dalembert.codegen.program import Program, program_of
from dalembert.mechanics.constraint_levels import Constraints, levels
from dalembert.mechanics.motion import Motion, move_symbols
from dalembert.model.description import Elements
from dalembert.symbolic.algebra_base import Array, choose, stack
from dalembert.symbolic.lookup_tables import Table
from dalembert.symbolic.operations import OPERATIONS

Places = dict[str, tuple[np.ndarray, np.ndarray]]  # rotations (3, 3, batch) and positions (3, batch) by body


@dataclass(frozen=True)
class ProgramForm:
    """A program without parameters."""

    program: Program

    def to_dict(self) -> dict[str, Any]:
        """Its plain data."""
        program = self.program
        tables = [{"times": x.times.tolist(), "values": x.values.tolist(), "order": x.order} for x in program.tables]
        lines = [[name, *places] for name, places in program.lines]
        form = {"inputs": len(program.inputs), "numbers": [*program.numbers], "lines": lines}
        return form | {"outputs": [*program.outputs]} | ({"tables": tables} if tables else {})

    def rows(self, n: int) -> int:
        """How many functions it holds, where each is followed by its n slopes."""
        return len(self.program.outputs) // (n + 1)

    def at(self, q: np.ndarray, t: np.ndarray | float) -> np.ndarray:
        """The outputs at states (n, batch) and times, (outputs, batch)."""
        times = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])
        return evaluated(self.program, np.concatenate([q, times[None]]))


@dataclass(frozen=True)
class Poses:
    """Where the bodies are: for each of them 12 outputs, the position and the rows of the rotation."""

    names: tuple[str, ...]
    form: ProgramForm

    def at(self, q: np.ndarray, t: np.ndarray | float) -> Places:
        """Rotation (3, 3, batch) and position (3, batch) of every body, the world included."""
        batch = q.shape[1]
        out = self.form.at(q, t).reshape(len(self.names), 12, batch)
        found = {name: (each[3:].reshape(3, 3, batch), each[:3]) for name, each in zip(self.names, out, strict=True)}
        return {"world": (np.repeat(np.eye(3)[:, :, None], batch, axis=2), np.zeros((3, batch))), **found}


@dataclass(frozen=True)
class Forms:
    """The programs of one model with its values of the parameters."""

    model: Elements  # with its contacts written out
    values: dict[str, float]

    @cached_property
    def _motion(self) -> Motion:
        return move_symbols(self.model, choose("graph"))

    def _form(self, outputs: Array) -> ProgramForm:
        inputs = [*self.model.coordinate_names, "t"]
        found = program_of(nodes(choose("graph"), outputs), inputs, list(self.values))
        return ProgramForm(folded(found, self.values))

    @cached_property
    def poses(self) -> Poses:
        """Positions and rotations of all bodies."""
        bodies = self._motion.bodies
        parts = [part for body in bodies for part in (body.frame.p, body.R_WB.ravel())]
        return Poses(tuple(body.name for body in bodies), self._form(stack(*parts)))

    @cached_property
    def closure(self) -> ProgramForm | None:
        """The constraints on positions g(q, t) and ∂g/∂q row by row; None where there are none."""
        known = levels(self.model)
        rows = [i for i in range(known.held) if not known.servo[i]]
        if not rows:
            return None
        constraints = Constraints(self._motion, known)
        return self._form(stack(constraints.phi[rows], constraints.A[rows].ravel()))


def moved(places: Places, body: str, point: np.ndarray) -> np.ndarray:
    """A point of a body in the world, (3, batch)."""
    R, p = places[body]
    return np.einsum("xyk,y->xk", R, point) + p


def folded(program: Program, values: dict[str, float]) -> Program:
    """The program with numbers in place of its parameters and of all that follows from them alone."""
    known: dict[int, Any] = {}
    n = len(program.inputs)
    fixed = [*(values[name] for name in program.parameters), *program.numbers, *program.tables]
    known |= {n + i: each for i, each in enumerate(fixed)}
    first, moves = program.first_line, program.moves
    with np.errstate(all="ignore"):
        for i, (name, places) in enumerate(program.lines):
            if not moves[first + i]:
                known[first + i] = _applied(name, [known[a] for a in places])
    used = {a for i, (_, places) in enumerate(program.lines) if moves[first + i] for a in places} | {*program.outputs}
    kept = [a for a in sorted(known) if a in used]
    numbers = [a for a in kept if not isinstance(known[a], Table)]
    tables = [a for a in kept if isinstance(known[a], Table)]
    lines = [i for i in range(len(program.lines)) if moves[first + i]]
    order = [*range(n), *numbers, *tables, *(first + i for i in lines)]
    place = {old: new for new, old in enumerate(order)}
    return replace(
        program,
        parameters=(),
        numbers=tuple(float(known[a]) for a in numbers),
        tables=tuple(known[a] for a in tables),
        lines=tuple((program.lines[i][0], tuple(place[a] for a in program.lines[i][1])) for i in lines),
        outputs=tuple(place[a] for a in program.outputs),
    )


def evaluated(program: Program, inputs: np.ndarray) -> np.ndarray:
    """The outputs of a program without parameters at columns of inputs, line by line."""
    values: list[Any] = [*inputs, *program.numbers, *program.tables]
    with np.errstate(all="ignore"):
        for name, places in program.lines:
            values.append(_applied(name, [values[a] for a in places]))
    out = np.empty((len(program.outputs), *inputs.shape[1:]))
    for i, place in enumerate(program.outputs):
        out[i] = values[place]
    return out


def _applied(name: str, arguments: list[Any]) -> Any:
    if name == "interpolate":
        return arguments[0].at(arguments[1])
    return OPERATIONS[name].array(*arguments)
