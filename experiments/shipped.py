"""The shipped traces that the experiments are about."""

from __future__ import annotations

from simalloc.trace.catalogue import Entry, catalogue


def shipped() -> dict[str, Entry]:
    """Return the catalogued traces by name, without the groups `threads` and `boards`.

    The experiments compare placements on one growing heap of programs of workstations.
    """
    return {name: entry for name, entry in catalogue().items() if entry.group == "programs"}
