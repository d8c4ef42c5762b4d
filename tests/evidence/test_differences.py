"""Relative differences: an error in an angle has the same weight as one in a length, in any unit."""

import numpy as np
import pytest

from dalembert.evidence.agreement import difference_of_accelerations, largest_differences, reference
from dalembert.mechanics.state_batch import States
from dalembert.model.scales import Scales

REST = States(np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(1))


class Prescribed:
    """Equations with prescribed accelerations and reactions."""

    def __init__(self, qdd: list[float], reaction: list[float]) -> None:
        self._qdd, self._reaction = np.array(qdd)[:, None], np.array(reaction)[:, None]

    def accelerations(self, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
        return self._qdd

    def reactions(self, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
        return self._reaction


def scales(length: float) -> Scales:
    """A length and an angle."""
    return Scales(length, 2.0, 1.0, (length, 1.0), (length, 1.0), 10.0, 10.0)


def inertia(length: float) -> np.ndarray:
    return np.diag([2.0, 2.0 * length**2])[:, :, None]


@pytest.mark.parametrize("length", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize("error", [(1e-3, 0.0), (0.0, 1e-3)], ids=["length", "angle"])
def test_error_has_the_same_size_in_any_unit(length, error):
    # x in the unit of the length; forces on x, torques on the angle: mass × length, mass × length²
    known = reference(Prescribed([length, 1.0], [2.0 * length, 2.0 * length**2]), REST, inertia(length), scales(length))
    x, angle = 1.0 + error[0], 1.0 + error[1]
    other = Prescribed([length * x, angle], [2.0 * length * x, 2.0 * length**2 * angle])
    assert np.allclose(largest_differences(other, REST, known), 1e-3, rtol=1e-9)


@pytest.mark.parametrize("length", [1.0, 1e-6, 1e6])
def test_zero_reference_uses_the_scales_of_the_model(length):
    known = reference(Prescribed([0.0, 0.0], [0.0, 0.0]), REST, inertia(length), scales(length))
    assert np.isclose(difference_of_accelerations(np.array([[1e-3 * length], [0.0]]), known), 1e-3)
    assert np.isclose(largest_differences(Prescribed([0, 0], [2e-3 * length, 0]), REST, known)[1], 1e-3)


def test_nan_differs_infinitely():
    known = reference(Prescribed([1.0, 1.0], [0.0, 0.0]), REST, inertia(1.0), scales(1.0))
    assert largest_differences(Prescribed([np.nan, 1.0], [np.nan, 0.0]), REST, known) == (np.inf, np.inf)


@pytest.mark.parametrize(
    ("coupling", "expected"),
    [(0.0, 1e-3), (1 - 2e-6, 1e-5), (1.0, 1e-3)],
    ids=["apart", "nearly singular", "singular: constraints decide"],
)
def test_error_weighs_less_for_an_ill_conditioned_mass_matrix(coupling, expected):
    M = np.array([[1.0, coupling], [coupling, 1.0]])[:, :, None]  # of condition (1 + c)/(1 − c)
    known = reference(Prescribed([1.0, 1.0], [0.0, 0.0]), REST, M, scales(1.0))
    assert difference_of_accelerations(np.array([[1.001], [1.0]]), known) == pytest.approx(expected, rel=1e-3)
