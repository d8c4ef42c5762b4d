"""Facts that hold at special parameter values only, times everything that changes parameters.

Every model here has a fact (an ignorable coordinate, the rank of its constraints, a singular mass matrix, a pivot) that holds at
one value of a parameter. The value is changed through each channel, and the motion is compared with one that is written by hand
and integrated by SciPy. A change may also be refused, but then the message names the parameter.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.errors import DalembertError
from dalembert.formalisms.catalog import KEYS

END, MIDDLE = 1.0, 0.4
Motion = Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Case:
    """A model with a parameter, a special value of it and another one; `motion` gives M, f, A and β by hand."""

    make: Callable[[float], dl.Model]
    name: str
    special: float
    other: float
    motion: Motion
    q: tuple[float, float]
    qd: tuple[float, float]
    after: tuple[float, float] | None = None  # velocities that serve both values, where those of `qd` do not

    def model(self, value: float) -> dl.Model:
        return self.make(value).start(list(self.q), list(self.qd if self.after is None else self.after))

    def rates(self, t: float, y: np.ndarray, value: float) -> np.ndarray:
        q, qd = y[:2], y[2:]
        M, f, A, beta = self.motion(q, qd, value)
        r = len(A)
        matrix = np.block([[M, -A.T], [A, np.zeros((r, r))]])
        solved = np.linalg.lstsq(matrix, np.concatenate([f, beta]), rcond=1e-12)[0]
        return np.concatenate([qd, solved[:2]])

    def reference(self, *pieces: tuple[float, float]) -> np.ndarray:
        """The positions at the end of pieces (duration, value), by SciPy."""
        y = np.concatenate([self.q, self.qd if self.after is None else self.after])
        for duration, value in pieces:
            y = solve_ivp(self.rates, (0, duration), y, "DOP853", args=(value,), rtol=1e-11, atol=1e-12).y[:, -1]
        return y[:2]


NONE, NOTHING = np.zeros((0, 2)), np.zeros(0)
M2 = np.array([[2.0, 1.0], [1.0, 1.0]])


def two_carts(**parameters: float) -> dl.Model:
    """A cart of 1 kg and a second one of 1 kg that slides on it, with a spring of 5 N/m between them."""
    model = dl.Model("carts").parameters(parameters).coordinates("x", "y")
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.body("rider", parent="cart", joint=model.prismatic((1, 0, 0), "y"), mass=1)
    return model.joint_spring("rider", stiffness=5)


def tilted(g: float) -> dl.Model:
    model = dl.Model("slope", gravity=("g", 0, 0)).parameters(g=g).coordinates("x", "y")
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.body("rider", parent="cart", joint=model.prismatic((0, 1, 0), "y"), mass=1)
    return model.joint_spring("rider", stiffness=5)


def energies(kinetic: str, potential: str = "5*y**2/2", **parameters: float) -> dl.Model:
    return dl.Model.from_energies(
        "energies", coordinates=["x", "y"], kinetic=kinetic, potential=potential, parameters=parameters
    )


def plane(**parameters: float) -> dl.Model:
    """A particle of 1 kg in a plane, under a force (1, 2) N."""
    model = dl.Model("plane").parameters(parameters).coordinates("x", "y")
    model.body("p", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    return model.force("p", (1, 2, 0), name="wind")


def free(M: npt.ArrayLike, f: list[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return np.asarray(M, dtype=float), np.array(f, dtype=float), NONE, NOTHING


def tied(rows: list[list[float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return np.eye(2), np.array([1.0, 2.0]), np.array(rows), np.zeros(len(rows))


def skewed_speeds(p: float) -> dl.Model:
    return plane(p=p).speeds("(1 + p*sin(x))*dot(x) + dot(y)", "-dot(x) + (1 + p*sin(x))*dot(y)")


def light_rider(m: float) -> dl.Model:
    model = dl.Model("light").parameters(m=m).coordinates("x", "y")
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.body("rider", joint=model.prismatic((1, 0, 0), "y"), mass="m")
    return model.joint_spring("rider", stiffness=5).holonomic("x - y", name="rod")


CASES = {
    "force": Case(
        lambda v: two_carts(F=v).force("cart", ("F", 0, 0), name="push"),
        *("F", 0.0, 3.0),
        lambda q, qd, F: free(M2, [F, -5 * q[1]]),
        *((0.1, 0.3), (0.43, 0.0)),
    ),
    "stiffness": Case(
        lambda v: two_carts(k=v).joint_spring("cart", stiffness="k"),
        *("k", 0.0, 2.0),
        lambda q, qd, k: free(M2, [-k * q[0], -5 * q[1]]),
        *((0.1, 0.3), (0.43, 0.0)),
    ),
    "friction": Case(
        lambda v: two_carts(c=v).joint_friction("cart", viscous="c"),
        *("c", 0.0, 0.7),
        lambda q, qd, c: free(M2, [-c * qd[0], -5 * q[1]]),
        *((0.1, 0.3), (0.43, 0.0)),
    ),
    "slope": Case(
        tilted,
        *("g", 0.0, 1.5),
        lambda q, qd, g: free(np.diag([2.0, 1.0]), [2 * g, -5 * q[1]]),
        *((0.1, 0.3), (0.43, 0.0)),
    ),
    "eccentricity": Case(
        lambda v: energies("dot(x)**2*(1 + e*cos(x))/2 + dot(y)**2/2 + dot(x)*dot(y)/4", e=v),
        *("e", 0.0, 0.6),
        lambda q, qd, e: free(
            [[1 + e * np.cos(q[0]), 0.25], [0.25, 1.0]], [e * np.sin(q[0]) * qd[0] ** 2 / 2, -5 * q[1]]
        ),
        *((0.4, 0.3), (0.9, 0.0)),
    ),
    "equal inertias": Case(
        lambda v: energies("(A*cos(x)**2 + B*sin(x)**2)*dot(y)**2/2 + dot(x)**2/2", A=0.5, B=v),
        *("B", 0.5, 0.8),
        lambda q, qd, B: free(
            np.diag([1.0, 0.5 * np.cos(q[0]) ** 2 + B * np.sin(q[0]) ** 2]),
            [
                (B - 0.5) * np.sin(q[0]) * np.cos(q[0]) * qd[1] ** 2,
                -5 * q[1] - (B - 0.5) * np.sin(2 * q[0]) * qd[0] * qd[1],
            ],
        ),
        *((0.4, 0.3), (0.9, 0.5)),
    ),
    "equal rows": Case(
        lambda v: (
            plane(c=v).nonholonomic("dot(x) - dot(y)", name="first").nonholonomic("dot(x) - c*dot(y)", name="second")
        ),
        *("c", 1.0, 2.0),
        lambda q, qd, c: tied([[1, -1], [1, -c]]),
        *((0.1, 0.3), (0.0, 0.0)),
    ),
    "no row": Case(
        lambda v: plane(a=v).nonholonomic("a*(dot(x) - 2*dot(y))", name="row"),
        *("a", 0.0, 1.0),
        lambda q, qd, a: tied([[a, -2 * a]]),
        *((0.1, 0.3), (0.0, 0.0)),
    ),
    "speeds": Case(
        skewed_speeds,
        *("p", 0.0, 2.0),
        lambda q, qd, p: free(np.eye(2), [1.0, 2.0]),
        *((-0.8, 0.3), (0.3, 0.1)),
    ),
    "no mass": Case(
        light_rider,
        *("m", 0.0, 2.0),
        lambda q, qd, m: (np.diag([1.0, m]), np.array([0.0, -5 * q[1]]), np.array([[1.0, -1.0]]), np.zeros(1)),
        *((0.3, 0.3), (0.5, 0.5)),
    ),
}


def by_with_parameters(case: Case, key: str) -> tuple[np.ndarray, np.ndarray]:
    found = dl.derive(case.model(case.special), key).with_parameters({case.name: case.other}).simulate(END).q[:, -1]
    return found, case.reference((END, case.other))


def by_simulate(case: Case, key: str) -> tuple[np.ndarray, np.ndarray]:
    run = dl.derive(case.model(case.special), key).simulate(
        END, parameters={case.name: case.other}, integrator="dop853"
    )
    return run.q[:, -1], case.reference((END, case.other))


def by_event(case: Case, key: str) -> tuple[np.ndarray, np.ndarray]:
    model = case.model(case.special).event("change", f"t - {MIDDLE}", set={case.name: case.other})
    return dl.simulate(model, END, formalism=key).q[:, -1], case.reference(
        (MIDDLE, case.special), (END - MIDDLE, case.other)
    )


def by_discrete_state(case: Case, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Events that change the value and take it back."""
    model = case.model(case.special).event("on", f"t - {MIDDLE}", set={case.name: case.other})
    model.event("off", f"t - {2 * MIDDLE}", set={case.name: case.special})
    pieces = (MIDDLE, case.special), (MIDDLE, case.other), (END - 2 * MIDDLE, case.special)
    return dl.simulate(model, END, formalism=key).q[:, -1], case.reference(*pieces)


def by_sweep(case: Case, key: str) -> tuple[np.ndarray, np.ndarray]:
    """The swept runs, lanes where they can; one that is rejected has a reason, which is raised here."""
    values = [case.special, case.other]
    found = dl.sweep(
        case.model(case.special),
        vary={case.name: values},
        observe={"final_x": "final(x)", "final_y": "final(y)"},
        formalism=key,
        duration=END,
        workers=1,
    )
    if (reasons := [str(x) for x in found["reason"].values if x]) != []:
        raise DalembertError(reasons[0])
    got = np.array([found["final_x"], found["final_y"]])
    return got, np.array([case.reference((END, value)) for value in values]).T


CHANNELS = {
    "with_parameters": by_with_parameters,
    "simulate": by_simulate,
    "event": by_event,
    "discrete state": by_discrete_state,
    "sweep": by_sweep,
}


def require_right_or_rejected(case: Case, channel: str, key: str) -> bool:
    """True where the motion is right, False where the change is rejected by the name of the parameter."""
    try:
        dl.derive(case.model(case.special), key)
    except dl.NotApplicableError:
        return False
    refused, found, expected = None, np.empty(0), np.empty(0)
    try:
        found, expected = CHANNELS[channel](case, key)
    except DalembertError as error:
        refused = str(error)
    if refused is not None:
        assert any(name in refused for name in (f"{case.name} =", f"'{case.name}'", "event 'change'", "event 'on'")), (
            refused
        )
        return False
    assert np.allclose(found, expected, atol=2e-7), (found, expected)
    return True


DAILY = [
    ("force", "event", "volterra_reduced"),
    ("force", "event", "routh"),
    ("force", "with_parameters", "routh"),
    ("force", "simulate", "routh"),
    ("force", "sweep", "volterra_reduced"),
    ("stiffness", "discrete state", "routh"),
    ("equal rows", "event", "lagrange"),
    ("equal rows", "sweep", "lagrange"),
    ("no row", "event", "kane"),
    ("speeds", "with_parameters", "kane"),
    ("no mass", "event", "lagrange"),
    ("equal inertias", "event", "routh"),
]


@pytest.mark.parametrize(("case", "channel", "key"), DAILY)
def test_change_of_a_special_value_is_correct_or_rejected(case, channel, key):
    require_right_or_rejected(CASES[case], channel, key)


@pytest.mark.nightly
@pytest.mark.parametrize("channel", [channel for channel in CHANNELS if channel != "simulate"])
@pytest.mark.parametrize("case", CASES)
def test_every_change_of_a_special_value_is_correct_or_rejected(case, channel):
    right = [key for key in KEYS if require_right_or_rejected(CASES[case], channel, key)]
    if case not in ("equal rows", "no row") and channel in ("event", "discrete state"):
        assert "lagrange" in right


@pytest.mark.parametrize("key", ["volterra_reduced", "routh"])
def test_force_switched_on_by_an_event_moves_the_cart(key):
    model = dl.Model("cart").parameters(F=0.0).coordinate("x", 0.0, 0.43)
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=2.99).force("cart", ("F", 0, 0), name="push")
    model.event("push", "t - 2", direction="up", set={"F": 3})
    run = dl.simulate(model, 6.0, formalism=key)
    assert run.q[0, -1] == pytest.approx(0.43 * 6 + 3 / 2.99 * 4**2 / 2, rel=1e-9)
    assert "the event 'push' sets F" in dl.derive(model, key).reasons["x"]


def two_rows(**parameters: float) -> dl.Model:
    model = dl.Model("rows").parameters({"c": 1.0, **parameters}).coordinates("x", "y").start([0, 0], [0, 0])
    model.body("p", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    return model.nonholonomic("dot(x) - dot(y)", name="first").nonholonomic("dot(x) - c*dot(y)", name="second")


@pytest.mark.parametrize("key", ["lagrange", "kane", "gauss"])
def test_event_that_makes_a_dropped_row_independent_is_rejected(key):
    """At rest both rows hold; afterwards the particle could not move at all, and it went on along the first row."""
    model = two_rows(F=0.0).force("p", ("F", "2*F", 0), name="wind").event("change", "t - 0.4", set={"c": 2, "F": 1})
    with pytest.raises(
        dl.SimulationError, match=r"event 'change' sets c = 2 at t = 0.4: with these values 2 of the constr"
    ):
        dl.simulate(model, 1.0, formalism=key)


def test_sensitivity_to_a_special_parameter_is_rejected():
    model = two_rows().force("p", (1, 2, 0), name="wind")
    for refused in (
        lambda: dl.sensitivity(model, 1.0, of=["c"]),
        lambda: dl.gradient(model, 1.0, of=["c"], final="x"),
    ):
        with pytest.raises(dl.NotApplicableError, match=r"hold for c = 1 but not for neighboring values"):
            refused()


def test_export_with_a_special_parameter_is_rejected(tmp_path):
    case = CASES["force"]
    with pytest.raises(dl.NotApplicableError, match="ignorable only while F = 0"):
        dl.export(dl.derive(case.model(0.0), "routh"), "numpy", tmp_path / "carts.py")
    assert dl.export(dl.derive(case.model(0.0), "lagrange"), "numpy", tmp_path / "carts.py")


def test_root_locus_across_dependent_rows_is_rejected():
    model = two_rows().force("p", ("-x", "-y", 0), name="spring")
    with pytest.raises(dl.InputError, match="root_locus: at c = 2 other constraints would be independent"):
        dl.root_locus(model, "c", [1.0, 2.0], at=[0.0, 0.0])


@pytest.mark.parametrize("key", ["routh", "volterra_reduced"])
def test_constraint_column_that_depends_on_a_switch_is_not_zero(key):
    model = dl.Model("late").coordinates("x", "y").start([0, 0], [0.5, 0])
    model.body("p", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    model.force("p", (0, 2, 0), name="wind").nonholonomic("max(t - 0.5, 0)*dot(x) - dot(y)", name="late")

    def rates(t, y):  # ẏ = s ẋ with s = t − 0.5, and (1, s)·(q̈ − Q) = 0
        s = t - 0.5
        xdd = (2 * s - s * y[1]) / (1 + s * s)
        return [y[1], xdd, s * y[1]]

    expected = solve_ivp(rates, (0.5, 1.5), [0.25, 0.5, 0.0], "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    run = dl.simulate(model, 1.5, formalism=key)
    assert np.allclose(run.q[:, -1], expected[[0, 2]], atol=1e-8)


def test_each_fact_lists_the_parameters_it_depends_on():
    known = dl.derive(CASES["force"].model(0.0), "routh").workspace.facts
    assert known.parameters["x is ignorable"] == {"F"}
    rows = dl.derive(two_rows(), "lagrange").workspace.facts
    assert rows.parameters["independent constraints"] == {"c"}
    assert dl.derive(CASES["force"].model(3.0), "routh").ignorable == ()


def test_fit_finds_a_force_with_a_special_initial_value():
    case = CASES["force"]
    times = np.linspace(0.0, END, 9)
    y = np.concatenate([case.q, case.qd])
    exact = solve_ivp(case.rates, (0, END), y, "DOP853", times, args=(case.other,), rtol=1e-11, atol=1e-12).y
    found = dl.fit(case.model(case.special), {"t": times, "x": exact[0], "y": exact[1]}, ["F"])
    assert found.values["F"] == pytest.approx(case.other, abs=1e-6)


def test_notes_list_the_values_required_by_constant_momenta():
    eom = dl.derive(CASES["force"].model(0.0), "routh")
    assert "x ignorable only while F = 0; other values require a new derivation" in eom.notes


def test_symbolic_linearization_at_a_special_value_is_rejected():
    model = two_rows().force("p", ("-x", "-y", 0), name="spring")
    with pytest.raises(
        dl.NotApplicableError, match="symbolic: the equations hold for c = 1 but not for neighboring values"
    ):
        dl.linearize(model, at=[0.0, 0.0]).symbolic()
