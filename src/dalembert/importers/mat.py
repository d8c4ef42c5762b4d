"""Plain arrays of numbers out of MATLAB's data files (`.mat`), levels 4 and 5; whatever else such a file holds is only named.

A file is read with suspicion: compressed parts are unpacked here up to a bound, so that SciPy's reader never sees more than
that, and cells, structures, text and objects are never opened.
"""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np

from dalembert.errors import ModelFileError, nearest
from dalembert.importers.source import failure, read_bytes
from dalembert.model.keys import MAX_NAME, quote

Values = tuple[float, ...]

MAX_UNPACKED = 1_000_000  # bytes
_PLAIN = {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
_HEADER = 128  # bytes of text, version and byte order in front of the elements of level 5
_COMPRESSED = 15
_OLDER = "In MATLAB or Octave write it by save('inputs.mat', '-v7')."


@dataclass(frozen=True)
class Stored:
    """What a file holds: its vectors of numbers by name, and what the other names stand for."""

    source: str
    vectors: Mapping[str, Values]
    others: Mapping[str, str]

    def vector(self, name: str, where: str) -> Values:
        """One of the vectors; `where` is the place that asks for it."""
        if name in self.others:
            fact = f"{quote(name)} in {self.source} is {self.others[name]}."
            raise failure(where, fact, "Expected a vector of real numbers.")
        if name not in self.vectors:
            fact = f"there is no {quote(name)} in {self.source}."
            raise failure(where, fact, nearest(name[:MAX_NAME], self.vectors))
        return self.vectors[name]


def read_mat(path: str | Path) -> Stored:
    """The vectors of a `.mat` file.

    >>> from dalembert.errors import ModelFileError
    >>> try:
    ...     read_mat("no-such-place/inputs.mat")
    ... except ModelFileError as error:
    ...     print(error.problems[0].fact)
    there is no such file.
    """
    return stored(read_bytes(path), str(path))


def stored(data: bytes, source: str = "<bytes>") -> Stored:
    """The vectors in the bytes of a `.mat` file.

    >>> from scipy.io import savemat
    >>> savemat(file := BytesIO(), {"n": 2, "m": [[0.5], [0.4]], "label": "arm"})
    >>> found = stored(file.getvalue())
    >>> found.vectors, found.others
    ({'n': (2.0,), 'm': (0.5, 0.4)}, {'label': 'of class char'})
    """
    if data.startswith((b"MATLAB 7.3", b"\x89HDF")):
        raise failure(source, "this is a MAT file of version 7.3, which is HDF5.", _OLDER)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return _sorted(BytesIO(_unpacked(data, source)), source)
    except ModelFileError:
        raise
    except Exception as error:  # whatever SciPy meets in a damaged file
        fact = f"this is not a MAT file of level 4 or 5, or it is damaged ({_shown(error)})."
        raise failure(source, fact, _OLDER) from error


def _unpacked(data: bytes, source: str) -> bytes:
    """The file without compression; only level 5 has it, whose text begins without a zero."""
    order = {b"IM": "<", b"MI": ">"}.get(data[_HEADER - 2 : _HEADER])
    if 0 in data[:4] or order is None:
        return data
    out, at, room = [data[:_HEADER]], _HEADER, MAX_UNPACKED
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        element = data[at : at + 8 + size]
        if len(element) < 8 + size:
            raise failure(source, "the file ends within an array.", "Copy or save it again.")
        at += len(element)
        if kind == _COMPRESSED:
            element = zlib.decompressobj().decompress(element[8:], room + 1)
        room -= len(element)
        if room < 0:
            fact = f"its arrays take more than {MAX_UNPACKED} bytes."
            raise failure(source, fact, "Save only the inputs of the robot.")
        out.append(element)
    return b"".join(out)


def _sorted(file: BytesIO, source: str) -> Stored:
    """Vectors of real numbers on one side, everything else on the other."""
    from scipy.io import loadmat, whosmat  # half a second, which only such files are worth

    listed = whosmat(file)
    classes = {name: kind for name, _, kind in listed}
    if len(classes) < len(listed):
        raise failure(source, "a name is stored twice.", "Save the file again.")
    others = {name: f"of class {kind}" for name, kind in classes.items() if kind not in _PLAIN}
    file.seek(0)
    arrays = loadmat(file, variable_names=[name for name in classes if name not in others])
    vectors: dict[str, Values] = {}
    for name in classes.keys() - others.keys():
        array = np.asarray(arrays[name])
        if np.iscomplexobj(array):
            others[name] = "complex"
        elif array.ndim != 2 or min(array.shape) > 1:
            others[name] = f"an array of {'×'.join(str(size) for size in array.shape)}"
        else:
            vectors[name] = tuple(array.astype(float).ravel().tolist())
    return Stored(source, {name: vectors[name] for name in classes if name in vectors}, others)


def _shown(error: Exception) -> str:
    """What another library said, on one short line."""
    return " ".join(str(error).split())[:100] or type(error).__name__
