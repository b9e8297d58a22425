"""The recorder for boards: a C header and a C source file, which firmware is built with.

`copy_to` puts both into a firmware's source folder; docs/boards.md says how they are used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from simalloc.files import replacing

FOLDER: Final = Path(__file__).parent
FILES: Final = ("simalloc_board.h", "simalloc_board.c")


def copy_to(folder: Path) -> list[Path]:
    """Copy the recorder's files into a folder, which is made if it is missing.

    Returns their paths. Files of the same name are replaced.

    Raises
    ------
    OSError
        If the folder cannot be made or written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        with replacing(folder / name) as file:
            file.write((FOLDER / name).read_bytes())
    return [folder / name for name in FILES]
