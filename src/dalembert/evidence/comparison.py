"""The papers' tables: formalisms side by side in equations, states, operations, time and drift."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.api.equations import Equations
from dalembert.api.load import accepts_source
from dalembert.api.run_checks import CHECK
from dalembert.api.trajectory import Trajectory
from dalembert.errors import DalembertError, InputError
from dalembert.formalisms import catalogue
from dalembert.model.description import Elements
from dalembert.simulation.derivation import derivation_of
from dalembert.simulation.workspace import setup, workspace_of
from dalembert.tables import Table, Tabular, short

if TYPE_CHECKING:
    from dalembert.display.plots.figure import Plot


@dataclass(frozen=True)
class Row:
    """One formalism in a comparison; errors are the papers' norms, None where there is nothing to measure.

    A formalism whose simulation failed has the reason in `failure`, and no numbers of a run.
    """

    formalism: str
    n_dynamic: int | None
    n_states: int | None
    operations: int | None
    cpu_seconds: float | None
    energy_error: float | None
    constraint_error: float | None
    momentum_error: float | None
    failure: str | None = None


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """A table with one row per formalism, the runs behind it, and the reasons of formalisms left out.

    `runs` has those that reached their end; `failed` the reasons of the others.
    """

    model: str
    duration: float
    integrator: str
    rows: tuple[Row, ...]
    refused: Mapping[str, str]
    runs: Mapping[str, Trajectory] = field(repr=False)

    @property
    def failed(self) -> dict[str, str]:
        """Why simulations failed, by formalism; empty where all reached their end."""
        return {row.formalism: row.failure for row in self.rows if row.failure is not None}

    @property
    def checks(self) -> dict[str, tuple[str, ...]]:
        """The notes of runs that err by more than their method allows, by formalism; empty where none does."""
        found = {key: tuple(note for note in run.notes if note.startswith(CHECK)) for key, run in self.runs.items()}
        return {key: notes for key, notes in found.items() if notes}

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, formalism: str) -> Row:
        return next(row for row in self.rows if row.formalism == formalism)

    def to_dict(self) -> dict:
        """The table as plain data."""
        return {
            "model": self.model,
            "duration": self.duration,
            "integrator": self.integrator,
            "rows": [asdict(row) for row in self.rows],
            "refused": dict(self.refused),
            "checks": {key: list(found) for key, found in self.checks.items()},
        }

    def plot(self, *figures: str, path: str | Path | None = None) -> Plot:
        """Draw the runs side by side; returns the figure, which a notebook shows, and saves it where a path is given.

        Formalisms whose simulation failed are not in it. `figures` are energy, constraints, momentum and coordinates; without
        names all that the model has something for.

        >>> import dalembert as dl
        >>> table = dl.compare(dl.load("cart-pendulum"), ["lagrange", "kane"], duration=1.0, samples=11)
        >>> len(table.plot("energy", "momentum").axes)
        2
        """
        from dalembert.display.plots import plot as plots

        figure = plots.comparison_figure(self.runs, figures)
        if path is not None:
            plots.save(figure, Path(path))
        return figure

    def tables(self) -> tuple[Table, ...]:
        """One row for each formalism."""
        columns = ("formalism", "equations", "states", "operations", "CPU s")
        columns += ("energy error", "constraint error", "momentum error")
        rows = tuple(tuple(short(value) for value in _cells(row)) for row in self.rows)
        return (Table(columns, rows, self.title, self.notes),)

    @property
    def title(self) -> str:
        """What was compared, and how."""
        return f"{self.model}: {self.duration:g} s, integrator {self.integrator}, drift not corrected"

    @property
    def notes(self) -> tuple[str, ...]:
        """Why simulations failed, and which formalisms do not apply, in sentences."""
        failed = tuple(f"{key} failed: {why}" for key, why in self.failed.items())
        return failed + tuple(f"{key} does not apply: {why}." for key, why in self.refused.items())

    def __repr__(self) -> str:
        return (
            f"<Comparison of '{self.model}': {len(self.rows)} formalisms over {self.duration:g} s, {self.integrator}>"
        )


@accepts_source
def compare(
    model: Elements,
    keys: Sequence[str] | None = None,
    *,
    duration: float | None = None,
    integrator: str | None = None,
    samples: int | None = None,
    engine: str | None = None,
    max_step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    parameters: Mapping[str, float] | None = None,
    rechoose: bool = True,
    progress: Callable[[float], object] | None = None,
) -> Comparison:
    """Formalisms side by side over one simulation each, with all drift control switched off.

    A formalism whose simulation fails becomes a row with its reason. Speeds, trial vectors and independent constraints are chosen
    again along a run as in every simulation, which corrects no drift, unless `rechoose` is False, as in the papers. With `rk45`
    the largest step is one sample interval unless given, as in papers/volterra.

    >>> import dalembert as dl
    >>> table = compare(dl.load("cart-pendulum"), ["lagrange", "volterra_reduced"], duration=1.0, samples=11)
    >>> [(row.n_dynamic, row.n_states) for row in table]
    [(3, 6), (1, 4)]
    """
    space = workspace_of(setup(model, engine))
    length = model.duration if duration is None else duration
    count = model.samples if samples is None else samples
    if integrator == "rk45" and max_step is None and count > 1:
        max_step = length / (count - 1)
    options = {"integrator": integrator, "samples": count, "rtol": rtol, "atol": atol, "max_step": max_step}
    options["rechoose"] = rechoose
    reasons = {key: catalogue.refusal(catalogue.find(key).ABOUT, space.model, space.facts) for key in catalogue.KEYS}
    reasons = {key: reason for key, reason in reasons.items() if reason is not None}
    for key in keys or ():
        if key in reasons:
            derivation_of(space.setup, key)  # raises before any formalism is run
    refused = {} if keys else reasons
    wanted = [key for key in keys or catalogue.KEYS if key not in refused]
    tell = progress or (lambda _: None)
    found: list[Compared] = []
    for index, key in enumerate(wanted):
        tell(index / len(wanted))
        found.append(_compared(Equations(derivation_of(space.setup, key)), length, options, parameters))
    tell(1.0)
    errors = [each.error for each in found]
    if errors and errors[0] is not None and all(isinstance(error, InputError) for error in errors):
        raise errors[0]  # the arguments are wrong
    runs = {each.row.formalism: each.run for each in found if each.run is not None}
    method = next(iter(runs.values())).integrator if runs else integrator or model.integrator or "taylor"
    return Comparison(model.name, float(length), method, tuple(each.row for each in found), refused, runs)


@dataclass(frozen=True)
class Compared:
    """The row of one formalism, with its run or the error that ended it."""

    row: Row
    run: Trajectory | None = None
    error: DalembertError | None = None


def _compared(
    equations: Equations, duration: float, options: Mapping[str, Any], parameters: Mapping[str, float] | None
) -> Compared:
    """Simulate by one formalism; what it raises on purpose is its row."""
    sizes: tuple[int | None, int | None, int | None] = None, None, None
    try:
        equations = equations.with_parameters(parameters)
        sizes = equations.n_dynamic, equations.n_states, equations.operations
        run = equations.simulate(duration, project=False, **options)
        errors = run.energy_error, run.constraint_error, run.momentum_error
        return Compared(Row(equations.formalism, *sizes, run.cpu_seconds, *errors), run)
    except DalembertError as error:
        row = Row(equations.formalism, *sizes, None, None, None, None, str(error))
        return Compared(row, error=error)


def _cells(row: Row) -> list[object]:
    """The cells of a row; where it failed, that stands in place of the CPU time."""
    cells = list(asdict(row).values())[:-1]
    return cells if row.failure is None else [*cells[:4], "failed", *cells[5:]]
