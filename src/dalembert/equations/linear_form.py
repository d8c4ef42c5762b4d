"""The one form every formalism maps a model to: equations linear in the accelerations, left unsolved.

    q̇ = W v + X,     M v̇ = f + C + Jᵀλ,     A v̇ = β,     q̈ = W v̇ + bias

v are the velocity variables of the formalism (q̇, quasi-velocities, momenta or twists), C the non-ideal part of the
constraint forces, and J = A unless a formalism says otherwise. Kernels solve it; nothing is solved here.

Where a formalism has unknowns x behind v̇ that also move the coordinates, as Dirac's multipliers do, q̇ = W v + X + S x is
what is integrated; q̇ without that term are the velocities that belong to v.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dalembert.algebra import Array, Scalar, identity, zeros
from dalembert.algebra.linear import PivotOrder
from dalembert.equations.solver import Solver
from dalembert.equations.surface import Surface
from dalembert.kinematics import Speeds, non_ideal_forces
from dalembert.structure import System


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
    C: Array = field(default_factory=lambda: zeros(0))  # non-ideal force in the space of v; no entries: none
    J: Array | None = None  # multipliers enter as Jᵀλ; None: J = A
    solver: Solver | None = None  # the formalism's own way to v̇ and λ
    extra: int = 0  # unknowns behind v̇ in the linear system
    count: int | None = None  # number of dynamic equations where it is not the number of velocity variables
    S: Array = field(default_factory=lambda: zeros(0))  # q̇ = qd + S x, x the unknowns behind v̇; no entries: q̇ = qd
    power: tuple[Scalar, Array] | None = None  # (a, b): the power is a + b·x; None: that of `equations.power`
    surface: Surface | None = None  # constraints in phase space, where the formalism has them

    @property
    def n_dynamic(self) -> int:
        """The number of dynamic (second-order) equations, as Table 1 of papers/volterra counts them."""
        return len(self.v) if self.count is None else self.count

    @property
    def n_states(self) -> int:
        """The number of state variables."""
        return len(self.system.q) + len(self.v)


def in_velocities(
    formalism: str,
    system: System,
    M: Array,
    f: Array,
    *,
    rows: Literal["none", "independent", "all"] = "none",
    C: Array | None = None,
    order: PivotOrder | None = None,
    solver: Solver | None = None,
    count: int | None = None,
) -> LinearForm:
    """A form whose velocity variables are q̇ itself, with or without the rows A q̈ = β."""
    n = len(system.q)
    A, beta = {
        "none": (zeros(0, n), zeros(0)),
        "independent": (system.A, system.beta),
        "all": (system.constraints.A, system.constraints.beta),
    }[rows]
    return LinearForm(
        formalism,
        system,
        system.qd,
        system.qd,
        system.qd,
        identity(n),
        zeros(n),
        M,
        f,
        A,
        beta,
        order,
        C=non_ideal_forces(system.motion) if C is None else C,
        solver=solver,
        count=count,
    )


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
    C = non_ideal_forces(system.motion)
    return LinearForm(
        formalism,
        system,
        speeds.u,
        speeds.Y @ system.qd + speeds.Z,
        speeds.qd,
        speeds.W,
        system.rate_of(speeds.qd, speeds),
        M,
        system.at_rates(f, speeds.qd),
        zeros(0, len(speeds.u)),
        zeros(0),
        None,
        zeros(0) if constants is None else constants,
        zeros(0) if constants_from is None else constants_from,
        notes,
        C=speeds.W.T @ system.at_rates(C, speeds.qd) if len(C) else C,
    )
