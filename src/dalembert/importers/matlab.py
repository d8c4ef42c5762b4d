"""A small part of MATLAB, read and worked out in numbers: assignments of scalars and vectors, and nothing else.

    statement   function [...] = name()   |   name = sum   |   name(sum) = sum   |   end
                load('file.mat')   |   name = load('file.mat')   |   [name] = inputs()
    sum         product { (+ | -) product }
    product     signed { (* | / | .* | ./) signed }
    signed      { + | - } power
    power       item { (^ | .^) { + | - } item }
    item        number | name | name.field | name(sum, ...) | (sum) | [sum, sum; sum ...]      each with ' behind it or not

Every value is a vector, a scalar one of length 1; rows and columns are not told apart. Nothing is ever run as code.
Kept by hand: [1 -2] has two entries here, [1 - 2] has one, and 2^3^2 is 64, which no parser of the standard library knows.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import NamedTuple

from dalembert.errors import ModelFileError, nearest
from dalembert.importers.mat import Stored, Values
from dalembert.importers.source import failure, require_short
from dalembert.model.keys import MAX_ELEMENTS, MAX_NAME, quote

MAX_DEPTH = 40
MAX_WORK = 1_000_000  # operations on numbers

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|\.\.\.[^\n]*\n)|(?P<line>\n)"
    r"|(?P<load>load(?:[ \t]*\([ \t]*(?P<mark>['\"])[^'\"\n]*(?P=mark)[ \t]*\)|[ \t]+[A-Za-z][\w.-]*(?![ \t]*=)))"
    r"|(?P<number>(?:\d+(?:\.(?![*/^])\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z]\w*(?:\.[A-Za-z]\w*)?)"
    r"|(?P<sign>\.\*|\./|\.\^|[-+*/^()\[\],;='])",
    re.ASCII,
)
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "log")},
    "sind": lambda x: math.sin(math.radians(x)),
    "cosd": lambda x: math.cos(math.radians(x)),
    "abs": abs,
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
_KNOWN = (*_FUNCTIONS, "zeros", "ones", "sum", "length", "numel", "pi")
_SUBSET = "Only assignments of numbers and vectors can be read, such as m = [1; 2] or al(1) = 0.3."


class _Token(NamedTuple):
    kind: str  # number, name, sign, load, line, end
    text: str
    line: int
    space: bool  # whether there is space in front of it


def read_assignments(
    text: str,
    source: str = "<text>",
    *,
    load: Callable[[str], Stored] | None = None,
    links: float | None = None,
) -> dict[str, Values]:
    """The values of all names that the text assigns, each as a tuple of numbers.

    `load` opens the data file of a name, for texts that say load('inputs.mat'); `links` is what [n] = inputs() gives.

    >>> read_assignments("m = [2 3]; al(2) = 0.5; % lengths\\nI = m(1)*al(2)^2/12;")["I"]
    (0.041666666666666664,)
    """
    require_short(len(text), source)
    return _Reader(_tokens(text, source), source, load, links).statements()


def _tokens(text: str, source: str) -> list[_Token]:
    plain = _without_comments(text)
    tokens: list[_Token] = []
    position, line, space = 0, 1, False
    while position < len(plain):
        match = _TOKEN.match(plain, position)
        if match is None:
            fact = f"the character {plain[position]!r} cannot be read here."
            raise failure(f"{source}, line {line}", fact, _SUBSET)
        position, kind = match.end(), str(match.lastgroup)
        if kind != "space":
            tokens.append(_Token(kind, match.group(), line, space))
        line, space = line + match.group().count("\n"), kind == "space"
    return [*tokens, _Token("end", "the end of the file", line, False)]


def _without_comments(text: str) -> str:
    """The text without comments, line by line; a block comment stands between lines %{ and %}."""
    lines, depth = [], 0
    for line in text.split("\n"):
        word = line.strip()
        depth += word == "%{"
        lines.append("" if depth else line.split("%", 1)[0])
        depth -= word == "%}" and depth > 0
    return "\n".join(lines)


class _Reader:
    """Walks along the tokens and works out the values on the way."""

    def __init__(
        self, tokens: list[_Token], source: str, load: Callable[[str], Stored] | None, links: float | None
    ) -> None:
        self._tokens, self._source = tokens, source
        self._load, self._links = load, links
        self._at = 0
        self._depth = 0
        self._work = 0
        self._listing = False  # directly between [ and ], where a space ends an entry
        self.values: dict[str, Values] = {}
        self._files: dict[str, Stored] = {}  # by the name that load was assigned to

    # where we are

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def _found(self, *texts: str) -> bool:
        return self._next.kind == "sign" and self._next.text in texts

    def _ended(self, *signs: str) -> bool:
        """Whether the line ends here, or one of the signs stands here."""
        return self._next.kind == "line" or self._found(*signs)

    def _expect(self, text: str) -> None:
        if not self._found(text):
            raise self._error(f"expected {text!r}, got {self._shown()}.")
        self._take()

    def _shown(self) -> str:
        kind, text = self._next.kind, self._next.text
        return "the end of the line" if kind == "line" else text if kind == "end" else quote(text)

    def _error(self, fact: str, advice: str = _SUBSET) -> ModelFileError:
        return failure(f"{self._source}, line {self._next.line}", fact, advice)

    # statements

    def statements(self) -> dict[str, Values]:
        """Everything up to the end of the file."""
        while self._next.kind != "end":
            if self._ended(";", ","):
                self._take()
                continue
            begun = "the statement goes on with"
            if self._next.kind == "name" and self._next.text in ("function", "end", "return", "endfunction"):
                begun = f"{self._frame()!r} is followed by"
            elif self._next.kind == "load":
                self.values.update(self._loaded().vectors)
            elif self._found("["):
                self._links_of_inputs()
            else:
                self._assignment()
            if self._next.kind != "end" and not self._ended(";", ","):
                raise self._error(f"{begun} {self._shown()}.")
        return self.values

    def _frame(self) -> str:
        """The head of a function, or its end: nothing to work out."""
        word = self._take().text
        while word == "function" and self._next.kind not in ("line", "end"):
            self._take()
        return word

    def _assignment(self) -> None:
        if self._next.kind != "name":
            raise self._error(f"a statement begins with {self._shown()}.")
        name = self._take().text
        if name in _KNOWN:
            raise self._error(f"{name!r} has a meaning of its own and cannot be assigned.", "Use another name.")
        if "." in name:
            raise self._error(f"the field {quote(name)} cannot be assigned.", "Assign a name without a point.")
        index = None
        if self._found("("):
            self._take()
            index = self._index(self._sum(), name)
            self._expect(")")
        if not self._found("="):
            raise self._error(f"{quote(name)} is followed by {self._shown()}, not by '='.")
        self._take()
        if self._next.kind == "load" and index is None:
            self._files[name] = self._loaded()
            return
        value = self._sum()
        self.values[name] = value if index is None else self._changed(name, index, value)

    def _loaded(self) -> Stored:
        """The data file that load names, which stands beside the text."""
        word = self._next.text[len("load") :].strip(" \t()'\"")
        if not re.fullmatch(r"[\w -]+(\.mat)?", word):
            fact = f"load asks for {quote(word)}."
            raise self._error(fact, "Expected the name of a .mat file in the same directory, such as 'inputs.mat'.")
        if self._load is None:
            raise self._error(
                f"load asks for {quote(word)}, but a text has no directory.", "Give the path of the file."
            )
        try:
            stored = self._load(word if word.endswith(".mat") else f"{word}.mat")
        except ModelFileError as error:
            (problem,) = error.problems
            raise self._error(f"load fails. {problem.path}: {problem.fact}", problem.advice) from error
        self._take()
        return stored

    def _links_of_inputs(self) -> None:
        """[n] = inputs(): the number of links, as ReDySim's initials.m asks for it."""
        words = [self._tokens[self._at + place].text for place in range(min(7, len(self._tokens) - self._at))]
        if words[0] + "".join(words[2:]) != "[]=inputs()" or self._links is None:
            raise self._error("a statement begins with '['.")
        self.values[words[1]] = (self._links,)
        self._at += len(words)

    def _changed(self, name: str, index: int, value: Values) -> Values:
        if len(value) != 1:
            raise self._error(f"one entry of {quote(name)} gets {len(value)} values.", "Expected one.")
        self._count(max(index, 1))
        old = self.values.get(name, ())
        entries = [*old, *[0.0] * (index - len(old))]
        entries[index - 1] = value[0]
        return tuple(entries)

    def _index(self, value: Values, name: str) -> int:
        if len(value) != 1 or not value[0].is_integer() or not 1 <= value[0] <= MAX_ELEMENTS:
            shown = f"{value[0]:g}" if len(value) == 1 else f"{len(value)} numbers"
            raise self._error(f"the index of {quote(name)} is {shown}.", f"Expected a number from 1 to {MAX_ELEMENTS}.")
        return int(value[0])

    # values

    def _sum(self) -> Values:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"brackets are nested deeper than {MAX_DEPTH} levels.", "Use fewer of them.")
        value = self._product()
        while self._found("+", "-") and not self._begins_an_entry():
            sign = self._take().text
            value = self._join(sign, value, self._product())
        self._depth -= 1
        return value

    def _begins_an_entry(self) -> bool:
        """In [1 -2] the sign belongs to the second entry, in [1 - 2] it does not."""
        return self._listing and self._next.space and not self._tokens[self._at + 1].space

    def _product(self) -> Values:
        value = self._signed(self._power)
        while self._found("*", "/", ".*", "./"):
            sign = self._take().text
            value = self._join(sign, value, self._signed(self._power))
        return value

    def _signed(self, operand: Callable[[], Values]) -> Values:
        """What stands behind any number of signs, with the sign that they make together."""
        negative = False
        while self._found("+", "-"):
            negative ^= self._take().text == "-"
        value = operand()
        self._count(len(value))
        return tuple(-x for x in value) if negative else value

    def _power(self) -> Values:
        value = self._item()
        while self._found("^", ".^"):
            sign = self._take().text
            value = self._join(sign, value, self._signed(self._item))
        return value

    def _item(self) -> Values:
        token = self._take()
        if token.kind == "number":
            value = (self._finite(float(token.text)),)
        elif token.kind == "name":
            value = self._named(token)
        elif token.text == "(" and token.kind == "sign":
            (value,) = self._arguments()
        elif token.text == "[" and token.kind == "sign":
            value = self._list()
        else:
            self._at -= token.kind != "end"
            raise self._error(f"expected a value, got {self._shown()}.")
        while self._found("'") and not self._next.space:
            self._take()
        return value

    def _named(self, token: _Token) -> Values:
        name = token.text
        value = self._field(*name.split(".")) if "." in name else self.values.get(name)
        called = self._found("(") and not (self._listing and self._next.space)
        if called:
            self._take()
            arguments = self._arguments(several=True)
            return self._call(name, arguments) if value is None else (self._entry(name, value, arguments),)
        if value is None and name == "pi":
            return (math.pi,)
        if value is None:
            advice = "Write its arguments in brackets." if name in _KNOWN else nearest(name[:MAX_NAME], self.values)
            raise self._error(f"the name {quote(name)} has no value here.", advice)
        return value

    def _field(self, name: str, field: str) -> Values:
        if name not in self._files:
            raise self._error(
                f"{quote(name)} is no file that was loaded.", f"Write {name[:MAX_NAME]} = load('inputs.mat')."
            )
        return self._files[name].vector(field, f"{self._source}, line {self._next.line}")

    def _entry(self, name: str, value: Values, arguments: list[Values]) -> float:
        if len(arguments) != 1:
            raise self._error(f"{quote(name)} has {len(arguments)} indices.", "Expected one: vectors have no more.")
        index = self._index(arguments[0], name)
        if index > len(value):
            fact = f"{quote(name)} has {len(value)} entries, but {name}({index}) is asked for."
            raise self._error(fact, "Correct one.")
        return value[index - 1]

    def _call(self, name: str, arguments: list[Values]) -> Values:
        if name in ("zeros", "ones"):
            sizes = [self._index(argument, name) for argument in arguments]
            if len(sizes) != 2 or 1 not in sizes:
                advice = f"Expected a vector: {name}(n,1) or {name}(1,n)."
                raise self._error(f"{name} is given {len(sizes)} sizes, {sizes}.", advice)
            self._count(max(sizes))
            return (0.0 if name == "zeros" else 1.0,) * max(sizes)
        if name not in _KNOWN or name == "pi":
            raise self._error(f"the function or vector {quote(name)} is not known.", nearest(name[:MAX_NAME], _KNOWN))
        if len(arguments) != 1:
            raise self._error(f"{name} is given {len(arguments)} arguments.", "Expected one.")
        self._count(len(arguments[0]))
        if name == "sum":
            return (self._finite(math.fsum(arguments[0])),)
        if name in ("length", "numel"):
            return (float(len(arguments[0])),)
        return tuple(self._worked_out(name, _FUNCTIONS[name], x) for x in arguments[0])

    def _arguments(self, *, several: bool = False) -> list[Values]:
        """What stands between round brackets."""
        before, self._listing = self._listing, False
        found = [self._sum()]
        while several and self._found(","):
            self._take()
            found.append(self._sum())
        self._expect(")")
        self._listing = before
        return found

    def _list(self) -> Values:
        """What stands between square brackets, end to end."""
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
                raise self._error(f"expected ',' or ']', got {self._shown()}.")
        self._take()
        self._listing = before
        return tuple(found)

    # numbers

    def _join(self, sign: str, left: Values, right: Values) -> Values:
        if len(left) != len(right) and 1 not in (len(left), len(right)):
            fact = f"{sign!r} stands between vectors of {len(left)} and {len(right)} entries."
            raise self._error(fact, "Expected equal ones.")
        if (sign == "*" and min(len(left), len(right)) > 1) or (sign in "/^" and len(right) > 1):
            raise self._error(f"{sign!r} stands between vectors.", f"Write .{sign} to work entry by entry.")
        count = max(len(left), len(right)) if left and right else 0
        self._count(count)
        pairs = zip(left * count if len(left) == 1 else left, right * count if len(right) == 1 else right, strict=False)
        work = _OPERATIONS[sign.lstrip(".")]
        return tuple(self._worked_out(sign, work, x, y) for x, y in pairs)

    def _worked_out(self, name: str, work: Callable[..., float], *given: float) -> float:
        try:
            return self._finite(work(*given))
        except (ArithmeticError, ValueError):
            shown = ", ".join(f"{x:g}" for x in given)
            raise self._error(f"{name!r} of {shown} is not a finite number.", "Change this formula.") from None

    def _finite(self, x: float) -> float:
        if not math.isfinite(x):
            raise self._error("a value grows beyond all numbers.", "Expected finite numbers.")
        return x

    def _count(self, operations: int) -> None:
        self._work += operations + 1
        if self._work > MAX_WORK:
            raise self._error("the file takes too long to work out.", f"Expected less than {MAX_WORK} operations.")
