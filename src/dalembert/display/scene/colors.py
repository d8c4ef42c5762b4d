"""Colours that can be told apart, on a dark ground and on a light one."""

from __future__ import annotations

from collections.abc import Sequence

BODIES = (
    "#3f86c9",
    "#e0803c",
    "#35a57d",
    "#c56a9f",
    "#d3a126",
    "#7a7fd6",
    "#4cb0c9",
    "#c25b52",
    "#86a845",
    "#a07cc4",
)
JOINT = "#9aa3ae"
GROUND = "#8b939d"
CENTER = "#d9525e"
CORD = "#b08d57"
ARROWS = {"reaction": "#d9525e", "force": "#e0a03c", "torque": "#8a6fd1", "gravity": "#5a9bd5", "velocity": "#3fae7c"}


def of_body(index: int, count: int) -> str:
    """The colour of a body; those of a long chain go smoothly from one to the next.

    >>> of_body(0, 3), of_body(0, 40) == of_body(1, 40)
    ('#3f86c9', False)
    """
    if count <= 14:
        return BODIES[index % len(BODIES)]
    stops = (BODIES[0], BODIES[6], BODIES[2], BODIES[4], BODIES[1], BODIES[7])
    place = index / (count - 1) * (len(stops) - 1)
    k = min(int(place), len(stops) - 2)
    mix = zip(rgb(stops[k]), rgb(stops[k + 1]), strict=True)
    return hexadecimal([a + (b - a) * (place - k) for a, b in mix])


def rgb(color: str) -> tuple[float, ...]:
    """Red, green and blue, each from 0 to 1.

    >>> rgb("#ff0000")
    (1.0, 0.0, 0.0)
    """
    return tuple(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))


def hexadecimal(color: Sequence[float]) -> str:
    """A colour as a page writes it.

    >>> hexadecimal((1, 0.5, 0))
    '#ff8000'
    """
    return "#" + "".join(f"{round(255 * min(1.0, max(0.0, x))):02x}" for x in color[:3])


def darker(color: str, share: float = 0.35) -> str:
    """The same colour, darker.

    >>> darker("#ffffff", 0.5)
    '#808080'
    """
    return hexadecimal([x * (1 - share) for x in rgb(color)])


def lighter(color: str, share: float = 0.12) -> str:
    """The same colour, nearer to white.

    >>> lighter("#000000", 0.5)
    '#808080'
    """
    return hexadecimal([x + (1 - x) * share for x in rgb(color)])


def muted(color: str, share: float = 0.72) -> str:
    """The same colour, nearer to a light grey, as the housings of machines are.

    >>> muted("#3f86c9", 1.0)
    '#cdd2d8'
    """
    return hexadecimal([x + (grey - x) * share for x, grey in zip(rgb(color), rgb("#cdd2d8"), strict=True)])
