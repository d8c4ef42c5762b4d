"""Ignorable coordinates, proved symbolically: Definition 1 of papers/volterra.

q_i is ignorable if ∂L/∂q_i, its constraint column and its generalized forces are zero for all states and all times. Each of
these is a graph, and whether a graph is zero is decided in the prime field of `dalembert.symbolic.prime_field`: sin² + cos² − 1
is zero, 10⁻¹² x is not. Any discontinuity in q_i (`max`, `abs`, `piecewise`, tables) refutes it, even where it is constant. A
condition that can be neither proved nor refuted numerically is reported, and the coordinate does not count as ignorable.

Parameters are symbols in the proof. If a condition vanishes only for the current parameter values, such as equal inertias or a
force that is switched off, the proof lists the parameters whose values it uses. It never uses values of parameters that change
along a run (inputs of control laws, contact forces, parameters that events set).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import symengine as se

from dalembert.mechanics.constraint_levels import Constraints, Levels
from dalembert.mechanics.energies import generalized_forces, kinetic, non_ideal_forces, potential
from dalembert.mechanics.motion import move_symbols
from dalembert.model.description import Elements
from dalembert.symbolic.algebra_base import Array, Scalar, stack, vector, zeros
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import Node, Symbol, node, numbers_in, ordered, symbol
from dalembert.symbolic.operations import exact
from dalembert.symbolic.prime_field import Undecidable
from dalembert.symbolic.random_points import NoRoot, RandomPoint
from dalembert.symbolic.symbols import Formula, SymbolKind, coordinate, kind_of

_MAX_POINTS = 5000
_ROOT_POINTS = 32  # points if there are roots: √(x²) is x at half of all points and −x at the others
_NUMERIC_SAMPLES = 20
_ROUNDING = 1e-14
_DISCONTINUOUS = frozenset(("less", "less_equal", "interpolate"))
_CHANGED_BY = {
    SymbolKind.INPUT: "a control law sets {}",
    SymbolKind.FROZEN: "a switching formula sets {}",
    SymbolKind.NORMAL_FORCE: "a rigid contact sets {}",
    SymbolKind.FRICTION_FORCE: "a rigid contact sets {}",
    SymbolKind.SLIP_DIRECTION: "a rigid contact sets {}",
}


@dataclass(frozen=True)
class Ignorable:
    """Indices of the ignorable coordinates, and for every coordinate a sentence with the proof or the counterexample."""

    indices: tuple[int, ...]
    reasons: dict[str, str]
    needs: dict[str, tuple[str, ...]]  # for every ignorable coordinate, the parameters whose values the proof uses

    @property
    def generic(self) -> bool:
        """True if proved for all parameter values, not only for the current ones."""
        return not any(self.needs.values())


@dataclass(frozen=True)
class _Conditions:
    """The expressions that must vanish for one coordinate, each with the message if it does not."""

    name: str
    parts: tuple[tuple[Node, str], ...]


def find_ignorable(model: Elements, levels: Levels) -> Ignorable:
    """Find the ignorable coordinates of a model whose contacts are written as formulas.

    >>> from dalembert.model.model import Model
    >>> model = Model("bead").coordinates("x", "y")
    >>> _ = model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    >>> _ = model.force("bead", ("piecewise(3, t > 20, 0)", 0, 0), name="late")
    >>> from dalembert.mechanics.constraint_levels import levels
    >>> find_ignorable(model, levels(model)).reasons["x"]
    'the generalized force on x is not zero'
    """
    motion = move_symbols(model, GRAPH)
    L, C = kinetic(motion, motion.qd) - potential(motion), non_ideal_forces(motion)
    forces = [node(e) for e in stack(generalized_forces(motion), zeros(0) if C is None else C)]
    A = Constraints(motion, levels).A
    slopes = GRAPH.gradient(L, motion.q)
    found = [_conditions(model, levels, i, slopes[i], A[:, i], forces) for i in range(motion.n)]
    comparisons = [y for y in ordered([node(L), *forces, *map(node, A.ravel())]) if y.operation in _DISCONTINUOUS]
    switching = {y: _symbols(y) for y in comparisons}
    indices, reasons, needs = [], {}, {}
    changed = changed_along_runs(model)
    refuted = _refuted([part for each in found for part, _ in each.parts], model, changed)
    for i, conditions in enumerate(found):
        switch = next((y for y, symbols in switching.items() if conditions.name in symbols), None)
        if switch is not None:
            reasons[conditions.name] = f"a formula switches with {conditions.name}, where {switch}"
            continue
        proof = _proved(model, conditions, changed, refuted)
        if isinstance(proof, str):
            reasons[conditions.name] = proof
            continue
        indices.append(i)
        needs[conditions.name] = proof
        values = f"the current values of the parameters {', '.join(proof)}" if proof else "all parameter values"
        fact = f"the Lagrangian, the constraints and the forces do not contain {conditions.name}, for {values}"
        reasons[conditions.name] = f"ignorable: {fact}"
    return Ignorable(tuple(indices), reasons, needs)


def _conditions(
    model: Elements, levels: Levels, i: int, slope: Scalar, column: Array, forces: list[Node]
) -> _Conditions:
    """Definition 1 for one coordinate: ∂L/∂q_i, its constraint column, and the forces on it."""
    name = model.coordinate_names[i]
    parts: list[tuple[Node, str]] = [(node(slope), f"the Lagrangian depends on {name}")]
    for entry, constraint in zip(column, levels.names, strict=True):
        parts.append((node(entry), f"the constraint '{constraint}' has a non-zero column for {name}"))
    for force in forces[i :: len(model.coordinate_names)]:  # applied ones, then non-ideal ones
        parts.append((force, f"the generalized force on {name} is not zero"))
    for each in model.canonical_constraints:
        if coordinate(name) in each.phi.free_symbols:
            parts.append((symbol(name), f"the constraint '{each.name}' on momenta depends on {name}"))
    return _Conditions(name, tuple(parts))


def _refuted(parts: list[Node], model: Elements, changed: Mapping[str, str]) -> set[Node]:
    """Expressions that are nonzero at one random state with the current parameters, all evaluated together.

    Most coordinates are not ignorable, and proofs for each of them would evaluate what all have in common again.
    """
    fixed = {name: node(exact(x)) for name, x in model.parameter_values.items() if name not in changed}
    left = [node(x) for x in GRAPH.substitute(vector(parts), fixed)]
    for seed in range(_ROOT_POINTS):
        point = RandomPoint(seed, left)
        try:
            values = point.values(left)
        except NoRoot:
            continue
        except Undecidable:
            break
        return set() if point.composite else {part for part, value in zip(parts, values, strict=True) if value}
    return set()


def _proved(
    model: Elements, conditions: _Conditions, changed: Mapping[str, str], refuted: set[Node]
) -> tuple[str, ...] | str:
    """The parameters whose values the proof of all conditions uses, or the message of the first condition that is not proved."""
    needed: set[str] = set()
    for part, sentence in conditions.parts:
        if part in refuted and not changed:
            return sentence
        if part not in refuted and vanishes([part]):
            continue
        symbols = _symbols(part)
        known = {name: node(exact(x)) for name, x in model.parameter_values.items() if name in symbols}
        fixed = {name: x for name, x in known.items() if name not in changed}
        left = _with_values(part, fixed)
        zero = False if part in refuted else _decided([left])
        if zero is None and not _nonzero_numerically(left):
            return f"undecided whether {sentence}"
        if not zero:
            return sentence + _only_while(part, known, changed)
        needed |= _needed(part, fixed)
    return tuple(name for name in model.parameter_values if name in needed)


def _symbols(part: Node) -> set[str]:
    return {a.value for a in ordered([part]) if isinstance(a, Symbol)}


def _with_values(part: Node, values: Mapping[str, Node]) -> Node:
    return node(GRAPH.substitute(vector([part]), dict(values))[0])


def _needed(part: Node, values: Mapping[str, Node]) -> set[str]:
    """A minimal set of parameters whose values make a graph vanish."""
    minimal = dict(values)
    for name in values:
        others = {other: x for other, x in minimal.items() if other != name}
        if vanishes([_with_values(part, others)]):
            minimal = others
    return set(minimal)


def _only_while(part: Node, values: Mapping[str, Node], changed: Mapping[str, str]) -> str:
    """Addition to a message if a graph vanishes for the current values, but one of them changes along a run."""
    names = [name for name in changed if name in values]
    if not names or not vanishes([_with_values(part, values)]):
        return ""
    return f", except at the current value of {', '.join(names)}, and {listed([changed[name] for name in names])}"


def vanishes(graphs: Sequence[Node]) -> bool:
    """True if graphs are proved to be zero for all values of their symbols.

    >>> x, y = GRAPH.symbols(["x", "y"])
    >>> vanishes([GRAPH.sin(x) * GRAPH.sin(x) + GRAPH.cos(x) * GRAPH.cos(x) - 1]), vanishes([1e-12 * x])
    (True, False)
    >>> vanishes([GRAPH.sqrt(x * x) - x])
    False
    """
    return _decided(graphs) is True


def _decided(graphs: Sequence[Node]) -> bool | None:
    """True: proved to be zero. False: proved to be nonzero. None: undecided in the prime field."""
    left = [y for y in graphs if node(y) is not node(0)]
    zeros = 0
    for seed in range(_MAX_POINTS if left else 0):
        point = RandomPoint(seed, left)
        try:
            found = point.values(left)
        except NoRoot:
            continue
        except Undecidable:
            return None
        if any(found):
            return None if point.composite else False
        zeros += 1
        if zeros == _ROOT_POINTS or not point.radicands:
            return True
    return None if left else True


def _nonzero_numerically(part: Node) -> bool:
    """True if a graph is nonzero at random numbers: the prime field may be undecided if angles or exponents are products."""
    names = sorted(_symbols(part))
    source = random.Random(1)
    for _ in range(_NUMERIC_SAMPLES):
        values = {name: source.randint(-9999, 9999) / 1000 for name in names}
        f = node(GRAPH.substitute(vector([part]), values)[0])
        known = numbers_in(ordered([f]))
        largest = max((abs(x) for x in known.values() if isfinite(x)), default=0.0)
        if abs(known[f]) > _ROUNDING * largest:
            return True
    return False


def changed_along_runs(model: Elements) -> dict[str, str]:
    """The parameters that change along a run, each with a sentence that names the cause.

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
    """The parameters of a model that occur in formulas."""
    names = {symbol.name for formula in formulas for symbol in se.sympify(formula).free_symbols}
    return frozenset(names & model.parameter_values.keys())


def constraint_parameters(model: Elements) -> frozenset[str]:
    """The parameters in constraints; a loop depends on the placements of all joints."""
    formulas = [c.formula for c in model.formula_constraints]
    if model.loops:
        formulas += _joint_formulas(model)
        formulas += [x for loop in model.loops for x in (*loop.position, *loop.rotation)]
    return parameters_in(model, formulas)


def inertial_parameters(model: Elements) -> frozenset[str]:
    """The parameters in the kinetic energy."""
    if model.energies is not None:
        return parameters_in(model, [model.energies.kinetic])
    bodies = [x for body in model.bodies for x in (body.mass, *body.center, *(e for row in body.inertia for e in row))]
    return parameters_in(model, [*bodies, *_joint_formulas(model), *(rotor.inertia for rotor in model.rotors)])


def _joint_formulas(model: Elements) -> list[Formula]:
    """The placements and motions of all joints, as formulas."""
    joints = [joint for body in model.bodies for joint in body.joints] + [loop.joint for loop in model.loops]
    return [x for joint in joints for x in (*joint.position, *joint.rotation, *joint.values)]


def listed(sentences: Sequence[str]) -> str:
    """Sentences joined by `and`, each once.

    >>> listed(["a sets F", "b sets G", "a sets F"])
    'a sets F and b sets G'
    """
    *first, last = dict.fromkeys(sentences)
    return f"{', '.join(first)} and {last}" if first else last
