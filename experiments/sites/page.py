"""The page: the results as text and tables. The text is in `page.md`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from experiments.output import fill_page, listed
from experiments.sites.fixing import TIMES, Fix
from experiments.sites.measuring import ARENAS, BEST, BEST_FIT, ENDS, TRUTH, Measured
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

PAGE: Final = "sites-policies.md"
_WORDS: Final = Path(__file__).with_name("page.md")
_SHOWN: Final = (BEST_FIT, *ENDS, TRUTH, ARENAS, BEST)


def tables(measured: Measured) -> dict[str, Table]:
    """Return the page's tables by name."""
    heaps, fixes = measured
    return {
        "fixes": _fixes(fixes),
        "heaps": Table(
            "Excess over peak live, percent",
            ("recording", "peak live", *_SHOWN),
            [
                (one.name, one.live, *(_percent(one.excess(what), 2) for what in _SHOWN))
                for one in heaps
            ],
        ),
        "predictions": Table(
            "Bytes that die young, and their prediction, percent",
            (
                "recording",
                "die young",
                *(f"found by {by}" for by in ENDS),
                *(f"wrong by {by}" for by in ENDS),
            ),
            [
                (
                    one.name,
                    _percent(one.young),
                    *(_percent(one.found[by]) for by in ENDS),
                    *(_percent(one.wrong[by]) for by in ENDS),
                )
                for one in heaps
            ],
        ),
    }


def page(measured: Measured, shown: dict[str, Table]) -> str:
    """Return the page as Markdown."""
    heaps, fixes = measured
    gained = {
        what: [share for one in heaps if (share := one.gained(what)) is not None]
        for what in (*ENDS, TRUTH, ARENAS)
    }
    facts = {
        "recordings": len(heaps),
        "least": _spelled(min(one.excess(BEST_FIT) for one in heaps), 1),
        "most": _spelled(max(one.excess(BEST_FIT) for one in heaps), 1),
        "gained": {
            what: f"{_spelled(median(shares))} ({_spelled(min(shares))} to {_spelled(max(shares))})"
            for what, shares in gained.items()
        },
        "helped": {what: sum(share > 0 for share in shares) for what, shares in gained.items()},
        "found": {by: _spelled(median(one.found[by] for one in heaps)) for by in ENDS},
        "range_found": " to ".join(
            _spelled(end(one.found["stack"] for one in heaps)) for end in (min, max)
        ),
        "most_wrong": _spelled(max(one.wrong["stack"] for one in heaps), 1),
        "young": [_spelled(end(one.young for one in heaps)) for end in (min, max)],
        "times": TIMES,
        "off": listed([_furthest(runs) for runs in fixes]),
        "wrong": {by: _spelled(median(one.wrong[by] for one in heaps)) for by in ENDS},
    }
    return fill_page(_WORDS, facts, shown)


def _fixes(fixes: Sequence[Sequence[Fix]]) -> Table:
    """Return the table of predicted and measured savings: medians of each program's runs."""
    columns = (
        "program", "arena for", "predicted", "with the arena", "predicted saving", "measured",
        "with the arena", "measured saving", "minimum", "maximum",
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for runs in fixes:
        first = runs[0].proposal
        said = [run.proposal.apart for run in runs]
        figures = (
            median(one.together_bytes for one in said),
            median(one.apart_bytes for one in said),
            median(one.saved for one in said),
            median(run.resident for run in runs),
            median(run.resident_apart for run in runs),
            median(run.saved for run in runs),
            min(run.saved for run in runs),
            max(run.saved for run in runs),
        )
        code = ", ".join(f"{each.function}:{each.line}" for each in first.frames)
        rows.append((runs[0].source, code, *map(_kibibytes, figures)))
    return Table("KiB resident at the end, and what an arena for sessions saves", columns, rows)


def _furthest(runs: Sequence[Fix]) -> str:
    """Return the largest difference of a program's measured saving from the predicted saving."""
    return f"{_spelled(max(abs(run.off) for run in runs))} ({runs[0].source})"


def _kibibytes(number: float) -> Rounded:
    return Rounded(number / 1024, 0)


def _percent(share: float, decimals: int = 1) -> Rounded:
    return Rounded(100 * share, decimals)


def _spelled(share: float, decimals: int = 0) -> str:
    return f"{100 * share:z.{decimals}f} %".replace("-", "−")
