"""The page for docs. Its text is in `page.md`, its figures come from the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from experiments.advice.measuring import PROGRAMS, TIMES, Advised, Row
from experiments.advice.servers import in_short
from experiments.advice.servers.kept import kept_lines, kept_said, notes
from experiments.advice.servers.measuring import Line
from experiments.output import fill_page
from simalloc.advice import installed_release
from simalloc.machine import core_count
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

PAGE: Final = "advice.md"

_NEAR: Final = 0.05
_WORDS: Final = Path(__file__).with_name("page.md")


def tables(measured: Sequence[Advised]) -> dict[str, Table]:
    """Return the tables of the page: predictions beside measurements, and the verdicts."""
    return {
        "held": _held(measured),
        "said": _said(measured),
        "servers": _servers(kept_lines()),
        "servers_advised": in_short.advised_table(kept_lines()),
        "servers_said": Table(
            "Verdicts on the servers",
            ("server", "events", "verdict"),
            [(one.server, one.events, one.verdict) for one in kept_said()],
        ),
    }


def page(measured: Sequence[Advised], shown: dict[str, Table]) -> str:
    """Return the page as Markdown."""
    facts = {
        "times": TIMES,
        "cores": core_count(),
        "releases": ", ".join(
            f"{name} {installed_release(name)}"
            for name in ("jemalloc", "tcmalloc", "mimalloc")
            if installed_release(name)
        ),
        "followed": " ".join(map(_followed, measured)).strip(),
        **_misses([row for one in measured for row in one.rows]),
        **in_short.facts(kept_lines()),
        "servers_made": " ".join(notes()[1:]),
    }
    return fill_page(_WORDS, facts, shown)


def _followed(one: Advised) -> str:
    """State the memory that an advised setting saved, and name the settings that saved more."""
    followed = next((row for row in one.rows if row.advised), None)
    if followed is None:
        return ""
    before = next(row for row in one.rows if row.name == "glibc")
    text = (
        f"*{PROGRAMS[one.program]}* held {_spread(before)} by default and {_spread(followed)} "
        f"with the recommended line; {_mib(followed.predicted)} were predicted."
    )
    best = min(one.rows, key=lambda row: median(row.held))
    if best.advised:
        return text
    defaults = "" if ":" in best.name else " at its defaults"
    return f"{text} The program held even less, {_spread(best)}, under {best.name}{defaults}."


def _spread(row: Row) -> str:
    """Return the median of the runs, with their minimum and maximum."""
    low, high = (f"{size / (1 << 20):.2f}" for size in (min(row.held), max(row.held)))
    return f"{_mib(median(row.held))} ({low} to {high})"


def _misses(rows: Sequence[Row]) -> dict[str, str | int]:
    """Return the errors of the predictions, and the run-to-run variation."""

    def missed(row: Row) -> float:
        return row.predicted / median(row.held) - 1

    def moved(row: Row) -> float:
        return max(row.held) / min(row.held)

    far, wide = max(rows, key=lambda row: abs(missed(row))), max(rows, key=moved)
    how = "too low" if missed(far) < 0 else "too high"
    return {
        "all": len(rows),
        "near": sum(abs(missed(row)) <= _NEAR for row in rows),
        "furthest": f"{100 * abs(missed(far)):.1f} % {how}, for *{PROGRAMS[far.program]}* under "
        f"{far.name}",
        "widest": f"*{PROGRAMS[wide.program]}* held {_mib(min(wide.held))} to "
        f"{_mib(max(wide.held))} under {wide.name}",
    }


def _mib(size: float) -> str:
    return f"{size / (1 << 20):.2f} MiB"


def _held(measured: Sequence[Advised]) -> Table:
    rows: list[Sequence[Value]] = [_row(row) for one in measured for row in one.rows]
    columns = (
        "program", "malloc", "live", "predicted", "held", "difference %", "minimum", "maximum",
        "advised",
    )  # fmt: skip
    return Table("Resident bytes at the end", columns, rows)


def _row(row: Row) -> Sequence[Value]:
    held = median(row.held)
    return (
        PROGRAMS[row.program],
        row.name,
        row.live,
        int(row.predicted),
        int(held),
        Rounded(100 * (row.predicted / held - 1), 1, signed=True),
        min(row.held),
        max(row.held),
        "yes" if row.advised else "",
    )


def _servers(lines: Sequence[Line]) -> Table:
    rows: list[Sequence[Value]] = [
        (
            line.server,
            line.malloc if line.settings == "default" else f"{line.malloc}:{line.settings}",
            int(line.predicted),
            min(line.predictions),
            max(line.predictions),
            int(line.held),
            min(run.heap for run in line.runs),
            max(run.heap for run in line.runs),
            Rounded(100 * in_short.missed(line), 1, signed=True),
            Rounded(line.cpu, 2),
            min(Rounded(run.cpu, 2) for run in line.runs),
            max(Rounded(run.cpu, 2) for run in line.runs),
            Rounded(line.rate, 0),
            line.failed,
            "current" if line.is_current else "yes" if line.is_advised else "",
        )
        for line in lines
    ]
    columns = (
        "server", "malloc", "predicted", "minimum", "maximum", "held", "minimum", "maximum",
        "difference %", "CPU s", "minimum", "maximum", "requests/s", "failed", "advised",
    )  # fmt: skip
    return Table("Heap of servers at the end of a load", columns, rows)


def _said(measured: Sequence[Advised]) -> Table:
    rows = [(PROGRAMS[one.program], one.advice.text) for one in measured]
    return Table("Verdicts", ("program", "verdict"), rows)
