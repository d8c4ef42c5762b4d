"""Linear systems in machine code: the loops of `symbolic.rolled_solve` over memory, a state in each lane.

A symmetric matrix lies row by row, of which only the lower triangle is looked at; L and D take its place. A general matrix lies
column by column and becomes its orthogonal columns; R lies row by row behind it. A right side becomes the solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from llvmlite import ir

_I64 = ir.IntType(64)


def _whole(x: int) -> ir.Constant:
    return ir.Constant(_I64, x)


@lru_cache(maxsize=16)
def definitions(lanes: int, single: bool, fused: bool) -> str:
    """The text of functions such as `block.symmetric_factor(A, n)` and `block.symmetric_solve(A, n, b)`."""
    module = ir.Module()
    real = ir.FloatType() if single else ir.DoubleType()
    _Writer(module, real if lanes == 1 else ir.VectorType(real, lanes), fused).all()
    return "\n".join(row for row in str(module).splitlines() if not row.startswith("target "))


class _Writer:
    """Writes the functions of one kind of number."""

    b: Any  # the builder of the function being written; llvmlite states no types
    arguments: Any

    def __init__(self, module: ir.Module, number: ir.Type, fused: bool) -> None:
        self._module, self._number, self._fused = module, number, fused
        self._pointer = ir.PointerType()
        if fused:
            lanes, real = (number.count, number.element) if isinstance(number, ir.VectorType) else (0, number)
            kind = (f"v{lanes}" if lanes else "") + ("f32" if isinstance(real, ir.FloatType) else "f64")
            self._fma = ir.Function(module, ir.FunctionType(number, [number] * 3), f"llvm.fma.{kind}")

    def all(self) -> None:
        """All of them."""
        self._less_products()
        self._less_multiple()
        self._symmetric_factor()
        self._symmetric_solve()
        self._general_factor()
        self._general_solve()

    # frames

    @contextmanager
    def _function(self, name: str, *kinds: ir.Type, gives: ir.Type | None = None) -> Iterator[None]:
        """The body of a function; sets the builder and the arguments."""
        function = ir.Function(self._module, ir.FunctionType(gives or ir.VoidType(), kinds), f"block.{name}")
        function.linkage = "internal"
        function.attributes.add("noinline")
        self.b, self.arguments = ir.IRBuilder(function.append_basic_block()), function.args
        yield
        if gives is None:
            self.b.ret_void()

    @contextmanager
    def _loop(self, start: ir.Value, end: ir.Value, step: int = 1) -> Iterator[ir.PhiInstr]:
        """For i from start up to end, end left out."""
        b = self.b
        before, head, body, after = b.block, *(b.append_basic_block() for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(_I64)
        i.add_incoming(start, before)
        b.cbranch(b.icmp_signed("<", i, end), body, after)
        b.position_at_end(body)
        yield i
        i.add_incoming(b.add(i, _whole(step)), b.block)
        b.branch(head)
        b.position_at_end(after)

    def _next(self, pointer: ir.Value, i: ir.Value) -> ir.Value:
        """Where the number i places behind a pointer lies."""
        return self.b.gep(pointer, [i], source_etype=self._number)

    def _load(self, pointer: ir.Value) -> ir.Value:
        return self.b.load(pointer, typ=self._number)

    def _at(self, pointer: ir.Value, row: ir.Value, n: ir.Value, column: ir.Value) -> ir.Value:
        """Where an entry lies."""
        return self._next(pointer, self.b.add(self.b.mul(row, n), column))

    def _row(self, pointer: ir.Value, row: ir.Value, n: ir.Value) -> ir.Value:
        return self._at(pointer, row, n, _whole(0))

    def _less(self, c: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        """c − x y."""
        b = self.b
        if not self._fused:
            return b.fsub(c, b.fmul(x, y))
        return b.call(self._fma, [b.fneg(x), y, c])

    def _call(self, name: str, *arguments: ir.Value) -> ir.Value:
        function = self._module.globals[f"block.{name}"]
        return self.b.call(function, arguments)

    # parts that the others share

    def _less_products(self) -> None:
        """c − Σ x y over k numbers; four sums side by side, since each waits for its own last term only."""
        p, v = self._pointer, self._number
        with self._function("less_products", v, p, p, _I64, gives=v):
            c, x, y, k = self.arguments
            zero, most = ir.Constant(v, None), self.b.and_(k, _whole(-4))
            four = self._sums([c, zero, zero, zero], _whole(0), most, x, y)
            total = self.b.fadd(self.b.fadd(four[0], four[1]), self.b.fadd(four[2], four[3]))
            self.b.ret(*self._sums([total], most, k, x, y))

    def _sums(
        self, starts: list[ir.Value], begin: ir.Value, end: ir.Value, x: ir.Value, y: ir.Value
    ) -> list[ir.PhiInstr]:
        """Sums from `starts` on, less products that are dealt out to them in turn."""
        before = self.b.block
        with self._loop(begin, end, step=len(starts)) as i:
            totals = [
                ir.PhiInstr(i.parent, self._number, self.b.function.scope.deduplicate("total"), flags=())
                for _ in starts
            ]
            for j, (total, start) in enumerate(zip(totals, starts, strict=True)):
                i.parent.instructions.insert(0, total)
                total.add_incoming(start, before)
                at = self.b.add(i, _whole(j))
                term = self._load(self._next(x, at)), self._load(self._next(y, at))
                total.add_incoming(self._less(total, *term), self.b.block)
        return totals

    def _less_multiple(self) -> None:
        """y − s x in the place of y, k numbers."""
        p, v = self._pointer, self._number
        with self._function("less_multiple", p, v, p, _I64):
            y, s, x, k = self.arguments
            with self._loop(_whole(0), k) as i:
                at = self._next(y, i)
                self.b.store(self._less(self._load(at), s, self._load(self._next(x, i))), at)

    def _products(self, x: ir.Value, y: ir.Value, k: ir.Value) -> ir.Value:
        """Σ x y."""
        zero = ir.Constant(self._number, None)
        return self.b.fneg(self._call("less_products", zero, x, y, k))

    # symmetric matrices

    def _symmetric_factor(self) -> None:
        with self._function("symmetric_factor", self._pointer, _I64):
            A, n = self.arguments
            b = self.b
            with self._loop(_whole(0), n) as i:
                row = self._row(A, i, n)
                with self._loop(_whole(0), i) as j:
                    at = self._next(row, j)
                    b.store(self._call("less_products", self._load(at), row, self._row(A, j, n), j), at)
                end = self._next(row, i)
                with self._loop(_whole(0), i) as j:
                    at = self._next(row, j)
                    old = self._load(at)
                    new = b.fdiv(old, self._load(self._at(A, j, n, j)))
                    b.store(self._less(self._load(end), old, new), end)
                    b.store(new, at)

    def _symmetric_solve(self) -> None:
        with self._function("symmetric_solve", self._pointer, _I64, self._pointer):
            A, n, x = self.arguments
            b = self.b
            with self._loop(_whole(1), n) as i:
                at = self._next(x, i)
                b.store(self._call("less_products", self._load(at), self._row(A, i, n), x, i), at)
            with self._loop(_whole(0), n) as i:
                at = self._next(x, i)
                b.store(b.fdiv(self._load(at), self._load(self._at(A, i, n, i))), at)
            with self._loop(_whole(0), n) as k:
                i = b.sub(b.sub(n, _whole(1)), k)
                self._call("less_multiple", x, self._load(self._next(x, i)), self._row(A, i, n), i)

    # general matrices

    def _general_factor(self) -> None:
        with self._function("general_factor", self._pointer, _I64):
            Q, n = self.arguments
            b = self.b
            R = self._next(Q, b.mul(n, n))
            with self._loop(_whole(0), n) as k:
                q = self._row(Q, k, n)
                length = self._products(q, q, n)
                b.store(length, self._at(R, k, n, k))
                with self._loop(b.add(k, _whole(1)), n) as j:
                    other = self._row(Q, j, n)
                    share = b.fdiv(self._products(q, other, n), length)
                    b.store(share, self._at(R, k, n, j))
                    self._call("less_multiple", other, share, q, n)

    def _general_solve(self) -> None:
        with self._function("general_solve", self._pointer, _I64, self._pointer, self._pointer):
            Q, n, rest, x = self.arguments
            b = self.b
            R = self._next(Q, b.mul(n, n))
            with self._loop(_whole(0), n) as k:
                q = self._row(Q, k, n)
                along = b.fdiv(self._products(q, rest, n), self._load(self._at(R, k, n, k)))
                b.store(along, self._next(x, k))
                self._call("less_multiple", rest, along, q, n)
            with self._loop(_whole(1), n) as i:
                k = b.sub(b.sub(n, _whole(1)), i)
                at, behind = self._next(x, k), b.add(k, _whole(1))
                above = self._at(R, k, n, behind)
                b.store(self._call("less_products", self._load(at), above, self._next(x, behind), i), at)
