"""Mass, mass center and inertia of homogeneous solids, exact in formulas of parameters.

| kind | size | origin |
|---|---|---|
| `box` | three edges | center |
| `cylinder` | radius, length along z | center |
| `sphere` | radius | center |
| `ellipsoid` | three half axes | center |
| `capsule` | radius, length of the straight part along z | center |
| `cone` | radius, height along z | center of its base |
| `rod` | length along z; thin, its density is mass per length | center |

A hollow solid is the difference of two solids of the same kind and origin; the size of the second is `inner`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import symengine as se

from dalembert.errors import InputError, Problem, suggest_name
from dalembert.model.attitude import PLACEMENT, Rotation, placement, rotate_inertia, rotation_matrix
from dalembert.model.evaluation import value
from dalembert.model.keys import Key, Keys, constant, invalid_value, many, name, problem_of, table
from dalembert.model.values import ZERO, ArrayInput, Matrix3, Vector3, row_of
from dalembert.symbolic.symbols import Formula, Written

if TYPE_CHECKING:
    from dalembert.model.model import Model

_ZERO = se.Integer(0)
MAX_SOLIDS = 100  # per body in a file: the size of formulas grows with its square


@dataclass(frozen=True)
class _Shape:
    """A homogeneous solid: volume, height of the mass center, and central moments of inertia per mass."""

    volume: Formula
    height: Formula
    moments: Vector3


def _box(a: Formula, b: Formula, c: Formula) -> _Shape:
    return _Shape(a * b * c, _ZERO, ((b**2 + c**2) / 12, (a**2 + c**2) / 12, (a**2 + b**2) / 12))


def _cylinder(r: Formula, l: Formula) -> _Shape:  # noqa: E741
    across = r**2 / 4 + l**2 / 12
    return _Shape(se.pi * r**2 * l, _ZERO, (across, across, r**2 / 2))


def _ellipsoid(a: Formula, b: Formula, c: Formula) -> _Shape:
    return _Shape(4 * se.pi * a * b * c / 3, _ZERO, ((b**2 + c**2) / 5, (a**2 + c**2) / 5, (a**2 + b**2) / 5))


def _capsule(r: Formula, l: Formula) -> _Shape:  # noqa: E741
    # mass fractions of the cylinder and of the two hemispheres, whose mass centers are 3/8 r beyond its ends
    cylinder = l / (l + 4 * r / 3)
    caps = 1 - cylinder
    across = cylinder * (r**2 / 4 + l**2 / 12) + caps * (2 * r**2 / 5 + l**2 / 4 + 3 * l * r / 8)
    axial = cylinder * r**2 / 2 + caps * 2 * r**2 / 5
    return _Shape(se.pi * r**2 * (l + 4 * r / 3), _ZERO, (across, across, axial))


def _cone(r: Formula, h: Formula) -> _Shape:
    across = 3 * r**2 / 20 + 3 * h**2 / 80
    return _Shape(se.pi * r**2 * h / 3, h / 4, (across, across, 3 * r**2 / 10))


def _rod(l: Formula) -> _Shape:  # noqa: E741
    return _Shape(l, _ZERO, (l**2 / 12, l**2 / 12, _ZERO))


FORMS: dict[str, tuple[int, Callable[..., _Shape]]] = {
    "box": (3, _box),
    "cylinder": (2, _cylinder),
    "sphere": (1, lambda r: _ellipsoid(r, r, r)),
    "ellipsoid": (3, _ellipsoid),
    "capsule": (2, _capsule),
    "cone": (2, _cone),
    "rod": (1, _rod),
}


@dataclass(frozen=True)
class MassProperties:
    """Mass, mass center and central inertia, in body axes."""

    mass: Formula
    center: Vector3
    inertia: Matrix3


def combine(parts: Sequence[MassProperties]) -> MassProperties:
    """Combine several into one by the parallel-axis theorem.

    >>> one = se.Integer(1)
    >>> ball = [MassProperties(one, (x * one, 0 * one, 0 * one), ((one,) * 3,) * 3) for x in (-2, 4)]
    >>> combine(ball).mass, combine(ball).center, combine(ball).inertia[1][1]
    (2, (1, 0, 0), 20)
    """
    if len(parts) == 1:
        return parts[0]
    mass = sum((part.mass for part in parts), start=_ZERO)
    centers = [np.array(part.center, dtype=object) for part in parts]
    middle = sum((part.mass * c for part, c in zip(parts, centers, strict=True)), start=np.full(3, _ZERO)) / mass
    total = np.full((3, 3), _ZERO, dtype=object)
    for part, center in zip(parts, centers, strict=True):
        d = center - middle
        offset = part.mass * (d @ d * np.eye(3, dtype=int) - np.outer(d, d))
        total = total + np.array(part.inertia, dtype=object) + offset
    x, y, z = total
    center = (middle[0], middle[1], middle[2])
    return MassProperties(mass, center, ((x[0], x[1], x[2]), (x[1], y[1], y[2]), (x[2], y[2], z[2])))


def solid(
    model: Model,
    kind: str,
    size: ArrayInput,
    *,
    density: Written | None = None,
    mass: Written | None = None,
    inner: ArrayInput | None = None,
    position: ArrayInput = ZERO,
    rotation: Rotation = ZERO,
    where: str = "solid",
) -> MassProperties:
    """Create a homogeneous solid for `body(..., solid=...)` from its kind, size, and density or mass.

    Lengths and heights are along z.

    Parameters
    ----------
    model : Model
        The model whose parameters it uses.
    kind : {'box', 'cylinder', 'sphere', 'ellipsoid', 'capsule', 'cone', 'rod'}
        Kind of the solid.
    size : array_like
        Its lengths: three edges of a box; radius and length of a cylinder; radius of a sphere; three semi-axes of an ellipsoid;
        radius and length of the cylindrical part of a capsule; radius and height of a cone; length of a rod.
    density : formula, optional
        Mass per volume; of a rod, mass per length.
    mass : formula, optional
        Mass, instead of the density.
    inner : array_like, optional
        Size of a cavity of the same kind.
    position : array_like, shape (3,)
        Origin of the solid in body axes: its center, or the center of the base of a cone.
    rotation : sequence or matrix
        Orientation on the body: roll, pitch and yaw, rad, or another rotation.

    Returns
    -------
    MassProperties
        Mass, mass center and inertia, as formulas.

    Raises
    ------
    InputError
        If the kind is unknown, a length or the volume is not positive, or not exactly one of density and mass is given.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("flywheel").parameters(m=3.0, r=0.2, h=0.05).coordinates("turn")
    >>> wheel = model.solid("cylinder", ("r", "h"), mass="m")
    >>> wheel.inertia[2][2], wheel.center
    ((1/2)*m*r**2, (0, 0, 0))
    >>> _ = model.body("wheel", joint=model.revolute((0, 0, 1), "turn"), solid=wheel)
    """
    where = f"{where} ({kind})"
    if kind not in FORMS:
        raise InputError(f"{where}: there is no such solid. {suggest_name(str(kind), FORMS)}")
    if (density is None) == (mass is None):
        both = "neither density nor mass" if mass is None else "both density and mass"
        raise InputError(f"{where}: got {both}. Give one of them.")
    outer = _shape(model, kind, size, f"{where}, size")
    shapes = [outer] if inner is None else [outer, _shape(model, kind, inner, f"{where}, inner")]
    volume = outer.volume if inner is None else outer.volume - shapes[1].volume
    if not value(volume, model.parameter_values) > 0 and not (inner is None and density is None):
        raise InputError(f"{where}: its volume is not positive. Expected positive sizes, and `inner` less than `size`.")
    total = None if mass is None else model.reader.constant(mass, f"{where}, mass")
    rho = total / volume if density is None else model.reader.constant(density, f"{where}, density")
    masses = [rho * outer.volume, *(-rho * shape.volume for shape in shapes[1:])]
    if inner is None and total is not None:
        masses = [total]
    found = combine([_centered(shape, each) for shape, each in zip(shapes, masses, strict=True)])
    return _placed(found, *placement(model, where, position, rotation))


def _shape(model: Model, kind: str, size: ArrayInput, where: str) -> _Shape:
    count, shape = FORMS[kind]
    entries = row_of(size, where, f"{count} lengths")
    if len(entries) != count:
        raise InputError(f"{where}: got {len(entries)} lengths. Expected {count} for a {kind}.")
    lengths = [model.reader.constant(x, f"{where}[{i}]") for i, x in enumerate(entries)]
    for i, length in enumerate(lengths):
        if (number := value(length, model.parameter_values)) < 0:
            raise InputError(f"{where}[{i}]: the length is {number:g}. Expected a number >= 0.")
    return shape(*lengths)


def _centered(shape: _Shape, mass: Formula) -> MassProperties:
    a, b, c = (mass * moment for moment in shape.moments)
    return MassProperties(mass, (_ZERO, _ZERO, shape.height), ((a, _ZERO, _ZERO), (_ZERO, b, _ZERO), (_ZERO, _ZERO, c)))


def _placed(properties: MassProperties, position: Vector3, angles: Vector3) -> MassProperties:
    x, y, z = np.array(position, dtype=object) + rotation_matrix(angles) @ np.array(properties.center, dtype=object)
    return MassProperties(properties.mass, (x, y, z), rotate_inertia(properties.inertia, angles))


_LENGTHS = many(constant, "lengths")
SOLID: Keys = {
    "kind": Key(name, required=True),
    "size": Key(_LENGTHS, required=True),
    "density": Key(constant),
    "mass": Key(constant),
    "inner": Key(_LENGTHS),
    **PLACEMENT,
}


def solids_in_file(solids: object, where: str, model: Any) -> Iterator[Problem]:
    """Validate one solid or several in a file."""
    parts: list[Any] = solids if isinstance(solids, list) else [solids]
    if not 1 <= len(parts) <= MAX_SOLIDS:
        yield invalid_value(where, f"1 to {MAX_SOLIDS} solids", solids)
        return
    for i, part in enumerate(parts):
        path = f"{where} {i}" if isinstance(solids, list) else where
        found = [*table(part, SOLID, path, model)]
        yield from found or problem_of(path, lambda part=part, path=path: model.solid(**part, where=path))
