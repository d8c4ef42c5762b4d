"""Export of equations as source code: the functions of a derivation, and the files they are written to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from dalembert import __version__
from dalembert.api.equations import Equations
from dalembert.arguments import validate_arguments
from dalembert.codegen.function import nodes
from dalembert.codegen.program import Program, program_of
from dalembert.codegen.program_derivatives import jacobian
from dalembert.errors import InputError, NotApplicableError, suggest_name
from dalembert.io.code.code_source import ArgumentKind, CodeFunction, ExportedEquations
from dalembert.io.code.languages import TARGETS
from dalembert.io.files import require_suffix
from dalembert.simulation.right_hand_side import RightHandSide
from dalembert.symbolic.algebra_base import Array, stack, vector, zeros
from dalembert.symbolic.elimination import ldl_solve
from dalembert.symbolic.optimize import optimize


@validate_arguments
def export(equations: Equations, target: str, path: str | Path) -> tuple[Path, ...]:
    """Write the equations as source code that does not depend on dalembert.

    Parameters
    ----------
    equations : Equations
        The equations to export.
    target : {"c", "numpy", "numba", "jax", "casadi", "julia", "matlab", "fmu"}
        The language or format.
    path : str or Path
        The file to write, with the suffix .c, .py, .jl or .fmu; for matlab a package directory +name.

    Returns
    -------
    tuple of Path
        The written files.

    Raises
    ------
    NotApplicableError
        If the equations cannot be exported, for example because events change parameters.

    Examples
    --------
    >>> import dalembert as dl, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file.name for file in dl.export(dl.derive("cart-pendulum", "kane"), "c", f"{folder}/cart.c")]
    ['cart.h', 'cart.c']
    """
    if target not in TARGETS:
        raise InputError(
            f"export: there is no target '{target}'. {suggest_name(target, TARGETS)} Expected {', '.join(TARGETS)}."
        )
    chosen, where = TARGETS[target], Path(path)
    if chosen.ending:
        require_suffix(where, (chosen.ending,), chosen.title)
    return chosen.write(source_of(equations), where)


def source_of(equations: Equations) -> ExportedEquations:
    """The source of the exported code; raises for equations that cannot be exported."""
    form, kernel = (
        equations.form,
        replace(equations.kernel, mode="fused"),
    )  # raises for trees that are too large
    _refuse(equations)
    model = equations.model
    q, qd = model.initial
    v, constants = kernel.start(q, qd, 0.0, equations.values)
    described = {str(x): "a constant of the motion" for x in form.constants.symbols}
    described |= {each.name: each.description for each in (*model.generalized_coordinates, *model.declared_parameters)}
    return ExportedEquations(
        model=model.name,
        formalism=equations.formalism,
        title=equations.about.title,
        version=__version__,
        coordinates=model.coordinate_names,
        velocities=tuple(str(x) for x in form.velocity.v),
        parameters=equations.parameters,
        constants=dict(zip([str(x) for x in form.constants.symbols], constants.tolist(), strict=True)),
        initial=(*q.tolist(), *v.tolist()),
        functions=tuple(_functions(equations, kernel)),
        notes=tuple(_notes(equations)),
        descriptions={name: " ".join(description.split()) for name, description in described.items() if description},
    )


def _refuse(equations: Equations) -> None:
    """Raise for equations that straight-line code cannot represent."""
    model, known = equations.model, equations.workspace.facts
    model.refuse_laws("export", "Write the law as a formula, or remove the load.")
    model.refuse_rigid("export")
    for event in model.events:
        if event.set or event.reset:
            raise NotApplicableError(
                f"export: the event '{event.name}' of model '{model.name}' changes parameters or velocities, which code of the "
                "right-hand side cannot do. Export a copy of the model without the event, and handle it in your own code."
            )
    if needed := equations.derivation.needs:
        values = ", ".join(f"{name} = {equations.parameters[name]:g}" for name in sorted(needed))
        raise NotApplicableError(
            f"export: by {equations.formalism} {', '.join(equations.ignorable)} of model '{model.name}' are ignorable only while "
            f"{values}, but these parameters are inputs of the code. Replace them by numbers in the model, or derive with a "
            "formalism without constant momenta, such as lagrange."
        )
    if known.nearly_dependent and not known.row_combinations:
        raise NotApplicableError(
            f"export: the constraints of model '{model.name}' are nearly dependent ({known.independence:.1e}), so the "
            "independent ones must be selected at every state. Remove redundant constraints from the model."
        )


def _notes(equations: Equations) -> Iterator[str]:
    known = equations.workspace.facts
    if known.structural:
        names = ", ".join(sorted(known.structural))
        yield f"The independent constraints and speeds were selected for the present values of {names}."
    if known.dropped:
        yield f"Omitted redundant constraints: {', '.join(known.dropped)}."
    if equations.constraint_names:
        yield "Start from a state that satisfies the constraints: this code does not project states onto them."
    for event in equations.model.events:
        yield f"The event '{event.name}' is not part of this code."


class _Builder:
    """Builds functions of (q, v, t) or (q, q̇, t) from expressions."""

    def __init__(self, kernel: RightHandSide) -> None:
        self._kernel, self._system = kernel, kernel.form.system
        self._parameters = [str(p) for p in kernel.parameters]

    def program(self, outputs: Array, arguments: ArgumentKind = "state") -> Program:
        """The shortened program of expressions."""
        system = self._system
        moving = self._kernel.form.velocity.v if arguments == "state" else system.qd
        inputs = [str(x) for x in stack(system.q, moving, vector([system.t]))]
        return program_of(optimize(nodes(system.algebra, outputs.ravel())), inputs, self._parameters)

    def function(
        self, name: str, meaning: str, outputs: Array, arguments: ArgumentKind = "state", rows: tuple[str, ...] = ()
    ) -> CodeFunction:
        """Create a function of the code."""
        return CodeFunction(name, meaning, self.program(outputs, arguments), outputs.shape, arguments, rows)


def _functions(equations: Equations, kernel: RightHandSide) -> Iterator[CodeFunction]:
    form, make = kernel.form, _Builder(kernel)
    names = equations.model.coordinate_names
    qd, vd, qdd = kernel.in_graph
    linear = form.independent
    start = stack(form.system.q, form.velocity.v_from_qd)
    yield make.function("start", "The state y = (q, v) from positions and velocities", start, "start")
    if len(form.constants.symbols):
        words = "The parameters with the constants of the motion at a state"
        yield make.function("constants", words, form.constants.values, "start")
    rates = make.function("rhs", "The rate of the state, (q', v')", stack(qd, vd))
    yield rates
    yield make.function("accelerations", "The accelerations q''", qdd, rows=names)
    yield make.function("mass_matrix", "M of M v' = f + J^T lambda", linear.M)
    yield make.function("forcing", "f of M v' = f + J^T lambda", linear.push)
    if linear.constrained:
        yield make.function("constraint_matrix", "A of A v' = b, independent rows", linear.A)
        yield make.function("constraint_forcing", "b of A v' = b", linear.beta)
    if bodies := form.system.motion.bodies:
        rows = np.stack([stack(body.frame.p, body.R_WB.ravel()) for body in bodies])
        words = "The pose of every body: position of its origin, and rotation R_WB row by row"
        yield make.function("kinematics", words, rows, rows=tuple(body.name for body in bodies))
    if equations.constraint_names:
        yield from _reactions(equations, make, kernel)
    states = rates.program.inputs[:-1]
    slopes = jacobian(rates.program, states)
    size = len(states)
    yield CodeFunction("jacobian", "The derivatives of the right-hand side by the state", slopes, (size, size))


def _reactions(equations: Equations, make: _Builder, kernel: RightHandSide) -> Iterator[CodeFunction]:
    """The generalized reactions, and the multipliers of all constraints."""
    system, names = kernel.form.system, equations.model.coordinate_names
    reaction, carried = kernel.reactions_in_graph
    yield make.function("reactions", "The generalized reaction forces A^T lambda + C", reaction, rows=names)
    if equations.model.canonical_constraints:
        return
    A = kernel.in_state(system.constraints.A, kernel.in_graph[2])
    rows = list(system.facts.rows)
    words = "lambda of M q'' = h + C + A^T lambda"
    if len(rows) == len(A):
        lam = ldl_solve(system.algebra, A @ A.T, A @ carried)
    else:  # the minimum-norm solution: λ = S z is in the range of A
        S, words = A @ A[rows].T, f"The smallest {words}"
        lam = S @ ldl_solve(system.algebra, S.T @ S, A[rows] @ carried) if rows else zeros(len(A))
    yield make.function("multipliers", words, lam, rows=equations.constraint_names)
