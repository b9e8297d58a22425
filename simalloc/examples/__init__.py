"""Files to try commands on: a plan, a log, a snapshot, a program before and after, and a malloc."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
FILES: Final = (
    "README.md",
    "after.npz",
    "before.npz",
    "mm.c",
    "mm_malloc.c",
    "plan.toml",
    "server.log",
    "sessions.c",
    "training.pickle.gz",
)
