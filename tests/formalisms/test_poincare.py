"""Poincaré: quasi-velocities that depend on position and time, and constraint forces that do work, (3.47)."""

import math

import numpy as np
import pytest
from scipy.linalg import sqrtm

import dalembert as dl
from dalembert.formalisms.shared.linear_form import LinearSystem
from dalembert.formalisms.shared.solvers import solve_poincare
from dalembert.mechanics import state_batch
from dalembert.model.model import Model
from dalembert.simulation._assembled import smallest_force
from dalembert.symbolic.floats import FLOATS, to_numeric


def particle(*speeds: str) -> Model:
    model = Model("particle", gravity=(0, 0, -9.81)).coordinates("x", "y", "z")
    axes = zip(np.eye(3), "xyz", strict=True)
    model.body("particle", joint=[model.prismatic(axis, name) for axis, name in axes], mass=2)
    return model.speeds(*speeds)


def random_equations(seed=1, n=5, r=2):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    return (
        root @ root.T + np.eye(n),
        rng.normal(size=n),
        rng.normal(size=(r, n)),
        rng.normal(size=r),
        rng.normal(size=n),
    )


def test_quasi_velocities_may_depend_on_position_and_time():
    # s1 = ẋ + t ẏ, s2 = ẏ cos x, completed by ż; the acceleration of free fall is unchanged
    eom = dl.derive(particle("dot(x) + t*dot(y)", "(2 + cos(x))*dot(y)"), "poincare", engine="python")
    q, qd, t = np.array([0.4, 0.1, 0.2]), np.array([1.0, -0.7, 0.3]), 1.7
    s, _ = eom.kernel.start(q, qd, t, eom.workspace.values)
    assert np.allclose(sorted(s), sorted([1.0 - 1.7 * 0.7, (2 + np.cos(0.4)) * -0.7, 0.3]))
    assert np.allclose(eom.accelerations(q, qd, t), [0, 0, -9.81])
    # ṡ has the parts that come from Ġ
    rates = eom.kernel.state_rates(np.concatenate([q, s]), t, eom.workspace.values)[3:]
    by_hand = {"first": -0.7, "second": -np.sin(0.4) * 1.0 * -0.7, "third": -9.81}
    assert np.allclose(sorted(rates), sorted(by_hand.values()))


def test_only_the_homogeneous_part_of_the_speeds_is_used():
    eom = dl.derive(particle("dot(x) + sin(t)"), "poincare", engine="python")
    s, _ = eom.kernel.start(np.zeros(3), np.array([1.0, 2.0, 3.0]), 0.8, eom.workspace.values)
    assert np.allclose(sorted(s), [1, 2, 3])


def test_agrees_with_lagrange_for_any_speeds():
    given = (), ("dot(x) + t*dot(y)",), ("(2 + cos(x))*dot(z)", "dot(y) - 0.3*t*dot(x)")
    states = state_batch.consistent_states(constrained(), 5)
    exact = dl.derive(constrained(), "lagrange", engine="python").accelerations(states.q, states.qd, states.t)
    for speeds in given:
        eom = dl.derive(constrained(*speeds), "poincare", engine="python")
        assert np.allclose(eom.accelerations(states.q, states.qd, states.t), exact, rtol=1e-10, atol=1e-10)


def constrained(*speeds: str) -> Model:
    model = particle().holonomic("x**2 + y**2 + (z - 1)**2 - 1 - 0.1*sin(t)", name="ball")
    return model.speeds(*speeds).start([0, 0, 0], [0, 0, 0.05 * -1])


def test_the_non_ideal_formula_as_it_is_printed():
    # S_c = M^(1/2) B⁺ (b − A a) + M^(1/2) (1 − B⁺B) M^(−1/2) C, with SciPy's square root
    M, S, A, b, C = random_equations()
    root = np.real(sqrtm(M))
    half = np.linalg.inv(root)
    B = A @ half
    B_plus = np.linalg.pinv(B)
    force = root @ B_plus @ (b - A @ np.linalg.solve(M, S)) + root @ (np.eye(5) - B_plus @ B) @ half @ C
    found, _ = smallest_force(M, S + C, A, b, A)
    assert np.allclose(M @ found - S, force)
    assert np.allclose(to_numeric(solve_poincare(FLOATS, LinearSystem(M, S, A, b, C))[0]), found)
    # the constraint is satisfied, and along admissible directions the force does the work of C
    free = np.linalg.svd(A)[2][2:]
    assert np.allclose(A @ found, b)
    assert np.allclose(free @ force, free @ C)


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_sliding_down_a_rough_plane(friction):
    # Coulomb-like drag μ N along the motion: a = g (sin α − μ cos α) down the plane z = −x tan α
    alpha = 0.5
    model = Model("slope", gravity=(0, 0, -9.81)).parameters(mu=friction).coordinate("x", 0.0, 1.0)
    model.coordinate("z", 0.0, -math.tan(alpha))
    model.body("block", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z")], mass=2)
    model.holonomic(f"z + {math.tan(alpha)!r}*x", name="plane")
    drag = f"-mu*2*9.81*{math.cos(alpha)!r}/sqrt(dot(x)**2 + dot(z)**2)"
    eom = dl.derive(model.non_ideal({c: f"{drag}*dot({c})" for c in "xz"}), "poincare", engine="python")
    down = np.array([math.cos(alpha), -math.sin(alpha)])
    expected = 9.81 * (math.sin(alpha) - friction * math.cos(alpha)) * down
    assert np.allclose(eom.accelerations([0.3, -0.3 * math.tan(alpha)], 1.7 * down), expected)
