"""Random trees of 1 to 200 joints of every type that Pinocchio and we support: both give the same numbers.

Forces, matrices and momenta are compared to 1e-11 of their largest entry. Accelerations are compared twice: to 1e-11 times the
condition of the mass matrix where that is large (its diagonal scaled to one), and, independent of it, by the forces that
Pinocchio computes for them, to 1e-11 of the forces |M| |v̇| + |c + g| that add up to them.
"""

import numpy as np
import pytest
from pinocchio_models import condition, physical_inertia, pin, random_joint, random_states, rebuilt

import dalembert as dl

TREES, MOST = 500, 200
STATES = 2
TOLERANCE = 1e-11
COMPILED, UNROLLED = (
    30,
    100,
)  # speeds: limits up to which the unrolled program is compiled and is interpreted


def grown(seed):
    """A tree; their sizes grow evenly on a logarithmic scale."""
    rng = np.random.default_rng(seed)
    model = pin.Model()
    model.gravity.linear = rng.normal(size=3) * 5
    branch, back = [0], rng.uniform(0, 0.5)  # probability of a new branch
    for index in range(round(MOST ** (seed / (TREES - 1)))):
        placement = pin.SE3(pin.Quaternion(rng.normal(size=4)).normalized().matrix(), rng.normal(size=3) * 0.5)
        if rng.random() < back:
            branch = branch[: int(rng.integers(1, len(branch) + 1))]  # Pinocchio wants one branch after the other
        joint = model.addJoint(branch[-1], random_joint(rng), placement, f"joint{index}")
        branch.append(joint)
        model.appendBodyToJoint(joint, physical_inertia(rng), pin.SE3.Identity())
    return model


def off(ours, theirs):
    """The difference relative to the largest entry."""
    largest = np.abs(theirs).max()
    return np.abs(ours - theirs).max() / largest if largest else np.abs(ours).max()


class Theirs:
    """Results of Pinocchio at one state, in its velocities v, with forces of typical magnitude."""

    def __init__(self, model, data, state, rng):
        self.model, self.data = model, data
        self.q, self.at, self.v, self.a, self.T, self.drift = state
        self.s, self.sd = self.T @ self.v, self.T @ self.a + self.drift
        self.inverse = pin.rnea(model, self.data, self.q, self.v, self.a).copy()
        self.bias = pin.nle(model, self.data, self.q, self.v).copy()
        self.gravity = pin.computeGeneralizedGravity(model, self.data, self.q).copy()
        upper = np.triu(pin.crba(model, self.data, self.q))
        self.mass = upper + np.triu(upper, 1).T
        self.pushed = np.abs(self.inverse) * rng.normal(size=model.nv)
        self.push = np.linalg.solve(self.T.T, self.pushed)  # Tᵀ f = pushed
        self.forward = pin.aba(model, self.data, self.q, self.v, self.pushed).copy()

    def forward_errors(self, sd):
        """The error of accelerations relative to the expected rounding, and that of the corresponding forces."""
        a = np.linalg.solve(self.T, sd - self.drift)
        grown = max(1.0, np.finfo(float).eps * condition(self.mass) / TOLERANCE)
        sizes = np.abs(self.mass) @ np.abs(a) + np.abs(self.bias)
        taken = pin.rnea(self.model, self.data, self.q, self.v, a)
        return off(a, self.forward) / grown, (np.abs(taken - self.pushed) / sizes).max()


def errors_of(dynamics, theirs, mass=True):
    """Errors of one execution against Pinocchio: {quantity: error}."""
    turned = theirs.T.T
    found = {
        "inverse": off(turned @ dynamics.inverse(theirs.at, theirs.s, theirs.sd), theirs.inverse),
        "bias": off(turned @ dynamics.bias(theirs.at, theirs.s) + theirs.mass @ moved(theirs), theirs.bias),
        "gravity": off(turned @ dynamics.gravity(theirs.at), theirs.gravity),
    }
    found["forward"], found["forces of forward"] = theirs.forward_errors(
        dynamics.forward(theirs.at, theirs.s, theirs.push)
    )
    if mass:
        found["mass matrix"] = off(turned @ dynamics.mass_matrix(theirs.at) @ theirs.T, theirs.mass)
    return found


def moved(theirs):
    """v̇ at ṡ = 0 is −T⁻¹ d, and our bias is that of ṡ = 0."""
    return np.linalg.solve(theirs.T, theirs.drift)


def body_errors(dynamics, theirs):
    """Jacobian of the last body, matrix and momentum about the mass center."""
    model, data, last = theirs.model, theirs.data, theirs.model.njoints - 1
    pin.computeJointJacobians(model, data, theirs.q)
    J = pin.getJointJacobian(model, data, last, pin.LOCAL_WORLD_ALIGNED).reshape(6, model.nv)
    A = pin.ccrba(model, data, theirs.q, theirs.v).reshape(6, model.nv).copy()
    ours, momentum = dynamics.centroidal(theirs.at, theirs.s)
    return {
        "Jacobian": off(dynamics.jacobian(theirs.at, f"link{last}") @ theirs.T, J),
        "centroidal matrix": off(ours @ theirs.T, A),
        "momentum": off(momentum, np.array(data.hg)),
    }


def walked_errors(model, theirs):
    """Errors of the interpreted evaluation, which does not compile."""
    turned = theirs.T.T
    forward, forces = theirs.forward_errors(dl.forward_dynamics(model, theirs.at, theirs.s, theirs.push))
    return {
        "inverse": off(turned @ dl.inverse_dynamics(model, theirs.at, theirs.s, theirs.sd), theirs.inverse),
        "mass matrix": off(turned @ dl.mass_matrix(model, theirs.at) @ theirs.T, theirs.mass),
        "forward": forward,
        "forces of forward": forces,
    }


def tree_errors(seed):
    """Errors of every execution on one tree: {(execution, what): error}, the largest of all states."""
    peer = grown(seed)
    model, rng, n = rebuilt(peer), np.random.default_rng(seed + 1), peer.nv
    rolled = dl.dynamics(model, execution="rolled", engine="native")
    worst, data = {}, peer.createData()  # once: it stores tensors of n³ numbers
    for state in random_states(peer, seed, STATES):
        theirs = Theirs(peer, data, state, rng)
        found = {"floats": walked_errors(model, theirs), "rolled": errors_of(rolled, theirs, mass=False)}
        if n <= UNROLLED:
            unrolled = dl.dynamics(model, execution="unrolled", engine="native" if n <= COMPILED else "python")
            found["unrolled"] = errors_of(unrolled, theirs, mass=n <= COMPILED) | body_errors(unrolled, theirs)
        for execution, errors in found.items():
            for what, error in errors.items():
                worst[execution, what] = max(error, worst.get((execution, what), 0.0))
    return worst


EVERY_DAY = (*range(0, 240, 13), TREES - 1)  # the small ones, which are quick, and the largest


@pytest.mark.parametrize(
    "seed", [pytest.param(k, marks=() if k in EVERY_DAY else pytest.mark.nightly) for k in range(TREES)]
)
def test_random_trees_agree_with_pinocchio(seed):
    wrong = {where: error for where, error in tree_errors(seed).items() if not error <= TOLERANCE}
    assert not wrong
