"""What a report was made with, and how to make it again."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("dalembert", "numpy", "scipy", "symengine", "llvmlite", "heyoka")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that took part; those that are not installed are left out.

    >>> "python" in versions(), "numpy" in versions()
    (True, True)
    """
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
