"""Reproduction of papers/volterra: Tables 1–6 and Figures 1–15, three case studies of 50 s each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np

import dalembert as dl
from dalembert.api import load
from dalembert.api.trajectory import Trajectory
from dalembert.errors import SimulationError
from dalembert.evidence.comparison import Comparison, ComparisonRow
from dalembert.papers.page import BodyPoses, box, pose_bodies
from dalembert.papers.printed_values import (
    ClaimResult,
    Computed,
    FigurePanel,
    MechanismSnapshot,
    Picture,
    PrintedLine,
    Recipe,
    Stroke,
    check_smallest,
    keyed_rows,
    published,
)
from dalembert.simulation import observables
from dalembert.simulation.integrators.base import InitialValueProblem, Settings, SimpleSystem
from dalembert.simulation.integrators.integrate import integrate
from dalembert.simulation.integrators.rk45 import RungeKutta45

METHODS = ("lagrange", "maggi", "gibbs_appell", "volterra_reduced")  # the columns of Tables 2, 3 and 6
CASES = {"2": "cart-pendulum", "3": "three-bodies", "6": "satellite-boom"}  # by the number of the table
# the columns of Table 1
_ROUNDING = 1e-12  # relative drift over a run of quantities that are constant in exact arithmetic
_SCATTER = 0.05  # relative scatter of CPU times
_N_REPEATS = 4  # additional runs of each method for its CPU time
COUNTED = ("lagrange", "maggi", "udwadia_kalaba", "boltzmann_hamel", "volterra", "kane", "routh", "volterra_reduced")
LABELS: dict[str, str] = dict(zip(METHODS, ("Lagrange", "Maggi", "Gibbs–Appell", "reduced Volterra"), strict=True))
_TIMES = {"cart-pendulum": 0.16 * np.arange(9), "three-bodies": 5.0 * np.arange(9)}  # of Figures 6 and 11, in s


def recipe() -> Recipe:
    """Return the functions that compute the tables and figures; the runs of each case study are shared."""

    @cache
    def compared(case: str) -> Comparison:
        """Run a case study like its authors: ode45 with steps no longer than one sample."""
        dl.simulate(case, 0.1, integrator="rk45", samples=2)  # excludes compilation from the CPU time
        return dl.compare(case, METHODS, integrator="rk45", repartition=False)

    tables: dict[str, Callable[[], Computed]] = {
        number: partial(_norms, compared, case) for number, case in CASES.items()
    }
    tables |= {"1": _counts, "2": partial(_first, compared), "4": _parameters, "5": _start}
    return Recipe(tables, _figures(compared), _claims(compared))


def _claims(compared: Callable[[str], Comparison]) -> Mapping[str, Callable[[], ClaimResult]]:
    """Return the functions that test the claims of the paper with the runs of Tables 2, 3 and 6."""

    def smallest(of_row: Callable[[ComparisonRow], float | None], *cases: str) -> ClaimResult:
        found = {case: {key: of_row(compared(case)[key]) for key in METHODS} for case in cases or CASES.values()}
        return check_smallest("volterra_reduced", found, floor=_ROUNDING)

    return {
        "fewest-equations": _fewest_equations,
        "least-energy-drift": lambda: smallest(lambda row: row.energy_error),
        "least-constraint-drift": lambda: smallest(lambda row: row.constraint_error, "cart-pendulum"),
        "least-momentum-drift": lambda: smallest(lambda row: row.momentum_error),
        "no-momentum-drift": partial(_no_drift, compared),
        "fewest-operations": lambda: smallest(lambda row: row.operations),
        "fastest": partial(_fastest, compared),
    }


def _fewest_equations() -> ClaimResult:
    """Compare the number of equations of all columns of Table 1."""
    found = {case: {key: dl.derive(case, key).n_dynamic for key in COUNTED} for case in CASES.values()}
    return check_smallest("volterra_reduced", found, ties=True)


def _no_drift(compared: Callable[[str], Comparison]) -> ClaimResult:
    """Check that the first ignorable momentum, a parameter of the reduced equations, is constant to rounding."""
    drifts = {case: compared(case)["volterra_reduced"].momentum_error or 0.0 for case in CASES.values()}
    values = ", ".join(f"{case} {drift:.1e}" for case, drift in drifts.items())
    return ClaimResult(max(drifts.values()) < _ROUNDING, f"{values}; rounding errors would be below {_ROUNDING:.0e}.")


def _fastest(compared: Callable[[str], Comparison]) -> ClaimResult:
    """Compare the CPU times of the runs, the minimum of several, alternating the methods."""
    found: dict[str, dict[str, float]] = {}
    for case in CASES.values():
        runs = compared(case).runs
        options = {"integrator": "rk45", "project": False, "max_step": float(runs["lagrange"].t[1])}
        times = {key: [runs[key].cpu_seconds] for key in METHODS}
        for _ in range(_N_REPEATS):
            for key in METHODS:
                times[key].append(dl.derive(case, key).simulate(**options).cpu_seconds)
        found[case] = {key: min(each) for key, each in times.items()}
    return check_smallest("volterra_reduced", found, margin=_SCATTER)


def _figures(compared: Callable[[str], Comparison]) -> Mapping[str, Callable[[], Picture]]:
    """Return the functions that draw the figures: for each case study a sketch, drifts, coordinates and snapshots."""
    cart, bodies, satellite = CASES.values()
    drifts = {
        "2": (cart, "energy error", energy),
        "3": (cart, "constraint error", constraint),
        "4": (cart, "momentum error", momentum),
        "8": (bodies, "energy error", energy),
        "9": (bodies, "momentum error", momentum),
        "13": (satellite, "energy error", energy),
        "14": (satellite, "momentum error", momentum),
    }
    pictures: dict[str, Callable[[], Picture]] = {
        number: lambda case=case, title=title, of_run=of_run: drift(title, of_run, compared(case).runs)
        for number, (case, title, of_run) in drifts.items()
    }
    for number, case in {"1": cart, "7": bodies, "12": satellite}.items():
        pictures[number] = partial(sketch, case)
    for number, case in {"5": cart, "10": bodies, "15": satellite}.items():
        pictures[number] = lambda case=case: coordinates(case, compared(case).runs)
    for number, case in {"6": cart, "11": bodies}.items():
        pictures[number] = lambda case=case: snapshots(case, compared(case).runs["volterra_reduced"])
    return pictures


def _counts() -> Computed:
    """Compute Table 1: the formula in m, p and s for the number of equations in all case studies."""
    found = {key: [dl.derive(case, key).n_dynamic for case in CASES.values()] for key in COUNTED}
    formulas: dict[str, list[int]] = {"m": [], "p": [], "m − s": [], "p − s": []}
    for case in CASES.values():
        moves = dl.mobility(case)
        m, p, s = len(load.description_of(case).coordinate_names), moves.degrees_of_freedom, len(moves.ignorable)
        for text, value in zip(formulas, (m, p, m - s, p - s), strict=True):
            formulas[text].append(value)
    named = {tuple(values): text for text, values in formulas.items()}
    return {"Number of equations": [named.get(tuple(counts), str(counts)) for counts in found.values()]}


def with_multiplier(case: str) -> tuple[np.ndarray, np.ndarray]:
    """Integrate Lagrange's equations of a case with one constraint like the authors; return times and states (q, q̇, ∫λ dt).

    Their result file contains the integral of the multiplier as a seventh state, and ode45 also controls its error.
    """
    equations = dl.derive(case, "lagrange")
    n, work, values = len(equations.model.coordinate_names), equations.kernel.accelerations, equations.values

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate(work(y[:n], y[n : 2 * n], t, values))  # q̇, q̈, λ

    start = np.concatenate([*equations.model.initial, [0.0]])
    times = np.linspace(0.0, equations.model.duration, equations.model.samples)
    problem = InitialValueProblem(
        (*equations.model.coordinate_names,) * 2 + ("multiplier",), 0.0, start, SimpleSystem(rates)
    )
    settings = Settings(max_step=times[1])
    return times, integrate(problem, RungeKutta45(problem, settings, times[-1]), times, settings).y


def _first(compared: Callable[[str], Comparison]) -> Computed:
    """Compute Table 2: the norms of Lagrange's equations from the run with seven states."""
    found = {row: list(entries) for row, entries in _norms(compared, "cart-pendulum").items()}
    t, y = with_multiplier("cart-pendulum")
    equations = dl.derive("cart-pendulum", "lagrange")
    observed = equations.workspace.observables.along(t, y[:3], y[3:6], equations.values)
    found["Norm of energy error"][0] = observables.relative_drift(observed.total)
    found["Norm of constraint error"][0] = observables.violation(observed.velocity_violation)
    found["Norm of linear momentum error (X)"][0] = observables.relative_drift(observed.momenta[2])
    return found


def _norms(compared: Callable[[str], Comparison], case: str) -> Computed:
    """Compute Tables 2, 3 and 6: sizes, CPU time and norms."""
    comparison = compared(case)
    for key, reason in comparison.failed.items():
        raise SimulationError(f"{comparison.model} by {key}: {reason}")
    rows = [comparison[key] for key in METHODS]
    more = case == "satellite-boom"  # the work of (80) is one more state
    return {
        "Number of state variables": [(row.n_states or 0) + more for row in rows],
        "Number of equations": [row.n_dynamic for row in rows],
        "CPU time (s)": [row.cpu_seconds for row in rows],
        "Norm of energy error": [row.energy_error for row in rows],
        "Norm of constraint error": [row.constraint_error for row in rows],
        "Norm of linear momentum error (X)": [row.momentum_error for row in rows],
    }


def _parameters() -> Computed:
    """Return Table 4 from the model."""
    values = load.description_of("satellite-boom").parameter_values
    names = ("mg", "m", "l", "a", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
    return keyed_rows("volterra", "4", ([values[name]] for name in names))


def _start() -> Computed:
    """Return Table 5 from the model."""
    q, qd = load.description_of("satellite-boom").initial
    return keyed_rows("volterra", "5", ([float(x)] for x in (*q, *qd)))


# Figures 2–4, 8, 9, 13 and 14


def drift(title: str, of_run: Callable[[Trajectory], np.ndarray], runs: Mapping[str, Trajectory]) -> list[FigurePanel]:
    """Plot the running maximum of the error of each method, in percent."""
    lines = [PrintedLine(LABELS[key], run.t, np.maximum.accumulate(100 * of_run(run))) for key, run in runs.items()]
    return [FigurePanel(f"{title}, largest so far [%]", tuple(lines), log=True)]


def energy(run: Trajectory) -> np.ndarray:
    """Return |E − E₀|/|E₀|; with loads E is the balance (80)."""
    return np.abs(run.balance / run.balance[0] - 1)


def constraint(run: Trajectory) -> np.ndarray:
    """Return the violation of (69)."""
    return np.abs(run.violation[-1])


def momentum(run: Trajectory) -> np.ndarray:
    """Return |p − p₀|/|p₀| of the first ignorable coordinate."""
    p = run.momenta[run.ignorable[0]]
    return np.abs(p / p[0] - 1)


# Figures 5, 10 and 15


def coordinates(case: str, runs: Mapping[str, Trajectory]) -> list[FigurePanel]:
    """Plot the coordinates of the reduced equations, and the samples of the authors' result file."""
    run = runs["volterra_reduced"]
    rows = np.array(published("volterra")["cases"][case]["volterra_reduced"]["time_and_state"]).T
    panels = []
    for c, ours, theirs in zip(run.model.generalized_coordinates, run.q, rows[1:], strict=False):
        curve, dots = PrintedLine("computed", run.t, ours), PrintedLine("published", rows[0], theirs, points=True)
        panels.append(FigurePanel(f"{_LETTERS.get(c.name, c.name)} [{c.unit}]", (curve, dots)))
    return panels


_LETTERS = {"theta1": "θ₁", "theta2": "θ₂", "psi": "ψ", "theta": "θ", "phi": "φ", "rho": "ρ"}
_LETTERS |= {"gamma1": "γ₁", "gamma2": "γ₂"}


# Figures 6 and 11


def snapshots(case: str, run: Trajectory) -> list[MechanismSnapshot]:
    """Draw the mechanism at several times."""
    draw = {"cart-pendulum": cart, "three-bodies": panels}[case]
    at = np.searchsorted(run.t, _TIMES[case] - 1e-9)
    return [MechanismSnapshot(f"t = {run.t[k]:.4g} s", tuple(draw(pose_bodies(run.model, run.q[:, k])))) for k in at]


# Figures 1, 7 and 12


def sketch(case: str) -> list[MechanismSnapshot]:
    """Draw the mechanism with the names of its points, in a configuration without overlaps."""
    draw, q = {
        "cart-pendulum": (cart, (0.5, 1.1, 0.0)),
        "three-bodies": (panels, (0, 0, 0, 0.7, 0.5, 0, 0, 0)),
        "satellite-boom": (boom, (0, 0, 0, 1.5, 0, 0, 0)),
    }[case]
    return [MechanismSnapshot("", tuple(draw(pose_bodies(case, q), named=True)))]


def cart(at: BodyPoses, *, named: bool = False) -> list[Stroke]:
    """Draw the cart on its track, the mast with the hinge A, the rods AB and BC, and the wheel at C."""
    length = at.model.parameter_values["l"]
    names = ("A", "B", "C") if named else ("", "", "")
    ends = [(0, 0, 0), (0, -length, 0)]
    a, b = at.points("rod1", ends)[:, :2]
    c = at.points("rod2", ends)[1, :2]
    bottom = a[1] - 2.7 * length
    bed = np.array([(-0.9, 0), (0.9, 0), (0.9, 0.35), (-0.9, 0.35)]) * length + (a[0], bottom)
    ground = np.array([(a[0] - 2.6 * length, bottom), (a[0] + 2.6 * length, bottom)])
    mast = np.array([(a[0], bottom + 0.35 * length), a])
    wheel = np.array([c - 0.16 * (c - b), c + 0.16 * (c - b)])  # edge view, along BC
    return [
        Stroke(ground, thin=True),
        Stroke(bed, closed=True, color=5),
        Stroke(mast, thin=True, label=names[0]),
        Stroke(np.array([a, b]), color=0, joint=True, label=names[1]),
        Stroke(np.array([b, c]), color=1, joint=True, label=names[2]),
        Stroke(wheel, color=6),
    ]


def panels(at: BodyPoses, *, named: bool = False) -> list[Stroke]:
    """Draw the middle body with its two panels."""
    p = at.model.parameter_values
    body = [Stroke(at.points("middle", face), closed=True) for face in box((p["b"] / 2, p["a"] / 2, p["c"] / 2))]
    plate = [(0, 0, p["c"] / 2), (0, 0, -p["c"] / 2), (-p["b"], 0, -p["c"] / 2), (-p["b"], 0, p["c"] / 2)]
    doors = [
        Stroke(at.points(name, plate), closed=True, color=k, label=word if named else "")
        for name, k, word in (("panel1", 1, "panel 1, γ₁"), ("panel2", 2, "panel 2, γ₂"))
    ]
    return [*body, *doors, *(_axes(at, "middle", 1.8) if named else [])]


def boom(at: BodyPoses, *, named: bool = False) -> list[Stroke]:
    """Draw the satellite, the boom and the tip mass."""
    edge = at.model.parameter_values["l"]
    body = [Stroke(at.points("satellite", face), closed=True) for face in box([edge / 2] * 3)]
    root = at.points("satellite", [(0, 0, edge / 2)])
    tip = at.points("tip", [(0, 0, 0)])
    rod = Stroke(np.concatenate([root, tip]), color=1, joint=True, label="m" if named else "")
    return [*body, rod, *(_axes(at, "satellite", 2.2) if named else [])]


def _axes(at: BodyPoses, body: str, length: float) -> list[Stroke]:
    ends = zip("xyz", length * np.eye(3), strict=True)
    return [Stroke(at.points(body, [(0, 0, 0), end]), thin=True, label=name) for name, end in ends]
