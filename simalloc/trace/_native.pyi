import numpy as np
from numpy.typing import NDArray

class LiveTable:
    def __init__(self) -> None: ...
    def enter(
        self,
        op: NDArray[np.uint8],
        key: NDArray[np.int64],
        size: NDArray[np.int64],
        object: NDArray[np.int64],  # noqa: A002
        slot: NDArray[np.uint32],
        /,
    ) -> tuple[int, int]: ...
    @property
    def objects(self) -> int: ...
    @property
    def slots(self) -> int: ...
    @property
    def live(self) -> int: ...
