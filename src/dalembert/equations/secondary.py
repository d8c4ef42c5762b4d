"""Dirac's search for the constraints that constraints on momenta imply, until all multipliers are determined.

It is decided in numbers, at states on the constraints near the initial one: which constraints have brackets that
determine their multipliers (`closed`), and which do not (`rest`) and imply their own rates. Every algebra then follows the
same rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.algebra import Array, stack, vector
from dalembert.equations.legendre import Canonical, legendre
from dalembert.equations.surface import Surface, holonomic_surface, rates_along
from dalembert.errors import InconsistentStateError, SingularError
from dalembert.expressions import momentum
from dalembert.expressions.lower import Lowering
from dalembert.kinematics import generalized_forces, non_ideal_forces
from dalembert.kinematics.motion import values
from dalembert.structure.system import System, system_of

_STATES = 4
_ROUNDS = 5  # of implied constraints
_STEPS = 40  # of Newton's method
_SEED = 5287
_NOTHING = 1e-8  # brackets and rates below this are zero, by the size of their gradients

Round = tuple[list[int], list[int]]


def pushed(system: System, can: Canonical) -> Array:
    """τ with the non-ideal forces, as functions of (q, p, t)."""
    C = non_ideal_forces(system.motion)
    return system.at_rates(generalized_forces(system.motion) + C if len(C) else generalized_forces(system.motion), can.H_p)


def canonical_surface(system: System, can: Canonical) -> Surface:
    """The holonomic constraints in phase space, the given constraints on momenta, and all that they imply."""
    known = _given(system, can)
    if not system.model.canonical_list:
        return known
    for closed, rest in _rounds(system):
        known = _with_rates(system, can, known, closed, rest)
    return known


def _given(system: System, can: Canonical) -> Surface:
    """c of the holonomic constraints, and the given φ(q, p, t)."""
    model, known = system.model, holonomic_surface(system, can)
    constants = system.algebra.symbols(list(model.parameter_values))
    parameters = dict(zip(model.parameter_values, constants, strict=True))
    table = values(model, system.t, list(system.q), list(system.qd), parameters)
    table |= {momentum(name).name: p for name, p in zip(model.coordinate_names, can.p, strict=True)}
    lower = Lowering(system.algebra, table)
    names = tuple(each.name for each in model.canonical_list)
    return _followed(system, can, known, names, vector([lower(each.phi) for each in model.canonical_list]))


def _followed(system: System, can: Canonical, known: Surface, names: tuple[str, ...], c: Array) -> Surface:
    return known.followed_by(names, c, system.algebra, stack(system.q, can.p), vector([system.t]))


def _with_rates(system: System, can: Canonical, known: Surface, closed: list[int], rest: list[int]) -> Surface:
    """One round: the rates of the constraints in `rest` are constraints themselves."""
    rates = rates_along(system, can, pushed(system, can), known, closed, rest)
    return _followed(system, can, known, tuple(f"rate of {known.names[i]}" for i in rest), rates)


def _rounds(system: System) -> Iterator[Round]:
    """Which constraints imply their rates, round by round; raises where multipliers stay undetermined."""
    probe = _Probe.of(system)
    for _ in range(_ROUNDS):
        closed, rest = probe.parted()
        if not rest:
            return
        probe = probe.after(closed, rest)
        yield closed, rest
    raise SingularError(
        f"model '{system.model.name}': {', '.join(probe.known.names)} still imply other constraints after {_ROUNDS} rounds. "
        "Expected constraints on momenta that determine their multipliers. Give them in another form."
    )


@dataclass(frozen=True)
class _Probe:
    """The constraints over the portable graph, and states on them in numbers, (K, 2n + 1) with t last."""

    system: System
    can: Canonical
    known: Surface
    states: np.ndarray
    scale: np.ndarray  # of q and p, so that gradients can be compared

    @classmethod
    def of(cls, system: System) -> _Probe:
        """The given constraints at states near the initial one."""
        portable = system if system.algebra.name == "graph" else system_of(system.model, "graph", system.facts)
        can = legendre(portable)
        q0, qd0 = system.model.initial
        n, rng = len(q0), np.random.default_rng(_SEED)
        q = q0 + 0.3 * rng.uniform(-1, 1, (_STATES, n)) * np.arange(_STATES)[:, None] / _STATES
        qd = qd0 + (1 + np.abs(qd0)) * rng.uniform(-1, 1, (_STATES, n)) * np.arange(_STATES)[:, None] / _STATES
        t = np.zeros((_STATES, 1))
        p = _numbers(portable, can.momenta, stack(portable.q, portable.qd), np.concatenate([q, qd, t], axis=1))
        slopes = portable.algebra.jacobian(can.momenta, portable.qd)
        M = _numbers(portable, slopes.ravel(), stack(portable.q, portable.qd), np.concatenate([q, qd, t], axis=1))
        root = np.sqrt(np.maximum(M.reshape(_STATES, n, n)[0].diagonal(), 1e-300))
        probe = cls(portable, can, _given(portable, can), np.concatenate([q, p, t], axis=1), np.append(1 / root, root))
        return probe.on_surface()

    def evaluate(self, outputs: Array) -> np.ndarray:
        """Functions of (q, p, t) at all states, (K, outputs)."""
        return _numbers(self.system, outputs, stack(self.system.q, self.can.p), self.states)

    def gradients(self) -> np.ndarray:
        """The scaled gradients of c, (K, rows, 2n)."""
        slopes = np.concatenate([self.known.c_q, self.known.c_p], axis=1)
        return self.evaluate(slopes.ravel()).reshape(len(self.states), *slopes.shape) * self.scale

    def on_surface(self) -> _Probe:
        """The states brought onto the constraints by Newton's method; those that do not get there are left out."""
        probe = self
        for _ in range(_STEPS):
            c, slopes = probe.evaluate(self.known.c), probe.gradients()
            step = np.linalg.pinv(slopes, rcond=1e-10) @ c[..., None]
            moved = probe.states.copy()
            moved[:, :-1] -= step[..., 0] * self.scale
            probe = _Probe(self.system, self.can, self.known, moved, self.scale)
        size = np.linalg.norm(probe.gradients(), axis=2)
        reached = np.abs(probe.evaluate(self.known.c)) <= 1e-9 * np.maximum(size, 1e-300)
        good = np.isfinite(probe.states).all(axis=1) & (reached | (size == 0) & (reached.sum() > 0)).all(axis=1)
        if not good.any():
            raise InconsistentStateError(
                f"model '{self.system.model.name}': no state near the initial one fulfils {', '.join(self.known.names)} "
                "together. Expected constraints that can all hold, with what they imply. Change them or the initial state."
            )
        return _Probe(self.system, self.can, self.known, probe.states[good], self.scale)

    def parted(self) -> Round:
        """Rows whose brackets determine their multipliers, pair by pair, and the rows that are left."""
        slopes = self.gradients()
        size = np.linalg.norm(slopes, axis=2)
        D = self.evaluate(self.known.brackets.ravel()).reshape(len(slopes), len(size[0]), len(size[0]))
        D = D / np.maximum(size[:, :, None] * size[:, None, :], 1e-300)
        rest, closed = list(range(D.shape[1])), list[int]()
        while len(rest) > 1:
            worth = np.abs(D[:, rest][:, :, rest]).min(axis=0)
            i, j = (rest[int(k)] for k in np.unravel_index(np.argmax(worth), worth.shape))
            if worth.max() <= _NOTHING:
                break
            pair, d = [i, j], D[:, i, j][:, None, None]
            closed += pair
            rest = [k for k in rest if k not in pair]
            # the Schur complement of an antisymmetric pair
            a, b = D[:, :, [i]], D[:, :, [j]]
            D = D + (b @ np.swapaxes(a, 1, 2) - a @ np.swapaxes(b, 1, 2)) / d
        return sorted(closed), rest

    def after(self, closed: list[int], rest: list[int]) -> _Probe:
        """The constraints with the rates of `rest`; raises when such a rate vanishes by itself."""
        known = _with_rates(self.system, self.can, self.known, closed, rest)
        rates = np.abs(self.evaluate(known.c[-len(rest) :])).max(axis=0)
        moved = _Probe(self.system, self.can, known, self.states, self.scale)
        size = np.linalg.norm(moved.gradients(), axis=2).max(axis=0)[-len(rest) :]
        idle = [self.known.names[i] for i, rate, s in zip(rest, rates, size, strict=True) if rate <= _NOTHING * (1e-6 + s)]
        if idle and len(self.states) > 1:
            raise SingularError(
                f"model '{self.system.model.name}': the multiplier of '{idle[0]}' is not determined, because the constraint holds "
                "by itself once it holds at the start (Dirac calls it first class). Expected a constraint that restricts "
                "the motion. Leave it out, or add the constraint that fixes what it leaves open."
            )
        return moved.on_surface()


def _numbers(system: System, outputs: Array, inputs: Array, states: np.ndarray) -> np.ndarray:
    """Expressions of the portable graph at states (K, inputs and t), parameters at their default values."""
    names = [str(x) for x in inputs] + [str(system.t)]
    out = []
    with np.errstate(all="ignore"):
        for state in states:
            table = {**dict(zip(names, state.tolist(), strict=True)), **system.model.parameter_values}
            out.append([float(getattr(e, "value", e)) for e in system.algebra.substitute(outputs, table)])
    return np.array(out).reshape(len(states), len(outputs))
