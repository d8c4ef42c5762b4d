"""Recursive tree runs against other formalisms, closed forms and the energy balance."""

import pickle
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, NotApplicableError

pytest.importorskip("llvmlite")

TIGHT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12}


def same(model, duration, key="lagrange", within=1e-8, **options):
    """The recursive run, compared with the explicit one."""
    known = dl.simulate(model, duration, formalism=key, integrator="dop853", samples=11, **TIGHT)
    found = dl.dynamics(model, **options).simulate(duration, samples=11, **TIGHT)
    assert np.abs(known.q[:, -1] - known.q[:, 0]).max() > 0.01
    assert np.abs(found.q - known.q).max() <= within
    for mine, theirs in ((found.kinetic, known.kinetic), (found.balance, known.balance)):
        assert np.abs((mine - mine[0]) - (theirs - theirs[0])).max() <= 1e-9 * np.abs(known.energy).max() + 1e-9
    return found, known


def test_rope_of_100_links_conserves_energy():
    run = dl.dynamics(dl.load("rope", links=100)).simulate(1.0, samples=51)
    assert run.energy_error <= 1e-8
    assert run.kinetic[-1] > 10
    assert run.potential[0] == 0  # all rods are level with the pin
    assert run.status == "The simulation reached its end."


def test_short_rope_agrees_with_another_formalism():
    found, known = same(dl.load("rope", links=8), 0.3, execution="rolled")
    assert np.abs(found.qd - known.qd).max() <= 1e-7
    assert np.abs(found.qdd - known.qdd).max() <= 1e-7 * np.abs(known.qdd).max()
    assert np.abs(found.potential - known.potential).max() <= 1e-10


def test_branched_rope_conserves_energy_and_momenta():
    model = dl.load("rope", links=20, strands=4)
    assert [body.name for body in model.bodies if body.parent == "rod20"] == ["rod21", "rod41", "rod61", "rod81"]
    run = dl.simulate(model, 0.2, formalism="denoc", samples=11)
    assert run.energy_error <= 1e-9
    weight = 100 * 0.05 * 9.81
    # the momentum is the mass times the rate at which the mass center rises
    height = run.potential / weight
    slope = np.gradient(height, run.t, edge_order=2) * 100 * 0.05
    assert np.abs(slope - run.linear_momentum[1])[1:-1].max() <= 0.02 * np.abs(run.linear_momentum[1]).max()


@pytest.mark.nightly
def test_rope_of_20_links_agrees_with_another_formalism():
    same(dl.load("rope"), 0.3, execution="rolled")


@pytest.mark.nightly
def test_rope_of_1000_links_conserves_energy_for_ten_seconds():
    run = dl.simulate(dl.load("rope", links=1000), 10.0, formalism="denoc", samples=101)
    assert run.energy_error <= 1e-8
    assert run.kinetic.max() > 1000


@pytest.mark.nightly
def test_rope_of_10000_links_conserves_energy():
    run = dl.simulate(dl.load("rope", links=10_000), 0.1, formalism="denoc", samples=11)
    assert run.energy_error <= 1e-8
    # so long a rope falls almost freely at first: the pin takes a few thousandths of its momentum
    assert run.linear_momentum[1, -1] == pytest.approx(-10_000 * 0.05 * 9.81 * 0.1, rel=1e-2)


@pytest.mark.nightly
def test_rolled_and_unrolled_runs_agree_for_61_links():
    model = dl.load("rope", links=61)
    rolled, unrolled = (dl.dynamics(model, execution=e).simulate(0.3, samples=4) for e in ("rolled", "unrolled"))
    assert np.abs(rolled.q - unrolled.q).max() <= 1e-8


@pytest.mark.parametrize("method", ["rk4", "rk45", "dop853"])
@pytest.mark.parametrize("execution", ["rolled", "unrolled"])
def test_every_explicit_integrator_supports_both_executions(method, execution):
    arm = dl.dynamics(dl.load("rope", links=5), execution=execution)
    options: dict[str, Any] = {"step": 1e-3} if method == "rk4" else {"rtol": 1e-9, "atol": 1e-9}
    run = arm.simulate(0.2, samples=5, integrator=method, **options)
    known = arm.simulate(0.2, samples=5, **TIGHT)
    assert run.integrator == method
    assert 0 < np.abs(run.q - known.q).max() <= 1e-5


def damped(n):
    """A chain whose joints have springs, dampers and a rotor."""
    model = dl.Model("chain", gravity=(0, -9.81, 0))
    for i in range(n):
        model.coordinate(f"q{i}", 0.3, 0.1)
    for i in range(n):
        parent: dict[str, Any] = {} if not i else {"parent": f"b{i - 1}"}
        hinge = model.revolute((0, 0, 1), f"q{i}", position=(0.2 if i else 0, 0, 0))
        model.body(f"b{i}", joint=hinge, mass=1, center=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01), **parent)
        model.joint_spring(f"b{i}", stiffness=2.0, damping=0.05)
    return model.rotor("b1", 0.001, ratio=5)


@pytest.mark.parametrize("execution", ["rolled", "unrolled"])
def test_work_of_loads(execution):
    found, known = same(damped(4), 0.5, execution=execution)
    assert list(found.work) == list(known.work)
    # springs count as loads here, and each returns its stored energy
    stored = known.q**2 - known.q[:, :1] ** 2
    for i, (name, lost) in enumerate(known.work.items()):
        assert np.allclose(found.work[name], lost - stored[i], atol=1e-7)
        assert np.allclose(found.power(name), known.power(name) - 2 * known.q[i] * known.qd[i], atol=1e-6)
    assert np.abs(found.work.total).max() > 0.1
    assert found.energy_error <= 1e-9


def test_quaternions_keep_their_norm():
    model = dl.Model("tops", gravity=(0, 0, -9.81)).coordinates(*(f"{c}{i}" for i in range(2) for c in "wxyz"))
    for i in range(2):
        ball = model.spherical(quaternion=[f"{c}{i}" for c in "wxyz"], position=(0, 0, 0.5 * i))
        parent: dict[str, Any] = {"parent": "b0"} if i else {}
        model.body(f"b{i}", joint=ball, mass=1, center=(0.1, 0, 0.3), inertia=(0.02, 0.03, 0.01), **parent)
    model.start([1, 0, 0, 0] * 2, [0, 0.5, 0, 2, 0, 0, -1, 0.5])
    for execution in ("rolled", "unrolled"):
        found, known = same(model, 0.5, execution=execution)
        assert found.v.shape == (6, 11)
        assert np.abs(found.qd - known.qd).max() <= 1e-7
        assert np.abs(found.momenta - known.momenta).max() <= 1e-7
        norms = np.linalg.norm(found.q.reshape(2, 4, -1), axis=1)
        assert np.abs(norms - 1).max() <= 1e-14
        assert found.energy_error <= 1e-9


def test_falling_stone_matches_the_closed_form():
    model = dl.Model("stone", gravity=(0, 0, -10)).coordinate("z", 5.0, 1.0)
    model.body("stone", joint=model.prismatic((0, 0, 1), "z"), mass=2)
    run = dl.dynamics(model).simulate(times=[0, 0.5, 1.0], q0={"z": 4}, t0=0)
    assert run.q[0] == pytest.approx(4 + run.t - 5 * run.t**2, abs=1e-12)
    assert run.energy == pytest.approx([81, 81, 81])
    assert run.qdd[0] == pytest.approx([-10, -10, -10])
    assert repr(run) == "<Trajectory of 'stone' by denoc, dop853: 3 samples from t = 0 to 1>"


def test_unsupported_models_and_options_are_reported():
    arm = dl.dynamics(dl.load("rope", links=3))
    with pytest.raises(
        InputError, match=r"got integrator 'taylor'. Expected an explicit method, auto, dop853, rk45, rk4"
    ):
        arm.simulate(1.0, integrator="taylor")
    with pytest.raises(InputError, match="has adaptive steps"):
        arm.simulate(1.0, step=0.1)
    with pytest.raises(NotApplicableError, match="Expected a tree of bodies for simulate"):
        dl.dynamics("four-bar").simulate(1.0)


def test_large_tree_with_denoc_is_evaluated_recursively():
    model = dl.load("rope", links=70)
    eom = dl.derive(model, "denoc")
    assert (eom.n_dynamic, eom.n_states, eom.constraint_names, eom.speeds) == (70, 140, (), {})
    assert eom.notes == ("evaluated recursively: the matrices of the equations are not formed",)
    rng = np.random.default_rng(3)
    q, qd = rng.normal(size=(2, 70, 3))
    expected = dl.dynamics(model).forward(q, qd)
    assert np.abs(eom.accelerations(q, qd) - expected).max() <= 1e-9 * np.abs(expected).max()
    run = eom.simulate(0.05, samples=6, parameters={"g": 5.0})
    assert run.energy_error <= 1e-9
    assert (run["q1"] == run.q[0]).all()
    assert (run["dot(q70)"] == run.qd[69]).all()
    assert run.violation.shape == run.multipliers.shape == (0, 6)
    again = pickle.loads(pickle.dumps(run))  # noqa: S301 (our own bytes)
    assert (again.q == run.q).all()
    assert (again.model, again.parameters) == (run.model, run.parameters)


def test_tree_momenta_equal_derivatives_of_the_energy():
    model = damped(3)
    found, known = same(model, 0.2, key="kane")
    for name in ("momenta", "linear_momentum", "angular_momentum"):
        assert np.abs(getattr(found, name) - getattr(known, name)).max() <= 1e-8


def test_recursive_run_is_saved_without_loss(tmp_path):
    pytest.importorskip("xarray")
    run = dl.simulate(dl.load("rope", links=61), 0.02, formalism="denoc", samples=3)
    again = dl.load_run(run.save(tmp_path / "run.nc"))
    assert (again.q == run.q).all()
    assert (again.kinetic == run.kinetic).all()
    header = run.save(tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    assert header[:2] + header[61:63] == ["time [s]", "q1 [rad]", "q61 [rad]", "dot(q1) [rad/s]"]
    assert "kinetic [J]" in header
    assert len(header) == len(set(header))


def test_missing_explicit_equations_are_reported():
    eom = dl.derive(dl.load("rope", links=70), "denoc")
    for ask in (lambda: eom.mass_matrix, lambda: eom.blocks, lambda: eom.ignorable, eom.latex, lambda: eom.operations):
        with pytest.raises(InputError, match=r"'rope' are evaluated recursively: 70 speeds .* Expected at most 60"):
            ask()
    for method in ("radau", "ida", "taylor"):
        with pytest.raises(InputError, match=f"got integrator '{method}'. Expected an explicit method"):
            eom.simulate(0.1, integrator=method)
    with pytest.raises(InputError, match="A tree has no constraints to stabilize"):
        eom.simulate(0.1, stabilization=(1.0, 1.0))
    with pytest.raises(InputError, match="runs by recursion have none"):
        eom.simulate(0.001, samples=2).joint_reactions()


def test_inaccurate_tree_run_is_noted():
    """Steps that are too long for a falling rope: the energy drifts by more than the method allows."""
    rope = dl.dynamics(dl.load("rope", links=20))
    assert not rope.simulate(0.5, samples=11).notes
    (note,) = rope.simulate(0.5, samples=11, integrator="rk4", step=0.005).notes
    assert note.startswith("check: energy minus work drifts by ")
    assert note.endswith("that the method allows; reduce step")


def test_missing_work_of_rheonomic_joints_is_noted():
    model = dl.Model("shaken", gravity=(0, -9.81, 0)).coordinates("a")
    support = [model.prismatic((1, 0, 0), "0.3*sin(2*t)"), model.revolute((0, 0, 1), "a")]
    model.body("rod", joint=support, mass=1, center=(0, -1, 0))
    run = dl.dynamics(model).simulate(1.0, samples=11)
    known = dl.simulate(model, 1.0, samples=11, integrator="dop853")
    assert np.abs(run.q - known.q).max() < 1e-8
    assert run.notes == (
        "the joints of 'rod' are rheonomic: the recursion does not compute their work, so the energy balance omits it",
    )
