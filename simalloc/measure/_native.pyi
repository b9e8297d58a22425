from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Shape: TypeAlias = tuple[int, int, int, int, int, int, int]
"""Of a map: first and last event, lowest address, events and bytes of a cell, columns, rows."""

def fill_heap_map(
    op: NDArray[np.uint8],
    size: NDArray[np.int64],
    slot: NDArray[np.uint32],
    address: NDArray[np.int64],
    live: NDArray[np.float64],
    born: NDArray[np.float64],
    /,
    *,
    shape: Shape,
    slots: int,
    scale: int,
) -> None: ...
def fill_window(
    address: NDArray[np.int64],
    size: NDArray[np.int64],
    birth: NDArray[np.int64],
    since: NDArray[np.int64],
    until: NDArray[np.int64],
    live: NDArray[np.float64],
    born: NDArray[np.float64],
    /,
    *,
    shape: Shape,
    ranges: NDArray[np.int64],
    scale: int,
) -> None: ...
