"""Arguments of a tab are validated."""

import math

import pytest

from dalembert.errors import InputError
from dalembert.studio.payload import MAX_ITEMS, Given


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
    lambda given: given.text("x"),
    lambda given: given.text("x", "default", most=5),
    lambda given: given.choice("x", ("one", "two")),
    lambda given: given.choice("x", ("one", "two"), "one"),
    lambda given: given.number("x"),
    lambda given: given.number("x", 1.0, least=0, most=2),
    lambda given: given.whole("x"),
    lambda given: given.whole("x", 1),
    lambda given: given.switch("x"),
    lambda given: given.numbers("x"),
    lambda given: given.items("x"),
    lambda given: given.rows("x"),
    lambda given: given.words("x", ("one",)),
)


@pytest.mark.parametrize("value", STRANGE, ids=range(len(STRANGE)))
def test_every_getter_returns_its_type_or_raises_a_short_message(value):
    for get in GETTERS:
        message = ""
        try:
            get(Given({"x": value}))
        except InputError as error:
            message = str(error)
        assert len(message) < 500
        assert message.startswith("studio") or not message


@pytest.mark.parametrize("value", STRANGE, ids=range(len(STRANGE)))
def test_only_objects_are_accepted(value):
    if not isinstance(value, dict):
        with pytest.raises(InputError, match="Expected an object with named values"):
            Given(value)


@pytest.mark.parametrize(
    ("get", "value", "words"),
    [
        (lambda g: g.text("x", most=3), "four", "Expected a string of at most 3 characters"),
        (lambda g: g.text("x"), "\ud800", "Expected a string"),
        (lambda g: g.choice("x", ["kane", "lagrange"]), "kan", "kane"),
        (lambda g: g.number("x"), "1", "got '1'. Expected a number"),
        (lambda g: g.number("x"), True, "got True. Expected a number"),
        (lambda g: g.number("x"), math.nan, "got nan. Expected a number"),
        (lambda g: g.number("x"), 10**400, "Expected a number"),
        (lambda g: g.number("x", most=2), 3, "Expected a number from -inf to 2"),
        (lambda g: g.whole("x"), 1.5, "Expected an integer"),
        (lambda g: g.switch("x"), 1, "got 1. Expected true or false"),
        (lambda g: g.numbers("x"), {"a": "b"}, "studio, a: got 'b'. Expected a number"),
        (lambda g: g.items("x"), "abc", "Expected a list"),
        (lambda g: g.rows("x"), [1], "got 1. Expected an object"),
        (lambda g: g.words("x", ["a"]), [2], "got 2. Expected a string"),
    ],
)
def test_messages_have_the_value_and_the_expected_type(get, value, words):
    with pytest.raises(InputError) as raised:
        get(Given({"x": value}))
    assert words in str(raised.value)
