"""Sentences on the blocks that were live when a running process was first recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simalloc.heap import Run
from simalloc.plural import counted
from simalloc.report.units import spell_percent
from simalloc.sizes import spell_bytes
from simalloc.trace.sample import sampled_every


def start_sentence(provenance: Mapping[str, Any], *, begun: bool = False) -> str:
    """Return a sentence on the blocks that were live when the recording began, or "" if none.

    If `begun`, the policies begin with the heap of the process.
    """
    start = provenance.get("live_at_start")
    if start is None:
        return ""
    size = spell_bytes(start["bytes"])
    blocks = counted(start["objects"], "block was", "blocks were")
    if sampled_every(provenance):
        return f"{blocks} live when the recording began ({size}); the sample excludes them."
    share = spell_percent(start["bytes"] / max(start["peak_live_bytes"], 1))
    placed = (
        "Every row begins with the heap of the process, which contains them."
        if begun
        else "Every policy places them first, in address order."
    )
    return (
        f"{blocks} live when the recording began ({size}, {share} of the peak live bytes). {placed}"
    )


def start_notes(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return a sentence for each trace of a running process, on its live bytes at the start."""
    of_process = {run.trace: run for run in runs if run.live_at_start.objects}
    return tuple(
        f"{name}: {spell_bytes(run.live_at_start.bytes)} were live at the start "
        f"({spell_percent(run.live_at_start.bytes / max(run.max_live_bytes, 1))} of peak live). "
        "#1 and #3 include their allocation."
        for name, run in of_process.items()
    )
