"""Writing figures to files."""

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
"""Resolution in dots per inch."""


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure in the format of the path's suffix: .png, .svg or .pdf.

    Raises `SimallocError` for any other suffix, and then leaves a file at `path` unchanged.
    """
    ending = Path(path).suffix[1:].lower()
    if ending not in _ENDINGS:
        raise SimallocError(f"{path}: unknown kind of picture; end the name in .png, .svg or .pdf")
    drawn = BytesIO()  # matplotlib's PDF writer mistakes a full disk for damaged data
    figure.savefig(drawn, format=ending, dpi=_DOTS)
    with replacing(path) as stream:
        stream.write(drawn.getbuffer())
