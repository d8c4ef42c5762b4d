"""`Dynamics`: inverse and forward dynamics, mass matrix and related quantities as compiled functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, Unpack

import numpy as np

from dalembert.api._rollout import ConstrainedStepper, Forces, Method, Rollout, RolloutStepper, force_function
from dalembert.api.compiled_calls import (
    CompiledModel,
    Numbers,
    Out,
    SingleStateCalls,
    batch_of,
    calls_of,
    repeat_for_batch,
    require_threads,
    write_to_out,
)
from dalembert.api.kinematics import Kinematics
from dalembert.api.load import accepts_source
from dalembert.api.simulate import SimulationOptions, takes_options
from dalembert.api.trajectory import Trajectory
from dalembert.api.tree_equations import equations_of_tree
from dalembert.arguments import documented_class, is_real, is_str_sequence, validate_arguments
from dalembert.codegen.function import choose_engine
from dalembert.errors import InputError, NotApplicableError, short_repr, suggest_name
from dalembert.model.description import Elements
from dalembert.model.discontinuities import refuse_time_kinks
from dalembert.recursive import tree_dynamics as walk
from dalembert.recursive.constraint_batch import named_speeds, require_tree
from dalembert.recursive.load_forces import ExternalWrenches, Wrenches, WrenchFrame, read_wrenches
from dalembert.recursive.plan import read_state
from dalembert.recursive.traced import Detail
from dalembert.tables import Table, Tabular


class Derivatives(NamedTuple):
    """Derivatives of forces or accelerations with respect to q, speeds, accelerations or forces, and parameters."""

    by_q: np.ndarray
    by_qd: np.ndarray
    by_input: np.ndarray
    by_parameters: np.ndarray


@documented_class
@dataclass(frozen=True, repr=False)
class Dynamics(Tabular, CompiledModel):
    """Dynamics of a model in speeds s: M ṡ + c + g = τ + loads. Created by `dl.dynamics`.

    Immutable; compiled functions are cached by content. Every method takes one state (n,) or many (n, batch) and returns (n,),
    (n, batch), (n, n) or (n, n, batch). With `out` the result is written to an array; `threads` is the number of threads for a
    batch. Velocities and accelerations are those of the coordinates or, with quaternions, the speeds in `speed_names`: angular
    velocities instead of quaternion rates. C-contiguous float64 arrays in speeds are fastest.

    >>> import dalembert as dl
    >>> arm = dl.dynamics("double-pendulum")
    >>> tau = arm.inverse([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    >>> arm.forward([0.1, 0.2], [0.3, 0.4], tau).round(12)
    array([0.5, 0.6])
    >>> arm.mass_matrix(np.zeros((2, 1000))).shape
    (2, 2, 1000)
    """

    _result_names: ClassVar[dict[str, str]] = {
        "mass_matrix": "the mass matrix",
        "bias": "the bias",
        "gravity": "gravity",
        "coriolis": "the matrix C",
        "centroidal": "the momentum",
        "inverse_derivatives": "the derivative of the force",
        "forward_derivatives": "the derivative of the acceleration",
    }

    # properties

    @cached_property
    def kinematics(self) -> Kinematics:
        """Kinematics of the bodies, as compiled functions of the same arrays."""
        return Kinematics(self.model, self.engine, self.execution)

    @cached_property
    def _alone(self) -> SingleStateCalls:
        return SingleStateCalls(self._calls)

    @cached_property
    def _constrained(self) -> bool:
        return self._calls.facts.constrained

    @cached_property
    def _tied(self) -> bool:
        return self._calls.facts.tied

    @cached_property
    def independent_speeds(self) -> tuple[str, ...]:
        """The names of the speeds s_u of `speed_map`: all speeds, or those that are not tied to others."""
        ties = self.plan.ties
        return self.speed_names if ties is None else tuple(self.speed_names[i] for i in ties.independent)

    @cached_property
    def speed_map(self) -> np.ndarray:
        """E of s = E s_u for tied coordinates, such as those of mimic joints and gears; else the identity.

        Velocities, forces and the mass matrix M have one entry for every declared speed. The motion depends on Eᵀ τ only, and
        Eᵀ M E is the mass matrix of the independent speeds: that of Pinocchio with `mimic=True`.

        >>> import dalembert as dl
        >>> model = dl.Model("gripper").coordinates("a", "b").holonomic("b - a")
        >>> _ = model.body("left", joint=model.prismatic((1, 0, 0), "a"), mass=1)
        >>> _ = model.body("right", joint=model.prismatic((-1, 0, 0), "b"), mass=2)
        >>> gripper = dl.dynamics(model)
        >>> E, M = gripper.speed_map, gripper.mass_matrix([0.0, 0.0])
        >>> gripper.independent_speeds, (E.T @ M @ E).tolist()
        (('dot(b)',), [[3.0]])
        >>> gripper.forward([0.0, 0.0], [0.0, 0.0], [6.0, 0.0])
        array([2., 2.])
        """
        ties = self.plan.ties
        found = np.eye(len(self.speed_names)) if ties is None else ties.E
        found.flags.writeable = False
        return found

    def tables(self) -> tuple[Table, ...]:
        """The names of the entries of velocities and forces, the type of the model and the engine."""
        kind = self._kind
        rows = tuple((str(i), name) for i, name in enumerate(self.speed_names))
        return (Table(("entry", "speed"), rows, f"Dynamics of {self.model.name}: {kind}, engine {self.engine}"),)

    def __repr__(self) -> str:
        return f"Dynamics('{self.model.name}', {len(self.speed_names)} speeds, {self._kind}, {self.engine})"

    @property
    def _kind(self) -> str:
        tied = f"tree, {len(self.independent_speeds)} independent"
        return "constrained" if self._constrained else tied if self._tied else "tree"

    # dynamics

    def inverse(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        t: Numbers = 0.0,
        *,
        friction: bool = False,
        actuated: Sequence[str] | None = None,
        fext: ExternalWrenches | None = None,
        frame: WrenchFrame = "world",
        out: Out = None,
        threads: int = 1,
    ) -> np.ndarray:
        """Inverse dynamics: the forces τ = M ṡ + c + g − loads; alias `rnea`.

        The loads of the model are included; joint friction only with `friction`. For `actuated`, and for models with
        constraints, see `dl.inverse_dynamics`.

        Parameters
        ----------
        fext : dict of str to array_like, shape (6,) or (6, batch), optional
            External wrenches by body, in `frame`: the force, then the moment.
        frame : {'world', 'body', 'mass_center'}, default 'world'
            Axes and point of application of the wrenches, see `dl.inverse_dynamics`.

        Returns
        -------
        ndarray, shape (n,) or (n, batch)
            Generalized forces along the speeds.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.dynamics("simple-pendulum").inverse([0.0], [0.0], [0.0]).shape
        (1,)
        """
        if out is None and actuated is None:
            if fext is None:
                one = self._alone["inverse", friction](q, qd, qdd, t)
            else:
                one = self._alone.with_wrenches("inverse", friction, fext, frame, q, qd, qdd, t)
            if one is not None:
                return one
        wrenches = read_wrenches(self.model, fext, frame, _batch_shape(q))
        chosen = self._calls.facts.driven if actuated is None else named_speeds(self.plan, actuated, "actuated")
        if chosen is None:
            return self._run("inverse", (q, qd, qdd, *_values(wrenches)), t, friction, out, threads, _detail(wrenches))
        ties = self.plan.ties if self._tied else None
        if chosen and ties is not None and ties.force_map(chosen) is not None:
            detail = _detail(wrenches, actuated=tuple(chosen))
            return self._run("inverse", (q, qd, qdd, *_values(wrenches)), t, friction, out, threads, detail)
        require_threads(threads)
        options = {"friction": friction, "actuated": actuated, "fext": fext, "frame": frame}
        found = walk.inverse_dynamics(self.model, q, qd, qdd, t, **options)
        return write_to_out(found, out)

    def forward(
        self,
        q: Numbers,
        qd: Numbers,
        tau: Numbers | None = None,
        t: Numbers = 0.0,
        *,
        friction: bool = False,
        fext: ExternalWrenches | None = None,
        frame: WrenchFrame = "world",
        out: Out = None,
        threads: int = 1,
    ) -> np.ndarray:
        """Forward dynamics: the accelerations under the loads of the model and the forces `tau` (default 0); alias `aba`.

        If `qd` contains quaternion rates the result is q̈, else the rates of the speeds. If the mass matrix is singular, the
        error names the speeds without inertia.

        Parameters
        ----------
        fext : dict of str to array_like, shape (6,) or (6, batch), optional
            External wrenches by body, in `frame`, as for `dl.inverse_dynamics`.

        Returns
        -------
        ndarray, shape (n,) or (n, batch)
            Accelerations.

        Examples
        --------
        >>> import dalembert as dl
        >>> arm = dl.dynamics("double-pendulum")
        >>> arm.forward([0.4, 1.1], [0.3, -0.2]).shape
        (2,)
        >>> arm.forward([0.4, 1.1], [0.3, -0.2], fext={"lower": (0, 5, 0, 0, 0, 0)}).shape
        (2,)
        """
        if tau is None:
            tau = self._zeros(q)
        if out is None:
            if fext is None:
                one = self._alone["forward", friction](q, qd, tau, t)
            else:
                one = self._alone.with_wrenches("forward", friction, fext, frame, q, qd, tau, t)
            if one is not None:
                return one
        wrenches = read_wrenches(self.model, fext, frame, _batch_shape(q))
        return self._run("forward", (q, qd, tau, *_values(wrenches)), t, friction, out, threads, _detail(wrenches))

    def hybrid(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        tau: Numbers | None = None,
        t: Numbers = 0.0,
        *,
        prescribed: Sequence[str],
        friction: bool = False,
        out: Out = None,
        threads: int = 1,
    ) -> walk.HybridDynamics:
        """Hybrid dynamics: `qdd` of the `prescribed` speeds and `tau` of all others are known; solve for the rest.

        Same as `dl.hybrid_dynamics`. `out` has shape (2, n) or (2, n, batch).

        Parameters
        ----------
        prescribed : sequence of str
            Names of the speeds whose accelerations are prescribed.

        Returns
        -------
        HybridDynamics
            `qdd` and `tau` of all speeds, each (n,) or (n, batch).

        Examples
        --------
        >>> import dalembert as dl
        >>> arm = dl.dynamics("double-pendulum")
        >>> found = arm.hybrid([0.1, 0.2], [0.3, 0.4], [0.5, 0.0], prescribed=["theta1"])
        >>> bool(np.allclose(arm.forward([0.1, 0.2], [0.3, 0.4], found.tau), found.qdd)), float(found.tau[1])
        (True, 0.0)
        """
        require_tree(self.plan, "hybrid dynamics")
        chosen = Detail(prescribed=tuple(named_speeds(self.plan, prescribed, "prescribed")))
        arguments = (q, qd, qdd, self._zeros(q) if tau is None else tau)
        return walk.HybridDynamics(*self._run("hybrid", arguments, t, friction, out, threads, chosen))

    def mass_matrix(self, q: Numbers, t: Numbers = 0.0, *, out: Out = None, threads: int = 1) -> np.ndarray:
        """The mass matrix M of the speeds, including rotors, without constraints; alias `crba`.

        Returns
        -------
        ndarray, shape (n, n) or (n, n, batch)
            The mass matrix, symmetric.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.dynamics("double-pendulum").mass_matrix([0.4, 1.1]).shape
        (2, 2)
        """
        if out is None and (one := self._alone["mass_matrix", False](q, t)) is not None:
            return one
        return self._run("mass_matrix", (q,), t, False, out, threads)

    def bias(self, q: Numbers, qd: Numbers, t: Numbers = 0.0, *, out: Out = None, threads: int = 1) -> np.ndarray:
        """The bias forces c + g, the inverse dynamics at zero acceleration without loads; alias `nle`.

        Returns
        -------
        ndarray, shape (n,) or (n, batch)
            Generalized forces along the speeds.

        Examples
        --------
        >>> import dalembert as dl
        >>> pendulum = dl.dynamics("double-pendulum")
        >>> q, qd = np.array([0.4, 1.1]), np.array([0.3, -0.2])
        >>> bool(np.allclose(pendulum.bias(q, qd), pendulum.coriolis(q, qd) @ qd + pendulum.gravity(q)))
        True
        """
        return self._run("bias", (q, qd), t, False, out, threads)

    def gravity(self, q: Numbers, t: Numbers = 0.0, *, out: Out = None, threads: int = 1) -> np.ndarray:
        """The gravity forces g, the inverse dynamics at rest without loads.

        Returns
        -------
        ndarray, shape (n,) or (n, batch)
            Generalized forces along the speeds.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.dynamics("simple-pendulum").gravity([0.0]).shape
        (1,)
        """
        return self._run("gravity", (q,), t, False, out, threads)

    def coriolis(self, q: Numbers, qd: Numbers, t: Numbers = 0.0, *, out: Out = None, threads: int = 1) -> np.ndarray:
        """The Coriolis matrix C of C s = c, (17) of papers/denoc, chosen such that dM/dt − 2C is skew-symmetric.

        Terms of rheonomic joints in c are not included.

        Returns
        -------
        ndarray, shape (n, n) or (n, n, batch)
            The matrix C.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.dynamics("double-pendulum").coriolis([0.4, 1.1], [0.3, -0.2]).shape
        (2, 2)
        """
        return self._run("coriolis", (q, qd), t, False, out, threads)

    def jacobian(
        self,
        q: Numbers,
        body: str,
        point: Numbers = (0.0, 0.0, 0.0),
        t: Numbers = 0.0,
        *,
        out: Out = None,
        threads: int = 1,
    ) -> np.ndarray:
        """Jacobian J (6, n) of a `point` in body axes: J s is its velocity and the angular velocity, in world axes.

        Returns
        -------
        ndarray, shape (6, n) or (6, n, batch)
            Rows are three linear velocities, then three angular velocities.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.dynamics("puma560").jacobian(np.zeros(6), "flange").shape
        (6, 6)
        """
        return self.kinematics.jacobian(q, body, point, t, out=out, threads=threads)

    def centroidal(
        self, q: Numbers, qd: Numbers, t: Numbers = 0.0, *, out: Out = None, threads: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """Centroidal momentum matrix A (6, n) and A s (6,): linear and angular momentum about the mass center, world axes.

        Terms of rheonomic joints are not included. `out` has shape (6, n + 1) for both.

        Returns
        -------
        tuple of two ndarray
            The matrix A (6, n) and the momentum A s (6,), with a last axis for a batch.

        Examples
        --------
        >>> import dalembert as dl
        >>> A, momentum = dl.dynamics("puma560").centroidal(np.zeros(6), np.ones(6))
        >>> A.shape, momentum.shape
        ((6, 6), (6,))
        """
        found = self._run("centroidal", (q, qd), t, False, out, threads)
        return found[:, :-1], found[:, -1]

    def derivatives(
        self,
        q: Numbers,
        qd: Numbers,
        inputs: Numbers | None = None,
        t: Numbers = 0.0,
        *,
        of: Literal["forward", "inverse"] = "forward",
        parameters: Sequence[str] = (),
        friction: bool = False,
        fext: ExternalWrenches | None = None,
        frame: WrenchFrame = "world",
        out: Out = None,
        threads: int = 1,
    ) -> Derivatives:
        """Derivatives of forward or inverse dynamics with respect to q, speeds, inputs and parameters.

        For a quaternion, q varies along its three speeds. `out` has all blocks side by side.

        Parameters
        ----------
        inputs : array_like, shape (n,) or (n, batch), optional
            Forces for `of="forward"`, accelerations for `of="inverse"`; zero if None.
        of : {'forward', 'inverse'}, default 'forward'
            Differentiate forward dynamics (accelerations) or inverse dynamics (forces).
        parameters : sequence of str, default ()
            Names of parameters for `by_parameters`.
        fext : dict of str to array_like, shape (6,) or (6, batch), optional
            External wrenches by body, as for `dl.inverse_dynamics`, with constant components in `frame`.

        Returns
        -------
        Derivatives
            `by_q`, `by_qd` and `by_input`, each (n, n), and `by_parameters` (n, parameters), with a last axis for a batch.

        Raises
        ------
        InputError
            If `of` or a parameter is unknown, or a state has a wrong shape.

        Examples
        --------
        >>> import dalembert as dl
        >>> slopes = dl.dynamics("double-pendulum").derivatives(np.zeros(2), np.zeros(2), parameters=["m1"])
        >>> slopes.by_q.shape, slopes.by_input.shape, slopes.by_parameters.shape
        ((2, 2), (2, 2), (2, 1))
        """
        if of not in ("forward", "inverse"):
            raise InputError(f"derivatives, of: got {short_repr(of)}. Expected 'forward' or 'inverse'.")
        if not is_str_sequence(parameters):
            raise InputError(f"derivatives, parameters: got {short_repr(parameters)}. Expected a list of str.")
        task = f"{of}_derivatives"
        last = self._zeros(q) if inputs is None else inputs
        simple = out is None and not parameters and fext is None
        if simple and (one := self._alone[task, friction](q, qd, last, t)) is not None:
            return _derivative_blocks(one)
        if of == "forward":
            if self._constrained:
                require_tree(self.plan, "derivatives of forward dynamics")
            self._refuse_parameters_of_ties(parameters)
        known = self.model.parameter_values
        for name in parameters:
            if name not in known:
                raise InputError(f"derivatives: there is no parameter '{name}'. {suggest_name(name, known)}")
        values = [repeat_for_batch(np.array([known[name] for name in parameters]), q)] if parameters else []
        wrenches = read_wrenches(self.model, fext, frame, _batch_shape(q))
        arguments, detail = (q, qd, last, *_values(wrenches), *values), _detail(wrenches, named=tuple(parameters))
        return _derivative_blocks(self._run(task, arguments, t, friction, out, threads, detail))

    def rollout(
        self,
        q: Numbers,
        qd: Numbers,
        tau: Numbers | Forces | None,
        dt: float,
        steps: int,
        *,
        t: float = 0.0,
        method: Method = "rk4",
        every: int = 1,
        friction: bool = False,
        fext: ExternalWrenches | None = None,
        frame: WrenchFrame = "world",
        threads: int = 1,
    ) -> Rollout:
        """Integrate many initial states at once with a fixed step size.

        With constraints, the states are projected onto them after every step.

        Parameters
        ----------
        tau : array_like, callable or None
            Constant generalized forces (n,) or (n, batch), or a function of t, q (n, batch) and speeds (n, batch) that returns
            (n, batch), called at every stage; zero if None.
        dt : float
            Step size, s.
        steps : int
            Number of steps.
        t : float, default 0.0
            Initial time.
        method : {'rk4', 'semi_implicit'}, default 'rk4'
            Classical Runge–Kutta method, or symplectic Euler, which limits energy drift.
        every : int, default 1
            Record the initial states and every `every`-th step.
        fext : dict of str to array_like, shape (6,) or (6, batch), optional
            External wrenches by body, as for `dl.inverse_dynamics`, with constant components in `frame`.

        Returns
        -------
        Rollout
            `t` (samples,), `q` and speeds `qd`, each (n, samples) or (n, samples, batch).

        Raises
        ------
        InputError
            If a state has a wrong shape, or an option is invalid.
        SimulationError
            If a state is no longer finite.
        NotApplicableError
            If the model has rigid contacts.

        Examples
        --------
        >>> import dalembert as dl
        >>> run = dl.dynamics("double-pendulum").rollout(np.ones((2, 100)), np.zeros((2, 100)), None, 1e-3, 50)
        >>> run.q.shape, round(float(run.t[-1]), 6)
        ((2, 51, 100), 0.05)
        """
        self.model.refuse_rigid("rollout")
        start = read_state(self.plan, q, qd, _finite_number(t, "t"))
        refuse_time_kinks(self.model, "rollout", float(t), float(t) + _finite_number(dt, "dt") * steps)
        forces = force_function(start, tau)
        wrenches = read_wrenches(self.model, fext, frame, (start.K,))
        arguments = self._calls, forces, _finite_number(dt, "dt"), friction, require_threads(threads), wrenches
        stepper = ConstrainedStepper(*arguments) if self._constrained else RolloutStepper(*arguments)
        return stepper.rollout(start, float(t), steps, every, method)

    @validate_arguments
    @takes_options("q0 qd0 t0 integrator samples times rtol atol max_step step progress friction")
    def simulate(
        self, duration: float | None = None, *, friction: bool = True, **options: Unpack[SimulationOptions]
    ) -> Trajectory:
        """Simulate a tree of any size from (q0, qd0), by default the initial state of the model, with gravity and all loads.

        The cost of a step is linear in the number of links. `integrator` is dop853 (default), rk45 or rk4; the other arguments
        are those of `dl.simulate`. With the formalism `denoc`, `dl.simulate` uses the same recursion for large trees; otherwise
        it derives explicit equations, which support more features.

        Returns
        -------
        Trajectory
            The recorded motion.

        Examples
        --------
        >>> import dalembert as dl
        >>> run = dl.dynamics(dl.load("rope", links=100)).simulate(0.1, samples=11)
        >>> run.q.shape, run.energy_error < 1e-9
        ((100, 11), True)
        """
        self.model.refuse_rigid("simulate of dl.dynamics")
        require_tree(self.plan, "simulate")
        t0, times = options.get("t0", 0.0), options.get("times")
        last = t0 + (self.model.duration if duration is None else duration) if times is None else times[-1]
        refuse_time_kinks(self.model, "simulate of dl.dynamics", t0, float(last))
        equations = equations_of_tree(self.model, self.engine, self.execution, friction=friction)
        return equations.simulate(duration, **options)

    def _refuse_parameters_of_ties(self, parameters: Sequence[str]) -> None:
        ties = self.plan.ties if parameters and self._tied else None
        if ties is not None and (found := ties.parameters & {*parameters}):
            raise NotApplicableError(
                f"derivatives of forward dynamics: parameter '{min(found)}' is a factor between tied coordinates of model "
                f"'{self.model.name}'. Expected parameters of bodies, joints or loads. Use finite differences."
            )

    def _zeros(self, q: Numbers) -> np.ndarray:
        n, batch = self._calls.facts.n_speeds, batch_of(q)
        return np.zeros(n) if batch is None else _shared_zeros(n, batch)

    def rates(self, q: Numbers, s: Numbers) -> np.ndarray:
        """The coordinate rates q̇ for speeds s, which differ for quaternions only.

        Parameters
        ----------
        s : array_like, shape (n,) or (n, batch)
            Speeds.

        Returns
        -------
        ndarray, shape (n,) or (n, batch)
            Rates of the coordinates.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.dynamics("double-pendulum").rates([0.4, 1.1], [0.3, -0.2])
        array([ 0.3, -0.2])
        """
        state = read_state(self.plan, q, s, 0.0)
        return state.shaped(state.qd)

    rnea, aba, crba, nle = inverse, forward, mass_matrix, bias  # the names in Pinocchio

    def _by_checked_recursion(
        self, task: str, arguments: tuple[Numbers, ...], t: Numbers, friction: bool, detail: Detail | None
    ) -> np.ndarray | None:
        if task not in _CHECKED_RECURSIONS:
            return None
        chosen = dict[str, object]()
        if detail and (detail.actuated or task == "hybrid"):
            speeds = detail.actuated or detail.prescribed
            chosen["prescribed" if task == "hybrid" else "actuated"] = [self.speed_names[i] for i in speeds]
        if detail and detail.wrenches:
            wrenches, arguments = Wrenches(detail.wrenches, detail.frame, np.asarray(arguments[-1])), arguments[:-1]
            chosen |= {"fext": wrenches.by_body, "frame": wrenches.frame}
        return np.stack(_CHECKED_RECURSIONS[task](self.model, *arguments, t, friction=friction, **chosen))


@accepts_source
def dynamics(model: Elements, *, engine: str | None = None, execution: str | None = None) -> Dynamics:
    """Create the dynamics of a model; each function is compiled at its first call.

    The rolled execution supports inverse and forward dynamics, bias and gravity, if every joint has its own coordinates and
    loads act inside joints. It is the default for more than 60 speeds, and supports at most 1000 speeds with constraints, with a
    linear solve of the size of the constraint rows. All other functions are unrolled, for at most 400 speeds, or 150 if the
    result is a matrix.

    Parameters
    ----------
    model : Model, Description, str or Path
        The model, the name of a gallery example, or the path of a model file.
    engine : {"native", "python"}, optional
        How functions are evaluated; native machine code by default if it is available.
    execution : {"unrolled", "rolled"}, optional
        Straight-line code with constant-folded model data, or loops over a table of links, whose compilation time does not
        depend on the number of links. The default is chosen automatically.

    Returns
    -------
    Dynamics
        The compiled functions.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("slider").coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    >>> dynamics(model).forward([0.0], [0.0], [3.0])
    array([1.5])
    """
    model.refuse_canonical("dynamics")
    chosen = choose_engine(engine)
    _ = calls_of(model.description, chosen, execution).facts  # raises if the model does not support this execution
    return Dynamics(model.description, chosen, execution)


_CHECKED_RECURSIONS = {
    "inverse": walk.inverse_dynamics,
    "forward": walk.forward_dynamics,
    "hybrid": walk.hybrid_dynamics,
}  # recursions in floats that raise with the reason


def _derivative_blocks(found: np.ndarray) -> Derivatives:
    n = len(found)
    return Derivatives(found[:, :n], found[:, n : 2 * n], found[:, 2 * n : 3 * n], found[:, 3 * n :])


def _batch_shape(q: Numbers) -> tuple[int, ...]:
    count = batch_of(q)
    return () if count is None else (count,)


def _detail(wrenches: Wrenches | None, *, named: tuple[str, ...] = (), actuated: tuple[int, ...] = ()) -> Detail | None:
    """The options of a task; None for the plain task."""
    if wrenches is None:
        return Detail(named=named, actuated=actuated) if named or actuated else None
    return Detail(named=named, actuated=actuated, wrenches=wrenches.bodies, frame=wrenches.frame)


def _values(wrenches: Wrenches | None) -> tuple[np.ndarray, ...]:
    return () if wrenches is None else (wrenches.values,)


def _finite_number(number: float, name: str) -> float:
    if not is_real(number):
        raise InputError(f"rollout, {name}: got {short_repr(number)}. Expected a finite number.")
    return float(number)


def _shared_zeros(rows: int, count: int) -> np.ndarray:
    """Rows of zeros that share memory."""
    return np.broadcast_to(np.zeros(count), (rows, count))


mass_matrix = accepts_source(walk.mass_matrix)
inverse_dynamics = accepts_source(walk.inverse_dynamics)
forward_dynamics = accepts_source(walk.forward_dynamics)
hybrid_dynamics = accepts_source(walk.hybrid_dynamics)
