"""The commands of the program, each with one line of help. A command's own module is imported only when it is called."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

EXIT_CODES = "exit codes: 0 done, 1 computation failed, 2 invalid input, 130 interrupted, 141 broken pipe"
COMMANDS = {
    "gallery": "list the example models, or tell the story of one",
    "check": "say what was understood of a model, or list all its problems at once",
    "derive": "derive the equations of motion and print them",
    "prove": "prove that all formalisms are identical functions of state and parameters",
    "verify": "compare accelerations and reactions of every formalism at random states",
    "simulate": "compute a motion, and write it to files and plots",
    "compare": "set formalisms side by side: equations, states, operations, CPU time and drift",
    "equilibrium": "find positions of rest or steady motions, the forces there, and whether they are stable",
    "linearize": "linearise a model about an equilibrium or a steady motion: frequencies, damping and shapes",
    "sweep": "many runs with other parameters and initial states",
    "fit": "fit parameters and starts of a model to measurements",
    "report": "write one page with the moving mechanism, its equations, its time histories and the evidence",
    "paper": "compute the tables and figures of a paper again, beside the printed numbers",
    "export": "write a model to a file, as TOML or URDF, or its equations as code",
    "studio": "open a page in the browser to describe, derive, prove and move a mechanism",
}


def module_of(name: str) -> ModuleType:
    """The module of a command: `add` declares its options, `run` runs it."""
    return import_module(f"dalembert.cli.{name}_command")
