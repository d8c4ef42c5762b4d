"""The commands and their one-line help. The module of a command is imported only when the command is called."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

EXIT_CODES = "exit codes: 0 done, 1 computation failed, 2 invalid input, 130 interrupted, 141 broken pipe"
COMMANDS = {
    "gallery": "list the example models, or show one",
    "check": "validate a model and print a summary",
    "derive": "derive the equations of motion and print them",
    "prove": "prove that the equations of all formalisms are identical functions of state and parameters",
    "verify": "compare the accelerations and reactions of all formalisms at random states",
    "simulate": "simulate a motion, and write it to files and plots",
    "compare": "compare formalisms by number of equations and states, operations, CPU time and drift",
    "equilibrium": "find equilibria or steady motions, the holding forces and the stability",
    "linearize": "linearize a model about an equilibrium or a steady motion: frequencies, damping, mode shapes",
    "sweep": "run a parameter sweep",
    "fit": "fit parameters and initial values of a model to measurements",
    "report": "write a self-contained HTML report with an animation, equations, time histories and verification",
    "paper": "reproduce a paper's tables and figures, next to the printed values",
    "export": "write a model as TOML or URDF, or its equations as source code",
    "studio": "start the web application to edit, derive, verify and simulate models",
}


def module_of(name: str) -> ModuleType:
    """The module of a command: `add` declares its options, `run` executes it."""
    return import_module(f"dalembert.cli.{name}_command")
