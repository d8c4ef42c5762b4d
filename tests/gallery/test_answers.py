"""The worked answers of the gallery: every formula agrees with the library at random states.

An answer is a block ```formula with lines `name = formula`. Names: Mij, bi, gi of τ = M q̈ + b + g; phii and Phiij of the
constraints; T, V, L, H; pi, qdoti and pdoti of Hamilton's equations; eqi for equations as left side less right side.
"""

import re
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from dalembert.io import gallery
from dalembert.mechanics import state_batch
from dalembert.model.evaluation import value
from dalembert.symbolic.parser import parse
from dalembert.symbolic.symbols import rate

NAMES = [name for name in gallery.names() if gallery.answers(name)]
HAMILTON = ("two-link-robot", "slider-crank-2")
STATES = 12


def formulas(name):
    """The lines `name = formula` of all formula blocks, in order."""
    text = gallery.answers(name)
    assert text is not None
    blocks = re.findall(r"^```formula\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [tuple(part.strip() for part in line.split("=", 1)) for block in blocks for line in block.splitlines()]


class Known:
    """Quantities of a model computed by the library at a batch of random states."""

    def __init__(self, name):
        self.model = dl.load(name)
        self.eom = dl.derive(self.model, "lagrange", engine="python")
        found = state_batch.consistent_states(self.model, STATES)
        self.q, self.qd, self.t = found.q, found.qd, found.t
        self.n = len(self.q)
        self.qdd = self.eom.accelerations(self.q, self.qd, self.t)
        self.lam = self.eom.multipliers(self.q, self.qd, self.t)
        self.M = self.at(self.eom.mass_matrix)
        self.f = self.at(self.eom.forcing)[:, 0]
        self.A = self.at(self.eom.constraint_matrix)
        # gravity alone: at rest, without the joint torques
        self.tau = self.torques()
        self.f_rest = self.at(self.eom.forcing, rest=True)[:, 0]
        self.observed = self.eom.workspace.observables.along(self.t, self.q, self.qd, self.eom.values)

    def torques(self):
        """The generalized forces of the joint torques: with relative angles they are the torques themselves."""
        out = np.zeros((self.n, STATES))
        load: Any
        for load in self.model.loads:
            i = [b.name for b in self.model.bodies].index(load.body)
            out[i] = [value(load.value, table) for table in self.tables()]
        return out

    def tables(self):
        for k in range(STATES):
            table = {"t": float(self.t[k]), **self.model.parameter_values}
            for i, name in enumerate(self.model.coordinate_names):
                table |= {name: self.q[i, k], rate(name).name: self.qd[i, k]}
            yield table

    def at(self, matrix, rest=False):
        """Numeric values of a SymPy matrix, (rows, columns, states)."""
        moving = [sp.Function(name)(sp.Symbol("t")) for name in self.model.coordinate_names]
        rates = [x.diff() for x in moving]
        plain = sp.symbols(f"x0:{2 * self.n}")
        table = dict(zip([*rates, *moving], plain, strict=True))
        constants = {sp.Symbol(name): number for name, number in self.model.parameter_values.items()}
        function = sp.lambdify(plain, matrix.xreplace(table).xreplace(constants))
        qd = np.zeros_like(self.qd) if rest else self.qd
        return np.stack([np.array(function(*v, *x), dtype=float) for v, x in zip(qd.T, self.q.T, strict=True)], axis=-1)


@pytest.fixture(scope="module", params=NAMES)
def answer(request):
    """The model, and every answer evaluated at its states: name -> (states,)."""
    known, lines = Known(request.param), formulas(request.param)
    momenta = np.einsum("ijs,js->is", known.M, known.qd)
    found = {name: [] for name, _ in lines}
    for k, table in enumerate(known.tables()):
        for i in range(known.n):
            table |= {f"a{i + 1}": known.qdd[i, k], f"tau{i + 1}": known.tau[i, k], f"p{i + 1}": momenta[i, k]}
        table |= {f"lam{i + 1}": lam for i, lam in enumerate(known.lam[:, k])}
        for name, text in lines:
            names = [
                key for key in table if key not in known.model.coordinate_names and key.isidentifier() and key != "t"
            ]
            formula = parse(text, coordinates=known.model.coordinate_names, parameters=names, where=name)
            table[name] = value(formula, table)
            found[name].append(table[name])
    return known, {name: np.array(numbers) for name, numbers in found.items()}


def close(found, expected):
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_there_are_answers_to_exercises_1_to_8():
    assert set(NAMES) == {"two-link-robot", "slider-crank-2", "planar-four-bar", "slider-crank-3"}
    combined = "".join(gallery.answers(name) or "" for name in NAMES)
    assert all(re.search(rf"Exercises? (?:\d[, and]*)*{number}", combined) for number in range(1, 9))
    assert gallery.answers("simple-pendulum") is None


def test_mass_matrix(answer):
    known, found = answer
    for i in range(known.n):
        for j in range(i, known.n):
            close(found[f"M{i + 1}{j + 1}"], known.M[i, j])


def test_coriolis_and_gravity_vectors(answer):
    known, found = answer
    # forcing = τ − b − g, and at rest τ − g
    for i in range(known.n):
        close(found[f"g{i + 1}"], known.tau[i] - known.f_rest[i])
        close(found[f"b{i + 1}"], known.f_rest[i] - known.f[i])


def violation(model, row, table):
    """A constraint at a state: its formula, or the gap of a loop that ends on the world."""
    if model.holonomic_constraints:
        return value(model.holonomic_constraints[row].phi, table)
    (loop,) = model.loops
    tip, pivot = ([value(x, table) for x in place] for place in (loop.position, loop.joint.position))
    q = [table[name] for name in model.coordinate_names]
    return (dl.kinematics(model).position(q, loop.bodies[1], tip) - pivot)[row]


def test_constraints_and_their_matrix(answer):
    known, found = answer
    rows = len(known.eom.workspace.facts.rows)
    assert known.A.shape[:2] == (rows, known.n)
    written, random = dict(formulas(known.model.name)), np.random.default_rng(7)
    names = known.model.coordinate_names
    for i in range(rows):
        close(found[f"phi{i + 1}"], 0.0)
        # and off the constraint
        phi = parse(written[f"phi{i + 1}"], coordinates=names, parameters=known.model.parameter_values, where="phi")
        for table in known.tables():
            table |= dict(zip(names, random.uniform(-2, 2, known.n), strict=True))
            close(value(phi, table), violation(known.model, i, table))
        for j in range(known.n):
            close(found[f"Phi{i + 1}{j + 1}"], known.A[i, j])
    if rows:
        close(found["dof"], known.eom.workspace.facts.d)


def test_energies_and_lagrangian(answer):
    known, found = answer
    if known.model.name not in HAMILTON:
        assert "T" not in found
        return
    close(found["T"], known.observed.kinetic)
    close(found["V"], known.observed.potential)
    close(found["L"], known.observed.kinetic - known.observed.potential)


def test_equations_of_motion_hold_for_the_accelerations_of_the_library(answer):
    known, found = answer
    if known.model.name not in HAMILTON:
        return
    for i in range(known.n + len(known.model.holonomic_constraints)):
        close(found[f"eq{i + 1}"], 0.0)


def test_hamiltonian_and_canonical_equations(answer):
    known, found = answer
    if known.model.name not in HAMILTON:
        return
    close(found["H"], known.observed.total)
    M = known.eom.mass_matrix
    q = sp.Matrix([sp.Function(name)(sp.Symbol("t")) for name in known.model.coordinate_names])
    # ṗ = M q̈ + Ṁ q̇
    change = known.at(sp.Matrix([M.diff(sp.Symbol("t")) * q.diff(sp.Symbol("t"))]))[:, 0]
    pdot = np.einsum("ijs,js->is", known.M, known.qdd) + change
    for i in range(known.n):
        close(found[f"p{i + 1}"], known.observed.momenta[i])
        close(found[f"qdot{i + 1}"], known.qd[i])
        close(found[f"pdot{i + 1}"], pdot[i])
    # the same derivation in the library
    hamilton = dl.derive(known.model, "hamilton")
    close(hamilton.accelerations(known.q, known.qd, known.t), known.qdd)


# the numbers in expected.toml


@pytest.mark.parametrize("name", NAMES)
def test_energy_at_the_start_and_its_balance(name):
    run = dl.simulate(dl.load(name), 2.0, samples=201)
    assert run.energy[0] == pytest.approx(gallery.expected(name)["closed_form"]["energy"], rel=1e-12)
    assert run.energy_error <= 1e-11


@pytest.mark.parametrize("name", ["slider-crank-2", "slider-crank-3"])
def test_the_crank_reverses_at_the_computed_turning_point(name):
    run = dl.simulate(dl.load(name), 5.0, samples=5001)
    assert run.q[0].max() == pytest.approx(np.pi / 4)
    assert run.q[0].min() == pytest.approx(gallery.expected(name)["closed_form"]["turning_point"], abs=1e-5)
    np.testing.assert_allclose(run.q[1], -2 * run.q[0], atol=1e-12)
