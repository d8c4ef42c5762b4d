"""`dl.linearize`: the state, inputs and outputs as users name them, and the linear equations there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dalembert.analysis.linear._residuals import (
    Differentiated,
    Partials,
    Reduced,
    Residuals,
    Solved,
    Verdict,
    differentiated,
    driven,
    judged,
    multipliers,
    reduced,
    require_on_constraints,
    residuals_of,
    solved_at,
)
from dalembert.analysis.linearization import Descriptor, Linearization
from dalembert.api.load import accepts_source
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import are_names, numbers_given, shown
from dalembert.errors import InputError, nearest
from dalembert.mechanics import assembly
from dalembert.mechanics.system import System
from dalembert.model.description import Elements
from dalembert.model.initial_state import start_state
from dalembert.simulation.workspace import Workspace, setup, workspace_of
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.symbols import Kind

At: TypeAlias = Any  # (q, q̇), q at rest, by name or in order; what has q and qd; a run


@accepts_source
def linearize(
    model: Elements,
    at: At = None,
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    t: float = 0.0,
    moving: bool = False,
) -> Linearization:
    """The linear equations ẋ = A x + B u, y = C x + D u of a model about an equilibrium or a steady motion.

    `at` is a position of rest, a pair (q, q̇), what `dl.equilibrium` found, or a run with its time `t`; by default the model's
    initial state. The states are independent coordinates and speeds on the constraints. `inputs` are coordinates (a force along
    them), parameters, or loads that had a law in Python; `outputs` formulas of coordinates and velocities, accelerations
    ddot(x), or names of constraints for their multipliers, by default all coordinates. All slopes are derivatives of a program.

    Where the state is neither, the equations hold for a moment only: they are refused unless `moving` is True, or `at` a run.

    >>> import dalembert as dl
    >>> dl.linearize("cart-pendulum", at=[0, 0, 0], inputs=["x"]).kind
    'equilibrium'
    """
    model.refuse_canonical("linearize")
    model.refuse_rigid("linearize")
    model.refuse_laws(
        "linearize", "Take model.without_laws(), whose inputs are parameters u(name), and name them in `inputs`."
    )
    space = workspace_of(setup(model))
    q, qd, time = read_state(space.model, at, t)
    return linear_at(space, q, qd, time, inputs=inputs, outputs=outputs, moving=moving or isinstance(at, Trajectory))


def read_state(model: Elements, at: At, t: float, who: str = "linearize") -> tuple[np.ndarray, np.ndarray, float]:
    """q, q̇ and t as users give them."""
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
            start = assembly.assemble(model, t=t)
            return start.q, start.qd, t
        return q, qd, t
    if hasattr(at, "qd") and hasattr(at, "q"):
        return numbers_given(at.q, f"{who}, at.q"), numbers_given(at.qd, f"{who}, at.qd"), float(getattr(at, "t", t))
    both = (
        isinstance(at, tuple) and len(at) == 2 and all(x is None or np.ndim(x) == 1 or hasattr(x, "keys") for x in at)
    )
    q, qd = at if both else (at, None)
    found = start_state(model, q, qd, who, ("at, q", "at, qd"))
    return found[0], found[1] if both else np.zeros_like(found[1]), t


@dataclass(frozen=True)
class _Inputs:
    """Inputs as users name them: forces along coordinates, and parameters."""

    names: tuple[str, ...]
    coordinates: tuple[int | None, ...]  # one for each input; None: a parameter
    parameters: tuple[str, ...]

    @property
    def along(self) -> tuple[int, ...]:
        """The coordinates along which forces act."""
        return tuple(i for i in self.coordinates if i is not None)


def _read_inputs(model: Elements, inputs: Sequence[str]) -> _Inputs:
    if not are_names(inputs):
        raise InputError(f"linearize, inputs: got {shown(inputs)}. Expected names in a list or tuple.")
    known = {name: name for name in model.parameter_values} | {
        load.name: Kind.INPUT.of(load.name)
        for load in model.loads
        if Kind.INPUT.of(load.name) in model.parameter_values
    }
    coordinates, parameters = [], []
    for name in inputs:
        if name in model.coordinate_names:
            coordinates.append(model.coordinate_names.index(name))
            continue
        if name not in known:
            raise InputError(
                f"linearize, inputs: there is no coordinate, parameter or load '{name}'. "
                f"{nearest(name, [*model.coordinate_names, *known])}"
            )
        coordinates.append(None)
        parameters.append(known[name])
    return _Inputs(tuple(inputs), tuple(coordinates), tuple(parameters))


def _read_outputs(system: System, outputs: Sequence[str] | None) -> dict[str, Scalar]:
    """The outputs by name."""
    model, names = system.model, system.facts.levels.names
    wanted = tuple(model.coordinate_names if outputs is None else outputs)
    if not are_names(wanted):
        raise InputError(f"linearize, outputs: got {shown(outputs)}. Expected formulas and names in a list or tuple.")
    known = dict(zip(map(Kind.ACCELERATION.of, model.coordinate_names), system.qdd, strict=True))
    known |= dict(zip(names, multipliers(system), strict=True))
    return {x: known[x] if x in known else system.lower(model.formula(x, f"linearize, output '{x}'")) for x in wanted}


def linear_at(
    space: Workspace,
    q: np.ndarray,
    qd: np.ndarray,
    t: float,
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    moving: bool = False,
    parameters: np.ndarray | None = None,
) -> Linearization:
    """The linear equations at a state of a model whose functions are compiled."""
    model, values = space.model, space.values if parameters is None else parameters
    _refuse_feedback(model.name, space)
    given = _read_inputs(model, inputs)
    residuals = residuals_of(space, given.parameters)
    found = solved_at(residuals, q, qd, t, values)
    require_on_constraints(residuals, found.point, "linearize")
    push = np.eye(len(q))[:, list(given.along)]
    u0 = _holding(residuals, found, push)
    held = push @ u0 if len(u0) else None
    found = found if held is None else solved_at(residuals, q, qd, t, values, held)
    _require_smooth(model.name, residuals, found)
    linear = reduced(found)
    names = [*(model.coordinate_names[i] for i in linear.chosen), *speed_names(space)]
    verdict = judged(residuals, found, linear, held, names)
    if not (verdict.steady or moving):
        raise InputError(
            f"linearize: the given state of model '{model.name}' is no equilibrium and no steady motion: {verdict.reason}. "
            "Expected all states to stand still but coordinates that nothing depends on. Find one by dl.equilibrium(model); or "
            "take moving=True for the linear equations of this moment."
        )
    wanted = _read_outputs(space.system, outputs)
    here = _Here(space, found, linear, verdict, given, u0, tuple(names))
    return here.with_outputs(tuple(wanted), differentiated(space, wanted, given.parameters))


def speed_names(space: Workspace) -> list[str]:
    """The speeds, by their formulas where the program chose them."""
    known = space.facts
    both = enumerate(zip(known.speed_names, known.speeds, strict=True))
    return [name if i < known.given else str(u) for i, (name, u) in both]


@dataclass(frozen=True)
class _Here:
    """A state with its linear equations and what is known of both."""

    space: Workspace
    found: Solved
    linear: Reduced
    verdict: Verdict
    given: _Inputs
    u0: np.ndarray  # forces along driven coordinates
    names: tuple[str, ...]  # of the states

    @property
    def _input_values(self) -> np.ndarray:
        """Forces that hold the model, and values of parameters, in the order of the inputs."""
        values = dict(zip(self.space.model.parameter_values, self.found.point.parameters.tolist(), strict=True))
        forces, parameters = iter(self.u0.tolist()), iter(self.given.parameters)
        return np.array([next(forces) if i is not None else values[next(parameters)] for i in self.given.coordinates])

    def with_outputs(self, outputs: tuple[str, ...], seen: Differentiated) -> Linearization:
        """All parts of the linear equations."""
        found, linear, point = self.found, self.linear, self.found.point
        push = _push(found, self.given, self.space.model)
        drive = driven(found, push, len(linear.A))
        partials = seen.slopes(point)
        direct = _by_input(partials.parameters, self.given)
        W = linear.qd[:, len(linear.chosen) :]
        return Linearization(
            model=self.space.declared,
            kind=self.verdict.kind,
            reason=self.verdict.reason,
            states=self.names,
            inputs=self.given.names,
            outputs=outputs,
            followers=tuple(self.names[i] for i in self.verdict.followers),
            A=linear.A,
            B=drive.B,
            C=linear.seen(partials),
            D=partials.qdd @ drive.qdd + partials.lam @ drive.lam + direct,
            q=point.q,
            qd=point.qd,
            t=point.t,
            u0=self._input_values,
            y0=seen.at(point),
            multipliers=point.lam,
            mass=W.T @ found.M @ W,
            shapes=np.concatenate([linear.q, linear.qd]),
            onto=linear.onto,
            unit=self.space.facts.scales.positions,
            full=_descriptor(self.space, found, push, partials, direct),
        )


def _by_input(columns: np.ndarray, given: _Inputs) -> np.ndarray:
    """Columns of the parameters at the places of the inputs, zeros for forces."""
    out, k = np.zeros((len(columns), len(given.names))), 0
    for j, i in enumerate(given.coordinates):
        if i is None:
            out[:, j] = columns[:, k]
            k += 1
    return out


def _push(found: Solved, given: _Inputs, model: Elements) -> np.ndarray:
    """The generalized force of every input; a parameter has that of its slope, and must not stand in constraints."""
    for level in ("position", "velocity", "acceleration", "speeds"):
        touched = np.abs(found.by_row[level].parameters)
        if touched.size and touched.max() > 0:
            j = int(np.argmax(touched.max(axis=0)))
            raise InputError(
                f"linearize, inputs: the parameter '{given.parameters[j]}' stands in the constraints or speeds of model "
                f"'{model.name}', so a change of it leaves them at once. Expected parameters of forces or masses."
            )
    out = -_by_input(found.by_row["dynamics"].parameters, given)
    for j, i in enumerate(given.coordinates):
        if i is not None:
            out[i, j] = 1.0
    return out


def _holding(residuals: Residuals, found: Solved, push: np.ndarray) -> np.ndarray:
    """The forces along driven coordinates that leave the speeds as they are, the smallest that come nearest."""
    if not push.shape[1]:
        return np.zeros(0)
    rates = residuals.at(found.point)[residuals.places["speed_rates"]]
    gain = found.by_row["speed_rates"].qdd @ found.answer(push, np.zeros((len(found.A), push.shape[1])))
    return np.linalg.lstsq(gain, -rates, rcond=None)[0]


def _descriptor(
    space: Workspace, found: Solved, push: np.ndarray, partials: Partials, direct: np.ndarray
) -> Descriptor:
    """The same in all coordinates."""
    n, k, held = len(found.point.q), len(found.A), space.facts.levels.held
    r, phi, velocity = (found.by_row[name] for name in ("dynamics", "position", "velocity"))
    rows_q = np.concatenate([phi.q, velocity.q[held:]])
    rows_qd = np.concatenate([np.zeros((held, n)), velocity.qd[held:]])
    E = np.zeros((2 * n + k, 2 * n + k))
    E[:n, :n], E[n : 2 * n, n : 2 * n] = np.eye(n), found.M
    zero = np.zeros((n, n))
    A = np.block([[zero, np.eye(n), np.zeros((n, k))], [-r.q, -r.qd, -r.lam], [rows_q, rows_qd, np.zeros((k, k))]])
    B = np.concatenate([np.zeros((n, push.shape[1])), push, np.zeros((k, push.shape[1]))])
    # accelerations among the outputs are M⁻¹ of the second row, within the constraints
    a = found.by_row["acceleration"]
    qdd = found.answer(-np.concatenate([r.q, r.qd], axis=1), -np.concatenate([a.q, a.qd], axis=1))
    C = np.concatenate(
        [partials.q + partials.qdd @ qdd[:, :n], partials.qd + partials.qdd @ qdd[:, n:], partials.lam], axis=1
    )
    D = partials.qdd @ found.answer(push, np.zeros((k, push.shape[1]))) + direct
    names = space.model.coordinate_names
    states = (*names, *map(Kind.RATE.of, names), *map(Kind.MULTIPLIER.of, space.facts.levels.names))
    return Descriptor(states, E, A, B, C, D)


def _refuse_feedback(name: str, space: Workspace) -> None:
    levels = space.facts.levels
    for row, servo in zip(levels.names, levels.servo, strict=True):
        if servo:
            raise InputError(
                f"linearize: the constraint '{row}' of model '{name}' is driven to zero by feedback, so it holds no states. "
                "Expected constraints without feedback. Leave `feedback` out."
            )


_BESIDE, _KINK = 1e-7, 1e-3  # how far beside the state branches are looked for, and by how much slopes may change there


def _require_smooth(name: str, residuals: Residuals, found: Solved) -> None:
    """Raise where a formula switches its branch exactly at the state, so that there are two slopes."""
    if not residuals.switching:
        return
    scales, rng = found.facts.scales, np.random.default_rng(7)
    here = found.by_row["dynamics"]
    for _ in range(4):
        dq, dqd = (rng.uniform(-1, 1, len(x)) * x for x in (scales.positions, scales.velocities))
        for sign in (-_BESIDE, _BESIDE):
            beside = solved_at(
                residuals, found.point.q + sign * dq, found.point.qd + sign * dqd, found.point.t, found.point.parameters
            )
            there = beside.by_row["dynamics"]
            for a, b, unit in ((here.q, there.q, scales.positions), (here.qd, there.qd, scales.velocities)):
                change, size = np.abs(a - b) * unit, np.abs(found.M) @ scales.accelerations
                if (change > _KINK * np.maximum(np.abs(a) * unit, size[:, None])).any():
                    raise InputError(
                        f"linearize: a formula of model '{name}' switches its branch at the given state, such as dry friction at "
                        f"rest or a contact that is just met ({', '.join(residuals.system.model.switching)}). Expected one "
                        "slope. Linearise beside it, or leave the element out."
                    )
