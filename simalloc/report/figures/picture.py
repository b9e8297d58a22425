"""A figure that shows itself in notebooks."""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final

from matplotlib.figure import Figure
from PIL import Image

SHARPNESS: Final = 2
"""Pixels in each direction to one of a screen of `_SCREEN_DPI`, for those that have more."""
_SCREEN_DPI: Final = 96
_COLOURS: Final = 256


class Picture(Figure):
    """A figure that belongs to no window; `savefig` writes it as PDF, SVG or PNG."""

    def plain_png(self) -> bytes:
        """Return the figure as a PNG of a screen's size: larger than need be, and soon made."""
        drawn = BytesIO()
        self.savefig(drawn, format="png", dpi=_SCREEN_DPI)
        return drawn.getvalue()

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        """Return the figure in 256 colours, about half the size, and how large to show it."""
        drawn, compact = BytesIO(), BytesIO()
        self.savefig(drawn, format="png", dpi=SHARPNESS * _SCREEN_DPI)
        with Image.open(drawn) as opened:
            image = opened.convert("RGB")
        colours = image.quantize(_COLOURS, Image.Quantize.FASTOCTREE)  # keeps those that are rare
        image.quantize(palette=colours).save(compact, "PNG", optimize=True)
        size = {"width": image.width // SHARPNESS, "height": image.height // SHARPNESS}
        return compact.getvalue(), size
