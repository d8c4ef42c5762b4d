"""Conversion from and to SymPy: accepted expressions, rejected expressions, and round trips."""

import math
from typing import Any

import pytest
import symengine as se
import sympy as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.physics.mechanics import dynamicsymbols

from dalembert.errors import FormulaError
from dalembert.symbolic.parser import parse
from dalembert.symbolic.symbols import TIME, coordinate, rate
from dalembert.symbolic.sympy_bridge import from_sympy, to_sympy

Q1, Q2, Q3 = dynamicsymbols("q1 q2 q3")
T = dynamicsymbols._t  # pyright: ignore[reportFunctionMemberAccess]
M = sm.Symbol("m", positive=True)
COORDINATES = {Q1: "theta1", Q2: "q2"}
PARAMETERS = {M: "mass"}
TH, THD, QQ, MASS = coordinate("theta1"), rate("theta1"), coordinate("q2"), coordinate("mass")


def read(expr, **options):
    return from_sympy(expr, coordinates=COORDINATES, parameters=PARAMETERS, where="force 'push'", **options)


def error_message(expr, **options):
    with pytest.raises(FormulaError) as caught:
        read(expr, **options)
    return str(caught.value)


def value(expression, theta1=0.7, thetad=0.2, q2=-0.4, mass=1.3, t=2.5):
    function = se.Lambdify([TH, THD, QQ, MASS, TIME], [expression], backend="lambda")
    return float(function([theta1, thetad, q2, mass, t])[0])


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (sm.Integer(3), se.Integer(3)),
        (sm.Rational(1, 3), se.Rational(1, 3)),
        (sm.Float(0.5), se.Rational(1, 2)),
        (sm.pi, se.pi),
        (sm.E, se.E),
        (2, se.Integer(2)),
        (0.25, se.Rational(1, 4)),
        (Q1, TH),
        (Q1.diff(T), THD),
        (T, TIME),
        (M, MASS),
        (M * Q1.diff(T) ** 2 / 2 + Q2, MASS * THD**2 / 2 + QQ),
        (sm.sqrt(Q1), se.sqrt(TH)),
        (sm.sin(Q1) * sm.cos(Q1) * sm.tan(Q1), se.sin(TH) * se.cos(TH) * se.tan(TH)),
        (sm.asin(Q1) + sm.acos(Q1) + sm.atan(Q1), se.asin(TH) + se.acos(TH) + se.atan(TH)),
        (sm.atan2(Q1, Q2), se.atan2(TH, QQ)),
        (sm.exp(Q1) * sm.log(Q2), se.exp(TH) * se.log(QQ)),
    ],
)
def test_expression_reads_as(expr, expected):
    assert read(expr) == expected


@pytest.mark.parametrize(
    ("expr", "at", "expected"),
    [
        (sm.sinh(Q1), 0.7, math.sinh(0.7)),
        (sm.cosh(Q1), 0.7, math.cosh(0.7)),
        (sm.tanh(Q1), 0.7, math.tanh(0.7)),
        (sm.tanh(Q1), 1000.0, 1.0),
        (sm.tanh(Q1), -1000.0, -1.0),
        (sm.Abs(Q1), -2.0, 2.0),
        (sm.sign(Q1), -2.0, -1.0),
        (sm.Max(Q1, 1, Q2), 3.0, 3.0),
        (sm.Min(Q1, 1, Q2), 3.0, -0.4),
        (sm.Heaviside(Q1), -1.0, 0.0),
        (sm.Heaviside(Q1), 0.0, 0.5),
        (sm.Heaviside(Q1, 1), 0.0, 1.0),  # pyright: ignore[reportArgumentType]
        (sm.Heaviside(Q1), 1.0, 1.0),
        (sm.Piecewise((1, Q1 < 0), (2, Q1 <= 1), (3, True)), 1.0, 2.0),
        (sm.Piecewise((1, Q1 > 0), (2, Q1 >= -1), (3, True)), -2.0, 3.0),
        (sm.Piecewise((1, sm.And(Q1 > 0, sm.Or(Q2 < -1, Q2 > -0.5))), (2, True)), 1.0, 1.0),
        (sm.Piecewise((1, sm.Not(sm.And(Q1 > 0, Q2 < 0))), (2, True)), 1.0, 2.0),
        (sm.Piecewise((1, sm.ITE(Q1 > 0, Q1 > 2, Q1 > -1)), (2, True)), 1.0, 2.0),
        (sm.Piecewise((1, sm.ITE(Q1 > 0, Q1 > 2, Q1 > -1)), (2, True)), -0.5, 1.0),
        (sm.Piecewise((1, sm.Eq(Q1, 3)), (2, True)), 3.0, 1.0),
        (sm.Piecewise((1, sm.Eq(Q1, 3)), (2, True)), 4.0, 2.0),
        (sm.Piecewise((1, sm.Ne(Q1, 3)), (2, True)), 3.0, 2.0),
        (sm.Piecewise((1, sm.Ne(Q1, 3)), (2, True)), 2.0, 1.0),
    ],
)
def test_expression_has_the_right_value(expr, at, expected):
    assert value(read(expr), theta1=at) == pytest.approx(expected)


def test_parameters_are_matched_by_the_mapping_and_not_by_name():
    without_assumptions = sm.Symbol("m")
    table = {M: "heavy", without_assumptions: "light"}
    both = from_sympy(M - without_assumptions, coordinates={}, parameters=table, where="w")
    assert both == coordinate("heavy") - coordinate("light")


def test_deep_expression_does_not_recurse():
    deep = Q1
    for _ in range(150):
        deep = sm.sin(deep, evaluate=False)
    assert read(deep).free_symbols == {TH}


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        (Q1.diff(T, 2), "accelerations are not allowed in a formula, got 'Derivative(q1(t), (t, 2))'. Expected coord"),
        (sm.Derivative(sm.sin(Q1), T), "the derivative 'Derivative(sin(q1(t)), t)' is not a velocity. Only time"),
        (sm.Symbol("mm") * Q1, "the symbol 'mm' is not known here. Did you mean 'm'?"),
        (sm.Symbol("zebra"), "the symbol 'zebra' is not known here. Known names: m, q1, q2."),
        (
            sm.Symbol("m"),
            "the symbol 'm' is not the symbol declared with this name. Use the same symbol in both",
        ),
        (dynamicsymbols("q3"), "the coordinate 'q3(t)' is not known. Known names: q1, q2."),
        (Q3.diff(T), "the derivative 'Derivative(q3(t), t)' is not a velocity."),
        (sm.gamma(Q1), "the function 'gamma' cannot be used. Known names: Abs, Heaviside, Max, Min, acos, asin"),
        (sm.asinh(Q1), "the function 'asinh' cannot be used. Did you mean 'sinh'?"),
        (sm.I * Q1, "'I' cannot be used in a formula. Use sums, products, powers, real numbers, Piecewise"),
        (sm.zoo, "'zoo' cannot be used in a formula."),
        (sm.Integral(Q1, T), "'Integral(q1(t), t)' cannot be used in a formula."),
        (sm.oo, "'oo' has no finite value. Expected a finite real number; change this part."),
        (sm.nan, "'nan' has no finite value."),
        (sm.asin(2), "'asin(2)' is not a real number."),
        (sm.Integer(10) ** 400, "produces a number with too many digits."),
        (Q1**100, "the power 'q1(t)**100' has an exponent beyond 64. Use a smaller exponent."),
        (Q1 < 1, "expected a number, got 'q1(t) < 1'. Pass a scalar expression."),
        (sm.ImmutableMatrix([1]), "'Matrix([[1]])' cannot be used in a formula."),
        (sm.Piecewise((1, Q1 < 1)), "has no default value. Set the condition of its last branch to True."),
        (
            sm.Piecewise((1, sm.Symbol("b")), (2, True)),
            "'b' is not a condition. Use < <= > >= joined by And and Or.",
        ),
        (sm.Piecewise((1, sm.And(Q1 < 1, sm.Symbol("b"))), (2, True)), "'b' is not a condition."),
        (sm.Piecewise((1, sm.Not(sm.Symbol("b"))), (2, True)), "'b' is not a condition."),
        (sm.Piecewise((1, sm.ITE(sm.Symbol("b"), Q1 < 1, Q1 < 2)), (2, True)), "'b' is not a condition."),
        (sm.Piecewise((1, sm.Xor(sm.Symbol("b"), Q1 < 2)), (2, True)), "is not a condition."),
    ],
)
def test_errors_name_the_problem_and_its_location(expr, message):
    error = error_message(expr)
    assert error.startswith("force 'push', SymPy expression ")
    assert message in error


def test_velocities_are_rejected_where_not_allowed():
    expected = "velocities are not allowed here, got 'Derivative(q1(t), t)'. Expected coordinates and parameters only"
    assert expected in error_message(M * Q1.diff(T), rates=False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("q1", "force 'push': expected a SymPy expression or a number, got the str 'q1'. Pass a SymPy"),
        (True, "force 'push': the value 'True' is of type bool."),
        (math.nan, "force 'push': the value nan has no finite value."),
        (None, "force 'push': the value 'None' is of type NoneType."),
    ],
)
def test_values_that_are_not_expressions_are_rejected(given, message):
    assert error_message(given).startswith(message)


def test_conversion_to_sympy_uses_dynamic_symbols():
    formula = MASS * THD**2 / 2 + se.sin(TH) * TIME
    theta1: Any = dynamicsymbols("theta1")
    without_assumptions = to_sympy(formula, coordinates=["theta1"])
    assert without_assumptions == sm.Symbol("mass") * theta1.diff(T) ** 2 / 2 + sm.sin(theta1) * T
    given = to_sympy(formula, coordinates=["theta1"], symbols={"mass": M})
    assert given == M * theta1.diff(T) ** 2 / 2 + sm.sin(theta1) * T


def test_conversion_of_a_number_to_sympy_is_a_number():
    assert to_sympy(se.Rational(1, 3), coordinates=[]) == sm.Rational(1, 3)
    assert to_sympy(se.RealDouble(0.5), coordinates=[]) == sm.Float(0.5)


@pytest.mark.parametrize("text", ["abs(" * 5 + "theta1" + ")" * 5, "abs(min(theta1, q2, t, dot(theta1)))"])
def test_round_trip_of_nested_branches(text):
    formula = parse(text, coordinates=["theta1", "q2"], parameters=[], where="w")
    there = to_sympy(formula, coordinates=["theta1", "q2"])
    table = {dynamicsymbols(name): name for name in ("theta1", "q2")}
    assert value(from_sympy(there, coordinates=table, parameters={}, where="w")) == pytest.approx(value(formula))


FORMULAS = st.recursive(
    st.sampled_from(["theta1", "dot(theta1)", "q2", "mass", "t", "pi", "2", "0.5", "1/3"]),
    lambda parts: st.one_of(
        st.tuples(
            st.sampled_from(["sin({})", "cos({})", "exp({})", "atan({})", "abs({})", "-({})", "({})**2"]), parts
        ).map(lambda c: c[0].format(c[1])),
        st.tuples(st.sampled_from(["({})+({})", "({})*({})", "max({}, {})", "atan2({}, 3+{})"]), parts, parts).map(
            lambda c: c[0].format(*c[1:])
        ),
        st.tuples(parts, parts).map(lambda c: f"piecewise({c[0]}, theta1 < 1 and q2 >= 0 or t > 2, {c[1]})"),
    ),
    max_leaves=5,
)


@given(FORMULAS, st.floats(-1, 1), st.floats(-1, 1))
@settings(max_examples=60, deadline=None)
def test_round_trip_preserves_the_value(text, theta1, q2):
    names = ["theta1", "q2"]
    try:
        formula = parse(text, coordinates=names, parameters=["mass"], where="w")
    except FormulaError:
        return
    there = to_sympy(formula, coordinates=names, symbols={"mass": M})
    table = {dynamicsymbols(name): name for name in names}
    back = from_sympy(there, coordinates=table, parameters=PARAMETERS, where="w")
    assert value(back, theta1=theta1, q2=q2) == pytest.approx(
        value(formula, theta1=theta1, q2=q2), rel=1e-9, abs=1e-9, nan_ok=True
    )
