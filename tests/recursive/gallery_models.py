"""Models of the gallery as parameters of tests: those with many coordinates are tried at night."""

from collections.abc import Iterable

import pytest

import dalembert as dl

_MANY = 7  # coordinates


def by_size(names: Iterable[str]) -> list:
    """The names, with a mark on the large ones."""
    return [
        pytest.param(name, marks=pytest.mark.nightly if len(dl.load(name).coordinate_names) > _MANY else ())
        for name in names
    ]
