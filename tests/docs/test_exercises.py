"""Exercises 1–8 of papers/desapio: the commands of `docs/exercises.md` agree with a SymPy derivation from positions alone."""

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import dalembert as dl
from dalembert.cli import entry_point
from dalembert.symbolic.symbols import SymbolKind

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "exercises.md"
COMMANDS = re.findall(r"^    dalembert (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
CHAINS = {"slider-crank-2": 2, "planar-four-bar": 3, "slider-crank-3": 3}


class Chapter:
    """A mechanism in SymPy: L from positions, and the quantities of the exercises from L."""

    def __init__(self, T, V, q, qd, phi=()):
        self.q, self.qd, self.T, self.V, self.L = q, qd, T, V, T - V
        self.M = sp.hessian(T, qd)
        rate = sum((self.M.diff(x) * v for x, v in zip(q, qd, strict=True)), sp.zeros(len(q)))
        v = sp.Matrix(qd)
        self.b = rate * v - sp.Matrix([(v.T * self.M.diff(x) * v)[0] / 2 for x in q])  # (5.217)
        self.g = sp.Matrix([V.diff(x) for x in q])
        self.phi = sp.Matrix(phi)
        self.Phi = self.phi.jacobian(q) if phi else sp.zeros(0, len(q))

    @property
    def reaction(self):
        """Φᵀλ (5.113)."""
        return sum((row.T * sp.Symbol(f"lambda[{i + 1}]") for i, row in enumerate(self.rows)), sp.zeros(len(self.q), 1))

    @property
    def rows(self):
        return [self.Phi.row(i) for i in range(len(self.phi))]

    @property
    def canonical(self):
        """p by q̇, q̇ by p and H(q, p): (5.270), (5.275)."""
        p = sp.Matrix([sp.Symbol(f"P{i + 1}") for i in range(len(self.q))])
        by_momenta = self.M.applyfunc(sp.trigsimp).inv() * p
        H = (p.T * by_momenta)[0] - self.L.subs(dict(zip(self.qd, by_momenta, strict=True)), simultaneous=True)
        return sp.Matrix([self.L.diff(v) for v in self.qd]), by_momenta, H


def names(n):
    return sp.symbols(f"q1:{n + 1}"), sp.symbols(f"v1:{n + 1}")


@cache
def chain(name):
    """Equal links without rotational inertia, angles from link to link: Figures 5.15–5.17."""
    (M, length, g, b), n = sp.symbols("M l g b"), CHAINS[name]
    q, qd = names(n)
    T, V, tip = 0, 0, sp.zeros(2, 1)
    for i in range(n):
        angle = sum(q[: i + 1])
        along = length * sp.Matrix([sp.cos(angle), sp.sin(angle)])
        v = (tip + along / 2).jacobian(q) * sp.Matrix(qd)
        T, V, tip = T + M * v.dot(v) / 2, V + M * g * (tip + along / 2)[1], tip + along
    ends = {
        "slider-crank-2": [tip[1]],
        "planar-four-bar": [tip[0] - b, tip[1]],
        "slider-crank-3": [tip[1], sum(q)],
    }
    return Chapter(T, V, q, qd, ends[name])


@cache
def robot():
    """A link about the vertical and one about its y axis, both solid cylinders: Figure 5.14."""
    (M1, M2, l1, l2, r1, r2, g), (q, qd) = sp.symbols("M1 M2 l1 l2 r1 r2 g"), names(2)
    first = sp.rot_ccw_axis3(q[0])
    turns = [first, first * sp.rot_ccw_axis2(q[1])]
    e1, T, V, joint = sp.Matrix([1, 0, 0]), 0, 0, sp.zeros(3, 1)
    for turn, m, length, r in zip(turns, (M1, M2), (l1, l2), (r1, r2), strict=True):
        rate = sum((turn.diff(x) * v for x, v in zip(q, qd, strict=True)), sp.zeros(3))
        spin = turn.T * rate  # (5.228)
        w = sp.Matrix([spin[2, 1], spin[0, 2], spin[1, 0]])
        across = m * length**2 / 12 + m * r**2 / 4
        center = joint + turn * e1 * length / 2
        v = center.jacobian(q) * sp.Matrix(qd)
        T += m * v.dot(v) / 2 + (w.T * sp.diag(m * r**2 / 2, across, across) * w)[0] / 2
        V, joint = V + m * g * center[2], joint + turn * e1 * length
    return Chapter(T, V, q, qd)


def points(model, count=3):
    """Random values for every symbol, by their names in the library and in `Chapter`."""
    random, out = np.random.default_rng(8), []
    for _ in range(count):
        at = {name: random.uniform(0.5, 2) for name in dl.load(model).parameter_values}
        for i, name in enumerate(dl.load(model).coordinate_names):
            q, v, a, p = random.uniform(-2, 2, 4)
            at |= {
                name: q,
                SymbolKind.RATE.of(name): v,
                f"v{i + 1}": v,
                SymbolKind.ACCELERATION.of(name): a,
                f"a{i + 1}": a,
            }
            at |= {SymbolKind.MOMENTUM.of(name): p, f"P{i + 1}": p}
        at |= {f"lambda[{i + 1}]": random.uniform(-1, 1) for i in range(2)}
        out.append(at)
    return out


def numbers(expressions, points):
    """The values of expressions of SymPy or SymEngine at points, by the names of their symbols."""
    found = [sp.sympify(x) for x in expressions]
    used = sorted({symbol for x in found for symbol in x.free_symbols}, key=str)
    plain = {symbol: sp.Symbol(f"x{i}") for i, symbol in enumerate(used)}
    function = sp.lambdify(list(plain.values()), [x.xreplace(plain) for x in found])
    return np.array([function(*(at[symbol.name] for symbol in used)) for at in points], dtype=float)


def plainly(eom, block):
    """The entries of a block in plain symbols, by their names in the library."""
    t, value = sp.Symbol("t"), block.value
    moving = {name: sp.Function(name)(t) for name in eom.model.coordinate_names}
    rates = {x.diff(t): sp.Symbol(SymbolKind.RATE.of(name)) for name, x in moving.items()}
    entries = value.flat() if isinstance(value, sp.MatrixBase) else [value]
    return [x.xreplace(rates).xreplace({f: sp.Symbol(name) for name, f in moving.items()}) for x in entries]


def same(eom, key, expected):
    """Require that a block of the library and a SymPy expression or matrix are the same function."""
    found, wanted = plainly(eom, eom.blocks[key]), expected if isinstance(expected, sp.MatrixBase) else [expected]
    assert len(found) == len(wanted), key
    there = points(eom.model.name)
    assert_allclose(numbers(found, there), numbers(wanted, there), rtol=1e-12, atol=1e-12, err_msg=key)


def without_names(eom, side):
    """A side of a law with the names of entries substituted."""
    meanings, out = {sp.Symbol(a): sp.sympify(b) for a, b in eom._display.meanings.items()}, []
    for x in map(sp.sympify, side):
        while not x.free_symbols.isdisjoint(meanings):
            x = x.xreplace(meanings)
        out.append(x)
    return out


def holds(eom, law, expected):
    """Require that a law states that the expressions vanish."""
    left, right = without_names(eom, law.left), without_names(eom, law.right)
    there = points(eom.model.name)
    assert_allclose(numbers(left, there) - numbers(right, there), numbers(expected, there), rtol=1e-11, atol=1e-11)


def torques(model):
    """The generalized forces of the models: two motors, or a torsion spring in the first joint."""
    tau1, tau2, k, q1 = sp.symbols("tau1 tau2 k q1")
    return sp.Matrix([tau1, tau2]) if model == "two-link-robot" else sp.Matrix([-k * q1, 0])


def by_hand(model):
    return robot() if model == "two-link-robot" else chain(model)


@pytest.mark.parametrize("model", ["two-link-robot", *CHAINS])
def test_exercises_1_to_4(model):
    eom, known = dl.derive(model, "dalembert", engine="python"), by_hand(model)
    keys = ("M", "b", "g", "phi", "Phi") if known.phi else ("M", "b", "g")
    for key in keys:
        same(eom, key, getattr(known, key))
    assert eom.workspace.facts.d == len(known.q) - len(known.phi)  # n − m, (5.77)


@pytest.mark.parametrize("model", ["two-link-robot", "slider-crank-2"])
def test_exercises_5_and_6(model):
    eom, known = dl.derive(model, "lagrange", engine="python"), by_hand(model)
    for key in ("T", "V", "L"):
        same(eom, key, getattr(known, key))
    a, v = sp.Matrix(sp.symbols("a1:3")), sp.Matrix(known.qd)
    holds(eom, eom.laws[0], known.M * a + known.b + known.g - torques(model) - known.reaction)  # (5.170), (5.263)
    if known.phi:
        holds(eom, eom.laws[1], known.Phi * a + (known.Phi * v).jacobian(known.q) * v)  # (5.269)


@pytest.mark.parametrize("model", [pytest.param("two-link-robot", marks=pytest.mark.slow(4)), "slider-crank-2"])
def test_exercises_7_and_8(model):
    eom, known = dl.derive(model, "hamilton", engine="python"), by_hand(model)
    momenta, by_momenta, H = known.canonical
    for key, expected in (("p", momenta), ("qd", by_momenta), ("H", H)):
        same(eom, key, expected)
    velocities, forces = (without_names(eom, law.right) for law in eom.laws[:2])
    pushed = torques(model) - sp.Matrix([H.diff(x) for x in known.q]) + known.reaction  # (5.283)
    there = points(model)
    rates = numbers(by_momenta, there)
    assert_allclose(numbers(velocities, there), rates, rtol=1e-11)  # (5.282)
    for at, v in zip(there, rates, strict=True):
        at |= {SymbolKind.RATE.of(str(x)): value for x, value in zip(known.q, v, strict=True)}
    assert_allclose(numbers(forces, there), numbers(pushed, there), rtol=1e-10, atol=1e-10)


def test_the_page_has_a_command_for_every_exercise(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = PAGE.read_text(encoding="utf-8")
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        assert "    dalembert " in part, part.splitlines()[0]
    assert re.findall(r"^## Exercise (\d)$", text, re.MULTILINE) == list("12345678")
    assert len(COMMANDS) == len(set(COMMANDS)) == 15
    assert entry_point.main(COMMANDS[0].split()) == 0
    printed = capsys.readouterr().out.split("\n\n")
    assert all(part.strip() in text for part in printed)
    assert entry_point.main(["check", "slider-crank-2"]) == 0
    assert "1 (2 coordinates, 1 independent of 1 constraints)" in capsys.readouterr().out


@pytest.mark.nightly
def test_the_page_has_the_output_of_its_commands():
    spec: Any = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert PAGE.read_text(encoding="utf-8") == generate.fresh(PAGE, generate.exercises())
