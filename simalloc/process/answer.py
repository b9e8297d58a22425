"""A summary of a process's memory in one sentence."""

from __future__ import annotations

from collections.abc import Callable

from simalloc.plural import counted
from simalloc.process.snapshot import Snapshot

_MIN_SHARE = 0.005
"""Kinds of memory below this fraction of the total are not named."""


def answer(snapshot: Snapshot, spell: Callable[[float], str]) -> str:
    """Return the sentence. `spell` formats a number of bytes."""
    if snapshot.resident is None:
        return _of_core(snapshot, spell)
    resident = snapshot.resident
    total = snapshot.total
    trimmable, kept = total("trimmable"), total("kept")
    tops = max(0, total("free_resident") - trimmable - kept)
    known = sum(heap.resident or 0 for heap in snapshot.foreign)
    known += total("live_resident") + total("cached_resident") + trimmable + kept + tops
    named = [
        (trimmable, "free memory that malloc_trim(0) would return"),
        (
            kept,
            f"free but kept by {counted(total('kept_blocks'), 'live block')} in the same pages",
        ),
        (tops, "free at the top of arenas (malloc_trim(0) does not return it)"),
        (total("cached_resident"), "in thread caches"),
        *((heap.resident or 0, f"in the heap of {heap.allocator}") for heap in snapshot.foreign),
        (max(0, resident - known), "outside of " + ("malloc" if snapshot.parts else "its heap")),
    ]
    live = [f"{spell(total('live_resident'))} live data"] if snapshot.parts else []
    rest = [
        f"{spell(size)} {what}"
        for size, what in sorted(named, key=lambda pair: -pair[0])
        if size > _MIN_SHARE * resident
    ]
    return f"{spell(resident)} resident: {_listed([*live, *rest])}."


def _of_core(snapshot: Snapshot, spell: Callable[[float], str]) -> str:
    total = snapshot.total
    parts = [
        (total("tcache"), "in thread caches"),
        (total("fastbin") + total("bins"), "free between other blocks"),
        (total("top"), "free at the top of arenas"),
    ]
    live = f"{spell(total('live'))} live data in {counted(total('live_blocks'), 'block')}"
    rest = [f"{spell(size)} {what}" for size, what in parts if size]
    return f"{spell(total('bytes'))} in malloc's heaps: {_listed([live, *rest])}."


def _listed(items: list[str]) -> str:
    """Return items as a list in a sentence."""
    if len(items) == 1:
        return items[0]
    return f"{', '.join(items[:-1])}{',' if len(items) > 2 else ''} and {items[-1]}"
