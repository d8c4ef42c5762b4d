"""Every gallery example is complete, has no errors and agrees with its source."""

import math
from typing import Any

import numpy as np
import pytest

from dalembert.errors import InputError
from dalembert.io import gallery
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.model.evaluation import at_start, value
from dalembert.symbolic.parser import parse

EXAMPLES = gallery.names()
PAPER = ("cart-pendulum", "satellite-boom", "three-bodies")


def test_the_examples_are_there():
    assert set(EXAMPLES) >= {*PAPER, "double-pendulum", "simple-pendulum"}
    assert list(EXAMPLES) == sorted(EXAMPLES)


def test_an_unknown_example_suggests_the_nearest_name():
    with pytest.raises(InputError) as caught:
        gallery.load("cart-pendulm")
    assert str(caught.value) == "gallery: there is no example 'cart-pendulm'. Did you mean 'cart-pendulum'?"


@pytest.mark.parametrize("name", ["..", "../model", "", "cart-pendulum/../cart-pendulum"])
def test_a_name_is_not_a_path(name):
    with pytest.raises(InputError, match="there is no example"):
        gallery.path(name)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_model_has_no_errors(name):
    model = gallery.load(name)
    assert model.name == name
    assert not [problem for problem in model.check() if problem.blocking]


@pytest.mark.parametrize("name", EXAMPLES)
def test_everything_has_a_description_and_a_unit(name):
    model = gallery.load(name)
    assert model.text
    for element in (*model.declared_parameters, *model.generalized_coordinates):
        assert element.description, element.name
        assert element.unit, element.name


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_description_has_a_source_and_a_command(name):
    story = gallery.read_description(name)
    assert story.startswith("# ")
    assert "## Source" in story
    assert f"dalembert simulate {name}" in story


@pytest.mark.parametrize("name", EXAMPLES)
def test_counts_follow_table_1(name):
    model, expected = gallery.load(name), gallery.expected(name)
    counts, equations = expected["counts"], expected["equations"]
    n, d, s = counts["coordinates"], counts["degrees_of_freedom"], len(counts["ignorable"])
    assert n == len(model.coordinate_names)
    assert counts["constraints"] == len(with_contacts(model).constraint_names)
    assert set(counts["ignorable"]) <= set(model.coordinate_names)
    assert len(model.generalized_speeds) in (0, d)
    rule = {"routh": n - s, "volterra_reduced": d - s}
    rule |= dict.fromkeys(("lagrange", "maggi", "udwadia_kalaba"), n)
    rule |= dict.fromkeys(("boltzmann_hamel", "volterra", "kane", "gibbs_appell"), d)
    # those that reject the model are not listed
    assert equations.items() <= rule.items()
    assert set(equations) >= {"lagrange", "maggi", "udwadia_kalaba"}
    assert expected["states"] == {
        key: n + (n if key in ("lagrange", "maggi") else equations[key]) for key in expected["states"]
    }


@pytest.mark.parametrize("name", PAPER)
def test_samples_of_the_papers_begin_at_the_initial_state(name):
    model, expected = gallery.load(name), gallery.expected(name)
    assert model.duration == expected["paper"]["duration"]
    assert model.duration / (model.samples - 1) == pytest.approx(expected["paper"]["max_step"])
    for samples in expected["samples"].values():
        assert np.shape(samples["q"]) == (len(samples["t"]), len(model.coordinate_names))
        assert samples["q"][0] == pytest.approx(model.initial[0])


def test_initial_speeds_are_those_of_the_published_files():
    # initial u of the authors' Gibbs–Appell results
    published = {
        "three-bodies": [-0.44999999999999996, 0.007793059552374755, 0.2596907164740649, 0, 0.2, 0.1, -0.3, -0.4],
        "satellite-boom": [-0.02411809548974793, 0.04212091863464986, -0.10027938587912974, 0, 2, 1, 0],
    }
    for name, values in published.items():
        model = gallery.load(name)
        start = at_start(model)
        assert [value(speed.value, start) for speed in model.generalized_speeds] == pytest.approx(values, abs=1e-15)


def test_the_pull_on_the_satellite_is_the_push_on_the_tip():
    push: Any
    recoil: Any
    push, recoil = gallery.load("satellite-boom").loads
    force = parse("-0.018*sin(0.089*t) + 0.012*cos(0.0485*t)", coordinates=(), parameters=(), where="(79)")
    assert (push.force[2] - force).expand() == 0
    assert (recoil.force[2] + force).expand() == 0


def test_closed_forms():
    from scipy.special import ellipk

    g = 9.81
    pendulum = gallery.expected("simple-pendulum")["closed_form"]
    assert pendulum["period"] == pytest.approx(4 * math.sqrt(1 / g) * ellipk(0.5), rel=1e-15)
    assert pendulum["largest_rate"] == pytest.approx(math.sqrt(2 * g), rel=1e-15)
    double = gallery.expected("double-pendulum")["closed_form"]
    upper, lower = gallery.load("double-pendulum").initial[0]
    assert double["energy"] == pytest.approx(-2 * g * math.cos(upper) - g * math.cos(lower), rel=1e-14)
    assert double["frequencies"] == pytest.approx([math.sqrt((2 + sign * math.sqrt(2)) * g) for sign in (-1, 1)])
