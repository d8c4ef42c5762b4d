"""Operation counts of pairs of a gallery model and a formulation: one evaluation of the right-hand side, linear solve included.

The benchmark `operations.py` counts every formulation on six models and allows growth by 5 %; these counts are exact.
"""

from __future__ import annotations

import json
from pathlib import Path

import dalembert as dl

BASELINE = Path(__file__).with_name("operation_counts.json")

# (model, formulation): trees, loops, rolling, contact, quaternions and servo constraints; each formulation at least once
PAIRS = (
    ("3-rrr", "nullspace"),
    ("bead-on-wire", "dirac"),
    ("bowling-ball", "gibbs_appell"),
    ("chaplygin-sleigh", "boltzmann_hamel"),
    ("crank-rocker", "gauss"),
    ("double-pendulum-urdf", "newton_euler"),
    ("floating-arm", "denoc"),
    ("four-bar", "kane"),
    ("gyroscope", "routh"),
    ("heavy-top", "hamilton"),
    ("knife-edge", "udwadia_kalaba"),
    ("newtons-cradle", "lagrange"),
    ("over-constrained", "dalembert"),
    ("phong-pendulum", "phong"),
    ("quarter-car", "lagrange"),
    ("rolling-disk", "volterra"),
    ("rough-surface", "poincare"),
    ("serial-arm", "denoc"),
    ("slider-crank", "maggi"),
    ("tracking", "lagrange"),
    ("vertical-disk", "volterra_reduced"),
    ("woodpecker", "kane"),
)


def count(model: str, formulation: str) -> int:
    return dl.derive(model, formulation).operations


def baseline() -> dict[str, int]:
    """The committed counts, by `name`."""
    return json.loads(BASELINE.read_text("utf-8"))


def name(model: str, formulation: str) -> str:
    return f"{model} by {formulation}"


def compare(found: int, before: int) -> str | None:
    """The problem of a count; None if it equals the baseline."""
    if found > before:
        return f"{found} operations, {before} in the baseline: the count has grown by {found - before}"
    if found < before:
        return (
            f"{found} operations, {before} in the baseline: better. "
            "Commit it: python tests/architecture/snapshot.py operations"
        )
    return None
