"""Figures for a page: text stays text, and colours follow the reader's theme."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG

from simalloc.report.figures.style import PAGE_COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FONTS = "'DejaVu Sans', Verdana, system-ui, sans-serif"


def svg(figure: Figure, label: str) -> str:
    """Return a figure, drawn in the theme `page`, as an SVG element that says what it shows."""
    stream = io.StringIO()
    for patch in (figure.patch, *(axes.patch for axes in figure.axes)):
        patch.set_facecolor("none")
    with mpl.rc_context({"svg.fonttype": "none"}):
        # `savefig` would draw the figure once more, for its layout alone
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(stream, metadata={"Date": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    for colour, variable in PAGE_COLOURS.items():
        text = text.replace(colour, f"var({variable})")
    text = re.sub(r"(font[^;\"]*?px) [^;\"]+", rf"\1 {_FONTS}", text)
    return re.sub(r'<svg [^>]*?viewBox="([^"]+)"[^>]*>',
                  rf'<svg role="img" aria-label="{label}" viewBox="\1" '
                  'xmlns="http://www.w3.org/2000/svg" '
                  'xmlns:xlink="http://www.w3.org/1999/xlink">', text, count=1)  # fmt: skip
