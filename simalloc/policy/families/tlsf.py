"""Two-level segregated fit."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Aligning, Amount, Overhead, Unit
from simalloc.policy.parts.tlsf_lists import block_bytes, control_bytes, core_parameters


@dataclass(frozen=True)
class Tlsf(HeapFamily):
    """Lists by size, 32 per doubling; a request uses the first list whose blocks all fit."""

    family: ClassVar[str] = "tlsf"
    reference: ClassVar[str] = "tlsf:TlsfHeap"

    growth: Annotated[
        Unit,
        "The heap grows by multiples of this. A free block that ends at the break counts "
        "towards the growth.",
    ] = 1
    minimum_split: Annotated[
        Unit,
        "A remainder smaller than this is not split off; with mechanism=on, the minimum is "
        "four words.",
    ] = 1
    pool2: Annotated[
        Amount,
        "Bytes of a second pool, in addition to the pool of `capacity` bytes; 0: no second pool.",
    ] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_pool:
            if self.pool2:
                raise PolicyError(f"pool2 is {self.pool2}; it needs a capacity and mechanism=on")
            return
        if self.quick or self.cache or self.count_frees:
            raise PolicyError(
                "tlsf with a capacity and mechanism=on does not support quick, cache and "
                "count_frees; leave them out"
            )
        if max(self.capacity, self.pool2) > self._top:
            raise PolicyError(f"a pool of tlsf can have at most {self._top} bytes")

    @property
    def is_pool(self) -> bool:
        """True if the memory is a pool of fixed size, as in the real allocator."""
        return self.mechanism and self.capacity > 0

    @property
    def recordings(self) -> bool:  # type: ignore[override]
        """True for a pool, which has recordings instead of a reference engine."""
        return self.is_pool

    @property
    def core(self) -> str:
        """Name of the core's implementation; a pool has other rules at its end."""
        return "tlsf pool" if self.is_pool else self.family

    @property
    def only_scale(self) -> int:  # type: ignore[override]
        """1 for a pool, whose constants are bytes; else 0."""
        return 1 if self.is_pool else 0

    @property
    def grain(self) -> int:
        """Unit of the capacity: pools whose sizes round down to the same multiple are alike."""
        return self.word if self.mechanism else 1

    @property
    def has_more_memory(self) -> bool:
        """True if the allocator has memory besides the pool."""
        return self.pool2 > 0

    def block_bytes(self, size: int) -> int:
        """Return the bytes of the smallest block of a pool that can hold an object."""
        return block_bytes(self.word, size) if self.is_pool else size

    @property
    def _doublings(self) -> int:
        return 24 if self.word == 4 else 25

    @property
    def _top(self) -> int:
        """Exclusive maximum of block sizes."""
        return 1 << (30 if self.word == 4 else 32)

    @property
    def read_columns(self) -> tuple[str, ...]:
        """Optional columns that a placement depends on; a pool has its own alignment rules."""
        return ("alignment",) if self.is_pool else super().read_columns

    def core_parameters(self) -> dict[str, int | str]:
        """Return the parameters by the core's names."""
        if not self.is_pool:
            parameters = super().core_parameters()
            return {name: parameters[name] for name in parameters if name != "pool2"}
        given = core_parameters(control=self.table, top=self._top)
        return (
            HeapFamily().core_parameters()
            | given
            | {"word": self.word, "pool_bytes": self.capacity, "skew": 0, "second": self.pool2}
        )

    @property
    def overhead(self) -> Overhead:
        """Overhead: a size word; a free block has two links and, behind it, its own address."""
        word = self.word
        return Overhead(header=word, alignment=word, minimum=4 * word)

    @property
    def table(self) -> int:
        """Bytes in front of the pool (bitmaps and list heads), and of the last header.

        Read in the source: an empty block of four words, 4 bytes for each of the first levels and 4
        more, 32 heads for each; there are 24 levels with 4-byte words, or 25 with 8-byte words.
        """
        return control_bytes(self.word, self._doublings, 5)

    @property
    def aligning(self) -> Aligning:
        """Rule for requested alignments: a larger block is taken, and its excess is freed."""
        unit = self.applied_overhead.alignment
        grain = self.growth if unit % self.growth else unit  # 1: the requested size
        return self.cutting(grain, self.minimum_split)
