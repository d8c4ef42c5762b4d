"""Blocks of dalembert, maggi, udwadia_kalaba, gauss, phong, nullspace and newton_euler: identities between the
quantities, and laws that hold with the accelerations of Lagrange's equations."""

from typing import Any

import numpy as np
import pytest
import symengine as se

import dalembert as dl
from dalembert.codegen.function import compile_function
from dalembert.formalisms.shared.common_quantities import multipliers
from dalembert.formalisms.shared.quantities import Derived
from dalembert.symbolic.algebra_base import stack, vector
from dalembert.symbolic.symbols import SymbolKind

HOLONOMIC, FREE, NONHOLONOMIC = "slider-crank-2", "double-pendulum", "cart-pendulum"
MODELS = (HOLONOMIC, FREE, NONHOLONOMIC)
KEYS = ("dalembert", "maggi", "udwadia_kalaba", "gauss", "phong", "nullspace", "newton_euler")
COORDINATES = {HOLONOMIC: 2, FREE: 2, NONHOLONOMIC: 3}


WITHOUT_MULTIPLIERS = ("maggi", "udwadia_kalaba", "phong", "nullspace")


def derived(name: str, formalism: str) -> dl.Equations:
    return dl.derive(name, formalism, engine="python")


def recorded(equations: dl.Equations) -> Derived:
    """All quantities and laws, over the algebra of the engine."""
    return equations.derivation.derived


def state(name: str, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Any state: laws between accelerations hold off the constraints too."""
    rng = np.random.default_rng(seed)
    n = COORDINATES.get(name, 3)
    return rng.uniform(0.2, 1.0, n), rng.normal(size=n)


def lagrange_solution(name: str, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q̈ and λ by Lagrange's equations."""
    lagrange = derived(name, "lagrange")
    A = lagrange.blocks_at(q, qd, keys=["A"])["A"] if lagrange.constraint_names else np.zeros((0, len(q)))
    lam = np.linalg.lstsq(A.T, lagrange.reactions(q, qd), rcond=None)[0] if len(A) else np.zeros(0)
    return lagrange.accelerations(q, qd), lam


def rows_of_laws(equations: dl.Equations, q, qd, qdd, lam, w_C) -> dict[str, np.ndarray]:
    """left − right of every law in numbers, over the algebra of the engine."""
    space = equations.workspace
    system, v = space.system, equations.form.velocity
    moving = {str(x): y for x, y in zip(v.v, v.v_from_qd, strict=True) if str(x) not in map(str, system.qd)}
    rates = zip(v.v, system.derivative(v.v_from_qd), strict=True)
    moving |= {SymbolKind.RATE.of(str(x)): y for x, y in rates if str(x) in moving}
    wrenches = system.algebra.symbols([f"w_C[{i + 1}]" for i in range(len(w_C))])
    inputs = stack(system.q, system.qd, system.qdd, multipliers(system, len(lam)), wrenches, vector([system.t]))
    names = system.algebra.symbols(list(space.model.parameter_values))
    out = {}
    for law in recorded(equations).laws:
        left, right = law.sides()
        gap = system.algebra.substitute(vector(list(left - right)), moving)
        function = compile_function(system.algebra, inputs, gap, names, "python")
        out[law.equation] = function(np.concatenate([q, qd, qdd, lam, w_C, [0.0]]), equations.values)
    return out


@pytest.mark.parametrize("formalism", KEYS)
@pytest.mark.parametrize("name", MODELS)
def test_every_law_holds_with_the_accelerations_and_multipliers_of_lagrange(name, formalism):
    q, qd = state(name)
    qdd, lam = lagrange_solution(name, q, qd)
    equations, w_C = derived(name, formalism), np.zeros(0)
    if formalism == "newton_euler":
        at = equations.blocks_at(q, qd)
        t, td = at["N"] @ qd, at["N"] @ qdd + at["N_dot_qd"]
        w_C = at["M"] @ td + at["Omega"] @ at["M"] @ at["E"] @ t - at["w_E"]  # (48)
    if formalism in WITHOUT_MULTIPLIERS:
        lam = lam[:0]  # a law that contains them is rejected
    laws = rows_of_laws(equations, q, qd, qdd, lam, w_C)
    laws.pop("(2.1b)", None)  # satisfied only on the constraint surface
    assert laws
    for number, gap in laws.items():
        np.testing.assert_allclose(gap, 0, atol=1e-10, err_msg=number)


@pytest.mark.parametrize("name", [HOLONOMIC, NONHOLONOMIC])
def test_the_constraint_space_of_desapio(name):
    q, qd = state(name)
    at = derived(name, "dalembert").blocks_at(q, qd)
    M_inv, Phi, H, Theta = np.linalg.inv(at["M"]), at["Phi"], at["H"], at["Theta"]
    np.testing.assert_allclose(H @ (Phi @ M_inv @ Phi.T), np.eye(len(H)), atol=1e-11)  # (5.90)
    np.testing.assert_allclose(Phi @ Theta @ M_inv, 0, atol=1e-11)
    np.testing.assert_allclose(Phi @ at["Phi_bar"], np.eye(len(H)), atol=1e-12)
    np.testing.assert_allclose(Theta @ Theta, Theta, atol=1e-11)
    np.testing.assert_allclose(at["rho"], at["Phi_bar"].T @ at["g"], atol=1e-11)
    same = derived(name, "dalembert").constraint_space(q, qd)
    np.testing.assert_allclose(at["alpha"], same.alpha, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_b_and_g_from_energies_are_those_of_the_bodies(name):
    q, qd = state(name)
    keys = ["M", "b", "g", "tau"]
    bodies, energies = (derived(name, by).blocks_at(q, qd, keys=keys) for by in ("dalembert", "nullspace"))
    for key in keys:
        np.testing.assert_allclose(energies[key], bodies[key], atol=1e-12, err_msg=key)


@pytest.mark.parametrize("name", [HOLONOMIC, NONHOLONOMIC])
def test_directions_are_orthogonal_to_the_constraints(name):
    q, qd = state(name)
    at = derived(name, "phong").blocks_at(q, qd)
    np.testing.assert_allclose(at["G"] @ at["D"], 0, atol=1e-12)
    np.testing.assert_allclose(at["b"].T @ at["D"], 0, atol=1e-12)
    np.testing.assert_allclose(at["r"] @ at["D"], 0, atol=1e-10)
    np.testing.assert_allclose(at["r"], derived(name, "lagrange").reactions(q, qd), atol=1e-10)
    for by, key in (("maggi", "A"), ("nullspace", "Phi")):
        found = derived(name, by).blocks_at(q, qd, keys=["W", key])
        np.testing.assert_allclose(found[key] @ found["W"], 0, atol=1e-12)


@pytest.mark.parametrize("name", [HOLONOMIC, NONHOLONOMIC])
def test_the_root_of_the_mass_matrix_and_the_gaussian(name):
    q, qd = state(name)
    at = derived(name, "udwadia_kalaba").blocks_at(q, qd)
    np.testing.assert_allclose(at["B"] @ at["B"].T, at["A"] @ np.linalg.solve(at["M"], at["A"].T), atol=1e-12)
    if name == HOLONOMIC:  # the root of a 2×2 matrix is symmetric
        values, vectors = np.linalg.eigh(at["M"])
        np.testing.assert_allclose(at["B"], at["A"] @ (vectors / np.sqrt(values)) @ vectors.T, atol=1e-12)
    np.testing.assert_allclose(at["qdd_free"], np.linalg.solve(at["M"], at["h"]), atol=1e-11)
    gauss = derived(name, "gauss")
    np.testing.assert_allclose(gauss.blocks_at(q, qd, keys=["gaussian"])["gaussian"], gauss.gaussian(q, qd))


def test_wheel_and_pendulum_of_phong():
    m, r, J, F, w, t, l, g, phi = se.symbols("m r J F w t l g phi")  # noqa: E741  # pyright: ignore[reportAssignmentType]
    sdd, xdd, ydd, phidd = (se.Symbol(SymbolKind.ACCELERATION.of(x)) for x in ("s", "x", "y", "phi"))
    disk: Any = derived("phong-disk", "phong")
    pendulum = derived("phong-pendulum", "phong")
    assert disk.blocks["D"].value.tolist() == [[r], [0], [-1]]
    (row,) = disk.laws[0].left
    assert se.expand(row - (m * r * sdd - r * F * se.cos(w * t) - J * phidd)) == 0  # (3.8)
    assert [str(x) for x in disk.blocks["x"].value] == ["0", "0", "1"]
    (row,) = pendulum.laws[0].left
    expected = l * m * se.cos(phi) * xdd + l * m * (ydd + g) * se.sin(phi) + J * phidd  # (3.16)
    assert se.expand(row - expected) == 0
    assert len(disk.laws[1].left) == 2


@pytest.mark.parametrize("name", MODELS)
def test_null_space_method_has_one_equation_per_degree_of_freedom(name):
    equations = derived(name, "nullspace")
    left, _ = recorded(equations).laws[0].sides()
    assert len(left) == equations.n_dynamic


def test_large_inverses_have_numeric_values():
    equations = derived("3-rrr", "dalembert")
    q, qd = equations.model.initial
    at = equations.blocks_at(q, qd, keys=["H", "Phi", "M"])
    np.testing.assert_allclose(at["H"] @ at["Phi"] @ np.linalg.solve(at["M"], at["Phi"].T), np.eye(6), atol=1e-9)


@pytest.mark.nightly
def test_large_inverses_are_printed_by_names_of_entries():
    equations = derived("3-rrr", "dalembert")
    assert equations.blocks["H"].is_text
    assert str(equations.laws[2]).startswith("λ = ")
