"""Joint forces and moments against Newton's laws by hand."""

from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.mechanics.joint_reactions import undetermined_joints


def pendulum() -> dl.Model:
    model = dl.Model("pendulum", gravity=(0, "-g", 0)).parameters(m=2.0, l=0.7, g=9.81)
    model.coordinate("theta", start=1.1, start_rate=0.4)
    rod = model.revolute(axis=(0, 0, 1), angle="theta")
    return model.body("bob", joint=rod, mass="m", center=(0, "-l", 0), inertia=(0, 0, "m*l**2/50"))


def test_a_pendulum_pulls_by_its_weight_and_centripetal_force():
    model = pendulum()
    run = dl.derive(model, "kane").simulate(1.0, samples=21)
    reaction = run.joint_reactions(frame="child")["bob"]
    theta, rate = run.q[0], run.qd[0]
    along = 2.0 * (9.81 * np.cos(theta) + 0.7 * rate**2)  # along the rod, towards the pivot
    across = 2.0 * (0.7 * run.qdd[0] + 9.81 * np.sin(theta))
    np.testing.assert_allclose(reaction.force, [across, along, 0 * along], atol=1e-11)
    np.testing.assert_allclose(reaction.moment[2], 0.0, atol=1e-11)  # a free hinge has no moment about its axis
    assert (reaction.body, reaction.parent, reaction.frame) == ("bob", "world", "bob")


def test_a_drive_is_the_moment_about_its_axis():
    model = pendulum().joint_torque("bob", "3 - dot(theta)")
    run = dl.derive(model, "lagrange").simulate(0.5, samples=6)
    np.testing.assert_allclose(run.joint_reactions()["bob"].moment[2], 3 - run.qd[0], atol=1e-11)


def test_the_world_balances_the_total_momentum_rate():
    model = dl.load("double-pendulum")
    equations = dl.derive(model, "volterra")
    run = equations.simulate(1.0, samples=11)
    reactions = run.joint_reactions()
    first = reactions[model.bodies[0].name]
    # the rate of the total momentum is weight plus the pull of the pivot
    step = 1e-5
    t = run.t[5]
    ends = []
    for sign in (-1, 1):
        near = equations.simulate(times=[0.0, t + sign * step], samples=None)
        ends.append(near.linear_momentum[:, -1])
    rate = (ends[1] - ends[0]) / (2 * step)
    masses = [body.mass.subs(model.parameter_values) for body in model.bodies]
    weight = sum(map(float, masses)) * np.array([float(g.subs(model.parameter_values)) for g in model.gravity])
    np.testing.assert_allclose(first.force[:, 5], rate - weight, rtol=1e-6, atol=1e-6)


def test_a_knife_edge_force_does_not_load_the_joint():
    model = dl.Model("sleigh").parameters(m=2.0, J=0.3, a=0.4)
    model.coordinate("x").coordinate("y").coordinate("phi")
    model.start(
        [0, 0, 0.2], [np.cos(0.2) * 1.5 - 0.4 * 0.5 * np.sin(0.2), np.sin(0.2) * 1.5 + 0.4 * 0.5 * np.cos(0.2), 0.5]
    )
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "phi")]
    model.body("sleigh", joint=joints, mass="m", inertia=(0, 0, "J"))
    model.knife_edge("sleigh", (0, 1, 0), point=("-a", 0, 0), name="blade")
    run = dl.derive(model, "lagrange").simulate(1.0, samples=6)
    reaction = run.joint_reactions()["sleigh"]
    # only the blade constrains the sleigh: the planar joint transmits no force in the plane and no moment about z
    np.testing.assert_allclose(reaction.force[:2], 0.0, atol=1e-11)
    np.testing.assert_allclose(reaction.moment[2], 0.0, atol=1e-11)
    assert np.abs(run.multipliers).max() > 0.1


def test_wrong_arguments_raise():
    equations = dl.derive(pendulum(), "lagrange", engine="python")
    with pytest.raises(dl.InputError, match="there is no frame 'moon'"):
        equations.joint_reactions([0.1], [0.0], frame="moon")
    from sympy.physics.mechanics import dynamicsymbols

    x: Any = dynamicsymbols("x")
    free = dl.Model.from_energies("free", coordinates=[x], kinetic=x.diff() ** 2 / 2)
    with pytest.raises(dl.InputError, match="defined by energies, so it has no joints"):
        dl.derive(free, "lagrange", engine="python").joint_reactions([0.1], [0.0])


def four_bar_by_formulas() -> dl.Model:
    """The gallery's planar four-bar linkage with its loop written as two formulas."""
    model = dl.load("planar-four-bar")
    first, second, third = (f"q1{tail}" for tail in ("", " + q2", " + q2 + q3"))
    model = model.replaced(loops=())
    model.holonomic(f"l*cos({first}) + l*cos({second}) + l*cos({third}) - b", name="pivot_x")
    return model.holonomic(f"l*sin({first}) + l*sin({second}) + l*sin({third})", name="pivot_y")


def test_frictionless_pins_of_a_loop_carry_no_moment():
    run = dl.simulate("planar-four-bar", 1.0, samples=11)
    found, m, length = run.joint_reactions(), 1.0, 0.5
    largest = max(np.abs(each.force).max() for each in found.values())
    assert set(found) == {"link1", "link2", "link3", "pivot"}
    assert found.undetermined == {}
    for each in found.values():
        assert np.abs(each.moment).max() < 1e-9 * largest
    # Newton's law of the third link, a point mass at its middle
    accelerations = run.acceleration("link3", (length / 2, 0, 0)).linear[:2]
    forces = (found["link3"].force + found["pivot"].force)[:2]
    np.testing.assert_allclose(forces, m * (accelerations + np.array([[0], [9.81]])), atol=1e-8 * largest)


def test_forces_of_formula_constraints_are_generalized_forces_only():
    by_loop, by_formulas = (
        dl.simulate("planar-four-bar", 1.0, samples=5),
        dl.simulate(four_bar_by_formulas(), 1.0, samples=5),
    )
    np.testing.assert_allclose(by_formulas.q, by_loop.q, atol=1e-8)
    np.testing.assert_allclose(by_formulas.reactions, by_loop.reactions, rtol=1e-6, atol=1e-6)
    found = by_formulas.joint_reactions()
    assert found == {}
    assert found.undetermined == dict.fromkeys(("link1", "link2", "link3"), ("pivot_x", "pivot_y"))
    with pytest.raises(
        dl.InputError, match=r"'link1': the formulas of the constraints pivot_x, pivot_y do not define where"
    ):
        found["link1"]
    with pytest.raises(dl.InputError, match="do not define where the force acts"):
        by_formulas["link2", "force"]
    with pytest.raises(dl.InputError, match="there is no joint 'link9'"):
        found["link9"]
    assert not {"joint_force", "joint_moment"} & set(by_formulas.to_xarray())
    assert {"joint_force", "joint_moment"} <= set(by_loop.to_xarray())
    arrows = [{arrow["name"] for arrow in run.scene().to_dict()["run"]["arrows"]} for run in (by_formulas, by_loop)]
    assert arrows[1] - arrows[0] == {"link1", "link2", "link3", "pivot"}


def test_joints_outside_a_formula_keep_their_reactions():
    model = dl.Model("arm", gravity=(0, -9.81, 0)).coordinates("a", "b", "c", "d").start([0.1, 0.2, -0.2, 0.4], {})
    for name, parent, q in (("A", "world", "a"), ("B", "A", "b"), ("C", "B", "c"), ("D", "C", "d")):
        joint = model.revolute((0, 0, 1), q, position=(0 if parent == "world" else 1, 0, 0))
        model.body(name, parent=parent, joint=joint, mass=1, center=(1, 0, 0))
    driven = model.copy().holonomic("b - 0.2", name="lock")
    assert undetermined_joints(driven) == {}  # one coordinate: as a drive of its joint
    coupled = model.copy().holonomic("b + c", name="belt")
    assert undetermined_joints(coupled) == {"B": ("belt",), "C": ("belt",)}
    eom = dl.derive(coupled, "lagrange", engine="python")
    found = eom.joint_reactions(coupled.initial[0], [0.3, 0.5, -0.5, 0.7])
    assert list(found) == ["A", "D"]
    assert abs(found["A"].moment[2]) < 1e-9
    assert abs(found["D"].moment[2]) < 1e-9
    assert undetermined_joints(model.copy().nonholonomic("dot(b) - dot(d)", name="far")) == dict.fromkeys(
        "BCD", ("far",)
    )
