"""Systems of SymPy's mechanics: the accelerations of the models match those of SymPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me

import dalembert as dl
from dalembert.errors import InputError, NotApplicableError

t = me.dynamicsymbols._t  # pyright: ignore[reportFunctionMemberAccess]


def number(expression, at: dict) -> float:
    found: Any = me.msubs(sm.S(expression), at)
    return float(sm.S(found).subs(at))


def rates_by_sympy(method, values: dict, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """q̇ and u̇ of SymPy's own equations, solved in numbers."""
    states = [*method.q, *method.u]
    names = [sm.Dummy() for _ in states]
    table = dict(zip(states, names, strict=True))
    M, f = (me.msubs(part, table) for part in (method.mass_matrix_full, method.forcing_full))
    both = sm.lambdify([names, list(values)], [M, f], "numpy")
    M, f = both(np.concatenate([q, u]), list(values.values()))
    return np.linalg.solve(M, f)[:, 0]


def require_same(system, method, values: dict, start: dict, speeds: list[float], verified: bool = True) -> dl.Model:
    """At a state, SymPy's u̇ match our accelerations."""
    q, u = [*method.q], [*method.u]
    at = dict(zip(q, [start.get(x, 0.0) for x in q], strict=True)) | dict(zip(u, speeds, strict=True)) | values
    kinematic = method.kindiffdict()
    rates = {x: number(kinematic[x.diff(t)], at) for x in q}
    model = dl.load(system, parameters=values, start=start, rates=rates)
    qdd = dl.derive(model, "lagrange", engine=None if verified else "python").accelerations(*model.initial)[: len(q)]
    wanted = rates_by_sympy(method, values, np.array([at[x] for x in q]), np.array(speeds))
    # q̈ of SymPy from its u̇
    second = {x: kinematic[x.diff(t)].diff(t) for x in q}
    slopes = {speed.diff(t): value for speed, value in zip(u, wanted[len(q) : len(q) + len(u)], strict=True)}
    slopes |= {x.diff(t): rates[x] for x in q}
    found = [number(me.msubs(second[x], slopes), at) for x in q]
    assert np.abs(qdd - found).max() < 1e-9 * max(1.0, np.abs(qdd).max())
    if verified:
        assert dl.verify(model).agrees
    return model


def n_link_pendulum(n: int) -> tuple[Any, dict, me.ReferenceFrame]:
    """A cart with n links: particles on massless rods, pushed from the side."""
    q, u = me.dynamicsymbols(f"q:{n + 1}"), me.dynamicsymbols(f"u:{n + 1}")
    m, length, g = sm.symbols(f"m:{n + 1}"), sm.symbols(f"l:{n}"), sm.Symbol("g")
    F: Any = me.dynamicsymbols("F")
    N, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(N, 0)
    P = origin.locatenew("P0", q[0] * N.x)
    P.set_vel(N, u[0] * N.x)
    bodies, loads = [me.Particle("cart", P, m[0])], [(P, F * N.x - m[0] * g * N.y)]
    for i in range(n):
        B = N.orientnew(f"B{i}", "Axis", [q[i + 1], N.z])
        B.set_ang_vel(N, u[i + 1] * N.z)
        last, P = P, P.locatenew(f"P{i + 1}", length[i] * B.x)
        P.v2pt_theory(last, N, B)
        bodies.append(me.Particle(f"bob{i}", P, m[i + 1]))
        loads.append((P, -m[i + 1] * g * N.y))
    kane = me.KanesMethod(N, q_ind=q, u_ind=u, kd_eqs=[x.diff(t) - v for x, v in zip(q, u, strict=True)])
    kane.kanes_equations(bodies, loads)
    return kane, {**dict.fromkeys(m, 0.7), **dict.fromkeys(length, 0.4), g: 9.81, F: 1.5}, N


def rolling_disc() -> tuple[Any, dict, me.ReferenceFrame]:
    """The disc of SymPy's pages: its center has a velocity, but no position."""
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    r, m, g = sm.symbols("r m g")
    N = me.ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [q[0], N.z])
    L = Y.orientnew("L", "Axis", [q[1], Y.x])
    R = L.orientnew("R", "Axis", [q[2], L.y])
    turning = R.ang_vel_in(N)
    R.set_ang_vel(N, u[0] * L.x + u[1] * L.y + u[2] * L.z)
    C = me.Point("C")
    C.set_vel(N, 0)
    centre = C.locatenew("D", r * L.z)
    centre.v2pt_theory(C, N, R)
    inertia = me.inertia(L, m / 4 * r**2, m / 2 * r**2, m / 4 * r**2)
    disc = me.RigidBody("disc", centre, R, m, (inertia, centre))
    kinematic = [turning.dot(axis) - speed for axis, speed in zip(L, u, strict=True)]
    kane = me.KanesMethod(N, q_ind=q, u_ind=u, kd_eqs=kinematic)
    kane.kanes_equations([disc], [(centre, -m * g * Y.z)])
    return kane, {r: 0.4, m: 2.0, g: 9.81}, N


def system_of(kane: Any, N: me.ReferenceFrame) -> me.System:
    """The same as SymPy's `System`, with its equations formed."""
    system = me.System(N)
    system.add_coordinates(*kane.q)
    system.add_speeds(*kane.u)
    system.add_kdes(*(rate - formula for rate, formula in kane.kindiffdict().items()))
    system.add_bodies(*kane.bodies)
    system.add_loads(*(me.Force(point, force) for point, force in kane.loads))
    system.form_eoms()
    return system


def four_bar() -> tuple[me.System, dict, dict]:
    """Three links of SymPy's joints, closed by two equations."""
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    lengths, rho = sm.symbols("l1:5"), sm.Symbol("rho")
    links = [me.RigidBody(f"link{i}", mass=rho * length) for i, length in enumerate(lengths)]
    for link, length in zip(links, lengths, strict=True):
        link.central_inertia = me.inertia(link.frame, 0, 0, rho * length**3 / 12)
    system = me.System.from_newtonian(links[0])
    ends = [(-lengths[i] / 2, lengths[i] / 2) for i in range(4)]
    for i in range(3):
        parent, child = links[i], links[i + 1]
        joint = me.PinJoint(
            f"J{i + 1}",
            parent,
            child,
            coordinates=q[i],
            speeds=u[i],
            parent_point=ends[i][1] * parent.x,
            child_point=ends[i + 1][0] * child.x,
            joint_axis=parent.z,
        )
        system.add_joints(joint)
    start = links[0].masscenter.locatenew("start", ends[0][0] * links[0].x)
    end = links[3].masscenter.locatenew("end", ends[3][1] * links[3].x)
    loop = end.pos_from(start)
    system.add_holonomic_constraints(loop.dot(links[0].x), loop.dot(links[0].y))
    system.q_ind, system.q_dep = [q[0]], q[1:]
    system.u_ind, system.u_dep = [u[0]], u[1:]
    system.apply_uniform_gravity(-sm.Symbol("g") * links[0].y)
    values = {**dict(zip(lengths, (4.0, 2.0, 3.0, 3.5), strict=True)), rho: 1.2, sm.Symbol("g"): 9.81}
    return system, values, {q[0]: 2.0, q[1]: 1.2, q[2]: 1.5}


def test_the_n_link_pendulum():
    kane, values, _ = n_link_pendulum(1)
    require_same(kane, kane, values, dict(zip(kane.q, (0.1, 0.4), strict=True)), [0.3, -0.8], verified=False)


@pytest.mark.nightly
def test_the_n_link_pendulum_as_a_system_is_verified():
    kane, values, N = n_link_pendulum(3)
    start = dict(zip(kane.q, (0.1, 0.4, -0.3, 0.2), strict=True))
    system = system_of(kane, N)
    require_same(system, system.eom_method, values, start, [0.3, -0.8, 0.5, 0.1])


@pytest.mark.nightly
def test_rolling_disk_has_coordinates_of_its_center():
    kane, values, N = rolling_disc()
    start, speeds = dict(zip(kane.q, (0.3, 0.4, 0.2), strict=True)), [0.5, 3.0, -0.2]
    require_same(kane, kane, values, start, speeds, verified=False)
    system = system_of(kane, N)
    model = require_same(system, system.eom_method, values, start, speeds)
    assert model.coordinate_names[3:] == ("disc_x", "disc_y", "disc_z")
    assert len(model.nonholonomic_constraints) == 3


@pytest.mark.nightly
def test_the_four_bar():
    system, values, start = four_bar()
    system.form_eoms()
    model = dl.assemble_model(dl.load(system, parameters=values, start=start))
    assert len(model.holonomic_constraints) == 2
    assert not model.nonholonomic_constraints
    start = dict(zip(system.q, model.initial[0].tolist(), strict=True))
    rows = system.velocity_constraints.jacobian(sm.Matrix(system.q.diff(t)))
    A = np.array(rows.subs(start).subs(values), dtype=float)
    speeds = np.linalg.svd(A)[2][-1].tolist()
    require_same(system, system.eom_method, values, start, speeds)


def test_lagranges_method_is_read_with_its_forces_and_constraints():
    x, y = me.dynamicsymbols("x y")
    m, g, c = sm.symbols("m g c")
    N, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(N, 0)
    P = origin.locatenew("P", x * N.x + y * N.y)
    P.set_vel(N, x.diff() * N.x + y.diff() * N.y)
    L = m * (x.diff() ** 2 + y.diff() ** 2) / 2 - m * g * y
    drag = [(P, -c * P.vel(N))]
    method = me.LagrangesMethod(L, [x, y], forcelist=drag, frame=N, hol_coneqs=[x**2 + y**2 - 1])
    at = {"start": {x: 0.6, y: -0.8}, "rates": {x: 0.8, y: 0.6}, "parameters": {m: 2.0, g: 9.81, c: 0.3}}
    model = dl.load(method, name="pendulum", **at)
    assert model.name == "pendulum"
    # along the circle v̇ = −g y′ − (c/m) v, and v² inwards
    qdd = dl.derive(model).accelerations(*model.initial)
    tangent = np.array([0.8, 0.6])
    assert qdd @ tangent == pytest.approx(-9.81 * 0.6 - 0.15)
    assert qdd @ np.array([0.6, -0.8]) == pytest.approx(-1.0)


def test_rejects_unsupported_systems_with_reason():
    kane, values, _ = n_link_pendulum(1)
    values.pop(sm.Symbol("g"))
    values.pop(me.dynamicsymbols("F"))
    with pytest.raises(InputError, match=r"there is no value for F\(t\), g"):
        dl.load(kane, parameters=values)
    x, y = me.dynamicsymbols("x y")
    with pytest.raises(InputError, match=r"start: y\(t\) is not a coordinate"):
        dl.load(me.LagrangesMethod(x.diff() ** 2, [x]), start={y: 1.0})
    N, P = me.ReferenceFrame("N"), me.Point("P")
    u, aux = me.dynamicsymbols("u a")
    P.set_vel(N, u * N.x + aux * N.y)
    method = me.KanesMethod(N, [x], [u], [x.diff() - u], u_auxiliary=[aux])
    with pytest.raises(NotApplicableError, match=r"auxiliary speeds \(a\(t\)\)"):
        dl.load(method)
    body = me.RigidBody("b")
    system = me.System.from_newtonian(body)
    body.potential_energy = sm.Symbol("k")
    with pytest.raises(NotApplicableError, match="body 'b' has a potential energy"):
        dl.load(system)
