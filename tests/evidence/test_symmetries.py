"""Affine symmetries: closed forms, counterexamples, the Lie algebra, and momenta along runs."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import dalembert as dl
from dalembert.evidence.symmetries import symmetries
from dalembert.simulation.workspace import setup, workspace_of


def particle(name, coordinates, potential="0", kinetic=None, **more):
    """A model by energies; a unit-mass particle in Cartesian coordinates unless T is given."""
    T = kinetic or " + ".join(f"dot({x})**2/2" for x in coordinates)
    start = {"x": 1.0, "y": 0.3, "z": -0.2, "u": -0.4, "w": 0.1, "theta": 0.5, "phi": 0.2}
    model = dl.Model.from_energies(name, coordinates=coordinates, kinetic=T, potential=potential, **more)
    if "holonomic" not in more:
        model.start({x: start.get(x, 0.1) for x in coordinates}, {x: 0.2 + 0.3 * k for k, x in enumerate(coordinates)})
    return model


def springs(**masses):
    """Two masses and a spring with a natural length, in the plane."""
    return particle(
        "springs",
        ["x", "y", "u", "w"],
        "k*(sqrt((x - u)**2 + (y - w)**2) - l)**2/2",
        "m*(dot(x)**2 + dot(y)**2)/2 + M*(dot(u)**2 + dot(w)**2)/2",
        parameters={"k": 3.0, "l": 1.0, "m": 1.0, "M": 2.0} | masses,
    )


def oscillator(**values):
    """Two springs along the axes; isotropic for equal ones."""
    return particle("oscillator", ["x", "y"], "(k1*x**2 + k2*y**2)/2", parameters={"k1": 2.0, "k2": 2.0} | values)


def rigid_body(*inertia):
    model = dl.Model("free body")
    for name, start in zip(("qw", "qx", "qy", "qz"), (1, 0, 0, 0), strict=True):
        model.coordinate(name, start=start)
    joint = model.spherical(quaternion=("qw", "qx", "qy", "qz"))
    return model.body("body", joint=joint, mass=1, inertia=inertia)


def names(found, **properties):
    return {str(g) for g in found.generators if all(getattr(g, k) == x for k, x in properties.items())}


PLANE = "{x: -y, y: x}"
KEPLER = "-1/sqrt(x**2 + y**2 + z**2)"
SPACE = {"{x: -y, y: x}", "{x: -z, z: x}", "{y: -z, z: y}"}
CONSTANT = {
    "free particle": (particle("free", ["x", "y", "z"]), SPACE | {"{x: 1}", "{y: 1}", "{z: 1}"}),
    "Kepler in the plane": (particle("plane", ["x", "y"], "-1/sqrt(x**2 + y**2)"), {PLANE}),
    "Kepler in space": (particle("space", ["x", "y", "z"], KEPLER), SPACE),
    "flattened": (particle("flat", ["x", "y", "z"], "-1/sqrt(x**2 + y**2 + 1.01*z**2)"), {PLANE}),
    "Kepler, polar": (particle("polar", ["x", "phi"], "-1/x", "(dot(x)**2 + x**2*dot(phi)**2)/2"), {"{phi: 1}"}),
    "screw": (
        particle("screw", ["z", "theta"], "cos(z - 3*theta/10)", parameters={}),
        {"{z: 1, theta: 10/3}"},
    ),
    "strong spring in time": (particle("in time", ["x", "y"], "(2 + sin(t))*(x**2 + y**2)/2"), {PLANE}),
    "magnetic field": (
        particle("field", ["x", "y"], kinetic="(dot(x)**2 + dot(y)**2)/2 + 2*(x*dot(y) - y*dot(x))"),
        {PLANE},
    ),
    "sphere": ("spherical-pendulum", {PLANE}),
    "cart-pendulum": ("cart-pendulum", {"{x: 1}"}),
    "Lagrange top": ("heavy-top", {"{psi: 1}", "{phi: 1}"}),
    "satellite-boom": ("satellite-boom", {"{X: 1}", "{Y: 1}", "{Z: 1}", "{psi: 1, X: -Y, Y: X}"}),
    "three-bodies": ("three-bodies", {"{X: 1}", "{Y: 1}", "{Z: 1}", "{psi: 1, X: -Y, Y: X}"}),
}


@pytest.mark.parametrize("name", CONSTANT)
def test_closed_forms_are_found_and_proved(name):
    model, expected = CONSTANT[name]
    found = symmetries(model)
    assert names(found) == names(found, symmetry=True, conserved=True, proved=True, parameters=()) == expected


SLOW = {"three-bodies": 7, "satellite-boom": 5}


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=pytest.mark.slow(SLOW[x])) if x in SLOW else x for x in CONSTANT]
)
def test_their_momenta_are_constant_along_a_run(name):
    model, expected = CONSTANT[name]
    run = dl.simulate(model, 2.0, samples=21)
    drift = symmetries(model, seed=3).drift(run)
    assert set(drift) == expected
    assert max(drift.values()) < 1e-9


def test_two_masses_have_a_fourth_symmetry_that_depends_on_their_ratio():
    found = symmetries(springs())
    general = {"{x: 1, u: 1}", "{y: 1, w: 1}", "{x: -y, y: x, u: -w, w: u}"}
    assert names(found, parameters=()) == general
    (about_center,) = (g for g in found.generators if g.parameters)
    assert about_center.parameters == ("m", "M")
    # with the distance d = r1 - r2 and J = [[0, -1], [1, 0]] it is r1' = M/(m + M) J d, r2' = -m/(m + M) J d
    relative = [int(x) for x in np.kron([[2, -2], [-1, 1]], [[0, -1], [1, 0]]).ravel()]
    rows = [[*g.b, *(x for row in g.A for x in row)] for g in found.generators]
    assert sp.Matrix(rows).rank() == sp.Matrix([*rows, [0, 0, 0, 0, *relative]]).rank() == 4
    assert max(found.drift(dl.simulate(springs(), 3.0, samples=31)).values()) < 1e-9


def test_a_symmetry_at_given_values_names_them():
    (rotation,) = symmetries(oscillator()).generators
    assert (str(rotation), rotation.parameters) == (PLANE, ("k1", "k2"))


@pytest.mark.parametrize(("inertia", "count"), [((1.0, 2.0, 3.0), 3), ((1.0, 1.0, 1.5), 4), ((2.0, 2.0, 2.0), 6)])
def test_a_free_body_in_quaternions_has_the_rotations_of_space_and_of_its_equal_axes(inertia, count):
    found = symmetries(rigid_body(*inertia))
    assert len(found.conserved) == len(found.generators) == count


def test_brackets_are_those_of_so3():
    """[ξ_i, ξ_j] by SymPy, from the printed components."""
    found = symmetries(particle("space", ["x", "y", "z"], KEPLER))
    q = [sp.Symbol(name) for name in "xyz"]
    fields = [sp.Matrix([[sp.sympify(g.components.get(str(x), "0"))] for x in q]) for g in found.generators]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        bracket = fields[j].jacobian(q) * fields[i] - fields[i].jacobian(q) * fields[j]
        terms = found.brackets[i, j]
        total = sum((sp.Rational(c.numerator, c.denominator) * fields[k] for k, c in terms.items()), sp.zeros(3, 1))
        assert sp.expand(bracket - total) == sp.zeros(3, 1)
    assert len(found.commuting) == 1


def test_translations_are_the_commuting_set_of_the_plane():
    found = symmetries(springs(), seed=5)
    translations = {k for k, g in enumerate(found.generators) if not any(map(any, g.A))}
    assert translations <= set(found.commuting)


def test_a_momentum_is_written_as_a_person_would():
    (angular,) = symmetries(particle("plane", ["x", "y"], "-1/sqrt(x**2 + y**2)")).generators
    x, y, u, w = (sp.Symbol(name) for name in "xyuw")
    written = sp.sympify(angular.momentum.replace("dot(x)", "u").replace("dot(y)", "w"))
    assert sp.expand(written - (x * w - y * u)) == 0
    assert r"\dot{x}" in angular.latex
    assert (angular.A, angular.b) == (((0, -1), (1, 0)), (Fraction(0), Fraction(0)))


# nonholonomic constraints and forces: momentum equations


def test_the_sleigh_has_the_symmetry_of_the_plane_and_three_momentum_equations():
    found = symmetries("chaplygin-sleigh")
    assert names(found, symmetry=True, conserved=False, proved=True) == {
        "{x: 1}",
        "{y: 1}",
        "{phi: 1, x: -y, y: x}",
    }
    assert found.generators[0].rate == "-lambda(blade)*sin(phi)"


def test_a_momentum_equation_holds_along_a_run():
    run = dl.simulate("chaplygin-sleigh", 1.0, samples=2001, rtol=1e-11)
    momenta = symmetries("chaplygin-sleigh").momenta(run)
    rate = -run.multipliers[0] * np.sin(run["phi"])
    change = np.concatenate([[0], np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(run.t))])
    assert np.abs(momenta["{x: 1}"] - momenta["{x: 1}"][0]).max() > 0.1
    assert_allclose(momenta["{x: 1}"] - momenta["{x: 1}"][0], change, atol=1e-5)


def test_drag_preserves_the_symmetry_but_not_the_momentum():
    model = particle("drag", ["x", "y"], forces=["-c*dot(x)", "-c*dot(y)"], parameters={"c": 0.5})
    found = symmetries(model)
    assert names(found) == {"{x: 1}", "{y: 1}", PLANE}
    assert names(found, conserved=True) == set()
    assert found.generators[0].rate == "-c*dot(x)"


def test_a_momentum_without_symmetry_is_found():
    """The spin of a skate on a slope is constant, but its direction changes where gravity pulls."""
    found = symmetries("knife-edge")
    assert names(found, symmetry=False, conserved=True) == {"{phi: 1}"}
    assert names(found, symmetry=True) == {"{y: 1}"}


@pytest.mark.parametrize("name", ["rolling-disk", "gyroscope", "vertical-disk", "pendulum-on-balance"])
def test_every_ignorable_coordinate_has_its_translation(name):
    space = workspace_of(setup(dl.load(name)))
    ignorable = {f"{{{space.model.coordinate_names[i]}: 1}}" for i in space.facts.ignorable}
    constant = symmetries(name).conserved
    rows = [[*g.b, *(x for row in g.A for x in row)] for g in constant]
    known = sp.Matrix(rows) if rows else sp.zeros(0, 1)
    n = len(space.model.coordinate_names)
    for i in space.facts.ignorable:
        unit = sp.Matrix([[int(k == i) for k in range(n + n * n)]])
        assert known.col_join(unit).rank() == known.rank(), ignorable


# refuted


def on_ellipse():
    model = particle("ellipse", ["x", "y"], holonomic=["x**2 + 2*y**2 - 1"])
    return model.start({"x": 1.0, "y": 0.0}, {"x": 0.0, "y": 0.5})


REFUTED = {
    "double pendulum in gravity": "double-pendulum",
    "unequal springs": oscillator(k2=2.000000001),
    "moving potential": particle("wave", ["x"], "cos(x - 2*t)"),
    "force in time": particle("pushed", ["x"], forces=["sin(t)*x"]),
    "ellipse": on_ellipse(),
    "wall": particle("wall", ["x"], "piecewise(1, x > 0, 2)"),
    "tiny": particle("tiny", ["x"], "1e-12*x**3"),
    "uniform gravity": particle("falling", ["x"], "9.81*x"),
}


@pytest.mark.parametrize("name", REFUTED)
def test_broken_symmetries_are_refuted(name):
    assert symmetries(REFUTED[name]).generators == ()


def test_damping_breaks_every_constant_momentum():
    damped = particle("damped", ["x", "y"], "(x**2 + y**2)/2", forces=["-0.1*dot(x)", "-0.3*dot(y)"])
    assert symmetries(damped).generators == ()


def test_a_parameter_that_an_event_sets_is_never_at_its_value():
    model = particle("pushed", ["x"], "F*x", parameters={"F": 0.0})
    assert names(symmetries(model)) == {"{x: 1}"}
    later = model.copy().event("push", "t - 2", set={"F": 3})
    assert symmetries(later).generators == ()


def test_refuses_what_it_does_not_cover():
    with pytest.raises(dl.InputError, match="at most 24 coordinates"):
        symmetries(
            particle("large", [f"x{k}" for k in range(25)], kinetic="+".join(f"dot(x{k})**2" for k in range(25)))
        )
    with pytest.raises(dl.InputError, match="seed"):
        symmetries("heavy-top", seed=-1)
    run = dl.simulate("simple-pendulum", 0.1, samples=2)
    with pytest.raises(dl.InputError, match="Expected a run with"):
        symmetries("heavy-top").drift(run)
