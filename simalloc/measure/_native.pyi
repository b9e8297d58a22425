import numpy as np
from numpy.typing import NDArray

def add_placements(
    events: tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]],
    cells: tuple[NDArray[np.float64], NDArray[np.float64]],
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
