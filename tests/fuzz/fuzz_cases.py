"""Fuzz inputs: mutated and generated model files, robot tables and formulas, one for each number.

The corpus is the gallery and the examples in the documentation. The same number always gives the same case.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "src" / "dalembert" / "gallery"

KINDS = ("mutated", "mutated", "generated", "table", "formula", "formula")
SUFFIXES = {"csv": ".csv", "json": ".json", "matlab": ".m", "xml": ".urdf"}
LONGEST = 30_000  # characters of a case, except for long ones

NUMBERS = (
    *("0", "-0", "1", "-1", "0.5", "1e-300", "1e300", "1e400", "-1e308", "1e22", "10000000000000000000000000"),
    *("9" * 60, "9" * 500, "9" * 5000, "nan", "inf", "-inf", "0x10", "0o7", "1_000", "1e", "1.", ".5", "--1", "1e-400"),
)
STRINGS = (
    *('""', "''", '"x"', '"world"', '"t"', '"dot(t)"', '"sqrt(-1)"', '"1/0"', '"10**10**10"', '"1e400"', '"x.y"'),
    *('"αβγ"', '"\\u202e"', '"\\u0000"', '"ﬁ"', '"\U0001f600"', '"q1"', '"theta1"', '"m"', '"l"', '"(((("', '"x" * 3'),
    *('"' + "x" * 300 + '"', '"' + "(" * 300 + "1" + ")" * 300 + '"', '"' + "+".join("x" * 400) + '"'),
    *('"' + "9" * 400 + '"', '"2**64**2"', '"max(x, max(x, max(x, max(x, max(x, max(x, 1))))))"', '"../../etc/passwd"'),
)
OTHERS = (
    *("true", "false", "[]", "{}", "[1]", "[1, 2]", "[1, 2, 3]", "[0, 0, 0]", "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]"),
    *('["a", "b"]', "[1, [2, [3, [4]]]]", "{ type = 1 }", '{ type = "revolute" }', "{ a = { b = { c = 1 } } }"),
    *("1979-05-27", "07:32:00", "[" * 60 + "]" * 60, "[" * 2000 + "]" * 2000, "[" + "1, " * 3000 + "]"),
    *("[nan, nan, nan]", "[inf, 0, 0]", "[1e200, 1e200, 1e200]", "[1e-200, 0, 0]", '["q1", "q1", "q1", "q1"]'),
)
VALUES = (*NUMBERS, *STRINGS, *OTHERS)
TOKENS = (
    *("+", "-", "*", "/", "**", "(", ")", ",", " ", ".", "<", "<=", ">", ">=", "==", "and", "or", "not", "if", "else"),
    *("x", "y", "k", "t", "pi", "e", "dot(x)", "dot(y)", "ddot(x)", "p(x)", "1", "2", "0.5", "1e400", "1e-400", "3j"),
    *("sin(", "cos(", "tan(", "exp(", "log(", "sqrt(", "abs(", "sign(", "max(", "min(", "atan2(", "piecewise("),
    *(
        "9" * 30,
        "9" * 400,
        "64",
        "65",
        "1e308",
        "lambda",
        "__import__",
        "[",
        "]",
        "{",
        "'",
        '"',
        ":",
        "=",
        "@",
        "\\",
        "\n",
    ),
    *("\t", "\0", "²", "×", "π", "θ", "\u202e", "inf", "nan", "oo", "zoo", "I", "1_0", "0x1", "True", "None", "%"),
)
FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "sqrt", "abs", "sign", "max", "min", "atan2")
LEAVES = ("x", "y", "k", "t", "pi", "dot(x)", "dot(y)", "1", "2", "3", "0", "0.1", "1/3", "-1", "1e10", "9" * 25)


@dataclass(frozen=True)
class Case:
    """One input: a formula (no suffix), or the bytes of a file with the suffix that chooses its reader."""

    number: int
    data: bytes
    suffix: str = ""


def case(number: int) -> Case:
    """The case of a number."""
    r = random.Random(number)
    kind = KINDS[number % len(KINDS)]
    if kind == "formula":
        return Case(number, _formula(r).encode("utf-8", "surrogatepass"))
    if kind == "generated":
        return Case(number, _generated(r).encode(), ".toml")
    suffix, text = r.choice(_files() if kind == "mutated" else _tables())
    return Case(number, _mutated(text, r), suffix)


@cache
def _files() -> list[tuple[str, str]]:
    """The model files of the gallery and of the documentation."""
    found = [(path.suffix, path.read_text(encoding="utf-8")) for path in sorted(GALLERY.glob("*/model.*"))]
    page = (ROOT / "docs" / "model-files.md").read_text(encoding="utf-8")
    return found + [(".toml", f'name = "page"\n{text}') for text in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]


@cache
def _tables() -> list[tuple[str, str]]:
    """Robots in every other file format."""
    page = (ROOT / "docs" / "robot-tables.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)
    found = [(SUFFIXES.get(kind, ".toml"), text) for kind, text in blocks if kind in SUFFIXES or kind == "toml"]
    return found + 4 * [each for each in _files() if each[0] == ".urdf"]


@cache
def _vocabulary() -> dict[str, list[tuple[str, str]]]:
    """Keys and values of the corpus under each header."""
    found: dict[str, list[tuple[str, str]]] = {"": []}
    for suffix, text in _files():
        header = ""
        for line in text.splitlines() if suffix == ".toml" else ():
            if line.startswith("["):
                header = line.strip()
            elif pair := re.match(r"([\w.-]+) = (.+)", line):
                found.setdefault(header, []).append((pair[1], pair[2]))
    return {header: pairs for header, pairs in found.items() if pairs}


def _generated(r: random.Random) -> str:
    """A file of known headers and keys; most values fit their key, some are arbitrary."""
    words = _vocabulary()
    lines = ['name = "generated"'] if r.random() < 0.9 else []
    lines += [f"{key} = {value}" for key, value in _sample(r, words[""], r.randrange(3))]
    for header in r.choices(sorted(words), k=r.randrange(1, 12)):
        lines += [
            "",
            header,
            *(f"{key} = {_value(r, value)}" for key, value in _sample(r, words[header], r.randrange(9))),
        ]
    return "\n".join(lines) + "\n"


def _sample(r: random.Random, pairs: list[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """Some of the pairs, each key once."""
    return list(dict(r.choices(pairs, k=count)).items())


def _value(r: random.Random, usual: str) -> str:
    chance = r.random()
    if chance < 0.75:
        return usual
    return r.choice(VALUES) if chance < 0.9 else '"' + _formula(r).replace("\\", "").replace('"', "")[:400] + '"'


def _mutated(text: str, r: random.Random) -> bytes:
    """The source after a few mutations of lines, values and signs, and rarely of bytes."""
    for _ in range(r.choice((1, 1, 1, 2, 3, 8))):
        text = r.choice(_CHANGES)(text, r)[: 40 * LONGEST]
    data = text.encode("utf-8", "surrogatepass")
    if r.random() < 0.15:
        for _ in range(r.randrange(1, 6)):
            at = r.randrange(len(data) + 1)
            data = data[:at] + bytes([r.randrange(256)]) + data[at + r.randrange(2) :]
    return data


def _delete_line(text: str, r: random.Random) -> str:
    lines = text.split("\n")
    del lines[r.randrange(len(lines))]
    return "\n".join(lines)


def _repeat_line(text: str, r: random.Random) -> str:
    lines = text.split("\n")
    lines.insert(r.randrange(len(lines) + 1), r.choice(lines))
    return "\n".join(lines)


def _swap_lines(text: str, r: random.Random) -> str:
    lines = text.split("\n")
    i, j = r.randrange(len(lines)), r.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def _replace_value(text: str, r: random.Random) -> str:
    return _replace(text, r, r"(?<== )\S.*|(?<==)\"[^\"]*\"|(?<=: )\S+", r.choice(VALUES))


def _replace_number(text: str, r: random.Random) -> str:
    return _replace(text, r, r"-?\d+(\.\d+)?(e-?\d+)?", r.choice(NUMBERS))


def _replace_word(text: str, r: random.Random) -> str:
    words = re.findall(r"[A-Za-z_]\w*", text)
    return _replace(text, r, r"[A-Za-z_]\w*", r.choice([*words, "x", ""]))


def _change_formula(text: str, r: random.Random) -> str:
    return _replace(text, r, r"(?<=\")[^\"\n]+(?=\")", _formula(r).replace("\\", "").replace('"', "")[:2000])


def _replace(text: str, r: random.Random, pattern: str, new: str) -> str:
    """The source with one match of the pattern replaced."""
    places = list(re.finditer(pattern, text))
    if not places:
        return text
    place = r.choice(places)
    return text[: place.start()] + new + text[place.end() :]


def _insert_token(text: str, r: random.Random) -> str:
    at = r.randrange(len(text) + 1)
    return text[:at] + r.choice(TOKENS) + text[at:]


def _insert_section(text: str, r: random.Random) -> str:
    header = r.choice(
        [*_vocabulary(), "[a.b.c]", "[[a.b]]", "[" + ".".join("a" * 40) + "]", "[body]", "[[parameters]]"]
    )
    pairs = _vocabulary().get(header, [("x", "1")])
    return (
        f"{text}\n{header}\n" + "\n".join(f"{key} = {_value(r, value)}" for key, value in _sample(r, pairs, 4)) + "\n"
    )


def _cut(text: str, r: random.Random) -> str:
    return text[: r.randrange(len(text) + 1)]


def _remove_part(text: str, r: random.Random) -> str:
    at = r.randrange(len(text) + 1)
    return text[:at] + text[at + r.randrange(40) :]


def _repeat_part(text: str, r: random.Random) -> str:
    at = r.randrange(len(text) + 1)
    part = text[at : at + r.randrange(200)]
    return text[:at] + part * r.choice((1, 1, 2, 50)) + text[at:]


def _long_part(text: str, r: random.Random) -> str:
    """A long input by repetition: nesting, digits, keys, elements."""
    if r.random() < 0.8:
        return _repeat_part(text, r)
    at = r.randrange(len(text) + 1)
    return text[:at] + r.choice((*TOKENS, "[", "{ a = ", "<a>", "x.", "[[body]]\n")) * r.choice((100, 3000)) + text[at:]


_CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    *(_delete_line, _repeat_line, _swap_lines, _insert_token, _insert_section, _cut, _remove_part, _long_part),
    *(_replace_value, _replace_value, _replace_value, _replace_number, _replace_number, _replace_word, _replace_word),
    *(_change_formula, _change_formula),
)


def _formula(r: random.Random) -> str:
    """A formula that is valid, almost valid, or random characters."""
    chance = r.random()
    if chance < 0.25:
        return "".join(r.choices(TOKENS, k=r.randrange(1, 30)))
    if chance < 0.35:
        return _tall(r)
    text = _expression(r, r.randrange(1, 6))
    if chance < 0.6:
        return text
    for _ in range(r.randrange(1, 4)):
        text = r.choice((_insert_token, _remove_part, _replace_number, _repeat_part))(text, r)
    return text


def _expression(r: random.Random, depth: int) -> str:
    if depth == 0:
        return r.choice(LEAVES)
    kind = r.random()
    part = lambda: _expression(r, r.randrange(depth))  # noqa: E731
    if kind < 0.4:
        return f"({part()} {r.choice('+-*/')} {part()})"
    if kind < 0.55:
        return f"({part()})**{r.choice(('2', '-1', '0.5', '3', '64', '-64', '1/3', part()))}"
    if kind < 0.65:
        return f"piecewise({part()}, {part()} {r.choice(('<', '<=', '>', '>='))} {part()}, {part()})"
    name = r.choice(FUNCTIONS)
    return f"{name}({', '.join(part() for _ in range(2 if name in ('atan2', 'max', 'min') else 1))})"


def _tall(r: random.Random) -> str:
    """A formula with repeated parts: towers of powers, brackets, signs, sums, nested functions."""
    n = r.choice((5, 30, 90, 101, 300, 2500))
    before, middle, after = r.choice(
        (
            *(
                ("(", "x", ")"),
                ("-", "x", ""),
                ("2**", "2", ""),
                ("x**", "2", ""),
                ("(", "x", ")**2"),
                ("x + ", "1", ""),
            ),
            *(("sin(", "x", ")"), ("exp(", "x", ")"), ("abs(", "x", ")"), ("max(x, ", "y", ")"), ("(x + y)*", "1", "")),
            *(("(x + 1/", "x", ")"), ("(2 + ", "x", ")**64"), ("piecewise(x, x < y, ", "1", ")"), ("x*", "y", "")),
            *(("9", "9", ""), ("sqrt(2 + ", "2", ")"), ("tan(", "1", ")"), ("(x + y)**(", "2", ")"), ("1/", "3", "")),
        )
    )
    return before * n + middle + after * n
