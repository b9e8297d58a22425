"""The clairvoyant: it knows the whole trace before it places anything."""

from dataclasses import dataclass
from typing import ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.families.base import HeapFamily


@dataclass(frozen=True)
class Offline(HeapFamily):
    """A placement found for the whole trace; `simalloc.bound` finds it."""

    family: ClassVar[str] = "offline"
    runner: ClassVar[str] = "offline"
    reference: ClassVar[str] = ""
    """It places no object after the other; its definition is `simalloc.bound.reference`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quick or self.cache:
            name = "quick" if self.quick else "cache"
            raise PolicyError(
                f"{name} is {getattr(self, name)}; offline placement keeps no block back"
            )
        if self.count_frees:
            raise PolicyError("count_frees is on; an offline placement searches for nothing")
        if self.capacity:
            raise PolicyError(
                f"capacity is {self.capacity}; an offline placement refuses nothing. `simalloc "
                "best-possible --capacity` decides if a trace fits"
            )
