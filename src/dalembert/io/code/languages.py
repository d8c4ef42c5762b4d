"""The languages that equations are written in, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dalembert.io.code import python_code
from dalembert.io.code.c99 import c_files
from dalembert.io.code.code_source import Source
from dalembert.io.code.fmi import write_fmu
from dalembert.io.code.julia import julia_files
from dalembert.io.code.matlab_code import matlab_files
from dalembert.io.files import write_text

Files = Callable[[Source, Path], Mapping[str, str]]


@dataclass(frozen=True)
class Target:
    """One language: what its files end in, and how they are written."""

    title: str
    ending: str  # "" for a folder
    write: Callable[[Source, Path], tuple[Path, ...]]


def _written(source: Source, path: Path, files: Files) -> tuple[Path, ...]:
    """Write texts beside each other; each appears only when it is complete."""
    texts = files(source, path)
    for name, text in texts.items():
        write_text(path.parent / name, text)
    return tuple(path.parent / name for name in texts)


def _texts(title: str, ending: str, files: Files) -> Target:
    return Target(title, ending, partial(_written, files=files))


def _python(title: str, dialect: python_code.Dialect) -> Target:
    return _texts(title, ".py", partial(python_code.python_files, dialect=dialect))


TARGETS: dict[str, Target] = {
    "c": _texts("C99", ".c", c_files),
    "numpy": _python("Python with NumPy", python_code.NUMPY),
    "numba": _python("Python with Numba", python_code.NUMBA),
    "jax": _python("Python with JAX", python_code.JAX),
    "casadi": _python("Python with CasADi", python_code.CASADI),
    "julia": _texts("Julia", ".jl", julia_files),
    "matlab": _texts("MATLAB or Octave", "", matlab_files),
    "fmu": Target("an FMU of FMI 3.0", ".fmu", write_fmu),
}
