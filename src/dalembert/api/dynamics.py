"""The dynamics a user holds: inverse and forward dynamics, mass matrix and their kin as compiled functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, Unpack

import numpy as np

from dalembert.api._rollout import Forces, HeldStepper, Method, Rollout, Stepper, forces_of
from dalembert.api.compiled_calls import Alone, Compiled, Numbers, Out, batch_of, beside, calls_of, counted, written
from dalembert.api.kinematics import Kinematics
from dalembert.api.load import accepts_source
from dalembert.api.simulate import SimulationOptions, takes_options
from dalembert.api.trajectory import Trajectory
from dalembert.api.tree_equations import equations_of_tree
from dalembert.arguments import are_names, checked, is_real, shown
from dalembert.codegen.function import choose_engine
from dalembert.errors import InputError, nearest
from dalembert.model.description import Elements
from dalembert.model.discontinuities import refuse_time_kinks
from dalembert.recursive import tree_dynamics as walk
from dalembert.recursive.constraint_batch import named_speeds, require_tree
from dalembert.recursive.plan import read_state
from dalembert.recursive.traced import Detail
from dalembert.tables import Table, Tabular


class Derivatives(NamedTuple):
    """Slopes of forces or accelerations, rows by speeds: by q, by speeds, by accelerations or forces, and by parameters."""

    by_q: np.ndarray
    by_qd: np.ndarray
    by_input: np.ndarray
    by_parameters: np.ndarray


@dataclass(frozen=True, repr=False)
class Dynamics(Tabular, Compiled):
    """The dynamics of a model in speeds s, M ṡ + c + g = τ + loads: a value; compiled code lies in a store by content.

    Every function takes one state (n,) or many (n, batch) and gives (n,), (n, batch) or (n, n), (n, n, batch). With `out` the
    result is written into an array; `threads` share a batch. Velocities and accelerations are those of the coordinates or, with
    quaternions, speeds as `speed_names` lists them: the angular velocity takes the place of the rates of a quaternion. Quickest
    are arrays of float64 in speeds, whose columns lie side by side.

    >>> import dalembert as dl
    >>> arm = dl.dynamics("double-pendulum")
    >>> tau = arm.inverse([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    >>> arm.forward([0.1, 0.2], [0.3, 0.4], tau).round(12)
    array([0.5, 0.6])
    >>> arm.mass_matrix(np.zeros((2, 1000))).shape
    (2, 2, 1000)
    """

    said: ClassVar[dict[str, str]] = {
        "mass_matrix": "the mass matrix",
        "bias": "the bias",
        "gravity": "gravity",
        "coriolis": "the matrix C",
        "centroidal": "the momentum",
        "inverse_slopes": "the derivative of the force",
        "forward_slopes": "the derivative of the acceleration",
    }

    # what it is

    @cached_property
    def kinematics(self) -> Kinematics:
        """Where the bodies are and how they move, as compiled functions of the same arrays."""
        return Kinematics(self.declared, self.engine, self.execution)

    @cached_property
    def _alone(self) -> Alone:
        return Alone(self._calls)

    @cached_property
    def _constrained(self) -> bool:
        return self._calls.facts.constrained

    def tables(self) -> tuple[Table, ...]:
        """What the entries of velocities and forces are, and how they are worked out."""
        kind = "constrained" if self._constrained else "tree"
        rows = tuple((str(i), name) for i, name in enumerate(self.speed_names))
        return (Table(("entry", "speed"), rows, f"Dynamics of {self.declared.name}: {kind}, engine {self.engine}"),)

    def __repr__(self) -> str:
        kind = "constrained" if self._constrained else "tree"
        return f"Dynamics('{self.declared.name}', {len(self.speed_names)} speeds, {kind}, {self.engine})"

    # what it does

    def inverse(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        t: Numbers = 0.0,
        *,
        friction: bool = False,
        actuated: Sequence[str] | None = None,
        out: Out = None,
        threads: int = 1,
    ) -> np.ndarray:
        """The forces τ = M ṡ + c + g − loads that a motion takes; also called `rnea`.

        Loads of the model act besides τ; friction in joints only with `friction`. For `actuated`, and for models with
        constraints, see `dl.inverse_dynamics`.

        >>> import dalembert as dl
        >>> dl.dynamics("simple-pendulum").inverse([0.0], [0.0], [0.0]).shape
        (1,)
        """
        if out is None and actuated is None and (one := self._alone["inverse", friction](q, qd, qdd, t)) is not None:
            return one
        if self._constrained or actuated is not None:
            counted(threads)
            found = walk.inverse_dynamics(self.declared, q, qd, qdd, t, friction=friction, actuated=actuated)
            return written(found, out)
        return self._run("inverse", (q, qd, qdd), t, friction, out, threads)

    def forward(
        self,
        q: Numbers,
        qd: Numbers,
        tau: Numbers | None = None,
        t: Numbers = 0.0,
        *,
        friction: bool = False,
        out: Out = None,
        threads: int = 1,
    ) -> np.ndarray:
        """The accelerations under the loads of the model and the forces `tau`, none by default; also called `aba`.

        Where `qd` are rates of quaternions the result is q̈, else the rates of the speeds. The mass matrix has to be regular;
        where it is not, the message says along which speeds.

        >>> import dalembert as dl
        >>> dl.dynamics("double-pendulum").forward([0.4, 1.1], [0.3, -0.2]).shape
        (2,)
        """
        if tau is None:
            tau = self._zeros(q)
        if out is None and (one := self._alone["forward", friction](q, qd, tau, t)) is not None:
            return one
        return self._run("forward", (q, qd, tau), t, friction, out, threads)

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
        """Accelerations and forces of all speeds: those of `prescribed` ones have `qdd`, all others `tau`, and the rest is found.

        As `dl.hybrid_dynamics`. `out` takes both, (2, n) or (2, n, batch).

        >>> import dalembert as dl
        >>> arm = dl.dynamics("double-pendulum")
        >>> found = arm.hybrid([0.1, 0.2], [0.3, 0.4], [0.5, 0.0], prescribed=["theta1"])
        >>> bool(np.allclose(arm.forward([0.1, 0.2], [0.3, 0.4], found.tau), found.qdd)), float(found.tau[1])
        (True, 0.0)
        """
        require_tree(self.plan, "hybrid dynamics")
        chosen = Detail(prescribed=tuple(named_speeds(self.plan, prescribed, "prescribed")))
        given = (q, qd, qdd, self._zeros(q) if tau is None else tau)
        return walk.HybridDynamics(*self._run("hybrid", given, t, friction, out, threads, chosen))

    def mass_matrix(self, q: Numbers, t: Numbers = 0.0, *, out: Out = None, threads: int = 1) -> np.ndarray:
        """The mass matrix M of the speeds, rotors included; also called `crba`. Constraints play no part in it.

        >>> import dalembert as dl
        >>> dl.dynamics("double-pendulum").mass_matrix([0.4, 1.1]).shape
        (2, 2)
        """
        if out is None and (one := self._alone["mass_matrix", False](q, t)) is not None:
            return one
        return self._run("mass_matrix", (q,), t, False, out, threads)

    def bias(self, q: Numbers, qd: Numbers, t: Numbers = 0.0, *, out: Out = None, threads: int = 1) -> np.ndarray:
        """c + g, the forces that keep the speeds constant where no loads act; also called `nle`. Loads are not in it.

        >>> import dalembert as dl
        >>> pendulum = dl.dynamics("double-pendulum")
        >>> q, qd = np.array([0.4, 1.1]), np.array([0.3, -0.2])
        >>> bool(np.allclose(pendulum.bias(q, qd), pendulum.coriolis(q, qd) @ qd + pendulum.gravity(q)))
        True
        """
        return self._run("bias", (q, qd), t, False, out, threads)

    def gravity(self, q: Numbers, t: Numbers = 0.0, *, out: Out = None, threads: int = 1) -> np.ndarray:
        """g, the forces that hold the bodies up.

        >>> import dalembert as dl
        >>> dl.dynamics("simple-pendulum").gravity([0.0]).shape
        (1,)
        """
        return self._run("gravity", (q,), t, False, out, threads)

    def coriolis(self, q: Numbers, qd: Numbers, t: Numbers = 0.0, *, out: Out = None, threads: int = 1) -> np.ndarray:
        """The matrix of convective inertia C of C s = c, (17) of papers/denoc, chosen such that dM/dt − 2C is skew.

        What joints whose motion is prescribed in time add to c is not in it.

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
        """J (6, n) of a point, in axes of its body: its velocity above the body's angular velocity, in world axes, is J s.

        >>> import dalembert as dl
        >>> dl.dynamics("puma560").jacobian(np.zeros(6), "flange").shape
        (6, 6)
        """
        return self.kinematics.jacobian(q, body, point, t, out=out, threads=threads)

    def centroidal(
        self, q: Numbers, qd: Numbers, t: Numbers = 0.0, *, out: Out = None, threads: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """The matrix A (6, n) and the momentum A s (6,): momentum above angular momentum about the mass centre, in world axes.

        What joints whose motion is prescribed in time add is not in it. `out` takes both, (6, n + 1).

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
        given: Numbers | None = None,
        t: Numbers = 0.0,
        *,
        of: Literal["forward", "inverse"] = "forward",
        parameters: Sequence[str] = (),
        friction: bool = False,
        out: Out = None,
        threads: int = 1,
    ) -> Derivatives:
        """Derivatives of accelerations (`of="forward"`, at forces `given`) or of forces (`of="inverse"`, at accelerations).

        By q, by speeds, by what is given, and by parameters in the order they are named, each (n, n) or (n, n, batch). For a
        quaternion, changes of q are along its three speeds. `out` takes all side by side.

        >>> import dalembert as dl
        >>> slopes = dl.dynamics("double-pendulum").derivatives(np.zeros(2), np.zeros(2), parameters=["m1"])
        >>> slopes.by_q.shape, slopes.by_input.shape, slopes.by_parameters.shape
        ((2, 2), (2, 2), (2, 1))
        """
        if of not in ("forward", "inverse"):
            raise InputError(f"derivatives, of: got {shown(of)}. Expected 'forward' or 'inverse'.")
        if not are_names(parameters):
            raise InputError(f"derivatives, parameters: got {shown(parameters)}. Expected a list of names.")
        task = f"{of}_slopes"
        last = self._zeros(q) if given is None else given
        if out is None and not parameters and (one := self._alone[task, friction](q, qd, last, t)) is not None:
            return _derivative_blocks(one)
        if of == "forward" and self._calls.facts.constrained:
            require_tree(self.plan, "derivatives of forward dynamics")
        known = self.declared.parameter_values
        for name in parameters:
            if name not in known:
                raise InputError(f"derivatives: there is no parameter '{name}'. {nearest(name, known)}")
        values = [beside(np.array([known[name] for name in parameters]), q)] if parameters else []
        detail = Detail(named=tuple(parameters)) if parameters else None
        return _derivative_blocks(self._run(task, (q, qd, last, *values), t, friction, out, threads, detail))

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
        threads: int = 1,
    ) -> Rollout:
        """Motions from many states at once in steps of length dt: `rk4`, or `semi_implicit`, which keeps energy for long.

        `tau` are constant forces, or a function of t, q (n, batch) and the speeds that gives them (n, batch) at every stage.
        Samples are kept at the start and `every` so many steps. Velocities come back as speeds. With constraints, the states are
        brought back onto them after every step.

        >>> import dalembert as dl
        >>> run = dl.dynamics("double-pendulum").rollout(np.ones((2, 100)), np.zeros((2, 100)), None, 1e-3, 50)
        >>> run.q.shape, round(float(run.t[-1]), 6)
        ((2, 51, 100), 0.05)
        """
        self.declared.refuse_rigid("rollout")
        start = read_state(self.plan, q, qd, _finite_number(t, "t"))
        refuse_time_kinks(self.declared, "rollout", float(t), float(t) + _finite_number(dt, "dt") * steps)
        given = self._calls, forces_of(start, tau), _finite_number(dt, "dt"), friction, counted(threads)
        stepper = HeldStepper(*given) if self._constrained else Stepper(*given)
        return stepper.rollout(start, float(t), steps, every, method)

    @checked
    @takes_options("q0 qd0 t0 integrator samples times rtol atol max_step step progress friction")
    def simulate(
        self, duration: float | None = None, *, friction: bool = True, **options: Unpack[SimulationOptions]
    ) -> Trajectory:
        """The motion of a tree of any size from (q0, qd0), by default the model's start, under gravity and all its loads.

        The cost of a step is linear in the number of links. `integrator` is dop853 (default), rk45 or rk4; the other arguments
        are those of `dl.simulate`. That goes the same way for large trees by the formalism `denoc`, and derives equations, which
        know more of a model, for all others.

        >>> import dalembert as dl
        >>> run = dl.dynamics(dl.load("rope", links=100)).simulate(0.1, samples=11)
        >>> run.q.shape, run.energy_error < 1e-9
        ((100, 11), True)
        """
        self.declared.refuse_rigid("simulate of dl.dynamics")
        require_tree(self.plan, "simulate")
        t0, times = options.get("t0", 0.0), options.get("times")
        last = t0 + (self.declared.duration if duration is None else duration) if times is None else times[-1]
        refuse_time_kinks(self.declared, "simulate of dl.dynamics", t0, float(last))
        equations = equations_of_tree(self.declared, self.engine, self.execution, friction=friction)
        return equations.simulate(duration, **options)

    def _zeros(self, q: Numbers) -> np.ndarray:
        n, batch = self._calls.facts.n_speeds, batch_of(q)
        return np.zeros(n) if batch is None else _shared_zeros(n, batch)

    def rates(self, q: Numbers, s: Numbers) -> np.ndarray:
        """The rates q̇ of the coordinates for speeds s: the same unless there are quaternions.

        >>> import dalembert as dl
        >>> dl.dynamics("double-pendulum").rates([0.4, 1.1], [0.3, -0.2])
        array([ 0.3, -0.2])
        """
        state = read_state(self.plan, q, s, 0.0)
        return state.shaped(state.qd)

    rnea, aba, crba, nle = inverse, forward, mass_matrix, bias  # as Pinocchio calls them

    def _walked(
        self, task: str, given: tuple[Numbers, ...], t: Numbers, friction: bool, detail: Detail | None
    ) -> np.ndarray | None:
        if task not in _WALKS:
            return None
        chosen = {"prescribed": [self.speed_names[i] for i in detail.prescribed]} if detail else {}
        return np.stack(_WALKS[task](self.declared, *given, t, friction=friction, **chosen))


@accepts_source
def dynamics(model: Elements, *, engine: str | None = None, execution: str | None = None) -> Dynamics:
    """The dynamics of a model, compiled function by function when they are first called.

    `engine` is native or python. `execution` is how the recursion runs: `unrolled`, link by link with the numbers of the model
    folded in, or `rolled`, loops over a table of links, which compile at once whatever their number; None is for what suits the
    model. Inverse and forward dynamics, bias and gravity have loops, where every joint moves by coordinates of its own and loads
    act inside joints: more than 60 speeds then run rolled; with constraints at most 1000, and only as many equations are solved
    as there are rows. All else is unrolled, for at most 400 speeds, or 150 where the result is a matrix.

    >>> from dalembert.model.model import Model
    >>> model = Model("slider").coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    >>> dynamics(model).forward([0.0], [0.0], [3.0])
    array([1.5])
    """
    model.refuse_canonical("dynamics")
    chosen = choose_engine(engine)
    _ = calls_of(model.description, chosen, execution).facts  # raises where the model cannot run so
    return Dynamics(model.description, chosen, execution)


_WALKS = {
    "inverse": walk.inverse_dynamics,
    "forward": walk.forward_dynamics,
    "hybrid": walk.hybrid_dynamics,
}  # they say why


def _derivative_blocks(found: np.ndarray) -> Derivatives:
    n = len(found)
    return Derivatives(found[:, :n], found[:, n : 2 * n], found[:, 2 * n : 3 * n], found[:, 3 * n :])


def _finite_number(number: float, name: str) -> float:
    if not is_real(number):
        raise InputError(f"rollout, {name}: got {shown(number)}. Expected a finite number.")
    return float(number)


def _shared_zeros(rows: int, count: int) -> np.ndarray:
    """Rows of zeros, which share their memory."""
    return np.broadcast_to(np.zeros(count), (rows, count))


mass_matrix = accepts_source(walk.mass_matrix)
inverse_dynamics = accepts_source(walk.inverse_dynamics)
forward_dynamics = accepts_source(walk.forward_dynamics)
hybrid_dynamics = accepts_source(walk.hybrid_dynamics)
