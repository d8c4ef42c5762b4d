"""A checksum behind the content of a binary file.

HDF5, and so NetCDF, ignores bytes behind its own end of file. On a damaged file its library raises errors of many types, returns
wrong numbers, or never returns. So a file is compared with its checksum before the library reads it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_MARK = b"\ndalembert sha256 "
_LENGTH = len(_MARK) + 64


def with_checksum(content: bytes) -> bytes:
    """The content, and behind it a mark and its SHA-256.

    >>> len(with_checksum(b"content")) - len(b"content")
    82
    """
    return content + _MARK + hashlib.sha256(content).hexdigest().encode()


def checksum_fault(path: Path) -> str:
    """What is wrong with a file that `with_checksum` made, as the end of a sentence; empty where nothing is."""
    data = path.read_bytes()
    content, end = data[:-_LENGTH], data[-_LENGTH:]
    if not end.startswith(_MARK):
        return "has no checksum at its end: it is not complete, or run.save(...) of this version did not write it"
    if end != with_checksum(content)[-_LENGTH:]:
        return "does not agree with its checksum: it was damaged or changed after run.save(...) wrote it"
    return ""
