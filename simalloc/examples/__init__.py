"""Files to try commands on: a plan, a log, a snapshot, and a program before and after a change."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
FILES: Final = (
    "README.md",
    "after.npz",
    "before.npz",
    "plan.toml",
    "server.log",
    "sessions.c",
    "training.pickle.gz",
)
