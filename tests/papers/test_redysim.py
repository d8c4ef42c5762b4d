"""ReDySim's examples: kinematics and energies by 4×4 matrix products, and the printed torques of the KUKA KR5."""

import json
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.io._redysim import read_redysim
from dalembert.mechanics.energies import kinetic, mass_matrix, potential
from dalembert.mechanics.motion import move
from dalembert.papers.printed_values import published
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS

Complex = np.ndarray[Any, np.dtype[np.complex128]]
FILE = Path(__file__).with_name("redysim_models.json")
MODELS = json.loads(FILE.read_text(encoding="utf-8"))


def rotation(axis: str, angle: complex) -> np.ndarray:
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    out = np.eye(4, dtype=complex)
    out[i, i] = out[j, j] = np.cos(angle)
    out[i, j], out[j, i] = -np.sin(angle), np.sin(angle)
    return out


def shift(x: complex, y: complex, z: complex) -> np.ndarray:
    out = np.eye(4, dtype=complex)
    out[:3, 3] = x, y, z
    return out


def frames(data: dict, q: Any) -> list[Complex]:
    """Return the frames of all links: Rx(alp) Tx(a) Rz(th) Tz(b), with a base that translates and rotates about z, x, y."""
    q = list(q)
    out = []
    for i in range(int(data["n"])):
        if "nq" in data and i == 0:
            x, y = q.pop(0), q.pop(0)
            z = q.pop(0) if data["nq"] else 0
            turns = [rotation(axis, q.pop(0)) for axis in ("zxy" if data["nq"] else "z")]
            out.append(reduce(np.matmul, [shift(x, y, z), *turns]))
            continue
        moves = q.pop(0)
        turns = "r" not in data or data["r"][i] == 1
        th, b = (moves, data["b"][i]) if turns else (data["th"][i], moves)
        parent = out[int(data["bt"][i]) - 1] if data["bt"][i] else np.eye(4)
        step = [rotation("x", data["alp"][i]), shift(data["a"][i], 0, 0), rotation("z", th), shift(0, 0, b)]
        out.append(reduce(np.matmul, [parent, *step]))
    assert not q
    return out


def centers(data: dict, T: list[Complex]) -> Complex:
    arms = np.array([data["dx"], data["dy"], data["dz"], np.ones(int(data["n"]))])
    return np.array([(T[i] @ arms[:, i])[:3] for i in range(int(data["n"]))])


def energies(data: dict, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
    """Return kinetic and potential energy; velocities by a complex step along q̇."""
    h = 1e-30
    here, moved = frames(data, q), frames(data, q + 1j * h * qd)
    v = centers(data, moved).imag / h
    T = 0.0
    for i in range(int(data["n"])):
        R = here[i][:3, :3].real
        spin = R.T @ (moved[i][:3, :3].imag / h)
        w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        xx, yy, zz, xy, yz, zx = (data[f"Ic{key}"][i] for key in ("xx", "yy", "zz", "xy", "yz", "zx"))
        inertia = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
        T += 0.5 * data["m"][i] * v[i] @ v[i] + 0.5 * w @ inertia @ w
    return T, -float(np.array(data["m"]) @ (centers(data, here).real @ np.array(data["g"])))


def motion(model: dl.Model, q: np.ndarray, qd: np.ndarray):
    return move(model, FLOATS, 0.0, vector(q.tolist()), vector(qd.tolist()), dict(model.parameter_values))


def states(model: dl.Model, count: int):
    """Yield the initial state, then random ones."""
    random = np.random.default_rng(7)
    n = len(model.coordinate_names)
    yield model.initial
    for _ in range(count):
        yield random.uniform(-1.2, 1.2, n), random.uniform(-2, 2, n)


@pytest.mark.parametrize("name", MODELS)
def test_frames_are_products_of_link_transforms(name):
    data, model = MODELS[name], read_redysim(FILE, name)
    for q, qd in states(model, 3):
        known = frames(data, q)
        found = motion(model, q, qd)
        for i, T in enumerate(known):
            frame = found.body(f"link{i + 1}").frame
            np.testing.assert_allclose(frame.R.astype(float), T[:3, :3].real, atol=1e-13)
            np.testing.assert_allclose(frame.p.astype(float), T[:3, 3].real, atol=1e-13)


@pytest.mark.parametrize("name", MODELS)
def test_energies_agree_with_the_link_transforms(name):
    data, model = MODELS[name], read_redysim(FILE, name)
    for q, qd in states(model, 3):
        T, V = energies(data, q, qd)
        found = motion(model, q, qd)
        assert float(kinetic(found, found.qd)) == pytest.approx(T, rel=1e-12, abs=1e-15)  # pyright: ignore[reportArgumentType]
        assert float(potential(found)) == pytest.approx(V, rel=1e-12, abs=1e-12)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", MODELS)
def test_initial_state_is_that_of_the_file(name):
    data, model = MODELS[name], read_redysim(FILE, name)
    q, qd = model.initial
    assert not qd.any()
    if "nq" in data:
        assert not q.any()
    else:
        expected = [th if r else b for th, r, b in zip(data["th"], data["r"], data["b"], strict=True)]
        np.testing.assert_array_equal(q, expected)
        assert model.duration == data["Tp"]
        assert model.duration / (model.samples - 1) == pytest.approx(data["steps"], rel=1e-2)


@pytest.mark.parametrize("name", MODELS)
def test_links_without_mass_leave_the_model_regular(name):
    # hips, knees and ankles of the legged robots are massless links; with the bodies they carry, M is regular
    model = read_redysim(FILE, name)
    for q, qd in states(model, 5):
        M = mass_matrix(motion(model, q, qd)).astype(float)
        scale = np.sqrt(np.diag(M))
        assert np.linalg.eigvalsh(M / np.outer(scale, scale))[0] > 1e-7


def test_quaternion_base_is_equivalent():
    name = "floating_base/fordyn/7-link"
    angles, parts = read_redysim(FILE, name), read_redysim(FILE, name, quaternion=True)
    assert len(parts.coordinate_names) == len(angles.coordinate_names) + 1
    random = np.random.default_rng(3)
    q, qd = random.uniform(-1, 1, 13), np.zeros(13)
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_euler("ZXY", q[3:6]).as_quat()
    other = np.concatenate([q[:3], [w, x, y, z], q[6:]])
    first, second = motion(angles, q, qd), motion(parts, other, np.zeros(14))
    for a, b in zip(first.bodies, second.bodies, strict=True):
        np.testing.assert_allclose(a.p_WG.astype(float), b.p_WG.astype(float), atol=1e-13)
        np.testing.assert_allclose(a.R_WB.astype(float), b.R_WB.astype(float), atol=1e-13)


def by_equations(model, q, qd, qdd):
    """Return M q̈ − h of d'Alembert's equations."""
    M, h = dl.derive(model, "dalembert")._free(q, qd, 0.0)
    return np.einsum("kij,jk->ik", M, qdd) - h.T


@pytest.mark.parametrize("torques", [by_equations, dl.inverse_dynamics])
def test_kuka_torques_agree_with_the_digits_redysim_prints(torques):
    shipped = published("denoc")["kuka-kr5"]
    printed = dict(zip(shipped["columns"], np.array(shipped["rows"]).T, strict=True))
    t = printed["t"]
    turn = 2 * np.pi
    q, qd = np.pi / 3 * (t - np.sin(turn * t) / turn), np.pi / 3 * (1 - np.cos(turn * t))
    qdd = np.pi / 3 * turn * np.sin(turn * t)
    np.testing.assert_allclose([q, qd, qdd], [printed["q1"], printed["qd1"], printed["qdd1"]], rtol=1e-6, atol=1e-12)
    model = read_redysim(FILE, "fixed_base_v2/invdyn/kuka_robot")
    tau = torques(model, *(np.tile(x, (6, 1)) for x in (q, qd, qdd)))
    for i in range(6):
        known = printed[f"tau{i + 1}"]
        # half a unit in the seventh digit; rounding errors where forces cancel
        digits = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(known), 1e-300))) - 6)
        assert (np.abs(tau[i] - known) <= 0.5001 * digits + 1e-13).all()
