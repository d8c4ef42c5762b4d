"""The pages of the Python reference: one for the functions, one for each class, one for the errors."""

from __future__ import annotations

from inspect import getdoc, isclass, ismodule, unwrap
from typing import Any

import dalembert as dl

SOURCE = "A `Source` is a model, its description, the name of a gallery example, or the path of a model file."


def public() -> dict[str, Any]:
    """All public names of `import dalembert as dl`."""
    offered = {name: getattr(dl, name) for name in sorted(dl.__all__, key=str.lower)}
    return {
        name: thing
        for name, thing in offered.items()
        if getattr(unwrap(thing), "__module__", "").startswith("dalembert.")
        if not ismodule(thing)
    }


def kinds() -> tuple[dict[str, Any], dict[str, type], dict[str, type]]:
    """Functions, classes and errors."""
    known = public()
    classes = {name: thing for name, thing in known.items() if isclass(thing)}
    errors = {
        name: thing
        for name, thing in classes.items()
        if issubclass(thing, Exception) or thing.__module__ == "dalembert.errors"
    }
    functions = {name: thing for name, thing in known.items() if name not in classes}
    return functions, {name: thing for name, thing in classes.items() if name not in errors}, errors


def written(name: str, thing: Any, level: int = 2, **options: Any) -> str:
    """The directive that documents an object under its public name."""
    settings = {"heading": f"dl.{name}", "toc_label": name, "heading_level": level} | options
    lines = "".join(f"      {key}: {value}\n" for key, value in settings.items())
    return f"::: {anchor(thing)}\n    options:\n{lines}"


def as_called(html: str) -> str:
    """A page of functions with their public names and first argument: a stage accepts any source of a model."""
    for name, thing in kinds()[0].items():
        html = html.replace(f'<span class="nf">{unwrap(thing).__name__}</span>', f'<span class="nf">{name}</span>')
    return html.replace('<span class="n">Elements</span>', '<span class="n">Source</span>')


def first_line(thing: Any) -> str:
    """The first line of a docstring."""
    return (getdoc(unwrap(thing)) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def overview() -> str:
    """All public names with their first docstring lines."""
    functions, classes, errors = kinds()
    parts = ["# Python reference", "All names below are available after `import dalembert as dl`."]
    for title, known, page in (
        ("Functions", functions, "functions.md"),
        ("Classes", classes, None),
        ("Errors", errors, "errors.md"),
    ):
        rows = [f"| [`dl.{n}`]({page or n.lower() + '.md'}#{anchor(t)}) | {first_line(t)} |" for n, t in known.items()]
        parts.append("\n".join([f"## {title}\n", "| name | what it is |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def anchor(thing: Any) -> str:
    """The qualified name of an object, which is also its anchor in the reference."""
    origin = unwrap(thing)
    return f"{origin.__module__}.{origin.__qualname__}"


def pages() -> dict[str, str]:
    """The pages, by their paths."""
    functions, classes, errors = kinds()
    out = {
        "api/index.md": overview(),
        "api/functions.md": f"# Functions\n\n{SOURCE}\n\n" + "\n".join(written(*one) for one in functions.items()),
        "api/errors.md": "# Errors\n\n" + "\n".join(written(*one) for one in errors.items()),
    }
    for name, thing in classes.items():
        out[f"api/{name.lower()}.md"] = written(name, thing, 1, inherited_members="true")
    return out


def navigation() -> list[Any]:
    """The pages in reading order."""
    _, classes, _ = kinds()
    return [
        "api/index.md",
        {"Functions": "api/functions.md"},
        *({name: f"api/{name.lower()}.md"} for name in classes),
        {"Errors": "api/errors.md"},
    ]
