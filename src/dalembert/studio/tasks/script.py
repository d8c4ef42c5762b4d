"""The Python script that does what was done in the studio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dalembert.api.trajectory import Trajectory
from dalembert.model.description import Description


def script_of(file: str, model: Description, run: Trajectory | None) -> str:
    """A script that loads the model, derives its equations, and makes the run and its files again."""
    return "\n".join(_lines(file, model, run)) + "\n"


def _lines(file: str, model: Description, run: Trajectory | None) -> Iterator[str]:
    words = " ".join(model.name.replace("\\", "/").replace('"', "'").split())
    yield f'"""{words}: what was done in the studio, as a script."""'
    yield ""
    yield "import dalembert as dl"
    yield ""
    yield f"model = dl.load({file!r})"
    formalism = run.formalism if run is not None else "lagrange"
    yield f"eom = dl.derive(model, {formalism!r})"
    yield "print(eom)"
    if run is None:
        return
    yield from _simulation(model, run)
    stem = file.removesuffix(".toml")
    yield f"run.save({stem + '.csv'!r})"
    yield f"run.plot(path={stem + '.png'!r})"
    if model.bodies:
        yield f"run.animate({stem + '-film.html'!r})"
    yield f"dl.report(run, {stem + '-report.html'!r}, formalisms=[{formalism!r}])"


def _simulation(model: Description, run: Trajectory) -> Iterator[str]:
    """The call that makes the run again: only what differs from the model is said."""
    parts = [f"{float(run.t[-1] - run.t[0])!r}", f"samples={len(run.t)}", f"integrator={run.integrator!r}"]
    for key, values, usual in zip(("q0", "qd0"), (run.q, run.qd), model.initial, strict=True):
        start = dict(zip(model.coordinate_names, values[:, 0].tolist(), strict=True))
        if not np.allclose(values[:, 0], usual, rtol=1e-12, atol=1e-12):
            parts.append(f"{key}={_dict(start)}")
    changed = {name: x for name, x in run.parameters.items() if model.parameter_values.get(name) != x}
    if changed:
        parts.append(f"parameters={_dict(changed)}")
    yield f"run = eom.simulate({', '.join(parts)})"


def _dict(values: Mapping[str, float]) -> str:
    return "{" + ", ".join(f"{name!r}: {float(x)!r}" for name, x in values.items()) + "}"
