"""The page for docs: its words are in `page.md`, the figures in them come from the run."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from experiments.mallocs_of_today.measuring import HUGE, MALLOCS, TICK, WHOLE, YARDSTICK
from experiments.output import fill_page, listed
from simalloc.policy import CATALOGUE
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.mallocs_of_today.measuring import Measured
    from simalloc.report.table import Value

PAGE: Final = "mallocs-of-today.md"

_WORDS: Final = Path(__file__).with_name("page.md")
_LARGE: Final = 1 << 20
"""With less live data at the peak, a program shows a malloc's first pages, not its policy."""


def tables(measured: Sequence[Measured]) -> dict[str, Table]:
    """Return the tables of the page: with mechanism, the policy alone, and the end."""
    return {"whole": _whole(measured), "alone": _alone(measured), "final": _final(measured)}


def page(measured: Sequence[Measured], shown: dict[str, Table]) -> str:
    """Return the page as Markdown."""
    large = [one for one in measured if one.live >= _LARGE]
    best = {name: sum(_best(one) == name for one in large) for name in MALLOCS}
    facts = {
        "traces": len(measured),
        "large": len(large),
        "tick": TICK,
        "releases": listed([f"{name} {_release(name)}" for name in MALLOCS]),
        "leads": ", ".join(f"{name} on {count}" for name, count in best.items()),
        "huge": f"{100 * median(one.peak(HUGE) for one in large):.1f}",
        "medians": _medians({name: [one.peak(name) for one in large] for name in MALLOCS}),
        "alone": _medians({name: [one.policy_alone(name) for one in large] for name in MALLOCS}),
        "yardstick": f"{100 * median(_yardstick(one) for one in large):.1f}",
    }
    return fill_page(_WORDS, facts, shown)


def _release(malloc: str) -> str:
    """Return the release that a model follows: it is a parameter, or all that the row is of."""
    row = CATALOGUE[malloc]
    version = getattr(row.description, "version", None)
    return version.value if version else row.source.partition(",")[0].rpartition(" ")[2]


def _best(one: Measured) -> str:
    return min(MALLOCS, key=one.peak)


def _yardstick(one: Measured) -> float:
    return one.yardstick.occupied[4096].peak_bytes / one.live - 1


def _medians(values: dict[str, list[float]]) -> str:
    return ", ".join(f"{name} {100 * median(each):.1f}" for name, each in values.items())


def _percent(value: float) -> Rounded:
    return Rounded(100 * value, 1)


def _whole(measured: Sequence[Measured]) -> Table:
    rows: list[Sequence[Value]] = [
        (one.program, one.live, *(_percent(one.peak(name)) for name in WHOLE)) for one in measured
    ]
    return Table("Resident at the peak, % over peak live", ("trace", "peak live", *WHOLE), rows)


def _alone(measured: Sequence[Measured]) -> Table:
    rows: list[Sequence[Value]] = [
        (
            one.program,
            _percent(_yardstick(one)),
            *(_percent(one.policy_alone(name)) for name in MALLOCS),
        )
        for one in measured
    ]
    title = "The policy alone: pages with a live byte at the peak, % over peak live"
    return Table(title, ("trace", YARDSTICK, *MALLOCS), rows)


def _final(measured: Sequence[Measured]) -> Table:
    rows: list[Sequence[Value]] = [
        (one.program, one.final_live, *(int(one.final(name)) for name in WHOLE)) for one in measured
    ]
    return Table("Resident bytes at the end", ("trace", "live at the end", *WHOLE), rows)
