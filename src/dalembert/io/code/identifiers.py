"""Names in code: those of the model where they can stand, and none twice."""

from __future__ import annotations

import re

from dalembert.symbolic.reserved_symbols import Kind, parted

# words that mean something in one of the languages, or to the text around the lines
_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register restrict
    return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false NULL NAN INFINITY
    HUGE_VAL EOF linux unix main errno gamma signgam j0 j1 jn y0 y1 yn exp log pow abs floor ceil fabs hypot
    and as assert async await class def del elif except finally from global import in is lambda nonlocal not or pass raise try
    with yield None True False self np jnp jax ca casadi numba njit math len range list tuple float print sum min max rows
    begin end let local module mutable quote where macro baremodule export using function catch abstract primitive type im row
    otherwise parfor spmd persistent classdef methods properties events enumeration ans eps inf nan i j pi table interpolated
    t y p q qd out zeros size numel choose symmetric_factor symmetric_solve general_factor general_solve Parameters INITIAL
    parameters initial constants start rhs accelerations mass_matrix forcing constraint_matrix constraint_forcing kinematics
    reactions multipliers jacobian none ifelse power seed
"""
_RESERVED = frozenset(_WORDS.split())


def plain(name: str) -> str:
    """A name of letters, digits and underscores that begins with a letter.

    >>> plain("dot(theta1)"), plain("vx(upper-arm)"), plain("2 links"), plain("p(x)")
    ('theta1_dot', 'vx_upper_arm', 'x2_links', 'p_x')
    """
    kind, inner = parted(name)
    found = {Kind.RATE: f"{inner}_dot", Kind.ACCELERATION: f"{inner}_ddot"}.get(kind, name) if kind else name
    found = re.sub(r"\W+", "_", found, flags=re.ASCII).strip("_")
    return found if found[:1].isalpha() else f"x{found}"


class Namer:
    """Gives names, none of them twice and none that a language keeps for itself.

    >>> namer = Namer()
    >>> namer.new("x"), namer.new("x"), namer.new("double"), namer.new("y")
    ('x', 'x_2', 'double_2', 'y_2')
    """

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(_RESERVED | taken)

    def new(self, name: str) -> str:
        """The name, or one like it that is free."""
        wanted = plain(name)
        found, k = wanted, 2
        while found in self._taken:
            found, k = f"{wanted}_{k}", k + 1
        self._taken.add(found)
        return found
