"""Emit sweeps as LLVM source: a function for each step, and loops over states, sweeps and links that call them.

The signatures are those of a program, `one(x, p, tables, out)` and `many(x, p, tables, out, begin, end, stride)`; `tables` is the
table of the tree. The x and out of many states are lists of the addresses of their rows, and `stride` is not read. Each call
allocates the memory for stored and passed values, so threads share nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from dalembert.codegen.link_sweeps import HEAD, ROW, Location, Storage, Sweep, Sweeps, SweepStep
from dalembert.codegen.llvm._emit import POINTERS, LlvmWriter
from dalembert.codegen.llvm._library import ALIGN_MEMORY, Library, MachineTarget
from dalembert.symbolic.operations import OPERATIONS

GROUPS = 4  # groups of lanes that execute a step in succession: they are independent, and share cache lines

_LINE = 64  # bytes of a cache line

_ARGUMENTS = (
    "ptr noalias readonly %x, ptr noalias %out, ptr readonly %row, ptr readonly %coming, ptr noalias %stored0, ptr %from0, "
    "ptr %into0, i64 %begin, i64 %last, i64 %groups"
)


def sweeps_source(sweeps: Sweeps, target: MachineTarget) -> str:
    """The source of the module of sweeps."""
    library = Library(target)
    library.memory()
    steps = [
        _StepWriter(sweeps, sweep, kind, target, library).source(f"step.{i}.{kind}")
        for i, sweep in enumerate(sweeps.sweeps)
        for kind in range(len(sweep.steps))
    ]
    frame = _ONE_STATE if target.lanes == 1 else _LOOP
    function = frame.format(
        pointers=POINTERS,
        memory="\n".join(_memory(sweeps, target)),
        sweeps="\n".join(_sweep_source(sweeps, i, target) for i in range(len(sweeps.sweeps))),
        lanes=target.lanes,
        lanes_1=target.lanes - 1,
        groups=GROUPS,
        block=GROUPS * target.lanes,
    )
    add = _ADD.format(vector=target.vector, width=_width(target))
    return "\n".join([library.source, _FETCH, *steps, add, function])


class _Names(dict[int, str]):
    """Names of values; inputs are loaded on first use."""

    def __init__(self, known: dict[int, str], writer: _StepWriter) -> None:
        super().__init__(known)
        self._writer = writer

    def __missing__(self, index: int) -> str:
        self[index] = name = self._writer.load(index)
        return name


class _StepWriter(LlvmWriter):
    """Writes the function of one step."""

    def __init__(self, sweeps: Sweeps, sweep: Sweep, kind: int, target: MachineTarget, library: Library) -> None:
        self._step: SweepStep = sweep.steps[kind]
        super().__init__(self._step.program, target, library)
        self._names = _Names(self._names, self)
        self._first_number = ROW + sweeps.rows[kind]
        self._pending = [*zip(self._step.outputs, self._program.outputs, strict=True)]
        self._stored, self._passed = sweeps.stored[kind], sweep.passed
        self._align = _width(target)

    def source(self, name: str) -> str:
        """The source of the function."""
        for i in self._order():
            self._write([i])
            self._store_computed_outputs()
        for location, value in [(location, self._names[y]) for location, y in self._pending]:
            self._store(value, self._at(location, "out"), location)
        return _STEP.format(
            name=name,
            arguments=_ARGUMENTS,
            fetched="\n".join(self._fetched()),
            body="\n".join(self._rows),
            lanes=self._target.lanes,
            vector=self._target.vector,
            stored=self._stored,
            passed=self._passed,
        )

    def _store_computed_outputs(self) -> None:
        """Store outputs immediately if nothing remains to be read from their storage, to save registers."""
        waiting: list[tuple[Location, int]] = []
        for location, value in self._pending:
            known = value in self._names and value >= self._program.first_line
            if known and not self._unread(location.storage):
                self._store(self._names[value], self._at(location, "out"), location)
            else:
                waiting.append((location, value))
        self._pending = waiting

    def _unread(self, storage: Storage) -> bool:
        """True while a value of this storage class is still to be loaded."""
        if storage is Storage.ROW:
            return False
        return any(location.storage is storage and i not in self._names for i, location in enumerate(self._step.inputs))

    def _order(self) -> list[int]:
        """The lines, with function calls first, since a call overwrites all registers."""
        first = self._program.first_line
        early: set[int] = set()
        for i in reversed(range(len(self._program.lines))):
            operation, operands = self._program.lines[i]
            if i in early or not OPERATIONS[operation].llvm:
                early.update({i, *(a - first for a in operands if a >= first)})
        return [*sorted(early), *(i for i in range(len(self._program.lines)) if i not in early)]

    def _fetched(self) -> Iterator[str]:
        """Instructions that prefetch the rows of the next link, whose addresses hardware prefetchers cannot predict.

        A link of another type has other words at these positions, so then nothing new is fetched.
        """
        if self._target.lanes == 1:
            return
        yield "%own.kind = load i64, ptr %row"
        yield "%coming.kind = load i64, ptr %coming"
        yield "%alike = icmp eq i64 %own.kind, %coming.kind"
        yield "%foreseen = select i1 %alike, ptr %coming, ptr %row"
        lines = GROUPS * _width(self._target) // _LINE + 1
        for name, locations in (("x", self._step.inputs), ("out", self._step.outputs)):
            for i in sorted({location.at for location in locations if location.storage is Storage.ROW}):
                at = f"%fetch.{name}{i}"
                yield f"{at}.at = getelementptr i64, ptr %foreseen, i64 {ROW + i}"
                yield f"{at}.row = load i64, ptr {at}.at"
                yield f"{at}.row.at = getelementptr ptr, ptr %{name}, i64 {at}.row"
                yield f"{at}.first = load ptr, ptr {at}.row.at"
                yield f"{at} = getelementptr {self._target.real}, ptr {at}.first, i64 %begin"
                for k in range(lines):
                    yield f"{at}.{k} = getelementptr i8, ptr {at}, i64 {k * _LINE}"
                    yield f"call void @llvm.prefetch.p0(ptr {at}.{k}, i32 {int(name == 'out')}, i32 3, i32 1)"

    def load(self, index: int) -> str:
        """An input of the program."""
        location, target = self._step.inputs[index], self._target
        at = self._at(location, "x")
        if location.storage is not Storage.NUMBER:
            return self._row(f"load {target.vector}, ptr {at}, align {self._alignment(location)}")
        value = self._row(f"load {target.real}, ptr {at}")
        return value if target.lanes == 1 else self._in_all_lanes(value)

    def _at(self, location: Location, array: str) -> str:
        """The address of a storage location."""
        vector = self._target.vector
        if location.storage is Storage.NUMBER:
            return self._row(f"getelementptr double, ptr %row, i64 {self._first_number + location.at}")
        if location.storage is Storage.LINK:
            return self._row(f"getelementptr {vector}, ptr %stored, i64 {location.at}")
        if location.storage is Storage.PASSED:
            return self._row(f"getelementptr {vector}, ptr %{'from' if array == 'x' else 'into'}, i64 {location.at}")
        word = self._row(f"getelementptr i64, ptr %row, i64 {ROW + location.at}")
        number = self._row(f"load i64, ptr {word}")
        if self._target.lanes == 1:
            return self._row(f"getelementptr {self._target.real}, ptr %{array}, i64 {number}")
        begin = self._row(f"load ptr, ptr {self._row(f'getelementptr ptr, ptr %{array}, i64 {number}')}")
        return self._row(f"getelementptr {self._target.real}, ptr {begin}, i64 %k")

    def _alignment(self, location: Location) -> int:
        return (4 if self._target.single else 8) if location.storage is Storage.ROW else self._align

    def _store(self, value: str, at: str, location: Location) -> None:
        self._rows.append(f"store {self._target.vector} {value}, ptr {at}, align {self._alignment(location)}")


def _memory(sweeps: Sweeps, target: MachineTarget) -> Iterator[str]:
    """Rows that allocate memory: for stored values, then for the slots of every sweep, with initialized reserved slots."""
    for i, name in enumerate(("links", "stored.one", "slots1", "slots0")):
        yield f"%at.{name} = getelementptr i64, ptr %tables, i64 {i}"
        yield f"%{name} = load i64, ptr %at.{name}"
    groups = 1 if target.lanes == 1 else GROUPS
    yield f"%stored = mul i64 %stored.one, {groups}"
    begin = "%stored"
    for i, sweep in enumerate(sweeps.sweeps):
        yield f"%size{i} = mul i64 %slots{int(sweep.outwards)}, {sweep.passed * groups}"
        yield f"%end{i} = add i64 {begin}, %size{i}"
        begin = f"%end{i}"
    yield f"%bytes = mul i64 {begin}, {_width(target)}"
    yield "%total = add i64 %bytes, 64"
    yield "%whole = call ptr @malloc(i64 %total)"
    yield from ALIGN_MEMORY
    begin, first_value = "%stored", HEAD
    for i, sweep in enumerate(sweeps.sweeps):
        yield f"%slots.{i} = getelementptr {target.vector}, ptr %memory, i64 {begin}"
        for j in range(sweep.passed * groups):
            value = f"%w{i}.{j}"
            if sweep.outwards:
                yield f"{value}.at = getelementptr double, ptr %tables, i64 {first_value + j % sweep.passed}"
                yield f"{value}.one = load {target.real}, ptr {value}.at"
                yield from _spread(value, f"{value}.one", target)
            filled = value if sweep.outwards else "zeroinitializer" if target.lanes > 1 else "0.0"
            yield f"{value}.to = getelementptr {target.vector}, ptr %slots.{i}, i64 {j}"
            yield f"store {target.vector} {filled}, ptr {value}.to, align {_width(target)}"
        begin, first_value = f"%end{i}", first_value + (sweep.passed if sweep.outwards else 0)


def _spread(name: str, value: str, target: MachineTarget) -> Iterator[str]:
    """Broadcast a number to every lane."""
    if target.lanes == 1:
        yield f"{name} = fadd {target.real} {value}, -0.0"
        return
    yield f"{name}.first = insertelement {target.vector} poison, {target.real} {value}, i32 0"
    yield f"{name} = shufflevector {target.vector} {name}.first, {target.vector} poison, <{target.lanes} x i32> zeroinitializer"


def _width(target: MachineTarget) -> int:
    """The bytes of a vector."""
    return target.lanes * (4 if target.single else 8)


def _sweep_source(sweeps: Sweeps, i: int, target: MachineTarget) -> str:
    """One sweep: a loop over links with a branch by link type."""
    sweep = sweeps.sweeps[i]
    first = HEAD + sum(each.passed for each in sweeps.sweeps if each.outwards)
    kinds, groups = range(len(sweep.steps)), 1 if target.lanes == 1 else GROUPS
    return _SWEEP.format(
        i=i,
        index="add i64 0, %j" if sweep.outwards else "sub i64 %last.link, %j",
        starts=first,
        direction=1 if sweep.outwards else -1,
        vector=target.vector,
        passed=sweep.passed * groups,
        groups=groups,
        read=2 if sweep.outwards else 4,
        write=3 if sweep.outwards else 5,
        added="" if sweep.outwards else _ADDED.format(i=i, vector=target.vector, passed=sweep.passed * groups),
        others=" ".join(f"i64 {kind}, label %case{i}.{kind}" for kind in kinds[1:]),
        cases="\n".join(_CASE.format(i=i, kind=kind) for kind in kinds),
    )


_FETCH = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
_STEP = """
define internal void @"{name}"({arguments}) {{
entry:
{fetched}
br label %group
group:
%g = phi i64 [ 0, %entry ], [ %g.next, %done ]
%shift = mul i64 %g, {lanes}
%wanted = add i64 %begin, %shift
%late = icmp sgt i64 %wanted, %last
%k = select i1 %late, i64 %last, i64 %wanted
%stored.i = mul i64 %g, {stored}
%stored = getelementptr {vector}, ptr %stored0, i64 %stored.i
%passed.i = mul i64 %g, {passed}
%from = getelementptr {vector}, ptr %from0, i64 %passed.i
%into = getelementptr {vector}, ptr %into0, i64 %passed.i
{body}
br label %done
done:
%g.next = add i64 %g, 1
%more = icmp slt i64 %g.next, %groups
br i1 %more, label %group, label %end
end:
ret void
}}
"""
_SWEEP = """
br label %sweep{i}
sweep{i}:
br label %link{i}
link{i}:
%j{i} = phi i64 [ 0, %sweep{i} ], [ %j.next{i}, %next.link{i} ]
%index{i} = {index}{i}
%start.i{i} = add i64 %index{i}, {starts}
%start.at{i} = getelementptr i64, ptr %tables, i64 %start.i{i}
%start{i} = load i64, ptr %start.at{i}
%row{i} = getelementptr i64, ptr %tables, i64 %start{i}
%final{i} = icmp eq i64 %j{i}, %last.link
%direction{i} = select i1 %final{i}, i64 0, i64 {direction}
%coming.at{i} = getelementptr i64, ptr %start.at{i}, i64 %direction{i}
%coming.start{i} = load i64, ptr %coming.at{i}
%coming{i} = getelementptr i64, ptr %tables, i64 %coming.start{i}
%kind{i} = load i64, ptr %row{i}
%stored.at{i} = getelementptr i64, ptr %row{i}, i64 1
%stored.i{i} = load i64, ptr %stored.at{i}
%stored.g{i} = mul i64 %stored.i{i}, {groups}
%stored{i} = getelementptr {vector}, ptr %memory, i64 %stored.g{i}
%from.at{i} = getelementptr i64, ptr %row{i}, i64 {read}
%from.slot{i} = load i64, ptr %from.at{i}
%from.i{i} = mul i64 %from.slot{i}, {passed}
%from{i} = getelementptr {vector}, ptr %slots.{i}, i64 %from.i{i}
%into.at{i} = getelementptr i64, ptr %row{i}, i64 {write}
%into.slot{i} = load i64, ptr %into.at{i}
%into.i{i} = mul i64 %into.slot{i}, {passed}
%into{i} = getelementptr {vector}, ptr %slots.{i}, i64 %into.i{i}
switch i64 %kind{i}, label %case{i}.0 [ {others} ]
{cases}
linked{i}:
{added}
br label %next.link{i}
next.link{i}:
%j.next{i} = add i64 %j{i}, 1
%more{i} = icmp slt i64 %j.next{i}, %links
br i1 %more{i}, label %link{i}, label %swept{i}
swept{i}:"""
_CASE = """
case{i}.{kind}:
call void @"step.{i}.{kind}"(ptr %x, ptr %out, ptr %row{i}, ptr %coming{i}, ptr %stored{i}, ptr %from{i}, ptr %into{i},
    i64 %next, i64 %last, i64 %groups)
br label %linked{i}"""
_ADDED = """
%sum.at{i} = getelementptr i64, ptr %row{i}, i64 6
%sum.slot{i} = load i64, ptr %sum.at{i}
%first{i} = icmp eq i64 %sum.slot{i}, 0
br i1 %first{i}, label %next.link{i}, label %added{i}
added{i}:
%sum.i{i} = mul i64 %sum.slot{i}, {passed}
%sum{i} = getelementptr {vector}, ptr %slots.{i}, i64 %sum.i{i}
call void @add(ptr %sum{i}, ptr %into{i}, i64 {passed})"""
_ADD = """
define internal void @add(ptr %sum, ptr %more, i64 %count) {{
entry:
br label %loop
loop:
%i = phi i64 [ 0, %entry ], [ %next, %loop ]
%p = getelementptr {vector}, ptr %sum, i64 %i
%q = getelementptr {vector}, ptr %more, i64 %i
%a = load {vector}, ptr %p, align {width}
%b = load {vector}, ptr %q, align {width}
%c = fadd {vector} %a, %b
store {vector} %c, ptr %p, align {width}
%next = add i64 %i, 1
%again = icmp slt i64 %next, %count
br i1 %again, label %loop, label %done
done:
ret void
}}
"""
_ONE_STATE = """
define void @one({pointers}) {{
entry:
%next = add i64 0, 0
%last = add i64 0, 0
%groups = add i64 0, 1
{memory}
%last.link = sub i64 %links, 1
{sweeps}
call void @free(ptr %whole)
ret void
}}
"""
_LOOP = """
define void @many({pointers}, i64 %begin, i64 %end, i64 %stride) {{
entry:
%last = sub i64 %end, {lanes}
{memory}
%last.link = sub i64 %links, 1
br label %states
states:
%next = phi i64 [ %begin, %entry ], [ %after, %tail ]
%rest = sub i64 %end, %next
%up = add i64 %rest, {lanes_1}
%all.groups = udiv i64 %up, {lanes}
%few = icmp slt i64 %all.groups, {groups}
%groups = select i1 %few, i64 %all.groups, i64 {groups}
{sweeps}
br label %tail
tail:
%after = add i64 %next, {block}
%more = icmp slt i64 %after, %end
br i1 %more, label %states, label %done
done:
call void @free(ptr %whole)
ret void
}}
"""
