"""A sheet of equations in any output format: entries in order, long ones in terms of names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import thread_time

import numpy as np

from dalembert.display.math import _intermediates
from dalembert.display.math.simplify import simplify_matrix
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.model.description import Elements
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.formula_writer import readable, with_exact_numbers
from dalembert.symbolic.symbols import Formula

Line = tuple[str, Formula]  # a name and its expression

SECONDS = 3.0  # CPU time to simplify one form: the machine load does not change the result


def notes_of(form: LinearForm) -> tuple[str, ...]:
    """Return the notes on the equations: notes of the derivation, redundant rows, stabilized constraints."""
    notes = list(form.notes)
    if dropped := form.system.facts.dropped:
        verb = {"drops": "dropped", "takes": "kept"}[catalog.find(form.formalism).ABOUT.dependent_rows]
        notes.append(f"redundant constraints {verb}: {'; '.join(dropped)}; multipliers have minimum norm")
    return (*notes, *_stabilized(form.system.model))


def counts_of(form: LinearForm) -> str:
    """Return the numbers of equations and states as text."""
    n = form.n_dynamic
    return f"{n} dynamic equation{'s' if n != 1 else ''}, {form.n_states} states"


def _stabilized(model: Elements) -> Iterator[str]:
    """Yield notes on the feedback of constraints, with numeric gains."""
    found: dict[str, list[str]] = {}
    for constraint in (*model.holonomic_constraints, *model.loops, *model.nonholonomic_constraints):
        if constraint.feedback:
            *alpha, beta = map(readable, constraint.feedback)
            position = f" + {alpha[0]} φ" if alpha and alpha[0] != "0" else ""
            law = f"φ̈ + {beta} φ̇{position} = 0" if alpha else f"ψ̇ + {beta} ψ = 0"
            found.setdefault(law, []).extend(constraint.row_names)
    for law, names in found.items():
        yield f"constraints stabilized by feedback, included in the right sides: {law} for {', '.join(names)}"


@dataclass(frozen=True)
class SheetSection:
    """Lines under a heading; `law` is the equation of the lines, if any: dynamics or constraints."""

    heading: str
    lines: tuple[Line, ...]
    law: str = ""


@dataclass(frozen=True)
class Sheet:
    """The entries of a form, ready to print."""

    form: LinearForm
    parts: tuple[Line, ...]  # intermediates in order of computation
    v_from_qd: Array
    constants_from: Array
    qd: Array
    M: Array
    f: Array
    C: Array  # non-ideal part of the constraint forces, empty if there is none
    A: Array
    beta: Array
    J: Array  # multipliers enter as Jᵀλ; empty if J = A
    S: Array  # q̇ is the kinematics plus S times the multipliers after v̇; empty if there are none

    @property
    def title(self) -> str:
        """Title of the formulation."""
        return catalog.find(self.form.formalism).ABOUT.title

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocity variables v."""
        return tuple(str(v) for v in self.form.velocity.v)

    @property
    def in_speeds(self) -> bool:
        """True if v are quasi-velocities."""
        return not set(self.velocities) <= {str(v) for v in self.form.system.qd}

    @property
    def symmetric(self) -> bool:
        """True if M is symmetric."""
        return self.form.order is None

    @property
    def multipliers(self) -> str:
        """Letter of the matrix of the multipliers: A, J, or none."""
        return "J" if len(self.J) else "A" if len(self.A) else ""

    @property
    def unknown(self) -> str:
        """Unknowns: v̇, or x if there are unknowns after v̇."""
        return "x" if self.form.extra_unknowns else "v̇"

    def entries(self, name: str) -> tuple[Line, ...]:
        """Return the nonzero entries of M, f, A, beta or S, each once."""
        entries: Array = getattr(self, name)
        return tuple(
            (f"{name}[{','.join(str(i + 1) for i in index)}]", entries[index])
            for index in np.ndindex(*entries.shape)
            if entries[index] != 0 and not (name == "M" and self.symmetric and index[0] > index[1])
        )

    def sections(self) -> tuple[SheetSection, ...]:
        """Return all nonempty sections."""
        about = catalog.find(self.form.formalism).ABOUT
        kinematics = tuple(zip(map(str, self.form.system.qd), self.qd, strict=True)) if self.in_speeds else ()
        speeds = tuple(zip(self.velocities, self.v_from_qd, strict=True)) if self.in_speeds else ()
        constants = tuple(zip(map(str, self.form.constants.symbols), self.constants_from, strict=True))
        found = (
            SheetSection(
                "Momenta of the free system" if self.form.constrains_momenta else about.velocities.heading, speeds
            ),
            SheetSection("Constants of the motion", constants),
            SheetSection("Kinematics", kinematics),
            SheetSection("Contribution of the multipliers to the kinematics, by columns", self.entries("S")),
            SheetSection("Dynamics", (*self.entries("M"), *self.entries("f"), *self.entries("C")), "dynamics"),
            SheetSection(
                "Directions of the multipliers", self.entries("J") if len(self.A) or self.form.extra_unknowns else ()
            ),
            SheetSection("Constraints", (*self.entries("A"), *self.entries("beta")), "constraints"),
            SheetSection("Intermediates", self.parts),
        )
        return tuple(s for s in found if s.lines and (s.law != "constraints" or len(self.A)))


def _blocks(form: LinearForm) -> dict[str, Array]:
    """Return the blocks of the form, empty if it has none; J only if it is not A."""
    own, linear = form.own_multipliers, form.linear
    J = linear.J if own is None else own.J
    found = {
        "v_from_qd": form.velocity.v_from_qd,
        "constants_from": form.constants.values,
        "qd": form.velocity.qd,
        "M": linear.M,
        "f": linear.f,
        "C": linear.C,
        "A": linear.A,
        "beta": linear.beta,
        "J": None if J is not None and np.array_equal(J, linear.A) else J,
        "S": None if own is None else own.S,
    }
    return {name: np.empty((0, 0), dtype=object) if block is None else block for name, block in found.items()}


def prepare(form: LinearForm, seconds: float = SECONDS) -> Sheet:
    """Return the sheet of a form over the symbolic algebra; `seconds` of CPU time are for simplification.

    >>> from dalembert.io import gallery
    >>> from dalembert.mechanics.system import system_of
    >>> form = catalog.find("kane").derive(system_of(gallery.load("double-pendulum"), "symbolic")).form
    >>> [section.heading for section in prepare(form).sections()]
    ['Speeds', 'Kinematics', 'Dynamics']
    """
    moving = {str(s) for s in (*form.system.qd, *form.velocity.v, *form.constants.symbols)}
    blocks, taken = _blocks(form), taken_names(form)
    indices = {name: list(np.ndindex(*block.shape)) for name, block in blocks.items()}
    symmetric = form.order is None
    if symmetric:
        indices["M"] = [index for index in indices["M"] if index[0] <= index[1]]
    until = thread_time() + seconds
    lines: list[Line] = []
    entries: list[Formula] = []
    for name, block in blocks.items():
        plain = [with_exact_numbers(block[index]) for index in indices[name]]
        left = until - thread_time()
        if name == "f":
            lines, short = _intermediates.simplify_rows(plain, form.system.model.coordinate_names, moving, taken, left)
        else:
            short = list(simplify_matrix(np.array(plain, dtype=object), moving, left).expanded)
        entries += short
    parts, written = _intermediates.name_parts(entries, taken, lines=lines)
    queue = iter(written)
    arrays = {name: np.empty(block.shape, dtype=object) for name, block in blocks.items()}
    for name, array in arrays.items():
        for index in indices[name]:
            array[index] = next(queue)
            if name == "M" and symmetric:
                array[index[::-1]] = array[index]
    return Sheet(form, tuple(parts), **arrays)


def taken_names(form: LinearForm) -> tuple[str, ...]:
    """Return the names in use in the model."""
    model = form.system.model
    return (*model.coordinate_names, *model.parameter_values, *form.system.facts.speed_names)
