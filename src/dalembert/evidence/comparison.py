"""Comparison tables as in the papers: equations, states, operations, CPU time and drift of each formulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.api.equations import Equations
from dalembert.api.load import accepts_source
from dalembert.api.simulate import CHECK
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import documented_class
from dalembert.errors import DalembertError, InputError
from dalembert.formalisms import catalog
from dalembert.model.description import Elements
from dalembert.model.integrator_names import AUTO
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.workspace import setup, workspace_of
from dalembert.tables import Table, Tabular, format_cell

if TYPE_CHECKING:
    from dalembert.display.plots.figure import Plot


@dataclass(frozen=True)
class ComparisonRow:
    """One formulation in a comparison; errors are the papers' norms, None if not defined for the model.

    If the simulation failed, `failure` is the reason and the values of the run are None.
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


@documented_class
@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """A table with one row per formulation, its runs, and the reasons for omitted formulations.

    Attributes
    ----------
    model : str
        Name of the model.
    duration : float
        Simulated time.
    integrator : str
        Key of the integrator.
    rows : tuple of ComparisonRow
        Number of equations, states and operations, CPU time and errors of each formulation.
    refused : mapping of str to str
        Reasons of formulations that do not apply.
    runs : mapping of str to Trajectory
        The completed runs by formulation.

    Examples
    --------
    >>> import dalembert as dl
    >>> table = dl.compare("cart-pendulum", ["lagrange", "kane"], duration=0.5, samples=6)
    >>> table["kane"].n_states, list(table.runs), table.failed
    (5, ['lagrange', 'kane'], {})
    """

    model: str
    duration: float
    integrator: str
    rows: tuple[ComparisonRow, ...]
    refused: Mapping[str, str]
    runs: Mapping[str, Trajectory] = field(repr=False)

    @property
    def failed(self) -> dict[str, str]:
        """Reasons of failed simulations by formulation; empty if all were completed."""
        return {row.formalism: row.failure for row in self.rows if row.failure is not None}

    @property
    def checks(self) -> dict[str, tuple[str, ...]]:
        """Notes of runs whose error exceeds the bound of their integrator, by formulation; empty if none does."""
        found = {key: tuple(note for note in run.notes if note.startswith(CHECK)) for key, run in self.runs.items()}
        return {key: notes for key, notes in found.items() if notes}

    def __iter__(self) -> Iterator[ComparisonRow]:
        return iter(self.rows)

    def __getitem__(self, formalism: str) -> ComparisonRow:
        return next(row for row in self.rows if row.formalism == formalism)

    def to_dict(self) -> dict:
        """Return the table as a JSON-compatible dict."""
        return {
            "model": self.model,
            "duration": self.duration,
            "integrator": self.integrator,
            "rows": [asdict(row) for row in self.rows],
            "refused": dict(self.refused),
            "checks": {key: list(found) for key, found in self.checks.items()},
        }

    def plot(self, *figures: str, path: str | Path | None = None) -> Plot:
        """Plot the runs together.

        Failed simulations are omitted.

        Parameters
        ----------
        *figures : {'energy', 'constraints', 'momentum', 'coordinates'}
            The panels; all that apply to the model by default.
        path : str or Path, optional
            Image to write (.png, .pdf or .svg).

        Returns
        -------
        Plot
            The figure, which notebooks display.

        Examples
        --------
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
        """Return a table with one row per formulation."""
        columns = ("formalism", "equations", "states", "operations", "CPU s")
        columns += ("energy error", "constraint error", "momentum error")
        rows = tuple(tuple(format_cell(value) for value in _cells(row)) for row in self.rows)
        return (Table(columns, rows, self.title, self.notes),)

    @property
    def title(self) -> str:
        """Model, duration and integrator of the comparison."""
        return f"{self.model}: {self.duration:g} s, integrator {self.integrator}, drift not corrected"

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about failed simulations and formulations that do not apply."""
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
    repartition: bool = True,
    progress: Callable[[float], object] | None = None,
) -> Comparison:
    """Compare formulations over one simulation each, without drift control.

    A failed simulation becomes a row with its reason. Speeds, trial vectors and independent constraints are repartitioned
    during a run as in every simulation, which corrects no drift, unless `repartition` is False, as in the papers.

    Parameters
    ----------
    keys : sequence of str, optional
        Keys of the formulations to compare; all that apply if None.
    max_step : float, optional
        Largest step size; one sample interval with `rk45`, as in papers/volterra.

    Returns
    -------
    Comparison
        One row for each formulation, and the runs.

    Raises
    ------
    NotApplicableError
        If one of `keys` does not apply to the model.
    InputError
        If a key or an option is unknown or invalid.

    Examples
    --------
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
    options["repartition"] = repartition
    reasons = {
        key: catalog.unsupported_reason(catalog.find(key).ABOUT, space.model, space.facts) for key in catalog.KEYS
    }
    reasons = {key: reason for key, reason in reasons.items() if reason is not None}
    for key in keys or ():
        if key in reasons:
            derivation_of(space.setup, key)  # raises before any formalism is run
    refused = {} if keys else reasons
    selected = [key for key in keys or catalog.KEYS if key not in refused]
    report = progress or (lambda _: None)
    found: list[Compared] = []
    for index, key in enumerate(selected):
        report(index / len(selected))
        found.append(_compared(Equations(derivation_of(space.setup, key)), length, options, parameters))
    report(1.0)
    errors = [each.error for each in found]
    if errors and errors[0] is not None and all(isinstance(error, InputError) for error in errors):
        raise errors[0]  # the arguments are wrong
    runs = {each.row.formalism: each.run for each in found if each.run is not None}
    method = next(iter(runs.values())).integrator if runs else integrator or model.integrator or AUTO
    return Comparison(model.name, float(length), method, tuple(each.row for each in found), refused, runs)


@dataclass(frozen=True)
class Compared:
    """Row of one formulation, with its run or the error that ended it."""

    row: ComparisonRow
    run: Trajectory | None = None
    error: DalembertError | None = None


def _compared(
    equations: Equations, duration: float, options: Mapping[str, Any], parameters: Mapping[str, float] | None
) -> Compared:
    """Simulate with one formulation; a `DalembertError` becomes its row."""
    sizes: tuple[int | None, int | None, int | None] = None, None, None
    try:
        equations = equations.with_parameters(parameters)
        sizes = equations.n_dynamic, equations.n_states, equations.operations
        run = equations.simulate(duration, project=False, **options)
        errors = run.energy_error, run.constraint_error, run.momentum_error
        return Compared(ComparisonRow(equations.formalism, *sizes, run.cpu_seconds, *errors), run)
    except DalembertError as error:
        row = ComparisonRow(equations.formalism, *sizes, None, None, None, None, str(error))
        return Compared(row, error=error)


def _cells(row: ComparisonRow) -> list[object]:
    """Return the cells of a row; for a failed run the CPU time reads "failed"."""
    cells = list(asdict(row).values())[:-1]
    return cells if row.failure is None else [*cells[:4], "failed", *cells[5:]]
