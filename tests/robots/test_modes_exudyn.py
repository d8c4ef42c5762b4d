"""Modes of linkages against Exudyn's ComputeODE2Eigenvalues, which projects M and K onto the constraints.

Springs are at rest, so no constraint carries a force that would add to the stiffness. Modes under load are compared with
closed forms in tests/api/test_linearize.py.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest

import dalembert as dl

PIN, SLIDE, CARDAN, BALL = [1, 1, 1, 1, 1, 0], [1, 1, 0, 1, 1, 1], [1, 1, 1, 0, 0, 1], [1, 1, 1, 0, 0, 0]


@dataclass
class Linkage:
    """Data for Exudyn, in world axes at rest: positions of mass centers and points, and inertias about the former."""

    bodies: dict = field(default_factory=dict)  # name: mass, mass center, inertia
    joints: list = field(
        default_factory=list
    )  # two bodies, position, axes as columns, constrained translations and rotations
    springs: list = field(default_factory=list)  # two bodies, two positions, stiffness
    rods: list = field(default_factory=list)  # two bodies, two positions

    def frequencies(self):
        exu = pytest.importorskip("exudyn", reason="Exudyn is not installed: make robots installs it")
        from exudyn import utilities as items  # pyright: ignore[reportMissingImports]

        system = exu.SystemContainer().AddSystem()
        number, middle = {"world": system.AddObject(items.ObjectGround())}, {"world": np.zeros(3)}
        for name, (mass, middle[name], inertia) in self.bodies.items():
            number[name] = system.CreateRigidBody(
                referencePosition=list(middle[name]),
                inertia=items.RigidBodyInertia(mass, np.array(inertia)),
                nodeType=exu.NodeType.RotationRxyz,
            )
        for pair, place, axes, held in self.joints:
            system.CreateGenericJoint(
                itemNumbers=[number[name] for name in pair],
                position=list(place),
                rotationMatrixAxes=axes,
                constrainedAxes=held,
            )

        def ends(pair, places):
            first, second = (list(np.subtract(place, middle[name])) for name, place in zip(pair, places, strict=True))
            return {"itemNumbers": [number[name] for name in pair], "localPosition0": first, "localPosition1": second}

        for pair, places, stiffness in self.springs:
            system.CreateSpringDamper(**ends(pair, places), stiffness=stiffness)
        for pair, places in self.rods:
            system.CreateDistanceConstraint(**ends(pair, places))
        system.Assemble()
        squares, _ = system.ComputeODE2Eigenvalues(useAbsoluteValues=False)
        return np.sqrt(np.sort(squares))


def along(direction):
    """Three axes, the last in the direction."""
    n = np.asarray(direction) / np.linalg.norm(direction)
    across = np.linalg.svd(n[None])[2][1]
    return np.column_stack([across, np.cross(n, across), n])


def test_modes_of_the_stewart_platform_agree_with_exudyn():
    p, linkage = dl.load("stewart-platform").parameter_values, Linkage()
    disc = p["mp"] * p["r"] ** 2 / 4
    linkage.bodies["platform"] = p["mp"], np.array([0, 0, p["h"]]), disc * np.diag([1, 1, 2])
    below = np.array([0, 0, 2, 2, 4, 4]) * np.pi / 3 + np.array([1, -1] * 3) * p["bb"]
    above = np.array([1, -1, 3, 1, 5, 3]) * np.pi / 3 + np.array([-1, 1] * 3) * p["bp"]
    for i, (a, b) in enumerate(zip(above, below, strict=True)):
        first = np.array([np.cos(b), np.sin(b), 0.0])
        foot, tip = p["R"] * first, np.array([p["r"] * np.cos(a), p["r"] * np.sin(a), p["h"]])
        n = (tip - foot) / np.linalg.norm(tip - foot)
        lower, upper = f"cylinder{i}", f"rod{i}"
        for name, key, middle in ((lower, "c", foot + n * p["lc"] / 2), (upper, "r", tip - n * p["lr"] / 2)):
            mass, length, radius = p[f"m{key}"], p[f"l{key}"], p[f"w{key}"]
            across, axial = mass * (radius**2 / 4 + length**2 / 12), mass * radius**2 / 2
            linkage.bodies[name] = mass, middle, across * np.eye(3) + (axial - across) * np.outer(n, n)
        second = np.cross(n, first) / np.linalg.norm(np.cross(n, first))
        cardan = np.column_stack([first, second, np.cross(first, second)])
        linkage.joints.append((("world", lower), foot, cardan, CARDAN))
        linkage.joints.append(((lower, upper), foot, along(n), SLIDE))
        linkage.joints.append(((upper, "platform"), tip, np.eye(3), BALL))
        linkage.springs.append(((lower, upper), (foot, tip), p["k"]))
    wanted = linkage.frequencies()
    model = dl.load("stewart-platform").with_parameters(g=0.0, L0=p["L"])
    found = dl.linearize(model, at=(model.initial[0], np.zeros(24))).modes().frequencies
    assert len(wanted) == 6
    assert np.abs(found / wanted - 1).max() < 1e-10


# the left front wheel: x forward, y to the left, z up; arms on inclined axes, a tie rod to a rack, a coil and a tire
LOWER, UPPER = np.array([[0.0, 0.25, 0.2], [0.03, 0.68, 0.18]]), np.array([[-0.02, 0.35, 0.48], [-0.01, 0.62, 0.5]])
LOWER_AXIS, UPPER_AXIS = (1.0, 0.05, 0.04), (1.0, -0.06, -0.12)
WHEEL, TIE = np.array([0.0, 0.72, 0.32]), np.array([[-0.13, 0.3, 0.25], [-0.14, 0.64, 0.26]])
COIL, GROUND = np.array([[0.02, 0.4, 0.75], [0.02, 0.52, 0.19]]), np.array([0.0, 0.72, 0.0])
ARM, KNUCKLE, RACK = (0.03, 0.04, 0.05), (0.4, 0.7, 0.42), 2.5
STIFF = {"coil": 32e3, "tire": 190e3, "rack": 45e3}


def wishbones():
    """Two arms, a knuckle on the lower one, and a rack."""
    model = dl.Model("double wishbone", gravity=(0, 0, 0)).coordinates("lower", "upper", "a", "b", "c", "rack")
    axes = ("lower", LOWER, LOWER_AXIS, 4.0), ("upper", UPPER, UPPER_AXIS, 2.0)
    for name, (hinge, ball), axis, mass in axes:
        hung = model.revolute(axis, name, hinge.tolist())
        model.body(name, joint=hung, mass=mass, center=((ball - hinge) / 2).tolist(), inertia=ARM)
    stand = model.spherical(("a", "b", "c"), position=(LOWER[1] - LOWER[0]).tolist())
    model.body("knuckle", parent="lower", joint=stand, mass=30.0, center=(WHEEL - LOWER[1]).tolist(), inertia=KNUCKLE)
    model.body("rack", joint=model.prismatic((0, 1, 0), "rack", TIE[0].tolist()), mass=RACK)
    ball = model.spherical(position=(UPPER[1] - UPPER[0]).tolist())
    model.loop("ball", ("upper", "knuckle"), joint=ball, position=(UPPER[1] - LOWER[1]).tolist())
    ends = ((0, 0, 0), (TIE[1] - LOWER[1]).tolist())
    model.distance(("rack", "knuckle"), float(np.linalg.norm(TIE[1] - TIE[0])), points=ends, name="tie rod")
    for name, body, first, second in springs():
        middle = {"lower": LOWER[0], "knuckle": LOWER[1], "rack": TIE[0]}[body]
        length = float(np.linalg.norm(second - first))
        points = (first.tolist(), (second - middle).tolist())
        model.spring(("world", body), points=points, stiffness=STIFF[name], natural_length=length, name=name)
    return model


def springs():
    """Name, body, position on the chassis or the ground, position on the body."""
    yield "coil", "lower", *COIL
    yield "tire", "knuckle", GROUND, WHEEL
    yield "rack", "rack", TIE[0] - [0.0, 0.2, 0.0], TIE[0]


def test_modes_of_a_spatial_double_wishbone_agree_with_exudyn():
    linkage = Linkage()
    for name, (hinge, ball), axis, mass in (("lower", LOWER, LOWER_AXIS, 4.0), ("upper", UPPER, UPPER_AXIS, 2.0)):
        linkage.bodies[name] = mass, (hinge + ball) / 2, np.diag(ARM)
        linkage.joints.append((("world", name), hinge, along(axis), PIN))
        linkage.joints.append(((name, "knuckle"), ball, np.eye(3), BALL))
    linkage.bodies["knuckle"] = 30.0, WHEEL, np.diag(KNUCKLE)
    linkage.bodies["rack"] = RACK, TIE[0], np.eye(3)  # it does not rotate
    linkage.joints.append((("world", "rack"), TIE[0], along((0, 1, 0)), SLIDE))
    linkage.rods.append((("rack", "knuckle"), TIE))
    linkage.springs += [(("world", body), (a, b), STIFF[name]) for name, body, a, b in springs()]
    wanted = linkage.frequencies()
    found = dl.linearize(wishbones(), at=np.zeros(6)).modes().frequencies
    assert len(wanted) == 2
    assert np.abs(found / wanted - 1).max() < 1e-10
