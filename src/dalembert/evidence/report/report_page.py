"""The report itself: a value that is a page, and writes itself to a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dalembert.api.trajectory import Trajectory
from dalembert.arguments import checked
from dalembert.display import webpage
from dalembert.display.math.short_forms import BUDGET
from dalembert.errors import InputError
from dalembert.evidence.report.contents import Contents, Progress, contents_of
from dalembert.evidence.report.tabs import tabs_of
from dalembert.io.files import require_suffix, write_text


@dataclass(frozen=True)
class Report:
    """A run, its model, its equations and the evidence, as one page that opens without a network."""

    contents: Contents
    command: str = ""

    @cached_property
    def html(self) -> str:
        """The page as one text."""
        model = self.contents.model
        return webpage.page(self.contents.run.scene(), tabs=tabs_of(self.contents, self._made_by), title=model.name)

    @property
    def _made_by(self) -> str:
        run, model = self.contents.run, self.contents.model
        shown = [reading.derivation.formalism for reading in self.contents.readings]
        return self.command or f"dl.report(run, formalisms={shown})  # a run of '{model.name}' by {run.formalism}"

    def save(self, path: str | Path) -> Path:
        """Write the page, complete or not at all."""
        place = Path(path)
        require_suffix(place, (".html",), "a report")
        write_text(place, self.html)
        return place

    def __repr__(self) -> str:
        return f"<Report of '{self.contents.model.name}' by {self.contents.run.formalism}>"


@checked
def report(
    run: Trajectory,
    path: str | Path | None = None,
    *,
    formalisms: Sequence[str] = (),
    evidence: bool = True,
    budget: float = BUDGET,
    command: str = "",
    progress: Progress | None = None,
) -> Report:
    """A run as a page that needs nothing else: the moving mechanism, its equations, time histories and the evidence.

    `formalisms` are those whose equations are shown, that of the run by default; `budget` is the CPU time for the short forms of
    each. `evidence` compares all formalisms that apply at random states and over the first seconds of the run, which takes
    a while for a large model. Written where a path is given.

    >>> import dalembert as dl
    >>> run = dl.simulate("simple-pendulum", 1.0, samples=11)
    >>> dl.report(run, formalisms=["lagrange", "kane"], evidence=False)
    <Report of 'simple-pendulum' by lagrange>
    """
    if not isinstance(run, Trajectory):
        raise InputError(
            f"report: got a value of type {type(run).__name__}. Expected a run, as eom.simulate() gives one."
        )
    if isinstance(formalisms, str):
        formalisms = [formalisms]
    if path is not None:
        require_suffix(Path(path), (".html",), "a report")
    report = Report(contents_of(run, formalisms, evidence=evidence, budget=budget, progress=progress), command)
    if path is not None:
        report.save(path)
    return report
