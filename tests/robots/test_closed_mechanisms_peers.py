"""Random closed mechanisms: every compiled formalism agrees with Pinocchio, and with Drake if it is installed."""

import numpy as np
import pytest
from closed_mechanisms import FAMILIES, as_model, random_mechanism, reference_solution, well_conditioned
from closed_references import PinocchioReference, drake_reference

from dalembert.api.equations import Equations
from dalembert.formalisms import catalog
from dalembert.mechanics import state_batch
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.workspace import setup, workspace_of

STATES, TOLERANCE = 3, 1e-8
EVERY_DAY = {("planar, pin", 11), ("spatial, two balls", 11)}
CASES = [
    pytest.param(family, seed, marks=() if (family, seed) in EVERY_DAY else pytest.mark.nightly)
    for family in FAMILIES
    for seed in (11, 12)
]


def relative(found, known):
    return np.abs(found - known).max() / np.abs(known).max()


@pytest.mark.parametrize(("family", "seed"), CASES)
def test_every_formalism_agrees_with_pinocchio_on_closed_mechanisms(family, seed):
    mechanism = random_mechanism(family, seed)
    judge, second = PinocchioReference(mechanism), drake_reference(mechanism)
    space = workspace_of(setup(as_model(mechanism), "native"))
    drawn = state_batch.consistent_states(space.model, 10 * STATES, seed=seed)
    meets = np.array([judge.gap(q) < 1e-8 for q in drawn.q.T])
    assert meets.sum() > 3 * STATES
    states, known = well_conditioned(space, drawn.where(meets), STATES), []
    for q, qd in zip(states.q.T, states.qd.T, strict=True):
        a, apart = judge.accelerations(q, qd)
        assert apart < 1e-8
        known.append(
            (a, reference_solution(mechanism, q, qd).condition, None if second is None else second.accelerations(q, qd))
        )
    for key in catalog.applicable(space.model, space.facts):
        equations = Equations(derivation_of(space.setup, key))
        qdd = equations.accelerations(states.q, states.qd, states.t)
        reaction = equations.reactions(states.q, states.qd, states.t)
        for k, (a, condition, drake) in enumerate(known):
            q, qd, tolerance = states.q[:, k], states.qd[:, k], TOLERANCE * max(1.0, condition / 10)
            assert relative(judge.mapped(q, qdd[:, k]), a) < tolerance, key
            if second is not None:
                assert relative(second.mapped(q, qdd[:, k]), drake) < tolerance, f"{key}, by Drake"
            expected = judge.reactions(q, qd, qdd[:, k])
            found = judge.open.velocities(q).T @ reaction[:, k]
            assert np.abs(found - expected).max() < tolerance * max(1.0, np.abs(expected).max()), f"{key}, reactions"
