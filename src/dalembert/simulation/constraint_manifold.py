"""The constraints as compiled functions: violations, Jacobians, and the mass matrix that weights a projection."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from dalembert.codegen.function import CompiledFunction, compile_function
from dalembert.errors import InconsistentStateError, SimulationError, SingularError
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.phase_space import ConstraintSurface
from dalembert.mechanics import newton
from dalembert.mechanics.energies import kinetic, mass_matrix
from dalembert.mechanics.rank import singular_value
from dalembert.mechanics.system import System
from dalembert.model.description import Elements
from dalembert.model.scales import Scales
from dalembert.symbolic.algebra_base import Array, stack, vector

_TOLERANCE = 1e-8  # of a constraint, relative to the size of its terms


_SAME = 1e-7  # of a velocity, relative to the largest and to its scale


ROUNDS = 10


Evaluate = Callable[
    [np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]
]  # residual, derivative, M at states


class Manifold:
    """The set of states that satisfy the constraints."""

    def __init__(self, system: System) -> None:
        self.system = system
        # servo constraints are driven to zero by feedback, never by projection
        rows = [i for i in system.facts.rows if not system.facts.levels.servo[i]]
        self.holonomic = [i for i in rows if i < system.facts.levels.n_holonomic]
        self.rows = rows

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all rows."""
        return self.system.facts.levels.names

    @property
    def sizes(self) -> np.ndarray:
        """The characteristic magnitudes of the rows."""
        return np.array(self.system.facts.sizes, dtype=float)

    @cached_property
    def function(self) -> CompiledFunction:
        """φ, the velocity residual, A and M as a function of (q, q̇, t), concatenated."""
        system, known = self.system, self.system.constraints
        inputs = stack(system.q, system.qd, vector([system.t]))
        outputs = stack(known.phi, known.velocity, known.A.ravel(), self._mass().ravel())
        parameters = system.algebra.symbols(list(system.model.parameter_values))
        return compile_function(system.algebra, inputs, outputs, parameters, system.engine)

    def _mass(self) -> Array:
        system = self.system
        if system.model.energies is None:
            return mass_matrix(system.motion)
        momenta = system.algebra.gradient(kinetic(system.motion, system.qd), system.qd)
        return system.algebra.jacobian(momenta, system.qd)

    def evaluate(
        self, q: np.ndarray, qd: np.ndarray, t: float | np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """φ, the velocity residual, A and M at one state, or at many with the batch on the last axis."""
        time = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])[None]
        out = self.function(np.concatenate([q, qd, time], axis=0), parameters)
        h, k, n = self.system.facts.levels.n_holonomic, len(self.system.facts.levels.names), len(q)
        phi, velocity, A, M = np.split(out, [h, h + k, h + k + k * n])
        return phi, velocity, A.reshape(k, n, *q.shape[1:]), M.reshape(n, n, *q.shape[1:])


def require_consistent(manifold: Manifold, q: np.ndarray, qd: np.ndarray, t: float, parameters: np.ndarray) -> None:
    """Raise if the state violates constraints, naming all of them with their values, the time and the state."""
    known = manifold.system.facts
    if not known.levels.names:
        return
    phi, velocity, A, _ = manifold.evaluate(q, qd, t, parameters)
    names, servo, sizes = known.levels.names, known.levels.servo, np.array(known.sizes)
    scale = sizes + np.abs(A) @ np.abs(q), sizes / known.scales.time + np.abs(A) @ np.abs(qd)
    broken = [
        f"{level} of '{names[i]}' is {value:.6g}"
        for level, values, size in (("position", phi, scale[0]), ("velocity", velocity, scale[1]))
        for i, value in enumerate(values)
        if not servo[i] and not abs(value) <= _TOLERANCE * size[i]
    ]
    if broken:
        state = ", ".join(
            f"{name} = {x:.6g} (rate {xd:.6g})"
            for name, x, xd in zip(manifold.system.model.coordinate_names, q, qd, strict=True)
        )
        raise InconsistentStateError(
            f"the state at t = {t:.9g} does not satisfy the constraints: {'; '.join(broken)}. Expected 0. "
            f"State: {state}. Start from a state that satisfies them."
        )


def are_consistent(manifold: Manifold, q: np.ndarray, qd: np.ndarray, t: float, parameters: np.ndarray) -> np.ndarray:
    """True for the states (n, K) with parameters (m, K) that `require_consistent` accepts."""
    phi, velocity, A, _ = manifold.evaluate(q, qd, t, parameters)
    known, count = manifold.system.facts, len(phi)
    sizes, counts = np.array(known.sizes)[:, None], ~np.array(known.levels.servo, dtype=bool)
    scale = sizes + np.einsum("knb,nb->kb", np.abs(A), np.abs(q))
    pace = sizes / known.scales.time + np.einsum("knb,nb->kb", np.abs(A), np.abs(qd))
    fits = (np.abs(velocity) <= _TOLERANCE * pace)[counts].all(axis=0)
    return fits & (np.abs(phi) <= _TOLERANCE * scale[:count])[counts[:count]].all(axis=0)


def require_same_velocities(model: Elements, scales: Scales, velocities: np.ndarray, rebuilt: np.ndarray) -> None:
    """Raise if velocities rebuilt from quasi-velocities differ from the given ones, which then violate a constraint."""
    unit = scales.velocities.reshape(-1, *(1 for _ in velocities.shape[1:]))
    gap, allowed = np.abs(velocities - rebuilt), _SAME * unit * (1 + np.abs(velocities / unit).max(axis=0))
    if (gap <= allowed).all():
        return
    worst = np.unravel_index(np.argmax(gap / allowed), gap.shape)
    i = int(worst[0])
    state = f"state {int(worst[1])} of the batch" if gap.ndim == 2 else "the state"
    raise InconsistentStateError(
        f"{state} does not satisfy the constraints at velocity level: the rate of '{model.coordinate_names[i]}' is "
        f"{velocities[worst]:.6g}, the constraints and the quasi-velocities give {rebuilt[worst]:.6g}. "
        "Give velocities that satisfy the constraints."
    )


class Independence:
    """The smallest singular value, at the nominal rank, of dimensionless constraint rows.

    Columns are scaled by diag(M)^(-1/2), rows by their maximum norm so far. The norm of a row at the same state would hide
    rows that vanish entirely, as those of a flat parallelogram do.

    >>> rows, M = np.array([[1.0, 0.0], [1.0, 1.0]])[..., None], np.eye(2)[..., None]
    >>> value = Independence(2)
    >>> float(value.measure(rows, M)[0]) > 0.5, float(value.measure(rows * [[[1e-3]], [[1.0]]], M)[0]) < 1e-2
    (True, True)
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.reference = 0.0  # the maximum value along the run, updated by the caller
        self._longest = np.zeros(1)

    def scaled(self, A: np.ndarray, M: np.ndarray) -> np.ndarray:
        """Dimensionless rows; A is (r, n, K), M is (n, n, K), the result (K, r, n)."""
        diagonal = np.sqrt(np.maximum(np.einsum("iik->ik", M), 0.0))
        largest = diagonal.max(axis=0, initial=0.0)
        weights = 1 / np.maximum(diagonal, 1e-8 * np.where(largest > 0, largest, 1.0))
        rows = np.moveaxis(A * weights[None], -1, 0)
        lengths = np.linalg.norm(rows, axis=2).max(axis=0)
        self._longest = np.maximum(self._longest, lengths)
        return rows / np.where(self._longest > 0, self._longest, 1.0)[:, None]

    def measure(self, A: np.ndarray, M: np.ndarray) -> np.ndarray:
        """The smallest singular value at every state."""
        return singular_value(self.scaled(A, M), self.rank - 1)

    def branch_separation(self, A: np.ndarray, M: np.ndarray, phi: np.ndarray, below: float) -> float:
        """φ in the directions of small singular values, scaled by the rows: the separation of the branches."""
        left, small = self._small(A, M, below)
        return float(np.linalg.norm(left[:, small].T @ (phi / np.where(self._longest > 0, self._longest, 1.0))))

    def dependent_rows(self, A: np.ndarray, M: np.ndarray, below: float) -> list[int]:
        """The rows that are dependent or vanish at one state: those with components in small singular vectors."""
        left, small = self._small(A, M, below)
        share = np.linalg.norm(left[:, small], axis=1)
        return [int(i) for i in np.flatnonzero(share > 0.3 * share.max())]

    def _small(self, A: np.ndarray, M: np.ndarray, below: float) -> tuple[np.ndarray, list[int]]:
        """The left singular vectors at one state, and the indices of small singular values."""
        left, sizes, _ = np.linalg.svd(self.scaled(A[..., None], M[..., None])[0])
        return left, [i for i in range(self.rank) if sizes[i] <= below * self.reference] or [self.rank - 1]


def onto_positions(manifold: Manifold, q: np.ndarray, t: float | np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """The q nearest in the metric of M with φ(q, t) = 0, of one state or many (n, K); unchanged if violated by rounding."""
    facts, rows = manifold.system.facts, manifold.holonomic
    if not rows:
        return q

    def evaluate_at(x: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        phi, _, A, M = manifold.evaluate(x, np.zeros_like(x), _chosen(t, which), parameters)
        return phi[rows], A[rows], M

    found = _nearest(evaluate_at, q, facts.scales.positions, manifold.sizes[rows])
    failed = np.flatnonzero(~found.converged)
    if len(failed):
        k = int(failed[0])
        worst = int(np.argmax(found.relative_residual[k]))
        raise SimulationError(
            f"at t = {float(np.ravel(t)[k]):.9g} the state could not be projected onto the constraints: the largest violation is "
            f"{found.residual[k, worst]:.3g}, of '{manifold.names[rows[worst]]}'. "
            "The configuration is close to a singular one."
        )
    return found.x.T.reshape(q.shape)


def onto_velocities(
    manifold: Manifold, q: np.ndarray, qd: np.ndarray, t: float | np.ndarray, parameters: np.ndarray
) -> np.ndarray:
    """The q̇ nearest in the metric of M with φ̇ = 0 and ψ = 0, for one or many (n, K); several iterations if ψ is nonlinear."""
    facts, rows = manifold.system.facts, manifold.rows
    if not rows:
        return qd

    def evaluate_at(x: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        at = q if q.ndim == 1 else q[:, which]
        _, residual, A, M = manifold.evaluate(at, x, _chosen(t, which), parameters)
        return residual[rows], A[rows], M

    sizes = manifold.sizes[rows] / facts.scales.time
    return _nearest(evaluate_at, qd, facts.scales.velocities, sizes).x.T.reshape(qd.shape)


def _chosen(t: float | np.ndarray, which: np.ndarray) -> float | np.ndarray:
    return t[which] if isinstance(t, np.ndarray) and t.ndim else t


def _nearest(evaluate_at: Evaluate, x: np.ndarray, scales: np.ndarray, sizes: np.ndarray) -> newton.Projected:
    """Newton's method from x (n,) or (n, K); its steps are weighted by the last evaluated mass matrix of each state."""
    n, single = len(x), x.ndim == 1
    masses = np.empty((1 if single else x.shape[1], n, n))

    def residual(x: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = evaluate_at(x[0] if single else x.T, which)
        value, A, M = (each[None] if single else np.moveaxis(each, -1, 0) for each in found)
        masses[which] = M
        return value, A

    start = x.reshape(n, -1).T
    return newton.project(
        residual, start, scales, sizes, lambda x, A, which: newton.mass_root(masses[which], A), ROUNDS
    )


class ClosedContactManifold(Manifold):
    """The constraints with the gaps of some contacts, and the slips of some of these, as additional rows."""

    def __init__(self, manifold: Manifold, closed: tuple[str, ...], sticking: tuple[str, ...]) -> None:
        super().__init__(manifold.system)
        self._manifold, self._closed, self._sticking = manifold, closed, sticking
        first = len(super().names)
        gaps = list(range(first, first + len(closed)))
        self.holonomic = [*self.holonomic, *gaps]
        self.rows = [*self.rows, *gaps, *range(first + len(closed), first + len(closed) + len(sticking))]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all rows."""
        return (*super().names, *(f"gap of {name}" for name in self._closed), *(f"slip of {x}" for x in self._sticking))

    @property
    def sizes(self) -> np.ndarray:
        """The characteristic magnitudes of all rows: gaps and slips are lengths."""
        length = self.system.facts.scales.length
        return np.concatenate([super().sizes, np.full(len(self._closed) + len(self._sticking), length)])

    @cached_property
    def _contacts(self) -> CompiledFunction:
        """Gaps, gap rates, slips, and the derivatives of gap rates and slips by q̇, as a function of (q, q̇, t)."""
        system = self.system
        loads = {load.name: load for load in system.model.loads}
        openings = {name: loads[name].gap_state(system.motion) for name in self._closed}
        rates = vector([each.rate for each in openings.values()] + [openings[name].slip for name in self._sticking])
        outputs = stack(
            vector([each.gap for each in openings.values()]),
            rates,
            system.algebra.jacobian(rates, system.qd).ravel(),
        )
        inputs = stack(system.q, system.qd, vector([system.t]))
        parameters = system.algebra.symbols(list(system.model.parameter_values))
        return compile_function(system.algebra, inputs, outputs, parameters, system.engine)

    def evaluate(
        self, q: np.ndarray, qd: np.ndarray, t: float | np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """φ followed by zeros for nonholonomic rows and by the gaps, the velocity residual, A and M at one state or many."""
        phi, velocity, A, M = self._manifold.evaluate(q, qd, t, parameters)
        time = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])[None]
        out = self._contacts(np.concatenate([q, qd, time]), parameters)
        m, n = len(self._closed), len(q)
        more = m + len(self._sticking)
        gaps, rates, J = out[:m], out[m : m + more], out[m + more :].reshape(more, n, *q.shape[1:])
        padded = np.concatenate([phi, np.zeros((len(velocity) - len(phi), *q.shape[1:])), gaps])
        return padded, np.concatenate([velocity, rates]), np.concatenate([A, J]), M


_MAX_ITERATIONS = 10
_ROUNDING = 1e-14
_MAX_VIOLATION = 1e-9
_SINGULAR = 1e-12


class MomentumConstraints:
    """The constraints c(q, p, t) = 0 of a form with constraints on momenta."""

    def __init__(self, form: LinearForm, surface: ConstraintSurface) -> None:
        self._form, self._surface = form, surface
        self.names = surface.names

    @cached_property
    def _function(self) -> CompiledFunction:
        system, known = self._form.system, self._surface
        inputs = stack(system.q, self._form.velocity.v, vector([system.t]))
        outputs = stack(known.c, known.c_q.ravel(), known.c_p.ravel())
        return compile_function(
            system.algebra,
            inputs,
            outputs,
            system.algebra.symbols(list(system.model.parameter_values)),
            system.engine,
        )

    def _evaluate(self, y: np.ndarray, t: float, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """c, c_q and c_p at one state."""
        k, n = self._surface.c_q.shape
        c, c_q, c_p = np.split(self._function(np.append(y, t), parameters), [k, k + k * n])
        return c, c_q.reshape(k, n), c_p.reshape(k, n)

    def violations(self, y: np.ndarray, t: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """The values of the constraints at states (2n, samples), including implied ones."""
        return self._function(np.concatenate([y, t[None]]), parameters)[: len(self.names)]

    def require_on(self, y: np.ndarray, t: float, parameters: np.ndarray) -> None:
        """Raise if the state violates constraints, naming all of them, or if their multipliers are not determined."""
        c, c_q, c_p = self._evaluate(y, t, parameters)
        n = c_q.shape[1]
        size = np.abs(c_q) @ (1 + np.abs(y[:n])) + np.abs(c_p) @ (1 + np.abs(y[n:]))
        broken = [
            f"'{name}' is {value:.6g}"
            for name, value, s in zip(self.names, c, size, strict=True)
            if not abs(value) <= _TOLERANCE * max(1.0, s)
        ]
        if broken:
            symbols = (*self._form.system.q, *self._form.velocity.v)
            state = ", ".join(f"{x} = {value:.6g}" for x, value in zip(symbols, y, strict=True))
            raise InconsistentStateError(
                f"the state at t = {t:.9g} does not satisfy the constraints: {'; '.join(broken)}. Expected 0. State: {state}. "
                "The initial rates give the momenta p = ∂L/∂q̇. Start from a state that satisfies them."
            )

        D = c_p @ c_q.T - c_q @ c_p.T
        scale = np.sqrt(np.maximum(np.abs(D).max(axis=1), 1e-300))
        if np.linalg.svd(D / np.outer(scale, scale), compute_uv=False)[-1] <= _SINGULAR:
            raise SingularError(
                f"at t = {t:.9g} the brackets of {', '.join(self.names)} are singular, so their multipliers are not "
                "determined in this state. Start from another state."
            )

    def project(self, y: np.ndarray, t: float, parameters: np.ndarray) -> np.ndarray:
        """The state moved onto the constraints along the directions of the multipliers, δq = −c_pᵀΛ and δp = c_qᵀΛ."""
        out = y.copy()
        for _ in range(_MAX_ITERATIONS):
            c, c_q, c_p = self._evaluate(out, t, parameters)
            n = c_q.shape[1]
            left = np.abs(c) / (np.abs(c_q) @ np.abs(out[:n]) + np.abs(c_p) @ np.abs(out[n:]) + 1e-300)
            if (left <= _ROUNDING).all():
                return out
            Lambda = np.linalg.solve(c_p @ c_q.T - c_q @ c_p.T, -c)
            out[:n] -= c_p.T @ Lambda
            out[n:] += c_q.T @ Lambda
        c, *_ = self._evaluate(out, t, parameters)
        if not np.max(np.abs(c)) < _MAX_VIOLATION:
            raise SimulationError(
                f"at t = {t:.9g} the state could not be projected onto the constraints: the largest violation is "
                f"{np.max(np.abs(c)):.3g}. The brackets of the constraints are close to singular there."
            )
        return out
