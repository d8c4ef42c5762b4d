"""Facts about gallery models that choose the parameters of tests; each model is read once per process."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

import pytest

from dalembert.api.derive import equations_of
from dalembert.api.equations import Equations
from dalembert.io import gallery

_MANY = 7  # coordinates; larger models are tested nightly


@dataclass(frozen=True)
class GalleryFacts:
    """What a gallery model declares, as far as tests choose models by it."""

    coordinates: int
    bodies: int
    constrained: bool  # by constraints or contacts


@cache
def facts(name: str) -> GalleryFacts:
    model = gallery.load(name)
    constrained = bool(model.constraint_names or model.contacts)
    return GalleryFacts(len(model.coordinate_names), len(model.bodies), constrained)


@lru_cache(maxsize=40)  # all formulations of two models
def equations(name: str, key: str) -> Equations:
    """The equations of a gallery model by one formulation, whose readable form is computed once per process."""
    return equations_of(gallery.load(name), key)


def with_bodies(least: int = 1) -> list[str]:
    """The gallery models that have at least this number of bodies."""
    return [name for name in gallery.names() if facts(name).bodies >= least]


def unconstrained() -> list[str]:
    """The gallery models without constraints and contacts."""
    return [name for name in gallery.names() if not facts(name).constrained]


def constrained() -> list[str]:
    """The gallery models with constraints or contacts."""
    return [name for name in gallery.names() if facts(name).constrained]


def up_to(coordinates: int) -> list[str]:
    """The gallery models with at most this number of coordinates."""
    return [name for name in gallery.names() if facts(name).coordinates <= coordinates]


def by_size(names: Iterable[str], slow: Mapping[str, float] = MappingProxyType({})) -> list:
    """The names as parameters: large models marked as nightly, models of `slow` with their CPU seconds."""
    return [pytest.param(name, marks=_marks(name, slow)) for name in names]


def _marks(name: str, slow: Mapping[str, float]) -> Any:
    if name in slow:
        return pytest.mark.slow(slow[name])
    return pytest.mark.nightly if facts(name).coordinates > _MANY else ()
