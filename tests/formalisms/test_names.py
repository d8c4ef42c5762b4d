"""User-defined names never clash with internal symbols."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.model.model import Model

KEYS = ("lagrange", "kane", "hamilton", "volterra_reduced")
# internal names, and names of SymEngine, SymPy and generated programs
OURS = (
    "work",
    "lam",
    "t0",
    "u1",
    "u2",
    "x0",
    "s1",
    "G",
    "p",
    "w",
    "q",
    "qd",
    "M",
    "A",
    "f",
    "C",
    "J",
    "W",
    "G_th",
    "v",
)
ENGINES = (
    "time",
    "par",
    "par0",
    "u_0",
    "__x",
    "__u_0",
    "y0",
    "y1",
    "y2",
    "y3",
    "y4",
    "state",
    "out",
    "r0",
    "where",
    "inf",
)
SYMBOLIC = (
    "E",
    "I",
    "e",
    "oo",
    "zoo",
    "nan",
    "S",
    "N",
    "Q",
    "O",
    "gamma",
    "beta",
    "zeta",
    "Abs",
    "Symbol",
    "re",
    "Piecewise",
)
NAMES = (*OURS, *ENGINES, *SYMBOLIC)
PAIRS = tuple(zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True))  # every name as coordinate and as parameter
REFUSED = ("t", "pi", "sin", "dot", "ddot", "lambda", "max", "piecewise")


def cart(coordinate: str, mass: str) -> Model:
    model = Model("cart", gravity=(0, -9.81, 0)).parameters({mass: 1.3}).coordinates(coordinate, "th")
    model.body("cart", joint=model.prismatic((1, 0, 0), coordinate), mass=mass)
    hinge = model.revolute((0, 0, 1), "th")
    model.body("rod", parent="cart", joint=hinge, mass=1, center=(0, -0.5, 0), inertia=(0.1, 0.1, 0.1))
    return model.force("cart", ("sin(t)", 0, 0)).start([0.1, 0.4], [0.5, 0])


def motion(coordinate: str, mass: str, key: str, engine: str) -> np.ndarray:
    run = dl.derive(cart(coordinate, mass), key, engine=engine).simulate(0.3, samples=3)
    return np.concatenate([run.q, run.qd, run.energy[None]])


def require_same_motion(key, engine, pairs):
    right = motion("x", "k", key, engine)
    for name, other in pairs:
        assert np.allclose(motion(name, other, key, engine), right, atol=1e-12), (name, other)


@pytest.mark.nightly
@pytest.mark.parametrize("key", KEYS)
def test_motion_is_independent_of_names(key):
    require_same_motion(key, "native", PAIRS[KEYS.index(key) :: len(KEYS)])


@pytest.mark.nightly
@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("key", KEYS)
def test_motion_is_independent_of_names_in_every_formalism(key, engine):
    require_same_motion(key, engine, PAIRS)


@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_every_name_is_printed(name, other):
    eom = dl.derive(cart(name, other), "volterra_reduced", engine="python")
    assert eom.latex()
    assert eom.mass_matrix.rows == eom.forcing.rows == eom.n_dynamic
    assert {str(x) for x in eom.mass_matrix.free_symbols} == {other, "t"}


@pytest.mark.parametrize("name", REFUSED)
def test_reserved_words_are_rejected_at_declaration(name):
    with pytest.raises(InputError, match=f"coordinate '{name}': invalid name"):
        cart(name, "k")
    with pytest.raises(InputError, match=f"parameter '{name}': invalid name"):
        cart("x", name)


@pytest.mark.parametrize("name", ["work", "lam"])
def test_implicit_integrator_accepts_every_name(name):
    runs = [dl.derive(cart(each, "k"), "lagrange").simulate(0.3, samples=3, integrator="ida") for each in ("x", name)]
    assert np.allclose(runs[0].q, runs[1].q, atol=1e-9)
