"""Names and one-line help of the commands and formulations, known without importing the library.

The module of a command is imported only when the command runs: see `function_of`.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from importlib import import_module

EXIT_CODES = "exit codes: 0 done, 1 computation failed, 2 invalid input, 130 interrupted, 141 broken pipe"
COMMANDS = {
    "gallery": "list the example models, or describe one of them",
    "check": "validate a model and print a summary",
    "derive": "derive the equations of motion and print them",
    "prove": "prove that all formulations of a model are identical functions of state and parameters",
    "symmetries": "find the affine symmetries of a model and their momenta",
    "verify": "compare the accelerations and reactions of all formulations at random states",
    "simulate": "simulate a motion, and write it to data files, plots and animations",
    "compare": "compare formulations by number of equations and states, operations, CPU time and drift",
    "equilibrium": "find equilibria or steady motions, with holding forces and stability",
    "linearize": "linearize a model about an equilibrium or a steady motion: frequencies, damping, mode shapes",
    "sweep": "run a parameter sweep and write the results to a file",
    "fit": "fit parameters and initial values of a model to measurements",
    "report": "write a self-contained HTML report with an animation, equations, time histories and verification",
    "paper": "reproduce the tables and figures of a paper next to the printed values",
    "export": "write a model as TOML or URDF, or its equations as source code",
    "studio": "start the web application to edit, derive, verify and simulate models",
}
FORMULATIONS = {
    "lagrange": "Lagrange's equations; multipliers for the constraints",
    "dalembert": "d'Alembert's principle of virtual work, summed over the bodies",
    "maggi": "Lagrange's equations projected on the admissible directions",
    "kane": "Kane's equations: forces projected on partial velocities",
    "gibbs_appell": "derivatives of the Gibbs function (energy of acceleration)",
    "boltzmann_hamel": "Lagrange's equations in quasi-velocities",
    "volterra": "Volterra's equations: kinetic energy in quasi-velocities",
    "volterra_reduced": "Volterra's equations without ignorable coordinates",
    "routh": "Routh's equations: Lagrange without ignorable coordinates",
    "udwadia_kalaba": "explicit constraint forces by a generalized inverse",
    "poincare": "Poincaré's equations; ideal or non-ideal constraints",
    "gauss": "Gauss's principle of least constraint",
    "phong": "Phong's equations: projection by a Gram-Schmidt process",
    "nullspace": "projection on the null space of the constraint Jacobian",
    "hamilton": "Hamilton's canonical equations; momenta as variables",
    "dirac": "Hamilton's equations with Dirac's constraints on momenta",
    "newton_euler": "momentum balance of every body, with joint reactions",
    "denoc": "recursive Newton-Euler with decoupled matrices (DeNOC)",
}

FORMATS = {
    "text": "plain text for the terminal",
    "latex": "a LaTeX document that compiles without changes",
    "html": "a web page that needs no network",
    "json": "formulas as strings in one JSON document, for other programs",
}


def _listed(entries: Mapping[str, str]) -> str:
    """Names and descriptions, one pair per line."""
    width = max(map(len, entries))
    return "\n".join(f"  {name:{width}}  {text}" for name, text in entries.items())


DESCRIPTIONS = {
    "gallery": """List the bundled example models, or print the description of one of them.
Every other command accepts the names in this list as MODEL.""",
    "check": """Validate a model. Print its parameters, coordinates, bodies, loads and constraints, its
degrees of freedom, and the formulations that apply; or print all its errors.""",
    "derive": f"""Derive the equations of motion of a model and print them.

A formulation is a method of mechanics that turns the description of a system into
equations of motion. All formulations describe the same motion. They differ in their
variables, in the number of equations, and in how they treat constraints. If a
formulation cannot treat a model, the error states why and lists those that can.

formulations (keys of --formalism):
{_listed(FORMULATIONS)}

output formats (--format):
{_listed(FORMATS)}""",
    "prove": """Prove that all formulations of a model are identical functions of state and parameters.
The equations are compared in exact arithmetic at random points; the probability of an
error is printed. Exit code 1 if formulations differ or remain undecided.""",
    "symmetries": """Find all affine motions of the coordinates that leave a model invariant, such as rotations, and
print their Noether momenta, or the momentum equations where these are not constant.""",
    "verify": """Compare the accelerations and the reactions that all formulations compute at random states
of a model. Exit code 1 if they differ by more than the tolerance.""",
    "simulate": """Simulate the motion of a model from its initial state. Print the final state and the errors
of energy, momentum and constraints; write data files, plots and animations.""",
    "compare": """Simulate a model with several formulations and compare them: number of equations and states,
operations per evaluation, CPU time, and errors of energy, constraints and momentum.""",
    "equilibrium": """Find the equilibria of a model, or its steady motions, in which ignorable coordinates
(energy and forces do not depend on them) move at constant rates. Print the positions, the
holding forces and the stability. Exit code 1 if none is found.""",
    "linearize": """Linearize a model about an operating point: its initial state, or the nearest equilibrium.
Print frequencies, damping ratios and mode shapes, and on request the matrices of
x' = A x + B u, y = C x + D u.""",
    "sweep": """Simulate a model for many values of its parameters or initial values. Write the observed
quantities of all runs to a file and print their statistics. An interrupted sweep resumes
when the same command is run again.""",
    "fit": """Fit parameters and initial values of a model to measured time histories, by least squares.
Print the values with their standard deviations.""",
    "report": """Simulate a model and write an HTML report with an animation, the equations of motion, time
histories and the comparison of the formulations. The file opens without a network.""",
    "paper": """Compute the tables and figures of a paper again and print them next to the printed values.
Exit code 1 if a value deviates without an explanation.""",
    "export": """Write a model as a TOML or URDF file, or its equations of motion as source code.""",
    "studio": """Start the web application: edit, derive, verify, simulate and animate models in the browser.
Files are written to the current directory. Press Ctrl+C to stop it.""",
}
EXAMPLES = {
    "gallery": (
        "dalembert gallery",
        "dalembert gallery cart-pendulum --plot cart.png",
    ),
    "check": (
        "dalembert check cart-pendulum",
        "dalembert check robot.toml --json",
    ),
    "derive": (
        "dalembert derive cart-pendulum --formalism kane",
        "dalembert derive cart-pendulum --formalism lagrange,maggi --format latex --output equations.tex",
        "dalembert derive double-pendulum --formalism hamilton --format html --output equations.html",
        "dalembert derive double-pendulum --blocks M,h --set l1=0.5,l2=0.5",
        "dalembert derive robot-2-link --formalism denoc --steps",
    ),
    "prove": (
        "dalembert prove cart-pendulum",
        "dalembert prove double-pendulum --formalism kane,hamilton --json",
    ),
    "symmetries": ("dalembert symmetries three-bodies",),
    "verify": ("dalembert verify cart-pendulum --states 500",),
    "simulate": (
        "dalembert simulate cart-pendulum --duration 50 --output run.nc --plot run.png",
        "dalembert simulate cart-pendulum --plot phase.pdf --panels phase,multipliers",
        "dalembert simulate double-pendulum --start theta1=pi/2 --rate theta2=1 --set m1=2",
        "dalembert simulate double-pendulum --animate swing.html --animate swing.gif",
        "dalembert simulate rope --with links=1000 --formalism denoc --duration 1",
    ),
    "compare": (
        "dalembert compare cart-pendulum --duration 50 --plot out/cart-pendulum",
        "dalembert compare cart-pendulum --formalism lagrange,volterra_reduced --integrator rk45",
    ),
    "equilibrium": (
        "dalembert equilibrium double-pendulum",
        "dalembert equilibrium four-bar --fix q1 --start q1=0.3",
        "dalembert equilibrium heavy-top --start theta=0.5 --speed phi=150 --fix theta --solve-for psi",
    ),
    "linearize": (
        "dalembert linearize double-pendulum --equilibrium",
        "dalembert linearize simple-pendulum --start theta=0 --rate theta=0 --input theta --matrices",
        "dalembert linearize stewart-platform --equilibrium --animate mode.html --mode 2",
    ),
    "sweep": (
        "dalembert sweep simple-pendulum --vary l=0.5:1.5:11 --observe 'max(dot(theta))' --output lengths.nc",
        "dalembert sweep cart-pendulum --vary l=0.1:0.3 --vary m2=0.3:0.6 --sampling sobol --runs 256 --observe 'final(x)' "
        "--output spread.csv --plot spread.png",
        "dalembert sweep cart-pendulum --vary l=0.1:0.3:100 --observe energy --output all.nc --cluster tcp://10.0.0.1:8786",
    ),
    "fit": (
        "dalembert simulate simple-pendulum --duration 2 --output swing.csv",
        "dalembert fit simple-pendulum swing.csv --parameters 'l,theta(0)' --observe theta",
        "dalembert fit double-pendulum swing.csv --parameters l1,l2 --sigma theta1=0.01,theta2=0.01",
    ),
    "report": (
        "dalembert report cart-pendulum",
        "dalembert report four-bar --formalism kane,lagrange --duration 3 --output four-bar.html",
        "dalembert report puma560 --no-verification",
    ),
    "paper": (
        "dalembert paper volterra --list",
        "dalembert paper volterra --table 2 --table 3 --json",
        "dalembert paper volterra --output out/volterra",
        "dalembert paper volterra --figure 6 --output out",
    ),
    "export": (
        "dalembert export cart-pendulum --output my-cart.toml",
        "dalembert export robot-2-link --output robot.xml --format urdf",
        "dalembert export cart-pendulum --formalism kane --output cart.c",
        "dalembert export four-bar --format numpy --output four_bar.py",
    ),
    "studio": (
        "dalembert studio",
        "dalembert studio four-bar",
        "dalembert studio robot.toml --port 8080 --no-browser",
    ),
}


_MODULES = {
    "model_commands": ("gallery", "check", "export", "studio"),
    "equation_commands": ("derive", "simulate"),
    "evidence_commands": ("prove", "symmetries", "verify", "compare", "report", "paper"),
    "analysis_commands": ("equilibrium", "linearize", "sweep", "fit"),
}


def function_of(name: str) -> Callable[[Namespace], int]:
    """Import the function of a command; it returns the exit code."""
    module = next(module for module, names in _MODULES.items() if name in names)
    return getattr(import_module(f"dalembert.cli.{module}"), name)
