"""Traces are found on disk by the next process, and only for the same model, task and source."""

import shutil
import tomllib
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.api import compiled_calls
from dalembert.codegen.disk_cache import from_bytes, program_from_tuples, program_to_tuples, to_bytes
from dalembert.codegen.program import nodes_of, program_of
from dalembert.model.joints.revolute import Revolute
from dalembert.model.model import Model
from dalembert.recursive import execution
from dalembert.recursive.plan import forget_plans
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.lookup_tables import table

ROOT = Path(__file__).parents[2]


@pytest.fixture
def patch(tmp_path):
    """A separate disk cache; not the fixture `monkeypatch`, whose tests do not write to it."""
    with pytest.MonkeyPatch.context() as context:
        context.setenv("DALEMBERT_CACHE", str(tmp_path))
        _next_process()
        yield context
    _next_process()


def _next_process():
    compiled_calls.clear_cache()
    forget_plans()


def arm(*, length="1", base=False, links=2):
    model = Model("arm", gravity=(0, -9.81, 0)).parameters(m=1.5, l=0.4)
    parent: dict[str, Any] = {}
    if base:
        model.coordinates(*"xyzwijk")
        model.body("base", joint=model.free(("x", "y", "z"), quaternion=tuple("wijk")), mass=2, inertia=(1, 2, 2.5))
        parent = {"parent": "base"}
    for i in range(links):
        model.coordinates(f"q{i}")
        joint = model.revolute((0, i % 2, 1 - i % 2), f"q{i}", position=(length, 0, 0))
        model.body(f"b{i}", joint=joint, mass="m", center=("l", 0.1, 0), inertia=(0.1, 0.2, 0.25), **parent)
        parent = {"parent": f"b{i}"}
    return model.joint_spring("b0", stiffness=40, rest=0.2).joint_friction("b1", viscous=2)


def values(model, execution=None):
    """The results of all tasks at one state."""
    known = dl.dynamics(model, execution=execution)
    n, m = len(model.coordinate_names), known._calls.facts.n_speeds
    q, s, x = np.linspace(0.3, 0.9, n), np.linspace(-1, 1, m), np.linspace(2, 1, m)
    if n > m:
        q[3:7] = 0.5
    found = [known.inverse(q, s, x), known.forward(q, s, x), known.forward(q, s), known.bias(q, s), known.gravity(q)]
    found += [known.inverse(q, s, x, friction=True), known.mass_matrix(q), known.jacobian(q, "b1")]
    return [*found, *known.derivatives(q, s, x, parameters=["m"])]


@pytest.mark.parametrize(("execution", "base"), [("unrolled", False), ("rolled", True)])
def test_the_next_process_neither_plans_nor_traces(patch, execution, base):
    model = arm(base=base)
    first = values(model, execution)
    _next_process()
    patch.setattr(compiled_calls, "plan_of", lambda model: pytest.fail("it was planned again"))
    patch.setattr(compiled_calls, "traced_task", lambda *given, **more: pytest.fail("it was traced again"))
    for x, y in zip(values(model, execution), first, strict=True):
        assert np.array_equal(x, y)


def test_another_model_or_task_misses_the_cache(patch, tmp_path):
    """Every change creates a separate record, and new results."""

    def records(model, **options):
        _next_process()
        dl.dynamics(model, **options).mass_matrix(np.zeros(len(model.coordinate_names)))
        return set(tmp_path.glob("*.text"))

    known = records(arm())
    assert records(arm()) == known
    others = [
        (arm(length="1.0000000000000002"), {}),  # the next number
        (arm(length="l"), {}),
        (arm(links=3), {}),
        (arm().with_parameters(m=1.5000000000000002), {}),
        (arm().description.replaced(gravity_input=(0, -9.8, 0)), {}),
        (arm(), {"execution": "unrolled"}),
        (arm(), {"engine": "python"}),
    ]
    for model, options in others:
        more = records(model, **options)
        assert len(more) == len(known) + 2  # facts and the trace
        known = more
    handle = dl.dynamics(arm())
    state = np.zeros(2), np.zeros(2), np.zeros(2)
    requests = [handle.inverse, lambda *x: handle.inverse(*x, friction=True), handle.forward]
    requests += [lambda q, *_: handle.jacobian(q, "b0"), lambda q, *_: handle.jacobian(q, "b1")]
    requests += [partial(handle.derivatives, of="inverse", parameters=[name]) for name in "ml"]
    for request in requests:
        request(*state)
        more = set(tmp_path.glob("*.text"))
        assert len(more) == len(known) + 1
        known = more


def _doubled(program):
    """Double the first output."""
    first, *rest = nodes_of(program)
    return program_of([2 * first, *rest], program.inputs)


def test_another_source_of_the_package_misses_the_cache(patch, tmp_path):
    """A record of a changed package would be wrong: it is not read."""
    right = dl.dynamics(arm()).mass_matrix(np.zeros(2))
    _next_process()
    patch.setattr(execution, "package_digest", lambda: "another")
    traced = compiled_calls.traced_task
    patch.setattr(compiled_calls, "traced_task", lambda plan, task, **more: _doubled(traced(plan, task, **more)))
    assert not np.array_equal(dl.dynamics(arm()).mass_matrix(np.zeros(2)), right)
    _next_process()
    patch.undo()
    patch.setenv("DALEMBERT_CACHE", str(tmp_path))
    assert np.array_equal(dl.dynamics(arm()).mass_matrix(np.zeros(2)), right)


def test_the_digest_of_the_package_changes_with_every_line_that_traces(tmp_path):
    package = tmp_path / "dalembert"
    for name in ("recursive", "model/joints", "codegen", "api"):
        shutil.copytree(ROOT / "src" / "dalembert" / name, package / name)
    digest = execution.package_digest.__wrapped__
    known = digest(package)
    assert digest(package) == known
    with open(package / "api" / "compiled_calls.py", "a") as file:
        file.write("# nobody traces here\n")
    assert digest(package) == known
    for path in ("recursive/forward.py", "model/joints/revolute.py", "codegen/program.py"):
        (package / path).write_text((package / path).read_text().replace("self", "this", 1))
        assert digest(package) != known
        known = digest(package)
    (package / "recursive" / "composite_inertia.py").rename(package / "recursive" / "another.py")
    assert digest(package) not in (known, None)
    assert digest(tmp_path / "nowhere") is None


def test_packages_outside_the_digest_are_higher_layers():
    """Packages that are not in the digest cannot be imported by the tracing code."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [line.replace("dalembert.", "").split(" | ") for line in contract["layers"]]
    above = [name for layer in layers[: layers.index(["recursive"])] for name in layer]
    assert sorted(above) == sorted(execution._ABOVE)


def test_user_defined_classes_are_not_stored(patch, tmp_path):
    class Mine(Revolute):
        """A class whose source is unknown."""

    model = arm().description
    (joint,) = model.bodies[0].joints
    mine = Mine(**{name: getattr(joint, name) for name in (each.name for each in fields(joint))})
    model = model.replaced(bodies=(replace(model.bodies[0], joints=(mine,)), *model.bodies[1:]))
    dl.dynamics(model).mass_matrix(np.zeros(2))
    assert not list(tmp_path.glob("*.text"))


def test_a_damaged_record_is_created_again(patch, tmp_path):
    first = dl.dynamics(arm()).mass_matrix(np.zeros(2))
    for path in tmp_path.glob("*.text"):
        path.write_bytes(path.read_bytes()[:-1])
    _next_process()
    assert np.array_equal(dl.dynamics(arm()).mass_matrix(np.zeros(2)), first)


def test_a_program_round_trips_through_bytes():
    x, y = GRAPH.symbols(["x", "y"])
    outputs = [GRAPH.function("sin", x) * 0.1 + y, GRAPH.interpolate(table([0, 1, 3], [0.1, 2, 2]), x)]
    program = program_of(outputs, ["x", "y"])
    again = program_from_tuples(from_bytes(to_bytes(program_to_tuples(program))))
    assert again == program
    assert again.digest == program.digest
    assert np.array_equal(again.tables[0].at(np.linspace(-1, 4, 9)), program.tables[0].at(np.linspace(-1, 4, 9)))
