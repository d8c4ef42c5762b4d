"""Form edits applied to the TOML source; comments, order and all other values are preserved.

A key path is the path to a value from the top of the file: ["body", 0, "joint", 0, "axis"]. The input of a form is parsed by
`value_of`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from dalembert.errors import ComputationError, InputError
from dalembert.io import toml_reader
from dalembert.model.keys import Keys
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress
from dalembert.studio.tasks import forms
from dalembert.studio.tasks.forms import HEAD, NAMED, SHORT, TABLES, form_of, split, toml_value
from dalembert.studio.tasks.message_lines import value_offsets

Tree = Any  # tables, lists and values of tomlkit
KeyPath = list[str | int]
Change = Callable[[str, str], str]  # maps the form of a key and its string to the new string
_NUMBER = re.compile(r"[+-]?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_MAX_VALUE = 20_000  # characters of one value


def edit(payload: Payload, folder: Folder | None, progress: ReportProgress) -> Answer:
    """Return the source after an edit (`action`: set, remove, rename or add), and the key path of the edited value."""
    actions = {"set": _set, "remove": _remove, "rename": _rename, "add": _add}
    action = payload.choice("action", actions)
    text = payload.string("text")
    try:
        tomllib.loads(text)
        after, key_path = actions[action](text, payload)
        tomllib.loads(after)
    except (TOMLKitError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ComputationError(
            f"a form cannot edit this source ({error}). Correct it or edit it under Source."
        ) from None
    return {"text": after, "key_path": key_path}


def value_of(text: str, form: str = "value") -> object:
    """Parse the input of a form as a TOML value.

    Numbers and formulas have no quotation marks, entries of an array are separated by commas; a table is written as in the file.

    >>> value_of("m/2, 0, 0"), value_of("2.50"), value_of("2", "text"), value_of("atan2(x, y)")
    (['m/2', 0, 0], 2.5, '2', 'atan2(x, y)')
    """
    text = text.strip()
    if form in ("text", "body", "coordinate", "choice"):
        return text
    if form == "switch":
        return text == "true"
    if form == "bodies":
        return [part for part in split(text) if part]
    if form == "table" or text.startswith(("{", '"', "'")):
        return _read(text)
    parts = split(text)
    if len(parts) > 1 or (text.startswith("[") and text.endswith("]")):
        inside = parts if len(parts) > 1 else split(text[1:-1])
        return [value_of(part) for part in inside if part]
    return _read(text) if _NUMBER.fullmatch(text) or text in ("true", "false") else text


def _read(text: str) -> object:
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise InputError(f"{text[:60]}: {error}. Expected a TOML value, as in a model file.") from None


# key paths


def _key_path(payload: Payload) -> KeyPath:
    steps = payload.items("key_path")
    if not 1 <= len(steps) <= 16 or not all(isinstance(x, str | int) and not isinstance(x, bool) for x in steps):
        raise InputError("studio, key_path: got an invalid path. Expected keys and indices, from the top of the file.")
    return steps


def _inside(tree: Tree, path: KeyPath) -> Tree:
    """Return the value at the end of a path; missing tables are created."""
    for step in path:
        if isinstance(step, int):
            if step == 0 and isinstance(tree, dict):  # a single joint is the first of its sequence
                continue
            if not isinstance(tree, list) or not 0 <= step < len(tree):
                raise _missing(step)
            tree = tree[step]
        else:
            if not isinstance(tree, dict):
                raise _missing(step)
            if step not in tree:
                tree[step] = tomlkit.inline_table()
            tree = tree[step]
    return tree


def _missing(step: str | int) -> InputError:
    return InputError(f"there is no entry {step!r:.60} in the source. Reload the form.")


def _set(text: str, payload: Payload) -> tuple[str, KeyPath]:
    """Set the value of a key; an empty input removes it."""
    key_path, form, entered = (
        _key_path(payload),
        payload.string("form", "value", max_length=20),
        payload.string("value", max_length=_MAX_VALUE),
    )
    if not entered.strip():
        return _remove(text, payload)
    value = value_of(entered, form)
    if key_path[-1] == "type" and "joint" in key_path:
        return _set_type(text, key_path, str(value))
    if key_path[0] in TABLES:
        text = _with_table(text, str(key_path[0]))
    tree = tomlkit.parse(text)
    *path, last = key_path
    short = SHORT.get(str(key_path[0])) if len(key_path) == 3 else None
    holder = _inside(tree, path[:1])
    if short and not isinstance(holder.get(path[-1], {}), dict):  # m = 2 instead of m = { value = 2 }
        if last == short:
            holder[path[-1]] = value
            return tomlkit.dumps(tree), key_path
        holder[path[-1]] = tomlkit.value(toml_value({short: holder[path[-1]].unwrap(), last: value}))
        return tomlkit.dumps(tree), key_path
    _put(
        tree, key_path, entered.strip() if _NUMBER.fullmatch(entered.strip()) and form == "value" else toml_value(value)
    )
    return tomlkit.dumps(tree), key_path


def _put(tree: Tree, key_path: KeyPath, text: str) -> None:
    """Set the TOML source of a value at a key path."""
    *path, last = key_path
    holder = _inside(tree, path)
    if not isinstance(holder, dict) or not isinstance(last, str):
        raise _missing(last)
    value = tomlkit.value(text)
    if isinstance(holder, InlineTable) and last not in holder:
        if not holder and path:
            key = last if _BARE.fullmatch(last) else toml_value(last)
            _inside(tree, path[:-1])[path[-1]] = tomlkit.value(f"{{ {key} = {text} }}")
            return
        value.trivia.trail = " "
    holder[last] = value


def _set_type(text: str, key_path: KeyPath, kind: str) -> tuple[str, KeyPath]:
    """Change the type of a joint; missing keys are added."""
    loop = key_path[0] == "loop"
    if kind not in toml_reader.joint_keys():
        raise InputError(f"there is no joint of type '{kind[:40]}'.")
    free, made = _free_coordinates(text)
    old = _inside(tomllib.loads(text), key_path[:-1])
    new = forms.joint(kind, old, free, loop=loop)
    for name in made:
        text = _with_entry(text, "coordinates", name, "{}")
    tree = tomlkit.parse(text)
    joint = _inside(tree, key_path[:-1])
    for key in [key for key in joint if key not in new]:
        del joint[key]
    for key, value in new.items():
        if joint.get(key) != value:
            _put(tree, [*key_path[:-1], key], toml_value(value))
    return tomlkit.dumps(tree), key_path


def _free_coordinates(text: str) -> tuple[Iterator[str], list[str]]:
    """Return an iterator of new coordinate names, and the list of those already used."""
    taken, made = forms.names_in(tomllib.loads(text)), []

    def names() -> Iterator[str]:
        while True:
            made.append(forms.new_name("q", {*taken, *made}))
            yield made[-1]

    return names(), made


# removing


def _remove(text: str, payload: Payload) -> tuple[str, KeyPath]:
    """Remove a key, an entry or an element; comments above it are preserved."""
    key_path = _key_path(payload)
    if len(key_path) == 2 and isinstance(key_path[1], int):
        begin, end = _extent(text, (str(key_path[0]), key_path[1]))
        lines = text.split("\n")
        rest = lines[end:]
        while rest and not rest[0].strip() and begin and not lines[begin - 1].strip():
            rest = rest[1:]
        return "\n".join([*lines[:begin], *rest]), key_path
    tree = tomlkit.parse(text)
    *path, last = key_path
    holder = _inside(tree, path)
    if len(key_path) == 3 and not isinstance(holder, dict):
        raise InputError(f"{key_path[1]} needs a value.")
    if isinstance(holder, dict) and last in holder:
        del holder[last]
    return tomlkit.dumps(tree), key_path


def _extent(text: str, key_path: tuple[str, int]) -> tuple[int, int]:
    """Return the first line of an element and the line after its last, from 0, without the comment above the next one."""
    found = value_offsets(text)
    if key_path not in found or text[found[key_path]] != "[":
        raise _missing(f"{key_path[0]} {key_path[1] + 1}")
    begin = text.count("\n", 0, found[key_path])
    lines = text.split("\n")
    inside = [text.count("\n", 0, at) for path, at in found.items() if path[:2] == key_path]
    end = max(inside) + 1
    while end < len(lines) and not _fits("\n".join(lines[begin:end])):  # a value of several lines
        end += 1
    return begin, end


def _fits(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


# adding


def _add(text: str, payload: Payload) -> tuple[str, KeyPath]:
    """Add a parameter, coordinate or element with values that keep the model valid."""
    known = toml_reader.elements()
    kind = payload.choice("kind", ("parameters", "coordinates", *known))
    data = tomllib.loads(text)
    if kind in NAMED:
        name = forms.new_name("p" if kind == "parameters" else "q", forms.names_in(data))
        return _with_entry(text, kind, name, "{ value = 1 }" if kind == "parameters" else "{}"), [kind, name]
    if kind in data and not isinstance(data[kind], list):
        raise InputError(f"[{kind}] is not an array of elements. Write its header with double brackets: [[{kind}]].")
    free, made = _free_coordinates(text)
    values = forms.element(kind, data, free)
    for name in made:
        text = _with_entry(text, "coordinates", name, "{}")
    block = [f"[[{kind}]]", *(f"{key} = {toml_value(value)}" for key, value in values.items())]
    lines = text.rstrip("\n").split("\n")
    at = _insertion_line(text, kind)
    gap = [""] if at and lines[at - 1].strip() else []
    after = [""] if at < len(lines) and lines[at].strip() else []
    return "\n".join([*lines[:at], *gap, *block, *after, *lines[at:]]) + "\n", [kind, len(data.get(kind, []))]


def _insertion_line(text: str, kind: str) -> int:
    """Return the line of a new element: after the last of its kind, else after all elements, else at the end."""
    found = value_offsets(text)
    elements = [path for path in found if len(path) == 2 and isinstance(path[1], int) and text[found[path]] == "["]
    same = [path for path in elements if path[0] == kind] or elements
    if not same:
        simulation = found.get(("simulation",))
        count = len(text.rstrip("\n").split("\n"))
        return count if simulation is None else text.count("\n", 0, simulation)
    last = max(same, key=lambda path: found[path])
    return _extent(text, (str(last[0]), int(last[1])))[1]


def _with_table(text: str, name: str) -> str:
    """Return the source with the header of a table, added if missing."""
    if name in tomllib.loads(text):
        return text
    found = value_offsets(text)
    lines = text.split("\n")
    headers = [at for path, at in found.items() if text[at] == "[" and path[0] not in ("parameters", "coordinates")]
    at = text.count("\n", 0, min(headers)) if headers else len(lines)
    while at and lines[at - 1].startswith("#"):
        at -= 1
    gap = [""] if at and lines[at - 1].strip() else []
    return "\n".join([*lines[:at], *gap, f"[{name}]", "", *lines[at:]])


def _with_entry(text: str, table: str, name: str, value: str) -> str:
    """Return the source with one more entry of a table, after its last one."""
    text = _with_table(text, table)
    found = value_offsets(text)
    key = name if _BARE.fullmatch(name) else toml_value(name)
    entries = [at for path, at in found.items() if path[0] == table]
    lines = text.split("\n")
    last = max(entries)
    dotted = text[last] != "[" and text[found[(table,)]] != "["  # coordinates.x = {} without a header
    at = text.count("\n", 0, last) + 1
    while at < len(lines) and not _fits("\n".join(lines[:at])):
        at += 1
    line = f"{table}.{key} = {value}" if dotted else f"{key} = {value}"
    return "\n".join([*lines[:at], line, *lines[at:]])


# renaming


def _rename(text: str, payload: Payload) -> tuple[str, KeyPath]:
    """Rename a parameter, a coordinate or an element, also where it is used."""
    key_path, new = _key_path(payload), payload.string("name", max_length=100).strip()
    if not new:
        raise InputError("the name is empty. Expected at least one letter.")
    if len(key_path) < 2:
        raise InputError("this entry has no name. Choose a parameter, a coordinate or an element.")
    if isinstance(key_path[1], int):
        tree = tomlkit.parse(text)
        holder = _inside(tree, key_path[:2])
        old = holder.get("name")
        holder["name"] = new
        if key_path[0] == "body" and old is not None:
            _replaced(tree, lambda form, value: new if form in ("body", "bodies") and value == old else value)
        return tomlkit.dumps(tree), key_path
    section, old = str(key_path[0]), str(key_path[1])
    if new in tomllib.loads(text).get(section, {}):
        raise InputError(f"{section}: the name '{new}' already exists. Choose another name.")
    begin = value_offsets(text).get((section, old))
    if begin is None:
        raise _missing(old)
    key = new if _BARE.fullmatch(new) else toml_value(new)
    at = text.index(old, begin)
    marks = begin < at and text[at - 1] in "\"'"
    text = text[: at - marks] + key + text[at + len(old) + marks :]
    tree = tomlkit.parse(text)
    word = re.compile(rf"(?<![\w.]){re.escape(old)}(?!\w)")
    if section in ("parameters", "coordinates"):
        _replaced(tree, lambda form, value: word.sub(new, value) if form in ("value", "coordinate") else value)
        if section == "coordinates" and old in tree.get("limits", {}):
            tree["limits"][new] = tree["limits"].pop(old)
    return tomlkit.dumps(tree), [section, new]


def _replaced(tree: Tree, change: Change) -> None:
    """Change the strings of all values, by the form of their key."""
    _walk({key: tree[key] for key in tree if key in HEAD}, tree, HEAD, change)
    for section, keys in {**TABLES, **toml_reader.elements()}.items():
        value = tree.get(section, [])
        for each in value if isinstance(value, list) else value.values() if section in NAMED else [value]:
            if isinstance(each, dict):
                _walk(each, each, keys, change)
        for name in list(value) if section in SHORT else ():
            if isinstance(value[name], str):
                _assign(value, name, "value", change)


def _walk(visible: Tree, holder: Tree, keys: Keys, change: Change) -> None:
    """Change the strings of one table; in nested tables other than joints every string is a formula."""
    for key in list(visible):
        inside = holder[key]
        if key == "joint" and isinstance(inside, dict | list):
            for each in inside if isinstance(inside, list) else [inside]:
                _walk(each, each, toml_reader.joint_keys().get(str(each.get("type")), {}), change)
        elif isinstance(inside, dict):
            for each in inside:
                _assign(inside, each, "value", change)
        elif key in keys:
            _assign(holder, key, form_of(key, keys[key]), change)


def _assign(holder: Tree, key: str | int, form: str, change: Change) -> None:
    value = holder[key]
    if isinstance(value, str):
        now = change(form, str(value))
        if now != value:
            holder[key] = now
    elif isinstance(value, list):
        for i in range(len(value)):
            _assign(value, i, form, change)
