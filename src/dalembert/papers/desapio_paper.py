"""Reproduction of papers/desapio: the worked examples of chapter 5 and the figures of mechanisms and motions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import dalembert as dl
from dalembert.analysis.energy_ellipsoid import kinetic_energy_ellipsoid
from dalembert.api import load
from dalembert.api.load import Source
from dalembert.display.math.simplify import simplify
from dalembert.formalisms import dalembert
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import levels
from dalembert.mechanics.state_batch import constraint_matrix, one_state
from dalembert.mechanics.system import System
from dalembert.model.model import Model
from dalembert.papers import desapio_figures
from dalembert.papers.printed_values import ClaimResult, Computed, Recipe, keyed_rows
from dalembert.papers.table_cells import Entry
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from sympy import Expr

# integration scheme, model, formulation and options
SCHEMES = (
    ("algorithm3", "serial-arm", "dalembert", {}),
    ("algorithm4", "3-rrr", "dalembert", {"stabilization": desapio_figures.STABILIZATION}),
    ("algorithm5", "gyroscope", "hamilton", {}),
)
# column headers of the gyroscope coefficients
PRODUCTS = ("M1", "M2", "lG2**2*M2", "h**2*M3", "l3**2*M3", "r**2*M3")


def recipe() -> Recipe:
    """Return the functions that compute the examples and draw the figures."""
    tables = {
        "Serial chain": _serial,
        "Sizes": _sizes,
        "Elbow chain": _elbow,
        "Platform": _platform,
        "Closure": _closure,
        "Constants": _constants,
        "Start": _start,
        "Cone": _cone,
        "Gyroscope": _gyroscope,
        "Gyroscope, coefficients": _coefficients,
        "Algorithms": _orders,
        "Equations": desapio_figures.residuals,
    }
    claims = {
        "second-order-schemes": _second_order,
        "drift-of-positions-only": _position_drift,
        "energy-of-the-gyroscope": _gyroscope_energy,
    }
    return Recipe(tables, desapio_figures.pictures(), claims)


def _second_order() -> ClaimResult:
    """Check the orders of Algorithms 3 and 4 over many steps."""
    orders = _orders()["order"][:2]
    return ClaimResult(
        orders == [2, 2], f"orders by halving the step: Algorithm 3 {orders[0]}, Algorithm 4 {orders[1]}."
    )


def _position_drift() -> ClaimResult:
    """Check the drift on position and velocity level of the canonical equations with multipliers, without projection."""
    run = dl.derive("phong-pendulum", "hamilton").simulate(10.0, integrator="rk45", samples=101, project=False)
    drift = dict(zip(run.violation_names, np.abs(run.violation).max(axis=1), strict=True))
    velocity = max(size for name, size in drift.items() if name.endswith("velocity"))
    position = max(size for name, size in drift.items() if not name.endswith("velocity"))
    words = f"phong-pendulum by hamilton, 10 s, rk45 without projection: position {position:.1e} m, velocity {velocity:.1e} m/s"
    more = "the constraint must be differentiated twice for λ, see errata (5.286)."
    return ClaimResult(bool(velocity < 1e-12), f"{words}; {more}")


def _gyroscope_energy() -> ClaimResult:
    error = dl.simulate("gyroscope", formalism="dalembert").energy_error
    return ClaimResult(error < 1e-8, f"relative drift over the run of the model, default integrator: {error:.0e}.")


# models over symbols


@dataclass(frozen=True)
class Terms:
    """A model over symbols, with M, b and g of τ = M q̈ + b + g (5.59)."""

    system: System
    M: Array
    b: Array
    g: Array

    @property
    def velocities(self) -> list[Array]:
        """ω of every body in body axes."""
        return [body.D @ self.system.qd for body in self.system.motion.bodies]


def terms(model: Source) -> Terms:
    """Return the dynamical terms by d'Alembert's principle."""
    system = dl.derive(model, "dalembert").workspace.symbolic
    return Terms(system, *map(dalembert.derive(system).value, "Mbg"))


def formula_strings(entries: Iterable[Formula]) -> list[Entry]:
    """Return simplified formulas in the syntax of the printed ones.

    >>> formula_strings(terms("gyroscope").M[2])
    ['(-1/2)*r**2*M3*sin(q2)', '0', '(1/2)*r**2*M3']
    """
    return [re.sub(r"dot\((\w+)\)", r"\1_dot", str(simplify(entry))) for entry in entries]


# Section 5.2.4


def _serial() -> Computed:
    """Compute mass centers, angular velocities and moments of inertia of the four links, parameters and initial state."""
    found, model = terms("serial-arm"), load.description_of("serial-arm")
    bodies, values = found.system.motion.bodies, model.parameter_values
    centers = np.stack([body.p_WG for body in bodies])
    q, qd = model.initial
    rows = [
        formula_strings(centers[:, 0]),
        formula_strings(centers[:, 1]),
        formula_strings(w[2] for w in found.velocities),
        formula_strings(body.inertia[2, 2] for body in bodies),
        *([values[f"{letter}{i}"] for i in range(1, 5)] for letter in "rlM"),
        q.tolist(),
        qd.tolist(),
    ]
    return keyed_rows("desapio", "Serial chain", rows)


# Section 5.2.5


def _sizes() -> Computed:
    """Compute n, m and p = n − rank Φ."""
    rows: list[list[Entry]] = []
    for model in map(load.description_of, ("stewart-platform", "3-rrr")):
        (Phi,) = constraint_matrix(model, levels(model), one_state(*model.initial))
        rows.append([Phi.shape[1], Phi.shape[0], Phi.shape[1] - int(np.linalg.matrix_rank(Phi))])  # (5.77)
    return keyed_rows("desapio", "Sizes", rows)


def _elbow() -> Computed:
    """Compute Γ_l, Γ_G, M, b and g of one arm with different lengths and masses."""
    model = Model("elbow", gravity=(0, "-g", 0)).coordinates("q1", "q2")
    model.parameters(l1=1.0, l2=1.0, M1=1.0, M2=1.0, g=9.81)
    model.body("near", joint=model.revolute((0, 0, 1), "q1"), mass="M1", center=("l1/2", 0, 0))
    far = model.revolute((0, 0, 1), "q2", position=("l1", 0, 0))
    model.body("far", joint=far, parent="near", mass="M2", center=("l2/2", 0, 0))
    found = terms(model)
    near, far = (body.B[:2] for body in found.system.motion.bodies)
    tip = 2 * far - 2 * near  # the center of a link is the midpoint of its ends
    return keyed_rows(
        "desapio", "Elbow chain", [formula_strings(row) for row in (*tip, *near, *far, *found.M, found.b, found.g)]
    )


def _platform() -> Computed:
    """Compute M, b and g of the last three coordinates."""
    found = terms("3-rrr")
    return keyed_rows(
        "desapio", "Platform", [formula_strings(row) for row in (*found.M[6:, 6:], found.b[6:], found.g[6:])]
    )


def _closure() -> Computed:
    """Compute Γ_p of the corners from Φ = (… −Γ_p) of (5.123)."""
    equations = dl.derive("3-rrr", "lagrange")
    q, qd = equations.model.initial

    def Gamma(angle: float) -> np.ndarray:
        _, _, Phi, _ = equations.workspace.manifold.evaluate(np.array([*q[:8], angle]), qd, 0.0, equations.values)
        return -Phi[:, 6:].reshape(3, 2, 3)

    # the last column is R (−sin(a + q9), cos(a + q9)); a corner at a negative angle is written with a − q9
    here, there = Gamma(0.0), Gamma(np.pi / 2)
    angle = np.arctan2(-here[:, 0, 2], -there[:, 0, 2])
    angle = np.where(angle < -np.pi / 2, angle + 2 * np.pi, angle)
    R = here[:, 1, 2] / np.cos(angle)
    rows = [here[:, 0, 0], here[:, 1, 1], -R * np.sign(angle), R, R, np.abs(angle)]
    return keyed_rows("desapio", "Closure", [row.tolist() for row in rows])


def _constants() -> Computed:
    """Return the parameter values of the model."""
    values = load.description_of("3-rrr").parameter_values
    return keyed_rows("desapio", "Constants", [[values[name] for name in ("l", "M", "Mp", "Ip")]])


def _start() -> Computed:
    """Return the initial state of the model."""
    return keyed_rows("desapio", "Start", [part.tolist() for part in load.description_of("3-rrr").initial])


# Section 5.3.3


def _cone() -> Computed:
    """Integrate the inertia of a solid cone, and compute its kinetic energy ellipsoid."""
    import sympy as sp

    M, h, R = sp.symbols("M h R", positive=True)
    r, z = sp.symbols("r z", positive=True)

    def mean(value: Expr) -> Expr:
        """Return the average over the cone, with the apex at z = 0."""
        return sp.integrate(sp.integrate(value * 2 * sp.pi * r, (r, 0, R * z / h)), (z, 0, h)) / (sp.pi * R**2 * h / 3)

    across, along = M * mean(r**2 / 2 + z**2), M * mean(r**2)  # about the apex
    central = [sp.factor(across - M * mean(z) ** 2)] * 2 + [along]
    values = {M: 1, h: 1, R: sp.Rational(3, 4)}
    rows: list[list[Entry]] = [[str(entry) for entry in central]]
    for moments in (central, [across, across, along]):
        diagonal = np.array(sp.Matrix(moments).subs(values).tolist(), dtype=float).ravel()
        found = kinetic_energy_ellipsoid(np.diag(diagonal), 1.0)
        order = np.argsort(np.argsort(diagonal, kind="stable"))  # in the order of the cone axes
        rows += [found.moments[order].tolist(), found.semiaxes[order].tolist()]
    return keyed_rows("desapio", "Cone", rows)


# Section 5.3.5


def _gyroscope() -> Computed:
    """Compute all printed formulas."""
    found, model = terms("gyroscope"), load.description_of("gyroscope")
    bodies = found.system.motion.bodies
    height = sum(body.mass * (body.p_WG[2] + 2.5) for body in bodies)  # (5.255) is measured from z = −2.5
    g = found.system.algebra.symbols(["g"])[0]
    rows = [
        *(formula_strings(w) for w in found.velocities),
        *(formula_strings(row) for body in bodies for row in body.B),
        *(formula_strings(row) for body in bodies for row in body.D),
        *(formula_strings(np.diag(body.inertia)) for body in bodies),
        *(formula_strings(row) for row in found.M),
        formula_strings(found.b),
        formula_strings(found.g),
        [*formula_strings([g * height]), None, None],
        *(part.tolist() for part in model.initial),
    ]
    computed = dict(keyed_rows("desapio", "Gyroscope", rows))
    # the next table compares the coefficients of these entries
    for row, columns in {"M, row 1 (5.249)": (0,), "M, row 2 (5.249)": (1,), "b (5.250)": (0, 1)}.items():
        computed[row] = [None if k in columns else entry for k, entry in enumerate(computed[row])]
    return computed


def _coefficients() -> Computed:
    """Compute the coefficients of products of parameters in M₁₁, M₂₂, b₁, b₂ and 2T = q̇ᵀM q̇."""
    import sympy as sp

    found = terms("gyroscope")
    M, b = (  # also expands sin 2q₂
        sp.Matrix(
            len(part), part.size // 3, [sp.expand_trig(sp.parse_expr(str(x))) for x in formula_strings(part.flat)]
        )
        for part in (found.M, found.b)
    )
    v1, v2, v3 = v = sp.symbols("q1_dot q2_dot q3_dot")
    C, s, c = sp.Symbol("C"), sp.Symbol("s"), sp.cos(sp.Symbol("q2"))  # C = cos 2q₂, s = sin q₂
    b1, b2 = sp.cancel(b[0] / (-2 * c * v2)), sp.cancel(b[1] / (c * v1))
    energy = (sp.Matrix([v]) * M * sp.Matrix(v))[0]
    rows = [
        (M[0, 0], 1),
        (M[0, 0], C),
        (M[1, 1], 1),
        *((b1, x) for x in (s * v1, v3)),
        *((b2, x) for x in (s * v1, v3)),
        *((energy, x) for x in (v1**2, C * v1**2, v2**2, s * v1 * v3, v3**2)),
    ]
    return keyed_rows("desapio", "Gyroscope, coefficients", [_numbers(value, factor) for value, factor in rows])


def _numbers(value: Expr, factor: Expr | int) -> list[Entry]:
    """Return the coefficients of the column products times a factor; None if zero."""
    import sympy as sp

    q2, C, s = sp.Symbol("q2"), sp.Symbol("C"), sp.Symbol("s")
    angles = [(sp.cos(q2) ** 2, (1 + C) / 2), (sp.sin(q2) ** 2, (1 - C) / 2), (sp.sin(q2), s)]
    poly = sp.Poly(sp.expand(value).subs(angles), *sp.symbols("M1:4 lG2 l3 r h q1_dot q2_dot q3_dot"), C, s)
    found = [poly.coeff_monomial(sp.sympify(f"{product}*({factor})")) for product in PRODUCTS]
    return [float(number) if number else None for number in found]


# the three schemes


def _orders() -> Computed:
    """Compute the orders of the schemes: log₂ of the error ratio for half the step, over many steps and over one."""
    found = [_errors(*scheme) for scheme in SCHEMES]
    many, single = (np.log2([full / half for full, half in errors]) for errors in zip(*found, strict=True))
    return keyed_rows(
        "desapio", "Algorithms", [np.rint(many).astype(int).tolist(), np.rint(single - 1).astype(int).tolist()]
    )


def _errors(scheme: str, name: str, formalism: str, options: dict) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the errors of q for two step sizes, after 0.4 s and after one step, from a random consistent state."""
    equations = dl.derive(name, formalism)
    state = state_batch.consistent_states(equations.model, 1)
    q0, qd0 = state.q[:, 0], state.qd[:, 0]

    def error(duration: float, step: float) -> float:
        exact = equations.simulate(duration, samples=2, q0=q0, qd0=qd0)
        run = equations.simulate(duration, samples=2, q0=q0, qd0=qd0, integrator=scheme, step=step, **options)
        return float(np.abs(run.q[:, -1] - exact.q[:, -1]).max())

    return (error(0.4, 1e-3), error(0.4, 5e-4)), (error(2e-3, 2e-3), error(1e-3, 1e-3))
