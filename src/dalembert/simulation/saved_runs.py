"""A run in a file: the model as text, the choices of its parts and their states, so that nothing is lost on the way back.

The text of the model is read as any model file is, so a file from a stranger can do no more than a model from a stranger.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.api.derive import derived
from dalembert.api.equations import Equations
from dalembert.api.tree_equations import TreeEquations
from dalembert.arguments import checked
from dalembert.codegen.function import ENGINES
from dalembert.errors import DalembertError, InputError
from dalembert.io.files import checksum_fault
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml
from dalembert.mechanics.facts import Choice
from dalembert.model.description import Elements
from dalembert.model.frozen import Frozen
from dalembert.simulation.chart_changes import chart_of, equations_in
from dalembert.simulation.chart_maps import Chart
from dalembert.simulation.integrators.integrate import Solution, Status
from dalembert.simulation.integrators.interpolant import Piece, Polynomial
from dalembert.simulation.mode_changes import Happening, Switchboard
from dalembert.simulation.partition import Part
from dalembert.simulation.rigid_contacts import Impulse
from dalembert.simulation.trajectory import Trajectory
from dalembert.simulation.tree_simulation import TreeRun
from dalembert.simulation.workspace import setup

if TYPE_CHECKING:
    import xarray

_RECORD = "dalembert_run"
_EXPECTED = "Expected a .nc file that run.save(...) wrote."
_FORMAT = 3
Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]


def record_of(run: Trajectory) -> tuple[dict[str, str], Variables]:
    """Everything of a run that its samples do not tell, as an attribute of a data set and variables."""
    derivation = run.equations.derivation
    known = derivation.setup
    try:
        model = to_toml(known.declared)
    except InputError as error:  # the samples are saved all the same
        return {_RECORD: json.dumps({"format": _FORMAT, "problem": str(error)})}, {}
    told = {
        "format": _FORMAT,
        "model": model,
        "model_notes": known.declared.notes,
        "formalism": derivation.formalism,
        "engine": known.engine,
        "mode": known.mode,
        "alpha": derivation.alpha,
        "choice": _choice(known.choice),
        "changes": dict(run.equations.changes),
        "integrator": run.integrator,
        "cpu_seconds": run.cpu_seconds,
        "notes": run.notes,
        "parts": [_part(part) for part in run.parts],
        "happened": [_happening(each) for each in run.happened],
        "held": run.held is not None,
        "impulses": [{**vars(each), "vector": each.vector.tolist()} for each in run.impulses],
    }
    if isinstance(run.equations, TreeEquations):
        told["recursion"] = {"friction": run.equations.friction, "execution": run.equations.execution}
    variables: Variables = {}
    for k, part in enumerate(run.parts):
        variables |= {f"part{k}_{name}": ((*(f"part{k}_{d}" for d in dims),), x) for name, dims, x in _arrays(part)}
    return {_RECORD: json.dumps(told)}, variables


def _choice(choice: Choice | None) -> dict[str, Any] | None:
    if choice is None:
        return None
    speeds = [str(formula) for formula in choice.speeds]
    return {"speeds": speeds, "rows": choice.rows, "dependent": choice.dependent, "steady": choice.steady}


def _part(part: Part) -> dict[str, Any]:
    found = part.solution
    return {
        "choice": _choice(part.equations.derivation.setup.choice),
        "status": found.status.name,
        "steps": found.steps,
        "evaluations": found.evaluations,
        "dense": bool(found.dense),
        "jumps": dict(part.jumps),
        "chart": part.chart
        and {"sequences": part.chart.sequences, "sides": [each.side for each in part.chart.changed]},
    }


def _happening(each: Happening) -> dict[str, Any]:
    state = {"q": each.q.tolist(), "qd": each.qd.tolist(), "after": each.after.tolist()}
    return {"name": each.name, "t": each.t, **state, "switching": each.switching}


def _happened(said: Mapping[str, Any]) -> Happening:
    q, qd, after = (np.array(said[key], dtype=float) for key in ("q", "qd", "after"))
    return Happening(str(said["name"]), float(said["t"]), q, qd, after, bool(said["switching"]))


def _impulse(said: Mapping[str, Any]) -> Impulse:
    numbers = (float(said[key]) for key in ("approach", "departure", "energy"))
    return Impulse(str(said["name"]), float(said["t"]), np.array(said["vector"], dtype=float), *numbers)


def _arrays(part: Part) -> Iterator[tuple[str, tuple[str, ...], np.ndarray]]:
    """Names, dimensions and values of what a part holds."""
    found = part.solution
    yield "t", ("sample",), found.t
    yield "y", ("state", "sample"), found.y
    yield "constants", ("constant", "sample")[: part.constants.ndim], part.constants
    if found.end is not None:
        yield "end_t", (), np.array(found.end[0])
        yield "end_y", ("state",), found.end[1]
    if part.chart is not None:
        yield "chart_t", ("chart_step",), part.chart.times
        yield "chart_angles", ("chart_angle", "chart_step"), part.chart.angles
    if found.dense:
        orders = max(piece.polynomial.coefficients.shape[1] for piece in found.dense)
        powers = np.zeros((len(found.dense), len(found.y), orders))
        for piece, into in zip(found.dense, powers, strict=True):
            into[:, : piece.polynomial.coefficients.shape[1]] = piece.polynomial.coefficients
        yield "spans", ("piece", "span"), np.array([(piece.t0, piece.t1, piece.unit) for piece in found.dense])
        yield "powers", ("piece", "state", "order"), powers


@checked
def load_run(path: str | Path) -> Trajectory:
    """A run that `Trajectory.save` wrote as NetCDF (.nc), with everything that can be asked of it.

    >>> import dalembert as dl, tempfile
    >>> run = dl.simulate(dl.load("simple-pendulum"), 1.0, samples=11)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_run(run.save(Path(folder) / "run.nc"))
    >>> bool((again.q == run.q).all()), again.formalism, again.status
    (True, 'lagrange', 'The simulation reached its end.')
    """
    data = _dataset(Path(path))
    try:
        told = json.loads(data.attrs[_RECORD])
        if told["format"] != _FORMAT:
            raise InputError(f"'{path}' has format {told['format']}. This version reads format {_FORMAT}.")
        return _run(data, told)
    except DalembertError as error:
        raise InputError(f"'{path}': {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as error:
        raise InputError(
            f"'{path}' is not a run that can be read again ({type(error).__name__}: {error}). {_EXPECTED}"
        ) from error


def _dataset(path: Path) -> xarray.Dataset:
    """The content of a file whose checksum is right."""
    import xarray

    try:
        fault = checksum_fault(path)
    except OSError as error:
        raise InputError(f"'{path}' cannot be read as a run: {error}. {_EXPECTED}") from error
    if fault:
        raise InputError(f"'{path}' cannot be read as a run: it {fault}. {_EXPECTED}")
    try:
        return xarray.load_dataset(path)
    except Exception as error:
        raise InputError(f"'{path}' cannot be read as a run: {error}. {_EXPECTED}") from error


def _run(data: xarray.Dataset, told: Mapping[str, Any]) -> Trajectory:
    if "problem" in told:
        raise InputError(f"only the samples of this run were saved, since {told['problem']}")
    model = loads_toml(told["model"]).replaced(notes=tuple(map(str, told["model_notes"])))
    engine = told["engine"] if told["engine"] in ENGINES else None
    known = setup(model, engine, told["mode"], _chosen(model, told["choice"]))
    equations = derived(known, told["formalism"], float(told["alpha"]))
    if "recursion" in told:
        equations = TreeEquations(equations.derivation, **told["recursion"])
    equations = equations.with_parameters(told["changes"])
    held = Switchboard(equations).equations if told["held"] else None
    parts = tuple(_read_part(data, k, said, held or equations) for k, said in enumerate(told["parts"]))
    notes = tuple(str(note) for note in told["notes"])
    happened = tuple(_happened(said) for said in told["happened"])
    impulses = tuple(_impulse(said) for said in told.get("impulses", ()))
    rest = parts, str(told["integrator"]), float(told["cpu_seconds"]), notes, happened, held, impulses
    return TreeRun(equations, *rest) if isinstance(equations, TreeEquations) else Trajectory(equations, *rest)


def _chosen(model: Elements, said: Mapping[str, Any] | None) -> Choice | None:
    if said is None:
        return None
    rows, dependent = (tuple(int(i) for i in said.get(key, ())) for key in ("rows", "dependent"))
    speeds = tuple(model.formula(text) for text in said["speeds"])
    return Choice(speeds, rows, dependent, bool(said.get("steady", True)))


def _read_part(data: xarray.Dataset, k: int, said: Mapping[str, Any], equations: Equations) -> Part:
    choice, read = _chosen(equations.model, said["choice"]), _Numbers(data, k)
    chart = _read_chart(read, said, equations)
    base = equations if chart is None else equations_in(equations, chart.sequences)
    own = base if choice == base.derivation.setup.choice else base.with_choice(choice or Choice())
    states, samples = own.n_states + len(own.working), data.sizes.get(f"part{k}_sample", 0)
    t, y = read("t", samples), read("y", states, samples)
    count = 0 if isinstance(own, TreeEquations) else len(own.values) + len(own.form.constants.symbols)
    constants = read("constants", count, *[samples] * (data[f"part{k}_constants"].ndim - 1))
    end = (float(read("end_t")), read("end_y", states)) if f"part{k}_end_t" in data else None
    dense: tuple[Piece, ...] = ()
    if said["dense"]:
        spans = read("spans", None, 3)
        pairs = zip(spans.tolist(), read("powers", len(spans), states, None), strict=True)
        dense = tuple(Piece(t0, t1, unit, Polynomial(rows)) for (t0, t1, unit), rows in pairs)
    found = Solution(t, y, Status[said["status"]], said["steps"], said["evaluations"], dense, end)
    jumps = {str(name): float(energy) for name, energy in said["jumps"].items()}
    return Part(own, found, constants, Frozen(jumps), chart)


def _read_chart(read: _Numbers, said: Mapping[str, Any], equations: Equations) -> Chart | None:
    """The angles of a part that are not the user's."""
    if said.get("chart") is None:
        return None
    sequences = tuple(None if each is None else str(each) for each in said["chart"]["sequences"])
    known = iter(float(side) for side in said["chart"]["sides"])
    chart = chart_of(equations, sequences, [1.0 if each is None else next(known) for each in sequences])
    assert chart is not None
    times = read("chart_t", None)
    return replace(chart, times=times, angles=read("chart_angles", None, len(times)))


@dataclass(frozen=True)
class _Numbers:
    """Reads the arrays of one part, and names what is missing or has another type or shape."""

    data: xarray.Dataset
    part: int

    def __call__(self, name: str, *shape: int | None) -> np.ndarray:
        """The numbers of a variable; None stands for any length."""
        key = f"part{self.part}_{name}"
        if key not in self.data:
            raise InputError(f"the variable '{key}' is missing. {_EXPECTED}")
        found = self.data[key].to_numpy()
        if not np.issubdtype(found.dtype, np.floating):
            raise InputError(f"the variable '{key}' has the type {found.dtype}. Expected float64.")
        if len(shape) != found.ndim or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True)):
            expected = "×".join("n" if n is None else str(n) for n in shape) or "a single number"
            raise InputError(f"the variable '{key}' has the shape {found.shape}. Expected {expected}.")
        return found.astype(float, copy=False)
