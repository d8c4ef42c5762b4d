"""Programs and sweeps as bytes and back: tuples of numbers and words, which Python's `marshal` writes as they are."""

from __future__ import annotations

import gc
import marshal
from typing import Any

import numpy as np

from dalembert.codegen.link_sweeps import Place, Room, Step, Sweep, Sweeps
from dalembert.codegen.program import Program
from dalembert.symbolic.lookup_tables import Table

Plain = tuple[Any, ...]


def to_bytes(plain: Plain) -> bytes:
    """Tuples of numbers, words and bytes, as bytes."""
    return marshal.dumps(plain)


def from_bytes(data: bytes) -> Plain:
    """What `to_bytes` wrote.

    >>> from_bytes(to_bytes((1, 0.1, "a", (b"b",), None)))
    (1, 0.1, 'a', (b'b',), None)
    """
    collects = gc.isenabled()
    gc.disable()  # ten thousand new tuples would make Python search all of its memory for waste
    try:
        return marshal.loads(data)  # the store has checked its digest, and keeps machine code beside it
    finally:
        if collects:
            gc.enable()


def plain_program(program: Program) -> Plain:
    """A program as tuples.

    >>> from dalembert.symbolic.graph import GRAPH
    >>> from dalembert.codegen.program import program_of
    >>> (x,) = GRAPH.symbols(["x"])
    >>> program = program_of([2 * GRAPH.sin(x)], ["x"])
    >>> program_again(plain_program(program)) == program
    True
    """
    tables = tuple((held.digest, held.order, held.times.tobytes(), held.values.tobytes()) for held in program.tables)
    return program.inputs, program.parameters, program.numbers, tables, program.lines, program.outputs


def program_again(plain: Plain) -> Program:
    """The program of such tuples."""
    inputs, parameters, numbers, tables, lines, outputs = plain
    held = tuple(Table(digest, order, *map(np.frombuffer, points)) for digest, order, *points in tables)
    return Program(inputs, parameters, numbers, held, lines, outputs)


def plain_sweeps(sweeps: Sweeps) -> Plain:
    """Sweeps as tuples."""
    walks = tuple((sweep.outwards, sweep.passed, tuple(map(_plain_step, sweep.steps))) for sweep in sweeps.sweeps)
    return sweeps.kept, sweeps.rows, sweeps.numbers, walks


def sweeps_again(plain: Plain) -> Sweeps:
    """The sweeps of such tuples."""
    kept, rows, numbers, walks = plain
    again = (Sweep(outwards, passed, tuple(map(_step_again, steps))) for outwards, passed, steps in walks)
    return Sweeps(kept, rows, numbers, tuple(again))


def _plain_step(step: Step) -> Plain:
    places = (tuple((place.room.value, place.at) for place in some) for some in (step.inputs, step.outputs))
    return plain_program(step.program), *places


def _step_again(plain: Plain) -> Step:
    program, *places = plain
    inputs, outputs = (tuple(Place(Room(room), at) for room, at in some) for some in places)
    return Step(program_again(program), inputs, outputs)
