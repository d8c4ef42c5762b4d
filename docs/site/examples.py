"""Functions in reference pages: examples become Python blocks, and computed signatures are listed."""

from __future__ import annotations

import sys
from doctest import DocTestParser, Example
from inspect import Parameter, getdoc, isclass, isfunction, signature, unwrap
from typing import Any

import griffe
from griffe import Extension, Object


class Examples(Extension):
    """Put every example of a docstring, with its output, into a fence."""

    def on_object(self, *, obj: Object, **more: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)


class Signatures(Extension):
    """Replace signatures by the runtime ones where the source does not contain them."""

    def on_module_members(self, *, mod: griffe.Module, **more: Any) -> None:
        """Replace the functions of one module and the methods of its classes."""
        for name, thing in vars(sys.modules.get(mod.path, object)).items():
            if getattr(thing, "__module__", None) != mod.path or name not in mod.members:
                continue
            _list_signature(mod, name, thing)
            if isclass(thing):
                for each, method in vars(thing).items():
                    _list_signature(mod.members[name], each, method)


def _list_signature(parent: Any, name: str, thing: object) -> None:
    origin = unwrap(thing) if isfunction(thing) else None
    if origin is None or "__signature__" not in vars(origin):
        return
    found = signature(origin)
    parameters = griffe.Parameters(*map(_parameter, found.parameters.values()))
    function = griffe.Function(name, parameters=parameters, returns=str(found.return_annotation))
    function.docstring = griffe.Docstring(getdoc(origin) or "", parent=function)
    parent.set_member(name, function)


def _parameter(known: Parameter) -> griffe.Parameter:
    annotation = None if known.annotation is known.empty else str(known.annotation)
    default = None if known.default is known.empty else repr(known.default)
    kind = griffe.ParameterKind(known.kind.description)
    return griffe.Parameter(known.name, annotation=annotation, kind=kind, default=default)


def fenced(text: str) -> str:
    """A docstring with its examples in Python fences.

    >>> print(fenced("Twice.\\n\\n>>> 1 + 1\\n2"))
    Twice.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    out: list[str] = []
    inside = False
    for part in DocTestParser().parse(text):
        if isinstance(part, Example):
            if not inside:
                out.append("\n\n```pycon\n")
            first, *others = part.source.splitlines()
            out += [f">>> {first}\n", *(f"... {line}\n" for line in others), part.want]
            inside = True
        elif part.strip():
            out.append(("```\n\n" if inside else "") + part.strip("\n"))
            inside = False
    return "".join(out).rstrip("\n") + ("\n```" if inside else "")
