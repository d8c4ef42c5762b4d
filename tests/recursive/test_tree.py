"""The links of a model and its speeds."""

import numpy as np
import pytest

from dalembert.errors import InputError
from dalembert.model.model import Model
from dalembert.recursive.plan import plan_of
from dalembert.recursive.tree import tree_of
from dalembert.recursive.tree_dynamics import mass_matrix, speed_names


def test_every_motion_has_a_link_and_the_last_one_the_mass(make):
    links = {link.name: link for link in tree_of(make("every joint")).links}
    assert list(links) == [
        *("a, displacement", "a"),  # translations are along axes of the joint, so they come first
        *("b, first angle", "b"),
        *("c, joint 0", "c, first displacement", "c, second displacement", "c"),
        *("d, first angle", "d, second angle", "d"),
        *("e, joint 0", "e"),
    ]
    assert [name for name, link in links.items() if link.body is not None] == ["a", "b", "c", "d", "e"]
    assert [link.parent for link in links.values()] == [-1, 0, 1, 2, 1, 4, 5, 6, 7, 8, 9, 10, 11]
    assert [link.joint_motion for link in links.values()][:2] == [("a", 0, 1), ("a", 0, 0)]


def test_speeds_follow_the_order_of_coordinates(make):
    assert speed_names(make("floating")) == (
        *("dot(x)", "dot(y)", "dot(z)"),
        *("omega_x(base)", "omega_y(base)", "omega_z(base)"),
        "dot(h)",
        *("omega_x(ball)", "omega_y(ball)", "omega_z(ball)"),
    )


def test_the_angular_velocity_has_the_index_of_the_component_w():
    model = Model("mixed").coordinates("k", "a", "j", "w", "i", "b")
    ball = model.spherical(quaternion=("w", "i", "j", "k"))
    slides = [model.prismatic((1, 0, 0), "a"), model.prismatic((0, 1, 0), "b")]
    model.body("ball", joint=[*slides, ball], mass=1, inertia=(1, 1, 1))
    assert speed_names(model) == ("dot(a)", "omega_x(ball)", "omega_y(ball)", "omega_z(ball)", "dot(b)")
    assert np.allclose(mass_matrix(model, [0, 0, 0, 1, 0, 0]), np.eye(5))


def test_two_quaternions_on_one_body_have_distinct_names():
    model = Model("two balls").coordinates(*(f"{part}{n}" for n in (1, 2) for part in "wijk"))
    balls = [model.spherical(quaternion=[f"{part}{n}" for part in "wijk"]) for n in (1, 2)]
    model.body("ball", joint=balls, mass=1, inertia=(1, 1, 1))
    assert speed_names(model)[::3] == ("omega_x(ball, joint 0)", "omega_x(ball, joint 1)")


def test_decoupled_means_one_link_for_each_speed(make):
    assert not tree_of(make("floating")).decoupled  # the arm depends on a component of the base's quaternion
    assert not tree_of(make("every joint")).decoupled  # one coordinate appears twice in a ball joint
    model = Model("absolute").coordinates("a", "b")
    model.body("first", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(1, 0, 0))
    model.body("second", parent="first", joint=model.revolute((0, 0, 1), "b - a"), mass=1, center=(1, 0, 0))
    assert not tree_of(model).decoupled


def test_models_defined_by_energies_have_no_links():
    model = Model("oscillator").coordinates("x").set_energies("dot(x)**2/2", "x**2/2")
    with pytest.raises(InputError, match=r"defined by energies\. Expected bodies"):
        tree_of(model)


def test_quaternions_do_not_share_components():
    model = Model("shared").coordinates("w", "i", "j", "k", "l")
    balls = [model.spherical(quaternion=parts) for parts in (("w", "i", "j", "k"), ("w", "i", "j", "l"))]
    model.body("ball", joint=balls, mass=1, inertia=(1, 1, 1))
    with pytest.raises(InputError, match="coordinate 'w' belongs to two different quaternions"):
        tree_of(model)


def test_a_plan_follows_changes_of_the_model():
    model = Model("slider").parameters(m=2.0).coordinates("x")
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass="m")
    first = plan_of(model)
    assert mass_matrix(model, [0.0]).item() == 2.0
    assert plan_of(model) is first
    model.rotor("block", 3.0)
    assert mass_matrix(model, [0.0]).item() == 5.0
    assert mass_matrix(model.with_parameters(m=4.0), [0.0]).item() == 7.0
