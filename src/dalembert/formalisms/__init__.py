"""One file per formalism, each on its own road; they never import each other, which makes their agreement evidence."""

from __future__ import annotations

from types import ModuleType

from dalembert.equations import About
from dalembert.errors import InputError, nearest
from dalembert.formalisms import gibbs_appell, kane, lagrange, maggi, volterra, volterra_reduced
from dalembert.kinematics import Structure
from dalembert.model import Model

FORMALISMS: tuple[ModuleType, ...] = (lagrange, maggi, kane, gibbs_appell, volterra, volterra_reduced)
KEYS: tuple[str, ...] = tuple(module.ABOUT.key for module in FORMALISMS)


def find(key: str) -> ModuleType:
    """The module of the formalism called `key`.

    >>> find("kane").ABOUT.count
    'd'
    """
    for module in FORMALISMS:
        if key == module.ABOUT.key:
            return module
    raise InputError(f"there is no formalism '{key}'. {nearest(key, KEYS)}")


def refusal(about: About, model: Model, known: Structure) -> str | None:
    """Why a formalism cannot treat a model, or None when it can."""
    if about.needs == "bodies" and model.energies is not None:
        return "the model is given by its energies, and this formalism needs the momenta of bodies"
    curved = [name for name, linear in zip(known.levels.names, known.levels.linear, strict=True) if not linear]
    if curved and not about.nonlinear:
        return f"the constraint '{curved[0]}' is nonlinear in the velocities"
    return None


def applicable(model: Model, known: Structure) -> tuple[str, ...]:
    """The keys of the formalisms that can treat a model."""
    return tuple(m.ABOUT.key for m in FORMALISMS if refusal(m.ABOUT, model, known) is None)
