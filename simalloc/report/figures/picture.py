"""Figures with a representation in notebooks."""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final

from matplotlib.figure import Figure
from PIL import Image

SHARPNESS: Final = 2
"""Pixels per pixel of a `_SCREEN_DPI` screen in each direction, for sharper screens."""
_SCREEN_DPI: Final = 96
_COLOURS: Final = 256


class Picture(Figure):
    """A figure without a window. `savefig` writes it as PDF, SVG or PNG."""

    def plain_png(self) -> bytes:
        """Return the figure as a PNG in screen resolution. This is fast, but compresses little."""
        drawn = BytesIO()
        self.savefig(drawn, format="png", dpi=_SCREEN_DPI)
        return drawn.getvalue()

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        """Return the figure as a PNG in 256 colours, about half the bytes, and its display size."""
        drawn, compact = BytesIO(), BytesIO()
        self.savefig(drawn, format="png", dpi=SHARPNESS * _SCREEN_DPI)
        with Image.open(drawn) as opened:
            image = opened.convert("RGB")
        colours = image.quantize(_COLOURS, Image.Quantize.FASTOCTREE)  # keeps rare colours
        image.quantize(palette=colours).save(compact, "PNG", optimize=True)
        size = {"width": image.width // SHARPNESS, "height": image.height // SHARPNESS}
        return compact.getvalue(), size
