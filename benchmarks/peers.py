"""The gallery's models as a SymPy user would write them, for `LagrangesMethod` and `KanesMethod`.

Written for speed: angular velocities and velocities of points are set explicitly in the frames where they
are short, speeds represent velocities in Kane's method, the kinematic equations are already solved, and nothing is
simplified. Both methods return M and the forcing of M x = forcing, unsolved, as dalembert's derivation
leaves them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me
from sympy import cos, sin


@dataclass(frozen=True)
class Kinematics:
    """A model independent of the method: bodies in velocities `v`, which are q̇ for Lagrange and u for Kane."""

    frame: me.ReferenceFrame
    bodies: list[me.RigidBody]
    loads: list[Any]
    potential: Any = 0


@dataclass(frozen=True)
class Peer:
    """The data of one model for SymPy."""

    name: str
    q: list[Any]
    parameters: list[Any]
    build: Callable[[list[Any]], Kinematics]  # from the velocities that describe the motion
    velocities: list[Any]  # those velocities as functions of q̇
    inverse: Callable[[list[Any]], list[Any]]  # q̇ as functions of them
    constraints: Callable[[list[Any]], list[Any]] = lambda v: []

    @property
    def qd(self) -> list[Any]:
        """The symbols of q̇."""
        return [x.diff(me.dynamicsymbols._t) for x in self.q]


@dataclass(frozen=True)
class Derived:
    """M and the forcing of M (v̇, λ) = forcing, as functions of (q, v)."""

    peer: Peer
    v: list[Any]
    qd: list[Any]  # q̇ as functions of (q, v)
    speeds: list[Any]  # v as functions of (q, q̇)
    M: sm.Matrix
    forcing: sm.Matrix

    def compile(self, parameters: dict[str, float]) -> Callable[[float, np.ndarray], np.ndarray]:
        """ẏ(t, y) for y = (q, v) through NumPy: one function for q̇, M and forcing, and a numeric solve."""
        k, n = len(self.v), len(self.peer.q)
        pieces = _lambdify(self.peer, [*self.peer.q, *self.v], [sm.Matrix(self.qd), self.M, self.forcing])
        constants = [parameters[str(p)] for p in self.peer.parameters]

        def rates(t: float, y: np.ndarray) -> np.ndarray:
            qd, M, forcing = pieces(y.tolist(), constants)
            out = np.empty(n + k)
            out[:n] = qd[:, 0]
            out[n:] = np.linalg.solve(M, forcing)[:k, 0]
            return out

        return rates

    @cached_property
    def _map(self) -> Callable[..., Any]:
        q, qd = sm.Matrix(self.peer.q), sm.Matrix(self.peer.qd)
        u = sm.Matrix(self.speeds)
        return _lambdify(self.peer, [*q, *qd], [u, u.jacobian(qd), u.jacobian(q) * qd])

    def start(self, q: np.ndarray, qd: np.ndarray, parameters: dict[str, float]) -> np.ndarray:
        """y = (q, v) from (q, q̇)."""
        constants = [parameters[str(p)] for p in self.peer.parameters]
        u, _, _ = self._map([*q.tolist(), *qd.tolist()], constants)
        return np.concatenate([q, np.asarray(u, dtype=float)[:, 0]])

    def accelerations(self, q: np.ndarray, qd: np.ndarray, parameters: dict[str, float]) -> np.ndarray:
        """q̈ at one state: v̇ = Y q̈ + (∂v/∂q) q̇ solved for q̈."""
        constants = [parameters[str(p)] for p in self.peer.parameters]
        vd = self.compile(parameters)(0.0, self.start(q, qd, parameters))[len(q) :]
        _, Y, bias = self._map([*q.tolist(), *qd.tolist()], constants)
        return np.linalg.solve(Y, vd - np.asarray(bias, dtype=float)[:, 0])

    def operations(self) -> int:
        """Operations in q̇, M and the forcing after common subexpression elimination, without the linear solve."""
        parts, rest = sm.cse([sm.Matrix(self.qd), self.M, self.forcing])
        return int(sum(sm.count_ops(e) for _, e in parts) + sum(sm.count_ops(e) for e in rest))


def _lambdify(peer: Peer, states: list[Any], outputs: list[Any]) -> Callable[..., Any]:
    """One NumPy function of states and parameters; symbols of time are replaced by plain ones first."""
    plain = [sm.Dummy() for _ in states]
    # derivatives are replaced before their arguments
    table = dict(sorted(zip(states, plain, strict=True), key=lambda pair: not pair[0].is_Derivative))
    replaced = [me.msubs(e, table) for e in outputs]
    return sm.lambdify([plain, peer.parameters], replaced, modules="numpy", cse=True)


# the two methods


def lagrange(peer: Peer) -> Derived:
    """M and forcing by `LagrangesMethod`, in q̇; rows of the constraints follow those of the motion."""
    n, qd = len(peer.q), peer.qd
    parts = peer.build(peer.velocities)
    L = sum(body.kinetic_energy(parts.frame) for body in parts.bodies) - parts.potential
    rows = peer.constraints(peer.velocities)
    options = {"nonhol_coneqs": rows} if rows else {}
    method = me.LagrangesMethod(L, peer.q, frame=parts.frame, **options)
    method.form_lagranges_equations()
    if not rows:
        return Derived(peer, qd, qd, qd, method.mass_matrix, method.forcing)
    return Derived(peer, qd, qd, qd, method.mass_matrix_full[n:, n:], method.forcing_full[n:, :])


def kane(peer: Peer) -> Derived:
    """M and forcing by `KanesMethod`, in speeds; the last speeds are dependent where there are constraints."""
    u = list(me.dynamicsymbols(f"u1:{len(peer.q) + 1}"))
    parts = peer.build(u)
    rows = peer.constraints(u)
    free = len(u) - len(rows)
    qd = peer.inverse(u)
    options = {"u_dependent": u[free:], "velocity_constraints": rows} if rows else {}
    kinematic = [rate - value for rate, value in zip(peer.qd, qd, strict=True)]
    method = me.KanesMethod(parts.frame, peer.q, u[:free], kd_eqs=kinematic, **options)
    method.kanes_equations(parts.bodies, parts.loads or None)
    return Derived(peer, u, qd, peer.velocities, method.mass_matrix, method.forcing)


METHODS: dict[str, Callable[[Peer], Derived]] = {"lagrange": lagrange, "kane": kane}


# the models


def three_bodies() -> Peer:
    """A free body with two hinged panels, in the coordinates and speeds of gallery/three-bodies."""
    q = list(me.dynamicsymbols("psi theta phi gamma1 gamma2 X Y Z"))
    psi, theta, phi, gamma1, gamma2 = q[:5]
    parameters = list(sm.symbols("m mp a b c Ixx Iyy Izz Ixy Ixz Iyz"))
    m, mp, a, b, c, Ixx, Iyy, Izz, Ixy, Ixz, Iyz = parameters

    def build(v: list[Any]) -> Kinematics:
        wx, wy, wz, w1, w2, vx, vy, vz = v
        N, N1, N2, B, P1, P2 = (me.ReferenceFrame(name) for name in ("N", "N1", "N2", "B", "P1", "P2"))
        N1.orient_axis(N, N.z, psi)
        N2.orient_axis(N1, N1.y, theta)
        B.orient_axis(N2, N2.x, phi)
        B.set_ang_vel(N, wx * B.x + wy * B.y + wz * B.z)
        G = me.Point("G")
        G.set_vel(N, vx * N.x + vy * N.y + vz * N.z)
        bodies = [me.RigidBody("middle", G, B, m, (me.inertia(B, Ixx, Iyy, Izz, -Ixy, -Iyz, -Ixz), G))]
        for name, P, side, angle, rate in (("panel1", P1, -1, gamma1, w1), ("panel2", P2, 1, -gamma2, -w2)):
            P.orient_axis(B, B.z, angle)
            P.set_ang_vel(B, rate * B.z)
            hinge = G.locatenew(f"hinge of {name}", b / 2 * B.x + side * a / 2 * B.y)
            hinge.v2pt_theory(G, N, B)
            center = hinge.locatenew(f"center of {name}", -b / 2 * P.x)
            center.v2pt_theory(hinge, N, P)
            inertia = me.inertia(P, mp * c**2 / 12, mp * (b**2 + c**2) / 12, mp * b**2 / 12)
            bodies.append(me.RigidBody(name, center, P, mp, (inertia, center)))
        return Kinematics(N, bodies, [])

    def inverse(u: list[Any]) -> list[Any]:
        wx, wy, wz, *rest = u
        psid = (wy * sin(phi) + wz * cos(phi)) / cos(theta)
        return [psid, wy * cos(phi) - wz * sin(phi), wx + psid * sin(theta), *rest]

    psid, thetad, phid, *rest = (x.diff(me.dynamicsymbols._t) for x in q)
    velocities = [
        phid - psid * sin(theta),
        thetad * cos(phi) + psid * cos(theta) * sin(phi),
        psid * cos(theta) * cos(phi) - thetad * sin(phi),
        *rest,
    ]
    return Peer("three-bodies", q, parameters, build, velocities, inverse)


def cart_pendulum() -> Peer:
    """A cart with two rods and a wheel that does not slip sideways, as in gallery/cart-pendulum (motor switched off)."""
    q = list(me.dynamicsymbols("theta1 theta2 x"))
    theta1, theta2 = q[:2]
    m1, m2, length, g = parameters = list(sm.symbols("m1 m2 l g"))

    def build(v: list[Any]) -> Kinematics:
        relative, vx, w2 = v
        w1 = relative + w2
        N, A, B = (me.ReferenceFrame(name) for name in "NAB")
        A.orient_axis(N, N.z, theta1)
        B.orient_axis(N, N.z, theta2)
        A.set_ang_vel(N, w1 * N.z)
        B.set_ang_vel(N, w2 * N.z)
        hinge, elbow = me.Point("hinge"), me.Point("elbow")
        cart, rod1, rod2 = me.Point("cart"), me.Point("rod1"), me.Point("rod2")
        hinge.set_vel(N, vx * N.x)
        cart.set_vel(N, vx * N.x)
        rod1.set_vel(N, vx * N.x + length / 2 * w1 * A.x)
        elbow.set_vel(N, vx * N.x + length * w1 * A.x)
        rod2.set_vel(N, vx * N.x + length * w1 * A.x + length / 2 * w2 * B.x)
        inertia = m2 * length**2 / 12
        bodies = [
            me.RigidBody("cart", cart, N, m1, (me.inertia(N, 0, 0, 0), cart)),
            me.RigidBody("rod1", rod1, A, m2, (me.inertia(A, inertia, 0, inertia), rod1)),
            me.RigidBody("rod2", rod2, B, m2, (me.inertia(B, inertia, 0, inertia), rod2)),
        ]
        loads = [(body.masscenter, -body.mass * g * N.y) for body in bodies]
        potential = -m2 * g * length * (cos(theta1) * sm.Rational(3, 2) + cos(theta2) / 2) - m1 * g * length
        return Kinematics(N, bodies, loads, potential)

    theta1d, theta2d, xd = (s.diff(me.dynamicsymbols._t) for s in q)
    return Peer(
        "cart-pendulum",
        q,
        parameters,
        build,
        [theta1d - theta2d, xd, theta2d],
        lambda u: [u[0] + u[2], u[2], u[1]],
        lambda v: [length * cos(theta1 - theta2) * (v[0] + v[2]) + length * v[2]],
    )


MODELS: dict[str, Callable[[], Peer]] = {"three-bodies": three_bodies, "cart-pendulum": cart_pendulum}
