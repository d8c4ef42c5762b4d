"""Point constrained to a surface or a curve: a bead on a wire, a follower on a cam."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import symengine as se

from dalembert.errors import InputError, Problem, short_repr
from dalembert.model import keys
from dalembert.model.contacts.base import BetweenPoints, ConstraintAction, Formulas, reaction_pair
from dalembert.model.evaluation import Table
from dalembert.model.immutable import Frozen
from dalembert.model.keys import ValueType, array, readable
from dalembert.model.loads.base import LoadKinematics, formulas_in
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.model.values import is_sequence
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, matrix, vector
from dalembert.symbolic.formula_writer import write_formula
from dalembert.symbolic.symbols import Formula, Lowering, Written, coordinate

if TYPE_CHECKING:
    from dalembert.model.description import Elements

Lower = Callable[[Formula], Scalar]
_XYZ = ("x", "y", "z")


def _read(model: Elements, formula: Written, where: str) -> Formula:
    """Read a formula of parameters, time and the position x, y, z of the point."""
    if taken := sorted(set(_XYZ) & set(model.parameter_values)):
        fact = f"the parameter '{taken[0]}' conflicts with the position x, y, z of the point"
        raise InputError(f"{where}: {fact}. Rename the parameter.")
    return replace(model.reader, coordinates=_XYZ).read(formula, where, rates=False)


def _two(model: Elements, formula: object, where: str) -> tuple[Formula, ...]:
    if not is_sequence(formula, 2):
        expected = "two formulas of x, y and z, which vanish on the curve"
        raise InputError(f"{where}: got {short_repr(formula)}. Expected {expected}.")
    return tuple(_read(model, each, f"{where}[{i}]") for i, each in enumerate(formula))


_check = readable("a formula of x, y and z in quotation marks", _read)
_surface = ValueType(_check, _read, write_formula)
_curve = ValueType(array(2, _check, "formulas of x, y and z"), _two, keys.vector, argument="ArrayInput")


@record
class OnSurfaces(BetweenPoints):
    """Formulas of x, y, z vanish, the position of the second point relative to the first, in axes of the first body.

    No coordinate is added, unlike for a parametric curve, whose parameter would be a massless coordinate. The multiplier
    times the gradient of a formula is the force on the point.
    """

    unit = None

    @property
    @abstractmethod
    def surfaces(self) -> dict[str, Formula]:
        """The formulas that vanish, by name."""

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """Its points; the formulas of x, y and z have no initial value here."""
        yield from formulas_in(self.points, f"{self.title}, points")

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        idle = [f for f in self.surfaces.values() if not f.free_symbols & {coordinate(x) for x in _XYZ}]
        fact, advice = "contains neither x nor y nor z.", "Use the position of the point, in axes of the first body."
        return [Problem(self.title, f"'{f}' {fact}", advice) for f in idle] or super().problems(model, table)

    def values(self, algebra: Algebra, lower: Lower, point: Array) -> Mapping[str, Scalar]:
        """The formulas at a position; `lower` converts parameters and time."""
        return {name: _at(f, algebra, lower, point) for name, f in self.surfaces.items()}

    def gradients(self, algebra: Algebra, lower: Lower, point: Array) -> Mapping[str, Array]:
        """Their gradients with respect to x, y and z."""
        return {
            name: vector([_at(se.diff(f, coordinate(x)), algebra, lower, point) for x in _XYZ])
            for name, f in self.surfaces.items()
        }

    def formulas(self, motion: LoadKinematics) -> tuple[Formulas, Formulas]:
        """The formulas at the position of the point."""
        return self.values(motion.algebra, motion.lower, self._relative_position(motion)), {}

    def constraint_actions(self, motion: LoadKinematics) -> dict[str, list[ConstraintAction]]:
        """Along the gradients, at the point."""
        R, (_, point) = motion.frame(self.bodies[0]).R, self._ends(motion)
        slopes = self.gradients(motion.algebra, motion.lower, self._relative_position(motion))
        return {name: reaction_pair(self.bodies, R @ slope, point) for name, slope in slopes.items()}

    def residual_terms(self, poses: ReferencePoses) -> Array:
        """The terms of the formulas as written."""
        (first, second), R = self._reference_points(poses), poses.frames[self.bodies[0]].R
        position = vector([R[:, i] @ (second - first) for i in range(3)])
        terms = [f.args if isinstance(f, se.Add) else (f,) for f in self.surfaces.values()]
        rows = [[_at(term, poses.algebra, poses.lower, position) for term in each] for each in terms]
        width = max(map(len, rows))
        return matrix([[*row, *[0] * (width - len(row))] for row in rows])


def _at(formula: Formula, algebra: Algebra, lower: Lower, point: Array) -> Scalar:
    """A formula of x, y and z at a position."""
    here = dict(zip(_XYZ, point, strict=True))
    known = {s.name: lower(s) for s in formula.free_symbols if s.name not in here}
    return Lowering(algebra, {**known, **here})(formula)


@record
class PointOnSurface(OnSurfaces):
    """Constrain a point of the second body to a surface of the first, where a formula of x, y, z vanishes.

    x, y, z are the position of the point relative to the point of the first body, in its axes, even if coordinates of the
    model have these names. The formula may contain parameters and the time t.

    >>> from dalembert.model.model import Model
    >>> model = Model("bowl", gravity=(0, 0, -10)).coordinates("x", "y", "z").start({"x": 1}, {"y": 2})
    >>> slides = [model.prismatic(axis, name) for axis, name in (((1, 0, 0), "x"), ((0, 1, 0), "y"), ((0, 0, 1), "z"))]
    >>> _ = model.body("ball", joint=slides, mass=1)
    >>> _ = model.point_on_surface(("world", "ball"), "z - (x**2 + y**2 - 1)/2")
    >>> import dalembert as dl
    >>> dl.derive(model).accelerations([1, 0, 0], [0, 2, 0])  # on the slope of 45 degrees
    array([-7., -0., -3.])
    """

    kind = "point_on_surface"
    descriptions = Frozen(
        bodies='two names, of bodies or `"world"`: the body with the surface, then the body with the point',
        points="two points, each in the axes of its body: the origin of x, y, z, then the constrained point",
    )

    surface: Formula = argument(
        _surface, positional=True, about="a formula of x, y, z, parameters and `t` that vanishes on the surface"
    )

    @property
    def surfaces(self) -> dict[str, Formula]:
        return {self.name: self.surface}


@record
class PointOnCurve(OnSurfaces):
    """Constrain a point of the second body to a curve of the first, where two formulas of x, y, z vanish.

    x, y, z are as in `point_on_surface`. Write a parametric curve as two formulas from which the parameter is eliminated.

    >>> from dalembert.model.model import Model
    >>> model = Model("bead", gravity=(0, 0, -9)).coordinates("u", "v", "w").start({"u": 1}, {})
    >>> slides = [model.prismatic(axis, name) for axis, name in (((1, 0, 0), "u"), ((0, 1, 0), "v"), ((0, 0, 1), "w"))]
    >>> _ = model.body("bead", joint=slides, mass=1)
    >>> _ = model.point_on_curve(("world", "bead"), ("x - cos(2*z)", "y - sin(2*z)"), name="helix")
    >>> import dalembert as dl
    >>> dl.derive(model).accelerations([1, 0, 0], [0, 0, 0]).round(12)
    array([ 0. , -3.6, -1.8])
    """

    kind = "point_on_curve"
    descriptions = Frozen(
        bodies='two names, of bodies or `"world"`: the body with the curve, then the body with the point',
        points="two points, each in the axes of its body: the origin of x, y, z, then the constrained point",
    )

    curve: tuple[Formula, Formula] = argument(
        _curve, positional=True, about="two formulas of x, y, z, parameters and `t` that vanish on the curve"
    )

    @property
    def surfaces(self) -> dict[str, Formula]:
        return {f"{self.name}, {i + 1}": f for i, f in enumerate(self.curve)}
