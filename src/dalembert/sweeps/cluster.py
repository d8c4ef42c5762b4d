"""A cluster that runs already: the scheduler of Dask, joined by its address (extra `cluster`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dalembert.errors import EngineError, WorkError

_PATIENCE = "10s"


@contextmanager
def joined(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address such as tcp://10.0.0.1:8786."""
    try:
        from distributed import Client  # pyright: ignore[reportMissingImports] (an extra)
    except ImportError as error:
        raise EngineError("a cluster needs Dask, which is not installed. Install dalembert[cluster].") from error
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        raise WorkError(
            f"no scheduler of Dask answers at '{address}' ({error}). Start one with `dask scheduler` and workers with "
            f"`dask worker {address}`, where dalembert is installed too."
        ) from error
    with client:
        if not client.nthreads():
            raise WorkError(f"the scheduler at '{address}' has no workers. Start some with `dask worker {address}`.")
        yield client
