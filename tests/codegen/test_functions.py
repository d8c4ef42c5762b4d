"""The elementary functions in machine code against mpmath, over the full range of doubles and at difficult arguments."""

import ctypes
import doctest
import math
import re
from fractions import Fraction
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir
from mpmath import mp, mpf

from dalembert.codegen.llvm import _argument_reduction, _elementary_functions
from dalembert.codegen.llvm._elementary_functions import Functions
from dalembert.errors import EngineError

MPMATH = {
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "atan2": mp.atan2,
    "sqrt": mp.sqrt,
    "exp": mp.exp,
    "log": mp.log,
    "pow": mp.power,
}
NUMPY = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "pow": np.power}
NUMPY |= {name: getattr(np, name) for name in ("sin", "cos", "tan", "sqrt", "exp", "log")}
ARITY = {name: 2 if name in ("atan2", "pow") else 1 for name in MPMATH}

# units in the last place; the module guarantees 2
LIMIT = dict.fromkeys(MPMATH, 0.9) | {
    "sin": 1.6,
    "cos": 1.6,
    "tan": 1.25,
    "pow": 1.0,
    "sqrt": 0.5,
    "log": 0.6,
    "asin": 0.8,
    "acos": 0.8,
    "atan": 0.8,
}

SPECIAL = [0.0, 5e-324, 2.2250738585072014e-308, 1e-30, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 700.0, 1e5, 2.0**20, 2.0**52 + 1]
SPECIAL += [2.0**53 - 1, 2.0**53, 2.0**53 + 2, 1e30, 1e300, 1.7976931348623157e308, math.inf]
SPECIAL = np.array([*SPECIAL, *(-x for x in SPECIAL), math.nan])


# compilation


def written(lanes: int, fma: bool) -> ir.Module:
    """A module with one loop over arrays per function: `lanes` values are loaded, processed and stored together."""
    module = ir.Module()
    functions = Functions(module, lanes, fma=fma)
    double, int64 = ir.DoubleType(), ir.IntType(64)
    several = double if lanes == 1 else ir.VectorType(double, lanes)
    for name, arity in ARITY.items():
        kind = ir.FunctionType(ir.VoidType(), [int64] + [double.as_pointer()] * (arity + 1))
        function = ir.Function(module, kind, f"each_{name}")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        entry, loop, end = builder.block, function.append_basic_block("loop"), function.append_basic_block("end")
        builder.branch(loop)
        builder.position_at_end(loop)
        i = builder.phi(int64)
        i.add_incoming(int64(0), entry)
        places = [builder.bitcast(builder.gep(p, [i]), several.as_pointer()) for p in function.args[1:]]
        arguments = [builder.load(place, align=8) for place in places[:-1]]
        builder.store(functions.call(builder, name, *arguments), places[-1], align=8)
        i.add_incoming(builder.add(i, int64(lanes)), builder.block)
        builder.cbranch(builder.icmp_signed("<", builder.add(i, int64(lanes)), function.args[0]), loop, end)
        builder.position_at_end(end)
        builder.ret_void()
    return module


def machine(triple: str = "") -> llvm.TargetMachine:
    """The host with all its features, or the baseline processor of another architecture."""
    if triple:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        return llvm.Target.from_triple(triple).create_target_machine(opt=2, codemodel="small")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2)


def optimized(module: ir.Module, target: llvm.TargetMachine) -> llvm.ModuleRef:
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    passes = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=2))
    passes.getModulePassManager().run(parsed, passes)
    return parsed


@cache
def compiled(lanes: int, fma: bool) -> llvm.ExecutionEngine:
    target = machine()
    engine = llvm.create_mcjit_compiler(optimized(written(lanes, fma), target), target)
    engine.finalize_object()
    return engine


def has_fma() -> bool:
    features = llvm.get_host_cpu_features()
    return features.get("fma", False) or not llvm.get_default_triple().startswith("x86")


FMA = [False, pytest.param(True, marks=pytest.mark.skipif(not has_fma(), reason="the host has no fused multiply-add"))]


def evaluated(name: str, arguments: list[np.ndarray], *, lanes: int, fma: bool) -> np.ndarray:
    """The function of many arguments, whose number is a multiple of the lanes."""
    columns = [np.ascontiguousarray(x, dtype=float) for x in arguments]
    size = len(columns[0])
    assert size % lanes == 0
    out = np.empty(size)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (len(columns) + 1))
    kind(compiled(lanes, fma).get_function_address(f"each_{name}"))(size, *(x.ctypes.data for x in [*columns, out]))
    return out


# samples


def nudged(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Doubles a few units in the last place from x."""
    return (x.view(np.int64) + rng.integers(-3, 4, len(x))).view(float)


def samples(name: str, n: int) -> list[list[np.ndarray]]:
    """Arguments by regions: any bit pattern, all magnitudes, and where the function or its implementation changes."""
    rng = np.random.default_rng(sum(map(ord, name)))

    def anything() -> np.ndarray:
        return rng.integers(0, 2**64, n, dtype=np.uint64).view(float)

    def sized(low: float, high: float) -> np.ndarray:
        return np.exp2(rng.uniform(low, high, n)) * rng.choice([-1, 1], n)

    def about(*places: float) -> np.ndarray:
        return nudged(rng, rng.choice(places, n))

    turns = rng.integers(1, 2**20, n) * (math.pi / 2)
    near_one = 1 + sized(-52, -1)
    base = rng.uniform(0.6, 1.6, n)
    wide = abs(sized(-1070, 1020))
    with np.errstate(all="ignore"):
        extreme = [(x, rng.uniform(-746, 710, n) / np.log(x)) for x in (near_one, base, wide)]
    angles = [
        sized(-30, 20),
        sized(19, 1024),
        rng.uniform(-4, 4, n),
        nudged(rng, turns),
        about(2.0**20, -(2.0**20), 2**-27),
    ]
    cosines = [
        rng.uniform(-1, 1, n),
        sized(-40, 0),
        nudged(rng, near_one),
        about(1.0, -1.0, 0.5**0.5, math.sin(math.pi / 8)),
    ]
    regions = {
        "sin": angles,
        "cos": angles,
        "tan": angles,
        "asin": cosines,
        "acos": cosines,
        "atan": [sized(-30, 60), sized(-3, 3), about(_elementary_functions.TAN_EIGHTH, 1.0, 2**-27, 2.0**500)],
        "sqrt": [abs(sized(-1074, 1024))],
        "exp": [
            rng.uniform(-746, 710, n),
            sized(-60, 3),
            rng.uniform(-746, -707, n),
            about(709.782712893384, -745.13, -708.4),
        ],
        "log": [abs(sized(-1074, -1021)), nudged(rng, near_one), rng.uniform(0.3, 3, n), about(0.5**0.5, 2**0.5, 1.0)],
        "atan2": [
            (sized(*a), sized(*b))
            for a, b in [
                ((-20, 20),) * 2,
                ((-2, 2),) * 2,
                ((480, 1024),) * 2,
                ((-1074, -480),) * 2,
                ((-1074, -990), (-9, 60)),
            ]
        ]
        + [(about(1.0, 2.0**500, 2.0**-500), about(1.0, -1.0, 2.0**500, 2.0**-500))],
        "pow": [
            *extreme,
            (base, sized(-60, 3)),
            (rng.uniform(0, 10, n), rng.uniform(-10, 10, n)),
            (sized(-18, 18), rng.integers(-60, 60, n).astype(float)),
        ],
    }
    columns = [list(region) if ARITY[name] == 2 else [region] for region in regions[name]]
    return [[anything() for _ in range(ARITY[name])], *columns]


@cache
def hard_angles() -> np.ndarray:
    """For each exponent, the double nearest to a multiple of π/2, or almost nearest.

    m 2ᵉ ≈ n π/2 where m/n is a convergent of the continued fraction of (π/2) / 2ᵉ.
    """
    with mp.workprec(1400):
        half_pi = Fraction(int(mp.floor(mp.pi * mpf(2) ** 1299)), 2**1300)
    angles = []
    for e in range(-52, 972):
        rest, best, m = half_pi / Fraction(2) ** e, 0, 1
        while m < 2**53:
            quotient = rest.numerator // rest.denominator
            m, best = quotient * m + best, m
            rest = 1 / (rest - quotient)
        angles += [math.ldexp(best, e), math.ldexp(best * (2**53 // best), e)]
    return np.array(angles)


# errors


def error(name: str, arguments: tuple[float, ...], got: float) -> float:
    """Distance to the exact value in units of its last place; beyond the largest double, ∞ counts as the next one."""
    huge = name in ("sin", "cos", "tan") and abs(arguments[0]) > 2.0**60
    with mp.workprec(1300 if huge else 170):
        true = MPMATH[name](*map(mpf, arguments))
        if mp.isnan(true) or isinstance(true, mp.mpc) or math.isnan(got):
            return math.inf
        limit = mpf(2) ** 1024
        if abs(true) > limit:
            true = mp.sign(true) * limit
        value = mpf(math.copysign(1, got)) * limit if math.isinf(got) else mpf(got)
        unit = mpf(2) ** max(int(mp.frexp(true)[1]) - 53, -1074) if true else mpf(2) ** -1074
        return float(abs(value - true) / unit)


def worst(name: str, arguments: list[np.ndarray], fma: bool) -> tuple[float, tuple[float, ...]]:
    """The largest error over the arguments with a finite value, and its location."""
    got = evaluated(name, arguments, lanes=4, fma=fma)
    with np.errstate(all="ignore"):
        ordinary = np.all(np.isfinite(arguments), axis=0) & ~np.isnan(NUMPY[name](*arguments))
    places = zip(*(x[ordinary].tolist() for x in arguments), strict=True)
    return max((error(name, at, value), at) for at, value in zip(places, got[ordinary].tolist(), strict=True))


@pytest.mark.parametrize("fma", FMA)
@pytest.mark.parametrize("name", MPMATH)
@pytest.mark.parametrize("n", [1000, pytest.param(10000, marks=pytest.mark.nightly)])
def test_errors_are_within_the_limits(name, fma, n):
    for region in samples(name, n):
        size, at = worst(name, region, fma)
        limit = (
            LIMIT[name] if fma or name not in ("sin", "cos") else 2.0
        )  # without fused products r has one more rounding
        assert size <= limit, f"{name}{at}: {size:.3f} ulp"


@pytest.mark.parametrize("fma", FMA)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_next_to_quarter_turns_are_reduced_exactly(name, fma):
    size, at = worst(name, [hard_angles()], fma)
    assert size <= LIMIT[name], f"{name}{at}: {size:.3f} ulp"


def test_hard_angles_are_close_to_quarter_turns():
    """One is the nearest of all doubles to an odd multiple of π/2, and the last extend to the largest double."""
    assert math.ldexp(6381956970095103, 797) in hard_angles()
    assert hard_angles().max() > 1e308
    with mp.workprec(1300):
        assert min(abs(mp.cos(mpf(x))) for x in hard_angles().tolist()) < 1e-18


@pytest.mark.parametrize("fma", FMA)
@pytest.mark.parametrize("name", MPMATH)
def test_special_values_agree_with_c(name, fma):
    grid = [SPECIAL] if ARITY[name] == 1 else [x.ravel() for x in np.meshgrid(SPECIAL, SPECIAL)]
    grid = [np.append(x, np.ones(-len(x) % 4)) for x in grid]
    got = evaluated(name, grid, lanes=4, fma=fma)
    with np.errstate(all="ignore"):
        expected = NUMPY[name](*grid)
    for *at, value, right in zip(*grid, got, expected, strict=True):
        place = f"{name}{tuple(map(float, at))}"
        assert math.isnan(value) == math.isnan(right), place
        if not math.isnan(right):
            assert math.copysign(1, value) == math.copysign(1, right), place
            assert value == right or abs(value - right) <= 2 * np.spacing(abs(right)), place


@pytest.mark.parametrize("fma", FMA)
@pytest.mark.parametrize("name", MPMATH)
def test_bits_do_not_depend_on_width_lane_or_neighbors(name, fma):
    rng = np.random.default_rng(5)
    regions = [np.concatenate(column) for column in zip(*samples(name, 96), strict=True)]
    pool = [np.append(column, rng.choice(SPECIAL, 96)) for column in regions]
    size = len(pool[0]) // 24 * 24
    single = evaluated(name, [x[:size] for x in pool], lanes=1, fma=fma).view(np.int64)
    for lanes in (1, 2, 3, 4, 8):
        order = rng.permutation(size)
        mixed = evaluated(name, [x[order] for x in pool], lanes=lanes, fma=fma).view(np.int64)
        np.testing.assert_array_equal(mixed, single[order])


# implementation


def interpolated(series, low, high, n: int) -> tuple[float, ...]:
    """The polynomial through Σ series(j) xʲ at n Chebyshev nodes."""
    with mp.workdps(120):
        nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
        values = [mp.fsum(series(j) * x**j for j in range(80)) for x in nodes]
        return tuple(map(float, mp.lu_solve(mp.matrix([[x**j for j in range(n)] for x in nodes]), mp.matrix(values))))


def test_polynomials_are_the_interpolated_series():
    with mp.workdps(120):
        eighth, tangent, artanh = (mp.pi / 4) ** 2, mp.tan(mp.pi / 8) ** 2, (3 - 2 * mp.sqrt(2)) ** 2
        half_ln_2 = mp.log(2) / 2
        found = {
            "SINE": interpolated(lambda j: (-1) ** (j + 1) / mp.factorial(2 * j + 3), 0, eighth, 6),
            "COSINE": interpolated(lambda j: (-1) ** j / mp.factorial(2 * j + 4), 0, eighth, 6),
            "ARC": interpolated(lambda j: mpf((-1) ** (j + 1)) / (2 * j + 3), 0, tangent, 12),
            "EXP": interpolated(lambda j: 1 / mp.factorial(j + 2), -half_ln_2, half_ln_2, 11),
            "LOG": interpolated(lambda j: mpf(2) / (2 * j + 5), 0, artanh, 8),
        }
    for name, coefficients in found.items():
        assert (vars(_elementary_functions) | vars(_elementary_functions))[name] == coefficients


def test_constants_have_their_values():
    def remainder(number: Any, parts: tuple[float, ...]) -> float:
        return float(abs(number - mp.fsum(map(mpf, parts))))

    with mp.workdps(120):
        assert remainder(mp.pi / 2, _argument_reduction.HALF_PI_PARTS) < 2.0**-156
        assert remainder(mp.pi / 2, _argument_reduction.HALF_PI_LONG_PARTS) < 2.0**-162
        assert remainder(mp.pi / 2, _argument_reduction.HALF_PI) < 2.0**-107
        assert remainder(mp.pi / 4, _elementary_functions.QUARTER_PI) < 2.0**-107
        assert remainder(mpf(2) / 3, _elementary_functions.TWO_THIRDS) < 2.0**-107
        assert remainder(mp.log(2), _elementary_functions.LN_2) < 2.0**-97
        assert float(2 / mp.pi) == _argument_reduction.TWO_OVER_PI
        assert float(1 / mp.log(2)) == _elementary_functions.LOG2_E
        assert float(mp.tan(mp.pi / 8)) == _elementary_functions.TAN_EIGHTH
    with mp.workprec(1400):
        assert _argument_reduction.two_over_pi(1216) == int(mp.floor(mpf(2) ** 1217 / mp.pi))


@pytest.mark.parametrize(
    ("triple", "fma"),
    [
        ("x86_64-unknown-linux-gnu", False),
        ("x86_64-pc-windows-msvc", False),
        ("aarch64-unknown-linux-gnu", True),
        ("arm64-apple-darwin", True),
    ],
)
def test_nothing_outside_the_module_is_called(triple, fma):
    """Not even on baseline processors, which on x86 have no instruction to round or to fuse."""
    target = machine(triple)
    text = target.emit_assembly(optimized(written(4, fma), target))
    called = set(re.findall(r"^\s+(?:callq?|jmp|bl?)\s+([^\s#*%]+)", text, re.MULTILINE))
    defined = set(re.findall(r"^([^\s:]+):", text, re.MULTILINE))
    assert any("payne_hanek" in name for name in called)
    assert called <= defined


@pytest.mark.parametrize("fma", FMA)
def test_multiply_add_rounds_once_only_if_fused(fma):
    module, double = ir.Module(), ir.DoubleType()
    function = ir.Function(module, ir.FunctionType(double, [double] * 3), "three")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(Functions(module, 1, fma=fma).multiply_add(builder, *function.args))
    target = machine()
    engine = llvm.create_mcjit_compiler(optimized(module, target), target)
    engine.finalize_object()
    three = ctypes.CFUNCTYPE(*[ctypes.c_double] * 4)(engine.get_function_address("three"))
    assert three(1 + 2.0**-30, 1 - 2.0**-30, -1.0) == (-(2.0**-60) if fma else 0.0)


def test_a_function_is_defined_once_in_a_module():
    module, double = ir.Module(), ir.DoubleType()
    function = ir.Function(module, ir.FunctionType(double, [double]), "one")
    builder = ir.IRBuilder(function.append_basic_block())
    for _ in range(2):
        for name in ("sin", "cos", "tan"):
            Functions(module, 1, fma=False).call(builder, name, function.args[0])
    assert [f.name for f in module.functions if not f.is_declaration] == ["one", "sincos.1", "payne_hanek", "tan.1"]


def test_an_unknown_function_is_reported():
    module = ir.Module()
    with pytest.raises(
        EngineError, match=r"function 'sinh': not available in machine code\. Expected one of sin, cos,"
    ):
        Functions(module, 1, fma=False).call(ir.IRBuilder(), "sinh")


@pytest.mark.parametrize("module", [_elementary_functions, _argument_reduction], ids=lambda module: module.__name__)
def test_examples_in_the_docstrings_run(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted
    assert not outcome.failed
