"""What was traced for a model, kept on disk: the next process neither plans nor traces it again.

A record is found by the content of the model, by what is asked for, and by the text of this package: another number, another link
or another line of code finds nothing. Models with members from elsewhere are not kept, since their text is not known.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import symengine

from dalembert.codegen.disk_cache import TEXT, keep, stored
from dalembert.codegen.serialize import Plain, from_bytes, to_bytes
from dalembert.model.description import Description

_PACKAGE = Path(__file__).parents[1]
# packages that this one does not import: they have no part in what is traced
_ABOVE = ("analysis", "api", "cli", "display", "evidence", "formalisms", "papers", "simulation", "studio")


@cache
def package_digest(root: Path = _PACKAGE) -> str | None:
    """The digest of the text that traces, and of what it stands on; None where it is not there as files."""
    files = sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in _ABOVE)
    if not files:
        return None
    parts = [sys.version, np.__version__, symengine.__version__]
    whole = hashlib.sha256("\n".join(parts).encode())
    for path in files:
        text = path.read_bytes()
        whole.update(f"\n{path.relative_to(root).as_posix()} {len(text)}\n".encode() + text)
    return whole.hexdigest()


def kept_record(model: Description, asked: tuple[object, ...], make: Callable[[], Plain]) -> Plain:
    """The record of a model by what is asked for, from disk or else made and kept.

    `asked` are numbers, words and values that are written as they are. What `make` raises is not kept.
    """
    text = package_digest() if _is_known(model) else None
    if text is None:
        return make()
    key = hashlib.sha256("\n".join([text, model.content, repr(asked)]).encode()).hexdigest()
    data = stored(key, TEXT)
    if data is not None:
        return from_bytes(data)
    made = make()
    keep(key, TEXT, to_bytes(made))
    return made


def _is_known(model: Description) -> bool:
    """True where all members are of this package: then its digest tells what they do."""
    joints = chain.from_iterable(body.joints for body in model.bodies)
    constraints = chain(
        model.holonomic_constraints, model.nonholonomic_constraints, model.canonical_constraints, model.loops
    )
    members = chain(joints, model.loads, constraints, (loop.joint for loop in model.loops), model.contacts)
    own = __name__.partition(".")[0]
    return all(kind.__module__.partition(".")[0] == own for kind in set(map(type, members)))
