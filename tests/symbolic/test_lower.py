"""Every formula gives the values of Python's `math`, over every algebra."""

import math

import numpy as np
import pytest
import symengine as se

from dalembert.codegen.function import compile_function
from dalembert.errors import FormulaError
from dalembert.symbolic.algebra_base import choose, vector, zeros
from dalembert.symbolic.floats import FLOATS, number, real
from dalembert.symbolic.parser import parse
from dalembert.symbolic.symbols import FUNCTIONS, Lowering

NAMES = ("x", "y")


def floats(formula, x, y):
    return real(Lowering(FLOATS, {"x": x, "y": y})(formula))


def batches(formula, x, y):
    """The value from a batch of three states."""
    out = Lowering(FLOATS, {"x": np.array([0.9, x, 0.1]), "y": np.array([0.2, y, 0.3])})(formula)
    return float(np.broadcast_to(number(out), 3)[1])


def compiled(name):
    algebra = choose(name)

    def number(formula, x, y):
        symbols = algebra.symbols(NAMES)
        entry = Lowering(algebra, dict(zip(NAMES, symbols, strict=True)))(formula)
        return float(compile_function(algebra, symbols, vector([entry]), zeros(0))(np.array([x, y]), np.zeros(0))[0])

    return number


LOWERED = {
    "floats": floats,
    "batch": batches,
    "symbolic": compiled("symbolic"),
    "graph": compiled("graph"),
}
over_every_algebra = pytest.mark.parametrize("number", LOWERED.values(), ids=LOWERED)


def read(text):
    return parse(text, coordinates=NAMES, parameters=(), where="test")


def sign(x):
    return math.copysign(1, x) if x else 0


SMOOTH = {
    "sin(x)": lambda x, y: math.sin(x),
    "cos(x*y)": lambda x, y: math.cos(x * y),
    "tan(x + pi/2)": lambda x, y: math.tan(x + math.pi / 2),
    "asin(x/2)": lambda x, y: math.asin(x / 2),
    "acos(y/2)": lambda x, y: math.acos(y / 2),
    "atan(x - y)": lambda x, y: math.atan(x - y),
    "atan2(x, y)": lambda x, y: math.atan2(x, y),
    "atan2(-x, -y)": lambda x, y: math.atan2(-x, -y),
    "sqrt(x + 2)": lambda x, y: math.sqrt(x + 2),
    "1/sqrt(x + 2)": lambda x, y: 1 / math.sqrt(x + 2),
    "exp(x - y)": lambda x, y: math.exp(x - y),
    "log(3 + x)": lambda x, y: math.log(3 + x),
    "(x + 2)**1.7": lambda x, y: (x + 2) ** 1.7,
    "(x + 2)**y": lambda x, y: (x + 2) ** y,
    "2**x": lambda x, y: 2**x,
    "x**2 + x**3 + x**4": lambda x, y: x**2 + x**3 + x**4,
    "x**7": lambda x, y: x**7,
    "(2 + x)**-3": lambda x, y: (2 + x) ** -3,
    "(2 + x)**-9": lambda x, y: (2 + x) ** -9,
    "(2 + x)**(1/3)": lambda x, y: (2 + x) ** (1 / 3),
    "pi*x - 3/7 + 0.125*y": lambda x, y: math.pi * x - 3 / 7 + 0.125 * y,
    "-x": lambda x, y: -x,
    "5": lambda x, y: 5,
}
SWITCHING = {
    "abs(x)": lambda x, y: abs(x),
    "sign(x - y)": lambda x, y: sign(x - y),
    "min(x, y)": min,
    "max(x, y)": max,
    "min(x, y, 0.3)": lambda x, y: min(x, y, 0.3),
    "max(x, y, x*y, 0.25)": lambda x, y: max(x, y, x * y, 0.25),
    "piecewise(x, x < y, 2*y)": lambda x, y: x if x < y else 2 * y,
    "piecewise(1, x <= y, 2)": lambda x, y: 1 if x <= y else 2,
    "piecewise(1, x > 0.5, 2, y >= 0.5, 3)": lambda x, y: 1 if x > 0.5 else 2 if y >= 0.5 else 3,
    "abs(sin(3*x))*sqrt(max(y, 0.01))": lambda x, y: abs(math.sin(3 * x)) * math.sqrt(max(y, 0.01)),
}


def test_every_function_is_tested():
    sources = " ".join([*SMOOTH, *SWITCHING])
    assert [name for name in FUNCTIONS if f"{name}(" not in sources] == []


@over_every_algebra
@pytest.mark.parametrize("text", SMOOTH)
def test_smooth_formulas(number, text):
    for x, y in ((0.7, 0.4), (-0.6, 1.3)):
        assert number(read(text), x, y) == pytest.approx(SMOOTH[text](x, y), rel=1e-13)


@over_every_algebra
@pytest.mark.parametrize("text", SWITCHING)
def test_formulas_that_switch_branches(number, text):
    for x, y in ((0.7, 0.4), (-0.6, 1.3), (0.4, 0.4), (0.0, -0.2)):
        assert number(read(text), x, y) == pytest.approx(SWITCHING[text](x, y), rel=1e-13)


def test_shared_parts_are_lowered_once():
    calls = []

    class Counting(type(FLOATS)):
        def function(self, name, *arguments):
            calls.append(name)
            return super().function(name, *arguments)

    shared = se.sin(se.Symbol("x"))
    lower = Lowering(Counting(), {"x": 0.3})
    assert float(lower(shared**2 + 3 * shared)) == pytest.approx(math.sin(0.3) ** 2 + 3 * math.sin(0.3))  # pyright: ignore[reportArgumentType]
    assert float(lower(shared - 1)) == pytest.approx(math.sin(0.3) - 1)  # pyright: ignore[reportArgumentType]
    assert calls == ["sin"]


def test_derivatives_of_allowed_functions_can_be_lowered():
    x = se.Symbol("x")
    for text, expected in (
        ("tan(x)", 1 / math.cos(0.3) ** 2),
        ("abs(x)*x", 0.6),
        ("acos(x)", -1 / math.sqrt(1 - 0.09)),
    ):
        assert floats(read(text).diff(x), 0.3, 0.0) == pytest.approx(expected)


def test_an_unsupported_function_is_reported():
    with pytest.raises(FormulaError) as caught:
        Lowering(FLOATS, {"x": 1.0})(se.gamma(se.Symbol("x")))
    assert "uses the unsupported function gamma." in str(caught.value)
