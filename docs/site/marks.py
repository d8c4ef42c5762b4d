"""Content of the site for marks in pages: `<!-- site: word ... -->`. The marks are invisible in the Markdown file itself.

| mark | content |
|---|---|
| `slogan` | the next paragraph in larger letters |
| `live MODEL` | the viewer with a model of the gallery |
| `pictures MODEL ...` | pictures that link to models of the gallery |
| `made FILE` | a file written by the code of a tutorial |
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import gallery_pages

_MARK = re.compile(r"<!-- site: (\w+) ?(.*?) -->")
_SLOGAN = re.compile(r"<!-- site: slogan -->\n\*(.*?)\*\n", re.DOTALL)


def fill_marks(text: str, path: str) -> str:
    """The Markdown of a page, by its path in the site, with its marks filled."""
    text = _SLOGAN.sub(r'<p class="slogan">\1</p>\n', text)
    return _MARK.sub(lambda found: _filled(found[1], found[2].split(), PurePosixPath(path)), text)


def _filled(word: str, rest: list[str], path: PurePosixPath) -> str:
    up = "../" * (len(path.parts) - 1)
    match word, rest:
        case "live", [name]:
            return frame(f"{up}gallery/live/{name}.html", gallery_pages.title(name))
        case "pictures", names:
            cards = "\n".join(gallery_pages.card(name, f"{up}gallery/") for name in names)
            return f'<div class="cards few" markdown>\n{cards}\n</div>'
        case "made", [file] if file.endswith(".html"):
            place = f"{path.stem}/{file}"
            return f"{frame(place, file)}\n\n[{file} on a separate page]({place})"
        case "made", [file]:
            return f"![{file}]({path.stem}/{file}){{ .wide }}"
    raise ValueError(f"{path}: unknown mark '{word} {' '.join(rest)}'. See docs/site/marks.py.")


def frame(place: str, title: str) -> str:
    """The viewer embedded in a page of the site."""
    return f'<iframe class="live" src="{place}" title="{title}, in motion" loading="lazy"></iframe>'
