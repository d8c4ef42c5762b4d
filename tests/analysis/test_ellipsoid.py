"""The kinetic energy ellipsoid, (5.187)–(5.195) of papers/desapio."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dalembert as dl
from dalembert import papers
from dalembert.analysis.energy_ellipsoid import kinetic_energy_ellipsoid
from dalembert.errors import InputError

M, H, R = 1.0, 1.0, 0.75
CENTRE = np.diag([3 / 80 * M * (H**2 + 4 * R**2)] * 2 + [3 / 10 * M * R**2])
APEX = np.diag([3 / 20 * M * R**2 + 3 / 5 * M * H**2] * 2 + [3 / 10 * M * R**2])


def cone() -> dl.Model:
    """A cone on its apex, its center of mass 3h/4 above, free to rotate about the vertical."""
    model = dl.Model("cone").parameters(M=M, h=H, R=R).coordinate("q")
    across = "3/80*M*(h**2 + 4*R**2)"
    joint = model.revolute((0, 0, 1), "q")
    return model.body("cone", joint=joint, mass="M", center=(0, 0, "3*h/4"), inertia=(across, across, "3/10*M*R**2"))


def test_the_printed_numbers_of_the_cone_belong_to_its_apex():
    found, rows = kinetic_energy_ellipsoid(APEX, 1.0), papers.printed("desapio").tables["Cone"].rows
    assert_allclose(found.moments[::-1], [float(cell) for cell in rows["eigenvalues λ"]], atol=5e-4)
    assert_allclose(found.semiaxes[::-1], [float(cell) for cell in rows["semiaxes a"]], atol=6e-4)
    assert_allclose(np.abs(found.directions[:, 0]), [0, 0, 1])


def test_the_printed_tensor_of_the_cone_gives_other_numbers():
    found = kinetic_energy_ellipsoid(CENTRE, 1.0)
    assert_allclose(found.moments, [0.121875, 0.121875, 0.16875])
    assert_allclose(found.semiaxes, np.sqrt(2 / found.moments))


def test_the_cone_as_a_body_of_a_model():
    about_centre, about_apex = dl.ellipsoid(cone(), "cone"), dl.ellipsoid(cone(), "cone", 1.0, point=(0, 0, 0))
    assert_allclose(about_centre.moments, np.diag(CENTRE))
    assert_allclose(about_apex.semiaxes, kinetic_energy_ellipsoid(APEX, 1.0).semiaxes)


def test_every_point_of_the_ellipsoid_has_the_energy():
    random = np.random.default_rng(3)
    rotation = np.linalg.qr(random.normal(size=(3, 3)))[0]
    inertia = rotation @ np.diag([0.4, 0.7, 0.9]) @ rotation.T
    found = kinetic_energy_ellipsoid(inertia, 2.5)
    on_sphere = random.normal(size=(3, 100))
    on_sphere /= np.linalg.norm(on_sphere, axis=0)
    w = found.directions @ (found.semiaxes[:, None] * on_sphere)
    assert_allclose(np.einsum("is,ij,js->s", w, inertia, w) / 2, 2.5)
    assert_allclose(found.directions.T @ found.directions, np.eye(3), atol=1e-14)
    assert np.linalg.det(found.directions) == pytest.approx(1)
    assert_allclose(found.directions.T @ inertia @ found.directions, np.diag(found.moments), atol=1e-14)


def test_a_rod_has_no_bound_along_its_axis():
    found = kinetic_energy_ellipsoid(np.diag([0.0, 0.5, 0.5]), 1.0)
    assert_allclose(found.semiaxes, [np.inf, 2.0, 2.0])


@pytest.mark.parametrize(
    ("inertia", "energy", "message"),
    [
        (np.eye(2), 1.0, "the inertia has shape (2, 2). Expected finite numbers, shape (3, 3)."),
        ([[1, 0.2, 0], [0, 1, 0], [0, 0, 1]], 1.0, "not symmetric"),
        (np.diag([1, 1, -0.5]), 1.0, "the principal moments are -0.5, 1, 1. Expected values >= 0, not all 0."),
        (np.zeros((3, 3)), 1.0, "the principal moments are 0, 0, 0."),
        (np.eye(3), 0.0, "the energy is 0.0. Expected a positive number."),
    ],
)
def test_wrong_inertias_and_energies_raise(inertia, energy, message):
    with pytest.raises(InputError) as caught:
        kinetic_energy_ellipsoid(inertia, energy)
    assert message in str(caught.value)


def test_an_unknown_body_raises():
    with pytest.raises(InputError, match=r"ellipsoid: there is no body 'cane'\. Did you mean 'cone'\?"):
        dl.ellipsoid(cone(), "cane", 1.0)
    with pytest.raises(InputError, match="there is no frame 'parent'"):
        dl.ellipsoid(cone(), "cone", frame="parent")
    with pytest.raises(InputError, match="Expected unit vectors"):
        dl.ellipsoid(cone(), "cone").angular_velocities([1.0, 1.0, 0.0])


def test_in_the_base_frame_it_rotates_with_the_body():
    # (5.188) and (5.221): the orientation of the rotor is Q_z Q_y Q_x
    q = {"q1": 0.4, "q2": -0.7, "q3": 1.1}

    def rotation(axis, angle):
        out, (i, j) = np.eye(3), [(1, 2), (2, 0), (0, 1)][axis]
        out[i, i] = out[j, j] = np.cos(angle)
        out[i, j], out[j, i] = -np.sin(angle), np.sin(angle)
        return out

    R = rotation(2, 0.4) @ rotation(1, -0.7) @ rotation(0, 1.1)
    body = dl.ellipsoid("gyroscope", "beam", 2.0)
    world = dl.ellipsoid("gyroscope", "beam", 2.0, frame="world", q=q)
    R2 = rotation(2, 0.4) @ rotation(1, -0.7)
    assert world.frame == "world"
    assert_allclose(world.semiaxes, body.semiaxes)
    assert_allclose(np.abs((R2 @ body.directions).T @ world.directions), np.eye(3), atol=1e-12)
    # its points have the energy, by the inertia of the rotor in the base frame
    rotor, units = (
        dl.ellipsoid("gyroscope", "rotor", 2.0, frame="world", q=q),
        np.random.default_rng(2).normal(size=(3, 9)),
    )
    w = rotor.angular_velocities(units / np.linalg.norm(units, axis=0))
    inertia = R @ np.diag([0.5, 1 / 3, 1 / 3]) @ R.T  # (5.248) with all constants 1
    assert_allclose(np.einsum("is,ij,js->s", w, inertia, w) / 2, 2.0)
