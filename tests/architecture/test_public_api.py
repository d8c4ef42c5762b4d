"""The public API equals the committed snapshot of names and signatures."""

from __future__ import annotations

import ast
from difflib import unified_diff
from pathlib import Path

import pytest
from public_api import SNAPSHOT, public_names, signature, snapshot

import dalembert

COMMAND = "python tests/architecture/snapshot.py api"


def test_the_public_api_is_that_of_the_snapshot() -> None:
    before, now = (text.splitlines() for text in (SNAPSHOT.read_text("utf-8"), snapshot()))
    difference = "\n".join(unified_diff(before, now, "public_api.txt", "the sources", lineterm="", n=0))
    assert not difference, f"the public API has changed. If that is intended: {COMMAND}\n{difference}"


def test_the_snapshot_has_the_contract_of_the_design() -> None:
    """Names of DESIGN §6: guards against an empty or partial snapshot."""
    lines = SNAPSHOT.read_text("utf-8").splitlines()
    assert lines == sorted(set(lines))
    assert {line.partition("(")[0].partition(".")[0].partition(":")[0] for line in lines} == set(public_names())
    for start in (
        "derive(",
        "Model(",
        "Equations.simulate(",
        "Trajectory.qdd:",
        "Trajectory.__getitem__(",
        "gallery.load(",
    ):
        assert any(line.startswith(start) for line in lines), start


def example(a: int, /, b: str = "x", *c: float, d: None = None, **e: object) -> bool:
    return bool((a, b, c, d, e))


def test_signatures_are_written_as_in_the_sources() -> None:
    expected = "(a: int, /, b: str = 'x', *c: float, d: None = None, **e: object) -> bool"
    assert signature(example) == expected
    assert signature(lambda x, /: x) == "(x, /)"
    assert signature(lambda *, x=len: x) == "(*, x=len)"
    assert signature(lambda self, y=frozenset("ba"): y, bound=True) == "(y=frozenset([\"'a'\", \"'b'\"]))"


def test_the_stub_imports_every_public_name_from_the_module_that_defines_it():
    stub = ast.parse(Path(dalembert.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    found = {alias.asname: f"{node.module}" for node in imports for alias in node.names}
    assert found.pop("gallery") == "dalembert.io"
    assert found == {name: f"dalembert.{module}" for name, module in dalembert._MODULE_OF.items()}  # pyright: ignore[reportAttributeAccessIssue]


def test_the_package_lists_its_public_names_only():
    assert dir(dalembert) == sorted([*dalembert.__all__, "__version__"])  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError, match="has no attribute 'sweeps'"):
        _ = dalembert.sweeps  # pyright: ignore[reportAttributeAccessIssue]
