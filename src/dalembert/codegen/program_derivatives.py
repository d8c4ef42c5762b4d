"""Derivatives of programs as programs: they can be pickled, hashed and compiled.

A program y = f(x, p) is converted to the graph, whose table of operations defines all derivatives; the graph chooses forward or
reverse mode. Derivatives are with respect to the inputs x, or to named inputs and parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.codegen.function import function_of
from dalembert.codegen.program import Program, nodes_of, program_of
from dalembert.errors import InputError, suggest_name
from dalembert.symbolic.algebra_base import Array, vector
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import node
from dalembert.symbolic.symbols import SymbolKind


def jacobian(program: Program, by: Sequence[str] | None = None) -> Program:
    """∂y/∂x, row by row.

    >>> x, y = GRAPH.symbols(["x", "y"])
    >>> nodes_of(jacobian(program_of([x * y, x / 2], ["x", "y"])))
    [y, x, 1/2, 0]
    """
    names = _chosen(program, by)
    return _with_outputs(program, GRAPH.jacobian(_outputs(program), GRAPH.symbols(names)))


def jacobian_vector(program: Program, by: Sequence[str] | None = None) -> Program:
    """(∂y/∂x) ẋ as a function of x, followed by the tangents ẋ.

    >>> x, y = GRAPH.symbols(["x", "y"])
    >>> nodes_of(jacobian_vector(program_of([x * y], ["x", "y"])))
    [((rate(y) * x) + (rate(x) * y))]
    """
    names = _chosen(program, by)
    new = _new_names(program, SymbolKind.TANGENT, names)
    along = GRAPH.symbols(names), GRAPH.symbols(new)
    return _with_outputs(program, GRAPH.total_derivative(_outputs(program), along), new)


def vector_jacobian(program: Program, by: Sequence[str] | None = None) -> Program:
    """wᵀ(∂y/∂x) as a function of x, followed by a weight w for each output: the gradient of wᵀy.

    >>> x, y = GRAPH.symbols(["x", "y"])
    >>> nodes_of(vector_jacobian(program_of([x * y], ["x", "y"])))
    [(weight(1) * y), (weight(1) * x)]
    """
    names = _chosen(program, by)
    weights = _new_names(program, SymbolKind.WEIGHT, [str(i + 1) for i in range(len(program.outputs))])
    total = GRAPH.symbols(weights) @ _outputs(program)
    return _with_outputs(program, GRAPH.gradient(total, GRAPH.symbols(names)), weights)


def gradient(program: Program, by: Sequence[str] | None = None) -> Program:
    """∂y/∂x of a program with one output."""
    if len(program.outputs) != 1:
        raise InputError(
            f"gradient: the program has {len(program.outputs)} outputs. Expected one; use `jacobian` for several outputs."
        )
    return jacobian(program, by)


def directional(program: Program, direction: Mapping[str, float]) -> Program:
    """Σ (∂y/∂x) ẋ along one direction, with the rates of inputs and parameters by name; all others are constant.

    >>> x, t = GRAPH.symbols(["x", "t"])
    >>> nodes_of(directional(program_of([x * t, x * x], ["x", "t"]), {"x": 2, "t": 1}))
    [(x + (t * 2)), ((2 * x) + (2 * x))]
    """
    along = GRAPH.symbols(_chosen(program, list(direction))), vector(list(direction.values()))
    return _with_outputs(program, GRAPH.total_derivative(_outputs(program), along))


class DirectionalDerivatives:
    """(∂y/∂x) V at one state, for a matrix V of directions, one per lane.

    The program has as many lines as one product, whatever the number of inputs: for long programs it compiles in a third of the
    time of `jacobian`, and the directions of large systems fill all lanes.

    >>> x, y = GRAPH.symbols(["x", "y"])
    >>> DirectionalDerivatives(program_of([x * y, x], ["x", "y"]), ["x", "y"])(np.array([2.0, 3.0]), np.zeros(0), np.eye(2))
    array([[3., 2.],
           [1., 0.]])
    """

    def __init__(self, program: Program, by: Sequence[str], engine: str | None = None) -> None:
        self._function = function_of(jacobian_vector(program, by), engine)

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """The derivatives (outputs, directions), where V has a row for each differentiation symbol."""
        states = np.repeat(inputs[:, None], directions.shape[1], axis=1)
        return self._function(np.concatenate([states, directions]), parameters)


def _outputs(program: Program) -> Array:
    return vector(nodes_of(program))


def _with_outputs(program: Program, outputs: Array, more: Sequence[str] = ()) -> Program:
    """Other outputs over the same symbols and additional inputs."""
    return program_of([node(y) for y in outputs.ravel()], [*program.inputs, *more], program.parameters)


def _chosen(program: Program, by: Sequence[str] | None) -> Sequence[str]:
    """The differentiation symbols: all inputs by default."""
    known = [*program.inputs, *program.parameters]
    for name in by or ():
        if name not in known:
            raise InputError(f"the program has no input or parameter '{name}'. {suggest_name(name, known)}")
    return program.inputs if by is None else by


def _new_names(program: Program, kind: SymbolKind, names: Sequence[str]) -> list[str]:
    """New names of a kind that the program does not contain: it may itself be a derivative."""
    known = {*program.inputs, *program.parameters}
    new = [kind.of(name) for name in names]
    while not known.isdisjoint(new):
        new = [kind.of(name) for name in new]
    return new
