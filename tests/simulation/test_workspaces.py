"""The memory of a process with many models is bounded: equations and machine code of old models are freed."""

import gc
import weakref

import numpy as np
import pytest

import dalembert as dl
from dalembert.api import compiled_calls
from dalembert.codegen.llvm import _machine_code
from dalembert.model.model import Model
from dalembert.recursive import plan
from dalembert.simulation import workspace

KEPT, MODELS = 4, 12


def pendulum(i: int) -> Model:
    """Pendulums that differ in their content, and in the number of bodies, so that their machine code differs, too."""
    model = dl.Model("pendulum", gravity=(0, -9.81, 0))
    for k in range(1 + i % 3):
        model.coordinate(f"q{k}", start=0.5)
        joint = model.revolute((0, 0, 1), f"q{k}", position=(0.1 * i, 0, 0))
        parent = f"link{k - 1}" if k else "world"
        model.body(f"link{k}", parent=parent, joint=joint, mass=1, center=(0, 1, 0), inertia=(1, 1, 1))
    return model


@pytest.fixture
def codes(monkeypatch):
    """All machine code that is loaded, as weak references."""
    found, load = [], _machine_code.MachineCode.__init__

    def counted(code, *arguments):
        load(code, *arguments)
        found.append(weakref.ref(code._engine))

    monkeypatch.setattr(_machine_code.MachineCode, "__init__", counted)
    return found


def alive(references):
    gc.collect()
    return sum(reference() is not None for reference in references)


def test_old_equations_and_their_machine_code_are_freed(codes, monkeypatch):
    monkeypatch.setattr(workspace, "_MAX_WORKSPACES", KEPT)
    counts = []
    for i in range(MODELS):
        dl.simulate(pendulum(i), 0.01, samples=2)
        counts.append(alive(codes))
    assert len(workspace._WORKSPACES) == KEPT
    assert counts[KEPT - 1] >= KEPT
    assert counts[-1] <= max(counts[KEPT - 1 : KEPT + 3]) < len(codes)


def test_machine_code_lives_as_long_as_its_equations(codes, monkeypatch):
    monkeypatch.setattr(workspace, "_MAX_WORKSPACES", 1)
    first = dl.derive(pendulum(0), "lagrange")
    before = first.accelerations([0.5], [0.0])
    for i in range(1, 3):
        dl.derive(pendulum(i), "lagrange").accelerations([0.5] * (1 + i), [0.0] * (1 + i))
    assert alive(codes) >= 2
    assert first.accelerations([0.5], [0.0]) == before


def test_compiled_functions_of_old_models_are_freed(codes):
    most = compiled_calls.calls_of.cache_info().maxsize
    assert most is not None
    assert most == plan._plan.cache_info().maxsize
    for i in range(most + MODELS):
        dl.dynamics(pendulum(3 * i)).forward(*np.zeros((3, 1, 8)))
    assert alive(codes) <= most < len(codes)
