"""Statistics that all allocators of device memory keep."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Gauge:
    """A number that rises and falls, and its peak."""

    now: int = 0
    peak: int = 0

    def add(self, amount: int) -> None:
        """Change the number by `amount`."""
        self.now += amount
        self.peak = max(self.peak, self.now)


@dataclass
class PooledGauge(Gauge):
    """A number for all pools, and separately for the large and the small pools."""

    large: Gauge = field(default_factory=Gauge)
    small: Gauge = field(default_factory=Gauge)

    def change(self, amount: int, *, small: bool) -> None:
        """Change the number of the large or the small pools, and the total."""
        (self.small if small else self.large).add(amount)
        self.add(amount)


@dataclass
class DeviceStatistics:
    """Bytes and counts by their names in `torch.cuda.memory_stats`."""

    requested: PooledGauge = field(default_factory=PooledGauge)
    allocated: PooledGauge = field(default_factory=PooledGauge)
    active: PooledGauge = field(default_factory=PooledGauge)
    reserved: PooledGauge = field(default_factory=PooledGauge)
    inactive_split: PooledGauge = field(default_factory=PooledGauge)
    segment: PooledGauge = field(default_factory=PooledGauge)
    oversize_allocations: Gauge = field(default_factory=Gauge)
    oversize_segments: Gauge = field(default_factory=Gauge)
    segments: int = 0
    """Number of segments ever taken."""
    largest: int = 0
    """Size of the largest block ever in use."""
    retries: int = 0
    device_alloc: int = 0
    """Number of calls that took memory: a segment, or any number of pages."""
    device_free: int = 0
    at_peak: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Values of reserved, requested, active and inactive_split at the first peak of reserved."""

    def reported(self) -> dict[str, int]:
        """Return all statistics by their names in the report."""
        gauges: dict[str, Gauge] = {
            "oversize_allocations": self.oversize_allocations,
            "oversize_segments": self.oversize_segments,
        }
        for name in ("requested", "allocated", "active", "reserved", "inactive_split", "segment"):
            pools, label = getattr(self, name), name if name == "segment" else f"{name}_bytes"
            gauges |= {
                f"{label}.all": pools,
                f"{label}.large_pool": pools.large,
                f"{label}.small_pool": pools.small,
            }
        current = {f"{name}.current": gauge.now for name, gauge in gauges.items()}
        return current | {
            **{f"{name}.peak": gauge.peak for name, gauge in gauges.items()},
            "segments": self.segments,
            "device_alloc": self.device_alloc,
            "device_free": self.device_free,
            "retries": self.retries,
            "largest": self.largest,
            "requested_bytes_at_peak": self.at_peak[1],
            "active_bytes_at_peak": self.at_peak[2],
            "inactive_split_bytes_at_peak": self.at_peak[3],
        }

    def note_peak(self) -> None:
        """Record the use of the reserved bytes at a new peak."""
        if self.reserved.now > self.at_peak[0]:
            gauges = self.reserved, self.requested, self.active, self.inactive_split
            self.at_peak = gauges[0].now, gauges[1].now, gauges[2].now, gauges[3].now

    def hand_out(self, size: int, requested: int, *, small: bool = False) -> None:
        """Count a block that becomes used."""
        self.allocated.change(size, small=small)
        self.active.change(size, small=small)
        self.requested.change(requested, small=small)
        self.largest = max(self.largest, size)

    def take_back(self, size: int, requested: int) -> None:
        """Count a freed block that waits for no stream, without distinguishing pools."""
        self.allocated.change(-size, small=False)
        self.active.change(-size, small=False)
        self.requested.change(-requested, small=False)
