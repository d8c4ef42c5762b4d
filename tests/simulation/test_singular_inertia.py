"""Singular coordinates along a run are named, whether a step ends at the singularity or crosses it."""

from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import SimulationError
from dalembert.mechanics.facts import may_become_singular


def top_by_energies() -> dl.Model:
    """The gallery's heavy top defined by energies, without joints."""
    return dl.Model.from_energies(
        "top by energies",
        coordinates=["psi", "theta", "phi"],
        parameters={"A": 15.234375, "C": 0.46875, "w": 147.15},
        kinetic="A*(dot(theta)**2 + (dot(psi)*cos(theta))**2)/2 + C*(dot(phi) + dot(psi)*sin(theta))**2/2",
        potential="w*sin(theta)",
    ).start([0, 0, 0], [-4.61538, 0, 150])


@pytest.mark.parametrize("integrator", ["dop853", "rk4"])
def test_energy_model_stops_at_gimbal_lock_and_names_the_angles(integrator):
    step: dict[str, Any] = {"step": 1e-4} if integrator == "rk4" else {}
    with pytest.raises(SimulationError, match=r"t = 0\.37.* singularity of the coordinates psi, phi.*quaternion"):
        dl.derive(top_by_energies(), "lagrange").simulate(0.5, samples=11, integrator=integrator, **step)


def polar(rate: float) -> dl.Model:
    """A free particle in polar coordinates; the rate of its angle sets its distance from the pole."""
    model = dl.Model.from_energies("polar", coordinates=["r", "phi"], kinetic="(dot(r)**2 + r**2*dot(phi)**2)/2")
    return model.start([1, 0], [-1, rate]).simulation(duration=2.0)


def test_motion_through_the_pole_is_noted():
    eom = dl.derive(
        dl.Model.from_energies("polar", coordinates=["r", "phi"], kinetic="(dot(r)**2 + r**2*dot(phi)**2)/2").start(
            [1.0, 0], [-1, 0]
        )
    )
    run = eom.simulate(times=np.linspace(0.0, 1.9, 40), integrator="taylor")
    assert run.q[0, -1] == pytest.approx(-0.9)
    assert any("singularity of the coordinates phi at t = 1" in note for note in run.notes)


def test_motion_away_from_the_pole_has_no_note():
    run = dl.derive(polar(0.5)).simulate(2.0, samples=41)
    t = run.t
    assert np.abs(run.q[0] - np.hypot(1 - t, 0.5 * t)).max() < 1e-9
    assert run.notes == ()


def test_bodies_with_inertia_are_not_monitored():
    monitored = {
        name: may_become_singular(dl.load(name).description) for name in ("double-pendulum", "heavy-top", "puma560")
    }
    assert not any(monitored.values())
    assert may_become_singular(top_by_energies().description)
