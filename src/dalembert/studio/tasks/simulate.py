"""A motion: the run is kept in the folder, and its scene goes to the page."""

from __future__ import annotations

from typing import Any

from dalembert import formalisms, pipeline
from dalembert.studio.folder import Folder
from dalembert.studio.given import Given, Tell
from dalembert.studio.tasks.models import description_of


def simulate(given: Given, folder: Folder, tell: Tell) -> dict[str, Any]:
    """Simulates; `parameters` change values without a new derivation, `start` and `rate` the initial state."""
    model = description_of(given)
    key = given.choice("formalism", formalisms.KEYS, "lagrange")
    tell(0.0, f"deriving by {key}")
    equations = pipeline.derive(model, key)
    tell(0.0, "simulating")
    run = equations.simulate(
        given.number("duration", least=1e-9, most=1e6) if "duration" in given else None,
        q0=given.numbers("start") or None,
        qd0=given.numbers("rate") or None,
        parameters=given.numbers("parameters") or None,
        samples=given.whole("samples", least=2, most=100_000) if "samples" in given else None,
        integrator=given.text("integrator", most=40) if "integrator" in given else None,
        progress=lambda share: tell(share),
    )
    name, path = folder.new_run()
    run.save(path)
    return {
        "run": name,
        "scene": run.scene().to_dict() | {"tabs": []},
        "tables": "\n".join(table.html() for table in run.tables()),
        "status": run.status,
    }
