"""The page: what was measured, in plain words and tables. The words are in `page.md`."""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Final

from experiments.bounds.measuring import LARGE, ROOM, SMALL, WRONG
from experiments.output import markdown, wrapped
from simalloc.adversary import ADVERSARIES
from simalloc.bound import best_fit_bound, buddy_bound, first_fit_bound, robson_bound
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.bounds.measuring import Possible, Worst
    from simalloc.report.table import Value

FIGURE: Final = "bounds.png"
PAGE: Final = "bounds.md"

_WORDS: Final = Path(__file__).with_name("page.md")


def page(rows: Sequence[Possible], played: Sequence[Worst]) -> str:
    """Return the page as Markdown."""
    by_distance = sorted(rows, key=lambda row: row.best / row.live)
    farthest, near = by_distance[-1], by_distance[-2]
    room = [row for row in rows if row.wasted > ROOM * row.live]
    heaps = [1 + max(row.first_fit, row.best_fit) / row.live for row in rows]
    worst = max(played, key=_most)
    best = min(played, key=_most)
    text = _WORDS.read_text("utf-8").format(
        exact=sum(row.best == 0 for row in rows),
        all=len(rows),
        farthest=farthest.trace,
        farthest_percent=f"{100 * farthest.best / farthest.live:.2f}",
        near_percent=f"{100 * near.best / near.live:.2g}",
        room=len(room),
        least=round(100 * ROOM),
        wrong=WRONG,
        classes=_listed([row for row in room if _halves(row.classes, row)]),
        deaths=_listed([row for row in room if _halves(row.deaths, row)]),
        live=f"{LARGE[0]:,}",
        largest=f"{LARGE[1]:,}",
        worst_policy=worst.policy,
        worst_ratio=f"{_most(worst):.0f}",
        best_policy=best.policy,
        best_ratio=f"{_most(best):.1f}",
        most=f"{max(heaps):.2f}",
        figure=FIGURE,
        possible_table=markdown(possible_table(rows)).strip(),
        knowing_table=markdown(knowing_table(room)).strip(),
        worst_table=markdown(worst_table(played)).strip(),
        proven="\n".join(map(_proven, (SMALL, LARGE))),
    )
    return "\n\n".join(map(wrapped, text.split("\n\n")))


def possible_table(rows: Sequence[Possible]) -> Table:
    """Return what is possible on each trace, beside first and best fit."""
    columns = ("trace", "peak live", "first fit %", "best fit %", "best possible, above", "%")
    cells: list[tuple[Value, ...]] = [
        (
            row.trace,
            row.live,
            _share(row.first_fit, row),
            _share(row.best_fit, row),
            row.best,
            _share(row.best, row, 4),
        )
        for row in rows
    ]
    return Table("Heap beyond peak live", columns, cells)


def knowing_table(rows: Sequence[Possible]) -> Table:
    """Return what those need who know a little, in percent beyond peak live."""
    columns = ("trace", "first fit", "best fit", f"{WRONG} % wrong", "classes", "deaths", "all")
    cells: list[tuple[Value, ...]] = [
        (
            row.trace,
            _share(row.first_fit, row),
            _share(row.best_fit, row),
            _share(row.classes_wrong, row),
            _share(row.classes, row),
            _share(row.deaths, row),
            _share(row.best, row),
        )
        for row in rows
    ]
    return Table("Heap beyond peak live in percent, by what is known", columns, cells)


def worst_table(played: Sequence[Worst]) -> Table:
    """Return the heaps after each game, in multiples of the live bytes."""
    names = [f"{name} ({_sizes(sizes)})" for sizes in (SMALL, LARGE) for name in ADVERSARIES]
    cells: list[tuple[Value, ...]] = [
        (
            one.policy,
            *(Rounded(given[name], 2) for given in (one.small, one.large) for name in ADVERSARIES),
        )
        for one in played
    ]
    return Table("Peak heap / live bytes", ("policy", *names), cells)


def _proven(sizes: tuple[int, int]) -> str:
    bounds = (robson_bound, first_fit_bound, buddy_bound, best_fit_bound)
    values = " | ".join(f"{bound(*sizes) / sizes[0]:,.2f}" for bound in bounds)
    return f"| {_sizes(sizes)} | {values} |"


def _sizes(sizes: tuple[int, int]) -> str:
    return ", ".join(f"2^{log2(size):.0f}" for size in sizes)


def _most(one: Worst) -> float:
    return max(one.large.values())


def _halves(part: int | None, row: Possible) -> bool:
    return part is not None and 2 * part < row.wasted


def _listed(rows: Sequence[Possible]) -> str:
    return ", ".join(row.trace for row in rows) or "none of them"


def _share(part: int | None, row: Possible, digits: int = 3) -> Value:
    return None if part is None else Rounded(100 * part / row.live, digits)
