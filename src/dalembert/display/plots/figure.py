"""A figure that notebooks display once, without pyplot.

Every formulation has its own pair of color and line style; formulations of one lineage share a color.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from dalembert.formalisms import catalog
from dalembert.formalisms.shared.quantities import Lineage, group_by_lineage

if TYPE_CHECKING:
    from matplotlib.typing import LineStyleType


class Plot(Figure):
    """A matplotlib figure that is not registered in pyplot, so that it need not be closed.

    >>> Plot()._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        """Return the image for a notebook."""
        data = BytesIO()
        self.savefig(data, format="png", dpi=120)
        return data.getvalue()


# Okabe and Ito's colors, distinguishable by color-blind readers; brown replaces the yellow, which is faint on white
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
# dashes, so that the lines below stay visible
DASHES: tuple[LineStyleType, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.5)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (3, 1.5, 1, 1.5, 1, 1.5)),
)
# for lines of one panel that coincide with lines below
COVERING: tuple[LineStyleType, ...] = ("-", (0, (5, 5)), (3, (3, 7)), (6, (2, 9)), (0, (1.5, 12)), (6, (1, 14)))

LINEAGES: dict[Lineage, tuple[str, ...]] = group_by_lineage({x.ABOUT.key: x.ABOUT.lineage for x in catalog.FORMALISMS})


@dataclass(frozen=True)
class Style:
    """Color and dashes of a line."""

    color: str
    dashes: LineStyleType


def style_of(formalism: str) -> Style:
    """Return the color of the lineage and the line style of the formulation: unique, and the same in every figure.

    >>> style_of("lagrange").color == style_of("routh").color, style_of("lagrange") == style_of("routh")
    (True, False)
    """
    index, keys = next((i, keys) for i, keys in enumerate(LINEAGES.values()) if formalism in keys)
    return Style(COLORS[index], DASHES[keys.index(formalism)])


def styles_of(runs: Mapping[str, str]) -> dict[str, Style]:
    """Return the styles of runs from their formulations; repeated formulations get the next free pair.

    >>> found = styles_of({"coarse": "kane", "fine": "kane"})
    >>> found["coarse"] == style_of("kane"), found["fine"] == found["coarse"]
    (True, False)
    """
    own = {name: style_of(formalism) for name, formalism in runs.items()}
    first = {style: name for name, style in reversed(own.items())}  # first run with each style
    free = [Style(color, dashes) for dashes in DASHES for color in COLORS]
    free = [style for style in free if style not in first]
    out: dict[str, Style] = {}
    for name, style in own.items():
        if first[style] == name or not free:
            out[name] = style
        else:
            out[name] = next((other for other in free if other.color == style.color), free[0])
            free.remove(out[name])
    return out
