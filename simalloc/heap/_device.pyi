from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

@final
class Device:
    def __new__(
        cls,
        family: str,
        parameters: Mapping[str, int | Sequence[int]],
        frees_first: bool,
        checked: bool,
        keeps_calls: bool,
        goes_on: bool,
    ) -> Device: ...
    def replay(
        self,
        op: NDArray[np.uint8],
        size: NDArray[np.int64],
        slot: NDArray[np.uint32],
        stream: NDArray[np.uint32] | None,
        pool: NDArray[np.uint32] | None,
        address: NDArray[np.int64] | None,
        live: NDArray[np.int64] | None,
        reserved: NDArray[np.int64] | None,
        allocated: NDArray[np.int64] | None,
        free_blocks: NDArray[np.int64] | None,
        /,
    ) -> tuple[int, str | None]: ...
    def figures(self) -> dict[str, int]: ...
    def pools(self) -> dict[str, Any]: ...
    def calls(self) -> bytes: ...
