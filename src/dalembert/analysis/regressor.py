"""The inertial parameter regressor of a tree of bodies: the torques are linear in masses, first moments and inertias.

    τ = Y(q, q̇, q̈) π + τ₀,    π = (m, m c_x, m c_y, m c_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz) of every body,

with c the center of mass from the origin of the body and I the inertia *about that origin*, both in body axes: the parameters
and order of Pinocchio's `computeJointTorqueRegressor`. τ₀ are the loads of the model other than gravity, and rotors.
For one body with angular velocity ω, angular acceleration α and acceleration a of the origin minus gravity, in body axes,

    f = m a + (α× + ω×ω×) m c,    n = m c × a + I α + ω × I ω,    τ = J_vᵀ f + J_ωᵀ n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.analysis.fit import Estimate
from dalembert.api.compiled_calls import Numbers
from dalembert.api.dynamics import Dynamics, dynamics
from dalembert.api.load import accepts_source
from dalembert.arguments import as_finite_array
from dalembert.errors import InputError, NotApplicableError
from dalembert.mechanics.rank import TOLERANCE
from dalembert.model.description import Description, Elements
from dalembert.model.elements import Body
from dalembert.model.evaluation import value
from dalembert.model.immutable import FrozenValue
from dalembert.recursive.constraint_batch import require_tree
from dalembert.tables import Table, Tabular, format_cell

LETTERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
_INERTIA_ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))  # of the six independent entries of an inertia
_ROUNDS = 3  # iterations of the noise estimate of every joint
# parameters by priority: base parameters are chosen in this order
_PRIORITIES = ("Izz", "Ixy", "Ixz", "Iyz", "Ixx", "Iyy", "mx", "my", "mz", "m")
_SMALL = 1e-9  # relative to the largest: smaller coefficients of a combination are rounding errors


@dataclass(frozen=True, repr=False)
class Regressor(FrozenValue, Tabular):
    """The joint torques as a linear function of the inertial parameters.

    >>> import dalembert as dl
    >>> arm = dl.regressor("robot-2-link")
    >>> q, qd, qdd = np.array([[0.3, 0.4], [0.1, -0.2], [1.0, 2.0]])
    >>> tau = arm.matrix(q, qd, qdd) @ arm.values + arm.rest(q, qd, qdd)
    >>> bool(np.allclose(tau, dl.inverse_dynamics("robot-2-link", q, qd, qdd)))
    True
    """

    dynamics: Dynamics

    @property
    def _model(self) -> Description:
        return self.dynamics.model

    @property
    def bodies(self) -> tuple[str, ...]:
        """The bodies, in the order of the parameters."""
        return tuple(body.name for body in self._model.bodies)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, ten of every body."""
        return tuple(f"{letter}({body})" for body in self.bodies for letter in LETTERS)

    @cached_property
    def values(self) -> np.ndarray:
        """π of the model."""
        known = self._model.parameter_values
        return np.concatenate([_inertial_parameters(body, known) for body in self._model.bodies])

    @cached_property
    def _gravity(self) -> np.ndarray:
        return np.array([value(g, self._model.parameter_values) for g in self._model.gravity])

    def matrix(self, q: Numbers, qd: Numbers, qdd: Numbers, t: Numbers = 0.0) -> np.ndarray:
        """Y at one state, (speeds, parameters), or at a batch of states, (speeds, parameters, batch)."""
        states = [as_finite_array(x, name) for x, name in ((q, "q"), (qd, "qd"), (qdd, "qdd"))]
        single = states[0].ndim == 1
        positions, speeds, rates = (x[:, None] if single else x for x in states)
        blocks = [self._body_columns(body, positions, speeds, rates, t) for body in self.bodies]
        found = np.concatenate(blocks, axis=1)
        return found[..., 0] if single else found

    def _body_columns(self, body: str, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, t: Numbers) -> np.ndarray:
        """The columns of one body, (speeds, 10, batch)."""
        arm = self.dynamics.kinematics
        R, J = arm.pose(q, body, t).rotation, arm.jacobian(q, body, t=t)
        w, rates = arm.velocity(q, qd, body, t=t).angular, arm.acceleration(q, qd, qdd, body, t=t)
        R = np.broadcast_to(R if R.ndim == 3 else R[..., None], (3, 3, q.shape[1]))
        w, alpha, a = (
            np.einsum("ji...,j...->i...", R, x) for x in (w, rates.angular, rates.linear - self._gravity[:, None])
        )
        f, n = np.zeros((3, 10, q.shape[1])), np.zeros((3, 10, q.shape[1]))
        f[:, 0] = a
        f[:, 1:4] = _cross(alpha) + np.einsum("ij...,jk...->ik...", _cross(w), _cross(w))
        n[:, 1:4] = -_cross(a)
        n[:, 4:] = _inertia(alpha) + np.einsum("ij...,jk...->ik...", _cross(w), _inertia(w))
        force, moment = (np.einsum("ij...,jk...->ik...", R, x) for x in (f, n))
        return np.einsum("in...,ik...->nk...", J[:3], force) + np.einsum("in...,ik...->nk...", J[3:], moment)

    def rest(self, q: Numbers, qd: Numbers, qdd: Numbers, t: Numbers = 0.0) -> np.ndarray:
        """τ₀: the torques of loads other than gravity, and of rotors, in addition to Y π."""
        known = np.einsum("nk...,k->n...", self.matrix(q, qd, qdd, t), self.values)
        return self.dynamics.inverse(q, qd, qdd, t) - known

    def base(self, states: int = 200, seed: int = 0) -> BaseParameters:
        """The base parameters: combinations that the torques depend on, from random states; see `BaseParameters`.

        >>> import dalembert as dl
        >>> dl.regressor("robot-2-link").base().rank
        6
        """
        if states < 1:
            raise InputError(f"base, states: got {states}. Expected an int >= 1.")
        rng, tree = np.random.default_rng(seed), self.dynamics.plan.tree
        q0, n = np.array(self._model.initial[0]), len(tree.speed_names)
        q = q0[:, None] + rng.uniform(-np.pi, np.pi, (len(q0), states))
        for attitude in tree.attitudes:
            quaternion = rng.normal(size=(4, states))
            q[list(attitude.parts)] = quaternion / np.linalg.norm(quaternion, axis=0)
        qd, qdd = rng.uniform(-3, 3, (2, n, states))
        Y = np.moveaxis(self.matrix(q, qd, qdd), 1, 2).reshape(-1, len(self.names))
        return base_parameters_of(Y, self.names, self.values, states)

    def identify(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        tau: Numbers,
        t: Numbers = 0.0,
        *,
        base: BaseParameters | None = None,
    ) -> Identification:
        """Identify the base parameters from torques (speeds, samples) along a trajectory, with uncertainties.

        The noise of every joint is estimated from the residuals. τ₀ is that of the model.
        """
        known = self.base() if base is None else base
        Y, torques = self.matrix(q, qd, qdd, t), as_finite_array(tau, "tau")
        if Y.ndim != 3 or torques.shape != (len(Y), Y.shape[2]):
            raise InputError(
                f"identify: tau has shape {torques.shape}. Expected ({len(Y)}, samples), with q, qd and qdd of as many samples."
            )
        return identified(Y[:, list(known.columns)], torques - self.rest(q, qd, qdd, t), known)

    def tables(self) -> tuple[Table, ...]:
        """The parameters of every body."""
        rows = [
            (body, *(format_cell(float(x)) for x in self.values[10 * i : 10 * i + 10]))
            for i, body in enumerate(self.bodies)
        ]
        title = f"{self._model.name}: inertial parameters, inertias about the origins of the bodies"
        return (Table(("body", *LETTERS), tuple(rows), title),)

    def __repr__(self) -> str:
        return f"<Regressor of '{self._model.name}': {len(self.bodies)} bodies, {len(self.names)} parameters>"


@accepts_source
def regressor(model: Elements, *, engine: str | None = None) -> Regressor:
    """The inertial parameter regressor (joint torque regressor) of a tree of bodies; see `Regressor`.

    Parameters
    ----------
    model : Model, Description, str or Path
        A tree of bodies without loops and constraints, the name of an example model, or a model file.
    engine : {"native", "python"}, optional
        By default native if llvmlite is installed.

    Returns
    -------
    Regressor
        Functions for Y of shape (speeds, 10 · bodies), τ₀, base parameters and identification.

    Raises
    ------
    NotApplicableError
        The model is not a tree of bodies, has a Python law, or has a load that depends on masses.

    Examples
    --------
    >>> from dalembert.io import gallery
    >>> regressor(gallery.load("robot-2-link"))
    <Regressor of 'robot-2-link': 2 bodies, 20 parameters>
    """
    model.refuse_laws("regressor", "Remove the law: the torques are the measured quantities.")
    found = Regressor(dynamics(model, engine=engine))
    require_tree(found.dynamics.plan, "the regressor")
    for load in model.loads:
        if load.kind == "point_gravity":
            raise NotApplicableError(
                f"regressor: {load.title} depends on the masses of bodies, which are unknown parameters. Remove it."
            )
    return found


def _inertial_parameters(body: Body, known: dict[str, float]) -> np.ndarray:
    """The ten parameters of a body."""
    m = value(body.mass, known)
    c = np.array([value(x, known) for x in body.center])
    inertia = np.array([[value(x, known) for x in row] for row in np.asarray(body.inertia, dtype=object).reshape(3, 3)])
    about = inertia + m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([m, *(m * c), *(about[entry] for entry in _INERTIA_ENTRIES)])


def _cross(v: np.ndarray) -> np.ndarray:
    """v× as matrices (3, 3, batch)."""
    zero = np.zeros_like(v[0])
    return np.array([[zero, -v[2], v[1]], [v[2], zero, -v[0]], [-v[1], v[0], zero]])


def _inertia(w: np.ndarray) -> np.ndarray:
    """The matrix (3, 6, batch) that maps the six independent entries of I to I w."""
    out = np.zeros((3, 6, *w.shape[1:]))
    for k, (i, j) in enumerate(_INERTIA_ENTRIES):
        out[i, k] += w[j]
        if i != j:
            out[j, k] += w[i]
    return out


@dataclass(frozen=True, repr=False)
class Identification(FrozenValue, Tabular):
    """Base parameters with uncertainties."""

    base: BaseParameters
    x: np.ndarray  # in the order of the base parameters
    covariance: np.ndarray
    sigma: np.ndarray  # the noise of every joint, from the residuals
    condition: float  # of the weighted regressor with normalized columns: near 1 for a persistently exciting trajectory

    @property
    def estimates(self) -> dict[str, Estimate]:
        """The values with their standard deviations, by the names of the combinations."""
        size = np.sqrt(np.diag(self.covariance))
        return {name: Estimate(float(x), float(s)) for name, x, s in zip(self.base.names, self.x, size, strict=True)}

    def tables(self) -> tuple[Table, ...]:
        """The combinations, as identified and in the model."""
        rows = [
            (name, f"{found.value:.6g}", f"{found.sigma:.2g}", format_cell(float(known)))
            for (name, found), known in zip(self.estimates.items(), self.base.values, strict=True)
        ]
        joints = ", ".join(f"{x:.3g}" for x in self.sigma)
        noise = f"Noise of the joints: {joints}. Condition of the motion: {self.condition:.3g}."
        return (Table(("combination", "value", "± σ", "in the model"), tuple(rows), "", (noise,)),)

    def __repr__(self) -> str:
        return f"<Identified: {self.base.rank} base parameters>"


def identified(Y: np.ndarray, tau: np.ndarray, base: BaseParameters) -> Identification:
    """Identify base parameters from torques (joints, samples) and Y (joints, rank, samples); weights are 1/noise."""
    joints, rank, samples = Y.shape
    if joints * samples <= rank:
        raise InputError(
            f"identify: {rank} base parameters cannot be identified from {joints * samples} torques. Measure more samples."
        )
    weights = np.ones(joints)
    for _ in range(_ROUNDS):
        x, *_ = _solved(Y, tau, weights, base)
        residuals = tau - np.einsum("jrs,r->js", Y, x)
        noise = np.sqrt((residuals**2).sum(axis=1) / max(samples - rank / joints, 1.0))
        weights = 1.0 / np.maximum(noise, 1e-14 * max(float(np.abs(tau).max()), 1e-300))
    x, covariance, condition = _solved(Y, tau, weights, base)
    return Identification(base, x, covariance, 1.0 / weights, condition)


def _solved(
    Y: np.ndarray, tau: np.ndarray, weights: np.ndarray, base: BaseParameters
) -> tuple[np.ndarray, np.ndarray, float]:
    """Weighted least squares: the solution, its covariance, and the condition number."""
    A = np.moveaxis(Y * weights[:, None, None], 1, 2).reshape(-1, Y.shape[1])
    size = np.linalg.norm(A, axis=0)
    if not (size > 0).all():
        raise InputError(
            f"identify: the trajectory does not excite {base.names[int(np.argmin(size))]}. Measure another trajectory."
        )
    U, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    if s[-1] <= TOLERANCE * s[0]:
        raise InputError(
            "identify: the trajectory does not excite all base parameters (rank-deficient regressor). Measure another one."
        )
    parts = (Vt.T / s) / size[:, None]
    return parts @ (U.T @ (tau * weights[:, None]).ravel()), parts @ parts.T, float(s[0] / s[-1])


@dataclass(frozen=True, repr=False)
class BaseParameters(FrozenValue, Tabular):
    """Linear combinations `combine` π of the parameters, one for each independent column of the regressor."""

    columns: tuple[int, ...]
    combine: np.ndarray  # (rank, parameters)
    parameters: tuple[str, ...]
    values: np.ndarray  # of the combinations in the model
    states: int  # at which the rank was tested
    gap: tuple[float, float]  # the smallest relative singular value above the rank tolerance, and the largest below it

    @property
    def rank(self) -> int:
        """The number of base parameters."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Each combination as a sum."""
        return tuple(_as_sum(row, self.parameters, lead) for row, lead in zip(self.combine, self.columns, strict=True))

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """The parameters that no torque depends on."""
        return tuple(name for name, column in zip(self.parameters, self.combine.T, strict=True) if not column.any())

    def tables(self) -> tuple[Table, ...]:
        """The combinations with their values."""
        rows = [(name, format_cell(float(x))) for name, x in zip(self.names, self.values, strict=True)]
        low, high = self.gap
        title = f"{self.rank} base parameters of {len(self.parameters)}"
        note = (
            f"The rank was tested at {self.states} random states: the smallest nonzero relative singular value is {low:.1e}, the "
            f"others are at most {high:.1e}. Random states can underestimate the rank; they cannot overestimate it."
        )
        unused = f"No torque depends on {', '.join(self.unidentifiable)}." if self.unidentifiable else ""
        return (Table(("combination", "value"), tuple(rows), title, tuple(x for x in (note, unused) if x)),)

    def __repr__(self) -> str:
        return f"<BaseParameters: {self.rank} of {len(self.parameters)}, tested at {self.states} random states>"


def base_parameters_of(Y: np.ndarray, names: Sequence[str], values: np.ndarray, states: int) -> BaseParameters:
    """The base parameters of a regressor matrix.

    >>> found = base_parameters_of(np.array([[1.0, 2.0, 0.0], [3.0, 6.0, 0.0]]), ["a", "b", "c"], np.array([1.0, 1.0, 1.0]), 2)
    >>> found.names, found.values.tolist(), found.unidentifiable
    (('a + 2·b',), [3.0], ('c',))
    """
    size = np.linalg.norm(Y, axis=0)
    used = np.flatnonzero(size > TOLERANCE * max(float(size.max(initial=0.0)), 1e-300))
    order = np.array(sorted(used.tolist(), key=lambda k: (_priority(names[k]), k)), dtype=np.intp)
    columns = np.sort(order[_independent(Y[:, order] / size[order])])
    B, *_ = np.linalg.lstsq(Y[:, columns] / size[columns], Y[:, used] / size[used], rcond=None)
    combine = np.zeros((len(columns), len(names)))
    combine[:, used] = B * size[used] / size[columns][:, None]
    combine[np.abs(combine) < _SMALL * np.abs(combine).max(axis=1, keepdims=True)] = 0.0
    combine[:, columns] = np.eye(len(columns))
    sigma = np.linalg.svd(Y[:, used] / size[used], compute_uv=False)
    sigma = sigma / sigma[0]
    gap = float(sigma[len(columns) - 1]), float(sigma[len(columns)]) if len(columns) < len(sigma) else 0.0
    return BaseParameters(tuple(columns.tolist()), combine, tuple(names), combine @ values, states, gap)


def _priority(name: str) -> int:
    """The rank of a parameter in the priorities."""
    letter = name.partition("(")[0]
    return _PRIORITIES.index(letter) if letter in _PRIORITIES else 0


def _independent(Y: np.ndarray) -> list[int]:
    """The columns that are linearly independent of the preceding chosen ones."""
    chosen: list[int] = []
    Q = np.zeros((len(Y), 0))
    for k in range(Y.shape[1]):
        part = Y[:, k] - Q @ (Q.T @ Y[:, k])
        part = part - Q @ (Q.T @ part)
        length = float(np.linalg.norm(part))
        if length > TOLERANCE:
            chosen.append(k)
            Q = np.column_stack([Q, part / length])
    return chosen


def _as_sum(row: np.ndarray, names: Sequence[str], lead: int) -> str:
    """A combination as a sum, with the parameter of its column first."""
    order = [lead, *(k for k in np.flatnonzero(row) if k != lead)]
    out = ""
    for k in order:
        c = float(row[k])
        sign = ("− " if c < 0 else "+ ") if out else ("−" if c < 0 else "")
        factor = "" if abs(abs(c) - 1) < 1e-9 else f"{abs(c):.6g}·"
        out += f"{' ' if out else ''}{sign}{factor}{names[k]}"
    return out
