"""The documentation site: tutorials print the documented output, pages are complete, links are valid."""

import re
from pathlib import Path

import gallery_pages
import marks
import mathml
import offline_links
import pytest
import reference
import tutorial_code

import dalembert as dl
from dalembert.io import gallery

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GENERATED = {"changelog.md"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow(6) if name == "pendulum" else pytest.mark.nightly)
        for name in tutorial_code.NAMES
        if name not in tutorial_code.NEEDS  # tests/exports has those
    ],
)
def test_tutorials_print_the_documented_output(name, tmp_path):
    assert tutorial_code.mismatches(name, tmp_path) == []


def test_a_tutorial_is_updated(tmp_path, monkeypatch):
    page = tmp_path / "sum.md"
    page.write_text("```python\nx = 1\n```\n\n```python\nprint(x + 1)\n```\n\n```text\n3\n```\n", encoding="utf-8")
    monkeypatch.setattr(tutorial_code, "FOLDER", tmp_path)
    assert [(block.expected, printed) for block, printed in tutorial_code.printed("sum", tmp_path)] == [
        ("", ""),
        ("3\n", "2\n"),
    ]
    assert tutorial_code.mismatches("sum", tmp_path) == [
        "sum.md prints\n2\ninstead of\n3\nafter\nprint(x + 1)\n",
        "sum.md embeds no file. A tutorial ends with an animation.",
    ]
    assert tutorial_code.rewritten("sum", tmp_path) == page.read_text(encoding="utf-8").replace("3", "2")


@pytest.mark.parametrize("path", [*sorted(ROOT.glob("*.md")), *PAGES], ids=lambda path: path.stem)
def test_links_are_valid(path):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).is_file(), target


def test_every_page_is_in_the_navigation():
    named = re.findall(r"^ *- .*?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(named) - GENERATED == {path.relative_to(DOCS).as_posix() for path in PAGES}


def test_every_model_has_a_page_and_a_group():
    pages = gallery_pages.pages()
    assert set(pages) == {"gallery/index.md"} | {f"gallery/{name}.md" for name in gallery.names()}
    grouped = [name for names in gallery_pages.grouped().values() for name in names]
    assert sorted(grouped) == sorted(gallery.names())
    assert all(gallery_pages.grouped().values())
    for name in gallery.names():
        assert f"]({name}.md)" in pages["gallery/index.md"]
        for target in re.findall(r"\]\(([^)#:]+\.md)\)", pages[f"gallery/{name}.md"]):
            assert f"gallery/{target}" in pages, target


def test_the_reference_has_every_public_name():
    text = "\n".join(reference.pages().values())
    names = [name for name in dl.__all__ if callable(getattr(dl, name))]  # pyright: ignore[reportAttributeAccessIssue]
    for name in names:
        assert f"heading: dl.{name}\n" in text, name
        assert reference.first_line(getattr(dl, name)), name


def test_marks_are_filled():
    text = "<!-- site: slogan -->\n*one\ntwo*\n\n<!-- site: live four-bar -->\n<!-- site: pictures four-bar -->\n"
    shown = marks.fill_marks(text, "index.md")
    assert shown.startswith('<p class="slogan">one\ntwo</p>')
    assert 'src="gallery/live/four-bar.html"' in shown
    assert "(gallery/four-bar.md)" in shown
    made = marks.fill_marks("<!-- site: made a.html --><!-- site: made b.png -->", "tutorials/linkage.md")
    assert 'src="linkage/a.html"' in made
    assert "![b.png](linkage/b.png)" in made
    with pytest.raises(ValueError, match="unknown mark 'dance now'"):
        marks.fill_marks("<!-- site: dance now -->", "index.md")


def test_mathematics_is_mathml():
    shown = mathml.math_fence(r"\ddot{\theta} = 0", "math", "math", {}, None)
    assert shown.startswith('<div class="math"><math')
    assert "θ" in shown or "&#x003B8;" in shown


def test_broken_links_are_reported(tmp_path):
    (tmp_path / "there.html").write_text('<h1 id="head">x</h1><a href="index.html">back</a>', encoding="utf-8")
    (tmp_path / "index.html").write_text(
        '<a href="there.html#head">fine</a> <a href="there.html#tail">no</a> <a href="gone.html">no</a>'
        '<a href="https://example.org">away</a> <script src="https://example.org/x.js"></script>'
        '<link rel="stylesheet" href="//example.org/x.css"><img src="data:image/png;base64,">',
        encoding="utf-8",
    )
    assert offline_links.broken(tmp_path) == [
        "index.html loads https://example.org/x.js over a network. Pages must open without network access.",
        "index.html loads //example.org/x.css over a network. Pages must open without network access.",
        "index.html links to there.html#tail, which does not exist.",
        "index.html links to gone.html, which does not exist.",
    ]


def test_examples_of_docstrings_become_blocks():
    pytest.importorskip("griffe", reason="griffe is installed with the dependency group docs")
    from examples import fenced

    found = fenced("Twice.\n\n>>> x = [\n...     1]\n>>> x\n[1]\n\nMore.\n\n>>> 2\n2")
    assert found == "Twice.\n\n```pycon\n>>> x = [\n...     1]\n>>> x\n[1]\n```\n\nMore.\n\n```pycon\n>>> 2\n2\n```"
