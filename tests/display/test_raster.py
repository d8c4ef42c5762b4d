"""Rasterization of triangles."""

import numpy as np
import pytest

from dalembert.display._renderer import FINE, ProjectedTriangles, rasterize

RED, BLUE = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)


def lit(corners, color) -> ProjectedTriangles:
    return ProjectedTriangles(np.array([corners], dtype=float) * [FINE, FINE, 1], np.array([[color] * 3], dtype=float))


def test_a_triangle_covers_its_area():
    image = rasterize([lit([(10, 10, 0), (60, 20, 0), (30, 70, 0)], RED)], 80, 80)
    area = 0.5 * abs(50 * 60 - 20 * 10)
    assert image[..., 3].sum() == pytest.approx(area, rel=0.01)
    assert image[79 - 30, 33, 0] == pytest.approx(1.0)  # the first row is at the top


@pytest.mark.parametrize("swapped", [False, True])
def test_nearer_triangle_is_visible(swapped):
    near, far = lit([(0, 0, 2), (40, 0, 2), (0, 40, 2)], RED), lit([(0, 0, 1), (40, 0, 1), (0, 40, 1)], BLUE)
    image = rasterize([far, near] if swapped else [near, far], 40, 40)
    assert np.allclose(image[35, 5], RED)


def test_intersecting_triangles_meet_in_a_line():
    # inverse depths x and 40 − x: equal at x = 20
    one = lit([(0, 0, 0), (40, 0, 40), (20, 40, 20)], RED)
    other = lit([(0, 0, 40), (40, 0, 0), (20, 40, 20)], BLUE)
    image = rasterize([one, other], 40, 40)
    assert np.allclose(image[39 - 10, 16], BLUE)
    assert np.allclose(image[39 - 10, 23], RED)


def test_triangles_outside_the_image_are_ignored():
    image = rasterize([lit([(-1e6, -1e6, 0), (1e6, -1e6, 0), (0, 1e6, 0)], RED)], 8, 8)
    assert np.allclose(image, RED)
    empty = rasterize([lit([(-9, -9, 0), (-1, -9, 0), (-1, -1, 0)], RED)], 8, 8)
    assert not empty.any()
