"""Virtual work: ideal reactions do none, non-ideal ones do exactly that of C, whatever the formalism."""

import numpy as np
import pytest
from scipy.linalg import null_space

import dalembert as dl
from dalembert import formalisms
from dalembert.algebra import numbers
from dalembert.expressions import rate
from dalembert.handles import Workspace
from dalembert.kinematics import constraints, mass_matrix, samples
from dalembert.model import Model

KINDS = {
    "holonomic": {"holonomic": 1},
    "nonholonomic": {"nonholonomic": 1},
    "both": {"holonomic": 1, "nonholonomic": 1},
    "redundant": {"holonomic": 1, "redundant": True},
    "cone": {"nonlinear": True},
    "servo": {"holonomic": 1, "servo": True},
}


@pytest.fixture(scope="module")
def cases(random_tree):
    """A workspace, states, the free directions there and the sizes of the forces at play; made once for each kind."""
    made = {}

    def case(kind: str, non_ideal: bool):
        if (kind, non_ideal) not in made:
            model = random_tree(
                17, bodies=2, coordinates=3, loads=("force", "damper"), non_ideal=non_ideal, **KINDS[kind]
            )
            space, states = Workspace(model, "portable"), samples.consistent(model, 5)
            A = numbers(constraints(samples.at_formulas(model, states)).A, 5)
            M = numbers(mass_matrix(samples.at(model, states)), 5)
            made[kind, non_ideal] = space, states, [null_space(A[..., k], rcond=1e-10) for k in range(5)], M
        return made[kind, non_ideal]

    return case


def work(case, key):
    """Wᵀ(Aᵀλ + C) at five states, relative to the forces at play."""
    space, states, free, M = case
    eom = dl.Equations(space, key)
    reaction = eom.reactions(states.q, states.qd, states.t)
    qdd = eom.accelerations(states.q, states.qd, states.t)
    force = np.einsum("ijk,jk->ik", np.abs(M), np.abs(qdd)).max(axis=0) + np.abs(reaction).max(axis=0)
    return [W.T @ reaction[:, k] / force[k] for k, W in enumerate(free)], force


def possible(kind, key) -> bool:
    if key == "dirac":
        return kind in ("holonomic", "redundant")
    in_speeds = key in ("kane", "gibbs_appell", "boltzmann_hamel", "volterra", "volterra_reduced")
    return not (in_speeds and kind in ("cone", "servo"))


EVERY = [(kind, key) for kind in KINDS for key in formalisms.KEYS if possible(kind, key)]


@pytest.mark.parametrize(("kind", "key"), EVERY)
def test_ideal_reactions_do_no_virtual_work(cases, kind, key):
    found, _ = work(cases(kind, False), key)
    assert max(np.abs(each).max() for each in found) <= 1e-12


@pytest.mark.parametrize(("kind", "key"), EVERY)
def test_non_ideal_reactions_do_the_work_of_their_force(cases, kind, key):
    case = cases(kind, True)
    space, states, free, _ = case
    found, force = work(case, key)
    for k, W in enumerate(free):
        C = given_force(space.model, states.q[:, k], states.qd[:, k], states.t[k])
        assert np.abs(W.T @ C).max() > 1e-3
        assert np.allclose(found[k], W.T @ C / force[k], atol=1e-12)


def given_force(model: Model, q, qd, t) -> np.ndarray:
    """C by substitution into the formulas of the model."""
    names = model.coordinate_names
    table = {**model.parameter_values, **dict(zip(names, q, strict=True)), "t": t}
    table |= {rate(name): value for name, value in zip(names, qd, strict=True)}
    return np.array([float(model.non_ideal_forces[name].subs(table)) for name in names])


@pytest.mark.parametrize("key", formalisms.KEYS)
def test_the_work_of_a_non_ideal_force_is_in_the_balance(key):
    # a bead on a ring with viscous friction: E falls by ∫ c v² dt
    model = Model("ring", gravity=(0, -9.81, 0)).parameters(c=0.4).coordinate("x", 0.6, 0.8).coordinate("y", -0.8, 0.6)
    model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
    model.holonomic("x**2 + y**2 - 1", name="ring").non_ideal({"x": "-c*dot(x)", "y": "-c*dot(y)"})
    run = dl.derive(model, key, engine="portable").simulate(1.0, samples=201)
    lost = run.energy[0] - run.energy
    power = 0.4 * np.sum(run.qd**2, axis=0)
    assert lost[-1] > 0.1
    assert lost[-1] == pytest.approx(np.trapezoid(power, run.t), rel=1e-4)
    assert np.allclose(run.balance, run.balance[0], atol=1e-8)
