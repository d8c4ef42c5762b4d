"""A hexapod on compliant ground and the Panda under computed torque in the programs of `simulators.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import dalembert as dl
from simulator_cases import STEPS, TOLERANCES, Case, Cases, by_tolerance, drake_case, mujoco_steps

# ReDySim's hexapod on compliant ground, see walking.py


HEXAPOD_SECONDS = 1.0


def hexapod_cases() -> Cases:
    return {"dalembert": hexapod, "mujoco": hexapod_in_mujoco}


def hexapod() -> Case:
    import walking

    run = by_tolerance(walking.robot_of("hexapod").driven(), HEXAPOD_SECONDS, "denoc")
    return Case(run, run(walking.EXACT), TOLERANCES[:7])


def hexapod_in_mujoco() -> Case:
    import walking

    robot = walking.robot_of("hexapod")
    peer = walking.Peer(robot)
    exact = by_tolerance(robot.driven(), HEXAPOD_SECONDS, "denoc")(walking.EXACT)
    return Case(lambda step: peer.run(HEXAPOD_SECONDS, step)[:, -1], exact, walking.STEPS)


# the Panda of example-robot-data, brought to a posture by computed torque


PANDA_SECONDS, KP, KD = 1.0, 100.0, 20.0
POSTURE = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.7, 0.02, 0.02])
OFFSET = np.array([0.3] * 7 + [0.01] * 2)  # the error at the start; critically damped: e = e₀ (1 + 10 t) exp(−10 t)
POSTURE_AT_END = POSTURE + OFFSET * (1 + np.sqrt(KP) * PANDA_SECONDS) * np.exp(-np.sqrt(KP) * PANDA_SECONDS)


def panda_cases() -> Cases:
    return {"dalembert": panda, "mujoco": panda_in_mujoco, "drake": panda_in_drake}


def panda() -> Case:
    """Eight drives with feedback; the second finger mimics the first."""
    import robots

    model = dl.load(robots.path_of("panda")).copy().start((POSTURE + OFFSET).tolist(), [0.0] * 9)
    for name, position in zip(model.coordinate_names[:8], POSTURE.tolist(), strict=False):
        model.drive(name, str(position), name=f"control of {name}", feedback=(KP, KD))
    return Case(by_tolerance(model, PANDA_SECONDS), POSTURE_AT_END, TOLERANCES)


def panda_in_mujoco() -> Case:
    """The controller is a callback in Python, called in each stage of RK4; both fingers are driven: no mimic joints."""
    from xml.etree import ElementTree

    import mujoco

    import robots

    root = ElementTree.fromstring(robots.path_of("panda").read_text())
    for link in root.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    theirs = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
    theirs.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    theirs.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    data, torque = mujoco.MjData(theirs), np.zeros(9)

    def control(model: Any, data: Any) -> None:
        mujoco.mj_mulM(model, data, torque, KP * (POSTURE - data.qpos) - KD * data.qvel)
        data.qfrc_applied[:] = torque + data.qfrc_bias - data.qfrc_passive

    mujoco.set_mjcb_control(control)
    run = mujoco_steps(theirs, data, (POSTURE + OFFSET, np.zeros(9)), PANDA_SECONDS)
    return Case(run, POSTURE_AT_END, STEPS)


def panda_in_drake() -> Case:
    """Drake's InverseDynamicsController; both fingers are driven: continuous models have no mimic joints, <mimic> is deleted."""
    import logging
    import re

    from pydrake.multibody.parsing import Parser  # pyright: ignore[reportMissingImports]
    from pydrake.multibody.plant import MultibodyPlant  # pyright: ignore[reportMissingImports]
    from pydrake.systems.controllers import InverseDynamicsController  # pyright: ignore[reportMissingImports]
    from pydrake.systems.framework import DiagramBuilder  # pyright: ignore[reportMissingImports]
    from pydrake.systems.primitives import ConstantVectorSource  # pyright: ignore[reportMissingImports]

    import robots

    logging.getLogger("drake").setLevel(logging.ERROR)
    builder, path = DiagramBuilder(), robots.path_of("panda")
    plants = MultibodyPlant(0.0), MultibodyPlant(0.0)  # of the robot and of the controller
    for each in plants:
        parser = Parser(each)
        parser.package_map().Add("example-robot-data", str(path.parents[3]))
        parser.AddModelsFromString(re.sub("<mimic[^>]*>", "", path.read_text()), "urdf")
        each.WeldFrames(each.world_frame(), each.GetFrameByName("panda_link0"))
        for joint in map(each.get_joint, each.GetJointIndices()):
            if joint.num_velocities():
                each.AddJointActuator(joint.name(), joint)
        each.Finalize()
    plant = builder.AddSystem(plants[0])
    gains = (np.full(9, KP), np.zeros(9), np.full(9, KD))
    controller = builder.AddSystem(InverseDynamicsController(plants[1], *gains, has_reference_acceleration=False))
    target = builder.AddSystem(ConstantVectorSource(np.concatenate([POSTURE, np.zeros(9)])))
    builder.Connect(plant.get_state_output_port(), controller.get_input_port_estimated_state())
    builder.Connect(target.get_output_port(), controller.get_input_port_desired_state())
    builder.Connect(controller.GetOutputPort("generalized_force"), plant.get_applied_generalized_force_input_port())
    state = (POSTURE + OFFSET, np.zeros(9))
    return drake_case(plant, state, POSTURE_AT_END, PANDA_SECONDS, builder.Build())
