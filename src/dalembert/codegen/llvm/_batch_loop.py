"""The function for many states: a loop over rounds of `lanes` states.

A table of pointers to all rows is built once. Rounds need not follow each other: the second begins where results are aligned to
the vector, the last one ends at the last state, and states that two rounds cover are computed twice with the same bits. A batch
of fewer states than lanes is copied to a block whose spare lanes repeat the last state.

Programs with few rows read and write them in place. The rows of a batch are far apart in memory, often by a power of two, where
they compete for the same cache sets; so with many rows, those of some rounds are copied to a tile, and the results back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dalembert.codegen.llvm._library import MachineTarget
from dalembert.codegen.program import Program

MAX_IN_PLACE = 56  # rows that are read and written in place
MAX_RESULTS_IN_PLACE = 16
MAX_CACHED = 12 * 2**20  # bytes of results of a batch; larger ones are stored past the cache
TILE_LINES = 8  # cache lines of each row in a tile: processors request adjacent lines


@dataclass(frozen=True)
class BatchLoop:
    """The rows of a program: the inputs, then the results. If `target.checked`, the last output is not a row."""

    program: Program
    target: MachineTarget

    @cached_property
    def results(self) -> tuple[int, ...]:
        """The values that are written to rows."""
        return self.program.outputs[: -1 if self.target.checked else None]

    @cached_property
    def angles(self) -> tuple[int, ...]:
        """The inputs of which a sine or a cosine is needed."""
        function_arguments = {operands[0] for operation, operands in self.program.lines if operation in ("sin", "cos")}
        return tuple(sorted(a for a in function_arguments if a < len(self.program.inputs)))

    @cached_property
    def sine_slots(self) -> dict[int, int]:
        """The slots of sines and cosines of inputs, by value index."""
        slots: dict[int, int] = {}
        slot_of_angle = {a: 2 * k for k, a in enumerate(self.angles)}
        for y, (operation, operands) in enumerate(self.program.lines, self.program.first_line):
            if operation in ("sin", "cos") and operands[0] in slot_of_angle:
                slots[y] = slot_of_angle[operands[0]] + (operation == "cos")
        return slots

    @property
    def tiled(self) -> bool:
        """Whether rows are copied to and from a tile."""
        results = len(self.results)
        return len(self.program.inputs) + results > MAX_IN_PLACE or results > MAX_RESULTS_IN_PLACE

    @property
    def rounds(self) -> int:
        """The rounds of a tile."""
        return TILE_LINES * 64 // self._bytes if self.tiled else 1

    @cached_property
    def result_slots(self) -> dict[int, int]:
        """The slots of results in a tile, by value index; equal results share a slot."""
        return {index: slot for slot, index in enumerate(dict.fromkeys(self.results), len(self.program.inputs))}

    @property
    def size(self) -> int:
        """The slots of one round."""
        return len(self.program.inputs) + len(self.result_slots)

    @cached_property
    def targets(self) -> dict[int, list[tuple[str, int]]]:
        """Where results are stored, by value index: the address and the slot there, or no address and the row."""
        if self.tiled:
            return {index: [("%state", slot)] for index, slot in self.result_slots.items()}
        found: dict[int, list[tuple[str, int]]] = {}
        for row, index in enumerate(self.results, len(self.program.inputs)):
            found.setdefault(index, []).append(("", row))
        return found

    @property
    def memory(self) -> dict[str, int]:
        """The vectors of memory, by name."""
        rows = len(self.program.inputs) + len(self.results)
        words = {
            "all": rows + 1,
            "near": rows,
            "described": 3,
            "inside": len(self.program.inputs),
            "firsts": self.rounds,
        }
        found = {name: -(-8 * count // self._bytes) for name, count in words.items()}
        return found | {"block": rows, "sines": 2 * len(self.angles), "tile": self.tiled * self.rounds * self.size}

    def functions(self) -> str:
        """The functions that the loop calls."""
        parts = [
            _constants("angles", self.angles),
            *(text.format(**self._names) for text in (_ROWS_OF, _DESCRIBE, _COPY)),
        ]
        if self.tiled:
            slots = [*range(len(self.program.inputs)), *(self.result_slots[index] for index in self.results)]
            parts += [
                "!1000 = !{i32 1}",
                _constants("slots", slots),
                self._mover("gather", "far", "near"),
                self._mover("scatter", "near", "far"),
            ]
        return "\n".join(parts)

    def _mover(self, name: str, source: str, target: str) -> str:
        """The function that copies some rounds of some rows between a batch, `far`, and a tile, `near`."""
        real, vector, each = self.target.real, self.target.vector, range(self.rounds)
        width = {"far": f"align {self._names['width']}", "near": f"align {self._bytes}"}
        firsts = [f"%f{r}.at = getelementptr i64, ptr %firsts, i64 {r}\n%f{r} = load i64, ptr %f{r}.at" for r in each]
        at = {
            "near": [f"{vector}, ptr %near, i64 {r * self.size}" for r in each],
            "far": [f"{real}, ptr %far, i64 %f{r}" for r in each],
        }
        loads = [
            f"%a{r} = getelementptr {at[source][r]}\n%v{r} = load {vector}, ptr %a{r}, {width[source]}" for r in each
        ]
        stores = [
            f"%b{r} = getelementptr {at[target][r]}\nstore {vector} %v{r}, ptr %b{r}, {width[target]}" for r in each
        ]
        moves = [*loads, *stores]
        if name == "scatter":
            moves = [*loads, *self._past_the_cache(at[target]), "plain:", *stores]
        texts = {"name": name, "firsts": "\n".join(firsts), "moves": "\n".join(moves)}
        texts |= {"source": source, "target": target, "load": width[source], "store": width[target]}
        return _MOVER.format(**texts, **self._names)

    def _past_the_cache(self, targets: list[str]) -> list[str]:
        """Stores of large results that do not wait for the lines to be read, where they are aligned."""
        rows = [f"%c{r} = getelementptr {each}\n%i{r} = ptrtoint ptr %c{r} to i64" for r, each in enumerate(targets)]
        rows += [f"%o{r} = or i64 %{'o' if r > 1 else 'i'}{r - 1}, %i{r}" for r in range(1, len(targets))]
        rows += [f"%odd = and i64 %o{len(targets) - 1}, {self._bytes - 1}", "%even = icmp eq i64 %odd, 0"]
        rows += ["%stream = and i1 %large, %even", "br i1 %stream, label %streamed, label %plain", "streamed:"]
        stored = f"store {self.target.vector} %v{{r}}, ptr %c{{r}}, align {self._bytes}, !nontemporal !1000"
        return [*rows, *(stored.format(r=r) for r in range(len(targets))), "br label %row.done"]

    def source(self, pointers: str, head: str, sines: str, body: str, check: str, left: str) -> str:
        """The function; `sines` are the instructions before the body, and `check` is the value of the validity check."""
        checked = self.target.checked
        names = self._names | {
            "pointers": pointers,
            "head": head,
            "sines": sines,
            "body": body,
            "check": check,
            "left": left,
        }
        names["compare"] = (_COMPARE if checked else _NO_COMPARE).format(**names)
        names["report"] = _REPORT.format(**names) if checked else ""
        names["fence"] = "fence seq_cst" if self.tiled else ""  # orders stores past the cache before what follows
        names["work"] = (_TILE if self.tiled else _IN_PLACE).format(**names)
        return _LOOP.format(**names)

    @property
    def _bytes(self) -> int:
        return (4 if self.target.single else 8) * self.target.lanes

    @cached_property
    def _names(self) -> dict[str, object]:
        """The numbers and types in the source."""
        target, results = self.target, len(self.results)
        return {
            "real": target.real,
            "vector": target.vector,
            "width": 4 if target.single else 8,
            "bytes": self._bytes,
            "lanes": target.lanes,
            "lanes_1": target.lanes - 1,
            "inputs": len(self.program.inputs),
            "results": results,
            "rows": len(self.program.inputs) + results,
            "outputs": len(self.program.outputs),
            "size": self.size,
            "result_bytes": results * (4 if target.single else 8),
            "cached": MAX_CACHED,
            "rounds": self.rounds,
            "fabs": f"llvm.fabs.v{target.lanes}{'f32' if target.single else 'f64'}",
            "one": target.constant(1.0),
        }


def _constants(name: str, numbers: tuple[int, ...] | list[int]) -> str:
    listed = ", ".join(f"i64 {i}" for i in numbers)
    return f"@{name} = internal constant [{len(numbers)} x i64] [{listed}]" if numbers else ""


# arrays are described by the address of their data, the bytes between rows, and the number of rows
_ROWS_OF = """
define internal void @rows.of(ptr readonly %arrays, ptr %rows, i64 %count, i64 %begin) noinline {{
entry:
%shift = mul i64 %begin, {width}
br label %array
array:
%array.at = phi ptr [ %arrays, %entry ], [ %array.next, %row ]
%first = phi i64 [ 0, %entry ], [ %i, %row ]
%more = icmp slt i64 %first, %count
br i1 %more, label %described, label %done
described:
%base = load i64, ptr %array.at
%step.at = getelementptr i64, ptr %array.at, i64 1
%step = load i64, ptr %step.at
%number.at = getelementptr i64, ptr %array.at, i64 2
%number = load i64, ptr %number.at
%array.next = getelementptr i64, ptr %array.at, i64 3
%start = add i64 %base, %shift
%end = add i64 %first, %number
br label %row
row:
%i = phi i64 [ %first, %described ], [ %next, %write ]
%place = phi i64 [ %start, %described ], [ %place.next, %write ]
%left = icmp slt i64 %i, %end
br i1 %left, label %write, label %array
write:
%row.at = getelementptr i64, ptr %rows, i64 %i
store i64 %place, ptr %row.at
%next = add i64 %i, 1
%place.next = add i64 %place, %step
br label %row
done:
ret void
}}
"""
_DESCRIBE = """
define internal void @describe(ptr %described, ptr %block, ptr %rows, i64 %count) noinline {{
%block.at = ptrtoint ptr %block to i64
store i64 %block.at, ptr %described
%step = getelementptr i64, ptr %described, i64 1
store i64 {bytes}, ptr %step
%number = getelementptr i64, ptr %described, i64 2
store i64 %count, ptr %number
call void @rows.of(ptr %described, ptr %rows, i64 %count, i64 0)
ret void
}}
"""
# copies `states` of each row; those after `final` repeat it
_COPY = """
define internal void @copy(ptr %from, ptr %into, i64 %rows, i64 %states, i64 %final) noinline {{
entry:
br label %row
row:
%i = phi i64 [ 0, %entry ], [ %next, %row.done ]
%more = icmp slt i64 %i, %rows
br i1 %more, label %begin, label %done
begin:
%source.at = getelementptr ptr, ptr %from, i64 %i
%source = load ptr, ptr %source.at
%target.at = getelementptr ptr, ptr %into, i64 %i
%target = load ptr, ptr %target.at
br label %state
state:
%j = phi i64 [ 0, %begin ], [ %j.next, %state ]
%late = icmp sgt i64 %j, %final
%k = select i1 %late, i64 %final, i64 %j
%a = getelementptr {real}, ptr %source, i64 %k
%v = load {real}, ptr %a
%b = getelementptr {real}, ptr %target, i64 %j
store {real} %v, ptr %b
%j.next = add i64 %j, 1
%again = icmp slt i64 %j.next, %states
br i1 %again, label %state, label %row.done
row.done:
%next = add i64 %i, 1
br label %row
done:
ret void
}}
"""
# copies the rows from %row to %end of the rounds whose first states are listed at %firsts
_MOVER = """
define internal void @{name}(ptr %rows, ptr %tile, ptr %firsts, i64 %count, i64 %begin, i64 %end, i1 %large) noinline {{
entry:
{firsts}
%whole = icmp eq i64 %count, {rounds}
br label %row
row:
%i = phi i64 [ %begin, %entry ], [ %next, %row.done ]
%left = icmp slt i64 %i, %end
br i1 %left, label %look, label %done
look:
%slot.at = getelementptr i64, ptr @slots, i64 %i
%slot = load i64, ptr %slot.at
%near = getelementptr {vector}, ptr %tile, i64 %slot
%row.at = getelementptr ptr, ptr %rows, i64 %i
%far = load ptr, ptr %row.at
br i1 %whole, label %all, label %round
all:
{moves}
br label %row.done
round:
%r = phi i64 [ 0, %look ], [ %r.next, %round ]
%offset = mul i64 %r, {size}
%near.r = getelementptr {vector}, ptr %near, i64 %offset
%first.at = getelementptr i64, ptr %firsts, i64 %r
%first = load i64, ptr %first.at
%far.r = getelementptr {real}, ptr %far, i64 %first
%v = load {vector}, ptr %{source}.r, {load}
store {vector} %v, ptr %{target}.r, {store}
%r.next = add i64 %r, 1
%again = icmp slt i64 %r.next, %count
br i1 %again, label %round, label %row.done
row.done:
%next = add i64 %i, 1
br label %row
done:
ret void
}}
"""
_LOOP = """
define void @many({pointers}, i64 %begin, i64 %end, i64 %stride) {{
entry:
{head}
call void @rows.of(ptr %x, ptr %all, i64 {inputs}, i64 %begin)
%all.results = getelementptr ptr, ptr %all, i64 {inputs}
call void @rows.of(ptr %out, ptr %all.results, i64 {outputs}, i64 %begin)
%count = sub i64 %end, %begin
%few.last = sub i64 %count, 1
%final = sub i64 %count, {lanes}
%few = icmp slt i64 %final, 0
br i1 %few, label %narrow, label %start
narrow:
call void @describe(ptr %described, ptr %block, ptr %near, i64 {rows})
call void @copy(ptr %all, ptr %near, i64 {inputs}, i64 {lanes}, i64 %few.last)
br label %start
start:
%rows = phi ptr [ %all, %entry ], [ %near, %narrow ]
%last = phi i64 [ %final, %entry ], [ 0, %narrow ]
%results = getelementptr ptr, ptr %rows, i64 {inputs}
%aligned = load i64, ptr %results
%units = sdiv i64 %aligned, -{width}
%rest = and i64 %units, {lanes_1}
%none = icmp eq i64 %rest, 0
%second = select i1 %none, i64 {lanes}, i64 %rest
{work}
all.rounds:
{fence}
{report}
br i1 %few, label %narrow.out, label %done
narrow.out:
%near.results = getelementptr ptr, ptr %near, i64 {inputs}
call void @copy(ptr %near.results, ptr %all.results, i64 {results}, i64 %count, i64 %few.last)
br label %done
done:
{left}
ret void
}}
"""
_IN_PLACE = """br label %round
round:
%k = phi i64 [ 0, %start ], [ %k.next, %round.end ]
%k.after = phi i64 [ %second, %start ], [ %k.later, %round.end ]
%failures = phi i{lanes} [ 0, %start ], [ %failures.next, %round.end ]
{sines}
{body}
{compare}
br label %round.end
round.end:
%finished = icmp eq i64 %k, %last
%late = icmp sgt i64 %k.after, %last
%k.next = select i1 %late, i64 %last, i64 %k.after
%k.later = add i64 %k.after, {lanes}
br i1 %finished, label %all.rounds, label %round"""
_TILE = """%written = mul i64 %stride, {result_bytes}
%large = icmp sgt i64 %written, {cached}
call void @describe(ptr %described, ptr %tile, ptr %inside, i64 {inputs})
br label %next.round
next.round:
%k = phi i64 [ 0, %start ], [ %k.next, %next.round ], [ %k.next, %tile.end ]
%k.after = phi i64 [ %second, %start ], [ %k.later, %next.round ], [ %k.later, %tile.end ]
%n = phi i64 [ 0, %start ], [ %n.next, %next.round ], [ 0, %tile.end ]
%failures.kept = phi i{lanes} [ 0, %start ], [ %failures.kept, %next.round ], [ %failures.next, %tile.end ]
%first.at = getelementptr i64, ptr %firsts, i64 %n
store i64 %k, ptr %first.at
%n.next = add i64 %n, 1
%finished = icmp eq i64 %k, %last
%late = icmp sgt i64 %k.after, %last
%k.next = select i1 %late, i64 %last, i64 %k.after
%k.later = add i64 %k.after, {lanes}
%full = icmp eq i64 %n.next, {rounds}
%ready = or i1 %full, %finished
br i1 %ready, label %compute, label %next.round
compute:
call void @gather(ptr %rows, ptr %tile, ptr %firsts, i64 %n.next, i64 0, i64 {inputs}, i1 false)
br label %round
round:
%r = phi i64 [ 0, %compute ], [ %r.next, %round.end ]
%failures = phi i{lanes} [ %failures.kept, %compute ], [ %failures.next, %round.end ]
%slot = mul i64 %r, {size}
%lane = mul i64 %slot, {lanes}
%state = getelementptr {vector}, ptr %tile, i64 %slot
{sines}
{body}
{compare}
br label %round.end
round.end:
%r.next = add i64 %r, 1
%again = icmp slt i64 %r.next, %n.next
br i1 %again, label %round, label %tile.end
tile.end:
call void @scatter(ptr %rows, ptr %tile, ptr %firsts, i64 %n.next, i64 {inputs}, i64 {rows}, i1 %large)
br i1 %finished, label %all.rounds, label %next.round"""
# the validity check, which the row after the results reports for the whole batch: 2 if it failed anywhere
_COMPARE = """%check.size = call {vector} @{fabs}({vector} {check})
%check.bad = fcmp ugt {vector} %check.size, {one}
%check.bits = bitcast <{lanes} x i1> %check.bad to i{lanes}
%failures.next = or i{lanes} %failures, %check.bits"""
_NO_COMPARE = "%failures.next = or i{lanes} %failures, 0"
_REPORT = """%failed = icmp ne i{lanes} %failures.next, 0
br i1 %failed, label %report, label %reported
report:
%flag.of = getelementptr ptr, ptr %all, i64 {rows}
%flag.end = load ptr, ptr %flag.of
%back = sub i64 0, %begin
%flag = getelementptr {real}, ptr %flag.end, i64 %back
store {real} 2.0, ptr %flag
br label %reported
reported:"""
