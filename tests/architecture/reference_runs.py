"""Runs over formulations, integrators and model types, whose results are compared with a committed baseline.

On the machine and with the libraries of the baseline the results must be equal to the bit. Elsewhere other instructions and other
roundings are used, and a few numbers of each run must agree within the tolerance of its case.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import dalembert as dl

BASELINE = Path(__file__).with_name("identical_runs.json")
LIBRARIES = ("numpy", "scipy", "symengine", "llvmlite")
QUANTITIES = ("t", "q", "qd", "qdd", "kinetic", "potential", "energy", "energy_error", "multipliers", "reactions")
# quantities with a relative error: not times, which are inputs, nor energies, which may start at zero
NUMBERS = ("q", "qd", "qdd", "kinetic", "potential", "multipliers", "reactions")
PER_QUANTITY = 3
_ZERO = 1e-12  # the largest value of a quantity that is zero up to rounding
_ROUNDING = 1e-9  # bound of such a quantity in other environments
SAMPLES = 21


@dataclass(frozen=True)
class Case:
    """A run and its tolerance against the baseline on another machine.

    The tolerance is relative to the largest value of the quantity in the run.
    """

    kind: str
    run: Callable[[], Any]
    tolerance: float


def simulated(model: str | dl.Model, formulation: str, integrator: str, duration: float) -> Any:
    return dl.derive(model, formulation).simulate(duration, integrator=integrator, samples=SAMPLES)


def servo() -> dl.Model:
    """A double pendulum under a controller that samples its angle every 10 ms."""
    law = dl.PD("theta1", 0.5, kp=20, kd=2)
    return dl.load("double-pendulum").copy().actuator("upper", law=law, period=0.01, name="servo")


def gallery_case(kind: str, model: str, formulation: str, integrator: str, duration: float, tolerance: float) -> Case:
    return Case(kind, lambda: simulated(model, formulation, integrator, duration), tolerance)


# Tolerances: 1e-11 for smooth runs, 1e-9 where a run switches or where its steps follow an error of 1e-6 (rk45), 1e-8 for the
# top, which changes its chart near gimbal lock. Without fused products and vector registers (LLVM, Numba, NumPy and BLAS at
# their simplest) the numbers differed by at most 2e-14, 6e-13 and 2e-11 of the largest value.
CASES = {
    "double-pendulum lagrange dop853": gallery_case("smooth", "double-pendulum", "lagrange", "dop853", 1.0, 1e-11),
    "satellite-boom routh radau": gallery_case("smooth, implicit", "satellite-boom", "routh", "radau", 0.5, 1e-11),
    "three-bodies volterra dop853": gallery_case("smooth", "three-bodies", "volterra", "dop853", 0.3, 1e-11),
    "bead-on-wire dirac dop853": gallery_case("canonical", "bead-on-wire", "dirac", "dop853", 0.5, 1e-11),
    "four-bar kane taylor": gallery_case("loop", "four-bar", "kane", "taylor", 0.5, 1e-11),
    "planar-four-bar phong dop853": gallery_case("loop", "planar-four-bar", "phong", "dop853", 0.5, 1e-11),
    "slider-crank udwadia_kalaba rk4": gallery_case("loop", "slider-crank", "udwadia_kalaba", "rk4", 0.2, 1e-11),
    "phong-pendulum phong collocation": gallery_case("DAE", "phong-pendulum", "phong", "collocation", 0.2, 1e-11),
    "cart-pendulum volterra_reduced taylor": gallery_case(
        "nonholonomic", "cart-pendulum", "volterra_reduced", "taylor", 0.5, 1e-11
    ),
    "cart-pendulum nullspace rk45": gallery_case("nonholonomic", "cart-pendulum", "nullspace", "rk45", 0.5, 1e-9),
    "knife-edge boltzmann_hamel rk45": gallery_case("nonholonomic", "knife-edge", "boltzmann_hamel", "rk45", 1.0, 1e-9),
    "heavy-top hamilton dop853": gallery_case("chart change", "heavy-top", "hamilton", "dop853", 0.5, 1e-8),
    "newtons-cradle poincare dop853": gallery_case("rigid contact", "newtons-cradle", "poincare", "dop853", 0.5, 1e-9),
    "woodpecker maggi dop853": gallery_case("contact and friction", "woodpecker", "maggi", "dop853", 0.2, 1e-9),
    "painleve-rod newton_euler dop853": gallery_case(
        "contact and friction", "painleve-rod", "newton_euler", "dop853", 0.2, 1e-9
    ),
    "stick-slip-oscillator gibbs_appell dop853": gallery_case(
        "friction", "stick-slip-oscillator", "gibbs_appell", "dop853", 1.0, 1e-9
    ),
    "backlash-gears dalembert dop853": gallery_case("backlash", "backlash-gears", "dalembert", "dop853", 0.2, 1e-9),
    "slider-crank-stop gauss dop853": gallery_case("loop and stop", "slider-crank-stop", "gauss", "dop853", 0.5, 1e-9),
    "serial-arm denoc dop853": gallery_case("tree", "serial-arm", "denoc", "dop853", 0.5, 1e-11),
    "rope of 12 links by recursion": Case(
        "tree by recursion",
        lambda: dl.dynamics(dl.load("rope", links=12)).simulate(0.2, samples=SAMPLES, integrator="dop853"),
        1e-11,
    ),
    "double-pendulum kane with a sampled law": Case(
        "sampled law", lambda: simulated(servo(), "kane", "dop853", 0.3), 1e-11
    ),
}


@dataclass(frozen=True)
class Recorded:
    """Baseline record of one quantity: a hash of its bytes, its largest value and a few of its values."""

    digest: str
    scale: float
    numbers: tuple[float, ...]

    def written(self) -> str:
        return " ".join([self.digest, *(value.hex() for value in (self.scale, *self.numbers))])

    @classmethod
    def read(cls, text: str) -> Recorded:
        digest, scale, *numbers = text.split()
        return cls(digest, float.fromhex(scale), tuple(map(float.fromhex, numbers)))


Quantities = Mapping[str, Recorded]


def environment() -> dict[str, str]:
    """The environment that determines rounding: versions of libraries, the C library, and the processor detected by LLVM."""
    enabled = sorted(name for name, is_enabled in llvm.get_host_cpu_features().items() if is_enabled)
    return {
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        **{name: _version(name) for name in LIBRARIES},
        "libc": " ".join(platform.libc_ver()),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": llvm.get_host_cpu_name(),
        "cpu features": " ".join(enabled),
    }


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def record(case: Case) -> dict[str, Recorded]:
    run = case.run()
    return {name: _recorded(name, np.asarray(getattr(run, name), dtype=float)) for name in QUANTITIES}


def _recorded(name: str, values: np.ndarray) -> Recorded:
    flat = np.ascontiguousarray(values).ravel()
    shape = repr(values.shape).encode()
    digest = hashlib.sha256(shape + flat.tobytes()).hexdigest()[:16]
    scale = float(np.abs(flat).max(initial=0.0))
    # in different rows and samples; the first value is an initial one and is omitted
    chosen = np.linspace(0, flat.size - 1, PER_QUANTITY + 1).astype(int)[1:] if name in NUMBERS and flat.size else []
    return Recorded(digest, scale, tuple(float(flat[index]) for index in chosen))


def different_bits(found: Quantities, expected: Quantities) -> list[str]:
    """The quantities that are not equal to the bit, with the largest difference of the stored numbers."""
    return [
        f"{name}: {_distance(found[name], each):.1e} of {each.scale:.3g} in the stored numbers"
        if each.numbers
        else name
        for name, each in expected.items()
        if found[name].digest != each.digest
    ]


def different_numbers(found: Quantities, expected: Quantities, tolerance: float) -> list[str]:
    """The quantities whose stored numbers differ by more than the tolerance, relative to the largest value."""
    out = list[str]()
    for name, each in expected.items():
        bound = tolerance * each.scale if each.scale > _ZERO else _ROUNDING
        distance = _distance(found[name], each)
        if not distance <= bound:
            out.append(f"{name}: {distance:.1e}, at most {bound:.1e}")
    return out


def _distance(found: Recorded, expected: Recorded) -> float:
    """The largest difference: NaN where a number is NaN, infinite where there are other numbers of them."""
    if len(found.numbers) != len(expected.numbers):
        return np.inf
    return float(np.abs(np.subtract(found.numbers, expected.numbers)).max(initial=0.0))


@dataclass(frozen=True)
class Baseline:
    """The committed results and their environment."""

    environment: Mapping[str, str]
    runs: Mapping[str, Quantities]

    @classmethod
    def read(cls) -> Baseline:
        content = json.loads(BASELINE.read_text("utf-8"))
        runs = {
            name: {key: Recorded.read(text) for key, text in quantities.items()}
            for name, quantities in content["runs"].items()
        }
        return cls(content["environment"], runs)

    def write(self) -> None:
        runs = {
            name: {key: each.written() for key, each in quantities.items()} for name, quantities in self.runs.items()
        }
        content = {"environment": dict(self.environment), "runs": runs}
        BASELINE.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
