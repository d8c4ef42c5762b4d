"""Assembly and mobility: the nearest consistent state, and how many ways there are to move."""

import numpy as np
import pytest

import dalembert as dl


def ring(mass_x: float = 1.0, mass_y: float = 1.0) -> dl.Model:
    model = dl.Model("ring").coordinates("x", "y").holonomic("x**2 + y**2 - 1", name="ring")
    model.body("slide", joint=model.prismatic((1, 0, 0), "x"), mass=mass_x)
    return model.body("bead", parent="slide", joint=model.prismatic((0, 1, 0), "y"), mass=mass_y)


def test_the_nearest_point_of_a_ring_lies_on_the_ray_where_both_directions_weigh_the_same():
    model = dl.Model("ring").coordinates("x", "y").holonomic("x**2 + y**2 - 1", name="ring")
    plane = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")]
    model.body("bead", joint=plane, mass=2)
    found = dl.assemble(model, [1.2, 0.9], [1.0, 1.0])
    np.testing.assert_allclose(found.q, [0.8, 0.6], atol=1e-4)
    assert abs(found.q @ found.q - 1) < 1e-12
    assert abs(found.q @ found.qd) < 1e-12
    np.testing.assert_allclose(found.q - [1.2, 0.9], list(found.moved.values()))
    assert "positions moved: x by" in str(found)


def test_what_must_not_move_does_not():
    found = dl.assemble(ring(), [0.6, 0.3], [0.0, 2.0], keep=["x"])
    np.testing.assert_allclose(found.q, [0.6, 0.8], atol=1e-12)
    heavy = dl.assemble(ring(), [0.6, 0.3], [0.0, 2.0], weights={"x": 1e8})
    np.testing.assert_allclose(heavy.q, [0.6, 0.8], atol=1e-5)


def test_assembly_that_cannot_be_done_says_by_how_much():
    with pytest.raises(dl.InconsistentStateError, match=r"assemble: no state near .* leaves 'ring' at"):
        dl.assemble(ring(), [1.5, 0.0], [0.0, 0.0], keep=["x"])
    with pytest.raises(dl.InputError, match="there is no coordinate 'z'"):
        dl.assemble(ring(), keep=["z"])
    with pytest.raises(dl.InputError, match="weights must be positive"):
        dl.assemble(ring(), weights={"x": -1.0})


def test_mobility_counts_and_names():
    model = ring().start([1, 0], [0, 1]).holonomic("2*x**2 + 2*y**2 - 2", name="same ring")
    found = dl.mobility(model)
    assert (found.coordinates, found.constraints, found.degrees_of_freedom) == (2, 2, 1)
    assert len(found.redundant) == 1
    assert set(found.redundant) | set(found.independent) == {"ring", "same ring"}
    assert "redundant constraints" in str(found)


def test_a_singular_start_is_told():
    # two unit rods folded onto each other: the closure loses rank
    model = dl.Model("folded").coordinates("a", "b")
    model.body("first", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(0.5, 0, 0), inertia=(0, 0, 0.1))
    link = model.revolute((0, 0, 1), "b - a", position=(1, 0, 0))
    model.body("second", parent="first", joint=link, mass=1, center=(0.5, 0, 0), inertia=(0, 0, 0.1))
    model.holonomic("sin(a) + sin(b)", name="slider").start([np.pi / 2, -np.pi / 2], [0, 0])
    assert any("singular configuration" in warning for warning in dl.mobility(model).warnings)
