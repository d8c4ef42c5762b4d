"""Plain functions with linear algebra as machine code by Numba, with the signature of programs; loops alone need none (`loops`).

Numba is imported when the first of them is asked for, since that takes a second. What it compiled goes to the disk cache of
`store`, not to Numba's own folder, which is read without a check of its content or owner. Its key holds the source of all
modules that are called, the versions of Python, Numba and LLVM, and the processor; numbers that change belong to the key or to
the arguments.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import inspect
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from dalembert.codegen.compiled_loop import Written, call
from dalembert.codegen.disk_cache import NUMBA, keep, stored


def array_at(address: Any, shape: Any, dtype: Any) -> np.ndarray:
    """The numbers at an address; outside of machine code an array stands for its address."""
    if isinstance(address, np.ndarray):
        return address.reshape(shape)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(memoryview((ctypes.c_char * size).from_address(address)), dtype).reshape(shape)


@dataclass(frozen=True)
class Text:
    """A text in machine code, which is the same for all models: for one state, and for many one after the other."""

    address: int
    address_of_many: int
    lanes = 1

    @property
    def one(self) -> Callable[..., None]:
        """The code as a function of four addresses."""
        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(self.address)

    @property
    def many(self) -> Callable[..., None]:
        """The code as a function of four addresses, begin, end and stride."""
        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)(self.address_of_many)


def available() -> bool:
    """True when Numba is installed."""
    return importlib.util.find_spec("numba") is not None


def address_of(
    entry: Written,
    signature: str,
    called: Sequence[ModuleType],
    instead: Mapping[Written, Written],
    numbers: Sequence[float] = (),
) -> int:
    """The address of a function in machine code with the signature of C.

    `called` are the modules whose functions it calls, its own among them, `instead` what stands for functions that Numba does not
    know, and `numbers` the constants of other modules.
    """
    from numba import extending
    from numba.core.ccallback import CFunc
    from numba.core.errors import NumbaPerformanceWarning
    from numba.core.sigutils import normalize_signature

    for module in called:
        for text in vars(module).values():
            if inspect.isfunction(text) and text.__module__ == module.__name__ and text not in _KNOWN | {*instead}:
                _KNOWN.add(text)
                extending.register_jitable(error_model="numpy")(text)
    tell_of_addresses()
    for text, other in instead.items():
        _stand_in(text, other)
    source = "\n".join([*map(inspect.getsource, called), repr(tuple(numbers)), entry.__module__, entry.__name__])
    made: Any = CFunc(entry, normalize_signature(signature), locals={}, options={"error_model": "numpy"})
    made._cache = _StoreCache(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        made.compile()
    _KEPT.append(made)
    assert made.address is not None
    return made.address


class _StoreCache:
    """What Numba asks for compiled functions; they lie in the disk cache of `store`, under a key that holds their source."""

    def __init__(self, source: str) -> None:
        self._source = source

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, or None."""
        from numba.core.compiler import CompileResult

        target_context.refresh()
        data = stored(self._digest(sig, target_context.codegen()), NUMBA)
        if data is None:
            return None
        parts = pickle.loads(data)  # noqa: S301 - the store has checked that this user wrote these bytes for this key
        return CompileResult._rebuild(target_context, *parts)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function; one that refers to addresses of this process is compiled again next time."""
        from numba.core.serialize import dumps

        if not data.library.has_dynamic_globals and not data.lifted:
            keep(self._digest(sig, data.library.codegen), NUMBA, dumps(data._reduce()))

    def _digest(self, sig: Any, codegen: Any) -> str:
        import llvmlite
        import numba

        versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
        key = "\n".join([repr(versions), repr(codegen.magic_tuple()), str(sig), self._source])
        return hashlib.sha256(key.encode()).hexdigest()


def c_address(entry: Written, signature: str) -> int:
    """The address of a function that belongs to a user, in machine code that is not kept on disk."""
    import numba

    made = numba.cfunc(signature, error_model="numpy")(entry)
    _KEPT.append(made)
    assert made.address is not None
    return made.address


def tell_of_addresses() -> None:
    """Tell Numba what `call` and `array_at` are in machine code."""
    import numba
    from numba import carray  # pyright: ignore[reportPrivateImportUsage]

    _stand_in(call, _jump(numba))
    _stand_in(array_at, lambda address, shape, dtype: carray(address, shape, dtype))


def _stand_in(text: Written, other: Written) -> None:
    """Let Numba take another text in the place of one; told once."""
    from numba import extending

    if text not in _KNOWN:
        _KNOWN.add(text)
        extending.overload(text, jit_options={"error_model": "numpy"})(_always(other))


_KEPT: list[object] = []  # code lives as long as the object that owns it
_KNOWN: set[Written] = set()  # what Numba was told of


def _always(text: Written) -> Written:
    """Numba asks by types which text to take: this one."""

    def ask(*types: object) -> Written:
        return text

    ask.__signature__ = inspect.signature(text)  # type: ignore[attr-defined]
    return ask


def _jump(numba: Any) -> Written:
    """What stands for `call` in machine code."""
    from llvmlite import ir

    @numba.extending.intrinsic
    def jump(typing: Any, one: Any, x: Any, p: Any, tables: Any, out: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = ir.DoubleType().as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [number] * 4).as_pointer()
            pointers = [
                context.make_array(array)(context, builder, value).data
                for array, value in zip(signature.args[1:], arguments[1:], strict=True)
            ]
            builder.call(builder.inttoptr(arguments[0], kind), pointers)
            return context.get_dummy_value()

        return numba.types.void(one, x, p, tables, out), code

    return lambda one, x, p, tables, out: jump(one, x, p, tables, out)
