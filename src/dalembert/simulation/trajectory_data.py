"""A simulated motion as data: named arrays over the samples, events, impulses and segments; reading does not compute.

Coordinates are on the first axis, samples on the last. `simulate` records everything here, except for models with more than
`MAX_BODIES` bodies: motions of bodies, forces of loads and efforts of drives are then added by `Equations.evaluate(run)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dalembert.arguments import as_finite_array, documented_class, validate_arguments
from dalembert.errors import InputError, suggest_name
from dalembert.mechanics.joint_reactions import JointForces, require_frame
from dalembert.model.description import Description
from dalembert.model.immutable import Frozen, FrozenValue
from dalembert.model.values import WORLD
from dalembert.simulation import observables
from dalembert.simulation.integrators.interpolant import Interpolant, Piece
from dalembert.symbolic import rotations as relative
from dalembert.symbolic.rotations import PointMotion, Pose
from dalembert.tables import Table, Tabular, format_cell

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class EventRecord(FrozenValue):
    """An event or a switching of a run: its time, and the state before and after."""

    name: str
    t: float
    q: np.ndarray
    qd: np.ndarray  # just before
    after: np.ndarray  # q̇ just after
    switching: bool = False

    def __repr__(self) -> str:
        return f"<{self.name} at t = {self.t:.9g}>"


@dataclass(frozen=True)
class Impulse(FrozenValue):
    """The impulse of a rigid contact or of a kink."""

    name: str
    t: float
    vector: np.ndarray  # on the body, in world axes
    approach: float  # the rate at which its gap closed just before
    departure: float  # the rate at which its gap opened just after
    energy: float  # the energy added to the system, negative if lost

    def __repr__(self) -> str:
        return f"<impulse of '{self.name}' at t = {self.t:.9g}: {np.linalg.norm(self.vector):.6g}>"


@dataclass(frozen=True)
class Segment(FrozenValue):
    """A part of a run that was integrated with one choice of speeds, dependent coordinates and angles."""

    t: float  # its start
    jumps: Frozen[str, float]  # energy added at its start, by name
    speeds: tuple[str, ...]  # formulas
    dependent: tuple[int, ...]  # coordinates
    sequences: tuple[str | None, ...] | None = None  # of the angles in use; None: the user's


@dataclass(frozen=True)
class BodyMotion(FrozenValue):
    """Motions of the frames of bodies in world axes; velocities and accelerations are linear above angular."""

    names: tuple[str, ...]
    rotation: np.ndarray  # R_WB, (bodies, 3, 3, samples)
    position: np.ndarray  # (bodies, 3, samples)
    velocity: np.ndarray  # (bodies, 6, samples)
    acceleration: np.ndarray  # (bodies, 6, samples)

    def pose(self, body: str) -> Pose:
        """The pose of a body in the world."""
        i = self.names.index(body)
        return Pose(body, WORLD, self.rotation[i], self.position[i])

    def velocity_of(self, body: str, point: np.ndarray) -> PointMotion:
        """The velocity of a point, given in axes of its body."""
        i = self.names.index(body)
        v, w = self.velocity[i, :3], self.velocity[i, 3:]
        return PointMotion(v + _cross(w, self._arm(i, point)), w)

    def acceleration_of(self, body: str, point: np.ndarray) -> PointMotion:
        """The acceleration of a point, given in axes of its body."""
        i, w = self.names.index(body), self.velocity[self.names.index(body), 3:]
        a, alpha, r = self.acceleration[i, :3], self.acceleration[i, 3:], self._arm(i, point)
        return PointMotion(a + _cross(alpha, r) + _cross(w, _cross(w, r)), alpha)

    def _arm(self, i: int, point: np.ndarray) -> np.ndarray:
        return np.einsum("xyk,y->xk", self.rotation[i], point)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.cross(a, b, axis=0)


def joined_arrays(values: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays along the segments of a run as one: each segment begins with the last sample of the preceding one."""
    return np.concatenate([each[..., i > 0 :] for i, each in enumerate(values)], axis=-1)


class Work(Mapping[str, np.ndarray], Tabular):
    """The work of all elements from the start: arrays over the samples by name, and their sum `total`.

    >>> done = Work({"motor": np.array([0.0, 3.0]), "friction": np.array([0.0, -1.0])}, 2)
    >>> done["motor"], done.total
    (array([0., 3.]), array([0., 2.]))
    >>> print(done)
    from the start  at the end  minimum  maximum
    motor           3           0        3
    friction        -1          -1       0
    total           2           0        2
    """

    def __init__(self, found: Mapping[str, np.ndarray], samples: int) -> None:
        self._found, self._samples = Frozen(found), samples

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._found:
            raise KeyError(self.missing(name))
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def total(self) -> np.ndarray:
        """The sum of all of them."""
        return sum(self._found.values(), start=np.zeros(self._samples))

    def missing(self, name: str) -> str:
        """The message for a name that does no work."""
        return f"no element '{name}' does work. {suggest_name(name, self) if self else 'No element does work in this run.'}"

    def tables(self) -> tuple[Table, ...]:
        """The final, minimum and maximum values."""
        rows = [
            (name, *(format_cell(float(x)) for x in (values[-1], values.min(), values.max())))
            for name, values in (*self.items(), ("total", self.total))
        ]
        return (Table(("from the start", "at the end", "minimum", "maximum"), tuple(rows)),)

    def __repr__(self) -> str:
        return f"<Work of {', '.join(self) or 'nothing'}>"


MAX_BODIES = 40  # maximum number of bodies for which bodies and loads are recorded in every run
ORIGIN = (0.0, 0.0, 0.0)
MOTIONS = (
    "position",
    "velocity",
    "acceleration",
    "rotation",
    "orientation",
    "angular_velocity",
    "angular_acceleration",
)
TRANSMITTED = ("force", "moment")  # of the joint between a body and its parent, or of a loop joint
Arrays = Frozen[str, np.ndarray]
T = TypeVar("T")


@documented_class
@dataclass(frozen=True, eq=False, repr=False)
class TrajectoryData(FrozenValue):
    """The arrays of a run, with the data to label and draw them."""

    description: Description  # the declared model
    model: Description  # the same with contacts and quaternion norms as constraints
    formalism: str
    engine: str
    integrator: str
    parameters: Frozen[str, float]  # at the start, without outputs of laws in Python
    values: np.ndarray  # of all parameters in use: (parameters,), or (parameters, samples) if they change
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray  # the integrated rate, including the multiplier term of dirac
    qdd: np.ndarray
    v: np.ndarray  # velocity variables of the formalism; the initial ones if they were repartitioned
    velocities_are_rates: bool  # v is q̇
    speeds: np.ndarray  # quasi-velocities u, (d, samples)
    speed_names: tuple[str, ...]
    speed_formulas: tuple[str, ...]
    kinetic: np.ndarray
    potential: np.ndarray
    jacobi: np.ndarray  # q̇·∂L/∂q̇ − L
    balance: np.ndarray  # energy minus work, constant in an exact motion: (80) of papers/volterra
    work: Work  # of all elements without a potential, from the start: arrays by name, and `total`
    powers: Arrays  # the rate of each of them
    momenta: np.ndarray  # ∂L/∂q̇, (n, samples)
    linear_momentum: np.ndarray  # Σ m V_G, world axes
    angular_momentum: np.ndarray  # about the world origin, world axes
    ignorable: tuple[int, ...]  # coordinates with constant momenta
    constraint_names: tuple[str, ...]  # rows of `multipliers`; see `Equations.constraint_names`
    servo: tuple[str, ...]  # constraints with feedback
    multipliers: np.ndarray  # λ of M q̈ = h + C + Aᵀλ; the minimum norm if not unique
    reactions: np.ndarray  # generalized reaction forces Aᵀλ + C, (n, samples)
    ideal_reactions: np.ndarray  # the same if C were zero: first part of (3.47) in papers/poincare
    violation: np.ndarray  # φ, then φ̇ and ψ; in phase space with constraints on momenta
    violation_names: tuple[str, ...]
    position_rows: int  # of `violation`
    inputs: Arrays  # outputs of laws in Python, by load: (samples,), or (3, samples) for a force
    force_scale: float  # mass × length / time² of the model
    status: str
    steps: int
    evaluations: int | None
    cpu_seconds: float
    notes: tuple[str, ...] = ()
    records: tuple[EventRecord, ...] = ()  # events and switchings, in order
    impulses: tuple[Impulse, ...] = ()  # of rigid contacts, in order
    segments: tuple[Segment, ...] = ()
    dense: tuple[Piece | Interpolant, ...] = field(default=())  # the states (q, v, ...) between the samples
    by_recursion: bool = False  # a tree that was integrated by recursion
    bodies: BodyMotion | None = None
    joints: JointForces | None = None  # in world axes
    loads: Arrays | None = None
    efforts: Arrays | None = None  # of drives

    @property
    def events(self) -> tuple[EventRecord, ...]:
        """The events along the run, with names, times and the states before and after: see `Model.event`."""
        return tuple(each for each in self.records if not each.switching)

    @property
    def switchings(self) -> tuple[EventRecord, ...]:
        """The switchings along the run, where formulas changed their branch."""
        return tuple(each for each in self.records if each.switching)

    @property
    def energy(self) -> np.ndarray:
        """T + V along the run."""
        return self.kinetic + self.potential

    @property
    def non_ideal_reactions(self) -> np.ndarray:
        """The second part of (3.47) in papers/poincare along the run, (n, samples): the contribution of C."""
        return self.reactions - self.ideal_reactions

    @property
    def position_violation(self) -> np.ndarray:
        """φ along the run."""
        return self.violation[: self.position_rows]

    @property
    def velocity_violation(self) -> np.ndarray:
        """φ̇ and ψ along the run; with constraints on momenta all constraints in phase space."""
        return self.violation[self.position_rows :]

    @property
    def energy_error(self) -> float:
        """The 2-norm over the samples of the relative drift of the energy balance."""
        size = float(np.abs(self.kinetic).max() + np.abs(self.potential).max())
        return observables.relative_drift(self.balance, size)

    @property
    def constraint_error(self) -> float | None:
        """The 2-norm over the samples of all violations of velocities and momenta; None without constraints."""
        return observables.violation(self.velocity_violation) if len(self.velocity_violation) else None

    @property
    def momentum_error(self) -> float | None:
        """The 2-norm over the samples of the relative drift of the first ignorable momentum; None without one."""
        return observables.relative_drift(self.momenta[self.ignorable[0]]) if self.ignorable else None

    @validate_arguments
    def power(self, name: str) -> np.ndarray:
        """The power of one element of `work` along the run, by the integrated formulas.

        Parameters
        ----------
        name : str
            Name of the element.

        Returns
        -------
        ndarray, shape (samples,)
            Energy added to the system per time.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().joint_friction("bob", viscous=0.1, name="bearing")
        >>> run = dl.simulate(model, 1.0, samples=11)
        >>> bool(abs(run.power("bearing") + 0.1 * run.qd[0] ** 2).max() < 1e-12)
        True
        """
        if name not in self.work:
            raise InputError(f"power: {self.work.missing(name)}")
        return self.powers[name]

    @validate_arguments
    def at(self, t: float) -> np.ndarray:
        """The state at any time of the run; needs `simulate(dense=True)`.

        Parameters
        ----------
        t : float
            Time.

        Returns
        -------
        ndarray, shape (n + velocities,)
            The state (q, v).
        """
        if not self.dense:
            raise InputError("this run has no dense output. Simulate with dense=True to evaluate it between samples.")
        if not self.t[0] <= t <= self.t[-1]:
            raise InputError(f"t = {t:g} is outside the run. Expected {self.t[0]:g} to {self.t[-1]:g}.")
        index = max(0, int(np.searchsorted([piece.t0 for piece in self.dense], t, side="right")) - 1)
        return self.dense[index](t)[: len(self.q) + len(self.v)]

    # loads and joints

    @property
    def load_forces(self) -> Arrays:
        """The force or torque of every load, by name: world axes (3, samples), or along the joint motion (1, samples).

        Between two points it is the force on the second.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().joint_torque("bob", "2*t", name="motor")
        >>> dl.simulate(model, 1.0, samples=3).load_forces["motor"]
        array([[0., 1., 2.]])
        """
        return self._recorded(self.loads, "load_forces")

    @property
    def drives(self) -> Arrays:
        """The effort of every drive along the run, by name: torques and forces in joints, and λ of prescribed motions.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().drive("theta", "pi/2 + 0*t")
        >>> run = dl.simulate(model, 1.0, samples=3)  # held level: τ = m g l
        >>> run.drives["drive of theta"].round(9).tolist()
        [9.81, 9.81, 9.81]
        """
        return self._recorded(self.efforts, "drives")

    @property
    def knows_joints(self) -> bool:
        """True if the run has `joint_reactions`."""
        return self.joints is not None

    @validate_arguments
    def joint_reactions(self, frame: str = "world") -> JointForces:
        """The force and moment in the joints along the run.

        They are the action of the parent on the child through the joint, including drives, at the origin of the joint frame on
        the child. A constraint that is a formula of one coordinate, and C of non-ideal ones, act through their coordinates, as
        drives do; contacts (knife edges, rolling disks) act at their point. The point of action of a formula of several
        coordinates is unknown: the joints between its bodies are not determined and omitted, see `undetermined` and `notes` of
        the result.

        Returns
        -------
        JointForces
            By the name of the child body, `force` and `moment` of shape (3, samples).

        >>> import dalembert as dl
        >>> found = dl.simulate("slider-crank-2", 0.1, samples=2).joint_reactions()
        >>> list(found), found.undetermined
        ([], {'link1': ('slider',), 'link2': ('slider',)})
        """
        require_frame(frame)
        if not self.model.bodies:
            raise InputError(
                f"model '{self.model.name}' is defined by energies, so it has no joints. Define it by bodies and joints."
            )
        if self.by_recursion:
            raise InputError(
                f"joint_reactions, frame '{frame}': runs by recursion have none. Expected a run of explicit equations: "
                "`dl.simulate` of a model with fewer bodies, or with another formalism."
            )
        self.model.refuse_canonical("joint_reactions")
        motion = self._motion("joint_reactions")
        return self._recorded(self.joints, "joint_reactions").in_frame(
            frame, dict(zip(motion.names, motion.rotation, strict=True))
        )

    # bodies

    def pose(self, body: str, *, relative_to: str = WORLD) -> Pose:
        """The pose of a body along the run.

        Returns
        -------
        Pose
            `rotation` (3, 3, samples), `position` (3, samples), `matrix`, `quaternion`.

        >>> import dalembert as dl
        >>> run = dl.simulate("four-bar", 1.0, samples=11)
        >>> run.pose("coupler").rotation.shape
        (3, 3, 11)
        """
        pose = self._motion("pose", body).pose(body)
        return pose if relative_to == WORLD else relative.relative_pose(pose, self.pose(relative_to))

    def frames(self) -> dict[str, Pose]:
        """The poses of all bodies along the run, by name.

        Returns
        -------
        dict of str to Pose
            By body; see `pose`.

        >>> import dalembert as dl
        >>> list(dl.simulate("double-pendulum", 1.0, samples=11).frames())
        ['upper', 'lower']
        """
        motion = self._motion("frames")
        return {name: motion.pose(name) for name in motion.names}

    def path(self, body: str, point: npt.ArrayLike = ORIGIN, *, relative_to: str = WORLD) -> np.ndarray:
        """The path of a point of a body.

        Returns
        -------
        ndarray, shape (3, samples)
            Positions.

        >>> import dalembert as dl
        >>> run = dl.simulate("four-bar", 1.0, samples=11)
        >>> run.path("coupler", (0.1, 0.0, 0.0)).shape
        (3, 11)
        """
        p = self._motion("path", body).pose(body).at(_point(point, body))
        return p if relative_to == WORLD else relative.relative_position(p, self.pose(relative_to))

    def velocity(self, body: str, point: npt.ArrayLike = ORIGIN, *, relative_to: str = WORLD) -> PointMotion:
        """The velocity of a point along the run and the angular velocity of its body.

        Returns
        -------
        PointMotion
            `linear` and `angular`, each of shape (3, samples).

        >>> import dalembert as dl
        >>> dl.simulate("simple-pendulum", 1.0, samples=11).velocity("bob").linear.shape
        (3, 11)
        """
        v = self._motion("velocity", body).velocity_of(body, _point(point, body))
        if relative_to == WORLD:
            return v
        return relative.relative_velocity(self.path(body, point), v, self.pose(relative_to), self.velocity(relative_to))

    def acceleration(self, body: str, point: npt.ArrayLike = ORIGIN, *, relative_to: str = WORLD) -> PointMotion:
        """The acceleration of a point along the run and the angular acceleration of its body.

        Returns
        -------
        PointMotion
            `linear` and `angular`, each of shape (3, samples).

        >>> import dalembert as dl
        >>> dl.simulate("simple-pendulum", 1.0, samples=11).acceleration("bob").angular.shape
        (3, 11)
        """
        a = self._motion("acceleration", body).acceleration_of(body, _point(point, body))
        if relative_to == WORLD:
            return a
        p, v, base = self.path(body, point), self.velocity(body, point), self.pose(relative_to)
        return relative.relative_acceleration(p, v, a, base, self.velocity(relative_to), self.acceleration(relative_to))

    def of_element(self, name: str, what: str) -> np.ndarray:
        """A recorded quantity of a body, of its parent joint or a loop joint, or of a load.

        Parameters
        ----------
        name, what : str
            The element, and its quantity as in `run[name, what]`.

        Returns
        -------
        ndarray, shape (..., samples)
            The quantity.

        Raises
        ------
        InputError
            If there is no such element or quantity.
        """
        known: dict[str, tuple[str, ...]] = {loop.name: TRANSMITTED for loop in self.model.loops}
        known |= {body.name: MOTIONS + TRANSMITTED for body in self.model.bodies}
        known |= {load: ("force",) for load in self.load_forces if load not in known}
        if name not in known:
            raise InputError(f"the run has no body, loop or load '{name}'. {suggest_name(name, known)}")
        if what not in known[name]:
            expected = ", ".join(known[name])
            raise InputError(
                f"the run has no '{what}' of '{name}'. {suggest_name(what, known[name])} Expected one of {expected}."
            )
        if what in TRANSMITTED:
            return self.load_forces[name] if len(known[name]) == 1 else getattr(self.joint_reactions()[name], what)
        if what in ("rotation", "orientation", "position"):
            pose = self.pose(name)
            return pose.quaternion if what == "orientation" else getattr(pose, what)
        part, _, quantity = what.rpartition("_")
        motion = self.velocity(name) if quantity == "velocity" else self.acceleration(name)
        return motion.angular if part else motion.linear

    def _motion(self, what: str, body: str | None = None) -> BodyMotion:
        """The motions of bodies, if they are recorded."""
        if not self.model.bodies:
            raise InputError(
                f"model '{self.model.name}' is defined by energies, so it has no positions of bodies. Expected bodies. "
                "Define it by bodies and joints."
            )
        names = [each.name for each in self.model.bodies]
        if body is not None and body not in names:
            raise InputError(f"model '{self.model.name}': there is no body '{body}'. {suggest_name(body, names)}")
        return self._recorded(self.bodies, what)

    def _recorded(self, found: T | None, what: str) -> T:
        if found is None:
            raise InputError(
                f"{what}: not recorded in this run: '{self.model.name}' has {len(self.model.bodies)} bodies, more than the "
                f"{MAX_BODIES} up to which `simulate` records them. Add them with run = eom.evaluate(run)."
            )
        return found


def _point(point: npt.ArrayLike, body: str) -> np.ndarray:
    found = as_finite_array(point, "point")
    if found.shape != (3,):
        raise InputError(f"point has shape {found.shape}. Expected (3,), in axes of body '{body}'.")
    return found
