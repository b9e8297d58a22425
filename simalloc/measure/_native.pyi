import numpy as np
from numpy.typing import NDArray

def fill_heap_map(
    op: NDArray[np.uint8],
    size: NDArray[np.int64],
    slot: NDArray[np.uint32],
    address: NDArray[np.int64],
    live: NDArray[np.float64],
    born: NDArray[np.float64],
    /,
    *,
    slots: int,
    scale: int,
    first_event: int,
    lowest_address: int,
    cell_events: int,
    cell_bytes: int,
    columns: int,
    rows: int,
) -> None: ...
