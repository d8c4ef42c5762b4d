"""Constraints that do work: multipliers of M q̈ = h + C + Aᵀλ, and the two parts of the reaction, (3.47) of papers/poincare."""

import numpy as np
import pytest
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.formalisms import catalog
from dalembert.mechanics import state_batch
from dalembert.model.immutable import Frozen
from dalembert.simulation.workspace import setup, workspace_of

OF_ENERGIES = [m.ABOUT.key for m in catalog.FORMALISMS if m.ABOUT.needs == "energies"]


def table(**more) -> dl.Model:
    """FORMALISMS.md: T = m(ẋ² + ż²)/2, V = m g z, m = 2, g = 10, z = 0, C = (−3, 2)."""
    x, z = dynamicsymbols("x z")
    given = {"holonomic": [z], "non_ideal": [-3, 2], **more}
    T = x.diff() ** 2 + z.diff() ** 2
    return dl.Model.from_energies("table", coordinates=[x, z], kinetic=T, potential=20 * z, **given)


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("key", OF_ENERGIES)
def test_the_printed_multiplier_and_both_parts(key, engine):
    eom = dl.derive(table(), key, engine=engine)
    at = ([0.4, 0.0], [1.0, 0.0])
    assert np.allclose(eom.multipliers(*at), [18], atol=1e-12)
    assert np.allclose(eom.reactions(*at), [-3, 20], atol=1e-12)
    assert np.allclose(eom.ideal_reactions(*at), [0, 20], atol=1e-12)
    assert np.allclose(eom.non_ideal_reactions(*at), [-3, 0], atol=1e-12)


def coupled() -> dl.Model:
    """A full mass matrix, and C with all components: a metric other than M would give other parts."""
    model = dl.Model("coupled", gravity=(0, 0, -9.81)).parameters(m=2.0, k=0.3)
    model.coordinate("x", start=0.3).coordinate("y", start=-0.2).coordinate("theta", start=0.4)
    cart = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")]
    model.body("cart", joint=cart, mass="m", inertia=(1, 1, 1))
    swing = model.revolute((0, 1, 0), "theta")
    model.body("bob", parent="cart", joint=swing, mass=1, center=(0.2, 0, -0.7), inertia=(0.1, 0.2, 0.3))
    model.nonholonomic("dot(x) + 0.5*dot(y) - sin(theta)*dot(theta)", name="track")
    return model.non_ideal({"x": "-k*dot(x) + 1", "y": "2*sin(x)", "theta": "-0.4*dot(theta) + 0.7"})


def parts_of_347(model: dl.Model, states: state_batch.States) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ideal part, non-ideal part and λ, from numeric M, h + C, A and β, as printed."""
    space = workspace_of(setup(model, "python"))
    ideal, work, lam = [], [], []
    bare = model.copy()
    bare.non_ideal_forces = Frozen()
    plain = workspace_of(setup(bare, "python"))
    _, _, rows, _ = space.manifold.evaluate(states.q, states.qd, states.t, space.values)
    qdd = dl.derive(model, "lagrange", engine="python").accelerations(states.q, states.qd, states.t)
    M, h = plain.free_motion(states.q, states.qd, states.t, plain.values)
    _, push = space.free_motion(states.q, states.qd, states.t, space.values)
    for k in range(len(states)):
        values, vectors = np.linalg.eigh(M[k])
        root, inverse = vectors * np.sqrt(values) @ vectors.T, vectors / np.sqrt(values) @ vectors.T
        A, C = rows[:, :, k], push[k] - h[k]
        B = A @ inverse
        B_plus = np.linalg.pinv(B)
        b, a = A @ qdd[:, k], np.linalg.solve(M[k], h[k])
        ideal.append(root @ B_plus @ (b - A @ a))
        work.append(root @ (np.eye(len(C)) - B_plus @ B) @ inverse @ C)
        lam.append(np.linalg.pinv(A.T) @ (M[k] @ qdd[:, k] - h[k] - C))
    return np.array(ideal).T, np.array(work).T, np.array(lam).T


def models() -> dict[str, dl.Model]:
    rough = dl.load("rough-surface").with_parameters({"mu": 0.2, "k": 0.1, "eps": 0.05})
    twice = coupled().nonholonomic("2*dot(x) + dot(y) - 2*sin(theta)*dot(theta)", name="again")
    return {"rough-surface": rough, "coupled": coupled(), "redundant": twice}


@pytest.mark.parametrize("name", models())
def test_every_formalism_gives_the_parts_of_347(name):
    model = models()[name]
    states = state_batch.consistent_states(model, 5)
    ideal, work, lam = parts_of_347(model, states)
    assert np.abs(work).max() > 0.1
    keys = [m.ABOUT.key for m in catalog.FORMALISMS if m.ABOUT.nonholonomic or not model.nonholonomic_constraints]
    assert len(keys) >= 16
    for key in keys:
        eom = dl.derive(model, key, engine="python")
        at = (states.q, states.qd, states.t)
        assert np.allclose(eom.ideal_reactions(*at), ideal, atol=1e-9), key
        assert np.allclose(eom.non_ideal_reactions(*at), work, atol=1e-9), key
        assert np.allclose(eom.reactions(*at), ideal + work, atol=1e-9), key
        assert np.allclose(eom.multipliers(*at), lam, atol=1e-9), key


@pytest.mark.parametrize("key", ["lagrange", "kane", "volterra_reduced", "routh", "poincare", "hamilton", "dirac"])
def test_a_run_has_the_same_parts(key):
    model = dl.load("rough-surface")
    eom = dl.derive(model, key)
    run = eom.simulate(1.0, samples=5)
    at = (run.q, run.qd, run.t)
    for name in ("multipliers", "reactions", "ideal_reactions", "non_ideal_reactions"):
        assert np.allclose(getattr(run, name), getattr(eom, name)(*at), atol=1e-10), name
    # the plane carries m g cos α, and drags by c against the velocity
    alpha, m, g, c = 0.5, 2.0, 9.81, 1.4
    normal = np.array([np.sin(alpha), 0, np.cos(alpha)])[:, None]
    assert np.allclose(run.ideal_reactions, m * g * np.cos(alpha) * normal, atol=1e-9)
    assert np.allclose(run.non_ideal_reactions, -c * run.qd, atol=1e-9)
    assert np.allclose(run.multipliers, m * g * np.cos(alpha), atol=1e-9)


def test_ideal_constraints_have_no_second_part():
    eom = dl.derive(table(non_ideal=()), "lagrange")
    at = ([0.4, 0.0], [1.0, 0.0])
    assert np.array_equal(eom.ideal_reactions(*at), eom.reactions(*at))
    assert np.array_equal(eom.non_ideal_reactions(*at), [0, 0])
    assert np.allclose(eom.multipliers(*at), [20])


@pytest.mark.parametrize("key", ["lagrange", "gauss", "kane"])
def test_joint_reaction_contains_c_and_blade_reaction_its_multiplier(key):
    """C acts through the coordinates, so the joint reaction contains C, and the blade reaction is λ without C."""
    model = dl.Model("sleigh").parameters(m=2.0, J=0.3, a=0.4)
    model.coordinate("x").coordinate("y").coordinate("phi", start=0.2)
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "phi")]
    model.body("sleigh", joint=joints, mass="m", inertia=(0, 0, "J"))
    model.knife_edge("sleigh", (0, 1, 0), point=("-a", 0, 0), name="blade")
    model.non_ideal({"x": -3, "y": 2, "phi": "0.5 - dot(phi)"})
    states = state_batch.consistent_states(workspace_of(setup(model)).model, 4)
    eom = dl.derive(model, key, engine="python")
    joint = eom.joint_reactions(states.q, states.qd, states.t)["sleigh"]
    assert np.allclose(joint.force[0], -3, atol=1e-10)
    assert np.allclose(joint.force[1], 2, atol=1e-10)
    assert np.allclose(joint.moment[2], 0.5 - states.qd[2], atol=1e-10)
    (lam,) = eom.multipliers(states.q, states.qd, states.t)
    qdd = eom.accelerations(states.q, states.qd, states.t)
    assert np.allclose(2.0 * qdd[0], -3 - lam * np.sin(states.q[2]))  # Newton along x
