"""Display of equations of motion: properties of the derivation, SymPy matrices, LaTeX, HTML and plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dalembert.api.equation_display import Blocks, DerivationDisplay
from dalembert.arguments import documented_class
from dalembert.display.math import html, latex, plain_text
from dalembert.display.math.quantity_blocks import DerivationStep, DisplayedLaw
from dalembert.display.math.sheet import notes_of
from dalembert.errors import InputError, NotApplicableError
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.solvers import directions, trial_vectors
from dalembert.io.code.code_source import Namer
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.symbols import TIME
from dalembert.symbolic.sympy_bridge import to_sympy
from dalembert.tables import Table

if TYPE_CHECKING:
    import sympy


_MAX_PRINTED_COORDINATES = 8  # larger models print a summary instead of the equations


@documented_class
@dataclass(frozen=True, repr=False)
class SymbolicEquations(BoundEquations):
    """The symbolic part of `Equations`: properties of a derivation and its display."""

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
        """For every coordinate the reason why it is ignorable, proved symbolically, or why it is not.

        >>> import dalembert as dl
        >>> dl.derive(dl.load("cart-pendulum"), "volterra_reduced").reasons["theta1"]
        'the Lagrangian depends on theta1'
        """
        return dict(self.workspace.facts.reasons)

    @property
    def speeds(self) -> dict[str, str]:
        """The generalized speeds in use: their formulas by name; empty if the formalism uses none."""
        if not self.about.uses_speeds:
            return {}
        known = self.workspace.facts
        used = known.reduced if self.about.velocities.are_reduced else range(known.d)
        return {known.speed_names[i]: str(known.speeds[i]) for i in used}

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about detected, chosen and dropped elements."""
        known = self.workspace.facts
        out = list(notes_of(self.form))
        if known.chosen and self.speeds:
            out.append(f"speeds chosen automatically: {', '.join(f'{u} = {f}' for u, f in self.speeds.items())}")
        added = {u: f for u, f in self.speeds.items() if u in known.speed_names[known.n_user_speeds :]}
        if known.n_user_speeds and added:
            out.append(f"the declared speeds were completed by {', '.join(f'{u} = {f}' for u, f in added.items())}")
        if known.reduced_note and self.about.velocities.are_reduced:
            out.append(known.reduced_note)
        if needed := self.derivation.needs:
            values = ", ".join(f"{name} = {self.model.parameter_values[name]:g}" for name in sorted(needed))
            out.append(
                f"{', '.join(self.ignorable)} ignorable only while {values}; other values require a new derivation"
            )
        if known.rank_note:
            out.append(known.rank_note)
        if known.nearly_dependent:
            out.append(
                f"the constraints are nearly dependent ({known.independence:.1e}); they are combined before the linear solve"
            )
        if self.engine == "native" and self.workspace.mode(self.about) == "assembled":
            out.append("run in assembled mode: the linear system is solved numerically at every step")
        return tuple(out)

    @property
    def operations(self) -> int:
        """The number of arithmetic operations in one evaluation of the right-hand side."""
        return self.derivation.machine.operations

    # symbolic form and display

    @property
    def symbolic(self) -> LinearForm:
        """The equations as SymEngine expressions, for display."""
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
        """A of A v̇ = β, as a SymPy matrix; without rows if the formalism has no multipliers."""
        return self._sympy(self.symbolic.linear.A)

    @cached_property
    def constraint_forcing(self) -> sympy.Matrix:
        """β of A v̇ = β, as a SymPy column."""
        return self._sympy(self.symbolic.linear.beta[:, None])

    def _sympy(self, array: Array) -> sympy.Matrix:
        return latex.to_sympy_matrix(self.model, array, self.workspace.facts.speed_names)

    @cached_property
    def _display(self) -> DerivationDisplay:
        """The display form of the derivation: its quantities and its final equations."""
        return DerivationDisplay(self.derivation)

    @property
    def blocks(self) -> Blocks:
        """The quantities of the formalism by key, in the order of its paper, with their equation numbers.

        >>> import dalembert as dl
        >>> dl.derive("robot-2-link", "denoc").blocks["N_l"].equation
        '(9b)'
        """
        return self._display.blocks

    @property
    def laws(self) -> tuple[DisplayedLaw, ...]:
        """The final equations of the formalism in the notation of its paper, row by row."""
        return self._display.laws

    def steps(self) -> Iterator[DerivationStep]:
        """Iterate over the steps of the derivation, each with its equation numbers.

        Returns
        -------
        iterator of Step
            Title, equation numbers and formulas of each step.
        """
        return self._display.steps()

    def latex(self, *, standalone: bool = False) -> str:
        """The equations in LaTeX for a document with amsmath; long lines are wrapped.

        Parameters
        ----------
        standalone : bool, default False
            Return a complete document.

        Returns
        -------
        str
            LaTeX source.
        """
        found = latex.page(self._display.page)
        return latex.document([found]) if standalone else found

    def html(self) -> str:
        """The equations as a self-contained HTML page with MathML.

        Returns
        -------
        str
            HTML source.
        """
        return html.document(f"{self.model.name} by {self.formalism}", [html.page(self._display.page)])

    def to_sympy(self) -> SympyEquations:
        """The equations with the interface of SymPy's `KanesMethod`.

        Returns
        -------
        SympyEquations
            `mass_matrix_full`, `forcing_full`, `rhs`, `linearize` and `kindiffdict`, in `dynamicsymbols`.

        Raises
        ------
        NotApplicableError
            If the model has rigid contacts or laws in Python, or the formalism has other unknowns.

        Examples
        --------
        >>> import dalembert as dl
        >>> eom = dl.derive("simple-pendulum", "kane").to_sympy()
        >>> eom.q, eom.u
        (Matrix([[theta(t)]]), Matrix([[u1(t)]]))
        >>> eom.kindiffdict()
        {Derivative(theta(t), t): u1(t)}
        """
        constants = [str(x) for x in self.form.constants.symbols]
        found = self.kernel.start(*self.model.initial, 0.0, self.values)[1] if constants else ()
        values = self.parameters | dict(zip(constants, map(float, found), strict=True))
        self.model.refuse_laws("to_sympy", "Write the law as a formula.")
        self.model.refuse_rigid("to_sympy")
        return sympy_equations(self.symbolic, values, self.model.sympy_symbols)

    @property
    def _overview(self) -> Table | None:
        """A summary for large models; None if the equations themselves are printed."""
        if len(self.model.coordinate_names) <= _MAX_PRINTED_COORDINATES:
            return None
        facts = (
            ("formalism", self.about.title),
            ("dynamic equations", str(self.n_dynamic)),
            ("states", str(self.n_states)),
            ("constraints", str(len(self.constraint_names))),
        )
        return Table(("equations", "of " + self.model.name), facts, "", self.notes)

    def _repr_latex_(self) -> str:
        overview = self._overview
        return latex.display(self._display.page) if overview is None else overview._repr_latex_()

    def _repr_html_(self) -> str:
        overview = self._overview
        return html.fragment([html.page(self._display.page) if overview is None else overview._repr_html_()])

    def __str__(self) -> str:
        overview = self._overview
        return plain_text.page(self._display.page) if overview is None else str(overview)

    @cached_property
    def hamiltonian(self) -> sympy.Expr:
        """H(q, p, t) as a SymPy expression; for the formalisms hamilton and dirac."""
        if not self.about.velocities.are_momenta:
            raise InputError(f"formalism '{self.formalism}' has no Hamiltonian. Derive with hamilton or dirac.")
        return self.blocks["H"].value  # pyright: ignore[reportReturnType]

    @cached_property
    def directions(self) -> sympy.Matrix:
        """D of papers/phong as a SymPy matrix, columns not normalized; for the formalism phong."""
        if self.formalism != "phong":
            raise InputError(f"formalism '{self.formalism}' has no matrix D. Derive with phong.")
        system = self.workspace.symbolic
        x = trial_vectors(system, self.derivation.trials)
        return self._sympy(directions(system.algebra, system.A, x))


@dataclass(frozen=True)
class SympyEquations:
    """M (v̇, λ) = f in SymPy's `dynamicsymbols`, for PyDy, opty and code written for `KanesMethod`.

    As in `LagrangesMethod`, the full matrices belong to the unknowns (q̇, v̇, λ):

        [1 0 0; 0 M −Jᵀ; 0 A 0] (q̇, v̇, λ) = (q̇(q, v), f, β).

    Velocity variables are dynamic symbols, too: `theta1_dot` is the rate of `theta1`, as in `kindiffdict`.
    """

    q: sympy.Matrix  # the coordinates, a column
    u: sympy.Matrix  # the velocity variables
    lam_vec: sympy.Matrix  # the multipliers of independent constraints
    mass_matrix: sympy.Matrix  # [M −Jᵀ; A 0], of (v̇, λ)
    forcing: sympy.Matrix  # (f, β)
    qd: sympy.Matrix  # q̇ as functions of (q, u)
    parameters: Mapping[Any, float]  # the values of the symbols, including constants of the motion

    def kindiffdict(self) -> dict[Any, Any]:
        """The kinematic differential equations: q̇ as functions of (q, u)."""
        import sympy

        from dalembert.symbolic.sympy_bridge import time_symbol

        return {
            sympy.Derivative(x, time_symbol()): value for x, value in zip(self.q.flat(), self.qd.flat(), strict=True)
        }

    @cached_property
    def mass_matrix_full(self) -> sympy.Matrix:
        """The matrix of (q̇, v̇, λ)."""
        import sympy

        return sympy.diag(sympy.eye(len(self.q)), self.mass_matrix)

    @cached_property
    def forcing_full(self) -> sympy.Matrix:
        """The right-hand side of (q̇, v̇, λ)."""
        return self.qd.col_join(self.forcing)

    def rhs(self, inv_method: str | None = None) -> sympy.Matrix:
        """Solve for (q̇, v̇, λ) with `inv_method`, a method of SymPy's `Matrix.inv`; the default is LU."""
        if inv_method is None:
            return self.qd.col_join(self.mass_matrix.LUsolve(self.forcing))
        return self.mass_matrix_full.inv(inv_method, try_block_diag=True) * self.forcing_full

    def linearize(
        self, op_point: Mapping[Any, Any], inputs: Sequence[Any] = ()
    ) -> tuple[sympy.Matrix, sympy.Matrix, list[Any]]:
        """A and B of ẋ = A x + B r about an operating point, x = (q, u); `inputs` r are symbols of parameters.

        `op_point` maps q, u and optionally parameters to values; all others remain symbols. With multipliers, deviations x
        must satisfy the constraints; derive with kane for independent speeds.
        """
        import sympy
        from sympy.physics.mechanics import msubs

        moving: list[Any] = [*self.q.flat(), *self.u.flat()]
        names = {x: sympy.Dummy(str(x.func)) for x in moving}
        M, f = (msubs(part, names) for part in (self.mass_matrix_full, self.forcing_full))
        known = {names.get(key, key): value for key, value in op_point.items()}
        rates = sympy.Matrix(M.subs(known)).LUsolve(f.subs(known))
        columns = []
        for x in [*names.values(), *inputs]:
            change = (f.diff(x) - M.diff(x) * rates).subs(known)  # M ẋ′ = f′ − M′ ẋ
            columns.append(sympy.Matrix(M.subs(known)).LUsolve(change)[: len(moving), 0])
        back = {dummy: x for x, dummy in names.items()}
        both = sympy.Matrix(len(moving), len(columns), lambda i, j: columns[j][i]).subs(back)
        return both[:, : len(moving)], both[:, len(moving) :], list(inputs)


def sympy_equations(form: LinearForm, values: Mapping[str, float], symbols: Mapping[str, Any]) -> SympyEquations:
    """Convert a form over SymEngine to SymPy; `symbols` are those of the user."""
    import sympy

    from dalembert.symbolic.sympy_bridge import time_symbol

    if form.extra_unknowns is not None:
        raise NotApplicableError(
            f"to_sympy: formalism '{form.formalism}' has unknowns besides the state rates and the multipliers. "
            "Derive with kane, lagrange or another formalism."
        )
    time, namer, linear = time_symbol(), Namer(), form.independent
    q, v = ([str(x) for x in part] for part in (form.system.q, form.velocity.v))
    table: dict[str, Any] = {str(name): symbol for name, symbol in symbols.items()}
    table |= {name: table.get(name, sympy.Function(namer.new(name))(time)) for name in q}
    table |= {name: sympy.Function(namer.new(name))(time) for name in v}
    table |= {name: table.get(name, sympy.Symbol(namer.new(name))) for name in values}
    table[TIME.name] = time

    def matrix(array: Array) -> sympy.Matrix:
        entries = [to_sympy(x, coordinates=(), symbols=table) for x in array.ravel()]
        return sympy.Matrix(*array.shape, entries)

    r = len(linear.beta)
    upper, lower = matrix(linear.M), matrix(linear.A)
    if r:
        upper = upper.row_join(-matrix(linear.directions).T)
        upper = upper.col_join(lower.row_join(sympy.zeros(r, r)))
    forcing = matrix(linear.push[:, None])
    return SympyEquations(
        q=sympy.Matrix([table[name] for name in q]),
        u=sympy.Matrix([table[name] for name in v]),
        lam_vec=sympy.Matrix([sympy.Function(f"lam{i + 1}")(time) for i in range(r)]),
        mass_matrix=upper,
        forcing=forcing.col_join(matrix(linear.beta[:, None])) if r else forcing,
        qd=matrix(form.velocity.qd[:, None]),
        parameters={table[name]: value for name, value in values.items()},
    )
