"""The closed mechanisms of the gallery: mobility, drift, and motions found another way."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert import gallery
from dalembert.algebra import numbers
from dalembert.errors import InconsistentStateError
from dalembert.kinematics import samples

G = 9.81


# one freedom found another way: the mechanism is drawn at many places of its closed path, and Lagrange's equation of one
# coordinate is integrated; derivatives along the path come from Fourier series


@dataclass
class Path:
    """T = ½ M(τ) τ̇² and V(τ) of a mechanism with one freedom, over one turn of its parameter τ."""

    M: np.ndarray
    V: np.ndarray

    @classmethod
    def of(cls, centers, rotations, masses, inertias, gravity):
        """Mass centres (N, bodies, 3) and rotations (N, bodies, 3, 3) at τ = 2πk/N; inertias (bodies, 3) in body axes."""
        v, Rd = slope(centers), slope(rotations)
        spin = np.einsum("kbji,kbjl->kbil", rotations, Rd)
        w = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
        M = np.einsum("b,kbi,kbi->k", masses, v, v) + np.einsum("bi,kbi,kbi->k", inertias, w, w)
        return cls(M, -np.einsum("b,kbi,i->k", masses, centers, gravity))

    def motion(self, tau, rate, times):
        """τ at the times, from τ and τ̇ at the first."""
        c = np.fft.rfft([self.M, slope(self.M), slope(self.V)]) / len(self.M)
        c[:, 1:] *= 2
        order = np.arange(np.flatnonzero((np.abs(c) > 1e-15 * np.abs(c).max(axis=1, keepdims=True)).any(axis=0))[-1] + 1)
        c = c[:, order]

        def rates(_, y):
            M, Md, Vd = (c @ np.exp(1j * order * y[0])).real
            return [y[1], -(Md * y[1] ** 2 / 2 + Vd) / M]

        span = (times[0], times[-1])
        return solve_ivp(rates, span, [tau, rate], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times).y[0]


def slope(values):
    """The derivative of periodic samples along the first axis."""
    N = len(values)
    order = np.fft.fftfreq(N, 1 / N).reshape(-1, *[1] * (np.ndim(values) - 1))
    return np.fft.ifft(1j * order * np.fft.fft(values, axis=0), axis=0).real


def about_z(angle):
    """Rotations about z."""
    c, s, o, e = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.moveaxis(np.array([[c, -s, o], [s, c, o], [o, o, e]]), (0, 1), (-2, -1))


def flat(points, angles):
    """Points of the plane and angles, (bodies, N), as centres and rotations in space."""
    z = np.array(points).T
    return np.stack([z.real, z.imag, np.zeros(z.shape)], axis=-1), about_z(np.array(angles).T)


TURN = 2 * np.pi * np.arange(512) / 512


def bars(a, b, c, pivot, side, crank=TURN):
    """Crank tip, pin between coupler and output link, in the complex plane: the meeting of two circles, on one side."""
    tip = a * np.exp(1j * crank)
    way = tip - pivot
    size = np.abs(way)
    along = (size**2 + c**2 - b**2) / (2 * size)
    return tip, pivot + way / size * (along + side * 1j * np.sqrt(c**2 - along**2))


def four_bar_path(p, b, c, pivot, side, thick=0.0):
    """A linkage of crank, output link and coupler, each a rod."""
    tip, pin = bars(p["a"], b, c, pivot, side)
    points = [tip / 2, (pivot + pin) / 2, (pin + tip) / 2]
    angles = [np.angle(tip), np.angle(pin - pivot), np.angle(tip - pin)]
    masses = np.array([p["m1"], p["m2"], p["m3"]])
    lengths = np.array([p["a"], c, b])
    inertias = masses[:, None] / 12 * np.stack([0 * lengths + thick**2, lengths**2, lengths**2], axis=1)
    return Path.of(*flat(points, angles), masses, inertias, [0, -G, 0])


def leg_path(p):
    """Hoeken's linkage with the coupler prolonged beyond the rocker, and the pantograph that follows its end."""
    tip, pin = bars(p["a"], p["b"], p["b"], p["d"], 1)
    leader, hip, k = 2 * pin - tip, p["hx"] + 1j * p["hy"], p["k"]
    # hip, thigh/k, shank/k, leader: two sides of a triangle, the knee to the right
    way = leader - hip
    size, upper, lower = np.abs(way), p["thigh"] / k, p["shank"] / k
    along = (size**2 + upper**2 - lower**2) / (2 * size)
    joint = hip + way / size * (along + 1j * np.sqrt(upper**2 - along**2))
    knee, foot = hip + k * (joint - hip), hip + k * way
    middle = knee + (foot - knee) / k
    rods = [(0 * tip, tip), (p["d"] + 0 * tip, pin), (tip, leader), (hip + 0 * tip, knee), (joint, leader), (knee, foot)]
    rods.append((middle, leader))
    masses = np.array([p[f"m{i}"] for i in range(1, 8)])
    lengths = np.array([np.abs(end - start)[0] for start, end in rods])
    inertias = masses[:, None] / 12 * np.stack([0 * lengths + p["w"] ** 2, lengths**2, lengths**2], axis=1)
    points, angles = [(s + e) / 2 for s, e in rods], [np.angle(e - s) for s, e in rods]
    return Path.of(*flat(points, angles), masses, inertias, [0, -G, 0])


def bricard_angles(tau):
    """φ and ψ on the oval cos(φ/2) cos(ψ/2) = ½ in the direction τ: the angles of every other hinge."""
    size = np.full_like(tau, 1.5)
    for _ in range(60):
        f = np.cos(size * np.cos(tau) / 2) * np.cos(size * np.sin(tau) / 2) - 0.5
        d = -np.cos(tau) / 2 * np.sin(size * np.cos(tau) / 2) * np.cos(size * np.sin(tau) / 2)
        d = d - np.sin(tau) / 2 * np.cos(size * np.cos(tau) / 2) * np.sin(size * np.sin(tau) / 2)
        size = size - f / d
    return size * np.cos(tau), size * np.sin(tau)


def turned(axis, angle):
    """Rotations about a principal axis."""
    i, j = [(1, 2), (2, 0), (0, 1)]["xyz".index(axis)]
    R = np.repeat(np.eye(3)[None], len(angle), axis=0)
    R[:, i, i] = R[:, j, j] = np.cos(angle)
    R[:, i, j], R[:, j, i] = -np.sin(angle), np.sin(angle)
    return R


RODS = np.array([[1, 0, 0], [0, -1, 0], [0, 0, 1], [-1, 0, 0], [0, 1, 0]], dtype=float)


def bricard_shape(tau):
    """Rotations of the five rods (N, 5, 3, 3) and the places P1 to P6 (N, 6, 3), from the two angles alone."""
    phi, psi = bricard_angles(tau)
    R, p = [], [np.zeros((len(tau), 3))]
    now = np.repeat(np.eye(3)[None], len(tau), axis=0)
    for i, axis in enumerate("yzxyz"):
        now = now @ turned(axis, np.pi / 2 - (phi, psi)[i % 2])
        R.append(now)
        p.append(p[-1] + now @ RODS[i])
    return np.stack(R, axis=1), np.stack(p, axis=1)


def bricard_path():
    R, p = bricard_shape(TURN)
    inertias = np.array([[1.01 / 12] * 3] * 5)
    inertias[RODS != 0] = 0.01 / 6
    return Path.of((p[:, :-1] + p[:, 1:]) / 2, R, np.ones(5), inertias, [0, -G, 0])
