"""Results of `dl.linearize`: ẋ = A x + B u, y = C x + D u about a state, with modes and transfer functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from dalembert.arguments import as_finite_array, documented_class, is_integer, validate_arguments
from dalembert.errors import EngineError, InputError, short_repr
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import levels, with_contacts
from dalembert.mechanics.state_batch import States
from dalembert.model.description import Description
from dalembert.model.immutable import FrozenValue
from dalembert.symbolic.symbols import SymbolKind, Written
from dalembert.tables import Table, Tabular, format_cell

if TYPE_CHECKING:
    from scipy.signal import StateSpace

    from dalembert.analysis._symbolic_linearization import SymbolicLinearization
    from dalembert.display.scene.scene_values import Scene
    from dalembert.display.video import Animation


_SYMMETRIC = 1e-10  # relative to the largest entry
_REAL = 1e-9  # relative to an eigenvalue: a smaller imaginary part is zero
_ZERO = 1e-14  # relative to the largest eigenvalue: smaller ones are zero
_FINITE = 1e-9  # relative size of both sides of A x = s E x: below it s is infinite
_ZERO_STIFFNESS = 1e-13  # relative to the largest squared frequency: below it the stiffness is zero


@dataclass(frozen=True)
class VibrationMode:
    """A mode of a linear system: δq(t) = Re(shape · exp(eigenvalue · t)).

    `shape` has an entry for every coordinate; the largest, in scales of the model, is real and positive.

    >>> mode = VibrationMode(-0.1 + 2j, np.array([1.0 + 0j]), np.array([-0.1 + 2j]))
    >>> round(mode.frequency, 6), round(mode.damping_ratio, 6), round(mode.hertz, 6)
    (2.002498, 0.049938, 0.318708)
    """

    eigenvalue: complex
    shape: npt.NDArray[np.inexact]
    rates: npt.NDArray[np.inexact]  # δq̇, nonzero for a uniform drift whose shape is zero

    @property
    def frequency(self) -> float:
        """|λ| in rad/s: the undamped natural frequency."""
        return abs(self.eigenvalue)

    @property
    def hertz(self) -> float:
        """|λ|/2π: the undamped natural frequency in Hz."""
        return self.frequency / (2 * np.pi)

    @property
    def damped_frequency(self) -> float:
        """|Im λ| in rad/s: the damped natural frequency."""
        return abs(self.eigenvalue.imag)

    @property
    def damping_ratio(self) -> float:
        """−Re λ/|λ|: 1 without oscillation, negative if the mode grows, 0 for a zero eigenvalue."""
        return 0.0 - self.eigenvalue.real / self.frequency if self.frequency else 0.0

    @property
    def oscillates(self) -> bool:
        """True if the eigenvalue is one of a complex pair."""
        return self.eigenvalue.imag != 0


Second: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # M, K and V of M η̈ + K η = 0 with x = (V η, η̇)


def spectrum_of(A: np.ndarray, second: Second | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors (columns) of A.

    `second` describes an undamped system: then the frequencies come from the symmetric eigenvalue problem, which is accurate
    for repeated and zero frequencies.
    """
    if second is not None:
        return _undamped(*second)
    values, vectors = np.linalg.eig(A)
    size = np.abs(values).max(initial=0.0)
    values = np.where(np.abs(values) < _ZERO * size, 0.0, values)
    return np.where(np.abs(np.imag(values)) < _REAL * np.abs(values), np.real(values), values), vectors


def _undamped(M: np.ndarray, K: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy import linalg

    squares, shapes = linalg.eigh(K, M)
    squares = np.where(np.abs(squares) < _ZERO_STIFFNESS * np.abs(squares).max(initial=0.0), 0.0, squares)
    roots = np.sqrt(-squares.astype(complex))
    values = np.concatenate([roots, -roots])
    both = np.concatenate([shapes, shapes], axis=1).astype(complex)
    return values, np.concatenate([V @ both, both * values])


def second_order(A: np.ndarray, M: np.ndarray, coordinates: int) -> Second | None:
    """M, K and V of M η̈ + K η = 0 if ẋ = A x is an undamped system with symmetric stiffness; otherwise None."""
    c, d = coordinates, len(M)
    V, K = A[:c, c:], -M @ A[c:, :c]
    if c != d or np.abs(A[:c, :c]).max(initial=0.0) or not d:
        return None
    K, D = K @ V, M @ A[c:, c:]
    size = np.abs(K).max(initial=0.0)
    if (
        np.abs(D).max(initial=0.0) > _SYMMETRIC * np.sqrt(size * np.abs(M).max())
        or np.abs(K - K.T).max() > _SYMMETRIC * size
    ):
        return None
    return M, (K + K.T) / 2, V


def modes_of(
    values: np.ndarray, vectors: np.ndarray, shapes: np.ndarray, unit: np.ndarray
) -> tuple[VibrationMode, ...]:
    """The modes, slowest first, one for each pair; `shapes` maps states to (δq, δq̇), `unit` are the coordinate scales."""
    out: list[VibrationMode] = []
    for value, vector in zip(values, vectors.T, strict=True):
        q, qd = np.split(shapes @ vector, 2)
        if np.abs(q / unit).max(initial=0.0) < _ZERO * np.abs(qd / unit).max(initial=0.0):
            q = np.zeros_like(q)
        relative = q / unit if q.any() else qd / unit
        largest = relative[int(np.argmax(np.round(np.abs(relative), 12)))] if len(relative) else 1.0
        size = largest or 1.0
        mode = VibrationMode(complex(value), q / size, qd / size)
        if value.imag > 0 or (not value.imag and not (value == 0 and any(_same(mode, other) for other in out))):
            out.append(mode)
    return tuple(sorted(out, key=lambda mode: (round(mode.frequency, 9), -mode.eigenvalue.real)))


def _same(mode: VibrationMode, other: VibrationMode) -> bool:
    """True if two modes of a double zero eigenvalue are equal."""
    return other.eigenvalue == 0 and bool(np.allclose(mode.shape, other.shape) and np.allclose(mode.rates, other.rates))


def finite_eigenvalues(A: np.ndarray, E: np.ndarray) -> npt.NDArray[np.complex128]:
    """The finite s of A x = s E x.

    >>> finite_eigenvalues(np.diag([2.0, 1.0]), np.diag([1.0, 0.0])).tolist()
    [(2+0j)]
    """
    from scipy import linalg

    pairs: Any = linalg.eig(A, E, right=False, homogeneous_eigvals=True)
    a, b = np.asarray(pairs)
    large, small = (max(float(np.abs(each).max(initial=0.0)), 1e-300) for each in (A, E))
    finite = np.abs(b) / small > _FINITE * (np.abs(a) / large + np.abs(b) / small)
    return a[finite] / b[finite]


def matched(before: Sequence[complex], after: Sequence[complex]) -> np.ndarray:
    """The eigenvalues `after`, in the order of `before`: the assignment with the smallest total distance.

    >>> matched([1j, -1j], [-1.1j, 1.1j]).tolist()
    [1.1j, (-0-1.1j)]
    """
    from scipy.optimize import linear_sum_assignment

    first, then = np.asarray(before), np.asarray(after)
    return then[linear_sum_assignment(np.abs(first[:, None] - then))[1]]


@dataclass(frozen=True)
class Descriptor:
    """Descriptor form E ẋ = A x + B u, y = C x + D u in all coordinates: x = (q, q̇, λ), with constraint rows.

    Holonomic rows are φ_q δq = 0, nonholonomic rows ψ_q δq + ψ_q̇ δq̇ = 0, so the finite eigenvalues of (A, E) are those of the
    independent states.
    """

    states: tuple[str, ...]
    E: np.ndarray = field(repr=False)
    A: np.ndarray = field(repr=False)
    B: np.ndarray = field(repr=False)
    C: np.ndarray = field(repr=False)
    D: np.ndarray = field(repr=False)

    @property
    def eigenvalues(self) -> npt.NDArray[np.complex128]:
        """The finite eigenvalues of A x = s E x."""
        return finite_eigenvalues(self.A, self.E)


@documented_class
@dataclass(frozen=True, repr=False)
class Linearization(FrozenValue, Tabular):
    """Linear equations about a state of a model: δẋ = A δx + B δu, δy = C δx + D δu.

    The states are independent coordinates and speeds; a nonholonomic system has more coordinates than speeds.

    Attributes
    ----------
    model : Description
        The model.
    kind : str
        The kind of the state, such as 'equilibrium'.
    reason : str
        Why the equations are valid only momentarily; empty if they are time-invariant.
    states : tuple of str
        Names of the s states: independent coordinates, then independent speeds.
    inputs, outputs : tuple of str
        Names of the m inputs and of the p outputs.
    decoupled_states : tuple of str
        Decoupled coordinates, on which no state but other decoupled coordinates depends.
    A : ndarray, shape (s, s)
        State matrix.
    B : ndarray, shape (s, m)
        Input matrix.
    C : ndarray, shape (p, s)
        Output matrix.
    D : ndarray, shape (p, m)
        Feedthrough matrix.
    q, qd : ndarray, shape (n,)
        Coordinates and rates about which the equations were linearized.
    t : float
        Time.
    u0 : ndarray, shape (m,)
        Values of the inputs there: equilibrium forces, or values of parameters.
    y0 : ndarray, shape (p,)
        Values of the outputs there.
    multipliers : ndarray
        Lagrange multipliers there.
    mass : ndarray, shape (speeds, speeds)
        Mass matrix of the speeds among the states, WᵀMW.
    shapes : ndarray, shape (2n, s)
        (δq, δq̇) of a unit value of every state.
    onto : ndarray, shape (s, 2n)
        The states of given (δq, δq̇).
    unit : ndarray, shape (n,)
        Scale of every coordinate.
    full : Descriptor
        The equations in all coordinates and multipliers: E ẋ = A x + B u.

    Examples
    --------
    >>> import dalembert as dl
    >>> linear = dl.linearize("simple-pendulum", at=[0.0])
    >>> linear.states, linear.A.round(2).tolist()
    (('theta', 'dot(theta)'), [[0.0, 1.0], [-9.81, 0.0]])
    """

    model: Description
    kind: str
    reason: str  # why the equations are valid only momentarily; empty if they are time-invariant
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    decoupled_states: tuple[str, ...]
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    t: float
    u0: np.ndarray  # values of the inputs there: equilibrium forces, or values of parameters
    y0: np.ndarray  # values of the outputs there
    multipliers: np.ndarray
    mass: np.ndarray  # WᵀMW of the speeds
    shapes: np.ndarray  # (δq, δq̇) of every state, (2n, states)
    onto: np.ndarray  # the states of (δq, δq̇)
    unit: np.ndarray  # the scale of every coordinate
    full: Descriptor  # the equations in all coordinates

    @property
    def E(self) -> np.ndarray:
        """The identity: these equations are solved for ẋ. `full.E` is that of the descriptor form."""
        return np.eye(len(self.A))

    @property
    def coordinates(self) -> int:
        """The number of coordinates among the states; they come first."""
        return len(self.A) - len(self.mass)

    @property
    def stiffness(self) -> np.ndarray:
        """K of M u̇ + D u + K z = 0, with z the coordinates and u the speeds among the states; M is `mass`."""
        return -self.mass @ self.A[self.coordinates :, : self.coordinates]

    @property
    def damping(self) -> np.ndarray:
        """D of M u̇ + D u + K z = 0: damping and gyroscopic terms."""
        return -self.mass @ self.A[self.coordinates :, self.coordinates :]

    def reduced(self) -> Linearization:
        """The equations without decoupled coordinates and without outputs that depend on them.

        Returns
        -------
        Linearization
            The equations of the remaining states and outputs.
        """
        coupled = [i for i, name in enumerate(self.states) if name not in self.decoupled_states]
        decoupled = [i for i in range(len(self.states)) if i not in coupled]
        outputs = [j for j in range(len(self.C)) if not np.abs(self.C[j, decoupled]).max(initial=0.0)]
        return replace(
            self,
            states=tuple(self.states[i] for i in coupled),
            outputs=tuple(self.outputs[j] for j in outputs),
            decoupled_states=(),
            A=self.A[np.ix_(coupled, coupled)],
            B=self.B[coupled],
            C=self.C[np.ix_(outputs, coupled)],
            D=self.D[outputs],
            y0=self.y0[outputs],
            shapes=self.shapes[:, coupled],
            onto=self.onto[coupled],
        )

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues, eigenvectors and (δq, δq̇) of their states: of all states, or without the decoupled coordinates."""
        undamped = second_order(self.A, self.mass, self.coordinates)
        rest = self if undamped else self.reduced()
        return *spectrum_of(rest.A, undamped), rest.shapes

    @property
    def eigenvalues(self) -> npt.NDArray[np.complex128]:
        """The eigenvalues of A, sorted by real part; each decoupled coordinate has an exact zero.

        >>> import dalembert as dl
        >>> (dl.linearize("simple-pendulum", at=[3.141592653589793]).eigenvalues ** 2).real.round(9).tolist()
        [9.81, 9.81]
        """
        values = self._spectrum[0].astype(complex)
        found = np.concatenate([values, np.zeros(len(self.A) - len(values), dtype=complex)])
        return found[np.lexsort((np.imag(found), np.round(np.real(found), 12)))]

    @property
    def stable(self) -> bool | None:
        """True if all eigenvalues, without those of decoupled coordinates, have Re < 0; False if one has Re > 0; else None."""
        values, size = self._spectrum[0], np.abs(self._spectrum[0]).max(initial=0.0)
        if (np.real(values) > _AXIS * size).any():
            return False
        return True if (np.real(values) < -_AXIS * size).all() else None

    def modes(self) -> Modes:
        """The modes, slowest first: frequencies, damping ratios and shapes in all coordinates.

        Returns
        -------
        Modes
            The modes as a sequence.

        Examples
        --------
        >>> import dalembert as dl
        >>> mode = dl.linearize("simple-pendulum", at=[0.0]).modes()[0]
        >>> round(mode.frequency**2, 9), mode.damping_ratio
        (9.81, 0.0)
        """
        found = modes_of(*self._spectrum, self.unit)
        return Modes(self.model, self.q, self.t, found, self.unit)

    def transfer(self, s: npt.ArrayLike) -> npt.NDArray[np.complex128]:
        """The transfer matrix C (s − A)⁻¹ B + D at complex frequencies s.

        Parameters
        ----------
        s : complex or array_like
            Complex frequencies, rad/s.

        Returns
        -------
        ndarray, shape (outputs, inputs, ...)
            The transfer matrix; the last axes are those of `s`, none for a scalar.

        Examples
        --------
        >>> import dalembert as dl
        >>> linear = dl.linearize("simple-pendulum", at=[0.0], inputs=["theta"], outputs=["theta"])
        >>> linear.transfer(2j).round(9).tolist()  # 1/(9.81 − 4)
        [[(0.17211704+0j)]]
        """
        points = np.asarray(s, dtype=complex)
        each = [self.C @ np.linalg.solve(x * self.E - self.A, self.B.astype(complex)) + self.D for x in points.ravel()]
        return np.moveaxis(np.array(each), 0, -1).reshape(*self.D.shape, *points.shape)

    def frequency_response(self, omega: npt.ArrayLike) -> npt.NDArray[np.complex128]:
        """The frequency response: the transfer matrix at s = iω.

        Parameters
        ----------
        omega : float or array_like
            Angular frequencies, rad/s.

        Returns
        -------
        ndarray, shape (outputs, inputs, ...)
            The complex frequency response; the last axes are those of `omega`.
        """
        return self.transfer(1j * as_finite_array(omega, "frequency_response, omega"))

    def poles_and_zeros(self, output: str, input: str) -> tuple[npt.NDArray[np.complex128], npt.NDArray[np.complex128]]:
        """The poles and zeros of one transfer function.

        All eigenvalues are poles; cancellations are not removed.

        Parameters
        ----------
        output : str
            The name of the output.
        input : str
            The name of the input.

        Returns
        -------
        tuple of two ndarray
            Poles and zeros, rad/s.
        """
        i, j = _index(self.outputs, output, "output"), _index(self.inputs, input, "input")
        both = np.block([[self.A, self.B[:, [j]]], [self.C[[i]], self.D[[i]][:, [j]]]])
        return self.eigenvalues, finite_eigenvalues(both, np.diag([1.0] * len(self.A) + [0.0]))

    def symbolic(self, state: Mapping[str, Written] | None = None) -> SymbolicLinearization:
        """A and B with the parameters as symbols, for models of up to eight coordinates.

        Parameters
        ----------
        state : mapping of str to formula, optional
            Coordinates and rates that depend on parameters, as formulas; the others are constant numbers.

        Returns
        -------
        SymbolicLinearization
            A and B as SymPy matrices.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.linearize("simple-pendulum", at=[0.0]).symbolic().A
        Matrix([
        [   0, 1],
        [-g/l, 0]])
        """
        from dalembert.analysis._symbolic_linearization import symbolic_of

        return symbolic_of(self, state)

    def to_scipy(self) -> StateSpace:
        """The equations as `scipy.signal.StateSpace`; requires inputs and outputs.

        Returns
        -------
        scipy.signal.StateSpace
            A continuous-time state-space system.
        """
        from scipy.signal import StateSpace

        self._require_both("to_scipy")
        return StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """The equations as `control.ss` of python-control, with the names of states, inputs and outputs.

        Returns
        -------
        control.StateSpace
            A continuous-time state-space system with named signals.

        Raises
        ------
        EngineError
            If python-control is not installed.
        InputError
            If there are no inputs or no outputs.
        """
        try:
            import control  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise EngineError("to_control needs python-control, which is not installed: pip install control.") from None
        self._require_both("to_control")
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        return control.ss(self.A, self.B, self.C, self.D, **{key: list(each) for key, each in names.items()})

    def _require_both(self, who: str) -> None:
        if not (self.inputs and self.outputs):
            raise InputError(
                f"{who}: got {len(self.inputs)} inputs and {len(self.outputs)} outputs. Expected at least one each: name them, "
                "as in dl.linearize(model, inputs=[...], outputs=[...])."
            )

    def to_dict(self) -> dict[str, Any]:
        """The equations as plain data."""
        return {
            "model": self.model.name,
            "kind": self.kind,
            "reason": self.reason,
            "states": list(self.states),
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "decoupled_states": list(self.decoupled_states),
            **{name: getattr(self, name).tolist() for name in ("A", "B", "C", "D", "q", "qd", "u0", "y0")},
            "t": self.t,
            "eigenvalues": [[x.real, x.imag] for x in self.eigenvalues.tolist()],
            "modes": self.modes().to_dict(),
        }

    def tables(self) -> tuple[Table, ...]:
        """The state, and the modes."""
        names = self.model.coordinate_names
        rows = tuple(
            (n, format_cell(float(x)), format_cell(float(v))) for n, x, v in zip(names, self.q, self.qd, strict=True)
        )
        notes = (f"decoupled coordinates: {', '.join(self.decoupled_states)}",) if self.decoupled_states else ()
        about = Table(("coordinate", "value", "rate"), rows, f"'{self.model.name}' about: {self.kind}", notes)
        return about, *self.modes().tables()

    def __repr__(self) -> str:
        driven = f", inputs {', '.join(self.inputs)}" if self.inputs else ""
        return f"<Linearization of '{self.model.name}' about {_article(self.kind)}: states {', '.join(self.states)}{driven}>"


_AXIS = 1e-9  # relative to the largest eigenvalue: a smaller real part is zero


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _index(names: tuple[str, ...], name: str, what: str) -> int:
    if name not in names:
        raise InputError(f"there is no {what} '{name}'. Expected one of {', '.join(names) or 'none'}.")
    return names.index(name)


@documented_class
@dataclass(frozen=True, repr=False)
class Modes(Tabular, Sequence[VibrationMode]):
    """The modes of small vibrations about a state, slowest first.

    Attributes
    ----------
    model : Description
        The model.
    q : ndarray, shape (n,)
        Coordinates about which the equations were linearized.
    t : float
        Time.
    found : tuple of VibrationMode
        The modes, each with `eigenvalue`, `frequency`, `damping_ratio` and `shape`; `len`, an index and iteration refer to them.
    unit : ndarray, shape (n,)
        Scale of every coordinate.

    Examples
    --------
    >>> import dalembert as dl
    >>> modes = dl.linearize("double-pendulum", at=[0.0, 0.0]).modes()
    >>> modes.frequencies.round(4).tolist(), modes[0].shape.real.round(4).tolist()
    ([2.3972, 5.7874], [0.7071, 1.0])
    """

    model: Description
    q: np.ndarray
    t: float
    found: tuple[VibrationMode, ...]
    unit: np.ndarray

    def __len__(self) -> int:
        return len(self.found)

    @overload
    def __getitem__(self, index: int) -> VibrationMode: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[VibrationMode, ...]: ...

    def __getitem__(self, index: int | slice) -> VibrationMode | tuple[VibrationMode, ...]:
        return self.found[index]

    def __iter__(self) -> Iterator[VibrationMode]:
        return iter(self.found)

    @property
    def frequencies(self) -> np.ndarray:
        """|λ| of every mode, rad/s."""
        return np.array([mode.frequency for mode in self.found])

    @property
    def damping_ratios(self) -> np.ndarray:
        """−Re λ/|λ| of every mode."""
        return np.array([mode.damping_ratio for mode in self.found])

    @property
    def shapes(self) -> npt.NDArray[np.inexact]:
        """The shapes as columns, (coordinates, modes)."""
        return np.array([mode.shape for mode in self.found]).reshape(len(self.found), len(self.q)).T

    def motion(self, index: int, size: float = 0.3, samples: int = 73) -> tuple[np.ndarray, np.ndarray]:
        """The positions during one period of a mode, projected onto the constraints.

        A mode that does not oscillate is displayed as an oscillation.

        Parameters
        ----------
        index : int
            The index of the mode.
        size : float, default 0.3
            The largest amplitude of a coordinate, in radians or in lengths of the model.
        samples : int, default 73
            Number of samples in the period.

        Returns
        -------
        tuple of two ndarray
            Times (samples,), s, and positions (n, samples).

        Raises
        ------
        InputError
            If there is no such mode.
        """
        if not is_integer(index) or not -len(self) <= index < len(self):
            raise InputError(f"modes: there is no mode {short_repr(index)}. Expected 0 to {len(self) - 1}.")
        mode = self.found[index]
        period = 2 * np.pi / (mode.damped_frequency or mode.frequency or 2 * np.pi)
        t = np.linspace(0.0, period, samples)
        phase = np.exp(2j * np.pi * np.arange(samples) / (samples - 1))
        motion = np.real(np.outer(mode.shape, phase))
        q = self.q[:, None] + size * motion
        return t, _projected(self.model, q, self.t)

    def scene(self, index: int = 0, size: float = 0.3) -> Scene:
        """The scene of a mode, the input of pages and animations.

        Parameters
        ----------
        index : int, default 0
            The index of the mode.
        size : float, default 0.3
            The largest amplitude of a coordinate, in radians or in lengths of the model.

        Returns
        -------
        Scene
            Bodies and their motion.
        """
        from dalembert.display.scene.recorded_motion import recorded_motion
        from dalembert.display.scene.scene_builder import scene_of

        return scene_of(self.model, motion=recorded_motion("mode", self.model, *self.motion(index, size)))

    @validate_arguments
    def animate(
        self,
        index: int = 0,
        path: str | Path | None = None,
        *,
        size: float = 0.3,
        speed: float | None = None,
        fps: float = 25.0,
        pixels: int = 480,
        frames: int = 4,
    ) -> Animation:
        """Animate one period of a mode.

        Options are those of `Trajectory.animate`.

        Parameters
        ----------
        index : int, default 0
            The index of the mode.
        size : float, default 0.3
            The largest amplitude of a coordinate, in radians or in lengths of the model.
        speed : float, optional
            Seconds of motion per second of a video; by default a period takes two seconds.

        Returns
        -------
        Animation
            The animation, which notebooks display.
        """
        from dalembert.display.video import Animation

        scene = self.scene(index, size)
        period = float(scene.run.t[-1]) if scene.run is not None else 1.0
        out = Animation(scene, fps=fps, speed=period / 2 if speed is None else speed, pixels=pixels, frames=frames)
        if path is not None:
            out.save(path)
        return out

    def to_dict(self) -> list[dict[str, Any]]:
        """The modes as plain data."""
        names = self.model.coordinate_names
        return [
            {
                "eigenvalue": [mode.eigenvalue.real, mode.eigenvalue.imag],
                "frequency": mode.frequency,
                "hertz": mode.hertz,
                "damping_ratio": mode.damping_ratio,
                "shape": {name: [x.real, x.imag] for name, x in zip(names, mode.shape.tolist(), strict=True)},
            }
            for mode in self.found
        ]

    def tables(self) -> tuple[Table, ...]:
        """One row for each mode."""
        head = ("mode", "Re", "Im", "rad/s", "Hz", "damping ratio", "moves")
        return (Table(head, tuple(self._row(i, mode) for i, mode in enumerate(self.found)), "Modes"),)

    def _row(self, i: int, mode: VibrationMode) -> tuple[str, ...]:
        drifts = not mode.shape.any()
        names = self.model.coordinate_names
        share = np.abs(mode.rates if drifts else mode.shape) / self.unit
        largest = [k for k in np.argsort(-np.round(share, 9), kind="stable")[:3] if share[k] > 0.05 * share.max()]
        moves = ", ".join(SymbolKind.RATE.of(names[k]) if drifts else names[k] for k in largest)
        value, numbers = mode.eigenvalue, (mode.frequency, mode.hertz, mode.damping_ratio)
        return str(i), *(format_cell(float(x) + 0.0) for x in (value.real, value.imag, *numbers)), moves

    def __repr__(self) -> str:
        return f"<Modes of '{self.model.name}': {', '.join(f'{mode.frequency:.6g}' for mode in self.found)} rad/s>"


def _projected(model: Description, q: np.ndarray, t: float) -> np.ndarray:
    """Positions (n, k) projected onto the constraints; those whose projection fails are unchanged."""
    written = with_contacts(model)
    known = levels(written)
    if not known.n_holonomic:
        return q
    onto = state_batch.Projector(written, known, state_batch.scales_of(written), None)
    found = onto.level(States(q, np.zeros_like(q), np.full(q.shape[1], t)), position=True)
    return np.where(found.converged, found.x.T, q)
