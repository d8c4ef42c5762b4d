"""What a run has to say about the rank of its constraints: doubtful decisions, and dropped rows that do not hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dalembert.structure.newton import ACCEPTED

if TYPE_CHECKING:
    from dalembert.handles.trajectory import Trajectory

_MORE = 10.0  # times as much as the constraints that are kept: an error of integration moves all of them alike


def notes_on_rank(run: Trajectory) -> tuple[str, ...]:
    """Sentences about constraints whose rank is doubtful, and about dropped ones that are violated along the run."""
    known = run.used.workspace.facts
    doubtful = () if known.rank_note is None else (known.rank_note,)
    return (*doubtful, *_violated(run)) if known.dropped and not run.equations.model.canonical_list else doubtful


def _violated(run: Trajectory) -> Iterator[str]:
    """The dropped constraints that are violated by more than projection leaves of a constraint, relative to their sizes."""
    known, seen = run.used.workspace.facts, run.observed
    sizes = np.where(np.array(known.sizes) > 0, known.sizes, 1.0)
    with np.errstate(invalid="ignore"):
        position = np.abs(seen.position_violation) / sizes[: len(seen.position_violation), None]
        velocity = np.abs(seen.velocity_violation) / (sizes[:, None] / known.scales.time)
    for level, share in (("position", position), ("velocity", velocity)):
        kept = [i for i in known.rows if i < len(share) and not known.levels.servo[i]]
        allowed = max(ACCEPTED, _MORE * float(np.nanmax(share[kept], initial=0.0)))
        for i in sorted(set(range(len(share))) - set(known.rows)):
            k, name = int(np.argmax(share[i])), known.levels.names[i]
            if share[i, k] > allowed:
                yield (
                    f"the constraint '{name}' was dropped as redundant, but does not hold: at t = {run.t[k]:.6g} its {level} is "
                    f"off by {share[i, k]:.2g} of its size"
                )
                return
