"""Write the generated blocks of the documentation from data in the code.

    python docs/generate.py            # rewrite the blocks
    python docs/generate.py --check    # list the files that are out of date; exit code 1 if there are any
    python docs/generate.py --gallery  # print the counts for every gallery model, without writing files

A block is enclosed by `<!-- generated: name -->` and `<!-- end -->`; the rest of a page is written by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import dalembert as dl
from dalembert.cli import entry_point
from dalembert.display.plots import plot
from dalembert.evidence.agreement import PRINCIPLE, RECURSION, count_independent_lineages
from dalembert.formalisms import catalog as formalisms
from dalembert.formalisms.shared.quantities import FACTS, About, group_by_lineage
from dalembert.io import gallery
from dalembert.simulation.workspace import Workspace, setup, workspace_of

DOCS = Path(__file__).parent
INDEX = DOCS / "formalisms" / "index.md"
EXERCISES = DOCS / "exercises.md"
PLOTS = DOCS / "plots.md"
ABOUTS: tuple[About, ...] = tuple(module.ABOUT for module in formalisms.FORMALISMS)
# a fixed choice, so that the committed table does not change when the gallery grows
MODELS = ("simple-pendulum", "double-pendulum", "cart-pendulum", "satellite-boom", "three-bodies")

NEEDS = {"energies": "energies or bodies", "bodies": "bodies"}
STATES = {"q̇": "2n", "u": "n + d", "u_NI": "n + d − s", "q̇_NI": "2n − s", "s": "2n", "p": "2n", "twists": "n + 6N"}
REDUNDANT = {
    "takes": "kept; λ has minimum norm",
    "drops": "dropped; the notes name them",
}
# features that a formalism may not support: the field of `About`, its label, and its heading in the table of all formalisms
CHOICES = {
    "nonholonomic": ("nonholonomic constraints", "nonholonomic"),
    "nonlinear": ("constraints nonlinear in the velocities", "nonlinear"),
    "canonical": ("constraints on momenta", "momenta"),
    "servo": ("servo constraints and Baumgarte stabilization", "servo"),
    "first_order": ("first-order stabilization with one gain α", "first order"),
    "singular_mass": ("singular mass matrix", "singular mass"),
}
# supported by every formalism, as tests/docs/test_formalism_pages.py checks
ALWAYS = ("explicit time", "non-ideal constraints")

Block = Callable[[], str]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def yes(value: bool) -> str:
    """A boolean as a word."""
    return "yes" if value else "no"


def page(key: str) -> Path:
    """The page of a formalism."""
    return INDEX.with_name(f"{key}.md")


def facts(about: About) -> str:
    """The properties of a formalism."""
    rows = [
        ("key", f"`{about.key}`"),
        ("source", about.source),
        ("needs", NEEDS[about.needs]),
        ("velocity variables", about.velocities),
        ("dynamic equations", about.count),
        ("states", STATES[about.velocities]),
        *((label, yes(getattr(about, field))) for field, (label, _) in CHOICES.items()),
        ("derivation lineage", ", ".join(about.lineage)),
        ("redundant constraints", REDUNDANT[about.dependent_rows]),
        *((words, "yes") for words in ALWAYS),
    ]
    return table(("property", "value"), rows)


def citation(about: About) -> str:
    """The BibTeX entry, as returned by `dl.citation`."""
    return f"```bibtex\n{about.citation}\n```"


def catalog() -> str:
    """All formalisms with their sources."""
    rows = [
        (f"[`{a.key}`]({a.key}.md)", a.title, a.source, NEEDS[a.needs], a.velocities, a.count, STATES[a.velocities])
        for a in ABOUTS
    ]
    return table(("key", "title", "source", "needs", "variables", "equations", "states"), rows)


def handles() -> str:
    """Features that each formalism supports."""
    head = ("key", *(heading for _, heading in CHOICES.values()), "redundant")
    rows = [
        (
            f"[`{a.key}`]({a.key}.md)",
            *(yes(getattr(a, field)) for field in CHOICES),
            "kept" if a.dependent_rows == "takes" else "dropped",
        )
        for a in ABOUTS
    ]
    return table(head, rows)


def lineages() -> str:
    """The shared facts, the formalisms that use them, and the number of independent lineages."""
    known = {about.key: about.lineage for about in ABOUTS} | {
        "recursion": RECURSION,
        "d'Alembert's principle": PRINCIPLE,
    }
    energies = [PRINCIPLE, *(about.lineage for about in ABOUTS if about.needs == "energies")]
    sentence = (
        f"The {len(ABOUTS)} formulations, the recursion and the principle form {count_independent_lineages(known.values())} "
        f"independent lineages for a model made of bodies. For a model defined by energies, {len(energies)} of them apply and "
        f"form {count_independent_lineages(energies)}."
    )
    groups = [
        (", ".join(facts), ", ".join(f"`{key}`" for key in keys)) for facts, keys in group_by_lineage(known).items()
    ]
    return "\n\n".join(
        [sentence, table(("shared facts", "used by"), groups), table(("fact", "meaning"), FACTS.items())]
    )


def counts(names: Sequence[str] = MODELS) -> str:
    """Numbers of dynamic equations and states, from derivations."""
    spaces = {name: workspace_of(setup(dl.load(name), "python")) for name in names}
    rows = [(f"`{a.key}`", *(count(space, a) for space in spaces.values())) for a in ABOUTS]
    return table(("key", *names), rows)


def count(space: Workspace, about: About) -> str:
    """Numbers of dynamic equations and states of one model by one formalism."""
    if formalisms.unsupported_reason(about, space.model, space.facts) is not None:
        return "–"
    form = formalisms.find(about.key).derive(space.system).form
    return f"{form.n_dynamic}, {form.n_states}"


def exercises() -> dict[str, Block]:
    """Output of the commands on the page of exercises, by the names of their blocks."""
    lines = EXERCISES.read_text(encoding="utf-8").splitlines()
    commands = [line.strip() for line in lines if line.startswith("    dalembert derive ")]
    names = [line.removeprefix("<!-- generated: ").removesuffix(" -->") for line in lines if "<!-- generated" in line]
    return {name: lambda line=line: printed(line) for name, line in zip(names, commands, strict=True)}


def printed(command: str) -> str:
    """Output of a command, 100 columns wide."""
    with redirect_stdout(StringIO()) as found, patch.dict("os.environ", COLUMNS="100"):
        assert entry_point.main(command.split()[1:]) == 0, command
    return f"```text\n{found.getvalue().strip()}\n```"


def panels() -> str:
    """Panels that can be plotted for a run."""
    rows = [(f"`{name}`", choice.text, yes(name in plot.OVERVIEW)) for name, choice in plot.PANELS.items()]
    return table(("name", "shows", "in the overview"), rows)


def figures() -> str:
    """Figures that can be plotted for a comparison."""
    return table(("name", "shows"), [(f"`{name}`", side.text) for name, side in plot.FIGURES.items()])


def blocks() -> dict[Path, dict[str, Block]]:
    """Every generated block, file by file."""
    out: dict[Path, dict[str, Block]] = {
        EXERCISES: exercises(),
        PLOTS: {"panels": panels, "figures": figures},
        INDEX: {"catalog": catalog, "handles": handles, "lineages": lineages, "counts": counts},
    }
    for about in ABOUTS:
        out[page(about.key)] = {
            "facts": lambda about=about: facts(about),
            "citation": lambda about=about: citation(about),
        }
    return out


def fresh(path: Path, parts: dict[str, Block]) -> str:
    """The contents of a file with regenerated blocks."""
    text = path.read_text(encoding="utf-8")
    for name, make in parts.items():
        begin, end = f"<!-- generated: {name} -->\n", "<!-- end -->"
        pattern = re.compile(re.escape(begin) + r"(?:.*?\n)??" + re.escape(end), re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise SystemExit(f"{path.name}: expected one block '{name}' between {begin.strip()} and {end}.")
        body = f"{begin}{make()}\n{end}"
        text = pattern.sub(lambda _, body=body: body, text)
    return text


def main(arguments: Sequence[str]) -> int:
    """Rewrite or check the blocks, or print the counts of all gallery models."""
    if "--gallery" in arguments:
        print(counts(gallery.names()))
        return 0
    stale = []
    for path, parts in blocks().items():
        text = fresh(path, parts)
        if text != path.read_text(encoding="utf-8"):
            stale.append(path)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    status = "out of date" if "--check" in arguments else "rewritten"
    print(f"{status}: {', '.join(path.name for path in stale)}" if stale else "everything is up to date")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
