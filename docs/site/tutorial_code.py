"""The code of the tutorials, run block by block in a folder, with the output documented in the page.

python docs/site/tutorial_code.py linkage out/linkage    # run one there, and write its output into its page
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "tutorials"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "index"))
NEEDS = {"optimal-control": "casadi", "gradients": "jax"}  # third-party libraries that a tutorial imports
_BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<expected>.*?)```\n)?", re.DOTALL | re.MULTILINE)

_MADE = re.compile(r"<!-- site: made (\S+) -->")


@dataclass(frozen=True)
class Block:
    """A block of code and its documented output."""

    code: str
    expected: str


def page_of(name: str) -> Path:
    """The file of a tutorial."""
    return FOLDER / f"{name}.md"


def blocks(text: str) -> list[Block]:
    """The blocks of a page, in their order."""
    return [Block(found["code"], found["expected"] or "") for found in _BLOCK.finditer(text)]


def printed(name: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a tutorial one after the other in a folder, which they import from; returns each with its output."""
    known: dict[str, object] = {}
    for block in blocks(page_of(name).read_text(encoding="utf-8")):
        with _importing(folder), chdir(folder), redirect_stdout(StringIO()) as found:
            exec(compile(block.code, f"{name}.md", "exec"), known)  # code of this project
        yield block, found.getvalue()


def mismatches(name: str, folder: Path) -> list[str]:
    """Problems of a tutorial that is run in a folder: different output, and embedded files that were not written."""
    wrong = [
        f"{name}.md prints\n{found}instead of\n{block.expected}after\n{block.code}"
        for block, found in printed(name, folder)
        if found != block.expected
    ]
    files = _MADE.findall(page_of(name).read_text(encoding="utf-8"))
    wrong += [f"{name}.md embeds {file}, which it does not write." for file in files if not (folder / file).is_file()]
    return wrong if files else [*wrong, f"{name}.md embeds no file. A tutorial ends with an animation."]


@contextmanager
def _importing(folder: Path) -> Iterator[None]:
    """Make modules of a folder importable."""
    place = str(folder.absolute())
    sys.path.insert(0, place)
    try:
        yield
    finally:
        sys.path.remove(place)


def rewritten(name: str, folder: Path) -> str:
    """The source of a tutorial with the current output of its code."""
    outputs = iter([output for _, output in printed(name, folder)])

    def filled(found: re.Match[str]) -> str:
        output = next(outputs)
        return f"```python\n{found['code']}```\n" + (f"\n```text\n{output}```\n" if output else "")

    return _BLOCK.sub(filled, page_of(name).read_text(encoding="utf-8"))


def main(arguments: Sequence[str]) -> None:
    """Update one page."""
    name, folder = arguments
    page_of(name).write_text(rewritten(name, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
