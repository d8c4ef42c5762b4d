"""The DeNOC matrices, their recursions and their display: papers/denoc (1)–(54)."""

import json
import pickle
import re
from typing import Any

import numpy as np
import pytest
import symengine as se
import sympy as sp

import dalembert as dl
from dalembert.api.equation_display import DerivationDisplay
from dalembert.cli.entry_point import main
from dalembert.codegen.function import compile_function
from dalembert.errors import InputError
from dalembert.formalisms import denoc
from dalembert.formalisms.shared.recursive_stages import stages
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import loop_rows, with_contacts
from dalembert.mechanics.motion import move
from dalembert.mechanics.system import system_of
from dalembert.recursive.link_states import moving
from dalembert.recursive.modules import Modular, modules_of
from dalembert.recursive.orthogonal_complement import complement_of, in_motion, nodes_of
from dalembert.recursive.tree import tree_of
from dalembert.symbolic.algebra_base import stack, vector
from dalembert.symbolic.floats import FLOATS

SERIAL = ("simple-pendulum", "robot-2-link", "stanford-arm", "heavy-top", "biped")
QUADRUPED = pytest.param("quadruped", marks=pytest.mark.slow(7))
TREES = ("four-bar", QUADRUPED, "three-bodies", "gripper")
# the numbers of the equations that blocks and steps cite; all of them are printed in the paper
PRINTED = {f"({k})" for k in range(1, 55)} | {"(8b)", "(9a)", "(9b)", "(36b)", "(47a)", "(41a)", "(41b)"}
ORDER = ["B", "A", "p", "N_l", "N_d", "N", "M_tilde", "I", "C", "U", "D", "I_inv"]
ORDER += ["modules", "N_l_modules", "N_d_modules", "J"]


def at_random(name: str, seed: int = 1, **options):
    """A gallery model, a random state, and its blocks at this state."""
    eom = dl.derive(dl.load(name, **options), "denoc", engine="python")
    rng = np.random.default_rng(seed)
    n = len(eom.model.coordinate_names)
    q, qd = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    return eom, q, qd


def parts_at(model, q, qd, t=0.0, centered=None):
    """The numeric matrices."""
    tree = tree_of(model)
    known = {name: float(value) for name, value in model.parameter_values.items()}
    return complement_of(moving(tree, FLOATS, t, [*map(float, q)], [*map(float, qd)], known), centered=centered)


# kinematics


@pytest.mark.parametrize("name", [*SERIAL, *TREES])
def test_n_times_the_joint_rates_are_the_twists_of_the_bodies(name):
    # compared with numerically differentiated poses
    eom, q, qd = at_random(name)
    model = eom.model
    parts, h = parts_at(model, q, qd), 1e-6
    t = (parts.N @ vector([*qd])).astype(float)
    parameters = dict(model.parameter_values)

    def pose(body, x):
        motion = move(model, FLOATS, 0.0, vector([*map(float, x)]), vector([0.0] * len(x)), parameters)
        frame = motion.frame(body)
        return frame.R.astype(float), frame.p.astype(float)

    for i, node in enumerate(parts.shape):
        for body in node.bodies:
            (R0, p0), (R1, p1) = pose(body, q - h * qd), pose(body, q + h * qd)
            R, p = pose(body, q)
            spin = (R1 - R0) / (2 * h) @ R.T
            w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
            v = (p1 - p0) / (2 * h) + np.cross(w, parts.links[i].point.astype(float) - p)
            assert t[6 * i : 6 * i + 6] == pytest.approx(np.concatenate([w, v]), abs=1e-7)


@pytest.mark.parametrize("name", [*SERIAL, *TREES])
def test_identities_of_the_blocks(name):
    eom, q, qd = at_random(name)
    at = eom.blocks_at(q, qd)
    carried = at["B"] if name in SERIAL else at["A"]
    one = np.eye(len(carried))
    assert np.allclose(np.linalg.inv(one - carried), at["N_l"], atol=1e-12)  # (8a), (9a)
    assert np.allclose(at["N_l"] @ at["N_d"], at["N"], atol=1e-12)
    size = np.abs(at["I"]).max()
    assert np.allclose(at["U"] @ at["D"] @ at["U"].T, at["I"], atol=1e-13 * size)
    assert np.allclose(at["I_inv"] @ at["I"], np.eye(len(at["I"])), atol=1e-9)
    if not eom.model.rotors:
        assert np.allclose(at["N_d"].T @ at["M_tilde"] @ at["N_d"], at["I"], atol=1e-12 * size)  # (18)
    assert at["I"] == pytest.approx(dl.mass_matrix(eom.model, q), abs=1e-12 * size)


def test_propagation_is_a_group():
    # (6): B_ij B_jk = B_ik and B_ii = 1
    eom, q, qd = at_random("stanford-arm")
    parts = parts_at(eom.model, q, qd)
    for i, j, k in ((5, 3, 0), (4, 2, 1), (5, 5, 2)):
        assert (parts.B(i, j) @ parts.B(j, k)).astype(float) == pytest.approx(parts.B(i, k).astype(float))
    assert (parts.B(2, 2) == np.eye(6, dtype=int)).all()


def test_serial_chain_uses_mass_centers_and_tree_uses_joint_origins():
    assert next(iter(dl.derive("stanford-arm", "denoc").blocks)) == "B"
    assert next(iter(dl.derive("four-bar", "denoc").blocks)) == "A"
    # fixed bodies form one link: the arm has six, despite the offsets between its joints
    assert len(nodes_of(tree_of(dl.load("stanford-arm")))) == 6


# dynamics


@pytest.mark.parametrize("name", ["robot-2-link", "stanford-arm", "four-bar", "biped", "double-pendulum"])
@pytest.mark.parametrize("centered", [True, False])
def test_convective_terms_are_the_velocity_terms_of_the_recursion(name, centered):
    model = dl.load(name)
    rng = np.random.default_rng(2)
    n = len(model.coordinate_names)
    q, qd, h = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), 1e-6
    ahead, behind = (parts_at(model, q + e * qd, qd, centered=centered) for e in (h, -h))
    parts = parts_at(model, q, qd, centered=centered)
    N_dot = ((ahead.N - behind.N) / (2 * h)).astype(float)
    C = parts.convective(N_dot, vector([*qd])).astype(float)
    bare = dl.load(name).description.replaced(loops=(), loads=(), holonomic_constraints=())
    rest = dl.inverse_dynamics(bare, q, np.zeros(n), np.zeros(n))
    bent = dl.inverse_dynamics(bare, q, qd, np.zeros(n)) - rest
    assert C @ qd == pytest.approx(bent, abs=1e-6 * (1 + np.abs(bent).max()))
    I_dot = ((ahead.inertia - behind.inertia) / (2 * h)).astype(float)
    if centered:  # İ = C + Cᵀ, so İ − 2C is skew
        assert I_dot == pytest.approx(C + C.T, abs=1e-7 * (1 + np.abs(C).max()))
    assert qd @ (I_dot - 2 * C) @ qd == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("name", ["robot-2-link", "three-bodies", "rolling-disk", "satellite-boom"])
def test_denoc_equals_lagrange(name):
    assert dl.prove(name, ["lagrange", "denoc"]).proved


def test_large_trees_are_eliminated_link_by_link():
    counts = {n: dl.derive(dl.load("rope", links=n), "denoc").operations for n in (7, 10, 13)}
    assert counts[13] - counts[10] <= 1.1 * (counts[10] - counts[7])  # linear, not quadratic


def floating_arm_on_rope() -> dl.Model:
    """A body with a quaternion joint that carries an arm, attached by a rope."""
    names = ("w", "x", "y", "z")
    model = dl.Model("thrown", gravity=(0, 0, -9.81)).coordinates("X", "Y", "Z", *names, "a").start({"w": 1}, {})
    model.body("hull", joint=model.free(("X", "Y", "Z"), quaternion=names), mass=2, inertia=(0.3, 0.4, 0.5))
    elbow = model.revolute((0, 1, 0), "a", position=(0.3, 0, 0))
    model.body("arm", parent="hull", joint=elbow, mass=1, center=(0.2, 0, 0), inertia=(0.1, 0.2, 0.2))
    model.spring(("arm", "world"), stiffness=30, natural_length=0.2, points=((0.5, 0, 0), (0.3, 1, 0.5)))
    return model.force("arm", (1, 2, "-dot(a)"), point=(0.7, 0, 0))


@pytest.mark.slow(5)
def test_quaternion_joint_rotates_with_its_angular_velocity():
    model = floating_arm_on_rope()
    assert dl.prove(model, ["kane", "denoc"]).proved
    agreement = dl.verify(model, states=5, engines=["python"])
    assert agreement.formalisms["denoc"].status == "agrees"
    eom = dl.derive(model, "denoc")
    assert eom.n_dynamic == 8
    q, qd = np.array([0.1, 0.2, 0.3, 0.5, 0.5, -0.5, 0.5, 0.7]), np.zeros(8)
    at = eom.blocks_at(q, qd)
    assert at["I"].shape == (7, 7)  # seven joint rates: ω instead of four components
    assert at["U"] @ at["D"] @ at["U"].T == pytest.approx(at["I"], abs=1e-12)
    assert at["I"] == pytest.approx(dl.mass_matrix(model, q), abs=1e-12)


# loops


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "hoeken-linkage", "robotic-leg"])
def test_j_maps_twists_to_the_cut_joints(name):
    eom, q, qd = at_random(name)
    motion = move(eom.model, FLOATS, 0.0, vector([*q]), vector([*qd]), dict(eom.model.parameter_values))
    a = np.array([row.a for row in loop_rows(motion)], dtype=float)
    assert eom.blocks_at(q, qd, keys=["J"])["J"] == pytest.approx(a, abs=1e-10)


def test_the_four_bar_closes_by_51_and_not_by_the_printed_52b():
    # (51): a0 + a1 = a2 + a3 for the angles in use: crank, output link, coupler on the output link
    model = dl.load("four-bar")
    p = model.parameter_values
    q1, q2, q3 = 0.3, 1.1, -0.7
    J = dl.derive(model, "denoc", engine="python").blocks_at([q1, q2, q3], [0, 0, 0], keys=["J"])["J"]
    # the pin relative to the coupler, in its axes
    c, s = np.cos(q2 + q3), np.sin(q2 + q3)
    crank = p["a"] * np.array([-np.sin(q1), np.cos(q1)])
    turned = np.array([[c, s], [-s, c]])
    assert J[:2, 0] == pytest.approx(turned @ crank, abs=1e-12)
    # (52b) has a2 c12 + a3 c123 below a2 s12 − a3 s123: one of its rows is not the derivative of the other's integral
    a1, a2, a3, x, y, z = sp.symbols("a1 a2 a3 x y z")
    printed = sp.Matrix(
        [-a2 * sp.sin(x + y) + a3 * sp.sin(x + y + z), a2 * sp.cos(x + y) + a3 * sp.cos(x + y + z)]
    )  # the column of θ2
    first = a1 * sp.cos(x) + a2 * sp.cos(x + y) - a3 * sp.cos(x + y + z)
    second = a1 * sp.sin(x) + a2 * sp.sin(x + y) - a3 * sp.sin(x + y + z)
    assert sp.simplify(printed[0] - first.diff(y)) == 0
    assert sp.simplify(printed[1] - second.diff(y)) != 0


# modules


@pytest.mark.parametrize("name", ["quadruped", "four-bar", "robotic-leg", "floating-arm"])
def test_modules_agree_with_links(name):
    eom, q, qd = at_random(name)
    parts = parts_at(eom.model, q, qd)
    modular = Modular(parts, modules_of(parts))
    rng = np.random.default_rng(3)
    N = parts.N.astype(float)
    assert (modular.N_l @ modular.N_d).astype(float) == pytest.approx(N, abs=1e-12)  # (43)–(45)
    assert modular.twists(vector([*qd])).astype(float) == pytest.approx(N @ qd, abs=1e-12)
    w = rng.normal(size=len(N))
    assert modular.efforts(vector([*w])).astype(float) == pytest.approx(N.T @ w, abs=1e-11)
    if parts.tree.decoupled:
        phi = rng.normal(size=len(qd))
        found = modular.accelerations(vector([*phi])).astype(float)
        assert parts.inertia.astype(float) @ found == pytest.approx(phi, abs=1e-8)


def test_modules_are_the_chains_between_branchings():
    assert dl.derive("four-bar", "denoc").blocks["modules"].value == ("crank", "output, coupler")
    parts = parts_at(dl.load("stanford-arm"), np.zeros(6), np.zeros(6))
    assert [module.links for module in modules_of(parts)] == [(0, 1, 2, 3, 4, 5)]
    assert "modules" not in dl.derive("stanford-arm", "denoc").blocks


def test_modules_may_be_named():
    model = dl.load("four-bar")
    parts = parts_at(model, [0.1, 0.2, 0.3], [1.0, 2.0, 3.0])
    named = modules_of(parts, {"driver": ["crank"], "arm": ["output"], "hand": ["coupler"]})
    assert [(module.name, module.parent, module.links) for module in named] == [
        ("driver", -1, (0,)),
        ("arm", -1, (1,)),
        ("hand", 1, (2,)),
    ]
    t = Modular(parts, named).twists(vector([1.0, 2.0, 3.0]))
    assert t.astype(float) == pytest.approx((parts.N @ vector([1.0, 2.0, 3.0])).astype(float))


NAMED = {
    "four-bar": {"driver": ["crank"], "rest": ["output", "coupler"]},
    "three-bodies": {"hub": ["middle"], "left": ["panel1"], "right": ["panel2"]},
    "stanford-arm": {"base": ["waist", "shoulder"], "slide": ["boom"], "wrist": ["wrist-roll", "wrist-bend", "hand"]},
}


@pytest.mark.parametrize("name", NAMED)
def test_forces_by_modules_are_those_link_by_link(name):
    """(40), (48) and (25) module by module compared with the recursion link by link."""
    model, groups = dl.load(name), NAMED[name]
    system, rng = system_of(with_contacts(model), "graph"), np.random.default_rng(2)
    parts, tau = complement_of(in_motion(system)), vector([0] * len(system.q))
    modular = Modular(parts, modules_of(parts, groups))
    for stage in stages(system, groups):
        for quantity in stage.quantities:
            if quantity.key.startswith("tau_bar"):
                tau[modular.speeds(int(quantity.key.split("_")[-1]) - 1)] += quantity.value
    q, qd, qdd = rng.uniform(-1, 1, (3, len(system.q)))
    known = system.algebra.symbols(list(model.parameter_values))
    inputs = stack(system.q, system.qd, system.qdd, vector([system.t]))
    found = compile_function(system.algebra, inputs, tau, known, "python")
    values = np.array([*map(float, model.parameter_values.values())])
    bare = model.description.replaced(
        loads=(), loops=(), holonomic_constraints=(), nonholonomic_constraints=(), contacts=()
    )
    expected = dl.inverse_dynamics(bare, q, qd, qdd)
    ours = found(np.concatenate([q, qd, qdd, [0.0]]), values)
    assert ours == pytest.approx(expected, abs=1e-9 * (1 + np.abs(expected).max()))


def test_user_modules_are_displayed():
    groups = {"driver": ["crank"], "arm": ["output"], "hand": ["coupler"]}
    eom = dl.derive("four-bar", "denoc", modules=groups)
    assert eom.blocks["modules"].value == ("crank", "output", "coupler")
    q, qd = [0.1, 0.2, 0.3], [1.0, 2.0, 3.0]
    at, usual = eom.blocks_at(q, qd), dl.derive("four-bar", "denoc").blocks_at(q, qd)
    assert at["N_l_modules"] @ at["N_d_modules"] == pytest.approx(usual["N"], abs=1e-12)
    assert not np.allclose(at["N_d_modules"], usual["N_d_modules"])
    headings = [step.heading for step in eom.steps()]
    assert headings[:3] == ["Module driver: outward", "Module arm: outward", "Module hand: outward"]
    assert headings[3:6] == ["Module hand: inward", "Module arm: inward", "Module driver: inward"]
    assert pickle.loads(pickle.dumps(eom)) == eom  # noqa: S301 (our own)
    assert eom != dl.derive("four-bar", "denoc")


def test_modules_belong_to_denoc():
    with pytest.raises(InputError, match=r"modules: formalism 'kane' has no modules\. Expected 'denoc'"):
        dl.derive("four-bar", "kane", modules={"driver": ["crank"]})
    with pytest.raises(InputError, match=r"modules: 'a' is 'crank'\. Expected the names of one or more bodies"):
        dl.derive("four-bar", "denoc", modules={"a": "crank"})
    with pytest.raises(InputError, match="there is no body 'crnk'"):
        dl.derive("four-bar", "denoc", modules={"a": ["crnk"], "b": ["output", "coupler"]})


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": ["crank", "output"], "b": ["coupler"]}, "module 'a' (crank, output) is not a serial chain"),
        ({"a": ["crank"], "b": ["output"]}, "modules: coupler: expected every body in exactly one module"),
        ({"a": ["crnk", "output", "coupler"]}, "there is no body 'crnk'. Did you mean 'crank'?"),
    ],
)
def test_invalid_modules_are_reported(groups, message):
    parts = parts_at(dl.load("four-bar"), [0.1, 0.2, 0.3], [0.0] * 3)
    with pytest.raises(InputError, match=re.escape(message)):
        modules_of(parts, groups)


# display


@pytest.mark.parametrize(
    "name",
    [
        "simple-pendulum",
        "double-pendulum",
        "robot-2-link",
        "four-bar",
        pytest.param("heavy-top", marks=pytest.mark.slow(2)),
    ],
)
def test_symbolic_and_numeric_values_agree(name):
    eom, q, qd = at_random(name)
    at = eom.blocks_at(q, qd)
    values: dict[Any, Any] = {sp.Symbol(k): v for k, v in eom.parameters.items()}
    t = sp.Symbol("t")
    for x, a, b in zip(eom.model.coordinate_names, q, qd, strict=True):
        moving_symbol = sp.Function(x)(t)
        values |= {moving_symbol.diff(t): b, moving_symbol: a}
    for key, block in eom.blocks.items():
        if key != "modules":
            symbols: Any = block.value
            matrix = symbols.subs(values)
            found = np.array(matrix.subs(values).evalf(), dtype=float).reshape(at[key].shape)
            assert found == pytest.approx(at[key], abs=1e-9 * (1 + np.abs(at[key]).max())), key


def test_double_pendulum_matches_the_textbook():
    blocks = dl.derive("double-pendulum", "denoc").blocks
    m1, m2, l1, l2 = sp.symbols("m1 m2 l1 l2")
    one, two = (sp.Function(f"theta{k}")(sp.Symbol("t")) for k in (1, 2))
    expected = sp.Matrix(
        [[(m1 + m2) * l1**2, m2 * l1 * l2 * sp.cos(one - two)], [m2 * l1 * l2 * sp.cos(one - two), m2 * l2**2]]
    )
    assert sp.simplify(blocks["I"].value - expected) == sp.zeros(2, 2)
    assert blocks["I"].operations <= 15


@pytest.mark.parametrize("name", ["stanford-arm", "four-bar", "double-pendulum"])
def test_blocks_have_the_order_and_numbers_of_the_paper(name):
    blocks = dl.derive(name, "denoc").blocks
    indices = [ORDER.index(key) for key in blocks]
    assert indices == sorted(indices)
    derived = denoc.derive(system_of(with_contacts(dl.load(name)), "symbolic"))
    assert {quantity.equation for quantity in derived.quantities.values()} <= PRINTED


def test_steps_go_outwards_inwards_and_through_the_elimination():
    steps = list(dl.derive("robot-2-link", "denoc").steps())
    assert [step.heading for step in steps] == [
        "Link 1, upper: outward",
        "Link 2, lower: outward",
        "Link 2, lower: inward",
        "Link 1, upper: inward",
        "Link 2, lower: eliminated",
        "Link 1, upper: eliminated",
        "Link 1, upper: accelerations outward",
        "Link 2, lower: accelerations outward",
        "I θ̈ + C θ̇ = τ",
    ]
    assert {number for step in steps for number in step.equations} == {
        *("(22)", "(23)", "(24)", "(25)", "(28)", "(29)", "(30)", "(31)", "(32)", "(33)", "(17)")
    }
    assert str(steps[0]).startswith("Link 1, upper: outward\n  t₁ (22): twist; 6\n")


def test_steps_agree_with_the_compiled_equations():
    # the accelerations of (33), with all names substituted, compared with the compiled equations
    eom, q, qd = at_random("robot-2-link")
    known = {"q1": q[0], "q2": q[1], "dot(q1)": qd[0], "dot(q2)": qd[1]}
    at = eom.blocks_at(q, qd)
    rest = dl.inverse_dynamics(eom.model, q, np.zeros(2), np.zeros(2))
    phi = -at["C"] @ qd - rest
    known |= {"phi[1]": phi[0], "phi[2]": phi[1]}
    found = []
    block: Any
    for step in eom.steps():
        for block in step.blocks:
            if block.key.startswith(("M_hat", "psi", "m_hat", "tau_hat", "tau_tilde", "M_bar", "eta", "theta")):
                found += _put_in(block, known)
    assert found == pytest.approx(eom.accelerations(q, qd), rel=1e-9)


def _put_in(block, known):
    """Evaluate the entries of a block with the known names, and record them; returns the accelerations."""
    letter, number = block.key.rsplit("_", 1)
    out = []
    for index in np.ndindex(*block.entries.shape):
        entry = se.sympify(block.entries[index])
        value = float(entry.subs({s: known[s.name] for s in entry.free_symbols}).n(53, real=True))
        indices = [i + 1 for i in index] if block.entries.size > 1 else []
        known[f"{letter}[{','.join(map(str, [number, *indices]))}]"] = value
        out.append(value)
    return out if letter == "theta_ddot" else []


def test_long_blocks_are_reported():
    blocks = DerivationDisplay(
        dl.derive("stanford-arm", "denoc").derivation, budget=1e-9
    ).blocks  # no time for simplification
    assert blocks["C"].is_long
    assert "too long to write out" in str(blocks["C"])
    with pytest.raises(InputError, match=r"block 'C' of 'stanford-arm' has \d+ operations .* eom.blocks_at"):
        blocks["C"].value  # noqa: B018 (it raises)


def test_unknown_block_is_reported():
    eom = dl.derive("simple-pendulum", "denoc")
    with pytest.raises(KeyError, match="there is no block 'N_x'"):
        eom.blocks["N_x"]
    with pytest.raises(InputError, match=r"there is no block 'X' of 'simple-pendulum' by denoc\."):
        eom.blocks_at([0.1], [0.2], keys=["X"])


def test_numbers_of_a_long_rope():
    eom, q, qd = at_random("rope", links=15)
    at = eom.blocks_at(q, qd, keys=["N_d", "I", "D", "U"])
    assert at["U"] @ at["D"] @ at["U"].T == pytest.approx(at["I"], abs=1e-12)


# the command line


def test_the_command_prints_blocks_and_steps(capsys):
    assert main(["derive", "simple-pendulum", "--formalism", "denoc", "--blocks", "N_d,I", "--set", "l=0.5,m=2"]) == 0
    out = capsys.readouterr().out
    assert "N_d (9b): joint motions, block diagonal; 6×1" in out
    assert "[1/2]" in out
    assert main(["derive", "simple-pendulum", "--formalism", "denoc", "--steps", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"][0]["blocks"][0]["value"][2] == "dot(theta)"
    assert main(["derive", "simple-pendulum", "--formalism", "denoc", "--steps", "--format", "latex"]) == 0
    assert r"\hat{m}_{1} &= l^{2} m" in capsys.readouterr().out


def test_command_reports_missing_blocks(capsys):
    assert main(["derive", "simple-pendulum", "--formalism", "denoc", "--blocks", "Nl"]) == 2
    assert "there is no block 'Nl'" in capsys.readouterr().err


def test_set_substitutes_numbers_in_every_formalism(capsys):
    assert main(["derive", "simple-pendulum", "--set", "l=0.5"]) == 0
    assert "m·θ̈/4 + g·m·sin(θ)/2 = 0" in capsys.readouterr().out


# loops by subsystems


def test_the_four_bar_has_a_determinate_and_an_indeterminate_subsystem():
    # section 4: the two links without a drive give the multipliers, the crank with its drive follows
    model = dl.load("four-bar")
    q, qd = model.initial
    qdd = dl.forward_dynamics(model, q, qd)
    found = dl.subsystem_dynamics(model, q, qd, qdd, actuated=["q1"])
    parts_found = [(part.name, part.bodies, part.determinate, part.drives) for part in found.subsystems]
    assert parts_found == [("II", ("output", "coupler"), True, ()), ("I", ("crank",), False, ("dot(q1)",))]
    assert found.subsystems[0].multipliers == ("pin, x", "pin, y")
    assert found.tau == pytest.approx(np.zeros(3), abs=1e-12)  # free fall: no drive


@pytest.mark.parametrize(("name", "drives"), [("four-bar", ["q1"]), ("robotic-leg", ["q1"]), ("slider-crank", ["q1"])])
def test_subsystems_agree_with_the_complete_system(name, drives):
    model = dl.load(name)
    states = state_batch.consistent_states(with_contacts(model), 3)
    for k in range(3):
        q, qd = states.q[:, k], states.qd[:, k]
        # a motion that satisfies the loop constraints, under some force of the drive
        push = np.zeros(len(q))
        push[model.coordinate_names.index(drives[0])] = 1.7
        qdd = dl.forward_dynamics(model, q, qd, push)
        found = dl.subsystem_dynamics(model, q, qd, qdd, actuated=drives)
        assert found.tau == pytest.approx(dl.inverse_dynamics(model, q, qd, qdd, actuated=drives), abs=1e-9)
        assert found.tau == pytest.approx(push, abs=1e-8)


def test_multipliers_of_subsystems_are_those_of_the_equations():
    model = dl.load("hoeken-linkage")
    q, qd = model.initial
    qdd = dl.forward_dynamics(model, q, qd)
    found = dl.subsystem_dynamics(model, q, qd, qdd, actuated=["q1"])
    eom = dl.derive(model, "denoc")
    known = dict(zip(eom.constraint_names, eom.multipliers(q, qd), strict=True))
    for name, value in found.multipliers.items():
        assert value == pytest.approx(known[name], abs=1e-8)


def test_invalid_drives_are_reported():
    model = dl.load("four-bar")
    q, qd = model.initial
    qdd = dl.forward_dynamics(model, q, qd, [1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="cannot produce the motion"):
        dl.subsystem_dynamics(model, q, qd, qdd, actuated=[])
    with pytest.raises(InputError, match="Expected one state"):
        dl.subsystem_dynamics(model, np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 2)))
