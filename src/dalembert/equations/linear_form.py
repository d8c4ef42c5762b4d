"""The one form every formalism maps a model to: equations linear in the accelerations, left unsolved.

    q̇ = W v + X,     M v̇ = f + Aᵀλ,     A v̇ = β,     q̈ = W v̇ + bias

v are the velocity variables of the formalism (q̇ or quasi-velocities). Kernels solve it; nothing is solved here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dalembert.algebra import Array, identity, zeros
from dalembert.algebra.linear import PivotOrder
from dalembert.kinematics import Speeds, System


@dataclass(frozen=True)
class LinearForm:
    """Equations of motion over one algebra."""

    formalism: str
    system: System
    v: Array  # symbols of the velocity variables
    v_from_qd: Array  # v(q, q̇, t)
    qd: Array  # q̇(q, v, t)
    W: Array  # ∂q̇/∂v
    qdd_bias: Array  # q̈ − W v̇, a function of (q, v, t)
    M: Array
    f: Array
    A: Array  # no rows where the formalism has no multipliers
    beta: Array
    order: PivotOrder | None = None  # for an unsymmetric M; None: symmetric positive definite
    constants: Array = field(default_factory=lambda: zeros(0))  # symbols of constants of the motion
    constants_from: Array = field(default_factory=lambda: zeros(0))  # their values from (q, q̇, t)
    notes: tuple[str, ...] = ()

    @property
    def n_dynamic(self) -> int:
        """The number of dynamic (second-order) equations, as Table 1 of papers/volterra counts them."""
        return len(self.v)

    @property
    def n_states(self) -> int:
        """The number of state variables."""
        return len(self.system.q) + len(self.v)


def in_velocities(
    formalism: str, system: System, M: Array, f: Array, *, multipliers: bool, order: PivotOrder | None = None
) -> LinearForm:
    """A form whose velocity variables are q̇ itself."""
    n = len(system.q)
    A = system.A if multipliers else zeros(0, n)
    beta = system.beta if multipliers else zeros(0)
    return LinearForm(formalism, system, system.qd, system.qd, system.qd, identity(n), zeros(n), M, f, A, beta, order)


def in_speeds(
    formalism: str,
    system: System,
    speeds: Speeds,
    M: Array,
    f: Array,
    *,
    constants: Array | None = None,
    constants_from: Array | None = None,
    notes: tuple[str, ...] = (),
) -> LinearForm:
    """A form whose velocity variables are quasi-velocities u."""
    # forces may depend on velocities: q̇ gives way to W u + X
    f = system.algebra.substitute(f, dict(zip(map(str, system.qd), speeds.qd, strict=True)))
    return LinearForm(
        formalism,
        system,
        speeds.u,
        speeds.Y @ system.qd + speeds.Z,
        speeds.qd,
        speeds.W,
        system.rate_of(speeds.qd, speeds),
        M,
        f,
        zeros(0, len(speeds.u)),
        zeros(0),
        None,
        zeros(0) if constants is None else constants,
        zeros(0) if constants_from is None else constants_from,
        notes,
    )
