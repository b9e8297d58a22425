"""The segments of a device before a snapshot's history begins, reconstructed backwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from simalloc.trace.formats import pytorch_pickle as entries
from simalloc.trace.formats.pytorch_history import History

_IN_PAGES: Final = (entries.MAP, entries.UNMAP)


def segments_at_start(
    history: History, segments: Sequence[Any], device: int, pool: Any
) -> list[tuple[int, int, int, int]]:
    """Return address, bytes, stream and pool of each segment before the first entry, by address.

    The history is undone from the segments at the end: taken segments are removed, and returned
    segments are restored. The result is empty if segments grow page by page, because this growth
    cannot be undone.
    """
    kept: dict[int, tuple[int, int, int, int]] = {}
    for segment in segments:
        if segment.get("device", device) != device:
            continue
        if segment.get("is_expandable"):
            return []
        found = (
            int(segment["address"]),
            int(segment["total_size"]),
            int(segment.get("stream", 0)),
            int(pool(segment.get("segment_pool_id"))),
        )
        kept[found[0]] = found
    names = ("action", "address", "size", "stream", "pool")
    action, *rest = (history.column(name) for name in names)
    if np.isin(action, _IN_PAGES).any():
        return []
    changes = np.flatnonzero(np.isin(action, (entries.SEGMENT, entries.SEGMENT_BACK)))
    for entry in changes[::-1].tolist():
        address, size, stream, of_pool = (int(column[entry]) for column in rest)
        if action[entry] == entries.SEGMENT:
            kept.pop(address, None)
        else:
            kept[address] = (address, size, stream, of_pool)
    return sorted(kept.values())


def start_entry(
    found: Sequence[tuple[int, int, int, int]],
    addresses: Sequence[int],
    streams: Mapping[int, int],
) -> dict[str, Any] | None:
    """Return the start for a trace's provenance, with the trace's stream numbers.

    `addresses` are the addresses of the objects that come first in the trace. Returns None without
    such objects, or if a segment has a stream that the trace lacks.
    """
    if not found or any(stream not in streams for _, _, stream, _ in found):
        return None
    return {
        "segments": [[at, size, streams[stream], pool] for at, size, stream, pool in found],
        "addresses": list(addresses),
    }
