"""Gauss's principle of least constraint: of all admitted accelerations nature takes the one nearest to the free one.

Source: papers/poincare (3.36), (3.37), with s = q̇.

| symbol | name | meaning |
|---|---|---|
| q̈₀ = M⁻¹ h | `qdd_free` | acceleration without constraints |
| G(q̈) | `gaussian` | (q̈ − q̈₀)ᵀ M (q̈ − q̈₀), (3.36) |
| A q̈ = β | | the admitted accelerations |

The minimisation itself is done: in numbers by least squares under linear equations, with orthogonal factors, in the graph by the
condition that the gradient of G is a combination of the rows of A.
"""

from __future__ import annotations

import numpy as np

from dalembert.equations import About, LinearForm, Numeric, Solver, Velocities
from dalembert.equations.free_motion import held_form, unexplained_force
from dalembert.equations.quantities import SILENT, Show
from dalembert.structure import System

ABOUT = About(
    key="gauss",
    title="Gauss's principle of least constraint",
    source="papers/poincare (3.36)(3.37)",
    needs="energies",
    velocities=Velocities.RATES,
    count="n",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    redundant="takes",
    compiles="large",
    citation="""@article{gauss1829,
  author = {Gauss, Carl Friedrich},
  title = {{\\"U}ber ein neues allgemeines {G}rundgesetz der {M}echanik},
  journal = {Journal f{\\"u}r die reine und angewandte Mathematik},
  volume = {4},
  pages = {232--235},
  year = {1829}
}""",
)


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """M and h of the Gaussian, and the rows A q̈ = β of the admitted accelerations."""
    return held_form("gauss", system, Solver(numeric=Numeric.LEAST_SQUARES))


reaction = unexplained_force  # M (q̈ − q̈₀): half the gradient of the Gaussian


def gaussian(M: np.ndarray, h: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """(q̈ − q̈₀)ᵀ M (q̈ − q̈₀) of (3.36), batch on the first axis."""
    gap = qdd - np.linalg.solve(M, h[..., None])[..., 0]
    return np.einsum("kn,knm,km->k", gap, M, gap)
