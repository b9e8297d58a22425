"""What a device allocator's replay is measured by, in either engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from simalloc.policy.device import Bfc, OrtArena, PyTorch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from simalloc.policy.device import Device

_POOLS: Final = ("all", "large_pool", "small_pool")


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
    memory_stats: Mapping[str, int | float] = field(default_factory=dict)
    """What the allocator reports of itself after the run, by its own names (`own_figures`)."""


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


def own_figures(
    description: Device,
    figures: Mapping[str, Sequence[int]],
    *,
    largest: int,
    largest_free: int,
) -> dict[str, int | float]:
    """Return what an allocator reports of itself after a run, by its own names; bytes and counts.

    PyTorch's are keys of `torch.cuda.memory_stats`. `figures` has of each what it is now and was at
    its peak: of all pools, the large and the small ones, or of all alone. The sizes of the
    `largest` block that was ever in use and of the largest free one are for BFC's.
    """
    if isinstance(description, PyTorch):
        return _memory_stats(figures)
    if not isinstance(description, (Bfc, OrtArena)):
        return {}
    in_use, peak_in_use = figures["allocated_bytes"][:2]
    pool, peak_pool = figures["reserved_bytes"][:2]
    free = pool - in_use
    return {
        "bytes_in_use": in_use,
        "peak_bytes_in_use": peak_in_use,
        "pool_bytes": pool,
        "peak_pool_bytes": peak_pool,
        "largest_alloc_size": largest,
        "fragmentation": (free - largest_free) / free if free else 0.0,
    }


def _memory_stats(figures: Mapping[str, Sequence[int]]) -> dict[str, int | float]:
    stats: dict[str, int | float] = {}
    for name, values in figures.items():
        pools = [f"{name}.{pool}" for pool in _POOLS] if len(values) > 2 else [name]
        for pool, current, peak in zip(pools, values[::2], values[1::2], strict=True):
            stats[f"{pool}.current"], stats[f"{pool}.peak"] = current, peak
    return dict(sorted(stats.items()))
