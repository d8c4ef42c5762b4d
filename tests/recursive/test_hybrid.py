"""Hybrid dynamics: forward and inverse dynamics as limits, the rows of M ṡ + h = τ, and momentum."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, NotApplicableError, SingularError
from dalembert.model.model import Model

TREES = ["every joint", "floating"]  # every joint: a speed moves two links, so rows are split


def chain() -> Model:
    """A free base by a quaternion with two arms: joints of one, two and three motions, rotors and loads."""
    model = Model("chain", gravity=(0.3, -0.2, -9.81))
    for name in ("x", "y", "z", "w", "i", "j", "k", "a", "b", "c", "d", "e", "f", "g"):
        model.coordinate(name, 1.0 if name == "w" else 0.0)
    free = model.free(("x", "y", "z"), quaternion=("w", "i", "j", "k"))
    model.body("base", joint=free, mass=3, center=(0.1, 0, 0.1), inertia=(0.3, 0.4, 0.5, 0.01, 0, 0.02))
    hook = model.universal(((1, 0, 0), (0, 1, 0)), ("a", "b"), position=(0.2, 0.1, 0))
    model.body("upper", parent="base", joint=hook, mass=1, center=(0.3, 0, 0), inertia=(0.01, 0.1, 0.1))
    elbow = model.revolute((0, 1, 0), "c", position=(0.6, 0, 0))
    model.body("lower", parent="upper", joint=elbow, mass=0.7, center=(0.2, 0, 0.1), inertia=(0.02, 0.05, 0.04))
    ball = model.spherical(("d", "e", "f"), "zxz", position=(-0.2, 0, 0))
    model.body("hand", parent="base", joint=ball, mass=0.9, center=(0, 0.2, 0.1), inertia=(0.3, 0.2, 0.2))
    model.body("drawer", parent="hand", joint=model.prismatic((0, 0, 1), "g"), mass=0.4, center=(0.1, 0, 0))
    model.rotor("lower", 0.2, ratio=3)
    model.joint_spring("drawer", stiffness=4, rest=0.2, damping=0.3)
    return model.spring(("hand", "world"), stiffness=3, natural_length=0.3, points=((0.1, 0, 0), (1, 1, 1)))


def some(speeds, seed):
    """A choice of about half of the speeds."""
    return [name for name in speeds if np.random.default_rng([seed, len(name), *name.encode()]).random() < 0.5]


def made(name, make):
    return chain() if name == "chain" else make(name)


@pytest.mark.parametrize("name", [*TREES, "chain"])
def test_the_unknown_half_of_a_motion_is_computed(name, make, draw):
    """q̈ and τ of one motion: whichever half is unknown, the same values are computed, compiled and in floats."""
    model = made(name, make)
    known = dl.dynamics(model)
    q, s, sd, t = draw(model, 5)
    tau = known.inverse(q, s, sd, t)
    for seed in range(3):
        chosen = some(known.speed_names, seed)
        at = [x in chosen for x in known.speed_names]
        first, second = np.where(
            np.array(at)[:, None], [sd, tau * 0 + 7.7], [sd * 0 - 5.5, tau]
        )  # the other entries are ignored
        for found in (
            known.hybrid(q, s, first, second, t, prescribed=chosen),
            dl.hybrid_dynamics(model, q, s, first, second, t, prescribed=chosen),
        ):
            assert found.qdd == pytest.approx(sd, abs=1e-10)
            assert found.tau == pytest.approx(tau, abs=1e-9)


@pytest.mark.parametrize("name", [*TREES, "chain"])
def test_the_result_satisfies_the_rows_of_the_mass_matrix(name, make, draw):
    """M_ff ṡ_f = τ_f − h_f − M_fp ṡ_p, then τ_p = M_pf ṡ_f + M_pp ṡ_p + h_p."""
    model = made(name, make)
    known = dl.dynamics(model)
    q, s, sd, t = (x[..., 0].copy() for x in draw(model, 1, seed=4))
    t, tau = float(t), np.random.default_rng(1).normal(size=len(s))
    chosen = some(known.speed_names, 5)
    p = np.array([x in chosen for x in known.speed_names])
    M, h = known.mass_matrix(q, t), known.inverse(q, s, 0 * sd, t)
    sd[~p] = np.linalg.solve(M[~p][:, ~p], (tau - h - M[:, p] @ sd[p])[~p])
    tau[p] = (M @ sd + h)[p]
    found = known.hybrid(q, s, np.where(p, sd, 0), np.where(p, 0, tau), t, prescribed=chosen)
    assert found.qdd == pytest.approx(sd, abs=1e-10)
    assert found.tau == pytest.approx(tau, abs=1e-10)


@pytest.mark.parametrize("name", TREES)
def test_all_forces_is_forward_and_all_accelerations_is_inverse(name, make, draw):
    known = dl.dynamics(make(name))
    q, s, inputs, t = draw(make(name), 4, seed=2)
    forward = known.hybrid(q, s, 0 * inputs, inputs, t, prescribed=[], friction=True)
    assert forward.qdd == pytest.approx(known.forward(q, s, inputs, t, friction=True), abs=1e-10)
    assert np.array_equal(forward.tau, inputs)
    inverse = known.hybrid(q, s, inputs, None, t, prescribed=known.speed_names, friction=True)
    assert inverse.tau == pytest.approx(known.inverse(q, s, inputs, t, friction=True), abs=1e-10)
    assert np.array_equal(inverse.qdd, inputs)


def test_a_free_base_conserves_momentum(draw):
    """In free space the momentum is constant, whatever the joints do: its rate by differences along the motion."""
    description = chain().description.replaced(loads=(), gravity_input=(0, 0, 0))
    known = dl.dynamics(description)
    q, s, sd, _ = draw(chain(), 6, seed=3)
    joints = ["a", "b", "c", "d", "e", "f", "g"]
    found = known.hybrid(q, s, sd, prescribed=joints)
    assert np.array_equal(found.qdd[6:], sd[6:])
    assert np.abs(found.tau[:6]).max() == 0  # no force on the base

    def momentum(h):
        moved = q + h * known.rates(q, s) + h * h / 2 * known.rates(q, found.qdd)
        moved[3:7] += h * h / 2 * (known.rates(q + 1e-6 * known.rates(q, s), s) - known.rates(q, s))[3:7] / 1e-6
        moved[3:7] /= np.linalg.norm(moved[3:7], axis=0)
        return known.centroidal(moved, s + h * found.qdd)[1]

    slope = (momentum(1e-5) - momentum(-1e-5)) / 2e-5
    assert slope == pytest.approx(np.zeros((6, 6)), abs=1e-7)
    assert np.abs(found.qdd[:6]).max() > 0.1


def test_arrays_are_written_in_place_and_threads_share(draw):
    known = dl.dynamics(chain())
    q, s, sd, _ = draw(chain(), 64)
    out = np.empty((2, 13, 64))
    found = known.hybrid(q, s, sd, sd, prescribed=["a", "c"], out=out, threads=2)
    assert np.shares_memory(found.qdd, out)
    one = known.hybrid(q[:, 3].copy(), s[:, 3].copy(), sd[:, 3].copy(), sd[:, 3].copy(), prescribed=["a", "c"])
    assert one.qdd == pytest.approx(found.qdd[:, 3], abs=1e-11)
    assert one.tau == pytest.approx(out[1, :, 3], abs=1e-11)
    by_rates = known.hybrid(q, known.rates(q, s), sd, sd, prescribed=["a", "c"])
    assert by_rates.tau == pytest.approx(found.tau, abs=1e-11)


def test_invalid_input_is_reported(draw):
    known = dl.dynamics(chain())
    q, s, sd, _ = (x[..., 0] for x in draw(chain(), 1))
    with pytest.raises(InputError, match=r"prescribed: there is no coordinate or speed 'dota'\. Did you mean"):
        known.hybrid(q, s, sd, prescribed=["dota"])
    with pytest.raises(NotApplicableError, match="Expected a tree of bodies for hybrid dynamics"):
        dl.dynamics("four-bar").hybrid([0, 0, 0], [0, 0, 0], [0, 0, 0], prescribed=["q1"])
    with pytest.raises(NotApplicableError, match="Expected a tree of bodies for hybrid dynamics"):
        dl.hybrid_dynamics("four-bar", [0, 0, 0], [0, 0, 0], [0, 0, 0], prescribed=["q1"])


def test_inertia_is_required_of_free_motions_only():
    """A massless slide can be moved with prescribed acceleration, but not by a force."""
    model = Model("slide").coordinates("x", "y")
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    model.body("ghost", parent="block", joint=model.prismatic((0, 1, 0), "y"), mass=0)
    model.joint_spring("ghost", stiffness=5)
    known = dl.dynamics(model)
    found = known.hybrid([0.0, 0.0], [0.0, 0.0], [0.0, 3.0], [4.0, 0.0], prescribed=["y"])
    assert found.qdd.tolist() == [2.0, 3.0]
    assert found.tau.tolist() == [4.0, 0.0]
    with pytest.raises(SingularError, match=r"there is no inertia along dot\(y\)"):
        known.hybrid([0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0], prescribed=["x"])
