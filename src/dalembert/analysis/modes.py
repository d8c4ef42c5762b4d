"""The modes of a linear system, as a user holds them: a table, and shapes that move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.linear.spectrum import Mode
from dalembert.arguments import checked, is_whole, shown
from dalembert.errors import InputError
from dalembert.mechanics import random_states
from dalembert.mechanics.constraint_levels import levels
from dalembert.mechanics.contact_constraints import with_contacts
from dalembert.mechanics.state_batch import States
from dalembert.model.description import Description
from dalembert.symbolic.reserved_symbols import Kind
from dalembert.tables import Table, Tabular, short

if TYPE_CHECKING:
    from dalembert.display.scene.scene_values import Scene
    from dalembert.display.video import Animation


@dataclass(frozen=True, repr=False)
class Modes(Tabular, Sequence[Mode]):
    """All modes about a state, slowest first."""

    model: Description
    q: np.ndarray
    t: float
    found: tuple[Mode, ...]
    unit: np.ndarray

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: Any) -> Any:
        return self.found[index]

    def __iter__(self) -> Iterator[Mode]:
        return iter(self.found)

    @property
    def frequencies(self) -> np.ndarray:
        """|λ| of every mode, radians a second."""
        return np.array([mode.frequency for mode in self.found])

    @property
    def damping_ratios(self) -> np.ndarray:
        """−Re λ/|λ| of every mode."""
        return np.array([mode.damping_ratio for mode in self.found])

    @property
    def shapes(self) -> np.ndarray:
        """The shapes as columns, (coordinates, modes)."""
        return np.array([mode.shape for mode in self.found]).reshape(len(self.found), len(self.q)).T

    def motion(self, index: int, size: float = 0.3, samples_of_it: int = 73) -> tuple[np.ndarray, np.ndarray]:
        """Times and positions of one period of a mode, (k,) and (n, k), brought onto the constraints.

        `size` is how far the coordinate that moves most goes, in radians or in lengths of the model. A mode that does not
        oscillate is shown as if it did.
        """
        if not is_whole(index) or not -len(self) <= index < len(self):
            raise InputError(f"modes: there is no mode {shown(index)}. Expected 0 to {len(self) - 1}.")
        mode = self.found[index]
        period = 2 * np.pi / (mode.damped_frequency or mode.frequency or 2 * np.pi)
        t = np.linspace(0.0, period, samples_of_it)
        turn = np.exp(2j * np.pi * np.arange(samples_of_it) / (samples_of_it - 1))
        way = np.real(np.outer(mode.shape, turn))
        q = self.q[:, None] + size * way
        return t, _closed(self.model, q, self.t)

    def scene(self, index: int = 0, size: float = 0.3) -> Scene:
        """What a mode looks like, as pages and films are made of it."""
        from dalembert.display.scene.recorded_motion import recorded_motion
        from dalembert.display.scene.scene_builder import scene_of

        return scene_of(self.model, motion=recorded_motion("mode", self.model, *self.motion(index, size)))

    @checked
    def film(
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
        """One period of a mode as a moving picture, by default in two seconds; options as in `Trajectory.animate`."""
        from dalembert.display.video import Animation

        scene = self.scene(index, size)
        period = float(scene.run.t[-1]) if scene.run is not None else 1.0
        made = Animation(scene, fps=fps, speed=period / 2 if speed is None else speed, pixels=pixels, frames=frames)
        if path is not None:
            made.save(path)
        return made

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

    def _row(self, i: int, mode: Mode) -> tuple[str, ...]:
        stands = not mode.shape.any()
        names = self.model.coordinate_names
        share = np.abs(mode.rates if stands else mode.shape) / self.unit
        most = [k for k in np.argsort(-np.round(share, 9), kind="stable")[:3] if share[k] > 0.05 * share.max()]
        moves = ", ".join(Kind.RATE.of(names[k]) if stands else names[k] for k in most)
        value, numbers = mode.eigenvalue, (mode.frequency, mode.hertz, mode.damping_ratio)
        return str(i), *(short(float(x) + 0.0) for x in (value.real, value.imag, *numbers)), moves

    def __repr__(self) -> str:
        return f"<Modes of '{self.model.name}': {', '.join(f'{mode.frequency:.6g}' for mode in self.found)} rad/s>"


def _closed(model: Description, q: np.ndarray, t: float) -> np.ndarray:
    """Positions (n, k) brought onto the constraints; those that do not get there stay as they are."""
    written = with_contacts(model)
    known = levels(written)
    if not known.held:
        return q
    onto = random_states.Projector(written, known, random_states.scales_of(written), None)
    found = onto.level(States(q, np.zeros_like(q), np.full(q.shape[1], t)), position=True)
    return np.where(found.good, found.x.T, q)
