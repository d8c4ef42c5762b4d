"""Equations of motion as they are read: what was derived, by which facts, and how it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dalembert.api.equation_reader import Blocks, Reading
from dalembert.display.math import html, latex, plain_text
from dalembert.display.math.quantity_blocks import Step, WrittenLaw
from dalembert.display.math.sheet import notes_of
from dalembert.errors import InputError
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.solvers import directions, trial_vectors
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.symbolic.algebra_base import Array
from dalembert.tables import Table

if TYPE_CHECKING:
    import sympy

_READABLE = 8  # coordinates of a model whose equations are printed when they are looked at


@dataclass(frozen=True, repr=False)
class ReadableEquations(BoundEquations):
    """What a derivation says; `Equations` adds what can be computed from it."""

    @property
    def n_dynamic(self) -> int:
        """The number of dynamic equations, as Table 1 of papers/volterra counts them."""
        return self.form.n_dynamic

    @property
    def ignorable(self) -> tuple[str, ...]:
        """The names of the ignorable coordinates."""
        return tuple(self.model.coordinate_names[i] for i in self.workspace.facts.ignorable)

    @property
    def reasons(self) -> dict[str, str]:
        """For every coordinate why it is ignorable, as proved on the formulas, or what refutes it.

        >>> import dalembert as dl
        >>> dl.derive(dl.load("cart-pendulum"), "volterra_reduced").reasons["theta1"]
        'the Lagrangian depends on theta1'
        """
        return dict(self.workspace.facts.reasons)

    @property
    def speeds(self) -> dict[str, str]:
        """The quasi-velocities that are used, name by name with their formulas; empty where none are."""
        if not self.about.uses_speeds:
            return {}
        known = self.workspace.facts
        used = known.reduced if self.about.velocities.are_reduced else range(known.d)
        return {known.speed_names[i]: str(known.speeds[i]) for i in used}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was detected, chosen and dropped, in sentences."""
        known = self.workspace.facts
        out = list(notes_of(self.form))
        if known.chosen and self.speeds:
            out.append(f"speeds chosen by the program: {', '.join(f'{u} = {f}' for u, f in self.speeds.items())}")
        added = {u: f for u, f in self.speeds.items() if u in known.speed_names[known.given :]}
        if known.given and added:
            out.append(f"the given speeds were completed by {', '.join(f'{u} = {f}' for u, f in added.items())}")
        if known.reduced_note and self.about.velocities.are_reduced:
            out.append(known.reduced_note)
        if needed := self.derivation.needs:
            given = ", ".join(f"{name} = {self.model.parameter_values[name]:g}" for name in sorted(needed))
            out.append(
                f"{', '.join(self.ignorable)} ignorable only while {given}; other values need equations of their own"
            )
        if known.rank_note:
            out.append(known.rank_note)
        if known.nearly_dependent:
            out.append(
                f"the constraints are nearly dependent, by {known.independence:.1e}, so they are combined before they are solved"
            )
        if self.engine == "native" and self.workspace.mode(self.about) == "assembled":
            out.append("run in assembled mode: the linear system is solved in numbers at every step")
        return tuple(out)

    @property
    def operations(self) -> int:
        """The number of arithmetic operations in one evaluation of the whole right-hand side."""
        return self.derivation.machine.operations

    # reading

    @property
    def symbolic(self) -> LinearForm:
        """The equations over SymEngine, for reading."""
        return self.derivation.machine.symbolic

    @cached_property
    def mass_matrix(self) -> sympy.Matrix:
        """M of M v̇ = f + Aᵀλ, as a SymPy matrix."""
        return self._sympy(self.symbolic.linear.M)

    @cached_property
    def forcing(self) -> sympy.Matrix:
        """f of M v̇ = f + Aᵀλ, as a SymPy column."""
        return self._sympy(self.symbolic.linear.f[:, None])

    @cached_property
    def constraint_matrix(self) -> sympy.Matrix:
        """A of A v̇ = β, as a SymPy matrix; without rows where the formalism has no multipliers."""
        return self._sympy(self.symbolic.linear.A)

    @cached_property
    def constraint_forcing(self) -> sympy.Matrix:
        """β of A v̇ = β, as a SymPy column."""
        return self._sympy(self.symbolic.linear.beta[:, None])

    def _sympy(self, array: Array) -> sympy.Matrix:
        return latex.to_sympy_matrix(self.model, array, self.workspace.facts.speed_names)

    @cached_property
    def reading(self) -> Reading:
        """The derivation for the reader: its quantities and its laws."""
        return Reading(self.derivation)

    @property
    def blocks(self) -> Blocks:
        """The formalism's own quantities by key, in the order of its paper, each with the number of its equation.

        >>> import dalembert as dl
        >>> dl.derive("robot-2-link", "denoc").blocks["N_l"].equation
        '(9b)'
        """
        return self.reading.blocks

    @property
    def laws(self) -> tuple[WrittenLaw, ...]:
        """The equations that the formalism ends with, as its paper writes them, row by row."""
        return self.reading.laws

    def steps(self) -> Iterator[Step]:
        """The derivation step by step, each with its equation numbers."""
        return self.reading.steps()

    def latex(self, *, standalone: bool = False) -> str:
        """The equations in LaTeX for a document with amsmath, or as a document of their own; long lines are broken."""
        found = latex.page(self.reading.page)
        return latex.document([found]) if standalone else found

    def html(self) -> str:
        """The equations as a page of HTML that needs nothing else, with MathML in it."""
        return html.document(f"{self.model.name} by {self.formalism}", [html.page(self.reading.page)])

    @property
    def _overview(self) -> Table | None:
        """What is said of equations that nobody would read at once; None where the page itself is shown."""
        if len(self.model.coordinate_names) <= _READABLE:
            return None
        facts = (
            ("formalism", self.about.title),
            ("dynamic equations", str(self.n_dynamic)),
            ("states", str(self.n_states)),
            ("constraints", str(len(self.constraint_names))),
        )
        return Table(("equations", "of " + self.model.name), facts, "", self.notes)

    def _repr_latex_(self) -> str:
        told = self._overview
        return latex.display(self.reading.page) if told is None else told._repr_latex_()

    def _repr_html_(self) -> str:
        told = self._overview
        return html.fragment([html.page(self.reading.page) if told is None else told._repr_html_()])

    def __str__(self) -> str:
        told = self._overview
        return plain_text.page(self.reading.page) if told is None else str(told)

    @cached_property
    def hamiltonian(self) -> sympy.Expr:
        """H(q, p, t) as a SymPy expression; for the formalisms hamilton and dirac."""
        if not self.about.velocities.are_momenta:
            raise InputError(f"formalism '{self.formalism}' has no Hamiltonian. Derive by hamilton or dirac.")
        return self.blocks["H"].value  # pyright: ignore[reportReturnType]

    @cached_property
    def directions(self) -> sympy.Matrix:
        """D of papers/phong as a SymPy matrix, columns not normalized; for the formalism phong."""
        if self.formalism != "phong":
            raise InputError(f"formalism '{self.formalism}' has no matrix D. Derive by phong.")
        system = self.workspace.symbolic
        x = trial_vectors(system, self.derivation.trials)
        return self._sympy(directions(system.algebra, system.A, x))
