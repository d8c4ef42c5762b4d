"""Floquet multipliers against Mathieu's equation and the period of a pendulum."""

import numpy as np
import pytest
from scipy.optimize import newton
from scipy.special import ellipk, mathieu_a, mathieu_b

import dalembert as dl
from dalembert.errors import InputError


def shaken_pendulum(height, omega):
    """A pendulum whose pivot oscillates vertically as height·cos(omega t)."""
    model = dl.Model("swing", gravity=(0, -9.81, 0)).parameters(h=height, w=omega).coordinates("theta")
    pivot = model.prismatic((0, 1, 0), "h*cos(w*t)")
    return model.body("bob", joint=[pivot, model.revolute((0, 0, 1), "theta")], mass=1, center=(0, -0.7, 0))


def test_stability_boundary_is_a_mathieu_characteristic_value():
    """With τ = ωt/2, θ'' + (a − 2q cos 2τ) θ = 0: a = 4g/(lω²), 2q = 4h/l; a multiplier is −1 where a = b₁(q)."""
    depth = 0.4
    omega = np.sqrt(4 * 9.81 / (0.7 * mathieu_b(1, depth)))
    found = dl.floquet(shaken_pendulum(0.7 * depth / 2, omega), 2 * np.pi / omega)
    assert found.states == ("theta", "dot(theta)")
    assert abs(np.linalg.det(found.monodromy) - 1) < 1e-10
    assert abs(np.trace(found.monodromy) + 2) < 1e-9


# characteristic values for q = 5 as in Table 20.1 of M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions (1964),
# with the multiplier that is double there: of a swing that hangs, and of one upside down
PUBLISHED = {"a1": (1.85818754, -1), "b2": (2.09946045, 1), "a0": (-5.80004602, 1)}


@pytest.mark.nightly
@pytest.mark.parametrize("name", PUBLISHED)
def test_stability_boundaries_match_published_values(name):
    (printed, multiplier), depth, length = PUBLISHED[name], 5.0, 0.7

    def boundary_distance(a):
        omega = np.sqrt(4 * 9.81 / (length * abs(a)))
        model = shaken_pendulum(length * depth / 2, omega)
        found = dl.floquet(model, 2 * np.pi / omega, at=[0.0 if a > 0 else np.pi])
        return np.trace(found.monodromy) - 2 * multiplier

    edge = newton(boundary_distance, printed * (1 - 1e-5), x1=printed * (1 + 1e-5), tol=1e-9)
    assert abs(edge - printed) < 6e-9  # eight decimals are printed


def test_invalid_periods_are_rejected():
    with pytest.raises(InputError, match="Expected a periodic motion"):
        dl.floquet("simple-pendulum", 0.1, at=[1.0])
    with pytest.raises(InputError, match="Expected a positive number"):
        dl.floquet("simple-pendulum", 0.0)


@pytest.mark.nightly
def test_motion_is_unstable_between_the_boundaries():
    depth = 0.4
    inside = np.sqrt(4 * 9.81 / (0.7 * (mathieu_b(1, depth) + mathieu_a(1, depth)) / 2))
    assert dl.floquet(shaken_pendulum(0.7 * depth / 2, inside), 2 * np.pi / inside).stable is False


@pytest.mark.nightly
def test_fast_excitation_stabilizes_the_inverted_pendulum():
    """a = 4g/(lω²) < 0 upside down: stable between a₀(q) and b₁(q); the exponent is that of the Hill determinant's trace."""
    depth, length = 0.3, 0.7
    for share, stable in ((0.9, None), (1.1, False)):
        omega = np.sqrt(4 * 9.81 / (length * -share * mathieu_a(0, depth)))
        found = dl.floquet(shaken_pendulum(length * depth / 2, omega), 2 * np.pi / omega, at=[np.pi])
        assert found.stable is stable


@pytest.mark.nightly
def test_swinging_pendulum_has_a_double_multiplier_one():
    """Its period is 4 √(l/g) K(sin²(A/2)); the monodromy shears, by the change of the period with the amplitude."""
    reach = 1.0
    period = 4 / np.sqrt(9.81) * ellipk(np.sin(reach / 2) ** 2)
    found = dl.floquet("simple-pendulum", period, at=[reach])
    assert found.closing < 1e-10
    assert np.abs(found.multipliers - 1).max() < 1e-5  # a double root is known to half of the digits
    assert abs(np.linalg.det(found.monodromy) - 1) < 1e-10
    # δθ̇ after a period: −T'(A) θ̈ per radian of amplitude
    slope = (4 / np.sqrt(9.81)) * (ellipk(np.sin(0.5 + 5e-6) ** 2) - ellipk(np.sin(0.5 - 5e-6) ** 2)) / 2e-5
    assert abs(found.monodromy[1, 0] - slope * 9.81 * np.sin(reach)) < 1e-6
