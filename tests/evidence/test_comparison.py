"""Comparison of formulations: a failed run is a row with its reason, and speeds that fail are repartitioned."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.api.equations import Equations
from dalembert.errors import InputError, SimulationError
from dalembert.formalisms import catalog

KEYS = ["lagrange", "kane"]


@pytest.fixture
def failing_kane(monkeypatch):
    """Kane's simulations fail."""
    simulate = Equations.simulate

    def failing(self, *arguments, **options):
        if self.formalism == "kane":
            raise SimulationError("at t = 0.5 the step size fell to 1e-16, too small to continue.")
        return simulate(self, *arguments, **options)

    monkeypatch.setattr(Equations, "simulate", failing)


@pytest.mark.usefixtures("failing_kane")
def test_failed_formalism_is_a_row_with_its_reason():
    table = dl.compare("simple-pendulum", ["kane", "lagrange"], duration=1.0, samples=11)
    failed, known = table["kane"], table["lagrange"]
    assert table.failed == {"kane": "at t = 0.5 the step size fell to 1e-16, too small to continue."}
    assert (failed.n_dynamic, failed.n_states) == (1, 2)
    assert (failed.cpu_seconds, failed.energy_error) == (None, None)
    assert known.failure is None
    assert known.energy_error < 1e-12
    assert list(table.runs) == ["lagrange"]
    assert table.to_dict()["rows"][0]["failure"].startswith("at t = 0.5")
    line = next(line for line in str(table).splitlines() if line.startswith("kane"))
    assert line.split()[4:] == ["failed", "-", "-", "-"]
    assert "kane failed: at t = 0.5 the step size fell" in str(table)
    assert "kane failed: at t = 0.5 the step size fell" in table._repr_html_()
    assert len(table.plot("energy").axes) == 1


@pytest.mark.usefixtures("failing_kane")
def test_plot_without_runs_raises_an_error():
    table = dl.compare("simple-pendulum", ["kane"], duration=1.0, samples=11)
    assert table.failed
    with pytest.raises(InputError, match="no simulation of the comparison reached its end"):
        table.plot()


def test_integrator_limited_to_one_formalism_is_a_reason_for_the_others():
    # collocation integrates only the equations of phong
    table = dl.compare("phong-pendulum", ["lagrange", "phong"], duration=0.2, samples=5, integrator="collocation")
    assert list(table.runs) == ["phong"]
    assert "'collocation' requires equations with undifferentiated constraints" in table.failed["lagrange"]
    assert table.integrator == "collocation"


@pytest.mark.parametrize(
    ("options", "message"),
    [({"integrator": "ode45"}, "there is no integrator 'ode45'"), ({"parameters": {"mm": 1.0}}, "no parameter 'mm'")],
)
def test_invalid_input_raises_an_error(options, message):
    with pytest.raises(InputError, match=message):
        dl.compare("simple-pendulum", KEYS, duration=1.0, samples=11, **options)


def test_inapplicable_formalism_is_rejected_before_any_run(monkeypatch):
    monkeypatch.setattr(Equations, "simulate", lambda *_, **__: pytest.fail("a simulation was started"))
    model = dl.Model("free").coordinate("x").set_energies("dot(x)**2/2", "x")
    with pytest.raises(dl.NotApplicableError, match="gibbs_appell"):
        dl.compare(model, ["lagrange", "gibbs_appell"])


@pytest.mark.parametrize("integrator", ["taylor", "rk45"])
def test_speeds_are_repartitioned_without_drift_control(integrator):
    # dot(x) does not determine the motion of a knife edge perpendicular to x, at φ = 90°
    model = dl.load("knife-edge")
    model.generalized_speeds = ()
    model.speed("dot(x)", "u").speed("dot(phi)", "omega")
    table = dl.compare(model, ["lagrange", "kane", "volterra"], duration=4.0, samples=41, integrator=integrator)
    for key in ("kane", "volterra"):
        run = table.runs[key]
        assert (
            np.ptp(run.balance) < (1e-10 if integrator == "taylor" else 5e-3) * run.kinetic.max()
        )  # rk45: rtol is 1e-3
        assert any("speeds were repartitioned" in note for note in run.notes)
        assert np.abs(run.q - table.runs["lagrange"].q).max() < (1e-9 if integrator == "taylor" else 5e-3)


def test_feedback_instead_of_projection_still_repartitions_speeds():
    model = dl.load("crank-rocker")
    model.generalized_speeds = ()
    model.speed(f"dot({model.coordinate_names[-1]})", "u")  # the rocker reverses
    run = dl.derive(model, "maggi").simulate(2.0, samples=21, stabilization=(100.0, 20.0))
    known = dl.derive(model, "lagrange").simulate(2.0, samples=21)
    assert any("repartitioned" in note for note in run.notes)
    assert np.abs(run.q - known.q).max() < 1e-8


def test_table_of_all_formalisms_is_complete():
    table = dl.compare("knife-edge", samples=11)
    assert not table.failed
    assert len(table.rows) + len(table.refused) == len(catalog.KEYS)
    ends = np.array([run.q[:, -1] for run in table.runs.values()])
    assert np.abs(ends - ends[0]).max() < 1e-8
    assert max(row.energy_error for row in table) < 1e-10  # pyright: ignore[reportArgumentType]
