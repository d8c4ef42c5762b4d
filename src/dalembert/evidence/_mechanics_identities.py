"""Identities of mechanics that hold at every state: each is a set of graphs that must agree in the prime field.

- M is symmetric and equals the sum Σ m BᵀB + DᵀI D over the bodies, so it is positive definite if masses and inertias are;
- Ṁ − 2C is skew-symmetric with Christoffel's C, and C q̇ is the term in the equations of motion;
- the rate of the energy is the supplied power;
- recursion from body to body, N = N_l N_d of papers/denoc: same inertia matrix and same accelerations;
- the displayed short form of the equations equals the derived one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert import recursive
from dalembert.display.math.sheet import prepare
from dalembert.evidence._integrated_programs import ExactState, FormSolution, form_symbols, nodes
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.common_quantities import free_equations, jacobi, power_into
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.mechanics.energies import generalized_forces, kinetic, mass_matrix, potential
from dalembert.mechanics.system import System, system_of
from dalembert.recursive.joint_speeds import to_second_rates, to_speed_forces, to_speeds
from dalembert.recursive.load_forces import load_forces
from dalembert.symbolic.algebra_base import Array, stack, vector, zeros
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import Node, node, symbol
from dalembert.symbolic.prime_field import narrow, solve
from dalembert.symbolic.symbols import Lowering

_MAX_CHRISTOFFEL = 9  # coordinates up to which n³ symbols are formed
_MAX_SHORT_FORM = 3  # coordinates up to which the short form is compared


class Identity(ABC):
    """An identity that must hold at every state."""

    name: str

    def __init__(self, system: System) -> None:
        self.system = system

    @cached_property
    @abstractmethod
    def parts(self) -> tuple[Array, ...]:
        """Everything that is evaluated."""

    @property
    def roots(self) -> list[Node]:
        """All parts as nodes of the graph."""
        return [y for part in self.parts for y in nodes(part)]

    @abstractmethod
    def broken(self, state: ExactState, known: FormSolution | None) -> list[str]:
        """Return the violated claims at a state, as messages; `known` are the accelerations of the formulations."""


def identities_of(system: System) -> Iterator[Identity]:
    """Yield the identities that apply to a model."""
    model, n = system.model, len(system.q)
    yield MassMatrix(system)
    if n <= _MAX_CHRISTOFFEL and not _moves_with_time(system):
        yield Christoffel(system)
    if not any(system.facts.levels.servo):
        yield EnergyRate(system)
    if model.bodies:
        yield Recursion(system)
    if n <= _MAX_SHORT_FORM:
        yield ShortForm(system)


def _moves_with_time(system: System) -> bool:
    """Return True if T depends explicitly on time or has terms beyond ½ q̇ᵀM(q) q̇."""
    T = kinetic(system.motion, system.qd)
    N_and_T0 = stack(GRAPH.gradient(T, system.qd), vector([T]))
    at_rest = GRAPH.substitute(N_and_T0, dict.fromkeys(map(str, system.qd), 0))
    explicit = GRAPH.gradient(T, vector([system.t]))
    return any(node(e) is not node(0) for e in (*at_rest, *explicit))


class MassMatrix(Identity):
    """M of Lagrange's operators is symmetric and, for models with bodies, a sum of squares."""

    name = "M is symmetric and a sum over bodies"

    @cached_property
    def parts(self) -> tuple[Array, ...]:
        """M and, for models with bodies, the sum."""
        M, _ = free_equations(self.system)
        return (M, mass_matrix(self.system.motion)) if self.system.model.energies is None else (M,)

    def broken(self, state: ExactState, known: FormSolution | None) -> list[str]:
        """Compare M with Mᵀ and with the sum."""
        M, *squares = (state.at(part) for part in self.parts)
        out = [] if (M == M.T).all() else ["M is not symmetric"]
        return out + ["M is not the sum over bodies" for other in squares if not (other == M).all()]


class Christoffel(Identity):
    """C_ij = Σ ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) q̇_k: Ṁ − 2C is skew-symmetric, and h = Q − ∂V/∂q − C q̇."""

    name = "dM/dt - 2C is skew"

    @cached_property
    def parts(self) -> tuple[Array, ...]:
        """C, Ṁ, h and the applied forces."""
        system, n = self.system, len(self.system.q)
        M, h = free_equations(system)
        slopes = GRAPH.jacobian(M, system.q)  # (i, j, k)
        rate = GRAPH.total_derivative(M, (system.q, system.qd))
        C = zeros(n, n)
        for i in range(n):
            for j in range(n):
                C[i, j] = sum(
                    (0.5 * (slopes[i, j, k] + slopes[i, k, j] - slopes[j, k, i]) * system.qd[k] for k in range(n)),
                    start=0,
                )
        pull = generalized_forces(system.motion) - GRAPH.gradient(potential(system.motion), system.q)
        return C, rate, h, pull

    def broken(self, state: ExactState, known: FormSolution | None) -> list[str]:
        """Check both claims."""
        C, rate, h, pull = (state.at(part) for part in self.parts)
        skew = rate - 2 * C
        out = [] if (skew == -skew.T).all() else ["Ṁ − 2C is not skew-symmetric"]
        if not (h == pull - C @ state.at(self.system.qd)).all():
            out.append("C q̇ differs from the term in the equations")
        return out


class EnergyRate(Identity):
    """The rate of q̇·∂L/∂q̇ − L along the motion is the supplied power."""

    name = "energy rate = power"

    @cached_property
    def parts(self) -> tuple[Array, ...]:
        """The difference."""
        rate = self.system.derivative(vector([jacobi(self.system)]))
        return (rate - vector([power_into(self.system)]),)

    def broken(self, state: ExactState, known: FormSolution | None) -> list[str]:
        """Evaluate the difference at the accelerations of the formulations."""
        if known is None:
            return ["no accelerations to compare"]
        accelerations = dict(zip(nodes(self.system.qdd), map(narrow, known.qdd), strict=True))
        (gap,) = state.at(self.parts[0], state.known | accelerations)
        return [] if gap == 0 else ["the rate of the energy differs from the supplied power"]


class Recursion(Identity):
    """The recursion of papers/denoc: inertia matrix of the speeds, bias and loads, and the resulting accelerations."""

    name = "N = N_l N_d: the recursion gives the same accelerations"

    @cached_property
    def parts(self) -> tuple[Array, ...]:
        """M_s, the force along the speeds at ṡ = 0, the rows in terms of speeds, β, and q̈ at ṡ = 0 in terms of (q, q̇)."""
        system, model = self.system, self.system.model
        tree = recursive.tree_of(model)
        parameters = dict(zip(model.parameter_values, GRAPH.symbols(list(model.parameter_values)), strict=True))
        q = list(system.q)
        s = list(to_speeds(tree, GRAPH, q, list(system.qd)))
        moving = recursive.moving(tree, GRAPH, symbol("t"), q, s, parameters)
        push = load_forces(model, moving, symbol("t"), q, s, parameters)
        force = push - recursive.inverse_dynamics(moving, zeros(tree.n_speeds))
        rest = to_second_rates(tree, GRAPH, q, s, [0] * tree.n_speeds)
        rows = [to_speed_forces(tree, GRAPH, q, list(row)) for row in system.A]
        A = np.stack(rows) if rows else zeros(0, tree.n_speeds)
        return recursive.mass_matrix(moving), force, A, system.beta - system.A @ rest, rest

    def broken(self, state: ExactState, known: FormSolution | None) -> list[str]:
        """Solve for the accelerations in the field and compare them as q̈."""
        if known is None:
            return ["no accelerations to compare"]
        M, force, A, beta, rest = (state.at(part) for part in self.parts)
        tree = recursive.tree_of(self.system.model)
        # speeds satisfy the norm constraints of quaternions identically
        nonzero = [i for i, row in enumerate(A) if any(e != 0 for e in row)]
        n, r = len(force), len(nonzero)
        matrix = zeros(n + r, n + r)
        matrix[:n, :n], matrix[:n, n:], matrix[n:, :n] = M, -A[nonzero].T, A[nonzero]
        sd = solve(matrix, np.concatenate([force, beta[nonzero]]))[:n]
        back = to_second_rates(tree, GRAPH, list(self.system.q), [0] * n, list(GRAPH.symbols(_names(n))))
        qdd = state.at(back, state.known | {symbol(name): narrow(e) for name, e in zip(_names(n), sd, strict=True)})
        return [] if (qdd + rest == known.qdd).all() else ["the recursion gives different accelerations"]


def _names(n: int) -> list[str]:
    return [f"rate of speed {i + 1}" for i in range(n)]


@dataclass(frozen=True)
class _Page:
    """Blocks of one formulation as derived and as displayed."""

    form: LinearForm
    derived: dict[str, Array]
    written: dict[str, Array]


class ShortForm(Identity):
    """The displayed entries, with intermediate symbols substituted, equal the derived ones."""

    name = "displayed = derived"

    @cached_property
    def _pages(self) -> dict[str, _Page]:
        facts, model = self.system.facts, self.system.model
        readable = system_of(model, "symbolic", facts)
        keys = [
            key
            for key in ("lagrange", "kane")
            if catalog.unsupported_reason(catalog.find(key).ABOUT, model, facts) is None
        ]
        return {key: self._page(key, readable) for key in keys}

    def _page(self, key: str, readable: System) -> _Page:
        module = catalog.find(key)
        form, sheet = module.derive(self.system).form, prepare(module.derive(readable).form)
        table: dict[str, Node] = {}
        for part in (sheet.M, sheet.f, sheet.A, sheet.beta, *(np.array([e], dtype=object) for _, e in sheet.parts)):
            for entry in part.ravel():
                for used in getattr(entry, "free_symbols", ()):
                    table.setdefault(used.name, symbol(used.name))
        for name, entry in sheet.parts:
            table[name] = node(Lowering(GRAPH, table)(entry))
        lower = Lowering(GRAPH, table)
        blocks = ("M", "f", "A", "beta")
        written = {b: vector([lower(e) for e in getattr(sheet, b).ravel()]) for b in blocks}
        return _Page(form, {b: getattr(form.linear, b).ravel() for b in blocks}, written)

    @cached_property
    def parts(self) -> tuple[Array, ...]:
        """All blocks."""
        return tuple(
            part for page in self._pages.values() for side in (page.derived, page.written) for part in side.values()
        )

    def broken(self, state: ExactState, known: FormSolution | None) -> list[str]:
        """Compare block by block."""
        out = []
        for key, page in self._pages.items():
            table = form_symbols(page.form, state)
            for block, derived in page.derived.items():
                if not (state.at(derived, table) == state.at(page.written[block], table)).all():
                    out.append(f"{block} of {key}: the displayed entries differ from the derived ones")
        return out
