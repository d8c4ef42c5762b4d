"""External wrenches: compiled functions against floats, and both against virtual work with numerically differentiated poses."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, SingularError
from dalembert.model.model import Model
from dalembert.recursive.load_forces import WrenchFrame
from dalembert.recursive.plan import plan_of

FRAMES = ("world", "body", "mass_center")
STEP = 1e-6


def bodies_of(model, count=3):
    return [body.name for body in model.bodies][-count:]


def drawn(model, draw, count=4):
    """A state, forces and wrenches on several bodies, as a batch."""
    q, s, sd, t = draw(model, count)
    rng = np.random.default_rng(5)
    return q, s, sd, t, {body: rng.uniform(-1, 1, (6, count)) for body in bodies_of(model)}


def virtual_work(model, q, t, fext, frame):
    """The generalized forces from poses at coordinates displaced along each speed: Σ F·δp + M·δφ."""
    known = dl.dynamics(model)
    out = np.zeros((len(known.speed_names), q.shape[1]))
    for body, wrench in fext.items():
        center = next(each for each in model.bodies if each.name == body).center
        at = np.array(center, dtype=float) if frame == "mass_center" else np.zeros(3)
        R = known.kinematics.pose(q, body, t=t).rotation
        force, moment = (np.einsum("ijk,jk->ik", R, x) if frame == "body" else x for x in (wrench[:3], wrench[3:]))
        for k in range(len(out)):
            along = np.zeros_like(out)
            along[k] = STEP
            dq = known.rates(q, along)
            ahead, back = (known.kinematics.pose(q + sign * dq, body, t=t) for sign in (1, -1))
            dp = (ahead.at(at) - back.at(at)) / (2 * STEP)
            spin = np.einsum("ijk,ljk->ilk", (ahead.rotation - back.rotation) / (2 * STEP), R)  # ω×
            turn = np.stack([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]]) / 2
            out[k] += (force * dp + moment * turn).sum(axis=0)
    return out


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", ["every joint", "floating"])
def test_generalized_forces_satisfy_virtual_work(name, frame, make, draw):
    model = make(name)
    known, (q, s, sd, t, fext) = dl.dynamics(model), drawn(model, draw)
    expected = virtual_work(model, q, t, fext, frame)
    assert np.abs(expected).max() > 0.1
    tau = known.inverse(q, s, sd, t)
    assert np.allclose(tau - known.inverse(q, s, sd, t, fext=fext, frame=frame), expected, atol=1e-8)
    options = {"fext": fext, "frame": frame}
    assert np.allclose(tau - dl.inverse_dynamics(model, q, s, sd, t, **options), expected, atol=1e-8)
    moved = dl.forward_dynamics(model, q, s, tau + expected, t)
    assert np.allclose(known.forward(q, s, tau, t, **options), moved, rtol=1e-7, atol=1e-7)
    assert np.allclose(dl.forward_dynamics(model, q, s, tau, t, **options), moved, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("frame", FRAMES)
def test_single_states_lanes_and_layouts_give_the_same_bits(frame, make, draw):
    model = make("floating")
    known, (q, s, sd, _, fext) = dl.dynamics(model), drawn(model, draw, 9)
    for function in (known.inverse, known.forward):
        found = function(q, s, sd, fext=fext, frame=frame)
        out = np.empty_like(found)
        assert function(q, s, sd, fext=fext, frame=frame, out=out, threads=2) is out
        assert np.array_equal(out, found)
        one = (np.ascontiguousarray(x[:, 4]) for x in (q, s, sd))
        alone = function(*one, fext={body: wrench[:, 4].tolist() for body, wrench in fext.items()}, frame=frame)
        assert np.array_equal(alone, found[:, 4])
        one = [np.ascontiguousarray(x[:, 4]) for x in (q, s, sd)]
        columns = {body: np.ascontiguousarray(wrench[:, 4]) for body, wrench in fext.items()}
        for some in (columns, {"ball": columns["ball"]}):
            several = [function(*one, fext=some, frame=frame) for _ in range(3)]  # compiled at the first call
            expected = function(*one, fext={body: list(wrench) for body, wrench in some.items()}, frame=frame)
            assert all(np.array_equal(each, expected) for each in several)


def test_one_wrench_acts_on_all_states_of_a_batch(make, draw):
    known, (q, s, sd, _, _) = dl.dynamics(make("floating")), drawn(make("floating"), draw)
    wrench = np.arange(6.0)
    found = known.inverse(q, s, sd, fext={"ball": wrench})
    assert np.array_equal(found, known.inverse(q, s, sd, fext={"ball": np.repeat(wrench[:, None], 4, axis=1)}))
    assert np.allclose(found, dl.inverse_dynamics(make("floating"), q, s, sd, fext={"ball": wrench}), atol=1e-12)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("of", ["forward", "inverse"])
def test_derivatives_include_the_wrenches(of, frame, make, draw):
    model = make("floating")
    known, (q, s, x, _, fext) = dl.dynamics(model), drawn(model, draw, 2)
    options = {"fext": fext, "frame": frame}
    found = known.derivatives(q, s, x, of=of, **options, parameters=[])
    function = getattr(dl, f"{of}_dynamics")
    for k in range(len(s)):
        along = np.zeros_like(s)
        along[k] = STEP
        shifted = [q + sign * known.rates(q, along) for sign in (1, -1)]
        for each in shifted:
            for attitude in plan_of(model).tree.attitudes:
                each[list(attitude.parts)] /= np.linalg.norm(each[list(attitude.parts)], axis=0)
        ahead, back = (function(model, each, s, x, **options) for each in shifted)
        assert np.allclose(found.by_q[:, k], (ahead - back) / (2 * STEP), rtol=1e-6, atol=1e-6)
    bare = known.derivatives(q, s, x, of=of)
    assert np.abs(found.by_q - bare.by_q).max() > 1e-3
    if of == "inverse":
        assert np.allclose(found.by_qd, bare.by_qd, atol=1e-12)


def test_derivatives_with_wrenches_and_parameters():
    model = Model("pendulum").parameters(m=2.0).coordinates("a")
    model.body("bob", joint=model.revolute((0, 0, 1), "a"), mass="m", center=(0.5, 0, 0))
    known, q, s, tau = dl.dynamics(model), [0.3], [0.1], [0.2]
    fext = {"bob": [0.0, 0.0, 0.0, 0.0, 0.0, 3.0]}  # a moment: ä = (3 + τ) / (m/4) without gravity along z
    found = known.derivatives(q, s, tau, parameters=["m"], fext=fext)
    assert found.by_parameters[0, 0] == pytest.approx(-3.2 / 0.25 / 4.0)
    assert known.forward(q, s, tau, fext=fext) == pytest.approx([3.2 / 0.5])


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_a_rollout_with_a_wrench_is_that_of_an_equal_load(method):
    """Constant forces at the mass center and at the origin, as an element of the model; and one that follows its body."""
    options = {"dt": 1e-2, "steps": 30, "method": method}
    origin, center = (0, 0, 0), (0.3, 0, 0)
    cases: list[tuple[WrenchFrame, str, tuple[float, ...]]] = [
        ("world", "world", origin),
        ("body", "lower", origin),
        ("mass_center", "world", center),
    ]
    for frame, axes, point in cases:
        plain, loaded = (_pair() for _ in range(2))
        loaded.force("lower", (1.0, -2.0, 0.5), frame=axes, point=point)
        q, s = np.array([[0.3, 0.1], [0.4, -0.2]]), np.array([[0.1, 0.2], [0.0, 0.3]])
        fext = {"lower": (1.0, -2.0, 0.5, 0, 0, 0)}
        found = dl.dynamics(plain).rollout(q, s, None, fext=fext, frame=frame, **options)
        expected = dl.dynamics(loaded).rollout(q, s, None, **options)
        assert np.allclose(found.q, expected.q, atol=1e-12)
        assert np.abs(found.q - dl.dynamics(plain).rollout(q, s, None, **options).q).max() > 1e-3
        one = dl.dynamics(plain).rollout(q[:, 1], s[:, 1], None, fext=fext, frame=frame, **options)
        assert np.array_equal(one.q, found.q[:, :, 1])


def _pair() -> Model:
    model = Model("pair", gravity=(0, -9.81, 0)).coordinates("a", "b")
    model.body("upper", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    elbow = model.revolute((0, 0, 1), "b", position=(1, 0, 0))
    return (
        model.body("lower", parent="upper", joint=elbow, mass=1, center=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1)) and model
    )


def test_closed_loops_and_ties_accept_wrenches(make):
    """The wrench on the coupler of a four-bar, and on a tied slider; rollouts project onto the loops."""
    model = make("four-bar")
    (q, at_rest), fext = model.initial, {"coupler": (3.0, 4.0, 0, 0, 0, 0.7)}
    known = dl.dynamics(model)
    J = known.jacobian(q, "coupler")
    moved = dl.forward_dynamics(model, q, at_rest, J.T @ fext["coupler"])
    assert np.allclose(known.forward(q, at_rest, fext=fext), moved, atol=1e-10)
    assert np.allclose(dl.forward_dynamics(model, q, at_rest, fext=fext), moved, atol=1e-10)
    found = known.rollout(q, at_rest, None, 1e-3, 5, fext=fext)
    assert np.abs(found.q[:, -1] - known.rollout(q, at_rest, None, 1e-3, 5).q[:, -1]).max() > 1e-5
    needed = [known.inverse(q, at_rest, moved, actuated=["a"], fext=x)[0] for x in (None, fext)]
    assert needed[1] == pytest.approx(0.0, abs=1e-10)
    assert abs(needed[0]) > 0.1
    tied = _pair().holonomic("b - 2*a")
    q, s, fext = [0.1, 0.2], [0.3, 0.6], {"lower": (3.0, 4.0, 0, 0, 0, 0.7)}
    push = dl.dynamics(tied).jacobian(q, "lower").T @ fext["lower"]
    moved = dl.forward_dynamics(tied, q, s, push)
    assert dl.dynamics(tied).forward(q, s, fext=fext) == pytest.approx(moved, rel=1e-12)
    assert dl.dynamics(tied).inverse(q, s, moved, actuated=["a"], fext=fext) == pytest.approx([0, 0], abs=1e-11)


def test_large_trees_accept_wrenches():
    rope, rng = dl.load("rope", links=70), np.random.default_rng(1)
    q, s = rng.uniform(-0.1, 0.1, (2, 70, 3))
    last = rope.bodies[-1].name
    fext = {last: rng.uniform(-1, 1, 6)}
    expected = dl.inverse_dynamics(rope, q, s, 0 * q, fext=fext)
    assert np.allclose(dl.dynamics(rope).inverse(q, s, 0 * q, fext=fext), expected, atol=1e-8)


def test_failing_states_report_the_reason_with_wrenches():
    model = Model("slider").coordinates("x", "y")
    model.body("block", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((1, 0, 0), "y")], mass=2)
    with pytest.raises(SingularError, match="mass matrix is singular"):
        dl.dynamics(model).forward(np.zeros((2, 3)), np.zeros((2, 3)), fext={"block": np.ones((6, 3))})


@pytest.mark.parametrize(
    ("fext", "frame", "message"),
    [
        ({"lowr": np.zeros(6)}, "world", "fext: there is no body 'lowr'. Did you mean 'lower'"),
        ({"world": np.zeros(6)}, "world", "fext: there is no body 'world'"),
        ({"lower": np.zeros(3)}, "world", r"fext\['lower'\] has shape \(3,\). Expected \(6,\)"),
        (
            {"lower": np.zeros((6, 3))},
            "world",
            r"fext\['lower'\] has shape \(6, 3\). Expected \(6,\) or \(6, 2\): three",
        ),
        ({"lower": [np.nan] * 6}, "world", r"fext\['lower'\]"),
        ([np.zeros(6)], "world", "fext: got .*Expected a dict from names of bodies to wrenches"),
        ({"lower": np.zeros(6)}, "local", "frame: got 'local'. .*Expected one of 'world', 'body', 'mass_center'"),
    ],
)
def test_wrong_wrenches_are_reported(fext, frame, message):
    x, known = np.zeros((2, 2)), dl.dynamics(_pair())
    for call in (
        lambda: known.inverse(x, x, x, fext=fext, frame=frame),
        lambda: known.forward(x, x, x, fext=fext, frame=frame),
        lambda: known.derivatives(x, x, x, fext=fext, frame=frame),
        lambda: known.rollout(x, x, None, 1e-3, 1, fext=fext, frame=frame),
        lambda: dl.inverse_dynamics(_pair(), x, x, x, fext=fext, frame=frame),
        lambda: dl.forward_dynamics(_pair(), x, x, x, fext=fext, frame=frame),
    ):
        with pytest.raises(InputError, match=message):
            call()
    if not isinstance(fext, dict) or np.ndim(next(iter(fext.values()))) == 1:
        for _ in range(2):
            with pytest.raises(InputError, match=message):
                known.forward(x[:, 0].copy(), x[:, 0].copy(), x[:, 0].copy(), fext=fext, frame=frame)


def test_no_wrenches_are_the_plain_functions():
    x, known = np.full((2, 2), 0.3), dl.dynamics(_pair())
    assert np.array_equal(known.forward(x, x, x, fext={}), known.forward(x, x, x))
