"""The page for docs: its words are in `page.md`, the figures in them come from the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from experiments.output import fill_page
from experiments.ptmalloc.measuring import here
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from experiments.ptmalloc.measuring import Compared

PAGE: Final = "ptmalloc.md"

_WORDS: Final = Path(__file__).with_name("page.md")


def tables(compared: Sequence[Compared]) -> dict[str, Table]:
    """Return what glibc and its model had mapped, trace by trace."""
    rows = [
        (
            one.program,
            one.events,
            one.live,
            one.real,
            one.model,
            Rounded(100 * (one.model / one.real - 1), 3),
            Rounded(100 * (one.real / one.live - 1), 1),
        )
        for one in compared
    ]
    columns = (
        "trace",
        "events",
        "peak live",
        "glibc",
        "model",
        "difference %",
        "glibc over live %",
    )
    return {"heaps": Table("Bytes mapped at the peak", columns, rows)}


def page(compared: Sequence[Compared], shown: Mapping[str, Table]) -> str:
    """Return the page as Markdown."""
    facts = {
        "here": here(),
        "traces": len(compared),
        "equal": sum(one.real == one.model for one in compared),
        "found": _found(compared),
        "threaded": sum(one.threads > 1 for one in compared),
        "aligned": sum(one.aligned for one in compared),
    }
    return fill_page(_WORDS, facts, shown)


def _found(compared: Sequence[Compared]) -> str:
    """Return what the differences come to, in a sentence."""
    other = [one for one in compared if one.real != one.model]
    if not other:
        return "There is no difference to explain."
    worst = max(other, key=lambda one: abs(one.model / one.real - 1))
    return (
        f"The largest difference is {worst.program}'s, {abs(worst.model - worst.real):,} bytes or "
        f"{100 * abs(worst.model / worst.real - 1):.3f} percent."
    )
