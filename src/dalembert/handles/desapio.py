"""The quantities of the generalized constrained equation of motion, (5.90)–(5.154) of papers/desapio, at one state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.algebra import stack
from dalembert.errors import InputError
from dalembert.formalisms import dalembert
from dalembert.handles.workspace import Workspace


@dataclass(frozen=True)
class ConstraintSpace:
    """Θᵀτ = M q̈ + b + g − Φᵀ(α + ρ), (5.154); Φ has the independent constraints as rows."""

    M: np.ndarray
    b: np.ndarray
    g: np.ndarray
    tau: np.ndarray
    Phi: np.ndarray
    H: np.ndarray  # (5.90)
    Phi_bar: np.ndarray  # (5.91)
    Theta: np.ndarray
    alpha: np.ndarray  # (5.152)
    rho: np.ndarray  # (5.153)


def constraint_space(
    workspace: Workspace, q: np.ndarray, qd: np.ndarray, t: float, parameters: np.ndarray
) -> ConstraintSpace:
    """All quantities at one state; the model must be made of bodies."""
    if workspace.model.energies is not None:
        raise InputError(
            f"model '{workspace.model.name}' is given by its energies, so b and g cannot be told apart. Describe it by bodies."
        )
    system = workspace.system
    M, b, g, tau = dalembert.parts(system)
    outputs = stack(M.ravel(), b, g, tau, system.A.ravel(), system.beta)
    out = workspace.compiled(outputs, system.q, system.qd)(np.concatenate([q, qd, [t]]), parameters)
    n, r = len(q), len(system.beta)
    ends = np.cumsum([n * n, n, n, n, r * n])
    mass, b_, g_, tau_, Phi, beta = np.split(out, ends)
    mass, Phi = mass.reshape(n, n), Phi.reshape(r, n)
    H, Phi_bar, Theta = (x[0] for x in dalembert.constraint_space(mass[None], Phi[None]))
    alpha, rho = Phi_bar.T @ b_ + H @ beta, Phi_bar.T @ g_  # (5.152) with −Φ̇q̇ = β, (5.153)
    return ConstraintSpace(mass, b_, g_, tau_, Phi, H, Phi_bar, Theta, alpha, rho)
