"""Base class of the descriptions of device allocators."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from simalloc.errors import PolicyError
from simalloc.policy.families.base import Family

MIB: Final = 1 << 20
GIB: Final = 1 << 30
GRANULE: Final = 2 * MIB
"""Alignment and unit of each allocation from the device, in bytes."""
UNLIMITED: Final = 1 << 50
"""Bytes of a device without a capacity: more than any program requests."""


@dataclass(frozen=True, kw_only=True)
class Device(Family):
    """An allocator of a device's memory; its constants are bytes, so it runs at scale 1.

    The device grants memory in multiples of 2 MiB until its capacity is used up. Each segment gets
    the next higher address, and no address is used twice. Real allocators differ, by at most 0.2 %
    of the peak.
    """

    family: ClassVar[str] = "device"
    runner: ClassVar[str] = "device"
    stops_when_refused: ClassVar[bool] = True
    only_scale: ClassVar[int] = 1
    """The constants are bytes."""

    capacity: Annotated[int, "Bytes of the device that the allocator may reserve; 0: no limit."] = 0

    def __post_init__(self) -> None:
        if self.capacity < 0 or self.capacity > UNLIMITED:
            raise PolicyError(f"capacity is {self.capacity}; use 0 (no limit) to {UNLIMITED}")

    def core_parameters(self) -> dict[str, int | str]:
        """Return the parameters by the core's names; parameters of heaps are not set."""
        return super().core_parameters() | {"capacity": self.capacity} | self._own_parameters()

    def _own_parameters(self) -> dict[str, int]:
        """Return the core's parameters of this allocator, except the capacity."""
        return {}

    @property
    def available(self) -> int:
        """Bytes of the device."""
        return self.capacity or UNLIMITED


def check_share(name: str, value: float) -> None:
    """Raise `PolicyError` unless a parameter is between 0 and 1."""
    if not math.isfinite(value) or not 0 <= value <= 1:
        raise PolicyError(f"{name} is {value}; use a number from 0 to 1")
