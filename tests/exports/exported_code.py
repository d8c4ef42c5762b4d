"""Run exported code: every function at many states, by gcc, NumPy, Numba, JAX, CasADi and Octave."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dalembert.io.code.code_source import CodeFunction, ExportedEquations
from dalembert.io.code.languages import TARGETS

GCC = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O0", "-ffp-contract=off", "-shared", "-fPIC"]
Results = dict[str, np.ndarray]  # by the name of the function, (entries, states)
Call = Callable[[CodeFunction, tuple[np.ndarray, ...], float], np.ndarray]  # one state; for `constants` all parameters


def run_code(
    target: str, source: ExportedEquations, folder: Path, q: np.ndarray, qd: np.ndarray, t: np.ndarray
) -> Results:
    """The results of all functions of the exported code at states (n, K)."""
    if target == "matlab":
        return _octave(source, folder, q, qd, t)
    path = folder / f"code_{target}{'.c' if target == 'c' else '.py'}"
    TARGETS[target].write(source, path)
    if target == "jax":
        pytest.importorskip("jax", reason="JAX is not installed: make exports installs it")
    if target in ("numpy", "jax"):
        return _batch(module_at(path), source, q, qd, t)
    call = {"c": _compiled, "numba": _numba, "casadi": _casadi}[target](path, source)
    found: dict[str, list[np.ndarray]] = {each.name: [] for each in source.functions}
    for k in range(len(t)):
        for name, values in _one_by_one(source, call, q[:, k].copy(), qd[:, k].copy(), float(t[k])):
            found[name].append(values)
    return {name: np.array(rows).T for name, rows in found.items()}


def _one_by_one(
    source: ExportedEquations, call: Call, q: np.ndarray, qd: np.ndarray, t: float
) -> Iterator[tuple[str, np.ndarray]]:
    """Every function at one state, each with the constants of the motion there."""
    y = np.zeros(0)
    for each in source.functions:
        values = call(each, (y,) if each.arguments == "state" else (q, qd), t)
        y = values if each.name == "start" else y
        yield each.name, values


def require_gcc() -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")


def module_at(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compiled(path: Path, source: ExportedEquations) -> Call:
    require_gcc()
    library = path.with_suffix(".so")
    subprocess.run([*GCC, str(path), "-o", str(library), "-lm"], check=True)
    code, doubles = ctypes.CDLL(str(library)), ctypes.POINTER(ctypes.c_double)
    p = np.array([*source.values.values(), 0.0])

    def call(each: CodeFunction, state: tuple[np.ndarray, ...], t: float) -> np.ndarray:
        out = np.full(each.size, np.nan)
        arrays = [*state, p, *([out] if each.name != "constants" else [])]
        function = getattr(code, f"{path.stem}_{each.name}")
        function.restype = None
        function(ctypes.c_double(t), *(x.ctypes.data_as(doubles) for x in arrays))
        return p[len(source.parameters) : -1].copy() if each.name == "constants" else out

    return call


def _module_calls(
    path: Path, source: ExportedEquations, of: Callable[..., object], values: Callable[..., np.ndarray]
) -> Call:
    """Calls of a Python module that reuse the constants of the motion."""
    module = module_at(path)
    constants_store = [module.Parameters()]

    def call(each: CodeFunction, state: tuple[np.ndarray, ...], t: float) -> np.ndarray:
        found = getattr(module, each.name)(t, *map(of, state), constants_store[0])
        if each.name == "constants":
            constants_store[0] = module.Parameters(*map(float, found))
            return np.array(constants_store[0][len(source.parameters) :])
        return values(found).ravel()

    return call


def _numba(path: Path, source: ExportedEquations) -> Call:
    pytest.importorskip("numba")
    return _module_calls(path, source, np.array, np.asarray)


def _casadi(path: Path, source: ExportedEquations) -> Call:
    casadi = pytest.importorskip("casadi", reason="CasADi is not installed: make exports installs it")
    return _module_calls(path, source, casadi.DM, lambda found: np.array(casadi.DM(found)))


def _batch(module: ModuleType, source: ExportedEquations, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> Results:
    p, found = module.Parameters(), {}
    if source.function("constants"):
        p = module.constants(t, q, qd, p)
        found["constants"] = np.array([np.broadcast_to(x, t.shape) for x in p[len(source.parameters) :]])
    y = module.start(t, q, qd, p)
    for each in source.functions:
        if each.name != "constants":
            values = module.start(t, q, qd, p) if each.name == "start" else getattr(module, each.name)(t, y, p)
            assert values.shape == (*each.shape, len(t))
            found[each.name] = np.asarray(values).reshape(each.size, len(t))
    return found


def _octave(source: ExportedEquations, folder: Path, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> Results:
    if shutil.which("octave-cli") is None:
        pytest.skip("octave-cli is not installed")
    TARGETS["matlab"].write(source, folder / "+code")
    np.savetxt(folder / "states.txt", np.concatenate([t[None], q, qd]).T, fmt="%.17g")
    n, named = len(q), [each for each in source.functions if each.name not in ("start", "constants")]
    constants = [f"p.{source.names[key]};" for key in source.constants]
    script = [
        "x = load('states.txt'); file = fopen('results.txt', 'w');",
        f"for k = 1:size(x, 1) t = x(k, 1); q = x(k, 2:{n + 1})'; qd = x(k, {n + 2}:end)'; p = code.parameters();",
        "p = code.constants(t, q, qd, p);" if constants else "",
        f"y = code.start(t, q, qd, p); fprintf(file, '%.17g\\n', [y; {' '.join(constants)}]);",
        *(f"fprintf(file, '%.17g\\n', code.{each.name}(t, y, p)');" for each in named),
        "end; fclose(file);",
    ]
    subprocess.run(["octave-cli", "--norc", "--eval", "\n".join(script)], cwd=folder, check=True)
    sizes = {each.name: each.size for each in (*(source.functions[: 1 + bool(constants)]), *named)}
    rows = np.loadtxt(folder / "results.txt").reshape(len(t), -1).T
    return dict(zip(sizes, np.split(rows, np.cumsum([*sizes.values()])[:-1]), strict=True))
