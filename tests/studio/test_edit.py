"""Form edits: they change only the edited value, and added elements keep a model valid."""

import tomllib
from functools import cache
from pathlib import Path

import pytest

from dalembert.errors import DalembertError
from dalembert.io import gallery, toml_reader
from dalembert.studio.payload import Payload
from dalembert.studio.tasks import forms
from dalembert.studio.tasks.describe_task import describe
from dalembert.studio.tasks.form_edits import edit, value_of

FILES = sorted(Path(gallery.__file__).parent.glob("*/model.toml"))
PIN = 'joint = { type = "revolute", axis = [0, 0, 1], angle = "theta" } # a pin'
SLIDE = '  { type = "prismatic", axis = [1, 0, 0], displacement = "x", position = ["l", 0, 0] }, # at the end'
TEXT = f"""# the arm of the crane
name = "arm"

[parameters] # all of it
m = 2.0   # of the rod
l = {{ value = 0.5, unit = "m" }} # length
[coordinates]
theta = {{ start = "pi/4" }} # from below
x = {{}}

# the rod hangs
[[body]]
name = "rod"
mass = "m" # heavy
center = ["l/2", 0, 0]
inertia = [0, "m*l**2/12", "m*l**2/12"]
{PIN}

# and drags a stone
[[body]]
name = "stone"
parent = "rod"
mass = 1
joint = [
{SLIDE}
]

# the wind
[[force]]
body = "stone"
force = ["sin(theta)", "x", "m*l"]

[simulation]
duration = 3
"""


def done(text: str, **values) -> str:
    return edit(Payload({"text": text, **values}), None, print)["text"]


def changed(before: str, after: str) -> list[tuple[str, str]]:
    """Return the pairs of lines that differ in sources with the same number of lines."""
    pairs = zip(before.split("\n"), after.split("\n"), strict=True)
    return [pair for pair in pairs if pair[0] != pair[1]]


@pytest.mark.parametrize(
    ("key_path", "value", "form", "line"),
    [
        (["name"], "crane", "text", 'name = "crane"'),
        (["parameters", "m", "value"], "3", "value", "m = 3   # of the rod"),
        (["parameters", "m", "unit"], "kg", "text", 'm = { value = 2.0, unit = "kg" }   # of the rod'),
        (["parameters", "l", "value"], "m/4", "value", 'l = { value = "m/4", unit = "m" } # length'),
        (["coordinates", "theta", "rate"], "1e-3", "value", 'theta = { start = "pi/4", rate = 1e-3 } # from below'),
        (["body", 0, "mass"], "2*m", "value", 'mass = "2*m" # heavy'),
        (["body", 0, "center"], "l, 0, 0.1", "value", 'center = ["l", 0, 0.1]'),
        (["body", 0, "joint", 0, "axis"], "0, 1, 0", "value", PIN.replace("0, 0, 1", "0, 1, 0")),
        (["body", 0, "joint", 0, "position"], "1, 0, 0", "value", PIN.replace(" }", ", position = [1, 0, 0] }")),
        (["body", 1, "joint", 0, "position"], "l, 0, 1", "value", SLIDE.replace('"l", 0, 0', '"l", 0, 1')),
        (["force", 0, "force"], "atan2(theta, 1), 0, 0", "value", 'force = ["atan2(theta, 1)", 0, 0]'),
        (["coordinates", "x", "start"], "0.10", "value", "x = { start = 0.10 }"),
        (["simulation", "duration"], "2.5", "value", "duration = 2.5"),
    ],
)  # fmt: skip
def test_value_changes_only_its_line(key_path, value, form, line):
    ((_, after),) = changed(TEXT, done(TEXT, action="set", key_path=key_path, value=value, form=form))
    assert after == line


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_form_values_round_trip(path):
    """Values of the gallery as displayed in a form are parsed back to the same values."""

    def same(table, keys):
        for key, value in table.items():
            about = keys.get(key)
            if about and (form := forms.form_of(key, about)) != "joint":
                assert value_of(forms.form_value(value), form) == value, (key, value)
            elif key == "joint" and key in keys:
                for each in value if isinstance(value, list) else [value]:
                    same(each, toml_reader.joint_keys()[each["type"]])

    data = tomllib.loads(path.read_text("utf-8"))
    same({key: data[key] for key in forms.HEAD if key in data}, forms.HEAD)
    for kind, keys in {**toml_reader.elements(), **forms.TABLES}.items():
        given = data.get(kind, [])
        tables = given if isinstance(given, list) else given.values() if kind in forms.NAMED else [given]
        for each in tables:
            if isinstance(each, dict):
                same(each, keys)


@cache
def _two_rods() -> str:
    return done(done(forms.EMPTY, action="add", kind="body"), action="add", kind="body")


@pytest.mark.parametrize("kind", toml_reader.elements())
def test_added_element_keeps_the_model_valid(kind):
    assert describe(Payload({"text": done(_two_rods(), action="add", kind=kind)}), None, print)["problems"] == []


def test_added_body_is_connected_to_the_last_one():
    data = tomllib.loads(done(done(TEXT, action="add", kind="body"), action="add", kind="parameters"))
    new = data["body"][2]
    assert (new["name"], new["parent"], new["joint"]["type"], new["joint"]["angle"]) == (
        "body1",
        "stone",
        "revolute",
        "q1",
    )
    assert list(data["coordinates"]) == ["theta", "x", "q1"]
    assert data["parameters"]["p1"] == {"value": 1}


def test_added_element_preserves_all_lines():
    after = done(TEXT, action="add", kind="spring")
    assert [line for line in after.split("\n") if line in TEXT.split("\n") and line] == [
        line for line in TEXT.split("\n") if line
    ]
    assert after.index("[[spring]]") < after.index("[simulation]")
    assert "\n\n[[spring]]\n" in after
    assert "\n\n[simulation]" in after


@pytest.mark.parametrize("kind", toml_reader.joint_keys())
def test_changed_joint_type_has_all_required_keys(kind):
    after = done(TEXT, action="set", key_path=["body", 0, "joint", 0, "type"], value=kind, form="choice")
    found = describe(Payload({"text": after}), None, print)["problems"]
    # with a fixed joint the coordinate is unused
    assert kind == "fixed" or found == []
    assert tomllib.loads(after)["body"][0]["joint"]["type"] == kind
    assert "# a pin" in after


def test_removing_an_element_preserves_other_comments():
    after = done(TEXT, action="remove", key_path=["body", 1])
    assert [each["name"] for each in tomllib.loads(after)["body"]] == ["rod"]
    assert "# the wind\n[[force]]" in after
    assert "# a pin" in after
    assert "at the end" not in after


def test_removing_a_key():
    assert "center" not in done(TEXT, action="remove", key_path=["body", 0, "center"])
    assert "center" not in done(TEXT, action="set", key_path=["body", 0, "center"], value=" ", form="value")
    assert tomllib.loads(done(TEXT, action="remove", key_path=["parameters", "l"]))["parameters"] == {"m": 2.0}


def test_rename_replaces_all_uses():
    after = done(TEXT, action="rename", key_path=["parameters", "m"], name="mass")
    data = tomllib.loads(after)
    assert data["parameters"]["mass"] == 2.0
    assert (data["body"][0]["mass"], data["body"][0]["inertia"][1]) == ("mass", "mass*l**2/12")
    assert data["force"][0]["force"] == ["sin(theta)", "x", "mass*l"]
    assert data["parameters"]["l"]["unit"] == "m"  # a unit is not a formula
    after = done(after, action="rename", key_path=["coordinates", "theta"], name="q")
    after = done(after, action="rename", key_path=["body", 0, "name"], name="beam")
    data = tomllib.loads(after)
    assert (data["body"][0]["joint"]["angle"], data["force"][0]["force"][0]) == ("q", "sin(q)")
    assert (data["body"][0]["name"], data["body"][1]["parent"]) == ("beam", "beam")
    assert describe(Payload({"text": after}), None, print)["problems"] == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"action": "fly"}, "studio, action: got 'fly'. Known names: add, remove, rename, set."),
        ({"action": "set", "key_path": [], "value": "1"}, "studio, key_path: got an invalid path."),
        ({"action": "set", "key_path": ["body", 7, "mass"], "value": "1"}, "there is no entry 7 in the source."),
        ({"action": "set", "key_path": ["body", 0, "joint", 3, "axis"], "value": "1"}, "there is no entry 3 in the source."),
        ({"action": "set", "key_path": ["name", "x"], "value": "1"}, "there is no entry 'x' in the source."),
        ({"action": "remove", "key_path": ["body", 9]}, "there is no entry 'body 10' in the source."),
        ({"action": "remove", "key_path": ["parameters", "m", "value"]}, "m needs a value."),
        ({"action": "rename", "key_path": ["parameters", "m"], "name": "l"}, "parameters: the name 'l' already exists."),
        ({"action": "rename", "key_path": ["parameters", "m"], "name": " "}, "the name is empty."),
        ({"action": "rename", "key_path": ["name"], "name": "b"}, "this entry has no name."),
        ({"action": "set", "key_path": ["body", 0, "solid"], "value": "{ kind", "form": "table"}, "{ kind: "),
        ({"action": "add", "kind": "wheel"}, "studio, kind: got 'wheel'."),
        ({"action": "set", "key_path": ["body", 0, "joint", 0, "type"], "value": "weld"}, "there is no joint of type 'weld'."),
    ],
)  # fmt: skip
def test_invalid_edits_are_reported(values, message):
    with pytest.raises(DalembertError) as raised:
        done(TEXT, **values)
    assert str(raised.value).startswith(message)


def test_invalid_toml_is_not_edited():
    with pytest.raises(DalembertError, match="a form cannot edit this source"):
        done("name = ", action="add", kind="body")
