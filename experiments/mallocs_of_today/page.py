"""The page for docs. Its text is in `page.md`, its figures come from the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

from experiments.mallocs_of_today.maps import CLASSES, Drawn
from experiments.mallocs_of_today.measuring import MALLOCS, TICK, YARDSTICK
from experiments.mallocs_of_today.running import Results
from experiments.mallocs_of_today.seeds import SEEDS
from experiments.mallocs_of_today.tables import LARGEST, tables
from experiments.output import fill_page, listed
from simalloc.measure.waste import Waste
from simalloc.policy import CATALOGUE
from simalloc.report import Table

__all__ = ["PAGE", "page", "pictures", "tables"]

PAGE: Final = "mallocs-of-today.md"
PICTURE: Final = "mallocs-of-today-{}.png"

HEADERS: Final = "ptmalloc"
"""Malloc whose blocks have headers."""

_WORDS: Final = Path(__file__).with_name("page.md")


def pictures(results: Results) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the heap maps."""
    yield PICTURE.format("lose"), results.loses.image
    yield PICTURE.format("win"), results.wins.image


def page(results: Results, shown: dict[str, Table]) -> str:
    """Return the page as Markdown."""
    large = [one for one in results.replays if one.is_large]
    smallest = min(results.replays, key=lambda one: one.live)
    facts = {
        "traces": len(results.replays),
        "large": len(large),
        "tick": TICK,
        "releases": listed([f"{name} {_release(name)}" for name in MALLOCS]),
        "largest": sum(one.live >= LARGEST for one in large),
        "smallest": {
            "name": smallest.program,
            "live": smallest.live,
        },
        "range_live": " to ".join(
            f"{end(one.live for one in large) / 1e6:.1f}" for end in (min, max)
        )
        + " MB",
        "more_pages": {
            name: sum(one.pages_peak(name) < one.pages_peak(HEADERS) for one in large)
            for name in (CLASSES, "tcmalloc")
        },
        "yardstick": f"{100 * median(one.policy_alone(YARDSTICK) for one in large):.1f}",
        "worst_yardstick": f"{100 * max(one.policy_alone(YARDSTICK) for one in large):.1f}",
        "fewer": sum(one.policy_alone(CLASSES) < one.policy_alone(YARDSTICK) for one in large),
        "classes": CLASSES,
        "loses": _facts(results.loses),
        "wins": _facts(results.wins),
        "seeds": SEEDS,
        "mapped": f"{100 * max(one.mapped for one in results.seeds):.1f}",
    }
    return fill_page(_WORDS, facts, shown)


def _release(malloc: str) -> str:
    """Return the release that a model follows: its parameter, or the release in its source."""
    row = CATALOGUE[malloc]
    version = getattr(row.description, "version", None)
    return version.value if version else row.source.partition(",")[0].rpartition(" ")[2]


def _facts(drawn: Drawn) -> dict[str, str]:
    """Return the bytes of a program by kind, in percent of the live bytes at that event."""

    def percent(of: Waste, value: float) -> str:
        return f"{100 * value / of.live:.1f}"

    first, classes = drawn.first_fit, drawn.classes
    return {
        "program": drawn.program,
        "rounding": percent(classes, classes.rounding),
        "free": percent(classes, classes.cached + classes.free_inside + classes.free_at_top),
        "holes": percent(first, first.free_inside + first.free_at_top),
    }
