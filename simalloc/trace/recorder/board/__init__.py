"""The recorder for boards: a C header and a C source file to be compiled into firmware.

docs/boards.md describes their use.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
FILES: Final = ("simalloc_board.h", "simalloc_board.c")
