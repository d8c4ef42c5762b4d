"""A run in a file: the model as text, the choices of its parts and their states, so that nothing is lost on the way back.

The text of the model is read as any model file is, so a file from a stranger can do no more than a model from a stranger.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.arguments import checked
from dalembert.errors import DalembertError, InputError
from dalembert.exporters import to_toml
from dalembert.handles.deriving import derived
from dalembert.handles.equations import Equations
from dalembert.handles.partition import Part
from dalembert.handles.rigid_contacts import Impulse
from dalembert.handles.switching import Happening, Switchboard
from dalembert.handles.trajectory import Trajectory
from dalembert.handles.tree_equations import TreeEquations
from dalembert.handles.tree_run import TreeRun
from dalembert.handles.workspace import setup
from dalembert.importers import loads_toml
from dalembert.integrators import Solution, Status
from dalembert.integrators.polynomial import Piece, Polynomial
from dalembert.model import Elements
from dalembert.model.frozen import Frozen
from dalembert.programs import ENGINES
from dalembert.structure import Choice

if TYPE_CHECKING:
    import xarray

_RECORD = "dalembert_run"
_FORMAT = 2
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
    return {"speeds": [str(formula) for formula in choice.speeds], "rows": choice.rows, "steady": choice.steady}


def _part(part: Part) -> dict[str, Any]:
    found = part.solution
    return {
        "choice": _choice(part.equations.derivation.setup.choice),
        "status": found.status.name,
        "steps": found.steps,
        "evaluations": found.evaluations,
        "dense": bool(found.dense),
        "jumps": dict(part.jumps),
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
    import xarray

    try:
        data = xarray.load_dataset(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"'{path}' cannot be read as a run: {error}. Expected a file that run.save(...) wrote."
        ) from error
    try:
        told = json.loads(data.attrs[_RECORD])
        if told["format"] != _FORMAT:
            raise InputError(f"'{path}' has format {told['format']}. This version reads format {_FORMAT}.")
        return _run(data, told)
    except DalembertError as error:
        raise InputError(f"'{path}': {error}") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(
            f"'{path}' is not a run that can be read again ({type(error).__name__}: {error}). "
            "Expected a .nc file that run.save(...) wrote."
        ) from error


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
    speeds = tuple(model.formula(text) for text in said["speeds"])
    return Choice(speeds, tuple(int(row) for row in said["rows"]), bool(said.get("steady", True)))


def _read_part(data: xarray.Dataset, k: int, said: Mapping[str, Any], equations: Equations) -> Part:
    choice = _chosen(equations.model, said["choice"])
    own = equations if choice == equations.derivation.setup.choice else equations.with_choice(choice or Choice())
    values = {name: data[f"part{k}_{name}"].to_numpy() for name in ("t", "y", "constants")}
    if len(values["y"]) != (expected := own.n_states + len(own.working)):
        raise ValueError(f"{len(values['y'])} states, works included, where the equations have {expected}")
    end = None
    if f"part{k}_end_t" in data:
        end = float(data[f"part{k}_end_t"]), data[f"part{k}_end_y"].to_numpy()
    dense: tuple[Piece, ...] = ()
    if said["dense"]:
        spans, powers = data[f"part{k}_spans"].to_numpy(), data[f"part{k}_powers"].to_numpy()
        pairs = zip(spans.tolist(), powers, strict=True)
        dense = tuple(Piece(t0, t1, unit, Polynomial(rows)) for (t0, t1, unit), rows in pairs)
    found = Solution(values["t"], values["y"], Status[said["status"]], said["steps"], said["evaluations"], dense, end)
    jumps = {str(name): float(energy) for name, energy in said["jumps"].items()}
    return Part(own, found, values["constants"], Frozen(jumps))
