"""The linear–quadratic regulator: the gain that is best for ∫ xᵀQx + uᵀRu dt along ẋ = A x + B u.

u = u₀ − K (x − x₀),   K = R⁻¹ Bᵀ P,   Aᵀ P + P A − P B R⁻¹ Bᵀ P + Q = 0,   x = (q, q̇)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from dalembert.analysis.controllers.pid import driven
from dalembert.analysis.linearization import Linearization
from dalembert.analysis.linearize import linearize
from dalembert.arguments import numbers_given
from dalembert.errors import InputError
from dalembert.model.description import Elements
from dalembert.model.loads.joint_friction import JointFriction
from dalembert.model.python_laws import State


class LQR:
    """u = u₀ − K (x − x₀) with x = (q, q̇) of the whole model; continuous or sampled.

    `Q` and `R` are matrices, their diagonals, or one number. `LQR.about(model, ...)` finds A and B from the equations.

    >>> law = LQR([[0, 1], [0, 0]], [[0], [1]], Q=1.0, R=1.0)  # a double integrator
    >>> law.K.round(6).tolist()  # (1, √3)
    [[1.0, 1.732051]]
    """

    bodies: tuple[str, ...] = ()  # whose joints it drives, where it was found from a model

    def __init__(
        self,
        A: npt.ArrayLike,
        B: npt.ArrayLike,
        Q: npt.ArrayLike,
        R: npt.ArrayLike,
        *,
        x0: npt.ArrayLike | None = None,
        u0: npt.ArrayLike | None = None,
    ) -> None:
        self.A, self.B = numbers_given(A, "LQR, A"), numbers_given(B, "LQR, B")
        n = len(self.A)
        if self.A.shape != (n, n) or self.B.ndim != 2 or len(self.B) != n:
            raise InputError(f"LQR: A is {self.A.shape} and B {self.B.shape}. Expected (n, n) and (n, inputs).")
        m = self.B.shape[1]
        self.K = self._inner = _gain(self.A, self.B, _weights(Q, n, "Q"), _weights(R, m, "R"))
        self.x0 = np.zeros(n) if x0 is None else _vector(x0, n, "x0")
        self.u0 = np.zeros(m) if u0 is None else _vector(u0, m, "u0")

    @property
    def poles(self) -> np.ndarray:
        """The eigenvalues of A − B K, all in the left half plane."""
        return np.linalg.eigvals(self.A - self.B @ self._inner)

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The efforts at a state."""
        return self.u0 - self.K @ (np.concatenate([state.q, state.qd]) - self.x0)

    @classmethod
    def about(
        cls,
        model: Elements,
        Q: npt.ArrayLike,
        R: npt.ArrayLike,
        *,
        q: npt.ArrayLike | None = None,
        actuated: Sequence[str] | None = None,
    ) -> Self:
        """The regulator of a model about a position of rest, by default where it starts, driven along `actuated` coordinates.

        A and B are those of `dl.linearize`, without friction in joints, so loops stay closed. The forces that hold the model
        there are u₀; where coordinates that nothing drives would need one, the position is refused. `Q` weighs x = (q, q̇).

        >>> import dalembert as dl, numpy as np
        >>> arm = dl.load("robot-2-link").copy().start([np.pi / 2, 0.0], [0, 0])  # upright
        >>> law = LQR.about(arm, Q=[1, 1, 0.1, 0.1], R=0.01, actuated=["q1"])
        >>> law.bodies, bool((law.poles.real < 0).all())
        (('upper',), True)
        """
        names, bodies = driven(model, actuated, "LQR")
        n = len(model.coordinate_names)
        place = model.initial[0] if q is None else _vector(q, n, "q")
        about = linearize(_undriven(model), at=place, inputs=names, moving=True)
        _require_rest(about, names)
        weights = about.shapes.T @ _weights(Q, 2 * n, "Q") @ about.shapes
        law = cls(about.A, about.B, weights, R, u0=about.u0)
        law.K, law.x0, law.bodies = law.K @ about.onto, np.concatenate([about.q, about.qd]), bodies
        return law


def _undriven(model: Elements) -> Elements:
    """The model without friction in joints, and without what laws in Python drive."""
    ruled = {load for controller in model.controllers for load in controller.loads}
    loads = (load for load in model.loads if load.name not in ruled and not isinstance(load, JointFriction))
    return model.replaced(loads=tuple(loads), controllers=())


def _require_rest(about: Linearization, names: Sequence[str]) -> None:
    """Raise where a coordinate that nothing drives would need a force."""
    if about.kind == "equilibrium" and not about.reason:
        return
    raise InputError(
        f"LQR: q = {about.q.tolist()} is no position of rest, whatever drives {', '.join(names)}: {about.reason}. "
        "Expected a position that the driven coordinates can hold. dl.equilibrium(model, keep=[...]) finds some."
    )


def _gain(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """K of the algebraic Riccati equation."""
    from scipy.linalg import solve_continuous_are

    try:
        P = solve_continuous_are(A, B, Q, R)
        K = np.linalg.solve(R, B.T @ P)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise InputError(f"LQR: there is no best gain ({error}). {_ADVICE}") from None
    if not (np.linalg.eigvals(A - B @ K).real < 0).all():
        raise InputError(f"LQR: what was found does not hold the model. {_ADVICE}")
    return K


_ADVICE = "Expected inputs that reach every unstable motion, Q ≥ 0 that sees it, and R > 0."


def _weights(given: npt.ArrayLike, n: int, name: str) -> np.ndarray:
    found = numbers_given(given, f"LQR, {name}")
    if found.ndim < 2 and found.shape in ((), (n,)):
        found = np.diag(np.broadcast_to(found, (n,)))
    if found.shape != (n, n):
        raise InputError(
            f"LQR, {name}: got shape {found.shape}. Expected {(n, n)}, its diagonal ({n},), or one number."
        )
    return found


def _vector(given: npt.ArrayLike, n: int, name: str) -> np.ndarray:
    found = numbers_given(given, f"LQR, {name}")
    if found.shape != (n,):
        raise InputError(f"LQR, {name}: got shape {found.shape}. Expected ({n},).")
    return found
