"""Random trees with every type of joint, load, speed and constraint: all applicable formalisms give the same q̈ and Aᵀλ.

Differences are relative to the largest acceleration and force of each state. Two formalisms may differ by rounding times the
condition of the equations, and those that form normal equations by its square: the tolerance is 1e-8 up to a condition κ of
10⁴ and grows like κ² from there, where κ belongs to [M Aᵀ; A 0] with the diagonal of M and the rows of A scaled to one.
"""

import numpy as np
import pytest
from hypothesis import Phase, assume, given, note, seed, settings
from hypothesis import strategies as st

from dalembert.api.equations import Equations
from dalembert.errors import InconsistentStateError, SingularError
from dalembert.formalisms import catalog
from dalembert.mechanics import state_batch
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.workspace import setup, workspace_of

CHUNKS = 10  # distributed over the processes of a parallel run
STATES = 5
LOADS = ("force", "torque", "joint_torque", "spring", "damper")
NIGHT = settings().max_examples > 50
SIZES = (1, 2, 2, 2, 3, 3, 3, 3, 4, 4, *((5, 6) if NIGHT else ()))  # six coordinates take a minute to compile


@st.composite
def recipes(draw, coordinates=SIZES, bodies=6):
    """The parts of a random model; one in five has a constraint nonlinear in the velocities, one in five servo constraints."""
    size, count = draw(st.sampled_from(coordinates)), draw(st.integers(1, bodies))
    special = draw(st.sampled_from(("plain", "plain", "plain", "nonlinear", "servo")))
    return {
        "seed": draw(st.integers(0, 10**6)),
        "bodies": count,
        "coordinates": size if count <= 3 or NIGHT else min(size, 2),
        "loads": tuple(draw(st.lists(st.sampled_from(LOADS), max_size=3))),
        "holonomic": draw(st.integers(0, 2)),
        "nonholonomic": draw(st.integers(0, 1)),
        "speeds": draw(st.integers(0, 2)),
        "redundant": draw(st.booleans()),
        "non_ideal": draw(st.sampled_from((False, False, True))),
        "nonlinear": special == "nonlinear",
        "servo": special == "servo",
    }


def prepared(random_tree, recipe, engine):
    """A workspace, random states, and the condition of the equations there."""
    model = random_tree(recipe.pop("seed"), **recipe)
    try:
        space = workspace_of(setup(model, engine))
        states = state_batch.consistent_states(space.model, STATES, seed=7)
        assert space.facts.d >= 0
    except (SingularError, InconsistentStateError) as error:
        # parallel prismatic joints have no inertia between them; a cone may have no solution near the initial velocity
        note(str(error))
        assume(False)
    if recipe["servo"] and all(space.facts.levels.servo):
        # servo constraints need not hold during the transient
        states = state_batch.random_guesses(space.model, np.random.default_rng(7), STATES)
    _, _, A, M = space.manifold.evaluate(states.q, states.qd, states.t, space.values)
    return space, states, M, condition(M, A[list(space.facts.rows)])


def condition(M, A):
    """The largest condition over the states of [M Aᵀ; A 0], scaled; infinite where M is singular."""
    if not np.einsum("iik->ik", M).min() > 0:
        return np.inf
    scale = 1 / np.sqrt(np.einsum("iik->ik", M))
    M, A = M * scale[:, None] * scale[None], A * scale[None]
    A = A / np.linalg.norm(A, axis=1, keepdims=True)
    n, r = len(M), len(A)
    matrix = np.zeros((n + r, n + r, M.shape[2]))
    matrix[:n, :n], matrix[n:, :n], matrix[:n, n:] = M, A, np.swapaxes(A, 0, 1)
    return np.linalg.cond(np.moveaxis(matrix, -1, 0)).max()


def compare(space, states, M, keys, tolerance):
    """Every formalism compared with the first."""
    first, pace, force = None, np.nan, np.nan
    for key in keys:
        equations = Equations(derivation_of(space.setup, key))
        qdd = equations.accelerations(states.q, states.qd, states.t)
        reaction = equations.reactions(states.q, states.qd, states.t)
        if first is None:
            first = qdd, reaction
            pace = np.maximum(np.abs(qdd).max(axis=0), 1e-9)
            inertia = np.einsum("ijs,js->is", np.abs(M), np.abs(qdd)).max(axis=0)
            force = np.maximum(np.maximum(inertia, np.abs(reaction).max(axis=0)), 1e-9)
        assert (np.abs(qdd - first[0]).max(axis=0) / pace).max() <= tolerance, f"{key}, accelerations"
        assert (np.abs(reaction - first[1]).max(axis=0) / force).max() <= tolerance, f"{key}, reactions"


def examine(random_tree, recipe, engine):
    note(str(recipe))
    space, states, M, kappa = prepared(random_tree, dict(recipe), engine)
    assume(kappa < 1e6)
    keys = catalog.applicable(space.model, space.facts)
    compare(space, states, M, keys, 1e-8 * max(1.0, (kappa / 1e4) ** 2))


@pytest.mark.slow(9)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_formalism_agrees_on_random_models(random_tree, chunk):
    @seed(chunk)
    @settings(max_examples=settings().max_examples // CHUNKS, phases=(Phase.explicit, Phase.generate))
    @given(recipes())
    def agree(recipe):
        examine(random_tree, recipe, "python")

    agree()


@pytest.mark.slow(4)
@pytest.mark.parametrize("chunk", range(2))
def test_every_formalism_agrees_on_random_models_in_machine_code(random_tree, chunk):
    @seed(100 + chunk)
    @settings(max_examples=max(2, settings().max_examples // 20), phases=(Phase.explicit, Phase.generate))
    @given(recipes(coordinates=(1, 2, 2), bodies=3))
    def agree(recipe):
        examine(random_tree, recipe, "native")

    agree()
