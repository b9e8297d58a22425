from typing import Final

import numpy as np
from numpy.typing import NDArray

KNOWN_WORDS: Final[int]

class Memory:
    def __init__(self, regions: list[tuple[int, NDArray[np.uint8]]]) -> None: ...
    def walk(
        self, start: int, stop: int, address: NDArray[np.uint64], word: NDArray[np.uint64], /
    ) -> tuple[int, int, int]: ...
    def follow(
        self,
        first: int,
        offset: int,
        masked: bool,
        item: NDArray[np.uint64],
        /,
    ) -> tuple[int, int, int]: ...
    def ring(self, head: int, item: NDArray[np.uint64], /) -> tuple[int, int, int]: ...
    def words(self, address: NDArray[np.uint64], word: NDArray[np.uint64], /) -> int: ...

class Stop:
    def __init__(self, process: int) -> None: ...
    def settle(self, locks: NDArray[np.uint64], code: NDArray[np.uint64], /) -> int: ...
    def leave(
        self,
        code: NDArray[np.uint64],
        data: NDArray[np.uint64],
        restorers: NDArray[np.uint64],
        everyone: bool,
        /,
    ) -> tuple[int, int, bool]: ...
    def call(
        self, entry: int, function: int, stack: int, alone: bool, /, *arguments: int
    ) -> int: ...
    def write(self, address: int, bytes: bytes, /) -> None: ...  # noqa: A002
    def thread_pointers(self) -> list[int]: ...
    def keep(self, threads: NDArray[np.uint64], /) -> None: ...
    def release(self) -> None: ...
    @property
    def threads(self) -> int: ...

def copy(
    process: int,
    start: NDArray[np.uint64],
    length: NDArray[np.uint64],
    place: NDArray[np.uint64],
    into: NDArray[np.uint8],
    /,
) -> int: ...
def pages(
    process: int,
    pagemap: int,
    start: int,
    into: NDArray[np.uint8],
    had: NDArray[np.uint8],
    now: NDArray[np.uint8],
    /,
) -> None: ...
def words(
    process: int,
    pagemap: int,
    known: NDArray[np.uint64],
    address: NDArray[np.uint64],
    word: NDArray[np.uint64],
    /,
) -> None: ...
def starts(
    bytes: NDArray[np.uint8],  # noqa: A002
    base: int,
    end: int,
    step: int,
    found: NDArray[np.uint64],
    /,
) -> int: ...
def robust_list(thread: int, /) -> int: ...
