"""The parts of a form as one compiled function, and the equations solved from their numbers at every state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dalembert.algebra import Array, stack, vector
from dalembert.equations import LinearForm, LinearSystem
from dalembert.kernels.solve import assembled
from dalembert.programs import Function, compile_function


class Found(NamedTuple):
    """What a numeric solve gives, batch on the last axis; `power` only where multipliers are among the unknowns."""

    qd: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    vd: np.ndarray
    power: np.ndarray | None


@dataclass(frozen=True)
class Pieces:
    """M, f, A, β and the rest side by side, compiled when they are first used."""

    form: LinearForm
    parameters: Array

    @cached_property
    def _parts(self) -> dict[str, Array]:
        linear, velocity, own = self.form.linear, self.form.velocity, self.form.own_multipliers
        parts = {"M": linear.M, "f": linear.f, "A": linear.A, "beta": linear.beta, "C": linear.C, "J": linear.J}
        parts |= {"qd": velocity.qd, "W": velocity.W, "bias": velocity.qdd_bias}
        if own is not None:
            parts |= {"S": own.S, "power": vector([own.power[0]]), "slope": own.power[1]}
        return {name: part for name, part in parts.items() if part is not None}

    @cached_property
    def _function(self) -> Function:
        system = self.form.system
        inputs = stack(system.q, self.form.velocity.v, vector([system.t]))
        outputs = np.concatenate([np.asarray(part, dtype=object).ravel() for part in self._parts.values()])
        return compile_function(system.algebra, inputs, outputs, self.parameters, system.engine)

    def _at(self, y: np.ndarray, t: npt.ArrayLike, constants: np.ndarray) -> dict[str, np.ndarray]:
        """The parts at states y = (q, v) (2n, K), batch on the first axis."""
        time = np.broadcast_to(np.asarray(t, dtype=float), y.shape[1:])[None]
        out = self._function(np.concatenate([y, time]), constants).T
        ends = np.cumsum([part.size for part in self._parts.values()])
        split = zip(self._parts.items(), np.split(out, ends[:-1], axis=1), strict=True)
        return {name: numbers.reshape(len(out), *part.shape) for (name, part), numbers in split}

    def solved(self, y: np.ndarray, t: npt.ArrayLike, constants: np.ndarray) -> Found:
        """q̇, q̈, λ, v̇ and the power at one state (n,) or many (n, K)."""
        at = self._at(y[:, None] if y.ndim == 1 else y, t, constants)
        linear = LinearSystem(at["M"], at["f"], at["A"], at["beta"], at.get("C"), at.get("J"))
        x, lam = assembled(self.form, linear, at["W"])
        k = len(self.form.velocity.v)
        vd, behind = x[:, :k], x[:, k:]
        qd, qdd, power = at["qd"], (at["W"] @ vd[..., None])[..., 0] + at["bias"], None
        if self.form.own_multipliers is not None:
            qd = qd + (at["S"] @ behind[..., None])[..., 0]
            power = at["power"] + np.sum(at["slope"] * behind, axis=1, keepdims=True)
        turned = [part[0] if y.ndim == 1 else part.T for part in (qd, qdd, self.form.multipliers(x, lam), vd)]
        return Found(*turned, power=None if power is None else power[0] if y.ndim == 1 else power.T)
