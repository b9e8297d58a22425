"""Every workload by its name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from simalloc.errors import SimallocError
from simalloc.trace.workloads.hyper import hyper
from simalloc.trace.workloads.lrusim import lrusim
from simalloc.trace.workloads.synthetic import ellermann

if TYPE_CHECKING:
    from collections.abc import Callable

    from simalloc.trace.trace import Trace


class Workload(NamedTuple):
    """How a workload is generated; `seed` is the one it has by default."""

    generate: Callable[[int], Trace]
    seed: int
    description: str


WORKLOADS: Final = {
    "lrusim": Workload(lrusim, 1, "LRUsim of Johnstone & Wilson 1998, reconstructed"),
    "hyper": Workload(hyper, 1, "Hyper of Johnstone & Wilson 1998, reconstructed"),
    "ellermann-8-512": Workload(
        partial(ellermann, smallest=8, largest=512), 1, "Ellermann 2014, 4.2: small sizes"
    ),
    "ellermann-512-8096": Workload(
        partial(ellermann, smallest=512, largest=8096), 1, "Ellermann 2014, 4.3: larger sizes"
    ),
}


def workload(name: str, seed: int | None = None) -> Trace:
    """Return the workload of that name, from its own seed or another.

    The same seed gives the same trace. Raises `SimallocError` if there is no such workload.
    """
    if name not in WORKLOADS:
        raise SimallocError(f"there is no workload {name!r}; there are {', '.join(WORKLOADS)}")
    chosen = WORKLOADS[name]
    return chosen.generate(chosen.seed if seed is None else seed)
