"""The printed equations equal the compiled equations."""

from __future__ import annotations

import itertools
import json
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
import symengine as se
import sympy
from matplotlib.mathtext import MathTextParser
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.api.derive import equations_of
from dalembert.display.math import latex, symbol_names
from dalembert.display.math import plain_text as text
from dalembert.display.math._intermediates import LONG_LINE, name_parts
from dalembert.display.math.pages import Page
from dalembert.display.math.sheet import prepare
from dalembert.formalisms.catalog import KEYS, find
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.io import gallery
from dalembert.mechanics.system import system_of
from dalembert.model.description import Elements
from dalembert.model.model import Model
from dalembert.symbolic.parser import parse

USUAL = ("lagrange", "kane", "volterra_reduced", "hamilton", "phong")  # the others run nightly
SMALL = ("simple-pendulum", "double-pendulum", "cart-pendulum")
# the wheel of the cart pendulum is nonholonomic
PAIRS = [
    pytest.param(name, key, marks=pytest.mark.nightly if name == "cart-pendulum" and key not in USUAL else ())
    for name, key in itertools.product(SMALL, KEYS)
    if (name, key) != ("cart-pendulum", "dirac")
]
BLOCKS = {
    "kinematics": "qd",
    "mass_matrix": "M",
    "forcing": "f",
    "constraint_matrix": "A",
    "constraint_forcing": "beta",
}


def derive(model: str | Model, key: str) -> LinearForm:
    source = gallery.load(model) if isinstance(model, str) else model
    return find(key).derive(system_of(source, "symbolic")).form


@cache
def page(model: str, key: str) -> Page:
    return equations_of(gallery.load(model), key)._display.page


def values(expression: Any, at: dict[str, float]) -> float:
    expression = se.sympify(expression)
    return float(expression.subs({s: at[s.name] for s in expression.free_symbols}).n(53, real=True))


def numbers_for(form: LinearForm) -> dict[str, float]:
    rng = np.random.default_rng(7)
    own = form.system
    symbols = [*own.q, *own.qd, own.t, *form.velocity.v, *form.constants.symbols]
    known = [*map(str, symbols), *own.model.parameter_values, *own.facts.speed_names]
    return {name: float(rng.uniform(0.4, 1.6)) for name in known}


def read_back(found: dict[str, Any], model: Elements, at: dict[str, float]) -> dict[str, np.ndarray]:
    """Values of the strings of `as_dict`, parsed as formulas."""
    # momenta, constants and twists are named after coordinates and bodies: p(x), G(x), wz(rod)
    named = re.compile(r"\b(p|G|[vw][xyz])\(([\w-]+)\)")
    table = at | {named.sub(r"\1_\2", name): value for name, value in at.items()}

    def number(text: str) -> float:
        known = [n for n in table if "(" not in n]
        return values(
            parse(named.sub(r"\1_\2", text), coordinates=model.coordinate_names, parameters=known, where="test"), table
        )

    for name, formula in found["intermediates"]:
        table[name] = number(formula)
    blocks = {key: np.vectorize(number, otypes=[float])(np.array(found[key], dtype=object)) for key in BLOCKS}
    return {**blocks, "speeds": np.array([number(text) for text in found["speeds"].values()])}


@pytest.mark.parametrize(
    ("name", "key"),
    [*PAIRS, ("satellite-boom", "kane"), ("satellite-boom", "volterra_reduced")],
)
def test_strings_have_the_values_of_the_derivation(name: str, key: str) -> None:
    form = derive(name, key)
    at = numbers_for(form)
    found = json.loads(json.dumps(text.as_dict(form)))
    numbers = read_back(found, form.system.model, at)
    for word, block in BLOCKS.items():
        expected = np.vectorize(lambda e: values(e, at), otypes=[float])(
            {**vars(form.velocity), **vars(form.linear)}[block]
        )
        got = numbers[word].reshape(expected.shape)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected).max(initial=0)))
    assert found["n_dynamic"] == form.n_dynamic
    assert found["n_states"] == form.n_states
    assert found["velocities"] == [re.sub(r"^(p|[vw][xyz])\((.+)\)$", r"\1_\2", str(v)) for v in form.velocity.v]


def test_dictionary_is_complete() -> None:
    found = text.as_dict(derive("cart-pendulum", "volterra_reduced"))
    assert found["ignorable"] == ["x"]
    assert list(found["constants"]) == ["G_x"]
    assert list(found["speeds"]) == ["u1"]
    assert found["speeds"]["u1"] == "dot(theta1) - dot(theta2)"
    assert "constants of the motion" in found["notes"][0]
    assert text.as_dict(derive("cart-pendulum", "lagrange"))["speeds"] == {}


@pytest.mark.parametrize("key", [key for key in KEYS if key not in ("hamilton", "dirac", "newton_euler")])
def test_pendulum_has_the_textbook_equation(key: str) -> None:
    eom = equations_of(gallery.load("simple-pendulum"), key)
    m, l, g = sympy.symbols("m l g")  # noqa: E741
    theta = dynamicsymbols("theta")
    assert eom.mass_matrix == sympy.Matrix([[m * l**2]])
    assert eom.forcing == sympy.Matrix([[-m * g * l * sympy.sin(theta)]])
    assert eom.constraint_matrix.shape == (0, 1)
    assert eom.constraint_forcing.shape == (0, 1)


@pytest.mark.parametrize("key", ["hamilton", "dirac"])
def test_pendulum_has_the_textbook_canonical_equation(key: str) -> None:
    eom = equations_of(gallery.load("simple-pendulum"), key)
    m, l, g, p = sympy.symbols("m l g p(theta)")  # noqa: E741
    theta = dynamicsymbols("theta")
    assert eom.mass_matrix == sympy.Matrix([[1]])
    assert eom.forcing == sympy.Matrix([[-m * g * l * sympy.sin(theta)]])
    assert sympy.simplify(eom.hamiltonian - p**2 / (2 * m * l**2) + m * g * l * sympy.cos(theta)) == 0


def test_cart_pendulum_has_the_mass_matrix_of_the_paper() -> None:
    eom = equations_of(gallery.load("cart-pendulum"), "lagrange")
    m1, m2, l = sympy.symbols("m1 m2 l")  # noqa: E741
    a, b, x = dynamicsymbols("theta1 theta2 x")
    rates = [q.diff() for q in (a, b, x)]
    half, third = sympy.Rational(1, 2), sympy.Rational(1, 3)
    # rods about their ends and centers, derived by hand
    first = half * m2 * (rates[2] ** 2 + l * sympy.cos(a) * rates[2] * rates[0] + third * l**2 * rates[0] ** 2)
    second = m2 * (rates[2] + l * sympy.cos(a) * rates[0] + l / 2 * sympy.cos(b) * rates[1]) ** 2 / 2
    second += m2 * (l * sympy.sin(a) * rates[0] + l / 2 * sympy.sin(b) * rates[1]) ** 2 / 2
    T = half * m1 * rates[2] ** 2 + first + second + m2 * l**2 / 24 * rates[1] ** 2
    assert sympy.simplify(eom.mass_matrix - sympy.hessian(T, rates)) == sympy.zeros(3, 3)


def test_matrices_use_the_symbols_the_user_declared() -> None:
    m = sympy.Symbol("m", positive=True)
    q: Any = dynamicsymbols("q", real=True)
    model = Model.from_energies("mass", coordinates=[q], kinetic=m * q.diff() ** 2 / 2, parameters={m: 1.0})
    eom = equations_of(model, "lagrange", engine="python")
    assert eom.mass_matrix == sympy.Matrix([[m]])
    moving = latex.to_sympy_matrix(model, np.array([[se.Symbol("q") * se.Symbol("dot(q)")]], dtype=object))
    assert moving[0] == q * q.diff()


def test_matrices_contain_speeds_constants_and_time() -> None:
    model = gallery.load("cart-pendulum")
    entries = np.array([[se.Symbol("u1"), se.Symbol("G(x)"), se.Symbol("t")]], dtype=object)
    u1, G, t = latex.to_sympy_matrix(model, entries, ["u1"])
    assert u1 == dynamicsymbols("u1")
    assert sympy.Symbol("G_x") == G
    assert t == dynamicsymbols._t  # pyright: ignore[reportFunctionMemberAccess]
    assert latex.to_sympy_matrix(model, np.empty((0, 3), dtype=object)).shape == (0, 3)


@pytest.mark.parametrize(("name", "key"), PAIRS)
def test_latex_is_well_formed(name: str, key: str) -> None:
    found = page(name, key)
    for written in (latex.page(found), latex.display(found), latex.document([latex.page(found)])):
        without = written.replace(r"\{", "").replace(r"\}", "")
        assert without.count("{") == without.count("}")
        assert written.count(r"\left") == written.count(r"\right")
        opened, closed = (re.findall(rf"\\{word}{{(\w+\*?)}}", written) for word in ("begin", "end"))
        assert sorted(opened) == sorted(closed)
        assert "dot(" not in written
        assert "1.0" not in written


@pytest.mark.parametrize("key", ["lagrange", "kane", "volterra_reduced"])
def test_matplotlib_parses_every_expression(key: str) -> None:
    parser = MathTextParser("path")
    for section in page("cart-pendulum", key).sections:
        for left, right in section.rows:
            written = f"${latex.expression(left)} = {latex.expression(right)}$"
            parser.parse(re.sub(r"\\[Bb]ig[lr]", "", written))  # matplotlib does not support bracket sizes


def test_latex_has_dots_subscripts_fractions_and_the_sign_of_the_reactions() -> None:
    written = latex.page(page("cart-pendulum", "lagrange"))
    assert r"\ddot{\theta}_{1}" in written
    assert r"\dot{\theta}_{2}^{2}" in written
    assert r"= \mathbf{Q} + \mathbf{A}^{\mathsf{T}} \lambda$ (17)" in written
    rough = latex.page(page("rough-surface", "lagrange"))
    assert r"= \mathbf{Q} + \mathbf{C} + \mathbf{A}^{\mathsf{T}} \lambda$ (17)" in rough
    reduced = latex.page(page("cart-pendulum", "volterra_reduced"))
    assert r"G_{x} &=" in reduced
    assert r"$\mathbf{M}_{NI} \dot{u}_{NI} = \mathbf{L}_{NI}$ (64)" in reduced
    canonical = latex.page(page("cart-pendulum", "hamilton"))
    assert r"\dot{p}_{\theta_{1}} &=" in canonical


@pytest.mark.slow(2)
def test_text_uses_mathematical_notation() -> None:
    written = text.page(page("cart-pendulum", "lagrange"))
    assert "d/dt ∂L/∂q̇ − ∂L/∂q = Q + Aᵀλ  (17)" in written
    assert "A q̈ = β  (17)" in written
    assert max(map(len, written.splitlines())) <= 100
    assert max(map(len, text.page(page("satellite-boom", "kane"), width=72).splitlines())) <= 72


@pytest.mark.parametrize("name", ["cart-pendulum", pytest.param("three-bodies", marks=pytest.mark.slow(6))])
def test_lines_are_short(name: str) -> None:
    for section in page(name, "volterra_reduced").sections:
        for row in section.rows:
            assert max(map(se.count_ops, row)) <= 3 * LONG_LINE


def test_short_equations_have_no_intermediates() -> None:
    assert prepare(derive("double-pendulum", "kane")).parts == ()


@pytest.mark.slow(6)
def test_notebook_output_is_truncated() -> None:
    output = latex.display(page("three-bodies", "volterra"))
    assert "use latex() for all" in output
    assert output.count("\\\\") < 200


def test_intermediates_avoid_the_names_of_the_user() -> None:
    x = [se.Symbol(f"z{i}") for i in range(40)]
    long = sum((se.sin(a * b) for a, b in itertools.pairwise(x)), start=se.Integer(0))
    parts, (short,) = name_parts([long], [str(a) for a in x])
    assert all(name.startswith("zz") for name, _ in parts)
    table = {se.Symbol(name): value for name, value in parts}
    for _ in parts:
        short = short.xreplace(table)
    assert short == long


def test_constants_of_the_motion_avoid_the_names_of_the_user() -> None:
    model = Model("cart").parameters(m=2.0, G_x=1.0).coordinates("x")
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass="m + G_x")
    found = text.as_dict(derive(model, "volterra_reduced"))
    assert list(found["constants"]) == ["G_x_"]
    assert found["n_dynamic"] == 0
    assert r"\frac{\mathbf{G}_{x}}{\mathrm{G\_x} + m}" in equations_of(model, "volterra_reduced").latex()


def test_branches_and_powers_round_trip() -> None:
    model = Model("block").parameters(m=1.0, mu=0.3, c=2.0).coordinates("x")
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass="m")
    model.force("block", ("-mu*sign(dot(x)) - c*abs(x)**1.5 + exp(-x)*sqrt(1 + x**2) + max(x, t, 0.25)", 0, 0))
    form = derive(model, "lagrange")
    at = numbers_for(form)
    found = text.as_dict(form)
    assert "piecewise" in str(found)
    assert read_back(found, model, at)["forcing"][0] == pytest.approx(values(form.linear.f[0], at), rel=1e-12)
    assert r"\begin{cases}" in equations_of(model, "lagrange").latex()


@pytest.mark.parametrize(
    ("name", "in_latex", "in_text"),
    [
        ("theta1", r"\theta_{1}", "θ₁"),
        ("dot(gamma1)", r"\dot{\gamma}_{1}", "γ̇₁"),
        ("dot(dot(x))", r"\ddot{x}", "ẍ"),
        ("Ixy", "I_{xy}", "I_xy"),
        ("x_max", r"x_{\mathrm{max}}", "x_max"),
        ("crossbar", r"\mathrm{crossbar}", "crossbar"),
        ("Omega", r"\Omega", "Ω"),
        ("G(theta1)", r"G_{\theta_{1}}", "G_θ₁"),
        ("M[1,12]", "M_{1,12}", "M₁,₁₂"),
        ("_k", r"\mathrm{\_k}", "_k"),
    ],
)
def test_names(name: str, in_latex: str, in_text: str) -> None:
    assert symbol_names.for_latex(name) == in_latex
    assert symbol_names.for_text(name) == in_text


def test_number_next_to_a_long_denominator_stays_outside():
    # SymPy writes 2 (a + b) as 2 a + 2 b, which cancels nothing
    letters: Any = se.symbols(
        "length_of_the_first_rod length_of_the_second_rod length_of_the_third_rod mass_of_the_fourth_rod"
    )
    total = sum(x**2 * se.sin(x) for x in letters)
    found = latex.expression(letters[0] * (letters[1] - 2 * letters[2]) / (2 * total))
    assert found.count("frac") + found.count("^{-1}") >= 1
    assert "2 \\mathrm" in found


@pytest.mark.parametrize(("key", "law"), [("dalembert", "(5.97)"), ("nullspace", "(5.301)"), ("hamilton", "(5.97)")])
def test_stabilized_equations_have_separate_headings_and_notes(key: str, law: str) -> None:
    plain = dl.derive("phong-pendulum", key)
    stabilized = plain.stabilized(25.0, 10.0)
    (note,) = stabilized._display.page.notes
    assert note.endswith("φ̈ + 10 φ̇ + 25 φ = 0 for pivot_x, pivot_y")
    assert note in stabilized.notes
    assert plain._display.page.notes == ()
    headings = {section.equation: section.heading for section in stabilized._display.page.sections}
    others = {section.heading for section in plain._display.page.sections}
    assert headings[law] not in others
    assert "Φ̇q̇ " not in text.page(stabilized._display.page).replace("(Φ̇q̇ + β Φ q̇ + α 𝛗)", "")


def test_stabilized_equations_of_dirac_contain_the_feedback() -> None:
    stabilized = dl.derive("phong-pendulum", "dirac").stabilized(3.0)
    assert stabilized._display.page.notes == ("constraints stabilized by feedback: ċ = −3 c",)
    assert "c_q q̇ + c_p ṗ + c_t + α c = 0" in text.page(stabilized._display.page)
    (law,) = [law for law in stabilized.laws if law.equation == "(5.294)"]
    assert any("3*x" in str(side).replace(" ", "") for side in (*law.left, *law.right))


@pytest.mark.parametrize(("key", "verb"), [("lagrange", "dropped"), ("udwadia_kalaba", "kept"), ("phong", "kept")])
def test_redundant_row_is_dropped_or_used(key: str, verb: str) -> None:
    model = dl.Model.from_energies(
        "twice", coordinates=["x", "y"], kinetic="(dot(x)**2 + dot(y)**2)/2", holonomic=["x - y", "2*x - 2*y"]
    )
    eom = dl.derive(model, key)
    for notes in (eom.notes, eom._display.page.notes):
        (found,) = [note for note in notes if "redundant" in note]
        assert found.startswith(f"redundant constraints {verb}: holonomic2")
