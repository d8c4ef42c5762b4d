"""Linear systems in machine code: the loops of `symbolic.rolled_solve` over memory, with a state in each lane.

A symmetric matrix is stored row by row, and only its lower triangle is read; it is overwritten by L and D. A general matrix is
stored column by column and overwritten by its orthogonal columns; R follows row by row. A right-hand side is overwritten by the
solution.

Symmetric systems with known zeros get functions without loops, each called for many right-hand sides. L D Lᵀ has almost no
fill-in if the matrix comes from a tree and its branches are eliminated before the bodies that carry them. Only nonzero entries
are stored: those of L column by column, each column after 1/D. A right-hand side that is initially zero in most entries is
eliminated only where it becomes nonzero; back substitution is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from llvmlite import ir

from dalembert.codegen.llvm._value_types import Builder, MachineWord

if TYPE_CHECKING:
    from dalembert.codegen.llvm._library import MachineTarget


_I64 = ir.IntType(64)
_MAX_PRODUCTS = 6000  # products of an unrolled factorization
Row = Callable[[str], str]


def _constant(x: int) -> ir.Constant:
    return ir.Constant(_I64, x)


@lru_cache(maxsize=16)
def definitions(lanes: int, single: bool, fused: bool) -> str:
    """The source of functions such as `block.symmetric_factor(A, n)` and `block.symmetric_solve(A, n, b)`."""
    module = ir.Module()
    real = ir.FloatType() if single else ir.DoubleType()
    _Writer(module, real if lanes == 1 else ir.VectorType(real, lanes), fused).all()
    return "\n".join(row for row in str(module).splitlines() if not row.startswith("target "))


class _Writer:
    """Writes the functions for one number type."""

    b: Builder  # of the current function
    arguments: Sequence[MachineWord]

    def __init__(self, module: ir.Module, number: ir.Type, fused: bool) -> None:
        self._module, self._number, self._fused = module, number, fused
        self._pointer = ir.PointerType()
        if fused:
            lanes, real = (number.count, number.element) if isinstance(number, ir.VectorType) else (0, number)
            kind = (f"v{lanes}" if lanes else "") + ("f32" if isinstance(real, ir.FloatType) else "f64")
            self._fma = ir.Function(module, ir.FunctionType(number, [number] * 3), f"llvm.fma.{kind}")

    def all(self) -> None:
        """Write all functions."""
        self._less_products()
        self._less_multiple()
        self._symmetric_factor()
        self._symmetric_solve()
        self._general_factor()
        self._general_solve()

    # functions and loops

    @contextmanager
    def _function(self, name: str, *kinds: ir.Type, returns: ir.Type | None = None) -> Iterator[None]:
        """The body of a function; sets the builder and the arguments."""
        function = ir.Function(self._module, ir.FunctionType(returns or ir.VoidType(), kinds), f"block.{name}")
        function.linkage = "internal"
        function.attributes.add("noinline")
        self.b, self.arguments = ir.IRBuilder(function.append_basic_block()), function.args
        yield
        if returns is None:
            self.b.ret_void()

    @contextmanager
    def _loop(self, start: ir.Value, end: ir.Value, step: int = 1) -> Iterator[ir.PhiInstr]:
        """Loop over i from start to end, exclusive."""
        b = self.b
        before, head, body, after = b.block, *(b.append_basic_block() for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(_I64)
        i.add_incoming(start, before)
        b.cbranch(b.icmp_signed("<", i, end), body, after)
        b.position_at_end(body)
        yield i
        i.add_incoming(b.add(i, _constant(step)), b.block)
        b.branch(head)
        b.position_at_end(after)

    def _next(self, pointer: ir.Value, i: ir.Value) -> ir.Value:
        """The address of the number i elements after a pointer."""
        return self.b.gep(pointer, [i], source_etype=self._number)

    def _load(self, pointer: ir.Value) -> ir.Value:
        return self.b.load(pointer, typ=self._number)

    def _at(self, pointer: ir.Value, row: ir.Value, n: ir.Value, column: ir.Value) -> ir.Value:
        """The address of an entry."""
        return self._next(pointer, self.b.add(self.b.mul(row, n), column))

    def _row(self, pointer: ir.Value, row: ir.Value, n: ir.Value) -> ir.Value:
        return self._at(pointer, row, n, _constant(0))

    def _less(self, c: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        """c − x y."""
        b = self.b
        if not self._fused:
            return b.fsub(c, b.fmul(x, y))
        return b.call(self._fma, [b.fneg(x), y, c])

    def _call(self, name: str, *arguments: ir.Value) -> ir.Value:
        function = self._module.globals[f"block.{name}"]
        return self.b.call(function, arguments)

    # shared parts

    def _less_products(self) -> None:
        """c − Σ x y over k numbers; four independent partial sums shorten the dependency chain."""
        p, v = self._pointer, self._number
        with self._function("less_products", v, p, p, _I64, returns=v):
            c, x, y, k = self.arguments
            zero, limit = ir.Constant(v, None), self.b.and_(k, _constant(-4))
            four = self._sums([c, zero, zero, zero], _constant(0), limit, x, y)
            total = self.b.fadd(self.b.fadd(four[0], four[1]), self.b.fadd(four[2], four[3]))
            self.b.ret(*self._sums([total], limit, k, x, y))

    def _sums(
        self, starts: list[ir.Value], begin: ir.Value, end: ir.Value, x: ir.Value, y: ir.Value
    ) -> list[ir.PhiInstr]:
        """Partial sums from `starts`, from which products are subtracted in turn."""
        before = self.b.block
        with self._loop(begin, end, step=len(starts)) as i:
            totals = [
                ir.PhiInstr(i.parent, self._number, self.b.function.scope.deduplicate("total"), flags=())
                for _ in starts
            ]
            for j, (total, start) in enumerate(zip(totals, starts, strict=True)):
                i.parent.instructions.insert(0, total)
                total.add_incoming(start, before)
                at = self.b.add(i, _constant(j))
                term = self._load(self._next(x, at)), self._load(self._next(y, at))
                total.add_incoming(self._less(total, *term), self.b.block)
        return totals

    def _less_multiple(self) -> None:
        """Overwrite y by y − s x, for k numbers."""
        p, v = self._pointer, self._number
        with self._function("less_multiple", p, v, p, _I64):
            y, s, x, k = self.arguments
            with self._loop(_constant(0), k) as i:
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
            with self._loop(_constant(0), n) as i:
                row = self._row(A, i, n)
                with self._loop(_constant(0), i) as j:
                    at = self._next(row, j)
                    b.store(self._call("less_products", self._load(at), row, self._row(A, j, n), j), at)
                end = self._next(row, i)
                with self._loop(_constant(0), i) as j:
                    at = self._next(row, j)
                    old = self._load(at)
                    new = b.fdiv(old, self._load(self._at(A, j, n, j)))
                    b.store(self._less(self._load(end), old, new), end)
                    b.store(new, at)

    def _symmetric_solve(self) -> None:
        with self._function("symmetric_solve", self._pointer, _I64, self._pointer):
            A, n, x = self.arguments
            b = self.b
            with self._loop(_constant(1), n) as i:
                at = self._next(x, i)
                b.store(self._call("less_products", self._load(at), self._row(A, i, n), x, i), at)
            with self._loop(_constant(0), n) as i:
                at = self._next(x, i)
                b.store(b.fdiv(self._load(at), self._load(self._at(A, i, n, i))), at)
            with self._loop(_constant(0), n) as k:
                i = b.sub(b.sub(n, _constant(1)), k)
                self._call("less_multiple", x, self._load(self._next(x, i)), self._row(A, i, n), i)

    # general matrices

    def _general_factor(self) -> None:
        with self._function("general_factor", self._pointer, _I64):
            Q, n = self.arguments
            b = self.b
            R = self._next(Q, b.mul(n, n))
            with self._loop(_constant(0), n) as k:
                q = self._row(Q, k, n)
                length = self._products(q, q, n)
                b.store(length, self._at(R, k, n, k))
                with self._loop(b.add(k, _constant(1)), n) as j:
                    other = self._row(Q, j, n)
                    share = b.fdiv(self._products(q, other, n), length)
                    b.store(share, self._at(R, k, n, j))
                    self._call("less_multiple", other, share, q, n)

    def _general_solve(self) -> None:
        with self._function("general_solve", self._pointer, _I64, self._pointer, self._pointer):
            Q, n, rest, x = self.arguments
            b = self.b
            R = self._next(Q, b.mul(n, n))
            with self._loop(_constant(0), n) as k:
                q = self._row(Q, k, n)
                along = b.fdiv(self._products(q, rest, n), self._load(self._at(R, k, n, k)))
                b.store(along, self._next(x, k))
                self._call("less_multiple", rest, along, q, n)
            with self._loop(_constant(1), n) as i:
                k = b.sub(b.sub(n, _constant(1)), i)
                at, following = self._next(x, k), b.add(k, _constant(1))
                above = self._at(R, k, n, following)
                b.store(self._call("less_products", self._load(at), above, self._next(x, following), i), at)


@dataclass(frozen=True)
class Pattern:
    """The nonzero rows below the diagonal in each column of L, including fill-in."""

    columns: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, n: int, used: Iterable[tuple[int, int]]) -> Pattern:
        """The pattern of a matrix with these entries, row and column.

        >>> Pattern.of(3, [(1, 0), (2, 0)]).columns
        ((1, 2), (2,), ())
        """
        rows = [set[int]() for _ in range(n)]
        for i, j in used:
            rows[min(i, j)].add(max(i, j))
        for j, below in enumerate(rows):
            below.discard(j)
            for i in below:
                rows[i] |= {k for k in below if k > i}
        return cls(tuple(tuple(sorted(below)) for below in rows))

    @cached_property
    def slots(self) -> dict[tuple[int, int], int]:
        """Storage index of entries, by row and column."""
        positions = [(i, j) for j, below in enumerate(self.columns) for i in (j, *below)]
        return {position: k for k, position in enumerate(positions)}

    @property
    def worthwhile(self) -> bool:
        """True if the unrolled functions are short."""
        return sum(len(below) * (len(below) + 3) // 2 for below in self.columns) <= _MAX_PRODUCTS

    def reached(self, used: Iterable[int]) -> tuple[int, ...]:
        """The entries of a right-hand side that become nonzero, from those that are initially nonzero."""
        found = set(used)
        for j, below in enumerate(self.columns):
            if j in found:
                found.update(below)
        return tuple(sorted(found))

    def length(self, reached: Iterable[int]) -> int:
        """The number of products in the elimination of a right-hand side."""
        return sum(1 + len(self.columns[j]) for j in reached)


def variants(pattern: Pattern, requested: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[int, ...]]:
    """For each set of indices a superset that costs little more, so that few functions serve many right-hand sides."""
    chosen, selected = dict[tuple[int, ...], tuple[int, ...]](), list[tuple[int, ...]]()
    for reached in sorted(set(requested), key=lambda each: (-pattern.length(each), each)):
        limit = 1.4 * pattern.length(reached) + 8
        fit = next(
            (other for other in reversed(selected) if {*reached} <= {*other} and pattern.length(other) <= limit), None
        )
        chosen[reached] = reached if fit is None else fit
        if fit is None:
            selected.append(reached)
    return chosen


class SparseSource:
    """Writes the functions of one pattern; `multiply_add` emits a b + c."""

    def __init__(
        self, pattern: Pattern, target: MachineTarget, multiply_add: Callable[[Row, str, str, str], str]
    ) -> None:
        self._pattern, self._target, self._multiply_add = pattern, target, multiply_add
        self._rows: list[str] = []

    def factor(self, name: str) -> str:
        """Overwrite a matrix by L and 1/D."""
        kind, columns, slots = self._target.vector, self._pattern.columns, self._pattern.slots
        self._rows = []
        A = {position: self._load("%A", k) for position, k in slots.items()}
        for j, below in enumerate(columns):
            shrink = self._row(f"fdiv {kind} {self._target.constant(1.0)}, {A[j, j]}")
            self._store(shrink, "%A", slots[j, j])
            for a, k in enumerate(below):
                u = self._row(f"fmul {kind} {A[k, j]}, {shrink}")
                self._store(u, "%A", slots[k, j])
                for i in below[a:]:
                    A[i, k] = self._less(A[i, k], u, A[i, j])
        return self._function(name, "ptr noalias %A")

    def inwards(self, name: str, reached: Sequence[int]) -> str:
        """Overwrite x by D⁻¹ L⁻¹ x; x is nonzero, and initialized, only at the indices `reached`."""
        kind, slots = self._target.vector, self._pattern.slots
        self._rows = []
        x = {i: self._load("%x", i) for i in reached}
        for j in reached:
            for i in self._pattern.columns[j]:
                x[i] = self._less(x[i], self._load("%A", slots[i, j]), x[j])
            scaled = self._row(f"fmul {kind} {x[j]}, {self._load('%A', slots[j, j])}")
            self._store(scaled, "%x", j)
        for j in set(range(len(self._pattern.columns))).difference(reached):
            self._store(self._target.constant(0.0), "%x", j)
        return self._function(name, "ptr noalias readonly %A, ptr noalias %x")

    def outwards(self, name: str) -> str:
        """Overwrite x by L⁻ᵀ x."""
        columns, slots = self._pattern.columns, self._pattern.slots
        self._rows = []
        x = [self._load("%x", i) for i in range(len(columns))]
        for i in reversed(range(len(columns))):
            self._store(x[i], "%x", i)
            for j in range(i):
                if i in columns[j]:
                    x[j] = self._less(x[j], self._load("%A", slots[i, j]), x[i])
        return self._function(name, "ptr noalias readonly %A, ptr noalias %x")

    def _function(self, name: str, arguments: str) -> str:
        rows = "\n".join(self._rows)
        return f'define internal void @"{name}"({arguments}) noinline {{\n{rows}\nret void\n}}'

    def _row(self, instruction: str) -> str:
        self._rows.append(f"%r{len(self._rows)} = {instruction}")
        return f"%r{len(self._rows) - 1}"

    def _at(self, pointer: str, k: int) -> str:
        return self._row(f"getelementptr {self._target.vector}, ptr {pointer}, i64 {k}")

    def _load(self, pointer: str, k: int) -> str:
        return self._row(f"load {self._target.vector}, ptr {self._at(pointer, k)}")

    def _store(self, value: str, pointer: str, k: int) -> None:
        self._rows.append(f"store {self._target.vector} {value}, ptr {self._at(pointer, k)}")

    def _less(self, c: str, a: str, b: str) -> str:
        """c − a b."""
        kind = self._target.vector
        if not self._target.fused:
            return self._row(f"fsub {kind} {c}, {self._row(f'fmul {kind} {a}, {b}')}")
        return self._multiply_add(self._row, self._row(f"fneg {kind} {a}"), b, c)
