"""The page: the results in plain words and tables. The words are in `page.md`."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Final

from experiments.output import fill_page
from experiments.sites.measuring import ARENAS, BEST, BEST_FIT, ENDS, TRUTH, Measured
from simalloc.report import Rounded, Table

PAGE: Final = "sites-policies.md"
_WORDS: Final = Path(__file__).with_name("page.md")
_SHOWN: Final = (BEST_FIT, *ENDS, TRUTH, ARENAS, BEST)


def tables(measured: Measured) -> dict[str, Table]:
    """Return the page's tables by name."""
    heaps, fixes = measured
    return {
        "fixes": Table(
            "KiB resident at the end, and what an arena for sessions saves",
            (
                "program",
                "proposed for",
                "predicted",
                "with the arena",
                "saved",
                "measured",
                "with the arena",
                "saved",
            ),
            [
                (
                    one.source,
                    ", ".join(f"{each.function}:{each.line}" for each in one.proposal.frames),
                    *map(_kibibytes, (said.together_bytes, said.apart_bytes, said.saved)),
                    *map(_kibibytes, (one.resident, one.resident_apart, one.saved)),
                )
                for one in fixes
                for said in (one.proposal.apart,)
            ],
        ),
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
        "gained": {what: _spelled(median(shares)) for what, shares in gained.items()},
        "helped": {what: sum(share > 0 for share in shares) for what, shares in gained.items()},
        "highest": {what: _spelled(max(shares)) for what, shares in gained.items()},
        "found": {by: _spelled(median(one.found[by] for one in heaps)) for by in ENDS},
        "range_found": " to ".join(
            _spelled(end(one.found["stack"] for one in heaps)) for end in (min, max)
        ),
        "most_wrong": _spelled(max(one.wrong["stack"] for one in heaps), 1),
        "young": [_spelled(end(one.young for one in heaps)) for end in (min, max)],
        "off": _spelled(max(abs(one.saved / one.proposal.apart.saved - 1) for one in fixes)),
        "wrong": {by: _spelled(median(one.wrong[by] for one in heaps)) for by in ENDS},
    }
    return fill_page(_WORDS, facts, shown)


def _kibibytes(number: float) -> Rounded:
    return Rounded(number / 1024, 0)


def _percent(share: float, decimals: int = 1) -> Rounded:
    return Rounded(100 * share, decimals)


def _spelled(share: float, decimals: int = 0) -> str:
    return f"{100 * share:z.{decimals}f} %".replace("-", "−")
