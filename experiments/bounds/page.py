"""The page: the results as text and tables. The text is in `page.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Final

from experiments.bounds.measuring import (
    ASKED,
    CHOSEN_ON,
    GROWING,
    KNOWLEDGE,
    LARGE,
    OF_TREES,
    ROOM,
    SMALL,
    Possible,
    small_game,
)
from experiments.output import fill_page, listed
from simalloc.adversary import ADVERSARIES
from simalloc.bound import best_fit_bound, buddy_bound, first_fit_bound, robson_bound
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

Games = Mapping[str, Mapping[str, float | None]]

FIGURE: Final = "bounds.png"
PAGE: Final = "bounds.md"

_WORDS: Final = Path(__file__).with_name("page.md")


@dataclass(frozen=True)
class Measured:
    """The page's data: small instances, traces, the value of knowledge on them, and games.

    `known` contains shares of peak live, by trace and kind of knowledge. `small` and `large`
    contain heaps in multiples of the live bytes, by policy and adversary. `growing` contains such
    heaps by policy, one for each of `GROWING`. A value is None for a game that was not played.
    """

    exhaustive: str
    rows: Sequence[Possible]
    known: Mapping[str, Mapping[str, float]]
    small: Games
    large: Games
    growing: Mapping[str, Sequence[float | None]]


def page(measured: Measured) -> str:
    """Return the page as Markdown."""
    rows, large = measured.rows, measured.large
    by_distance = sorted(rows, key=lambda row: row.best / row.live)
    farthest, near = by_distance[-1], by_distance[-2]
    no_room = [row.trace for row in rows if not row.has_room]
    heaps = [1 + max(row.first_fit, row.best_fit) / row.live for row in rows]
    by_pages = {row.trace: 1 + row.by_pages / row.live for row in rows}
    pages_trace = max(by_pages, key=lambda name: by_pages[name])
    helps = helped(measured)
    highest = {name: max(filter(None, games.values())) for name, games in large.items()}
    worst = max(highest, key=lambda name: highest[name])
    best = min(highest, key=lambda name: highest[name])
    robson = {
        name: games["robson"] or 0
        for name, games in measured.small.items()
        if small_game(name) == SMALL
    }
    rounding = max(robson, key=lambda name: robson[name])
    facts = {
        "exhaustive": measured.exhaustive,
        "exact": sum(row.best == 0 for row in rows),
        "all": len(rows),
        "farthest": farthest.trace,
        "farthest_percent": f"{100 * farthest.best / farthest.live:.2f}",
        "near_percent": f"{100 * near.best / near.live:.2g}",
        "no_room": len(no_room),
        "taught": len(no_room),
        "least": round(100 * ROOM),
        "helped": "\n".join(helps),
        "helped_on": len(helps),
        "informed": len(measured.known),
        "chosen_on": listed(CHOSEN_ON),
        "requested": listed([row.trace for row in rows if row.trace in ASKED and not row.has_room]),
        "knowledge": "\n".join(f"- *{name}*: {words}." for name, words in KNOWLEDGE.items()),
        "sites": " ".join(name for name, known in measured.known.items() if "sites" in known),
        "live": f"{LARGE[0]:,}",
        "largest": f"{LARGE[1]:,}",
        "worst_policy": worst,
        "worst_ratio": f"{highest[worst]:,.0f}",
        "played": len(large),
        "first_fit_ratio": f"{highest['first-fit-ao']:.1f}",
        "best_policy": best,
        "best_ratio": f"{highest[best]:.1f}",
        "most": f"{max(heaps):.3f}",
        "rounding_policy": rounding,
        "rounding_ratio": f"{robson[rounding]:.1f}",
        "rounding_bound": f"{robson_bound(*SMALL) / SMALL[0]:.1f}",
        "pages_trace": pages_trace,
        "by_pages": f"{by_pages[pages_trace]:.1f}",
        "figure": FIGURE,
        "proven": "\n".join(
            map(_proven, (OF_TREES, SMALL, *((live, LARGE[1]) for live in GROWING)))
        ),
    }
    shown = {
        "possible": possible_table(rows),
        "knowing": knowing_table(measured),
        "small": small_table(measured.small),
        "large": games_table(large, LARGE),
        "growing": growing_table(measured.growing),
    }
    return fill_page(_WORDS, facts, shown)


def helped(measured: Measured) -> list[str]:
    """Return the smallest helpful knowledge for each trace on which partial knowledge helps."""
    said = {
        row.trace: answer(row, measured.known[row.trace])
        for row in measured.rows
        if row.trace in measured.known
    }
    return [f"- {trace}: {words}." for trace, words in said.items() if words]


def answer(row: Possible, known: Mapping[str, float]) -> str:
    """Return the smallest knowledge that closes more than half of the gap on a trace, or ""."""
    wasted, best = row.wasted / row.live, row.best / row.live
    for what in KNOWLEDGE:
        if what in known and wasted - known[what] > (wasted - best) / 2:
            return f"*{what}* ({100 * wasted:.2f} to {100 * known[what]:.2f} %)"
    return ""


def possible_table(rows: Sequence[Possible]) -> Table:
    """Return the best possible heap on each trace, beside first and best fit."""
    columns = (
        "trace",
        "peak live",
        "first fit %",
        "best fit %",
        "lowest found - peak",
        "lowest found %",
        "status",
    )
    cells: list[tuple[Value, ...]] = [
        (
            row.trace,
            row.live,
            _percent(row.first_fit / row.live),
            _percent(row.best_fit / row.live),
            row.best,
            _percent(row.best / row.live, 4),
            row.status,
        )
        for row in rows
    ]
    return Table("Heap beyond peak live", columns, cells)


def knowing_table(measured: Measured) -> Table:
    """Return the heaps of policies with partial knowledge, in percent beyond peak live."""
    cells: list[tuple[Value, ...]] = [
        (
            row.trace,
            _percent(row.first_fit / row.live),
            _percent(row.best_fit / row.live),
            *(_percent(measured.known[row.trace].get(what)) for what in KNOWLEDGE),
            _percent(row.best / row.live),
        )
        for row in measured.rows
        if row.trace in measured.known
    ]
    columns = ("trace", "first fit", "best fit", *KNOWLEDGE, "all")
    return Table("Heap beyond peak live in percent, by what is known", columns, cells)


def small_table(games: Games) -> Table:
    """Return the heaps after the small games of every row, in multiples of the live bytes."""
    cells: list[tuple[Value, ...]] = [
        (policy, _sizes(small_game(policy)), *(_times(played[name], 2) for name in ADVERSARIES))
        for policy, played in games.items()
    ]
    columns = ("policy", "live, largest", *ADVERSARIES)
    return Table("Peak heap / live bytes, every row of the catalogue", columns, cells)


def games_table(games: Games, sizes: tuple[int, int]) -> Table:
    """Return the heaps after each game, in multiples of the live bytes."""
    cells: list[tuple[Value, ...]] = [
        (policy, *(_times(played[name], 2) for name in ADVERSARIES))
        for policy, played in games.items()
    ]
    live, largest = (f"2^{log2(size):.0f}" for size in sizes)
    title = f"Peak heap / live bytes, with {live} live bytes in objects of up to {largest} bytes"
    return Table(title, ("policy", *ADVERSARIES), cells)


def growing_table(growing: Mapping[str, Sequence[float | None]]) -> Table:
    """Return the heaps after Robson's game by live bytes, in multiples of the live bytes."""
    cells: list[tuple[Value, ...]] = [
        (policy, *(_times(one, 3) for one in ratios)) for policy, ratios in growing.items()
    ]
    columns = ("policy", *(f"2^{log2(live):.0f}" for live in GROWING))
    largest = f"2^{log2(LARGE[1]):.0f}"
    title = f"Peak heap / live bytes under robson, by live bytes; objects of up to {largest} bytes"
    return Table(title, columns, cells)


def _proven(sizes: tuple[int, int]) -> str:
    bounds = (robson_bound, first_fit_bound, buddy_bound, best_fit_bound)
    values = " | ".join(f"{bound(*sizes) / sizes[0]:,.2f}" for bound in bounds)
    return f"| {_sizes(sizes)} | {values} |"


def _sizes(sizes: tuple[int, int]) -> str:
    return ", ".join(f"2^{log2(size):.0f}" for size in sizes)


def _times(ratio: float | None, digits: int) -> Value:
    return None if ratio is None else Rounded(ratio, digits)


def _percent(share: float | None, digits: int = 3) -> Value:
    return None if share is None else Rounded(100 * share, digits)
