"""Derivatives of runs by sixth-order finite differences, independent of the variational equations."""

import numpy as np

import dalembert as dl

_WEIGHTS = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))


def assembled_start(model, values, keep):
    """An initial state on the constraints with other values, by `dl.assemble_state`; coordinates in `keep` stay fixed."""
    names = list(model.coordinate_names)
    q, qd = (x.copy() for x in model.initial)
    for i, x in enumerate(names):
        q[i], qd[i] = values.get(f"{x}(0)", q[i]), values.get(f"dot({x})(0)", qd[i])
    parameters = {name: value for name, value in values.items() if "(" not in name}
    changed = model.copy().with_parameters(parameters) if parameters else model
    found = dl.assemble_state(changed, q, qd, fixed=keep)
    return found.q, found.qd


def slope_of_run(model, name, of, duration, step=1e-3) -> np.ndarray:
    """∂(q, q̇)/∂name at the end of a run; coordinates in `of` have their initial values, as in `dl.sensitivity`."""
    keep = sorted(
        {each.removesuffix("(0)").removeprefix("dot(").removesuffix(")") for each in of if each.endswith("(0)")}
    )
    coordinates = model.coordinate_names
    names = [f"{x}(0)" for x in coordinates] + [f"dot({x})(0)" for x in coordinates]
    value = model.parameter_values[name] if name not in names else np.concatenate(model.initial)[names.index(name)]
    h, eom = step * (abs(value) or 0.1), dl.derive(model)

    def end(x):
        q, qd = assembled_start(model, {name: x}, keep)
        changed = eom.with_parameters({name: x}) if name in model.parameter_values else eom
        run = changed.simulate(duration, q0=q, qd0=qd, samples=2)
        return np.concatenate([run.q[:, -1], run.qd[:, -1]])

    return np.asarray(sum(w * (end(value + k * h) - end(value - k * h)) for k, w in _WEIGHTS)) / h
