"""Sentences on the findings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from simalloc.plural import counted
from simalloc.policy import spell
from simalloc.report.units import spell_percent
from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from simalloc.heap import Run
    from simalloc.report.page.findings import Findings


def theory(findings: Findings) -> str:
    """Return a paragraph on the placement policies alone."""
    best = findings.best
    live = spell_bytes(best.max_live_bytes)
    as_good = sum(run.peak_heap_bytes == best.peak_heap_bytes for run in findings.runs) - 1
    and_others = f" (and {counted(as_good, 'other')})" if as_good else ""
    foresight = "" if findings.possible is None else _foresight(findings.possible)
    return (
        f"Peak live is {live}; no heap can be smaller. {foresight}"
        f"{spell(best.policy)}{and_others} has the smallest heap of all policies: "
        f"{spell_bytes(best.peak_heap_bytes)}, {excess(best)}."
    )


def _foresight(possible: Run) -> str:
    """Return a sentence on the heap of offline placement."""
    known = "An offline placement, which knows the whole trace in advance, needs a heap of"
    if possible.peak_heap_bytes <= possible.max_live_bytes:
        return f"{known} this size. "
    return f"{known} {spell_bytes(possible.peak_heap_bytes)}. "


def holds(run: Run) -> str:
    """Return the resident bytes of a run, or the mapped bytes if no pages were tracked."""
    if run.resident is None:
        return f"peak {spell_bytes(run.peak_heap_bytes)} mapped, {excess(run)}"
    return (
        f"peak {spell_bytes(run.resident.peak_bytes)} resident, "
        f"{spell_bytes(run.resident.final_bytes)} at the end"
    )


def excess(run: Run) -> str:
    """Return in words the excess of a run's heap over the peak live bytes."""
    if not run.max_live_bytes:
        return "although nothing is ever live"
    return f"{spell_percent(run.peak_heap_bytes / run.max_live_bytes - 1)} more than peak live"


def about_trace(findings: Findings) -> Iterator[str]:
    """Yield sentences about the program's requests."""
    statistics = findings.statistics
    counts, sizes = statistics.counts, statistics.sizes
    calls = [f"malloc {counted(counts.mallocs, 'time')}", f"free {counted(counts.frees, 'time')}"]
    if counts.reallocs:
        calls.append(f"realloc {counted(counts.reallocs, 'time')}")
    yield (
        f"The program calls {', '.join(calls[:-1])} and {calls[-1]} "
        f"({counted(counts.events, 'event')}). It requests {spell_bytes(counts.bytes)} in total "
        f"and {counts.average_size:.1f} bytes per object on average."
    )
    yield (
        f"Live bytes peak after event {statistics.peak_bytes.event:,}. The maximum number of live "
        f"objects is {statistics.peak_objects.amount:,}."
    )
    kinds, all_kinds = sizes.covering[0], sizes.covering[-1]
    yield (
        f"{kinds:,} of the {counted(all_kinds, 'requested size')} "
        f"{'accounts' if kinds == 1 else 'account'} for 90 % of the objects. The largest object "
        f"is {spell_bytes(sizes.largest)}."
    )
    left = statistics.never_freed
    if left.objects:
        yield (
            f"{counted(left.objects, 'object')} ({spell_bytes(left.bytes)}, "
            f"{spell_percent(left.share_of_bytes)} of all requested bytes) "
            f"{'is' if left.objects == 1 else 'are'} never freed."
        )
    else:
        yield "Every object is freed."


def what_was_run(provenance: Mapping[str, Any]) -> str:
    """Return a sentence on the recorded command, its time and its malloc, as far as known."""
    command = provenance.get("command")
    words = shlex.join(map(str, command)) if isinstance(command, list) else ""
    started = str(provenance.get("started", ""))[:16].replace("T", " ")
    facts = [
        words,
        f"{started} UTC" if started else "",
        str(provenance.get("malloc", "")),
    ]
    known = ", ".join(filter(None, facts))
    return f"Recorded: {known}." if known else "The trace does not say how it was recorded."
