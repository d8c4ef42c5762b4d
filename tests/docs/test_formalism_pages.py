"""The pages of `docs/formalisms` are complete and correct: tables, links and examples."""

import doctest
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

import dalembert as dl
from dalembert.formalisms import catalog
from dalembert.io import gallery

DOCS = Path(__file__).parents[2] / "docs"
INDEX = DOCS / "formalisms" / "index.md"
PAGES = sorted(path for path in INDEX.parent.glob("*.md") if path != INDEX)
PARTS = ("The idea", "The equations", "Facts", "When to use it", "Where we deviate", "Example", "Citation")


def _generator():
    spec: Any = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = _generator()


# the exercises are checked by tests/docs/test_exercises.py
FRESH = {path: parts for path, parts in generate.blocks().items() if path != generate.EXERCISES}


@pytest.mark.parametrize(("path", "parts"), FRESH.items(), ids=lambda x: getattr(x, "stem", ""))
def test_generated_blocks_are_up_to_date(path, parts):
    written = path.read_text(encoding="utf-8")
    assert written == generate.fresh(path, parts), f"{path.name} is out of date: run python docs/generate.py"


def test_the_counted_models_are_in_the_gallery():
    assert set(generate.MODELS) <= set(gallery.names())


def test_a_missing_block_is_reported(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("no block here", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"page\.md: expected one block 'facts'"):
        generate.fresh(page, {"facts": str})


def test_every_formalism_has_a_page_and_every_page_a_formalism():
    assert {path.stem for path in PAGES} == set(catalog.KEYS)


def test_every_page_is_linked_from_the_index_and_back():
    index = INDEX.read_text(encoding="utf-8")
    for path in PAGES:
        assert f"]({path.name})" in index, path.name
        assert "](index.md)" in path.read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_has_the_same_parts(path):
    text = path.read_text(encoding="utf-8")
    assert tuple(re.findall(r"^## (.+)$", text, re.MULTILINE)) == PARTS
    assert text.startswith(f"# {catalog.find(path.stem).ABOUT.title}\n")


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow(5) if path.stem == "denoc" else ()) for path in PAGES],
    ids=lambda path: path.stem,
)
def test_examples_give_the_documented_output(path):
    text = path.read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert snippets
    example = doctest.DocTestParser().get_doctest("\n".join(snippets), {}, path.stem, str(path), 0)
    assert example.examples
    assert f'"{path.stem}"' in "".join(snippets)
    failures: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=failures.append)
    assert not failures, "".join(failures)


def test_every_formalism_supports_explicit_time_and_non_ideal_constraints():
    assert generate.ALWAYS == ("explicit time", "non-ideal constraints")
    model = dl.Model("driven", gravity=(0, -9.81, 0)).coordinate("x").coordinate("theta", 0.4)
    model.body("slider", joint=model.prismatic((1, 0, 0), "x + 0.1*sin(2*t)"), mass=2)
    hinge = model.revolute((0, 0, 1), "theta")
    model.body("bob", parent="slider", joint=hinge, mass=1, center=(0, -0.5, 0), inertia=(0.01, 0.02, 0.03))
    model.holonomic("x - 0.2*(theta - 0.4)**2 - 0.05*(1 - cos(t))")
    model.non_ideal({"x": "-0.2*dot(x)", "theta": "-0.1*t*dot(theta)"})
    agreement = dl.verify(model, states=5, engines=["python"], tolerance=1e-9)
    assert {key: verdict.status for key, verdict in agreement.formalisms.items()} == dict.fromkeys(
        catalog.KEYS, "agrees"
    )
