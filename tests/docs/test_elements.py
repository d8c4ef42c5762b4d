"""Files generated from the records of elements are up to date: the type stub of `Model` and the tables of keys."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SPEC = importlib.util.spec_from_file_location("elements", DOCS / "elements.py")
assert SPEC is not None
assert SPEC.loader is not None
elements = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(elements)


@pytest.mark.parametrize(("path", "make"), [(elements.STUB, elements.stub), (elements.PAGE, elements.page)])
def test_generated_element_pages_are_up_to_date(path, make):
    assert path.read_text(encoding="utf-8") == make(), f"{path.name} is out of date: run python docs/elements.py"
