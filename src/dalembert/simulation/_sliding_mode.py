"""Switching surfaces of a run as compiled functions, and sliding modes along them.

On a surface g = 0 that attracts the motion from both sides, the motion follows the combination with ġ = 0, Filippov's solution:

    ẏ = f₀ + Σ αⱼ (fⱼ − f₀),   ġᵢ(α) = 0,   0 ≤ α ≤ 1,

f₀ with the conditions of all surfaces false and fⱼ with the j-th one true. Switching forces enter linearly, so α solves a
linear system; for sticking dry friction it is the required share of the friction. A closed rigid contact has the same form:
g is the rate of its gap, or its slip if it sticks, and α is the unbounded force that keeps it at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import symengine as se

from dalembert.codegen.function import CompiledFunction
from dalembert.mechanics.system import System
from dalembert.model.discontinuities import FrozenModel, Switch, kinematic_names
from dalembert.model.elements import Event
from dalembert.model.loads.contact_base import ConstrainedRate
from dalembert.simulation._crossings import perturbed_states
from dalembert.simulation.right_hand_side import RightHandSide, stacked
from dalembert.simulation.workspace import Workspace
from dalembert.symbolic.algebra_base import Array, Scalar, stack, vector
from dalembert.symbolic.elimination import orthogonal_solve

Sliding = tuple[Switch | ConstrainedRate, ...]


@dataclass(frozen=True)
class SlidingKernel(RightHandSide):
    """The compiled functions of a form that slides along surfaces, each with the parameter of its condition or force."""

    surfaces: Sliding = ()

    @classmethod
    def of(cls, kernel: RightHandSide, surfaces: Sliding) -> SlidingKernel:
        """The same form on surfaces; cached."""
        if surfaces not in kernel.cache:
            kernel.cache[surfaces] = cls(kernel.form, kernel.residual, kernel.mode, surfaces)
        return kernel.cache[surfaces]

    @cached_property
    def rows(self) -> list[int]:
        """The rows of the parameters of the surfaces."""
        known = list(map(str, self.parameters))
        return [known.index(switch.parameter) for switch in self.surfaces]

    @cached_property
    def _units(self) -> list[float]:
        """The change of each parameter that measures its effect: 1 for a condition, the model's scale for a force.

        In large or small units a force of 1 would change accelerations by less than rounding, or dominate them.
        """
        force = self.form.system.facts.scales.force
        return [1.0 if isinstance(each, Switch) else force for each in self.surfaces]

    @cached_property
    def _graph(self) -> tuple[Array, Array, Array]:
        """α, ẏ and ∂ġ/∂α as expressions."""
        system, names = self.form.system, [switch.parameter for switch in self.surfaces]
        units = dict(zip(names, self._units, strict=True))
        algebra, rates, n, size = system.algebra, super().rates, len(system.q), self.form.n_states
        g = self.in_state(vector([switch.at(system.motion) for switch in self.surfaces]), system.qdd)

        def side(true: str | None) -> tuple[Array, Array]:
            f = algebra.substitute(rates, {name: units[name] if name == true else 0 for name in names})
            return f, algebra.total_derivative(g, (system.q, f[:n]), (self.form.velocity.v, f[n:size]), system.clock)

        f0, g0 = side(None)
        sides = [side(name) for name in names]
        G = np.array([list(gj - g0) for _, gj in sides], dtype=object).T
        alpha = orthogonal_solve(algebra, G, -g0[:, None])[:, 0]
        f = f0
        for part, (fj, _) in zip(alpha, sides, strict=True):
            f = f + part * (fj - f0)
        unit = np.array(self._units, dtype=object)
        return alpha * unit, f, G / unit

    @cached_property
    def rates(self) -> Array:
        """ẏ on the surfaces."""
        return self._graph[1]

    @cached_property
    def _rates(self) -> CompiledFunction:
        return super()._rates if self.fused else NumericSlidingRates(self)

    @cached_property
    def _mixture(self) -> CompiledFunction:
        return self._compile(self._graph[0])

    def mixture(self, y: np.ndarray, t: npt.ArrayLike, constants: np.ndarray) -> np.ndarray:
        """α at one state y = (q, v[, work]) or many."""
        inputs = stacked(y[: self.form.n_states], t)
        return self._mixture(inputs, constants) if self.fused else self.in_numbers(inputs, constants)[0]

    def parameter_values(self, y: np.ndarray, t: npt.ArrayLike, constants: np.ndarray) -> np.ndarray:
        """The parameters of the surfaces at many states: shares are clipped to [0, 1], forces and friction are not."""
        found = self.mixture(y, t, constants)
        shares = [isinstance(each, Switch) and each.grip is None for each in self.surfaces]
        return np.where(np.array(shares)[:, None], np.clip(found, 0.0, 1.0), found)

    @cached_property
    def _responses(self) -> CompiledFunction:
        return self._compile(self._graph[2].ravel())

    def responses(self, y: np.ndarray, t: npt.ArrayLike, constants: np.ndarray) -> np.ndarray:
        """The derivatives ∂ġᵢ/∂αⱼ at many states, (K, surfaces, surfaces)."""
        inputs, m = stacked(y[: self.form.n_states], t), len(self.surfaces)
        if not self.fused:
            return np.moveaxis(self.in_numbers(inputs, constants)[2], -1, 0)
        return np.moveaxis(self._responses(inputs, constants).reshape(m, m, -1), -1, 0)

    # for forms that are solved numerically

    @cached_property
    def _slopes_of(self) -> CompiledFunction:
        """∂g/∂q, ∂g/∂q̇ and ∂g/∂t as a function of (q, q̇, t)."""
        system = self.form.system
        g = vector([switch.at(system.motion) for switch in self.surfaces])
        x = stack(system.q, system.qd, vector([system.t]))
        return self._compile(system.algebra.jacobian(g, x).ravel(), x)

    def in_numbers(self, inputs: np.ndarray, constants: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """α, ẏ and ∂ġ/∂α at (q, v, t), one state or many."""
        if inputs.ndim == 1:
            alpha, f, G = self.in_numbers(inputs[:, None], constants)
            return alpha[:, 0], f[:, 0], G[..., 0]
        K, n, m = inputs.shape[1], len(self.form.system.q), len(self.surfaces)
        plain = RightHandSide(self.form, self.residual, self.mode)
        values = np.broadcast_to(constants[:, None] if constants.ndim == 1 else constants, (len(constants), K))
        rows, units = self.rows, np.array(self._units)

        def side(j: int | None) -> tuple[np.ndarray, np.ndarray]:
            here = values.copy()
            here[rows] = 0.0
            if j is not None:
                here[rows[j]] = units[j]
            qd, qdd, _ = plain.accelerations(inputs[:n], inputs[n:-1], inputs[-1], here)
            slopes = self._slopes_of(np.concatenate([inputs[:n], qd, inputs[-1:]]), here).reshape(m, 2 * n + 1, K)
            along = np.concatenate([qd, qdd, np.ones((1, K))])
            return plain.state_rates(inputs[:-1], inputs[-1], here), np.einsum("ixk,xk->ik", slopes, along)

        f0, g0 = side(None)
        sides = [side(j) for j in range(m)]
        G = np.stack([gj - g0 for _, gj in sides], axis=1)  # (i, j, K)
        alpha = np.linalg.solve(np.moveaxis(G, -1, 0), -g0.T[..., None])[..., 0].T
        f = f0 + sum(alpha[j] * (fj - f0) for j, (fj, _) in enumerate(sides))
        return alpha * units[:, None], f, G / units[:, None]


class NumericSlidingRates(CompiledFunction):
    """ẏ on the surfaces, solved numerically."""

    def __init__(self, kernel: SlidingKernel) -> None:
        form = kernel.form
        self._kernel = kernel
        self.sizes = form.n_states + 1, len(kernel.parameters)
        self.n_outputs = form.n_states + len(kernel.working)

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The rates of one state (k,) or of many (k, batch)."""
        return self._kernel.in_numbers(inputs, parameters)[1]


SAME_INSTANT = 1e-13  # of the time, or of the time scale of the model: closer crossings are simultaneous
_LATER = 4 * SAME_INSTANT  # the delay at which surfaces of time alone are evaluated, for the side after an instant
_ZERO = 1e-15  # of a state and its scale: a smaller change of a surface is zero


@dataclass
class SwitchingSurfaces:
    """The functions g(q, q̇, t) of a model whose zeros change the mode of a run."""

    space: Workspace  # in the coordinates in use, which may have other angles than the user's
    conditions: FrozenModel
    events: Sequence[Event]
    duration: float
    _functions: dict[tuple[str, Workspace], CompiledFunction] = field(
        default_factory=dict[tuple[str, Workspace], CompiledFunction]
    )

    def _compiled(self, formulas: Callable[[System], list[Scalar]]) -> CompiledFunction:
        """Formulas as a function of (q, q̇, t) in the coordinates in use, compiled once."""
        key, space = (formulas.__name__, self.space), self.space
        if key not in self._functions:
            self._functions[key] = space.compiled(vector(formulas(space.system)), space.system.q, space.system.qd)
        return self._functions[key]

    def at(self, states: np.ndarray, values: np.ndarray) -> np.ndarray:
        """g of switches, arguments of tables, and the formulas of events, at (q, q̇, t)."""
        return self._compiled(self._surface_formulas)(states, values)

    def _surface_formulas(self, system: System) -> list[Scalar]:
        motion = system.motion
        return [one.at(motion) for one in self.conditions.surfaces] + [
            motion.lower(event.when) for event in self.events
        ]

    def changes(self, state: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The values to which events set parameters and rates, in order, at (q, q̇, t)."""
        return self._compiled(self._change_formulas)(state, values)

    def _change_formulas(self, system: System) -> list[Scalar]:
        formulas = [f for event in self.events for f in (*event.set.values(), *event.reset.values())]
        return [system.motion.lower(formula) for formula in formulas]

    def grips(self, state: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The minimum and the maximum mixture at which each switch sticks, in order."""
        return self._compiled(self._grip_formulas)(state, values)

    def _grip_formulas(self, system: System) -> list[Scalar]:
        sides = [one.grip or (se.Integer(0), se.Integer(1)) for one in self.conditions.switches]
        return [system.motion.lower(side) for both in sides for side in both]

    @cached_property
    def kinematic(self) -> frozenset[str]:
        """The parameters in joints, constraints and energies."""
        return kinematic_names(self.conditions.description)

    @cached_property
    def timed(self) -> np.ndarray:
        """True for surfaces of prescribed motions that depend on time alone."""
        return np.array([one.kinematic and one.timed for one in self.conditions.surfaces], dtype=bool)

    def instant(self, t: float) -> float:
        """The scale of small differences of time."""
        return self.space.facts.scales.instant(t, self.duration)

    def noise(self, t: float, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The change of each surface by rounding of the state, of the scales of the model, and of the time."""
        scales, state, instant = self.space.facts.scales, np.concatenate([q, qd]), self.instant(t)
        moved = np.concatenate([np.abs(qd) * instant, scales.velocities * (instant / scales.time)])
        size = np.abs(state) + np.concatenate([scales.positions, scales.velocities]) + moved
        here, off = (np.array([t]), state[:, None]), (np.array([_ZERO * instant]), _ZERO * size[:, None])
        times, states, _ = perturbed_states(*here, *off)
        g = self.at(np.concatenate([states, times[None]]), values)
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(np.abs(g - g[:, :1]).max(axis=1), nan=0.0, posinf=0.0)

    def just_after(self, t: float, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The functions of all surfaces; those of prescribed motions in time alone slightly later."""
        now, later = (np.concatenate([q, qd, [x]]) for x in (t, t + _LATER * self.instant(t)))
        g = self.at(now, values)
        if (rows := self.timed).any():
            g[: len(rows)] = np.where(rows, self.at(later, values)[: len(rows)], g[: len(rows)])
        return g

    def just_passed(self, g: np.ndarray, after: np.ndarray) -> set[tuple[int, float]]:
        """The rows and offsets of surfaces of time alone that are zero at t, for which only a later return counts."""
        count, out = len(self.conditions.switches), set[tuple[int, float]]()
        for i in np.flatnonzero(self.timed).tolist():
            near = 4 * abs(float(after[i] - g[i]))
            if i < count:
                out |= {(i, 0.0)} if abs(g[i]) <= near else set()
            else:
                times = self.conditions.tables[i - count].table.times
                out |= {(i, float(x)) for x in times[np.abs(times - g[i]) <= near]}
        return out
