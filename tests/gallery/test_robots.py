"""The robots of the gallery against their sources, and against an independent Newton–Euler recursion that reads the files."""

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.io import gallery
from dalembert.mechanics.energies import mass_matrix, potential
from dalembert.mechanics.motion import move
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS

PAPERS = Path(__file__).parents[1] / "papers"
SHIPPED = json.loads((PAPERS / "redysim_models.json").read_text(encoding="utf-8"))
PUMA = json.loads((PAPERS / "puma560_dh.json").read_text(encoding="utf-8"))
REDYSIM = {
    "robot-2-link": "fixed_base_v2/fordyn/2-link_robot",
    "robot-3-link": "fixed_base_v2/fordyn/3-link_robot",
    "rp-robot": "fixed_base_v2/fordyn/rp_robot",
    "pppr-robot": "fixed_base_v2/fordyn/pppr_robot",
    "gripper": "fixed_base_v2/fordyn/robotic_gripper",
    "pendulum-on-balance": "fixed_base_v2/fordyn/merioitt_lebnitz_pendulum",
    "kuka-kr5": "fixed_base_v2/fordyn/kuka_robot",
    "biped": "fixed_base_v2/fordyn/spatial_biped",
    "floating-arm-3-link": "floating_base/fordyn/3-link",
    "floating-arm-7-link": "floating_base/fordyn/7-link",
    "floating-arm": "floating_base/fordyn/dual_arm",
    "hexapod": "legged_robot/fordyn/hexapod",
    "quadruped": "legged_robot/fordyn/quadruped",
    "biped-legged": "legged_robot/fordyn/biped",
}
ROBOTS = (*REDYSIM, "puma560", "stanford-arm")
SMALL = (
    *("robot-2-link", "robot-3-link", "rp-robot", "pppr-robot", "gripper", "pendulum-on-balance"),
    *("kuka-kr5", "puma560", "stanford-arm"),
)
# physically inconsistent published inertias: one moment is larger than the sum of the others
IMPOSSIBLE = {"puma560": "forearm", "stanford-arm": "wrist-bend", "biped-legged": "trunk"}
PI = {"pi": math.pi, "-pi": -math.pi, "pi/2": math.pi / 2, "-pi/2": -math.pi / 2, "pi/6": math.pi / 6}


def model_source(name):
    return gallery.path(name).joinpath("model.toml").read_text(encoding="utf-8")


def number(entry):
    return PI[entry] if isinstance(entry, str) else float(entry)


# an independent recursion, in world axes: rows of (parent, step before the motion, kind, axis, step after it, body)


def rotation(axis, angle):
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    out = np.eye(4)
    out[i, i] = out[j, j] = math.cos(angle)
    out[i, j], out[j, i] = -math.sin(angle), math.sin(angle)
    return out


def shift(x, y, z):
    out = np.eye(4)
    out[:3, 3] = x, y, z
    return out


NOTHING = (0.0, np.zeros(3), np.zeros((3, 3)), 0.0)


def rows_of(data):
    return rows_of_arrays(data) if data["convention"] == "redysim" else rows_of_links(data)


def rows_of_arrays(data):
    rows, last = [], {0: -1}
    for i in range(data["n"]):
        at = {
            key: number(data[key][i]) for key in ("alp", "a", "b", "th", "m", "dx", "dy", "dz", "Icxx", "Icyy", "Iczz")
        }
        inertia = np.diag([at["Icxx"], at["Icyy"], at["Iczz"]])
        body = (at["m"], np.array([at["dx"], at["dy"], at["dz"]]), inertia, 0.0)
        if "nq" in data and i == 0:
            motions = [("slide", "x"), ("slide", "y"), ("turn", "z")]
            if data["nq"]:
                motions = [*motions[:2], ("slide", "z"), ("turn", "z"), ("turn", "x"), ("turn", "y")]
            for k, (kind, axis) in enumerate(motions):
                carried = body if k == len(motions) - 1 else NOTHING
                rows.append((len(rows) - 1, np.eye(4), kind, axis, np.eye(4), carried))
        else:
            turns = "r" not in data or data["r"][i] == 1
            after = shift(0, 0, at["b"]) if turns else rotation("z", at["th"])
            before = rotation("x", at["alp"]) @ shift(at["a"], 0, 0)
            rows.append((last[data["bt"][i]], before, "turn" if turns else "slide", "z", after, body))
        last[i + 1] = len(rows) - 1
    return rows


def rows_of_links(data):
    rows = []
    for link in data["link"]:
        theta, d, a, alpha = (number(link.get(key, 0)) for key in ("theta", "d", "a", "alpha"))
        turns = link.get("type") != "prismatic"
        motor = link.get("motor", {})
        rotor = motor.get("inertia", 0) * motor.get("ratio", 1) ** 2
        body = (link.get("mass", 0), np.array(link.get("center", [0, 0, 0])), np.diag(link["inertia"]), rotor)
        # rotation about z and translation along z commute, so offsets may come first
        before = rotation("z", theta) if turns else rotation("z", theta) @ shift(0, 0, d)
        after = shift(a, 0, d if turns else 0) @ rotation("x", alpha)
        rows.append((len(rows) - 1, before, "turn" if turns else "slide", "z", after, body))
    return rows


def carried(a, w, dw, arm):
    """The acceleration of a point that moves with a body, `arm` away from one with the acceleration a."""
    return a + np.cross(dw, arm) + np.cross(w, np.cross(w, arm))


def torques(rows, gravity, q, qd, qdd):
    """Inverse dynamics and the positions of the mass centers."""
    frames, motions, joints, centers = [], [], [], []
    F, N = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
    for i, (parent, before, kind, axis, after, (m, c, inertia, _)) in enumerate(rows):
        P, (w, dw, a) = (
            (frames[parent], motions[parent]) if parent >= 0 else (np.eye(4), (np.zeros(3), np.zeros(3), -gravity))
        )
        B = P @ before
        z = B[:3, "xyz".index(axis)]
        moved = B @ (rotation(axis, q[i]) if kind == "turn" else shift(*(q[i] * np.eye(3)["xyz".index(axis)])))
        a = carried(a, w, dw, moved[:3, 3] - P[:3, 3])
        if kind == "turn":
            w, dw = w + z * qd[i], dw + z * qdd[i] + np.cross(w, z * qd[i])
        else:
            a = a + 2 * np.cross(w, z * qd[i]) + z * qdd[i]
        T = moved @ after
        a = carried(a, w, dw, T[:3, 3] - moved[:3, 3])
        G, J = T[:3, 3] + T[:3, :3] @ c, T[:3, :3] @ inertia @ T[:3, :3].T
        force = m * carried(a, w, dw, G - T[:3, 3])
        moment = J @ dw + np.cross(w, J @ w) + np.cross(G, force)
        frames.append(T)
        motions.append((w, dw, a))
        joints.append((kind, z, B[:3, 3]))
        centers.append(G)
        while i >= 0:
            F[i] += force
            N[i] += moment
            i = rows[i][0]
    tau = [z @ (N[i] - np.cross(o, F[i])) if kind == "turn" else z @ F[i] for i, (kind, z, o) in enumerate(joints)]
    return np.array(tau) + [row[5][3] * x for row, x in zip(rows, qdd, strict=True)], np.array(centers)


def inertia_and_pull(rows, gravity, q, qd):
    """The mass matrix, and the torques at zero acceleration."""
    n = len(rows)
    still = np.zeros(n)
    M = np.array([torques(rows, np.zeros(3), q, still, e)[0] for e in np.eye(n)]).T
    return M, torques(rows, gravity, q, qd, still)[0]


def states(model, seed=5):
    random = np.random.default_rng(seed)
    n = len(model.coordinate_names)
    yield model.initial
    for _ in range(2):
        yield random.uniform(-1.2, 1.2, n), random.uniform(-1, 1, n)


def gravity_of(data):
    return np.array([number(x) for x in data.get("g", data.get("gravity"))])


# data


@pytest.mark.parametrize("name", REDYSIM)
def test_the_arrays_agree_with_redysim(name):
    data, known = tomllib.loads(model_source(name)), SHIPPED[REDYSIM[name]]
    for key in ("n", "nq", "g", "bt", "r", "alp", "a", "b", "m", "dx", "dy", "dz", "Icxx", "Icyy", "Iczz"):
        assert (key in data) == (key in known), key
        if key in known:
            found = [number(x) for x in data[key]] if isinstance(data[key], list) else data[key]
            assert found == pytest.approx(known[key], rel=1e-11, abs=1e-15), key
    if "th" in known:
        assert [number(x) for x in data["th"]] == pytest.approx(known["th"])
    assert not any(any(known[key]) for key in ("Icxy", "Icyz", "Iczx"))


def test_the_puma_agrees_with_its_source():
    links = tomllib.loads(model_source("puma560"))["link"]
    for link, known in zip(links, PUMA["links"], strict=True):
        for key in ("theta", "d", "a", "alpha"):
            assert number(link.get(key, 0)) == pytest.approx(known[key])
        assert link.get("mass", 0) == known["m"]
        assert link.get("center", [0, 0, 0]) == known["r"]
        np.testing.assert_array_equal(np.diag(link["inertia"]), known["I"])
        assert link["motor"] == {"inertia": known["Jm"], "ratio": known["G"]}
        assert link["friction"]["viscous"] == known["B"]
        assert link["friction"]["coulomb"] == pytest.approx((known["Tc"][0] - known["Tc"][1]) / 2)


# mechanics


@pytest.mark.parametrize("name", ROBOTS)
def test_mass_matrix_and_gravity_agree_with_the_recursion(name):
    data, model = tomllib.loads(model_source(name)), gallery.load(name)
    rows, gravity = rows_of(data), gravity_of(data)
    h = 1e-30
    for q, qd in states(model):

        def energy(q, qd=qd) -> Any:
            return potential(moving(q, qd))

        def moving(q, qd=qd):
            return move(model, FLOATS, 0.0, vector(list(q)), vector(list(qd)), dict(model.parameter_values))

        M, weight = inertia_and_pull(rows, gravity, q, np.zeros(len(q)))
        found = mass_matrix(moving(q)).astype(float)
        np.testing.assert_allclose(found, M, rtol=1e-11, atol=1e-13 * abs(M).max())
        slopes = [complex(energy(q + 1j * h * e)).imag / h for e in np.eye(len(q))]
        np.testing.assert_allclose(slopes, weight, rtol=1e-11, atol=1e-12)
        assert np.linalg.eigvalsh(found)[0] > 0


@pytest.mark.parametrize("name", ROBOTS)
def test_the_initial_state_is_as_expected(name):
    data, model, expected = tomllib.loads(model_source(name)), gallery.load(name), gallery.expected(name)["at_start"]
    rows, gravity = rows_of(data), gravity_of(data)
    q, qd = model.initial
    M, pull = inertia_and_pull(rows, gravity, q, qd)
    centers = torques(rows, gravity, q, qd, np.zeros(len(q)))[1]
    energy = 0.5 * qd @ M @ qd - sum(row[5][0] * gravity @ G for row, G in zip(rows, centers, strict=True))
    assert energy == pytest.approx(expected["energy"], rel=1e-12, abs=1e-12)
    found = np.linalg.solve(M, -pull)
    np.testing.assert_allclose(found, expected["accelerations"], rtol=1e-9, atol=1e-9)
    odd = [problem.path for problem in model.check()]
    assert odd == ([f"body '{IMPOSSIBLE[name]}', inertia"] if name in IMPOSSIBLE else [])
    assert not any(problem.blocking for problem in model.check())


@pytest.mark.parametrize("name", SMALL)
def test_initial_accelerations_are_as_expected(name):
    model, expected = gallery.load(name), gallery.expected(name)["at_start"]
    found = dl.derive(model, "dalembert").accelerations(*model.initial)
    np.testing.assert_allclose(found, expected["accelerations"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SMALL)
def test_ignorable_coordinates_are_as_expected(name):
    assert list(dl.derive(gallery.load(name), "lagrange").ignorable) == gallery.expected(name)["counts"]["ignorable"]


def test_the_rotating_hand_never_moves_the_first_prismatic_joint():
    model = gallery.load("pppr-robot")
    run = dl.derive(model, "lagrange").simulate(2.0, samples=21)
    np.testing.assert_allclose(run.q[0], 0.05, atol=1e-13)
    # the momentum along y is that of the hand at the start: m r q̇ cos q, as it rotates about x; the prismatic joint moves 1.5 kg
    momentum = 1.5 * run.qd[1] - 0.5 * 0.05 * run.qd[3] * np.cos(run.q[3])
    np.testing.assert_allclose(momentum, -0.15, atol=1e-12)


def test_the_balance_is_level_while_the_pendulum_hangs():
    model = gallery.load("pendulum-on-balance")
    assert dl.derive(model, "lagrange").accelerations([0.0, 0.0], [0.0, 0.0]) == pytest.approx([0, 0], abs=1e-3)


def test_the_driven_arm_and_rod_reach_their_targets():
    run = dl.derive(gallery.load("rp-robot"), "lagrange").simulate(10.0, samples=2)
    assert run.q[:, -1] == pytest.approx([1.02787, 0.23733], abs=1e-5)
    # deviation from the target by spring deflection: weight times lever, weight along the prismatic joint
    angle = run.q[0, -1]
    assert 200 * (0.25 - run.q[1, -1]) == pytest.approx(0.5 * 9.81 * math.cos(angle), rel=2e-3)


def test_a_floating_base_rotates_without_angular_momentum():
    run = dl.derive(gallery.load("floating-arm-3-link"), "lagrange").simulate(20.0, samples=5)
    np.testing.assert_allclose(run.q[3:, -1], [0.3803, -0.6198, 1.2867], atol=0.01)
    assert run.q[2, -1] == pytest.approx(-0.0632, abs=1e-4)
