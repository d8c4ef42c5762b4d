"""The page of contents: every stage from a description to evidence, in order.

load ──► check ──► derive ──► simulate ──► prove, verify, compare
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dalembert import formalisms, gallery, importers
from dalembert.analysis import assembly, following
from dalembert.analysis.assembly import Assembly
from dalembert.analysis.dynamics import forward_dynamics as forward_dynamics
from dalembert.analysis.dynamics import inverse_dynamics as inverse_dynamics
from dalembert.analysis.dynamics import mass_matrix as mass_matrix
from dalembert.analysis.mobility import Mobility
from dalembert.analysis.mobility import mobility as mobility_report
from dalembert.errors import InputError, nearest
from dalembert.evidence.comparison import compare as compare
from dalembert.evidence.proof import prove as prove
from dalembert.evidence.verification import verify as verify
from dalembert.handles import Equations, Trajectory, Workspace
from dalembert.handles.simulation import start_state
from dalembert.kinematics.contacts import with_contacts
from dalembert.model import Elements, Model
from dalembert.structure import facts_of


def load(source: str | Path, **options: Any) -> Model:
    """A model from the gallery, by name, or from a file: a model file or robot table (.toml, .csv, .json, .m), or a URDF.

    Options go to the reader: `floating`, `merge_fixed`, `friction` for a URDF; `quaternion`, `model` for ReDySim's inputs; the
    options of a gallery family, such as `loops`. A file that says `assemble = true` is assembled here.

    >>> load("double-pendulum").coordinate_names
    ('theta1', 'theta2')
    """
    path = Path(source)
    if str(source) in gallery.names():
        model = gallery.load(str(source), **options)
    elif path.suffix.lower() in importers.READERS:
        model = importers.read(path, **options)
    elif os.path.exists(path):
        raise InputError(
            f"'{source}' is not a model file that can be read. Expected one of {', '.join(importers.READERS)}."
        )
    else:
        raise InputError(
            f"there is no model '{source}'. {nearest(str(source), gallery.names())} "
            f"Expected a gallery name or the path of a file ({', '.join(importers.READERS)})."
        )
    return assembled(model) if model.assemble_start else model


def assembled(model: Model) -> Model:
    """The model with its initial state brought onto the constraints; what moved is noted.

    >>> model = Model("bead").coordinates("x", "y").holonomic("x**2 + y**2 - 1").start([2, 0], [0, 0])
    >>> _ = model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    >>> assembled(model).initial[0].round(9).tolist()
    [1.0, 0.0]
    """
    found = assemble(model)
    out = model.copy()
    out.start(found.q.tolist(), found.qd.tolist())
    out.assemble_start = False
    return out.note(f"the initial state was assembled: {found}")


def derive(
    model: Elements, formalism: str = "lagrange", *, engine: str | None = None, mode: str | None = None
) -> Equations:
    """The equations of motion of a model by one formalism.

    `engine` is heyoka or portable. `mode` is fused (the whole right-hand side is one graph) or assembled (a rank-revealing
    solve in numbers at every step, for constraints whose rank changes along the way); by default the program chooses.

    >>> derive(load("cart-pendulum"), "gibbs_appell").n_states
    5
    """
    return Equations(Workspace(model, engine, mode), formalism)


def assemble(
    model: Model,
    q: Any = None,
    qd: Any = None,
    *,
    t: float = 0.0,
    weights: Mapping[str, float] | None = None,
    keep: Sequence[str] = (),
) -> Assembly:
    """The state nearest to (q, qd), in the metric of the mass matrix, that fulfils the constraints, and what it moved.

    Coordinates in `weights` are heavier to move, those in `keep` stay where they are.

    >>> model = Model("bead").coordinates("x", "y").holonomic("x**2 + y**2 - 1", name="ring")
    >>> _ = model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    >>> assemble(model, [1.1, 0.0], [0.0, 2.0]).q.tolist()
    [1.0, 0.0]
    """
    model.refuse_canonical("assemble")
    written = _written(model)
    return assembly.assemble(written, *start_state(written, q, qd), t, weights=weights, keep=keep)


def branches(
    model: Model, q: Any = None, qd: Any = None, *, t: float = 0.0, keep: Sequence[str] = ()
) -> list[Assembly]:
    """The different ways to close the loops of a model with the coordinates in `keep` held, the nearest first.

    They are looked for from many guesses with a fixed seed, so a rare branch can be missed.

    >>> model = Model("bead").coordinates("x", "y").holonomic("x**2 + y**2 - 1", name="ring")
    >>> _ = model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    >>> [float(a.q[1].round(6)) for a in branches(model, [0.6, 0.5], keep=["x"])]
    [0.8, -0.8]
    """
    model.refuse_canonical("branches")
    written = _written(model)
    return assembly.all_branches(written, *start_state(written, q, qd), t, keep=keep)


def recut(model: Model, loop: str, at: str | None = None) -> Model:
    """The same mechanism with `loop` cut at the joint that carries body `at`, or where the program thinks best.

    >>> model = Model("four bars", gravity=(0, -9.81, 0)).coordinates("a", "b", "c")
    >>> _ = model.body("crank", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(0.5, 0, 0))
    >>> _ = model.body("coupler", parent="crank", joint=model.revolute((0, 0, 1), "b", position=(1, 0, 0)), mass=1)
    >>> _ = model.body("rocker", joint=model.revolute((0, 0, 1), "c", position=(2, 0, 0)), mass=1, center=(0.5, 0, 0))
    >>> _ = model.loop("pin", ("coupler", "rocker"), model.revolute((0, 0, 1), 0, position=(2, 0, 0)), position=(1, 0, 0))
    >>> recut(model, "pin", at="coupler").coordinate_names
    ('a', 'c', 'pin')
    """
    from dalembert.analysis.recut import recut as work

    model.require_sound()
    model.refuse_canonical("recut")  # momenta belong to the coordinates, and those change
    return work(model, loop, at)


def mobility(model: Model) -> Mobility:
    """Degrees of freedom, redundant constraints by name, and singular configurations.

    >>> mobility(load("cart-pendulum")).degrees_of_freedom
    2
    """
    written = _written(model)
    return mobility_report(written, facts_of(written))


def _written(model: Elements) -> Elements:
    """The model with contacts and norms as formulas, sound."""
    model.require_sound()
    return with_contacts(model)


def simulate(
    model: Elements, duration: float | None = None, *, formalism: str = "lagrange", **options: Any
) -> Trajectory:
    """The motion of a model from its initial state; options as in `Equations.simulate`."""
    return derive(model, formalism).simulate(duration, **options)


def feedforward(
    model: Model,
    motion: Mapping[str, Any],
    duration: float,
    samples: int = 501,
    *,
    actuated: Sequence[str] | None = None,
) -> Model:
    """The model driven by the torques that a designed motion takes: formulas of t by coordinate. It starts on the motion.

    Inverse dynamics at `samples` times gives the torques, and tables of time apply them; nothing corrects an error.

    >>> model = feedforward(load("two-link-robot"), {"q1": "0.1*t**2", "q2": "0.2*t**2"}, 1.0)
    >>> abs(simulate(model, 1.0, samples=11).q[:, -1] - [0.1, 0.2]).max() < 1e-4
    np.True_
    """
    return following.feedforward(model, motion, duration, samples, actuated=actuated)


def computed_torque(model: Model, motion: Mapping[str, Any], gains: tuple[float, float] = (100.0, 20.0)) -> Model:
    """The model with a computed-torque controller that follows a designed motion: errors die out by ë + β ė + α e = 0.

    `gains` are (α, β); the torques of the controller are the multipliers of the run.

    >>> model = computed_torque(load("two-link-robot"), {"q1": "0.1*t**2", "q2": "0.2*t**2"})
    >>> abs(simulate(model, 1.0, samples=11).q[:, -1] - [0.1, 0.2]).max() < 1e-9
    np.True_
    """
    return following.computed_torque(model, motion, gains)


def citation(formalism: str) -> str:
    """The BibTeX entry of the source of a formalism.

    >>> citation("kane").splitlines()[0]
    '@book{kane1985,'
    """
    return formalisms.find(formalism).ABOUT.citation
