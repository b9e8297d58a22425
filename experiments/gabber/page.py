"""The explanatory page: agreements with the paper, differences, and their causes.

A test (tests/papers/test_gabber.py) checks that docs shows the same figures. If they change, read
the text again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from experiments.gabber.choices import (
    TWENTIETH,
    WHOLE,
    Draws,
    at_end,
    in_order,
    spread,
)
from experiments.gabber.fragmentation import NUMBERS
from experiments.gabber.measuring import PLAIN, VARIANTS, Results
from experiments.gabber.paper import MEGABYTE, PAPER
from experiments.gabber.programs import EMACS, HUMMINGBIRD
from experiments.gabber.ranks import ranks, same_order
from experiments.gabber.runs import GabberRuns
from experiments.mallocs import with_mechanism
from experiments.output import Exhibit, fill_page, listed
from simalloc.trace.workloads.drawn_sizes import exponent

PAGE: Final = "gabber.md"

_WORDS: Final = Path(__file__).with_name("page.md")
_FILE_MEAN: Final = 5296
"""Mean size in bytes of a file smaller than a cluster, from the shares of table 1."""


def figure_name(number: int) -> str:
    """Return the file name of a figure."""
    return f"gabber-figure-{number}.png"


def page(results: Results, exhibits: Mapping[str, Exhibit]) -> str:
    """Return the page as Markdown."""
    return fill_page(_WORDS, _facts(results), exhibits)


def _facts(results: Results) -> dict[str, Any]:
    replayed = {name for _, name in results.outcomes}
    absent = [PAPER.label(name) for name in PAPER.policies if with_mechanism(name) not in replayed]
    varied = {label: results.outcomes[HUMMINGBIRD, text].at_end for label, text in VARIANTS.items()}
    orders = ("pages of chunks in the order of addresses", "the newest page of chunks first")
    phk = results.full[HUMMINGBIRD, with_mechanism("phk")]
    pairs = {
        (number, how): same_order(results, key, number, full=how == "full")
        for key, number in NUMBERS.items()
        for how in ("full", "tenth")
    }
    places = {key: ranks(results, key, full=True) for key in NUMBERS}
    return {
        "paper": PAPER.about["paper"],
        "best": {key: PAPER.label(min(here, key=here.__getitem__)) for key, here in places.items()},
        "worst": {
            key: PAPER.label(max(here, key=here.__getitem__)) for key, here in places.items()
        },
        "exponent": exponent(128, 32760, _FILE_MEAN),
        "absent": f"Not replayed yet: {listed(absent)}." if absent else "",
        "absent_in_full": _absent_in_full(results),
        "figures": {number: figure_name(number) for number in (7, 8, 9)},
        "same": {f"{number}-{how}": same for (number, how), (same, _) in pairs.items()},
        "pairs": {f"{number}-{how}": of for (number, how), (_, of) in pairs.items()},
        "slip": max(abs(varied[order] - varied["as it is"]) for order in orders),
        "alone": varied["as it is"],
        "kept_all": varied["nothing returned"],
        **_choices(results),
        "phk": phk,
        "phk_peak": phk.peak_heap / MEGABYTE,
        "phk_final": phk.final_heap / MEGABYTE,
        "phk_emacs": results.full[EMACS, with_mechanism("phk")],
        "plain": {name: results.full[HUMMINGBIRD, name] for name in PLAIN},
    }


def _choices(results: Results) -> dict[str, Any]:
    """Return the results of seeds and other free choices in full, individually and combined."""
    kept, keys = results.chosen, WHOLE.keys()
    together = _together(WHOLE)
    best = _best(kept, together)
    part = _best(kept, _together(TWENTIETH))
    ordered = [in_order(kept, key) for key in together]
    return {
        "full_events": results.full[HUMMINGBIRD, with_mechanism("phk")].events / 1e6,
        "full_seeds": len(keys["seeds"]),
        "full_all": {name: spread(kept, name, together) for name in PAPER.policies},
        "full_first": best.count("phk"),
        "full_traces": len(together),
        "part_first": part.count("phk") or "none",
        "part_lea": part.count("lea-2.6.6"),
        "part_traces": len(part),
        "full_ordered": (min(ordered), max(ordered)),
        "choices_count": len(WHOLE.choices),
        "all_pairs": len(PAPER.policies) * (len(PAPER.policies) - 1) // 2,
    }


def _together(draws: Draws) -> list[str]:
    """Return the keys of all draws, by seed and by choice, once each."""
    keys = draws.keys()
    return list(dict.fromkeys([*keys["seeds"], *keys["choices"]]))


def _best(kept: GabberRuns, keys: list[str]) -> list[str]:
    """Return the allocator with the lowest fragmentation at the end of each trace."""
    return [min(PAPER.policies, key=at_end(kept, key).__getitem__) for key in keys]


def _absent_in_full(results: Results) -> str:
    """Return a sentence that names the allocators without a replay of the full traces."""
    missing = {
        key: [
            PAPER.label(name)
            for name in PAPER.policies
            if (key, with_mechanism(name)) not in results.full
        ]
        for key in NUMBERS
    }
    found = [f"{listed(names)} on {key}" for key, names in missing.items() if names]
    return f"Not replayed in full: {'; '.join(found)}." if found else ""
