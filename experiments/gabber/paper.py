"""The paper's printed figures and names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from experiments.published import Publication

PAPER: Final = Publication(Path(__file__).with_name("published"))

MEGABYTE: Final = 1_000_000
"""The paper's megabyte: it prints an object of 39,966,072 bytes as 39.9 MB."""

HEAP: Final = "final heap size (MB)"
PERCENT: Final = "% fragmentation"
USER_TIME: Final = "user time (sec.)"
OF_OBJECTS: Final = "% of total objects allocated"
OF_BYTES: Final = "% of total size allocated"


def text(program: str) -> dict[str, Any]:
    """Return the figures that the prose prints for Hummingbird or Emacs."""
    figures: dict[str, Any] = PAPER.about["text"][program]
    return figures
