"""Memory of the programs' own runs, as measured by `running.py`, from processes.csv."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROGRAMS: Final = ("larson", "mstress", "xmalloc", "webserver")
SETTINGS: Final = ("", "arena_max=2", "arena_max=1")
"""Settings of glibc: the default, and two limits on the number of arenas."""

MEASURED: Final = Path(__file__).with_name("processes.csv")
COLUMNS: Final = ("program", "settings", "heap_bytes", "process_bytes")
RECORDED: Final = "recorded"
"""Label of the settings in the recording, under which the heap bytes are unknown."""


@dataclass(frozen=True)
class Process:
    """Peak resident bytes of a program in each of several runs under one setting.

    `heap` is of the heap, `whole` of the whole process.
    """

    heap: Sequence[int]
    whole: Sequence[int]


def processes() -> Mapping[tuple[str, str], Process]:
    """Return the measurements, by program and setting."""
    found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    with MEASURED.open(encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            bytes_held = int(row["heap_bytes"] or 0), int(row["process_bytes"])
            found[row["program"], row["settings"]].append(bytes_held)
    return {key: Process(*zip(*held, strict=True)) for key, held in found.items()}
