from typing import Any

import numpy as np
from numpy.typing import NDArray

from simalloc.policy import UserPolicy

COMPILER: str
COMPILED_TWICE: set[str]  # families that are also compiled for AVX2

class Simulation:
    def __init__(
        self,
        family: object,
        events: int,
        scale: int,
        realloc: str,
        checked: bool,
        portable: bool,
        parameters: dict[str, int | str],
        page: int,
        resident: bool,
        occupied: tuple[int, ...],
        largest_free: bool,
        writes: bool,
        goes_on: bool,
        keeps_mappings: bool,
        policy: UserPolicy = ...,
    ) -> None: ...
    def begin_with(self, *rows: NDArray[np.int64]) -> None: ...
    def replay(
        self,
        op: NDArray[np.uint8],
        size: NDArray[np.int64],
        slot: NDArray[np.uint32],
        live: NDArray[np.int64],
        spans: NDArray[np.void],
        columns: dict[str, NDArray[Any] | None],
        /,
    ) -> tuple[int, str | None]: ...
    def largest_free(self) -> int: ...
    def figures(self) -> dict[str, Any]: ...
    def figure_names(self) -> list[str]: ...
    def report(self) -> list[int]: ...
    def mappings(self) -> bytes: ...
    def check(self) -> str | None: ...
    def unsearchable(self) -> tuple[int, int]: ...
    def change_form(self) -> bool: ...
    def measure_nothing(self) -> None: ...
    def block_count(self) -> int: ...
    def blocks(
        self,
        first: int,
        address: NDArray[np.int64],
        size: NDArray[np.int64],
        slot: NDArray[np.int64],
        /,
    ) -> int: ...
    def free_sizes(self) -> bytes: ...
    def keep_touched(self) -> None: ...
    def in_pages(
        self,
        address: NDArray[np.int64],
        size: NDArray[np.int64],
        resident: NDArray[np.int64],
        touched: NDArray[np.int64],
        /,
    ) -> None: ...

class Block: ...
class Heap: ...
