"""The parameters that facts rest on, and the parameters that change along a run.

A fact that is proved with the parameters as symbols rests on none of them. One that is found for given values (a rank, a
pivot, a coordinate that is ignorable because a force is zero) lists the parameters whose values it uses. Whatever gives
these other values has to find the fact again, or is refused by the name of the fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import symengine as se

from dalembert.model.description import Elements
from dalembert.symbolic.reserved_symbols import Kind, kind_of
from dalembert.symbolic.symbols import Formula

_CHANGED_BY = {
    Kind.INPUT: "a law gives {}",
    Kind.HELD: "a formula that switches gives {}",
    Kind.PRESS: "a rigid contact gives {}",
    Kind.RUB: "a rigid contact gives {}",
    Kind.SLIDE: "a rigid contact gives {}",
}


def changed_along_runs(model: Elements) -> dict[str, str]:
    """The parameters that change along a run, each with what changes it, as a sentence.

    >>> from dalembert.model.model import Model
    >>> model = Model("cart").parameters(F=0.0, m=1.0).coordinates("x")
    >>> changed_along_runs(model.event("push", "t - 2", set={"F": 3}))
    {'F': "the event 'push' sets F"}
    """
    found = {name: f"the event '{event.name}' sets {name}" for event in model.events for name in event.set}
    for name in model.parameter_values:
        kind = kind_of(name)
        if kind is not None and kind in _CHANGED_BY:
            found[name] = _CHANGED_BY[kind].format(name)
    return found


def parameters_in(model: Elements, formulas: Iterable[Formula]) -> frozenset[str]:
    """The parameters of a model that stand in formulas."""
    names = {symbol.name for formula in formulas for symbol in se.sympify(formula).free_symbols}
    return frozenset(names & model.parameter_values.keys())


def constraint_parameters(model: Elements) -> frozenset[str]:
    """The parameters in constraints; a loop takes in the places of all joints."""
    formulas = [c.formula for c in model.formula_constraints]
    if model.loops:
        formulas += _places(model)
        formulas += [x for loop in model.loops for x in (*loop.position, *loop.rotation)]
    return parameters_in(model, formulas)


def inertial_parameters(model: Elements) -> frozenset[str]:
    """The parameters in the kinetic energy."""
    if model.energies is not None:
        return parameters_in(model, [model.energies.kinetic])
    bodies = [x for body in model.bodies for x in (body.mass, *body.center, *(e for row in body.inertia for e in row))]
    return parameters_in(model, [*bodies, *_places(model), *(rotor.inertia for rotor in model.rotors)])


def _places(model: Elements) -> list[Formula]:
    """Where and how joints move their bodies."""
    joints = [joint for body in model.bodies for joint in body.joints] + [loop.joint for loop in model.loops]
    return [x for joint in joints for x in (*joint.position, *joint.rotation, *joint.values)]


def listed(sentences: Sequence[str]) -> str:
    """Sentences joined by `and`, each once.

    >>> listed(["a sets F", "b sets G", "a sets F"])
    'a sets F and b sets G'
    """
    *first, last = dict.fromkeys(sentences)
    return f"{', '.join(first)} and {last}" if first else last
