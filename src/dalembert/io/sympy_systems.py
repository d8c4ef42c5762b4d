"""Conversion of a system of SymPy to a model defined by energies.

Kane's equations use the declared velocities, which need not be rates of positions: the center of a rolling disk has a velocity
but no position. Energies of such velocities would give different equations. So every velocity of a mass center is tested for
integrability: it is the rate of a function of q and t if ∂J_i/∂q_j = ∂J_j/∂q_i for v = J q̇ + c. If it is not, three coordinates
are added with nonholonomic constraints ṙ = v; loads do the same work in both descriptions.

`SympyMechanics` has the same parts for all classes of SymPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import InputError, NotApplicableError
from dalembert.model.model import Model

_SEED, _TRIALS, _SMALL = 7, 3, 1e-9


def is_sympy_system(source: object) -> bool:
    """Is this a system of SymPy's mechanics?"""
    return type(source).__module__.startswith("sympy.physics.mechanics") and type(source).__name__ in CLASSES


def read_sympy(
    system: object,
    *,
    parameters: Mapping[Expression, float] | None = None,
    start: Mapping[Expression, float] | None = None,
    rates: Mapping[Expression, float] | None = None,
    name: str = "sympy",
) -> Model:
    """Convert a System, KanesMethod or LagrangesMethod; `parameters` are the values of all its symbols.

    Functions of time that are not coordinates, such as specified forces, are also parameters. `start` and `rates` are the
    initial positions and velocities by coordinate, zero by default.

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
    >>> x, m, k = dynamicsymbols("x"), *symbols("m k")
    >>> method = LagrangesMethod(m * x.diff() ** 2 / 2 - k * x**2 / 2, [x])
    >>> read_sympy(method, parameters={m: 1.0, k: 4.0}).coordinate_names
    ('x',)
    """
    parts = mechanics_of(system)
    return _Builder(parts, parameters or {}).model(name, start or {}, rates or {})


class _Builder:
    """Energies, forces and constraints over q and q̇."""

    def __init__(self, parts: SympyMechanics, values: Mapping[Expression, float]) -> None:
        import sympy

        from dalembert.symbolic.sympy_bridge import time_symbol

        self._parts, self._time = parts, time_symbol()
        self._rates = [x.diff(self._time) for x in parts.q]
        # specified functions become symbols
        specified = {key: sympy.Symbol(key.func.__name__) for key in values if isinstance(key, sympy.Function)}
        self._values = {specified.get(key, key): value for key, value in values.items()}
        self._table = {**parts.speeds, **specified}
        self._q, self._kinetic, self._added = list(parts.q), sympy.S(0), list[Expression]()

    def model(self, name: str, start: Mapping[Expression, float], rates: Mapping[Expression, float]) -> Model:
        parts, n = self._parts, len(self._parts.q)
        forces = self._forces()
        if parts.lagrangian is not None:
            at_rest = parts.lagrangian.subs(dict.fromkeys(self._rates, 0))
            kinetic, potential = self._in_rates(parts.lagrangian - at_rest), self._in_rates(-at_rest)
        else:
            for body in parts.bodies:
                self._add_body(body)
            kinetic, potential = self._kinetic, 0
        holonomic = [self._in_rates(phi) for phi in parts.holonomic]
        nonholonomic = self._independent([self._in_rates(psi) for psi in parts.velocity], holonomic) + self._added
        self._require_values([kinetic, potential, *forces, *holonomic, *nonholonomic])
        model = Model.from_energies(
            name,
            coordinates=self._q,
            kinetic=kinetic,
            potential=potential,
            forces=[*forces, *[0] * (len(self._q) - n)],
            holonomic=holonomic,
            nonholonomic=nonholonomic,
            parameters=self._values,
        )
        for what, given in (("start", start), ("rates", rates)):
            if unknown := [str(x) for x in given if x not in self._q]:
                raise InputError(
                    f"{what}: {', '.join(unknown)} is not a coordinate. Expected any of {', '.join(map(str, self._q))}."
                )
        return model.start([start.get(x, 0.0) for x in self._q], self._started(start, rates))

    def _started(self, start: Mapping[Expression, float], rates: Mapping[Expression, float]) -> list[float]:
        """The initial velocities; added coordinates start with the velocities of their mass centers."""
        q = self._parts.q
        at = {rate: rates.get(x, 0.0) for x, rate in zip(q, self._rates, strict=True)}
        here: dict[Expression, float] = {x: start.get(x, 0.0) for x in q} | {self._time: 0.0} | self._values
        own = self._q[len(q) :]
        moved = [-psi.subs({x.diff(self._time): 0.0 for x in own}) for psi in self._added]
        found = [float(v.subs(at).subs(here)) for v in moved]
        return [*at.values(), *(rates.get(x, v) for x, v in zip(own, found, strict=True))]

    def _in_rates(self, expression: Expression) -> Expression:
        """Replace speeds by rates; SymPy's `msubs` does not change derivatives."""
        from sympy.physics.mechanics import msubs

        return msubs(expression, self._table) if self._table else expression

    def _components(self, vector: Expression) -> list[Expression]:
        return [self._in_rates(x) for x in vector.to_matrix(self._parts.frame)]

    def _forces(self) -> list[Expression]:
        """Q_i = Σ F·∂v/∂q̇_i + T·∂ω/∂q̇_i."""
        found = [0] * len(self._parts.q)
        for where, vector in self._parts.loads:
            velocity, load = self._components(self._velocity(where)), self._components(vector)
            for i, rate in enumerate(self._rates):
                found[i] += sum(f * v.diff(rate) for f, v in zip(load, velocity, strict=True))
        return found

    def _velocity(self, where: Expression) -> Expression:
        """The declared velocity of a point, or angular velocity of a frame."""
        frame = self._parts.frame
        try:
            if hasattr(where, "ang_vel_in"):
                return where.ang_vel_in(frame)
            return getattr(where, "masscenter", where).vel(frame)
        except ValueError as error:
            raise InputError(f"the velocity of '{where}' is not declared: {error}. Set it in SymPy.") from error

    def _add_body(self, body: Expression) -> None:
        """Add the kinetic energy of a body, with additional coordinates if its velocity is not integrable."""
        from sympy.physics.mechanics import dynamicsymbols

        point = getattr(body, "masscenter", None) or body.point
        velocity = self._components(self._velocity(point))
        inertia: Expression = getattr(body, "central_inertia", 0)
        if inertia != 0:
            self._require_consistent_rotation(body)
        if self._integrable(velocity):
            self._kinetic += self._in_rates(body.kinetic_energy(self._parts.frame))
            return
        own = dynamicsymbols([f"{body.name}_{axis}" for axis in "xyz"])
        self._q += own
        moved = [x.diff(self._time) for x in own]
        self._kinetic += self._in_rates(body.mass) * sum(v * v for v in moved) / 2
        if inertia != 0:
            omega = body.frame.ang_vel_in(self._parts.frame)
            self._kinetic += self._in_rates(omega.dot(inertia & omega)) / 2
        self._added += [rate - v for rate, v in zip(moved, velocity, strict=True)]

    def _integrable(self, velocity: list[Expression]) -> bool:
        """Is v = J q̇ + c the rate of a function of q and t?"""
        q, t = self._parts.q, self._time
        at_rest = dict.fromkeys(self._rates, 0)
        gaps = []
        for v in velocity:
            J, c = [v.diff(rate) for rate in self._rates], v.subs(at_rest)
            gaps += [J[i].diff(q[j]) - J[j].diff(q[i]) for i in range(len(q)) for j in range(i)]
            gaps += [J[i].diff(t).subs(at_rest) - c.diff(q[i]) for i in range(len(q))]
        return bool((np.abs(self._at_trials(gaps)) < _SMALL).all())

    def _require_consistent_rotation(self, body: Expression) -> None:
        """Raise if an angular velocity is not consistent with the orientation."""
        frame = self._parts.frame
        try:
            R = frame.dcm(body.frame)
        except ValueError as error:
            raise NotApplicableError(
                f"body '{body.name}': its frame has no orientation in '{frame.name}'. Orient it: an angular velocity alone "
                "does not define an orientation."
            ) from error
        spin = R.T * R.diff(self._time)
        omega = body.frame.ang_vel_in(frame).to_matrix(body.frame)
        gaps = [spin[2, 1] - omega[0], spin[0, 2] - omega[1], spin[1, 0] - omega[2]]
        if (np.abs(self._at_trials([self._in_rates(x) for x in gaps])) > _SMALL).any():
            raise NotApplicableError(
                f"body '{body.name}': its angular velocity is not consistent with its orientation. Expected consistent "
                "kinematic equations."
            )

    def _independent(self, velocity: Sequence[Expression], holonomic: Sequence[Expression]) -> list[Expression]:
        """The velocity constraints without those that follow from position constraints."""
        if not holonomic:
            return list(velocity)
        position_rows = [[phi.diff(x) for x in self._parts.q] for phi in holonomic]
        independent = []
        for psi in velocity:
            rows = [*position_rows, [psi.diff(rate) for rate in self._rates]]
            numbers = self._at_trials([x for row in rows for x in row]).T.reshape(_TRIALS, len(rows), -1)
            if any(np.linalg.matrix_rank(each, tol=_SMALL) > len(position_rows) for each in numbers):
                independent.append(psi)
        return independent

    def _at_trials(self, expressions: Sequence[Expression]) -> np.ndarray:
        """Expressions of q, q̇, t and parameters evaluated at random states (k, trials)."""
        import sympy

        names = sympy.symbols([f"v_{i}" for i in range(len(self._rates))])
        moved = [sympy.S(x).xreplace(dict(zip(self._rates, names, strict=True))) for x in expressions]
        positions = sympy.symbols([f"x_{i}" for i in range(len(self._parts.q))])
        at_rest = [x.xreplace(dict(zip(self._parts.q, positions, strict=True))) for x in moved]
        symbols = [*names, *positions, self._time]
        others = sorted({s for x in at_rest for s in x.free_symbols} - set(symbols), key=str)
        function = sympy.lambdify([*symbols, *others], at_rest, "numpy")
        rng = np.random.default_rng(_SEED)
        drawn = rng.uniform(0.2, 1.0, (len(symbols) + len(others), _TRIALS))
        found = [np.broadcast_to(x, (_TRIALS,)) for x in function(*drawn)]
        return np.array(found, dtype=float).reshape(-1, _TRIALS)

    def _require_values(self, expressions: Sequence[Expression]) -> None:
        """Raise for all symbols without a value."""
        import sympy
        from sympy.physics.mechanics import find_dynamicsymbols

        known, missing = {*self._values, self._time}, set()
        moving = {*self._q, *(x.diff(self._time) for x in self._q)}
        for each in map(sympy.S, expressions):
            missing |= {str(x) for x in each.free_symbols - known}
            missing |= {str(x) for x in find_dynamicsymbols(each) - moving}
        if missing:
            raise InputError(
                f"parameters: there is no value for {', '.join(sorted(missing))}. Expected one for each symbol, and "
                "for each function of time that is not a coordinate."
            )


CLASSES = ("System", "KanesMethod", "LagrangesMethod")
Expression = Any  # SymPy has no static types


@dataclass(frozen=True)
class SympyMechanics:
    """Bodies, loads and constraints over coordinates q and their rates; speeds are eliminated when used."""

    frame: Expression  # the inertial frame
    q: list[Expression]
    speeds: dict[Expression, Expression]  # each speed as a function of q and q̇
    bodies: list[Expression]
    loads: list[tuple[Expression, Expression]]  # a point or a frame, and a vector
    holonomic: list[Expression]
    velocity: list[Expression]  # all velocity constraints, including those that follow from `holonomic`
    lagrangian: Expression | None = None  # replaces the energies of the bodies


def mechanics_of(system: Expression) -> SympyMechanics:
    """The parts of a System, a KanesMethod or a LagrangesMethod."""
    kind = type(system).__name__
    if kind == "System" and type(system.eom_method).__name__ != "LagrangesMethod":
        return _of_system(system)
    if kind == "System":
        system, kind = system.eom_method, "LagrangesMethod"
    if kind == "LagrangesMethod":
        hol = list(system._hol_coneqs)
        loads = [(each[0], each[1]) for each in system.forcelist or ()]
        if loads and system.inertial is None:
            raise InputError("LagrangesMethod with forces: there is no inertial frame. Pass it as `frame`.")
        return SympyMechanics(system.inertial, list(system.q), {}, [], loads, hol, list(system.coneqs), system._L[0])
    _refuse_auxiliary(system._uaux)
    # f_nh + k_nh u = 0
    velocity = list(system._f_nh + system._k_nh * system.u) if len(system._f_nh) else []
    kinematic = [rate - value for rate, value in system.kindiffdict().items()]
    loads = [(each[0], each[1]) for each in system.forcelist or ()]
    q, bodies = list(system.q), list(system.bodies or ())
    return SympyMechanics(
        system._inertial, q, _solved(kinematic, q, list(system.u)), bodies, loads, list(system._f_h), velocity
    )


def _of_system(system: Expression) -> SympyMechanics:
    _refuse_auxiliary(system.u_aux)
    for body in system.bodies:
        if body.potential_energy != 0:
            raise NotApplicableError(
                f"body '{body.name}' has a potential energy, which Kane's method leaves out. Apply the force itself, or call "
                "system.form_eoms(LagrangesMethod) before."
            )
    loads = [*system.loads, *(load for actuator in system.actuators for load in actuator.to_loads())]
    q = list(system.q)
    return SympyMechanics(
        system.frame,
        q,
        _solved(list(system.kdes), q, list(system.u)),
        list(system.bodies),
        [(each[0], each[1]) for each in loads],
        list(system.holonomic_constraints),
        list(system.velocity_constraints),
    )


def _refuse_auxiliary(speeds: Sequence[Expression]) -> None:
    if len(speeds):
        raise NotApplicableError(
            f"the system has auxiliary speeds ({', '.join(map(str, speeds))}). Remove them: the multiplier of a constraint "
            "gives its reaction."
        )


def _solved(kinematic: list[Expression], q: list[Expression], u: list[Expression]) -> dict[Expression, Expression]:
    """u as functions of q and q̇, from the kinematic differential equations."""
    import sympy

    if len(u) != len(q) or len(kinematic) != len(q):
        raise NotApplicableError(
            f"the system has {len(q)} coordinates, {len(u)} speeds and {len(kinematic)} kinematic equations. Expected "
            "equal numbers: define a speed for every coordinate, and declare dependent speeds with velocity constraints."
        )
    matrix, right = sympy.linear_eq_to_matrix(kinematic, u)
    if sympy.Matrix(matrix).is_diagonal():
        values = [right[i] / matrix[i, i] for i in range(len(u))]
    else:
        values = list(matrix.LUsolve(right))
    return dict(zip(u, values, strict=True))
