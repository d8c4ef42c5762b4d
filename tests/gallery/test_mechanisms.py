"""The closed mechanisms of the gallery: mobility, drift, and motions from independent solutions."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.errors import InconsistentStateError
from dalembert.io import gallery
from dalembert.mechanics import state_batch
from dalembert.symbolic.floats import numbers

G = 9.81
ALL = (
    "four-bar",
    "stewart-platform",
    "bricard",
    "hoeken-linkage",
    "crank-rocker",
    "slider-crank",
    "parallel-3-rrr",
    "robotic-leg",
)


@cache
def equations(name):
    return dl.derive(dl.load(name), "lagrange")


@cache
def minute(name):
    """A run of 60 s."""
    return equations(name).simulate(60, samples=601)


def known(name, part="closed_form"):
    return gallery.expected(name)[part]


def values(name):
    return dict(gallery.load(name).parameter_values)


def origin(run, body):
    """The origin of a body's frame along a run, (3, samples)."""
    motion = state_batch.motion_at(run.model, state_batch.States(run.q, run.qd, run.t))
    return numbers(motion.frames[body].p, len(run.t))


# redundancy and drift


@pytest.mark.parametrize("name", [name for name in ALL if name != "bricard"])
def test_redundant_rows_are_reported_by_name(name):
    found, expected = dl.mobility(dl.load(name)), gallery.expected(name)
    assert found.degrees_of_freedom == expected["counts"]["degrees_of_freedom"]
    assert list(found.redundant) == expected["mobility"]["redundant"]
    assert found.rank_at_start == len(found.independent)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("name", "freedoms"),
    [
        ("bricard", 1),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in (("four-bar", 1), ("stewart-platform", 6), ("3-rrr", 3))
        ),
    ],
)
def test_loops_and_energy_do_not_drift_in_a_minute(name, freedoms):
    run = minute(name)
    assert run.t[-1] == 60
    assert len(run.speeds) == freedoms
    assert np.abs(run.violation).max() <= 1e-10
    assert np.ptp(run.balance) <= 1e-9 * run.kinetic.max()
    assert run.kinetic.max() > 1e-2 * np.ptp(run.potential)


# independent one-DOF solution: the mechanism is evaluated along its closed path, and Lagrange's equation of one
# coordinate is integrated; derivatives along the path come from Fourier series


@dataclass
class Path:
    """T = ½ M(τ) τ̇² and V(τ) of a mechanism with one degree of freedom, over one period of its parameter τ."""

    M: np.ndarray
    V: np.ndarray

    @classmethod
    def of(cls, centers, rotations, masses, inertias, gravity):
        """Mass centers (N, bodies, 3) and rotations (N, bodies, 3, 3) at τ = 2πk/N; inertias (bodies, 3) in body axes."""
        v, Rd = slope(centers), slope(rotations)
        spin = np.einsum("kbji,kbjl->kbil", rotations, Rd)
        w = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
        M = np.einsum("b,kbi,kbi->k", masses, v, v) + np.einsum("bi,kbi,kbi->k", inertias, w, w)
        return cls(M, -np.einsum("b,kbi,i->k", masses, centers, gravity))

    def motion(self, tau, rate, times):
        """τ at the times, from τ and τ̇ at the first."""
        c = np.fft.rfft([self.M, slope(self.M), slope(self.V)]) / len(self.M)
        c[:, 1:] *= 2
        order = np.arange(
            np.flatnonzero((np.abs(c) > 1e-15 * np.abs(c).max(axis=1, keepdims=True)).any(axis=0))[-1] + 1
        )
        c = c[:, order]

        def rates(_, y):
            M, Md, Vd = (c @ np.exp(1j * order * y[0])).real
            return [y[1], -(Md * y[1] ** 2 / 2 + Vd) / M]

        span = (times[0], times[-1])
        return solve_ivp(rates, span, [tau, rate], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times).y[0]


def slope(values):
    """The derivative of periodic samples along the first axis."""
    N = len(values)
    order = np.fft.fftfreq(N, 1 / N).reshape(-1, *[1] * (np.ndim(values) - 1))
    return np.fft.ifft(1j * order * np.fft.fft(values, axis=0), axis=0).real


def about_z(angle):
    """Rotations about z."""
    c, s, o, e = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.moveaxis(np.array([[c, -s, o], [s, c, o], [o, o, e]]), (0, 1), (-2, -1))


def flat(points, angles):
    """Points of the plane and angles, (bodies, N), as centers and rotations in space."""
    z = np.array(points, dtype=complex).T
    return np.stack([np.real(z), np.imag(z), np.zeros(z.shape)], axis=-1), about_z(np.array(angles).T)


TURN = 2 * np.pi * np.arange(512) / 512


def bars(a, b, c, pivot, side, crank=TURN):
    """Crank tip, pin between coupler and output link, in the complex plane: an intersection of two circles."""
    tip = a * np.exp(1j * crank)
    way = tip - pivot
    size = np.abs(way)
    along = (size**2 + c**2 - b**2) / (2 * size)
    return tip, pivot + way / size * (along + side * 1j * np.sqrt(c**2 - along**2))


def four_bar_path(p, b, c, pivot, side, thick=0.0):
    """A linkage of crank, output link and coupler, each a rod."""
    tip, pin = bars(p["a"], b, c, pivot, side)
    points = [tip / 2, (pivot + pin) / 2, (pin + tip) / 2]
    angles = [np.angle(tip), np.angle(pin - pivot), np.angle(tip - pin)]
    masses = np.array([p["m1"], p["m2"], p["m3"]])
    lengths = np.array([p["a"], c, b])
    inertias = masses[:, None] / 12 * np.stack([0 * lengths + thick**2, lengths**2, lengths**2], axis=1)
    return Path.of(*flat(points, angles), masses, inertias, [0, -G, 0])


def leg_path(p):
    """Hoeken's linkage with the extended coupler, and the pantograph driven by its end."""
    tip, pin = bars(p["a"], p["b"], p["b"], p["d"], 1)
    leader, hip, k = 2 * pin - tip, p["hx"] + 1j * p["hy"], p["k"]
    # hip, thigh/k, shank/k, leader: two sides of a triangle, the knee to the right
    way = leader - hip
    size, upper, lower = np.abs(way), p["thigh"] / k, p["shank"] / k
    along = (size**2 + upper**2 - lower**2) / (2 * size)
    joint = hip + way / size * (along + 1j * np.sqrt(upper**2 - along**2))
    knee, foot = hip + k * (joint - hip), hip + k * way
    middle = knee + (foot - knee) / k
    rods = [
        (0 * tip, tip),
        (p["d"] + 0 * tip, pin),
        (tip, leader),
        (hip + 0 * tip, knee),
        (joint, leader),
        (knee, foot),
    ]
    rods.append((middle, leader))
    masses = np.array([p[f"m{i}"] for i in range(1, 8)])
    lengths = np.array([np.abs(end - start)[0] for start, end in rods])
    inertias = masses[:, None] / 12 * np.stack([0 * lengths + p["w"] ** 2, lengths**2, lengths**2], axis=1)
    points, angles = [(s + e) / 2 for s, e in rods], [np.angle(e - s) for s, e in rods]
    return Path.of(*flat(points, angles), masses, inertias, [0, -G, 0])


def bricard_angles(tau):
    """φ and ψ on the oval cos(φ/2) cos(ψ/2) = ½ in the direction τ: the angles of every other joint."""
    size = np.full_like(tau, 1.5)
    for _ in range(60):
        f = np.cos(size * np.cos(tau) / 2) * np.cos(size * np.sin(tau) / 2) - 0.5
        d = -np.cos(tau) / 2 * np.sin(size * np.cos(tau) / 2) * np.cos(size * np.sin(tau) / 2)
        d = d - np.sin(tau) / 2 * np.cos(size * np.cos(tau) / 2) * np.sin(size * np.sin(tau) / 2)
        size = size - f / d
    return size * np.cos(tau), size * np.sin(tau)


def axis_rotations(axis, angle):
    """Rotations about a principal axis."""
    i, j = [(1, 2), (2, 0), (0, 1)]["xyz".index(axis)]
    R = np.repeat(np.eye(3)[None], len(angle), axis=0)
    R[:, i, i] = R[:, j, j] = np.cos(angle)
    R[:, i, j], R[:, j, i] = -np.sin(angle), np.sin(angle)
    return R


RODS = np.array([[1, 0, 0], [0, -1, 0], [0, 0, 1], [-1, 0, 0], [0, 1, 0]], dtype=float)


def bricard_shape(tau):
    """Rotations of the five rods (N, 5, 3, 3) and the points P1 to P6 (N, 6, 3), from the two angles alone."""
    phi, psi = bricard_angles(tau)
    R, p = [], [np.zeros((len(tau), 3))]
    now = np.repeat(np.eye(3)[None], len(tau), axis=0)
    for i, axis in enumerate("yzxyz"):
        now = now @ axis_rotations(axis, np.pi / 2 - (phi, psi)[i % 2])
        R.append(now)
        p.append(p[-1] + now @ RODS[i])
    return np.stack(R, axis=1), np.stack(p, axis=1)


def bricard_path():
    R, p = bricard_shape(TURN)
    inertias = np.array([[1.01 / 12] * 3] * 5)
    inertias[RODS != 0] = 0.01 / 6
    return Path.of((p[:, :-1] + p[:, 1:]) / 2, R, np.ones(5), inertias, [0, -G, 0])


def test_the_3_rrr_robot_conserves_loop_closure_and_energy():
    run = dl.simulate(dl.load("parallel-3-rrr"))
    assert np.abs(run.violation).max() <= 1e-10
    assert np.ptp(run.balance) <= 1e-9 * run.kinetic.max()
    assert np.ptp(run.q, axis=1).min() > 1


# motions from independent solutions


def one_freedom(name):
    p = values(name)
    if name == "four-bar":
        return four_bar_path(p, p["b"], p["c"], -p["d"], 1)
    if name == "hoeken-linkage":
        return four_bar_path(p, p["b"], p["b"], -p["d"], 1, p["w"])
    if name == "crank-rocker":
        return four_bar_path(p, p["b"], p["c"], p["d"], -1, p["w"])
    return leg_path(p)


@pytest.mark.parametrize("name", ["four-bar", "hoeken-linkage", "crank-rocker", "robotic-leg"])
def test_the_crank_agrees_with_the_one_dof_equation(name):
    run = equations(name).simulate(5.0, samples=201)
    q, qd = run.model.initial
    crank = one_freedom(name).motion(q[0], qd[0], run.t)
    assert np.ptp(crank) > 0.5
    assert np.abs(run.q[0] - crank).max() <= known(name)["tolerance"]


@pytest.mark.parametrize("name", ["four-bar", "crank-rocker", "robotic-leg"])
def test_the_crank_reverses_and_returns(name):
    data = known(name)
    run = equations(name).simulate(times=[0.0, data["period"] / 2, data["period"]])
    assert run.q[0, 1] == pytest.approx(data["turning"], abs=1e-7)
    assert np.abs(run.q[:, 2] - run.q[:, 0]).max() < 1e-7
    assert np.abs(run.qd[:, 1:]).max() < 1e-6


@pytest.mark.nightly
def test_the_four_bar_satisfies_freudensteins_equation():
    data, p, run = known("four-bar"), values("four-bar"), minute("four-bar")
    a, b, c, d = (p[key] for key in "abcd")
    # angles from the line between the pivots, along minus x
    crank, output = run.q[0] - np.pi, run.q[1] - np.pi
    left = d / a * np.cos(output) - d / c * np.cos(crank) + (a**2 - b**2 + c**2 + d**2) / (2 * a * c)
    assert np.abs(left - np.cos(crank - output)).max() < 1e-12
    transmission = np.pi - np.abs(run.q[2])
    assert transmission.min() >= data["transmission"][0]
    assert transmission.max() <= data["transmission"][1]
    assert run.q[1, 0] == pytest.approx(data["output"], rel=1e-14)
    assert run.energy[0] == pytest.approx(data["energy"], rel=1e-13)
    assert run.qdd[0, 0] == pytest.approx(data["acceleration"], rel=1e-12)


def test_the_crank_rocker_starts_from_an_isosceles_triangle():
    data = known("crank-rocker")
    q, _ = dl.load("crank-rocker").initial
    assert q == pytest.approx([0, data["angle"], data["angle"]], abs=1e-14)
    run = equations("crank-rocker").simulate(1.0, samples=101)
    transmission = np.pi - np.abs(run.q[2])
    assert data["transmission"][0] - 1e-12 <= transmission.min() < data["transmission"][0] + 1e-9
    assert transmission.max() <= data["transmission"][1]
    assert run.energy[0] == pytest.approx(data["energy"], rel=1e-13)


def sweep(ends):
    """Crank angles between two ends."""
    return np.linspace(ends[0], ends[1], 801)


def test_hoekens_pen_draws_a_line():
    data, p = known("hoeken-linkage"), values("hoeken-linkage")
    tip, pin = bars(p["a"], p["b"], p["b"], -p["d"], 1, sweep(data["crank"]))
    pen = 2 * pin - tip
    assert np.ptp(pen.real) == pytest.approx(data["length"], abs=1e-5)
    assert np.ptp(pen.imag) == pytest.approx(data["deviation"], abs=1e-7)
    # the model's pen is that point
    run = equations("hoeken-linkage").simulate(0.5, samples=51)
    tip, pin = bars(p["a"], p["b"], p["b"], -p["d"], 1, run.q[0])
    angle = run.q[1] + run.q[2]
    drawn = origin(run, "coupler")[:2] - p["b"] * np.array([np.cos(angle), np.sin(angle)])
    assert np.abs(drawn - [(2 * pin - tip).real, (2 * pin - tip).imag]).max() < 1e-12


def test_the_foot_is_four_times_as_far_from_the_hip():
    data, p = known("robotic-leg"), values("robotic-leg")
    run = equations("robotic-leg").simulate(1.0, samples=101)
    assert np.abs(run.q[4] - run.q[5]).max() < 1e-12  # the upper bar is parallel to the shank
    assert np.abs(run.q[5] + run.q[6] + np.pi).max() < 1e-12  # the lower bar to the thigh
    tip, pin = bars(p["a"], p["b"], p["b"], p["d"], 1, run.q[0])
    way = 2 * pin - tip - p["hx"] - 1j * p["hy"]
    angle = run.q[3] + run.q[5]
    foot = origin(run, "shank")[:2] + p["shank"] * np.array([np.cos(angle), np.sin(angle)])
    exact = data["enlargement"] * way + p["hx"] + 1j * p["hy"]
    assert np.abs(foot - [exact.real, exact.imag]).max() < 1e-12
    tip, pin = bars(p["a"], p["b"], p["b"], p["d"], 1, sweep(data["crank"]))
    leader = 2 * pin - tip
    assert np.ptp(leader.real) == pytest.approx(data["length"], abs=1e-12)
    assert np.ptp(leader.imag) == pytest.approx(data["deviation"], abs=1e-6)


def slider_crank_rates(_, y):
    sin, cos = np.sin(y[0]), np.cos(y[0])
    return [y[1], (G * cos - 4 * sin * cos * y[1] ** 2) / (2 / 3 + 4 * sin**2)]


@pytest.mark.nightly
def test_the_slider_crank_passes_its_branch_point():
    data = known("slider-crank")
    run = dl.simulate(dl.load("slider-crank"))
    assert run.integrator == "rk4"
    exact = solve_ivp(slider_crank_rates, (0, 10), [0, 0], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=run.t).y[0]
    turn = -run.q[0] - np.pi / 2
    assert np.abs(turn - exact).max() <= data["tolerance"]
    assert np.abs(run.q[1] - 2 * turn).max() < 1e-9
    assert np.abs(run.q[2] - 2 * np.cos(turn)).max() < 1e-9
    assert run.q[2].min() < -1.99
    assert run.qdd[0, 0] == pytest.approx(-data["acceleration"], rel=1e-12)
    quarters = [0.0, data["period"] / 4, data["period"]]
    path = solve_ivp(slider_crank_rates, (0, 4), [0, 0], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=quarters).y
    assert path[0] == pytest.approx([0, np.pi / 2, 0], abs=1e-9)
    assert path[1, 1] == pytest.approx(data["rate"], rel=1e-9)


# Bricard


def test_bricards_joint_angles_are_coupled():
    data, run = known("bricard"), minute("bricard")
    first, second = run.q[0], run.q[1]
    assert np.abs(run.q[[2, 4]] - first).max() < 1e-12
    assert np.abs(run.q[3] - second).max() < 1e-12
    assert np.abs((1 + np.sin(first)) * (1 + np.sin(second)) - 1).max() < 1e-12
    assert data["flat"][1] - 1e-12 < second.min() < data["flat"][1] + 0.01
    assert first.max() < np.pi + 1e-12
    assert run.energy[0] == pytest.approx(data["energy"], rel=1e-14)


def test_bricards_mechanism_agrees_with_the_one_dof_equation():
    data = known("bricard")
    R, p = bricard_shape(TURN)
    assert np.abs(p[:, 5] - [0, 0, 1]).max() < 1e-14  # the two angles close the loop on the full path
    assert np.abs(R[:, 4] @ [1, 0, 0] - [1, 0, 0]).max() < 1e-14
    run = equations("bricard").simulate(10.0, samples=101)
    phi, psi = bricard_angles(bricard_path().motion(np.pi / 4, 0.0, run.t))
    assert np.abs(run.q[0] - np.pi / 2 + phi).max() <= data["tolerance"]
    assert np.abs(run.q[1] - np.pi / 2 + psi).max() <= data["tolerance"]
    once = equations("bricard").simulate(times=[0.0, data["period"] / 2, data["period"]])
    assert once.q[0] == pytest.approx([0, np.pi, 0], abs=1e-9)


def test_bricards_mechanism_agrees_with_exudyn():
    data = known("bricard", "outside")
    run = equations("bricard").simulate(times=[0.0, *data["t"]])
    assert np.abs(origin(run, "rod3")[:, 1:].T - data["P3"]).max() <= data["tolerance"]


def test_bricards_closing_joint_reports_one_redundant_row():
    data, found = known("bricard", "mobility"), dl.mobility(dl.load("bricard"))
    rods, hinges = 5, 6
    assert 6 * rods - 5 * hinges == data["gruebler"]
    assert found.degrees_of_freedom == 1
    assert found.constraints == len(data["rows"])
    assert len(found.redundant) == data["redundant_count"]
    assert {*found.redundant, *found.independent} == set(data["rows"])
    assert found.rank_at_start == 4
    assert found.warnings == ()
    assert any(found.redundant[0] in note for note in equations("bricard").notes)


def test_bricards_mechanism_has_one_degree_of_freedom_everywhere():
    tau = TURN[::4]
    phi, psi = bricard_angles(tau)
    q = np.pi / 2 - np.array([phi, psi, phi, psi, phi])
    space = equations("bricard").workspace
    _, _, A, _ = space.manifold.evaluate(q, 0 * q, 0 * tau, space.values)
    U, sigma, _ = np.linalg.svd(np.moveaxis(A, -1, 0))
    assert (sigma[:, 3] > 1).all()  # one degree of freedom everywhere; Grübler's count is 0
    assert (sigma[:, 4] < 1e-14).all()
    data = known("bricard", "mobility")
    assert space.facts.levels.names[4] == data["redundant_everywhere"]
    share = U[:, :, 4] * np.sign(U[:, 4:, 4])
    least, most = data["share"]
    assert np.abs(share[len(tau) // 8] - data["share_at_start"]).max() < 1e-12  # τ = π/4 is the cube
    assert share[:, 4].min() == pytest.approx(least, abs=1e-9)
    assert share[:, 4].max() == pytest.approx(most, abs=1e-9)
    # every other row is needed somewhere
    assert (share[:, :4].min(axis=0) < -0.1).all()
    assert (share[:, :4].max(axis=0) > 0.1).all()


@pytest.mark.parametrize("at", ["rod1", "rod3", "rod5"])
@pytest.mark.nightly
def test_bricards_loop_can_be_cut_anywhere(at):
    original = equations("bricard").simulate(6.0, samples=61)
    cut = dl.simulate(dl.recut(dl.load("bricard"), "P6", at=at), 6.0, samples=61)
    for body in ("rod1", "rod2", "rod3", "rod4", "rod5"):
        assert np.abs(center(original, body) - center(cut, body)).max() <= 1e-8
    assert np.abs(cut.violation).max() <= 1e-10


def center(run, body):
    """The mass center of a body along a run."""
    motion = state_batch.motion_at(run.model, state_batch.States(run.q, run.qd, run.t))
    return numbers(motion.body(body).p_WG, len(run.t))


# other cuts, other closures, errors


def joint_forces(run):
    """The force in every joint, keyed by its two bodies, acting on the alphabetically later one."""
    out = {}
    for reaction in run.joint_reactions().values():
        pair = tuple(sorted((reaction.body, reaction.parent)))
        out[pair] = reaction.force if pair[1] == reaction.body else -reaction.force
    return out


@pytest.mark.nightly
def test_the_four_bar_can_be_cut_anywhere():
    original = equations("four-bar").simulate(2.0, samples=81)
    forces, compared = joint_forces(original), set()
    assert len(forces) == 4
    for at in ("crank", "output", "coupler"):
        cut = dl.simulate(dl.recut(dl.load("four-bar"), "pin", at=at), 2.0, samples=81)
        for body in ("crank", "output", "coupler"):
            assert np.abs(center(original, body) - center(cut, body)).max() <= 1e-8
        for pair, force in joint_forces(cut).items():
            assert np.abs(force - forces[pair]).max() <= 1e-7 * np.abs(forces[pair]).max()
            compared.add(pair)
    assert compared == set(forces)


def test_four_bar_joint_forces_satisfy_the_momentum_balance():
    run = equations("four-bar").simulate(2.0, samples=81)
    p, felt = values("four-bar"), joint_forces(run)
    tip, pin = bars(p["a"], p["b"], p["c"], -p["d"], 1)
    on = {
        "crank": felt["coupler", "crank"] - felt["crank", "world"],
        "output": felt["coupler", "output"] - felt["output", "world"],
        "coupler": -felt["coupler", "crank"] - felt["coupler", "output"],
    }
    centers = {
        "crank": (p["m1"], tip / 2),
        "output": (p["m2"], (pin - p["d"]) / 2),
        "coupler": (p["m3"], (pin + tip) / 2),
    }
    for body, (mass, z) in centers.items():
        first = slope(np.stack([z.real, z.imag], axis=1))
        a = at(slope(first), run.q[0]) * run.qd[0] ** 2 + at(first, run.q[0]) * run.qdd[0]
        need = mass * (a + np.array([[0], [G]]))
        assert np.abs(on[body][:2] - need).max() <= 1e-9 * np.abs(need).max()
        assert np.abs(on[body][2]).max() < 1e-9


def at(periodic, tau):
    """Periodic samples (N, k) in between, (k, len(tau))."""
    c = np.fft.rfft(periodic, axis=0) / len(periodic)
    c[1:] *= 2
    return (c.T @ np.exp(1j * np.arange(len(c))[:, None] * tau)).real


def test_the_four_bar_has_two_assembly_configurations():
    p = values("four-bar")
    model = dl.load("four-bar")
    found = dl.branches(model, fixed=["q1"])
    assert len(found) == 2
    # the two intersections of the circles, one above and one below
    for assembly, side in zip(found, (1, -1), strict=True):
        _, pin = bars(p["a"], p["b"], p["c"], -p["d"], side, np.zeros(1))
        assert np.exp(1j * assembly.q[1]) == pytest.approx((pin[0] + p["d"]) / p["c"], abs=1e-9)
        assert assembly.q[0] == 0
        assert assembly.residual <= 1e-12
    assert found[0].branch["coupler"] != found[1].branch["coupler"]


def test_an_impossible_closure_reports_the_gap():
    p = values("four-bar")
    model = dl.load("four-bar").with_parameters({"d": 0.5})
    gap = 0.5 - p["a"] - p["b"] - p["c"]
    with pytest.raises(
        InconsistentStateError, match=r"residual of -?[0-9.]+ in 'pin, .'\. .* check the link"
    ) as caught:
        dl.assemble_state(model)
    reported = abs(float(str(caught.value).split("residual of ")[-1].split(" in ")[0]))
    assert gap / np.sqrt(2) < reported < 2 * gap


def chain(start, lengths, angles):
    """The end of a planar chain with relative joint angles."""
    return start + sum(length * np.exp(1j * turn) for length, turn in zip(lengths, np.cumsum(angles), strict=True))


def test_printed_angles_have_the_documented_loop_gaps():
    q, p = gallery.load("hoeken-linkage").initial[0], values("hoeken-linkage")
    gap = chain(-p["d"], [p["b"]] * 2, q[1:]) - chain(0, [p["a"]], q[:1])
    assert abs(gap) == pytest.approx(known("hoeken-linkage", "start")["gap"], rel=1e-3)
    data, p = known("crank-rocker", "start"), values("crank-rocker")
    gap = chain(p["d"], [p["c"], p["b"]], data["printed"][1:]) - p["a"]
    assert abs(gap) == pytest.approx(data["gap"], rel=1e-3)
    data, p = known("parallel-3-rrr", "start"), values("parallel-3-rrr")
    for q, gaps in ((gallery.load("parallel-3-rrr").initial[0], "gaps"), (data["inverse"], "inverse_gaps")):
        first, arms = chain(0, [p["l1"], p["l2"]], q[:2]), [p["l1"], p["l2"]]
        for k, (base, turn) in enumerate(((1, 0), (0.5 + 0.75**0.5 * 1j, np.pi / 3))):
            corner = first + p["e"] * np.exp(1j * (sum(q[:3]) + turn))
            assert abs(corner - chain(base, arms, q[3 + 2 * k : 5 + 2 * k])) == pytest.approx(data[gaps][k], rel=2e-3)
    q, p, data = gallery.load("robotic-leg").initial[0], values("robotic-leg"), known("robotic-leg", "start")
    middle, half = chain(p["d"], [p["b"]], q[1:2]), p["b"] * np.exp(1j * (q[1] + q[2]))
    hip, lengths = p["hx"] + 1j * p["hy"], np.array([p["thigh"], p["shank"]])
    ends = [
        (middle + half, chain(0, [p["a"]], q[:1])),
        (middle - half, chain(hip, lengths / p["k"], q[3:5])),
        (middle - half, chain(hip, [p["thigh"], p["shank"] / p["k"], 0.75 * p["thigh"]], q[[3, 5, 6]])),
    ]
    assert [abs(a - b) for a, b in ends] == pytest.approx(data["gaps"], rel=1e-3)


# the Stewart platform


def test_the_stewart_platform_is_in_equilibrium():
    data, eom = known("stewart-platform"), equations("stewart-platform")
    q, qd = eom.model.initial
    assert eom.model.parameter_values["L"] == pytest.approx(data["length"], rel=1e-14)
    assert eom.model.parameter_values["L0"] == pytest.approx(data["spring"], rel=1e-14)
    assert np.abs(eom.accelerations(q, 0 * qd)).max() < data["tolerance"]
    force = eom.multipliers(q, 0 * qd).reshape(6, 3)
    assert force[0] == pytest.approx(data["force"], rel=1e-9)
    assert force[:, 2] == pytest.approx([-20 * G / 6] * 6, rel=1e-12)
    assert np.abs(force[:, :2].sum(axis=0)).max() < 1e-10
    # symmetry: rotations by 120° and a reflection
    turn = np.exp(2j * np.pi / 3)
    side = force[:, 0] + 1j * force[:, 1]
    assert np.abs(side[[2, 4]] - side[0] * np.array([turn, turn**2])).max() < 1e-10
    assert np.abs(side[[1, 3, 5]] - side[[0, 4, 2]].conj()).max() < 1e-10


def test_an_impulse_is_projected_onto_the_constraints():
    # M q̇ changes in the impulse only by joint forces, which do no virtual work
    before = gallery.load("stewart-platform").initial[1]
    q, after = dl.load("stewart-platform").initial
    space = equations("stewart-platform").workspace
    _, rates, A, M = space.manifold.evaluate(q, after, 0.0, space.values)
    assert np.abs(rates).max() < 1e-12
    _, _, Vt = np.linalg.svd(A)
    possible = Vt[18:]
    assert np.abs(possible @ M @ (after - before)).max() < 1e-7  # assembly adds a little to M
    assert 0 < after @ M @ after < before @ M @ before


def heave(p):
    """ż and z̈ of pure heave: closed-form M(z) and V(z), differentiated by complex steps."""
    dx, dy = p["r"] * np.cos(p["eta"]) - p["R"], p["r"] * np.sin(p["eta"])
    mc, mr, lc, lr, wc, wr = (p[key] for key in ("mc", "mr", "lc", "lr", "wc", "wr"))

    def length(z):
        return np.sqrt(dx**2 + dy**2 + z**2)

    def inertia(z):
        size = length(z)
        swing, spin = np.sqrt(dx**2 + dy**2) / size**2, dy / (dy**2 + z**2) * dx / size
        across = mc * (wc**2 / 4 + lc**2 / 3) + mr * (wr**2 / 4 + lr**2 / 12 + (size - lr / 2) ** 2)
        return p["mp"] + 6 * (across * swing**2 + mr * (z / size) ** 2 + (mc * wc**2 + mr * wr**2) / 2 * spin**2)

    def potential(z):
        size = length(z)
        lifted = mc * lc / 2 * z / size + mr * (size - lr / 2) * z / size
        return G * (p["mp"] * z + 6 * lifted) + 3 * p["k"] * (size - p["L0"]) ** 2

    def rates(_, y):
        slopes = [f(y[0] + 1e-30j).imag / 1e-30 for f in (inertia, potential)]
        return [y[1], -(slopes[0] * y[1] ** 2 / 2 + slopes[1]) / inertia(y[0])]

    return length, rates


def test_pure_heave_has_one_degree_of_freedom():
    data, p = known("stewart-platform"), values("stewart-platform")
    length, rates = heave(p)
    step = 1e-4
    assert -rates(0, [p["h"] + step, 0])[1] / step == pytest.approx(data["heave"] ** 2, rel=1e-3)
    z = p["h"] - 0.05
    dx, dy, size = p["dx"], p["dy"], length(z)
    q0 = {f"q{3 * i + 2}": np.arcsin(dx / size) for i in range(6)} | {f"q{3 * i + 3}": size for i in range(6)}
    q0 |= {f"q{3 * i + 1}": (-1) ** (i + 1) * np.arctan2(dy, z) for i in range(6)} | {"q21": z}
    run = equations("stewart-platform").simulate(3.0, q0=q0, qd0=np.zeros(24), samples=121)
    exact = solve_ivp(rates, (0, 3), [z, 0], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=run.t).y[0]
    assert np.ptp(exact) > 0.09
    assert np.abs(run.q[20] - exact).max() <= data["tolerance"]
    assert np.abs(run.q[[18, 19, 21, 22, 23]]).max() <= data["tolerance"]
