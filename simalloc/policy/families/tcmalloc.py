"""gperftools' tcmalloc, the minimal library, releases 2.10 and 2.18."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Amount, Count, Overhead, PowerOfTwo, Range


class TcmallocVersion(Enum):
    """Releases whose rules are known."""

    V2_18 = "2.18"
    V2_10 = "2.10"


@dataclass(frozen=True)
class Tcmalloc(HeapFamily):
    """A cache per thread, over central lists of spans, over a heap of pages."""

    family: ClassVar[str] = "tcmalloc"
    reference: ClassVar[str] = "tcmalloc.tcmalloc:TcmallocHeap"
    columns: ClassVar[tuple[str, ...]] = ("alignment", "thread")
    writes_itself: ClassVar[bool] = True

    version: Annotated[TcmallocVersion, "Release of gperftools."] = TcmallocVersion.V2_18
    page: Annotated[
        int,
        PowerOfTwo(4096, 256 * 1024),
        "Page size, a choice of the library's build. Spans consist of whole pages.",
    ] = 8192
    release_rate: Annotated[
        float,
        "After a return of n free pages to the system, n * 1000 / release_rate pages are "
        "freed before the next return; 0: pages are never returned. At most six decimals.",
    ] = 1.0
    aggressive_decommit: Annotated[
        bool, "Return each span to the system as soon as it is free."
    ] = False
    max_total_thread_cache_bytes: Annotated[
        Amount, "Maximum total bytes in all thread caches, limited to the range from 512K to 1G."
    ] = 32 << 20
    transfer_num_obj: Annotated[
        int,
        Count(2, 128),
        "Maximum number of blocks that move at once between a thread cache and the central lists.",
    ] = 32
    heap_limit_mb: Annotated[
        int,
        Count(0, 1 << 24),
        "Maximum MiB that are taken from the system and not returned; 0: no limit.",
    ] = 0
    heap_start: Annotated[
        int,
        Range(0, 1 << 47, 4096),
        "Address at which the program's break begins. It affects only alignments of more "
        "than a page.",
    ] = 0x55555555A000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.release_rate <= 1_000_000:
            raise PolicyError(f"release_rate is {self.release_rate}; use 0 to 1000000")

    @property
    def library_bytes(self) -> int:
        """Data of Debian's libtcmalloc_minimal.so.4 in both releases: its central lists."""
        return 1680 << 10 if self.mechanism else 0

    @property
    def overhead(self) -> Overhead:
        """No overhead: blocks have no headers."""
        return Overhead()

    def core_parameters(self) -> dict[str, int | str]:
        """Return all parameters in the core's form; the release rate is in millionths."""
        return super().core_parameters() | {"release_rate": round(self.release_rate * 1_000_000)}
