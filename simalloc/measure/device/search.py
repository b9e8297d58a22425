"""Search for the settings that need the smallest device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Final

from simalloc.measure.device.outcomes import (
    behaviour_of,
    described,
    largest_request,
    outcome_of,
)
from simalloc.measure.device.smallest import STEP, run_at
from simalloc.measure.device.what_if import WhatIf
from simalloc.trace import Trace

_EXPANDABLE: Final = ("", "expandable_segments:True")
_SPLITS: Final = ("", *(f"max_split_size_mb:{size}" for size in (20, 32, 64, 128, 256, 512)))
_ROUNDINGS: Final = ("", *(f"roundup_power2_divisions:{number}" for number in (2, 4, 8, 16)))
_COLLECTIONS: Final = (
    "",
    "garbage_collection_threshold:0.8,per_process_memory_fraction:0.99",
)

CANDIDATES: Final = tuple(
    ",".join(filter(None, parts))
    for parts in product(_COLLECTIONS, _EXPANDABLE, _SPLITS, _ROUNDINGS)
)


def search(trace: Trace, found: WhatIf, *, progress: Callable[[int], None] | None = None) -> WhatIf:
    """Return the outcomes found, and the best settings of the search if they need a smaller device.

    Each candidate is run on a device one step smaller than the best settings so far need. Most
    candidates fail early, and only the successful ones are examined further. Candidates that behave
    like settings already tried are not run. Ctrl-C ends the search with the best settings so far.
    `searched` is the number of tried candidates.
    """
    best, tried, interrupted = found.best, 0, False
    largest = largest_request(trace)
    known = {behaviour_of(outcome.settings, largest) for outcome in found.outcomes}
    try:
        for settings in CANDIDATES:
            less, kind = best.smallest - STEP, behaviour_of(settings, largest)
            is_new = less > 0 and kind not in known
            if is_new and not run_at(trace, described(settings, less), less).first_refused_event:
                best = outcome_of(trace, settings, found.capacities, fits=less)
            known.add(kind)
            tried += 1
            if progress is not None:
                progress(1)
    except KeyboardInterrupt:
        interrupted = True
    more = () if best is found.best else (best,)
    return replace(
        found, outcomes=(*found.outcomes, *more), searched=tried, interrupted=interrupted
    )
