"""TensorFlow's BFC allocator, ONNX Runtime's arena, RAPIDS' pool, and direct allocation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import floor
from typing import Annotated, ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.device.base import MIB, UNLIMITED, Device, check_share
from simalloc.policy.parts import check_unit


@dataclass(frozen=True, kw_only=True)
class Bfc(Device):
    """Best fit with coalescing in regions that double (TensorFlow, XLA, JAX).

    JAX is `bfc:growth=off,collection=off,fraction=0.75,capacity=...`.
    """

    family: ClassVar[str] = "bfc"
    reference: ClassVar[str] = "device.regions:BfcHeap"

    fraction: Annotated[float, "Share of the capacity that the allocator may reserve."] = 1.0
    growth: Annotated[
        bool, "Allocate regions on demand; off: allocate one region with all available bytes."
    ] = True
    collection: Annotated[
        bool, "Return wholly free regions to the device before a request is refused."
    ] = True
    split_fraction: Annotated[
        float,
        "Minimum remainder that is always split off, as a share of the limit; 0: 128 MiB.",
    ] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("fraction", self.fraction)
        check_share("split_fraction", self.split_fraction)
        if not self.capacity and (not self.growth or self.fraction < 1):
            raise PolicyError("bfc with growth=off or with a fraction below 1 needs a capacity")

    @property
    def limit(self) -> int:
        """Maximum total of reserved bytes."""
        return floor(self.fraction * self.capacity) if self.capacity else UNLIMITED

    @property
    def always_split(self) -> int:
        """Minimum bytes of a remainder that is always split off."""
        return floor(self.split_fraction * self.limit) if self.split_fraction else 128 * MIB

    def _own_parameters(self) -> dict[str, int]:
        names = "limit", "always_split", "growth", "collection"
        return {name: getattr(self, name) for name in names}


class Extend(Enum):
    """Rule by which ONNX Runtime's arena grows (`arena_extend_strategy` 0 and 1)."""

    NEXT_POWER_OF_TWO = "next-power-of-two"
    SAME_AS_REQUESTED = "same-as-requested"


@dataclass(frozen=True, kw_only=True)
class OrtArena(Device):
    """ONNX Runtime's arena: BFC with other steps, without distinguishing streams."""

    family: ClassVar[str] = "ort arena"
    reference: ClassVar[str] = "device.regions:OrtArenaHeap"

    extend: Annotated[
        Extend,
        "`arena_extend_strategy`: regions of a growing step, or regions of the request's size.",
    ] = Extend.NEXT_POWER_OF_TWO
    initial_chunk: Annotated[int, "`initial_chunk_size_bytes`: bytes of the first growth step."] = (
        MIB
    )
    initial_growth: Annotated[
        int,
        "`initial_growth_chunk_size_bytes`: bytes of the growth step after regions were returned.",
    ] = 2 * MIB
    max_dead: Annotated[
        int,
        "`max_dead_bytes_per_chunk`: a remainder of at least this many bytes is always split off.",
    ] = 128 * MIB
    max_extend: Annotated[
        int, "`max_power_of_two_extend_bytes`: maximum bytes of a growth step."
    ] = 1024 * MIB

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("initial_chunk", "initial_growth", "max_dead", "max_extend"):
            check_unit(name, getattr(self, name))

    @property
    def limit(self) -> int:
        """Maximum total of reserved bytes."""
        return self.available

    def _own_parameters(self) -> dict[str, int]:
        names = "limit", "max_dead", "initial_chunk", "initial_growth", "max_extend"
        doubling = self.extend is Extend.NEXT_POWER_OF_TWO
        return {name: getattr(self, name) for name in names} | {"doubling": doubling}


@dataclass(frozen=True, kw_only=True)
class RmmPool(Device):
    """The pool of the RAPIDS Memory Manager: best fit in a list for each stream.

    Without a maximum, the pool grows by doubling and never shrinks. With a maximum, it grows by
    half of the remaining bytes, and returns free segments to the device.
    """

    family: ClassVar[str] = "rmm pool"
    reference: ClassVar[str] = "rmm_pool:RmmPoolHeap"
    columns: ClassVar[tuple[str, ...]] = ("stream",)

    initial: Annotated[int, "Bytes reserved at the start."] = 0
    maximum: Annotated[int, "Maximum total of reserved bytes; 0: no limit."] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.initial < 0 or self.maximum < 0 or 0 < self.maximum < self.initial:
            raise PolicyError(
                f"initial is {self.initial} and maximum is {self.maximum}; both take at least 0 "
                "bytes, and a maximum above 0 must be at least initial"
            )

    def _own_parameters(self) -> dict[str, int]:
        return {"initial": self.initial, "maximum": self.maximum}


@dataclass(frozen=True, kw_only=True)
class NoCache(Device):
    """Every request allocates from the device, and every free returns memory to it."""

    family: ClassVar[str] = "no cache"
    reference: ClassVar[str] = "no_cache:NoCacheHeap"
