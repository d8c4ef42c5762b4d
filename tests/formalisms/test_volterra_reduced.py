"""The reduced Volterra equations by blocks: each block matches the paper, with at most the operations of Kane's equations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dalembert as dl
from dalembert.formalisms import volterra_reduced
from dalembert.io import gallery
from dalembert.mechanics.energies import active_forces, kinetic, mass_matrix
from dalembert.mechanics.generalized_speeds import Speeds
from dalembert.mechanics.system import System
from dalembert.simulation.workspace import setup, workspace_of
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.graph import merged
from dalembert.symbolic.nodes import ZERO, node

CASES = ("cart-pendulum", "three-bodies", "satellite-boom")  # of papers/volterra


def driven(*speeds: tuple[str, str]) -> dl.Model:
    """A spatial cart, ignorable along x and z, with a rheonomic turntable and a bob on it."""
    model = dl.Model("driven", gravity=(0, -9.81, 0)).coordinates("x", "z", "angle", "r")
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    model.body("slide", parent="cart", joint=model.prismatic((0, 0, 1), "z"), mass=1)
    model.body("table", parent="slide", joint=model.revolute((0, 1, 0), "angle + t**2"), mass=1, inertia=(1, 2, 3))
    model.body("bob", parent="table", joint=model.prismatic((1, 0, 0), "r"), mass=0.5, inertia=(0.1, 0.2, 0.3))
    for name, formula in speeds:
        model.speed(formula, name)
    return model.start([0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8])


MODELS: dict[str, Callable[[], dl.Model]] = {
    **{name: lambda name=name: gallery.load(name) for name in (*CASES, "heavy-top", "knife-edge")},
    "rheonomic": driven,
    "mixed speeds": lambda: driven(("mine", "dot(r) + dot(x)"), ("turn", "dot(angle) - dot(z)")),
}


def are_equal(a: Array, b: Array) -> bool:
    """True if the functions are equal."""
    return all(y is ZERO for y in merged([node(x) for x in np.ravel(a - b)]))


@pytest.fixture(params=MODELS)
def reduced(request) -> tuple[System, dict[str, Array], Speeds]:
    system = workspace_of(setup(MODELS[request.param]())).system
    assert system.facts.reduced_mixed == (request.param == "mixed speeds")
    derived = volterra_reduced.derive(system)
    blocks = {key: quantity.value for key, quantity in derived.quantities.items()}
    W, X = blocks["W_NI"], blocks["X_NI"]
    return system, blocks, Speeds(derived.form.velocity.v, blocks["Y_NI"], blocks["Z_NI"], W, X)


def test_blocks_are_those_of_the_paper(reduced):
    system, block, speeds = reduced
    algebra, W = system.algebra, speeds.W
    if "M_prime" in block:
        assert are_equal(block["M_prime"] @ speeds.qd + block["N_prime"], np.zeros(system.facts.s, dtype=int))  # (25)
    assert are_equal(speeds.Y @ speeds.qd + speeds.Z, speeds.u)  # (42)
    assert are_equal(block["M_NI"], W.T @ mass_matrix(system.motion) @ W)  # (47)
    T_u = algebra.gradient(kinetic(system.motion, speeds.qd), speeds.u)  # (50)
    assert are_equal(block["A_NI"], system.rate_of(T_u, speeds))  # (52)
    assert are_equal(block["U_NI"], active_forces(system.motion, W))  # (33)
    assert are_equal(block["L_NI"], block["U_NI"] + block["K_NI"] - block["A_NI"])  # (65)


@pytest.mark.parametrize("name", CASES)
def test_no_more_operations_than_kane(name):
    reduced, kane = (dl.derive(gallery.load(name), key).operations for key in ("volterra_reduced", "kane"))
    assert reduced <= kane


@pytest.mark.parametrize(
    "column", ["(1 - sin(y)**2 - cos(y)**2)", "(1 - sin(x)**2 - cos(x)**2)", "((x + 1)**2 - x**2 - 2*x - 1)", "c"]
)
@pytest.mark.parametrize("formalism", ["volterra_reduced", "routh"])
def test_column_of_an_ignorable_coordinate_may_vanish_only_by_an_identity(column, formalism):
    """The row is ẏ = ẇ: by hand T = ẋ²/2 + ẏ²/2 + |(ẋ + ẏ/√2, ẏ + ẏ/√2)|², p_x constant, one equation for y is left."""
    model = dl.Model("identity").parameters(c=0.0).coordinates("x", "y", "w").start([0.1, 0.3, 0.2], [0.4, 0.2, 0.2])
    model.body("a", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    model.body("b", parent="a", joint=model.prismatic((1, 1, 0), "w"), mass=2)
    model.force("a", (0, "-2*y", 0), name="spring").nonholonomic(f"{column}*dot(x) + dot(y) - dot(w)", name="row")
    h = np.sqrt(0.5)
    M = np.array([[3.0, 2 * h], [2 * h, 1 + 2 * (h**2 + (1 + h) ** 2)]])
    w2 = 2 / (M[1, 1] - M[0, 1] ** 2 / M[0, 0])
    w, t = np.sqrt(w2), 1.0
    y = 0.3 * np.cos(w * t) + 0.2 / w * np.sin(w * t)
    x = 0.1 + (M[0] @ [0.4, 0.2] * t - M[0, 1] * (y - 0.3)) / M[0, 0]
    eom = dl.derive(model, formalism)
    run = eom.simulate(t)
    assert np.allclose(run.q[:, -1], [x, y, y - 0.1], atol=1e-10)
    assert eom.ignorable == ("x",)
