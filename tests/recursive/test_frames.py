"""Optimized link frames: the same mechanics as in frames of the model, over random trees of all joint types."""

from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.model.model import Model
from dalembert.recursive._link_frames import aligned_constants
from dalembert.recursive._transforms import AxisRotationMatrix
from dalembert.recursive.composite_inertia import diagonal, mass_matrix
from dalembert.recursive.forward import forward_dynamics
from dalembert.recursive.inverse import inverse_dynamics
from dalembert.recursive.link_states import link_constants, moving
from dalembert.recursive.plan import plan_of
from dalembert.symbolic.algebra_base import vector, zeros
from dalembert.symbolic.floats import FLOATS, numbers


class RandomTree:
    """Generates a random tree of joints of all types, some of them rheonomic, massless or with rotors."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.model = Model("tree", gravity=self.three(5))
        self.names: list[str] = []

    def three(self, size: float = 1.0):
        """Three numbers, often integers, as in drawings."""
        if self.rng.integers(2):
            return tuple(float(x) for x in self.rng.integers(-1, 2, 3))
        return tuple(float(x) for x in size * self.rng.normal(size=3))

    def axis(self):
        while not any(found := self.three()):
            pass
        return found

    def coordinates(self, count: int) -> list[str]:
        new = [f"q{len(self.names) + i}" for i in range(count)]
        for name in new:
            self.model.coordinate(name, 0.0)
        self.names += new
        return new

    def joint(self):
        placement: dict[str, Any] = {"position": self.three(), "rotation": self.three()}
        kind = self.rng.integers(9)
        if kind == 0:
            return self.model.prismatic(self.axis(), *self.coordinates(1), **placement)
        if kind == 1:
            return self.model.cylindrical(self.axis(), *self.coordinates(2), **placement)
        if kind == 2:
            return self.model.universal(((1, 0, 0), (0, 1, 0)), self.coordinates(2), **placement)
        if kind == 3:
            sequence = ("xyz", "zxz", "zyx", "yxy")[self.rng.integers(4)]
            return self.model.spherical(self.coordinates(3), sequence, **placement)
        if kind == 4:
            a, b, c = self.coordinates(3)
            return self.model.planar(self.axis(), (a, b), c, **placement)
        if kind == 5:
            (angle,) = self.coordinates(1)
            return self.model.screw(self.axis(), angle, 0.7, **placement)
        if kind == 6:
            return self.model.fixed(**placement)
        if kind == 7:
            return self.model.revolute(self.axis(), "0.3*sin(2*t)", **placement)
        return self.model.revolute(self.axis(), *self.coordinates(1), **placement)

    def grown(self, bodies: int) -> Model:
        parents = ["world"]
        for index in range(bodies):
            turn, _ = np.linalg.qr(self.rng.normal(size=(3, 3)))
            second = turn @ np.diag(self.rng.uniform(0.05, 0.4, 3)) @ turn.T
            J = np.trace(second) * np.eye(3) - second
            self.model.body(
                f"body{index}",
                parent=parents[self.rng.integers(len(parents))],
                joint=self.joint(),
                mass=float(self.rng.uniform(0.5, 3)),
                center=self.three(0.3),
                inertia=(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]),
            )
            parents.append(f"body{index}")
            if self.rng.integers(4) == 0 and self.model.bodies[-1].joints[0].values:
                self.model.rotor(f"body{index}", 0.2, ratio=2)
        return self.model


def states(model: Model, seed: int):
    """The same state in frames of the model and in optimized link frames."""
    plan = plan_of(model)
    q, s, x = np.random.default_rng(seed).uniform(-1, 1, (3, plan.tree.n))
    for known in (link_constants(plan.tree, FLOATS, plan.parameters), plan.link_constants):
        yield moving(plan.tree, FLOATS, 0.4, list(q), list(s), plan.parameters, known), vector(list(x))


def floats(entries):
    return numbers(entries, 1)[..., 0]


def close(ours, known, tolerance=1e-11):
    assert np.abs(ours - known).max() <= tolerance * max(1.0, np.abs(known).max())


@pytest.mark.parametrize("seed", range(20))
def test_optimized_frames_give_the_same_dynamics(seed):
    model = RandomTree(seed).grown(7)
    (raw, x), (own, _) = states(model, seed)
    known = floats(mass_matrix(raw))
    close(floats(mass_matrix(own)), known)
    close(floats(inverse_dynamics(own, x)), floats(inverse_dynamics(raw, x)))
    close(floats(diagonal(own)), np.diag(known))


@pytest.mark.parametrize("seed", range(20))
def test_elimination_inverts_the_inertia_matrix(seed):
    """I ṡ + c = τ for ṡ of the recursion, and det I is the product of the pivots: I = U D Uᵀ with unit triangular U."""
    model = RandomTree(seed).grown(7)
    for state, tau in states(model, seed):
        M, bias = floats(mass_matrix(state)), floats(inverse_dynamics(state, zeros(len(tau))))
        close(M, M.T, 1e-13)
        found, pivots = forward_dynamics(state, tau)
        assert state.tree.decoupled
        close(M @ floats(found) + bias, floats(tau), 1e-13 * np.linalg.cond(M))
        _, logarithm = np.linalg.slogdet(M)
        assert np.log(floats(pivots)).sum() == pytest.approx(logarithm, abs=1e-9)


@pytest.mark.parametrize("seed", [4, 5])
def test_lagrange_has_the_same_inertia_matrix(seed):
    model = RandomTree(seed).grown(3)
    q = np.random.default_rng(seed).uniform(-1, 1, (len(model.coordinate_names), 2))
    known, _ = dl.derive(model, "lagrange", engine="python")._free(q, 0 * q, np.full(2, 0.4))
    for k in range(2):
        close(dl.mass_matrix(model, q[:, k], 0.4), known[k])


def test_transforms_of_a_chain_are_planar_rotations_and_single_translations():
    model = Model("chain").coordinates("q0", "q1", "q2", "q3")
    for i in range(4):
        joint = model.revolute((1, i, 2), f"q{i}", position=(0.3, i, 0.2), rotation=(0.1, 0.2, i))
        model.body(f"body{i}", parent=f"body{i - 1}" if i else "world", joint=joint, mass=1)
    for constants in aligned_constants(plan_of(model).tree, {})[1:]:
        (turn,) = constants.transform.rotations
        assert isinstance(turn, AxisRotationMatrix)
        assert turn.axis == 0
        assert constants.transform.before[1:] == (0, 0)
        assert constants.axes[0].about == (0, 0, 1)


@pytest.mark.parametrize("angle", [1e-3, 1e-7, 1e-11, 1e-15])
def test_nearly_parallel_axes_lose_no_digits(angle):
    """Their common normal is far away; the origin remains near."""
    model = Model("hinges").coordinates("a", "b", "c")
    model.body("first", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(0.5, 0, 0), inertia=(1, 1, 1))
    for child, parent, name in (("second", "first", "b"), ("third", "second", "c")):
        hinge = model.revolute((0, 0, 1), name, position=(1, 0, 0.3), rotation=(angle, 0, 0))
        model.body(child, parent=parent, joint=hinge, mass=1, center=(0.5, 0.1, 0), inertia=(1, 1, 1))
    (raw, x), (own, _) = states(model, 3)
    close(floats(mass_matrix(own)), floats(mass_matrix(raw)), 1e-13)
    close(floats(inverse_dynamics(own, x)), floats(inverse_dynamics(raw, x)), 1e-13)
    assert max(abs(float(d)) for constants in plan_of(model).link_constants for d in constants.transform.before) < 5  # pyright: ignore[reportArgumentType]


def test_fixed_bodies_are_merged_with_their_parents():
    model = Model("cart").coordinates("x", "a")
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    model.body("mast", parent="cart", joint=model.fixed((0, 0, 1)), mass=1)
    model.body("arm", parent="mast", joint=model.revolute((0, 1, 0), "a"), mass=1, center=(0, 0, 1))
    cart, arm = plan_of(model).link_constants
    assert (cart.body.m, arm.parent) == (3, 0)
    assert dl.mass_matrix(model, [0.0, 0.0])[0, 0] == pytest.approx(4)
