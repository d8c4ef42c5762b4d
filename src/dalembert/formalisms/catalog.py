"""Registry of the formulations, the models that each supports, and their citations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dalembert.errors import InputError, suggest_name
from dalembert.formalisms import (
    boltzmann_hamel,
    dalembert,
    denoc,
    dirac,
    gauss,
    gibbs_appell,
    hamilton,
    kane,
    lagrange,
    maggi,
    newton_euler,
    nullspace,
    phong,
    poincare,
    routh,
    udwadia_kalaba,
    volterra,
    volterra_reduced,
)
from dalembert.formalisms.shared.quantities import About, Derived
from dalembert.mechanics.facts import Facts
from dalembert.model.description import Elements


class Formalism(Protocol):
    """The module of a formulation."""

    @property
    def ABOUT(self) -> About:
        """Its facts: key, source, variables, and what it applies to."""
        ...

    @property
    def derive(self) -> Callable[..., Derived]:
        """Derives the equations of a system; some formulations have options."""
        ...


FORMALISMS: tuple[Formalism, ...] = (
    lagrange,
    dalembert,
    maggi,
    kane,
    gibbs_appell,
    boltzmann_hamel,
    volterra,
    volterra_reduced,
    routh,
    udwadia_kalaba,
    poincare,
    gauss,
    phong,
    nullspace,
    hamilton,
    dirac,
    newton_euler,
    denoc,
)
# maximum number of coordinates and constraints that every formulation compiles quickly; see `About.compiles`
MAX_QUICK_COMPILE = 60
KEYS: tuple[str, ...] = tuple(module.ABOUT.key for module in FORMALISMS)


def find(key: str) -> Formalism:
    """Return the module of a formulation by its key.

    >>> find("kane").ABOUT.count
    'd'
    """
    for module in FORMALISMS:
        if key == module.ABOUT.key:
            return module
    raise InputError(f"there is no formalism '{key}'. {suggest_name(key, KEYS)}")


def unsupported_reason(about: About, model: Elements, known: Facts) -> str | None:
    """Return why a formulation does not support a model, or None if it does."""
    if about.needs == "bodies" and model.energies is not None:
        return "the model is defined by energies, and this formalism needs the momenta of bodies"
    velocity = [c.name for c in model.nonholonomic_constraints]
    if velocity and not about.nonholonomic:
        return f"the constraint '{velocity[0]}' is nonholonomic, and a stationary action contradicts d'Alembert's principle"
    if model.canonical_constraints and not about.canonical:
        return (
            f"the constraint '{model.canonical_constraints[0].name}' contains momenta, and its multiplier changes coordinates "
            "as well as momenta, which contradicts d'Alembert's principle"
        )
    servo = [name for name, driven in zip(known.levels.names, known.levels.servo, strict=True) if driven]
    if servo and not about.servo:
        return f"the constraint '{servo[0]}' has feedback, so its velocity level is violated until it converges"
    if not known.regular_mass and not about.singular_mass:
        which = ", ".join(model.coordinate_names[i] for i in known.massless) or "some combination of the coordinates"
        return (
            f"the mass matrix is singular, and this formalism needs its inverse; without inertia: {which}. Add mass, or use "
            "a formalism that solves for accelerations and multipliers together, such as lagrange"
        )
    curved = [name for name, linear in zip(known.levels.names, known.levels.linear, strict=True) if not linear]
    if curved and not about.nonlinear:
        return f"the constraint '{curved[0]}' is nonlinear in the velocities"
    if about.velocities.are_reduced and known.reduced_problem:
        return known.reduced_problem
    return None


def applicable(model: Elements, known: Facts) -> tuple[str, ...]:
    """Return the keys of the formulations that support a model."""
    return tuple(m.ABOUT.key for m in FORMALISMS if unsupported_reason(m.ABOUT, model, known) is None)


def slow_compilation_reason(about: About, model: Elements) -> str | None:
    """Return why the equations of a formulation would take minutes to compile, or None if they would not."""
    n, rows = len(model.generalized_coordinates), len(model.constraint_names) + len(model.canonical_constraints)
    quick = about.compiles == "large" or (about.compiles == "large open" and not rows)
    if quick or n + rows <= MAX_QUICK_COMPILE:
        return None
    return f"{n} coordinates and {rows} constraints make its equations too long to compile quickly"


def citation(formalism: str) -> str:
    """Return the BibTeX entry of the source of a formulation.

    Parameters
    ----------
    formalism : str
        Key of the formulation, such as "kane".

    Returns
    -------
    str
        BibTeX entry.

    Raises
    ------
    InputError
        If there is no formulation with this key.

    Examples
    --------
    >>> citation("kane").splitlines()[0]
    '@book{kane1985,'
    """
    return find(formalism).ABOUT.citation
