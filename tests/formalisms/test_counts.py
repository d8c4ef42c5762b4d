"""Table 1 of papers/volterra: the number of equations of each formulation, and its documentation."""

import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.formalisms import catalog
from dalembert.io import gallery

# coordinates n, degrees of freedom d, ignorable coordinates s, counted by hand
COUNTS = {
    "cart-pendulum": (3, 2, 1),
    "double-pendulum": (2, 2, 0),
    "satellite-boom": (7, 7, 3),
    "simple-pendulum": (1, 1, 0),
    "three-bodies": (8, 8, 3),
}


def test_every_gallery_model_has_counts():
    assert set(gallery.names()) >= set(COUNTS)


@pytest.mark.parametrize("name", COUNTS)
def test_table_1(name):
    n, d, s = COUNTS[name]
    table = {
        **dict.fromkeys(("lagrange", "dalembert", "maggi", "udwadia_kalaba", "poincare", "gauss", "denoc"), n),
        **dict.fromkeys(("hamilton", "dirac"), n),
        **dict.fromkeys(("kane", "gibbs_appell", "boltzmann_hamel", "volterra", "phong", "nullspace"), d),
        "volterra_reduced": d - s,
        "routh": n - s,
    }
    model = dl.load(name)
    table["newton_euler"] = 6 * len(model.bodies)
    if name == "cart-pendulum":  # its wheel is nonholonomic
        del table["dirac"]
    if n > 3:  # the symbolic inverse of a mass matrix is slow
        del table["hamilton"], table["dirac"]
    found = {key: dl.derive(model, key, engine="python") for key in table}
    assert {key: eom.n_dynamic for key, eom in found.items()} == table
    # phong and the null space project at every state, but the state is q̇
    states = table | dict.fromkeys(("phong", "nullspace"), n)
    assert {key: eom.n_states for key, eom in found.items()} == {key: n + states[key] for key in states}
    assert {len(eom.ignorable) for eom in found.values()} == {s}
    assert {key: len(eom.velocity_names) for key, eom in found.items()} == states


def test_unknown_formalism_suggests_the_nearest():
    with pytest.raises(InputError, match=r"there is no formalism 'lagrang'\. Did you mean 'lagrange'\?"):
        dl.derive(dl.load("simple-pendulum"), "lagrang")


@pytest.mark.parametrize("module", catalog.FORMALISMS, ids=catalog.KEYS)
def test_every_formalism_is_documented(module):
    about = module.ABOUT
    assert catalog.find(about.key) is module
    assert about.source.startswith("papers/")
    assert dl.citation(about.key).startswith("@")
    assert dl.citation(about.key).count("{") == dl.citation(about.key).count("}")
    assert "Source:" in module.__doc__
    assert "| symbol | name | meaning |" in module.__doc__


def test_chosen_speeds_are_reported():
    eom = dl.derive(dl.load("double-pendulum"), "kane", engine="python")
    assert eom.notes == ("speeds chosen automatically: u1 = dot(theta1), u2 = dot(theta2)",)
    assert eom.speeds == {"u1": "dot(theta1)", "u2": "dot(theta2)"}
    assert eom.velocity_names == ("u1", "u2")


def test_lagrange_needs_no_speeds():
    eom = dl.derive(dl.load("double-pendulum"), "lagrange", engine="python")
    assert (eom.speeds, eom.notes) == ({}, ())
    assert eom.velocity_names == ("dot(theta1)", "dot(theta2)")


def test_reduction_is_reported():
    cart = dl.derive(dl.load("cart-pendulum"), "volterra_reduced", engine="python")
    assert cart.notes == (
        "the momenta of x are constants of the motion; the speeds u1 remain",
        "of the 2 user-defined speeds 1 serves as u_NI; u2 was left out: it contains velocities of ignorable coordinates, and "
        "the constant momenta replace them",
    )
    assert list(cart.speeds) == ["u1"]
    free = dl.derive(dl.load("simple-pendulum"), "volterra_reduced", engine="python")
    assert free.notes[0] == "no coordinate is ignorable, so there is nothing to reduce: these are Volterra's equations"
