"""Six roads to the same accelerations and reactions: on the gallery, on random models, on models given by energies."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert import formalisms, gallery
from dalembert.errors import InputError, NotApplicableError

LOADS = ("force", "torque", "joint_torque", "spring", "damper")


@pytest.mark.parametrize("name", gallery.names())
def test_every_formalism_agrees_on_the_gallery(name):
    agreement = dl.verify(dl.load(name))
    assert agreement.engines == ("heyoka", "portable")
    assert agreement.states == 200
    assert {key: verdict.status for key, verdict in agreement.formalisms.items()} == dict.fromkeys(
        ("lagrange", "maggi", "kane", "gibbs_appell", "volterra", "volterra_reduced"), "agrees"
    )
    assert agreement
    assert agreement.max_difference <= 1e-10


@settings(max_examples=15, derandomize=True, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    bodies=st.integers(1, 4),
    loads=st.lists(st.sampled_from(LOADS), max_size=2),
    holonomic=st.integers(0, 1),
    nonholonomic=st.integers(0, 1),
    speeds=st.integers(0, 2),
)
def test_every_formalism_agrees_on_random_models(random_tree, seed, bodies, loads, holonomic, nonholonomic, speeds):
    model = random_tree(
        seed,
        bodies=bodies,
        coordinates=3,
        loads=tuple(loads),
        holonomic=holonomic,
        nonholonomic=nonholonomic,
        speeds=speeds,
    )
    agreement = dl.verify(model, states=10, engines=["portable"], tolerance=1e-9)
    assert {verdict.status for verdict in agreement.formalisms.values()} == {"agrees"}, agreement.to_dict()


@pytest.mark.parametrize("load", LOADS)
def test_every_formalism_agrees_under_every_kind_of_load(random_tree, load):
    model = random_tree(3, bodies=2, coordinates=2, loads=(load,))
    agreement = dl.verify(model, states=10, engines=["portable"])
    assert agreement.max_difference <= 1e-10
    assert all(verdict.status == "agrees" for verdict in agreement.formalisms.values())


def disc() -> dl.Model:
    """A rolling disc on an incline, by its energies, with SymPy expressions."""
    x, theta = dynamicsymbols("x theta")
    m, r, g = sp.symbols("m r g")
    return dl.Model.from_energies(
        "disc",
        coordinates=[x, theta],
        kinetic=m * x.diff() ** 2 / 2 + m * r**2 * theta.diff() ** 2 / 4,
        potential=-m * g * sp.sin(sp.pi / 6) * x,
        forces=[0, -sp.Rational(1, 5) * theta.diff()],
        nonholonomic=[x.diff() - r * theta.diff()],
        parameters={m: 2.0, r: 0.3, g: 9.81},
    )


def test_models_from_energies_serve_the_formalisms_that_need_no_bodies():
    agreement = dl.verify(disc(), states=20)
    status = {key: verdict.status for key, verdict in agreement.formalisms.items()}
    assert status == {
        "lagrange": "agrees",
        "maggi": "agrees",
        "kane": "refused",
        "gibbs_appell": "refused",
        "volterra": "refused",
        "volterra_reduced": "refused",
    }
    assert agreement.formalisms["kane"].reason == (
        "the model is given by its energies, and this formalism needs the momenta of bodies"
    )
    # ẍ = (g sin 30° − c ẋ/(m r²)) · 2/3 with c = 1/5
    eom = dl.derive(disc(), "maggi")
    qdd = eom.accelerations([0.0, 0.0], [0.6, 2.0])
    expected = (9.81 / 2 - 0.2 * 2.0 / (2.0 * 0.3)) * 2 / 3
    assert np.allclose(qdd, [expected, expected / 0.3])


@pytest.mark.parametrize("key", ["kane", "gibbs_appell", "volterra", "volterra_reduced"])
def test_the_others_refuse_energies_and_name_those_that_can(key):
    with pytest.raises(NotApplicableError) as caught:
        dl.derive(disc(), key)
    assert str(caught.value) == (
        f"formalism '{key}' cannot treat model 'disc': the model is given by its energies, "
        "and this formalism needs the momenta of bodies. Formalisms that can: lagrange, maggi."
    )


def test_a_wrong_road_is_seen(monkeypatch):
    # Kane's equations without their velocity terms: verify must say so
    kane = formalisms.find("kane")
    right = kane.derive

    def wrong(system):
        form = right(system)
        object.__setattr__(form, "f", form.f * 2)
        return form

    monkeypatch.setattr(kane, "derive", wrong)
    agreement = dl.verify(dl.load("simple-pendulum"), states=5, engines=["portable"])
    assert not agreement
    assert agreement.formalisms["kane"].status == "differs"
    assert agreement.formalisms["lagrange"].status == "agrees"
    assert agreement.max_difference > 0.5


def test_findings_are_plain_data_and_progress_is_told():
    heard = []
    found = dl.verify(dl.load("simple-pendulum"), states=3, engines=["portable"], progress=heard.append).to_dict()
    assert heard[-1] == 1.0
    assert heard == sorted(heard)
    assert list(found) == ["model", "states", "tolerance", "engines", "formalisms", "max_difference", "agrees"]
    assert found["agrees"] is True
    assert list(found["formalisms"]) == list(formalisms.KEYS)


def test_at_least_one_state_is_needed():
    with pytest.raises(InputError, match=r"verify: states is 0\. Expected at least 1\."):
        dl.verify(dl.load("simple-pendulum"), states=0)
