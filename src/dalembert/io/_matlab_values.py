"""Tokens and expressions of a subset of MATLAB; `_matlab_interpreter` executes the statements.

Every value is a vector, a scalar is one of length 1; rows and columns are not distinguished. Nothing is executed as code.
No parser of the standard library fits: in MATLAB [1 -2] has two entries, [1 - 2] has one, and 2^3^2 is 64.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from dalembert.errors import ModelFileError, suggest_name
from dalembert.io._mat_file import MatFile, Values
from dalembert.io.toml_reader import failure, require_short
from dalembert.model.keys import MAX_ELEMENTS, quote
from dalembert.model.values import MAX_NAME

_QUOTED = r"""(?:'[^'\n]*'|"[^"\n]*")"""
_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|\.\.\.[^\n]*\n)|(?P<line>\n)"
    rf"|(?P<load>load(?:[ \t]*\([ \t]*{_QUOTED}(?:[ \t]*,[ \t]*{_QUOTED})*[ \t]*\)"
    rf"|[ \t]+(?:{_QUOTED}|[A-Za-z.][\w./\\-]*)(?:[ \t]+-?[A-Za-z]\w*)*(?![ \t]*=)))"
    r"|(?P<number>(?:\d+(?:\.(?![*/^])\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z]\w*(?:\.[A-Za-z]\w*)?)"
    r"|(?P<sign>\.\*|\./|\.\^|[=~<>]=|&&|\|\||[-+*/^()\[\],;:=<>~'])",
    re.ASCII,
)
# statements that clear or print and change no value: commands at the start of a line, and lines with one call
_SILENT = re.compile(
    r"(?:[ \t]*(?:clc|clear|clearvars|close|format|warning)(?:[ \t]+\w+)*[ \t]*(?:[;,]|$))+"
    r"|[ \t]*(?:disp|fprintf)[ \t]*\(.*\)[ \t]*;?[ \t]*$",
    re.ASCII,
)
_COMMENT = re.compile("[%#]")
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "log")},
    "sind": lambda x: math.sin(math.radians(x)),
    "cosd": lambda x: math.cos(math.radians(x)),
    "abs": abs,
    "cot": lambda x: 1 / math.tan(x),
    **{name: getattr(math, name) for name in ("ceil", "floor")},
    "deg2rad": math.radians,
    "rad2deg": math.degrees,
}
_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": math.pow,
}
_PAIRS: dict[str, Callable[[float, float], float]] = {
    "atan2": math.atan2,
    "rem": math.fmod,
    "mod": lambda x, y: x - math.floor(x / y) * y,
    "max": max,
    "min": min,
}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "~=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
KNOWN = (*_FUNCTIONS, *_PAIRS, "zeros", "ones", "sum", "length", "numel", "pi")
SUBSET = "Only assignments of numbers and vectors are supported, such as m = [1; 2] or al(1) = 0.3."
MAX_DEPTH = 40
MAX_WORK = 1_000_000  # operations on numbers
CALL = MAX_WORK // 10  # cost of a call of another file
Function = Callable[[list[Values]], Sequence[Values]]  # arguments to results


class Token(NamedTuple):
    """A name, a number or an operator, and its position."""

    kind: str  # number, name, sign, load, line, end
    string: str
    line: int
    space: bool  # is there whitespace before it?


def tokens_of(code: str, source: str) -> list[Token]:
    """The tokens of the code, without comments.

    >>> [token.string for token in tokens_of("m = 2*al; % mass", "inputs.m")][:5]
    ['m', '=', '2', '*', 'al']
    """
    require_short(len(code), source)
    plain = _without_comments(code)
    tokens: list[Token] = []
    position, line, space = 0, 1, False
    while position < len(plain):
        match = _TOKEN.match(plain, position)
        if match is None:
            fact = f"unexpected character {plain[position]!r}."
            raise failure(f"{source}, line {line}", fact, SUBSET)
        position, kind = match.end(), str(match.lastgroup)
        if kind != "space":
            tokens.append(Token(kind, match.group(), line, space))
        line, space = line + match.group().count("\n"), kind == "space"
    return [*tokens, Token("end", "the end of the file", line, False)]


def _without_comments(code: str) -> str:
    """The code without comments, line by line; block comments are between lines %{ and %}."""
    lines, depth = [], 0
    for line in code.split("\n"):
        word = line.strip()
        depth += word == "%{"
        silent = _SILENT.match(line.rstrip("\r"))
        lines.append("" if depth else _COMMENT.split(line[silent.end() if silent else 0 :], maxsplit=1)[0])
        depth -= word == "%}" and depth > 0
    return "\n".join(lines)


class MatlabEvaluator:
    """Recursive-descent evaluator of the tokens."""

    def __init__(self, tokens: list[Token], source: str, functions: Mapping[str, Function]) -> None:
        self._tokens, self._source = tokens, source
        self.functions = functions  # of other files, by name
        self._at = 0
        self._depth = 0
        self._work = 0
        self._listing = False  # directly inside [ ], where a space separates entries
        self._within: int | None = None  # length of the indexed vector, for `end` and `:`
        self.values: dict[str, Values] = {}
        self._files: dict[str, MatFile] = {}  # by the name assigned from load

    # position

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def _found(self, *signs: str) -> bool:
        return self._next.kind == "sign" and self._next.string in signs

    def _ended(self, *signs: str) -> bool:
        """True at the end of a line or at one of the signs."""
        return self._next.kind == "line" or self._found(*signs)

    def _expect(self, sign: str) -> None:
        if not self._found(sign):
            raise self._error(f"expected {sign!r}, got {self._next_token()}.")
        self._take()

    def _next_token(self) -> str:
        kind, string = self._next.kind, self._next.string
        return "the end of the line" if kind == "line" else string if kind == "end" else quote(string)

    def _error(self, fact: str, advice: str = SUBSET) -> ModelFileError:
        return failure(f"{self._source}, line {self._next.line}", fact, advice)

    # values

    def _index(self, value: Values, name: str) -> int:
        if len(value) != 1 or not value[0].is_integer() or not 1 <= value[0] <= MAX_ELEMENTS:
            got = f"{value[0]:g}" if len(value) == 1 else f"{len(value)} numbers"
            raise self._error(f"the index of {quote(name)} is {got}.", f"Expected a number from 1 to {MAX_ELEMENTS}.")
        return int(value[0])

    def _sum(self) -> Values:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"brackets or blocks are nested deeper than {MAX_DEPTH} levels.", "Use fewer levels.")
        value = self._product()
        while self._found("+", "-") and not self._begins_an_entry():
            sign = self._take().string
            value = self._join(sign, value, self._product())
        self._depth -= 1
        return value

    def _begins_an_entry(self) -> bool:
        """True for the sign in [1 -2], which belongs to the second entry, False in [1 - 2]."""
        return self._listing and self._next.space and not self._tokens[self._at + 1].space

    def _product(self) -> Values:
        value = self._signed(self._power)
        while self._found("*", "/", ".*", "./"):
            sign = self._take().string
            value = self._join(sign, value, self._signed(self._power))
        return value

    def _signed(self, operand: Callable[[], Values]) -> Values:
        """An operand with any number of leading signs."""
        negative = False
        while self._found("+", "-"):
            negative ^= self._take().string == "-"
        value = operand()
        self._count(len(value))
        return tuple(-x for x in value) if negative else value

    def _power(self) -> Values:
        value = self._item()
        while self._found("^", ".^"):
            sign = self._take().string
            value = self._join(sign, value, self._signed(self._item))
        return value

    def _item(self) -> Values:
        token = self._take()
        if token.kind == "number":
            value = (self._finite(float(token.string)),)
        elif token.kind == "name":
            value = self._named(token)
        elif token.string == "(" and token.kind == "sign":
            (value,) = self._arguments()
        elif token.string == "[" and token.kind == "sign":
            value = self._list()
        else:
            self._at -= token.kind != "end"
            raise self._error(f"expected a value, got {self._next_token()}.")
        while self._found("'") and not self._next.space:
            self._take()
        return value

    def _range(self) -> Values:
        """One value, or first:last, or first:step:last, or : for all entries of a vector."""
        if self._within is not None and self._found(":"):
            self._take()
            self._count(self._within)
            return tuple(float(index) for index in range(1, self._within + 1))
        parts = [self._logic()]
        while self._found(":") and len(parts) < 3:
            self._take()
            parts.append(self._logic())
        if len(parts) == 1:
            return parts[0]
        if any(len(part) != 1 for part in parts):
            raise self._error("a range bound or step is a vector.", "Expected scalars, such as 1:n.")
        first, step, last = parts[0][0], parts[1][0] if len(parts) == 3 else 1.0, parts[-1][0]
        count = math.floor(self._evaluated(":", lambda: (last - first) / step) + 1e-10) + 1
        self._count(max(count, 0))
        return tuple(first + step * k for k in range(count))

    def _logic(self) -> Values:
        """One or several comparisons joined by && and ||, which give 1 or 0; or a sum."""
        value = self._comparison()
        while self._found("&&", "||"):
            sign, other = self._take().string, self._comparison()
            both = all(value), all(other)
            value = (float(all(both) if sign == "&&" else any(both)),)
        return value

    def _comparison(self) -> Values:
        negated = None
        while self._found("~"):
            self._take()
            negated = not negated
        value = self._sum()
        if self._next.string in _COMPARISONS and self._next.kind == "sign":
            sign = self._take().string
            value = self._pairwise(sign, _COMPARISONS[sign], value, self._sum())
        return value if negated is None else (float(all(value) != negated),)

    def _named(self, token: Token) -> Values:
        name = token.string
        value = self._field(*name.split(".")) if "." in name else self.values.get(name)
        called = self._found("(") and not (self._listing and self._next.space)
        if called:
            self._take()
            arguments = self._arguments(several=True, within=self._within if value is None else len(value))
            return self._call(name, arguments) if value is None else self._entries(name, value, arguments)
        if name == "end" and self._within is not None:
            return (float(self._within),)
        if value is None and name == "pi":
            return (math.pi,)
        if value is None:
            advice = (
                "Write its arguments in parentheses." if name in KNOWN else suggest_name(name[:MAX_NAME], self.values)
            )
            raise self._error(f"the name {quote(name)} has no value.", advice)
        return value

    def _field(self, name: str, field: str) -> Values:
        if name not in self._files:
            advice = f"Write {name[:MAX_NAME]} = load('inputs.mat')."
            raise self._error(f"{quote(name)} is not a loaded file.", advice)
        return self._files[name].vector(field, f"{self._source}, line {self._next.line}")

    def _entries(self, name: str, value: Values, arguments: list[Values]) -> Values:
        out = []
        for x in self._indices(name, arguments):
            index = self._index((x,), name)
            if index > len(value):
                fact = f"index out of range: {name}({index}), but {quote(name)} has {len(value)} entries."
                raise self._error(fact, "Correct the index.")
            out.append(value[index - 1])
        return tuple(out)

    def _indices(self, name: str, arguments: list[Values]) -> Values:
        """The index of a vector; of two indices, as in x(i,1), one must be 1."""
        others = [argument for argument in arguments if argument != (1.0,)]
        if not arguments or len(arguments) > 2 or len(others) > 1:
            raise self._error(f"{quote(name)} has {len(arguments)} indices.", "Expected one index for a vector.")
        return others[0] if others else (1.0,)

    def _call(self, name: str, arguments: list[Values]) -> Values:
        if name in ("zeros", "ones"):
            sizes = [self._index(argument, name) for argument in arguments]
            if len(sizes) != 2 or 1 not in sizes:
                advice = f"Expected a vector: {name}(n,1) or {name}(1,n)."
                raise self._error(f"{name} has {len(sizes)} sizes, {sizes}.", advice)
            self._count(max(sizes))
            return (0.0 if name == "zeros" else 1.0,) * max(sizes)
        if name in self.functions:
            self._count(CALL)
            results = self.functions[name](arguments)
            if not results:
                raise self._error(f"{quote(name)} returns no value.", "Expected a value.")
            return results[0]
        if name in _PAIRS and len(arguments) == 2:
            return self._pairwise(name, _PAIRS[name], *arguments)
        if name not in KNOWN or name == "pi":
            raise self._error(f"unknown function or vector {quote(name)}.", suggest_name(name[:MAX_NAME], KNOWN))
        if len(arguments) != 1 or name in _PAIRS:
            expected = "two" if name in _PAIRS else "one"
            raise self._error(f"{name} has {len(arguments)} arguments.", f"Expected {expected}.")
        self._count(len(arguments[0]))
        if name == "sum":
            return (self._finite(math.fsum(arguments[0])),)
        if name in ("length", "numel"):
            return (float(len(arguments[0])),)
        return tuple(self._evaluated(name, _FUNCTIONS[name], x) for x in arguments[0])

    def _arguments(self, *, several: bool = False, within: int | None = None) -> list[Values]:
        """The content of parentheses; `within` is the length of the vector before them."""
        before = self._listing, self._within
        self._listing, self._within = False, within if several else self._within
        found = [] if several and self._found(")") else [self._range()]
        while several and self._found(","):
            self._take()
            found.append(self._range())
        self._expect(")")
        self._listing, self._within = before
        return found

    def _list(self) -> Values:
        """The concatenated content of square brackets."""
        before, self._listing = self._listing, True
        found: list[float] = []
        while not self._found("]"):
            if self._ended(",", ";"):
                self._take()
                continue
            found.extend(self._sum())
            self._count(len(found))
            if len(found) > MAX_ELEMENTS:
                raise self._error(f"the vector has more than {MAX_ELEMENTS} entries.", "Shorten it.")
            if not self._ended(",", ";", "]") and not self._next.space:
                raise self._error(f"expected ',' or ']', got {self._next_token()}.")
        self._take()
        self._listing = before
        return tuple(found)

    # numbers

    def _join(self, sign: str, left: Values, right: Values) -> Values:
        equal = len(left) == len(right) or 1 in (len(left), len(right))
        if equal and ((sign == "*" and min(len(left), len(right)) > 1) or (sign in "/^" and len(right) > 1)):
            raise self._error(f"{sign!r} between vectors.", f"Write .{sign} for an elementwise operation.")
        return self._pairwise(sign, _OPERATIONS[sign.lstrip(".")], left, right)

    def _pairwise(self, sign: str, work: Callable[[float, float], float], left: Values, right: Values) -> Values:
        """An elementwise operation; a scalar is combined with every entry of a vector."""
        if len(left) != len(right) and 1 not in (len(left), len(right)):
            fact = f"{sign!r} between vectors of {len(left)} and {len(right)} entries."
            raise self._error(fact, "Expected equal lengths.")
        count = max(len(left), len(right)) if left and right else 0
        self._count(count)
        pairs = zip(left * count if len(left) == 1 else left, right * count if len(right) == 1 else right, strict=False)
        return tuple(self._evaluated(sign, work, x, y) for x, y in pairs)

    def _evaluated(self, name: str, work: Callable[..., float], *operands: float) -> float:
        try:
            return self._finite(float(work(*operands)))
        except (ArithmeticError, ValueError):
            got = ", ".join(f"{x:g}" for x in operands)
            raise self._error(f"{name!r} of {got} is not a finite number.", "Change this formula.") from None

    def _finite(self, x: float) -> float:
        if not math.isfinite(x):
            raise self._error("numeric overflow.", "Expected finite numbers.")
        return x

    def _count(self, operations: int) -> None:
        self._work += operations + 1
        if self._work > MAX_WORK:
            raise self._error("the code needs too many operations.", f"Expected less than {MAX_WORK}.")
