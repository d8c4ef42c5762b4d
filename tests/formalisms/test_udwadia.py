"""Udwadia and Kalaba: the printed formula, dependent constraints, and mass matrices that are singular."""

import numpy as np
import pytest
from scipy.linalg import sqrtm

import dalembert as dl
from dalembert.model.model import Model
from dalembert.simulation._assembled import smallest_force

G = 9.81


def bob(*rods: str) -> Model:
    model = Model("bob", gravity=(0, -G, 0)).coordinate("x", 0.6).coordinate("y", -0.8)
    model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    for rod in rods:
        model.holonomic(rod)
    return model


def test_the_formula_as_it_is_printed():
    # q̈ = q̈₀ + M^(−1/2) (A M^(−1/2))⁺ (β − A q̈₀), with SciPy's square root
    rng = np.random.default_rng(3)
    root = rng.normal(size=(5, 5))
    M, h, A, beta = root @ root.T + np.eye(5), rng.normal(size=5), rng.normal(size=(2, 5)), rng.normal(size=2)
    half = np.linalg.inv(np.real(sqrtm(M)))
    free = np.linalg.solve(M, h)
    expected = free + half @ np.linalg.pinv(A @ half) @ (beta - A @ free)
    qdd, lam = smallest_force(M, h, A, beta, A)
    assert np.allclose(qdd, expected)
    assert np.allclose(M @ qdd - h, A.T @ lam)


def test_dependent_rows_change_nothing_but_the_multipliers():
    q, qd = np.array([0.6, -0.8]), 1.5 * np.array([0.8, 0.6])
    tension = 1.5**2 + G * 0.8
    eom = dl.derive(bob("x**2 + y**2 - 1", "-2*(x**2 + y**2 - 1)"), "udwadia_kalaba", engine="python")
    assert np.allclose(eom.accelerations(q, qd), -tension * q + [0, -G])
    assert np.allclose(eom.reactions(q, qd), -tension * q)
    # the smallest λ with 2q (λ₁ − 2 λ₂) = −tension q
    assert np.allclose(eom.multipliers(q, qd), -tension / 2 / 5 * np.array([1, -2]))
    assert eom.notes == ("redundant constraints kept: holonomic2; multipliers have minimum norm",)


@pytest.mark.parametrize("engine", ["native", "python"])
def test_a_run_with_dependent_rows_is_the_run_without_them(engine):
    runs = [
        dl.derive(bob(*rods), "udwadia_kalaba", engine=engine).simulate(2.0, samples=5, integrator="dop853")
        for rods in (("x**2 + y**2 - 1",), ("x**2 + y**2 - 1", "3*(x**2 + y**2) - 3"))
    ]
    assert np.allclose(runs[0].q, runs[1].q, atol=1e-8)


def rod() -> Model:
    """A bob at the end of a massless rod with a torque: M is singular in the angle."""
    model = Model("rod", gravity=(0, -G, 0)).coordinates("x", "y", "th")
    model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
    model.body("rod", joint=model.revolute((0, 0, 1), "th")).torque("rod", (0, 0, 0.5))
    model.holonomic("x - 0.7*sin(th)", name="x end").holonomic("y + 0.7*cos(th)", name="y end")
    return model.start([0.7 * np.sin(1.0), -0.7 * np.cos(1.0), 1.0], [0, 0, 0])


def reduced() -> Model:
    """The same pendulum in its angle only."""
    model = Model("reduced", gravity=(0, -G, 0)).coordinate("th", 1.0)
    return model.body("bob", joint=model.revolute((0, 0, 1), "th"), mass=2, center=(0, -0.7, 0)).torque(
        "bob", (0, 0, 0.5)
    )


REGULAR_ON_CONSTRAINTS = ("lagrange", "maggi", "kane", "boltzmann_hamel", "udwadia_kalaba", "phong", "nullspace")


@pytest.mark.parametrize("key", REGULAR_ON_CONSTRAINTS)
def test_singular_mass_matrix_is_supported_if_regular_on_the_constraints(key):
    # Udwadia and Phohomsiri: [(1 − A⁺A)M; A] has full rank
    th, w = 0.8, 1.3
    q, qd = [0.7 * np.sin(th), -0.7 * np.cos(th), th], [0.7 * np.cos(th) * w, 0.7 * np.sin(th) * w, w]
    angular = -G / 0.7 * np.sin(th) + 0.5 / (2 * 0.49)
    xdd = 0.7 * (np.cos(th) * angular - np.sin(th) * w**2)
    ydd = 0.7 * (np.sin(th) * angular + np.cos(th) * w**2)
    eom = dl.derive(rod(), key, engine="python")
    assert np.allclose(eom.accelerations(q, qd), [xdd, ydd, angular])
    # reaction on the bob, and the moment that balances the torque on the rod
    assert np.allclose(eom.reactions(q, qd), [2 * xdd, 2 * (ydd + G), -0.5])


@pytest.mark.parametrize("key", ["udwadia_kalaba", "kane"])
def test_a_run_with_a_singular_mass_matrix_stays_on_its_constraints(key):
    run = dl.derive(rod(), key).simulate(3.0, samples=7)
    exact = dl.simulate(reduced(), 3.0, samples=7)
    assert np.allclose(run.q[2], exact.q[0], atol=1e-8)
    assert np.abs(run.violation).max() <= 1e-12
