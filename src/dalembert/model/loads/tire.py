"""Tire on a plane: forces along the plane from the slip of its lowest point, linear or by the Magic Formula.

| symbol | meaning |
|---|---|
| e_x, e_y | in the plane: rolling direction, axis × normal, and lateral direction |
| V_x | velocity of the center along e_x |
| V_s | velocity of the material point at the lowest point of the wheel, in the plane |
| κ, tan α | longitudinal and lateral slip: −V_s·e_x / U and −V_s·e_y / U, with U = √(V_x² + low_speed²) |
| s | normalized slip (c_x κ, c_y tan α): the force per load at small slip, with the stiffnesses c |

The linear tire has the force load × s. By the Magic Formula of Pacejka and Bakker (The Magic Formula Tyre Model, Vehicle System
Dynamics 21 S1, 1992, 1–18), y = D sin(C arctan(B x − E (B x − arctan(B x)))), it is

    load × μ × sin(C arctan(φ − E (φ − arctan φ))) s/|s|,    φ = |s| / (C μ),

with the friction μ, shape C, curvature E, D = μ × load, and B such that the slope at zero slip is that of the linear tire.
Longitudinal and lateral slip are combined by the norm of the normalized slip, the simplest form of Sharp and Bettella
(Tyre Shear Force and Moment Descriptions by Normalisation of Parameters and the "Magic Formula", Vehicle System Dynamics 39,
2003, 27–56).

Deviates: U instead of |V_x|, so that slip is defined at rest, and |s| is √(s·s + 10⁻¹²). Camber thrust, aligning moment,
rolling resistance and relaxation are neglected.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dalembert.errors import Problem
from dalembert.model.keys import (
    Pair,
    body_name,
    constant,
    constant_length,
    direction,
    fixed_vector,
    moving,
    one_or_two,
    optional_constant,
)
from dalembert.model.loads.base import Applied, Load, LoadKinematics, at_point, vector_of
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Action, MotionProbe, ReferencePoses, VirtualWork, axes_of, point_of
from dalembert.model.values import ZERO, UnitVector, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, scaled, vector
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.rotations import cross, skew
from dalembert.symbolic.symbols import Formula

LOW_SPEED, SHAPE = 0.1, 1.3
_SLIP_REGULARIZATION = Fraction(1, 10**12)  # added to |s|²


@record
class Tire(Load):
    """Add tire forces of a wheel on a plane through the world's origin, from the slip of its lowest point.

    `load` is a formula of the normal load of the wheel; it is not applied as a force. `stiffness` is force per load and slip,
    longitudinal and lateral. Without `mu` the tire is linear; with `mu` it follows the Magic Formula
    D sin(C arctan(B x − E (B x − arctan(B x)))) with D = mu × load, C = `shape`, E = `curvature`, and B from the stiffness.
    `low_speed` regularizes the slip near rest. `axis` and `center` are the wheel's in body axes, `normal` the plane's.

    >>> from dalembert.model.model import Model
    >>> model = Model("wheel").parameters(N=3000.0).coordinate("x", 0.0, 10.0).coordinate("turn", 0.0, 30.0)
    >>> joints = [model.prismatic((1, 0, 0), "x", position=(0, 0, 0.3)), model.revolute((0, 1, 0), "turn")]
    >>> _ = model.body("wheel", joint=joints, mass=300, inertia=(1, 2, 1))
    >>> _ = model.tire("wheel", radius=0.3, load="N", stiffness=(20, 15), mu=0.9)
    >>> model.check()
    []
    """

    kind = "tire"

    body: str = argument(body_name, positional=True, about="the body of the wheel, which spins with it")
    radius: Formula = argument(constant_length, about="a constant")
    load: Formula = argument(
        moving, about="a formula: the normal load of the wheel on the plane; it is not applied as a force"
    )
    stiffness: Pair = argument(
        one_or_two("along", "across"), about="force per load and slip: a constant, or two, `[along, across]`"
    )
    mu: Formula | None = argument(
        optional_constant, None, about="a constant: the largest force per load", absent="none: a linear tire"
    )
    shape: Formula = argument(constant, SHAPE, about="a constant: C of the Magic Formula")
    curvature: Formula = argument(constant, 0, about="a constant: E of the Magic Formula")
    low_speed: Formula = argument(constant, LOW_SPEED, about="a constant: regularization speed of the slip near rest")
    axis: UnitVector = argument(direction, (0, 1, 0), about="three numbers: the axle, in body axes")
    center: Vector3 = argument(fixed_vector, ZERO, about="three constants: the center of the wheel, in body axes")
    normal: UnitVector = argument(
        direction, (0, 0, 1), about="three numbers: the normal of the plane, in world axes, toward the wheel"
    )

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        return [(self.body, self.center)]

    def law(self) -> tuple[str, str]:
        along, across = map(formula_string, self.stiffness)
        top = "linear" if self.mu is None else f"friction {formula_string(self.mu)}"
        return self.kind, f"{top}, stiffness {along} along and {across} across, per load {formula_string(self.load)}"

    def problems(self, table: dict[str, float]) -> list[Problem]:
        keys = ("radius", "low_speed", *(() if self.mu is None else ("mu", "shape")))
        return self._not_positive(keys, table)

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        """The tire force at the material point at the lowest point."""
        frame, algebra, n = motion.frame(self.body), motion.algebra, vector(list(self.normal))
        axis, center = frame.R @ vector(list(self.axis)), vector_of(motion, self.center)
        _, J, c = frame.point(center)
        with np.errstate(all="ignore"):  # a wheel that lies flat on the plane has no rolling direction
            upright = 1 / algebra.sqrt(1 - (n @ axis) * (n @ axis))
            forwards = scaled(upright, cross(axis, n))
            arm = scaled(-motion.lower(self.radius) * upright, n - scaled(n @ axis, axis))
        rotational = skew(arm) @ frame.R
        sliding, drift = J - rotational @ frame.D, c - rotational @ frame.E
        rolling, slip, low = forwards @ (J @ motion.qd + c), sliding @ motion.qd + drift, motion.lower(self.low_speed)
        pace = algebra.sqrt(rolling * rolling + low * low)
        across = cross(n, forwards)
        s = vector(
            [-motion.lower(k) * (e @ slip) / pace for k, e in zip(self.stiffness, (forwards, across), strict=True)]
        )
        size = motion.lower(self.load) * self._share(motion, algebra.sqrt(s @ s + algebra.number(_SLIP_REGULARIZATION)))
        force = scaled(size * s[0], forwards) + scaled(size * s[1], across)
        wrenches = at_point(motion, self.body, center + frame.R.T @ arm, force)
        return [Applied(self.name, force, sliding, drift, wrenches=wrenches)]

    def _share(self, motion: LoadKinematics, slip: Scalar) -> Scalar:
        """The force per load and normalized slip: 1 at zero slip."""
        if self.mu is None:
            return 1
        (mu, C, E), algebra = map(motion.lower, (self.mu, self.shape, self.curvature)), motion.algebra
        phi = slip / (C * mu)
        bent = phi - E * (phi - algebra.function("atan", phi))
        return mu * algebra.sin(C * algebra.function("atan", bent)) / slip

    # verification

    def _down(self, poses: ReferencePoses) -> Array:
        """The vector from the center to the lowest point, in the plane of the wheel."""
        n, axis = vector(list(self.normal)), poses.frames[self.body].along(self.axis)
        down = scaled(n @ axis, axis) - n
        return scaled(poses.lower(self.radius) / poses.algebra.sqrt(down @ down), down)

    def _acting(self, probe: MotionProbe) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The force, the lowest point, and the variation of the material point there."""
        center, axes, arm = point_of(probe, self.body, self.center), axes_of(probe, self.body), probe.traced(self._down)
        x = np.einsum("yak,yk->ak", axes.value, arm.value)  # the arm in body axes
        n = np.array(self.normal, dtype=float)
        axle = np.einsum("xak,a->xk", axes.value, np.array(self.axis, dtype=float))
        along = np.cross(axle, n[:, None], axis=0)
        along = along / np.linalg.norm(along, axis=0)
        across = np.cross(n[:, None], along, axis=0)
        slip = center.rate + np.einsum("yak,ak->yk", axes.rate, x)
        U = np.hypot(np.sum(along * center.rate, axis=0), probe.number(self.low_speed))
        pairs = zip(self.stiffness, (along, across), strict=True)
        s = np.stack([-probe.number(k) * np.sum(e * slip, axis=0) / U for k, e in pairs])
        size, length = probe.number(self.load), np.sqrt(np.sum(s**2, axis=0) + float(_SLIP_REGULARIZATION))
        if self.mu is not None:
            mu, C, E = (probe.number(x) for x in (self.mu, self.shape, self.curvature))
            B, D = 1 / (C * mu), mu * size
            size = D * np.sin(C * np.arctan((1 - E) * B * length + E * np.arctan(B * length))) / length
        force = size * (s[0] * along + s[1] * across)
        return force, center.value + arm.value, center.change + np.einsum("yank,ak->ynk", axes.change, x)

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        force, _, change = self._acting(probe)
        value = np.einsum("xk,xnk->nk", force, change)
        return VirtualWork(self.name, value, np.linalg.norm(force, axis=0) * np.linalg.norm(change, axis=0))

    def actions(self, probe: MotionProbe) -> Iterator[Action]:
        force, point, _ = self._acting(probe)
        yield Action(self.body, force, point, np.zeros((3, probe.K)))
