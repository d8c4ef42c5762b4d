"""`Equations`: the equations of motion of one model by one formalism, to display, evaluate and simulate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TypeVar, Unpack, cast

import numpy as np
import numpy.typing as npt

from dalembert.api import simulate as runs
from dalembert.api._run_forces import joint_reactions, smallest_multipliers, with_bodies
from dalembert.api._symbolic_equations import SymbolicEquations
from dalembert.api.constraint_space import ConstraintSpace, QuasiAccelerations, constraint_space
from dalembert.api.equation_display import BlockValues
from dalembert.api.simulate import SimulationOptions, read_gains, require_gains, takes_options, task_of
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import as_finite_array, documented_class, is_integer, validate_arguments
from dalembert.codegen.function import CompiledFunction
from dalembert.errors import InputError, short_repr
from dalembert.formalisms.shared.quantities import Velocities
from dalembert.formalisms.shared.solvers import gaussian
from dalembert.mechanics.action import Actions, ActionVariation, Path, path_quantities, varied_path_quantities
from dalembert.mechanics.facts import facts_of
from dalembert.mechanics.joint_reactions import JointForces
from dalembert.model.evaluation import start_state
from dalembert.simulation import constraint_manifold
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.main_loop import RunOptions
from dalembert.simulation.partition import Partition
from dalembert.symbolic.algebra_base import stack

Evaluate = TypeVar("Evaluate", bound=Callable[..., np.ndarray])


def with_regular_trials(evaluate: Evaluate) -> Evaluate:
    """Wrap a function of (q, q̇, t): where trial vectors become singular, equations with others are used."""

    @wraps(evaluate)
    def evaluated(
        equations: Equations, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0, **options: object
    ) -> np.ndarray:
        out = evaluate(equations, q, qd, t, **options)
        solver = equations.form.solver
        if solver is None or solver.trials is None:
            return out
        columns, n = out.reshape(len(out), -1), len(equations.model.coordinate_names)
        states = [np.asarray(x, dtype=float).reshape(n, -1) for x in (q, qd)]
        times = np.broadcast_to(np.asarray(t, dtype=float), np.shape(q)[1:]).ravel()
        for k, other in _regular(equations, states[0], states[1], times):
            columns[:, k] = evaluate(other, states[0][:, k], states[1][:, k], float(times[k]), **options)
        return columns.reshape(out.shape)

    return cast(Evaluate, evaluated)


@documented_class
@dataclass(frozen=True, repr=False)
class Equations(SymbolicEquations):
    """Equations of motion by one formalism, created by `dl.derive`. Immutable; compiled functions are cached by content.

    Attributes
    ----------
    derivation : Derivation
        The derived and compiled equations.
    changes : mapping of str to float
        Parameter values that differ from those of the model.

    >>> import dalembert as dl
    >>> eom = dl.derive(dl.load("cart-pendulum"), "volterra_reduced")
    >>> eom.n_dynamic, eom.n_states, eom.ignorable
    (1, 4, ('x',))
    >>> eom.accelerations([0.3, 0.2, 0.0], [0.0, 0.0, 1.0]).shape
    (3,)
    """

    def __repr__(self) -> str:
        return (
            f"<Equations of '{self.model.name}' by {self.formalism}: {self.n_dynamic} dynamic, {self.n_states} states>"
        )

    def blocks_at(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0, *, keys: Sequence[str] = ()
    ) -> dict[str, np.ndarray]:
        """The numerical values of the quantities of the formalism at states, for models of any size.

        Parameters
        ----------
        keys : sequence of str, default ()
            Keys of the blocks, as in `blocks`; all if empty.

        Returns
        -------
        dict of str to ndarray
            Values by key; the batch is the last axis.

        >>> import dalembert as dl
        >>> at = dl.derive("robot-2-link", "denoc").blocks_at([0.3, 0.4], [0.1, 0.2])
        >>> bool(np.allclose(at["U"] @ at["D"] @ at["U"].T, at["I"]))
        True
        """
        positions, velocities, time = self._checked_state(q, qd, t)

        def accelerations() -> np.ndarray:
            return self.accelerations(positions, velocities, time)

        state = np.concatenate([positions, velocities, time[None]])
        return self._block_values.at(tuple(keys), state, accelerations, self._values_at(positions, velocities, time))

    @cached_property
    def _block_values(self) -> BlockValues:
        """The blocks as functions of the state."""
        return BlockValues(self.derivation)

    @with_regular_trials
    def accelerations(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0, *, threads: int = 1
    ) -> np.ndarray:
        """The accelerations q̈ at states; with constraints on momenta, `qd` defines the momenta p = ∂L/∂q̇.

        Returns
        -------
        ndarray, shape (n,) or (n, batch)
            Accelerations of the coordinates.

        Raises
        ------
        InputError
            If an argument has a wrong shape, contains values that are not finite, or violates a velocity constraint.
        SingularError
            If the coordinates or the equations are singular at a state.
        """
        if not is_integer(threads) or threads < 1:
            raise InputError(f"accelerations, threads: got {short_repr(threads)}. Expected an int >= 1.")
        positions, v, time, constants, velocities = self._state(q, qd, t)
        rates, qdd, _ = self.kernel.accelerations(positions, v, time, constants, threads)
        if not np.isfinite(qdd).all():
            flat, known = positions.reshape(len(positions), -1), self.workspace.lengths
            known.require_nonzero(flat, time.ravel(), self.values)
            near, later = known.separated(flat, velocities.reshape(flat.shape), time.ravel(), self.values)
            beside = near.reshape(positions.shape), v, later.reshape(time.shape)
            rates, qdd, _ = self.kernel.accelerations(*beside, constants, threads)
            if not np.isfinite(qdd).all():
                self._require_regular_coordinates(positions, time, qdd)
            if self.changes:  # the changed values may remove the inertia of a motion, which raises its own message
                facts_of(self.model.with_parameters(self.changes), self.derivation.setup.choice)
        if self.form.own_multipliers is None:  # otherwise qd defines momenta, from which q̇ follows
            constraint_manifold.require_same_velocities(self.model, self.workspace.facts.scales, velocities, rates)
        return qdd

    @with_regular_trials
    def reactions(self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0) -> np.ndarray:
        """The generalized reaction forces Aᵀλ + C, the sum of the ideal and non-ideal parts.

        With constraints on momenta they are c_qᵀΛ of (5.292) in papers/desapio.

        Returns
        -------
        ndarray, shape (n,) or (n, batch)
            Forces along the coordinates.
        """
        positions, v, time, constants, _ = self._state(q, qd, t)
        return self.kernel.reactions(positions, v, time, constants)

    @with_regular_trials
    def ideal_reactions(self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0) -> np.ndarray:
        """The first part of (3.47) in papers/poincare, M^(1/2) B⁺(b − A a): the reaction if C were zero.

        Returns
        -------
        ndarray, shape (n,) or (n, batch)
            Forces along the coordinates.
        """
        positions, v, time, constants, _ = self._state(q, qd, t)
        return self.kernel.ideal_reactions(positions, v, time, constants)

    def non_ideal_reactions(self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0) -> np.ndarray:
        """The second part of (3.47) in papers/poincare, M^(1/2) (1 − B⁺B) M^(−1/2) C: the contribution of C.

        Returns
        -------
        ndarray, shape (n,) or (n, batch)
            Forces along the coordinates.
        """
        return self.reactions(q, qd, t) - self.ideal_reactions(q, qd, t)

    @with_regular_trials
    def multipliers(self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0) -> np.ndarray:
        """The multipliers λ of M q̈ = h + C + Aᵀλ at states.

        If λ is not unique it is the minimum-norm solution, as `notes` report. With constraints on momenta it is Λ of
        q̇ = ∂H/∂p − c_pᵀΛ and ṗ = τ − ∂H/∂q + c_qᵀΛ, (5.291) and (5.292) in papers/desapio; `qd` then defines the momenta
        p = ∂L/∂q̇.

        Returns
        -------
        ndarray, shape (m,) or (m, batch)
            One row for each of `constraint_names`.

        >>> import dalembert as dl
        >>> eom = dl.derive(dl.load("simple-pendulum").copy().drive("theta", "0.5*t"), "lagrange")
        >>> dict(zip(eom.constraint_names, eom.multipliers([0.0], [0.5]).round(9).tolist()))
        {'drive of theta': 0.0}
        """
        positions, v, time, constants, _ = self._state(q, qd, t)
        if self.form.constrains_momenta:
            return self.kernel.accelerations(positions, v, time, constants)[2]
        reaction = self.kernel.ideal_constraint_forces(positions, v, time, constants)  # Aᵀλ
        positions, velocities = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
        _, _, A, _ = self.workspace.manifold.evaluate(positions, velocities, np.asarray(t, dtype=float), self.values)
        return smallest_multipliers(self.workspace.facts, A, reaction)

    def joint_reactions(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0, frame: str = "world"
    ) -> JointForces:
        """The force and moment in the joints at states; see `Trajectory.joint_reactions`.

        Returns
        -------
        JointForces
            By the name of the child body, `force` and `moment` of shape (3,) or (3, batch).
        """
        self.model.refuse_canonical("joint_reactions")
        qdd, lam = self.accelerations(q, qd, t), self.multipliers(q, qd, t)
        positions, velocities, time = np.asarray(q, float), np.asarray(qd, float), np.asarray(t, float)
        values = self._values_at(positions, velocities, time)
        return joint_reactions(self, values, frame, (positions, velocities, qdd, time, lam))

    def gaussian(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0, qdd: npt.ArrayLike | None = None
    ) -> np.ndarray:
        """Gauss's measure of constraint (q̈ − q̈₀)ᵀM(q̈ − q̈₀) of an acceleration.

        Parameters
        ----------
        qdd : array_like, shape (n,) or (n, batch), optional
            The acceleration; the actual one if None.

        Returns
        -------
        ndarray, shape () or (batch,)
            The measure, which the actual acceleration minimizes.
        """
        chosen = self.accelerations(q, qd, t) if qdd is None else np.asarray(qdd, dtype=float)
        M, h = self._free(q, qd, t)
        return gaussian(M, h, np.moveaxis(chosen, 0, -1).reshape(-1, len(M[0]))).reshape(chosen.shape[1:])

    def quasi_accelerations(self, q: npt.ArrayLike, qd: npt.ArrayLike, t: float = 0.0) -> QuasiAccelerations:
        """Gauss's principle in quasi-accelerations at one state: Result 3.2 and Corollary 3.1; for the formalism poincare.

        Returns
        -------
        QuasiAccelerations
            M_s, S, A_s and b_s, with `gaussian` and `possible`.

        Raises
        ------
        InputError
            If the formalism has no n quasi-accelerations, or the state has a wrong shape.

        >>> import dalembert as dl
        >>> model = dl.load("slider-crank-2")
        >>> here = dl.derive(model, "poincare").quasi_accelerations(*model.initial)
        >>> bool((here.gaussian(here.random_admissible(100)) > here.gaussian()).all())
        True
        """
        if self.about.velocities is not Velocities.SQUARE_SPEEDS:
            raise InputError(f"formalism '{self.formalism}' has no n quasi-accelerations. Derive with poincare.")
        positions, velocities, time = self._checked_state(q, qd, t)
        if positions.ndim != 1:
            raise InputError(f"quasi_accelerations: q has shape {positions.shape}. Expected one state.")
        values, n = self._values_at(positions, velocities, time), len(positions)
        v, _ = self.kernel.start(positions, velocities, time, values)
        out = self._quasi(np.concatenate([positions, v, [float(time)]]), values)
        M_s, S, A_s, b_s = np.split(out, np.cumsum([n * n, n, n * len(self.workspace.facts.rows)]))
        return QuasiAccelerations(v, M_s.reshape(n, n), S, A_s.reshape(-1, n), b_s)

    @cached_property
    def _quasi(self) -> CompiledFunction:
        """M_s, S, A_s and b_s of (q, s, t), the independent rows."""
        form, linear = self.form, self.form.independent
        outputs = stack(linear.M.ravel(), linear.push, linear.A.ravel(), linear.beta)
        return self.workspace.compiled(outputs, form.system.q, form.velocity.v)

    def constraint_space(self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0) -> ConstraintSpace:
        """The numerical values of the quantities of chapter 5 of papers/desapio.

        M, b, g, τ, Φ, Φ̇q̇, H, Φ̄, Θ, α and ρ of the generalized constrained equation (5.154), and W, M_p, b_p, g_p of minimal
        coordinates (5.302). For models defined by energies, b is that of (5.217).

        Returns
        -------
        ConstraintSpace
            Arrays by attribute; the batch is the last axis.

        >>> import dalembert as dl
        >>> space = dl.derive("cart-pendulum").constraint_space([0.3, 0.2, 0.0], [0.0, 0.0, 1.0])
        >>> bool(np.allclose(space.Phi @ space.Phi_bar, 1.0)), space.W.shape
        (True, (3, 2))
        """
        self.model.refuse_canonical("constraint_space")
        positions, velocities, time = self._checked_state(q, qd, t)
        values = self._values_at(positions, velocities, time)
        return constraint_space(self.workspace, positions, velocities, time, values)

    @validate_arguments
    def action(self, t: npt.ArrayLike, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike) -> float:
        """The action ∫ L dt along a path, (5.158) of papers/desapio.

        Between samples the path is the polynomial of degree 5 that interpolates q, q̇ and q̈. Because the action is stationary
        along a motion, the error has order 10 in the sample distance.

        Parameters
        ----------
        t : array_like, shape (K,)
            Increasing times.
        q, qd, qdd : array_like, shape (n, K)
            The path, such as that of a run.

        Returns
        -------
        float
            The action.

        >>> import dalembert as dl
        >>> free = dl.Model.from_energies("free", coordinates=["x"], kinetic="dot(x)**2/2").start([0], [3])
        >>> eom = dl.derive(free)
        >>> run = eom.simulate(2.0, samples=5)
        >>> round(eom.action(run.t, run.q, run.qd, run.qdd), 12)
        9.0
        """
        return self._actions.action(Path.read(len(self.model.coordinate_names), t, q, qd, qdd))

    @validate_arguments
    def variation(
        self,
        t: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        *,
        count: int = 4,
        seed: int = 0,
        steps: Sequence[float] = (0.1, 0.01, 0.001),
    ) -> ActionVariation:
        """The first variation of the action along a path, and the change of the action, for random variations.

        The path must satisfy the constraints, but need not be a motion. Variations are smooth, satisfy Φ δq = 0 and vanish at
        both ends: (5.258) of papers/desapio. Along a motion the first variation vanishes, and the change is of order ε².
        Non-potential forces enter by their virtual work (5.161), velocity constraints by d'Alembert's principle.

        Parameters
        ----------
        t : array_like, shape (K,)
            Increasing times.
        q, qd, qdd : array_like, shape (n, K)
            The path, such as that of a run.
        count : int, default 4
            Number of variations.
        steps : sequence of float
            Decreasing ε, relative to the scales of the coordinates: one radian, or the length of the model.

        Returns
        -------
        Variation
            The first variation and the changes, `vanishes` and `orders`.

        >>> import dalembert as dl
        >>> eom = dl.derive("simple-pendulum")
        >>> run = eom.simulate(1.0, samples=101)
        >>> found = eom.variation(run.t, run.q, run.qd, run.qdd)
        >>> found.vanishes, found.orders.round(2).tolist()
        (True, [2.0, 2.0, 2.0, 2.0])
        """
        far = as_finite_array(steps, "variation, steps")
        if count < 1 or far.ndim != 1 or len(far) < 2 or not (far > 0).all() or not (np.diff(far) < 0).all():
            raise InputError(
                f"variation: count is {count} and steps are {short_repr(steps)}. Expected an int >= 1, and at least two "
                "positive decreasing steps."
            )
        return self._actions.variation(Path.read(len(self.model.coordinate_names), t, q, qd, qdd), far, count, seed)

    @property
    def _actions(self) -> Actions:
        self.model.refuse_canonical("action")
        self.model.refuse_laws("action", "Write the law as a formula.")
        self.model.refuse_rigid("action")
        space, values = self.workspace, self.values
        return Actions(
            space.system,
            lambda q, qd, qdd, t: space.evaluated(path_quantities, (q, qd, qdd), t, values),
            lambda q, qd, t: space.evaluated(varied_path_quantities, (q, qd), t, values),
        )

    def stabilized(self, alpha: float, beta: float | None = None) -> Equations:
        """The equations with constraint stabilization; equation numbers are those of papers/desapio.

        With α and β, Baumgarte's φ̈ + β φ̇ + α φ = 0 replaces φ̈ = 0, (5.96)–(5.100). With α alone, dirac uses ċ = −αc (5.293)
        for all constraints in phase space, and hamilton φ̇ + αφ = 0 (5.285), differentiated once: φ̈ + α φ̇ = 0.

        Parameters
        ----------
        alpha, beta : float
            Gains; `beta` is None for the first-order form.

        Returns
        -------
        Equations
            The stabilized equations.

        Raises
        ------
        NotApplicableError
            If the formalism does not support this kind of stabilization.
        """
        require_gains(self.about, alpha, beta)
        known = self.derivation.setup
        if not self.about.servo:
            return Equations(derivation_of(known, self.formalism, float(alpha)), self.changes)
        model = known.declared.stabilized(0.0, alpha) if beta is None else known.declared.stabilized(alpha, beta)
        other = replace(known, declared=model, mode=self.workspace.mode(self.about))
        return Equations(replace(derivation_of(other, self.formalism), trials=self.derivation.trials), self.changes)

    @validate_arguments
    @takes_options()
    def simulate(self, duration: float | None = None, **options: Unpack[SimulationOptions]) -> Trajectory:
        """Simulate from an initial state, by default that of the model.

        `integrator` is auto (default), taylor, dop853, rk45, rk4, radau, ida, collocation (for phong; constraints not
        differentiated), algorithm3, algorithm4 or algorithm5.

        Returns
        -------
        Trajectory
            The sampled motion, with arrays of shape (n, samples).

        Raises
        ------
        InconsistentStateError
            If the initial state violates the constraints.
        SimulationError
            If the run stops before its end, such as at a singular configuration.
        InputError
            If an option is unknown or invalid.
        """
        parameters, stabilization = options.pop("parameters", None), options.pop("stabilization", None)
        equations = self.with_parameters(parameters) if parameters else self
        if stabilization is not None:
            q, qd = start_state(equations.model, options.get("q0"), options.get("qd0"))
            equations = equations._stabilized_from(options.get("t0", 0.0), q, qd, stabilization)
            options["project"] = False
        return equations._run(task_of(duration, **options))

    def _stabilized_from(
        self, t: float, q: np.ndarray, qd: np.ndarray, gains: float | tuple[float, float]
    ) -> Equations:
        """The stabilized equations, for an initial state that satisfies the constraints."""
        if self.kernel.phase is None:
            constraint_manifold.require_consistent(self.workspace.manifold, q, qd, t, self.values)
        return self.stabilized(*read_gains(gains))

    def _run(self, task: RunOptions) -> Trajectory:
        return runs.simulate(self, task)

    @validate_arguments
    def evaluate(self, run: Trajectory) -> Trajectory:
        """Add body motions, load forces, drive efforts and joint reactions to a run of these equations.

        `simulate` records them for models with up to 40 bodies.

        Parameters
        ----------
        run : Trajectory
            A run of these equations.

        Returns
        -------
        Trajectory
            The run with these quantities.

        >>> import dalembert as dl
        >>> eom = dl.derive("double-pendulum", "lagrange")
        >>> run = eom.evaluate(eom.simulate(0.01, samples=3))
        >>> run.pose("lower").position.shape  # of three samples
        (3, 3)
        """
        return with_bodies(self, run)


def _regular(equations: Equations, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> Iterator[tuple[int, Equations]]:
    """Indices of states where the trial vectors are singular, with equations whose trial vectors are not."""
    run = Partition(equations)
    for k in run.ill_conditioned_states(t, q, qd):
        run.equations = equations
        run.start_segment(float(t[k]), q[:, k], qd[:, k])
        yield int(k), run.equations
