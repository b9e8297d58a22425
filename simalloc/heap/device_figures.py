"""The figures of a device allocator's replay, in either engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simalloc.heap._core import Simulation
from simalloc.policy.device import Bfc, Device, OrtArena, PyTorch


@dataclass(frozen=True)
class DeviceFigures:
    """Figures of a device allocator in bytes, named as in `torch.cuda.memory_stats`.

    `peak_requested_bytes` is the peak of the requested bytes in use. `allocated` counts the bytes
    of the blocks that serve these requests. `active` also includes freed blocks that wait for
    another stream. `reserved` is the total taken from the device. `inactive_split` counts the free
    blocks in segments that are partly in use. `device_alloc` and `device_free` count calls to the
    device. `retries` counts how often the allocator returned all cached memory to the device to
    serve a request.
    """

    first_refused_event: int
    """Number, from 1 on, of the first refused request, or 0 if none was refused."""
    refused: int
    """Number of refused requests."""
    peak_requested_bytes: int
    peak_allocated_bytes: int
    peak_active_bytes: int
    peak_reserved_bytes: int
    final_reserved_bytes: int
    peak_inactive_split_bytes: int
    segments: int
    """Number of segments ever taken; mapped pages are not counted."""
    device_alloc: int
    device_free: int
    retries: int
    requested_bytes_at_peak: int
    """Requested, active and inactive split bytes when the reserved bytes first had their peak."""
    active_bytes_at_peak: int
    inactive_split_bytes_at_peak: int
    memory_stats: Mapping[str, int | float] = field(default_factory=dict)
    """The allocator's own statistics after the run, by its own names."""


def figures_of(simulation: Simulation, description: object) -> DeviceFigures | None:
    """Return the figures so far of a device allocator in the core, or None for a heap."""
    if not isinstance(description, Device):
        return None
    reported = dict(zip(simulation.figure_names(), simulation.report(), strict=True))
    counted = simulation.figures()
    return device_figures(description, reported, counted["refused"], counted["first_refused"])


def device_figures(
    description: Device, reported: Mapping[str, int], refused: int, first_refused: int
) -> DeviceFigures:
    """Build the figures from values named as in the core (families/device/device.c)."""
    return DeviceFigures(
        first_refused_event=first_refused,
        refused=refused,
        peak_requested_bytes=reported["requested_bytes.all.peak"],
        peak_allocated_bytes=reported["allocated_bytes.all.peak"],
        peak_active_bytes=reported["active_bytes.all.peak"],
        peak_reserved_bytes=reported["reserved_bytes.all.peak"],
        final_reserved_bytes=reported["reserved_bytes.all.current"],
        peak_inactive_split_bytes=reported["inactive_split_bytes.all.peak"],
        segments=reported["segments"],
        device_alloc=reported["device_alloc"],
        device_free=reported["device_free"],
        retries=reported["retries"],
        requested_bytes_at_peak=reported["requested_bytes_at_peak"],
        active_bytes_at_peak=reported["active_bytes_at_peak"],
        inactive_split_bytes_at_peak=reported["inactive_split_bytes_at_peak"],
        memory_stats=_own(description, reported),
    )


def _own(description: Device, reported: Mapping[str, int]) -> dict[str, int | float]:
    """Return the allocator's own statistics after a run, in bytes and counts, by its own names.

    PyTorch's names are the keys of `torch.cuda.memory_stats`.
    """
    if isinstance(description, PyTorch):
        return {name: reported[name] for name in sorted(reported) if "." in name}
    if not isinstance(description, (Bfc, OrtArena)):
        return {}
    in_use, pool = reported["allocated_bytes.all.current"], reported["reserved_bytes.all.current"]
    free = pool - in_use
    return {
        "bytes_in_use": in_use,
        "peak_bytes_in_use": reported["allocated_bytes.all.peak"],
        "pool_bytes": pool,
        "peak_pool_bytes": reported["reserved_bytes.all.peak"],
        "largest_alloc_size": reported["largest"],
        "fragmentation": (free - reported["largest_free"]) / free if free else 0.0,
    }
