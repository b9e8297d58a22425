"""Figures as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from simalloc.errors import SimallocError
from simalloc.files import replacing

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

_DOTS: Final = 200
"""An inch."""


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure in the format that the path's ending names: .png, .svg, .pdf ...

    Raises `SimallocError` if there is no such format; what was at `path` then stays.
    """
    ending = Path(path).suffix[1:].lower()
    known = figure.canvas.get_supported_filetypes()
    if ending not in known:
        raise SimallocError(
            f"{path}: a picture's name ends in one of {', '.join(f'.{each}' for each in known)}"
        )
    with replacing(path) as stream:
        figure.savefig(stream, format=ending, dpi=_DOTS)
