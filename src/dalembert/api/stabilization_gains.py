"""The gains of a stabilisation: one number α of first order, or Baumgarte's pair (α, β), as the formalism takes them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

from dalembert.arguments import is_real, shown
from dalembert.errors import InputError, NotApplicableError
from dalembert.formalisms.shared.about import About

_KINDS = "one number α for dirac and hamilton, or a pair (α, β)"


def read(given: object) -> tuple[float, float | None]:
    """α and β, or α and None.

    >>> read(5.0), read((25, 10))
    ((5.0, None), (25.0, 10.0))
    """
    if isinstance(given, Real) and not isinstance(given, bool):
        return _gain(given, given), None
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
        alpha, beta = given
        return _gain(alpha, given), _gain(beta, given)
    raise InputError(f"simulate, stabilization: got {shown(given)}. Expected {_KINDS}.")


def _gain(value: object, given: object) -> float:
    if isinstance(value, Real) and is_real(value) and float(value) >= 0:
        return float(value)
    raise InputError(
        f"simulate, stabilization: got {shown(given)}. Expected finite numbers that are not negative, {_KINDS}."
    )


def require_kind(about: About, alpha: float, beta: float | None) -> None:
    """Raise when the formalism does not take gains of this kind."""
    key = about.key
    if not (about.servo or about.first_order):
        raise NotApplicableError(
            f"formalism '{key}' takes no stabilization: its velocities keep the constraints, so feedback has nothing to "
            "act on. Leave it out, which projects after every step, or take another formalism."
        )
    if beta is None and not about.first_order:
        raise InputError(
            f"formalism '{key}', stabilization: got one number, {alpha:g}. Expected a pair (α, β) of φ̈ + β φ̇ + α φ = 0; "
            "one number is for dirac and hamilton."
        )
    if beta is not None and not about.servo:
        raise InputError(
            f"formalism '{key}', stabilization: got the pair ({alpha:g}, {beta:g}). Expected one number α of ċ + α c = 0; "
            "its constraints in phase space are differentiated once only."
        )
