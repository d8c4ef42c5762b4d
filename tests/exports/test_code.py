"""Exported code in other languages agrees with this package."""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from exported_code import GCC, Results, module_at, require_gcc, run_code

import dalembert as dl
from dalembert.api.export import source_of
from dalembert.codegen.function import nodes
from dalembert.codegen.program import program_of
from dalembert.errors import InputError, NotApplicableError
from dalembert.io.code.code_source import CodeFunction, ExportedEquations
from dalembert.mechanics import state_batch
from dalembert.symbolic.algebra_base import stack
from dalembert.symbolic.graph import GRAPH, block_solver

CLOSE = 1e-12
MODELS = ("cart-pendulum", "three-bodies", "four-bar", "kuka-kr5")
FORMALISMS = ("lagrange", "kane", "volterra_reduced", "hamilton", "udwadia_kalaba", "newton_euler", "denoc")


def expected(eom: dl.Equations, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> Results:
    """The same functions evaluated by the package."""
    v, constants = eom.kernel.start(q, qd, t, eom.values)
    y, kernel = np.concatenate([q, v]), replace(eom.kernel, mode="fused")
    p = np.concatenate([np.repeat(eom.values[:, None], len(t), axis=1), constants])
    states = range(len(t))
    slopes = [kernel.state_slopes(y[:, k].copy(), t[k], p[:, k].copy())[: len(y), : len(y)].ravel() for k in states]
    found = {
        "start": y,
        "constants": constants,
        "rhs": eom.kernel.state_rates(y, t, p if len(constants) else eom.values)[: len(y)],
        "accelerations": eom.accelerations(q, qd, t),
        "jacobian": np.array(slopes).T,
    }
    poses = [dl.pose(eom.model, q, body.name, t) for body in eom.model.bodies]
    if poses:
        rows = [np.concatenate([pose.position, pose.rotation.reshape(9, -1)]) for pose in poses]
        found["kinematics"] = np.concatenate(rows)
    if eom.constraint_names:
        found |= {"reactions": eom.reactions(q, qd, t), "multipliers": eom.multipliers(q, qd, t)}
    return found


def require_same(target: str, eom: dl.Equations, folder, count: int = 100, without: tuple[str, ...] = ()) -> None:
    """The largest difference is small against the largest entry at each state; some functions may be omitted."""
    states = state_batch.consistent_states(eom.model, count)
    time = np.linspace(0.0, 1.0, count) if not eom.constraint_names else np.zeros(count)
    source = source_of(eom)
    source = replace(source, functions=tuple(each for each in source.functions if each.name not in without))
    found = run_code(target, source, folder, states.q, states.qd, time)
    for name, want in expected(eom, states.q, states.qd, time).items():
        if want.size and name not in without:
            size = np.maximum(1.0, np.abs(want).max(axis=0))
            assert (np.abs(found[name] - want) / size).max() < CLOSE, name
    require_solved(eom, found, count)


def require_solved(eom: dl.Equations, found: Results, count: int) -> None:
    """M, f, A and b of the code give its v̇, by an independent solver."""
    linear = eom.form.linear
    if linear.J is not None or eom.form.extra_unknowns is not None:
        return
    k, n = len(eom.velocity_names), len(eom.model.coordinate_names)
    r = len(found.get("constraint_forcing", ()))
    system = np.zeros((count, k + r, k + r))
    system[:, :k, :k] = found["mass_matrix"].T.reshape(count, k, k)
    right = found["forcing"].T
    if r:
        A = found["constraint_matrix"].T.reshape(count, r, k)
        system[:, k:, :k], system[:, :k, k:] = A, -A.transpose(0, 2, 1)
        right = np.concatenate([right, found["constraint_forcing"].T], axis=1)
    vd = np.linalg.solve(system, right[..., None])[:, :k, 0].T
    assert np.allclose(vd, found["rhs"][n:], rtol=1e-9, atol=1e-9 * np.abs(vd).max())


@pytest.mark.parametrize(
    ("target", "name", "formalism"),
    [
        ("c", "cart-pendulum", "volterra_reduced"),
        ("numpy", "four-bar", "udwadia_kalaba"),
    ],
)
def test_code_agrees_with_the_package(target, name, formalism, tmp_path):
    require_same(target, dl.derive(name, formalism, engine="python"), tmp_path, 20)


@pytest.mark.nightly
@pytest.mark.parametrize("formalism", FORMALISMS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("target", ["c", "numpy"])
def test_code_of_every_formalism_agrees_with_the_package(target, name, formalism, tmp_path):
    require_same(target, dl.derive(name, formalism), tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("formalism", ["lagrange", "volterra_reduced"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("target", ["numba", "jax", "casadi", "matlab"])
def test_code_of_other_languages_agrees_with_the_package(target, name, formalism, tmp_path):
    long = target == "numba" and name in ("three-bodies", "kuka-kr5")  # minutes, until Numba has compiled 10 000 lines
    require_same(target, dl.derive(name, formalism), tmp_path, without=("jacobian",) if long else ())


def blocks() -> ExportedEquations:
    """Two linear systems that are solved in loops, of a symmetric and of a general matrix, and a solution with an old factor."""
    names = [f"x{i}" for i in range(3)]
    x = GRAPH.symbols(names)
    M = np.array(
        [[2 + x[(i + j) % 3] * x[(i * j) % 3] + 9 * (i == j) for j in range(4)] for i in range(4)], dtype=object
    )
    N = M + np.array([[i - 2 * j for j in range(4)] for i in range(4)], dtype=object)
    b = np.array([*x, x[0] * x[1]], dtype=object)
    solve, solve_general = block_solver("symmetric", M), block_solver("general", N)
    outputs = stack(solve(b), solve(b * b), solve_general(b), M.ravel(), N.ravel(), b)
    program = program_of(nodes(GRAPH, outputs), [*names, "t"])
    start = program_of(nodes(GRAPH, stack(x)), [*names, *(f"dot({name})" for name in names), "t"])
    functions = (
        CodeFunction("start", "The state", start, (3,), "start"),
        CodeFunction("rhs", "Solutions", program, (len(outputs),)),
    )
    return ExportedEquations("blocks", "none", "none", "0", tuple(names), (), {}, {}, (0.0, 0.0, 0.0), functions)


def require_blocks_solved(target: str, folder) -> None:
    q = np.random.default_rng(5).uniform(-1, 1, (3, 6))
    found = run_code(target, blocks(), folder, q, q, np.zeros(6))["rhs"]
    x, x2, y, M, N, b = np.split(found, [4, 8, 12, 28, 44])
    for A, solution, right in ((M, x, b), (M, x2, b * b), (N, y, b)):
        product = np.einsum("ijk,jk->ik", A.reshape(4, 4, 6), solution)
        assert np.abs(product - right).max() < 1e-12


@pytest.mark.parametrize("target", ["c", "numpy"])
def test_systems_are_solved_in_loops(target, tmp_path):
    require_blocks_solved(target, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("target", ["numba", "jax", "casadi", "matlab"])
def test_systems_are_solved_in_loops_in_other_languages(target, tmp_path):
    require_blocks_solved(target, tmp_path)


def bumper() -> dl.Model:
    """A bead with conditions, a table, time and every type of function."""
    model = (
        dl.Model("bead 1")
        .parameters(k=3.0, double=0.5)
        .coordinates("x", "y", "np")
        .start([0.4, 0.1, 0.2], [0.0, 0.0, 0.0])
    )
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "np")]
    model.body("bead", joint=joints, mass=2, inertia=(1, 1, 1))
    force = "-k*max(x - 0.5, 0) + piecewise(1, x < y and y < 1 or t < 0, 2) + atan2(y, 2 + x) + sqrt(1 + x**2) - sign(dot(x))"
    model.force("bead", (force, "abs(x)**1.5 + exp(-y*y) + log(3 + y) + tan(y/3) + asin(y/9) + acos(x/9)", 0))
    model.joint_torque("bead", "double*atan(x)", joint=2)
    return model.torque_table("bead", [0.1, 0.5, 0.7], [1.0, 3.0, -1.0], joint=2)


def test_conditions_and_tables_are_exported_correctly(tmp_path):
    require_same("numpy", dl.derive(bumper(), "lagrange", engine="python"), tmp_path, 20)


@pytest.mark.nightly
@pytest.mark.parametrize("target", ["c", "numba", "jax", "casadi", "matlab"])
def test_conditions_and_tables_are_exported_correctly_in_other_languages(target, tmp_path):
    require_same(target, dl.derive(bumper(), "lagrange"), tmp_path)


def test_code_for_numba_is_compiled(tmp_path):
    eom = dl.derive("simple-pendulum", "kane", engine="python")
    dl.export(eom, "numba", tmp_path / "pendulum.py")
    code, y = module_at(tmp_path / "pendulum.py"), np.array([0.3, 0.7])
    p = code.Parameters()
    want = eom.kernel.state_rates(y, 0.0, np.array(p))[:2]
    assert np.abs(code.rhs(0.0, y, p) - want).max() < CLOSE
    assert code.rhs.nopython_signatures


def led() -> dl.Model:
    """A massless slider whose motion is determined by a mass."""
    model = dl.Model("led").parameters(m=1.0).coordinates("x", "y").start([0.0, 0.0], [1.0, 1.0])
    model.body("slider", joint=model.prismatic((1, 0, 0), "x"), mass=0)
    model.body("mass", parent="slider", joint=model.prismatic((1, 0, 0), "y"), mass="m")
    model.spring(("mass", "world"), stiffness=4.0, points=((0, 0, 0), (-5, 0, 0)))
    return model.holonomic("x - y")


def test_a_singular_mass_matrix_is_solved_with_its_constraints(tmp_path):
    require_same("c", dl.derive(led(), "lagrange", engine="python"), tmp_path, 5)


@pytest.mark.nightly
@pytest.mark.parametrize("target", ["numpy", "numba", "jax", "casadi", "matlab"])
def test_a_singular_mass_matrix_is_solved_in_other_languages(target, tmp_path):
    require_same(target, dl.derive(led(), "lagrange"), tmp_path, 5)


def test_the_same_equations_give_the_same_files(tmp_path):
    for folder in ("a", "b"):
        dl.export(dl.derive("four-bar", "kane"), "c", tmp_path / folder / "four-bar.c")
    for name in ("four-bar.h", "four-bar.c"):
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()
    text = (tmp_path / "a" / "four-bar.c").read_text()
    assert "'four-bar' by the formalism kane" in text
    assert "malloc" not in text
    assert "cos_q1" in text
    require_gcc()
    command = [*GCC, "-x", "c++", "-std=c++11", "-fsyntax-only", str(tmp_path / "a" / "four-bar.h")]
    subprocess.run([word for word in command if word != "-std=c99"], check=True)


def test_changed_parameters_are_the_exported_defaults(tmp_path):
    eom = dl.derive("cart-pendulum", "kane").with_parameters(l=0.7)
    dl.export(eom, "numpy", tmp_path / "cart.py")
    assert module_at(tmp_path / "cart.py").Parameters().l == 0.7


def test_unsupported_exports_report_the_reason(tmp_path):
    ball = dl.Model("ball", gravity=(0, 0, -9.81)).coordinates("z").start([1.0], [0.0])
    ball.body("ball", joint=ball.prismatic((0, 0, 1), "z"), mass=1)
    bouncing = ball.copy().event("bounce", "z", direction="down", reset={"z": "-0.5*dot(z)"})
    with pytest.raises(NotApplicableError, match="the event 'bounce' of model 'ball' changes parameters or velocities"):
        dl.export(dl.derive(bouncing), "c", tmp_path / "a.c")
    driven = ball.copy().actuator("ball", law=lambda t, state: 1.0, name="hand")
    with pytest.raises(NotApplicableError, match="'hand' of model 'ball' is a control law in Python"):
        dl.export(dl.derive(driven), "c", tmp_path / "a.c")
    eom = dl.derive(ball)
    with pytest.raises(InputError, match="there is no target 'fortran'"):
        dl.export(eom, "fortran", tmp_path / "a.f90")
    with pytest.raises(InputError, match=r"C99 cannot be saved as '\.h'. Expected the suffix \.c\."):
        dl.export(eom, "c", tmp_path / "a.h")
    with pytest.raises(InputError, match=r"not a MATLAB package\. Expected '\+' and an identifier"):
        dl.export(eom, "matlab", tmp_path / "ball")
    assert list(tmp_path.iterdir()) == []
    stopped = ball.copy().event("floor", "z", stop=True)
    dl.export(dl.derive(stopped), "numpy", tmp_path / "a.py")
    assert "The event 'floor' is not part of this code." in (tmp_path / "a.py").read_text()


def read_julia(text: str) -> dict[str, str]:
    """The straight-line functions of a Julia module as Python: indices begin with zero, powers have another sign."""
    found = {}
    for name, arguments, body in re.findall(r"^function (\w+)!\((.*?)\)\n(.*?)^end$", text, flags=re.M | re.S):
        less = re.sub(r"\[([\d, ]+)\]", lambda m: str([int(i) - 1 for i in m[1].split(",")]), body)
        found[name] = f"def {name}({arguments}):\n" + less.replace("^", "**")
    return found


@pytest.mark.parametrize("name", ["cart-pendulum", "double-pendulum"])
def test_a_julia_module_has_the_same_formulas(name, tmp_path):
    # Julia is not installed: straight-line arithmetic is the same in Python except for indices and powers
    eom = dl.derive(name, "kane")
    dl.export(eom, "julia", tmp_path / "code.jl")
    text = (tmp_path / "code.jl").read_text()
    states = state_batch.consistent_states(eom.model, 5)
    known: dict = {"sin": math.sin, "cos": math.cos, "sqrt": math.sqrt}
    functions = read_julia(text)
    for code in functions.values():
        exec(code, known)
    want = expected(eom, states.q, states.qd, np.zeros(5))
    p = SimpleNamespace(**eom.parameters)
    for k in range(5):
        y = known["start"](np.empty(len(want["start"])), states.q[:, k], states.qd[:, k], p, 0.0)
        assert y == pytest.approx(want["start"][:, k], abs=CLOSE)
        for key in ("rhs", "accelerations"):
            found = known[key](np.empty(len(want[key])), y, p, 0.0)
            assert found == pytest.approx(want[key][:, k], rel=CLOSE, abs=CLOSE), key
    assert text.count("\nfunction ") == text.count("\nend\n") - 1 - text.count("Base.@kwdef struct")
