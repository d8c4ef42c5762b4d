"""Matrix identities of papers/denoc on random trees: in floats, and by the rolled and the unrolled recursion.

The matrices N_l, N_d, U, D are in world axes and are multiplied explicitly; the recursions do not use them.
"""

import numpy as np
import pytest
from grown_trees import MOTIONS, grown, random_states

import dalembert as dl
from dalembert.mechanics.motion import move
from dalembert.recursive.link_states import moving
from dalembert.recursive.modules import Modular, modules_of
from dalembert.recursive.orthogonal_complement import complement_of
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS

pytest.importorskip("llvmlite")

SEEDS = range(4)


class Floats:
    """Evaluation in floats with the interface of `dl.dynamics`."""

    def __init__(self, model):
        self.model = model

    def inverse(self, q, s, sd):
        return dl.inverse_dynamics(self.model, q, s, sd)

    def forward(self, q, s, tau):
        return dl.forward_dynamics(self.model, q, s, tau)

    def mass_matrix(self, q):
        return dl.mass_matrix(self.model, q)


class Tree:
    """A random tree of 2 to 8 bodies at a random state, with its matrices and its executions."""

    def __init__(self, seed):
        self.model = grown(2 + 2 * seed, list(MOTIONS), seed)
        known = dl.dynamics(self.model)
        plan = known.plan
        self.q, self.s, self.sd = (x[:, 0] for x in random_states(plan.tree, 1, seed)[:3])
        self.parts = complement_of(
            moving(plan.tree, FLOATS, 0.0, self.q.tolist(), self.s.tolist(), plan.parameters), centered=seed % 2 == 0
        )
        self.unrolled = dl.dynamics(self.model, engine="python", execution="unrolled")
        self.rolled = dl.dynamics(self.model, execution="rolled")
        self.runs = {"floats": Floats(self.model), "unrolled": self.unrolled, "rolled": self.rolled}
        self.n = plan.tree.n_speeds

    def batch(self, x):
        """The same vector for every unit vector."""
        return np.repeat(x[:, None], self.n, axis=1)


@pytest.fixture(scope="module", params=SEEDS)
def tree(request):
    return Tree(request.param)


def off(found, known):
    return np.abs(found - known).max() / np.abs(known).max()


def test_n_l_n_d_times_the_rates_are_the_twists(tree):
    # against the velocities that the other formulations use: V_G = B q̇ in world axes, ω = D q̇ in body axes
    parts, model = tree.parts, tree.model
    t = (parts.N_l @ (parts.N_d @ vector([*tree.s]))).astype(float)
    qd = vector([*dl.dynamics(model).rates(tree.q, tree.s)])
    motion = move(model, FLOATS, 0.0, vector([*tree.q]), qd, {})
    for i, node in enumerate(parts.shape):
        w, v = t[6 * i : 6 * i + 3], t[6 * i + 3 : 6 * i + 6]
        for name in node.bodies:
            body = motion.body(name)
            arm = (body.p_WG - parts.links[i].point).astype(float)
            assert np.allclose(w, (body.R_WB @ (body.D @ qd)).astype(float), atol=1e-12)
            assert np.allclose(v + np.cross(w, arm), (body.B @ qd).astype(float), atol=1e-11)


def test_u_d_u_is_the_inertia_matrix(tree):
    U, D = tree.parts.U.astype(float), tree.parts.D.astype(float)
    zero_speeds, units = np.zeros((tree.n, tree.n)), np.eye(tree.n)
    found = {name: run.mass_matrix(tree.q) for name, run in tree.runs.items() if name != "rolled"}
    # column by column, from the forces for unit accelerations
    weight = tree.rolled.gravity(tree.q)
    found["rolled"] = tree.rolled.inverse(tree.batch(tree.q), zero_speeds, units) - weight[:, None]
    for matrix in found.values():
        assert off(U @ D @ U.T, matrix) <= 1e-12


def test_the_inverse_by_elimination_is_the_inverse(tree):
    matrix, inverse = tree.parts.inertia.astype(float), tree.parts.inverse.astype(float)
    one = np.eye(tree.n)
    assert np.allclose(inverse @ matrix, one, atol=1e-9)
    bias, many = tree.unrolled.bias(tree.q, tree.s), [tree.batch(x) for x in (tree.q, tree.s)]
    for run in tree.runs.values():
        assert np.allclose(run.forward(*many, one + bias[:, None]) @ matrix, one, atol=1e-9)


def test_modules_agree_with_links(tree):
    parts, rng = tree.parts, np.random.default_rng(1)
    modular, N = Modular(parts, modules_of(parts)), parts.N.astype(float)
    assert off((modular.N_l @ modular.N_d).astype(float), N) <= 1e-12  # (43)–(45)
    assert off(modular.twists(vector([*tree.s])).astype(float), N @ tree.s) <= 1e-12
    w, phi = rng.normal(size=len(N)), rng.normal(size=tree.n)
    assert off(modular.efforts(vector([*w])).astype(float), N.T @ w) <= 1e-12
    found = modular.accelerations(vector([*phi])).astype(float)
    bias = tree.rolled.bias(tree.q, tree.s)
    for run in tree.runs.values():
        assert off(run.forward(tree.q, tree.s, phi + bias), found) <= 1e-9


def test_forward_inverts_inverse(tree):
    for first in tree.runs.values():
        tau = first.inverse(tree.q, tree.s, tree.sd)
        for second in tree.runs.values():
            assert off(second.forward(tree.q, tree.s, tau), tree.sd) <= 1e-9
