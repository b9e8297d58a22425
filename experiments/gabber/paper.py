"""The paper's printed figures, and its names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from experiments.published import Publication

PAPER: Final = Publication(Path(__file__).with_name("published"))

MEGABYTE: Final = 1_000_000
"""The paper's: its largest object has 39,966,072 bytes, and it writes 39.9 MB."""

HEAP: Final = "final heap size (MB)"
PERCENT: Final = "% fragmentation"
USER_TIME: Final = "user time (sec.)"
OF_OBJECTS: Final = "% of total objects allocated"
OF_BYTES: Final = "% of total size allocated"


def text(program: str) -> dict[str, Any]:
    """Return the figures that the prose has of Hummingbird or Emacs."""
    figures: dict[str, Any] = PAPER.about["text"][program]
    return figures
