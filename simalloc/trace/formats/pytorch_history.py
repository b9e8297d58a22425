"""What a snapshot's history says: the program's events, and what the allocator did besides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.formats import pytorch_pickle as entries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_TAKES: Final = (entries.SEGMENT, entries.MAP)
_GIVES: Final = (entries.SEGMENT_BACK, entries.UNMAP)


class LiveBlocks(NamedTuple):
    """Blocks in use when the snapshot was taken; arrays (int64) with an entry a block."""

    address: NDArray[np.int64]
    size: NDArray[np.int64]
    stream: NDArray[np.int64]
    pool: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class History:
    """What happened on one device. `rows` has shape (entries, 8), see `pytorch_pickle.FIELDS`."""

    rows: NDArray[np.int64]
    live: LiveBlocks
    reserved: int
    """Bytes of segments when the snapshot was taken."""

    def column(self, name: str) -> NDArray[np.int64]:
        """Return one of the fields, of all entries."""
        return self.rows[:, entries.FIELDS.index(name)]

    @property
    def freed(self) -> int:
        """Which action ends an object: that of the free's end, if the history tells of it."""
        action = self.column("action")
        told = [each for each in (entries.COMPLETED, entries.FREE) if (action == each).any()]
        return told[0] if told else entries.REQUESTED

    def at_start(self) -> NDArray[np.int64]:
        """Return rows for the objects that were live before the first entry, by address.

        The first that is told of an object's address is then its free; or nothing is, and it is
        live when the snapshot is taken.
        """
        action, address = self.column("action"), self.column("address")
        told = np.flatnonzero((action == entries.ALLOC) | (action == self.freed))
        known, first = np.unique(address[told], return_index=True)
        rows = self.rows[told[first[action[told[first]] == self.freed]]]
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
        """Return the op of each entry as a trace has it, -1 of those that are no event of it."""
        action = self.column("action")
        ops = np.full(len(action), -1, np.int64)
        ops[(action == entries.ALLOC) | (action == entries.OOM)] = Op.MALLOC
        ops[action == self.freed] = Op.FREE
        ops[self.empties()] = Op.EMPTY
        return ops

    def empties(self) -> NDArray[np.int64]:
        """Return the entries with which the program began to empty the cache.

        Frames tell. Without them, what was given back in a row is the program's unless it was to
        make room: a request follows that could not be served, or that took a segment for which,
        before, there may not have been room, as more had never been reserved.
        """
        action = np.append(self.column("action"), entries.NO_EVENT)
        gives = np.isin(action, _GIVES)
        begins = np.flatnonzero(gives & ~np.append(False, gives[:-1]))
        if not len(begins):
            return begins
        told = self.column("empties")
        if (told[gives[:-1]] != entries.UNKNOWN).any():
            marked: NDArray[np.int64] = begins[told[begins] == 1]
            return marked
        ends = np.flatnonzero(~gives & np.append(False, gives[:-1]))
        before = np.append(self.reserved_before(), 0)
        size = np.append(self.column("size"), 0)
        takes = np.isin(action[ends], _TAKES)
        makes_room = takes & (before[begins] + size[ends] > self.reserved_peak())
        programs: NDArray[np.int64] = begins[~makes_room & (action[ends] != entries.OOM)]
        return programs

    def reserved_before(self) -> NDArray[np.int64]:
        """Return the bytes of segments before each entry."""
        changes = self._changes()
        before: NDArray[np.int64] = self.reserved - changes.sum() + np.cumsum(changes) - changes
        return before

    def reserved_peak(self) -> int:
        """Return the most that was ever reserved."""
        return int(max(self.reserved, self.reserved_before().max(initial=0)))

    def _changes(self) -> NDArray[np.int64]:
        action, size = self.column("action"), self.column("size")
        changes: NDArray[np.int64] = size * np.isin(action, _TAKES) - size * np.isin(action, _GIVES)
        return changes

    def recorded(self) -> dict[str, int]:
        """Return what the allocator did, for the trace's provenance."""
        action = self.column("action")
        counts = np.bincount(action, minlength=entries.WRONG + 1)
        return {
            "first_reserved_bytes": max(0, int(self.reserved - self._changes().sum())),
            "peak_reserved_bytes": self.reserved_peak(),
            "final_reserved_bytes": self.reserved,
            **{
                entries.ACTIONS[each]: int(counts[each]) for each in (*_TAKES, *_GIVES, entries.OOM)
            },
            "empty_cache": len(self.empties()),
            "device_bytes": self.device_bytes(),
        }

    def device_bytes(self) -> int:
        """Return what the device had for the allocator when memory was first out, 0 if unknown.

        That is what was reserved and what was free. Where the request would have fitted into that,
        something else refused it, such as a memory fraction.
        """
        outs = np.flatnonzero(self.column("action") == entries.OOM)
        if not len(outs):
            return 0
        free, size = self.column("address")[outs[0]], self.column("size")[outs[0]]
        return int(self.reserved_before()[outs[0]] + free) if 0 < free < size else 0


def settings_text(settings: object) -> str:
    """Return the settings that a snapshot tells, as the text of PYTORCH_ALLOC_CONF.

    The text is there if it was given; else it is made of those values that are not the usual ones.
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


def live_blocks(segments: Sequence[Any], device: int, pool: Any) -> tuple[LiveBlocks, int]:
    """Return the blocks in use on a device, and the bytes reserved.

    `pool` numbers a pool's id. What is not as snapshots have it raises an error of any kind.
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
    if type(found) is not int or not 0 <= found < entries.MOST:
        raise ValueError(f"{found!r:.40} is no size or address")
    return found
