"""`dl.linearize`: the named state, inputs and outputs, and the linear equations there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dalembert.analysis._residuals import (
    DifferentiatedResiduals,
    Partials,
    ReducedSystem,
    Residuals,
    SolvedState,
    StateKind,
    classify,
    differentiated,
    driven,
    multipliers,
    reduced,
    require_on_constraints,
    residuals_of,
    solved_at,
)
from dalembert.analysis.linearization import Descriptor, Linearization
from dalembert.api.load import accepts_source
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import as_finite_array, is_str_sequence
from dalembert.errors import InputError, short_repr, suggest_name
from dalembert.mechanics import assembly
from dalembert.mechanics.system import System
from dalembert.model.description import Elements
from dalembert.model.evaluation import start_state
from dalembert.simulation.workspace import Workspace, setup, workspace_of
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.symbols import SymbolKind

At: TypeAlias = Any  # (q, q̇) or q at rest, by name or in order; an object with q and qd; a run


@accepts_source
def linearize(
    model: Elements,
    at: At = None,
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    t: float = 0.0,
    any_state: bool = False,
) -> Linearization:
    """The linear equations ẋ = A x + B u, y = C x + D u of a model about an equilibrium or a steady motion.

    The states are independent coordinates and speeds on the constraints. All derivatives are exact derivatives of a program.

    Parameters
    ----------
    inputs : sequence of str, default ()
        Coordinates (a force along them), parameters, or loads that had a Python law.
    outputs : sequence of str, optional
        Formulas of coordinates and velocities, accelerations ddot(x), or names of constraints for their multipliers; all
        coordinates if None.
    t : float, default 0.0
        Time of the state.
    any_state : bool, default False
        Allow a state that is neither an equilibrium nor a steady motion, where the equations are valid only momentarily.

    Returns
    -------
    Linearization
        The matrices A, B, C, D, the state, eigenvalues and modes.

    Raises
    ------
    InputError
        If the state is not an equilibrium or a steady motion and `any_state` is False, or a name is unknown.
    InconsistentStateError
        If the state violates the constraints.
    NotApplicableError
        If the model has rigid contacts, laws in Python or constraints on momenta.

    See Also
    --------
    equilibrium : Find a state to linearize about.
    root_locus : Eigenvalues for many values of a parameter.

    Examples
    --------
    >>> import dalembert as dl
    >>> dl.linearize("cart-pendulum", at=[0, 0, 0], inputs=["x"]).kind
    'equilibrium'
    """
    model.refuse_canonical("linearize")
    model.refuse_rigid("linearize")
    model.refuse_laws(
        "linearize", "Use model.without_controllers(), whose inputs are parameters u(name), and name them in `inputs`."
    )
    space = workspace_of(setup(model))
    q, qd, time = read_state(space.model, at, t)
    return linear_at(
        space, q, qd, time, inputs=inputs, outputs=outputs, any_state=any_state or isinstance(at, Trajectory)
    )


def read_state(model: Elements, at: At, t: float, who: str = "linearize") -> tuple[np.ndarray, np.ndarray, float]:
    """q, q̇ and t of a state in any of the accepted forms."""
    if isinstance(at, Trajectory):
        k = int(np.argmin(np.abs(at.t - t)))
        if abs(at.t[k] - t) > 1e-9 * max(float(np.ptp(at.t)), abs(t)):
            raise InputError(
                f"{who}: the run has no sample at t = {t:g}. Give one of run.t, or simulate with times=[...]."
            )
        return at.q[:, k], at.qd[:, k], float(at.t[k])
    if at is None:
        q, qd = model.initial
        if model.assemble_start:
            start = assembly.assemble_state(model, t=t)
            return start.q, start.qd, t
        return q, qd, t
    if hasattr(at, "qd") and hasattr(at, "q"):
        return (
            as_finite_array(at.q, f"{who}, at.q"),
            as_finite_array(at.qd, f"{who}, at.qd"),
            float(getattr(at, "t", t)),
        )
    both = (
        isinstance(at, tuple) and len(at) == 2 and all(x is None or np.ndim(x) == 1 or hasattr(x, "keys") for x in at)
    )
    q, qd = at if both else (at, None)
    found = start_state(model, q, qd, who, ("at, q", "at, qd"))
    return found[0], found[1] if both else np.zeros_like(found[1]), t


@dataclass(frozen=True)
class _Inputs:
    """The named inputs: forces along coordinates, and parameters."""

    names: tuple[str, ...]
    coordinates: tuple[int | None, ...]  # one for each input; None: a parameter
    parameters: tuple[str, ...]

    @property
    def along(self) -> tuple[int, ...]:
        """The coordinates along which forces act."""
        return tuple(i for i in self.coordinates if i is not None)


def _read_inputs(model: Elements, inputs: Sequence[str]) -> _Inputs:
    if not is_str_sequence(inputs):
        raise InputError(f"linearize, inputs: got {short_repr(inputs)}. Expected a list of str.")
    known = {name: name for name in model.parameter_values} | {
        load.name: SymbolKind.INPUT.of(load.name)
        for load in model.loads
        if SymbolKind.INPUT.of(load.name) in model.parameter_values
    }
    coordinates, parameters = [], []
    for name in inputs:
        if name in model.coordinate_names:
            coordinates.append(model.coordinate_names.index(name))
            continue
        if name not in known:
            raise InputError(
                f"linearize, inputs: there is no coordinate, parameter or load '{name}'. "
                f"{suggest_name(name, [*model.coordinate_names, *known])}"
            )
        coordinates.append(None)
        parameters.append(known[name])
    return _Inputs(tuple(inputs), tuple(coordinates), tuple(parameters))


def _read_outputs(system: System, outputs: Sequence[str] | None) -> dict[str, Scalar]:
    """The outputs by name."""
    model, names = system.model, system.facts.levels.names
    requested = tuple(model.coordinate_names if outputs is None else outputs)
    if not is_str_sequence(requested):
        raise InputError(f"linearize, outputs: got {short_repr(outputs)}. Expected a list of formulas and names.")
    known = dict(zip(map(SymbolKind.ACCELERATION.of, model.coordinate_names), system.qdd, strict=True))
    known |= dict(zip(names, multipliers(system), strict=True))
    return {
        x: known[x] if x in known else system.lower(model.formula(x, f"linearize, output '{x}'")) for x in requested
    }


def linear_at(
    space: Workspace,
    q: np.ndarray,
    qd: np.ndarray,
    t: float,
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    any_state: bool = False,
    parameters: np.ndarray | None = None,
) -> Linearization:
    """The linear equations at a state of a model with compiled functions."""
    model, values = space.model, space.values if parameters is None else parameters
    _refuse_feedback(model.name, space)
    drives = _read_inputs(model, inputs)
    residuals = residuals_of(space, drives.parameters)
    found = solved_at(residuals, q, qd, t, values)
    require_on_constraints(residuals, found.point, "linearize")
    push = np.eye(len(q))[:, list(drives.along)]
    u0 = _equilibrium_forces(residuals, found, push)
    forces = push @ u0 if len(u0) else None
    found = found if forces is None else solved_at(residuals, q, qd, t, values, forces)
    _require_smooth(model.name, residuals, found)
    linear = reduced(found)
    names = [*(model.coordinate_names[i] for i in linear.chosen), *speed_names(space)]
    verdict = classify(residuals, found, linear, forces, names)
    if not (verdict.steady or any_state):
        raise InputError(
            f"linearize: the state of model '{model.name}' is neither an equilibrium nor a steady motion: {verdict.reason}. "
            "Expected all states but decoupled coordinates to be constant. Find one with dl.equilibrium(model), or use "
            "any_state=True for the linear equations at this instant."
        )
    requested = _read_outputs(space.system, outputs)
    here = _Here(space, found, linear, verdict, drives, u0, tuple(names))
    return here.with_outputs(tuple(requested), differentiated(space, requested, drives.parameters))


def speed_names(space: Workspace) -> list[str]:
    """The names of the generalized speeds; formulas for those chosen automatically."""
    known = space.facts
    pairs = enumerate(zip(known.speed_names, known.speeds, strict=True))
    return [name if i < known.n_user_speeds else str(u) for i, (name, u) in pairs]


@dataclass(frozen=True)
class _Here:
    """A state with its linear equations, its classification and the inputs."""

    space: Workspace
    found: SolvedState
    linear: ReducedSystem
    verdict: StateKind
    drives: _Inputs
    u0: np.ndarray  # forces along actuated coordinates
    names: tuple[str, ...]  # of the states

    @property
    def _input_values(self) -> np.ndarray:
        """Equilibrium forces and values of parameters, in the order of the inputs."""
        values = dict(zip(self.space.model.parameter_values, self.found.point.parameters.tolist(), strict=True))
        forces, names = iter(self.u0.tolist()), iter(self.drives.parameters)
        return np.array([next(forces) if i is not None else values[next(names)] for i in self.drives.coordinates])

    def with_outputs(self, outputs: tuple[str, ...], functions: DifferentiatedResiduals) -> Linearization:
        """The complete linear equations."""
        found, linear, point = self.found, self.linear, self.found.point
        push = _push(found, self.drives, self.space.model)
        drive = driven(found, push, len(linear.A))
        partials = functions.slopes(point)
        direct = _by_input(partials.parameters, self.drives)
        W = linear.qd[:, len(linear.chosen) :]
        return Linearization(
            model=self.space.declared,
            kind=self.verdict.kind,
            reason=self.verdict.reason,
            states=self.names,
            inputs=self.drives.names,
            outputs=outputs,
            decoupled_states=tuple(self.names[i] for i in self.verdict.decoupled),
            A=linear.A,
            B=drive.B,
            C=linear.output_matrix(partials),
            D=partials.qdd @ drive.qdd + partials.lam @ drive.lam + direct,
            q=point.q,
            qd=point.qd,
            t=point.t,
            u0=self._input_values,
            y0=functions.at(point),
            multipliers=point.lam,
            mass=W.T @ found.M @ W,
            shapes=np.concatenate([linear.q, linear.qd]),
            onto=linear.onto,
            unit=self.space.facts.scales.positions,
            full=_descriptor(self.space, found, push, partials, direct),
        )


def _by_input(columns: np.ndarray, drives: _Inputs) -> np.ndarray:
    """The parameter columns in the order of the inputs, with zeros for forces."""
    out, k = np.zeros((len(columns), len(drives.names))), 0
    for j, i in enumerate(drives.coordinates):
        if i is None:
            out[:, j] = columns[:, k]
            k += 1
    return out


def _push(found: SolvedState, drives: _Inputs, model: Elements) -> np.ndarray:
    """The generalized force of every input; a parameter has that of its derivative and must not occur in constraints."""
    for level in ("position", "velocity", "acceleration", "speeds"):
        slopes = np.abs(found.by_row[level].parameters)
        if slopes.size and slopes.max() > 0:
            j = int(np.argmax(slopes.max(axis=0)))
            raise InputError(
                f"linearize, inputs: the parameter '{drives.parameters[j]}' occurs in the constraints or speeds of model "
                f"'{model.name}', so a change of it violates them. Expected parameters of forces or masses."
            )
    out = -_by_input(found.by_row["dynamics"].parameters, drives)
    for j, i in enumerate(drives.coordinates):
        if i is not None:
            out[i, j] = 1.0
    return out


def _equilibrium_forces(residuals: Residuals, found: SolvedState, push: np.ndarray) -> np.ndarray:
    """The least-squares forces along actuated coordinates that keep the speeds constant, of least norm."""
    if not push.shape[1]:
        return np.zeros(0)
    rates = residuals.at(found.point)[residuals.row_slices["speed_rates"]]
    gain = found.by_row["speed_rates"].qdd @ found.accelerations(push, np.zeros((len(found.A), push.shape[1])))
    return np.linalg.lstsq(gain, -rates, rcond=None)[0]


def _descriptor(
    space: Workspace, found: SolvedState, push: np.ndarray, partials: Partials, direct: np.ndarray
) -> Descriptor:
    """The descriptor form in all coordinates."""
    n, k, holonomic = len(found.point.q), len(found.A), space.facts.levels.n_holonomic
    r, phi, velocity = (found.by_row[name] for name in ("dynamics", "position", "velocity"))
    rows_q = np.concatenate([phi.q, velocity.q[holonomic:]])
    rows_qd = np.concatenate([np.zeros((holonomic, n)), velocity.qd[holonomic:]])
    E = np.zeros((2 * n + k, 2 * n + k))
    E[:n, :n], E[n : 2 * n, n : 2 * n] = np.eye(n), found.M
    zero = np.zeros((n, n))
    A = np.block([[zero, np.eye(n), np.zeros((n, k))], [-r.q, -r.qd, -r.lam], [rows_q, rows_qd, np.zeros((k, k))]])
    B = np.concatenate([np.zeros((n, push.shape[1])), push, np.zeros((k, push.shape[1]))])
    # accelerations in the outputs are the constrained solution of the second row
    a = found.by_row["acceleration"]
    qdd = found.accelerations(-np.concatenate([r.q, r.qd], axis=1), -np.concatenate([a.q, a.qd], axis=1))
    C = np.concatenate(
        [partials.q + partials.qdd @ qdd[:, :n], partials.qd + partials.qdd @ qdd[:, n:], partials.lam], axis=1
    )
    D = partials.qdd @ found.accelerations(push, np.zeros((k, push.shape[1]))) + direct
    names = space.model.coordinate_names
    states = (*names, *map(SymbolKind.RATE.of, names), *map(SymbolKind.MULTIPLIER.of, space.facts.levels.names))
    return Descriptor(states, E, A, B, C, D)


def _refuse_feedback(name: str, space: Workspace) -> None:
    levels = space.facts.levels
    for row, servo in zip(levels.names, levels.servo, strict=True):
        if servo:
            raise InputError(
                f"linearize: the constraint '{row}' of model '{name}' has feedback, so it does not eliminate states. Expected "
                "constraints without feedback. Remove `feedback`."
            )


_OFFSET, _KINK = 1e-7, 1e-3  # relative offset of the test states, and the allowed change of derivatives there


def _require_smooth(name: str, residuals: Residuals, found: SolvedState) -> None:
    """Raise if a formula switches its branch exactly at the state, so that it is not differentiable."""
    if not residuals.switching:
        return
    scales, rng = found.facts.scales, np.random.default_rng(7)
    here = found.by_row["dynamics"]
    for _ in range(4):
        dq, dqd = (rng.uniform(-1, 1, len(x)) * x for x in (scales.positions, scales.velocities))
        for sign in (-_OFFSET, _OFFSET):
            neighbor = solved_at(
                residuals, found.point.q + sign * dq, found.point.qd + sign * dqd, found.point.t, found.point.parameters
            )
            slopes = neighbor.by_row["dynamics"]
            for a, b, unit in ((here.q, slopes.q, scales.positions), (here.qd, slopes.qd, scales.velocities)):
                change, size = np.abs(a - b) * unit, np.abs(found.M) @ scales.accelerations
                if (change > _KINK * np.maximum(np.abs(a) * unit, size[:, None])).any():
                    raise InputError(
                        f"linearize: a formula of model '{name}' switches its branch at this state, such as dry friction at rest "
                        f"or a closing contact ({', '.join(residuals.system.model.switching)}). Expected a differentiable "
                        "state. Linearize at a state next to it, or remove the element."
                    )
