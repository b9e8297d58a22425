"""What a device allocator's replay is measured by, in either engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class DeviceFigures:
    """What an allocator reports of itself, in bytes, under the names of `torch.cuda.memory_stats`.

    `peak_requested_bytes` is the most that was asked for and in use, `allocated` the blocks that it
    was served with, `active` these and those freed that wait for another stream, `reserved` all
    that was taken from the device, and `inactive_split` the free blocks in segments that are in use
    in part. `device_alloc` and `device_free` count calls to the device, `retries` how often all was
    given back to make room.
    """

    first_oom_event: int
    """The number, from 1 on, of the request that could not be served; 0: all were."""
    peak_requested_bytes: int
    peak_allocated_bytes: int
    peak_active_bytes: int
    peak_reserved_bytes: int
    final_reserved_bytes: int
    peak_inactive_split_bytes: int
    segments: int
    """Segments that were ever taken; pages are none."""
    device_alloc: int
    device_free: int
    retries: int
    ooms: int
    requested_bytes_at_peak: int
    """What the memory is for after the event at which reserved first had its peak: this, active,
    and of the rest what lies in segments that are in use in part."""
    active_bytes_at_peak: int
    inactive_split_bytes_at_peak: int


@dataclass(frozen=True, eq=False)
class DeviceReplay:
    """The states after each event that was carried out, and what was counted.

    The arrays have one entry an event (int64, bytes): `addresses` is -1 where the event leaves no
    object. If a request could not be served, it is the last event. `splits` and `coalescings` are
    those of blocks.
    """

    addresses: NDArray[np.int64]
    live: NDArray[np.int64]
    heap: NDArray[np.int64]
    allocated: NDArray[np.int64]
    free_blocks: NDArray[np.int64]
    figures: DeviceFigures
    calls: NDArray[np.int64]
    """What was taken from the device and given back, (calls, 3): the event that it served (from 0
    on), the address, and the bytes, below 0 if they were given back."""
    splits: int
    coalescings: int
    coalescing_frees: int
    """Frees in which a block was merged."""
