"""Struts with arbitrary laws of length and rate, between points and in joints."""

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import dalembert as dl
from dalembert.errors import InputError, ModelFileError
from dalembert.io.toml_reader import loads_toml
from dalembert.model.loads.joint_strut import JointStrut
from dalembert.model.model import Model


def slider(start: float = 0.0, rate: float = 0.0) -> Model:
    """A mass of 2 on a rail."""
    model = Model("slider").parameters(k=3.0).coordinate("x", start, rate)
    return model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)


def test_a_cubic_pull_is_duffings_oscillator():
    # ẍ + α x + β x³ = 0 from rest at A: x = A cn(ω t, m), ω² = α + β A², m = β A² / (2 ω²)
    alpha, beta, A = 1.0, 0.5, 2.0
    model = slider(A).joint_strut("block", pull="2*position + position**3")
    w = np.sqrt(alpha + beta * A**2)
    m = beta * A**2 / (2 * w**2)
    run = dl.simulate(model, 4 * ellipk(m) / w, samples=41)
    assert np.allclose(run.q[0], A * ellipj(w * run.t, m)[1], atol=1e-12)
    assert np.allclose(run.potential, run.q[0] ** 2 + run.q[0] ** 4 / 4, atol=1e-12)
    assert np.ptp(run.energy) < 1e-12


def test_a_linear_pull_is_a_spring():
    model = slider(0.4).strut(("world", "block"), points=((0, 1, 0), (0, 0, 0)), pull="k*(length - 1)")
    twin = slider(0.4).spring(("world", "block"), points=((0, 1, 0), (0, 0, 0)), stiffness=3, natural_length=1)
    q, qd = np.linspace(-1, 1, 9)[None], np.ones((1, 9))
    assert np.allclose(dl.derive(model).accelerations(q, qd), dl.derive(twin).accelerations(q, qd), atol=1e-15)


def test_quadratic_damping_slows_down_as_one_over_time():
    # 2 v̇ = −4 v²: v = 1 / (1/v₀ + 2 t)
    model = slider(1.0, 5.0).strut(("world", "block"), pull="4*rate*abs(rate)")
    run = dl.derive(model, engine="python").simulate(1.0, samples=6, rtol=1e-12, atol=1e-13)
    assert np.allclose(run.qd[0], 1 / (0.2 + 2 * run.t), rtol=1e-9)
    assert np.allclose(run.work.total, run.energy - run.energy[0], atol=1e-9)


def test_a_curve_is_met_at_its_points_and_is_level_outside():
    rows = np.array([[0.5, -4.0], [1.0, 0.0], [1.2, 7.0]])
    speeds = np.array([[-1.0, -3.0], [0.0, 0.0], [2.0, 10.0]])
    model = slider().strut(("world", "block"), curve=rows, rate_curve=speeds)
    x, v = np.meshgrid([0.2, 0.5, 0.7, 1.1, 1.2, 3.0], [-2.0, -0.5, 0.0, 1.0, 5.0])
    pull = np.interp(x, *rows.T) + np.interp(v, *speeds.T)
    for engine in ("python", "native"):
        found = dl.derive(model, engine=engine).accelerations(x.reshape(1, -1), v.reshape(1, -1))
        assert np.allclose(found, -pull.reshape(1, -1) / 2, atol=1e-14)


def test_a_strut_in_a_joint_that_is_read_backwards():
    model = slider().joint_strut(
        "block", pull="k*position**2 + rate", curve=[[0, 1], [2, 5]], rate_curve=[[0, 0], [1, 3]]
    )
    (strut,) = model.loads
    assert isinstance(strut, JointStrut)
    assert strut.reversed().reversed() == strut
    q, qd = np.array([0.7]), np.array([0.4])
    back = Model("back").parameters(k=3.0).coordinate("x")
    back.body("block", joint=back.prismatic((-1, 0, 0), "x"), mass=2).loads = (strut.reversed(),)
    expected = dl.derive(model, engine="python").accelerations(q, qd)
    assert dl.derive(back, engine="python").accelerations(-q, -qd) == pytest.approx(-expected)


def test_a_coordinate_may_be_called_length():
    model = Model("slider").coordinate("length", 2.0)
    model.body("block", joint=model.prismatic((1, 0, 0), "length"), mass=1)
    model.strut(("world", "block"), pull="3*length", points=((-1, 0, 0), (0, 0, 0)))
    assert dl.derive(model, engine="python").accelerations([2.0], [0.0]) == pytest.approx([-9.0])
    assert model.check() == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.strut(("world", "block")), "got neither pull, curve nor rate_curve."),
        (lambda m: m.strut(("world", "block"), pull="k*x"), "the name 'x' is not known here."),
        (lambda m: m.strut(("world", "block"), pull="dot(x)"), "velocities are not allowed here"),
        (lambda m: m.strut(("world", "block"), pull="angle"), "the name 'angle' is not known here."),
        (lambda m: m.strut(("world", "block"), curve=[[0, 1]]), "curve: got 1 rows. Expected 2 to 1000000 rows of two"),
        (lambda m: m.strut(("world", "block"), curve=[[0, 1, 2], [1, 2, 3]]), "Expected 2 to 1000000 rows of two"),
        (lambda m: m.strut(("world", "block"), curve=7), "curve: got 7. Expected 2 to 1000000 rows of two"),
        (
            lambda m: m.strut(("world", "block"), rate_curve=[[1, 1], [1, 2]]),
            "rate_curve: row 1 begins with 1 and row 0 with 1. Expected increasing numbers",
        ),
        (lambda m: m.strut(("world", "block"), curve=[[0, 1], ["x", 2]]), "curve[1]"),
        (
            lambda m: m.parameter("length", 1).strut(("world", "block"), pull="length"),
            "the parameter 'length' conflicts",
        ),
        (lambda m: m.joint_strut("block"), "got neither pull, curve nor rate_curve."),
        (lambda m: m.joint_strut("block", pull="length"), "the name 'length' is not known here."),
    ],
)
def test_invalid_strut_arguments(call, message):
    model = slider()
    with pytest.raises(InputError) as caught:
        call(model)
    assert message in str(caught.value)
    assert model.loads == ()


def test_all_problems_of_a_strut_in_a_file_are_reported():
    text = """
    name = "block"
    coordinates.x = {}
    [[body]]
    name = "block"
    mass = 1
    joint = { type = "prismatic", axis = [1, 0, 0], displacement = "x" }
    [[strut]]
    bodies = ["world", "block"]
    pull = "2*lenght"
    curve = [[0, 1], [2]]
    """
    with pytest.raises(ModelFileError) as caught:
        loads_toml(text)
    assert "the name 'lenght' is not known here. Did you mean 'length'?" in str(caught.value)
    assert "curve[1]: got an array of 1. Expected an array of 2 numbers." in str(caught.value)


def test_coincident_ends_are_reported():
    model = slider(0.0).strut(("world", "block"), pull="3*length")
    with pytest.raises(InputError, match="strut 'strut1': at t = 0 its ends coincide, so its force has no direction"):
        dl.simulate(model, 1.0)
