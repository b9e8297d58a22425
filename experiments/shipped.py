"""The shipped traces that the experiments are about."""

from __future__ import annotations

from simalloc.trace.catalogue import Entry, catalogue


def shipped() -> dict[str, Entry]:
    """Return the catalogued traces by name, without those that were recorded for their threads.

    The experiments compare placements on one heap, where threads make no difference.
    """
    return {name: entry for name, entry in catalogue().items() if not entry.for_threads}
