"""Laws in Python along runs: against the same laws as formulas, and against exact solutions in discrete time."""

import pickle

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, NotApplicableError
from dalembert.io.toml_writer import to_toml


def servo(t, state):
    return -4 * state["theta1"] - 2 * state["dot(theta1)"]


def pendulum(law=servo, **how):
    return dl.load("double-pendulum").copy().actuator("upper", law=law, name="servo", **how)


def block(law=None, mass=2.0, **how):
    """A double integrator that starts at x = 1 with 0.5 m/s."""
    model = dl.Model("block").coordinate("x", 1.0, 0.5, unit="m")
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=mass)
    return model if law is None else model.actuator("block", law=law, name="push", **how)


def steps(acceleration, times):
    """x and v of a double integrator along times, with the acceleration from each of them to the next."""
    x, v, out = 1.0, 0.5, [(1.0, 0.5)]
    for a, h in zip(acceleration, np.diff(times), strict=False):
        x, v = x + v * h + a * h * h / 2, v + a * h
        out.append((x, v))
    return np.array(out).T


@pytest.mark.parametrize("formalism", ["lagrange", "kane", "hamilton"])
def test_python_law_equals_the_same_formula(formalism):
    same = dl.load("double-pendulum").copy().actuator("upper", "-4*theta1 - 2*dot(theta1)", name="servo")
    expected = dl.simulate(same, 2.0, samples=9)
    run = dl.simulate(pendulum(), 2.0, formalism=formalism, samples=9)
    assert run.integrator == "dop853"
    assert np.abs(run.q - expected.q).max() < 3e-9
    assert np.abs(run.inputs["servo"] - expected.drives["servo"]).max() < 3e-8
    assert np.array_equal(run.inputs["servo"], run.drives["servo"])
    assert np.array_equal(run.inputs["servo"], run.load_forces["servo"][0])
    assert run.energy_error < 1e-8


def test_equations_evaluate_continuous_laws_at_states():
    same = dl.load("double-pendulum").copy().actuator("upper", "-4*theta1 - 2*dot(theta1)", name="servo")
    q, qd = np.random.default_rng(3).normal(size=(2, 2, 4))
    found, expected = dl.derive(pendulum(), "lagrange"), dl.derive(same, "lagrange")
    assert np.array_equal(found.accelerations(q, qd), expected.accelerations(q, qd))
    assert np.array_equal(found.accelerations(q[:, 0], qd[:, 0]), expected.accelerations(q[:, 0], qd[:, 0]))
    forces = [eom.joint_reactions(q, qd)["upper"].moment for eom in (found, expected)]
    assert np.allclose(*forces, atol=1e-13)


def test_vectorized_laws_receive_batches():
    seen = []

    def law(t, state):
        seen.append(np.shape(t))
        return servo(t, state)

    model = pendulum(law, vectorized=True)
    q, qd = np.random.default_rng(3).normal(size=(2, 2, 4))
    assert np.array_equal(dl.derive(model).accelerations(q, qd), dl.derive(pendulum()).accelerations(q, qd))
    assert seen == [(4,)]


def test_force_law_equals_the_same_formula():
    def pushed(**how):
        model = dl.load("double-pendulum").copy()
        return model.force("lower", point=(0.1, -0.2, 0), frame="upper", name="wind", **how)

    run = dl.simulate(pushed(law=lambda t, state: (t, -state["theta2"], 0.0)), 1.0, samples=5)
    expected = dl.simulate(pushed(force=("t", "-theta2", 0)), 1.0, samples=5)
    assert np.abs(run.q - expected.q).max() < 1e-9
    assert np.allclose(run.inputs["wind"][:2], [run.t, -run["theta2"]])
    assert np.allclose(run.load_forces["wind"], expected.load_forces["wind"], atol=1e-8)


@pytest.mark.parametrize("formalism", ["hamilton", pytest.param("lagrange", marks=pytest.mark.nightly)])
def test_numba_laws_run_in_machine_code(formalism):
    """In q̇, and in momenta that velocities follow from: the same to the last bit."""
    numba = pytest.importorskip("numba")

    def law(t, q, qd, out):
        out[0] = -4 * q[0] - qd[0] + t

    compiled = dl.derive(block(numba.njit(law)), formalism)
    times = []
    plain = block(lambda t, s: times.append(t) or -4 * s.q[0] - s.qd[0] + t)
    run, expected = compiled.simulate(2.0, samples=5), dl.derive(plain, formalism).simulate(2.0, samples=5)
    assert np.array_equal(run.q, expected.q)
    assert np.array_equal(run.inputs["push"], expected.inputs["push"])
    assert len(times) > 100
    with pytest.raises(InputError, match=r"Expected law\(t, q, qd, out\)"):
        block(numba.njit(lambda t, q: 0.0))


@pytest.mark.parametrize("integrator", ["dop853", "rk45", "rk4"])
@pytest.mark.parametrize("by", ["time", "state"])
def test_compiled_law_that_returns_nan_is_reported(integrator, by):
    numba = pytest.importorskip("numba")

    def in_time(t, q, qd, out):
        out[0] = np.nan if t > 0.6 else 1.0

    def in_state(t, q, qd, out):
        out[0] = np.sqrt(1.5 - q[0])

    law = in_time if by == "time" else in_state
    with pytest.raises(InputError, match=r"the law of 'push' at t = [0-9.]+ returned nan\. Expected finite numbers"):
        dl.simulate(block(numba.njit(law)), 2.0, integrator=integrator)


# sampled


@pytest.mark.parametrize("integrator", [None, "dop853", "rk45", "rk4", "radau"])
def test_sampled_law_uses_zero_order_hold(integrator):
    """The zero-order hold of a double integrator has an exact solution, sample by sample."""
    h, count = 0.05, 40
    k, d = 6.0, 4.0
    run = dl.simulate(
        block(lambda t, s: -k * s["x"] - d * s["dot(x)"], period=h),
        count * h,
        samples=count + 1,
        integrator=integrator,
    )
    A, B = np.array([[1, h], [0, 1]]), np.array([h * h / 2, h]) / 2.0
    state, out = np.array([1.0, 0.5]), []
    for _ in range(count + 1):
        out.append(state)
        state = A @ state + B * (-k * state[0] - d * state[1])
    expected = np.array(out).T
    assert np.abs(np.stack([run["x"], run["dot(x)"]]) - expected).max() < 1e-9
    assert np.abs(run.inputs["push"][:-1] - (-k * expected[0] - d * expected[1])[:-1]).max() < 1e-9
    assert np.abs(run.balance - run.balance[0]).max() < 1e-9


@pytest.mark.parametrize("delay", [0.02, 0.05, 0.13])
def test_sampled_law_acts_after_its_delay(delay):
    h, end = 0.05, 1.0
    run = dl.simulate(block(lambda t, s: 10 * np.cos(7 * t), period=h, delay=delay), end, samples=201)
    instants = [0.0, *(k * h + delay for k in range(20) if k * h + delay < end - 1e-9), end]
    given = [0.0, *(10 * np.cos(7 * k * h) for k in range(20))]
    x, _ = steps(np.array(given) / 2.0, instants)
    assert abs(run["x"][-1] - x[-1]) < 1e-9
    before = run.t < delay - 1e-9
    assert (run.inputs["push"][before] == 0).all()
    assert run.inputs["push"][np.searchsorted(run.t, delay - 1e-9)] == 10.0


class Counter:
    """A spring that records the times of its calls."""

    def __init__(self):
        self.begun, self.times = 0, []

    def reset(self, t0, state):
        self.begun, self.times = self.begun + 1, []

    def __call__(self, t, state):
        self.times.append(t)
        return -200.0 * (state["x"] - 1.0)


def test_laws_are_called_once_per_sample_in_order_of_time():
    """Also across events that end a segment, and in steps that are shortened and repeated."""
    law = Counter()
    model = block(law, period=0.05)
    model.event("bounce", when="x - 1.02", direction="both", reset={"x": "-dot(x)"})
    run = dl.simulate(model, 1.0, samples=7, integrator="dop853")
    assert len(run.events) > 1
    assert np.allclose(law.times, 0.05 * np.arange(20), rtol=0, atol=1e-12)
    first = run.q.copy()
    again = dl.simulate(model, 1.0, samples=7, integrator="dop853")
    assert law.begun == 2
    assert np.array_equal(again.q, first)


def test_laws_receive_states_that_satisfy_the_constraints():
    model, seen = dl.load("four-bar").copy(), []
    names = model.coordinate_names

    def law(t, state):
        seen.append((t, state.q.copy(), state.qd.copy()))
        return 0.3 - 0.1 * state.qd[0]

    model.actuator(model.bodies[0].name, law=law, period=0.02, name="crank motor")
    run = dl.simulate(model, 0.4, samples=21)
    assert len(seen) == 20
    assert len(seen[0][1]) == len(names)
    eom = dl.derive(model, "lagrange")
    phi, psi, _, _ = eom.workspace.manifold.evaluate(
        np.stack([q for _, q, _ in seen], axis=1), np.stack([v for *_, v in seen], axis=1), np.zeros(20), eom.values
    )
    assert max(np.abs(phi).max(), np.abs(psi).max()) < 1e-11
    assert np.abs(run.balance - run.balance[0]).max() < 1e-9 * np.abs(run.energy).max()


def test_laws_have_independent_sample_times():
    fast, slow = Counter(), Counter()
    model = block(fast, period=0.05).force("block", law=lambda t, s: (slow(t, s), 0, 0), period=0.1, delay=0.03)
    run = dl.simulate(model, 0.4, samples=5)
    assert len(fast.times) == 8
    assert len(slow.times) == 4
    assert set(run.inputs) == {"push", "force2"}


def test_one_law_drives_several_joints_within_limits():
    model = dl.load("double-pendulum").copy()
    model.actuator(("upper", "lower"), law=lambda t, s: -50 * s.q, limit=3, period=0.01, name="arm")
    run = dl.simulate(model, 0.5, samples=6)
    assert list(run.inputs) == ["arm of upper", "arm of lower"]
    for (name, given), row in zip(run.inputs.items(), run.q, strict=True):
        assert np.allclose(given[:-1], -50 * row[:-1], atol=1e-9)
        assert np.array_equal(run.drives[name], np.clip(given, -3, 3))
    assert run.drives["arm of upper"].min() == -3.0


def test_inputs_are_recorded_with_names_and_units(tmp_path):
    run = dl.simulate(block(lambda t, s: 2 * t, period=0.1), 1.0, samples=11)
    table = run.to_dataframe()
    assert table["u(push)"].to_list() == run.inputs["push"].tolist()
    assert table.attrs["units"]["u(push)"] == "N"
    assert "u(push) [N]" in run.save(tmp_path / "run.csv").read_text().splitlines()[0]
    run.save(tmp_path / "run.nc")
    with pytest.raises(InputError, match=r"only the samples .* Python control law"):
        dl.load_run(tmp_path / "run.nc")


# functions that need formulas


def test_inputs_are_symbols_in_equations_and_proofs():
    model = pendulum()
    assert "u_servo" in str(dl.derive(model, "lagrange"))
    assert "u_{\\mathrm{servo}}" in dl.derive(model, "lagrange").latex()
    proof = dl.prove(model, ["lagrange", "kane"])
    assert proof.proved
    assert proof.parameters == "all values"


def test_verify_notes_that_laws_are_not_evaluated():
    found = dl.verify(block(lambda t, s: 1 / 0), states=3, engines=["python"])
    assert found.agrees
    assert any("the law of 'push' is not a formula and is not evaluated" in note for note in found.notes)


def twice_as_much(t, state):
    return 2.0


def test_runs_and_equations_with_picklable_laws_pickle():
    run = dl.simulate(block(twice_as_much), 0.5, samples=3)
    assert np.array_equal(pickle.loads(pickle.dumps(run)).inputs["push"], run.inputs["push"])  # noqa: S301
    with pytest.raises(
        InputError, match=r"the law of 'push' cannot be pickled .* Define it as a function or a class of a module"
    ):
        pickle.dumps(block(lambda t, s: 0.0).description)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "neither an effort nor a law"),
        ({"effort": "x", "law": twice_as_much}, "both an effort and a law"),
        ({"effort": "x", "period": 0.1}, "need a control law in Python"),
        ({"law": 3.0}, r"Expected a function law\(t, state\)"),
        ({"law": twice_as_much, "period": -1.0}, "Expected a positive number of seconds"),
        ({"law": twice_as_much, "period": 0.1, "delay": -1.0}, "a number >= 0"),
        ({"law": twice_as_much, "delay": 0.1}, "there is no period"),
        ({"law": Counter()}, "it has internal state"),
    ],
)
def test_invalid_laws_are_rejected(how, message):
    with pytest.raises(InputError, match=message):
        block().actuator("block", **how)


@pytest.mark.parametrize("bodies", [5, (), [3]])
def test_actuators_require_names_of_bodies(bodies):
    with pytest.raises(InputError, match="Expected the name of a body, or several"):
        block().actuator(bodies, law=twice_as_much)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("formalism", "integrator"),
    [
        ("lagrange", "rk4"),
        ("lagrange", "radau"),
        ("lagrange", "ida"),
        ("phong", "collocation"),
        *(
            (formalism, None)
            for formalism in ("kane", "volterra_reduced", "dirac", "hamilton", "newton_euler", "maggi")
        ),
    ],
)
def test_every_integrator_and_formalism_supports_sampled_laws(formalism, integrator):
    """A closed control loop with every formalism and integrator, against lagrange and dop853."""
    if integrator == "ida":
        pytest.importorskip("sksundae")
    model = dl.load("four-bar").copy()
    model.actuator(model.bodies[0].name, law=lambda t, s: 0.3 - 0.1 * s.qd[0], period=0.02)
    expected = dl.simulate(model, 0.4, samples=5, formalism="lagrange", integrator="dop853")
    run = dl.simulate(model, 0.4, samples=5, formalism=formalism, integrator=integrator)
    assert np.abs(run.q - expected.q).max() < 1e-8
    assert run.energy_error < 1e-8


def test_forces_require_a_law_or_formulas():
    with pytest.raises(InputError, match="both a law and formulas"):
        block().force("block", (1, 0, 0), law=twice_as_much)
    with pytest.raises(InputError, match="no law"):
        block().torque("block", (1, 0, 0), period=0.1)
    with pytest.raises(InputError, match="got neither"):
        block().force("block")


def test_torque_law_equals_the_same_formula():
    def wheel(**how):
        model = dl.Model("wheel").coordinate("a", 0.3)
        model.body("wheel", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(1, 1, 2))
        return model.torque("wheel", name="wind", **how)

    run = dl.simulate(wheel(law=lambda t, s: (0, 0, -3 * s["a"])), 1.0, samples=5)
    assert np.allclose(run["a"], 0.3 * np.cos(np.sqrt(1.5) * run.t), atol=1e-9)
    assert np.allclose(run.load_forces["wind"][2], -3 * run["a"], atol=1e-12)


def test_functions_that_need_formulas_reject_laws():
    model = block(twice_as_much)
    with pytest.raises(InputError, match="the integrator 'taylor' needs formulas, but the law of 'push'"):
        dl.simulate(model, 1.0, integrator="taylor")
    with pytest.raises(InputError, match="'push' is a Python control law, and a file can contain only formulas"):
        to_toml(model)
    with pytest.raises(NotApplicableError, match=r"dynamics: 'push' .* pass the output of the law as tau"):
        dl.dynamics(model)
    with pytest.raises(InputError, match="sampled and held, so its input is not a function of the state"):
        dl.derive(block(twice_as_much, period=0.1)).accelerations([0.0], [0.0])
    assert dl.position(model, [0.5], "block")[0] == 0.5
    with pytest.raises(InputError, match="there is no parameter"):
        model.event("e", when="x", set={"u(push)": 1})


def test_inputs_with_a_law_are_not_parameters():
    eom = dl.derive(block(twice_as_much))
    assert eom.parameters == {}
    with pytest.raises(InputError, match=r"u\(push\) is computed by the law of 'push'"):
        eom.with_parameters({"u(push)": 3.0})
    alone = dl.derive(block(twice_as_much).without_controllers())
    assert alone.with_parameters({"u(push)": 3.0}).accelerations([0.0], [0.0])[0] == 1.5


def test_wrong_outputs_of_laws_are_reported():
    with pytest.raises(InputError, match=r"the law of 'push' at t = 0 returned 'fast'. Expected one number"):
        dl.simulate(block(lambda t, s: "fast"), 1.0)
    with pytest.raises(InputError, match="Expected 3 numbers"):
        dl.simulate(block().force("block", law=lambda t, s: (1, 2)), 1.0)
    with pytest.raises(InputError, match=r"the law of 'push' at t = 0\.1 returned nan"):
        dl.simulate(block(lambda t, s: np.nan if t > 0.05 else 0.0, period=0.1), 1.0)
    with pytest.raises(InputError, match="the state has no 'y'"):
        dl.simulate(block(lambda t, s: s["y"]), 1.0)


# side effects and wrong values of laws


@pytest.mark.parametrize(
    "how", [{}, {"period": 0.1}, {"vectorized": True}], ids=["continuous", "sampled", "vectorized"]
)
@pytest.mark.parametrize("name", ["q", "qd"])
def test_law_cannot_change_the_state(name, how):
    """Before, `state.q[:] = 99` changed the motion."""

    def law(t, state):
        getattr(state, name)[:] = 99.0
        return 0.0 * np.asarray(t)

    with pytest.raises(ValueError, match="read-only"):
        dl.simulate(block(law, **how), 1.0, samples=3)


def test_law_cannot_change_the_state_at_reset():
    class Law:
        def reset(self, t0, state):
            state.q[:] = 99.0

        def __call__(self, t, state):
            return 0.0

    with pytest.raises(ValueError, match="read-only"):
        dl.simulate(block(Law(), period=0.1), 1.0, samples=3)


def test_compiled_law_cannot_change_its_arguments():
    numba = pytest.importorskip("numba")

    @numba.njit
    def law(t, q, qd, out):
        out[0] = -q[0]
        q[0], qd[0] = 99.0, 99.0

    model = block(law)
    exact = np.cos(np.sqrt(0.5) * 1.0) + 0.5 / np.sqrt(0.5) * np.sin(np.sqrt(0.5) * 1.0)
    assert dl.simulate(model, 1.0, samples=3).q[0, -1] == pytest.approx(exact, abs=1e-8)
    state = np.array([1.0]), np.array([0.5])
    assert dl.derive(model, "lagrange").accelerations(*state) == pytest.approx([-0.5])
    assert state[0] == [1.0]


WRONG = [
    None,
    "3.0",
    "three",
    float("nan"),
    float("inf"),
    [1.0, 2.0],
    [],
    {},
    [[1.0]],
    1j,
    object(),
    [None],
    np.array("3"),
]


@pytest.mark.parametrize("how", [{}, {"period": 0.25}], ids=["continuous", "sampled"])
@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__ + str(value)[:5])
def test_wrong_value_is_reported_with_law_and_time(value, how):
    def law(t, state):
        return value if t >= 0.5 else 0.0

    with pytest.raises(
        InputError, match=r"the law of 'push' at t = 0\.[5-9]\d* returned .+\. Expected (one number|finite)"
    ):
        dl.simulate(block(law, **how), 1.0, samples=3)


def test_wrong_value_in_a_batch_is_reported_with_its_time():
    def law(t, state):
        return np.where(np.asarray(t) > 0.6, np.nan, 0.0)

    eom = dl.derive(block(law, vectorized=True), "lagrange")
    with pytest.raises(InputError, match=r"the law of 'push' at t = 0\.75 returned nan\. Expected finite numbers"):
        eom.accelerations(np.ones((1, 4)), np.ones((1, 4)), np.array([0.25, 0.5, 0.75, 1.0]))


@pytest.mark.parametrize("value", [2, np.float32(2), True, np.array(2.0), np.array([2]), [2.0], (2,)], ids=repr)
def test_every_real_number_is_accepted(value):
    model = block(lambda t, state: value)
    expected = 1.0 + 0.5 + float(np.ravel(value)[0]) / 2.0 / 2
    assert dl.simulate(model, 1.0, samples=2).q[0, -1] == pytest.approx(expected, abs=1e-9)
