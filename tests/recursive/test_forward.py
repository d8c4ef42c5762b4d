"""Recursive forward dynamics: the inverse of inverse dynamics, with an operation count linear in n."""

import math
from typing import Any

import numpy as np
import pytest
from gallery_models import by_size, unconstrained

import dalembert as dl
from dalembert.codegen.function import compile_function
from dalembert.errors import SingularError
from dalembert.mechanics import state_batch
from dalembert.model.model import Model
from dalembert.recursive.forward import forward_dynamics as forward
from dalembert.recursive.link_states import moving
from dalembert.recursive.tree import tree_of
from dalembert.recursive.tree_dynamics import forward_dynamics, inverse_dynamics, mass_matrix
from dalembert.symbolic.algebra_base import choose, stack, vector
from dalembert.symbolic.floats import FLOATS


@pytest.mark.parametrize("name", by_size(unconstrained()))
def test_gallery_models_agree_with_lagrange(name):
    model = dl.load(name)
    states = state_batch.consistent_states(model, 4, seed=6)
    known = dl.derive(model, engine="python").accelerations(states.q, states.qd, states.t)
    ours = forward_dynamics(model, states.q, states.qd, None, states.t, friction=True)
    assert np.abs(ours - known).max() <= 1e-10 * max(1.0, np.abs(known).max())


@pytest.mark.parametrize("name", ["every joint", "floating"])
def test_forward_inverts_inverse(name, make, draw):
    model = make(name)
    q, s, sd, t = draw(model, 6, seed=1)
    for friction in (False, True):
        tau = inverse_dynamics(model, q, s, sd, t, friction=friction)
        assert np.allclose(forward_dynamics(model, q, s, tau, t, friction=friction), sd, atol=1e-11)


def test_quaternions_agree_with_lagrange(make, draw):
    model = make("floating")
    equations = dl.derive(model, engine="python")
    states = state_batch.consistent_states(equations.model, 4, seed=2)
    known = equations.accelerations(states.q, states.qd, states.t)
    assert np.allclose(forward_dynamics(model, states.q, states.qd, friction=True), known, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_forward_inverts_inverse_on_random_trees(seed, random_tree):
    model = random_tree(seed, bodies=4, coordinates=4, loads=("force", "spring"))
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-1, 1, (3, len(model.coordinate_names), 3))
    M = np.moveaxis(mass_matrix(model, q, 0.3), -1, 0)
    scale = 1 / np.sqrt(np.einsum("Kii->Ki", M))
    condition = np.linalg.cond(M * scale[:, :, None] * scale[:, None, :]).max()
    tau = inverse_dynamics(model, q, qd, qdd, 0.3)
    if condition > 1e12:
        with pytest.raises(SingularError):
            forward_dynamics(model, q, qd, tau, 0.3)
    else:
        assert np.allclose(forward_dynamics(model, q, qd, tau, 0.3), qdd, atol=1e-14 * condition * 100)


@pytest.mark.parametrize("engine", ["symbolic", "graph"])
def test_the_same_numbers_over_every_algebra(engine, draw):
    model, algebra = Model("arm", gravity=(0, 0, -9.81)).parameters(m=1.3).coordinates("a", "b", "c"), choose(engine)
    hook = model.universal(((1, 0, 0), (0, 1, 0)), ("a", "b"))
    model.body("upper", joint=hook, mass="m", center=(0.1, 0, 0.2), inertia=(0.1, 0.2, 0.2))
    slide = model.prismatic((0, 0, 1), "c + sin(t)", position=(0.3, 0, 0))
    model.body("lower", parent="upper", joint=slide, mass=1, center=(0, 0.1, 0.2), inertia=(0.1, 0.1, 0.1))
    q, s, tau = (algebra.symbols([f"{kind}{name}" for name in "abc"]) for kind in ("", "s_", "tau_"))
    (t, m) = algebra.symbols(["t", "m"])
    sd, _ = forward(moving(tree_of(model), algebra, t, list(q), list(s), {"m": m}), tau)
    function = compile_function(algebra, stack(q, s, tau, vector([t])), sd, vector([m]))
    positions, speeds, push, times = draw(model, 3)
    ours = function(np.concatenate([positions, speeds, push, times[None]]), np.array([1.3]))
    assert np.allclose(ours, forward_dynamics(model, positions, speeds, push, times), rtol=1e-12, atol=1e-12)


def chain(count: int) -> Model:
    model = Model("chain", gravity=(0, 0, -9.81)).coordinates(*(f"q{i}" for i in range(count)))
    for i in range(count):
        joint = model.revolute((0, 1, 1), f"q{i}", position=(0.3, 0.1, 0.2), rotation=(0.1, 0.2, 0.3))
        parent = f"link{i - 1}" if i else "world"
        model.body(f"link{i}", parent=parent, joint=joint, mass=1.2, center=(0.1, 0, 0.1), inertia=(0.1, 0.2, 0.25))
    return model


class Counted:
    """A number that counts the operations it takes part in."""

    operations = 0

    def __init__(self, value: float) -> None:
        self.value = float(value)

    @classmethod
    def of(cls, value: float) -> "Counted":
        cls.operations += 1
        return cls(value)

    def __add__(self, other):
        return Counted.of(self.value + float(other))

    def __sub__(self, other):
        return Counted.of(self.value - float(other))

    def __rsub__(self, other):
        return Counted.of(float(other) - self.value)

    def __mul__(self, other):
        return Counted.of(self.value * float(other))

    def __truediv__(self, other):
        return Counted.of(self.value / float(other))

    def __neg__(self):
        return Counted(-self.value)

    def sin(self):
        return Counted.of(math.sin(self.value))

    def cos(self):
        return Counted.of(math.cos(self.value))

    def __float__(self):
        return self.value

    __radd__, __rmul__ = __add__, __mul__


def operations(count: int) -> int:
    """The operation count of forward dynamics of a chain, checked against evaluation in floats."""
    known, values = tree_of(chain(count)), [0.1 * i for i in range(count)]
    lists: list[Any] = [[Counted(x) for x in values] for _ in range(3)]
    q, s, tau = lists
    Counted.operations = 0
    sd, _ = forward(moving(known, FLOATS, 0.0, q, s, {}), vector(tau))
    taken = Counted.operations
    bare, _ = forward(moving(known, FLOATS, 0.0, values, values, {}), vector(values))
    assert np.allclose(sd.astype(float), bare.astype(float), rtol=1e-12)
    return taken


def test_operations_grow_linearly_with_the_number_of_links():
    short, more, many = (operations(count) for count in (10, 20, 40))
    assert many - more == 2 * (more - short)


def test_a_hundred_links_agree_with_the_matrix():
    model = chain(100)
    rng = np.random.default_rng(3)
    q, qd, tau = rng.uniform(-1, 1, (3, 100))
    known = np.linalg.solve(mass_matrix(model, q), tau - inverse_dynamics(model, q, qd, 0 * q))
    ours = forward_dynamics(model, q, qd, tau)
    assert np.abs(ours - known).max() <= 1e-8 * np.abs(known).max()


# singular configurations and bodies without inertia


def test_gimbal_lock_of_a_ball_is_rejected():
    model = Model("ball").coordinates("a", "b", "c")
    model.body("ball", joint=model.spherical(("a", "b", "c"), "xyz"), mass=1, inertia=(1, 1, 1))
    with pytest.raises(SingularError, match=r"the coordinates a, b, c are singular at b = 1\.5708: a rate of a, c"):
        forward_dynamics(model, [0.1, np.pi / 2, 0.2], [0, 0, 0])


@pytest.mark.parametrize("batch", [False, True])
def test_two_sliders_in_one_direction_are_rejected(batch):
    model = Model("sliders").coordinates("a", "b", "c")
    along = [model.prismatic((1, 0, 0), "a"), model.prismatic((1, 0, 0), "b"), model.prismatic((0, 1, 0), "c")]
    model.body("block", joint=along, mass=2)
    q = np.zeros((3, 2)) if batch else np.zeros(3)
    where = " at state 0 of the batch" if batch else ""
    with pytest.raises(SingularError, match=rf"mass matrix is singular{where}: .* along dot\(a\), dot\(b\)\. Expected"):
        forward_dynamics(model, q, q)


def test_a_massless_body_that_carries_a_load_is_rejected():
    model = Model("spindle").coordinates("a")
    model.body("spindle", joint=model.revolute((0, 0, 1), "a")).torque("spindle", (0, 0, 1))
    with pytest.raises(SingularError, match=r"along dot\(a\)"):
        forward_dynamics(model, [0.0], [0.0])


def test_an_undefined_load_is_reported():
    model = Model("spring").coordinates("x")
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.spring(("block", "world"), stiffness=1, natural_length=1)
    for call in (lambda: forward_dynamics(model, [0.0], [0.0]), lambda: inverse_dynamics(model, [0.0], [0.0], [0.0])):
        with pytest.raises(SingularError, match=r"along 'dot\(x\)' is undefined. Expected a finite number"):
            call()
