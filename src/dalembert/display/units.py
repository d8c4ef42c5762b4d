"""Units in plots and files: the declared units of coordinates and parameters, and those derived from them.

A unit is parsed to powers of base units. That of a formula follows from its symbols; a number in it may have any unit. Radians
are dropped unless time is the only other base unit: r θ̇ is m/s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import symengine as se

from dalembert.model.contacts.base import Contact
from dalembert.model.description import Elements
from dalembert.model.loads.torque import Torque
from dalembert.model.scales import is_rotation, rotational_coordinates
from dalembert.symbolic.symbols import TIME, Formula, SymbolKind

if TYPE_CHECKING:
    from dalembert.simulation.trajectory_data import TrajectoryData

Powers = dict[str, Fraction]  # exponents of base units

_DERIVED = {"N": "kg·m/s²", "J": "kg·m²/s²", "W": "kg·m²/s³", "Pa": "kg/m/s²", "Hz": "1/s"}
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_LOWERED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_FACTOR = re.compile(r"([^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹]+|1)\^?(-?\d+|[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?")
_SI = {"kg", "m", "s", "rad"}
_ANGLES = (se.asin, se.acos, se.atan, se.atan2)


def parse_unit(unit: str) -> Powers | None:
    """Parse a unit to powers of base units; None for no unit or an unknown one.

    >>> parse_unit("N·m/rad") == parse_unit("kg·m²/s²/rad"), parse_unit("")
    (True, None)
    """
    out: Powers = {}
    for sign, factor_text in re.findall(r"(^|[·*/])([^·*/]+)", unit.replace(" ", "")):
        factor = _FACTOR.fullmatch(factor_text)
        if factor is None:
            return None
        power = Fraction((factor[2] or "1").translate(_SUPERSCRIPTS)) * (-1 if sign == "/" else 1)
        parts = {} if factor[1] == "1" else parse_unit(_DERIVED.get(factor[1], "")) or {factor[1]: Fraction(1)}
        out = _times(out, parts, power)
    return out if unit else None


def format_unit(powers: Powers | None) -> str:
    """Return the unit as a str, empty if it is unknown.

    >>> format_unit(parse_unit("kg·m/s²")), format_unit(parse_unit("m·rad/s")), format_unit(parse_unit("1/s")), format_unit({})
    ('N', 'm/s', '1/s', '1')
    """
    if powers is None:
        return ""
    powers = _without_radians(powers)
    if powers.get("kg") == 1 and powers.get("s", 0) <= -2:
        powers = {"N": Fraction(1), **_times(powers, parse_unit("N") or {}, Fraction(-1))}
    above = "·".join(_power(base, p) for base, p in powers.items() if p > 0)
    return (above or "1") + "".join(f"/{_power(base, -p)}" for base, p in powers.items() if p < 0)


def _power(base: str, power: Fraction) -> str:
    if power.denominator != 1:
        return f"{base}^({power})"
    return base if power == 1 else base + str(power).translate(_LOWERED)


def _times(a: Powers, b: Powers, power: Fraction | int = 1) -> Powers:
    """a bᵖ."""
    out = {base: a.get(base, Fraction(0)) + power * b.get(base, Fraction(0)) for base in (*a, *b)}
    return {base: p for base, p in out.items() if p}


def _without_radians(powers: Powers) -> Powers:
    rest = {base: p for base, p in powers.items() if base != "rad"}
    angle = powers.get("rad", 0) > 0 and set(rest) <= {"s"} and rest.get("s", 0) <= 0
    return {"rad": Fraction(1), **rest} if angle else rest


def of_formula(formula: Formula, known: Mapping[str, Powers | None]) -> Powers | None:
    """Return the unit of a formula from the units of its symbols; None if it is undetermined.

    >>> known = {"x": parse_unit("m"), "r": parse_unit("m"), "theta": parse_unit("rad")}
    >>> x, r, theta = se.symbols("x r theta")
    >>> formulas = (x - r * theta, x**2 - 4, x + theta)
    >>> tuple(format_unit(of_formula(each, known)) for each in formulas)
    ('m', 'm²', '')
    """
    if formula.is_Symbol:
        return known.get(formula.name)
    if isinstance(formula, se.Add):
        # common unit of all terms; if they differ, without terms with a numeric factor other than ±1
        terms = [term for term in formula.args if not term.is_Number]
        plain = [t for t in terms if not (isinstance(t, se.Mul) and t.args[0].is_Number and t.args[0] != -1)]
        for candidates in (terms, plain):
            found = [of_formula(term, known) for term in candidates]
            units = [powers for powers in found if powers is not None]
            if units and None not in found and len({format_unit(powers) for powers in units}) == 1:
                return units[0]
        return None
    if isinstance(formula, se.Mul):
        parts = [of_formula(x, known) for x in formula.args]
        return None if None in parts else reduce(_times, [part for part in parts if part is not None])
    if isinstance(formula, se.Pow):
        base, exponent = of_formula(formula.args[0], known), formula.args[1]
        if not base:  # unknown, or a number
            return base
        is_rational = isinstance(exponent, se.Rational | se.Integer)
        return _times({}, base, Fraction(str(exponent))) if is_rational else None
    if isinstance(formula, se.Piecewise):
        return of_formula(formula.args[0], known)
    if isinstance(formula, _ANGLES):
        return {"rad": Fraction(1)}
    known_functions = formula.is_Number or isinstance(formula, se.sin | se.cos | se.tan | se.log) or formula == se.pi
    return {} if known_functions else None


@dataclass(frozen=True)
class Units:
    """The units of a model as str, '' if unknown.

    Coordinates without a unit are angles if their joint rotates, else lengths; they stay distinct, and no unit is printed.

    >>> import dalembert as dl
    >>> units = Units(dl.load("cart-pendulum").description)
    >>> units.coordinate("theta1"), units.momentum("theta1"), units.force("x")
    ('rad', 'kg·m²/s', 'N')
    """

    model: Elements
    contacts: tuple[Contact, ...] = ()  # contacts that the model expands to formulas

    @cached_property
    def symbols(self) -> dict[str, Powers | None]:
        """Units of all symbols of formulas."""
        out: dict[str, Powers | None] = {p.name: parse_unit(p.unit) for p in self.model.declared_parameters}
        out[TIME.name] = parse_unit("s")
        for name, unit in self._coordinates.items():
            momentum = None if unit is None else _times(parse_unit("J·s") or {}, unit, -1)
            out |= {name: unit, SymbolKind.RATE.of(name): _per_second(unit), SymbolKind.MOMENTUM.of(name): momentum}
        return out

    @cached_property
    def _coordinates(self) -> dict[str, Powers | None]:
        declared = {c.name: parse_unit(c.unit) for c in self.model.generalized_coordinates}
        if None not in declared.values():
            return declared
        joints = [joint for body in self.model.bodies for joint in body.joints if joint.quaternion]
        plain = {s.name for joint in joints for value in joint.values[-4:] for s in value.free_symbols}
        angles = rotational_coordinates(self.model) - plain
        usual = {name: parse_unit("rad" if name in angles else "1" if name in plain else "m") for name in declared}
        return {name: usual[name] if unit is None else unit for name, unit in declared.items()}

    def coordinate(self, name: str) -> str:
        """The unit of a coordinate."""
        return format_unit(self._coordinates[name])

    def rate(self, name: str) -> str:
        """The unit of the rate of a coordinate."""
        return format_unit(_per_second(self._coordinates[name]))

    def acceleration(self, name: str) -> str:
        """The unit of the second rate of a coordinate."""
        return format_unit(_per_second(_per_second(self._coordinates[name])))

    def momentum(self, name: str) -> str:
        """The unit of ∂L/∂q̇ of a coordinate."""
        return format_unit(self.symbols[SymbolKind.MOMENTUM.of(name)])

    def force(self, name: str) -> str:
        """The unit of the generalized force along a coordinate."""
        return format_unit(_per_second(self.symbols[SymbolKind.MOMENTUM.of(name)]))

    def of(self, formula: Formula) -> str:
        """The unit of a formula of the model."""
        return format_unit(of_formula(formula, self.symbols))

    def drive(self, name: str) -> str:
        """Return the unit of the effort of a drive: a load inside a joint, or a constraint that prescribes a motion."""
        driving = any(load.drives and load.name == name for load in self.model.loads)
        return self.load(name) if driving else self.multiplier(name)

    def load(self, name: str) -> str:
        """Return the unit of the force or torque of a load."""
        bodies = {body.name: body for body in self.model.bodies}
        load = next(load for load in self.model.loads if load.name == name)
        turning = isinstance(load, Torque)
        for body, joint, motion in load.in_joints[:1]:
            turning = is_rotation(bodies[body].joints[joint], motion)
        return "N·m" if turning else "N"

    @cached_property
    def _rows(self) -> dict[str, Powers | None]:
        """Units of the rows of the constraints on velocity level, by name."""
        m, model = parse_unit("m/s"), self.model
        out: dict[str, Powers | None] = {}
        for c in model.holonomic_constraints:
            driven = c.prescribed
            out[c.name] = _per_second(self._coordinates[driven] if driven else of_formula(c.phi, self.symbols))
        for loop in model.loops:
            lengths = zip(loop.row_names, loop.joint.holds_lengths, strict=True)
            out |= {name: m if length else parse_unit("rad/s") for name, length in lengths}
        out |= {c.name: of_formula(c.psi, self.symbols) for c in model.nonholonomic_constraints}
        known = {contact.name: parse_unit(f"{contact.unit}/s") for contact in self.contacts if contact.unit is not None}
        out |= {name: known[of] for name in out if (of := name.split(", ")[0]) in known}
        return out | {c.name: of_formula(c.phi, self.symbols) for c in model.canonical_constraints}

    def violation(self, name: str) -> str:
        """The unit of a row of `Trajectory.violation`, by its name: positions, velocities, or momenta."""
        row, _, level = name.rpartition(", ")
        if level in ("position", "velocity") and row in self._rows:
            unit = self._rows[row]
            return format_unit(unit if unit is None or level == "velocity" else _times(unit, {"s": Fraction(1)}))
        return format_unit(self._rows.get(name))

    def multiplier(self, name: str) -> str:
        """Return the unit of the multiplier of a row: its product with the row on velocity level is a power."""
        unit = self._rows.get(name)
        return "" if unit is None else format_unit(_times(parse_unit("W") or {}, _without_radians(unit), -1))

    @cached_property
    def declared(self) -> bool:
        """True if the coordinates have SI units, so that newtons and joules are meaningful."""
        units = [parse_unit(c.unit) for c in self.model.generalized_coordinates]
        return any(unit is not None for unit in units) and all(set(unit) <= _SI for unit in units if unit is not None)

    def label(self, unit: str) -> str:
        """Return the printed unit: empty for dimensionless numbers, or if the model does not declare SI units."""
        known = self.declared or not {"kg", "m"} & set(parse_unit(unit) or {})
        return unit if known and unit != "1" else ""


def _per_second(unit: Powers | None) -> Powers | None:
    return None if unit is None else _times(unit, {"s": Fraction(-1)})


def units_of(run: TrajectoryData) -> Units:
    """Return the units of a run."""
    return Units(run.model, run.description.contacts)


def speed_units(run: TrajectoryData) -> tuple[str, ...]:
    """Return the unit of every speed of a run, '' if unknown.

    >>> import dalembert as dl
    >>> speed_units(dl.simulate("cart-pendulum", 0.1, formalism="kane", samples=2))
    ('rad/s', 'm/s')
    """
    units = units_of(run)
    known = {SymbolKind.RATE.of(name): units.rate(name) for name in run.model.coordinate_names}
    known |= {speed: "rad/s" for speed in run.speed_formulas if speed.startswith("omega_")}  # quaternion joints
    if set(run.speed_formulas) <= set(known):  # as for tree dynamics, which has no other speeds
        return tuple(known[speed] for speed in run.speed_formulas)
    return tuple(units.of(run.model.formula(speed)) for speed in run.speed_formulas)
