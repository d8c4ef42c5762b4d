"""Robots in Pinocchio: mass matrices, inverse and forward dynamics against ours, at random states.

The models are Pinocchio's own, read from URDF or built by its sample functions and rebuilt joint by joint; and files that
both programs read. Random trees are in `test_random_trees`.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from pinocchio_models import PARTS, condition, configuration_at, kind_of, make_possible, pin, random_states, rebuilt

from dalembert.api.dynamics import dynamics
from dalembert.io.urdf._urdf_reader import read_urdf
from dalembert.recursive.constraint_batch import rows_of
from dalembert.recursive.plan import plan_of
from dalembert.recursive.tree_dynamics import forward_dynamics, inverse_dynamics, mass_matrix, speed_names

STATES = 20
TOLERANCE = 1e-9
ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "talos-full": "talos_data/robots/talos_full_v2.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "a1": "a1_description/urdf/a1.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "romeo": "romeo_description/urdf/romeo_small.urdf",
    "simple-humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "pr2": "pr2_description/urdf/pr2.urdf",
}
# mimic joints are tied here, but independent in Pinocchio by default
WITHOUT_MIMIC = [name for name in ROBOTS if name not in ("panda", "talos-full", "baxter", "pr2")]


def robots_folder():
    """The folder of the package example-robot-data; None without it."""
    prefix = next((parent for parent in Path(pin.__file__).parents if parent.name == "cmeel.prefix"), None)
    folder = None if prefix is None else prefix / "share" / "example-robot-data" / "robots"
    return folder if folder is not None and folder.is_dir() else None


def close(ours, theirs, tolerance=TOLERANCE):
    assert np.abs(ours - theirs).max() <= tolerance * np.abs(theirs).max()


def compare(theirs, model, seed, places=None, columns=None):
    """Mass matrix, inverse and forward dynamics at all states; ours in one batch.

    `places` and `columns` are the indices of Pinocchio's coordinates and velocities among ours, if the order differs.
    """
    data, states = theirs.createData(), list(random_states(theirs, seed, STATES))
    n = theirs.nv
    places = np.arange(len(model.coordinate_names)) if places is None else places
    columns = np.arange(n) if columns is None else columns

    def batch(vectors, where):
        out = np.zeros((len(where), STATES))
        out[where] = np.stack(list(vectors), axis=1)
        return out

    q = batch((ours for _, ours, _, _, _, _ in states), places)
    s = batch((T @ v for _, _, v, _, T, _ in states), columns)
    sd = batch((T @ a + drift for _, _, _, a, T, drift in states), columns)
    # forces of typical magnitude, on v; those on s follow from Tᵀ f = pushed
    rng = np.random.default_rng(seed + 1)
    usual = np.mean([np.abs(pin.rnea(theirs, data, at, v, a)) for at, _, v, a, _, _ in states], axis=0)
    pushed = [usual * rng.normal(size=n) for _ in states]
    push = batch((np.linalg.solve(T.T, f) for (_, _, _, _, T, _), f in zip(states, pushed, strict=True)), columns)
    M = mass_matrix(model, q)[np.ix_(columns, columns)]
    tau, moved = inverse_dynamics(model, q, s, sd)[columns], forward_dynamics(model, q, s, push)[columns]
    for k, (at, _, v, a, T, drift) in enumerate(states):
        crba = np.triu(pin.crba(theirs, data, at))
        crba = crba + np.triu(crba, 1).T
        close(T.T @ M[:, :, k] @ T, crba)
        close(T.T @ tau[:, k], pin.rnea(theirs, data, at, v, a))
        # 1e-9 except for iCub on a floating base, whose mass matrix has a condition of 4e7
        allowed = max(TOLERANCE, np.finfo(float).eps * condition(crba))
        close(np.linalg.solve(T, moved[:, k] - drift), pin.aba(theirs, data, at, v, pushed[k]), allowed)


def read_by_pinocchio(name, base):
    folder = robots_folder()
    if folder is None:
        pytest.skip("the robots are not installed: pip install example-robot-data")
    path = folder / ROBOTS[name]
    return path, pin.buildModelFromUrdf(str(path), *(() if base == "fixed" else (pin.JointModelFreeFlyer(),)))


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_of_example_robot_data(name, base):
    _, theirs = read_by_pinocchio(name, base)
    if name == "romeo":
        make_possible(theirs)
    compare(theirs, rebuilt(theirs), seed=len(name))


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", WITHOUT_MIMIC)
def test_urdf_files_that_both_read(name, base):
    path, theirs = read_by_pinocchio(name, base)
    model = read_urdf(path, floating=base == "floating")
    places, columns = [], []
    for joint, label in zip(list(theirs.joints)[1:], list(theirs.names)[1:], strict=True):
        free = kind_of(joint) == "FreeFlyer"
        places += [f"base_{part}" for part in ("x", "y", "z", *PARTS)] if free else [label]
        spin = [speed for speed in speed_names(model) if speed.startswith("omega")]
        columns += ["dot(base_x)", "dot(base_y)", "dot(base_z)", *spin] if free else [f"dot({label})"]
    where = [model.coordinate_names.index(place) for place in places]
    compare(theirs, model, len(name), where, [speed_names(model).index(column) for column in columns])


@pytest.mark.parametrize("name", ["panda", "baxter", "pr2"])
def test_mimic_joints_agree_with_pinocchio(name):
    """Constraints of ours: the same torques at the leading joints, and the same accelerations."""
    path, _ = read_by_pinocchio(name, "fixed")
    theirs, model = pin.buildModelFromUrdf(str(path), mimic=True), read_urdf(path)
    data, names = theirs.createData(), model.coordinate_names
    joints = [joint for joint in list(theirs.joints)[1:] if joint.nv]
    leading = [theirs.names[joint.id] for joint in joints]
    lead = [names.index(label) for label in leading]
    follow = [i for i in range(len(names)) if i not in lead]
    n = len(names)
    still = np.zeros((n, 1))
    held = rows_of(plan_of(model), still, still, still, np.zeros(1))  # linear: φ = A q + φ(0)
    A, offset = held.A[:, :, 0], held.phi[:, 0]

    def completed(x, constant):
        out = np.zeros(n)
        out[lead] = x
        out[follow] = -np.linalg.solve(A[:, follow], A[:, lead] @ x + constant)
        return out

    rng = np.random.default_rng(len(name))
    for _ in range(STATES):
        x, v, a = rng.uniform(-1, 1, (3, theirs.nv))
        q = np.concatenate([configuration_at(joint, x[joint.idx_v]) for joint in joints])
        motion = completed(x, offset), completed(v, 0 * offset), completed(a, 0 * offset)
        tau = inverse_dynamics(model, *motion, actuated=leading)
        close(tau[lead], pin.rnea(theirs, data, q, v, a))
        assert (tau[follow] == 0).all()
        push = np.zeros(n)
        push[lead] = np.abs(tau[lead]) * rng.normal(size=theirs.nv)
        crba = np.triu(pin.crba(theirs, data, q))
        bent = np.linalg.solve(crba + np.triu(crba, 1).T, push[lead] - pin.nle(theirs, data, q, v))
        close(forward_dynamics(model, *motion[:2], push)[lead], bent)


@pytest.mark.parametrize("name", ["panda", "baxter", "pr2"])
def test_compiled_mimic_joints_agree_with_pinocchio(name):
    """Substituted, with the reduced mass matrix Eᵀ M E and the forces Eᵀ τ of independent speeds."""
    path, _ = read_by_pinocchio(name, "fixed")
    theirs, model = pin.buildModelFromUrdf(str(path), mimic=True), read_urdf(path, friction=False)
    data, known, n = theirs.createData(), dynamics(model), theirs.nv
    joints = [joint for joint in list(theirs.joints)[1:] if joint.nv]
    lead = [known.speed_names.index(f"dot({theirs.names[joint.id]})") for joint in joints]
    E = known.speed_map @ np.linalg.inv(known.speed_map[lead])  # by Pinocchio's speeds
    x, v, a, shock = np.random.default_rng(len(name)).uniform(-1, 1, (4, n, STATES))
    q, s, sd = E @ x, E @ v, E @ a
    assert "independent" in repr(known)
    assert np.abs(rows_of(plan_of(model), q, s, s, np.zeros(STATES)).phi).max() < 1e-15  # no mimic joint has an offset
    tau, M = known.inverse(q, s, sd, actuated=[known.speed_names[i] for i in lead]), known.mass_matrix(q)
    push = np.zeros_like(s)
    push[lead] = tau[lead] + shock * np.abs(tau[lead])
    moved = known.forward(q, s, push)
    for k in range(STATES):
        at = np.concatenate([configuration_at(joint, x[joint.idx_v, k]) for joint in joints])
        crba = np.triu(pin.crba(theirs, data, at))
        crba = crba + np.triu(crba, 1).T
        close(E.T @ M[:, :, k] @ E, crba)
        close(tau[lead, k], pin.rnea(theirs, data, at, v[:, k], a[:, k]))
        bent = np.linalg.solve(crba, push[lead, k] - pin.nle(theirs, data, at, v[:, k]))
        close(moved[:, k], E @ bent, max(TOLERANCE, np.finfo(float).eps * condition(crba)))


@pytest.mark.parametrize("name", ["ur5", "talos", "panda"])
def test_external_wrenches_agree_with_fext_of_pinocchio(name):
    """`fext` of rnea and aba is in axes of the joint, at its origin: the frame 'body' of a link on a joint."""
    path, _ = read_by_pinocchio(name, "fixed")
    theirs, model = pin.buildModelFromUrdf(str(path)), read_urdf(path, friction=False)
    model.holonomic_constraints = ()
    data, known, bodies = theirs.createData(), dynamics(model), {}
    for body in model.bodies:
        joint = theirs.frames[theirs.getFrameId(body.name)]
        if np.allclose(joint.placement.homogeneous, np.eye(4), atol=1e-12) and joint.parentJoint:
            bodies.setdefault(joint.parentJoint, body.name)
    assert len(bodies) > 4
    places = [model.coordinate_names.index(label) for label in list(theirs.names)[1:]]
    rng = np.random.default_rng(len(name))
    wrenches = {body: rng.uniform(-5, 5, (6, STATES)) for body in bodies.values()}
    x, v, a = rng.uniform(-1, 1, (3, theirs.nv, STATES))
    q, s, sd = (np.empty_like(x) for _ in range(3))
    q[places], s[places], sd[places] = x, v, a
    tau = known.inverse(q, s, sd, fext=wrenches, frame="body")
    world = {}
    for body, wrench in wrenches.items():
        R = known.kinematics.pose(q, body).rotation
        world[body] = np.concatenate([np.einsum("ijk,jk->ik", R, part) for part in (wrench[:3], wrench[3:])])
    assert np.allclose(known.inverse(q, s, sd, fext=world), tau, rtol=1e-9, atol=1e-9)
    moved, uncompiled = (
        f(q, s, tau, fext=wrenches, frame="body") for f in (known.forward, partial(forward_dynamics, model))
    )
    for k in range(STATES):
        at = np.concatenate([configuration_at(joint, x[joint.idx_v, k]) for joint in list(theirs.joints)[1:]])
        fext = [
            pin.Force(wrenches[bodies[i]][:, k]) if i in bodies else pin.Force.Zero() for i in range(theirs.njoints)
        ]
        close(tau[places, k], pin.rnea(theirs, data, at, v[:, k], a[:, k], fext))
        bent = pin.aba(theirs, data, at, v[:, k], tau[places, k], fext)
        close(moved[places, k], bent)
        close(uncompiled[places, k], bent)


@pytest.mark.parametrize("name", ["Manipulator", "Humanoid"])
def test_built_in_models_of_pinocchio(name):
    theirs = getattr(pin, f"buildSampleModel{name}")()
    compare(theirs, rebuilt(theirs), seed=3)


def test_rotors_agree_with_the_armature_of_pinocchio():
    theirs = pin.buildSampleModelManipulator()
    theirs.armature = np.random.default_rng(5).uniform(0.1, 2.0, theirs.nv)
    compare(theirs, rebuilt(theirs), seed=4)
