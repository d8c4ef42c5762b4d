"""Shared fixtures: random models, nightly selection, cleared caches."""

import gc
import itertools
import os
from collections.abc import Callable
from zlib import crc32

import numpy as np
import pytest
from hypothesis import settings

from dalembert.api.compiled_calls import clear_cache
from dalembert.io import gallery
from dalembert.model.model import Model
from dalembert.recursive import execution
from dalembert.recursive.plan import forget_plans
from dalembert.simulation.workspace import forget_workspaces

# the same examples every time; HYPOTHESIS_PROFILE=nightly runs ten times as many
settings.register_profile("normal", max_examples=50, derandomize=True, deadline=None)
settings.register_profile("nightly", max_examples=500, derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "normal"))


# a test marked slow(seconds) runs nightly if it takes at least this many CPU seconds
NIGHTLY_SECONDS = 2

# all nightly tests take about an hour on two cores: `make nightly` runs a sixth of them, another one each day
PARTS = 6
PART = os.environ.get("NIGHTLY_PART", "all")


def pytest_report_header():
    return "all nightly tests" if PART == "all" else f"nightly tests: part {PART} of 0 to {PARTS - 1}"


def pytest_collection_finish():
    """Exclude the collected tests and the imported modules from garbage collections, which would visit them again and again."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark slow tests as nightly, and select the nightly tests of one part.

    Nightly tests of one gallery model are in one part and run in one process, which derives and compiles its equations once.
    """
    names = frozenset(gallery.names())
    others = []
    for item in items:
        if _seconds(item) >= NIGHTLY_SECONDS:
            item.add_marker(pytest.mark.nightly)
        if not item.get_closest_marker("nightly"):
            continue
        model = min(names.intersection(_string_parameters(item)), default="")
        if model:
            item.add_marker(pytest.mark.xdist_group(model))
        if PART != "all" and crc32((model or item.nodeid).encode()) % PARTS != int(PART):
            others.append(item)
    if others:
        config.hook.pytest_deselected(items=others)
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]


def _seconds(item):
    """The duration stated by the slow marks of a test and its parameters, the largest of them; 0 without a mark."""
    stated = [0.0]
    for mark in item.iter_markers("slow"):
        if len(mark.args) != 1 or mark.kwargs or not isinstance(mark.args[0], int | float):
            raise pytest.UsageError(
                f"{item.nodeid}: expected slow(seconds) with one number, got {mark.args}, {mark.kwargs}"
            )
        stated.append(mark.args[0])
    return max(stated)


def _string_parameters(item):
    """The parameters of a test that are strings."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return [value for value in parameters if isinstance(value, str)]


@pytest.fixture(autouse=True)
def _isolate_mutations(request):
    """Isolate a mutation test from programs compiled before and after it."""
    mutates = "monkeypatch" in request.fixturenames
    if mutates:
        request.getfixturevalue("monkeypatch").setattr(
            execution, "package_digest", lambda: None
        )  # disables the disk cache
        _clear_caches()
    yield
    if mutates:
        _clear_caches()


def _clear_caches():
    forget_workspaces()
    forget_plans()
    clear_cache()


LOADS = ("force", "torque", "joint_torque", "spring", "damper")


class Builder:
    """Build one random model: a tree of bodies, then loads, constraints and speeds; deterministic by seed."""

    def __init__(self, seed: int, max_coordinates: int) -> None:
        self.random = np.random.default_rng(seed)
        self.model = Model(f"random-{seed}", gravity=self.numbers(3, 5.0)).parameters(m=1.3, l=0.7)
        self.bodies: list[str] = []
        self.max_coordinates = max_coordinates
        self._names = (f"q{i}" for i in itertools.count(1))

    def numbers(self, count: int, size: float = 1.0) -> list[float]:
        return np.round(self.random.uniform(-size, size, count), 3).tolist()

    def pick(self, values):
        return values[int(self.random.integers(len(values)))]

    def motion(self, kinds: tuple[str, ...]) -> str:
        """The formula of a joint: a new coordinate, alone or together with older ones or time."""
        older = list(self.model.coordinate_names)
        name = next(self._names)
        self.model.coordinate(name, float(self.random.uniform(-0.5, 0.5)))
        kind = self.pick(kinds)
        if kind == "difference" and older:
            return f"{name} - {self.pick(older)}"
        if kind == "curved" and older:
            return f"{name} + 0.3*sin({name}) + 0.2*{self.pick(older)}**2"
        return f"{name} + 0.1*sin(2*t)" if kind == "driven" else name

    def joint(self, motions: tuple[str, ...]):
        rotation = self.pick(([0, 0, 0], [0, 0, 0.4], self.numbers(3)))
        placement = {"position": (*self.numbers(2), "l"), "rotation": rotation}
        kind = self.pick(("revolute", "revolute", "prismatic", "fixed"))
        if kind == "fixed" or len(self.model.coordinate_names) == self.max_coordinates:
            return self.model.fixed(**placement)
        axis = self.pick(((1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 1), self.numbers(3)))
        return getattr(self.model, kind)(axis, self.motion(motions), **placement)

    def body(self, motions: tuple[str, ...]) -> None:
        joints = [self.joint(motions) for _ in range(self.pick((1, 1, 2)))]
        if not self.model.coordinate_names:
            joints.append(self.model.revolute(self.numbers(3), self.motion(motions)))
        spread = np.diag(self.random.uniform(0.05, 0.4, 3))
        rotation, _ = np.linalg.qr(self.random.normal(size=(3, 3)))
        second = rotation @ spread @ rotation.T  # ∫ r rᵀ dm, which gives a physically consistent inertia
        name = f"body{len(self.bodies) + 1}"
        self.model.body(
            name,
            joint=joints,
            parent=self.pick(["world", *self.bodies]),
            mass=f"{self.random.uniform(0.3, 2.0):.3f}*m",
            center=self.numbers(3, 0.5),
            inertia=np.trace(second) * np.eye(3) - second,
        )
        self.bodies.append(name)

    def load(self, kind: str) -> None:
        q = self.pick(self.model.coordinate_names)
        body, other = self.pick(self.bodies), self.pick(["world", *self.bodies])
        vector = [f"{a}*cos({q} + t)" for a in self.numbers(3, 2.0)]
        ends = {"bodies": (body, "world"), "points": (self.numbers(3), [a + 3.0 for a in self.numbers(3)])}
        if kind == "force":
            self.model.force(body, vector, point=self.numbers(3), frame=other)
        elif kind == "torque":
            self.model.torque(body, vector, frame=other, reaction=self.pick((None, other)))
        elif kind == "spring":
            self.model.spring(stiffness=2.5, natural_length=self.pick((0, "l")), **ends)
        elif kind == "damper":
            self.model.damper(damping=0.8, **ends)
        else:
            moving = [(b.name, i) for b in self.model.bodies for i, j in enumerate(b.joints) if j.values]
            driven, joint = self.pick(moving)
            self.model.joint_torque(driven, f"sin(t) - 0.4*dot({q})", joint=joint)

    def holonomic(self, feedback: tuple[float, float] | None = None) -> None:
        """A plane in the space of coordinates that moves with time; the initial state lies on it, at rest."""
        starts = {c.name: c.start for c in self.model.generalized_coordinates}
        terms = [f"{a}*({name} - {start!r})" for a, (name, start) in zip(self.numbers(9), starts.items(), strict=False)]
        formula = " + ".join([*terms, "0.1*(1 - cos(t))"]).replace("+ -", "- ")
        self.model.holonomic(formula, feedback=feedback)

    def nonholonomic(self, feedback: float | None = None) -> None:
        names = self.model.coordinate_names
        q = self.pick(names)
        terms = [f"{a}*(1.5 + cos({q}))*dot({name})" for a, name in zip(self.numbers(len(names)), names, strict=True)]
        self.model.nonholonomic(" + ".join([*terms, "0.2*sin(t)"]), feedback=feedback)

    def nonlinear(self) -> None:
        """A cone in the space of velocities: homogeneous of second degree, with a derivative that depends on a coordinate."""
        *names, last = self.model.coordinate_names
        terms = " + ".join(f"dot({name})**2" for name in names)
        self.model.nonholonomic(f"{terms} - (1.5 + 0.5*sin({last}))*dot({last})**2", name="cone")
        rates = self.random.uniform(0.5, 1.0, len(names) + 1)
        self.model.start({}, dict(zip([*names, last], rates.tolist(), strict=True)))

    def redundant(self) -> None:
        """One of the constraints again in an equivalent form."""
        q = self.pick(self.model.coordinate_names)
        if self.model.holonomic_constraints:
            first = self.model.holonomic_constraints[0]
            self.model.holonomic(f"-2*({first.phi})", name="again", feedback=tuple(map(float, first.feedback)) or None)
        else:
            first = self.model.nonholonomic_constraints[0]
            gain = float(first.feedback[0]) if first.feedback else None
            factor = "2" if gain is not None else f"(1.5 + cos({q}))"
            self.model.nonholonomic(f"{factor}*({first.psi})", name="again", feedback=gain)

    def non_ideal(self) -> None:
        """Friction-like and other forces on all coordinates."""
        names = self.model.coordinate_names
        sizes = zip(names, self.numbers(len(names)), strict=True)
        self.model.non_ideal({name: f"{a}*dot({name}) + {a}*sin({names[0]} + t)" for name, a in sizes})

    def speed(self) -> None:
        names = self.model.coordinate_names
        q = self.pick(names)
        self.model.speeds(
            " + ".join(f"{a}*dot({name})" for a, name in zip(self.numbers(len(names)), names, strict=True))
            + f" + 0.3*sin({q})*dot({names[0]}) + 0.1*t"
        )


@pytest.fixture(scope="session")
def random_tree() -> Callable[..., Model]:
    """A function that makes a random model from a seed; the same seed gives the same model."""

    def make(
        seed: int,
        *,
        bodies: int = 3,
        coordinates: int = 4,
        motions: tuple[str, ...] = ("plain", "difference", "curved", "driven"),
        loads: tuple[str, ...] = (),
        holonomic: int = 0,
        nonholonomic: int = 0,
        speeds: int = 0,
        nonlinear: bool = False,
        redundant: bool = False,
        non_ideal: bool = False,
        servo: bool = False,
    ) -> Model:
        builder = Builder(seed, coordinates)
        for _ in range(bodies):
            builder.body(motions)
        for kind in loads:
            builder.load(kind)
        # at least one degree of freedom remains
        free = len(builder.model.coordinate_names) - 1
        for _ in range(min(holonomic, free)):
            builder.holonomic((3.0, 2.5) if servo else None)
        for _ in range(min(nonholonomic, free - len(builder.model.holonomic_constraints))):
            builder.nonholonomic(1.5 if servo else None)
        if nonlinear and free > len(builder.model.constraint_names):
            builder.nonlinear()
        for _ in range(min(speeds, free + 1 - len(builder.model.constraint_names))):
            builder.speed()
        if redundant and builder.model.constraint_names:
            builder.redundant()
        if non_ideal:
            builder.non_ideal()
        return builder.model

    return make
