"""What the words of the studio mean: each quantity with a sentence, its formula, and where it is defined.

Formulas are LaTeX, shown as MathML. Numbers of equations are those of the papers; formalisms state theirs themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from dalembert.display.math import html
from dalembert.formalisms import catalogue
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Given, Tell

PAPERS = {
    "volterra": "Yoosefian Nooshabadi & Nejat Pishkenari 2025",
    "poincare": "Udwadia & Phohomsiri 2007",
    "phong": "Phong 1999",
    "desapio": "De Sapio 2017",
    "denoc": "Saha et al. 2013",
}


@dataclass(frozen=True)
class Entry:
    """A quantity: its name, what it is, its formula in LaTeX, and the source with the number of the equation."""

    title: str
    text: str
    formula: str = ""
    source: str = ""


QUANTITIES: dict[str, Entry] = {
    "coordinates": Entry(
        "Coordinates and velocities",
        "The n numbers that say where everything is, and their rates. Both together are the state.",
        r"q = (q_1, \dots, q_n), \quad \dot{q} = \frac{d q}{d t}",
        "papers/volterra (1)",
    ),
    "tree": Entry(
        "Tree and loops",
        "Every body is carried by another one, or by the world, through its joints. A joint that would close a ring is cut: its "
        "loop becomes constraints, drawn as a broken line.",
        r"t = N \dot{\theta}, \quad J \dot{\theta} = 0",
        "papers/denoc (36), (50)–(54)",
    ),
    "formalisms": Entry(
        "Formalisms",
        "Ways from the same model to its equations of motion, each by its own road. They differ in variables and in the number "
        "of equations, and agree in the motion. Those that cannot treat a model say why.",
        r"n \text{ coordinates}, \; d \text{ degrees of freedom}, \; s \text{ ignorable}",
        "papers/volterra Table 1",
    ),
    "mobility": Entry(
        "Mobility, degrees of freedom",
        "In how many independent ways the system can move: coordinates less independent constraints. It is counted by the "
        "rank of the constraints at random consistent states, so loops with a special geometry are counted right.",
        r"d = n - \operatorname{rank}(a), \quad a \, \dot{q} + b = 0",
        "papers/volterra (1)",
    ),
    "redundant": Entry(
        "Redundant constraints",
        "Constraints that follow from the others. They are dropped by name, or taken by formalisms with a Moore–Penrose "
        "inverse. The motion and the generalized reactions are unique all the same; single multipliers are not.",
        r"\operatorname{rank}(A) < k",
        "papers/poincare (3.5)",
    ),
    "singular": Entry(
        "Singular configuration",
        "A position at which constraints lose their independence, or a hand loses a direction: the mechanism can move in "
        "more ways there, or no longer in all of them.",
        r"\operatorname{rank}(A(q)) < \operatorname{rank}(A) \quad \text{elsewhere}",
    ),
    "ignorable": Entry(
        "Ignorable coordinate",
        "A coordinate that stands neither in the Lagrangian nor in the constraints, and on which no force acts. Its momentum "
        "stays constant. It is proved on the formulas, for all states and times, or refused with the reason.",
        r"\frac{\partial L}{\partial q_I} = 0, \; a_2 = 0, \; Q_I = 0 \;\Rightarrow\; "
        r"\frac{\partial L}{\partial \dot{q}_I} = G_I",
        "papers/volterra Definition 1, (20)–(22)",
    ),
    "speeds": Entry(
        "Quasi-velocities, speeds",
        "d velocities of one's own choice, such as the angular velocity of a body, in place of the rates of coordinates. With "
        "the constraints they determine all velocities.",
        r"u = Y \dot{q} + Z, \quad \dot{q} = W u + X",
        "papers/volterra (3)–(5)",
    ),
    "constraints": Entry(
        "Constraints",
        "Holonomic ones hold positions, nonholonomic ones velocities. All formalisms see them on acceleration level.",
        r"\varphi(q, t) = 0, \quad \psi(q, \dot{q}, t) = 0, \quad A \ddot{q} = \beta",
        "papers/volterra (1), papers/desapio (5.81), (5.89)",
    ),
    "multipliers": Entry(
        "Multipliers",
        "One number for each constraint: how strongly it has to push. They are unique where the constraints are independent; "
        "else those of the smallest norm are given.",
        r"M \ddot{q} = h + A^{T} \lambda",
        "papers/volterra (17), papers/desapio (5.93)",
    ),
    "reactions": Entry(
        "Reactions",
        "The generalized forces that keep the constraints, and in joints the force and moment that one body puts on the next.",
        r"r = M \ddot{q} - h = A^{T} \lambda",
        "papers/phong (2.4)",
    ),
    "non_ideal": Entry(
        "Non-ideal constraints",
        "Constraints whose forces do work, such as friction that is given by a formula C.",
        r"S_c = M_s^{1/2} B_s^{+} (b_s - A_s a_s) + M_s^{1/2} (1 - B_s^{+} B_s) M_s^{-1/2} C_s",
        "papers/poincare (3.47)",
    ),
    "energy": Entry(
        "Energy balance",
        "Energy less the work that was put in. In an exact motion it is constant, so its drift measures the error of a run: the "
        "norm over all samples, relative to its size. Where bodies or constraints move with time, the Jacobi function stands "
        "for the energy.",
        r"T + V - \int_0^t Q^{T} \dot{q} \, dt = \text{constant}",
        "papers/volterra (80)",
    ),
    "violation": Entry(
        "Constraint violation",
        "By how much the motion has left its constraints: on position level, and on velocity level. A projection "
        "brings it back on the way.",
        r"\| \varphi(q, t) \|, \quad \| a \dot{q} + b \|",
        "papers/volterra (1)",
    ),
    "stabilisation": Entry(
        "Baumgarte's stabilisation",
        "The constraints are put in with feedback, so that what has drifted away comes back.",
        r"\ddot{\varphi} + \beta \dot{\varphi} + \alpha \varphi = 0",
        "papers/desapio (5.96)–(5.100)",
    ),
    "momentum": Entry(
        "Momentum of an ignorable coordinate",
        "It is constant, with the value that the initial state gives it; its relative drift measures the error of a run.",
        r"G_I = M_{21} \dot{q}_{NI} + M_{22} \dot{q}_I + N_2",
        "papers/volterra (26)",
    ),
    "mass_matrix": Entry(
        "Mass matrix",
        "The kinetic energy as a form of the velocities; N and T₀ are there where bodies move by formulas of time.",
        r"T = \tfrac{1}{2} \dot{q}^{T} M \dot{q} + \dot{q}^{T} N + T_0",
        "papers/volterra (13)",
    ),
    "action": Entry(
        "Action",
        "Along a motion its first variation vanishes, for all variations that the constraints admit.",
        r"I = \int_{t_0}^{t_f} L \, dt",
        "papers/desapio (5.158)",
    ),
    "inverse_dynamics": Entry(
        "Inverse dynamics",
        "The forces of the drives that a motion needs.",
        r"\tau = M \ddot{q} + b + g",
        "papers/desapio (5.59), papers/denoc (17)",
    ),
    "forward_dynamics": Entry(
        "Forward dynamics",
        "The accelerations that forces give; of a tree link by link, without a mass matrix.",
        r"I \ddot{\theta} = \tau - C \dot{\theta}, \quad I = U D U^{T}",
        "papers/denoc (17), (27)–(33)",
    ),
    "inverse_kinematics": Entry(
        "Inverse kinematics",
        "Coordinates at which a body is where it is wanted; loops stay closed. There may be several branches, or none.",
        r"X(q) = X_{\text{wanted}}, \quad \varphi(q) = 0",
    ),
    "manipulability": Entry(
        "Manipulability",
        "How much room of velocities of the hand a ball of joint velocities gives; zero in a singular configuration.",
        r"w = \sqrt{\det(J J^{T})}",
        "Yoshikawa 1985",
    ),
    "dh": Entry(
        "Denavit–Hartenberg parameters",
        "Four numbers from one joint axis to the next: offset and angle along the axis before, length and twist along their "
        "common normal. In the modified form length and twist come first.",
        r"T = R_z(\theta) \, D_z(d) \, D_x(a) \, R_x(\alpha), \quad T_m = R_x(\alpha) \, D_x(a) \, R_z(\theta) \, D_z(d)",
        "Denavit & Hartenberg 1955; modified: Craig 1986",
    ),
    "equilibrium": Entry(
        "Equilibrium",
        "A position in which the system stays: all forces and reactions cancel at rest.",
        r"h(q, 0) + A^{T} \lambda = 0, \quad \varphi(q) = 0",
    ),
    "modes": Entry(
        "Linear modes",
        "Small motions around an equilibrium: eigenvalues say how fast they swing and decay, eigenvectors what moves with what.",
        r"\dot{x} = A x, \quad x = v \, e^{\mu t}, \quad \mu = -\zeta \omega \pm i \omega \sqrt{1 - \zeta^2}",
    ),
    "floquet": Entry(
        "Floquet multipliers",
        "What one period of a periodic motion does to small deviations. Those inside the unit circle die out; a motion that "
        "does not know the time has one multiplier 1 of its own.",
        r"\dot{\Phi} = A(t) \, \Phi, \quad \det(\Phi(T) - \mu \, 1) = 0",
    ),
    "proof": Entry(
        "Proof of agreement",
        "Formalisms are compared as functions, exactly, in a prime field at a random point. Two different functions agree there "
        "with a probability that is bounded by their degree over the size of the field.",
        r"P(\text{error}) \leq \frac{\text{degree}}{2^{127}}",
        "Schwartz 1980, Zippel 1979",
    ),
    "verification": Entry(
        "Verification in numbers",
        "Accelerations and reactions of all formalisms at random consistent states, on every engine, and put into d'Alembert's "
        "principle. What rests on the same shared facts counts as one road.",
        r"\max \frac{\| \ddot{q} - \ddot{q}_{\text{ref}} \|}{\| \ddot{q}_{\text{ref}} \|}",
    ),
    "comparison": Entry(
        "Comparison",
        "One simulation by each formalism, without correction of drift: equations, states, operations, time and errors, as the "
        "papers have them in their tables.",
        "",
        "papers/volterra Tables 1 and 2",
    ),
    "budget": Entry(
        "Time for short forms",
        "Equations are brought to a short form as long as this CPU time lasts; what is left over is right, but longer than need "
        "be.",
    ),
}

# what each formalism ends with, in the letters of its paper
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
    """Group, key and entry of everything: quantities first, then the formalisms by what they say of themselves.

    >>> [entry.source for _, key, entry in entries() if key == "energy"]
    ['papers/volterra (80)']
    """
    for key, entry in QUANTITIES.items():
        yield "Quantities", key, entry
    for module in catalogue.FORMALISMS:
        about, idea = module.ABOUT, (module.__doc__ or "").partition("\n")[0].partition(": ")[2]
        yield (
            "Formalisms",
            about.key,
            Entry(about.title, f"{idea[:1].upper()}{idea[1:]}", ENDS[about.key], about.source),
        )


def table(given: Given, folder: Folder, tell: Tell) -> Answer:
    """All entries, their formulas as MathML."""
    return {"entries": _shown()}


@cache
def _shown() -> list[dict[str, str]]:
    return [
        {
            "key": key,
            "group": group,
            "title": entry.title,
            "text": html.sentence(entry.text),
            "formula": html.math(entry.formula) if entry.formula else "",
            "source": named(entry.source),
        }
        for group, key, entry in entries()
    ]


def named(source: str) -> str:
    """A source with the authors of the paper in place of its file.

    >>> named("papers/phong (2.4)")
    'Phong 1999, (2.4)'
    """
    return re.sub(r"papers/(\w+)", lambda match: f"{PAPERS[match[1]]},", source)
