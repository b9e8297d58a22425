"""PyTorch's caching allocator: its settings, as parameters and as PyTorch's text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import floor
from typing import Annotated, ClassVar, Final, NamedTuple

from simalloc.errors import PolicyError
from simalloc.policy.device.alloc_conf import parse_divisions, parse_settings, range_length
from simalloc.policy.device.base import MIB, UNLIMITED, Device, check_share
from simalloc.policy.parts import Value

_NO_LIMIT: Final = 2**63 - 1


class PyTorchRules(NamedTuple):
    """The settings in the form that the rules need; sizes in bytes, None for no limit."""

    divisions: tuple[int, ...]
    """Number of divisions of a power of two, for each of 16 size intervals; 0 for no division."""
    max_split: int | None
    """Minimum size of blocks that are never split."""
    non_split_rounding: int
    """Maximum difference between a block that is never split and the request that it serves."""
    large_segment: int
    allowed: int | None
    """Maximum total of reserved bytes."""
    collected_above: int | None
    """Reserved bytes above which old blocks are returned to the device."""
    expandable: bool
    range: int
    """Length of a range of expandable segments, before it is rounded up to whole pages."""


@dataclass(frozen=True, kw_only=True)
class PyTorch(Device):
    """PyTorch's caching allocator of CUDA memory (2.15; earlier versions differ in limits).

    Parameters have the names of `PYTORCH_ALLOC_CONF`. `settings` is the text of that variable and
    takes precedence.
    """

    family: ClassVar[str] = "pytorch"
    reference: ClassVar[str] = "pytorch.pytorch:PyTorchHeap"
    columns: ClassVar[tuple[str, ...]] = ("stream", "pool")

    fraction: Annotated[
        float, "`per_process_memory_fraction`: share of the capacity that may be reserved."
    ] = 1.0
    max_split_size_mb: Annotated[
        int, "Blocks of at least this many MiB are never split; 0: blocks of any size are split."
    ] = 0
    max_non_split_rounding_mb: Annotated[
        int,
        "Maximum MiB by which an unsplit block exceeds its request; 0: `large_segment_size_mb`.",
    ] = 0
    large_segment_size_mb: Annotated[int, "MiB of the segments for requests of 1 to 10 MiB."] = 20
    roundup_power2_divisions: Annotated[
        str,
        "Number of steps between powers of two to which sizes are rounded, such as `4` or "
        "`[64:8,256:4,>:1]`.",
    ] = ""
    garbage_collection_threshold: Annotated[
        float,
        "Share of the reservable bytes above which old blocks are returned before new "
        "segments are reserved.",
    ] = 0.0
    expandable_segments: Annotated[
        bool, "Map pages into one address range instead of reserving segments."
    ] = False
    expandable_segments_reserve: Annotated[
        str,
        "Length of this address range: a share of `total` such as `0.5`, or GiB such as "
        "`40G`; empty: the maximum.",
    ] = ""
    total: Annotated[
        int,
        "Bytes of the whole device, from which fractions and ranges are calculated; 0: the "
        "capacity.",
    ] = 0
    settings: Annotated[
        str, "Text of PYTORCH_ALLOC_CONF, which overrides the other parameters."
    ] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.rules  # noqa: B018 - raises an error in the settings

    @cached_property
    def resolved(self) -> PyTorch:
        """The same description with `settings` applied to the parameters."""
        given: dict[str, Value] = parse_settings(self.settings) if self.settings else {}
        if not given:
            return self
        # parse_settings() has read each value with its field's type.
        return replace(self, settings="", **given)  # type: ignore[arg-type]

    @cached_property
    def rules(self) -> PyTorchRules:
        """Rules of these settings; raises `PolicyError` for contradictory settings."""
        return self.resolved._own_rules()  # noqa: SLF001 - of another of this class

    def _own_parameters(self) -> dict[str, int]:
        rules = self.rules._asdict()
        divisions = {f"divisions.{i}": each for i, each in enumerate(rules.pop("divisions"))}
        limits = {name: _NO_LIMIT if value is None else value for name, value in rules.items()}
        return divisions | limits

    def _own_rules(self) -> PyTorchRules:
        large = self.large_segment_size_mb
        if not 10 < large < 1 << 20:
            raise PolicyError(f"large_segment_size_mb is {large}; use 11 to {(1 << 20) - 1}")
        for name in ("max_split_size_mb", "max_non_split_rounding_mb"):
            if getattr(self, name) and not large <= getattr(self, name) < 1 << 40:
                raise PolicyError(f"{name} is {getattr(self, name)}; use {large} or more")
        check_share("per_process_memory_fraction", self.fraction)
        check_share("garbage_collection_threshold", self.garbage_collection_threshold)
        total = self.total or self.available
        if not self.available <= total <= UNLIMITED:
            raise PolicyError(
                f"total is {total}; it needs a capacity of at most this size, but capacity is "
                f"{self.capacity}"
            )
        if self.fraction < 1 and not self.capacity:
            raise PolicyError("a memory fraction is a share of the capacity; set capacity too")
        allowed = floor(self.fraction * total) if self.fraction < 1 else None
        collects = allowed is not None and self.garbage_collection_threshold > 0
        return PyTorchRules(
            divisions=parse_divisions(self.roundup_power2_divisions),
            max_split=self.max_split_size_mb * MIB or None,
            non_split_rounding=(self.max_non_split_rounding_mb or large) * MIB,
            large_segment=large * MIB,
            allowed=allowed,
            collected_above=floor(self.garbage_collection_threshold * allowed)
            if collects and allowed is not None
            else None,
            expandable=self.expandable_segments,
            range=range_length(self.expandable_segments_reserve, total),
        )
