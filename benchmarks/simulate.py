"""Accuracy against CPU time: dalembert's integrators, and SciPy's DOP853 on SymPy's right-hand side, in one run.

    python benchmarks/simulate.py [--models three-bodies cart-pendulum] [--plot work-precision.png] [--json]

The same equations (Kane's) everywhere, from the model's initial state over 10 s. The error is the largest relative
difference ‖y − y*‖ / ‖y*‖ of the state y = (q, q̇) over 11 sample times; y* comes from the Taylor integrator at the
accuracy of the machine on another formalism (Gibbs–Appell), and its own distance from dop853 at 1e-13 is printed.
CPU seconds, the best of several runs; deriving and compiling are not among them and are printed separately.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from scipy.integrate import solve_ivp

import dalembert as dl
import peers
from measure import Took, timed

DURATION, SAMPLES = 10.0, 11
TOLERANCES = {
    "taylor": (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 2.3e-16),
    "dop853": (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-13),
    "scipy": (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-13),
}
TITLES = {
    "taylor": "dalembert, taylor",
    "dop853": "dalembert, dop853",
    "scipy": "SymPy + SciPy, DOP853",
}
LEVELS = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)  # errors at which CPU times are compared


@dataclass(frozen=True)
class Point:
    """One run: its tolerance, its error and its CPU seconds."""

    tolerance: float
    error: float
    cpu: float


@dataclass(frozen=True)
class Result:
    """All results for one model."""

    model: str
    reference: float  # distance between the reference and dop853 at 1e-13
    setup: dict[str, Took]  # deriving and compiling
    curves: dict[str, list[Point]]


def measure(name: str, repeats: int) -> Result:
    """All curves of one model."""
    model = dl.load(name)
    exact = _state(dl.derive(model, "gibbs_appell").simulate(DURATION, samples=SAMPLES, integrator="taylor"))
    eom, deriving = timed(lambda: dl.derive(model, "kane"))
    peer, lambdifying = timed(lambda: _peer(model))
    runs: dict[str, Callable[[float], tuple[np.ndarray, float]]] = {
        "taylor": lambda tolerance: _ours(eom, "taylor", tolerance),
        "dop853": lambda tolerance: _ours(eom, "dop853", tolerance),
        "scipy": peer,
    }
    curves = {key: [_point(run, tol, exact, repeats) for tol in TOLERANCES[key]] for key, run in runs.items()}
    check = _error(_ours(eom, "dop853", 1e-13)[0], exact)
    return Result(name, check, {"dalembert": deriving, "sympy": lambdifying}, curves)


def _ours(eom: dl.Equations, integrator: str, tolerance: float) -> tuple[np.ndarray, float]:
    """States of one run of ours and its CPU seconds."""
    run = eom.simulate(DURATION, samples=SAMPLES, integrator=integrator, rtol=tolerance, atol=tolerance)
    return _state(run), run.cpu_seconds


def _state(run: dl.Trajectory) -> np.ndarray:
    return np.concatenate([run.q, run.qd])


def _peer(model: dl.Model) -> Callable[[float], tuple[np.ndarray, float]]:
    """SciPy on SymPy's equations by Kane's method: derived, lambdified and ready to run at a tolerance."""
    derived = peers.kane(peers.MODELS[model.name]())
    rates = derived.compile(model.parameter_values)
    start = derived.start(*model.initial, model.parameter_values)
    times = np.linspace(0.0, DURATION, SAMPLES)
    n = len(model.coordinate_names)

    def run(tolerance: float) -> tuple[np.ndarray, float]:
        options = {"method": "DOP853", "t_eval": times, "rtol": tolerance, "atol": tolerance}
        solution, took = timed(lambda: solve_ivp(rates, (0.0, DURATION), start, **options))
        qd = np.array([rates(0.0, y)[:n] for y in solution.y.T]).T
        return np.concatenate([solution.y[:n], qd]), took.cpu

    return run


def _point(
    run: Callable[[float], tuple[np.ndarray, float]], tolerance: float, exact: np.ndarray, repeats: int
) -> Point:
    found = [run(tolerance) for _ in range(repeats)]
    return Point(tolerance, _error(found[0][0], exact), min(cpu for _, cpu in found))


def _error(y: np.ndarray, exact: np.ndarray) -> float:
    return float((np.linalg.norm(y - exact, axis=0) / np.linalg.norm(exact, axis=0)).max())


def cpu_at(curve: list[Point], error: float) -> float | None:
    """CPU seconds at an error, by straight lines between the points in logarithms; None outside the curve."""
    points = sorted(curve, key=lambda point: point.error)
    errors = np.log([max(point.error, 1e-17) for point in points])
    if not errors[0] <= np.log(error) <= errors[-1]:
        return None
    return float(np.exp(np.interp(np.log(error), errors, np.log([point.cpu for point in points]))))


def ratios(result: Result) -> dict[str, dict[float, float]]:
    """CPU time of SymPy + SciPy over ours at equal errors."""
    out: dict[str, dict[float, float]] = {}
    for key in ("taylor", "dop853"):
        both = {level: (cpu_at(result.curves["scipy"], level), cpu_at(result.curves[key], level)) for level in LEVELS}
        out[key] = {level: theirs / mine for level, (theirs, mine) in both.items() if theirs and mine}
    return out


# output


def show(result: Result, console: Console) -> None:
    """Print one model: all points, then the ratios."""
    table = Table(title=f"'{result.model}' over {DURATION:g} s", box=SIMPLE_HEAD)
    for heading in ("method", "tolerance", "error", "CPU ms"):
        table.add_column(heading, justify="left" if heading == "method" else "right", no_wrap=True)
    for key, curve in result.curves.items():
        for i, point in enumerate(curve):
            cells = (f"{point.tolerance:.1e}", f"{point.error:.1e}", f"{1e3 * point.cpu:.2f}")
            table.add_row(TITLES[key] if i == 0 else "", *cells, end_section=i == len(curve) - 1)
    console.print(table)
    console.print(f"The reference differs from dop853 at 1e-13 by {result.reference:.1e}.")
    setup = result.setup
    console.print(
        f"Before that: ours, deriving {setup['dalembert'].cpu:.2f} s; SymPy, deriving and lambdify {setup['sympy'].cpu:.2f} s."
    )
    for key, found in ratios(result).items():
        line = ", ".join(f"{ratio:.1f} at {level:.0e}" for level, ratio in found.items())
        console.print(f"CPU time of SymPy + SciPy over {TITLES[key]}, at equal errors: {line}.")


def plot(results: list[Result], path: Path) -> None:
    """Draw all curves, one panel for each model."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    looks = {"taylor": ("#0b6e4f", "o"), "dop853": ("#2a6fbb", "s"), "scipy": ("#c8553d", "^")}
    figure, panels = plt.subplots(
        1, len(results), figsize=(5.0 * len(results), 4.2), sharey=True, squeeze=False, layout="constrained"
    )
    for panel, result in zip(panels[0], results, strict=True):
        for key, curve in result.curves.items():
            color, marker = looks[key]
            x, y = [max(p.error, 1e-17) for p in curve], [1e3 * p.cpu for p in curve]
            panel.loglog(x, y, color=color, marker=marker, markersize=5, linewidth=1.6, label=TITLES[key])
        panel.set_title(result.model, fontsize=11, loc="left")
        panel.set_xlabel("largest relative error of the state")
        panel.set_xlim(1e-2, 1e-16)
        panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
        panel.minorticks_off()
        panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel(f"CPU time for {DURATION:g} s of motion [ms]")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    figure.savefig(path, dpi=200)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Accuracy against CPU time, ours and SciPy on SymPy's equations.")
    parser.add_argument("--models", nargs="+", choices=list(peers.MODELS), default=list(peers.MODELS))
    parser.add_argument("--repeats", type=int, default=5, help="number of runs; the best is reported")
    parser.add_argument("--plot", type=Path, help="draw the curves to this file")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    chosen = parser.parse_args()
    results = [measure(name, chosen.repeats) for name in chosen.models]
    if chosen.plot is not None:
        plot(results, chosen.plot)
    if chosen.json:
        print(json.dumps([asdict(result) | {"ratios": ratios(result)} for result in results], indent=2))
        return
    console = Console()
    for result in results:
        show(result, console)


if __name__ == "__main__":
    main()
