from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Shape: TypeAlias = tuple[int, int, int, int, int, int, int]
"""Of a map: first and last event, lowest address, events and bytes of a cell, columns, rows."""

class Cells:
    def __init__(self, shape: Shape, scale: int) -> None: ...
    def cover(
        self,
        address: NDArray[np.int64],
        size: NDArray[np.int64],
        birth: NDArray[np.int64],
        since: NDArray[np.int64],
        until: NDArray[np.int64],
        /,
    ) -> None: ...
    def fill(self, live: NDArray[np.float64], born: NDArray[np.float64], /) -> None: ...

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
