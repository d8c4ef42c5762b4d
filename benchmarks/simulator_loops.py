"""A planar four-bar linkage and a Stewart platform in the programs of `simulators.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import dalembert as dl
from simulator_cases import (
    EXACT,
    PEERS,
    STEPS,
    TIGHT,
    Case,
    Cases,
    G,
    alpha_method,
    by_tolerance,
    exudyn_settings,
    mjcf,
    mujoco_case,
    mujoco_steps,
    ours,
    sympy_case,
)
from simulator_chains import chain, drake_rods, nested

# three equal rods between two pivots: a planar four-bar linkage


BAR_SECONDS, BAR, PIVOTS = 2.0, 0.5, 0.75


def four_bar() -> Any:
    """The linkage, released at an angle of its first rod with an angular velocity."""
    model = chain(3, BAR)
    close = model.revolute((0, 0, 1), position=(PIVOTS, 0, 0))
    model.loop("pivot", ("world", "rod2"), joint=close, position=(BAR, 0, 0))
    a, w = float(np.arccos((PIVOTS - BAR) / (2 * BAR))), 0.5
    turn = w * (1 + 2 * np.cos(a))
    return model.start([a, -a, -a], [w, -turn, turn])


def four_bar_exact() -> np.ndarray:
    return by_tolerance(four_bar(), BAR_SECONDS)(EXACT)


def four_bar_cases() -> Cases:
    theirs = (four_bar_in_mujoco, four_bar_in_exudyn, four_bar_in_drake, four_bar_in_sympy)
    return {"dalembert": lambda: ours(four_bar(), BAR_SECONDS), **dict(zip(PEERS, theirs, strict=True))}


def four_bar_in_mujoco() -> Case:
    """The loop is an equality constraint of MuJoCo, a stiff spring and damper with the shortest time constant it permits."""
    pin = f'<equality><connect site1="end" site2="pivot" {TIGHT}/></equality>'
    bodies = f'<site name="pivot" pos="{PIVOTS} 0 0"/>{nested(3, BAR)}'
    return mujoco_case(mjcf(bodies, pin, 'contact="disable"'), four_bar(), BAR_SECONDS)


def four_bar_in_drake() -> Case:
    """Discrete steps with a ball constraint, since continuous models of Drake have no loop constraints."""
    from pydrake.multibody.plant import DiscreteContactApproximation  # pyright: ignore[reportMissingImports]
    from pydrake.systems.analysis import Simulator  # pyright: ignore[reportMissingImports]

    state = np.concatenate(four_bar().initial)

    def run(step: float) -> np.ndarray:
        plant, bodies = drake_rods(step, 3, BAR)
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        plant.AddBallConstraint(plant.world_body(), [PIVOTS, 0, 0], bodies[-1], [BAR, 0, 0])
        plant.Finalize()
        simulator = Simulator(plant)
        context = simulator.get_mutable_context()
        plant.SetPositionsAndVelocities(context, state)
        simulator.AdvanceTo(BAR_SECONDS)
        return plant.GetPositions(context).copy()

    return Case(run, four_bar_exact(), STEPS[:7])


def four_bar_in_exudyn() -> Case:
    """Rods in the plane with three coordinates each, revolute joints and the generalized-alpha method of second order."""
    import exudyn as exu
    from exudyn import utilities as items

    q, qd = four_bar().initial
    angles, rates = np.cumsum(q), np.cumsum(qd)
    along = BAR * np.array([np.cos(angles), np.sin(angles)])
    speeds = BAR * rates * np.array([-np.sin(angles), np.cos(angles)])
    middles, moves = (np.cumsum(part, axis=1) - part / 2 for part in (along, speeds))

    def run(step: float) -> np.ndarray:
        system = exu.SystemContainer().AddSystem()
        ground, nodes, ends = system.AddObject(items.ObjectGround()), [], []
        hold = system.AddMarker(items.MarkerBodyPosition(bodyNumber=ground))
        for i in range(3):
            place = {"referenceCoordinates": [*middles[:, i], angles[i]], "initialVelocities": [*moves[:, i], rates[i]]}
            nodes.append(node := system.AddNode(items.NodeRigidBody2D(**place)))
            body = system.AddObject(items.ObjectRigidBody2D(nodeNumber=node, physicsMass=1, physicsInertia=BAR**2 / 12))
            marks = [
                system.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0, 0]))
                for x in (0, -BAR / 2, BAR / 2)
            ]
            system.AddLoad(items.Force(markerNumber=marks[0], loadVector=[0, -G, 0]))
            ends.append(marks[1:])
        pivot = system.AddMarker(items.MarkerBodyPosition(bodyNumber=ground, localPosition=[PIVOTS, 0, 0]))
        chain_of_pins = [(hold, ends[0][0]), (ends[0][1], ends[1][0]), (ends[1][1], ends[2][0]), (ends[2][1], pivot)]
        for pair in chain_of_pins:
            system.AddObject(items.RevoluteJoint2D(markerNumbers=list(pair)))
        system.Assemble()
        settings = exudyn_settings(exu, BAR_SECONDS)
        alpha_method(settings, BAR_SECONDS, step)
        system.SolveDynamic(settings)
        turned = [system.GetNodeOutput(node, exu.OutputVariableType.Coordinates)[2] for node in nodes]
        return np.diff(angles + turned, prepend=0.0)

    return Case(run, four_bar_exact(), STEPS)


def four_bar_in_sympy() -> Case:
    """Lagrange's equations with multipliers in absolute angles; the constraints are not stabilized."""
    import sympy as sm
    import sympy.physics.mechanics as me

    q = list(me.dynamicsymbols("q:3"))
    qd = [a.diff(me.dynamicsymbols._t) for a in q]
    place, velocity, kinetic, potential = sm.zeros(2, 1), sm.zeros(2, 1), 0, 0
    for angle, rate in zip(q, qd, strict=True):
        along, across = (BAR * sm.Matrix(v) for v in ((sm.cos(angle), sm.sin(angle)), (-sm.sin(angle), sm.cos(angle))))
        middle = velocity + rate / 2 * across
        kinetic += middle.dot(middle) / 2 + BAR**2 / 24 * rate**2
        potential += G * (place + along / 2)[1]
        place, velocity = place + along, velocity + rate * across
    method = me.LagrangesMethod(kinetic - potential, q, hol_coneqs=[place[0] - PIVOTS, place[1]])
    method.form_lagranges_equations()
    both = [method.mass_matrix_full[3:, 3:], method.forcing_full[3:, :]]
    initial = np.concatenate([np.cumsum(part) for part in four_bar().initial])
    return sympy_case(both, q, qd, initial, four_bar_exact(), BAR_SECONDS)


# the Stewart platform of the gallery, after an impulse


STEWART_SECONDS, PLATFORM = 0.5, slice(18, 21)  # the coordinates of the platform's middle


def stewart_cases() -> Cases:
    return {"dalembert": stewart, "mujoco": stewart_in_mujoco, "exudyn": stewart_in_exudyn}


def stewart() -> Case:
    case = ours(dl.load("stewart-platform"), STEWART_SECONDS)
    return Case(lambda tolerance: case.run(tolerance)[PLATFORM], case.exact[PLATFORM], case.settings)


def assembled() -> tuple[np.ndarray, np.ndarray]:
    """The initial state, whose velocities satisfy the constraints."""
    run = dl.simulate("stewart-platform", 1e-6, samples=2)
    return run.q[:, 0], run.qd[:, 0]


def struts(p: dict[str, float]) -> list[tuple[float, np.ndarray]]:
    """Of each strut the angle of its foot about z, and its tip in the frame of the platform."""
    below = np.array([0, 0, 2, 2, 4, 4]) * np.pi / 3 + np.array([1, -1] * 3) * p["bb"]
    above = np.array([1, -1, 3, 1, 5, 3]) * np.pi / 3 + np.array([-1, 1] * 3) * p["bp"]
    return [(b, p["r"] * np.array([np.cos(a), np.sin(a), 0.0])) for a, b in zip(above, below, strict=True)]


def moments(p: dict[str, float], key: str) -> tuple[float, float, float]:
    """Moments of inertia of a cylinder (c) or rod (r) about its axes."""
    mass, length, radius = p[f"m{key}"], p[f"l{key}"], p[f"w{key}"]
    across = mass * (radius**2 / 4 + length**2 / 12)
    return across, across, mass * radius**2 / 2


def stewart_in_mujoco() -> Case:
    """Ball joints are equality constraints of MuJoCo, as in the four-bar linkage."""
    import mujoco

    p = dl.load("stewart-platform").parameter_values
    lower, upper = (" ".join(f"{x:.17g}" for x in moments(p, key)) for key in "cr")
    legs, sites, pins = "", "", ""
    for i, (b, tip) in enumerate(struts(p)):
        foot = f'pos="{p["R"] * np.cos(b):.17g} {p["R"] * np.sin(b):.17g} 0" euler="0 0 {b:.17g}"'
        spring = f'stiffness="{p["k"]}" springref="{p["L0"]:.17g}"'
        legs += (
            f'<body {foot}><joint axis="1 0 0"/><joint axis="0 1 0"/>'
            f'<inertial pos="0 0 {p["lc"] / 2}" mass="{p["mc"]}" diaginertia="{lower}"/>'
            f'<body><joint type="slide" axis="0 0 1" {spring}/><site name="top{i}"/>'
            f'<inertial pos="0 0 {-p["lr"] / 2}" mass="{p["mr"]}" diaginertia="{upper}"/></body></body>'
        )
        sites += f'<site name="tip{i}" pos="{" ".join(f"{x:.17g}" for x in tip)}"/>'
        pins += f'<connect site1="top{i}" site2="tip{i}" {TIGHT}/>'
    disk = p["mp"] * p["r"] ** 2 / 4
    joints = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    joints += "".join(f'<joint axis="{axis}"/>' for axis in ("0 0 1", "0 1 0", "1 0 0"))
    inertial = f'<inertial pos="0 0 0" mass="{p["mp"]}" diaginertia="{disk} {disk} {2 * disk}"/>'
    text = mjcf(f"{legs}<body>{joints}{inertial}{sites}</body>", f"<equality>{pins}</equality>", 'contact="disable"')
    theirs = mujoco.MjModel.from_xml_string(text.replace(f"0 -{G} 0", f"0 0 -{G}"))
    run = mujoco_steps(theirs, mujoco.MjData(theirs), assembled(), STEWART_SECONDS)
    return Case(lambda step: run(step)[PLATFORM], stewart().exact, STEPS)


def stewart_in_exudyn() -> Case:
    """Thirteen rigid bodies with Euler parameters, generic joints, the generalized-alpha method of second order."""
    import exudyn as exu
    from exudyn import utilities as items

    model = dl.load("stewart-platform")
    p, (q, qd) = model.parameter_values, assembled()
    kinematics = dl.kinematics(model)
    disk = p["mp"] * p["r"] ** 2 / 4
    parts = {"platform": (p["mp"], 0.0, (disk, disk, 2 * disk))}
    for i in range(1, 7):
        parts[f"cylinder{i}"] = p["mc"], p["lc"] / 2, moments(p, "c")
        parts[f"rod{i}"] = p["mr"], -p["lr"] / 2, moments(p, "r")

    def run(step: float) -> np.ndarray:
        system = exu.SystemContainer().AddSystem()
        number = {"world": system.AddObject(items.ObjectGround())}
        for name, (mass, height, about) in parts.items():
            center, pose = [0.0, 0.0, height], kinematics.pose(q, name)
            moved = kinematics.velocity(q, qd, name, center)
            number[name] = system.CreateRigidBody(
                referencePosition=kinematics.position(q, name, center).tolist(),
                referenceRotationMatrix=pose.rotation,
                initialVelocity=moved.linear.tolist(),
                initialAngularVelocity=moved.angular.tolist(),
                inertia=items.RigidBodyInertia(mass, np.diag(about)),
                nodeType=exu.NodeType.RotationEulerParameters,
                gravity=[0, 0, -G],
            )
        platform = kinematics.pose(q, "platform")
        for i, (b, tip) in enumerate(struts(p), 1):
            first = np.array([np.cos(b), np.sin(b), 0.0])
            axes = kinematics.pose(q, f"cylinder{i}").rotation
            cardan = np.column_stack([first, axes[:, 1], np.cross(first, axes[:, 1])])
            top = platform.position + platform.rotation @ tip
            joints = (
                (("world", f"cylinder{i}"), p["R"] * first, cardan, [1, 1, 1, 0, 0, 1]),
                ((f"cylinder{i}", f"rod{i}"), top, axes, [1, 1, 0, 1, 1, 1]),
                ((f"rod{i}", "platform"), top, np.eye(3), [1, 1, 1, 0, 0, 0]),
            )
            for pair, place, directions, held in joints:
                system.CreateGenericJoint(
                    itemNumbers=[number[name] for name in pair],
                    position=list(place),
                    rotationMatrixAxes=directions,
                    constrainedAxes=held,
                )
            system.CreateSpringDamper(
                itemNumbers=[number["world"], number[f"rod{i}"]],
                localPosition0=(p["R"] * first).tolist(),
                localPosition1=[0, 0, p["lr"] / 2],
                referenceLength=p["L0"],
                stiffness=p["k"],
            )
        system.Assemble()
        settings = exudyn_settings(exu, STEWART_SECONDS)
        alpha_method(settings, STEWART_SECONDS, step)
        system.SolveDynamic(settings)
        kind = exu.OutputVariableType.Position
        return np.array(system.GetObjectOutputBody(number["platform"], kind, [0, 0, 0]))

    return Case(run, stewart().exact, STEPS)
