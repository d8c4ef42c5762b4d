"""Reader of numeric arrays in MATLAB data files (`.mat`), levels 4 and 5; of other content only names and types are read.

    level 5     a header of 128 bytes, then elements (kind, size, data); an array is an element of elements:
                flags, dimensions, name, numbers. A compressed element contains another one.
    level 4     for each array five integers (kind, rows, columns, complex or not, length of the name), name, numbers

SciPy's reader is not used: it builds cells, structures and objects, unpacks without limit, and can crash on damaged files.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dalembert.errors import ModelFileError, suggest_name
from dalembert.io.toml_reader import failure, read_bytes
from dalembert.model.keys import quote
from dalembert.model.values import MAX_NAME

Values = tuple[float, ...]

MAX_UNPACKED = 1_000_000  # bytes
_HEADER = 128
_ARRAY, _COMPRESSED = 14, 15  # kinds of elements
_OBJECT = 17  # class of an array that has no dimensions
_CLASSES = {1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 16: "function_handle", _OBJECT: "object"}
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_NUMBERS_4 = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}
_SAVE = "In MATLAB or Octave save it with save('inputs.mat', '-v7')."


@dataclass(frozen=True)
class MatFile:
    """Content of a file: its numeric vectors by name, and the types of the other names."""

    source: str
    vectors: Mapping[str, Values]
    others: Mapping[str, str]

    def vector(self, name: str, where: str) -> Values:
        """One of the vectors; `where` is the location of the request in messages."""
        if name in self.others:
            fact = f"{quote(name)} in {self.source} is {self.others[name]}."
            raise failure(where, fact, "Expected a vector of real numbers.")
        if name not in self.vectors:
            fact = f"there is no {quote(name)} in {self.source}."
            raise failure(where, fact, suggest_name(name[:MAX_NAME], self.vectors))
        return self.vectors[name]

    def only(self, names: Iterable[str]) -> MatFile:
        """The content with these names."""
        chosen = set(names)
        vectors = {name: value for name, value in self.vectors.items() if name in chosen}
        return MatFile(self.source, vectors, {name: it for name, it in self.others.items() if name in chosen})

    def without(self, names: Iterable[str]) -> MatFile:
        """The same content with empty vectors for these names if they are not vectors."""
        empty = {name: () for name in names if name in self.others}
        return MatFile(
            self.source, {**self.vectors, **empty}, {name: it for name, it in self.others.items() if name not in empty}
        )


class _Array(NamedTuple):
    """An array of a file: its name, its numbers or None, and its type if it is not a real vector."""

    name: str
    numbers: np.ndarray | None
    other: str


def read_mat(path: str | Path) -> MatFile:
    """Read the vectors of a `.mat` file.

    >>> from dalembert.errors import ModelFileError
    >>> try:
    ...     read_mat("no-such-folder/inputs.mat")
    ... except ModelFileError as error:
    ...     print(error.problems[0].fact)
    there is no such file.
    """
    return parse_mat(read_bytes(path), str(path))


def parse_mat(data: bytes, source: str = "<bytes>") -> MatFile:
    """Read the vectors from the bytes of a `.mat` file.

    >>> from io import BytesIO
    >>> from scipy.io import savemat
    >>> savemat(file := BytesIO(), {"n": 2, "m": [[0.5], [0.4]], "label": "arm"})
    >>> found = parse_mat(file.getvalue())
    >>> found.vectors, found.others
    ({'n': (2.0,), 'm': (0.5, 0.4)}, {'label': 'of class char'})
    """
    if data.startswith((b"MATLAB 7.3", b"\x89HDF")):
        raise failure(source, "MAT files of version 7.3 (HDF5) are not supported.", _SAVE)
    order = {b"IM": "<", b"MI": ">"}.get(data[_HEADER - 2 : _HEADER])
    vectors: dict[str, Values] = {}
    others: dict[str, str] = {}
    try:
        arrays = _level_4(data) if order is None or 0 in data[:4] else _level_5(data, order, source)
        for name, numbers, other in arrays:
            if name in vectors or name in others:
                raise failure(source, f"duplicate name {quote(name)}.", "Save the file again.")
            if numbers is None:
                others[name] = other
            else:
                vectors[name] = tuple(numbers.astype(float).tolist())
    except ModelFileError:
        raise
    except (ValueError, KeyError, struct.error, zlib.error) as error:
        raise failure(source, "the file is not a MAT file of level 4 or 5, or it is damaged.", _SAVE) from error
    return MatFile(source, vectors, others)


def _level_5(data: bytes, order: str, source: str) -> Iterator[_Array]:
    at, remaining = _HEADER, MAX_UNPACKED
    while at < len(data):
        kind, element, at = _element(data, at, order, padded=False)
        if kind == _COMPRESSED:
            unpacked = zlib.decompressobj().decompress(element, remaining + 1)
            remaining -= len(unpacked)
            if remaining < 0:
                fact = f"the arrays are larger than {MAX_UNPACKED} bytes."
                raise failure(source, fact, "Save only the inputs of the robot.")
            kind, element, _ = _element(unpacked, 0, order)
        if kind != _ARRAY:
            raise ValueError("unexpected non-array element")
        array = _array(element, order)
        if array.name:  # arrays without a name belong to objects
            yield array


def _element(data: bytes, at: int, order: str, *, padded: bool = True) -> tuple[int, bytes, int]:
    """Kind and data of the element at an offset, and the offset of the next; parts of an array are padded to 8 bytes."""
    kind, size = struct.unpack_from(f"{order}II", data, at)
    start = at + 8
    if kind >> 16:  # small element: the data replaces the size
        kind, size, start = kind & 0xFFFF, kind >> 16, at + 4
        after = at + 8
    else:
        after = start + size + (-size % 8 if padded else 0)
    if size > len(data) - start or start + size > after:
        raise ValueError("the file ends within an array")
    return kind, data[start : start + size], after


def _array(data: bytes, order: str) -> _Array:
    """The array in an element: flags, dimensions, name and numbers."""
    _, flags, at = _element(data, 0, order)
    (word,) = struct.unpack_from(f"{order}I", flags)
    kind = word & 0xFF
    size = b""
    if kind != _OBJECT:
        _, size, at = _element(data, at, order)
    _, name, at = _element(data, at, order)
    label = name.decode("ascii")
    if kind in _CLASSES:
        return _Array(label, None, f"of class {_CLASSES[kind]}")
    if word & 0x800:
        return _Array(label, None, "complex")
    shape = np.frombuffer(size, f"{order}i4").tolist()
    number, numbers, _ = _element(data, at, order)
    return _shaped(label, np.frombuffer(numbers, f"{order}{_NUMBERS[number]}"), shape)


def _level_4(data: bytes) -> Iterator[_Array]:
    at = 0
    while at < len(data) or at == 0:
        order = "<" if 0 <= struct.unpack_from("<i", data, at)[0] < 1000 else ">"
        kind, rows, columns, imaginary, length = struct.unpack_from(f"{order}5i", data, at)
        numbers = np.dtype(f"{order}{_NUMBERS_4[kind // 10 % 10]}")
        size = rows * columns * (2 if imaginary else 1) * numbers.itemsize
        start = at + 20 + length
        if (
            kind % 1000 // 100
            or kind // 1000 != (order == ">")
            or min(rows, columns, length - 1) < 0
            or start + size > len(data)
        ):
            raise ValueError("the file ends within an array")
        name = data[at + 20 : start].rstrip(b"\0").decode("ascii")
        at = start + size
        if kind % 10 or imaginary:
            yield _Array(name, None, {0: "complex", 1: "of class char"}.get(kind % 10, "of class sparse"))
        else:
            yield _shaped(name, np.frombuffer(data[start:at], numbers), [rows, columns])


def _shaped(name: str, numbers: np.ndarray, shape: list[int]) -> _Array:
    """A vector, or the shape of an array that is not a vector."""
    if len(shape) < 2 or prod(shape) != numbers.size:
        raise ValueError("array data does not match its declared size")
    if sum(size > 1 for size in shape) > 1:
        return _Array(name, None, f"an array of {'×'.join(str(size) for size in shape)}")
    return _Array(name, numbers, "")
