"""Joint stops: compliant contact at the limits of a joint."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

from dalembert.errors import InputError, Problem
from dalembert.model.evaluation import value
from dalembert.model.keys import optional_constant
from dalembert.model.loads.base import Applied, InJoint, LoadKinematics
from dalembert.model.loads.contact_laws import Walls
from dalembert.model.record import Arguments, argument, builder_of, record
from dalembert.model.reference_model import MotionProbe, VirtualWork, product
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.symbols import Formula, Lowering, Written

if TYPE_CHECKING:
    from dalembert.model.model import Model


@record
class JointStop(Walls, InJoint):
    """Add stops to a joint at `lower` and `upper`, or at one of them; by default at the limits of its coordinate.

    At a penetration depth δ > 0 the force is stiffness × δ^exponent (1 + dissipation × δ̇) + damping × δ̇, or `push`, a
    formula of `depth` and `rate`, but never attractive.

    >>> import dalembert as dl
    >>> model = dl.Model("door").coordinate("a", 0.0, 2.0)
    >>> _ = model.body("door", joint=model.revolute((0, 0, 1), "a"), mass=20, inertia=(4, 4, 4))
    >>> _ = model.limit("a", lower=0, upper=1.5).joint_stop("door", stiffness=400, name="stopper")
    >>> run = dl.simulate(model, 1.5)
    >>> [round(each.t, 6) for each in run.switchings], round(float(run.qd[0, -1]), 9)  # in contact for π √(4/400)
    ([0.75, 1.064159], -2.0)
    """

    kind = "joint_stop"

    lower: Formula | None = argument(
        optional_constant,
        None,
        about="a constant: the lower stop",
        absent="none; without both, the [limits](#limits) of the joint's coordinate",
    )
    upper: Formula | None = argument(
        optional_constant,
        None,
        about="a constant: the upper stop",
        absent="none; without both, the [limits](#limits) of the joint's coordinate",
    )

    @classmethod
    def complete_arguments(cls, model: Model, arguments: Arguments, where: str) -> Arguments:
        if arguments["lower"] is not None or arguments["upper"] is not None:
            return arguments
        coordinate = _coordinate_of(model, arguments["body"], arguments["joint"], arguments["motion"])
        ends = _ends_of(model, coordinate) if coordinate in model.limits else {}
        if all(end is None for end in ends.values()):
            which = f"the coordinate '{coordinate}' of the joint" if coordinate else "the joint"
            advice = "Give lower or upper, or set the limits of the coordinate first."
            raise InputError(f"{where}: got neither lower nor upper, and {which} has no limits. {advice}")
        return {**arguments, **ends}

    @property
    def walls(self) -> tuple[Formula | None, Formula | None]:
        return self.lower, self.upper

    def reversed(self) -> Self:
        ends = {"lower": self.upper, "upper": self.lower}
        return replace(self, **{key: None if end is None else -end for key, end in ends.items()})

    def law(self) -> tuple[str, str]:
        ends = (("below", self.lower), ("above", self.upper))
        where = " and ".join(f"{side} {formula_string(end)}" for side, end in ends if end is not None)
        return self.kind, f"{where}: {self.press_description()}"

    def problems(self, table: dict[str, float]) -> list[Problem]:
        found = self.press_faults(self.title, table)
        if self.lower is None and self.upper is None:
            found.append(Problem(self.title, "it has neither lower nor upper.", "Give one of them, or both."))
        if self.lower is not None and self.upper is not None:
            low, high = value(self.lower, table), value(self.upper, table)
            if not low < high:
                found.append(Problem(self.title, f"lower is {low:g} and upper is {high:g}.", "Expected lower < upper."))
        return found

    def lowering(self, motion: LoadKinematics) -> Lowering:
        return self.measured(motion, *self._state(motion))

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        return [self._along(motion, self.lowering(motion)(self.resistance))]

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        motion = self._joint_motion(probe)
        return product(self.name, self.restoring_force(probe, motion), motion)


@builder_of(JointStop, in_files=False)
def joint_stops(
    model: Model,
    *,
    stiffness: Written = 0,
    damping: Written = 0,
    dissipation: Written = 0,
    exponent: Written = 1,
    push: Written | None = None,
) -> Model:
    """Add stops to all joints whose coordinates have limits, with the same law: see `joint_stop`.

    Parameters
    ----------
    model : Model
        The model to which it is added.
    stiffness : formula, default 0
        Stiffness of the stops.
    damping : formula, default 0
        Damping.
    dissipation : formula, default 0
        Dissipation factor, s/m or s/rad.
    exponent : formula, default 1
        Exponent of the penetration depth.
    push : formula, optional
        The force as a formula of `depth` and `rate`, instead of this law.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("door").coordinates("a")
    >>> _ = model.body("door", joint=model.revolute((0, 0, 1), "a"), mass=20, inertia=(4, 4, 4))
    >>> model.limit("a", lower=0, upper=1.5).joint_stops(stiffness=400, dissipation=2).loads[0].law()[1]
    'below 0 and above 3/2: stiffness 400, dissipation 2'
    """
    law = {"stiffness": stiffness, "damping": damping, "dissipation": dissipation, "exponent": exponent}
    motions = [(b.name, i, k) for b in model.bodies for i, j in enumerate(b.joints) for k in range(len(j.values))]
    known = [(motion, _coordinate_of(model, *motion)) for motion in motions]
    limited = [(motion, c) for motion, c in known if c in model.limits and {*_ends_of(model, c).values()} != {None}]
    if not limited:
        fact = "no joint has a coordinate with a lower or upper limit"
        raise InputError(f"joint_stops: {fact}. Set limits first, or use `joint_stop` with lower and upper.")
    for (body, joint, motion), coordinate in limited:
        model.joint_stop(body, joint=joint, motion=motion, name=f"stop of {coordinate}", push=push, **law)
    return model


def _coordinate_of(model: Model, body: str, joint: int, motion: int) -> str:
    """The coordinate of a joint motion; empty if the motion is another formula."""
    found = next((each.joints for each in model.bodies if each.name == body), ())
    values = found[joint].values if joint < len(found) else ()
    formula = values[motion] if motion < len(values) else None
    return formula.name if formula is not None and formula.is_Symbol else ""


def _ends_of(model: Model, coordinate: str) -> dict[str, object]:
    limits = model.limits[coordinate]
    return {"lower": limits.lower, "upper": limits.upper}
