"""Three turns about axes that meet in a point, as one block of D: the Euler-angle joints of papers/denoc.

Three links i, j, k turn one after the other; i and j have no mass and no size. Together they leave k any angular acceleration, so
ω̇_k is eliminated as it stands, without the angles:

    M̄ = M − Hᵀ I⁻¹ H,   f̄ = f + Hᵀ I⁻¹ (T − n):   of M̄ only the block of the force is left, 6 numbers in place of 21.

T is the moment that the three torques make up. It is found from its components along the three axes, and the accelerations of the
angles from ω̇_k, both by going from axis to axis: x' = T_x(α) T_z(θ) x along each of the ways from i to j and from j to k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.recursive.inertias import NO_BODY, Articulated, Six, six, symmetric
from dalembert.recursive.link_states import MovingLink
from dalembert.recursive.transforms import Planar, Three, Way, absent, nothing, three
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, matrix, vector
from dalembert.symbolic.elimination import lower_solve, upper_solve


@dataclass(frozen=True)
class Ball:
    """The block of D of three turns: I = L D Lᵀ, L⁻¹ H, D⁻¹ L⁻¹ H, D⁻¹ L⁻¹ (T − n), and the pivots of the angles."""

    L: Array
    hats: Array
    rows: Array
    reduced: Array
    D: tuple[Scalar, Scalar, Scalar]


def ball_ends(links: Sequence[MovingLink]) -> dict[int, int]:
    """The balls of a tree: the number of the last link of each, and of its first."""
    carried = [0] * len(links)
    for link in links:
        if link.parent >= 0:
            carried[link.parent] += 1
    out: dict[int, int] = {}
    for k, link in enumerate(links):
        i, j = k - 2, k - 1
        if i < 0 or link.parent != j or links[j].parent != i or i in out or j in out:
            continue
        bare = all(links[x].fixture.body is NO_BODY and carried[x] == 1 for x in (i, j))
        centred = all(nothing(links[x].way.after) for x in (i, j, k))
        if bare and centred and all(map(_turns, links[i : k + 1])) and all(_crosses(links[x].way) for x in (j, k)):
            out[k] = i
    return out


def _turns(link: MovingLink) -> bool:
    """True for a link that one speed turns about z, without a rotor."""
    if len(link.speeds) != 1 or len(link.fixture.axes) != 1:
        return False
    (axis,), (armature,) = link.fixture.axes, link.fixture.armature
    return all(map(absent, axis.about[:2])) and axis.about[2] == 1 and nothing(axis.along) and absent(armature)


def _crosses(way: Way) -> bool:
    """True for a way of two turns about one point, by a constant angle about x and then about z."""
    kinds = [turn.axis for turn in way.turns if isinstance(turn, Planar)]
    return kinds == [0, 2] and len(way.turns) == 2 and nothing(way.before)


def _angles(way: Way) -> tuple[Planar, Planar]:
    first, second = way.turns
    assert isinstance(first, Planar)
    assert isinstance(second, Planar)
    return first, second


def moments(second: Way, third: Way, tau: Sequence[Scalar]) -> tuple[Three, Three]:
    """T in axes of i and of k, for the torques about the axes of i, j and k: its z components there."""
    (beta, b), (gamma, c), (first, middle, last) = _angles(second), _angles(third), tau
    y = (middle - gamma.c * last) / gamma.s  # S = T_z(θ_k) T_k has the components x, y, τ_k
    y_j = gamma.c * y - gamma.s * last
    y_i = (first - beta.c * middle) / beta.s
    x = (y_i - b.c * y_j) * (1 / b.s)
    T_k = (c.c * x + c.s * y, c.c * y - c.s * x, last)
    return (b.c * x - b.s * y_j, beta.c * y_i - beta.s * middle, first), T_k


def ball_block(algebra: Algebra, M: Articulated, n: Three, ways: tuple[Way, Way], T: Three) -> Ball:
    """The block of a ball for the link k with all that hangs on it, about the centre, under the moment T."""
    L, D, shrink = _factored(M.inertia)
    hats = lower_solve(algebra, L, matrix(M.H))
    left = lower_solve(algebra, L, vector([x - y for x, y in zip(T, n, strict=True)]))
    rows = matrix([[x * by for x in row] for row, by in zip(hats, shrink, strict=True)])
    (beta, b), (gamma, _) = map(_angles, ways)
    size = beta.s * b.s * gamma.s  # the volume of the three axes: where it vanishes, two angles turn alike
    reduced = vector([x * by for x, by in zip(left, shrink, strict=True)])
    return Ball(L, hats, rows, reduced, (D[0] * size * size, D[1], D[2]))


def _factored(S: Six) -> tuple[Array, tuple[Scalar, Scalar, Scalar], tuple[Scalar, Scalar, Scalar]]:
    """L, D and D⁻¹ with S = L D Lᵀ, by three divisions."""
    xx, yy, zz, yz, xz, xy = S
    x = 1 / xx
    a, b = xy * x, xz * x
    left = yz - b * xy
    second = yy - a * xy
    y = 1 / second
    c = left * y
    third = zz - b * xz - c * left
    return matrix([[1, 0, 0], [a, 1, 0], [b, c, 1]]), (xx, second, third), (x, y, 1 / third)


def freed(M: Six, f: Three, ball: Ball) -> tuple[Six, Three]:
    """M̄ and f̄ about the centre, in axes of k."""
    S, hats, rows = symmetric(M), ball.hats.T, ball.rows.T
    rest = matrix([[S[a, b] - hats[a] @ rows[b] if a <= b else 0 for b in range(3)] for a in range(3)])
    return six(rest), three(vector([x + hat @ ball.reduced for x, hat in zip(f, hats, strict=True)]))


def ball_accelerations(
    algebra: Algebra, ball: Ball, ways: tuple[Way, Way], wd_i: Three, vd: Three, turning: tuple[Three, Three]
) -> tuple[Three, tuple[Scalar, Scalar, Scalar]]:
    """ω̇_k and the accelerations of the three angles, from ω̇_i without that of its own angle and v̇ of the centre in axes of k.

    `turning` is what the velocities add to ω̇_j and ω̇_k.
    """
    (beta, b), (gamma, c), (bent_j, bent_k) = *map(_angles, ways), turning
    wd = three(upper_solve(algebra, ball.L, ball.reduced - ball.rows @ vector(vd)))
    x, y, z = c.inwards((wd[0] - bent_k[0], wd[1] - bent_k[1], wd[2]))
    E = beta.outwards(wd_i)
    y_i = (x - bent_j[0] - b.c * E[0]) * (1 / b.s)  # across x of ω̇_j, which the last angle leaves alone
    first = (y_i - E[1]) / beta.s
    rest = (gamma.c * y - (b.c * y_i - b.s * E[0] + bent_j[1])) / gamma.s
    middle = gamma.s * y + gamma.c * rest - E[2] - beta.c * first
    return wd, (first, middle, z - rest)
