"""Every public function, class and method has the sections of numpydoc that it needs, and its examples run."""

from __future__ import annotations

import doctest
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

import pytest

import dalembert as dl
from dalembert.arguments import described_parameters, joined, sections
from dalembert.evidence.comparison import Comparison
from dalembert.evidence.proof import Proof
from dalembert.evidence.verification import Agreement

RESULTS = {"Proof": Proof, "Agreement": Agreement, "Comparison": Comparison}  # of prove, verify and compare
NAMES = {name: getattr(dl, name) for name in dl.__all__ if callable(getattr(dl, name))} | RESULTS  # pyright: ignore[reportAttributeAccessIssue]


def problems(name: str, thing: Any) -> list[str]:
    """What is missing in the docstrings of a public name and its members."""
    if not inspect.isclass(thing):
        return [f"{name}: {each}" for each in function_problems(thing, example=True)]
    found = [f"{name}: {each}" for each in class_problems(thing)]
    for member, value in members(thing):
        if isinstance(value, property | cached_property):
            lacking = [] if value.__doc__ else ["no docstring"]
        else:
            lacking = function_problems(value)
        found += [f"{name}.{member}: {each}" for each in lacking]
    return found


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that the package defines."""
    seen = set[str]()
    for base in cls.__mro__:
        if not base.__module__.startswith("dalembert"):
            continue
        for name, value in vars(base).items():
            method = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            known = inspect.isfunction(method) or isinstance(method, property | cached_property)
            if known and not name.startswith("_") and name not in seen:
                yield name, method
        seen |= set(vars(base))


def function_problems(function: Callable[..., object], *, example: bool = False) -> list[str]:
    """Missing sections of a function or method."""
    if not function.__doc__:
        return ["no docstring"]
    parts, signature = sections(function.__doc__), inspect.signature(function)
    described = described_parameters(parts.get("Parameters", ""))
    names = [name for name in signature.parameters if name not in ("self", "cls")]
    found = [f"argument '{name}' is not described" for name in names if name not in described]
    found += [f"there is no argument '{name}'" for name in described if name not in names]
    if signature.return_annotation not in (None, "None") and not {"Returns", "Yields"} & set(parts):
        found.append("no section Returns")
    if (example or checks_input(function)) and names and "Raises" not in parts:
        found.append("no section Raises")
    if example and "Examples" not in parts:
        found.append("no section Examples")
    return found + form_problems(function.__doc__)


def checks_input(function: Callable[..., object]) -> bool:
    """True if the function is wrapped to check its arguments, or raises itself."""
    return hasattr(function, "__wrapped__") or "raise " in inspect.getsource(function)


def class_problems(cls: type) -> list[str]:
    """Missing sections of a class."""
    if not cls.__doc__:
        return ["no docstring"]
    parts = sections(cls.__doc__)
    described = described_parameters(parts.get("Parameters", "") + "\n" + parts.get("Attributes", ""))
    found = [f"'{name}' is not described" for name in constructor_names(cls) if name not in described]
    if "Examples" not in parts and not issubclass(cls, Exception):  # errors are raised, not created by users
        found.append("no section Examples")
    return found + form_problems(cls.__doc__)


def constructor_names(cls: type) -> list[str]:
    """The fields of a dataclass, or the arguments of a constructor of the package."""
    bases = (cls,) if issubclass(cls, Exception) else cls.__mro__
    own = [base for base in bases if "__init__" in vars(base) and base.__module__.startswith("dalembert")]
    if not own:
        return []
    if is_dataclass(own[0]):
        return [each.name for each in fields(own[0]) if not each.name.startswith("_")]
    return list(inspect.signature(vars(own[0])["__init__"]).parameters)[1:]


def form_problems(docstring: str) -> list[str]:
    """Deviations from the form of numpydoc: a summary line, then sections in order."""
    summary = inspect.cleandoc(docstring).split("\n\n")[0]
    found = [] if summary.endswith((".", ":")) else ["the summary does not end with a period"]
    if "\n" in summary:
        found.append("the summary is longer than one line")
    if inspect.cleandoc(docstring).strip() != joined(sections(docstring)).strip():
        found.append("sections are not in the order of numpydoc, or examples have no heading")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_docstrings_have_their_sections(name: str) -> None:
    found = problems(name, NAMES[name])
    assert not found, "\n".join(found)


def examples(name: str, thing: Any) -> Iterator[doctest.DocTest]:
    """The examples of a public name and its members."""
    documented = [(name, thing)]
    if inspect.isclass(thing):
        documented += [(f"{name}.{member}", value) for member, value in members(thing)]
    for title, each in documented:
        module = sys.modules[
            inspect.unwrap(getattr(each, "fget", None) or getattr(each, "func", None) or each).__module__
        ]
        yield doctest.DocTestParser().get_doctest(each.__doc__ or "", dict(vars(module)), title, None, 0)


@pytest.mark.parametrize("name", NAMES)
def test_examples_print_the_documented_output(name: str) -> None:
    runner, printed = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS), list[str]()
    for example in examples(name, NAMES[name]):
        runner.run(example, out=printed.append)
    assert not runner.failures, "".join(printed)


# the rules themselves


def half(t: float, *, scale: float = 1.0) -> float:
    """Half of a time.

    Parameters
    ----------
    t : float
        Time.

    Returns
    -------
    float
        Half of it.
    """
    if not t:
        raise ValueError
    return scale * t / 2


def test_missing_sections_are_found() -> None:
    assert function_problems(half) == ["argument 'scale' is not described", "no section Raises"]
    assert function_problems(half, example=True)[-1] == "no section Examples"
    assert form_problems("Half\nof it.\n\n>>> 1\n1") == [
        "the summary is longer than one line",
        "sections are not in the order of numpydoc, or examples have no heading",
    ]
    assert form_problems("Half") == ["the summary does not end with a period"]


def test_fields_of_classes_must_be_described() -> None:
    class Pair:
        """Two numbers.

        Parameters
        ----------
        a : int
            The first.
        """

        def __init__(self, a: int, b: int) -> None:
            self.sum = a + b

    Pair.__module__ = "dalembert.pair"
    assert class_problems(Pair) == ["'b' is not described", "no section Examples"]
