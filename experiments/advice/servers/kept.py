"""Stored results of `python -m experiments.advice.servers`, in two CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from experiments.advice.servers.measuring import Line, Measured

RUNS: Final = Path(__file__).with_name("runs.csv")
SAID: Final = Path(__file__).with_name("said.csv")

_COLUMNS: Final = (
    "server", "malloc", "settings", "current", "advised", "cost_seconds", "predicted_bytes",
    "heap_bytes", "cpu_seconds", "requests", "failed", "seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Said:
    """Advice for a server: the number of events of its trace, and the verdict."""

    server: str
    events: int
    verdict: str


def write(lines: Sequence[Line], said: Sequence[Said], notes: Sequence[str]) -> None:
    """Write both files; `notes` state their contents and origin at the top."""
    with RUNS.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {note}\n" for note in notes)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for line in lines:
            for predicted, run in zip(line.predictions, line.runs, strict=True):
                writer.writerow(
                    (line.server, line.malloc, line.settings, int(line.is_current),
                     int(line.is_advised), f"{line.cost:.3f}", predicted, run.heap,
                     f"{run.cpu:.2f}", run.requests, run.failed, f"{run.seconds:.2f}")
                )  # fmt: skip
    with SAID.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {note}\n" for note in notes)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("server", "events", "verdict"))
        writer.writerows((one.server, one.events, one.verdict) for one in said)


def notes() -> list[str]:
    """Return the notes of the stored files."""
    with RUNS.open(encoding="utf-8") as file:
        return [line.removeprefix("# ").strip() for line in file if line.startswith("#")]


def kept_lines() -> list[Line]:
    """Return the measurements, one line for each server, malloc and setting."""
    found: dict[tuple[str, ...], list[tuple[int, Measured]]] = {}
    for row in _rows(RUNS):
        key = tuple(row[name] for name in _COLUMNS[:6])
        run = Measured(
            int(row["heap_bytes"]),
            float(row["cpu_seconds"]),
            int(row["requests"]),
            int(row["failed"]),
            float(row["seconds"]),
        )
        found.setdefault(key, []).append((int(row["predicted_bytes"]), run))
    return [
        Line(
            server,
            malloc,
            settings,
            current == "1",
            advised == "1",
            [predicted for predicted, _ in pairs],
            float(cost),
            [run for _, run in pairs],
        )
        for (server, malloc, settings, current, advised, cost), pairs in found.items()
    ]


def kept_said() -> list[Said]:
    """Return the verdict on each server."""
    return [Said(row["server"], int(row["events"]), row["verdict"]) for row in _rows(SAID)]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    if not path.exists():
        return
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))
