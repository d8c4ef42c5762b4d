"""Kinetic and potential energy: exact differences of a quadratic, gradients, closed forms."""

from typing import Any

import numpy as np
import pytest

from dalembert.mechanics.energies import applied_forces, kinetic, mass_matrix, potential
from dalembert.mechanics.motion import move
from dalembert.model.model import Model
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, numbers

every_tree = pytest.mark.parametrize("seed", range(6))


def at(model, q, qd, t: Any = 0.6):
    return move(model, FLOATS, t, vector(list(q)), vector(list(qd)), model.parameter_values)


def kinetic_energy(model, q, qd, t=0.6):
    motion = at(model, q, qd, t)
    T: Any = kinetic(motion, motion.qd)
    return complex(T).real


@every_tree
def test_mass_matrix_is_the_second_difference_of_the_kinetic_energy(random_tree, seed):
    # T is quadratic in q̇, so T(a+b) − T(a) − T(b) + T(0) = aᵀM b without truncation error
    model = random_tree(seed, coordinates=6)
    n = len(model.coordinate_names)
    q = np.random.default_rng(seed).uniform(-1, 1, n)

    def T(qd):
        return kinetic_energy(model, q, qd)

    rest, unit = np.zeros(n), np.eye(n)
    expected = [[T(a + b) - T(a) - T(b) + T(rest) for b in unit] for a in unit]
    M = numbers(mass_matrix(at(model, q, rest)), 1)[..., 0]
    assert np.allclose(M, expected, atol=1e-12)
    assert np.allclose(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


@every_tree
def test_kinetic_energy_is_that_of_the_moving_mass_elements(random_tree, seed):
    # ½ ∫ v·v dm with each body as its mass center and six points that have its inertia
    model = random_tree(seed, coordinates=6)
    random = np.random.default_rng(seed)
    n, t, h = len(model.coordinate_names), 0.6, 1e-30
    q, qd = random.uniform(-1, 1, n), random.uniform(-1, 1, n)
    moved = at(model, q + 1j * h * qd, qd, t + 1j * h)
    total = 0.0
    for body in moved.bodies:
        inertia = np.real(numbers(body.inertia, 1)[..., 0])
        second = np.trace(inertia) / 2 * np.eye(3) - inertia  # ∫ r rᵀ dm about the mass center
        spread, axes = np.linalg.eigh(second)
        for center, mass in [(np.zeros(3), body.mass - 6.0)] + [
            (sign * axis * np.sqrt(size / 2), 1.0)
            for size, axis in zip(spread, axes.T, strict=True)
            for sign in (-1, 1)
        ]:
            point = numbers(body.p_WG + body.R_WB @ vector(list(center)), 1)[:, 0]
            total += 0.5 * mass * np.sum((np.imag(point) / h) ** 2)
    assert kinetic_energy(model, q, qd, t) == pytest.approx(total, rel=1e-11)


@every_tree
def test_conservative_forces_are_gradients_of_the_potential(random_tree, seed):
    model = random_tree(seed, coordinates=6, loads=("spring", "spring", "force", "damper"))
    n = len(model.coordinate_names)
    q, h = np.random.default_rng(seed).uniform(-1, 1, n), 1e-30
    forces = [load for load in applied_forces(at(model, q, 0 * q)) if load.potential is not None]
    assert len(forces) == len(model.bodies) + 2
    total = numbers(sum((load.J.T @ load.force for load in forces), start=vector([0.0] * n)), 1)[:, 0]
    for i, unit in enumerate(np.eye(n)):
        V: Any = potential(at(model, q + 1j * h * unit, 0 * q))
        slope = np.imag(complex(V)) / h
        assert total[i] == pytest.approx(-slope, abs=1e-12)


def test_energies_of_a_swinging_rod():
    model = Model("rod", gravity=(0, -9.81, 0)).parameters(m=2.0, l=0.6).coordinates("theta")
    turn = model.revolute((0, 0, 1), "theta")
    model.body("rod", joint=turn, mass="m", center=(0, "-l/2", 0), inertia=("m*l**2/12", 0, "m*l**2/12"))
    motion = at(model, [0.4], [1.7])
    assert float(kinetic(motion, motion.qd)) == pytest.approx(2.0 * 0.6**2 / 6 * 1.7**2)  # pyright: ignore[reportArgumentType]
    assert float(potential(motion)) == pytest.approx(-2.0 * 9.81 * 0.3 * np.cos(0.4))  # pyright: ignore[reportArgumentType]


def test_kinetic_energy_of_a_driven_slider():
    # V = ẋ + 0.1 cos t, so T = ½ m (ẋ² + 0.2 ẋ cos t + 0.01 cos² t): N and T₀ are included
    model = Model("driven").coordinates("x")
    model.body("slider", joint=model.prismatic((1, 0, 0), "x + 0.1*sin(t)"), mass=3)
    assert kinetic_energy(model, [0.0], [2.0], 0.6) == pytest.approx(1.5 * (2.0 + 0.1 * np.cos(0.6)) ** 2)
