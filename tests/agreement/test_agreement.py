"""All formalisms give the same accelerations and reactions: gallery, random models, models defined by energies."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.errors import InputError, NotApplicableError
from dalembert.formalisms import catalog
from dalembert.io import gallery
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.model.contacts.base import PositionContact

LOADS = ("force", "torque", "joint_torque", "spring", "damper")
OF_BODIES = ("dalembert", "kane", "gibbs_appell", "volterra", "volterra_reduced", "newton_euler", "denoc")
OF_ENERGIES = tuple(key for key in catalog.KEYS if key not in OF_BODIES)
IN_SPEEDS = ("kane", "gibbs_appell", "boltzmann_hamel", "volterra", "volterra_reduced")


# one of each type, compared by all formalisms daily; the others nightly, with proofs
EVERY_DAY = (
    "appell-hamel",
    "cart-pendulum",
    "four-bar",
    "over-constrained",
    "rough-surface",
    "tracking",
)
SLOW = (
    pytest.param("rolling-disk", marks=pytest.mark.slow(11)),
    pytest.param("three-bodies", marks=pytest.mark.slow(18)),
)
OTHERS = tuple(name for name in gallery.names() if name not in (*EVERY_DAY, "rolling-disk", "three-bodies"))
SLOWEST = ("bricard", "hexapod", "quadruped", "rope", "stewart-platform", "whipple-bicycle")


@pytest.mark.parametrize(
    "name", [*EVERY_DAY, *SLOW, *(pytest.param(name, marks=pytest.mark.nightly) for name in OTHERS)]
)
def test_every_formalism_agrees_on_the_gallery(name):
    model = dl.load(name)
    agreement = dl.verify(model, states=50 if len(model.coordinate_names) <= 6 else 10)
    assert agreement.engines == ("native", "python")
    left_out = {key for key, verdict in agreement.formalisms.items() if verdict.status == "refused"}
    assert left_out == unsupported_formalisms(model)
    assert {verdict.status for verdict in agreement.formalisms.values()} <= {"agrees", "refused"}
    assert agreement.recursion is None or agreement.recursion.status == "agrees"
    assert agreement.principle is not None
    assert agreement.principle.status == "agrees"
    assert agreement
    assert agreement.max_difference <= 1e-10


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in SLOWEST else ()) for name in OTHERS]
)
def test_denoc_agrees_with_lagrange_on_the_other_models(name):
    model = dl.load(name)
    states = state_batch.consistent_states(with_contacts(model), 3, seed=4)
    at = states.q, states.qd, states.t
    found, known = (dl.derive(model, key, engine="python").accelerations(*at) for key in ("denoc", "lagrange"))
    assert np.abs(found - known).max() <= 1e-10 * np.abs(known).max()


def unsupported_formalisms(model) -> set[str]:
    """Whether a formalism applies to a model according to FORMALISMS."""
    out = set()
    if model.nonholonomic_constraints or not all(isinstance(contact, PositionContact) for contact in model.contacts):
        out |= {"dirac"}
    if any(c.feedback for c in (*model.holonomic_constraints, *model.nonholonomic_constraints)):
        out |= {*IN_SPEEDS, "dirac"}
    if model.name == "appell-hamel":
        out |= {*IN_SPEEDS}
    return out


@pytest.mark.parametrize("load", LOADS)
def test_every_formalism_agrees_under_every_kind_of_load(random_tree, load):
    model = random_tree(3, bodies=2, coordinates=2, loads=(load,))
    agreement = dl.verify(model, states=10, engines=["python"])
    assert agreement.max_difference <= 1e-10
    assert all(verdict.status == "agrees" for verdict in agreement.formalisms.values())


def disc() -> dl.Model:
    """A rolling disk on an incline, defined by energies with SymPy expressions."""
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


def test_energy_models_work_with_formalisms_that_need_no_bodies():
    agreement = dl.verify(disc(), states=20)
    status = {key: verdict.status for key, verdict in agreement.formalisms.items()}
    assert status == {
        **dict.fromkeys(OF_ENERGIES, "agrees"),
        **dict.fromkeys(OF_BODIES, "refused"),
        "dirac": "refused",  # it rolls
    }
    assert agreement.formalisms["kane"].reason == (
        "the model is defined by energies, and this formalism needs the momenta of bodies"
    )
    # ẍ = (g sin 30° − c ẋ/(m r²)) · 2/3 with c = 1/5
    eom = dl.derive(disc(), "maggi")
    qdd = eom.accelerations([0.0, 0.0], [0.6, 2.0])
    expected = (9.81 / 2 - 0.2 * 2.0 / (2.0 * 0.3)) * 2 / 3
    assert np.allclose(qdd, [expected, expected / 0.3])


@pytest.mark.parametrize("key", OF_BODIES)
def test_other_formalisms_reject_energy_models_and_list_alternatives(key):
    with pytest.raises(NotApplicableError) as caught:
        dl.derive(disc(), key)
    assert str(caught.value) == (
        f"formalism '{key}' cannot treat model 'disc': the model is defined by energies, "
        "and this formalism needs the momenta of bodies. "
        f"Formalisms that can: {', '.join(key for key in OF_ENERGIES if key != 'dirac')}."
    )


def test_a_wrong_formalism_is_detected(monkeypatch):
    # Kane's equations without their velocity terms: verify must report it
    kane = catalog.find("kane")
    right = kane.derive

    def wrong(system, **more):
        derived = right(system, **more)
        form = replace(derived.form, linear=replace(derived.form.linear, f=derived.form.linear.f * 2))
        return replace(derived, form=form)

    monkeypatch.setattr(kane, "derive", wrong)
    agreement = dl.verify(dl.load("simple-pendulum"), states=5, engines=["python"])
    assert not agreement
    assert agreement.formalisms["kane"].status == "differs"
    assert agreement.formalisms["lagrange"].status == "agrees"
    assert agreement.max_difference > 0.5


def test_results_are_plain_data_and_progress_is_reported():
    heard = []
    found = dl.verify(dl.load("simple-pendulum"), states=3, engines=["python"], progress=heard.append).to_dict()
    assert heard[-1] == 1.0
    assert heard == sorted(heard)
    assert found.keys() >= {
        "model",
        "states",
        "tolerance",
        "engines",
        "formalisms",
        "recursion",
        "max_difference",
        "agrees",
    }
    assert found.keys() >= {"n_lineages", "lineages", "other_methods", "notes"}
    assert found["agrees"] is True
    assert list(found["formalisms"]) == list(catalog.KEYS)


def test_at_least_one_state_is_needed():
    with pytest.raises(InputError, match=r"verify, states: got 0\. Expected an int >= 1\."):
        dl.verify(dl.load("simple-pendulum"), states=0)


@pytest.mark.parametrize("key", catalog.KEYS)
@pytest.mark.parametrize("name", ["double-pendulum", "planar-four-bar"])
def test_the_integrated_program_has_the_reported_accelerations(name, key):
    # a run uses its own optimized program: the change of q̇ along the state rates must be q̈
    model = dl.load(name)
    eom = dl.derive(model, key)
    states = state_batch.consistent_states(with_contacts(model), 3, include_initial=True)
    for q, qd, t in zip(states.q.T, states.qd.T, states.t, strict=True):
        v, constants = eom.kernel.start(q, qd, t, eom.values)
        p = np.concatenate([eom.values, constants])
        y = np.concatenate([q, v])
        rates = eom.kernel.state_rates(y, t, p)
        qdd, h = eom.accelerations(q, qd, t), 1e-5
        ahead, behind = (eom.kernel.velocities(y + s * h * rates[: len(y)], t + s * h, p) for s in (1, -1))
        assert np.allclose(rates[: len(q)], qd, rtol=1e-9, atol=1e-9)
        assert np.allclose((ahead - behind) / (2 * h), qdd, rtol=1e-5, atol=1e-6 * np.abs(qdd).max())
