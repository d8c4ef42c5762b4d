"""`dalembert linearize`: the linearized equations of a model about a state, and their modes."""

from __future__ import annotations

from argparse import Namespace

import numpy as np

import dalembert as dl
from dalembert.analysis.linearization import Linearization
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.display import video


def run(arguments: Namespace) -> int:
    """Print the operating point and the modes."""
    animations = []
    if arguments.animate is not None:
        animations = [output_files.output_file(arguments.animate, "--animate", video.SUFFIXES)]
    model = shared.load(arguments)
    at = dl.equilibrium(model) if arguments.equilibrium else None
    linear = dl.linearize(
        model, at, inputs=arguments.input, outputs=arguments.observe or None, any_state=arguments.any_state
    )
    for path in animations:
        linear.modes().animate(arguments.mode, path)
    parts = [f"{table}\n" for table in linear.tables()]
    data = {**linear.to_dict(), "files": [str(path) for path in animations]}
    output.result(arguments.json, data, *parts, *(_matrices(linear) if arguments.matrices else []))
    if not arguments.json:
        output.print_paths(*animations)
    return 0


def _matrices(linear: Linearization) -> list[str]:
    """A, B, C and D with the names of states, inputs and outputs."""
    out = [f"states: {', '.join(linear.states)}", f"inputs: {', '.join(linear.inputs) or 'none'}"]
    out.append(f"outputs: {', '.join(linear.outputs)}")
    for name in "ABCD":
        matrix = getattr(linear, name)
        if matrix.size:
            out.append(f"{name} =\n{np.array2string(matrix, max_line_width=150, precision=6, suppress_small=True)}\n")
    return out
