"""`dl.equilibrium`: equilibria and steady motions of a model, the forces that hold it there, and their stability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.analysis._equilibrium_search import Search, Stability, Unknowns, by_hessian, by_spectrum
from dalembert.analysis._residuals import OperatingPoint, Residuals, residuals_of, solved_at
from dalembert.analysis.linearize import At, read_state
from dalembert.api.load import accepts_source
from dalembert.arguments import documented_class, is_integer, is_str_sequence
from dalembert.errors import ComputationError, InconsistentStateError, InputError, short_repr, suggest_name
from dalembert.mechanics import state_batch
from dalembert.mechanics.assembly import Assembler
from dalembert.mechanics.joint_reactions import JointForces
from dalembert.mechanics.state_batch import States
from dalembert.model.description import Description, Elements
from dalembert.model.immutable import Frozen, FrozenValue
from dalembert.model.scales import rotational_coordinates
from dalembert.simulation.observables import load_forces
from dalembert.simulation.workspace import Workspace, setup, workspace_of
from dalembert.tables import Table, Tabular, format_cell

_SEED = 2718
_STARTS = 30
_DISTINCT = 1e-6  # poses that differ by less, in scales of the model, are the same
_MAX_STARTS = 100_000


@documented_class
@dataclass(frozen=True, repr=False)
class Equilibrium(FrozenValue, Tabular):
    """An equilibrium or a steady motion, with the forces there.

    Attributes
    ----------
    model : Description
        The model.
    q : ndarray, shape (n,)
        Coordinates.
    qd : ndarray, shape (n,)
        Rates; zero for an equilibrium.
    t : float
        Time.
    stability : {'stable', 'unstable', 'marginal', 'undecided'}
        Stability.
    reason : str
        The criterion that decided the stability.
    multipliers : mapping of str to float
        Lagrange multipliers by constraint.
    holding_forces : mapping of str to float
        Generalized forces along the coordinates in `fixed`, by coordinate.
    unknowns : mapping of str to float
        Values of the names in `unknowns`.
    loads : mapping of str to ndarray
        Force of every load, by name.
    family : int
        Dimension of the family of equilibria; 0 if the equilibrium is isolated.
    distance : float
        Distance from the start, in scales of the model.
    residual : float
        Residual of the equations, in scales of the model.

    Examples
    --------
    >>> import dalembert as dl
    >>> lowest = dl.equilibrium("simple-pendulum", at=[0.1])[0]
    >>> lowest.kind, lowest.stability, round(lowest["theta"], 9)
    ('equilibrium', 'stable', 0.0)
    >>> inclined = dl.equilibrium("simple-pendulum", ["theta"], at=[0.5])[0]  # held by a torque m g l sin θ
    >>> round(inclined.holding_forces["theta"], 6)
    4.703165
    """

    model: Description
    q: np.ndarray
    qd: np.ndarray
    t: float
    stability: str
    reason: str
    multipliers: Frozen[str, float]
    holding_forces: Frozen[str, float]
    unknowns: Frozen[str, float]
    loads: Frozen[str, np.ndarray]
    family: int  # dimension of the family of equilibria; 0 if it is isolated
    distance: float  # from the start, in scales of the model
    residual: float  # of the equations, in scales of the model

    @property
    def kind(self) -> str:
        """`equilibrium` or `steady motion`."""
        return "steady motion" if self.qd.any() else "equilibrium"

    def __getitem__(self, name: str) -> float:
        """The value of a coordinate."""
        names = self.model.coordinate_names
        if name not in names:
            raise InputError(f"there is no coordinate '{name}'. {suggest_name(name, names)}")
        return float(self.q[names.index(name)])

    def joint_reactions(self, frame: str = "world") -> JointForces:
        """The forces and moments in the joints; see `Trajectory.joint_reactions`.

        Holding forces act along their coordinates.

        Returns
        -------
        JointForces
            Forces and moments by joint, in the axes of `frame`.

        Raises
        ------
        InputError
            If `frame` is unknown, or the model has no bodies.
        """
        space = workspace_of(setup(self.model))
        if not self.model.bodies or frame not in ("world", "parent", "child"):
            raise InputError(
                f"joint_reactions, frame: got '{frame}'. Expected 'world', 'parent' or 'child', and a model with bodies."
            )
        state = self.q, self.qd, np.zeros_like(self.q), np.array(self.t), np.array(list(self.multipliers.values()))
        values = np.array([self.unknowns.get(name, x) for name, x in self.model.parameter_values.items()])
        return space.joint_reactions.along(*state, values, frame)

    def to_dict(self) -> dict[str, Any]:
        """The equilibrium as plain data."""
        names = self.model.coordinate_names
        return {
            "kind": self.kind,
            "q": dict(zip(names, self.q.tolist(), strict=True)),
            "qd": dict(zip(names, self.qd.tolist(), strict=True)),
            "t": self.t,
            "stability": self.stability,
            "reason": self.reason,
            "multipliers": dict(self.multipliers),
            "holding_forces": dict(self.holding_forces),
            "unknowns": dict(self.unknowns),
            "loads": {name: force.tolist() for name, force in self.loads.items()},
        }

    def tables(self) -> tuple[Table, ...]:
        """The state, and the forces."""
        names = self.model.coordinate_names
        moves = bool(self.qd.any())
        head = ("coordinate", "value", "rate") if moves else ("coordinate", "value")
        rows = tuple(
            (n, format_cell(float(x)), format_cell(float(v)))[: len(head)]
            for n, x, v in zip(names, self.q, self.qd, strict=True)
        )
        state = Table(head, rows, f"{self.kind.capitalize()} of '{self.model.name}'", (self._verdict,))
        forces = [(f"λ of {name}", x) for name, x in self.multipliers.items()]
        forces += [(f"force that holds {name}", x) for name, x in self.holding_forces.items()]
        forces += [(f"{name}, solved for", x) for name, x in self.unknowns.items()]
        found = tuple((name, format_cell(float(x))) for name, x in forces)
        return (state, Table(("what acts", "value"), found, "Forces")) if found else (state,)

    @property
    def _verdict(self) -> str:
        unit = "parameter" if self.family == 1 else "parameters"
        family = f"; member of a family of equilibria with {self.family} {unit}" if self.family else ""
        return f"{self.stability}: {self.reason}{family}"

    def __repr__(self) -> str:
        names = self.model.coordinate_names
        state = [f"{name} = {x:.6g}" for name, x in zip(names, self.q, strict=True)]
        state += [f"dot({name}) = {x:.6g}" for name, x in zip(names, self.qd, strict=True) if x]
        more = f" and {len(state) - 8} more" if len(state) > 8 else ""
        return f"<{self.kind.capitalize()} of '{self.model.name}': {', '.join(state[:8])}{more}; {self.stability}>"


@documented_class
@dataclass(frozen=True, repr=False)
class Equilibria(Tabular, Sequence[Equilibrium]):
    """All equilibria that were found, the nearest to the start first.

    `q`, `qd` and `t` are those of the nearest. The result can be the argument `at` of other functions.

    Attributes
    ----------
    found : tuple of Equilibrium
        The equilibria, the nearest first; `len`, an index and iteration refer to them.

    Examples
    --------
    >>> import dalembert as dl
    >>> found = dl.equilibrium("simple-pendulum", at=[0.1])
    >>> len(found), [each.stability for each in found], round(found.stable[0]["theta"], 9)
    (2, ['stable', 'unstable'], 0.0)
    """

    found: tuple[Equilibrium, ...]

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: Any) -> Any:
        return self.found[index]

    def __iter__(self) -> Iterator[Equilibrium]:
        return iter(self.found)

    @property
    def q(self) -> np.ndarray:
        """The coordinates of the nearest."""
        return self.found[0].q

    @property
    def qd(self) -> np.ndarray:
        """The velocities of the nearest."""
        return self.found[0].qd

    @property
    def t(self) -> float:
        """The time of the equilibria."""
        return self.found[0].t

    @property
    def stable(self) -> tuple[Equilibrium, ...]:
        """The stable equilibria."""
        return tuple(each for each in self.found if each.stability == "stable")

    def tables(self) -> tuple[Table, ...]:
        """The tables of each equilibrium."""
        return tuple(table for each in self.found for table in each.tables())

    def to_dict(self) -> list[dict[str, Any]]:
        """The equilibria as plain data."""
        return [each.to_dict() for each in self.found]

    def __repr__(self) -> str:
        return f"<Equilibria: {', '.join(map(repr, self.found))}>"


@accepts_source
def equilibrium(
    model: Elements,
    fixed: Sequence[str] = (),
    *,
    t: float = 0.0,
    at: At = None,
    starts: int | Sequence[Any] = _STARTS,
    speeds: Mapping[str, float] | None = None,
    unknowns: Sequence[str] = (),
    seed: int = _SEED,
) -> Equilibria:
    """The equilibria of a model, or its steady motions, the nearest to the start first.

    Equilibria can be missed. Of a continuous family only the first member found is returned.

    Parameters
    ----------
    fixed : sequence of str, default ()
        Coordinates that stay fixed by holding forces, which are part of the result.
    t : float, default 0.0
        Time.
    starts : int or sequence, optional
        Number of random starts with a fixed seed in addition to `at`, or a list of positions.
    speeds : mapping of str to float, optional
        Constant rates of ignorable coordinates, for steady motions; rates that constraints and drives prescribe follow from them.
    unknowns : sequence of str, default ()
        As many unknown parameters or rates dot(x) as `fixed` has names; they are solved for instead of holding forces.

    Returns
    -------
    Equilibria
        The equilibria with their stability and forces, the nearest first.

    Raises
    ------
    NotApplicableError
        If the model has rigid contacts, laws in Python or constraints on momenta.
    InputError
        If a name is unknown or an argument is invalid.
    DalembertError
        If no equilibrium was found.

    See Also
    --------
    linearize : Equations of small motions about the result.

    Examples
    --------
    >>> import dalembert as dl
    >>> [(round(found["theta"], 6), found.stability) for found in dl.equilibrium("simple-pendulum", at=[0.1])]
    [(0.0, 'stable'), (3.141593, 'unstable')]
    """
    model.refuse_canonical("equilibrium")
    model.refuse_laws("equilibrium", "Use model.without_controllers(), whose inputs are parameters.")
    model.refuse_rigid("equilibrium")
    space = workspace_of(setup(model))
    q, qd, time = read_state(space.model, at, t, "equilibrium")
    search = EquilibriumSearch(space, q, np.zeros_like(qd), time, _read(space, fixed, speeds, unknowns), seed)
    found = search.all_from(_starts(space, q, starts, seed, search.search.unknowns, time))
    if not found:
        raise ComputationError(
            f"equilibrium: none was found for model '{model.name}' from {search.tried} starts. Expected one near them. Give "
            "another start with `at`, more `starts`, or fix coordinates that diverge with `fixed`."
        )
    return Equilibria(tuple(sorted(found, key=lambda each: each.distance)))


@dataclass(frozen=True)
class SearchRequest:
    """The fixed and unknown quantities, by index."""

    fixed: tuple[int, ...]
    speeds: dict[int, float]
    rates: tuple[int, ...]  # unknown
    parameters: tuple[str, ...]  # unknown


def _read(
    space: Workspace, fixed: Sequence[str], speeds: Mapping[str, float] | None, unknowns: Sequence[str]
) -> SearchRequest:
    names, parameters = space.model.coordinate_names, space.model.parameter_values
    for option, entries, known in (
        ("fixed", fixed, names),
        ("speeds", list(speeds or {}), names),
        ("unknowns", unknowns, [*names, *parameters]),
    ):
        if not is_str_sequence(entries):
            raise InputError(f"equilibrium, {option}: got {short_repr(entries)}. Expected a list of str.")
        for name in entries:
            if name not in known:
                raise InputError(f"equilibrium, {option}: there is no '{name}'. {suggest_name(name, known)}")
    if unknowns and len(unknowns) != len(fixed):
        raise InputError(
            f"equilibrium: got {len(unknowns)} names in `unknowns` and {len(fixed)} in `fixed`. Expected equal numbers: each "
            "unknown replaces the force that would hold a fixed coordinate."
        )
    imposed = {
        names.index(name): space.model.number(x, f"equilibrium, speeds, '{name}'") for name, x in (speeds or {}).items()
    }
    rates = tuple(names.index(name) for name in unknowns if name in names)
    unknown = tuple(name for name in unknowns if name not in names)
    return SearchRequest(tuple(names.index(name) for name in fixed), imposed, rates, unknown)


@dataclass
class EquilibriumSearch:
    """One search, with the number of starts that were tried."""

    space: Workspace
    q: np.ndarray
    qd: np.ndarray
    t: float
    request: SearchRequest
    seed: int = _SEED
    values: np.ndarray | None = None  # of the parameters; None: those of the model
    tried: int = 0

    def __post_init__(self) -> None:
        self.qd[list(self.request.speeds)] = list(self.request.speeds.values())
        self.residuals: Residuals = residuals_of(self.space, self.request.parameters)
        self.search = Search(self.residuals, self._unknowns())
        self._begin_rates()
        self.assembler = Assembler(self.space.model, {}, ())

    def _begin_rates(self) -> None:
        """Set the rates that constraints and drives prescribe to their values at the start."""
        rows, row_slices = list(self.search.unknowns.qd), self.residuals.row_slices
        if rows:
            point = self._point(self.q)
            slopes = self.residuals.slopes(point).rows(row_slices["velocity"]).qd[:, rows]
            residual = self.residuals.at(point)[row_slices["velocity"]]
            self.qd[rows] -= np.linalg.lstsq(slopes, residual, rcond=None)[0]

    def _point(self, q: np.ndarray, rates: np.ndarray | None = None) -> OperatingPoint:
        k = len(self.space.facts.levels.names)
        qd = self.qd if rates is None else self.qd + rates
        values = self.space.values if self.values is None else self.values
        return OperatingPoint(q, qd, np.zeros(len(q)), np.zeros(k), self.t, values)

    def nearest(self) -> OperatingPoint | None:
        """The root found from the start; None if there is none."""
        return self.search.root(self._point(self.q)) or self.search.root(self.search.descend(self._point(self.q)))

    def _rates(self, number: int) -> np.ndarray:
        """Start values of the unknown rates: zero for the first start, then random up to the fastest prescribed rate."""
        out, scales = np.zeros(len(self.q)), self.space.facts.scales.velocities
        if number and self.request.rates:
            rng, rows = np.random.default_rng((self.seed, number)), list(self.request.rates)
            fastest = max([1.0, *(abs(x) / scales[i] for i, x in self.request.speeds.items())])
            out[rows] = scales[rows] * fastest * rng.uniform(-1, 1, len(rows))
        return out

    def _unknowns(self) -> Unknowns:
        """Positions that are neither fixed nor decoupled; rates that are unknown, or constrained by prescribed ones."""
        request, n, slices = self.request, len(self.q), self.residuals.row_slices
        driven = np.abs(self.residuals.at(self._point(self.q))[slices["velocity"]]).max(initial=0.0) > 0
        steady = bool(request.speeds or request.rates or driven)
        slopes = self.residuals.slopes(self._point(self.q))
        acts = np.abs(np.concatenate([slopes.rows(slices[x]).q for x in ("dynamics", "velocity")])).max(
            axis=0, initial=0.0
        )
        positioned = np.abs(slopes.rows(slices["position"]).q).max(axis=0, initial=0.0)
        constrained = np.abs(slopes.rows(slices["velocity"]).qd).max(axis=0, initial=0.0)
        ignorable = [i for i in range(n) if steady and not acts[i]]  # constant rates are possible
        decoupled = [i for i in ignorable if not positioned[i]]
        for i in (*request.speeds, *request.rates):
            if i not in decoupled:
                name = self.space.model.coordinate_names[i]
                raise InputError(
                    f"equilibrium, speeds: the equations depend on '{name}', so its rate cannot be constant. Expected an "
                    f"ignorable coordinate. {self.space.facts.reasons[name].capitalize()}."
                )
        rates = [i for i in ignorable if i in request.rates or (constrained[i] and i not in request.speeds)]
        names = list(self.space.model.parameter_values)
        free = tuple(i for i in range(n) if i not in request.fixed and i not in decoupled)
        has_unknowns = bool(request.rates or request.parameters)
        rows = tuple(i for i in range(n) if has_unknowns or i not in request.fixed)
        return Unknowns(free, tuple(rates), tuple(names.index(p) for p in request.parameters), rows, steady)

    def all_from(self, starts: Sequence[np.ndarray]) -> list[Equilibrium]:
        """The distinct equilibria found from all starts."""
        found: list[tuple[np.ndarray, Equilibrium]] = []
        for number, start in enumerate(starts):
            self.tried += 1
            point = self._point(start, self._rates(number))
            roots = [self.search.root(point)]
            if not self.search.unknowns.steady and (roots[0] is None or number == 0):
                roots.append(self.search.root(self.search.descend(point)))
            for root in roots:
                if root is not None and self._is_proper(root):
                    root = replace(root, q=self._nearest_turns(root))
                    pose = self._pose(root)
                    if all(np.abs(pose - other).max(initial=0.0) > _DISTINCT for other, _ in found):
                        found.append((pose, self._equilibrium(root)))
        return [
            each for k, (_, each) in enumerate(found) if not any(_of_one_family(each, other) for _, other in found[:k])
        ]

    def _nearest_turns(self, root: OperatingPoint) -> np.ndarray:
        """The same configuration with angles shifted by full turns toward the start, if that changes nothing."""
        if self.space.model.bodies:
            return self.assembler.without_full_turns(root.q, self.q, self.t)
        q = root.q.copy()
        for i in self._periodic_angles(root):
            q[i] -= 2 * np.pi * np.round((q[i] - self.q[i]) / (2 * np.pi))
        return q

    def _periodic_angles(self, root: OperatingPoint) -> list[int]:
        """The angles of a model defined by energies that are periodic in 2π."""
        here, names = self.residuals.at(root), self.space.model.coordinate_names
        shifted = [root.q + 2 * np.pi * row for row in np.eye(len(names))]
        known = [names.index(name) for name in rotational_coordinates(self.space.model)]
        return [
            i for i in known if np.allclose(self.residuals.at(replace(root, q=shifted[i])), here, rtol=1e-9, atol=1e-9)
        ]

    def _pose(self, root: OperatingPoint) -> np.ndarray:
        """The poses of the bodies, with the unknown rates and parameters."""
        unknowns, scales = self.search.unknowns, self.space.facts.scales
        rates = root.qd[list(unknowns.qd)] / scales.velocities[list(unknowns.qd)]
        values, defaults = root.parameters[list(unknowns.parameters)], self.space.values[list(unknowns.parameters)]
        pose = self.assembler.pose(root.q, self.t)
        if not self.space.model.bodies:
            angles = self._periodic_angles(root)
            pose = np.concatenate([np.delete(pose, angles), np.cos(root.q[angles]), np.sin(root.q[angles])])
        return np.concatenate([pose, rates, values / np.maximum(np.abs(defaults), 1e-300)])

    def _is_proper(self, root: OperatingPoint) -> bool:
        try:
            self.assembler.require_proper(root.q, self.t)
        except InconsistentStateError:
            return False
        return True

    def _equilibrium(self, root: OperatingPoint) -> Equilibrium:
        model, scales, unknowns = self.space.model, self.space.facts.scales, self.search.unknowns
        names, parameters = model.coordinate_names, list(model.parameter_values)
        r = self.residuals.at(root)[self.residuals.row_slices["dynamics"]]
        holding = {i: float(r[i]) for i in self.request.fixed if i not in unknowns.rows}
        stability = self._stability(root, holding)
        values = dict(zip(parameters, root.parameters.tolist(), strict=True))
        loads = load_forces(model, values, np.array([self.t]), root.q[:, None], root.qd[:, None])
        unknown = {names[i]: float(root.qd[i]) for i in self.request.rates}
        unknown |= {name: values[name] for name in self.request.parameters}
        return Equilibrium(
            self.space.declared,
            root.q,
            root.qd,
            self.t,
            stability.verdict,
            stability.reason,
            Frozen(dict(zip(self.space.facts.levels.names, root.lam.tolist(), strict=True))),
            Frozen({names[i]: force for i, force in holding.items()}),
            Frozen(unknown),
            Frozen({name: force[..., 0] for name, force in loads.items()}),
            self.search.family(root),
            float(np.linalg.norm((root.q - self.q) / scales.positions)),
            self.search.size(root),
        )

    def _stability(self, root: OperatingPoint, holding: Mapping[int, float]) -> Stability:
        """By the Hessian if there is a potential and the model is at rest, otherwise by the eigenvalues."""
        push = np.zeros(len(root.q))
        push[list(holding)] = list(holding.values())
        try:
            found = solved_at(self.residuals, root.q, root.qd, self.t, root.parameters, push)
        except ComputationError as error:  # at a singular configuration there are no linear equations
            return Stability("undecided", str(error))
        holonomic = self.space.facts.levels.n_holonomic == len(self.space.facts.levels.names)
        if not root.qd.any() and holonomic:
            verdict = by_hessian(found, tuple(holding))
            if verdict is not None:
                return verdict
        if holding:
            return Stability("undecided", "coordinates are held fixed and the forces have no potential")
        return by_spectrum(found)


def _of_one_family(one: Equilibrium, other: Equilibrium) -> bool:
    """True if two equilibria appear to belong to one family: equal dimension of the family and equal stability."""
    return bool(one.family) and (one.family, one.stability) == (other.family, other.stability)


def _starts(
    space: Workspace, q: np.ndarray, starts: int | Sequence[Any], seed: int, unknowns: Unknowns, t: float
) -> list[np.ndarray]:
    """The start, and further starts on the constraints."""
    if not is_integer(starts):
        return [q, *(read_state(space.model, each, t, "equilibrium, starts")[0] for each in starts)]  # type: ignore[union-attr]
    if not 0 <= starts <= _MAX_STARTS:  # type: ignore[operator]
        raise InputError(
            f"equilibrium, starts: got {short_repr(starts)}. Expected positions, or an int from 0 to {_MAX_STARTS}."
        )
    rng, scales, free = np.random.default_rng(seed), space.facts.scales, list(unknowns.q)
    random_q = np.repeat(q[:, None], int(starts), axis=1)  # type: ignore[arg-type]
    random_q[free] += np.pi * scales.positions[free, None] * rng.uniform(-1, 1, (len(free), random_q.shape[1]))
    if space.facts.levels.n_holonomic and random_q.shape[1]:
        onto = state_batch.Projector(space.model, space.facts.levels, scales, None)
        states = States(random_q, np.zeros_like(random_q), np.full(random_q.shape[1], t))
        found = onto.level(states, position=True)
        random_q = found.x.T[:, found.converged]
    return [q, *random_q.T]
