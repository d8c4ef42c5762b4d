"""The target languages of code export, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dalembert.io.code._c99 import c_files
from dalembert.io.code._fmi import write_fmu
from dalembert.io.code._julia import julia_files
from dalembert.io.code._matlab_code import matlab_files
from dalembert.io.code._python_code import CASADI, JAX, NUMBA, NUMPY, python_files
from dalembert.io.code.code_source import ExportedEquations
from dalembert.io.files import write_text


@dataclass(frozen=True)
class ExportLanguage:
    """One target language: its file suffix and its writer."""

    title: str
    ending: str  # "" for a folder
    write: Callable[[ExportedEquations, Path], tuple[Path, ...]]


def _target(title: str, ending: str, files: Callable[[ExportedEquations, Path], Mapping[str, str]]) -> ExportLanguage:
    """A target whose files are in one folder; each is written atomically."""

    def write(source: ExportedEquations, path: Path) -> tuple[Path, ...]:
        contents = files(source, path)
        for name, content in contents.items():
            write_text(path.parent / name, content)
        return tuple(path.parent / name for name in contents)

    return ExportLanguage(title, ending, write)


_PYTHON = {"numpy": ("NumPy", NUMPY), "numba": ("Numba", NUMBA), "jax": ("JAX", JAX), "casadi": ("CasADi", CASADI)}
TARGETS: dict[str, ExportLanguage] = {
    "c": _target("C99", ".c", c_files),
    **{
        name: _target(f"Python with {library}", ".py", partial(python_files, dialect=dialect))
        for name, (library, dialect) in _PYTHON.items()
    },
    "julia": _target("Julia", ".jl", julia_files),
    "matlab": _target("MATLAB or Octave", "", matlab_files),
    "fmu": ExportLanguage("an FMU of FMI 3.0", ".fmu", write_fmu),
}
