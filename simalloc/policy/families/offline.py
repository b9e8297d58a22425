"""Offline placement, which knows the whole trace before it places an object."""

from dataclasses import dataclass
from typing import ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.families.base import HeapFamily


@dataclass(frozen=True)
class Offline(HeapFamily):
    """A placement for the whole trace, computed by `simalloc.bound`."""

    family: ClassVar[str] = "offline"
    runner: ClassVar[str] = "offline"
    reference: ClassVar[str] = ""
    """Objects are not placed one by one; the definition is `simalloc.bound.reference`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quick or self.cache:
            name = "quick" if self.quick else "cache"
            raise PolicyError(
                f"{name} is {getattr(self, name)}; use 0, because no freed block "
                "waits in an offline placement"
            )
        if self.count_frees:
            raise PolicyError(
                "count_frees is on; leave it off, because an offline placement has no "
                "searches to count"
            )
        if self.capacity:
            raise PolicyError(
                f"capacity is {self.capacity}; use 0, because an offline placement "
                "refuses no request. `simalloc best-possible --capacity` decides if a trace "
                "fits"
            )
