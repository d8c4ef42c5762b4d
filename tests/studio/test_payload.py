"""Arguments of a tab are validated."""

import math

import pytest

from dalembert.errors import InputError
from dalembert.studio.payload import MAX_ITEMS, Payload


def deep(levels):
    made = []
    for _ in range(levels):
        made = [made]
    return made


STRANGE = (
    None,
    True,
    0,
    -1,
    10**400,
    -(10**400),
    1e308,
    math.inf,
    math.nan,
    "",
    "x" * 3_000_000,
    "\ud800",
    "\x00",
    "<script>",
    [],
    [1] * (MAX_ITEMS + 1),
    deep(5000),
    {},
    {"a": deep(5000)},
    {"x" * 1000: 1},
    {"\udfff": 1},
    {"a": 10**400},
)
GETTERS = (
    lambda payload: payload.string("x"),
    lambda payload: payload.string("x", "default", max_length=5),
    lambda payload: payload.choice("x", ("one", "two")),
    lambda payload: payload.choice("x", ("one", "two"), "one"),
    lambda payload: payload.number("x"),
    lambda payload: payload.number("x", 1.0, minimum=0, maximum=2),
    lambda payload: payload.integer("x"),
    lambda payload: payload.integer("x", 1),
    lambda payload: payload.boolean("x"),
    lambda payload: payload.numbers("x"),
    lambda payload: payload.items("x"),
    lambda payload: payload.rows("x"),
    lambda payload: payload.choices("x", ("one",)),
)


@pytest.mark.parametrize("value", STRANGE, ids=range(len(STRANGE)))
def test_every_getter_returns_its_type_or_raises_a_short_message(value):
    for get in GETTERS:
        message = ""
        try:
            get(Payload({"x": value}))
        except InputError as error:
            message = str(error)
        assert len(message) < 500
        assert message.startswith("studio") or not message


@pytest.mark.parametrize("value", STRANGE, ids=range(len(STRANGE)))
def test_only_objects_are_accepted(value):
    if not isinstance(value, dict):
        with pytest.raises(InputError, match="Expected an object with named values"):
            Payload(value)


@pytest.mark.parametrize(
    ("get", "value", "words"),
    [
        (lambda g: g.string("x", max_length=3), "four", "Expected a string of at most 3 characters"),
        (lambda g: g.string("x"), "\ud800", "Expected a string"),
        (lambda g: g.choice("x", ["kane", "lagrange"]), "kan", "kane"),
        (lambda g: g.number("x"), "1", "got '1'. Expected a number"),
        (lambda g: g.number("x"), True, "got True. Expected a number"),
        (lambda g: g.number("x"), math.nan, "got nan. Expected a number"),
        (lambda g: g.number("x"), 10**400, "Expected a number"),
        (lambda g: g.number("x", maximum=2), 3, "Expected a number from -inf to 2"),
        (lambda g: g.integer("x"), 1.5, "Expected an integer"),
        (lambda g: g.boolean("x"), 1, "got 1. Expected true or false"),
        (lambda g: g.numbers("x"), {"a": "b"}, "studio, a: got 'b'. Expected a number"),
        (lambda g: g.items("x"), "abc", "Expected a list"),
        (lambda g: g.rows("x"), [1], "got 1. Expected an object"),
        (lambda g: g.choices("x", ["a"]), [2], "got 2. Expected a string"),
    ],
)
def test_messages_have_the_value_and_the_expected_type(get, value, words):
    with pytest.raises(InputError) as raised:
        get(Payload({"x": value}))
    assert words in str(raised.value)
