"""The examples of example pages run and print the documented output."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    "contact.md",
    "events.md",
    "controllers.md",
    "equilibrium.md",
    "export.md",
    "scaling.md",
    "symmetries.md",
    pytest.param("loads.md", marks=pytest.mark.slow(6)),
    pytest.param("rolling.md", marks=pytest.mark.slow(8)),
    pytest.param("sensitivity.md", marks=pytest.mark.slow(5)),
    pytest.param("walking.md", marks=pytest.mark.slow(6)),
    pytest.param("linearization.md", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_the_page_run(name, capsys):
    page, known = (DOCS / name).read_text(encoding="utf-8"), {}
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), known)  # code of this project
    for line in capsys.readouterr().out.strip().split("\n"):
        assert f"    {line}" in page
