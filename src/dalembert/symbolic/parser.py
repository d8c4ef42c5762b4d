"""Parse formula strings with Python's `ast` and a white list of syntax; formulas are never executed as code.

Stages: `_tokens` (characters and words), `_check_nesting` (parentheses and depth, before Python's parser receives the string),
`_tree` (the syntax tree), `_Reader` (from the tree to SymEngine). Nothing here is recursive, so depth and length are limited
by the constants below and not by Python's stack.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import symengine as se

from dalembert.errors import FormulaError, suggest_name
from dalembert.symbolic.symbols import (
    FUNCTIONS,
    TIME,
    compare,
    coordinate,
    decimal,
    flaw,
    fold,
    momentum,
    number,
    power_flaw,
    quote,
    rate,
)

MAX_LENGTH = 10_000
MAX_DEPTH = 100
MAX_OPERATORS = 2_000
MAX_SIZE = 20_000
MAX_COPYING = 5

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<operator>\*\*|//|[<>]=|[-+*/<>(),])",
    re.ASCII,
)
_ADVICE = {
    "^": "Use ** for powers.",
    ".": "Attributes are not allowed; use a decimal point only inside a number, such as 0.5.",
    "=": "Write one expression without an equals sign; conditions compare with < <= > >=.",
    "&": "Write `and` between conditions.",
    "|": "Write `or` between conditions.",
    "//": "Use / for division.",
    "if": "Write piecewise(value, condition, default).",
    "else": "Write piecewise(value, condition, default).",
}
_COMMA = "Use commas only between the arguments of a function, and a decimal point in numbers, such as 0.5."
_ALPHABET = "Use names, numbers, the operators + - * / **, parentheses, commas, and < <= > >= in conditions."
_RELATIONS: dict[type[ast.cmpop], Callable[..., se.Basic]] = {
    ast.Lt: se.Lt,
    ast.LtE: se.Le,
    ast.Gt: se.Gt,
    ast.GtE: se.Ge,
}


class _Token(NamedTuple):
    column: int
    kind: str
    source: str


class _Value(NamedTuple):
    """A parsed part: its expression, whether it is free of names, its size, and the nesting depth of copies in it."""

    expression: se.Basic
    constant: bool
    size: int
    copying: int


@dataclass(frozen=True)
class _Formula:
    """A formula string and its location; creates every error message."""

    source: str
    where: str

    def error(self, fact: str, advice: str, column: int | None = None) -> FormulaError:
        location = f", column {column}" if column is not None else ""
        return FormulaError(f"{self.where}, formula {quote(self.source)}{location}: {fact} {advice}")


POINT_WORDS = ("height", "rise", "speed")
_SYMBOLS = ("dot", "p", *POINT_WORDS)
Points = Mapping[str, Callable[[str], se.Basic]]  # from a point name and one of these words to a formula


def parse(
    source: str | int | float,
    *,
    coordinates: Collection[str],
    parameters: Collection[str],
    where: str,
    rates: bool = True,
    time: bool = True,
    momenta: bool = False,
    points: Points | None = None,
) -> se.Basic:
    """The SymEngine expression of a formula string or a number.

    `where` names the element that contains the formula and begins every message. With `rates=False` velocities are rejected,
    with `time=False` the time t; with `momenta=True` the momentum of a coordinate x is written p(x). `points` define height(x),
    rise(x) and speed(x) of a point x.

    >>> parse("k*dot(x) + 1/2", coordinates=["x"], parameters=["k"], where="force 'push'")
    1/2 + k*dot(x)
    >>> parse("y", coordinates=["x"], parameters=[], where="load")
    Traceback (most recent call last):
        ...
    dalembert.errors.FormulaError: load, formula 'y', column 1: the name 'y' is not known here. Known names: pi, t, x.
    """
    if not isinstance(source, str):
        return number(source, where)
    formula = _Formula(source, where)
    if len(source) > MAX_LENGTH:
        fact = f"the formula has {len(source)} characters."
        raise formula.error(fact, f"Expected at most {MAX_LENGTH}; split it into several loads.")
    tokens = _tokens(formula)
    _check_nesting(formula, tokens)
    reader = _Reader(formula, coordinates, parameters, rates, time, momenta, points or {})
    tree = _tree(formula)
    reader.expect(tree, condition=False)
    return fold(tree, reader.children, reader.build).expression


def _tokens(formula: _Formula) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while position < len(formula.source):
        match = _TOKEN.match(formula.source, position)
        if match is None:
            sign = formula.source[position]
            advice = _ADVICE.get(sign, _ALPHABET)
            raise formula.error(f"the character {sign!r} cannot be used in a formula.", advice, position + 1)
        token = _Token(position + 1, str(match.lastgroup), match.group())
        _check_token(formula, token)
        if token.kind != "space":
            tokens.append(token)
        position = match.end()
    if not tokens:
        raise formula.error("the formula is empty.", "Expected an expression; write 0 for a zero value.")
    return tokens


def _check_token(formula: _Formula, token: _Token) -> None:
    column, kind, source = token
    if kind == "number":
        rest = re.compile(r"[\w.]*", re.ASCII).match(formula.source, column - 1 + len(source))
        if rest and rest.group():
            fact = f"the number {quote(source + rest.group())} cannot be read."
            raise formula.error(fact, "Write digits, such as 2 or 0.5; for a product write 2*x.", column)
        if len(source) > 400:
            raise formula.error(f"the number {quote(source)} has too many digits.", "Use an exponent: 1.5e10.", column)
    word = kind == "name" and keyword.iskeyword(source) and source not in ("and", "or")
    if word or source == "//":
        fact = f"the {'word' if word else 'operator'} '{source}' cannot be used in a formula."
        raise formula.error(fact, _ADVICE.get(source, _ALPHABET), column)


def _check_nesting(formula: _Formula, tokens: list[_Token]) -> None:
    opened: list[_Token] = []
    # depth of nested signs and powers, for every open parenthesis
    chains = [0]
    operators = 0
    before = "("
    for token in tokens:
        source = token.source
        if source == "(":
            opened.append(token)
            chains.append(0)
        elif source == ")":
            if not opened:
                raise formula.error("the parenthesis ')' has no matching '('.", "Delete it, or add '('.", token.column)
            opened.pop()
            chains.pop()
        elif source == "**" or (source in "+-" and (before in ("and", "or") or before[0] in "+-*/<>(,")):
            chains[-1] += 1
        elif token.kind == "operator" or source in ("and", "or"):
            chains[-1] = 0
            operators += 1
        if len(opened) + sum(chains) > MAX_DEPTH:
            fact = f"the formula is nested deeper than {MAX_DEPTH} levels."
            raise formula.error(fact, "Use fewer parentheses, signs and powers inside each other.", token.column)
        if operators > MAX_OPERATORS:
            fact = f"the formula has more than {MAX_OPERATORS} operators."
            raise formula.error(fact, "Split it into several loads.", token.column)
        before = source
    if opened:
        raise formula.error("the parenthesis '(' is not closed.", "Close it with ')'.", opened[-1].column)


def _tree(formula: _Formula) -> ast.expr:
    # the leading parenthesis converts Python's 0-based offsets to 1-based columns
    source = "(" + re.sub(r"\s", " ", formula.source, flags=re.ASCII) + ")"
    try:
        return ast.parse(source, mode="eval").body
    except SyntaxError as error:
        column = min(max((error.offset or 1) - 1, 1), len(formula.source))
        rest = formula.source[column - 1 :].rstrip()
        part = quote(rest, 20) if rest else "its end"
        advice = "Expected an expression such as k*(x - 1); an operator or operand is missing or superfluous."
        raise formula.error(f"the formula cannot be read at {part}.", advice, column) from None
    except (RecursionError, MemoryError, ValueError):
        raise formula.error("the formula is too long or too deeply nested.", "Split it into several loads.") from None


@dataclass(frozen=True)
class _Reader:
    """From a syntax tree to SymEngine: `children` is the white list, `build` creates one node."""

    formula: _Formula
    coordinates: Collection[str]
    parameters: Collection[str]
    rates: bool
    time: bool
    momenta: bool = False
    points: Points = field(default_factory=dict)

    def error(self, node: ast.expr, fact: str, advice: str) -> FormulaError:
        """The error for one part of the formula; `{part}` in `fact` is replaced by its source."""
        part = self.formula.source[max(node.col_offset - 1, 0) : (node.end_col_offset or 0) - 1]
        return self.formula.error(fact.format(part=quote(part)), advice, max(node.col_offset, 1))

    def children(self, node: ast.expr) -> list[ast.expr]:
        """The parts of an allowed node; any other node is an error."""
        match node:
            case ast.Constant() | ast.Name():
                return []
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                parts = [part for _, part in _spine(node)]
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                parts = [left, right]
            case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
                parts = [operand]
            case ast.Compare(left=left, comparators=others):
                parts = [left, *others]
            case ast.BoolOp(values=parts):
                pass
            case ast.Call():
                return self._arguments(node)
            case ast.Tuple():
                raise self.error(node, "{part} is not a single value.", _COMMA)
            case _:
                raise self.error(node, "{part} cannot be used in a formula.", _ALPHABET)
        for part in parts:
            self.expect(part, condition=isinstance(node, ast.BoolOp))
        return parts

    def build(self, node: ast.expr, parts: list[_Value]) -> _Value:
        """The value of one node from the values of its parts."""
        function = FUNCTIONS.get(_called(node))
        copies = 1 if function is None else function.copies or len(parts)
        size = 1 + copies * sum(part.size for part in parts)
        copying = max((part.copying for part in parts), default=0) + (copies > 1)
        if size > MAX_SIZE or copying > MAX_COPYING:
            advice = f"Nest at most {MAX_COPYING} of abs, sign, min and max, or shorten them."
            raise self.error(node, "{part} is too large when expanded.", advice)
        named = (isinstance(node, ast.Name) and node.id != "pi") or _called(node) in _SYMBOLS
        constant = all(part.constant for part in parts) and not named
        try:
            expression = self._expression(node, [part.expression for part in parts])
            logical = isinstance(node, ast.Compare | ast.BoolOp)
            problem = None if logical else flaw(expression, constant=constant)
        except RuntimeError:
            raise self.error(node, "{part} is undefined.", "Change this part so that it has a value.") from None
        if problem:
            raise self.error(node, f"{{part}} {problem}.", "Expected a finite real number; change this part.")
        return _Value(expression, constant, size, copying)

    def _expression(self, node: ast.expr, parts: list[se.Basic]) -> se.Basic:
        match node:
            case ast.Constant(value=value):
                return self._literal(node, value)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.BinOp(op=ast.Pow()):
                return self._power(node, *parts)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return se.Add(
                    *(-p if isinstance(s, ast.Sub) else p for (s, _), p in zip(_spine(node), parts, strict=True))
                )
            case ast.BinOp():
                return se.Mul(
                    *(1 / p if isinstance(s, ast.Div) else p for (s, _), p in zip(_spine(node), parts, strict=True))
                )
            case ast.UnaryOp(op=op):
                return -parts[0] if isinstance(op, ast.USub) else parts[0]
            case ast.Compare(ops=ops):
                return se.And(*(compare(self._relation(node, op), *parts[k : k + 2]) for k, op in enumerate(ops)))
            case ast.BoolOp(op=op):
                return se.And(*parts) if isinstance(op, ast.And) else se.Or(*parts)
            case ast.Call(args=[ast.Name(id=name)]) if _called(node) in ("dot", "p"):
                return rate(name) if _called(node) == "dot" else momentum(name)
            case ast.Call(args=[ast.Name(id=name)]) if _called(node) in POINT_WORDS:
                return self.points[name](_called(node))
            case _:
                return FUNCTIONS[_called(node)].build(*parts)

    def _literal(self, node: ast.expr, value: object) -> se.Basic:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(node, "{part} is not a number.", _ALPHABET)
        return se.Integer(value) if isinstance(value, int) else decimal(value)

    def _name(self, node: ast.expr, name: str) -> se.Basic:
        if name in self.parameters or name in self.coordinates:  # parameters first: there are few
            return coordinate(name)
        if name == "pi":
            return se.pi
        if name == "t" and self.time:
            return TIME
        if name == "t":
            raise self.error(node, "the time t is not allowed here.", "Expected a formula without t; remove it.")
        if name in FUNCTIONS or name in ("dot", "ddot"):
            advice = f"Write the arguments in parentheses: {name}(...)."
            raise self.error(node, "{part} is a function and has no arguments.", advice)
        known = [*self.coordinates, *self.parameters, "pi", *(["t"] if self.time else [])]
        raise self.error(node, "the name {part} is not known here.", suggest_name(name, known))

    def _power(self, node: ast.expr, base: se.Basic, exponent: se.Basic) -> se.Basic:
        problem = power_flaw(base, exponent)
        if problem:
            advice = "Use a smaller exponent, or a decimal such as 80.0."
            raise self.error(node, f"the power {{part}} {problem}.", advice)
        return base**exponent

    def _relation(self, node: ast.expr, operator: ast.cmpop) -> Callable[..., se.Basic]:
        if type(operator) not in _RELATIONS:
            raise self.error(node, "the comparison {part} cannot be used.", "Use one of < <= > >=.")
        return _RELATIONS[type(operator)]

    def _arguments(self, node: ast.Call) -> list[ast.expr]:
        name = _called(node)
        if not name:
            advice = "Write * for a product: 2*(x + 1)."
            raise self.error(node, "{part} calls something that is not a function.", advice)
        if name == "ddot":
            advice = "Expected coordinates, velocities dot(...) and time; write the formula with these."
            raise self.error(node, "accelerations are not allowed in a formula, got {part}.", advice)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.error(
                node, "the arguments in {part} cannot be read.", "Separate positional arguments by commas."
            )
        if name == "dot" or (name == "p" and (self.momenta or name not in (*self.coordinates, *self.parameters))):
            return self._coordinate_of(node, name)
        if name in POINT_WORDS and name not in self.coordinates and name not in self.parameters:
            return self._point_of(node, name)
        if name not in FUNCTIONS and (name in self.coordinates or name in self.parameters):
            fact = f"'{name}' is not a function, but {{part}} calls it."
            raise self.error(node, fact, f"Write * for a product: {name}*(...).")
        if name not in FUNCTIONS:
            raise self.error(node.func, "the function {part} is not known.", suggest_name(name, [*FUNCTIONS, "dot"]))
        self._check_count(node, name)
        for k, argument in enumerate(node.args):
            self.expect(argument, condition=name == "piecewise" and k % 2 == 1)
        return node.args

    def _coordinate_of(self, node: ast.Call, function: str) -> list[ast.expr]:
        """No parts: a velocity dot(x) or a momentum p(x) is a separate symbol, if x is a coordinate."""
        quantity = "velocity" if function == "dot" else "momentum"
        if function == "dot" and not self.rates:
            advice = "Expected coordinates and parameters only; remove dot(...)."
            raise self.error(node, "velocities are not allowed here, got {part}.", advice)
        if function == "p" and not self.momenta:
            advice = "They are allowed in canonical constraints only; write dot(...) for a velocity."
            raise self.error(node, "momenta are not allowed here, got {part}.", advice)
        if len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
            advice = f"Pass the name of one coordinate to {function}."
            raise self.error(node, f"{{part}} is not the {quantity} of a coordinate.", advice)
        name = node.args[0].id
        if name not in self.coordinates:
            fact = f"{{part}} refers to the {quantity} of '{name[:60]}', which is not a coordinate."
            raise self.error(node, fact, suggest_name(name, self.coordinates))
        return []

    def _point_of(self, node: ast.Call, word: str) -> list[ast.expr]:
        """No parts: a quantity of a point is expanded, if the point exists."""
        if word != "height" and not self.rates:
            raise self.error(node, "velocities are not allowed here, got {part}.", "Expected height(...) only.")
        if len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
            raise self.error(node, f"{{part}} is not the {word} of a point.", f"Pass the name of one point to {word}.")
        name = node.args[0].id
        if name not in self.points:
            advice = (
                suggest_name(name, self.points) if self.points else "Declare points before the formulas that use them."
            )
            raise self.error(
                node, f"{{part}} refers to the {word} of '{name[:60]}', which is not a point here.", advice
            )
        return []

    def _check_count(self, node: ast.Call, name: str) -> None:
        got, minimum, maximum = len(node.args), FUNCTIONS[name].min_arguments, FUNCTIONS[name].max_arguments
        if name == "piecewise" and (got < minimum or got % 2 == 0):
            advice = "Write piecewise(value1, condition1, value2, condition2, ..., default)."
            raise self.error(node, f"{{part}} has {got} arguments, expected an odd number, at least 3.", advice)
        if got < minimum or (maximum is not None and got > maximum):
            expected = str(minimum) if minimum == maximum else f"{minimum} to {maximum}"
            advice = f"Expected {expected}; correct the call of {name}."
            raise self.error(node, f"{{part}} has the wrong number of arguments, {got}.", advice)

    def expect(self, node: ast.expr, *, condition: bool) -> None:
        """Reject a condition where a number is expected, and vice versa."""
        is_condition = isinstance(node, ast.Compare | ast.BoolOp)
        if condition and not is_condition:
            raise self.error(node, "{part} is not a condition.", "Expected a comparison, such as x < 1.")
        if is_condition and not condition:
            advice = "Use conditions only inside piecewise(value, condition, default)."
            raise self.error(node, "expected a number, got the condition {part}.", advice)


def _spine(node: ast.expr) -> list[tuple[ast.operator, ast.expr]]:
    """The operands of a flat sum or product with their operators, in source order."""
    sums, products = (ast.Add, ast.Sub), (ast.Mult, ast.Div)
    family = sums if isinstance(node, ast.BinOp) and isinstance(node.op, sums) else products
    parts: list[tuple[ast.operator, ast.expr]] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, family):
        parts.append((node.op, node.right))
        node = node.left
    return [(family[0](), node), *reversed(parts)]


def _called(node: ast.expr) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
