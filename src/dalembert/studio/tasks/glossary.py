"""Glossary of the studio: each quantity with a definition, its formula and its source.

Formulas are LaTeX, displayed as MathML. Equation numbers are those of the papers; formulations define their own entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from dalembert.display.math import html
from dalembert.formalisms import catalog
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress

PAPERS = {
    "volterra": "Yoosefian Nooshabadi & Nejat Pishkenari 2025",
    "poincare": "Udwadia & Phohomsiri 2007",
    "phong": "Phong 1999",
    "desapio": "De Sapio 2017",
    "denoc": "Saha et al. 2013",
}


@dataclass(frozen=True)
class Entry:
    """A quantity: title, definition, formula in LaTeX, and source with the equation number."""

    title: str
    text: str
    formula: str = ""
    source: str = ""


QUANTITIES: dict[str, Entry] = {
    "coordinates": Entry(
        "Coordinates and velocities",
        "The n numbers that define the configuration, and their time derivatives. Together they are the state.",
        r"q = (q_1, \dots, q_n), \quad \dot{q} = \frac{d q}{d t}",
        "papers/volterra (1)",
    ),
    "tree": Entry(
        "Tree and loops",
        "Every body is connected to its parent body, or to the world, by its joints. A joint that would close a loop is cut and "
        "becomes constraints, drawn as a dashed line.",
        r"t = N \dot{\theta}, \quad J \dot{\theta} = 0",
        "papers/denoc (36), (50)–(54)",
    ),
    "formalisms": Entry(
        "Formalisms",
        "Methods to derive the equations of motion of a model. They differ in their variables and in the number of equations "
        "and give the same motion. For a formalism that does not apply to a model, the reason is displayed.",
        r"n \text{ coordinates}, \; d \text{ degrees of freedom}, \; s \text{ ignorable}",
        "papers/volterra Table 1",
    ),
    "mobility": Entry(
        "Mobility, degrees of freedom",
        "The number of independent motions: coordinates minus independent constraints. It is computed from the rank of the "
        "constraints at random consistent states, so it is correct for loops with a special geometry.",
        r"d = n - \operatorname{rank}(a), \quad a \, \dot{q} + b = 0",
        "papers/volterra (1)",
    ),
    "redundant": Entry(
        "Redundant constraints",
        "Constraints that are linearly dependent on the others. They are dropped and listed, or used by formalisms with a "
        "Moore–Penrose inverse. The motion and the generalized reactions are unique; single multipliers are not.",
        r"\operatorname{rank}(A) < k",
        "papers/poincare (3.5)",
    ),
    "singular": Entry(
        "Singular configuration",
        "A configuration in which constraints become dependent, or the hand cannot move in some direction: the mechanism "
        "gains or loses degrees of freedom there.",
        r"\operatorname{rank}(A(q)) < \operatorname{rank}(A) \quad \text{elsewhere}",
    ),
    "ignorable": Entry(
        "Ignorable coordinate",
        "A coordinate that appears neither in the Lagrangian nor in the constraints, and on which no force acts. Its momentum "
        "is constant. This is proved from the formulas for all states and times, or rejected with a reason.",
        r"\frac{\partial L}{\partial q_I} = 0, \; a_2 = 0, \; Q_I = 0 \;\Rightarrow\; "
        r"\frac{\partial L}{\partial \dot{q}_I} = G_I",
        "papers/volterra Definition 1, (20)–(22)",
    ),
    "speeds": Entry(
        "Quasi-velocities, speeds",
        "d independent velocity variables, such as the components of an angular velocity, instead of coordinate rates. With "
        "the constraints they determine all velocities.",
        r"u = Y \dot{q} + Z, \quad \dot{q} = W u + X",
        "papers/volterra (3)–(5)",
    ),
    "constraints": Entry(
        "Constraints",
        "Holonomic constraints restrict positions, nonholonomic ones velocities. Formalisms use them on acceleration level.",
        r"\varphi(q, t) = 0, \quad \psi(q, \dot{q}, t) = 0, \quad A \ddot{q} = \beta",
        "papers/volterra (1), papers/desapio (5.81), (5.89)",
    ),
    "multipliers": Entry(
        "Multipliers",
        "One number for each constraint: the magnitude of its force. They are unique if the constraints are independent; "
        "otherwise those of the smallest norm are used.",
        r"M \ddot{q} = h + A^{T} \lambda",
        "papers/volterra (17), papers/desapio (5.93)",
    ),
    "reactions": Entry(
        "Reactions",
        "The generalized constraint forces, and in each joint the force and moment that one body exerts on the next.",
        r"r = M \ddot{q} - h = A^{T} \lambda",
        "papers/phong (2.4)",
    ),
    "non_ideal": Entry(
        "Non-ideal constraints",
        "Constraints whose forces do virtual work, such as friction defined by a formula C.",
        r"S_c = M_s^{1/2} B_s^{+} (b_s - A_s a_s) + M_s^{1/2} (1 - B_s^{+} B_s) M_s^{-1/2} C_s",
        "papers/poincare (3.47)",
    ),
    "energy": Entry(
        "Energy balance",
        "Energy minus the work done by the forces. It is constant in the exact motion, so its drift measures the error of a "
        "run: the norm over all samples, relative to its size. If bodies or constraints depend on time, the Jacobi function "
        "replaces the energy.",
        r"T + V - \int_0^t Q^{T} \dot{q} \, dt = \text{constant}",
        "papers/volterra (80)",
    ),
    "violation": Entry(
        "Constraint violation",
        "The residual of the constraints on position level and on velocity level. Projection reduces it during a run.",
        r"\| \varphi(q, t) \|, \quad \| a \dot{q} + b \|",
        "papers/volterra (1)",
    ),
    "stabilization": Entry(
        "Baumgarte stabilization",
        "The constraints are imposed with feedback, so that their violation decays.",
        r"\ddot{\varphi} + \beta \dot{\varphi} + \alpha \varphi = 0",
        "papers/desapio (5.96)–(5.100)",
    ),
    "momentum": Entry(
        "Momentum of an ignorable coordinate",
        "It is constant, with its value in the initial state; its relative drift measures the error of a run.",
        r"G_I = M_{21} \dot{q}_{NI} + M_{22} \dot{q}_I + N_2",
        "papers/volterra (26)",
    ),
    "mass_matrix": Entry(
        "Mass matrix",
        "The matrix of the quadratic form of the kinetic energy; N and T₀ occur if motions depend explicitly on time.",
        r"T = \tfrac{1}{2} \dot{q}^{T} M \dot{q} + \dot{q}^{T} N + T_0",
        "papers/volterra (13)",
    ),
    "action": Entry(
        "Action",
        "Along a motion its first variation vanishes for all variations that satisfy the constraints.",
        r"I = \int_{t_0}^{t_f} L \, dt",
        "papers/desapio (5.158)",
    ),
    "inverse_dynamics": Entry(
        "Inverse dynamics",
        "The drive forces and torques that a prescribed motion requires.",
        r"\tau = M \ddot{q} + b + g",
        "papers/desapio (5.59), papers/denoc (17)",
    ),
    "forward_dynamics": Entry(
        "Forward dynamics",
        "The accelerations due to given forces; for a tree computed link by link, without a mass matrix.",
        r"I \ddot{\theta} = \tau - C \dot{\theta}, \quad I = U D U^{T}",
        "papers/denoc (17), (27)–(33)",
    ),
    "inverse_kinematics": Entry(
        "Inverse kinematics",
        "Coordinates for which a body has a desired pose; loops stay closed. There may be several solutions, or none.",
        r"X(q) = X_{\text{wanted}}, \quad \varphi(q) = 0",
    ),
    "manipulability": Entry(
        "Manipulability",
        "The volume of hand velocities that a unit ball of joint velocities gives; zero in a singular configuration.",
        r"w = \sqrt{\det(J J^{T})}",
        "Yoshikawa 1985",
    ),
    "dh": Entry(
        "Denavit–Hartenberg parameters",
        "Four numbers from one joint axis to the next: offset and angle along the previous axis, length and twist along the "
        "common normal. In the modified form length and twist come first.",
        r"T = R_z(\theta) \, D_z(d) \, D_x(a) \, R_x(\alpha), \quad T_m = R_x(\alpha) \, D_x(a) \, R_z(\theta) \, D_z(d)",
        "Denavit & Hartenberg 1955; modified: Craig 1986",
    ),
    "equilibrium": Entry(
        "Equilibrium",
        "A configuration in which the system stays at rest: all forces and reactions are in balance.",
        r"h(q, 0) + A^{T} \lambda = 0, \quad \varphi(q) = 0",
    ),
    "modes": Entry(
        "Linear modes",
        "Small motions about an equilibrium: eigenvalues give frequency and damping, eigenvectors the mode shapes.",
        r"\dot{x} = A x, \quad x = v \, e^{\mu t}, \quad \mu = -\zeta \omega \pm i \omega \sqrt{1 - \zeta^2}",
    ),
    "floquet": Entry(
        "Floquet multipliers",
        "The growth factors of small deviations over one period of a periodic motion. Those inside the unit circle decay; an "
        "autonomous system always has one multiplier 1.",
        r"\dot{\Phi} = A(t) \, \Phi, \quad \det(\Phi(T) - \mu \, 1) = 0",
    ),
    "proof": Entry(
        "Proof of agreement",
        "Formalisms are compared exactly, as functions, in a prime field at a random point. Two different functions agree there "
        "with a probability bounded by their degree over the size of the field.",
        r"P(\text{error}) \leq \frac{\text{degree}}{2^{127}}",
        "Schwartz 1980, Zippel 1979",
    ),
    "verification": Entry(
        "Numerical verification",
        "Accelerations and reactions of all formalisms are compared at random consistent states on every engine, and checked "
        "with d'Alembert's principle. Formalisms with the same shared facts count as one lineage.",
        r"\max \frac{\| \ddot{q} - \ddot{q}_{\text{ref}} \|}{\| \ddot{q}_{\text{ref}} \|}",
    ),
    "comparison": Entry(
        "Comparison",
        "One simulation with each formalism, without drift correction: equations, states, operations, time and errors, as in "
        "the tables of the papers.",
        "",
        "papers/volterra Tables 1 and 2",
    ),
    "budget": Entry(
        "Simplification time",
        "The CPU time for the simplification of the equations; equations not simplified within it are correct, but longer than "
        "necessary.",
    ),
}

# the final equations of each formulation, in the notation of its paper
ENDS = {
    "lagrange": r"\frac{d}{dt} \frac{\partial L}{\partial \dot{q}} - \frac{\partial L}{\partial q} = Q + A^{T} \lambda",
    "dalembert": r"\Theta^{T} \tau = M \ddot{q} + b + g - \Phi^{T} (\alpha + \rho)",
    "maggi": r"W^{T} (M \ddot{q} - h) = 0, \quad A \ddot{q} = \beta",
    "kane": r"F + F^{*} = 0",
    "gibbs_appell": r"\frac{\partial S}{\partial \dot{u}} = U",
    "boltzmann_hamel": r"\frac{d}{dt} \frac{\partial T^{*}}{\partial w_j} - \frac{\partial T^{*}}{\partial \pi_j} "
    r"+ \sum_i \frac{\partial T^{*}}{\partial w_i} \Bigl(\sum_l \gamma^i_{jl} w_l + \gamma^i_j\Bigr) "
    r"= U_j - \frac{\partial V}{\partial \pi_j}",
    "volterra": r"\frac{d}{dt} \frac{\partial T}{\partial u_j} - \sum_i \Bigl[P_i^{T} \frac{d}{dt} "
    r"\frac{\partial V_{Gi}}{\partial u_j} + H_{Gi}^{T} \frac{d}{dt} \frac{\partial \omega_i}{\partial u_j}\Bigr] = U_j",
    "volterra_reduced": r"M_{NI} \, \dot{u}_{NI} = L_{NI}, \quad \dot{q} = W_{NI} u_{NI} + X_{NI}",
    "routh": r"\frac{d}{dt} \frac{\partial R}{\partial \dot{q}_{NI}} - \frac{\partial R}{\partial q_{NI}} "
    r"= Q_{NI} + A_{NI}^{T} \lambda",
    "udwadia_kalaba": r"\ddot{q} = \ddot{q}_0 + M^{-1/2} B^{+} (\beta - A \ddot{q}_0), \quad B = A M^{-1/2}",
    "poincare": r"M_s \dot{s} = S + S_c, \quad s = G \dot{q}",
    "gauss": r"(\ddot{q} - \ddot{q}_0)^{T} M (\ddot{q} - \ddot{q}_0) \to \min, \quad A \ddot{q} = \beta",
    "phong": r"D^{T} (M \ddot{q} - h) = 0, \quad G D = 0",
    "nullspace": r"\tau_p = M_p \ddot{q}_p + b_p + g_p, \quad M_p = W^{T} M W",
    "hamilton": r"\dot{q} = \frac{\partial H}{\partial p}, \quad "
    r"\dot{p} = -\frac{\partial H}{\partial q} + \tau + \Phi^{T} \lambda",
    "dirac": r"\dot{q} = H_p - c_p^{T} \Lambda, \quad \dot{p} = \tau - H_q + c_q^{T} \Lambda",
    "newton_euler": r"M \dot{t} + \Omega M E t = w",
    "denoc": r"I \ddot{\theta} + C \dot{\theta} = \tau, \quad I = N_d^{T} N_l^{T} M N_l N_d",
}


def entries() -> Iterator[tuple[str, str, Entry]]:
    """Yield group, key and entry: quantities first, then the formulations with the summary of their docstring.

    >>> [entry.source for _, key, entry in entries() if key == "energy"]
    ['papers/volterra (80)']
    """
    for key, entry in QUANTITIES.items():
        yield "Quantities", key, entry
    for module in catalog.FORMALISMS:
        about, idea = module.ABOUT, (module.__doc__ or "").partition("\n")[0].partition(": ")[2]
        yield (
            "Formalisms",
            about.key,
            Entry(about.title, f"{idea[:1].upper()}{idea[1:]}", ENDS[about.key], about.source),
        )


def glossary(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return all entries with their formulas as MathML."""
    return {"entries": _entries()}


@cache
def _entries() -> list[dict[str, str]]:
    return [
        {
            "key": key,
            "group": group,
            "title": entry.title,
            "text": html.sentence(entry.text),
            "formula": html.math(entry.formula) if entry.formula else "",
            "source": with_authors(entry.source),
        }
        for group, key, entry in entries()
    ]


def with_authors(source: str) -> str:
    """Replace the name of a paper in a source by its authors and year.

    >>> with_authors("papers/phong (2.4)")
    'Phong 1999, (2.4)'
    """
    return re.sub(r"papers/(\w+)", lambda match: f"{PAPERS[match[1]]},", source)
