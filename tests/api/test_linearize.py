"""Linearized equations against published values, closed forms, and derivatives of another formalism."""

import importlib.util
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as dl
from dalembert.errors import EngineError, InputError, NotApplicableError, SingularError


def at_speed(v):
    """The bicycle of the gallery upright and straight on."""
    return {}, {"x": v, "y": 0, "lean": 0, "rear": -v / 0.3, "front": -v / 0.35}


def apart(found, printed):
    """How far the printed eigenvalues, with their conjugates, and what was found are from each other."""
    wanted = np.array([x for re, im in printed for x in {complex(re, im), complex(re, -im)}])
    assert len(found) == len(wanted)
    return max(np.abs(found - x).min() for x in wanted)


@pytest.mark.parametrize(
    "speeds", [(0, 5, 10), pytest.param(range(11), marks=pytest.mark.nightly)], ids=("some", "all")
)
def test_benchmark_bicycle_has_published_eigenvalues(speeds):
    model, published = dl.load("whipple-bicycle"), dl.gallery.expected("whipple-bicycle")["benchmark"]
    linear = None
    for v in speeds:
        printed = published["eigenvalues"][str(v)]
        linear = dl.linearize(model, at=at_speed(v))
        assert linear.kind == ("steady motion" if v else "equilibrium")
        assert linear.decoupled_states == ("x", "y", "yaw", "rear", "front")
        rest = linear.reduced()
        values = rest.eigenvalues[np.argsort(np.abs(rest.eigenvalues))]
        assert apart(values[1:], printed) < published["tolerance"]  # the speed itself has the zero
        # lean and steer by the printed matrices, and the speed
        M, C1, K0, K2 = (np.array(published[key]) for key in ("M", "C1", "K0", "K2"))
        assert rest.states == ("lean", "steer", "forward", "leaning", "steering")
        for found, wanted in ((rest.mass, M), (rest.damping, v * C1), (rest.stiffness, 9.81 * K0 + v**2 * K2)):
            assert np.abs(found[1:, -2:] - wanted).max() < published["tolerance"]
    assert linear is not None
    finite = linear.full.eigenvalues
    assert linear.full.states[-1].startswith("lambda(")
    assert apart(finite[np.argsort(np.abs(finite))][-4:], published["eigenvalues"]["10"]) < 1e-9


@pytest.mark.nightly
def test_benchmark_bicycle_is_stable_between_published_speeds():
    published = dl.gallery.expected("whipple-bicycle")["benchmark"]
    found = dl.root_locus("whipple-bicycle", "dot(x)", [published["weave"], published["capsize"]], at=at_speed)
    weave, capsize = found.eigenvalues.T
    assert np.abs(weave[np.abs(weave.imag) > 1].real).max() < 1e-11
    assert np.sort(np.abs(capsize))[6] < 1e-11  # in addition to five decoupled states and the speed
    beside = [share * published[key] for key in ("weave", "capsize") for share in (0.999, 1.001)]
    assert dl.root_locus("whipple-bicycle", "dot(x)", beside, at=at_speed).unstable.tolist() == [
        True,
        False,
        False,
        True,
    ]


def by_kane(model, q, qd):
    """∂(q̇, u̇)/∂(q, u) of Kane's equations as they are integrated, and the map from their states."""
    eom = dl.derive(model, "kane")
    u, constants = eom.kernel.start(q, qd, 0.0, eom.values)
    y = np.concatenate([q, u, np.zeros(len(eom.kernel.working))])
    size = len(q) + len(u)
    return eom.kernel.state_slopes(y, 0.0, np.concatenate([eom.values, constants]))[:size, :size]


def test_linearization_equals_derivatives_of_kanes_equations():
    """At a instant of a motion, where all terms count: A of the states is that of the states of another formalism."""
    compare_with_kane("cart-pendulum")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", ["four-bar", "three-bodies", "rolling-disk", "slider-crank-2", "kuka-kr5", "gear-train", "double-pendulum"]
)
def test_linearization_of_more_models_equals_derivatives_of_kanes_equations(name):
    compare_with_kane(name)


def compare_with_kane(name):
    model = dl.load(name)
    start = dl.assemble_state(model, qd=np.linspace(0.3, 0.9, len(model.coordinate_names)))
    linear = dl.linearize(model, at=start, any_state=True)
    n, c = len(start.q), linear.coordinates
    slopes = by_kane(model, start.q, start.qd)
    # (δq, δu) of the states, and the states of them
    into = np.zeros((len(slopes), len(linear.A)))
    into[:n], into[n:, c:] = linear.shapes[:n], np.eye(len(linear.A) - c)
    chosen = [model.coordinate_names.index(name) for name in linear.states[:c]]
    found = (slopes @ into)[[*chosen, *range(n, len(slopes))]]
    assert np.abs(found - linear.A).max() < 1e-9 * np.abs(linear.A).max()


def cardan_top(g=9.81):
    """A symmetric top on its tip in Cardan angles, which are regular where it stands upright."""
    model = dl.Model("top", gravity=(0, 0, "-g")).parameters(g=g).coordinates("a", "b", "spin")
    joints = [model.revolute((1, 0, 0), "a"), model.revolute((0, 1, 0), "b"), model.revolute((0, 0, 1), "spin")]
    return model.body("top", joint=joints, mass=1, center=(0, 0, 0.3), inertia=(0.05, 0.05, 0.02))


def test_sleeping_top_is_stable_above_the_critical_speed():
    """ω² > 4 m g l I₁/I₃², with I₁ about the tip; below it the top falls with the growth of the quadratic."""
    model, bound = cardan_top(), np.sqrt(4 * 9.81 * 0.3 * 0.14) / 0.02
    for share, stable in ((0.999, False), (1.001, None)):
        omega = share * bound
        linear = dl.linearize(model, at=([0, 0, 0], [0, 0, omega]))
        assert (linear.kind, linear.decoupled_states, linear.stable) == ("steady motion", ("spin",), stable)
        # with z = a + i b: I₁ z̈ − i I₃ ω ż − m g l z = 0
        roots = np.roots([0.14, -0.02j * omega, -9.81 * 0.3])
        for root in roots:
            assert np.abs(linear.eigenvalues - root).min() < 1e-12 * abs(root)
    # the bound itself: below it the square of the growth is linear in ω²
    squares = np.array([0.5, 0.9]) * bound**2
    growth = dl.root_locus(model, "dot(spin)", np.sqrt(squares), at=lambda w: ([0, 0, 0], [0, 0, w])).growth ** 2
    found = squares[0] + growth[0] * (squares[1] - squares[0]) / (growth[0] - growth[1])
    assert abs(np.sqrt(found) / bound - 1) < 1e-12


def test_spinning_top_without_gravity_nutates():
    """I₃ω/I₁ is its frequency about the tip; its axis may also point anywhere else, and stay there."""
    linear = dl.linearize(cardan_top(0.0), at=([0, 0, 0], [0, 0, 50.0]))
    values = np.sort(np.abs(linear.eigenvalues))
    assert np.allclose(
        values, [0, 0, 0, 0, 50 / 7, 50 / 7], atol=1e-7
    )  # zeros that are double are known to half of the digits
    assert np.allclose(values[-2:], 50 * 0.02 / 0.14, rtol=1e-13)


def test_inputs_outputs_and_holding_forces():
    """A double integrator with gravity: the transfer function of the force on a pendulum held aside."""
    linear = dl.linearize(
        "simple-pendulum", at=[0.5], inputs=["theta", "g"], outputs=["sin(theta)", "dot(theta)", "ddot(theta)"]
    )
    assert np.allclose(linear.u0, [9.81 * np.sin(0.5), 9.81])
    assert np.allclose(linear.y0, [np.sin(0.5), 0, 0], atol=1e-15)
    s = 0.3 + 2j
    theta = np.array([1, -np.sin(0.5)]) / (s * s + 9.81 * np.cos(0.5))
    wanted = np.array([np.cos(0.5) * theta, s * theta, s * s * theta])
    assert np.allclose(linear.transfer(s), wanted, atol=1e-13)
    assert np.allclose(linear.frequency_response([1.0, 2.0])[..., 1], linear.transfer(2j))
    _, zeros = linear.poles_and_zeros("dot(theta)", "theta")
    assert np.allclose(zeros, 0.0, atol=1e-9)


def test_multipliers_are_outputs():
    """A bead on a wire that is a circle: the force that holds it down there is m g, and changes with the speed."""
    model = dl.Model("bead", gravity=(0, -9.81, 0)).coordinates("x", "y").holonomic("x**2 + y**2 - 1", name="ring")
    model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
    linear = dl.linearize(model, at=[0.0, -1.0], inputs=["y"], outputs=["ring", "x"])
    assert linear.states == ("x", "dot(x)")
    assert np.allclose(linear.A, [[0, 1], [-9.81, 0]], atol=1e-14)
    # y is held by the ring: 2λ y + F − m g = 0
    assert np.allclose(linear.D, [[0.5], [0.0]])
    assert np.allclose(linear.full.eigenvalues.imag.tolist(), [np.sqrt(9.81), -np.sqrt(9.81)], atol=1e-9)


def test_modes_of_two_equal_pendulums_on_a_spring():
    """√(g/l) and √(g/l + 2k/m): frequencies and mode shapes, and an animation of one."""
    model = dl.Model("two", gravity=(0, -9.81, 0)).coordinates("p", "q")
    for name, place in (("p", 0.0), ("q", 1.0)):
        model.body(f"bob-{name}", joint=model.revolute((0, 0, 1), name, (place, 0, 0)), mass=2, center=(0, -1, 0))
    model.spring(("bob-p", "bob-q"), points=((0, -1, 0), (0, -1, 0)), stiffness=3, natural_length=1)
    modes = dl.linearize(model, at=[0, 0]).modes()
    assert np.allclose(modes.frequencies, np.sqrt([9.81, 9.81 + 3.0]), rtol=1e-13)
    assert np.allclose(modes.shapes, [[1, 1], [1, -1]], atol=1e-9)
    assert "moves" in str(modes)
    scene = modes.scene(1)
    assert scene.run is not None
    assert np.allclose(scene.run.q[:, 0], 0.3 * modes.shapes[:, 1].real)
    assert [channel.key for channel in scene.run.channels] == ["p", "q"]  # the page plots how they move


def test_states_without_linearization_are_rejected():
    with pytest.raises(InputError, match=r"neither an equilibrium nor a steady motion: d/dt dot\(theta\) = -4.7"):
        dl.linearize("simple-pendulum", at=[0.5])
    assert dl.linearize("simple-pendulum", at=[0.5], any_state=True).kind == "instant of a motion"
    with pytest.raises(InputError, match=r"d/dt theta = 1, not 0"):  # passes the lowest point
        dl.linearize("simple-pendulum", at=([0.0], [1.0]))
    with pytest.raises(InputError, match=r"there is no coordinate, parameter or load 'thta'"):
        dl.linearize("simple-pendulum", at=[0.0], inputs=["thta"])
    with pytest.raises(InputError, match=r"violates 'pin, x' by"):
        dl.linearize("four-bar", at=[0.3, 0.1, 0.2])
    with pytest.raises(NotApplicableError, match="is a control law in Python"):
        dl.linearize(dl.load("simple-pendulum").copy().actuator("bob", law=lambda t, state: 0.0))
    shaken = dl.load("simple-pendulum").copy().joint_torque("bob", "sin(t)*theta")
    with pytest.raises(InputError, match="the linear equations depend on time explicitly"):
        dl.linearize(shaken, at=[0.0])
    later = dl.load("simple-pendulum").copy().joint_torque("bob", "t**6")  # it begins without a trace
    with pytest.raises(InputError, match="forces or drives change with time"):
        dl.linearize(later, at=[0.0])
    stop = dl.load("simple-pendulum").copy().joint_torque("bob", "-100*max(theta, 0)")
    with pytest.raises(InputError, match="switches its branch at this state"):
        dl.linearize(stop, at=[0.0])
    with pytest.raises(SingularError, match="the configuration is singular"):
        dl.linearize(upright_euler(), at=[0.0, 0.0, 0.0])


def upright_euler():
    model = dl.Model("top", gravity=(0, 0, -9.81)).coordinates("psi", "theta", "phi")
    joints = [model.revolute((0, 0, 1), "psi"), model.revolute((1, 0, 0), "theta"), model.revolute((0, 0, 1), "phi")]
    model.body("top", joint=joints, mass=1, center=(0, 0, 0.3), inertia=(0.05, 0.05, 0.02))
    return model.start([0.0, 0.5, 0.0], [0, 0, 0])


@pytest.mark.nightly
def test_control_packages_accept_the_state_space_matrices():
    linear = dl.linearize("simple-pendulum", at=[0.5], inputs=["theta"])
    system = linear.to_scipy()
    assert all(np.array_equal(getattr(system, name), getattr(linear, name)) for name in "ABCD")
    with pytest.raises(InputError, match="got 0 inputs and 1 outputs"):
        dl.linearize("simple-pendulum", at=[0.0]).to_scipy()
    if importlib.util.find_spec("control") is None:  # with it: tests/exports/test_control.py
        with pytest.raises(EngineError, match="pip install control"):
            linear.to_control()


@pytest.mark.nightly
def test_symbolic_parameters():
    """A bead on a ring, and a spinning top: A and B as formulas."""
    import sympy

    model = dl.Model("bead", gravity=(0, "-g", 0)).parameters(g=9.81, m=2.0, R=1.0).coordinates("x", "y")
    model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass="m")
    model.holonomic("x**2 + y**2 - R**2", name="ring")
    linear = dl.linearize(model, at=[0.0, -1.0], inputs=["x"])
    g, m, R = sympy.symbols("g m R")
    found = linear.symbolic({"y": "-R"})
    assert sympy.Matrix([[0, 1], [-g / R, 0]]) == found.A
    assert sympy.Matrix([0, 1 / m]) == found.B
    assert found.latex().startswith(r"\frac{\mathrm d}{\mathrm dt}")
    with pytest.raises(InputError, match="the symbolic A differs from the numerical A"):
        linear.symbolic({"y": "-g"})
    spinning = dl.linearize(cardan_top().parameters(w=70.0), at=([0, 0, 0], [0, 0, 70.0])).symbolic({"dot(spin)": "w"})
    assert spinning.A[3, 4] == -sympy.Symbol("w") / 7


def stewart_by_hand():
    """M and K of the platform's six freedoms, from straight struts between two points: independent of the package."""
    p = dl.load("stewart-platform").parameter_values
    below = np.array([0, 0, 2, 2, 4, 4]) * np.pi / 3 + np.array([1, -1] * 3) * p["bb"]
    above = np.array([1, -1, 3, 1, 5, 3]) * np.pi / 3 + np.array([-1, 1] * 3) * p["bp"]

    def struts(x):
        """For each strut: mass centres of cylinder and rod, its length and the angles of its lower joint."""
        K = np.array([[0, -x[5], x[4]], [x[5], 0, -x[3]], [-x[4], x[3], 0]])
        turn = np.linalg.solve(np.eye(3) - K, np.eye(3) + K)  # Cayley
        for a, b in zip(above, below, strict=True):
            foot = p["R"] * np.array([np.cos(b), np.sin(b), 0.0])
            tip = x[:3] + [0, 0, p["h"]] + turn @ (p["r"] * np.array([np.cos(a), np.sin(a), 0.0]))
            way = tip - foot
            length = np.sqrt(way @ way)
            c, s = np.cos(b), np.sin(b)
            n = np.array([c * way[0] + s * way[1], -s * way[0] + c * way[1], way[2]]) / length
            yield (
                foot + way / length * p["lc"] / 2,
                tip - way / length * p["lr"] / 2,
                length,
                -np.arctan(n[1] / n[2]),
                np.arcsin(n[0]),
            )

    def potential(x):
        weight = p["mp"] * (x[2] + p["h"])
        spring = 0.0
        for cylinder, rod, length, _, _ in struts(x):
            weight = weight + p["mc"] * cylinder[2] + p["mr"] * rod[2]
            spring = spring + p["k"] / 2 * (length - p["L0"]) ** 2
        return p["g"] * weight + spring

    M = np.diag([p["mp"]] * 3 + [0.0] * 3)
    disc = p["mp"] * p["r"] ** 2
    M[3:, 3:] = 4 * np.diag(
        [disc / 4, disc / 4, disc / 2]
    )  # the rotation angle is twice the size of Cayley's parameters
    slopes = [
        [np.imag(np.concatenate([np.atleast_1d(y) for y in each])) / 1e-30 for each in struts(1e-30j * e)]
        for e in np.eye(6)
    ]
    for i, (_, _, _, q1, q2) in enumerate(struts(np.zeros(6))):
        J = np.array([slopes[k][i] for k in range(6)]).T  # (3 + 3 + 1 + 2, 6)
        first, second = np.array([1.0, 0, 0]), np.array([0, np.cos(q1), np.sin(q1)])
        omega = np.outer(first, J[7]) + np.outer(second, J[8])
        n = np.array([np.sin(q2), -np.sin(q1) * np.cos(q2), np.cos(q1) * np.cos(q2)])
        for mass, length, radius, move in ((p["mc"], p["lc"], p["wc"], J[:3]), (p["mr"], p["lr"], p["wr"], J[3:6])):
            across, along = mass * (radius**2 / 4 + length**2 / 12), mass * radius**2 / 2
            inertia = across * np.eye(3) + (along - across) * np.outer(n, n)
            M = M + mass * move.T @ move + omega.T @ inertia @ omega

    def hessian(h):
        rows = [(gradient(h * e) - gradient(-h * e)) / (2 * h) for e in np.eye(6)]
        return np.array(rows)

    def gradient(x):
        return np.array([potential(x + 1e-30j * e).imag / 1e-30 for e in np.eye(6)])

    assert np.abs(gradient(np.zeros(6))).max() < 1e-10
    h = 2e-3  # differences of exact gradients, three times extrapolated
    table = [hessian(h / 2**k) for k in range(4)]
    for order in (1, 2, 3):
        table = [(4**order * b - a) / (4**order - 1) for a, b in pairwise(table)]
    return M, table[0]


@pytest.mark.nightly
def test_stewart_platform_has_six_modes():
    from scipy.linalg import eigh

    M, K = stewart_by_hand()
    model = dl.load("stewart-platform")
    (found, *_) = dl.equilibrium(model, starts=0)
    assert found.stability == "stable"
    wanted = np.sqrt(eigh((K + K.T) / 2, M, eigvals_only=True))
    assert np.abs(dl.linearize(model, at=found).modes().frequencies / wanted - 1).max() < 1e-8


@pytest.mark.nightly
def test_disc_rolling_in_a_circle_is_a_steady_motion():
    """Its rates along x and y are sines, but its speeds are constant; elsewhere it is not steady, and is rejected."""
    model, lean, turn = dl.load("rolling-disk"), 0.25, 1.0
    eom = dl.derive(model, "kane")

    def at(roll):
        """Rolling on a circle: the contact is at rest."""
        return dl.assemble_state(
            model, {"beta": lean}, {"psi": turn, "beta": 0, "theta": roll}, fixed=("psi", "beta", "theta")
        )

    def tilt(roll):
        return float(eom.accelerations(at(roll).q, at(roll).qd)[4])

    found = at(brentq(tilt, -30.0, 30.0, xtol=1e-14))
    assert np.abs(found.qd[:2]).max() > 0.1
    linear = dl.linearize(model, at=found)
    assert (linear.kind, linear.decoupled_states) == ("steady motion", ("x", "y", "psi", "theta"))
    # a perturbed run tilts with the frequency of the mode
    mode = linear.modes()[-1]
    small, period = 1e-6, 2 * np.pi / mode.frequency
    shift = small * np.concatenate([mode.shape, mode.rates]).real
    start = dl.assemble_state(model, found.q + shift[:6], found.qd + shift[6:])
    run = eom.simulate(period, q0=start.q, qd0=start.qd, samples=5, rtol=1e-13, atol=1e-14)
    wanted = np.cos(mode.frequency * run.t)
    assert np.abs((run["beta"] - lean) / (run["beta"][0] - lean) - wanted).max() < 1e-3
    with pytest.raises(InputError, match=r"d/dt w1 = "):
        dl.linearize(model, at=at(8.0))


def wishbones_by_hand(p):
    """The square of the frequency of two arms and a wheel carrier in a plane, from where circles meet."""

    def poses(angle):
        """Mass centers and angles of the lower arm, the carrier and the upper arm."""
        a = p["a"] * np.array([np.cos(angle), np.sin(angle)])
        foot = np.array([p["x"], p["y"]])
        way = foot - a
        far = np.sqrt(way @ way)
        along = (p["c"] ** 2 - p["b"] ** 2 + far**2) / (2 * far)
        side = np.sqrt(p["c"] ** 2 - along**2)
        top = a + along * way / far + side * np.array([way[1], -way[0]]) / far  # the carrier stands outside
        arm, carrier = top - foot, top - a
        upper = np.arctan(arm[1] / arm[0])
        return a / 2, (a + top) / 2, (foot + top) / 2, angle, np.arctan(-carrier[0] / carrier[1]), upper

    masses, lengths = np.array([p["m"], p["n"], p["m"]]), np.array([p["a"], p["c"], p["b"]])

    def potential(angle):
        heights = [each[1] for each in poses(angle)[:3]]
        return 9.81 * sum(masses * heights) + p["k"] / 2 * (angle - p["rest"]) ** 2

    def moment(angle):
        return potential(angle + 1e-30j).imag / 1e-30

    angle: Any = brentq(moment, -0.5, 0.5, xtol=1e-15)
    slopes = [np.imag(np.atleast_1d(each)) / 1e-30 for each in poses(angle + 1e-30j)]
    inertias = masses * lengths**2 / 12
    mass = sum(m * (v @ v) for m, v in zip(masses, slopes[:3], strict=True))
    mass += sum(inertia * float(w[0]) ** 2 for inertia, w in zip(inertias, slopes[3:], strict=True))
    table = [(moment(angle + h) - moment(angle - h)) / (2 * h) for h in 4e-3 / 2.0 ** np.arange(4)]
    for order in (1, 2, 3):
        table = [(4**order * b - a) / (4**order - 1) for a, b in pairwise(table)]
    return angle, table[0] / mass


@pytest.mark.nightly
def test_double_wishbone_has_one_mode():
    p = {"a": 0.45, "b": 0.35, "c": 0.3, "x": 0.08, "y": 0.28, "m": 3.0, "n": 25.0, "k": 2500.0, "rest": -0.15}
    model = dl.Model("double wishbone", gravity=(0, -9.81, 0)).parameters(p).coordinates("lower", "upper", "carrier")
    rod = {"inertia": (0, 0, "m*a**2/12"), "mass": "m"}
    model.body("lower", joint=model.revolute((0, 0, 1), "lower"), center=("a/2", 0, 0), **rod)
    model.joint_spring("lower", stiffness="k", rest="rest")
    rod = {"inertia": (0, 0, "m*b**2/12"), "mass": "m"}
    model.body("upper", joint=model.revolute((0, 0, 1), "upper", ("x", "y", 0)), center=("b/2", 0, 0), **rod)
    hung = model.revolute((0, 0, 1), "carrier", ("a", 0, 0))
    rod = {"inertia": (0, 0, "n*c**2/12"), "mass": "n"}
    model.body("carrier", parent="lower", joint=hung, center=(0, "c/2", 0), **rod)
    model.loop("pin", ("upper", "carrier"), joint=model.revolute((0, 0, 1), position=("b", 0, 0)), position=(0, "c", 0))
    angle, square = wishbones_by_hand(p)
    start = dl.assemble_state(model, [angle + 0.05, 0.0, -0.05])
    (found,) = dl.equilibrium(model, at=start, starts=0)
    assert abs(found["lower"] - angle) < 1e-12
    assert found.stability == "stable"
    (mode,) = dl.linearize(model, at=found).modes()
    assert abs(mode.frequency**2 / square - 1) < 1e-8
