"""The languages that equations are written in, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dalembert.exporters.code import python
from dalembert.exporters.code.c import c_files
from dalembert.exporters.code.source import Source


@dataclass(frozen=True)
class Target:
    """One language: what its files end in, and their texts."""

    title: str
    ending: str  # "" for a folder
    files: Callable[[Source, Path], Mapping[str, str]]


TARGETS: dict[str, Target] = {
    "c": Target("C99, source and header", ".c", c_files),
    "numpy": Target("Python with NumPy", ".py", partial(python.python_files, dialect=python.NUMPY)),
    "numba": Target("Python with Numba", ".py", partial(python.python_files, dialect=python.NUMBA)),
    "jax": Target("Python with JAX", ".py", partial(python.python_files, dialect=python.JAX)),
    "casadi": Target("Python with CasADi", ".py", partial(python.python_files, dialect=python.CASADI)),
}
