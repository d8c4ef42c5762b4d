"""Random closed mechanisms, planar and spatial, with quaternions and redundant rows, against an independent reference.

Accelerations and reactions of every applicable formalism, compiled, and the accelerations of the program that a run integrates,
agree with `closed_mechanisms.reference_solution`. Two solutions differ by rounding times the condition κ of the equations: the
tolerance is 1e-9 κ / 10 for κ above 10.
"""

from dataclasses import replace

import numpy as np
import pytest
from closed_mechanisms import FAMILIES, as_model, gaps, random_mechanism, reference_solution, well_conditioned

from dalembert.api.equations import Equations
from dalembert.evidence._integrated_programs import batch_of, integrated_rates
from dalembert.formalisms import catalog
from dalembert.mechanics import state_batch
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.workspace import setup, workspace_of

STATES, SEEDS = 3, (1, 2)
TOLERANCE = 1e-9


def prepared(family, seed):
    """A mechanism, its workspace, and random states on its constraints."""
    mechanism = random_mechanism(family, seed)
    space = workspace_of(setup(as_model(mechanism), "native"))
    return (
        mechanism,
        space,
        well_conditioned(space, state_batch.consistent_states(space.model, 10 * STATES, seed=7), STATES),
    )


def relative(found, known):
    """The largest difference, column by column, relative to the largest entry of each."""
    return (np.abs(found - known).max(axis=0) / np.abs(known).max(axis=0)).max()


@pytest.mark.slow(13)  # planar, pin-1
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_formalism_agrees_with_an_independent_reference_on_closed_mechanisms(family, seed):
    mechanism, space, states = prepared(family, seed)
    assert len(states) == STATES
    found = [reference_solution(mechanism, q, qd) for q, qd in zip(states.q.T, states.qd.T, strict=True)]
    assert max(np.abs(gaps(mechanism, q)).max() for q in states.q.T) < 1e-9
    free = {len(mechanism.posture) - each.rank for each in found}
    assert free == {space.facts.d}
    assert min(free) >= 1
    qdd, reaction = (np.stack([getattr(each, name) for each in found], axis=1) for name in ("qdd", "reaction"))
    force = np.stack([np.abs(each.M) @ np.abs(each.qdd) for each in found], axis=1) + np.abs(reaction)
    tolerance = TOLERANCE * max(1.0, max(each.condition for each in found) / 10)
    keys = catalog.applicable(space.model, space.facts)
    assert len(keys) == len(catalog.KEYS)  # holonomic and ideal: all of them
    for key in keys:
        equations = Equations(derivation_of(space.setup, key))
        assert relative(equations.accelerations(states.q, states.qd, states.t), qdd) < tolerance, key
        gap = np.abs(equations.reactions(states.q, states.qd, states.t) - reaction).max(axis=0)
        assert (gap / force.max(axis=0)).max() < tolerance, key
        given = batch_of(equations, states)
        n, size = len(states.q), len(given.y)
        rates = integrated_rates(given)
        integrated = equations.kernel.second_rates(given.y, given.t, given.constants, rates[n:size])
        assert relative(integrated, qdd) < tolerance, f"{key}, the integrated program"


def test_the_reference_detects_a_mass_error_of_one_thousandth():
    mechanism, _, states = prepared("planar, pin", 1)
    first, *others = mechanism.bodies
    other = replace(mechanism, bodies=(replace(first, mass=1.001 * first.mass), *others))
    found = [reference_solution(each, states.q[:, 0], states.qd[:, 0]).qdd[:, None] for each in (other, mechanism)]
    assert relative(*found) > 1e-6


@pytest.mark.parametrize("family", FAMILIES)
def test_random_mechanisms_are_closed_and_mobile(family):
    mechanism = random_mechanism(family, 3)
    assert np.abs(gaps(mechanism, mechanism.posture)).max() < 1e-12
    here = reference_solution(mechanism, mechanism.posture, np.zeros(len(mechanism.posture)))
    assert len(mechanism.posture) - here.rank >= 1
    if family.startswith("planar"):
        assert here.rank < len(here.A)  # rows of a joint in space are redundant in the plane
