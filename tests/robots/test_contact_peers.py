"""Compliant contact against MuJoCo and Exudyn, which apply the same law as forces in every stage of their RK4."""

from typing import Any

import numpy as np
import pytest

import dalembert as dl

# without a jump at touchdown, where fixed steps would have a first-order error
K, D, MU, B, RADIUS, MASS = 2e4, 0.5, 0.3, 40.0, 0.1, 0.5
SPHERE = ((0.002,) * 3, [(0.0, 0.0, 0.0)], 0.0)
ROD = ((0.0005, 0.02, 0.02), [(-0.3, 0.0, 0.0), (0.3, 0.0, 0.0)], 0.2)
STEP, DURATION = 2e-5, 0.3

BALL = """<mujoco><option gravity="0 0 -9.81" integrator="RK4" timestep="{step}"><flag contact="disable"/></option>
<worldbody><body>
<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
<joint type="hinge" axis="1 0 0"/><joint type="hinge" axis="0 1 0"/><joint type="hinge" axis="0 0 1"/>
<inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia}"/></body></worldbody></mujoco>"""


def wrench(R, p, v, w, points):
    """Force and moment about the origin p of a body that moves with v and w; `points` are the centers of spheres on it."""
    force, moment = np.zeros(3), np.zeros(3)
    for point in points:
        arm = R @ point - [0, 0, RADIUS]
        depth, u = -(p + arm)[2], v + np.cross(w, arm)
        if depth <= 0:
            continue
        press, slip = max(K * depth * (1 - D * u[2]), 0.0), np.hypot(u[0], u[1])
        drag = B if B * slip <= MU * press else MU * press / slip
        f = np.array([-drag * u[0], -drag * u[1], press])
        force, moment = force + f, moment + np.cross(arm, f)
    return force, moment


def by_mujoco(q, qd, inertia, points):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: make robots installs it")
    text = BALL.format(step=STEP, mass=MASS, inertia=" ".join(map(str, inertia)))
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def push(_, now):
        w, p = now.cvel[1, :3], now.xpos[1]
        v = now.cvel[1, 3:] + np.cross(w, p - now.subtree_com[1])
        now.xfrc_applied[1] = np.concatenate(wrench(now.xmat[1].reshape(3, 3), p, v, w, points))

    data.qpos[:], data.qvel[:] = q, qd
    mujoco.set_mjcb_control(push)
    try:
        mujoco.mj_step(model, data, round(DURATION / STEP))
    finally:
        mujoco.set_mjcb_control(None)
    return data.qpos.copy()


def by_exudyn(q, qd, inertia, points):
    exu = pytest.importorskip("exudyn", reason="Exudyn is not installed: make robots installs it")
    from exudyn import utilities as items  # pyright: ignore[reportMissingImports]

    system = exu.SystemContainer().AddSystem()
    node = system.AddNode(
        items.NodeRigidBodyRxyz(referenceCoordinates=[0] * 6, initialCoordinates=q, initialVelocities=qd)
    )
    body = system.AddObject(items.ObjectRigidBody(mass=MASS, inertia=[*inertia, 0, 0, 0], nodeNumber=node))
    marker = system.AddMarker(items.MarkerBodyRigid(bodyNumber=body))
    kinds = exu.OutputVariableType
    asked = (kinds.RotationMatrix, kinds.Position, kinds.Velocity, kinds.AngularVelocity)

    def push(now):
        R, p, v, w = (np.array(now.GetNodeOutput(node, kind)) for kind in asked)
        return wrench(R.reshape(3, 3), p, v, w, points)

    weight = np.array([0, 0, -9.81 * MASS])
    force: Any = lambda now, t, load: push(now)[0] + weight  # noqa: E731, Exudyn declares its user functions as int
    torque: Any = lambda now, t, load: push(now)[1]  # noqa: E731
    system.AddLoad(items.LoadForceVector(markerNumber=marker, loadVectorUserFunction=force))
    system.AddLoad(items.LoadTorqueVector(markerNumber=marker, loadVectorUserFunction=torque))
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = round(DURATION / STEP), DURATION
    settings.timeIntegration.verboseMode, settings.solution.file.write = 0, False
    system.SolveDynamic(settings, solverType=exu.DynamicSolverType.RK44)
    return np.array(system.GetNodeOutput(node, kinds.Coordinates))


def ours(q, qd, inertia, points):
    model = dl.Model("body", gravity=(0, 0, -9.81)).coordinates("x", "y", "z", "a", "b", "c")
    model.body("body", joint=model.free(("x", "y", "z"), ("a", "b", "c"), "xyz"), mass=MASS, inertia=inertia)
    for point in points:
        model.sphere_on_plane("body", radius=RADIUS, center=point, stiffness=K, dissipation=D, friction=MU, viscous=B)
    run = dl.simulate(model, DURATION, q0=q, qd0=qd, samples=2)
    assert run.energy_error < 1e-11
    assert len(run.switchings) > 3
    return run.q[:, -1]


@pytest.mark.nightly
@pytest.mark.parametrize("theirs", [by_mujoco, by_exudyn])
@pytest.mark.parametrize(("inertia", "points", "turned"), [SPHERE, ROD], ids=["sphere", "rod"])
def test_the_same_law_gives_the_same_motion(theirs, inertia, points, turned):
    q, qd = [0, 0, 0.2, 0.0, turned, 0.3], [1.0, 0.4, 0, 3.0, 0.2, 0.5]
    np.testing.assert_allclose(theirs(q, qd, inertia, points), ours(q, qd, inertia, points), atol=1e-6)
