"""The page for docs: its words are in `page.md`, the figures in them come from the run."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from experiments.advice.measuring import PROGRAMS, TIMES
from experiments.output import fill_page
from simalloc.machine import core_count
from simalloc.measure.settings import installed_release
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.advice.measuring import Advised, Row
    from simalloc.report.table import Value

PAGE: Final = "advice.md"

_WORDS: Final = Path(__file__).with_name("page.md")


def tables(measured: Sequence[Advised]) -> dict[str, Table]:
    """Return the tables of the page: what was predicted beside what came, and the verdicts."""
    return {"held": _held(measured), "said": _said(measured)}


def page(measured: Sequence[Advised], shown: dict[str, Table]) -> str:
    """Return the page as Markdown."""
    followed = [row for one in measured for row in one.rows if row.advised]
    facts = {
        "times": TIMES,
        "cores": core_count(),
        "releases": ", ".join(
            f"{name} {installed_release(name)}"
            for name in ("jemalloc", "tcmalloc", "mimalloc")
            if installed_release(name)
        ),
        "followed": "; ".join(
            f"{PROGRAMS[row.program]}: {_mib(row.predicted)} predicted, {_mib(median(row.held))} "
            f"held, where glibc as it is held {_mib(_as_it_is(measured, row.program))}"
            for row in followed
        ),
    }
    return fill_page(_WORDS, facts, shown)


def _as_it_is(measured: Sequence[Advised], program: str) -> float:
    rows = (row for one in measured for row in one.rows)
    return median(next(row.held for row in rows if (row.program, row.name) == (program, "glibc")))


def _mib(size: float) -> str:
    return f"{size / (1 << 20):.2f} MiB"


def _held(measured: Sequence[Advised]) -> Table:
    rows: list[Sequence[Value]] = [_row(row) for one in measured for row in one.rows]
    columns = (
        "program", "malloc", "live", "predicted", "held", "difference %", "least", "most", "advised"
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


def _said(measured: Sequence[Advised]) -> Table:
    rows = [(PROGRAMS[one.program], one.advice.text) for one in measured]
    return Table("What was said", ("program", "verdict"), rows)
