"""The examples of example pages run and print the documented output."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    *(
        "loads.md",
        "contact.md",
        "rolling.md",
        "events.md",
        "controllers.md",
        "equilibrium.md",
        "export.md",
        "scaling.md",
        "walking.md",
        "sensitivity.md",
    ),
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
