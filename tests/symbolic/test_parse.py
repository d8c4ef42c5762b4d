"""Formula strings: accepted syntax, rejected syntax, and error messages."""

import ast
import math
import os
import subprocess
import sys
import time
from fractions import Fraction

import pytest
import symengine as se
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dalembert.errors import FormulaError
from dalembert.symbolic.parser import MAX_DEPTH, MAX_LENGTH, _Formula, _Reader, parse
from dalembert.symbolic.symbols import FUNCTIONS, RESERVED, TIME, FormulaFunction, coordinate, is_identifier, rate

X, Y, K = se.Symbol("x"), se.Symbol("theta1"), se.Symbol("k")
XD = rate("x")


def read(text, **options):
    return parse(text, coordinates=["x", "theta1"], parameters=["k"], where="force 'push'", **options)


def error_message(text, **options):
    with pytest.raises(FormulaError) as caught:
        read(text, **options)
    return str(caught.value)


def attempt(text):
    """The formula, or the error that rejects it."""
    try:
        return read(text)
    except FormulaError as error:
        return error


def value(expression, x=0.7, theta1=-0.4, k=1.3, xd=0.2, t=2.5):
    function = se.Lambdify([X, Y, K, XD, TIME], [expression], backend="lambda")
    return float(function([x, theta1, k, xd, t])[0])


# accepted formulas


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", se.Integer(3)),
        ("0.5", se.Rational(1, 2)),
        (".5e1", se.Integer(5)),
        ("1/3", se.Rational(1, 3)),
        ("x", X),
        ("dot(x)", XD),
        ("t", TIME),
        ("pi", se.pi),
        ("k*x", K * X),
        ("2 + 3*4 - 6/4", se.Rational(25, 2)),
        ("8 - 4 - 2", se.Integer(2)),
        ("8/4/2*3", se.Integer(3)),
        ("-2**2", se.Integer(-4)),
        ("2**-1", se.Rational(1, 2)),
        ("2**3**2", se.Integer(512)),
        ("--x", X),
        ("+x", X),
        ("(((x)))", X),
        (" x\n + 1\t", X + 1),
        ("x**(1/2)", se.sqrt(X)),
        ("x**k", X**K),
        ("sqrt(x)", se.sqrt(X)),
        ("atan2(x, k)", se.atan2(X, K)),
        ("exp(log(sin(cos(x))))", se.exp(se.log(se.sin(se.cos(X))))),
        ("sin(x,)", se.sin(X)),
        ("x*0", se.Integer(0)),
        ("cos(2)*cos(2)", se.cos(2) ** 2),
        ("abs(-pi) + sign(-pi) + max(pi, 3)", 2 * se.pi - 1),
        ("piecewise(1, pi < 3, 2)", se.Integer(2)),
    ],
)
def test_formula_reads_as(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(("given", "expected"), [(3, se.Integer(3)), (0.25, se.Rational(1, 4)), (-2, se.Integer(-2))])
def test_number_reads_as(given, expected):
    assert read(given) == expected


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("abs(x)", -2.0, 2.0),
        ("sign(x)", -2.0, -1.0),
        ("sign(x)", 0.0, 0.0),
        ("sign(x)", 3.0, 1.0),
        ("min(x, 1, 2)", 5.0, 1.0),
        ("min(2, 1, x)", -5.0, -5.0),
        ("max(x, 1, 2)", 0.0, 2.0),
        ("max(1, x, 2)", 7.0, 7.0),
        ("max(x, x)", 7.0, 7.0),
        ("piecewise(1, x < 0, 2, x < 1, 3)", -1.0, 1.0),
        ("piecewise(1, x < 0, 2, x < 1, 3)", 0.5, 2.0),
        ("piecewise(1, x < 0, 2, x < 1, 3)", 1.0, 3.0),
        ("piecewise(1, 0 < x <= 1 or x >= 5 and x > 6, 2)", 1.0, 1.0),
        ("piecewise(1, 0 < x <= 1 or x >= 5 and x > 6, 2)", 5.5, 2.0),
        ("piecewise(1, 0 < x <= 1 or x >= 5 and x > 6, 2)", 7.0, 1.0),
        ("piecewise(x, 1 < 2, 3)", 4.0, 4.0),
        ("atan2(x, x)", -1.0, -3 * math.pi / 4),
        ("tan(x + pi/2)", 0.3, math.tan(0.3 + math.pi / 2)),
        ("tan(pi/2 - x)", 0.3, math.tan(math.pi / 2 - 0.3)),
    ],
)
def test_branches_and_angles_have_the_right_value(text, at, expected):
    assert value(read(text), x=at) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["abs(x)", "sign(x)", "min(x, k)", "max(x, k)", "atan2(x, x)", "tan(x + pi/2)"])
def test_every_function_can_be_differentiated(text):
    derivative = read(text).diff(X)
    assert not derivative.atoms(se.Derivative, se.sign, se.cot)
    assert math.isfinite(value(derivative))


def test_flat_sum_of_500_terms_is_read():
    assert read("+".join(f"k*sin({n}*x)" for n in range(500))).args
    assert read("+".join(["x"] * 1500)) == 1500 * X
    assert read("-".join(["x"] * 500)) == -498 * X


def test_nesting_up_to_the_limit_is_read():
    deep = read("sin(" * MAX_DEPTH + "x" + ")" * MAX_DEPTH)
    assert deep.free_symbols == {X}
    assert read("-" * MAX_DEPTH + "x") == X


def test_time_and_velocities_can_be_switched_off():
    assert read("x", rates=False, time=False) == X


# rejected formulas: every message begins with the element and quotes the formula


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x + foo", "column 5: the name 'foo' is not known here. Known names: k, pi, t, theta1, x."),
        ("theta", "the name 'theta' is not known here. Did you mean 'theta1'?"),
        ("sn(x)", "column 1: the function 'sn' is not known. Did you mean 'sin'?"),
        ("k*x(2)", "column 3: 'x' is not a function, but 'x(2)' calls it. Write * for a product: x*(...)."),
        ("k*2(x)", "column 3: '2(x)' calls something that is not a function. Write * for a product"),
        ("sin", "'sin' is a function and has no arguments. Write the arguments in parentheses: sin(...)."),
        ("dot + 1", "'dot' is a function and has no arguments. Write the arguments in parentheses: dot(...)."),
        ("sin()", "'sin()' has the wrong number of arguments, 0. Expected 1; correct the call of sin."),
        ("atan2(x)", "'atan2(x)' has the wrong number of arguments, 1. Expected 2; correct the call of atan2."),
        ("max(x)", "'max(x)' has the wrong number of arguments, 1. Expected 2 to 8"),
        ("piecewise(1, x < 1)", "has 2 arguments, expected an odd number, at least 3. Write piecewise(value1, cond"),
        ("piecewise(1)", "has 1 arguments, expected an odd number, at least 3. Write piecewise(value1, condition1"),
        ("piecewise(1, x, 2)", "column 14: 'x' is not a condition. Expected a comparison, such as x < 1."),
        ("piecewise(1, x < 1 and k, 2)", "column 24: 'k' is not a condition."),
        ("x < 1", "expected a number, got the condition 'x < 1'. Use conditions only inside"),
        ("1 + (x < 1)", "column 6: expected a number, got the condition 'x < 1'."),
        ("sin(x < 1)", "column 5: expected a number, got the condition 'x < 1'."),
        ("dot(k)", "'dot(k)' refers to the velocity of 'k', which is not a coordinate. Known names: theta1, x."),
        ("dot(theta)", "the velocity of 'theta', which is not a coordinate. Did you mean 'theta1'?"),
        ("dot(x + 1)", "'dot(x + 1)' is not the velocity of a coordinate. Pass the name of one coordinate to dot."),
        ("dot(x, x)", "'dot(x, x)' is not the velocity of a coordinate."),
        ("k*ddot(x)", "column 3: accelerations are not allowed in a formula, got 'ddot(x)'. Expected coordinates,"),
        ("x^2", "column 2: the character '^' cannot be used in a formula. Use ** for powers."),
        ("x.real", "column 2: the character '.' cannot be used in a formula. Attributes are not allowed"),
        ("x = 1", "the character '=' cannot be used in a formula. Write one expression without an equals sign"),
        ("x[0]", "column 2: the character '[' cannot be used in a formula. Use names, numbers, the operators"),
        ("'a'", 'the character "\'" cannot be used in a formula.'),
        ("f'{x}'", "column 2: the character"),
        ("(x := 1)", "column 4: the character ':' cannot be used in a formula."),
        ("x & 1", "the character '&' cannot be used in a formula. Write `and` between conditions."),
        ("x | 1", "the character '|' cannot be used in a formula. Write `or` between conditions."),
        ("x\0", "column 2: the character '\\x00' cannot be used in a formula."),
        ("θ", "the character 'θ' cannot be used in a formula."),
        ("x//2", "column 2: the operator '//' cannot be used in a formula. Use / for division."),
        ("lambda: 1", "column 1: the word 'lambda' cannot be used in a formula."),
        ("(x for x in k)", "column 4: the word 'for' cannot be used in a formula."),
        ("x if k else 1", "the word 'if' cannot be used in a formula. Write piecewise(value, condition, default)."),
        ("True", "the word 'True' cannot be used in a formula."),
        ("2x", "the number '2x' cannot be read. Write digits, such as 2 or 0.5; for a product write 2*x."),
        ("1.2.3", "the number '1.2.3' cannot be read."),
        ("0x10", "the number '0x10' cannot be read."),
        ("9" * 500, "has too many digits. Use an exponent: 1.5e10."),
        ("9" * 350, "produces a number with too many digits. Expected a finite real number; change this part."),
        ("x k", "column 1: the formula cannot be read at 'x k'. Expected an expression such as k*(x - 1)"),
        ("x < 1 < ", "the formula cannot be read at its end."),
        ("007", "the formula cannot be read at '007'."),
        ("", "formula '': the formula is empty. Expected an expression; write 0 for a zero value."),
        (" \n", "the formula is empty."),
        ("k*(x", "column 3: the parenthesis '(' is not closed. Close it with ')'."),
        ("x)", "column 2: the parenthesis ')' has no matching '('. Delete it, or add '('."),
        ("0,5", "column 1: '0,5' is not a single value. Use commas only between the arguments of a function, and a"),
        ("()", "'()' is not a single value."),
        ("sin(*x)", "the arguments in 'sin(*x)' cannot be read. Separate positional arguments by commas."),
        ("sin(**x)", "the arguments in 'sin(**x)' cannot be read. Separate positional arguments by commas."),
        ("1/0", "'1/0' has no finite value. Expected a finite real number; change this part."),
        ("k/(x - x)", "'k/(x - x)' has no finite value."),
        ("log(0)", "'log(0)' has no finite value."),
        ("1 + tan(pi/2)", "column 5: 'tan(pi/2)' has no finite value."),
        ("0**-1", "'0**-1' has no finite value."),
        ("atan2(0, 0)", "'atan2(0, 0)' has no finite value."),
        ("1e999", "'1e999' has no finite value."),
        ("1e308*x*10", "'1e308*x*10' has no finite value."),
        ("exp(1000)", "'exp(1000)' has no finite value."),
        ("sqrt(-1)", "'sqrt(-1)' is not a real number."),
        ("sqrt(-2)*x", "column 1: 'sqrt(-2)' is not a real number."),
        ("log(-0.5)", "'log(-0.5)' is not a real number."),
        ("asin(2)", "'asin(2)' is not a real number."),
        ("(-8)**(1/3)", "'(-8)**(1/3)' is not a real number."),
        ("x**65", "the power 'x**65' has an exponent beyond 64. Use a smaller exponent, or a decimal such as 80.0."),
        ("(x**9)**9", "the power '(x**9)**9' has an exponent beyond 64."),
        ("9**9**9", "the power '9**9**9' has an exponent beyond 64."),
        ("8**(10**9/7)", "the power '8**(10**9/7)' has an exponent beyond 64."),
        ("(9**60)**60", "the power '(9**60)**60' produces a number with too many digits."),
        ("(10**30*x)**60", "the power '(10**30*x)**60' produces a number with too many digits."),
        ("abs(" * 6 + "x" + ")" * 6, "is too large when expanded. Nest at most 5 of abs, sign, min and max"),
    ],
)
def test_errors_name_the_problem_and_its_location(text, message):
    error = error_message(text)
    assert error.startswith("force 'push', formula ")
    assert message in error


def test_velocities_are_rejected_where_not_allowed():
    expected = (
        "velocities are not allowed here, got 'dot(x)'. Expected coordinates and parameters only; remove dot(...)."
    )
    assert expected in error_message("k*dot(x)", rates=False)


def test_time_is_rejected_where_not_allowed():
    assert "column 5: the time t is not allowed here. Expected a formula without t" in error_message(
        "x + t", time=False
    )


def test_long_formula_is_truncated_to_60_characters():
    assert "formula '" + "x + " * 14 + "x...', column 81: the name 'foo'" in error_message("x + " * 20 + "foo")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (math.nan, "force 'push': the value nan has no finite value. Expected a finite number between"),
        (math.inf, "force 'push': the value inf has no finite value."),
        (-math.inf, "force 'push': the value -inf has no finite value."),
        (10**400, "force 'push': the integer produces a number with too many digits."),
        pytest.param(10**5000, "force 'push': the integer produces a number with too many digits.", id="giant"),
        (
            True,
            "force 'push': the value 'True' is of type bool. Expected a number or a formula, such as 2.5.",
        ),
        (None, "force 'push': the value 'None' is of type NoneType."),
        (1j, "force 'push': the value '1j' is of type complex."),
        ([1], "force 'push': the value '[1]' is of type list."),
        (Fraction(10**400), "force 'push': the value inf has no finite value."),
    ],
)
def test_values_that_are_not_finite_numbers_are_rejected(given, message):
    assert error_message(given).startswith(message)


HOSTILE = {
    "attribute": "x.__class__.__bases__",
    "import": "__import__('os').system('true')",
    "unknown call": "open(x)",
    "subscript": "x[0]",
    "string": "'a'*10**9",
    "power tower": "9**9**9**9",
    "giant power": "2**(10**9)",
    "giant rational power": "8**(10**9/7)",
    "nested powers": "(((9**64)**64)**64)**64",
    "nested symbolic powers": "((((2*x)**64)**64)**64)**64",
    "giant integer": "9" * 9_999,
    "giant product": "9**64*" * 1_600 + "1",
    "unclosed brackets": "(" * 10_000,
    "nested brackets": "(" * 4_999 + "x" + ")" * 4_999,
    "one megabyte": "x" * 1_000_000,
    "one megabyte sum": "+".join(["x"] * 500_000),
    "NUL": "x\0+1",
    "surrogate": "\ud800",
    "signs": "-" * 9_999 + "x",
    "spaced signs": "- + " * 2_000 + "x",
    "signs after and": "piecewise(1, x < 1 and " + "-" * 500 + "x < 1, 2)",
    "chained powers": "x**" * 3_000 + "x",
    "chained signed powers": "x**-" * 2_400 + "x",
    "nested functions": "sin(" * 1_900 + "x" + ")" * 1_900,
    "nested copies": "abs(x + " * 90 + "x" + ")" * 90,
    "nested maxima": "max(x, k, " * 90 + "x" + ")" * 90,
    "long sum": "+".join(["x"] * 5_000),
    "long product": "*".join(["x"] * 5_000),
    "many values": "x " * 4_000,
    "fractions": "+".join(f"1/{n}" for n in range(100_001, 101_000)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_formulas_are_rejected_within_seconds(text):
    start = time.thread_time()
    error = error_message(text)
    assert time.thread_time() - start < 3.0  # minutes without the limits
    assert len(error) < 600


@pytest.mark.parametrize(
    "text",
    [
        "tan(x + pi/2 + " * 90 + "x" + ")" * 90,
        "atan2(x, " * 90 + "x" + ")" * 90,
        "(x + 1)**2 + (" * 40 + "x" + ")" * 40,
    ],
)
def test_deep_formulas_within_the_limits_are_parsed_within_seconds(text):
    start = time.thread_time()
    assert read(text).free_symbols == {X}
    assert time.thread_time() - start < 3.0  # minutes without the limits


def test_limits_are_reported():
    assert f"the formula has {MAX_LENGTH + 1} characters. Expected at most {MAX_LENGTH}" in error_message(
        "x" * (MAX_LENGTH + 1)
    )
    assert f"column 101: the formula is nested deeper than {MAX_DEPTH} levels." in error_message(
        "(" * 101 + "x" + ")" * 101
    )
    assert "the formula has more than 2000 operators. Split it into several loads." in error_message(
        "+".join(["x"] * 2_500)
    )


# second check: the white list rejects what the alphabet check might let through


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(x.real)", "'x.real' cannot be used in a formula."),
        ("(x[0])", "'x[0]' cannot be used in a formula."),
        ("(~x)", "'~x' cannot be used in a formula."),
        ("(x % 2)", "'x % 2' cannot be used in a formula."),
        ("(lambda: 1)", "'lambda: 1' cannot be used in a formula."),
    ],
)
def test_white_list_rejects_other_nodes(text, message):
    reader = _Reader(_Formula(text[1:-1], "w"), ["x"], [], True, True)
    with pytest.raises(FormulaError, match="w, formula") as caught:
        reader.children(ast.parse(text, mode="eval").body)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("('a')", "\"'a'\" is not a number."),
        ("(True)", "'True' is not a number."),
        ("(1 == 2)", "the comparison '1 == 2' c"),
    ],
)
def test_white_list_rejects_other_values(text, message):
    reader = _Reader(_Formula(text[1:-1], "w"), [], [], True, True)
    with pytest.raises(FormulaError) as caught:
        reader._expression(ast.parse(text, mode="eval").body, [se.Integer(1), se.Integer(2)])
    assert message in str(caught.value)


@pytest.mark.parametrize("failure", [RecursionError, MemoryError, ValueError])
def test_failure_of_pythons_parser_becomes_a_formula_error(failure, monkeypatch):
    def fail(*_args, **_options):
        raise failure

    # pytest itself parses source with `ast`, so the parser fails only in this call
    with monkeypatch.context() as patch:
        patch.setattr(ast, "parse", fail)
        outcome = attempt("x")
    assert "the formula is too long or too deeply nested. Split it into several loads." in str(outcome)


def test_failure_of_symengine_becomes_a_formula_error(monkeypatch):
    def fail(_value):
        raise RuntimeError

    monkeypatch.setitem(FUNCTIONS, "sin", FormulaFunction(fail))
    assert "'sin(x)' is undefined. Change this part so that it has a value." in error_message("sin(x)")


# names


@pytest.mark.parametrize("name", ["x", "theta1", "_a", "A_b", "q" * 64])
def test_identifier_is_accepted(name):
    assert is_identifier(name)


@pytest.mark.parametrize("name", ["", "1x", "a b", "x\n", "θ", "dot(x)", "lambda", "None", "q" * 65, *sorted(RESERVED)])
def test_identifier_is_rejected(name):
    assert not is_identifier(name)


def test_symbols_have_their_own_names():
    assert (coordinate("x").name, rate("x").name, TIME.name) == ("x", "dot(x)", "t")
    assert {"t", "pi", "dot", "ddot", "sin", "piecewise"} <= RESERVED


def test_import_does_not_import_sympy():
    code = "import sys, dalembert.symbolic; sys.exit('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0


# properties: a formula is drawn together with its Python function, bounded so that no digits are lost

VALUES = st.floats(-1.5, 1.5).map(lambda v: round(v, 3))
NUMBERS = st.integers(0, 3).map(str) | VALUES.map(lambda v: repr(abs(v)))
LEAVES = st.one_of(
    st.sampled_from(["x", "k", "dot(x)", "t"]).map(lambda name: (name, lambda env: env[name])),
    NUMBERS.map(lambda text: (text, lambda env: float(text))),
)
ONE = {
    "-({})": lambda a: -a,
    "+{}": lambda a: a,
    "sin({})": math.sin,
    "cos({})": math.cos,
    "atan({})": math.atan,
    "abs({})": abs,
    "sin({})**3": lambda a: math.sin(a) ** 3,
    "exp(sin({}))": lambda a: math.exp(math.sin(a)),
    "sqrt(1 + abs({}))": lambda a: math.sqrt(1 + abs(a)),
    "log(2 + cos({}))": lambda a: math.log(2 + math.cos(a)),
    "asin(0.9*sin({}))": lambda a: math.asin(0.9 * math.sin(a)),
    "tan(cos({}))": lambda a: math.tan(math.cos(a)),
}
TWO = {
    "({} + {})": lambda a, b: a + b,
    "({} - {})": lambda a, b: a - b,
    "{}*{}": lambda a, b: a * b,
    "{}/(1.5 + cos({}))": lambda a, b: a / (1.5 + math.cos(b)),
    "min({}, {})": min,
    "max({}, {})": max,
    "(2 + sin({}))**sin({})": lambda a, b: (2 + math.sin(a)) ** math.sin(b),
    "atan2({}, 2 + sin({}))": lambda a, b: math.atan2(a, 2 + math.sin(b)),
}


def _extend(parts):
    one = st.tuples(st.sampled_from(sorted(ONE)), parts).map(
        lambda c: (c[0].format(c[1][0]), lambda env: ONE[c[0]](c[1][1](env)))
    )
    two = st.tuples(st.sampled_from(sorted(TWO)), parts, parts).map(
        lambda c: (c[0].format(f"({c[1][0]})", f"({c[2][0]})"), lambda env: TWO[c[0]](c[1][1](env), c[2][1](env)))
    )
    branch = st.tuples(parts, NUMBERS, parts).map(
        lambda c: (
            f"piecewise({c[0][0]}, x <= {c[1]} and t >= 0, {c[2][0]})",
            lambda env: c[0][1](env) if env["x"] <= float(c[1]) and env["t"] >= 0 else c[2][1](env),
        )
    )
    return one | two | branch


@given(formula=st.recursive(LEAVES, _extend, max_leaves=8), x=VALUES, k=VALUES, xd=VALUES, t=VALUES)
@settings(max_examples=150, deadline=None)
def test_formula_has_the_value_of_python_arithmetic(formula, x, k, xd, t):
    text, function = formula
    outcome = attempt(text)
    assume("is too large when expanded" not in str(outcome))
    assert isinstance(outcome, se.Basic), outcome
    expected = function({"x": x, "k": k, "dot(x)": xd, "t": t})
    assert value(outcome, x=x, k=k, xd=xd, t=t) == pytest.approx(expected, rel=1e-8, abs=1e-8)


PIECES = [
    "x",
    "k",
    "t",
    "pi",
    "1",
    "0",
    "2.5",
    "64",
    "1e300",
    "+",
    "-",
    "*",
    "/",
    "**",
    "(",
    ")",
    ",",
    "<",
    ">=",
    " and ",
]
PIECES += [
    " or ",
    "sin(",
    "dot(",
    "ddot(",
    "max(",
    "abs(",
    "piecewise(",
    "sqrt(",
    "log(",
    "atan2(",
    "^",
    ".",
    "=",
    "[",
    "'",
]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
@settings(max_examples=400, deadline=None)
def test_random_strings_are_parsed_or_rejected_with_a_formula_error(text):
    outcome = attempt(text)
    assert isinstance(outcome, se.Basic) or str(outcome).startswith("force 'push', formula ")
