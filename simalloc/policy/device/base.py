"""What every device allocator is described by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from simalloc.errors import PolicyError
from simalloc.policy.parts import Overhead

MIB: Final = 1 << 20
GIB: Final = 1 << 30
UNLIMITED: Final = 1 << 50
"""The bytes that a device without a capacity has: more than any program asks for."""


@dataclass(frozen=True, kw_only=True)
class Device:
    """An allocator of a device's memory; its constants are bytes, so it runs at scale 1.

    The device grants memory in multiples of 2 MiB while its capacity lasts. Each segment lies at
    the next higher address, and none is used twice: real ones differ, by 0.2 % of the peak at most.
    """

    family: ClassVar[str] = "device"
    runner: ClassVar[str] = "device"
    only_scale: ClassVar[int] = 1
    """Its constants are bytes."""
    mechanism: ClassVar[bool] = False
    """Headers and tables are kept in other memory."""
    overhead: ClassVar[Overhead] = Overhead()
    applied_overhead: ClassVar[Overhead] = Overhead()
    is_slow: ClassVar[bool] = False
    memalign: ClassVar[bool] = False
    looked_at: ClassVar[tuple[str, ...]] = ("stream", "pool")
    columns: ClassVar[tuple[str, ...]] = ()
    aligning: ClassVar[None] = None
    """Blocks have one alignment, of 256 or 512 bytes; no program asks for another."""

    capacity: Annotated[
        int, "Bytes of the device that the allocator can have; 0: as many as are asked for."
    ] = 0

    def __post_init__(self) -> None:
        if self.capacity < 0 or self.capacity > UNLIMITED:
            raise PolicyError(f"capacity is {self.capacity}; it takes 0 (no end) to {UNLIMITED}")

    @property
    def core(self) -> str:
        """The core's name of what carries the description out."""
        return self.family

    @property
    def available(self) -> int:
        """The bytes that the device has."""
        return self.capacity or UNLIMITED


def check_share(name: str, value: float, *, most: float = 1.0) -> None:
    """Raise `PolicyError` unless a parameter lies between 0 and `most`."""
    if not math.isfinite(value) or not 0 <= value <= most:
        raise PolicyError(f"{name} is {value}; it takes a number from 0 to {most:g}")
