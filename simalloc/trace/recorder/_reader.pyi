import os
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

class _Header(TypedDict):
    process: int
    parent: int
    depth: int
    every: int
    unwritten: int
    others: int
    other: bytes
    started: int
    processor: int
    executable: bytes
    command: bytes
    allocator: bytes
    libc: bytes
    time: bool
    site: bool

class _Counts(TypedDict):
    records_begun: int
    records_read: int
    lost_from: int
    lost_reason: int
    processor_ended: int
    live_bytes: int
    live_objects: int
    frees_of_unknown: int
    reallocs_of_unknown: int
    reallocs_failed: int
    frees_unseen: int

class Reader:
    def __init__(self, path: str | os.PathLike[str]) -> None: ...
    def begin_with(self, address: NDArray[np.int64], size: NDArray[np.int64], /) -> None: ...
    def refresh(self) -> None: ...
    def stop(self, path: str | os.PathLike[str], /) -> None: ...
    def object(self, address: int, /) -> int: ...
    def read(
        self,
        before: int,
        op: NDArray[np.uint8],
        object: NDArray[np.int64],  # noqa: A002
        address: NDArray[np.int64],
        size: NDArray[np.int64],
        alignment: NDArray[np.int64],
        thread: NDArray[np.uint32],
        time: NDArray[np.int64],
        site: NDArray[np.uint32],
        /,
    ) -> int: ...
    @property
    def header(self) -> _Header: ...
    @property
    def counts(self) -> _Counts: ...
    @property
    def places(self) -> list[tuple[bytes, int]]: ...
    @property
    def sites(self) -> bytes: ...
    @property
    def unwritten(self) -> bytes: ...
    @property
    def mappings(self) -> bytes: ...
    @property
    def large_blocks(self) -> bytes: ...
    @property
    def looks(self) -> bytes: ...
