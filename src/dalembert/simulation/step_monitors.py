"""The equations in use, as the monitors of a run evaluate them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.codegen.compiled_loop import CallableProgram
from dalembert.codegen.function import CompiledFunction
from dalembert.errors import SimulationError
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.quantities import Velocities
from dalembert.mechanics import newton, rank
from dalembert.model.python_laws import Inputs
from dalembert.simulation import constraint_manifold
from dalembert.simulation._control_laws import RateSizes, with_law
from dalembert.simulation._spring_lengths import Lengths
from dalembert.simulation.constraint_manifold import ClosedContactManifold, Manifold
from dalembert.simulation.integrators.base import CompiledRates
from dalembert.simulation.integrators.compiled_projection import PROJECT, ProjectionData
from dalembert.simulation.right_hand_side import RightHandSide


@dataclass(frozen=True)
class StateMechanics:
    """Constraints, velocities and energies at states y = (q, v[, work]) of one form of the equations."""

    kernel: RightHandSide
    manifold: Manifold
    lengths: Lengths
    energy: Callable[[float, np.ndarray, np.ndarray], tuple[float, float]]  # at (t, q, q̇), and its magnitude
    values: np.ndarray  # of the parameters
    constants: np.ndarray  # the same with the constants of the motion; a run may write other inputs into them
    inputs: Inputs | None = None  # if continuous laws in Python compute some of them
    closed_contacts: ClosedContactManifold | None = None  # the constraints with closed contacts, if any

    @property
    def positions(self) -> int:
        """The number of coordinates."""
        return len(self.kernel.form.system.q)

    @cached_property
    def _velocities(self) -> Velocities:
        return catalog.find(self.kernel.form.formalism).ABOUT.velocities

    @cached_property
    def _rows(self) -> list[int]:
        """The indices of the constraints without feedback."""
        return [i for i, servo in enumerate(self.manifold.system.facts.levels.servo) if not servo]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rows of `rows`."""
        return tuple(self.manifold.system.facts.levels.names[i] for i in self._rows)

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        """ẏ at one state."""
        return self.kernel.state_rates(y, t, self.constants_at(t, y))

    def constants_at(self, t: float | np.ndarray, y: np.ndarray) -> np.ndarray:
        """The constants with the outputs of laws in Python at one state or many; evaluates the laws."""
        if self.inputs is None:
            return self.constants
        return self.inputs.filled(t, y[: self.positions], self.velocities(t, y), self.constants)

    def velocities(self, t: float | np.ndarray, y: np.ndarray) -> np.ndarray:
        """q̇ at one state or many."""
        if self._velocities.are_rates:
            return y[self.positions : self.kernel.form.n_states]
        return self.kernel.velocities(y, t, self.constants)

    def rows(self, t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Constraint rows (r, n, K) and mass matrices (n, n, K) at K states."""
        _, _, A, M = self.manifold.evaluate(y[: self.positions], self.velocities(t, y), t, self.values)
        return A[self._rows], M

    def violation(self, t: float, y: np.ndarray) -> np.ndarray:
        """φ of the same rows at one state; zero for nonholonomic rows."""
        n = self.positions
        phi, *_ = self.manifold.evaluate(y[:n], np.zeros(n), t, self.values)
        return np.array([phi[i] if i < len(phi) else 0.0 for i in self._rows])

    def between(self, t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        """Vectors between the ends of springs and dampers at K states, norms and natural lengths; see `Lengths`."""
        return self.lengths.evaluate(y[: self.positions], t, self.values)

    @property
    def drifts(self) -> bool:
        """True if steps drift from the constraints and must be projected."""
        known = self._velocities
        return bool(
            self.closed_contacts
            or self.manifold.holonomic
            or known.exceed_rates
            or (self.manifold.rows and not known.satisfy_constraints)
        )

    def project(self, t: float | np.ndarray, y: np.ndarray) -> np.ndarray:
        """The nearest state on the constraints, for one state or many (states, K).

        Quasi-velocities satisfy the velocity constraints by construction.
        """
        n, out = self.positions, y.copy()
        out[:n] = constraint_manifold.onto_positions(self.closed_contacts or self.manifold, y[:n], t, self.values)
        done = self._velocities.satisfy_constraints and self.closed_contacts is None
        return out if done else self._with_velocities(t, out, self.velocities(t, out))

    def projected(self, t: float, y: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, float]:
        """The state on the constraints nearest to y with velocities q̇, and the relative correction of the velocities."""
        n, out = self.positions, y.copy()
        try:
            out[:n] = constraint_manifold.onto_positions(self.manifold, y[:n], t, self.values)
            out = self._with_velocities(t, out, qd)
        except SimulationError:
            return y, np.inf
        _, _, _, M = self.manifold.evaluate(out[:n], qd, t, self.values)
        found = self.velocities(t, out)
        size = max(float(qd @ M @ qd), float(found @ M @ found), 1e-300)
        gap = found - qd
        return out, float(np.sqrt(max(float(gap @ M @ gap), 0.0) / size))

    def _with_velocities(self, t: float | np.ndarray, y: np.ndarray, qd: np.ndarray) -> np.ndarray:
        n, size, out = self.positions, self.kernel.form.n_states, y.copy()
        allowed = constraint_manifold.onto_velocities(self.closed_contacts or self.manifold, y[:n], qd, t, self.values)
        out[n:size], _ = self.kernel.start(y[:n], allowed, t, self.values)
        return out

    @cached_property
    def machine(self) -> CompiledRates | None:
        """The rates in machine code, and the constraints for projection; None if the engine has no machine code."""
        rates = self._rates()
        if rates is None:
            return None
        return CompiledRates(rates, self.kernel.form.n_states, self.projection_data)

    @cached_property
    def projection_data(self) -> ProjectionData | None:
        """The constraints in machine code for projection, if the run projects onto these."""
        projects = self.kernel.phase is None and self.drifts and self.closed_contacts is None
        return self.surface() if projects else None

    def _rates(self) -> CallableProgram | None:
        """The rates in machine code, with laws in machine code; None if one of them is not."""
        rates = _machine(self.kernel.rates_function, self.constants)
        if self.inputs is None or rates is None:
            return rates
        velocities = None if self._velocities.are_rates else _machine(self.kernel.velocities_function, self.constants)
        sizes = RateSizes(self.positions, self.kernel.form.n_states, len(self.constants))
        for controller, rows in self.inputs.continuous:
            if not controller.native or (velocities is None and not self._velocities.are_rates):
                return None
            rates = with_law(controller.law, rows, rates, velocities, sizes)
        return rates

    def surface(self) -> ProjectionData | None:
        """The constraints in machine code; None if the engine has no machine code."""
        kernel, manifold, facts = self.kernel, self.manifold, self.manifold.system.facts
        padded = np.concatenate([self.values, np.zeros(len(self.constants) - len(self.values))])
        constraints = _machine(manifold.function, self.values)
        velocities = _machine(kernel.velocities_function, self.constants)
        start = _machine(kernel.start_function, padded)
        if constraints is None or velocities is None or start is None:
            return None
        sizes, scales = np.array(facts.sizes, dtype=float), facts.scales
        rows_q, rows_v = (np.array(rows, dtype=np.int64) for rows in (manifold.holonomic, manifold.rows))
        return ProjectionData(
            mode=PROJECT,
            constraints=constraints,
            velocities=velocities,
            start=start,
            keeps=self._velocities.satisfy_constraints,
            n=self.positions,
            inputs=kernel.form.n_states,
            started=kernel.start_function.n_outputs,
            n_phi=facts.levels.n_holonomic,
            n_rows=len(facts.levels.names),
            rows_q=rows_q,
            rows_v=rows_v,
            scale_q=np.array(scales.positions, dtype=float),
            scale_v=np.array(scales.velocities, dtype=float),
            size_q=sizes[rows_q],
            size_v=sizes[rows_v] / scales.time,
            limits=np.array([newton.ROUNDING, newton.FULL_STEP_REDUCTION, rank.TOLERANCE, rank.MASSLESS]),
            rounds=constraint_manifold.ROUNDS,
        )

    def balance(self, t: float, y: np.ndarray) -> tuple[float, float]:
        """The energy minus the work done on the system, and the magnitude of the energies."""
        energy, size = self.energy(t, y[: self.positions], self.velocities(t, y))
        return energy - float(y[self.kernel.form.n_states :].sum()), size


def _machine(function: CompiledFunction, parameters: np.ndarray) -> CallableProgram | None:
    """A function with its parameters; None if it is not machine code."""
    native = function.native
    if native is None:
        return None
    return CallableProgram(native.address, np.asarray(parameters, dtype=float), np.array(native.tables, dtype=float))
