"""Rigid groups of links: their mass properties together, and whether any body could have them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalembert.importers.urdf.elements import Inertial
from dalembert.importers.urdf.poses import Pose

_CLOSE = 1e-9
_GROSS = 5.0  # the files of robots that were built have moments of up to 4.9 times the sum of the others
_POINT = 1e-12  # square of a micrometre: moments below mass × this are no moments


def moved(inertial: Inertial, pose: Pose) -> Inertial:
    """The same mass properties, seen from the frame in which the link is placed by `pose`."""
    inertia = inertial.inertia
    if any(pose.rotation):
        R = pose.R
        inertia = R @ inertia @ R.T
    return Inertial(inertial.line, inertial.mass, pose.point(inertial.center), (inertia + inertia.T) / 2)


def together(parts: Iterable[Inertial]) -> Inertial:
    """The mass properties of rigidly joined parts, all given in one frame: Steiner's theorem, part by part."""
    given = [*parts]
    if len(given) == 1:
        return given[0]
    mass = sum(part.mass for part in given)
    centers = [np.array(part.center) for part in given]
    if mass:
        center = sum((part.mass * c for part, c in zip(given, centers, strict=True)), start=np.zeros(3)) / mass
    else:
        center = np.zeros(3)
    inertia = np.zeros((3, 3))
    for part, at in zip(given, centers, strict=True):
        d = at - center
        inertia = inertia + part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    x, y, z = center.tolist()
    return Inertial(given[0].line, mass, (x, y, z), inertia)


def is_empty(inertial: Inertial | None) -> bool:
    """Whether there is neither mass nor inertia."""
    return inertial is None or (not inertial.mass and not inertial.inertia.any())


def is_point(inertial: Inertial) -> bool:
    """Whether the moments are so small beside the mass that they can only be rounding."""
    return float(np.abs(inertial.inertia).max()) <= _POINT * inertial.mass


def flaw(inertial: Inertial) -> tuple[str, bool] | None:
    """What is impossible about an inertia, and whether it is beyond what carelessness explains; None if nothing is.

    A single moment is what planar models give, and no fault.

    >>> flaw(Inertial(1, 1.0, (0, 0, 0), np.diag([1.0, 1.0, 10.0])))
    ('the principal moments 1, 1, 10 break the triangle inequality', True)
    >>> flaw(Inertial(1, 1.0, (0, 0, 0), np.diag([1.0, 1.0, 2.0])))
    """
    moments = np.linalg.eigvalsh(inertial.inertia)
    small = _CLOSE * float(np.abs(moments).max())
    shown = ", ".join(f"{0.0 if abs(m) <= small else m:.6g}" for m in moments)
    if moments[0] < -small:
        return f"a principal moment is negative; they are {shown}", True
    others = moments[0] + moments[1]
    if moments[2] > others + small:
        gross = moments[1] > small and moments[2] >= _GROSS * (1 - _CLOSE) * others
        return f"the principal moments {shown} break the triangle inequality", bool(gross)
    return None
