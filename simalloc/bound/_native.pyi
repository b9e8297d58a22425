import numpy as np
from numpy.typing import NDArray

def place_outward(
    begins: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    size: NDArray[np.int64],
    slot: NDArray[np.uint32],
    born: NDArray[np.int64],
    died: NDArray[np.int64],
    order: NDArray[np.uint32],
    address: NDArray[np.int64],
    /,
    *,
    slots: int,
    backward: bool,
    fit: int,
    looked_at: int,
    start: int,
    limit: int,
) -> tuple[int | None, int]: ...
def sweep_through(
    begins: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    size: NDArray[np.int64],
    slot: NDArray[np.uint32],
    born: NDArray[np.int64],
    died: NDArray[np.int64],
    address: NDArray[np.int64],
    rank: NDArray[np.uint32],
    heap: NDArray[np.int64],
    free_blocks: NDArray[np.int64],
    /,
    *,
    slots: int,
    ranks: int,
) -> dict[str, int]: ...
