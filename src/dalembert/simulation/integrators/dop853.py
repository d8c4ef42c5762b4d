"""Dormand and Prince's explicit method of order 8, with error estimates of orders 5 and 3 and output of order 7 between steps.

Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, II.5, II.6 and II.10; steps are chosen as SciPy's solver
of the same name chooses them. The default rtol is 1e-10; the default atol is rtol / 100 of each state's typical magnitude.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from dalembert.simulation.integrators.base import InitialValueProblem, Settings
from dalembert.simulation.integrators.explicit import Explicit
from dalembert.simulation.integrators.explicit_steps import HAIRER, Control, Scheme

_STAGES, _ALL_STAGES = 12, 16
_RTOL, _MIN_RTOL = 1e-10, 100 * np.finfo(float).eps  # the default and the smallest relative tolerance
DENSE_RTOL = 1e-11  # with a smaller one samples are computed by steps, not by the dense output
_MIN_ATOL = 1e-14  # relative to the magnitude of a state: a smaller tolerance is below its rounding errors


# Coefficients of Hairer's program DOP853. A row ends with its last nonzero number; indented lines continue it.
_C = """
0 0.05260015195876773 0.0789002279381516 0.1183503419072274 0.2816496580927726 0.3333333333333333 0.25
  0.3076923076923077 0.6512820512820513 0.6 0.8571428571428571 1.0 1.0 0.1 0.2 0.7777777777777778
"""
_A = """
0.05260015195876773
0.0197250569845379 0.0591751709536137
0.02958758547680685 0 0.08876275643042054
0.2413651341592667 0 -0.8845494793282861 0.924834003261792
0.037037037037037035 0 0 0.17082860872947386 0.12546768756682242
0.037109375 0 0 0.17025221101954405 0.06021653898045596 -0.017578125
0.03709200011850479 0 0 0.17038392571223998 0.10726203044637328 -0.015319437748624402 0.008273789163814023
0.6241109587160757 0 0 -3.3608926294469414 -0.868219346841726 27.59209969944671 20.154067550477894 -43.48988418106996
0.47766253643826434 0 0 -2.4881146199716677 -0.590290826836843 21.230051448181193 15.279233632882423
  -33.28821096898486 -0.020331201708508627
-0.9371424300859873 0 0 5.186372428844064 1.0914373489967295 -8.149787010746927 -18.52006565999696 22.739487099350505
  2.4936055526796523 -3.0467644718982196
2.273310147516538 0 0 -10.53449546673725 -2.0008720582248625 -17.9589318631188 27.94888452941996 -2.8589982771350235
  -8.87285693353063 12.360567175794303 0.6433927460157636
0.054293734116568765 0 0 0 0 4.450312892752409 1.8915178993145003 -5.801203960010585 0.3111643669578199
  -0.1521609496625161 0.20136540080403034 0.04471061572777259
0.056167502283047954 0 0 0 0 0 0.25350021021662483 -0.2462390374708025 -0.12419142326381637 0.15329179827876568
  0.00820105229563469 0.007567897660545699 -0.008298
0.03183464816350214 0 0 0 0 0.028300909672366776 0.053541988307438566 -0.05492374857139099 0 0 -0.00010834732869724932
  0.0003825710908356584 -0.00034046500868740456 0.1413124436746325
-0.42889630158379194 0 0 0 0 -4.697621415361164 7.683421196062599 4.06898981839711 0.3567271874552811 0 0 0
  -0.0013990241651590145 2.9475147891527724 -9.15095847217987
"""
_E5_E3 = """
0.01312004499419488 0 0 0 0 -1.2251564463762044 -0.4957589496572502 1.6643771824549864 -0.35032884874997366
  0.3341791187130175 0.08192320648511571 -0.022355307863886294
-0.18980075407240762 0 0 0 0 4.450312892752409 1.8915178993145003 -5.801203960010585 -0.4226823213237919
  -0.1521609496625161 0.20136540080403034 0.02265179219836082
"""
_D = """
-8.428938276109013 0 0 0 0 0.5667149535193777 -3.0689499459498917 2.38466765651207 2.117034582445028
  -0.871391583777973 2.2404374302607883 0.6315787787694688 -0.08899033645133331 18.148505520854727 -9.194632392478356
  -4.436036387594894
10.427508642579134 0 0 0 0 242.28349177525817 165.20045171727028 -374.5467547226902 -22.113666853125306
  7.733432668472264 -30.674084731089398 -9.332130526430229 15.697238121770845 -31.139403219565178 -9.35292435884448
  35.81684148639408
19.985053242002433 0 0 0 0 -387.0373087493518 -189.17813819516758 527.8081592054236 -11.57390253995963 6.8812326946963
  -1.0006050966910838 0.7777137798053443 -2.778205752353508 -60.19669523126412 84.32040550667716 11.99229113618279
-25.69393346270375 0 0 0 0 -154.18974869023643 -231.5293791760455 357.6391179106141 93.40532418362432
  -37.45832313645163 104.0996495089623 29.8402934266605 -43.53345659001114 96.32455395918828 -39.17726167561544
  -149.72683625798564
"""


class DormandPrince853(Explicit):
    """DOP853."""

    name = "dop853"
    kind = HAIRER

    @classmethod
    def scheme(cls) -> Scheme:
        """The coefficients of Dormand and Prince, and of Hairer for the dense output."""
        return _coefficients()

    @staticmethod
    def relative(settings: Settings) -> float:
        """The relative tolerance."""
        return max(settings.rtol or _RTOL, _MIN_RTOL)

    @classmethod
    def absolute(cls, settings: Settings, sizes: np.ndarray) -> np.ndarray:
        """The absolute tolerances of states with these typical magnitudes."""
        if settings.atol is not None:
            return np.full(sizes.shape, settings.atol)
        return max(cls.relative(settings) / 100, _MIN_ATOL) * sizes

    def rule(self, problem: InitialValueProblem, settings: Settings, end: float) -> tuple[float, Control]:
        """The first step (II.4 of the book) is one with which Euler's method would meet the tolerance."""
        rtol, atol = self.relative(settings), self.absolute(settings, problem.errors(1.0))
        largest, y, f = settings.max_step or np.inf, problem.y0[:, None], self.first_slope()[:, None]

        def rates(t: np.ndarray, y: np.ndarray) -> np.ndarray:
            return problem.system.rates(float(t[0]), y[:, 0])[:, None]

        h = first_steps(problem.t0, y, f, rates, end - problem.t0, (atol[:, None], rtol, largest))
        self.count(1)
        return float(h[0]), Control(atol, rtol, largest, exact_samples=rtol < DENSE_RTOL)


def first_steps(
    t: float,
    y: np.ndarray,
    f: np.ndarray,
    rates: Callable[[np.ndarray, np.ndarray], np.ndarray],
    span: float,
    limits: tuple[np.ndarray, float, float],
) -> np.ndarray:
    """The first steps from states (n, K) with slopes f; `limits` are tolerances, atol (n, K) and rtol, and the longest step."""
    atol, rtol, largest = limits
    scale = atol + np.abs(y) * rtol
    size, pace = _rms(y / scale), _rms(f / scale)
    with np.errstate(all="ignore"):
        h = np.minimum(np.where((size < 1e-5) | (pace < 1e-5), 1e-6, 0.01 * size / pace), span)
        bend = _rms((rates(t + h, y + h * f) - f) / scale) / h
    flat = (pace <= 1e-15) & (bend <= 1e-15)
    steepest = np.where(flat, 1.0, np.maximum(pace, bend))
    other = [(0.01 / steepness) ** (1 / 8) for steepness in steepest.tolist()]
    return np.minimum(np.minimum(100 * h, np.where(flat, np.maximum(1e-6, h * 1e-3), other)), min(span, largest))


def _rms(x: np.ndarray) -> np.ndarray:
    """√(Σ x² / n) of every column, summed row by row so that a column does not depend on those beside it."""
    total = np.zeros(x.shape[1])
    for row in x:
        total = total + row * row
    return np.sqrt(total / max(len(x), 1))


@cache
def _coefficients() -> Scheme:
    """The method as a table.

    The dense output is y + x (F₁ + (1 − x) (F₂ + x (F₃ + ...))), each F a sum of stages; here it is expanded in powers of x.
    """
    (c,), A, E, D = (_rows(table) for table in (_C, "0" + _A, _E5_E3, _D))
    first, last, mean = np.eye(_ALL_STAGES)[0], np.eye(_ALL_STAGES)[_STAGES], A[_STAGES]
    F = np.stack([mean, first - mean, 2 * mean - last - first, *D])
    powers = np.zeros((_ALL_STAGES, len(F) + 1))
    for i, row in enumerate(F[::-1]):
        powers[:, 0] += row
        shifted = np.roll(powers, 1, axis=1)  # the last column is still zero
        powers = shifted if i % 2 == 0 else powers - shifted
    return Scheme(c, A, np.ascontiguousarray(powers[:, 1:]), E, _STAGES)


def _rows(table: str) -> np.ndarray:
    """The rows of a table, filled with zeros."""
    rows = [[float(number) for number in row.split()] for row in table.strip().replace("\n  ", " ").split("\n")]
    return np.array([row + [0.0] * (_ALL_STAGES - len(row)) for row in rows])
