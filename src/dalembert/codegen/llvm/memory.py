"""Memory of arrays that functions return to each other in machine code: an arena, which its owner frees at once.

An arena is three words: the address of what is free, its end, and the last block from the heap. A block begins with the address
of the one before.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from dalembert.codegen.llvm.value_types import INT, Word, integer

ARENA = INT.word.as_pointer()
_BYTE = ir.IntType(8).as_pointer()
_BLOCK_BYTES = 1 << 16
_HEAD_BYTES = 16  # of a block: keeps the alignment of the heap


class Memory:
    """The functions of a module that allocate and free."""

    def __init__(self, module: ir.Module) -> None:
        self.malloc = ir.Function(module, ir.FunctionType(_BYTE, [INT.word]), "malloc")
        self.free = ir.Function(module, ir.FunctionType(ir.VoidType(), [_BYTE]), "free")
        self.allocate = ir.Function(module, ir.FunctionType(ARENA, [ARENA, INT.word]), "allocate")
        self.release = ir.Function(module, ir.FunctionType(ir.VoidType(), [ARENA]), "release")
        self.allocate.linkage = self.release.linkage = "internal"
        self._write_allocate(ir.IRBuilder(self.allocate.append_basic_block()))
        self._write_release(ir.IRBuilder(self.release.append_basic_block()))

    def arena(self, builder: Any) -> Word:
        """A new arena beside the variables of a function."""
        arena = builder.alloca(INT.word, size=3)
        for i in range(3):
            builder.store(integer(0).word, builder.gep(arena, [integer(i).word]))
        return arena

    def _write_allocate(self, builder: Any) -> None:
        """The address of so many words."""
        arena, count = self.allocate.args
        free, end, last = (builder.gep(arena, [integer(i).word]) for i in range(3))
        size = builder.mul(count, integer(8).word)
        found = builder.load(free)
        after = builder.add(found, size)
        with builder.if_then(builder.icmp_signed("<=", after, builder.load(end)), likely=True):
            builder.store(after, free)
            builder.ret(builder.inttoptr(found, ARENA))
        large = builder.icmp_signed(">", size, integer(_BLOCK_BYTES).word)
        block = builder.select(large, size, integer(_BLOCK_BYTES).word)
        begin = builder.call(self.malloc, [builder.add(block, integer(_HEAD_BYTES).word)])
        builder.store(builder.load(last), builder.bitcast(begin, ARENA))
        builder.store(builder.ptrtoint(begin, INT.word), last)
        begin = builder.add(builder.load(last), integer(_HEAD_BYTES).word)
        builder.store(builder.add(begin, size), free)
        builder.store(builder.add(begin, block), end)
        builder.ret(builder.inttoptr(begin, ARENA))

    def _write_release(self, builder: Any) -> None:
        """Free all blocks of an arena."""
        last = builder.gep(self.release.args[0], [integer(2).word])
        look, free, done = (self.release.append_basic_block() for _ in range(3))
        builder.branch(look)
        builder.position_at_end(look)
        block = builder.load(last)
        builder.cbranch(builder.icmp_signed("==", block, integer(0).word), done, free)
        builder.position_at_end(free)
        pointer = builder.inttoptr(block, ARENA)
        builder.store(builder.load(pointer), last)
        builder.call(self.free, [builder.bitcast(pointer, _BYTE)])
        builder.branch(look)
        builder.position_at_end(done)
        builder.ret_void()
