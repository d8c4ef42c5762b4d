"""The public API as a str: one line for each public name, for each public member of a class or module, and its signature.

Annotations are those of the sources, so that the result does not depend on the Python version. Attributes that
only a constructor sets are not found.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import dalembert

SNAPSHOT = Path(__file__).with_name("public_api.txt")
# protocols of Python that users of an object write by operators and statements
_OPERATORS = ("bool", "call", "contains", "enter", "exit", "getitem", "iter", "len", "matmul", "setitem")


def public_names() -> list[str]:
    """The names that `import dalembert` offers: `__all__`, or what its `__init__` imports and defines."""
    listed: list[str] | None = getattr(dalembert, "__all__", None)
    if listed is not None:
        return sorted(listed)
    tree = ast.parse(Path(dalembert.__file__ or "").read_text("utf-8"))
    imported = (
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    )
    return sorted(name for name in imported if not name.startswith("_"))


def snapshot() -> str:
    """The sorted lines of the public API."""
    names = public_names()
    public = {id(getattr(dalembert, name)): name for name in names}
    lines = [line for name in names for line in _lines(name, getattr(dalembert, name), public)]
    return "\n".join(sorted(lines)) + "\n"


def _lines(name: str, value: object, public: dict[int, str]) -> Iterator[str]:
    if inspect.isclass(value):
        yield from _class_lines(name, value, public)
    elif isinstance(value, ModuleType):
        yield f"{name}: module"
        for inner, each in vars(value).items():
            if inspect.isfunction(each) and each.__module__ == value.__name__ and not inner.startswith("_"):
                yield f"{name}.{inner}{signature(each)}"
    elif callable(value):
        yield f"{name}{signature(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def _class_lines(name: str, cls: type, public: dict[int, str]) -> Iterator[str]:
    bases = [base.__name__ for base in cls.__mro__[1:-1] if id(base) in public or _is_builtin(base)]
    yield f"{name}{_constructor(cls)}: class({', '.join(bases)})"
    operators = {f"__{word}__" for word in _OPERATORS}
    seen = set[str]()
    for base in cls.__mro__:
        if not base.__module__.startswith(dalembert.__name__):
            continue
        annotations = inspect.get_annotations(base)
        for member in sorted({*vars(base), *annotations} - seen):
            if not member.startswith("_") or member in operators:
                yield f"{name}.{member}{_member(base, member, annotations.get(member))}"
        seen |= {*vars(base), *annotations}


def _is_builtin(cls: type) -> bool:
    return getattr(builtins, cls.__name__, None) is cls


def _constructor(cls: type) -> str:
    """The signature of the constructor; empty if it is that of a base class outside the package."""
    for base in cls.__mro__:
        if base.__module__.startswith(dalembert.__name__) and not issubclass(base, Enum):
            made = vars(base).get("__init__") or vars(base).get("__new__")
            if made is not None:
                return signature(made, bound=True, returns=False)
    return ""


def _member(cls: type, name: str, annotation: object) -> str:
    value = vars(cls).get(name)
    if isinstance(value, property):
        return f": property{_returned(value.fget)}"
    if isinstance(value, cached_property):
        return f": property{_returned(value.func)}"
    if isinstance(value, classmethod | staticmethod):
        kind = type(value).__name__
        return f"{signature(value.__func__, bound=kind == 'classmethod')}: {kind}"
    if annotation is not None:
        return f": {_written(annotation)}"
    if inspect.isfunction(value):
        return signature(value, bound=True)
    return f": {type(value).__name__}"


def _returned(function: Callable[..., Any] | None) -> str:
    annotation = None if function is None else inspect.signature(function).return_annotation
    return "" if annotation in (None, inspect.Signature.empty) else f" -> {_written(annotation)}"


def signature(function: Callable[..., Any], *, bound: bool = False, returns: bool = True) -> str:
    """Parameters with annotations and defaults, and what is returned; a bound one without its first parameter."""
    found = inspect.signature(function)
    parameters = list(found.parameters.values())[int(bound) :]
    parts = list[str]()
    for before, parameter in zip([None, *parameters], parameters, strict=False):
        if parameter.kind is parameter.KEYWORD_ONLY and not _ends_positional(before):
            parts.append("*")
        if (
            before is not None
            and before.kind is before.POSITIONAL_ONLY
            and parameter.kind is not parameter.POSITIONAL_ONLY
        ):
            parts.append("/")
        parts.append(_parameter(parameter))
    if parameters and parameters[-1].kind is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    annotation = found.return_annotation
    arrow = f" -> {_written(annotation)}" if returns and annotation is not inspect.Signature.empty else ""
    return f"({', '.join(parts)}){arrow}"


def _ends_positional(before: inspect.Parameter | None) -> bool:
    return before is not None and before.kind in (before.KEYWORD_ONLY, before.VAR_POSITIONAL)


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = stars + parameter.name
    annotated = parameter.annotation is not parameter.empty
    if annotated:
        text += f": {_written(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        text += f" = {_value(parameter.default)}" if annotated else f"={_value(parameter.default)}"
    return text


def _written(annotation: object) -> str:
    if isinstance(annotation, str):
        return annotation
    return "None" if annotation is None else inspect.formatannotation(annotation)


def _value(default: object) -> str:
    """A default value; objects without their own repr by their type."""
    if isinstance(default, frozenset):
        return f"frozenset({sorted(map(repr, default))})"  # its repr has no fixed order
    text = repr(default)
    if not (inspect.isroutine(default) or inspect.isclass(default)):
        return f"<{type(default).__name__}>" if " at 0x" in text else text
    return getattr(default, "__qualname__", text)
