"""A snapshot's history: the program's events, and the allocator's own actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import Op
from simalloc.trace.formats import pytorch_pickle as entries
from simalloc.trace.formats.pytorch_emptied import emptied

TAKES: Final = (entries.SEGMENT, entries.MAP)
GIVES: Final = (entries.SEGMENT_BACK, entries.UNMAP)
_GRANULE: Final = 2 << 20
"""Granularity of the segments that a device grants, in bytes."""


class LiveBlocks(NamedTuple):
    """Blocks in use when the snapshot was taken: int64 arrays with one entry per block."""

    address: NDArray[np.int64]
    size: NDArray[np.int64]
    stream: NDArray[np.int64]
    pool: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class History:
    """The history of one device. `rows` has shape (entries, 8); see `pytorch_pickle.FIELDS`."""

    rows: NDArray[np.int64]
    live: LiveBlocks
    reserved: int
    """Total bytes of segments when the snapshot was taken."""
    max_split: int = entries.MAX_NUMBER
    """Minimum size of blocks that are never split and serve only requests of at least this size."""

    def column(self, name: str) -> NDArray[np.int64]:
        """Return one field of all entries."""
        return self.rows[:, entries.FIELDS.index(name)]

    @cached_property
    def freed(self) -> int:
        """The action that ends an object: the completion of its free if the history has it."""
        action = self.column("action")
        ends = [each for each in (entries.COMPLETED, entries.FREE) if (action == each).any()]
        return ends[0] if ends else entries.REQUESTED

    def at_start(self) -> NDArray[np.int64]:
        """Return rows for the objects that were live before the first entry, by address.

        The first entry with such an object's address is its free. Without such an entry, the object
        is live when the snapshot is taken.
        """
        action, address = self.column("action"), self.column("address")
        stated = np.flatnonzero((action == entries.ALLOC) | (action == self.freed))
        known, first = np.unique(address[stated], return_index=True)
        rows = self.rows[stated[first[action[stated[first]] == self.freed]]]
        never = ~np.isin(self.live.address, known)
        silent = np.zeros((int(np.count_nonzero(never)), len(entries.FIELDS)), np.int64)
        for name, values in self.live._asdict().items():
            silent[:, entries.FIELDS.index(name)] = values[never]
        found = np.concatenate((rows, silent))
        found[:, entries.FIELDS.index("action")] = entries.ALLOC
        found[:, entries.FIELDS.index("site")] = 0
        found[:, entries.FIELDS.index("time")] = self.column("time")[:1].sum()
        return found[np.argsort(found[:, entries.FIELDS.index("address")], kind="stable")]

    def ops(self) -> NDArray[np.int64]:
        """Return the trace's op of each entry, or -1 if the entry is not an event."""
        action = self.column("action")
        ops = np.full(len(action), -1, np.int64)
        ops[(action == entries.ALLOC) | (action == entries.OOM)] = Op.MALLOC
        ops[action == self.freed] = Op.FREE
        ops[self.empties] = Op.EMPTY
        return ops

    @cached_property
    def empties(self) -> NDArray[np.int64]:
        """The entries with which the program began to empty the cache."""
        return emptied(self)

    @cached_property
    def returned(self) -> NDArray[np.int64]:
        """Runs of returned memory: the first entry and the entry after the last: (runs, 2)."""
        gives = (self.direction < 0).astype(np.int8)
        return np.flatnonzero(np.diff(gives, prepend=0, append=0)).reshape(-1, 2)

    @cached_property
    def reserved_before(self) -> NDArray[np.int64]:
        """The bytes of segments before each entry."""
        changes = self.changes
        before: NDArray[np.int64] = self.reserved - changes.sum() + np.cumsum(changes) - changes
        return before

    @cached_property
    def reserved_peak(self) -> int:
        """Maximum bytes of segments at any time."""
        return int(max(self.reserved, self.reserved_before.max(initial=0)))

    @cached_property
    def _first_reserved(self) -> int:
        return max(0, self.reserved - int(self.changes.sum()))

    @cached_property
    def changes(self) -> NDArray[np.int64]:
        """Change of the total bytes of segments by each entry."""
        return self.column("size") * self.direction

    @cached_property
    def direction(self) -> NDArray[np.int64]:
        """1 for an entry that takes device memory, -1 for an entry that returns it, otherwise 0."""
        action = self.column("action")
        return np.isin(action, TAKES).astype(np.int64) - np.isin(action, GIVES)

    def recorded(self) -> dict[str, int]:
        """Return the counts of the allocator's actions for the trace's provenance."""
        action = self.column("action")
        counts = np.bincount(action, minlength=entries.WRONG + 1)
        return {
            "first_reserved_bytes": self._first_reserved,
            "peak_reserved_bytes": self.reserved_peak,
            "final_reserved_bytes": self.reserved,
            **{entries.ACTIONS[each]: int(counts[each]) for each in (*TAKES, *GIVES, entries.OOM)},
            "empty_cache": len(self.empties),
            "made_room": len(self.returned) - len(self.empties),
            "granted_bytes": self.granted_bytes(),
            "device_bytes": self.device_bytes(),
            "total_bytes": self.total_bytes(),
        }

    def device_bytes(self) -> int:
        """Return the device's memory for the allocator at the first out-of-memory, or 0 if unknown.

        The memory is the sum of reserved and free memory. If the request would have fitted in it,
        another limit, such as a memory fraction, caused the refusal.
        """
        total = self.total_bytes()
        if not total:
            return 0
        out = self._outs[0]
        free, size = self.column("address")[out], self.column("size")[out]
        return total if 0 < free < size else 0

    def total_bytes(self) -> int:
        """Return reserved plus free memory at the first out-of-memory, or 0 without one."""
        if not len(self._outs):
            return 0
        out = self._outs[0]
        return int(self.reserved_before[out] + self.column("address")[out])

    def granted_bytes(self) -> int:
        """Return the maximum memory that the device ever granted, a multiple of 2 MiB."""
        sizes = -(-self.column("size") // _GRANULE) * _GRANULE
        return self._first_reserved + int(np.cumsum(sizes * self.direction).max(initial=0))

    @cached_property
    def _outs(self) -> NDArray[np.int64]:
        outs: NDArray[np.int64] = np.flatnonzero(self.column("action") == entries.OOM)
        return outs


def settings_text(settings: object) -> str:
    """Return a snapshot's settings as the text of PYTORCH_ALLOC_CONF.

    The snapshot contains the text if the user set it. Otherwise the text is composed of the values
    that are not the defaults.
    """
    if not isinstance(settings, dict):
        return ""
    for key in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        if isinstance(settings.get(key), str) and settings[key].strip():
            return str(settings[key]).strip()
    parts = []
    split, threshold = settings.get("max_split_size"), settings.get("garbage_collection_threshold")
    if type(split) is int and 0 < split < 1 << 50:
        parts.append(f"max_split_size_mb:{split >> 20}")
    if isinstance(threshold, float) and 0 < threshold < 1:
        parts.append(f"garbage_collection_threshold:{threshold:g}")
    if settings.get("expandable_segments") is True:
        parts.append("expandable_segments:True")
    divisions = settings.get("roundup_power2_divisions")
    if isinstance(divisions, dict) and any(divisions.values()):
        listed = ",".join(f"{mib}:{number}" for mib, number in divisions.items())
        parts.append(f"roundup_power2_divisions:[{listed}]")
    return ",".join(parts)


def max_split(settings: object) -> int:
    """Return the minimum size of never-split blocks under a snapshot's settings, in bytes."""
    size = settings.get("max_split_size") if isinstance(settings, dict) else None
    return size if type(size) is int and 0 < size < entries.MAX_NUMBER else entries.MAX_NUMBER


def live_blocks(segments: Sequence[Any], device: int, pool: Any) -> tuple[LiveBlocks, int]:
    """Return the blocks in use on a device, and the bytes reserved.

    `pool` numbers a pool's id. A value that does not match a snapshot's layout may raise any error.
    """
    blocks: list[tuple[int, int, int, int]] = []
    reserved = 0
    for segment in segments:
        if segment.get("device", device) != device:
            continue
        reserved += _number(segment["total_size"])
        number = pool(segment.get("segment_pool_id"))
        stream = _number(segment.get("stream", 0))
        at = _number(segment["address"])
        for block in segment["blocks"]:
            address = _number(block.get("address", at))
            if block["state"] != "inactive":
                size = _number(block.get("requested_size", block["size"]))
                blocks.append((address, size, stream, number))
            at = address + _number(block["size"])
    columns = np.array(blocks, np.int64).reshape(-1, 4).T
    return LiveBlocks(*columns), _number(reserved)


def _number(found: object) -> int:
    if type(found) is not int or not 0 <= found < entries.MAX_NUMBER:
        raise ValueError(f"{found!r:.40} is not a size or address")
    return found
