"""Places in a source, compared with the TOML reader, and line numbers of messages about invalid sources."""

import random
import re
import tomllib
from pathlib import Path

import pytest

from dalembert.io import gallery
from dalembert.studio.payload import Payload
from dalembert.studio.tasks.describe_task import describe
from dalembert.studio.tasks.message_lines import SourceMap, value_offsets

GALLERY = Path(gallery.__file__).parent
FILES = sorted(GALLERY.glob("*/model.toml"))
ODD = """
title = 1 # [[no.header]]
"quoted key" = 'lit # eral'
a.b . "c.d" = [ 1, # one ]
  "]", '''
  [x]
  ''', { e = 2, f = [ [3], {} ] } ]
when = 1979-05-27 07:32:00
text = \"\"\"
[[body]]
name = "no" \\\"\"\" x
\"\"\"
[t.u]
v = "\\u0041"
[[ s . t ]]
k = 1
[s.t.inner]
m = 1
[[s.t]]
k = 2
[[s.t.more]]
z = 0
"""


def paths(data, path=()):
    """Yield the paths of all tables, keys and entries."""
    if path:
        yield path
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, each in inside:
        yield from paths(each, (*path, key))


def keyed(text, key_path, at):
    """Return True if a key, a header or an entry begins here."""
    name = next(step for step in reversed(key_path) if isinstance(step, str))
    line = text[at : text.find("\n", at) if "\n" in text[at:] else len(text)]
    return isinstance(key_path[-1], int) or name in line or "\\" in line


@pytest.mark.parametrize(
    "text", [ODD, *(path.read_text("utf-8") for path in FILES)], ids=["odd", *(p.parent.name for p in FILES)]
)
def test_every_value_has_a_place(text):
    found = value_offsets(text)
    assert set(found) == set(paths(tomllib.loads(text)))
    assert all(keyed(text, key_path, at) for key_path, at in found.items())


def test_scanning_invalid_toml_terminates():
    pieces = [
        "[",
        "[[",
        "]",
        "{",
        "}",
        '"',
        "'",
        '"""',
        "=",
        ".",
        ",",
        "#",
        "\n",
        "a",
        "1",
        " ",
        "\\",
        "b = ",
        "[[body]]\n",
    ]
    chance = random.Random(3)
    for _ in range(800):
        value_offsets("".join(chance.choices(pieces, k=chance.randrange(30))))
    value_offsets("x = " + "[" * 20_000)


HEAD = "name = 'sample'\n[parameters]\nm = 2.0\nl = 0.5\n[coordinates]\nx = {}\ntheta = {}\n"
CART = """[[body]]
name = "cart"
mass = "m"
joint = { type = "prismatic", axis = [1, 0, 0], displacement = "x" }
[[body]]
name = "arm"
parent = "cart"
mass = 1
center = ["l", 0, 0]
inertia = [1, 1, 1]
joint = [
  { type = "fixed", position = [1, 0, 0] },
  { type = "revolute", axis = [0, 0, 1], angle = "theta" },
]
"""


@pytest.mark.parametrize(
    ("text", "line", "key_path"),
    [
        ("gravity = [0, 1]\n" + HEAD + CART, 1, ("gravity",)),
        ("gravity = [0,\n '-q', 0]\n" + HEAD + CART, 2, ("gravity", 1)),
        ("bodies = 3\n" + HEAD + CART, 1, ("bodies",)),
        (HEAD.replace("m = 2.0", "m = { value = 1, unit = 2 }") + CART, 3, ("parameters", "m", "unit")),
        (HEAD.replace("m = 2.0", "m = '1/0'") + CART, 3, ("parameters", "m")),
        (HEAD.replace("x = {}", "x = { speed = 3 }") + CART, 6, ("coordinates", "x", "speed")),
        (HEAD + CART.replace('"m"', "'mm'"), 10, ("body", 0, "mass")),
        (HEAD + CART.replace('"m"', "-1"), 10, ("body", 0, "mass")),
        (HEAD + CART.replace("mass = 1", "mas = 1"), 15, ("body", 1, "mas")),
        (HEAD + CART.replace('parent = "cart"', 'parent = "kart"'), 12, ("body", 1)),
        (HEAD + CART.replace('["l", 0, 0]', '["l", 0, {}]'), 16, ("body", 1, "center", 2)),
        (HEAD + CART.replace("[1, 1, 1]", "[1, 1, 5]"), 17, ("body", 1, "inertia")),
        (HEAD + CART.replace('"revolute"', '"revolut"'), 20, ("body", 1, "joint", 1)),
        (HEAD + CART.replace("[0, 0, 1]", "[0, 0, 0]"), 20, ("body", 1, "joint", 1, "axis")),
        (HEAD + CART.replace('"theta"', '"thata"'), 20, ("body", 1, "joint", 1, "angle")),
        (HEAD + CART + "[[spring]]\nbodies = ['cart', 'cart']\nstiffness = 1", 23, ("spring", 0, "bodies")),
        (HEAD + CART + "[[force]]\nbody = 'leg'\nforce = [0, 0, 0]", 23, ("force", 0, "body")),
        (HEAD + CART + "[[joint_stop]]\nbody = 'arm'\njoint = 1\nlower = 2\nupper = 1\nstiffness = 1", 22, ("joint_stop", 0)),
        (HEAD + CART + "speeds.u = 3", 22, ("body", 1, "speeds")),
        (HEAD + CART + "[speeds]\nu = 'dot(y)'", 23, ("speeds", "u")),
        (HEAD + CART + "[limits]\nx = { lower = 'q' }", 23, ("limits", "x", "lower")),
        (HEAD + CART + "[simulation]\nsamples = 1.5", 23, ("simulation", "samples")),
        (HEAD + CART + "[[holonomic]]\nname = 'pin'\nformula = 'x - 3'", 22, ("holonomic", 0)),
        (HEAD + "z = {}\n" + CART, 8, ("coordinates", "z")),
        (HEAD + CART.replace("mass = 1\n", "mass = = 1\n"), 15, ()),
        (HEAD + CART + "[[body]", 22, ()),
    ],
)  # fmt: skip
def test_messages_have_line_numbers(text, line, key_path):
    found = describe(Payload({"text": text}), None, print)["problems"]
    assert [(each["line"], tuple(each["key_path"])) for each in found][:1] == [(line, key_path)], found


def test_wrong_value_is_reported_at_its_line():
    """Values of gallery models are replaced one at a time by a value that no key accepts."""
    chance, tried = random.Random(5), 0
    for name in ("slider-crank", "quarter-car", "gear-train"):
        text = (GALLERY / name / "model.toml").read_text("utf-8")
        lines = text.split("\n")
        plain = [i for i, line in enumerate(lines) if re.fullmatch(r"\w+ = [^\[{#]*", line)]
        for i in chance.sample(plain, min(4, len(plain))):
            key = lines[i].split(" = ")[0]
            broken = "\n".join([*lines[:i], f"{key} = 1979-05-27", *lines[i + 1 :]])
            found = describe(Payload({"text": broken}), None, print)["problems"]
            assert any(each["line"] == i + 1 for each in found), (name, lines[i], found)
            tried += 1
    assert tried > 8


def test_element_without_a_name_is_found_by_its_default_name():
    text = HEAD + CART + "[[damper]]\nbodies = ['cart', 'arm']\ndamping = 1\n[[drag]]\nbody = 'arm'\n"
    text += "density = 1\narea = 1\ncoefficient = 1\nsmoothing = 0\n"
    (problem,) = describe(Payload({"text": text}), None, print)["problems"]
    assert (problem["path"], problem["line"]) == ("drag 'drag2', smoothing", 30)


def test_invalid_toml_has_no_places():
    assert SourceMap.of("[") == SourceMap("[", {}, {})
