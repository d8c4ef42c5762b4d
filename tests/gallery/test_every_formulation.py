"""Every formulation that applies to a gallery model simulates it for its duration with the default integrator.

Daily: one model with the formulations that project or use speeds. Nightly: all models with all formulations. Models with
more than `LARGE` coordinates use only formulations whose equations compile quickly for large systems, since the others take
minutes. Runs named in `SHORTER` end before the model's duration, since they take minutes to integrate.
"""

from collections.abc import Sequence

import numpy as np
import pytest

import dalembert as dl
from dalembert.formalisms import catalog
from dalembert.io import gallery
from dalembert.simulation.workspace import setup, workspace_of

LARGE = 9
SHORTER = {
    "escapement": 10.0,
    "rope": 0.2,
    "biped-legged": 0.5,
    "hexapod": 1.0,
    "quadruped": 1.0,
    "stewart-platform": 1.0,
}
ENERGY = 1e-8  # drift of energy minus work, of the energies that are exchanged; models may select rk4 or dop853
VIOLATION = 1e-9  # of the constraints, after projection
AGREEMENT = 1e-6  # of positions, at a quarter of the run, where motions that part later still agree
# across branch points velocities do not follow from speeds, so steps of rk4 near one are rejected or less accurate;
# taylor avoids them
IN_SPEEDS = ("kane", "gibbs_appell", "boltzmann_hamel", "volterra", "volterra_reduced")
TAYLOR = {(name, key) for name in ("slider-crank", "n-four-bar") for key in IN_SPEEDS}


def applicable(model: dl.Model) -> list[str]:
    space = workspace_of(setup(model))
    found = catalog.applicable(space.model, space.facts)
    if len(space.model.coordinate_names) <= LARGE:
        return list(found)
    return [key for key in found if key == "lagrange" or catalog.find(key).ABOUT.compiles != "small"]


def failures(name: str, duration: float | None, keys: Sequence[str] = ()) -> list[str]:
    """Problems of the runs of a gallery model, as messages."""
    model, found = dl.load(name), []
    servo = any(workspace_of(setup(model)).facts.levels.servo)  # servo constraints converge over time
    early: np.ndarray | None = None
    for key in keys or applicable(model):
        try:
            run = dl.derive(model, key).simulate(duration, integrator="taylor" if (name, key) in TAYLOR else None)
        except dl.DalembertError as error:
            found.append(f"{name} by {key}: {error}")
            continue
        here = run.q[:, len(run.t) // 4]
        early = here if early is None else early
        drift = np.abs(run.balance - run.balance[0]).max() / (np.abs(run.kinetic).max() + np.ptp(run.potential))
        if not drift < ENERGY:
            found.append(f"{name} by {key}: energy drift {drift:.1e}")
        if not servo and not (run.constraint_error or 0.0) < VIOLATION:
            found.append(f"{name} by {key}: violation {run.constraint_error:.1e}")
        if not np.abs(here - early).max() < AGREEMENT * max(1.0, np.abs(early).max()):
            found.append(f"{name} by {key}: off the first by {np.abs(here - early).max():.1e}")
    return found


def test_projections_and_speeds_pass_zeros_of_their_initial_choices():
    assert failures("planar-four-bar", 1.0, ["lagrange", "phong", "nullspace", "kane"]) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", gallery.names())
def test_all_formulations_simulate(name):
    assert failures(name, SHORTER.get(name)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", gallery.names())
def test_compare_gives_a_complete_table(name):
    model = dl.load(name)
    keys = applicable(model)
    table = dl.compare(model, keys, duration=model.duration / 50, samples=5, integrator="dop853")
    assert table.failed == {}
    assert [row.formalism for row in table] == keys
    assert all(np.isfinite(row.energy_error) for row in table)  # pyright: ignore[reportArgumentType, reportCallIssue]
