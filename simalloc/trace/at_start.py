"""The objects that were live when the recording of a running process began."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from simalloc.trace.sample import sampled_every


@dataclass(frozen=True)
class LiveAtStart:
    """Objects whose allocations are the first events of a trace, and their total bytes."""

    objects: int = 0
    bytes: int = 0

    @property
    def last_event(self) -> int:
        """The event after which all objects of the start are live, or 0 without such objects."""
        return max(self.objects - 1, 0)


NONE_LIVE: Final = LiveAtStart()


def live_at_start(provenance: Mapping[str, Any]) -> LiveAtStart:
    """Return the objects that were live when a recording began. A sample does not contain them."""
    start = provenance.get("live_at_start")
    if start is None or sampled_every(provenance):
        return NONE_LIVE
    return LiveAtStart(start["objects"], start["bytes"])
