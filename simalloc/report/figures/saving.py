"""Figures as files."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from simalloc.errors import SimallocError
from simalloc.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENDINGS: Final = ("png", "svg", "pdf")
_DOTS: Final = 200
"""An inch."""


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure in the format that the path's ending names: .png, .svg or .pdf.

    Raises `SimallocError` for any other ending; a file at `path` then stays unchanged.
    """
    ending = Path(path).suffix[1:].lower()
    if ending not in _ENDINGS:
        raise SimallocError(f"{path}: a picture's name ends in .png, .svg or .pdf")
    drawn = BytesIO()  # matplotlib's writer of PDF takes a full disk for damaged data
    figure.savefig(drawn, format=ending, dpi=_DOTS)
    with replacing(path) as stream:
        stream.write(drawn.getbuffer())
