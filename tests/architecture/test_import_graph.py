"""Metrics of the sources that may only decrease, measured without importing the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from import_graph import Measure, Sources

# Each bound is the measured value when it was last changed. Lower it when the value falls. Raise it only with a reason in
# the commit message: `uses_of_any` counts `dict[str, Any]`, which is better than `dict`.
BOUNDS = {
    "coupled_pairs": 125,
    "modules_in_cycles": 0,
    "repeated_names": 3,
    "private_modules_imported_elsewhere": 0,
    "longest_module": 461,
    "longest_function": 55,
    "files": 400,
    "lines": 82308,
    "uses_of_any": 167,
}


@cache
def sources() -> Sources:
    return Sources.read()


@pytest.mark.parametrize("name", BOUNDS)
def test_source_metrics_stay_within_their_bounds(name: str) -> None:
    measure = getattr(Sources, name)
    found: Measure = measure(sources())
    details = "\n  ".join(["", *found.details])
    assert found.value <= BOUNDS[name], f"{name}: {found.value}, at most {BOUNDS[name]}. {measure.__doc__}{details}"


# the metrics on a small package


PACKAGE = {
    "__init__.py": "from p.a.first import f as f\n",
    "a/__init__.py": "",
    "a/first.py": "from typing import Any\nfrom p import b\ndef f(x: Any) -> Any:\n    import p.c\n    return x\n",
    "b/__init__.py": "from . import _first\n",
    "b/_first.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..a.first import f\n",
    "c.py": "class C:\n    from p.a import first\n",
}


def package(folder: Path, **more: str) -> Sources:
    for name, text in {**PACKAGE, **more}.items():
        path = folder / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return Sources.read(folder)


def test_imports_are_found_at_every_position(tmp_path: Path) -> None:
    found = package(tmp_path)
    assert found.imports["p.a.first"] == {"p.b", "p.c"}
    assert found.imports["p.b._first"] == {"p.a.first"}
    assert found.imports_at_import_time["p.a.first"] == {"p.b"}
    assert found.imports_at_import_time["p.b._first"] == set()
    assert found.imports_at_import_time["p.c"] == {"p.a.first"}
    pairs = found.coupled_pairs()
    assert (pairs.value, pairs.details) == (2, ("a - b: 2 imports", "a - c: 2 imports"))


def test_private_modules_belong_to_their_package(tmp_path: Path) -> None:
    assert package(tmp_path).private_modules_imported_elsewhere().value == 0
    found = package(tmp_path, **{"a/first.py": "from p.b import _first\n"}).private_modules_imported_elsewhere()
    assert found == Measure(1, ("p.a.first imports p.b._first",))


def test_sizes_and_names_are_measured(tmp_path: Path) -> None:
    found = package(tmp_path)
    assert (found.files().value, found.lines().value) == (6, 12)
    assert found.longest_module() == Measure(5, found.longest_module().details)
    assert found.longest_function() == Measure(3, ("p.a.first.f: 3 lines",))
    assert found.uses_of_any() == Measure(2, ("p.a.first: 2",))
    assert found.repeated_names() == Measure(1, ("first: p.a.first, p.b._first",))


def test_cycles_are_found_only_among_runtime_imports(tmp_path: Path) -> None:
    assert package(tmp_path).modules_in_cycles().value == 0
    found = package(tmp_path, **{"b/_first.py": "try:\n    from p.a import first\nexcept ImportError:\n    pass\n"})
    assert found.modules_in_cycles() == Measure(3, ("p.a.first -> p.b", "p.b -> p.b._first", "p.b._first -> p.a.first"))
