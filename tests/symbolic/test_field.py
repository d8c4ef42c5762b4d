"""The prime field and its circle have the properties that mechanics needs."""

import random
from fractions import Fraction

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dalembert.symbolic.prime_field import (
    PI_DIVISOR,
    SMALL_ANGLE,
    ZERO_ANGLE,
    P,
    add_angles,
    inverse,
    is_square,
    point_of_pi_fraction,
    power,
    random_angle,
    residue,
    root,
    times,
)

residues = st.integers(1, P - 1)


def test_the_field_is_prime_and_its_circle_has_the_documented_order():
    assert sympy.isprime(P)
    assert P % 4 == 3
    assert (P + 1) % (2 * PI_DIVISOR) == 0
    assert P.bit_length() == 127


def test_the_small_angle_has_the_full_order():
    assert times(2 * PI_DIVISOR, SMALL_ANGLE) == ZERO_ANGLE
    for prime in sympy.primefactors(2 * PI_DIVISOR):
        assert times(2 * PI_DIVISOR // prime, SMALL_ANGLE) != ZERO_ANGLE
    assert times(PI_DIVISOR, SMALL_ANGLE) == (P - 1, 0)


def test_points_lie_on_the_circle():
    source = random.Random(7)
    for c, s in [SMALL_ANGLE, ZERO_ANGLE, *(random_angle(source) for _ in range(50))]:
        assert (c * c + s * s) % P == 1


def exactly(source: str) -> int:
    """A number with roots as a residue, by SymPy."""
    total = 0
    for term in sympy.Add.make_args(sympy.expand(sympy.sympify(source))):
        number, rest = term.as_coeff_Mul()
        assert isinstance(number, sympy.Rational)
        value = residue(Fraction(int(number.p), int(number.q)))
        total += value * (root(int(rest**2)) if rest != 1 else 1)
    return total % P


@pytest.mark.parametrize(
    ("part", "cosine", "sine"),
    [
        (Fraction(0), "1", "0"),
        (Fraction(1, 6), "sqrt(3)/2", "1/2"),
        (Fraction(1, 4), "sqrt(2)/2", "sqrt(2)/2"),
        (Fraction(1, 3), "1/2", "sqrt(3)/2"),
        (Fraction(1, 2), "0", "1"),
        (Fraction(3, 4), "-sqrt(2)/2", "sqrt(2)/2"),
        (Fraction(5, 6), "-sqrt(3)/2", "1/2"),
        (Fraction(1), "-1", "0"),
        (Fraction(1, 12), "(sqrt(6) + sqrt(2))/4", "(sqrt(6) - sqrt(2))/4"),
        (Fraction(-7, 4), "sqrt(2)/2", "sqrt(2)/2"),
    ],
)
def test_known_parts_of_pi(part, cosine, sine):
    assert point_of_pi_fraction(part) == (exactly(cosine), exactly(sine))


def test_the_pentagon():
    found = point_of_pi_fraction(Fraction(1, 5))
    assert found is not None
    assert found[0] == (1 + root(5)) * inverse(4) % P
    assert root((10 - 2 * root(5)) % P) * inverse(4) % P == found[1]


@pytest.mark.parametrize("d", [7, 8, 9, 11, 13, 17, 19, 23, 360])
def test_parts_of_pi_add_up(d):
    found = point_of_pi_fraction(Fraction(1, d))
    assert found is not None
    assert times(d, found) == (P - 1, 0)
    assert point_of_pi_fraction(Fraction(2, d)) == add_angles(found, found)


@pytest.mark.parametrize("d", [25, 29, 32, 27])
def test_parts_that_the_circle_does_not_have(d):
    assert point_of_pi_fraction(Fraction(1, d)) is None


@given(residues, residues)
def test_roots_are_multiplicative_and_positive(a, b):
    x, y = a * a % P, b * b % P
    assert root(x) in (a, P - a)
    assert is_square(root(x))
    assert root(x * y % P) == root(x) * root(y) % P


@given(residues)
def test_either_a_residue_or_its_negative_is_a_square(a):
    assert is_square(a) != is_square(P - a)


def test_small_numbers_are_positive():
    # √2, √3, ... of formulas exist; √(n²) is n
    for n in range(2, 44):
        assert is_square(n)
        assert root(n * n) == n


@given(residues, st.fractions(-9, 9, max_denominator=12), st.fractions(-9, 9, max_denominator=12))
def test_powers_of_positive_residues_obey_their_laws(a, k, m):
    x = a * a % P
    first, second, both = power(x, k), power(x, m), power(x, k + m)
    if first is not None and second is not None and both is not None:
        assert first * second % P == both
        assert power(x * x % P, k) == first * first % P
    if first is not None:
        assert pow(first, k.denominator, P) == pow(x, k.numerator, P)


def test_powers_that_do_not_exist():
    negative = P - 4
    assert power(negative, Fraction(1, 2)) is None
    assert power(0, Fraction(-1)) is None
    assert power(0, Fraction(1, 2)) is None
    assert power(3, Fraction(0)) == 1


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(0, 2**32))
def test_multiples_of_an_angle(k, m, seed):
    a = random_angle(random.Random(seed))
    assert add_angles(times(k, a), times(m, a)) == times(k + m, a)
    assert times(k, times(m, a)) == times(k * m, a)


@given(st.fractions(max_denominator=10**6), st.fractions(max_denominator=10**6))
def test_residues_of_fractions_are_a_ring(x, y):
    assert residue(x + y) == (residue(x) + residue(y)) % P
    assert residue(x * y) == residue(x) * residue(y) % P
    assert (residue(x) == residue(y)) == (x == y)


def test_zero_has_no_inverse():
    for zero in (0, P, -P):
        with pytest.raises(ZeroDivisionError):
            inverse(zero)


def test_random_angles_differ():
    source = random.Random(3)
    assert len({random_angle(source) for _ in range(200)}) == 200
