"""Chains of equal rods that fall from a horizontal position, in all programs of `simulators.py`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import dalembert as dl
from simulator_cases import (
    EXACT,
    PEERS,
    TOLERANCES,
    Case,
    Cases,
    G,
    by_tolerance,
    drake_case,
    exudyn_settings,
    mjcf,
    mujoco_case,
    ours,
    sympy_case,
)

CHAIN_SECONDS = 2.0


def chain(n: int, length: float = 1.0) -> Any:
    """A chain of n thin rods in the x-y plane with angles relative to the rod before."""
    model = dl.Model(f"chain-{n}", gravity=(0, -G, 0)).coordinates(*[f"q{i}" for i in range(n)])
    about = length**2 / 12
    for i in range(n):
        hinge = model.revolute((0, 0, 1), f"q{i}", (0, 0, 0) if i == 0 else (length, 0, 0))
        parent = "world" if i == 0 else f"rod{i - 1}"
        model.body(f"rod{i}", parent=parent, joint=hinge, mass=1, center=(length / 2, 0, 0), inertia=(0, about, about))
    return model.start(np.zeros(n).tolist(), np.zeros(n).tolist())


def chain_cases(n: int) -> Cases:
    theirs = (chain_in_mujoco, chain_in_exudyn, chain_in_drake, chain_in_sympy)
    return {
        "dalembert": lambda: ours(chain(n), CHAIN_SECONDS),
        **{name: partial(make, n) for name, make in zip(PEERS, theirs, strict=True)},
    }


def chain_exact(n: int) -> np.ndarray:
    return by_tolerance(chain(n), CHAIN_SECONDS)(EXACT)


def nested(count: int, length: float = 1.0) -> str:
    """Nested rods of MJCF."""
    inside, about = f'<site name="end" pos="{length} 0 0"/>', length**2 / 12
    for i in reversed(range(count)):
        pos = "0 0 0" if i == 0 else f"{length} 0 0"
        mass = f'<inertial pos="{length / 2} 0 0" mass="1" diaginertia="1e-12 {about:.17g} {about:.17g}"/>'
        inside = f'<body name="rod{i}" pos="{pos}"><joint type="hinge" axis="0 0 1"/>{mass}{inside}</body>'
    return inside


def chain_in_mujoco(n: int) -> Case:
    return mujoco_case(mjcf(nested(n)), chain(n), CHAIN_SECONDS)


def chain_in_drake(n: int) -> Case:
    plant = drake_rods(0.0, n)[0]
    plant.Finalize()
    return drake_case(plant, chain(n).initial, chain_exact(n), CHAIN_SECONDS)


def drake_rods(step: float, count: int, length: float = 1.0) -> tuple[Any, list[Any]]:
    """A chain of rods of unit mass in Drake, and its bodies."""
    from pydrake.math import RigidTransform  # pyright: ignore[reportMissingImports]
    from pydrake.multibody.plant import MultibodyPlant  # pyright: ignore[reportMissingImports]
    from pydrake.multibody.tree import (  # pyright: ignore[reportMissingImports]
        FixedOffsetFrame,
        RevoluteJoint,
        RotationalInertia,
        SpatialInertia,
    )

    plant = MultibodyPlant(step)
    plant.mutable_gravity_field().set_gravity_vector([0, -G, 0])
    base, bodies = plant.world_frame(), []
    for i in range(count):
        about = RotationalInertia(1e-12, length**2 / 12, length**2 / 12)
        inertia = SpatialInertia.MakeFromCentralInertia(1.0, [length / 2, 0, 0], about)
        bodies.append(body := plant.AddRigidBody(f"rod{i}", inertia))
        plant.AddJoint(RevoluteJoint(f"q{i}", base, body.body_frame(), [0, 0, 1]))
        base = plant.AddFrame(FixedOffsetFrame(f"end{i}", body.body_frame(), RigidTransform([length, 0, 0])))
    return plant, bodies


def chain_in_exudyn(n: int) -> Case:
    import exudyn as exu
    from exudyn import utilities as items

    def run(tolerance: float) -> np.ndarray:
        system, names = (
            exu.SystemContainer().AddSystem(),
            ("referenceCoordinates", "initialCoordinates", "initialCoordinates_t"),
        )
        node = system.AddNode(items.NodeGenericODE2(**dict.fromkeys(names, [0.0] * n), numberOfODE2Coordinates=n))
        inertia, zero = np.diag([0.0, 1 / 3, 1 / 3]), np.zeros(3)
        inertia[0, 0] = 1e-12
        ends = [zero if i == 0 else np.array([1.0, 0, 0]) for i in range(n)]
        system.AddObject(
            items.ObjectKinematicTree(
                nodeNumber=node,
                jointTypes=[exu.JointType.RevoluteZ] * n,
                linkParents=[i - 1 for i in range(n)],
                jointTransformations=exu.Matrix3DList([np.eye(3)] * n),
                jointOffsets=exu.Vector3DList(ends),
                linkInertiasCOM=exu.Matrix3DList([inertia - np.diag([0, 0.25, 0.25])] * n),
                linkCOMs=exu.Vector3DList([np.array([0.5, 0, 0])] * n),
                linkMasses=[1.0] * n,
                gravity=[0, -G, 0],
            )
        )
        system.Assemble()
        settings = exudyn_settings(exu, CHAIN_SECONDS)
        settings.timeIntegration.automaticStepSize = True
        settings.timeIntegration.numberOfSteps = 20
        settings.timeIntegration.relativeTolerance = settings.timeIntegration.absoluteTolerance = tolerance
        settings.timeIntegration.explicitIntegration.computeEndOfStepAccelerations = False
        system.SolveDynamic(settings, solverType=exu.DynamicSolverType.DOPRI5)
        return np.array(system.GetNodeOutput(node, exu.OutputVariableType.Coordinates))

    return Case(run, chain_exact(n), TOLERANCES)


def chain_in_sympy(n: int) -> Case:
    """Kane's method in absolute angles."""
    import sympy as sm
    import sympy.physics.mechanics as me

    q, u = list(me.dynamicsymbols(f"q:{n}")), list(me.dynamicsymbols(f"u:{n}"))
    return sympy_case(kane_rods(me, sm, q, u), q, u, np.zeros(2 * n), chain_exact(n), CHAIN_SECONDS)


def kane_rods(me: Any, sm: Any, q: list[Any], u: list[Any]) -> list[Any]:
    """M and forcing by KanesMethod of a chain of rods of unit mass and length."""
    world = me.ReferenceFrame("N")
    bodies, loads, velocity = [], [], 0 * world.x
    for i, (angle, rate) in enumerate(zip(q, u, strict=True)):
        frame = world.orientnew(f"A{i}", "Axis", [angle, world.z])
        frame.set_ang_vel(world, rate * world.z)
        normal = -sm.sin(angle) * world.x + sm.cos(angle) * world.y
        middle = me.Point(f"G{i}")
        middle.set_vel(world, velocity + rate / 2 * normal)
        velocity += rate * normal
        inertia = me.inertia(frame, 0, sm.Rational(1, 12), sm.Rational(1, 12))
        bodies.append(me.RigidBody(f"B{i}", middle, frame, 1, (inertia, middle)))
        loads.append((middle, -G * world.y))
    rates = [a.diff(me.dynamicsymbols._t) - b for a, b in zip(q, u, strict=True)]
    method = me.KanesMethod(world, q, u, kd_eqs=rates)
    method.kanes_equations(bodies, loads)
    return [method.mass_matrix, method.forcing]
