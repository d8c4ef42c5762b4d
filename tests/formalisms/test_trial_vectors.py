"""Projections along trial vectors (phong) and partitions (nullspace) fail only if the constraints are dependent."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import null_space
from scipy.special import ellipj, ellipk

import dalembert as dl
from dalembert.formalisms.shared.solvers import minimum_norm_solution
from dalembert.mechanics.generalized_speeds import best_coordinates
from dalembert.model.model import Model
from dalembert.symbolic.elimination import cross_product
from dalembert.symbolic.floats import FLOATS

PROJECTIONS = ["phong", "nullspace"]
OTHER_ANGLES = [0.3, 1.5, np.pi / 2, 2.0, 3.0]
G = 9.81


def chain(angles: list[float], length: float = 1.0, mass: float = 1.0) -> Model:
    """A pendulum of point masses on massless rods, in Cartesian coordinates, released at rest."""
    model = Model("cartesian-pendulum").parameters(m=mass, l=length, g=G)
    positions = np.cumsum([(length * np.sin(a), -length * np.cos(a)) for a in angles], axis=0)
    names = [(f"x{i}", f"y{i}") for i in range(len(angles))]
    for pair, position in zip(names, positions, strict=True):
        for name, value in zip(pair, position, strict=True):
            model.coordinate(name, float(value))
    squares = "+".join(f"dot({name})**2" for pair in names for name in pair)
    model.set_energies(f"m/2*({squares})", "m*g*(" + "+".join(y for _, y in names) + ")")
    model.holonomic("x0**2 + y0**2 - l**2")
    for (x, y), (u, v) in pairwise(names):
        model.holonomic(f"({u}-{x})**2 + ({v}-{y})**2 - l**2")
    return model


def swing(start: float, t: np.ndarray) -> np.ndarray:
    """The angle of a pendulum of length 1 released at rest, by elliptic functions."""
    k, w = np.sin(start / 2), np.sqrt(G)
    return 2 * np.arcsin(k * ellipj(ellipk(k**2) - w * t, k**2)[0])


def double_pendulum(angles: list[float], t: np.ndarray) -> np.ndarray:
    """Angles of two equal pendulums from the textbook equations, by SciPy."""

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        a, b, u, v = y
        c, s = np.cos(a - b), np.sin(a - b)
        right = [-(v**2) * s - 2 * G * np.sin(a), u**2 * s - G * np.sin(b)]
        return np.array([u, v, *np.linalg.solve([[2, c], [c, 1]], right)])

    found = solve_ivp(rates, (0, t[-1]), [*angles, 0, 0], "DOP853", t, rtol=1e-12, atol=1e-12)
    return found.y[:2]


@pytest.mark.parametrize("start", [0.8, 2.5, *(pytest.param(a, marks=pytest.mark.nightly) for a in OTHER_ANGLES)])
@pytest.mark.parametrize("key", PROJECTIONS)
def test_a_cartesian_pendulum_swings_from_every_angle(key, start):
    run = dl.derive(chain([start]), key).simulate(2.5, samples=26)
    angle = swing(start, run.t)
    assert np.abs(run.q - [np.sin(angle), -np.cos(angle)]).max() < 1e-10
    assert run.energy_error < 1e-11
    assert run.notes == ()  # D and W are cross products, which never vanish


@pytest.mark.parametrize("key", PROJECTIONS)
@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), pytest.param(1e-4, 1e-6, marks=pytest.mark.nightly)])
def test_a_cartesian_double_pendulum_passes_where_its_first_trial_vectors_fail(key, length, mass):
    angles = [0.9, 1.7]
    run = dl.derive(chain(angles, length, mass), key).simulate(3 * np.sqrt(length), samples=31)
    a, b = double_pendulum(angles, np.linspace(0, 3, 31))
    expected = np.array([np.sin(a), -np.cos(a), np.sin(a) + np.sin(b), -np.cos(a) - np.cos(b)])
    assert np.abs(run.q / length - expected).max() < 1e-9
    assert run.energy_error < 1e-11
    assert any("trial vectors were repartitioned" in note for note in run.notes)


@pytest.mark.parametrize("key", PROJECTIONS)
def test_a_knife_edge_rotates_through_every_direction(key):
    model = dl.load("knife-edge")
    run = dl.derive(model, key).simulate()
    alpha, w = model.parameter_values["alpha"], model.parameter_values["w"]
    far, phi = G * np.sin(alpha) / (2 * w**2), w * run.t
    expected = [far * np.sin(phi) ** 2, far * (phi - np.sin(phi) * np.cos(phi)), phi]
    assert np.abs(run.q - expected).max() < 1e-9


@pytest.mark.parametrize("key", PROJECTIONS)
@pytest.mark.parametrize("integrator", ["dop853", pytest.param("radau", marks=pytest.mark.nightly)])
def test_other_integrators_change_trial_vectors_too(key, integrator):
    run = dl.derive(chain([0.9, 1.7]), key).simulate(1.5, samples=11, integrator=integrator)
    a, b = double_pendulum([0.9, 1.7], run.t)
    assert np.abs(run.q[2] - np.sin(a) - np.sin(b)).max() < 1e-5


def test_collocation_uses_the_constraints_without_differentiation():
    run = dl.derive(chain([0.8]), "phong").simulate(1.2, samples=13, integrator="collocation")
    assert np.abs(run.q[0] - np.sin(swing(0.8, run.t))).max() < 1e-8


@pytest.mark.parametrize("key", PROJECTIONS)
def test_accelerations_where_trial_vectors_fail_agree_with_others(key):
    eom, known = (dl.derive(chain([0.9, 1.7]), formalism) for formalism in (key, "lagrange"))
    states = [(a, b) for a in (0.0, np.pi / 2, 0.4) for b in (0.0, np.pi / 2, np.pi)]
    q = np.array([[np.sin(a), -np.cos(a), np.sin(a) + np.sin(b), -np.cos(a) - np.cos(b)] for a, b in states]).T
    qd = np.array([[np.cos(a), np.sin(a), np.cos(a) + 2 * np.cos(b), np.sin(a) + 2 * np.sin(b)] for a, b in states]).T
    for ask in ("accelerations", "reactions", "multipliers"):
        found, expected = getattr(eom, ask)(q, qd), getattr(known, ask)(q, qd)
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-10)
        assert np.allclose(getattr(eom, ask)(q[:, 0], qd[:, 0]), expected[:, 0], rtol=1e-10, atol=1e-10)


def test_user_trial_vectors_are_replaced_where_they_fail():
    # initially, and during the run
    for trials in (["y0", "x1"], ["x0", "x1"]):
        eom = dl.derive(chain([0.0, 1.2]), "phong", trials=trials)
        run = eom.simulate(1.5, samples=11)
        a, _ = double_pendulum([0.0, 1.2], run.t)
        assert np.abs(run.q[0] - np.sin(a)).max() < 1e-9


def test_run_with_other_trial_vectors_round_trips(tmp_path):
    run = dl.derive(chain([0.9, 1.7]), "nullspace").simulate(1.5, samples=11)
    again = dl.load_run(run.save(tmp_path / "run.nc"))
    assert again.segments == run.segments
    assert len({segment.dependent for segment in run.segments}) > 1
    assert (again.qdd == run.qdd).all()


def test_the_compiled_graphs_are_proved_identical():
    assert dl.prove(chain([0.9, 1.7]), ["lagrange", *PROJECTIONS]).proved


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_the_cross_product_spans_the_null_space(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        rows = rng.normal(size=(n - 1, n)) * (rng.random((n - 1, n)) < 0.8)
        found = cross_product(FLOATS, rows.astype(object)).astype(float)
        assert np.allclose(rows @ found, 0, atol=1e-12)
        assert np.linalg.norm(found) == pytest.approx(np.sqrt(max(np.linalg.det(rows @ rows.T), 0.0)), abs=1e-12)
        if np.linalg.matrix_rank(rows) == n - 1:
            assert abs(found @ null_space(rows)[:, 0]) == pytest.approx(np.linalg.norm(found))


def test_minimum_norm_solution_equals_moore_penrose():
    rng = np.random.default_rng(3)
    for r, n in ((1, 2), (2, 5), (4, 6)):
        A, beta = rng.normal(size=(r, n)), rng.normal(size=r)
        found = minimum_norm_solution(FLOATS, A.astype(object), beta.astype(object)).astype(float)
        assert np.allclose(found, np.linalg.pinv(A) @ beta)


def test_the_best_coordinates_are_measured_by_their_scales():
    assert best_coordinates(np.array([[1.0, 0.1, 0.0]]), np.ones(3)) == (1, 2)
    assert best_coordinates(np.array([[1.0, 0.1, 0.0]]), np.array([1e-3, 1.0, 1.0])) == (0, 2)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("key", PROJECTIONS)
def test_random_points_on_random_quadrics_follow_an_independent_integration(key, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    r = int(rng.integers(1, n))
    S = [np.diag(rng.uniform(0.5, 2.0, n)) + 0.2 * (B + B.T) for B in rng.uniform(-1, 1, (r, n, n))]
    q0, push, weights = rng.uniform(-1, 1, n), rng.uniform(-3, 3, n), rng.uniform(0.5, 2.0, n)
    names = [f"q{i}" for i in range(n)]
    model = Model("quadrics")
    A = np.array([2 * s @ q0 for s in S])
    qd0 = null_space(A) @ rng.uniform(-2, 2, n - r)
    for name, x, v in zip(names, q0, qd0, strict=True):
        model.coordinate(name, float(x), float(v))
    T = "+".join(f"{float(w)!r}*dot({name})**2/2" for w, name in zip(weights, names, strict=True))
    V = "+".join(f"{float(-f)!r}*{name}" for f, name in zip(push, names, strict=True))
    model.set_energies(T, V)
    for s in S:
        terms = "+".join(f"{float(s[i, j])!r}*{names[i]}*{names[j]}" for i in range(n) for j in range(n))
        model.holonomic(f"{terms} - {float(q0 @ s @ q0)!r}")

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        q, qd = y[:n], y[n:]
        A = np.array([2 * s @ q for s in S])
        matrix = np.block([[np.diag(weights), -A.T], [A, np.zeros((r, r))]])
        right = np.concatenate([push, [-2 * qd @ s @ qd for s in S]])
        return np.concatenate([qd, np.linalg.solve(matrix, right)[:n]])

    t = np.linspace(0, 1.5, 16)
    known = solve_ivp(rates, (0, t[-1]), np.concatenate([q0, qd0]), "DOP853", t, rtol=1e-12, atol=1e-12)
    run = dl.derive(model, key).simulate(times=t.tolist())
    assert np.abs(run.q - known.y[:n]).max() < 1e-6 * max(1.0, np.abs(known.y[n:]).max())
