"""The sentence on the blocks that were live when a running process was first recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simalloc.plural import counted
from simalloc.report.units import spell_bytes, spell_percent
from simalloc.trace.sample import sampled_every


def start_sentence(provenance: Mapping[str, Any]) -> str:
    """Return a sentence on the blocks that were live when the recording began; "" for none."""
    start = provenance.get("live_at_start")
    if start is None:
        return ""
    size = spell_bytes(start["bytes"])
    blocks = counted(start["objects"], "block was", "blocks were")
    if sampled_every(provenance):
        return f"{blocks} live when the recording began ({size}); the sample leaves them out."
    share = spell_percent(start["bytes"] / max(start["peak_live_bytes"], 1))
    return (
        f"{blocks} live when the recording began ({size}, {share} of the peak live bytes). Every "
        "policy places them first, in address order."
    )
