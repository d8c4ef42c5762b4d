"""The papers' tables: formalisms side by side in equations, states, operations, time and drift."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert import formalisms
from dalembert.handles import Equations, Trajectory, Workspace, setup, workspace_of
from dalembert.handles.derivation import derivation_of
from dalembert.model import Elements
from dalembert.tables import Table, Tabular, short

if TYPE_CHECKING:
    from dalembert.show.plot_figure import Plot


@dataclass(frozen=True)
class Row:
    """One formalism in a comparison; errors are the papers' norms, None where there is nothing to measure."""

    formalism: str
    n_dynamic: int
    n_states: int
    operations: int
    cpu_seconds: float
    energy_error: float
    constraint_error: float | None
    momentum_error: float | None


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """A table with one row per formalism, the runs behind it, and the reasons of formalisms left out."""

    model: str
    duration: float
    integrator: str
    rows: tuple[Row, ...]
    refused: Mapping[str, str]
    runs: Mapping[str, Trajectory] = field(repr=False)

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
        }

    def plot(self, *figures: str, path: str | Path | None = None) -> Plot:
        """Draw the runs side by side; returns the figure, which a notebook shows, and saves it where a path is given.

        `figures` are energy, constraints, momentum and coordinates; without names all that the model has something for.

        >>> import dalembert as dl
        >>> table = dl.compare(dl.load("cart-pendulum"), ["lagrange", "kane"], duration=1.0, samples=11)
        >>> len(table.plot("energy", "momentum").axes)
        2
        """
        from dalembert.show import plots

        figure = plots.comparison_figure(self.runs, figures)
        if path is not None:
            plots.save(figure, Path(path))
        return figure

    def tables(self) -> tuple[Table, ...]:
        """One row for each formalism."""
        columns = ("formalism", "equations", "states", "operations", "CPU s")
        columns += ("energy error", "constraint error", "momentum error")
        rows = tuple(tuple(short(value) for value in asdict(row).values()) for row in self.rows)
        title = f"{self.model}: {self.duration:g} s, integrator {self.integrator}, drift not corrected"
        return (Table(columns, rows, title, tuple(f"{k} does not apply: {why}." for k, why in self.refused.items())),)

    def __repr__(self) -> str:
        return (
            f"<Comparison of '{self.model}': {len(self.rows)} formalisms over {self.duration:g} s, {self.integrator}>"
        )


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
    progress: Callable[[float], object] | None = None,
) -> Comparison:
    """Formalisms side by side over one simulation each, with all drift control switched off.

    With `rk45` the largest step is one sample interval unless given, as in papers/volterra.

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
    refused = {} if keys else _refused(space)
    wanted = [key for key in keys or formalisms.KEYS if key not in refused]
    tell = progress or (lambda _: None)
    rows: list[Row] = []
    runs: dict[str, Trajectory] = {}
    for index, key in enumerate(wanted):
        tell(index / len(wanted))
        equations = Equations(derivation_of(space.setup, key)).with_parameters(parameters)
        runs[key] = run = equations.simulate(length, project=False, **options)
        sizes = (equations.n_dynamic, equations.n_states, equations.operations)
        rows.append(Row(key, *sizes, run.cpu_seconds, run.energy_error, run.constraint_error, run.momentum_error))
    tell(1.0)
    method = next(iter(runs.values())).integrator if runs else integrator or "taylor"
    return Comparison(model.name, float(length), method, tuple(rows), refused, runs)


def _refused(space: Workspace) -> dict[str, str]:
    """The formalisms that cannot treat the model, with their reasons."""
    reasons = {key: formalisms.refusal(formalisms.find(key).ABOUT, space.model, space.facts) for key in formalisms.KEYS}
    return {key: reason for key, reason in reasons.items() if reason is not None}
