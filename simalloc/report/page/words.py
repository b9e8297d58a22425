"""What the findings say, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simalloc.plural import counted
from simalloc.policy import spell
from simalloc.report.units import spell_bytes, spell_percent

if TYPE_CHECKING:
    from simalloc.heap import Run
    from simalloc.report.page.findings import Findings


def theory(findings: Findings) -> str:
    """Say in one paragraph what policies alone make of a program's requests."""
    best = findings.best
    live = spell_bytes(best.max_live_bytes)
    as_good = sum(run.peak_heap_bytes == best.peak_heap_bytes for run in findings.runs) - 1
    and_others = f" (and {counted(as_good, 'other')})" if as_good else ""
    foresight = "" if findings.possible is None else f"; {_foresight(findings.possible)}"
    return (
        f"At most {live} are live at once: no policy can do with less{foresight}. "
        f"{spell(best.policy)}{and_others} comes nearest with a heap of "
        f"{spell_bytes(best.peak_heap_bytes)}, {excess(best)}."
    )


def _foresight(possible: Run) -> str:
    """Say what one would need who knew the whole trace."""
    if possible.peak_heap_bytes <= possible.max_live_bytes:
        return "one who knew the future would need just that"
    return f"one who knew the future could do with {excess(possible)}"


def holds(run: Run) -> str:
    """Say what a run's heap has: resident bytes, if they were kept track of."""
    if run.resident is None:
        return f"{spell_bytes(run.peak_heap_bytes)} mapped at most, {excess(run)} than live"
    return (
        f"{spell_bytes(run.resident.peak_bytes)} resident at most, "
        f"{spell_bytes(run.resident.final_bytes)} at the end"
    )


def excess(run: Run) -> str:
    """Say how much more than peak live a run's heap is."""
    if not run.max_live_bytes:
        return "though nothing of any size is ever live"
    return f"{spell_percent(run.peak_heap_bytes / run.max_live_bytes - 1)} more"


def about_trace(findings: Findings) -> Iterator[str]:
    """Yield sentences about what the program asked for."""
    statistics = findings.statistics
    counts, sizes = statistics.counts, statistics.sizes
    asked = f"malloc {counted(counts.mallocs, 'time')}, free {counted(counts.frees, 'time')}"
    if counts.reallocs:
        asked += f" and realloc {counted(counts.reallocs, 'time')}"
    yield (
        f"The program calls {asked}: {counted(counts.events, 'event')}. It asks for "
        f"{spell_bytes(counts.bytes)} in all, {counts.average_size:.1f} bytes an object on average."
    )
    yield (
        f"Live bytes have their peak after event {statistics.peak_bytes.event:,}; "
        f"at most {counted(statistics.peak_objects.amount, 'object is', 'objects are')} live at "
        "once."
    )
    kinds, all_kinds = sizes.covering[0], sizes.covering[-1]
    yield (
        f"{counted(kinds, 'size makes', 'sizes make')} 90 % of the objects, of "
        f"{counted(all_kinds, 'size that occurs', 'sizes that occur')}; the largest object has "
        f"{spell_bytes(sizes.largest)}."
    )
    left = statistics.never_freed
    if left.objects:
        yield (
            f"{counted(left.objects, 'object is', 'objects are')} never freed: "
            f"{spell_bytes(left.bytes)}, {spell_percent(left.share_of_bytes)} of all bytes "
            "asked for."
        )
    else:
        yield "Everything is freed in the end."
