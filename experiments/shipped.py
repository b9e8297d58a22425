"""The shipped traces that the experiments use."""

from __future__ import annotations

from simalloc.trace.catalogue import Entry, catalogue


def shipped() -> dict[str, Entry]:
    """Return the catalogued traces by name, without the groups `threads` and `boards`.

    The experiments compare placements in one growing heap of workstation programs.
    """
    return {name: entry for name, entry in catalogue().items() if entry.group == "programs"}
