"""Where objects were: the addresses of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.errors import SimallocError
from simalloc.heap.moment import check_run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from simalloc.heap import Run
    from simalloc.trace import Trace


def placements_of(trace: Trace, run: Run) -> NDArray[np.int64]:
    """Return the run's addresses (int64, scaled bytes, one an event, -1 for a free).

    Raises `SimallocError` if the run is not the trace's, or was made without `addresses=True`.
    """
    if run.addresses is None:
        raise SimallocError(
            f"the run of {run.trace} under {run.policy.name} kept no addresses; "
            "simulate it with addresses=True"
        )
    check_run(trace, run)
    return run.addresses
