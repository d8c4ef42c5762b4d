"""Accumulation of impacts of several rigid contacts: runs continue at rest, or stop with advice."""

import re
import time

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as dl
from dalembert.errors import SimulationError
from dalembert.model.model import Model
from dalembert.simulation import _rigid_contacts

G = 9.81
nightly = pytest.mark.nightly


def on_feet(ratio, e, start, feet=(-1.0, 1.0), **law) -> Model:
    """A block of mass 1 and inertia `ratio` that falls onto point feet; `start` has x, z, a and their rates."""
    model = Model("block", gravity=(0, 0, -G))
    for name, x, rate in zip("xza", start[:3], start[3:], strict=True):
        model.coordinate(name, float(x), float(rate))
    joint = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z"), model.revolute((0, 1, 0), "a")]
    model.body("block", joint=joint, mass=1, inertia=[float(ratio)] * 3)
    for i, x in enumerate(feet):
        model.sphere_on_plane("block", center=(float(x), 0, 0), restitution=float(e), name=f"foot{i}", **law)
    return model


def impacts_one_by_one(ratio, e, z, a, zd, ad, count):
    """Times, feet and approaches of the first impacts: parabolas between roots that `brentq` finds, and Newton's law."""
    t, out = 0.0, []
    while len(out) < count:

        def gap(s, side, z=z, a=a, zd=zd, ad=ad):
            return z + zd * s - G * s * s / 2 - side * np.sin(a + ad * s)

        flight = (abs(zd) + np.sqrt(zd * zd + 2 * G * (z + 1.0))) / G + 0.1
        s = np.concatenate([np.geomspace(1e-9, 1e-3, 2000) * flight, np.linspace(1e-3, 1, 4000)[1:] * flight])
        hits = []
        for side in (-1, 1):
            below = np.flatnonzero(gap(s, side) <= 0)
            if len(below):
                k = int(below[0])
                low = s[k - 1] if k else 0.0
                hits.append((brentq(gap, low, s[k], args=(side,), xtol=1e-16, rtol=1e-15), side))  # pyright: ignore[reportArgumentType]
        wait, side = min(hits)
        z, a, zd, t = z + zd * wait - G * wait * wait / 2, a + ad * wait, zd - G * wait, t + wait
        rate = zd - side * np.cos(a) * ad
        P = -(1 + e) * rate / (1 + np.cos(a) ** 2 / ratio)
        zd, ad = zd + P, ad - side * np.cos(a) * P / ratio
        out.append((t, side, -rate))
    return out


@pytest.mark.parametrize("ratio", [0.12, 0.08])
def test_a_block_that_clatters_on_two_feet_comes_to_rest(ratio):
    start = (0.0, 0.5, 0.1, 0.0, 0.0, 0.7)
    run = dl.simulate(on_feet(ratio, 0.4, start), 1.0, samples=51)
    expected = impacts_one_by_one(ratio, 0.4, 0.5, 0.1, 0.0, 0.7, 20)
    found = [(each.t, -1 if each.name == "foot0" else 1, each.approach) for each in run.impulses[:20]]
    assert np.array(found) == pytest.approx(np.array(expected), rel=1e-7, abs=1e-9)
    assert np.abs(run.q[1:, -1]).max() < 1e-12
    assert np.abs(run.qd[:, -1]).max() < 1e-12
    weight = run.load_forces["foot0"][2, -1] + run.load_forces["foot1"][2, -1]
    assert weight == pytest.approx(G, abs=1e-9)
    lost = G * 0.5 + ratio * 0.7**2 / 2
    assert sum(each.energy for each in run.impulses) == pytest.approx(-lost, rel=1e-9)
    assert len(run.impulses) < 100
    assert run.energy_error < 1e-9


def slider_crank(friction: float, **law) -> Model:
    """The slider-crank whose slider has clearance in its guide: P. Flores, R. Leine and Ch. Glocker, Modeling and analysis of
    planar rigid multibody systems with translational clearance joints based on the non-smooth dynamics approach, Multibody
    Syst. Dyn. 23 (2010) 165–190.
    """
    l1, l2, a, b, c = 0.153, 0.306, 0.05, 0.025, 0.001
    model = Model("slider-crank with clearance", gravity=(0, -G, 0))
    model.coordinate("p", 0, 150.0).coordinate("q", 0, -75.0).coordinate("r")
    turn = model.revolute
    model.body("crank", joint=turn((0, 0, 1), "p"), mass=0.038, center=(l1 / 2, 0, 0), inertia=[7.4e-5] * 3)
    rod = turn((0, 0, 1), "q - p", position=(l1, 0, 0))
    model.body("rod", parent="crank", joint=rod, mass=0.038, center=(l2 / 2, 0, 0), inertia=[5.9e-4] * 3)
    slider = turn((0, 0, 1), "r - q", position=(l2, 0, 0))
    model.body("slider", parent="rod", joint=slider, mass=0.076, inertia=[2.7e-6] * 3)
    rub = {"friction": friction, "planar": (0, 0, 1)} if friction else {}
    for i, (x, side) in enumerate(((-a, 1), (a, 1), (-a, -1), (a, -1))):
        guide = {"point": (0, side * (b + c), 0), "normal": (0, -side, 0), "restitution": 0.4, "name": f"corner{i + 1}"}
        model.sphere_on_plane("slider", center=(x, side * b, 0), **guide, **rub, **law)
    return model


def corners(run):
    """The smallest gap of the four corners along a run."""
    l1, l2, a, b, c = 0.153, 0.306, 0.05, 0.025, 0.001
    y = l1 * np.sin(run["p"]) + l2 * np.sin(run["q"])
    tips = [y + x * np.sin(run["r"]) + z * np.cos(run["r"]) for x in (-a, a) for z in (-b, b)]
    return b + c - np.abs(tips).max()


@pytest.mark.parametrize("friction", [0.0, pytest.param(0.01, marks=nightly)])
def test_slider_with_clearance_continues_after_impact_accumulation(friction):
    run = dl.simulate(slider_crank(friction), 0.1, samples=201)
    assert run.energy_error < 1e-11
    assert corners(run) > -1e-9
    assert run.impulses[0].t < 0.0091 < run.impulses[-1].t


def test_endless_impacts_are_assessed_by_their_energy(monkeypatch):
    """If bounces are not found to be below rounding, repeated crossings at one instant are: rest, or valid advice."""
    monkeypatch.setattr(_rigid_contacts, "_ROUNDING", 0.0)
    assert dl.simulate(slider_crank(0.0), 0.02, samples=21).energy_error < 1e-11
    monkeypatch.setattr(_rigid_contacts, "_NEGLIGIBLE", 1e-30)
    begun = time.process_time()
    with pytest.raises(
        SimulationError, match=r"at t = 0.00913\d* impacts of .* Give the contacts rest_speed = "
    ) as caught:
        dl.simulate(slider_crank(0.0), 0.02)
    assert time.process_time() - begun < 2.0
    advice = float(re.search(r"rest_speed = ([\d.e-]+),", str(caught.value))[1])
    assert dl.simulate(slider_crank(0.0, rest_speed=advice), 0.02, samples=21).energy_error < 1e-11


@nightly
@pytest.mark.parametrize("seed", range(24))
def test_random_blocks_on_feet_come_to_rest_or_bounce_on(seed):
    rng = np.random.default_rng(seed)
    start = rng.uniform([0, 0.1, -0.05, -1, -1, -1], [0, 0.6, 0.05, 1, 1, 1])
    ratio, e, friction = (
        10 ** rng.uniform(-2.2, 0.3),
        float(rng.choice([0, 0.1, 0.4, 0.7, 0.9])),
        rng.choice([0, 0, 0.2, 0.8]),
    )
    law: dict = {"impact": str(rng.choice(["newton", "poisson", "successive"]))}
    law |= {"friction": float(friction), "planar": (0, 1, 0)} if friction else {}
    model = on_feet(ratio, e, start, np.linspace(-1, 1, int(rng.choice([2, 2, 3]))), **law)
    run = dl.simulate(model, 2.0, samples=101)
    assert run.energy_error < 1e-8
    tips = [run["z"] - x * np.sin(run["a"]) for x in (-1, 1)]
    assert np.min(tips) > -1e-9
    if not any("adds the energy" in note for note in run.notes):
        assert np.diff(run.energy).max() < 1e-9
