from typing import Any

import numpy as np
from numpy.typing import NDArray

SPAN_EVENTS: int  # number of events in a span (c/live_span.h)
SPAN_BYTES: int

class LiveSlots:
    @property
    def objects(self) -> int: ...
    @property
    def reallocs(self) -> int: ...
    @property
    def slots(self) -> int: ...
    @property
    def free_count(self) -> int: ...
    @property
    def allocated_bytes(self) -> int: ...
    @property
    def live_bytes(self) -> int: ...
    @property
    def max_live_bytes(self) -> int: ...

class LiveTable(LiveSlots):
    def __init__(self) -> None: ...
    def enter(
        self,
        op: NDArray[np.uint8],
        key: NDArray[np.int64],
        size: NDArray[np.int64],
        object: NDArray[np.int64],  # noqa: A002
        slot: NDArray[np.uint32],
        new_key: NDArray[np.int64] | None = None,
        /,
    ) -> tuple[int, int]: ...
    def enter_lenient(
        self,
        op: NDArray[np.uint8],
        key: NDArray[np.int64],
        size: NDArray[np.int64],
        new_key: NDArray[np.int64] | None,
        kept_op: NDArray[np.uint8],
        object: NDArray[np.int64],  # noqa: A002
        kept_size: NDArray[np.int64],
        slot: NDArray[np.uint32],
        source: NDArray[np.int64],
        /,
    ) -> tuple[int, int, int, dict[int, tuple[int, int]]]: ...

class Lives:
    def __init__(self, slots: int) -> None: ...
    @property
    def reallocated(self) -> int: ...
    @property
    def max_reallocs(self) -> int: ...
    def enter(
        self,
        op: NDArray[np.uint8],
        size: NDArray[np.int64],
        slot: NDArray[np.uint32],
        mark: NDArray[np.int64] | None,
        ended: NDArray[np.void],
        completed: NDArray[np.void],
        /,
    ) -> tuple[int, int]: ...
    def finish(
        self, most: int, ended: NDArray[np.void], completed: NDArray[np.void], /
    ) -> tuple[int, int]: ...
    def sums(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]: ...

class Decoder(LiveSlots):
    def __init__(self, ring: NDArray[np.uint32]) -> None: ...
    def begin(
        self,
        ops: NDArray[np.uint8],
        sizes: NDArray[np.uint8],
        ages: NDArray[np.uint8],
        events: int,
        /,
    ) -> None: ...
    def decode(
        self,
        op: NDArray[np.uint8],
        size: NDArray[np.int64],
        slot: NDArray[np.uint32],
        live: NDArray[np.int64] | None,
        object: NDArray[np.int64] | None,  # noqa: A002
        /,
    ) -> tuple[bool, int, int, int]: ...

def read_pickle(content: bytes, most: int, /) -> tuple[object, bytes, list[list[Any]]]: ...
def live_bytes(
    op: NDArray[np.uint8],
    size: NDArray[np.int64],
    slot: NDArray[np.uint32],
    live: NDArray[np.int64],
    held: NDArray[np.int64],
    /,
) -> None: ...
def live_spans(
    live: NDArray[np.int64], size: NDArray[np.int64], spans: NDArray[np.void], /
) -> None: ...
def scan(
    steps: bytes,
    kind: NDArray[np.uint8],
    fields: NDArray[np.int64],
    text: bytes,
    start: int,
    lenient: bool,
    /,
) -> tuple[int, int, int, int]: ...
def print(  # noqa: A001
    steps: bytes,
    kind: NDArray[np.uint8],
    fields: NDArray[np.int64],
    text: bytearray,
    /,
) -> int: ...
