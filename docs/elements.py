"""Generate files from the records of elements: the type stub of `Model`, and the tables of keys in `model-files.md`.

python docs/elements.py            # rewrite both
python docs/elements.py --check    # list files that are out of date; exit code 1 if there are any
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from dalembert.io import toml_reader
from dalembert.model.joints import JOINTS
from dalembert.model.keys import Key, Keys
from dalembert.model.model import Model

DOCS = Path(__file__).parent
STUB = DOCS.parent / "src" / "dalembert" / "model" / "model.pyi"
PAGE = DOCS / "model-files.md"

# modules of the names in annotations
_MODULES = {
    "collections.abc": ("Iterable", "Mapping", "Sequence"),
    "typing": ("Any", "Self"),
    "dalembert.symbolic.symbols": ("Written",),
    "dalembert.model.constraints.base": ("Gains",),
    "dalembert.model.python_laws": ("Law",),
    "dalembert.model.description": ("Description", "Elements"),
    "dalembert.model.elements": ("Direction",),
    "dalembert.model.joints": ("Joint", *(joint.__name__ for joint in JOINTS)),
    "dalembert.model.loads.contact_laws": ("Impact",),
    "dalembert.model.record": ("Record",),
    "dalembert.model.solids": ("MassProperties",),
    "dalembert.model.evaluation": ("Start",),
    "dalembert.model.attitude": ("Rotation",),
    "dalembert.model.values": ("ArrayInput", "Name", "TimeLaw", "Values"),
}


def stub() -> str:
    """The signatures of `Model`, hand-written and generated, for editors and type checkers."""
    own = {name: each for name, each in vars(Model).items() if name == "__init__" or not name.startswith("_")}
    lines = [
        "class Model(Elements):",
        *(f"    {line}" for name, each in own.items() for line in _declared(name, each)),
        "",
        "def add_methods(records: Iterable[type[Record]]) -> None: ...",
    ]
    text = "\n".join(lines)
    used = {*re.findall(r"\w+", text)}
    known = {module: [name for name in names if name in used] for module, names in _MODULES.items()}
    imports = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(known.items()) if names]
    return "\n".join(["# written by docs/elements.py", "# ruff: noqa", "# fmt: off", *imports, "", text, ""])


def _declared(name: str, each: object) -> Iterator[str]:
    if isinstance(each, property):
        yield "@property"
        each = each.fget
    elif isinstance(each, classmethod):
        yield "@classmethod"
        each = each.__func__
    assert callable(each)
    known = inspect.signature(each)
    parts, named = list[str](), False
    for i, part in enumerate(known.parameters.values()):
        if part.kind is part.KEYWORD_ONLY and not named:
            parts, named = [*parts, "*"], True
        named = named or part.kind is part.VAR_POSITIONAL
        parts.append(("cls" if part.name == "cls" else "self") if i == 0 else _parameter(part))
    returned = {"Model": "Self"}.get(known.return_annotation, known.return_annotation)
    yield f"def {name}({', '.join(parts)}) -> {returned}: ..."


def _parameter(part: inspect.Parameter) -> str:
    stars = {part.VAR_POSITIONAL: "*", part.VAR_KEYWORD: "**"}.get(part.kind, "")
    default = "" if part.default is part.empty else f" = {part.default!r}"
    return f"{stars}{part.name}: {part.annotation}{default}"


def page() -> str:
    """The reference of model files, with the tables of all elements whose keys are documented."""
    text, known = PAGE.read_text(encoding="utf-8"), toml_reader.elements()
    start = text.index("## The reference")
    for head in re.findall(r"^(?:### .*|`)\[\[.*", text[start:], re.MULTILINE):
        kinds = re.findall(r"`\[\[(\w+)\]\]`", head if head[0] == "#" else head.split(":")[0])
        if all(kind in known and all(key.description for key in known[kind].values()) for kind in kinds):
            found = re.compile(r"(?:\|.*\n)+").search(text, text.index(head, start))
            assert found is not None
            text = text[: found.start()] + table({kind: known[kind] for kind in kinds}) + text[found.end() :]
    return text


def table(known: dict[str, Keys]) -> str:
    """The keys of an element as a table; those of several elements with the elements that have them."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for kind, keys in known.items():
        for name, key in keys.items():
            rows.setdefault((name, key.description, _usual(key)), []).append(kind)
    if len(known) == 1:
        lines = ["| key | description | default |", "|---|---|---|"]
        return "\n".join([*lines, *(f"| `{name}` | {about} |{usual}|" for name, about, usual in rows), ""])
    lines = ["| key | in | description | default |", "|---|---|---|---|"]
    for (name, about, usual), kinds in rows.items():
        which = "" if len(kinds) == len(known) else ", ".join(kind.replace("_", " ") for kind in kinds)
        lines.append(f"| `{name}` | {which} | {about} |{usual}|")
    return "\n".join([*lines, ""])


def _usual(key: Key) -> str:
    if key.required:
        return " "
    if key.default_description or key.default_in_file in (None, [], {}):
        return f" {key.default_description or 'none'} "
    return f" `{json.dumps(key.default_in_file, ensure_ascii=False)}` "


def main(check: bool) -> int:
    """Rewrite or check both files."""
    stale = [(path, text) for path, text in ((STUB, stub()), (PAGE, page())) if _read(path) != text]
    for path, text in stale if not check else ():
        path.write_text(text, encoding="utf-8")
    status = "out of date" if check else "rewritten"
    print(f"{status}: {', '.join(path.name for path, _ in stale)}" if stale else "everything is up to date")
    return int(bool(stale) and check)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
