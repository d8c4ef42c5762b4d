"""Root loci and Campbell's diagrams against closed forms."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError


def rotor():
    """A disc in the middle of a light shaft that springs hold: two tilts and a spin."""
    model = dl.Model("rotor").parameters(k=50.0).coordinates("a", "b", "spin")
    joints = [model.revolute((1, 0, 0), "a"), model.revolute((0, 1, 0), "b"), model.revolute((0, 0, 1), "spin")]
    model.body("disc", joint=joints, mass=1, inertia=(0.1, 0.1, 0.15))
    return model.joint_spring("disc", stiffness="k").joint_spring("disc", stiffness="k", joint=1)


def test_rotor_has_forward_and_backward_whirl():
    """I₁ z̈ − i I₃ Ω ż + k z = 0 for z = a + i b: the two frequencies part with the speed."""
    speeds = np.linspace(0.0, 60.0, 7)
    found = dl.root_locus(rotor(), "dot(spin)", speeds)
    for omega, values in zip(speeds, found.eigenvalues.T, strict=True):
        for root in np.roots([0.1, -0.15j * omega, 50.0]):
            assert np.abs(values - root).min() < 1e-12 * abs(root)
    assert not found.unstable.any()
    assert np.abs(np.diff(found.eigenvalues, axis=1)).max() < 200  # each row is the path of one eigenvalue
    assert "largest Re" in str(found)


def test_root_locus_follows_the_equilibrium():
    """A pendulum on a spring about its joint: k θ = m g l sin θ leaves θ = 0 where k < m g l upside down."""
    model = dl.Model("column", gravity=(0, 9.81, 0)).parameters(k=20.0).coordinates("theta")
    model.body("rod", joint=model.revolute((0, 0, 1), "theta"), mass=1, center=(0, -1, 0)).joint_spring(
        "rod", stiffness="k"
    )
    found = dl.root_locus(model, "k", [12.0, 11.0, 10.0, 9.0, 8.0], at=[0.3])
    assert found.unstable.tolist() == [False, False, False, True, True]
    assert np.allclose(found.eigenvalues[:, 0] ** 2, -(12.0 - 9.81))
    by_hand = dl.root_locus(model, "k", [9.0], at=lambda k: [0.0])
    assert np.isclose(by_hand.growth[0], np.sqrt(0.81))
    with pytest.raises(InputError, match="there is no parameter or rate 'kk'"):
        dl.root_locus(model, "kk", [1.0])


@pytest.mark.nightly
def test_root_loci_are_plotted(tmp_path):
    found = dl.root_locus(rotor(), "dot(spin)", [0.0, 30.0, 60.0])
    for name in ("plot", "campbell"):
        drawn = getattr(found, name)(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes()[1:4] == b"PNG"
    # lines of multiples begin at zero, and are named within the picture
    (axis,) = drawn.axes
    low, high = axis.get_ylim()
    assert low == 0
    assert all(text.xy[1] <= high for text in axis.texts)
    assert axis.get_xlabel().endswith("[rad/s]")
