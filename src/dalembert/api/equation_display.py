"""Display form of a derivation: quantities, steps and final equations, with symbolic or numerical parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from typing import TypeVar

import numpy as np

from dalembert.codegen.function import CompiledFunction, compile_function
from dalembert.display.math.pages import Page, long_equations_page, page_of, sheet_page
from dalembert.display.math.quantity_blocks import Block, DerivationStep, DisplayedLaw, block_of, displayed_law
from dalembert.display.math.sheet import prepare
from dalembert.display.math.short_forms import BUDGET, DisplayNotation, TooLong
from dalembert.display.math.symbol_names import Letters, letters_in, letters_of
from dalembert.errors import EngineError, InputError, short_repr, suggest_name
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.quantities import Derived, Quantity
from dalembert.formalisms.shared.recursive_stages import stages
from dalembert.mechanics.system import System, system_of
from dalembert.model.immutable import Frozen, FrozenValue
from dalembert.simulation.bound_equations import Derivation
from dalembert.symbolic.algebra_base import Array, Scalar, stack, vector
from dalembert.symbolic.formula_writer import exact
from dalembert.symbolic.symbols import SymbolKind

Found = TypeVar("Found")
_MAX_OPERATIONS = 1_000_000  # longer formulas are not printed


@dataclass(frozen=True)
class DerivationDisplay(FrozenValue):
    """A derivation over SymEngine, with numerical values for some parameters."""

    derivation: Derivation
    numbers: Frozen[str, float] = Frozen()  # noqa: RUF009 (immutable)
    budget: float = field(default=BUDGET, compare=False)  # seconds of CPU time for simplification

    @cached_property
    def system(self) -> System:
        """The symbolic system that all formalisms share."""
        space = self.derivation.workspace
        if not self.numbers:
            return space.symbolic
        numbers = {name: exact(value) for name, value in self.numbers.items()}
        return system_of(space.model, "symbolic", space.facts, numbers=numbers)

    @property
    def _readable(self) -> System:
        """The same system with simplified expressions."""
        return replace(self.system, notation=self.simplifier)

    @cached_property
    def form(self) -> LinearForm:
        """The equations."""
        machine = self.derivation.machine
        return machine.derive(self.system).form if self.numbers else machine.symbolic

    @cached_property
    def derived(self) -> Derived:
        """The simplified quantities, laws and linear form of the formalism."""
        return self.derivation.machine.derive(self._readable, **self.derivation.derive_options)

    @cached_property
    def _over_graph(self) -> Derived:
        """The same over the expression graph, without expansion."""
        space = self.derivation.workspace
        system = system_of(space.model, "graph", space.facts, numbers=self.numbers)
        return self.derivation.machine.derive(system, **self.derivation.derive_options)

    def look_up(self, find: Callable[[Derived], Found]) -> Found:
        """Apply `find` to the derivation, or to its expression graph if the formulas are too long."""
        try:
            return find(self.derived)
        except TooLong:
            return find(self._over_graph)

    @property
    def meanings(self) -> dict[str, Scalar]:
        """The definitions of symbols in blocks and laws."""
        return self.look_up(lambda found: found.meanings)

    @cached_property
    def blocks(self) -> Blocks:
        """The quantities of the formalism, in the order of its paper."""
        return Blocks(self)

    @cached_property
    def laws(self) -> tuple[DisplayedLaw, ...]:
        """The final equations of the formalism."""
        return tuple(
            displayed_law(law, self.simplifier, self.letters) for law in self.look_up(lambda found: found.laws)
        )

    @cached_property
    def page(self) -> Page:
        """The final equations of the formalism and the quantities in them."""
        try:
            form, meanings = self.derived.form, self.derived.meanings
            if longest := max((law.unwritten for law in self.laws), default=0):
                raise TooLong(longest)
            return page_of(form, self.laws, self.blocks, meanings, self.letters)
        except TooLong as found:
            if found.operations > _MAX_OPERATIONS:
                reason = str(found).rstrip(".")
                return long_equations_page(self.derivation.machine.form, self.laws, self.blocks, self.letters, reason)
            return sheet_page(prepare(self.form, self.simplifier.remaining_seconds), self.letters)

    @property
    def budget_message(self) -> str:
        """Message about an exceeded budget, or an empty str. `block.raw` is the form before simplification."""
        count, forms = len(self.simplifier.unfinished), "form" if len(self.simplifier.unfinished) == 1 else "forms"
        return f"the budget of {self.budget:g} s was exceeded; {count} {forms} may not be simplified." if count else ""

    def steps(self) -> Iterator[DerivationStep]:
        """Iterate over the steps of the derivation; without stages, over quantities and then laws."""
        if not self.derivation.about.recursive:
            for block in self.blocks.values():
                yield DerivationStep(block.heading, (block,))
            for law in self.laws:
                yield DerivationStep(law.heading, (law,))
            return
        for stage in stages(self._readable, self.derivation.modules):
            yield DerivationStep(stage.heading, tuple(self.block(q) for q in stage.quantities))

    @cached_property
    def letters(self) -> Letters:
        """The unique letters for the names of the model and of the formalism."""
        known = self.derivation
        derived = known.derived  # only names are needed, without simplification
        model, facts = known.workspace.model, known.facts
        declared = (*model.coordinate_names, *model.parameter_values, *facts.speed_names[: facts.n_user_speeds])
        moving = (
            kind.of(name) for kind in (SymbolKind.MOMENTUM, SymbolKind.CONSTANT) for name in model.coordinate_names
        )
        words = (token for law in derived.laws for token in letters_in(law.formula))
        ours = (*derived.quantities, *map(str, derived.form.velocity.v), *moving, *words)
        return letters_of(declared, (*ours, *(f"z{k}" for k in range(1, 100))))

    @cached_property
    def simplifier(self) -> DisplayNotation:
        """The simplification with its time budget."""
        names = self.derivation.workspace.model.coordinate_names
        moving = [kind.of(name) for kind in (SymbolKind.RATE, SymbolKind.ACCELERATION) for name in names]
        speeds = self.derivation.facts.speed_names
        parameters = self.derivation.workspace.model.parameter_values
        return DisplayNotation([*moving, *speeds], names, [*names, *speeds, *parameters], self.budget)

    def block(self, quantity: Quantity) -> Block:
        """A quantity with its value."""
        space = self.derivation.workspace
        return block_of(quantity, space.model, self.derivation.facts.speed_names, self.simplifier, self.letters)


class Blocks(Mapping[str, Block]):
    """The quantities of a formalism by key; each is evaluated at first access.

    >>> import dalembert as dl
    >>> list(dl.derive("simple-pendulum", "denoc").blocks)[:4]
    ['B', 'p', 'N_l', 'N_d']
    """

    def __init__(self, reading: DerivationDisplay) -> None:
        self._reading = reading
        self._known: dict[str, Block] = {}

    def __getitem__(self, key: str) -> Block:
        if key not in self._known:
            quantity = self._reading.look_up(lambda found: found.find(key))
            if quantity is None:
                raise KeyError(unknown_block_message(self._reading.derivation, key, self._quantities))
            self._known[key] = self._reading.block(quantity)
        return self._known[key]

    @property
    def _quantities(self) -> dict[str, Quantity]:
        return self._reading.look_up(lambda found: found.quantities)

    def __iter__(self) -> Iterator[str]:
        return iter(self._quantities)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<Blocks: {', '.join(self) or 'none'}>"


def with_modules(derivation: Derivation, modules: Mapping[str, Sequence[str]]) -> Derivation:
    """The derivation grouped by kinematic modules: serial chains of bodies by name."""
    if "modules" not in signature(catalog.find(derivation.formalism).derive).parameters:
        raise InputError(
            f"modules: formalism '{derivation.formalism}' has no modules. Expected 'denoc'. Omit `modules`."
        )
    for name, bodies in modules.items():
        if isinstance(bodies, str) or not bodies:
            raise InputError(f"modules: '{name}' is {short_repr(bodies)}. Expected the names of one or more bodies.")
    found = replace(derivation, modules=Frozen({name: tuple(bodies) for name, bodies in modules.items()}))
    found.derived.quantities  # noqa: B018 (raises for invalid modules)
    return found


def unknown_block_message(derivation: Derivation, key: str, known: Mapping[str, object]) -> str:
    """The message for an unknown block."""
    model = derivation.workspace.model.name
    where = f"of '{model}' by {derivation.formalism}"
    return f"there is no block '{key}' {where}. {suggest_name(key, known)} Blocks: {', '.join(known)}."


class BlockValues:
    """The quantities of a derivation as functions of (q, q̇, t) and, if needed, q̈; each is compiled at first use.

    Quantities that depend on other unknowns, such as multipliers, are omitted unless selected by key.
    """

    def __init__(self, derivation: Derivation) -> None:
        self._derivation, self._derived = derivation, derivation.derived
        self._known: dict[str, tuple[CompiledFunction, tuple[int, ...], bool] | EngineError] = {}

    def at(
        self, keys: tuple[str, ...], state: np.ndarray, accelerations: Callable[[], np.ndarray], parameters: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The values at states (q, q̇, t), on the first axis; q̈ is evaluated only if a quantity depends on it."""
        quantities = self._derived.quantities
        for key in keys:
            if key not in quantities:
                raise InputError(unknown_block_message(self._derivation, key, quantities))
        out: dict[str, np.ndarray] = {}
        for key in keys or tuple(quantities):
            value = quantities[key].value
            if value.size and isinstance(value.flat[0], str):
                continue
            if key not in self._known:
                self._known[key] = self._prepared(value)
            found = self._known[key]
            if isinstance(found, EngineError):
                if keys:
                    raise found
                continue
            function, shape, moving = found
            inputs = np.concatenate([accelerations(), state]) if moving else state
            out[key] = function(inputs, parameters).reshape((*shape, *state.shape[1:]))
        return out

    def _prepared(self, value: Array) -> tuple[CompiledFunction, tuple[int, ...], bool] | EngineError:
        """The function, its shape, and whether it depends on q̈; or the error if it depends on other unknowns."""
        value, qdd = _in_rates(self._derived.form, value), self._derivation.workspace.system.qdd
        try:
            return self._function(value, qdd[:0]), value.shape, False
        except EngineError:
            try:
                return self._function(value, qdd), value.shape, True
            except EngineError as error:
                return error

    def _function(self, value: Array, more: Array) -> CompiledFunction:
        """Prepare a function for the Python engine, because it is called only a few times."""
        space = self._derivation.workspace
        system, names = space.system, list(space.model.parameter_values)
        inputs = stack(more, system.q, system.qd, vector([system.t]))
        return compile_function(system.algebra, inputs, value.ravel(), system.algebra.symbols(names), "python")


def _in_rates(form: LinearForm, value: Array) -> Array:
    """Substitute q̇ and q̈ for the velocity variables and their rates."""
    v, system = form.velocity, form.system
    if v.v is system.qd:
        return value
    moving = zip(v.v, v.v_from_qd, system.derivative(v.v_from_qd), strict=True)
    table = {name: x for u, by, rate in moving for name, x in ((str(u), by), (SymbolKind.RATE.of(str(u)), rate))}
    return system.algebra.substitute(value, {a: b for a, b in table.items() if a not in map(str, system.qd)})
