"""Newton–Euler: absolute twists, and the wrench that the joints exert on every body."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.kinematics import samples
from dalembert.model import Model

G, M, L, INERTIA = 9.81, 2.0, 0.6, 0.05


def pendulum() -> Model:
    model = Model("pendulum", gravity=(0, -G, 0)).coordinate("th", 0.4, 1.1)
    joint = model.revolute((0, 0, 1), "th")
    return model.body("bob", joint=joint, mass=M, center=(0, -L, 0), inertia=(INERTIA, INERTIA, INERTIA))


def wrenches(eom, q, qd, t=0.0):
    """w_C of every body: force in world axes and moment about the mass centre in body axes."""
    q, qd = np.asarray(q, float), np.asarray(qd, float)
    values = eom.workspace.values()
    v, _ = eom.kernel.start(q, qd, t, values)
    _, _, lam = eom.kernel.accelerations(q, v, t, values)
    return lam[: 6 * len(eom.model.bodies)].reshape(-1, 6)


def test_twists_are_absolute_velocities():
    model = Model("arm").coordinates("a", "b")
    model.body("upper", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(0.5, 0, 0), inertia=(1, 1, 1))
    elbow = model.revolute((0, 1, 0), "b", position=(1, 0, 0))
    model.body("lower", parent="upper", joint=elbow, mass=1, center=(0.5, 0, 0), inertia=(1, 1, 1))
    eom = dl.derive(model, "newton_euler", engine="portable")
    assert eom.velocity_names[:6] == ("vx(upper)", "vy(upper)", "vz(upper)", "wx(upper)", "wy(upper)", "wz(upper)")
    a, b, ad, bd = 0.3, -0.5, 0.7, 1.2
    twists, _ = eom.kernel.start(np.array([a, b]), np.array([ad, bd]), 0.0, np.zeros(0))
    along, across = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0])
    up = np.array([0, 0, 1.0])
    assert np.allclose(twists[:6], [*(0.5 * ad * across), 0, 0, ad])
    lower = (1 + 0.5 * np.cos(b)) * ad * across + 0.5 * bd * (-np.sin(b) * along - np.cos(b) * up)
    assert np.allclose(twists[6:9], lower)
    assert np.allclose(twists[9:], [-np.sin(b) * ad, bd, np.cos(b) * ad])  # body axes
    assert np.allclose(eom.kernel.velocities(np.concatenate([[a, b], twists]), 0.0, np.zeros(0)), [ad, bd])


def test_a_hanging_weight_is_carried_by_its_joint():
    eom = dl.derive(pendulum(), "newton_euler", engine="portable")
    assert np.allclose(wrenches(eom, [0.0], [0.0]), [[0, M * G, 0, 0, 0, 0]])


def test_the_joint_of_a_swinging_pendulum():
    th, w = 0.8, 1.3
    eom = dl.derive(pendulum(), "newton_euler", engine="portable")
    angular = -M * G * L * np.sin(th) / (INERTIA + M * L**2)
    assert eom.accelerations([th], [w]) == pytest.approx([angular])
    along, inwards = np.array([np.cos(th), np.sin(th), 0]), np.array([-np.sin(th), np.cos(th), 0])
    force = M * L * (angular * along + w**2 * inwards) + [0, M * G, 0]
    moment = np.cross(L * inwards, force)  # of the force in the joint, about the mass centre
    assert np.allclose(wrenches(eom, [th], [w]), [[*force, *moment]])
    assert moment[2] == pytest.approx(INERTIA * angular)


def test_joint_wrenches_do_no_power_but_that_of_drives_and_constraints(random_tree):
    # Nᵀ w_C = τ + Aᵀλ, here with N by differences of positions
    model = random_tree(8, bodies=3, coordinates=3, loads=("joint_torque", "force"), holonomic=1)
    eom = dl.derive(model, "newton_euler", engine="portable")
    states = samples.consistent(model, 3)
    lagrange = dl.derive(model, "lagrange", engine="portable")
    reaction = lagrange.reactions(states.q, states.qd, states.t)
    for k in range(3):
        q, qd, t = states.q[:, k], states.qd[:, k], states.t[k]
        twist = lambda rates, q=q, t=t: eom.kernel.start(q, rates, t, eom.workspace.values())[0]  # noqa: E731
        N = np.array([twist(qd + unit) - twist(qd) for unit in np.eye(len(q))]).T
        joint = next(load for load in model.loads if load.name.startswith("joint_torque"))
        push = float(joint.value.subs(table(model, q, qd, t)))
        body = next(b for b in model.bodies if b.name == joint.body)
        slope = [
            float(body.joints[joint.joint].value.diff(c).subs(table(model, q, qd, t))) for c in model.coordinate_names
        ]
        total = N.T @ wrenches(eom, q, qd, t).ravel()
        assert np.allclose(total, push * np.array(slope) + reaction[:, k], rtol=1e-9, atol=1e-9)


def table(model, q, qd, t):
    names = model.coordinate_names
    rates = {f"dot({name})": value for name, value in zip(names, qd, strict=True)}
    return {**model.parameter_values, **dict(zip(names, q, strict=True)), **rates, "t": t}


def test_it_counts_six_equations_for_every_body():
    eom = dl.derive(dl.load("double-pendulum"), "newton_euler", engine="portable")
    assert (eom.n_dynamic, eom.n_states) == (12, 2 + 12)
