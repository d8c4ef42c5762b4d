"""A figure that a notebook shows by itself, once, without pyplot."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class Plot(Figure):
    """A matplotlib figure that belongs to no window: pyplot does not know it, so nothing has to be closed.

    >>> Plot()._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        """What a notebook shows."""
        data = BytesIO()
        self.savefig(data, format="png", dpi=120)
        return data.getvalue()
