"""The examples of `docs/controllers.md` run and say what the page says."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "controllers.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_run(capsys):
    known: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "controllers.md", "exec"), known)  # our own page
    for line in capsys.readouterr().out.strip().split("\n"):
        assert f"    {line}" in PAGE
