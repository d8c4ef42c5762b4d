"""Mass matrices of links by blocks: symmetric ones by their six entries; the 6×6 matrix is never formed.

    [n; f] = [I H; Hᵀ M] [ω̇; v̇]

A rigid body has H = h× and M = m 1 with h = m d, ten numbers in all (47b); an articulated one has 6 + 9 + 6.
Symmetric 3×3 matrices are six scalars: xx, yy, zz, then yz, xz, xy, so that entry 3 + k is the one without the axis k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dalembert.recursive._transforms import NONE, Matrix, Rotation, Three, Transform, absent
from dalembert.symbolic.algebra_base import Array, Scalar, Scalars, matrix

Six: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
Rows: TypeAlias = tuple[Three, Three, Three]

_AT = ((0, 5, 4), (5, 1, 3), (4, 3, 2))  # index of the entry (a, b) of a symmetric matrix


def symmetric(S: Six) -> Array:
    """The 3×3 matrix of six entries."""
    return matrix([[S[at] for at in row] for row in _AT])


def six(S: Array) -> Six:
    """The six entries of a symmetric 3×3 matrix."""
    return (S[0, 0], S[1, 1], S[2, 2], S[1, 2], S[0, 2], S[0, 1])


def _rotate_symmetric(rotation: Rotation, S: Six) -> Six:
    """T S Tᵀ: 8 products if the rotation is planar."""
    if isinstance(rotation, Matrix):
        return six(rotation.R @ symmetric(S) @ rotation.R.T)
    k, c, s, out = rotation.axis, rotation.c, rotation.s, list(S)
    i, j = (k + 1) % 3, (k + 2) % 3
    w = s * (S[i] - S[j]) + (2 * c) * S[3 + k]
    x = s * w
    out[i], out[j], out[3 + k] = S[i] - x, S[j] + x, c * w - S[3 + k]
    out[3 + j], out[3 + i] = c * S[3 + j] - s * S[3 + i], s * S[3 + j] + c * S[3 + i]
    return tuple(out)  # type: ignore[return-value]


def rotate_rows(rotation: Rotation, H: Rows) -> Rows:
    """T H Tᵀ: 12 products if the rotation is planar."""
    if isinstance(rotation, Matrix):
        return _rows(rotation.R @ matrix(H) @ rotation.R.T)
    k, c, s = rotation.axis, rotation.c, rotation.s
    i, j = (k + 1) % 3, (k + 2) % 3
    w = s * (H[i][i] - H[j][j]) + c * (H[i][j] + H[j][i])
    x, y = s * w, c * w
    out = [list(row) for row in H]
    out[i][i], out[j][j], out[i][j], out[j][i] = H[i][i] - x, H[j][j] + x, y - H[j][i], y - H[i][j]
    out[i][k], out[j][k] = c * H[i][k] - s * H[j][k], s * H[i][k] + c * H[j][k]
    out[k][i], out[k][j] = c * H[k][i] - s * H[k][j], s * H[k][i] + c * H[k][j]
    return _rows(out)


def _rows(H: Array | Sequence[Scalars]) -> Rows:
    a, b, c = ((row[0], row[1], row[2]) for row in H)
    return (a, b, c)


@dataclass(frozen=True)
class Rigid:
    """A rigid body, or several joined rigidly: mass, mass × center of mass, and inertia about the origin."""

    m: Scalar
    h: Three
    inertia: Six

    def __add__(self, other: Rigid) -> Rigid:
        h = self.h
        added = tuple(a + b for a, b in zip(self.inertia, other.inertia, strict=True))
        return Rigid(self.m + other.m, (h[0] + other.h[0], h[1] + other.h[1], h[2] + other.h[2]), added)  # type: ignore[arg-type]

    def inwards(self, transform: Transform) -> Rigid:
        """About the origin of the parent and in its axes: Aᵀ M A of (20)."""
        if self is NO_BODY:
            return self
        body = self._shifted(transform.after)
        h, inertia = transform.inwards(body.h), body.inertia
        for rotation in reversed(transform.rotations):
            inertia = _rotate_symmetric(rotation, inertia)
        return Rigid(body.m, h, inertia)._shifted(transform.before)

    def _shifted(self, p: Three) -> Rigid:
        """About a point from which the old reference point is at p."""
        m, h, S = self.m, list(self.h), list(self.inertia)
        for k, d in enumerate(p):
            if not absent(d):
                i, j = (k + 1) % 3, (k + 2) % 3
                S[3 + j], S[3 + i] = S[3 + j] - d * h[i], S[3 + i] - d * h[j]
                new = h[k] + m * d
                more = d * (h[k] + new)
                S[i], S[j], h[k] = S[i] + more, S[j] + more, new
        return Rigid(m, (h[0], h[1], h[2]), tuple(S))  # type: ignore[arg-type]

    def articulated(self) -> Articulated:
        """The mass matrix by blocks."""
        m, (x, y, z) = self.m, self.h
        return Articulated(self.inertia, ((0, -z, y), (z, 0, -x), (-y, x, 0)), (m, m, m, 0, 0, 0))


NO_BODY = Rigid(0, NONE, (0, 0, 0, 0, 0, 0))


@dataclass(frozen=True)
class Articulated:
    """Articulated mass matrix of a link with its subtree: M̂ of (31)."""

    inertia: Six
    H: Rows
    M: Six

    def __add__(self, other: Articulated) -> Articulated:
        return Articulated(
            tuple(a + b for a, b in zip(self.inertia, other.inertia, strict=True)),  # type: ignore[arg-type]
            tuple(tuple(a + b for a, b in zip(r, s, strict=True)) for r, s in zip(self.H, other.H, strict=True)),  # type: ignore[arg-type]
            tuple(a + b for a, b in zip(self.M, other.M, strict=True)),  # type: ignore[arg-type]
        )

    def entry(self, a: int, b: int) -> Scalar:
        """One entry of the 6×6 matrix."""
        if a < 3:
            return self.inertia[_AT[a][b]] if b < 3 else self.H[a][b - 3]
        return self.H[b][a - 3] if b < 3 else self.M[_AT[a - 3][b - 3]]

    def wrench(self, wd: Three, vd: Three) -> tuple[Three, Three]:
        """n = I ω̇ + H v̇ and f = Hᵀ ω̇ + M v̇."""
        six = (*wd, *vd)
        nonzero = [b for b in range(6) if not absent(six[b])]
        n0, n1, n2, f0, f1, f2 = (_sum([self.entry(a, b) * six[b] for b in nonzero]) for a in range(6))
        return (n0, n1, n2), (f0, f1, f2)

    def inwards(self, transform: Transform) -> Articulated:
        """About the origin of the parent and in its axes: Aᵀ M̄ A of (31)."""
        body = self._shifted(transform.after)
        for rotation in reversed(transform.rotations):
            inertia, M = (_rotate_symmetric(rotation, S) for S in (body.inertia, body.M))
            body = Articulated(inertia, rotate_rows(rotation, body.H), M)
        return body._shifted(transform.before)

    def _shifted(self, p: Three) -> Articulated:
        """About a point from which the old reference point is at p: H' = H + p× M, I' = I + p× H'ᵀ − H p×."""
        S, H, M = list(self.inertia), [list(row) for row in self.H], self.M
        for k, d in enumerate(p):
            if absent(d):
                continue
            i, j = (k + 1) % 3, (k + 2) % 3
            old = [list(row) for row in H]
            for b in range(3):
                H[i][b], H[j][b] = old[i][b] - d * M[_AT[j][b]], old[j][b] + d * M[_AT[i][b]]
            S[3 + j], S[3 + i] = S[3 + j] - d * old[k][j], S[3 + i] + d * old[k][i]
            S[i], S[j] = S[i] - d * (old[i][j] + H[i][j]), S[j] + d * (old[j][i] + H[j][i])
            S[3 + k] = S[3 + k] + d * (old[i][i] - H[j][j])
        return Articulated(tuple(S), _rows(H), M)  # type: ignore[arg-type]

    def without(self, pairs: Sequence[tuple[Scalars, Scalars]], zero_rows: Sequence[int]) -> Articulated:
        """M̂ − Σ ŵ wᵀ over pairs of six entries: (31). `zero_rows` lists rows that are known to vanish."""

        def rest(a: int, b: int) -> Scalar:
            if a in zero_rows or b in zero_rows:
                return 0
            return self.entry(a, b) - _sum([hat[a] * w[b] for hat, w in pairs])

        S = tuple(rest(a, b) for a, b in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)))
        M = tuple(rest(a, b) for a, b in ((3, 3), (4, 4), (5, 5), (4, 5), (3, 5), (3, 4)))
        return Articulated(S, _rows([[rest(a, 3 + b) for b in range(3)] for a in range(3)]), M)  # type: ignore[arg-type]


def _sum(terms: Scalars) -> Scalar:
    total: Scalar = 0
    for term in terms:
        total = term if absent(total) else total + term
    return total
