"""Blocks that tile segments, and what all allocators count of them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class Block:
    """A piece of a segment. Its neighbours are None at the ends of the segment."""

    address: int
    size: int
    stream: int = 0
    previous: Block | None = None
    next: Block | None = None
    in_use: bool = False
    """Also while it waits for another stream."""
    requested: int = 0
    """Bytes that the program asked for, while it is in use."""
    mapped: bool = True
    """False of addresses in an expandable segment that have no memory."""
    origin: int | None = None
    """Where the range of its expandable segment begins."""
    entered: int = 0
    """The searches of its pool when it entered it."""
    users: set[int] = field(default_factory=set)
    """Other streams that use it."""

    @property
    def expandable(self) -> bool:
        """Whether it lies in a range of which pages are mapped."""
        return self.origin is not None

    @property
    def whole(self) -> bool:
        """Whether it is all of its segment."""
        return self.previous is None and self.next is None

    def cut(self, size: int) -> Block:
        """Shorten the block to `size`, and return the rest, which comes behind it."""
        rest = Block(
            self.address + size,
            self.size - size,
            self.stream,
            previous=self,
            next=self.next,
            mapped=self.mapped,
            origin=self.origin,
        )
        if self.next is not None:
            self.next.previous = rest
        self.next, self.size = rest, size
        return rest

    def absorb(self, neighbour: Block) -> None:
        """Take in the block before or behind this one."""
        if neighbour is self.previous:
            self.address, self.previous = neighbour.address, neighbour.previous
            if self.previous is not None:
                self.previous.next = self
        else:
            self.next = neighbour.next
            if self.next is not None:
                self.next.previous = self
        self.size += neighbour.size


@dataclass
class Gauge:
    """A figure that rises and falls."""

    now: int = 0
    peak: int = 0

    def add(self, amount: int) -> None:
        """Change it."""
        self.now += amount
        self.peak = max(self.peak, self.now)


@dataclass
class PooledGauge(Gauge):
    """A figure of all pools, and of the large and the small ones apart."""

    large: Gauge = field(default_factory=Gauge)
    small: Gauge = field(default_factory=Gauge)

    def change(self, amount: int, *, small: bool) -> None:
        """Change the figure of the large or the small pools, and of all."""
        (self.small if small else self.large).add(amount)
        self.add(amount)


@dataclass
class Statistics:
    """What `torch.cuda.memory_stats` calls by these names, in bytes; and counts."""

    requested: PooledGauge = field(default_factory=PooledGauge)
    allocated: PooledGauge = field(default_factory=PooledGauge)
    active: PooledGauge = field(default_factory=PooledGauge)
    reserved: PooledGauge = field(default_factory=PooledGauge)
    inactive_split: PooledGauge = field(default_factory=PooledGauge)
    segment: PooledGauge = field(default_factory=PooledGauge)
    oversize_allocations: Gauge = field(default_factory=Gauge)
    oversize_segments: Gauge = field(default_factory=Gauge)
    segments: int = 0
    """Segments that were ever taken."""
    largest: int = 0
    """The largest block that was ever in use."""
    retries: int = 0
    ooms: int = 0
    splits: int = 0
    coalescings: int = 0
    at_peak: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Reserved, requested, active and inactive_split when reserved first had its peak."""

    def reported(self) -> dict[str, int]:
        """Return all of it by the names under which it is reported."""
        gauges: dict[str, Gauge] = {
            "oversize_allocations": self.oversize_allocations,
            "oversize_segments": self.oversize_segments,
        }
        for name in ("requested", "allocated", "active", "reserved", "inactive_split", "segment"):
            pools, told = getattr(self, name), name if name == "segment" else f"{name}_bytes"
            gauges |= {
                f"{told}.all": pools,
                f"{told}.large_pool": pools.large,
                f"{told}.small_pool": pools.small,
            }
        current = {f"{name}.current": gauge.now for name, gauge in gauges.items()}
        return current | {
            **{f"{name}.peak": gauge.peak for name, gauge in gauges.items()},
            "segments": self.segments,
            "retries": self.retries,
            "largest": self.largest,
            "requested_bytes_at_peak": self.at_peak[1],
            "active_bytes_at_peak": self.at_peak[2],
            "inactive_split_bytes_at_peak": self.at_peak[3],
        }

    def note_peak(self) -> None:
        """Keep what the bytes are for, if more is reserved than ever."""
        if self.reserved.now > self.at_peak[0]:
            gauges = self.reserved, self.requested, self.active, self.inactive_split
            self.at_peak = gauges[0].now, gauges[1].now, gauges[2].now, gauges[3].now

    def hand_out(self, size: int, requested: int, *, small: bool = False) -> None:
        """Count a block that comes into use."""
        self.allocated.change(size, small=small)
        self.active.change(size, small=small)
        self.requested.change(requested, small=small)
        self.largest = max(self.largest, size)

    def take_back(self, size: int, requested: int) -> None:
        """Count a block that was freed and waits for nothing, where pools are not told apart."""
        self.allocated.change(-size, small=False)
        self.active.change(-size, small=False)
        self.requested.change(-requested, small=False)

    def take_segment(self, size: int, *, small: bool = False) -> None:
        """Count a segment that was taken from the device."""
        self.reserved.change(size, small=small)
        self.segment.change(1, small=small)
        self.segments += 1

    def give_segment_back(self, size: int, *, small: bool = False) -> None:
        """Count a segment that was given back to the device."""
        self.reserved.change(-size, small=small)
        self.segment.change(-1, small=small)
