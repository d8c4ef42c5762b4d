"""What is written on a sheet of equations, whatever it is written in: entries in order, long ones through names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import thread_time

import numpy as np

from dalembert.display.math import _intermediates
from dalembert.display.math.simplify import tidy_matrix
from dalembert.formalisms import catalogue
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.model.description import Elements
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.formula_writer import readable, with_exact_numbers
from dalembert.symbolic.symbols import Formula

Line = tuple[str, Formula]  # the name of what is defined, and its expression

SECONDS = 3.0  # of this thread, for bringing one form to a short form: the load of the machine changes no result


def notes_of(form: LinearForm) -> tuple[str, ...]:
    """What a reader of the equations has to know: notes of the derivation, redundant rows, stabilized constraints."""
    notes = list(form.notes)
    if dropped := form.system.facts.dropped:
        verb = {"drops": "dropped", "takes": "kept"}[catalogue.find(form.formalism).ABOUT.redundant]
        notes.append(f"redundant constraints {verb}: {'; '.join(dropped)}; multipliers are the smallest ones")
    return (*notes, *_stabilized(form.system.model))


def counts_of(form: LinearForm) -> str:
    """The numbers of equations and states in words."""
    n = form.n_dynamic
    return f"{n} dynamic equation{'s' if n != 1 else ''}, {form.n_states} states"


def _stabilized(model: Elements) -> Iterator[str]:
    """The feedback on constraints, by its equation with the gains in numbers."""
    found: dict[str, list[str]] = {}
    for constraint in (*model.holonomic_constraints, *model.loops, *model.nonholonomic_constraints):
        if constraint.feedback:
            *alpha, beta = map(readable, constraint.feedback)
            position = f" + {alpha[0]} φ" if alpha and alpha[0] != "0" else ""
            law = f"φ̈ + {beta} φ̇{position} = 0" if alpha else f"ψ̇ + {beta} ψ = 0"
            found.setdefault(law, []).extend(constraint.row_names)
    for law, names in found.items():
        yield f"constraints stabilized by feedback, which the right sides contain: {law} for {', '.join(names)}"


@dataclass(frozen=True)
class Section:
    """Some lines under a heading; `law` names the equation the lines fill in, if any: dynamics or constraints."""

    heading: str
    lines: tuple[Line, ...]
    law: str = ""


@dataclass(frozen=True)
class Sheet:
    """The entries of a form, ready to be written."""

    form: LinearForm
    parts: tuple[Line, ...]  # intermediates, in the order they can be computed
    v_from_qd: Array
    constants_from: Array
    qd: Array
    M: Array
    f: Array
    C: Array  # the non-ideal part of the constraint forces, empty where there is none
    A: Array
    beta: Array
    J: Array  # multipliers enter as Jᵀλ; empty where J = A
    S: Array  # q̇ is the kinematics and S times the multipliers behind v̇; empty where it is the kinematics alone

    @property
    def title(self) -> str:
        """The title of the formalism."""
        return catalogue.find(self.form.formalism).ABOUT.title

    @property
    def velocities(self) -> tuple[str, ...]:
        """The names of the velocity variables v."""
        return tuple(str(v) for v in self.form.velocity.v)

    @property
    def in_speeds(self) -> bool:
        """Whether v are quasi-velocities, and not q̇ itself."""
        return not set(self.velocities) <= {str(v) for v in self.form.system.qd}

    @property
    def symmetric(self) -> bool:
        """Whether M is symmetric."""
        return self.form.order is None

    @property
    def multipliers(self) -> str:
        """The letter of the matrix through which multipliers act: A, J, or none."""
        return "J" if len(self.J) else "A" if len(self.A) else ""

    @property
    def unknown(self) -> str:
        """What M multiplies: v̇, or x where there are unknowns behind v̇."""
        return "x" if self.form.behind else "v̇"

    def entries(self, name: str) -> tuple[Line, ...]:
        """The entries of M, f, A, beta or S that are not zero, each once."""
        entries: Array = getattr(self, name)
        return tuple(
            (f"{name}[{','.join(str(i + 1) for i in index)}]", entries[index])
            for index in np.ndindex(*entries.shape)
            if entries[index] != 0 and not (name == "M" and self.symmetric and index[0] > index[1])
        )

    def sections(self) -> tuple[Section, ...]:
        """All lines, without empty sections."""
        about = catalogue.find(self.form.formalism).ABOUT
        kinematics = tuple(zip(map(str, self.form.system.qd), self.qd, strict=True)) if self.in_speeds else ()
        speeds = tuple(zip(self.velocities, self.v_from_qd, strict=True)) if self.in_speeds else ()
        constants = tuple(zip(map(str, self.form.constants.symbols), self.constants_from, strict=True))
        found = (
            Section("Momenta of the free system" if self.form.constrains_momenta else about.velocities.heading, speeds),
            Section("Constants of the motion", constants),
            Section("Kinematics", kinematics),
            Section("What the multipliers add to the kinematics, column by column", self.entries("S")),
            Section("Dynamics", (*self.entries("M"), *self.entries("f"), *self.entries("C")), "dynamics"),
            Section("Directions of the multipliers", self.entries("J") if len(self.A) or self.form.behind else ()),
            Section("Constraints", (*self.entries("A"), *self.entries("beta")), "constraints"),
            Section("Intermediates", self.parts),
        )
        return tuple(s for s in found if s.lines and (s.law != "constraints" or len(self.A)))


def _blocks(form: LinearForm) -> dict[str, Array]:
    """The blocks of the form, empty where it has none; J only where it is not A."""
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
    """The sheet of a form over the symbolic algebra; `seconds` of CPU time are for short forms.

    >>> from dalembert.io import gallery
    >>> from dalembert.mechanics.system import system_of
    >>> form = catalogue.find("kane").derive(system_of(gallery.load("double-pendulum"), "symbolic")).form
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
            lines, short = _intermediates.tidy_rows(plain, form.system.model.coordinate_names, moving, taken, left)
        else:
            short = list(tidy_matrix(np.array(plain, dtype=object), moving, left).whole)
        entries += short
    parts, written = _intermediates.name_parts(entries, taken, given=lines)
    queue = iter(written)
    arrays = {name: np.empty(block.shape, dtype=object) for name, block in blocks.items()}
    for name, array in arrays.items():
        for index in indices[name]:
            array[index] = next(queue)
            if name == "M" and symmetric:
                array[index[::-1]] = array[index]
    return Sheet(form, tuple(parts), **arrays)


def taken_names(form: LinearForm) -> tuple[str, ...]:
    """The names that are in use in the model."""
    model = form.system.model
    return (*model.coordinate_names, *model.parameter_values, *form.system.facts.speed_names)
