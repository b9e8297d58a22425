from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.timetable import Columns

def place_outward(
    lives: Columns,
    order: NDArray[np.uint32],
    address: NDArray[np.int64],
    /,
    *,
    backward: bool,
    fit: int,
    max_gaps: int,
    start: int,
    limit: int,
) -> tuple[int | None, int]: ...
def place_in_tiers(
    lives: Columns,
    tier: NDArray[np.uint32],
    address: NDArray[np.int64],
    /,
    *,
    tiers: int,
    limit: int,
) -> tuple[int | None, int]: ...
def place_in_order(
    lives: Columns,
    order: NDArray[np.uint32],
    address: NDArray[np.int64],
    /,
    *,
    smallest: bool,
) -> None: ...
def sweep_through(
    lives: Columns,
    address: NDArray[np.int64],
    rank: NDArray[np.uint32],
    heap: NDArray[np.int64],
    free_blocks: NDArray[np.int64],
    /,
    *,
    ranks: int,
) -> dict[str, int]: ...
def search_exact(
    columns: tuple[NDArray[np.int64] | NDArray[np.uint32], ...],
    goes_on: Callable[[], bool],
    /,
    *,
    capacity: int,
    step: int,
    nodes: int,
    seconds: float,
) -> tuple[int, int]: ...
