"""Parameters may change at run time, but not the structural facts of the derivation."""

import numpy as np
import pytest

import dalembert as dl


def test_rejects_a_spring_on_an_ignorable_coordinate():
    model = dl.Model("cart").parameters(k=0.0).coordinate("x", start=1.0)
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.spring(("world", "cart"), stiffness="k")
    equations = dl.derive(model, "volterra_reduced", engine="python")
    with pytest.raises(dl.InputError, match=r"x would no longer be ignorable.*Derive again"):
        equations.with_parameters(k=5.0)
    stiff = dl.derive(model, "kane", engine="python").with_parameters(k=5.0)
    assert np.allclose(stiff.accelerations([1.0], [0.0]), [-5.0])


def test_rejects_constraints_that_become_independent():
    model = dl.Model("pair").parameters(c=1.0).coordinates("x", "y")
    for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0))):
        model.body(f"mass_{name}", joint=model.prismatic(axis, name), mass=1)
    model.nonholonomic("dot(x) - dot(y)", name="first").nonholonomic("dot(x) - c*dot(y)", name="second")
    equations = dl.derive(model, "lagrange", engine="python")
    with pytest.raises(dl.InputError, match="other constraints would be independent"):
        equations.with_parameters(c=2.0)
